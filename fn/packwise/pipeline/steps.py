"""A render: its steps in order, each using the results of earlier steps."""

from __future__ import annotations

from functools import cache

from krmfn.fieldpath import FieldError, FieldPath
from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from krmfn.result import Severity, exit_code
from packwise.findings.finding import Finding, Rule
from packwise.frontends.candidates import candidate_key_findings, candidate_metadata, may_be_workload
from packwise.frontends.grove.admission import differing_rules
from packwise.frontends.grove.frontend import DECODE, SCHEMA, UNKNOWN
from packwise.frontends.grove.podcliqueset import NAME_RULES
from packwise.frontends.grove.rules.topology import DISABLED
from packwise.generated import annotate, annotate_generated, with_notes
from packwise.generated import render as render_objects
from packwise.keys import key_findings
from packwise.objects.identity import group_and_kind, identity, is_generated
from packwise.objects.index import ONCE, READABLE, are_strings
from packwise.objects.kinds import BESIDE_PODS, KINDS, POD_CLIQUE_SET, PODGROUP, WORKLOADS, spelling_findings
from packwise.pipeline.registry import brings_topologies, front_ends, schedulers_for
from packwise.placement import within_limit
from packwise.revisions.grove import RELEASES
from packwise.schedulers import SchedulerInput, SchedulerObjects
from packwise.select.selection import ABSENT, cluster_of, index_package, select, topologies_of
from packwise.settings.configuration import has_topology, held_configuration
from packwise.topology.known import Status, check_protection, topology_status, with_finalizer
from packwise.validate.crds import check_objects

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.objects.index import Index, Inventory
    from packwise.objects.place import Generated
    from packwise.pipeline.rules import Choice
    from packwise.placement import Cluster, Placement, WorkloadPlan
    from packwise.select.selection import Package, Selection
    from packwise.settings.topologyrender import TopologyRender
    from packwise.topology.known import Condition, KnownTopologies
    from packwise.validate.crds import Definitions

# All findings about workloads, topologies and objects: those of the steps before, and those of the whole input.
#
# Source: spec/packwise.md#3; apimachinery, ObjectMeta.

STRINGS = Rule("metadata-strings", "A name, label or annotation is not a string.", "spec/kubernetes.md#1.1")
STRING_RULES = (STRINGS,)
"""Rules of the metadata of every kind."""


class FindingsBySubject(Record):
    """Findings in the order of the report: about the whole input, about workloads, about other objects."""

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
    """Return the `known` findings and the ones about topologies, `generated` objects and the whole input.

    `is_part` is true if the input is a part of several clusters' packages.
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
    of_keys = (
        *key_findings(items, revision),
        *candidate_key_findings(items, source.settings.kai_version, source.settings.kai_name),
    )
    evidence = () if selection.evidence is None else selection.evidence.findings
    return FindingsBySubject(
        of_input=(*absence, *known.of_input, *of_topologies),
        of_workloads=tuple(of_workloads),
        of_objects=(*of_objects, *of_metadata, *of_keys, *evidence),
    )


def adjust_severity(findings: Sequence[Finding], selection: Selection, *, writes: bool) -> list[Finding]:
    """Return the findings with the severity of written objects if the command `writes` them.

    Findings that only follow from another release's API are removed.
    """
    severe = [
        finding if finding.when_written is None or not writes else finding.replace(severity=finding.when_written)
        for finding in findings
    ]
    return severe if selection.evidence is None else selection.evidence.without_consequences(severe)


def _protection(source: SchedulerInput) -> list[Finding]:
    """Findings about changes of topologies that workloads use."""
    inventory, revision = source.inventory, source.cluster.revision
    uses = (use for front_end in front_ends(inventory) for use in front_end.uses(inventory, source.settings, revision))
    return check_protection(inventory, revision, uses)


def _generated_in_lists(index: Index) -> Iterator[Finding]:
    """Report objects of an earlier render in Lists. They are not updated there and would appear twice."""
    items = [item for item in index.generated.values() if item.source.entry]
    if items:
        more = f"; so must {len(items) - 1} more" if len(items) > 1 else ""
        message = f"must stand outside a List, in which packwise cannot bring it up to date: take it out{more}"
        yield Finding.of(ONCE, items[0], (), message)


def _refused_by_crds(source: SchedulerInput, generated: Sequence[Generated]) -> Iterable[Finding]:
    """Errors of the cluster's CRDs."""
    if not source.definitions.by_kind:
        return ()
    unknown = Severity.ERROR if source.settings.unknown_fields == "Error" else Severity.WARNING
    return check_objects(generated, source.inventory, source.definitions, unknown)


_KINDS = frozenset(kind.key for kind in KINDS)


def _metadata_findings(index: Index, known: Iterable[Finding]) -> Iterator[Finding]:
    """Report each value in a judged object's metadata that must be a string, unless it is `known`.

    The API server decodes the metadata of every kind in the same way.
    """
    for item in index.malformed:
        key = group_and_kind(item.value)
        if key in _KINDS or key in BESIDE_PODS or _configures(item) or may_be_workload(item):
            yield from _type_findings(item, known)


def _workload_metadata(index: Index, known: Iterable[Finding], kai_name: str) -> Iterator[Finding]:
    """The same of workloads that KAI groups itself, and of the templates in them."""
    for item, path, metadata in candidate_metadata(index, kai_name):
        if not are_strings(metadata):
            yield from _type_findings(item, known, path, metadata)


def _configures(item: KubeObject) -> bool:
    return has_topology(item) or held_configuration(item) is not None


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
    """Return the single finding about a missing topology configuration, and the other findings without its
    consequences.

    It does not apply to a part of several clusters' packages or to a configuration with a misspelt name. It is not
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
        finding.replace(message=finding.message + clause)
        if _rests_on_release(finding, selection.definitions)
        else finding
        for finding in findings
    ]


def _rests_on_release(finding: Finding, definitions: Definitions) -> bool:
    # Most runs name a release, and need no table of all fields.
    from packwise.frontends.grove.schema.crd import is_alike

    if finding.rule in (DECODE.name, SCHEMA.name, UNKNOWN.name):
        # The cluster's own definition of PodCliqueSets judges the fields; else most releases have them alike.
        return definitions.of_kind(*POD_CLIQUE_SET.key) is None and not is_alike(finding.path, RELEASES)
    return finding.rule in _differing_rules()


@cache
def _differing_rules() -> frozenset[str]:
    """Return the names of rules that differ between releases: webhooks' rules and rules about epochs."""
    from packwise.frontends.grove.epoch_sources import RULES as EPOCH_RULES

    return differing_rules(RELEASES) | {rule.name for rule in (*EPOCH_RULES, *NAME_RULES)}


NO_WORKLOADS = Rule("no-workloads", "The input has no workloads to render.", "spec/clients.md#5.1", Severity.INFO)
RULES = (NO_WORKLOADS,)
"""Rules of a whole render."""


class Rendered(Record):
    """The result of a render. `kept` are the user's own objects in order and `generated` the objects derived from them.

    With an error among `results`, `kept` is the whole input and `generated` is empty. `sources` are the generated
    objects before packwise's own annotations, each with its origins. `selection` is None if the input is unreadable.
    `plans` are the plans of workloads and `known` the topologies that they can name, even with errors. Both are empty
    if the configuration has errors. `has_grove` is true if some workloads are Grove's. `obstacles` are the results
    about configuration and CRDs: an error among them prevents judgement of objects in every file. `scheduled` is the
    input of the schedulers, or None with an error.
    """

    kept: tuple[KubeObject, ...]
    generated: tuple[KubeObject, ...]
    results: tuple[Result, ...]
    selection: Selection | None = None
    sources: tuple[Generated, ...] = ()
    plans: tuple[WorkloadPlan, ...] = ()
    known: KnownTopologies | None = None
    has_grove: bool = False
    obstacles: tuple[Result, ...] = ()
    scheduled: SchedulerInput | None = None
    queued: tuple[KubeObject, ...] = ()

    @property
    def items(self) -> tuple[KubeObject, ...]:
        """All objects of the answer."""
        return self.kept + self.generated

    @property
    def workloads(self) -> int:
        """The number of workloads that were judged."""
        return len(self.judged_workloads)

    @property
    def judged_workloads(self) -> tuple[KubeObject, ...]:
        """Return the judged workloads: those with a plan, then those that only a scheduler judges."""
        planned = {plan.workload for plan in self.plans}
        return (*[plan.workload for plan in self.plans], *[item for item in self.queued if item not in planned])

    @property
    def gitops(self) -> tuple[str, ...]:
        """The tools that apply the objects."""
        return () if self.selection is None else self.selection.settings.gitops


def render(package: Package, *, writes: bool = False, is_listed: bool = True, previews: bool = False) -> Rendered:
    """Return the package with its derived objects, or the input itself if it has errors.

    With `writes`, the objects are written and not only checked or compared. With `is_listed` false, only `results` and
    their sources are computed. With `previews`, objects made by the scheduler itself are listed even if their kind is
    not emitted.
    """
    try:
        return _render(package, writes=writes, is_listed=is_listed, previews=previews)
    except FieldError as error:
        results = (unreadable(error),)
        return Rendered(package.items, (), results, obstacles=results)


def _render(package: Package, *, writes: bool, is_listed: bool, previews: bool) -> Rendered:
    """Run the steps of a render in the order of docs/architecture.md, each on the values of earlier ones."""
    # index, select
    inventory, selection = read_package(package)
    items, settings = inventory.items, selection.settings
    choice = _choice(package, settings)
    configured = _report_configuration(selection, items, choice)
    if configured.is_refused:
        # With a configuration that means nothing, every answer about a workload would be a guess.
        return Rendered(package.items, (), configured.results, selection, obstacles=configured.obstacles)
    # topologies
    topologies = topologies_of(inventory, selection)
    cluster = cluster_of(selection, topologies, package.nodes or _nodes_among(items))
    # plan
    plans = _plan(inventory, cluster, selection)
    # write
    source = SchedulerInput(_placements(plans), topologies, cluster, inventory, selection.definitions, settings)
    written = _write(source, plans, selection, choice, writes=writes)
    # render
    in_use = {plan.topology for plan in plans if plan.topology is not None}
    rendering = render_objects(
        written.generated, items, settings, in_use, folder=package.folder, is_listed=is_listed, previews=previews
    )
    # judge
    known = FindingsBySubject(configured.spelling, written.findings, rendering.findings)
    judged = judge(source, selection, known, written.generated, is_part=package.is_part, writes=writes)
    # report
    reported = (*configured.obstacles, *_report(judged, written.ignorable, choice))
    # annotate: the configuration may make errors of notices, too
    annotated = None if exit_code(reported) else _annotate(package, plans, written, source)
    notices = () if annotated is None else choice.results(annotated.notices)
    results = (*reported, *notices, *choice.wrong_comments())
    is_refused = annotated is None or bool(exit_code(results))
    return Rendered(
        kept=package.items if annotated is None or is_refused else annotated.kept,
        generated=() if is_refused else rendering.objects,
        results=results,
        selection=selection,
        sources=() if is_refused else rendering.generated,
        plans=plans,
        known=topologies,
        has_grove=any(items.of_kind(*kind.key) for kind in WORKLOADS),
        obstacles=configured.obstacles,
        scheduled=None if is_refused else source,
        queued=written.workloads,
    )


def read_package(package: Package) -> tuple[Inventory, Selection]:
    """Return the indexed objects of the package and the configuration of its render."""
    inventory = index_package(package)
    return inventory, select(package, inventory, configured_otherwise=brings_topologies(inventory))


class _Configured(Record):
    """The `results` about the configuration. `obstacles` are the results among them that prevent judgement of objects.

    `spelling` are misspelt kinds. It `is_refused` if the configuration has errors.
    """

    results: tuple[Result, ...]
    obstacles: tuple[Result, ...]
    spelling: tuple[Finding, ...]
    is_refused: bool


def _report_configuration(selection: Selection, items: Index, choice: Choice | _NoChoice) -> _Configured:
    """Return the results about the configuration and about CRDs. CRDs refuse single objects and not the input."""
    spelling = tuple(spelling_findings(items, selection.definitions.by_kind))
    of_settings = (
        *choice.results(selection.findings),
        *selection.results,
        *choice.results(choice.wrong_entries()),
    )
    obstacles = (*of_settings, *choice.results(selection.definitions.findings))
    results = (*obstacles, *choice.results(spelling))
    return _Configured(results, obstacles, spelling, is_refused=bool(exit_code(of_settings)))


def _nodes_among(items: Index) -> tuple[Mapping[str, Value], ...]:
    return tuple(item.value for item in items.of_kind("", "Node"))


def _plan(inventory: Inventory, cluster: Cluster, selection: Selection) -> tuple[WorkloadPlan, ...]:
    """Return the plan of every workload: read, defaulted, validated, placed. Above the run's limit none is placed."""
    settings, definitions = selection.settings, selection.definitions
    plans = [
        plan
        for front_end in front_ends(inventory)
        for plan in front_end.plans(inventory, cluster, settings, definitions)
    ]
    return tuple(within_limit(plans, settings.limits.gangs))


def _placements(plans: Iterable[WorkloadPlan], ignored: Collection[KubeObject] = ()) -> tuple[Placement, ...]:
    """Return the placements of all workloads except `ignored` ones."""
    return tuple(placement for plan in plans if plan.workload not in ignored for placement in plan.placements)


class _Written(Record):
    """The ClusterTopologies with their conditions, the objects of all schedulers, and previews of operators' own
    objects.

    `findings` are about workloads. Errors about `ignorable` objects may be ignored. `statuses` are the topologies' by
    name and `conditions` those for users' objects. `notices` report conditions without an annotation. `workloads` are
    the ones that a scheduler judges itself.
    """

    generated: tuple[Generated, ...]
    findings: tuple[Finding, ...]
    ignorable: frozenset[KubeObject]
    statuses: Mapping[str, Status]
    conditions: Mapping[KubeObject, tuple[Condition, ...]]
    notices: tuple[Finding, ...]
    workloads: tuple[KubeObject, ...]


def _write(
    source: SchedulerInput,
    plans: Sequence[WorkloadPlan],
    selection: Selection,
    choice: Choice | _NoChoice,
    *,
    writes: bool,
) -> _Written:
    """The objects that follow from the plans.

    A workload with an error that is ignored is refused all the same: the objects are written without it.
    """
    objects = _scheduler_objects(source)
    of_workloads = [*objects.findings, *(finding for plan in plans for finding in plan.findings)]
    findings = adjust_severity(of_workloads, selection, writes=writes)
    podgroups = source.inventory.items.of_kind(*PODGROUP.key)
    ignorable = frozenset([*[plan.workload for plan in plans], *podgroups])
    ignored = choice.ignored_subjects(findings, ignorable)
    if ignored:
        objects = _scheduler_objects(source.replace(placements=_placements(plans, ignored)))
    revision, by_name = source.cluster.revision, source.topologies.by_name
    statuses = {name: topology_status(revision, objects.refusals.get(name)) for name in by_name}
    topologies, notices = _annotate_topologies(source, statuses)
    previews = [preview for plan in plans for preview in plan.previews]
    return _Written(
        generated=(*topologies, *objects.generated, *previews),
        findings=tuple(findings),
        ignorable=ignorable,
        statuses=statuses,
        conditions=objects.conditions,
        notices=tuple(notices),
        workloads=objects.workloads,
    )


def _scheduler_objects(source: SchedulerInput) -> SchedulerObjects:
    """Return the objects of all schedulers and their refusals."""
    written = [scheduler.objects(source) for scheduler in schedulers_for(source)]
    return SchedulerObjects(
        generated=tuple(generated for objects in written for generated in objects.generated),
        findings=tuple(finding for objects in written for finding in objects.findings),
        refusals={name: answer for objects in written for name, answer in objects.refusals.items()},
        conditions={item: conditions for objects in written for item, conditions in objects.conditions.items()},
        workloads=tuple(item for objects in written for item in objects.workloads),
    )


def _annotate_topologies(
    source: SchedulerInput, statuses: Mapping[str, Status]
) -> tuple[list[Generated], list[Finding]]:
    """The ClusterTopologies to write with their conditions; or the findings that report these instead."""
    generated: list[Generated] = []
    notices: list[Finding] = []
    for topology in source.topologies.generated:
        key = identity(topology.value)
        status, before = statuses.get(key[-1], Status()), source.inventory.items.generated.get(key)
        with_status, findings = annotate_generated(topology, status, before, source.settings)
        generated.append(with_status)
        notices += findings
    return generated, notices


def _report(
    findings: FindingsBySubject, ignorable: Collection[KubeObject], choice: Choice | _NoChoice
) -> tuple[Result, ...]:
    return (
        *choice.results(findings.of_input),
        *choice.results(findings.of_workloads, ignorable),
        *choice.results(findings.of_objects),
    )


class _Kept(Record):
    """The user's objects with their status. `notices` report statuses without an annotation."""

    kept: tuple[KubeObject, ...]
    notices: tuple[Finding, ...]


def _annotate(package: Package, plans: Sequence[WorkloadPlan], written: _Written, source: SchedulerInput) -> _Kept:
    """Return the user's objects with their conditions and notes, without objects of an earlier render."""
    settings, finalizer = source.settings, source.cluster.revision.finalizer
    finalizers = (finalizer,) if finalizer is not None and settings.finalizers else ()
    topologies = source.topologies.written
    statuses = {plan.workload: Status(plan.conditions) for plan in plans}
    statuses |= {item: written.statuses.get(name, Status()) for name, item in topologies.items()}
    statuses |= {item: Status(conditions) for item, conditions in written.conditions.items()}
    finalized = {item: with_finalizer(item, finalizers) for item in topologies.values()}
    notes = {plan.workload: plan.notes for plan in plans}
    kept: list[KubeObject] = []
    notices = [*written.notices]
    for item in package.items:
        status = statuses.get(item)
        if status is None:
            kept += [] if is_generated(item.value) else [item]
        elif item.source.entry:
            # What a List holds is read, and not written: its conditions are results.
            notices += annotate(item, status, settings.replace(annotate=False))[1]
            kept.append(item)
        else:
            annotated, findings = annotate(finalized.get(item, item), status, settings)
            kept.append(with_notes(annotated, notes.get(item, {})))
            notices += findings
    if not plans and not written.workloads:
        message = "there is no PodCliqueSet among the input; what needs none was rendered"
        notices.append(Finding.of(NO_WORKLOADS, None, (), message))
    return _Kept(tuple(kept), tuple(notices))


class _NoChoice:
    """All findings are reported as they are: neither settings nor comments choose among them."""

    def results(
        self,
        findings: Iterable[Finding],
        ignorable: Collection[KubeObject] = (),  # noqa: ARG002
    ) -> tuple[Result, ...]:
        return tuple(finding.to_result() for finding in findings)

    def ignored_subjects(
        self,
        findings: Iterable[Finding],  # noqa: ARG002
        ignorable: Collection[KubeObject],  # noqa: ARG002
    ) -> frozenset[KubeObject]:
        return frozenset()

    def wrong_entries(self) -> tuple[Finding, ...]:
        return ()

    def wrong_comments(self) -> tuple[Result, ...]:
        return ()


def _choice(package: Package, settings: TopologyRender) -> Choice | _NoChoice:
    """The choice among findings; nothing is imported where neither settings nor comments choose."""
    items = (*package.items, *package.documents)
    # Edits never come before this, so that it is the text with its comments. The entries of a List have one together.
    texts = dict.fromkeys([item.source.text for item in items])
    if not settings.rules and not any("packwise:" in text for text in texts):
        return _NoChoice()
    from packwise.pipeline.rules import Choice

    return Choice(settings, items, compared=package.baseline is not None)


def results_of(findings: Iterable[Finding], results: Iterable[Result] = ()) -> tuple[Result, ...]:
    """The results that the findings are, and `results` after them."""
    return (*(finding.to_result() for finding in findings), *results)


def unreadable(error: FieldError) -> Result:
    """Return the result about an unreadable part."""
    result = error.to_result()
    return result.replace(tags={**result.tags, "rule": READABLE.name})
