"""The steps of a render, in order: each takes what the one before made."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn.errors import FieldError
from krmfn.result import Severity, exit_code
from packwise.annotate import annotate, annotate_generated
from packwise.finding import Finding, Rule
from packwise.pipeline.front_ends import front_ends
from packwise.plan import Cluster, Status
from packwise.render import render as render_objects
from packwise.schedulers.kai import KAI
from packwise.schedulers.status import topology_status
from packwise.schedulers.topologies import scheduler_topologies
from packwise.select import select
from packwise.select.index import READABLE, identity, is_earlier
from packwise.select.protection import check_protection
from packwise.select.topologies import known_topologies, with_finalizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.plan import Generated, WorkloadPlan
    from packwise.select import Package, Selection
    from packwise.select.topologies import KnownTopologies

__all__ = ["RULES", "Rendered", "render", "results_of", "unreadable"]

NO_WORKLOADS = Rule("no-workloads", "There are workloads to render.", "clients.md 5", Severity.INFO)
RULES = (NO_WORKLOADS,)
"""Rules of a whole render."""


class Rendered(NamedTuple):
    """`kept` are the user's own objects in their order, `generated` what follows them.

    With an error among `results`, `kept` is the whole input and nothing is generated. `gitops` are the tools that
    apply the objects.
    """

    kept: tuple[KubeObject, ...]
    generated: tuple[KubeObject, ...]
    results: tuple[Result, ...]
    gitops: tuple[str, ...] = ()

    @property
    def items(self) -> tuple[KubeObject, ...]:
        """All objects of the answer."""
        return self.kept + self.generated


def render(package: Package) -> Rendered:
    """The package with everything that follows from it; the input itself where that has errors."""
    try:
        return _render(package)
    except FieldError as error:
        return Rendered(package.items, (), (unreadable(error),))


def _render(package: Package) -> Rendered:
    selection = select(package)
    found = results_of(selection.findings, selection.results)
    if exit_code(found):
        # With a configuration that means nothing, every answer about a workload would be a guess.
        return Rendered(package.items, (), found)
    known = known_topologies(selection)
    chosen = front_ends(selection)
    plans = [plan for front_end in chosen for plan in front_end.plans(selection, _cluster(selection, known))]
    uses = (use for front_end in chosen for use in front_end.uses(selection))
    made = scheduler_topologies(KAI, known, selection)
    statuses = {name: topology_status(selection.revision, made.refused.get(name)) for name in known.by_name}
    topologies, told = _with_status(known, statuses, selection)
    answered, unanswered = _answers(plans, selection)
    generated = [*topologies, *made.generated, *(one for plan in plans for one in plan.generated), *answered]
    groups, faults = _podgroups(plans, selection)
    in_use = {plan.topology for plan in plans if plan.topology is not None}
    rendering = render_objects([*generated, *groups], selection.index, selection.settings, in_use)
    protected = check_protection(selection, uses)
    findings = [
        *known.findings,
        *protected,
        *made.findings,
        *_own_objects(selection, made.generated),
        *faults,
        *unanswered,
        *(f for plan in plans for f in plan.findings),
        *rendering.findings,
        *_by_definitions(selection, generated),
    ]
    results = (*found, *results_of(findings))
    if exit_code(results):
        return Rendered(package.items, (), results)
    annotated = {id(plan.workload): Status(plan.conditions) for plan in plans}
    annotated |= {id(item): statuses.get(name, Status()) for name, item in known.written.items()}
    annotated |= {item: Status(conditions) for item, conditions in made.conditions.items()}
    kept, said = _annotated(package, annotated, _finalized(known, selection), selection)
    told += said
    if not plans:
        told.append(_no_workloads())
    return Rendered(kept, rendering.objects, (*results, *results_of(told)), selection.settings.gitops)


def _with_status(
    known: KnownTopologies, statuses: Mapping[str, Status], selection: Selection
) -> tuple[list[Generated], list[Finding]]:
    """The ClusterTopologies to write with their conditions; or the findings that tell these instead."""
    generated: list[Generated] = []
    told: list[Finding] = []
    for one in known.generated:
        key = identity(one.value)
        status, before = statuses.get(key[-1], Status()), selection.index.earlier.get(key)
        with_status, findings = annotate_generated(one, status, before, selection.settings)
        generated.append(with_status)
        told += findings
    return generated, told


def _answers(plans: list[WorkloadPlan], selection: Selection) -> tuple[list[Generated], list[Finding]]:
    """The scheduler's objects for what front ends ask of it."""
    requests = [request for plan in plans for request in plan.requests]
    if not requests:
        return [], []
    from packwise.schedulers.requests import answers

    return answers(KAI, requests, selection)


def _podgroups(plans: list[WorkloadPlan], selection: Selection) -> tuple[list[Generated], list[Finding]]:
    """The scheduler's groups of pods, where these are rendered: no other run pays for the import."""
    if all(plan.gangs is None for plan in plans):
        return [], []
    from packwise.schedulers.podgroups import scheduler_podgroups

    return scheduler_podgroups(KAI, plans, selection)


def _own_objects(selection: Selection, topologies: Iterable[Generated]) -> Iterable[Finding]:
    """What the scheduler has against users' own objects of its kinds; nothing is imported where there are none."""
    kinds = ((KAI.group, KAI.topology_kind), (KAI.podgroup_group, KAI.podgroup_kind))
    if not any(selection.index.of_kind(*kind) for kind in kinds):
        return ()
    from packwise.schedulers.podgroups import check_own_objects

    return check_own_objects(KAI, selection, topologies)


def _by_definitions(selection: Selection, generated: list[Generated]) -> Iterable[Finding]:
    """What the cluster's CRDs refuse; nothing is imported where there are none."""
    if not selection.definitions.by_kind:
        return ()
    from packwise.crds.objects import check_objects

    return check_objects(selection, generated)


def _cluster(selection: Selection, known: KnownTopologies) -> Cluster:
    configuration = selection.configuration
    return Cluster(
        selection.revision,
        selection.enabled,
        configuration.domains if configuration is not None else (),
        {name: found.topology for name, found in known.by_name.items()},
        auto_mnnvl=configuration is not None and configuration.auto_mnnvl,
        schedulers=selection.schedulers,
        grouped=selection.settings.emits(KAI.podgroup_kind),
    )


def _finalized(known: KnownTopologies, selection: Selection) -> dict[int, KubeObject]:
    """The users' ClusterTopologies by id, with the operator's finalizer where that is asked for."""
    return {id(item): with_finalizer(item, selection) for item in known.written.values()}


def _annotated(
    package: Package, statuses: Mapping[int, Status], finalized: Mapping[int, KubeObject], selection: Selection
) -> tuple[tuple[KubeObject, ...], list[Finding]]:
    """The user's objects, those that have a status with that; or the findings that tell it instead."""
    kept: list[KubeObject] = []
    told: list[Finding] = []
    for item in package.items:
        if id(item) in statuses:
            annotated, findings = annotate(finalized.get(id(item), item), statuses[id(item)], selection.settings)
            kept.append(annotated)
            told += findings
        elif not is_earlier(item.value):
            kept.append(item)
    return tuple(kept), told


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
