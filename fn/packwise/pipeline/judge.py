"""All findings about workloads, topologies and objects: those of the steps before, and those of the whole input.

Source: spec/packwise.md#3; apimachinery, ObjectMeta.
"""

from __future__ import annotations

from functools import cache

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.findings.finding import Finding, Rule
from packwise.frontends.known_keys import key_findings, workload_metadata
from packwise.objects.identity import identity
from packwise.objects.index import ONCE
from packwise.objects.kinds import KINDS, POD_CLIQUE_SET, WORKLOADS
from packwise.pipeline.registry import front_ends
from packwise.select.selection import ABSENT
from packwise.settings.recognition import has_topology, held_configuration
from packwise.topology.known import check_protection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.objects.place import Generated
    from packwise.schedulers.scheduler import SchedulerInput
    from packwise.select import Selection
    from packwise.validate.definitions import Definitions

__all__ = ["RULES", "FindingsBySubject", "adjust_severity", "judge"]

STRINGS = Rule("metadata-strings", "Names, labels and annotations are strings.", "spec/kubernetes.md#1.1")
RULES = (STRINGS,)
"""Rules of the metadata of every kind."""


class FindingsBySubject(NamedTuple):
    """Findings in the order in which they are reported: of the whole input, of workloads, of other objects."""

    of_input: tuple[Finding, ...]
    of_workloads: tuple[Finding, ...]
    of_objects: tuple[Finding, ...]


def judge(
    source: SchedulerInput,
    selection: Selection,
    known: FindingsBySubject,
    generated: Sequence[Generated],
    *,
    is_part: bool,
    writes: bool,
) -> FindingsBySubject:
    """The findings that are `known` already, and those about topologies, `generated` objects and the whole input.

    `is_part`: the input is a part of several clusters' packages.
    """
    items = source.inventory.items
    # A configuration with a slip in its kind is none that is absent.
    is_part = is_part or bool(known.of_input)
    absence, of_workloads = _split_absence(known.of_workloads, selection, items, is_part=is_part)
    if selection.is_assumed:
        of_workloads = _name_assumption(of_workloads, selection)
    of_topologies = adjust_severity([*source.topologies.findings, *_protection(source)], selection, writes=writes)
    of_lists = _generated_in_lists(items) if writes else ()
    of_objects = [*of_lists, *known.of_objects, *_refused_by_crds(source, generated)]
    of_objects = adjust_severity(of_objects, selection, writes=writes)
    known_findings = [*of_topologies, *of_workloads, *of_objects]
    of_metadata = [
        *_metadata_findings(items, known_findings),
        *_workload_metadata(items, known_findings, source.settings.kai_name),
    ]
    revision = source.cluster.revision if selection.is_named else None
    of_keys = key_findings(items, revision, source.settings.kai_version, source.settings.kai_name)
    evidence = () if selection.evidence is None else selection.evidence.findings
    return FindingsBySubject(
        of_input=(*absence, *known.of_input, *of_topologies),
        of_workloads=tuple(of_workloads),
        of_objects=(*of_objects, *of_metadata, *of_keys, *evidence),
    )


def adjust_severity(findings: Sequence[Finding], selection: Selection, *, writes: bool) -> list[Finding]:
    """The findings as severe as where objects are written, if one `writes` them.

    Those that follow from the API of another release than the selected one are left out.
    """
    severe = [
        finding if finding.when_written is None or not writes else finding._replace(severity=finding.when_written)
        for finding in findings
    ]
    return severe if selection.evidence is None else selection.evidence.without_consequences(severe)


def _protection(source: SchedulerInput) -> list[Finding]:
    """Findings about changes of topologies that workloads use."""
    inventory, revision = source.inventory, source.cluster.revision
    uses = (use for front_end in front_ends(inventory) for use in front_end.uses(inventory, source.settings, revision))
    return check_protection(inventory, revision, uses)


def _generated_in_lists(index: Index) -> Iterator[Finding]:
    """An error if objects of an earlier render stand in Lists, which are not written: they would stand twice."""
    items = [item for item in index.generated.values() if item.source.entry]
    if items:
        more = f"; so must {len(items) - 1} more" if len(items) > 1 else ""
        message = f"must stand outside a List, in which packwise cannot bring it up to date: take it out{more}"
        yield Finding.of(ONCE, items[0], (), message)


def _refused_by_crds(source: SchedulerInput, generated: Sequence[Generated]) -> Iterable[Finding]:
    """Errors of the cluster's CRDs; nothing is imported where there are none."""
    if not source.definitions.by_kind:
        return ()
    from packwise.validate.definitions import check_objects

    unknown = Severity.ERROR if source.settings.unknown_fields == "Error" else Severity.WARNING
    return check_objects(generated, source.inventory, source.definitions, unknown)


_TEXTS = ("name", "namespace", "generateName")
_MAPPINGS = ("labels", "annotations")
_KINDS = frozenset([kind.key for kind in KINDS])
_CONFIG_MAP = ("", "ConfigMap")


def _metadata_findings(index: Index, known: Iterable[Finding]) -> Iterator[Finding]:
    """An error for each value in the metadata of a judged object that must be a string, but those that are `known`.

    The API server decodes the metadata of every kind alike.
    """
    for key, items in index.by_kind.items():
        if key not in _KINDS and key != _CONFIG_MAP:
            continue
        for item in items:
            if not _has_strings(item) and (key in _KINDS or _configures(item)):
                yield from _type_findings(item, known)


def _workload_metadata(index: Index, known: Iterable[Finding], kai_name: str) -> Iterator[Finding]:
    """The same of workloads that KAI groups itself, and of the templates in them."""
    for item, path, metadata in workload_metadata(index, kai_name):
        if identity(item.value)[:2] not in _KINDS and not _are_strings(metadata):
            yield from _type_findings(item, known, path, metadata)


def _configures(item: KubeObject) -> bool:
    return has_topology(item) or held_configuration(item) is not None


def _has_strings(item: KubeObject) -> bool:
    """True if names, labels and annotations are strings, as nearly all are."""
    metadata = item.value.get("metadata")
    return _are_strings(metadata) if isinstance(metadata, dict) else metadata is None


def _are_strings(metadata: Mapping[str, Value]) -> bool:
    texts = [metadata.get(name) for name in _TEXTS]
    for name in _MAPPINGS:
        entries = metadata.get(name)
        texts += entries.values() if isinstance(entries, dict) else [] if entries is None else [0]
    return all(text is None or isinstance(text, str) for text in texts)


def _type_findings(
    item: KubeObject, known: Iterable[Finding], path: FieldPath = ("metadata",), metadata: Value = None
) -> Iterator[Finding]:
    # Few inputs have one.
    from packwise.validate.structure import ValuePath, type_problems

    paths = {finding.path for finding in known if finding.subject is item}
    value = item.value.get("metadata") if metadata is None else metadata
    at = ValuePath()
    for step in path:
        at = at.field(step) if isinstance(step, str) else at.entry(step)
    for order, problem in enumerate(type_problems(value, at)):
        if problem.path not in paths:
            yield Finding.about(problem, item, STRINGS, order=order)


def _split_absence(
    findings: Sequence[Finding], selection: Selection, index: Index, *, is_part: bool
) -> tuple[tuple[Finding, ...], Sequence[Finding]]:
    """The finding that nothing configures a topology, which is reported once, and the rest without its consequences.

    What is a part of several clusters' packages, or has a configuration with a slip in its name, has no such cause.
    Where no workload asks for a topology, nobody misses one.
    """
    absent = selection.absent
    if absent is None:
        return (), findings
    from packwise.frontends.grove.rules.topology import DISABLED

    refused = [finding for finding in findings if finding.rule == DISABLED.name]
    rest = [finding for finding in findings if finding.rule != DISABLED.name]
    if is_part:
        return (), rest
    if not refused:
        return ((absent,) if _asks_for_topology(index) else ()), findings
    number = len({finding.subject for finding in refused})
    workloads = "a workload has a topology constraint" if number == 1 else f"{number} workloads have constraints"
    message = f"{absent.message}; {workloads}, which the operator refuses while that is so"
    where = absent if absent.subject is not None else refused[0]
    cause = Finding.of(ABSENT, where.subject, where.path, message, severity=Severity.ERROR)
    return (cause,), rest


def _asks_for_topology(index: Index) -> bool:
    """True if a workload has a topology constraint, also where it is refused for something else."""
    workloads = [item for kind in WORKLOADS for item in index.of_kind(*kind.key)]
    return any(_has_constraint(item.value) for item in workloads)


def _has_constraint(value: Value) -> bool:
    if isinstance(value, dict):
        return bool(value.get("topologyConstraint")) or any(_has_constraint(each) for each in value.values())
    return isinstance(value, list) and any(_has_constraint(each) for each in value)


def _name_assumption(findings: Sequence[Finding], selection: Selection) -> list[Finding]:
    """The findings, each with a clause that names the assumed release where another one might not give it."""
    clause = f'; Grove "{selection.revision.name}" is assumed'
    return [
        finding._replace(message=finding.message + clause)
        if _rests_on_release(finding, selection.definitions)
        else finding
        for finding in findings
    ]


def _rests_on_release(finding: Finding, definitions: Definitions) -> bool:
    # Most runs name a release, and import neither the later rules nor the table of all fields.
    from packwise.frontends.grove.frontend import DECODE, SCHEMA, UNKNOWN
    from packwise.frontends.grove.schema.crd import is_alike
    from packwise.revisions.records import RELEASES

    if finding.rule in (DECODE.name, SCHEMA.name, UNKNOWN.name):
        # The cluster's own definition of PodCliqueSets judges the fields; else most releases have them alike.
        return definitions.of_kind(*POD_CLIQUE_SET.key) is None and not is_alike(finding.path, RELEASES)
    return finding.rule in _differing_rules()


@cache
def _differing_rules() -> frozenset[str]:
    """Names of the rules that releases do not have alike: those of webhooks, and those about epochs."""
    from packwise.frontends.grove.epoch_sources import RULES as EPOCH_RULES
    from packwise.frontends.grove.names import NAME_RULES
    from packwise.frontends.grove.rules import differing_rules
    from packwise.revisions.records import RELEASES

    return differing_rules(RELEASES) | {rule.name for rule in (*EPOCH_RULES, *NAME_RULES)}
