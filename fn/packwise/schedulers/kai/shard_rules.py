"""Rules about values of SchedulingShards and of KAI's Config that the CRDs accept, but that KAI ignores or misreads.

Source: spec/kai.md#8.5; KAI Scheduler v0.17.0, pkg/apis/kai/v1 and pkg/operator/controller.
"""

from __future__ import annotations

from krmfn.fieldpath import describe
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Finding, Rule, Stage
from packwise.kubernetes import duration_fault, label_value, parse_duration
from packwise.lenient import mapping, text_at
from packwise.objects.index import is_placeholder
from packwise.objects.kinds import KAI_CONFIG, SCHEDULING_SHARD
from packwise.wording import near_miss

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from krmfn.kubeobject import KubeObject
    from packwise.schedulers import SchedulerInput

_VALUE = Rule(
    "shard-value",
    "KAI ignores a value of a SchedulingShard, or two shards have the same node pool.",
    "spec/kai.md#8.5",
    Severity.WARNING,
)
_NAME = Rule(
    "kai-config-name",
    "KAI's operator ignores a Config that is not named kai-config.",
    "spec/kai.md#8.6",
    Severity.WARNING,
)
RULES = (_VALUE, _NAME)
"""Rules about values that the CRDs accept."""

_CONFIG_NAME = "kai-config"

_STRATEGIES = {"gpu": 'treats it partly as "binpack" and partly as "spread"', "cpu": 'treats it as "binpack"'}
"""The effect in KAI of a strategy other than binpack and spread, by resource."""

_ACTIONS = frozenset({"allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"})
_PLUGINS = frozenset({
    "predicates", "priority", "nodeplacement", "nominatednode", "numa", "nodeavailability", "gpusharingorder",
    "gpupack", "gpuspread", "resourcetype", "podaffinity", "elastic", "kubeflow", "ray", "taskorder", "subgrouporder",
    "dynamicresources", "topology", "proportion", "minruntime", "snapshot", "reflectjoborder", "sg-nodelocalgreedy",
    "sg-multinodegang",
})  # fmt: skip
"""The plugins of KAI v0.12 to v0.17. A custom build may have more, so only typos of these names are reported."""


def check_shards(source: SchedulerInput) -> Iterator[Finding]:
    """Yield warnings about values of SchedulingShards, and about node pools that two shards serve."""
    first: dict[str, str] = {}
    for item in source.inventory.items.of_kind(*SCHEDULING_SHARD.key):
        yield from _strategies(item)
        yield from _typos(item, "plugins", "plugin", _PLUGINS)
        yield from _typos(item, "actions", "action", _ACTIONS)
        yield from _durations(item)
        pool = text_at(item.value, "spec", "partitionLabelValue")
        if is_placeholder(pool):
            continue
        path = ("spec", "partitionLabelValue") if pool else ("spec",)
        if label_value(pool):
            message = f"no node has this node pool: {describe(pool)} is not a valid value of a label"
            yield Finding.of(_VALUE, item, path, message)
        # Two shards with the same name belong to two clusters.
        elif first.get(pool, item.name) != item.name:
            served = f"the node pool {describe(pool)}" if pool else "the default node pool"
            message = (
                f'the shard "{first[pool]}" serves {served} too, and two schedulers place pods on the same nodes. Set '
                "another partitionLabelValue, or remove one shard"
            )
            yield Finding.of(_VALUE, item, path, message)
        first.setdefault(pool, item.name)


def check_config_names(source: SchedulerInput) -> Iterator[Finding]:
    """Yield a warning for each Config that KAI's operator does not read."""
    for item in source.inventory.items.of_kind(*KAI_CONFIG.key):
        if item.name and item.name != _CONFIG_NAME and not is_placeholder(item.name):
            message = f'KAI\'s operator reads only the Config "{_CONFIG_NAME}"; got "{item.name}"'
            text = "Config is not in the singleton name, ignoring it."
            yield Finding.of(_NAME, item, ("metadata", "name"), message, operator_message=text, stage=Stage.CONFIG)


def _strategies(item: KubeObject) -> Iterator[Finding]:
    for resource, effect in _STRATEGIES.items():
        path = ("spec", "placementStrategy", resource)
        written = item.get(path)
        if isinstance(written, str) and written not in ("binpack", "spread") and not is_placeholder(written):
            near = near_miss(written, ("binpack", "spread"))
            message = f'must be "binpack" or "spread"; got {describe(written)}. KAI {effect}{near}'
            yield Finding.of(_VALUE, item, path, message)


def _typos(item: KubeObject, field: str, noun: str, known: Collection[str]) -> Iterator[Finding]:
    for name in mapping(item.get(("spec", field))):
        near = "" if name in known else near_miss(name, sorted(known))
        if near:
            message = f"KAI has no {noun} {describe(name)}{near}"
            yield Finding.of(_VALUE, item, ("spec", field, name), message, at_key=True)


def _durations(item: KubeObject) -> Iterator[Finding]:
    for field in ("preemptMinRuntime", "reclaimMinRuntime"):
        path = ("spec", "minRuntime", field)
        written = item.get(path)
        if isinstance(written, str) and parse_duration(written) is None and not is_placeholder(written):
            argument = f"default{field[0].upper()}{field[1:]}"
            text = f"Failed to parse {argument} as duration: {duration_fault(written)}, using default value 0s"
            message = f'must be a duration such as "10m"; got {describe(written)}. KAI uses 0s instead'
            yield Finding.of(_VALUE, item, path, message, operator_message=text, stage=Stage.SCHEDULER)
