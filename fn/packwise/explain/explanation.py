"""The trees of a render: workloads, gangs and objects. Each value has its origin, and each missing value has a reason.

Users ask about the whole render, an object, or a line of the input.
"""

from __future__ import annotations

from krmfn.fieldpath import FieldError, FieldPath
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject, Location, is_client_key
from krmfn.result import exit_code
from krmfn.yamltext import YamlError
from krmfn.yamltext.places import nearest_position
from packwise.findings import Origin, Place, has_errors
from packwise.generated import CONDITIONS, LAST_ERRORS, LOCAL_CONFIG, PATH
from packwise.lenient import mapping
from packwise.objects.index import (
    RENDERED_FROM,
    format_identity,
    format_object,
    identity,
    shown_name,
    stable_identities,
)
from packwise.objects.kinds import GANGS, POD, QUEUE, TOPOLOGY
from packwise.pipeline.registry import node_pools, omission_sources, queued_sources
from packwise.pipeline.selection import cluster_of, index_package
from packwise.placement import Gang, GangPod, Grouper, NodeTopology, Omission, Queue, gang_kinds
from packwise.settings.topologyrender import settings_place
from packwise.topology.known import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.result import ResourceRef, Result
    from krmfn.value import Value
    from packwise.objects.index import Generated, Inventory
    from packwise.objects.kinds import Kind
    from packwise.pipeline import Rendered
    from packwise.pipeline.selection import Package
    from packwise.placement import Node, Outline, Placement, PodSet, QueuedPods, WorkloadPlan
    from packwise.settings.topologyrender import TopologyRender

_ANNOTATIONS = ("metadata", "annotations")

_RULES = {
    PATH: "spec/packwise.md#1.2",
    RENDERED_FROM: "spec/packwise.md#2.1",
    LOCAL_CONFIG: "spec/packwise.md#apply",
    CONDITIONS: "spec/designs.md#5",
    LAST_ERRORS: "spec/designs.md#5",
    "packwise.dev/constraints": "spec/designs.md#3",
    "packwise.dev/unreleased": "spec/kubernetes-gangs.md#13",
}
"""The sources of packwise's own annotations."""

_GITOPS = "spec/gitops.md"
_KEPT = "spec/clients.md#5.3"


class ValueCause(Record):
    """The cause of a value: `rule` makes the value from the content at `place`.

    `lookup_place` is the level or topology in which the value is looked up. `is_own` is true if packwise adds the value
    itself. `place` is then the setting that requests it, or None.
    """

    rule: str
    place: Place | None = None
    lookup_place: Place | None = None
    is_own: bool = False


class EmittedValue(Record):
    """A leaf of an object: a scalar, or an empty mapping or list. `cause` is its reason."""

    path: FieldPath
    value: Value
    cause: ValueCause


class Emitted(Record):
    """An object of a render: the written `item` and its source `generated`.

    `gang` is its gang, and `before` the object of an earlier render in the input.
    """

    item: KubeObject
    generated: Generated
    gang: Gang | None = None
    before: KubeObject | None = None

    @property
    def name(self) -> str:
        """Return the kind and the name: `PodGang team-a/a-0`."""
        return format_identity(identity(self.item.value))

    @property
    def copies(self) -> list[Origin]:
        """Return the origins of the replica numbers that make several objects like this one."""
        return [] if self.gang is None else self.gang.copies


class LevelNode(Record):
    """A level of a topology. `place` is the place of its node label key."""

    level: Level
    place: Place


class TopologyNode(Record):
    """A topology with its levels, broadest first. `place` is the place of the list of levels."""

    name: str
    levels: tuple[LevelNode, ...]
    place: Place


class Lookup(Record):
    """The places of values that do not come from workloads. `topologies` maps names to topologies.

    `settings` maps a setting to its place in packwise's own settings.
    """

    topologies: Mapping[str, TopologyNode]
    settings: Mapping[str, Place]


def values_of(emitted: Emitted, lookup: Lookup) -> Iterator[EmittedValue]:
    """Yield every leaf of the written object in order, each with its cause."""
    manifest, origins = emitted.generated.value, emitted.generated.origins()
    constraints = None if emitted.gang is None else _Constraints(emitted.gang, lookup)
    for path, value in _leaves(emitted.item.value):
        if _has_value(manifest, path, value):
            origin, steps = _origin_of(origins, path)
            place = _as_deep(origin.place, steps, value)
            through = None if constraints is None else constraints.lookup_place(origin, value)
            yield EmittedValue(path, value, ValueCause(origin.rule, place, through))
        else:
            yield EmittedValue(path, value, _cause_of_own(str(path[-1]), emitted.before, lookup))


def annotated_values(item: KubeObject, lookup: Lookup) -> Iterator[EmittedValue]:
    """Yield the annotations that packwise adds to a user's own object."""
    annotations = item.get(_ANNOTATIONS) if value_of(item) else None
    for key, value in mapping(annotations).items():
        if key in _RULES and key.startswith("packwise.dev/"):
            yield EmittedValue((*_ANNOTATIONS, key), value, _cause_of_own(key, None, lookup))


def value_of(item: KubeObject) -> Mapping[str, Value]:
    """Return the object or document, or an empty mapping if its text is not YAML, as in a template."""
    try:
        return item.value
    except FieldError:
        return {}


def is_yaml(item: KubeObject) -> bool:
    """Return True if the text of the object or document is YAML. The text of a template may not be YAML."""
    if not value_of(item):
        return False
    try:
        nearest_position(item.origin.text, ())
    except YamlError:
        return False
    return True


def location_of(item: KubeObject) -> Location:
    """Return the start of the object or document."""
    origin = item.origin
    return item.location() if is_yaml(item) else Location(origin.file, origin.line, origin.column)


def _leaves(value: Value, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Value]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    is_leaf = True
    for step, entry in entries:
        is_leaf = False
        yield from _leaves(entry, (*path, step))
    if is_leaf:
        yield path, value


def _has_value(manifest: Mapping[str, Value], path: FieldPath, value: Value) -> bool:
    """Return True if `manifest`, which has no annotations of packwise, has the same value at `path`."""
    part: Value = dict(manifest)
    for step in path:
        if isinstance(part, dict):
            part = part.get(str(step))
        elif isinstance(part, list) and isinstance(step, int) and step < len(part):
            part = part[step]
        else:
            return False
    return part == value


def _origin_of(origins: Mapping[FieldPath, Origin], path: FieldPath) -> tuple[Origin, FieldPath]:
    """Return the origin of the nearest part of the object that contains `path`, and the path below that part."""
    for length in range(len(path), -1, -1):
        if path[:length] in origins:
            return origins[path[:length]], path[length:]
    raise ValueError(f"the origin of {path} is unknown")


def _as_deep(place: Place, steps: FieldPath, value: Value) -> Place:
    """Return the place at the path `steps` below `place` if `value` is there, for example a copied label.

    Otherwise return `place`.
    """
    if not steps or place.embedded or place.texts or place.derived is not None:
        return place
    return place.child(*steps) if place.item.get((*place.path, *steps)) == value else place


class _Constraints:
    """The constraints of a gang and its sets by place, and their common topology."""

    __slots__ = ("_gang", "_keys", "_known", "_names")

    def __init__(self, gang: Gang, lookup: Lookup) -> None:
        self._gang, self._known = gang, lookup.topologies.get(gang.topology)
        fields = gang.owner.fields
        self._names = {_position(gang.owner.of(key)) for key in gang.annotations if key in fields}
        self._keys: dict[tuple[int, FieldPath], set[str]] = {}
        for bounds in (gang.bounds, *(pods.bounds for pods in gang.sets)):
            if bounds is not None and bounds.origin is not None:
                keys = self._keys.setdefault(_position(bounds.origin), set())
                keys.update([level.key for level in (bounds.required, bounds.preferred) if level is not None])

    def lookup_place(self, origin: Origin, value: Value) -> Place | None:
        """Return the level or topology in which a value of this origin is looked up, or None."""
        if self._known is None or not isinstance(value, str):
            return None
        item, path = _position(origin)
        nearest = (self._keys.get((item, path[:length])) for length in range(len(path), -1, -1))
        keys = next((keys for keys in nearest if keys is not None), None)
        if value == self._gang.topology and (keys is not None or (item, path) in self._names):
            return self._known.place
        if keys is None or value not in keys:
            return None
        return next((each.place for each in self._known.levels if each.level.key == value), None)


def _position(origin: Origin) -> tuple[int, FieldPath]:
    place = origin.place
    return id(place.item), (*place.path, *place.inner)


def _cause_of_own(key: str, before: KubeObject | None, lookup: Lookup) -> ValueCause:
    """Return the cause of an annotation that packwise adds, or in which clients record their own state."""
    if is_client_key(key) and key != LOCAL_CONFIG and before is not None:
        return ValueCause(_KEPT, Place(before, (*_ANNOTATIONS, key)), is_own=True)
    if key in _RULES:
        return ValueCause(_RULES[key], lookup.settings.get("apply") if key == LOCAL_CONFIG else None, is_own=True)
    return ValueCause(_GITOPS, lookup.settings.get("gitops"), is_own=True)


_EMIT = "spec/packwise.md#emit"


def omissions_of(rendered: Rendered, inventory: Inventory) -> Mapping[int, list[Omission]]:
    """Return the omissions of each workload without an error, by the `id` of its plan."""
    if rendered.selection is None or rendered.known is None:
        return {}
    cluster = cluster_of(rendered.selection, rendered.known)
    plans = [plan for plan in rendered.plans if value_of(plan.workload) and not has_errors(plan.findings)]
    by_plan: dict[int, list[Omission]] = {}
    for omissions in omission_sources(inventory):
        for plan, omission in omissions(plans, inventory, cluster, rendered.selection.settings):
            by_plan.setdefault(id(plan), []).append(omission)
    return by_plan


def unwritten_kinds(placements: Iterable[Placement], rendered: Rendered) -> Iterator[Omission]:
    """Yield the kinds of objects that could be written for a workload but are not, each once."""
    selection = rendered.selection
    if selection is None:
        return
    settings, reported = selection.settings, set[str]()
    place = None if settings.item is None else settings_place(settings).child("emit")
    for placement in placements:
        for kind in _kinds(placement.node):
            word = kind.emit_word
            if settings.emits(word, by_default=placement.emit_by_default) or word in reported:
                continue
            reported.add(word)
            origin = Origin(place or placement.node.origin.place, _EMIT)
            why = f"spec.emit has no {word}{_maker(placement.node, kind)}"
            yield Omission(origin, f"{word} objects", why, f"add {word} to spec.emit")


def _kinds(node: Node) -> tuple[Kind, ...]:
    """Return the kinds of objects that schedulers write for a node."""
    if isinstance(node, Gang):
        return gang_kinds(node)
    if isinstance(node, NodeTopology):
        return (TOPOLOGY,)
    return (QUEUE,) if isinstance(node, Queue) else (POD,)


def _maker(node: Node, kind: Kind) -> str:
    """Return the words that name the maker of the object in a cluster. Return "" if the maker is unknown."""
    if not isinstance(node, Gang) or kind.gang.of_operator:
        return ""
    of_operator = " or ".join([each.name for each in GANGS if each.gang.of_operator])
    makers = {
        Grouper.OPERATOR: "; the workload's operator makes it in the cluster",
        Grouper.SCHEDULER: f"; the scheduler makes it in the cluster from the {of_operator}",
        Grouper.SERVICE: "; the service makes it in the cluster",
        Grouper.OWNER: "; the scheduler makes it in the cluster from the workload",
    }
    return makers[node.grouper]


class SetTree(Record):
    """A set of pods with its inner sets and its rendered pods."""

    pods: PodSet
    parts: tuple[SetTree, ...] = ()
    members: tuple[Emitted, ...] = ()


class GangTree(Record):
    """A gang with its sets and objects. `members` are pods outside all sets.

    `pool` is its node pool, "" for the default one, or None if the input has no pools.
    """

    gang: Gang
    parts: tuple[SetTree, ...]
    objects: tuple[Emitted, ...] = ()
    members: tuple[Emitted, ...] = ()
    pool: str | None = None


class QueuedSet(Record):
    """Pods that a scheduler queues and places itself. Levels are node labels, with their domains if they are known."""

    pods: QueuedPods
    required: Level | None
    preferred: Level | None
    slices: tuple[tuple[Level, int], ...] = ()


class WorkloadTree(Record):
    """A workload or another object of a front end. `source` is its name in the annotation of its objects.

    `item` is the object or document, and `written` its rendered form. `objects` belong to no gang: queues, topologies.
    `omissions` are requests that no object carries, and `results` the findings about the workload. `queued` are pods
    that a scheduler queues and places itself. `idle` is the reason why the workload has no pods for now. `outline` are
    its parts if no object is rendered.
    """

    source: str
    item: KubeObject
    written: KubeObject
    gangs: tuple[GangTree, ...] = ()
    objects: tuple[Emitted, ...] = ()
    omissions: tuple[Omission, ...] = ()
    results: tuple[Result, ...] = ()
    queued: tuple[QueuedSet, ...] = ()
    idle: str = ""
    outline: tuple[Outline, ...] = ()


class Explanation(Record):
    """The whole render. `objects` are all written objects in order, or none if there are errors.

    `items` are the objects and documents of the input. `chosen_by` is the source of the revision. `has_grove` is true
    if the input depends on the revision. `enabled` is true if topology-aware scheduling is enabled, or None if no
    configuration sets it. `rendered` is true if the render has no errors. `results` are all findings.
    """

    items: tuple[KubeObject, ...]
    revision: str = ""
    chosen_by: str = ""
    has_grove: bool = False
    enabled: bool | None = None
    rendered: bool = False
    topologies: tuple[TopologyNode, ...] = ()
    workloads: tuple[WorkloadTree, ...] = ()
    objects: tuple[Emitted, ...] = ()
    results: tuple[Result, ...] = ()
    lookup: Lookup = Lookup({}, {})


def explanation_of(package: Package, rendered: Rendered) -> Explanation:
    """Return the explanation of a render of `package`, or only the findings if its configuration has errors."""
    config = () if package.function_config is None else (package.function_config,)
    items = (*package.items, *package.documents, *config)
    selection = rendered.selection
    if selection is None:
        return Explanation(items, results=rendered.results)
    inventory = index_package(package)
    placements = [placement for plan in rendered.plans for placement in plan.placements]
    topologies = tuple(_topologies(rendered, placements))
    lookup = Lookup({each.name: each for each in topologies}, _settings(selection.settings))
    objects = tuple(_emit(rendered, placements, inventory))
    return Explanation(
        items=items,
        revision=selection.revision.name,
        chosen_by=selection.chosen_by,
        has_grove=rendered.has_grove or selection.is_named or selection.enabled,
        enabled=selection.enabled if selection.enabled or selection.configuration is not None else None,
        rendered=not exit_code(rendered.results),
        topologies=topologies,
        workloads=tuple(
            _Trees(rendered, objects, inventory, _queued_sets(rendered, inventory, selection.settings)).workloads()
        ),
        objects=objects,
        results=rendered.results,
        lookup=lookup,
    )


def _topologies(rendered: Rendered, placements: Iterable[Placement]) -> Iterable[TopologyNode]:
    for known in rendered.known.by_name.values() if rendered.known is not None else ():
        levels = zip(known.topology.levels, known.places, strict=True)
        nodes = tuple(LevelNode(level, place.child("key")) for level, place in levels)
        yield TopologyNode(known.topology.name, nodes, known.levels)
    for placement in placements:
        node = placement.node
        if isinstance(node, NodeTopology):
            places = [node.place.child(position, node.field) for position in range(len(node.levels))]
            nodes = tuple(LevelNode(*pair) for pair in zip(node.levels, places, strict=True))
            yield TopologyNode(node.name, nodes, node.place)


def _queued_sets(rendered: Rendered, inventory: Inventory, settings: TopologyRender) -> dict[int, list[QueuedSet]]:
    """Return the pods that schedulers queue and place themselves, by the `id` of their workload."""
    by_workload: dict[int, list[QueuedSet]] = {}
    known = rendered.known
    if known is None:
        return by_workload
    domains: dict[tuple[str, ...], Mapping[str, str]] = {}
    for queued_pods in queued_sources():
        for pods in queued_pods(inventory, known, settings):
            if pods.topologies not in domains:
                topologies = [known.by_name[name].topology for name in pods.topologies if name in known.by_name]
                levels = [level for topology in topologies for level in topology.levels]
                domains[pods.topologies] = {level.key: level.domain for level in levels}
            by_workload.setdefault(id(pods.workload), []).append(_queued_set(pods, domains[pods.topologies]))
    return by_workload


def _queued_set(pods: QueuedPods, domains: Mapping[str, str]) -> QueuedSet:
    def level(key: str | None) -> Level | None:
        return None if key is None else Level(domains.get(key, ""), key)

    slices = tuple((Level(domains.get(each.level, ""), each.level), each.size) for each in pods.slices)
    return QueuedSet(pods, level(pods.required), level(pods.preferred), slices)


def _settings(settings: TopologyRender) -> Mapping[str, Place]:
    """Return the places of the settings that request annotations."""
    if settings.item is None:
        return {}
    place = settings_place(settings)
    return {name: place.child(name) for name in ("apply", "gitops")}


def _emit(rendered: Rendered, placements: Iterable[Placement], inventory: Inventory) -> Iterable[Emitted]:
    gangs = {(node.namespace, node.name): node for each in placements if isinstance(node := each.node, Gang)}
    index = inventory.items
    stable = stable_identities([item.value for item in rendered.generated])
    for item, generated, key_without_epoch in zip(rendered.generated, rendered.sources, stable, strict=True):
        key = identity(item.value)
        gang = gangs.get(key[2:]) if key[:2] != POD.key else None
        yield Emitted(item, generated, gang, index.generated.get(key) or index.gangs.get(key_without_epoch))


class _Trees:
    """The trees of all workloads with their common data."""

    __slots__ = ("_by_file", "_by_object", "_by_source", "_kept", "_missing", "_pools", "_queued", "_rendered")

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
        placements = [placement for plan in rendered.plans for placement in plan.placements]
        pools = node_pools(inventory.items, placements)
        self._pools = {id(each.node): pool.name for pool in pools for each in pool.placements}
        # A run may have as many findings as workloads. The indexes find the findings of one workload.
        self._by_file: dict[str | None, list[Result]] = {}
        self._by_object: dict[tuple[str | None, ...], list[Result]] = {}
        for result in rendered.results:
            file = result.file.path if result.file is not None else None
            self._by_file.setdefault(file, []).append(result)
            if result.resource_ref is not None:
                key = (file, *identity(_object_of(result.resource_ref))[1:])
                self._by_object.setdefault(key, []).append(result)

    def workloads(self) -> Iterable[WorkloadTree]:
        """Yield the trees in the order of the render's workloads."""
        unnamed: set[str] = set()
        for plan in self._rendered.plans:
            by_source: dict[str, list[Placement]] = {}
            for placement in plan.placements:
                by_source.setdefault(placement.source, []).append(placement)
            for source, placements in by_source.items():
                yield self._tree(plan, source, placements)
            if not by_source and (name := _name_of_nothing(plan)) not in unnamed:
                # A document has a plan for each of its problems.
                unnamed.add(name)
                yield self._tree(plan, name, [])
        for queued in list(self._queued.values()):
            item = queued[0].pods.workload
            written = self._kept.get(identity(item.value), item)
            name = format_object(item.value)
            yield WorkloadTree(name, item, written, results=self._results(item), queued=tuple(queued))
        shown = {id(plan.workload) for plan in self._rendered.plans} | self._queued.keys()
        for item in [each for each in self._rendered.queued if id(each) not in shown]:
            # The pods of a TrainJob come from its runtime, which may not be in the input.
            yield self._tree_without_pods(item)

    def _tree_without_pods(self, item: KubeObject) -> WorkloadTree:
        key = identity(item.value)
        return WorkloadTree(format_identity(key), item, self._kept.get(key, item), results=self._results(item))

    def _tree(self, plan: WorkloadPlan, source: str, placements: Sequence[Placement]) -> WorkloadTree:
        item = plan.workload
        emitted = self._by_source.get((source, id(item)), [])
        members = _pods(placements, emitted)
        by_gang: dict[int, list[Emitted]] = {}
        for each in emitted:
            by_gang.setdefault(id(each.gang), []).append(each)
        gangs = tuple(
            _gang(node, by_gang.get(id(node), ()), members).replace(pool=self._pools.get(id(node)))
            for each in placements
            if isinstance(node := each.node, Gang)
        )
        others = tuple(each for each in emitted if each.gang is None and identity(each.item.value)[:2] != POD.key)
        missing = (*self._missing.get(id(plan), ()), *unwritten_kinds(placements, self._rendered))
        written = self._kept.get(identity(value_of(item)), item)
        queued = tuple(self._queued.pop(id(item), ()))
        return WorkloadTree(
            source=source,
            item=item,
            written=written,
            gangs=gangs,
            objects=others,
            omissions=missing,
            results=self._results(item),
            queued=queued,
            idle="" if gangs else plan.idle,
            outline=plan.outline,
        )

    def _results(self, item: KubeObject) -> tuple[Result, ...]:
        """Return the findings about an object or document."""
        file, value = location_of(item).file, value_of(item)
        if not value.get("apiVersion"):
            return tuple(self._by_file.get(file, ()))
        return tuple(self._by_object.get((file, *identity(value)[1:3], shown_name(value)), ()))


def _object_of(ref: ResourceRef) -> Mapping[str, Value]:
    """Return an object with the identity of a finding's subject."""
    return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": {"namespace": ref.namespace, "name": ref.name}}


_Members = dict[tuple[str, str | None], list[Emitted]]
"""The rendered pods, by gang and set."""


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

    def subtrees(parent: str | None) -> tuple[SetTree, ...]:
        return tuple(
            # A clique and a replica of its group may have the same name. Only inner sets have parts.
            SetTree(
                pods,
                subtrees(pods.name) if pods.members is None else (),
                tuple(members.get((gang.name, pods.name), ())),
            )
            for pods in by_parent.get(parent, ())
        )  # fmt: skip

    return GangTree(gang, subtrees(None), tuple(objects), tuple(members.get((gang.name, None), ())))


def _name_of_nothing(plan: WorkloadPlan) -> str:
    """Return the name of a workload without objects."""
    value = value_of(plan.workload)
    return format_object(value) if value.get("apiVersion") else str(location_of(plan.workload))


_NEAR = 2
"""The largest number of steps from the field of a line up to an enclosing field that the answer shows instead."""


class ChosenObject(Record):
    """An object with the requested values."""

    emitted: Emitted
    values: tuple[EmittedValue, ...]


class Chosen(Record):
    """The answer to a user's question. `fields` begin on the line. `copies` are objects, and the line sets their
    number.

    `around` is the field that contains the line, if no value comes from the line alone. `added` are packwise's
    annotations on the workloads themselves, by workload.
    """

    workloads: tuple[WorkloadTree, ...] = ()
    objects: tuple[ChosenObject, ...] = ()
    copies: tuple[Emitted, ...] = ()
    omissions: tuple[Omission, ...] = ()
    fields: tuple[str, ...] = ()
    around: str = ""
    added: tuple[tuple[WorkloadTree, tuple[EmittedValue, ...]], ...] = ()


def names(explanation: Explanation) -> list[str]:
    """Return the names of all workloads and objects that users can ask about: `Kind/namespace/name`."""
    objects = [emitted.name.replace(" ", "/", 1) for emitted in explanation.objects]
    return [*(_reference(tree.source) for tree in explanation.workloads), *objects]


def find_named(explanation: Explanation, name: str) -> Chosen | None:
    """Return the workloads and objects named `Kind/namespace/name` or `Kind/name`, or None.

    A kind may have its API group, as in `PodGroup.scheduling.run.ai/team-a/a-0`.
    """
    workloads = tuple(tree for tree in explanation.workloads if _is_named(_reference(tree.source), name))
    objects = tuple(each for each in explanation.objects if _is_object(each, name))
    if not workloads and not objects:
        return None
    chosen = [ChosenObject(each, tuple(values_of(each, explanation.lookup))) for each in objects]
    added = [(tree, tuple(annotated_values(tree.written, explanation.lookup))) for tree in workloads]
    return Chosen(workloads, tuple(chosen), added=tuple(each for each in added if each[1]))


def at_line(explanation: Explanation, file: str | None, line: int) -> Chosen | None:
    """Return the values from a line of the input, and the copies of objects that the line requests.

    Return None if the line does not exist. A line in an object of an earlier render selects the values on that line.
    """
    places = _Line(line, [item for item in explanation.items if location_of(item).file == file])
    if not places.fields:
        return None
    values = [(emitted, list(values_of(emitted, explanation.lookup))) for emitted in explanation.objects]
    objects = _with_values(values, places.has_value)
    copies = [each for each in explanation.objects if any(places.is_at(origin.place) for origin in each.copies)]
    missing = [each for tree in explanation.workloads for each in tree.omissions if places.is_at(each.origin.place)]
    fields = [Place(item, path).field for item, paths in places.innermost_fields() for path in paths if path]
    chosen = Chosen((), objects, tuple(copies), tuple(missing), tuple(fields))
    if objects or copies or missing:
        return chosen
    around = places.nearest_place(
        [each.cause.place for _, listed in values for each in listed if each.cause.place is not None]
    )
    if around is None:
        return chosen
    return chosen.replace(objects=_with_values(values, lambda _, each: each.cause.place == around), around=around.field)


def _with_values(
    values: Iterable[tuple[Emitted, list[EmittedValue]]], is_wanted: Callable[[Emitted, EmittedValue], bool]
) -> tuple[ChosenObject, ...]:
    """Return the objects that have wanted values, each with only these values."""
    chosen = [
        ChosenObject(emitted, tuple(each for each in listed if is_wanted(emitted, each))) for emitted, listed in values
    ]
    return tuple(each for each in chosen if each.values)


def _reference(source: str) -> str:
    """Return `OSMO workflow train` as a name on the command line: `workflow/train`."""
    kind, _, name = source.rpartition(" ")
    return f"{kind.rpartition(' ')[2]}/{name}"


def _is_named(reference: str, name: str) -> bool:
    kind, _, full = reference.partition("/")
    wanted, _, rest = name.partition("/")
    return kind.casefold() == wanted.casefold() and rest in (full, full.rpartition("/")[2])


def _is_object(emitted: Emitted, name: str) -> bool:
    group, kind, namespace, own = identity(emitted.item.value)
    wanted, _, rest = name.partition("/")
    return wanted in (kind, f"{kind}.{group}") and rest in (own, f"{namespace}/{own}")


class _Line:
    """A line of a file, and the fields that begin on it, by object. `items` are the objects in the file.

    The origin of an object's text identifies the object. Output of a template has the origin of the template.
    """

    __slots__ = ("_items", "_line", "fields")

    def __init__(self, line: int, items: Iterable[KubeObject]) -> None:
        self._line = line
        self._items = {item.origin: item for item in items}
        self.fields = {key: paths for key, item in self._items.items() if (paths := _paths_at(item, line))}

    def innermost_fields(self) -> Iterator[tuple[KubeObject, list[FieldPath]]]:
        """Yield each object with the innermost fields that begin on the line."""
        for key, paths in self.fields.items():
            yield self._items[key], _innermost_paths(paths)

    def is_at(self, place: Place | None) -> bool:
        """Return True if the place is a field of the line, or within one."""
        if place is None or place.item.origin not in self.fields:
            return False
        if place.embedded or place.derived is not None:
            # Lines of a document within the object are not fields of the object.
            return place.location().line == self._line
        paths = self.fields[place.item.origin]
        within = any(place.path[: len(path)] == path for path in _innermost_paths(paths))
        return within or (place.path in paths and place.location().line == self._line)

    def nearest_place(self, places: Iterable[Place]) -> Place | None:
        """Return the innermost of `places` that contains the line and is at most a few steps away, or None."""
        inner = [(key, path) for key, paths in self.fields.items() for path in _innermost_paths(paths)]
        outer = [
            place
            for place in places
            for key, path in inner
            if place.item.origin == key and place.path and not place.embedded and place.derived is None
            if place.path == path[: len(place.path)] and len(path) - len(place.path) <= _NEAR
        ]
        return max(outer, key=lambda place: len(place.path), default=None)

    def has_value(self, emitted: Emitted, value: EmittedValue) -> bool:
        """Return True if the value comes from the line, or is on the line of an object from an earlier render."""
        before = emitted.before
        if before is not None and before.origin in self.fields:
            return any(value.path[: len(path)] == path for path in _innermost_paths(self.fields[before.origin]))
        return self.is_at(value.cause.place) or self.is_at(value.cause.lookup_place)


def _innermost_paths(paths: Iterable[FieldPath]) -> list[FieldPath]:
    listed = list(paths)
    return [path for path in listed if not any(other != path and other[: len(path)] == path for other in listed)]


def _paths_at(item: KubeObject, line: int) -> list[FieldPath]:
    """Return the fields that begin on the line. Return the fields of the nearest line above in the object if there are
    none.

    A document that is not YAML, such as a template, has no fields. Each of its lines selects the whole document.
    """
    last = item.origin.line + item.origin.text.count("\n", 0, len(item.origin.text.rstrip()))
    if not is_yaml(item):
        return [()] if item.origin.line <= line <= last else []
    by_line: dict[int, list[FieldPath]] = {}
    open_paths: list[FieldPath] = [()]
    while open_paths:
        path = open_paths.pop()
        by_line.setdefault(item.location(path, key=True).line, []).append(path)
        value = item.get(path) if path else value_of(item)
        steps = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        open_paths += [(*path, step) for step in reversed(list(steps)) if not _is_clients(item, path, step)]
    above = [start for start in by_line if start <= line]
    return by_line[max(above)] if above and line <= max(last, *above) else []


def _is_clients(item: KubeObject, path: FieldPath, step: str | int) -> bool:
    """Return True if the field is an annotation that a client added to an object of a ResourceList."""
    is_added = item.origin.file is None and path == ("metadata", "annotations")
    return is_added and isinstance(step, str) and is_client_key(step)
