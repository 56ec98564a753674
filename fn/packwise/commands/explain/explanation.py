"""What a render is to the scheduler, as a tree: workloads, their gangs, the sets of pods within, levels, objects."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import exit_code
from packwise.commands.explain.emitted import Emitted, Lookup, location_of, value_of
from packwise.commands.explain.missing import omissions_of, unwritten
from packwise.objects.identity import format_identity, identity, stable_identities
from packwise.objects.kinds import POD
from packwise.pipeline.registry import queued_sources
from packwise.placement import Gang, GangPod, NodeTopology
from packwise.select import index_package
from packwise.settings import settings_place
from packwise.topology.levels import Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import ResourceRef, Result
    from krmfn.value import Value
    from packwise.objects.index import Inventory
    from packwise.objects.place import Place
    from packwise.pipeline import Rendered
    from packwise.placement import Omission, Placement, PodSet, QueuedPods, WorkloadPlan
    from packwise.select import Package
    from packwise.settings import TopologyRender

__all__ = [
    "Explanation",
    "GangTree",
    "LevelNode",
    "QueuedSet",
    "SetTree",
    "TopologyNode",
    "WorkloadTree",
    "explanation_of",
]


class LevelNode(NamedTuple):
    """A level of a topology; `place` is that of its node label key."""

    level: Level
    place: Place


class TopologyNode(NamedTuple):
    """A topology: its levels, broadest first; `place` is that of their list."""

    name: str
    levels: tuple[LevelNode, ...]
    place: Place


class SetTree(NamedTuple):
    """A set of pods, the sets in it, and the pods that are rendered for it."""

    pods: PodSet
    parts: tuple[SetTree, ...] = ()
    members: tuple[Emitted, ...] = ()


class GangTree(NamedTuple):
    """A gang, the sets in it, the objects that are written for it; `members` are pods that are in none of the sets."""

    gang: Gang
    parts: tuple[SetTree, ...]
    objects: tuple[Emitted, ...] = ()
    members: tuple[Emitted, ...] = ()


class QueuedSet(NamedTuple):
    """A set of pods that a scheduler places itself, with the levels that its node labels are, where that is known."""

    pods: QueuedPods
    required: Level | None
    preferred: Level | None
    slices: tuple[tuple[Level, int], ...] = ()


class WorkloadTree(NamedTuple):
    """A workload, or what else a front end reads. `source` names it as the annotation of its objects does.

    `item` is the object or document, `written` the same as the render leaves it. `objects` are those that are written
    for no gang: queues, topologies. `missing` is what it asks for and no object says, `results` are the findings about
    it. `queued` are its pods that a scheduler queues and places itself.
    """

    source: str
    item: KubeObject
    written: KubeObject
    gangs: tuple[GangTree, ...] = ()
    objects: tuple[Emitted, ...] = ()
    missing: tuple[Omission, ...] = ()
    results: tuple[Result, ...] = ()
    queued: tuple[QueuedSet, ...] = ()


class Explanation(NamedTuple):
    """The whole render. `objects` are all that it writes, in their order; none where there are errors.

    `items` are the objects and documents of the input. `chosen_by` is what chose the revision; `enabled`: whether TAS
    is, None where nothing says so. `rendered`: whether there is a render, for which there must be no error. `results`
    are all findings.
    """

    items: tuple[KubeObject, ...]
    revision: str = ""
    chosen_by: str = ""
    enabled: bool | None = None
    rendered: bool = False
    topologies: tuple[TopologyNode, ...] = ()
    workloads: tuple[WorkloadTree, ...] = ()
    objects: tuple[Emitted, ...] = ()
    results: tuple[Result, ...] = ()
    lookup: Lookup = Lookup({}, {})


def explanation_of(package: Package, rendered: Rendered) -> Explanation:
    """What the render of `package` is; the findings alone where its configuration has errors."""
    config = () if package.function_config is None else (package.function_config,)
    items = (*package.items, *package.documents, *config)
    selection = rendered.selection
    if selection is None:
        return Explanation(items, results=rendered.results)
    inventory = index_package(package)
    placements = [placement for plan in rendered.plans for placement in plan.placements]
    topologies = tuple(_topologies(rendered, placements))
    lookup = Lookup(
        {each.name: (each.place, tuple((node.level, node.place) for node in each.levels)) for each in topologies},
        _settings(selection.settings),
    )
    objects = tuple(_emitted(rendered, placements, inventory))
    return Explanation(
        items,
        selection.revision.name,
        selection.chosen_by,
        selection.enabled if selection.enabled or selection.configuration is not None else None,
        not exit_code(rendered.results),
        topologies,
        tuple(_Trees(rendered, objects, inventory, _queued(rendered, inventory, selection.settings)).workloads()),
        objects,
        rendered.results,
        lookup,
    )


def _topologies(rendered: Rendered, placements: Iterable[Placement]) -> Iterable[TopologyNode]:
    for known in rendered.known.by_name.values() if rendered.known is not None else ():
        levels = zip(known.topology.levels, known.places, strict=True)
        nodes = tuple(LevelNode(level, place.below("key")) for level, place in levels)
        yield TopologyNode(known.topology.name, nodes, known.levels)
    for placement in placements:
        node = placement.node
        if isinstance(node, NodeTopology):
            places = [node.place.below(position, node.field) for position in range(len(node.levels))]
            nodes = tuple(LevelNode(*pair) for pair in zip(node.levels, places, strict=True))
            yield TopologyNode(node.name, nodes, node.place)


def _queued(rendered: Rendered, inventory: Inventory, settings: TopologyRender) -> dict[int, list[QueuedSet]]:
    """The pods that schedulers place themselves, by the identity of their workload in memory."""
    by_workload: dict[int, list[QueuedSet]] = {}
    known = rendered.known
    if known is None:
        return by_workload
    for queued_pods in queued_sources():
        for pods in queued_pods(inventory, known, settings):
            topologies = [known.by_name[name].topology for name in pods.topologies if name in known.by_name]
            domains = {level.key: level.domain for topology in topologies for level in topology.levels}
            by_workload.setdefault(id(pods.workload), []).append(_queued_set(pods, domains))
    return by_workload


def _queued_set(pods: QueuedPods, domains: Mapping[str, str]) -> QueuedSet:
    def level(key: str | None) -> Level | None:
        return None if key is None else Level(domains.get(key, ""), key)

    slices = tuple((Level(domains.get(each.level, ""), each.level), each.size) for each in pods.slices)
    return QueuedSet(pods, level(pods.required), level(pods.preferred), slices)


def _settings(settings: TopologyRender) -> Mapping[str, Place]:
    """The places of the settings that ask for annotations."""
    if settings.item is None:
        return {}
    place = settings_place(settings)
    return {name: place.below(name) for name in ("apply", "gitops")}


def _emitted(rendered: Rendered, placements: Iterable[Placement], inventory: Inventory) -> Iterable[Emitted]:
    gangs = {(node.namespace, node.name): node for each in placements if isinstance(node := each.node, Gang)}
    index = inventory.items
    stable = stable_identities([item.value for item in rendered.generated])
    for item, generated, key_without_epoch in zip(rendered.generated, rendered.sources, stable, strict=True):
        key = identity(item.value)
        gang = gangs.get(key[2:]) if key[:2] != POD.key else None
        yield Emitted(item, generated, gang, index.generated.get(key) or index.gangs.get(key_without_epoch))


class _Trees:
    """What the trees of all workloads have in common."""

    __slots__ = ("_by_source", "_kept", "_missing", "_queued", "_rendered")

    def __init__(
        self,
        rendered: Rendered,
        objects: Sequence[Emitted],
        inventory: Inventory,
        queued: dict[int, list[QueuedSet]],
    ) -> None:
        self._rendered = rendered
        self._queued = queued
        self._kept = {identity(item.value): item for item in rendered.kept}
        self._by_source: dict[tuple[str, int], list[Emitted]] = {}
        for emitted in objects:
            key = (emitted.generated.source, id(emitted.generated.subject))
            self._by_source.setdefault(key, []).append(emitted)
        self._missing = omissions_of(rendered, inventory)

    def workloads(self) -> Iterable[WorkloadTree]:
        """The trees, in the order in which the workloads are rendered."""
        unnamed: set[str] = set()
        for plan in self._rendered.plans:
            by_source: dict[str, list[Placement]] = {}
            for placement in plan.placements:
                by_source.setdefault(placement.source, []).append(placement)
            for source, placements in by_source.items():
                yield self._tree(plan, source, placements)
            if not by_source and (name := _unnamed(plan)) not in unnamed:
                # A document has a plan for each thing that is wrong with it.
                unnamed.add(name)
                yield self._tree(plan, name, [])
        for queued in list(self._queued.values()):
            item = queued[0].pods.workload
            written = self._kept.get(identity(item.value), item)
            name = format_identity(identity(item.value))
            yield WorkloadTree(name, item, written, results=self._results(item), queued=tuple(queued))

    def _tree(self, plan: WorkloadPlan, source: str, placements: Sequence[Placement]) -> WorkloadTree:
        item = plan.workload
        emitted = self._by_source.get((source, id(item)), [])
        members = _pods(placements, emitted)
        by_gang: dict[int, list[Emitted]] = {}
        for each in emitted:
            by_gang.setdefault(id(each.gang), []).append(each)
        gangs = tuple(
            _gang(node, by_gang.get(id(node), ()), members)
            for each in placements
            if isinstance(node := each.node, Gang)
        )
        others = tuple(each for each in emitted if each.gang is None and identity(each.item.value)[:2] != POD.key)
        missing = (*self._missing.get(id(plan), ()), *unwritten(placements, self._rendered))
        written = self._kept.get(identity(value_of(item)), item)
        queued = tuple(self._queued.pop(id(item), ()))
        return WorkloadTree(source, item, written, gangs, others, missing, self._results(item), queued)

    def _results(self, item: KubeObject) -> tuple[Result, ...]:
        """The findings about an object or document."""
        file, value = location_of(item).file, value_of(item)
        name = identity(value)[1:] if value.get("apiVersion") else None

        def is_about(result: Result) -> bool:
            ref = result.resource_ref
            own = None if ref is None or name is None else identity(_identified(ref))[1:]
            return own == name and (result.file.path if result.file is not None else None) == file

        return tuple(result for result in self._rendered.results if is_about(result))


def _identified(ref: ResourceRef) -> Mapping[str, Value]:
    """An object with the identity of what a finding is about."""
    return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": {"namespace": ref.namespace, "name": ref.name}}


_Members = dict[tuple[str, str | None], list[Emitted]]
"""The pods that are rendered, by gang and set."""


def _pods(placements: Iterable[Placement], emitted: Iterable[Emitted]) -> _Members:
    by_key = {identity(each.item.value): each for each in emitted}
    members: _Members = {}
    for placement in placements:
        node = placement.node
        if isinstance(node, GangPod) and (pod := by_key.get(identity(node.value))) is not None:
            members.setdefault((node.gang, node.pod_set), []).append(pod)
    return members


def _gang(gang: Gang, objects: Iterable[Emitted], members: _Members) -> GangTree:
    by_parent: dict[str | None, list[PodSet]] = {}
    for pods in gang.sets:
        by_parent.setdefault(pods.parent, []).append(pods)

    def below(parent: str | None) -> tuple[SetTree, ...]:
        return tuple(
            # A clique and a replica of its group may have one name: only inner sets have parts.
            SetTree(
                pods, below(pods.name) if pods.members is None else (), tuple(members.get((gang.name, pods.name), ()))
            )
            for pods in by_parent.get(parent, ())
        )  # fmt: skip

    return GangTree(gang, below(None), tuple(objects), tuple(members.get((gang.name, None), ())))


def _unnamed(plan: WorkloadPlan) -> str:
    """What a workload is called that becomes nothing."""
    value = value_of(plan.workload)
    return format_identity(identity(value)) if value.get("apiVersion") else str(location_of(plan.workload))
