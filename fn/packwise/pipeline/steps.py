"""A render: its steps in order, each using the results of earlier steps."""

from __future__ import annotations

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Protocol, Record
from krmfn.result import Severity, exit_code
from packwise.findings import Finding, Rule
from packwise.generated import annotate, annotate_generated, with_notes
from packwise.generated import render as render_objects
from packwise.objects.index import READABLE, identity, is_generated
from packwise.objects.kinds import PODGROUP, WORKLOADS, spelling_findings
from packwise.pipeline.check import FindingsBySubject, adjust_severity, check_input
from packwise.pipeline.registry import brings_topologies, front_ends, schedulers_for
from packwise.pipeline.selection import cluster_of, index_package, select, topologies_of
from packwise.placement import within_limit
from packwise.schedulers import SchedulerInput, SchedulerObjects
from packwise.topology.known import Status, topology_status, with_finalizer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.objects.index import Generated, Index, Inventory
    from packwise.pipeline.rules import Choice
    from packwise.pipeline.selection import Package, Selection
    from packwise.placement import Cluster, Placement, WorkloadPlan
    from packwise.settings.topologyrender import TopologyRender
    from packwise.topology.known import Condition, KnownTopologies


NO_WORKLOADS = Rule("no-workloads", "The input has no workloads to render.", "spec/clients.md#5.1", Severity.INFO)
RULES = (NO_WORKLOADS,)
"""Rules of a whole render."""


class Rendered(Record):
    """The result of a render. `kept` are the user's own objects in order and `generated` the objects derived from them.

    If `results` has an error, `kept` is the whole input and `generated` is empty. `sources` are the generated objects
    before packwise's own annotations, each with its origins. `selection` is None if the input is unreadable. `plans`
    are the plans of workloads and `known` the topologies that they can name, even with errors. Both are empty if the
    configuration has errors. `has_grove` is true if the input has workloads of Grove. `obstacles` are the results about
    configuration and CRDs. An error among them prevents the check of objects in every file. `scheduled` is the input of
    the schedulers, or None with an error. If `has_previews` is false, renders with and without previews are equal.
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
    has_previews: bool = False

    @property
    def items(self) -> tuple[KubeObject, ...]:
        """Return all objects of the answer."""
        return self.kept + self.generated

    @property
    def workloads(self) -> int:
        """Return the number of workloads that were checked."""
        return len(self.checked_workloads)

    @property
    def checked_workloads(self) -> tuple[KubeObject, ...]:
        """Return the checked workloads: first workloads with a plan, then workloads that only a scheduler checks."""
        planned = {plan.workload for plan in self.plans}
        return (*[plan.workload for plan in self.plans], *[item for item in self.queued if item not in planned])

    @property
    def gitops(self) -> tuple[str, ...]:
        """Return the tools that apply the objects."""
        return () if self.selection is None else self.selection.settings.gitops


class Renderer(Protocol):
    """A function that renders packages for checks and comparisons, as `render` does."""

    def __call__(self, package: Package, *, is_listed: bool = True, previews: bool = False) -> Rendered:
        """Return the package with its derived objects."""
        ...


class SharedRenders:
    """A renderer that renders equal packages only once. It always lists all objects of a package.

    A comment checks, compares and places the same two states. The renderer stores few packages, for one command.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: list[tuple[Package, bool, Rendered]] = []

    def __call__(self, package: Package, *, is_listed: bool = True, previews: bool = False) -> Rendered:  # noqa: ARG002
        """Return the package with its derived objects."""
        before = package.configured_before
        if before is not None and before.function_config is None and not before.context:
            # An empty configuration and none have the same effect.
            package = package.replace(configured_before=None)
        for known, had_previews, rendered in self._known:
            if (had_previews == previews or not rendered.has_previews) and known == package:
                return rendered
        rendered = render(package, previews=previews)
        self._known.append((package, previews, rendered))
        return rendered


def render(
    package: Package,
    *,
    writes: bool = False,
    is_listed: bool = True,
    previews: bool = False,
    checks_pods: bool = True,
) -> Rendered:
    """Return the package with its derived objects, or the input itself if it has errors.

    With `writes`, the objects are written and not only checked or compared. If `is_listed` is false, only the results
    are needed, and new objects are omitted. With `previews`, objects made by the scheduler itself are listed even if
    their kind is not emitted. With `checks_pods` false, the pods of queued jobs are not checked.
    """
    try:
        return _render(package, writes=writes, is_listed=is_listed, previews=previews, checks_pods=checks_pods)
    except FieldError as error:
        results = (unreadable_result(error),)
        return Rendered(package.items, (), results, obstacles=results)


def _render(package: Package, *, writes: bool, is_listed: bool, previews: bool, checks_pods: bool) -> Rendered:
    """Run the steps of a render in the order of docs/architecture.md, each with the values of earlier steps."""
    # index, select
    inventory, selection = read_package(package)
    items, settings = inventory.items, selection.settings
    choice = _choice(package, settings)
    configured = _report_configuration(selection, items, choice)
    if configured.is_refused:
        # With an invalid configuration, every answer about a workload would be a guess.
        return Rendered(package.items, (), configured.results, selection, obstacles=configured.obstacles)
    # topologies
    topologies = topologies_of(inventory, selection)
    cluster = cluster_of(selection, topologies, package.nodes or _nodes_among(items, is_part=package.is_part))
    # plan
    plans = _plan(inventory, cluster, selection)
    # write
    placements, definitions = _placements(plans), selection.definitions
    source = SchedulerInput(placements, topologies, cluster, inventory, definitions, settings, checks_pods)
    written = _write(source, plans, selection, choice, writes=writes)
    # render
    in_use = {plan.topology for plan in plans if plan.topology is not None}
    rendering = render_objects(
        written.generated, items, settings, in_use, folder=package.folder, is_listed=is_listed, previews=previews
    )
    # check
    known = FindingsBySubject(configured.spelling, written.findings, rendering.findings)
    checked = check_input(source, selection, known, written.generated, is_part=package.is_part, writes=writes)
    # report
    reported = (*configured.obstacles, *_report(checked, written.ignorable, choice))
    # annotate: the configuration can also turn notices into errors
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
        has_previews=any(each.preview for each in written.generated),
    )


def read_package(package: Package) -> tuple[Inventory, Selection]:
    """Return the indexed objects of the package and the configuration of its render."""
    inventory = index_package(package)
    return inventory, select(package, inventory, configured_otherwise=brings_topologies(inventory))


class _Configured(Record):
    """The `results` about the configuration. `obstacles` are the results among them that prevent a check of objects.

    `spelling` are misspelt kinds. `is_refused` is true if the configuration has errors.
    """

    results: tuple[Result, ...]
    obstacles: tuple[Result, ...]
    spelling: tuple[Finding, ...]
    is_refused: bool


def _report_configuration(selection: Selection, items: Index, choice: Choice | _NoChoice) -> _Configured:
    """Return the results about the configuration and about CRDs. Errors of CRDs do not refuse the whole input."""
    spelling = tuple(spelling_findings(items, selection.definitions.by_kind))
    of_settings = (
        *choice.results(selection.findings),
        *selection.results,
        *choice.results(choice.wrong_entries()),
    )
    obstacles = (*of_settings, *choice.results(selection.definitions.findings))
    results = (*obstacles, *choice.results(spelling))
    return _Configured(results, obstacles, spelling, is_refused=bool(exit_code(of_settings)))


def _nodes_among(items: Index, *, is_part: bool) -> tuple[Mapping[str, Value], ...]:
    # Nodes outside the folders of several clusters may belong to any of these clusters.
    return () if is_part else tuple(item.value for item in items.of_kind("", "Node"))


def _plan(inventory: Inventory, cluster: Cluster, selection: Selection) -> tuple[WorkloadPlan, ...]:
    """Return the plan of every workload: read, defaulted, validated, placed. Above the run's limit no workload is
    placed.
    """
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

    `findings` are about workloads. Comments may ignore errors about `ignorable` objects. `statuses` are the statuses of
    topologies by name. `conditions` are the conditions of users' objects. `notices` report conditions without an
    annotation. `workloads` are the workloads that a scheduler checks itself.
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
    """Return the objects that the plans describe.

    A workload with an ignored error is still refused, and no objects are written for it.
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
    """Return the objects of all schedulers and their refusals, merged."""
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
    """Return the ClusterTopologies to write with their conditions, and findings for conditions that are not
    annotated.
    """
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
            # The entries of a List are read and not written, so their conditions are results.
            notices += annotate(item, status, settings.replace(annotate=False))[1]
            kept.append(item)
        else:
            annotated, findings = annotate(finalized.get(item, item), status, settings)
            kept.append(with_notes(annotated, notes.get(item, {})))
            notices += findings
    if not plans and not written.workloads:
        message = "the input has no PodCliqueSet, so packwise renders no gangs"
        notices.append(Finding.of(NO_WORKLOADS, None, (), message))
    return _Kept(tuple(kept), tuple(notices))


class _NoChoice:
    """Reports all findings unchanged, because neither settings nor comments select among them."""

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
    """Return the choice among findings. Without settings and comments about rules, no further module is imported."""
    items = (*package.items, *package.documents)
    # No edit happens before this, so this is the text with its comments. The entries of a List share one text.
    texts = dict.fromkeys([item.source.text for item in items])
    if not settings.rules and not any("packwise:" in text for text in texts):
        return _NoChoice()
    from packwise.pipeline.rules import Choice

    return Choice(settings, items, compared=package.baseline is not None)


def results_of(findings: Iterable[Finding], results: Iterable[Result] = ()) -> tuple[Result, ...]:
    """Return the results of the findings, followed by `results`."""
    return (*(finding.to_result() for finding in findings), *results)


def unreadable_result(error: FieldError) -> Result:
    """Return the result about an unreadable part."""
    result = error.to_result()
    return result.replace(tags={**result.tags, "rule": READABLE.name})
