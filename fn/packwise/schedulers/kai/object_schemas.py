"""The fields of the objects that configure KAI: Queues, SchedulingShards, and the Config of its operator.

Source: spec/kai.md#7, spec/kai.md#8; KAI Scheduler v0.12 to v0.17, deployments/kai-scheduler/crds.
"""

from __future__ import annotations

from krmfn.fieldpath import describe
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Effect, Finding, Problem, Rule, Stage
from packwise.kubernetes import duration_fault, parse_duration
from packwise.lenient import mapping
from packwise.objects.index import is_placeholder
from packwise.objects.kinds import KAI_CONFIG, PRIORITY_CLASS, QUEUE, SCHEDULING_SHARD
from packwise.validate.crds import validate_object
from packwise.validate.structure import ValuePath, unknown_fields, violations
from packwise.validate.tables import (
    ANYTHING,
    FLAG,
    INT32,
    INTEGER,
    NUMBER,
    QUANTITY,
    TEXT,
    by_name,
    choice,
    fields,
    list_of,
    number_between,
    own_definition,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.kubeobject import KubeObject
    from packwise.schedulers import SchedulerInput

_SHARE = fields(quota=NUMBER, limit=NUMBER, overQuotaWeight=NUMBER)
_QUEUE = fields(
    displayName=TEXT,
    parentQueue=TEXT,
    priority=INTEGER,
    preemptMinRuntime=TEXT,
    reclaimMinRuntime=TEXT,
    resources=fields(cpu=_SHARE, gpu=_SHARE, memory=_SHARE),
)

_OVERRIDE = fields(enabled=FLAG, priority=INTEGER)
_SHARD = fields(
    args=by_name(TEXT),
    goMemLimit=QUANTITY,
    goMemLimitRatio=number_between(0, 1, above_least=True),
    placementStrategy=fields(cpu=TEXT, gpu=TEXT),
    partitionLabelValue=TEXT,
    queueDepthPerAction=by_name(INTEGER),
    minRuntime=fields(preemptMinRuntime=TEXT, reclaimMinRuntime=TEXT),
    kValue=NUMBER,
    usageDBConfig=ANYTHING,
    scenarioSearchBudgets=ANYTHING,
    plugins=by_name(fields(enabled=FLAG, priority=INTEGER, arguments=by_name(TEXT))),
    actions=by_name(_OVERRIDE),
)

_CONFIG = fields(
    namespace=TEXT,
    **{
        "global": fields(
            openshift=FLAG,
            affinity=ANYTHING,
            requireDefaultPodAntiAffinityTerm=FLAG,
            securityContext=ANYTHING,
            imagesPullSecret=TEXT,
            additionalImagePullSecrets=list_of(TEXT),
            nodeSelector=by_name(TEXT),
            tolerations=ANYTHING,
            daemonsetsTolerations=ANYTHING,
            priorityClassName=TEXT,
            replicaCount=INTEGER,
            queueLabelKey=TEXT,
            schedulerName=TEXT,
            nodePoolLabelKey=TEXT,
            namespaceLabelSelector=by_name(TEXT),
            podLabelSelector=by_name(TEXT),
            jsonLog=FLAG,
            vpa=ANYTHING,
            # Only v0.12 has this field.
            connection=ANYTHING,
        ),
    },
    admission=fields(
        service=ANYTHING,
        webhook=ANYTHING,
        replicas=INTEGER,
        gpuSharing=FLAG,
        blockNvidiaVisibleDevices=FLAG,
        queueLabelSelector=FLAG,
        validatingWebhookConfigurationName=TEXT,
        mutatingWebhookConfigurationName=TEXT,
        gpuPodRuntimeClassName=TEXT,
        gpuFractionRuntimeClassName=TEXT,
        vpa=ANYTHING,
    ),
    podGrouper=ANYTHING,
    binder=ANYTHING,
    scheduler=ANYTHING,
    queueController=ANYTHING,
    podGroupController=ANYTHING,
    nodeScaleAdjuster=ANYTHING,
    prometheus=ANYTHING,
    numaPlacementExporter=ANYTHING,
)

_DEFINITIONS = tuple(
    (kind, own_definition(kind, spec))
    for kind, spec in ((QUEUE, _QUEUE), (SCHEDULING_SHARD, _SHARD), (KAI_CONFIG, _CONFIG))
)

SCHEMA = Rule(
    "kai-object-schema",
    "A Queue, a SchedulingShard or KAI's Config does not match its CRD.",
    "spec/kai.md#7.1",
)
CLASS = Rule(
    "priority-class-fields", "A PriorityClass has an unknown field or an invalid value.", "spec/kubernetes.md#2.9"
)
RESOURCES = Rule("queue-resources", "A Queue does not set all of its resources.", "spec/kai.md#7.2")
RULES = (SCHEMA, RESOURCES, CLASS)
"""Rules of the objects that configure KAI."""

_UNITS = {"cpu": "thousandths of a core", "gpu": "GPUs", "memory": "megabytes"}


_CLASS = fields(
    apiVersion=TEXT,
    kind=TEXT,
    metadata=ANYTHING,
    value=INT32,
    globalDefault=FLAG,
    description=TEXT,
    preemptionPolicy=choice("PreemptLowerPriority", "Never"),
)
_HIGHEST = 1_000_000_000
_SYSTEM = "system-"


def check_priority_classes(source: SchedulerInput) -> Iterator[Finding]:
    """Yield a finding for each field of a PriorityClass that the API server refuses.

    KAI reads the priority of a gang from its class.
    """
    for item in source.inventory.items.of_kind(*PRIORITY_CLASS.key):
        for problem in (*violations(item.value, _CLASS, ValuePath()), *unknown_fields(item.value, _CLASS, ValuePath())):
            # The API server words decoding errors differently for built-in kinds than for custom resources.
            yield Finding.of(CLASS, item, problem.replace(stage=None))
        value = item.value.get("value")
        if isinstance(value, int) and value > _HIGHEST and not item.name.startswith(_SYSTEM):
            text = f"maximum allowed value of a user defined priority is {_HIGHEST}"
            message = f"must be at most {_HIGHEST}; got {value}"
            yield Finding.of(
                CLASS, item, ("value",), message, operator_message=f"value: Forbidden: {text}", stage=Stage.SCHEMA
            )


def check_objects(source: SchedulerInput) -> Iterator[Finding]:
    """Yield findings about objects that configure KAI if the API server or KAI's webhook refuses them."""
    unknown = Severity.ERROR if source.settings.unknown_fields == "Error" else Severity.WARNING
    for kind, own in _DEFINITIONS:
        definition = source.definitions.of_kind(*kind.key)
        for item in source.inventory.items.of_kind(*kind.key):
            if definition is None and item.api_version != kind.api_version:
                # Another rule reports API versions that do not exist. The API server converts a v1 Queue.
                continue
            verdict = validate_object(
                item.value,
                definition or own,
                tuple,
                before=source.inventory.baseline_object(item),
            )
            problems = tuple(_with_consequence(problem) for problem in verdict.problems)
            # An unknown release of KAI may have more fields in its configuration.
            severity = unknown if kind is QUEUE or definition is not None else Severity.WARNING
            yield from verdict.replace(problems=problems).findings(item, SCHEMA, (SCHEMA, severity))
    for item in source.inventory.items.of_kind(*QUEUE.key):
        yield from _resources(item)
        yield from _durations(item)


def _with_consequence(problem: Problem) -> Problem:
    """Return the problem of a Queue, with a sentence added: an amount's unit, or the effect of a misspelt field."""
    if problem.effect is Effect.UNKNOWN and str(problem.path[-1]).casefold() == "parentqueue":
        return problem.replace(message=f"{problem.message} The API server drops the field, and the queue has no parent")
    unit = next((unit for name, unit in _UNITS.items() if problem.path[2:3] == (name,)), None)
    if unit is None or problem.path[3:] not in (("quota",), ("limit",)) or problem.effect is not Effect.REFUSED:
        return problem
    return problem.replace(message=f"{problem.message}. The number counts {unit}, and -1 means unlimited")


def _resources(item: KubeObject) -> Iterator[Finding]:
    """Yield a finding if the Queue has no resources. KAI's webhook refuses it."""
    spec = mapping(item.value.get("spec"))
    if spec.get("resources") is None:
        message = (
            "the Queue has no resources, and KAI's webhook refuses it. Set cpu, gpu and memory, each with `quota` and "
            "`limit` (-1 is unlimited)"
        )
        path = ("spec", "resources") if "resources" in spec else ("spec",) if "spec" in item.value else ()
        yield Finding.of(
            RESOURCES, item, path, message, operator_message="resources must be specified", stage=Stage.WEBHOOK
        )


def _durations(item: KubeObject) -> Iterator[Finding]:
    """Yield a finding for each invalid duration. The CRD accepts any string, but KAI's webhook cannot decode it."""
    spec = mapping(item.value.get("spec"))
    for field in ("preemptMinRuntime", "reclaimMinRuntime"):
        text = spec.get(field)
        if not isinstance(text, str) or is_placeholder(text) or parse_duration(text) is not None:
            continue
        message = f'must be a duration such as "10m" or "1h30m"; got {describe(text)}. KAI\'s webhook refuses the Queue'
        fault = duration_fault(text)
        yield Finding.of(SCHEMA, item, ("spec", field), message, operator_message=fault, stage=Stage.WEBHOOK)
