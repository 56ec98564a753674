"""KAI's Topology: the manifest that packwise writes for a topology, and the API server's checks of it."""

from __future__ import annotations

from functools import partial

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Cause, Finding, Problem, Rule, Stage
from packwise.keys import HOSTNAME
from packwise.kubernetes import OMITTED, ErrorType, OperatorError, field_error, refusal, type_error
from packwise.lenient import value_at
from packwise.objects.index import Generated
from packwise.objects.kinds import CLUSTER_TOPOLOGY_BINDING, TOPOLOGY
from packwise.placement import Gang, Grouper
from packwise.schedulers import SchedulerInput, SchedulerObjects
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.topology.known import LABEL_PATTERN, is_label, level_origins, node_labels
from packwise.validate.crds import validate_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.topology.known import ClusterTopology, KnownTopologies, KnownTopology
    from packwise.validate.crds import Verdict


def topology_value(name: str, keys: Sequence[str], labels: Mapping[str, str] | None = None) -> dict[str, Value]:
    """Return the manifest of a Topology in `kai.scheduler/v1alpha1`. `keys` are its node labels, broadest first."""
    metadata: dict[str, Value] = {"name": name}
    if labels is not None:
        metadata["labels"] = dict(labels)
    levels: list[Value] = [{"nodeLabel": key} for key in keys]
    return {"apiVersion": TOPOLOGY.api_version, "kind": TOPOLOGY.name, "metadata": metadata, "spec": {"levels": levels}}


KAI_TOPOLOGY = "kai.scheduler/topology"
"""The annotation that names the Topology if Grove's own annotation does not."""


_ANNOTATIONS = ("grove.io/topology-name", KAI_TOPOLOGY)


class MissingBindingError(ValueError):
    """Raised if an annotation names a ClusterTopologyBinding that does not exist. The operator then makes no PodGroup.

    The text is the operator's error.
    """

    def __init__(self, binding: str, annotation: str) -> None:
        kind = CLUSTER_TOPOLOGY_BINDING
        super().__init__(f'get {kind.name} {binding}: {kind.name}.{kind.group} "{binding}" not found')
        self.binding = binding
        self.place: FieldPath = ("metadata", "annotations", annotation)


def topology_names(source: SchedulerInput) -> Callable[[Gang], str]:
    """Return a function that returns the name of a gang's Topology, or "".

    The function raises MissingBindingError if the gang names a binding that does not exist.
    """
    if source.cluster.revision.follows_references:
        return partial(_topology_name, source.topologies)
    return annotated_topology


def annotated_topology(gang: Gang) -> str:
    """Return the name of the Topology in the gang's annotations, or else `gang.topology`.

    If KAI's pod-grouper makes the PodGroup, return `gang.topology` without reading the annotations.
    """
    if gang.grouper is Grouper.OWNER:
        return gang.topology
    return next((name for annotation in _ANNOTATIONS if (name := gang.annotations.get(annotation))), gang.topology)


def _topology_name(topologies: KnownTopologies, gang: Gang) -> str:
    """Return the name of the Topology that the gang's binding lists for KAI, or the binding's own name.

    Raise MissingBindingError if the binding does not exist.
    """
    annotation = next((annotation for annotation in _ANNOTATIONS if gang.annotations.get(annotation)), None)
    if annotation is None or gang.grouper is not Grouper.OPERATOR:
        return annotated_topology(gang)
    name = gang.annotations[annotation]
    binding = topologies.by_name.get(name)
    if binding is None:
        raise MissingBindingError(name, annotation)
    return binding.references.get(KAI_PROFILE) or name


_SPEC, _LEVELS = ("spec",), ("spec", "levels")


_MAX_LEVELS = 16


_MAX_LABEL = 316


_LOWEST = f"the {HOSTNAME} label can only be used at the lowest level of topology"


def topology_problems(
    value: Mapping[str, Value],
    before: Mapping[str, Value] | None = None,
    *,
    version: str | None = None,
    shown: Value = OMITTED,
) -> list[Problem]:
    """Return the violations of the CRD in the Topology `value`, for `version` of KAI or for the newest one.

    `before` is the Topology before the change. Errors about all levels show the value `shown`.
    For older API servers, `shown` is the type of the levels.
    """
    problems = list(_spec_problems(value.get("spec")))
    # The API server evaluates CEL rules only if all values have the right types and numbers of entries.
    if all(problem.cause is not Cause.TYPE for problem in problems):
        keys_before = None if before is None else node_labels(before)
        problems += _rule_problems(node_labels(value), keys_before, version, shown)
    return problems


def _spec_problems(spec: Value) -> Iterator[Problem]:
    levels = value_at(spec, "levels")
    if not isinstance(spec, dict):
        yield _wrong_type(_SPEC, spec, "object")
    elif not isinstance(levels, list):
        yield _wrong_type(_LEVELS, levels, "array")
    else:
        if not levels:
            detail = "spec.levels in body should have at least 1 items"
            yield field_error(
                _LEVELS, ErrorType.INVALID, 0, detail, "must have at least one level; got none", stage=Stage.SCHEMA
            )
        if len(levels) > _MAX_LEVELS:
            message = f"must have at most {_MAX_LEVELS} levels; got {len(levels)}"
            detail = f"must have at most {_MAX_LEVELS} items"
            problem = field_error(_LEVELS, ErrorType.TOO_MANY, len(levels), detail, message, stage=Stage.SCHEMA)
            yield problem.replace(cause=Cause.TYPE)
        for position, level in enumerate(levels):
            yield from _level_problems((*_LEVELS, position), level)


def _level_problems(at: FieldPath, level: Value) -> Iterator[Problem]:
    field = (*at, "nodeLabel")
    label = value_at(level, "nodeLabel")
    if not isinstance(level, dict):
        yield _wrong_type(at, level, "object")
    elif not isinstance(label, str):
        yield _wrong_type(field, label, "string")
    elif len(label) > _MAX_LABEL or not is_label(label):
        message = f'must be a label key, with its prefix in lower case; got "{label}"'
        text, detail = format_path(field), f"may not be more than {_MAX_LABEL} bytes"
        if len(label) > _MAX_LABEL:
            yield field_error(field, ErrorType.TOO_LONG, label, detail, message, stage=Stage.SCHEMA).replace(
                cause=Cause.TYPE
            )
            return
        detail = f"{text} in body should " + (f"match '{LABEL_PATTERN}'" if label else "be at least 1 chars long")
        yield field_error(field, ErrorType.INVALID, label, detail, message, stage=Stage.SCHEMA)


def _rule_problems(
    keys: Sequence[str], before: Sequence[str] | None, version: str | None, shown: Value
) -> Iterator[Problem]:
    """Yield the violations of the CEL rules about all levels, in the order of the rules.

    If several levels break a rule, the API server's text is only on the first one.
    """
    is_changed = before is not None and before != keys
    if not is_changed and len(set(keys)) == len(keys) and HOSTNAME not in keys[:-1]:
        return
    # Import this module only here, because few Topologies break a rule.
    from packwise.revisions.kai import LEVEL_ALIASES, minor_of

    has_aliases = minor_of(version) >= LEVEL_ALIASES
    if before is not None and is_changed:
        text = "nodeLabel structure is immutable; only aliases may be edited" if has_aliases else "field is immutable"
        message = f"the levels are immutable; they were {', '.join(before)}. Delete the Topology and create it again"
        yield field_error(_LEVELS, ErrorType.INVALID, shown, text, message, stage=Stage.SCHEMA)
    again = [(position, f'duplicate level "{key}"') for position, key in enumerate(keys) if key in keys[:position]]
    yield from _report_once(again, "nodeLabel must be unique" if has_aliases else "must be unique", shown)
    above = [
        (position, f'"{key}" must be the lowest level, but "{keys[-1]}" is below it')
        for position, key in enumerate(keys[:-1])
        if key == HOSTNAME and keys[-1] != key
    ]
    yield from _report_once(above, _LOWEST, shown)


def _report_once(levels: Iterable[tuple[int, str]], text: str, shown: Value) -> Iterator[Problem]:
    answer: str | None = OperatorError("spec.levels", ErrorType.INVALID, shown, text).text()
    for position, message in levels:
        yield Problem((*_LEVELS, position, "nodeLabel"), message, answer, Stage.SCHEMA)
        answer = None


def _wrong_type(at: FieldPath, value: Value, wanted: str) -> Problem:
    if value is None:
        problem = field_error(at, ErrorType.REQUIRED, None, "", "must be set", stage=Stage.SCHEMA)
    else:
        message, error = type_error(format_path(at), value, wanted)
        problem = refusal(at, message, error, Stage.SCHEMA)
    return problem.replace(cause=Cause.TYPE)


REFUSED = Rule(
    "scheduler-topology", "The API server refuses the Topology of KAI that is created from a topology.", "spec/kai.md#1"
)


RULES = (REFUSED,)
"""Rules of Topologies."""


def scheduler_topologies(source: SchedulerInput) -> SchedulerObjects:
    """Return a KAI Topology for each topology that workloads can name, and the findings.

    If KAI refuses a Topology and the operator continues without it, the Topology is omitted.
    """
    if source.cluster.schedulers is not None and source.cluster.revision.topology_backends:
        # Only the API with ClusterTopologyBindings allows Topologies that the operator does not own.
        from packwise.schedulers.kai.references import referenced_topologies

        return referenced_topologies(source, source.cluster.schedulers)
    revision = source.cluster.revision
    generated: list[Generated] = []
    findings: list[Finding] = [*users_topologies(source)]
    refused: dict[str, str] = {}
    makes = source.cluster.makes_topologies
    rendered = makes and source.settings.emits(TOPOLOGY.name)
    advice = "`createTopologyResources: false`, or " if revision.scheduler_profiles else ""
    fatal = revision.topology_status is None
    for known in source.topologies.by_name.values():
        name = known.topology.name
        surely_valid = False
        if known.is_valid:
            known_check = check_known(known, source, advice=advice if rendered else None, fatal=fatal)
            findings += known_check.findings
            surely_valid = known_check.surely_valid
            if known_check.answer is not None:
                refused[name] = known_check.answer
        if makes and (fatal or name not in refused):
            generated.append(_generate(known, f"ClusterTopology {name}", recreate=surely_valid))
    return SchedulerObjects(tuple(generated), tuple(findings), refused)


def _generate(known: KnownTopology, source: str, *, recreate: bool) -> Generated:
    origins = partial(level_origins, known.levels, known.places, "key", "spec/grove.md#9.2")
    return Generated(value_of(known.topology), source, known.item, origins, recreate=recreate)


def value_of(topology: ClusterTopology) -> dict[str, Value]:
    """Return the manifest of the KAI Topology for a topology. It has the same name."""
    return topology_value(topology.name, [level.key for level in topology.levels])


class TopologyAnswer(Record):
    """The findings about a Topology. `answer` is the error of the API server, or None if it accepts the Topology.

    `surely_valid` is true if every rule of the CRD was checked and is satisfied.
    """

    findings: tuple[Finding, ...]
    answer: str | None
    surely_valid: bool


def check_known(
    known: KnownTopology, source: SchedulerInput, *, advice: str | None, fatal: bool = True
) -> TopologyAnswer:
    """Return the answer of the API server to the KAI Topology of `known`.

    A refusal is an error. Its message ends with `advice`, and with the advice to change `emit`. The refusal is only a
    warning if `advice` is None, because no Topology is rendered. It is also a warning if `fatal` is false, because the
    operator then continues without the Topology.
    """
    verdict = check_topology(value_of(known.topology), source)
    refusals = [_finding(known, problem, advice, fatal=fatal) for problem in verdict.problems]
    findings = (*refusals, *verdict.unchecked)
    answer = _answer(known.topology.name, verdict.problems) if verdict.problems else None
    return TopologyAnswer(findings, answer, not findings)


def _answer(name: str, problems: Iterable[Problem]) -> str:
    """Return the error of the API server for the whole Topology, with each text once."""
    texts = list(dict.fromkeys([problem.operator_message for problem in problems if problem.operator_message]))
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f'{TOPOLOGY.name}.{TOPOLOGY.group} "{name}" is invalid: {text}'


def check_topology(value: Mapping[str, Value], source: SchedulerInput) -> Verdict:
    """Return the verdict on the Topology `value`: by the CRD of the input, or else by KAI's own CRD."""
    return validate_object(
        value,
        source.definitions.of_kind(*TOPOLOGY.key),
        # The recorded answers of an operator that creates Topologies are from an API server that prints the type.
        lambda: [problem.replace(stage=None) for problem in topology_problems(value, shown="array")],
        # A GitOps tool deletes a changed Topology and creates it again, so immutable fields may change.
        before=None if source.settings.gitops else source.inventory.baseline_object(value),
    )


def _finding(known: KnownTopology, problem: Problem, advice: str | None, *, fatal: bool) -> Finding:
    place = known.key_place(problem.path)
    message = f"{problem.message}; KAI refuses the {TOPOLOGY.name} with these levels"
    stage = problem.stage
    text = None if stage is None else problem.operator_message
    if advice is None or not fatal:
        if advice is not None:
            message += "; packwise omits it, and the ClusterTopology is not Ready"
        return place.finding(REFUSED, message, severity=Severity.WARNING, operator_message=text, stage=stage)
    message += f". Change the levels, or render no {TOPOLOGY.name}: {advice}remove {TOPOLOGY.name} from `emit`"
    return place.finding(REFUSED, message, operator_message=text, stage=stage)


def users_topologies(source: SchedulerInput) -> Iterator[Finding]:
    """Yield a finding for each problem of a Topology that users write."""
    for item in source.inventory.items.of_kind(*TOPOLOGY.key):
        before = source.inventory.baseline_object(item)
        verdict = validate_object(
            item.value,
            source.definitions.of_kind(*TOPOLOGY.key),
            partial(_own_problems, item.value, before, source.settings.kai_version),
            before=before,
        )
        yield from verdict.findings(item, REFUSED)


def _own_problems(value: Mapping[str, Value], before: Mapping[str, Value] | None, version: str | None) -> list[Problem]:
    problems = topology_problems(value, before, version=version)
    return [problem.replace(consequence="KAI refuses it") for problem in problems]
