"""All findings about workloads, topologies and objects: the findings of earlier steps, and findings about the whole
input.

Source: spec/packwise.md#3; apimachinery, ObjectMeta.
"""

from __future__ import annotations

from functools import cache

from krmfn.hints import TYPE_CHECKING, Record, as_dict
from krmfn.result import Severity
from packwise.findings import Finding, Rule
from packwise.frontends.grove.admission import differing_rules
from packwise.frontends.grove.build_gangs import NAME_RULES
from packwise.frontends.grove.frontend import DECODE, SCHEMA, UNKNOWN
from packwise.frontends.grove.rules.topology import DISABLED
from packwise.keys import key_findings
from packwise.objects.index import KAI_WORDS, ONCE, are_strings, group_and_kind, is_placeholder
from packwise.objects.kinds import KINDS, POD_CLIQUE_SET, POD_DEPENDENCIES, WORKLOADS
from packwise.pipeline.registry import front_ends, metadata_of_workloads, workload_key_findings
from packwise.pipeline.selection import ABSENT
from packwise.revisions.grove import RELEASES
from packwise.settings.configuration import has_topology, held_configuration
from packwise.topology.known import check_protection
from packwise.validate.crds import check_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Generated, Index
    from packwise.pipeline.selection import Selection
    from packwise.schedulers import SchedulerInput
    from packwise.validate.crds import Definitions

STRINGS = Rule("metadata-strings", "A name, label or annotation is not a string.", "spec/kubernetes.md#1.1")
STRING_RULES = (STRINGS,)
"""Rules of the metadata of every kind."""
PLACEHOLDER = Rule("placeholder", "A value contains a placeholder.", "spec/packwise.md#placeholder", Severity.WARNING)
PLACEHOLDER_RULES = (PLACEHOLDER,)
"""Rules of values that another program replaces before the API server reads them."""


class FindingsBySubject(Record):
    """Findings in the order of the report: about the whole input, about workloads, about other objects."""

    of_input: tuple[Finding, ...]
    of_workloads: tuple[Finding, ...]
    of_objects: tuple[Finding, ...]


def check_input(
    source: SchedulerInput,
    selection: Selection,
    known: FindingsBySubject,
    generated: Sequence[Generated],
    *,
    is_part: bool,
    writes: bool,
) -> FindingsBySubject:
    """Return the `known` findings, and findings about topologies, `generated` objects and the whole input.

    `is_part` is true if several clusters use the input.
    """
    items = source.inventory.items
    # A configuration with a typo in its kind is not absent.
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
    of_keys = (*key_findings(items, revision), *workload_key_findings(items, source.settings))
    evidence = () if selection.evidence is None else selection.evidence.findings
    findings = FindingsBySubject(
        of_input=(*absence, *known.of_input, *of_topologies),
        of_workloads=tuple(of_workloads),
        of_objects=(*of_objects, *of_metadata, *of_keys, *evidence),
    )
    return findings if writes else _without_placeholders(findings)


def adjust_severity(findings: Sequence[Finding], selection: Selection, *, writes: bool) -> list[Finding]:
    """Return the findings. If the command `writes` objects, findings get their severity for written objects.

    Findings that only follow from another release's API are removed.
    """
    severe = [
        finding if finding.when_written is None or not writes else finding.replace(severity=finding.when_written)
        for finding in findings
    ]
    return severe if selection.evidence is None else selection.evidence.without_consequences(severe)


def _without_placeholders(findings: FindingsBySubject) -> FindingsBySubject:
    """Return the findings with one warning for each object instead of its errors about placeholders.

    Objects that are written keep the errors, because their names and counts follow from the values.
    """
    warned: set[KubeObject] = set()

    def replacement(finding: Finding) -> Iterator[Finding]:
        item = finding.subject if finding.severity is Severity.ERROR else None
        text = None if item is None else _placeholder(item, finding.path)
        if item is None or text is None:
            yield finding
        elif item not in warned:
            warned.add(item)
            message = f'"{text}" contains a placeholder; replace it first, then check the result'
            yield Finding.of(PLACEHOLDER, item, finding.path, message, location=finding.location)

    return FindingsBySubject(
        **{
            part: tuple([each for finding in listed for each in replacement(finding)])
            for part, listed in as_dict(findings).items()
        }
    )


def _placeholder(item: KubeObject, path: FieldPath) -> str | None:
    """Return the value at `path` if it has a placeholder, or the value of its nearest existing parent.

    If neither has one, return a key of `path` with a placeholder, or None.
    """
    for end in range(len(path), 0, -1):
        value = item.get(path[:end])
        if value is not None:
            # A text of several lines is a document or a script, and the finding is about a part of it.
            if isinstance(value, str) and "\n" not in value and is_placeholder(value):
                return value
            break
    return next((step for step in path if isinstance(step, str) and is_placeholder(step)), None)


def _protection(source: SchedulerInput) -> list[Finding]:
    """Return findings about changes of topologies that workloads use."""
    inventory, revision = source.inventory, source.cluster.revision
    uses = (use for front_end in front_ends(inventory) for use in front_end.uses(inventory, source.settings, revision))
    return check_protection(inventory, revision, uses)


def _generated_in_lists(index: Index) -> Iterator[Finding]:
    """Report objects of an earlier render in Lists. packwise cannot update them there, so they would appear twice."""
    items = [item for item in index.generated.values() if item.source.entry]
    if items:
        more = f"; also for {len(items) - 1} more" if len(items) > 1 else ""
        message = f"packwise cannot update this object within a List; move it out of the List{more}"
        yield Finding.of(ONCE, items[0], (), message)


def _refused_by_crds(source: SchedulerInput, generated: Sequence[Generated]) -> Iterable[Finding]:
    """Return the errors that the cluster's CRDs report."""
    if not source.definitions.by_kind:
        return ()
    unknown = Severity.ERROR if source.settings.unknown_fields == "Error" else Severity.WARNING
    return check_objects(generated, source.inventory, source.definitions, unknown)


_KINDS = frozenset(kind.key for kind in KINDS)


def _metadata_findings(index: Index, known: Iterable[Finding]) -> Iterator[Finding]:
    """Report each value in the metadata of a checked object that must be a string, unless it is `known`.

    The API server decodes the metadata of every kind in the same way.
    """
    for item in index.malformed:
        key = group_and_kind(item.value)
        if key in _KINDS or key in POD_DEPENDENCIES or _configures(item) or _may_be_workload(item):
            yield from _type_findings(item, known)


_QUEUED = "kueue.x-k8s.io/"
"""Prefix of the keys that Kueue reads."""


def _may_be_workload(item: KubeObject) -> bool:
    """Return True if an object with unreadable metadata has a kind or a word of KAI or Kueue."""
    # The import is here because few inputs have such an object.
    from packwise.objects.workload_kinds import WORKLOAD_KINDS

    words = (*KAI_WORDS, _QUEUED)
    return group_and_kind(item.value) in WORKLOAD_KINDS or any(word in item.source.text for word in words)


def _workload_metadata(index: Index, known: Iterable[Finding], kai_name: str) -> Iterator[Finding]:
    """Yield findings about metadata that must be strings, in workloads that KAI groups itself and in their
    templates.
    """
    for item, path, metadata in metadata_of_workloads(index, kai_name):
        if not are_strings(metadata):
            yield from _type_findings(item, known, path, metadata)


def _configures(item: KubeObject) -> bool:
    return has_topology(item) or held_configuration(item) is not None


def _type_findings(
    item: KubeObject, known: Iterable[Finding], path: FieldPath = ("metadata",), metadata: Value = None
) -> Iterator[Finding]:
    # The import is here because few inputs have such an object.
    from packwise.validate.structure import ValuePath, type_problems

    paths = {finding.path for finding in known if finding.subject is item}
    value = item.value.get("metadata") if metadata is None else metadata
    at = ValuePath()
    for step in path:
        at = at.field(step) if isinstance(step, str) else at.entry(step)
    for order, problem in enumerate(type_problems(value, at)):
        if problem.path not in paths:
            yield Finding.of(STRINGS, item, problem, order=order)


def _split_absence(
    findings: Sequence[Finding], selection: Selection, index: Index, *, is_part: bool
) -> tuple[tuple[Finding, ...], Sequence[Finding]]:
    """Return the finding about a missing topology configuration, if any, and the findings that do not follow from it.

    It is not reported if several clusters use the input, or if a configuration has a misspelt name. It is also not
    reported if no workload requests a topology.
    """
    absent = selection.absent
    if absent is None:
        return (), findings
    refused = [finding for finding in findings if finding.rule == DISABLED.name]
    rest = [finding for finding in findings if finding.rule != DISABLED.name]
    if is_part:
        return (), rest
    if not refused:
        return ((absent,) if _asks_for_topology(index) else ()), findings
    number = len({finding.subject for finding in refused})
    workloads = "a workload has a topology constraint" if number == 1 else f"{number} workloads have constraints"
    message = f"{absent.message}; {workloads}, and the operator refuses that"
    where = absent if absent.subject is not None else refused[0]
    cause = Finding.of(ABSENT, where.subject, where.path, message, severity=Severity.ERROR)
    return (cause,), rest


def _asks_for_topology(index: Index) -> bool:
    """Return True if a workload has a topology constraint, also if it is refused for another reason."""
    workloads = [item for kind in WORKLOADS for item in index.of_kind(*kind.key)]
    return any(_has_constraint(item.value) for item in workloads)


def _has_constraint(value: Value) -> bool:
    if isinstance(value, dict):
        return bool(value.get("topologyConstraint")) or any(_has_constraint(each) for each in value.values())
    return isinstance(value, list) and any(_has_constraint(each) for each in value)


def _name_assumption(findings: Sequence[Finding], selection: Selection) -> list[Finding]:
    """Return the findings. If another release might not give a finding, its message also names the assumed release."""
    clause = f'; Grove "{selection.revision.name}" is assumed'
    return [
        finding.replace(message=finding.message + clause)
        if _rests_on_release(finding, selection.definitions)
        else finding
        for finding in findings
    ]


def _rests_on_release(finding: Finding, definitions: Definitions) -> bool:
    # Most runs name a release, and do not need the table of all fields.
    from packwise.frontends.grove.crd import has_same_field

    if finding.rule in (DECODE.name, SCHEMA.name, UNKNOWN.name):
        # The cluster's own CRD of PodCliqueSet checks the fields. Without it, most releases have the same fields.
        return definitions.of_kind(*POD_CLIQUE_SET.key) is None and not has_same_field(finding.path, RELEASES)
    return finding.rule in _differing_rules()


@cache
def _differing_rules() -> frozenset[str]:
    """Return the names of rules that differ between releases: webhooks' rules and rules about epochs."""
    from packwise.frontends.grove.epoch_sources import RULES as EPOCH_RULES

    return differing_rules(RELEASES) | {rule.name for rule in (*EPOCH_RULES, *NAME_RULES)}
