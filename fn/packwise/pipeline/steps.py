"""The steps of a render, in order: each takes what the steps before computed."""

from __future__ import annotations

from functools import partial

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity, exit_code
from packwise.annotate import annotate, annotate_generated, with_notes
from packwise.findings.finding import Finding, Rule
from packwise.frontends.key_rules import key_findings
from packwise.objects.identity import identity, is_generated
from packwise.objects.index import ONCE, READABLE
from packwise.objects.kinds import PODGROUP, WORKLOADS
from packwise.objects.spelling import spelling_findings
from packwise.pipeline.metadata import metadata_findings
from packwise.pipeline.registry import brings_topologies, front_ends, schedulers
from packwise.placement import Cluster, within_limit
from packwise.render import render as render_objects
from packwise.schedulers.scheduler import SchedulerInput, SchedulerObjects
from packwise.select import index_package, select
from packwise.select.selection import ABSENT
from packwise.topology.known import ConfiguredTopology, known_topologies, with_finalizer
from packwise.topology.protection import check_protection
from packwise.topology.status import Status, topology_status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.objects.generated import Generated
    from packwise.objects.index import Index
    from packwise.objects.inventory import Inventory
    from packwise.pipeline.choice import Choice
    from packwise.placement import Placement, WorkloadPlan
    from packwise.select import Package, Selection
    from packwise.settings import TopologyRender
    from packwise.topology.known import KnownTopologies
    from packwise.validate.definitions import Definitions

__all__ = ["RULES", "Rendered", "cluster_of", "render", "results_of", "selected", "topologies_of", "unreadable"]

NO_WORKLOADS = Rule("no-workloads", "There are workloads to render.", "spec/clients.md#5", Severity.INFO)
RULES = (NO_WORKLOADS,)
"""Rules of a whole render."""


class Rendered(NamedTuple):
    """`kept` are the user's own objects in their order, `generated` those that follow them.

    With an error among `results`, `kept` is the whole input and nothing is generated. `sources` are the generated
    objects before packwise's own annotations, each with its origins. `selection` is None where the input is unreadable.
    `plans` are what becomes of the workloads and `known` the topologies that they can name, also where there are
    errors; none where the configuration has some. `has_grove`: whether some workloads are Grove's. `obstacles` are
    those of `results` about what objects are judged by, the configuration and the CRDs: an error among them keeps
    objects from being judged, whatever file it is in. `scheduled` is what the schedulers write their objects from, None
    where there is an error.
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

    @property
    def items(self) -> tuple[KubeObject, ...]:
        """All objects of the answer."""
        return self.kept + self.generated

    @property
    def workloads(self) -> int:
        """How many workloads were judged."""
        return len(self.plans)

    @property
    def gitops(self) -> tuple[str, ...]:
        """The tools that apply the objects."""
        return () if self.selection is None else self.selection.settings.gitops


def render(package: Package, *, writes: bool = False, is_listed: bool = True, previews: bool = False) -> Rendered:
    """The package with everything that follows from it; the input itself where that has errors.

    `writes`: whether the objects are written, and not only checked or compared. Where only `results`, and what they
    come from, are asked for, no new object `is_listed`. `previews`: what the scheduler makes itself is listed, whether
    or not its kind is emitted.
    """
    try:
        return _render(package, writes=writes, is_listed=is_listed, previews=previews)
    except FieldError as error:
        results = (unreadable(error),)
        return Rendered(package.items, (), results, obstacles=results)


def _render(package: Package, *, writes: bool, is_listed: bool, previews: bool) -> Rendered:
    inventory, selection = selected(package)
    choice = _choice(package, selection.settings)
    results = (*choice.results(selection.findings), *selection.results, *choice.results(choice.wrong_entries()))
    spelling = list(spelling_findings(inventory.items, selection.definitions.by_kind))
    is_refused = exit_code(results)
    obstacles = results = (*results, *choice.results(selection.definitions.findings))
    if is_refused:
        results += choice.results(spelling)
        # With a configuration that means nothing, every answer about a workload would be a guess.
        return Rendered(package.items, (), results, selection, obstacles=obstacles)
    settings, definitions = selection.settings, selection.definitions
    known = topologies_of(inventory, selection)
    nodes = package.nodes or tuple(item.value for item in inventory.items.of_kind("", "Node"))
    cluster = cluster_of(selection, known)._replace(nodes=nodes)
    plans = _plan(inventory, cluster, settings, definitions)
    protected = _protect(inventory, cluster, settings)
    scheduled = SchedulerInput(_placements(plans), known, cluster, inventory, definitions, settings, nodes)
    reported = partial(_reported, selection, writes=writes)
    written, about_workloads, ignorable = _write_chosen(scheduled, plans, reported, choice)
    statuses = {name: topology_status(cluster.revision, written.refusals.get(name)) for name in known.by_name}
    topologies, notices = _with_status(known, statuses, inventory, settings)
    generated = [*topologies, *written.generated, *[preview for plan in plans for preview in plan.previews]]
    in_use = {plan.topology for plan in plans if plan.topology is not None}
    rendering = render_objects(
        generated, inventory.items, settings, in_use, folder=package.folder, is_listed=is_listed, previews=previews
    )
    is_part = package.is_part or bool(spelling)
    absence, about_workloads = _absence(
        about_workloads, selection, is_part=is_part, asks=_asks_for_topology(inventory.items)
    )
    about_workloads = _with_assumption(about_workloads, selection)
    of_topologies = reported([*known.findings, *protected])
    listed = _written_in_lists(inventory) if writes else ()
    of_objects = reported([*listed, *rendering.findings, *_judge(generated, inventory, definitions, settings)])
    evidence = selection.evidence.findings if selection.evidence is not None else ()
    judged_before = [*of_topologies, *about_workloads, *of_objects]
    of_objects += metadata_findings(inventory.items, judged_before)
    named = cluster.revision if selection.is_named else None
    of_objects += key_findings(inventory.items, named, settings.kai_version)
    has_grove = any(inventory.items.of_kind(*kind.key) for kind in WORKLOADS)
    judged = tuple(plans), known, has_grove, obstacles
    results = (
        *results,
        *choice.results([*absence, *spelling, *of_topologies]),
        *choice.results(about_workloads, ignorable),
        *choice.results([*of_objects, *evidence]),
    )
    if exit_code(results):
        results = (*results, *choice.wrong_comments())
        return Rendered(package.items, (), results, selection, (), *judged)
    notes = {id(plan.workload): plan.notes for plan in plans}
    kept, more = _annotate(package, _statuses(plans, known, statuses, written), notes, known, selection)
    notices += more
    if not plans:
        notices.append(_no_workloads())
    # The configuration may make errors of these, too.
    results = (*results, *choice.results(notices), *choice.wrong_comments())
    if exit_code(results):
        return Rendered(package.items, (), results, selection, (), *judged)
    return Rendered(kept, rendering.objects, results, selection, rendering.generated, *judged, scheduled)


def _with_assumption(about_workloads: list[Finding], selection: Selection) -> list[Finding]:
    """The findings, of which those that rest on an assumed release say so."""
    if not selection.is_assumed:
        return about_workloads
    # Most runs name a release, and need not import it.
    from packwise.pipeline.assumption import with_assumption

    return with_assumption(about_workloads, selection.revision, selection.definitions)


class _NoChoice:
    """All findings are reported as they are: neither settings nor comments choose among them."""

    def results(self, findings: Iterable[Finding], ignorable: Collection[int] = ()) -> tuple[Result, ...]:  # noqa: ARG002
        return tuple(finding.to_result() for finding in findings)

    def refused(self, findings: Iterable[Finding], ignorable: Collection[int]) -> frozenset[int]:  # noqa: ARG002
        return frozenset()

    def wrong_entries(self) -> tuple[Finding, ...]:
        return ()

    def wrong_comments(self) -> tuple[Result, ...]:
        return ()


def _choice(package: Package, settings: TopologyRender) -> Choice | _NoChoice:
    """What is chosen of the findings; nothing is imported where neither settings nor comments choose."""
    items = (*package.items, *package.documents)
    # Edits never come before this, so that it is the text with its comments.
    texts = {id(item.source.text): item.source.text for item in items}
    if not settings.rules and not any("packwise:" in text for text in texts.values()):
        return _NoChoice()
    from packwise.pipeline.choice import Choice

    return Choice(settings, items, compared=package.baseline is not None)


def _reported(selection: Selection, findings: Sequence[Finding], *, writes: bool) -> list[Finding]:
    """The findings as severe as they are, without those that follow from the API of another release."""
    severe = _as_written(findings) if writes else list(findings)
    return severe if selection.evidence is None else selection.evidence.without_consequences(severe)


def _write_chosen(
    source: SchedulerInput,
    plans: Sequence[WorkloadPlan],
    reported: Callable[[Sequence[Finding]], list[Finding]],
    choice: Choice | _NoChoice,
) -> tuple[SchedulerObjects, list[Finding], frozenset[int]]:
    """The objects of all schedulers, what is wrong with workloads, and the objects whose errors may be ignored.

    The last are given by their identities in memory. A workload with an error that is ignored is refused all the same:
    the objects are written without it.
    """
    written = _write(source)
    findings = reported([*written.findings, *(finding for plan in plans for finding in plan.findings)])
    podgroups = source.inventory.items.of_kind(*PODGROUP.key)
    ignorable = frozenset([*[id(plan.workload) for plan in plans], *map(id, podgroups)])
    refused = choice.refused(findings, ignorable)
    if refused:
        written = _write(source._replace(placements=_placements(plans, refused)))
    return written, findings, ignorable


def _placements(plans: Iterable[WorkloadPlan], refused: Collection[int] = ()) -> tuple[Placement, ...]:
    """What is placed, but for workloads that are `refused`, by their identities in memory."""
    return tuple(placement for plan in plans if id(plan.workload) not in refused for placement in plan.placements)


def selected(package: Package) -> tuple[Inventory, Selection]:
    """The objects of the package, indexed, and what configures its render."""
    inventory = index_package(package)
    selection = select(package, inventory, configured_otherwise=brings_topologies(inventory))
    return inventory, selection._replace(settings=selection.settings.with_values(package.values))


def topologies_of(inventory: Inventory, selection: Selection) -> KnownTopologies:
    """The topologies that workloads can name."""
    revision, configuration = selection.revision, selection.configuration
    finalizers = (revision.finalizer,) if revision.finalizer is not None and selection.settings.finalizers else ()
    configured = ConfiguredTopology(
        configuration.topology(revision) if configuration is not None else None, configuration is not None, finalizers
    )
    enabled = selection.schedulers.names if selection.schedulers is not None else ()
    return known_topologies(inventory, selection.definitions, revision, configured, enabled)


def cluster_of(selection: Selection, known: KnownTopologies) -> Cluster:
    """What is known of the cluster that is rendered for."""
    configuration, revision = selection.configuration, selection.revision
    # Without scheduler profiles the operator makes the scheduler's topologies.
    profiles = configuration.makes_kai_topologies if configuration is not None else None
    return Cluster(
        revision,
        selection.enabled,
        configuration.domains if configuration is not None else (),
        {name: topology.topology for name, topology in known.by_name.items()},
        auto_mnnvl=configuration is not None and configuration.auto_mnnvl,
        knows_mnnvl=configuration is not None or not selection.is_assumed,
        schedulers=selection.schedulers,
        makes_topologies=not revision.scheduler_profiles or profiles is not False,
        revision_before=selection.revision_before,
    )


def _plan(
    inventory: Inventory, cluster: Cluster, settings: TopologyRender, definitions: Definitions
) -> list[WorkloadPlan]:
    """What becomes of every workload; nothing where that is more than a run renders."""
    plans = [
        plan
        for front_end in front_ends(inventory)
        for plan in front_end.plans(inventory, cluster, settings, definitions)
    ]
    return within_limit(plans, settings.limits.gangs)


def _protect(inventory: Inventory, cluster: Cluster, settings: TopologyRender) -> list[Finding]:
    """What is wrong with changes of topologies that workloads use."""
    revision = cluster.revision
    uses = (use for front_end in front_ends(inventory) for use in front_end.uses(inventory, settings, revision))
    return check_protection(inventory, revision, uses)


def _write(source: SchedulerInput) -> SchedulerObjects:
    """The objects of all schedulers, and what these refuse."""
    written = [scheduler.objects(source) for scheduler in schedulers(source.cluster.revision)]
    return SchedulerObjects(
        tuple(generated for objects in written for generated in objects.generated),
        tuple(finding for objects in written for finding in objects.findings),
        {name: answer for objects in written for name, answer in objects.refusals.items()},
        {item: conditions for objects in written for item, conditions in objects.conditions.items()},
    )


def _with_status(
    known: KnownTopologies, statuses: Mapping[str, Status], inventory: Inventory, settings: TopologyRender
) -> tuple[list[Generated], list[Finding]]:
    """The ClusterTopologies to write with their conditions; or the findings that report these instead."""
    generated: list[Generated] = []
    notices: list[Finding] = []
    for topology in known.generated:
        key = identity(topology.value)
        status, before = statuses.get(key[-1], Status()), inventory.items.generated.get(key)
        with_status, findings = annotate_generated(topology, status, before, settings)
        generated.append(with_status)
        notices += findings
    return generated, notices


def _written_in_lists(inventory: Inventory) -> Iterator[Finding]:
    """That objects of an earlier render stand in Lists, which are not written: what is rendered would stand twice."""
    items = [item for item in inventory.items.generated.values() if item.source.entry]
    if items:
        more = f"; so must {len(items) - 1} more" if len(items) > 1 else ""
        message = f"must stand outside a List, in which packwise cannot bring it up to date: take it out{more}"
        yield Finding.of(ONCE, items[0], (), message)


def _judge(
    generated: list[Generated], inventory: Inventory, definitions: Definitions, settings: TopologyRender
) -> Iterable[Finding]:
    """What the cluster's CRDs refuse; nothing is imported where there are none."""
    if not definitions.by_kind:
        return ()
    from packwise.validate.objects import check_objects

    unknown = Severity.ERROR if settings.unknown_fields == "Error" else Severity.WARNING
    return check_objects(generated, inventory, definitions, unknown)


def _statuses(
    plans: list[WorkloadPlan], known: KnownTopologies, statuses: Mapping[str, Status], written: SchedulerObjects
) -> Mapping[int, Status]:
    """The status of each of the users' objects that has one, by its identity in memory."""
    by_item = {id(plan.workload): Status(plan.conditions) for plan in plans}
    by_item |= {id(item): statuses.get(name, Status()) for name, item in known.written.items()}
    return by_item | {item: Status(conditions) for item, conditions in written.conditions.items()}


def _annotate(
    package: Package,
    statuses: Mapping[int, Status],
    notes: Mapping[int, Mapping[str, str | None]],
    known: KnownTopologies,
    selection: Selection,
) -> tuple[tuple[KubeObject, ...], list[Finding]]:
    """The user's objects, those that have a status with that; or the findings that report it instead.

    Statuses and notes are by the identity of an object in memory.
    """
    settings, finalizer = selection.settings, selection.revision.finalizer
    finalizers = (finalizer,) if finalizer is not None and settings.finalizers else ()
    finalized = {id(item): with_finalizer(item, finalizers) for item in known.written.values()}
    kept: list[KubeObject] = []
    notices: list[Finding] = []
    for item in package.items:
        if id(item) in statuses:
            if item.source.entry:
                # What a List holds is read, and not written: its conditions are results.
                notices += annotate(item, statuses[id(item)], settings._replace(annotate=False))[1]
                kept.append(item)
                continue
            annotated, findings = annotate(finalized.get(id(item), item), statuses[id(item)], settings)
            kept.append(with_notes(annotated, notes.get(id(item), {})))
            notices += findings
        elif not is_generated(item.value):
            kept.append(item)
    return tuple(kept), notices


def _absence(
    findings: list[Finding], selection: Selection, *, is_part: bool, asks: bool
) -> tuple[tuple[Finding, ...], list[Finding]]:
    """That nothing configures a topology, which is reported once, and `findings` without what follows from it.

    What is a part of several clusters' packages, or has a configuration with a slip in its name, has no such cause.
    Where no workload `asks` for a topology, nobody misses one.
    """
    absent = selection.absent
    if absent is None:
        return (), findings
    from packwise.frontends.grove.rules.constraints import DISABLED

    refused = [finding for finding in findings if finding.rule == DISABLED.name]
    rest = [finding for finding in findings if finding.rule != DISABLED.name]
    if is_part:
        return (), rest
    if not refused:
        return ((absent,) if asks else ()), findings
    number = len({id(finding.subject) for finding in refused})
    workloads = "a workload has a topology constraint" if number == 1 else f"{number} workloads have constraints"
    message = f"{absent.message}; {workloads}, which the operator refuses while that is so"
    where = absent if absent.subject is not None else refused[0]
    cause = Finding.of(ABSENT, where.subject, where.path, message, severity=Severity.ERROR)
    return (cause,), rest


def _asks_for_topology(index: Index) -> bool:
    """Whether a workload has a topology constraint, also where it is refused for something else."""
    workloads = [item for kind in WORKLOADS for item in index.of_kind(*kind.key)]
    return any(_has_constraint(item.value) for item in workloads)


def _has_constraint(value: Value) -> bool:
    if isinstance(value, dict):
        return bool(value.get("topologyConstraint")) or any(_has_constraint(each) for each in value.values())
    return isinstance(value, list) and any(_has_constraint(each) for each in value)


def _as_written(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each as severe as it is where objects are written."""
    return [
        finding if finding.when_written is None else finding._replace(severity=finding.when_written)
        for finding in findings
    ]


def results_of(findings: Iterable[Finding], results: Iterable[Result] = ()) -> tuple[Result, ...]:
    """The results that the findings are, and `results` after them."""
    return (*(finding.to_result() for finding in findings), *results)


def _no_workloads() -> Finding:
    message = "there is no PodCliqueSet among the input; what needs none was rendered"
    return Finding.of(NO_WORKLOADS, None, (), message)


def unreadable(error: FieldError) -> Result:
    """The result that says what cannot be read."""
    result = error.to_result()
    return result._replace(tags={**result.tags, "rule": READABLE.name})
