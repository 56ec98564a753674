"""The trees of the input's groups, and the nodes of a cluster, as the default scheduler sees them.

Source: spec/kubernetes-gangs.md#10.
"""

from __future__ import annotations

from collections import Counter

from krmfn.hints import TYPE_CHECKING, Record
from packwise.kubernetes import amounts, container_requests
from packwise.lenient import mapping, mapping_at, text, text_at, texts, value_at
from packwise.objects.index import identity
from packwise.objects.scheduling_groups import DEFAULT_SCHEDULER, FIELD, Group, link_groups, pods_of
from packwise.revisions.kubernetes import COMPOSITE, GENERIC, GROUP, NEEDS, TOPOLOGY
from packwise.schedulers.kubernetes.search import NodeClass, Scene, Shape, Tree
from packwise.schedulers.node_selection import (
    read_node_terms,
    read_taints,
    read_tolerations,
    repelling_taint,
    selects_node,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.objects.scheduling_groups import Pods
    from packwise.revisions.kubernetes import KubernetesRelease
    from packwise.schedulers.node_selection import NodeTerm, Taint, Toleration
    from packwise.settings.topologyrender import Kubernetes

CPU, MEMORY, PODS = "cpu", "memory", "pods"
_OVER = ("Succeeded", "Failed")
_PODS_OF_A_NODE = 110


class PodShape(Record):
    """The properties that equal pods share: their request, and their rules for nodes."""

    request: tuple[tuple[str, int], ...]
    tolerations: tuple[Toleration, ...] = ()
    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeTerm, ...] | None = None

    @classmethod
    def of(cls, spec: Mapping[str, Value]) -> PodShape:
        """Return the shape of pods with the spec `spec`."""
        request = {**container_requests(spec), PODS: 1}
        return cls(
            tuple(sorted(request.items())),
            read_tolerations(spec.get("tolerations")),
            tuple(sorted(texts(spec.get("nodeSelector")).items())),
            read_node_terms(spec),
        )


class ClusterNode(Record):
    """A node, with its allocatable amounts. `used` is the sum of the requests of its pods."""

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    used: Mapping[str, int]
    taints: tuple[Taint, ...]
    unschedulable: bool = False

    def accepts_pods(self, shape: PodShape) -> bool:
        """Return True if the node accepts pods of the shape. Free resources do not count."""
        if self.unschedulable or repelling_taint(self.taints, shape.tolerations) is not None:
            return False
        return selects_node(shape.selector, shape.terms, self.labels, self.name)


class RunningPod(Record):
    """A pod of the cluster that has a node. `group` is the namespace and name of its PodGroup, or None."""

    node: str
    request: Mapping[str, int]
    group: tuple[str, str] | None = None


class LeafPods(Record):
    """The pods of a PodGroup: the number of waiting pods of each shape and the running pods.

    `is_counted` is true if the number of pods is known. Otherwise packwise assumes the minimum of the group.
    """

    waiting: tuple[tuple[PodShape, int], ...] = ()
    running: tuple[RunningPod, ...] = ()
    is_counted: bool = True

    @property
    def total(self) -> int:
        """Return the number of waiting and running pods."""
        return sum([count for _, count in self.waiting]) + len(self.running)


class RootGroup(Record):
    """A topmost group, and its `members`: the group itself and all groups below. `pods` maps PodGroups to their pods.

    `schedulers` are the schedulers that the pods name. `lacks_parent` is the parent that the group names although the
    input does not have it, or "".
    """

    group: Group
    members: tuple[Group, ...]
    pods: Mapping[str, LeafPods]
    schedulers: frozenset[str]
    priority: int = 0
    lacks_parent: str = ""

    @property
    def leaves(self) -> list[Group]:
        """Return the PodGroups of the tree, in the order of the input."""
        return [each for each in self.members if not each.is_composite]

    @property
    def total(self) -> int:
        """Return the number of all pods of the tree."""
        return sum([pods.total for pods in self.pods.values()])

    @property
    def keys(self) -> list[str]:
        """Return the node labels that the topology constraints of the tree name."""
        return list(dict.fromkeys([each.key for each in self.members if each.key]))


def read_nodes(objects: Iterable[Mapping[str, Value]]) -> tuple[list[ClusterNode], list[RunningPod]]:
    """Return the nodes of a cluster, sorted by name, and the pods that have a node."""
    nodes: dict[str, Mapping[str, Value]] = {}
    running: list[RunningPod] = []
    for value in objects:
        key = identity(value)
        if key[:2] == ("", "Node"):
            nodes[key[3]] = value
        elif key[:2] == ("", "Pod") and text_at(value, "status", "phase") not in _OVER:
            spec = mapping_at(value, "spec")
            node, name = text_at(spec, "nodeName"), text_at(spec, FIELD, "podGroupName")
            if node:
                request = {**container_requests(spec), PODS: 1}
                running.append(RunningPod(node, request, (key[2], name) if name else None))
    used: dict[str, Counter[str]] = {name: Counter() for name in nodes}
    for pod in running:
        if pod.node in used:
            used[pod.node].update(pod.request)
    return [_node(name, value, used[name]) for name, value in sorted(nodes.items())], running


def _node(name: str, value: Mapping[str, Value], used: Mapping[str, int]) -> ClusterNode:
    spec, status = mapping_at(value, "spec"), mapping_at(value, "status")
    allocatable = amounts(mapping_at(status, "allocatable") or mapping_at(status, "capacity"))
    return ClusterNode(
        name=name,
        labels=texts(value_at(value, "metadata", "labels")),
        allocatable={PODS: _PODS_OF_A_NODE, **allocatable},
        used=dict(used),
        taints=read_taints(spec.get("taints")),
        unschedulable=spec.get("unschedulable") is True,
    )


def effective_gates(settings: Kubernetes, release: KubernetesRelease) -> frozenset[str]:
    """Return the gates of the settings that are effective in `release`.

    If the settings name no gates, all gates that gangs need count as enabled.
    """
    wanted = NEEDS if settings.feature_gates is None else settings.feature_gates
    return release.effective_gates(
        [gate for gate in wanted if settings.feature_gates is None or settings.feature_gates[gate]]
    )


def read_roots(
    index: Index, gates: frozenset[str], running: Sequence[RunningPod], priorities: Mapping[str, int]
) -> list[RootGroup]:
    """Return the trees of groups, highest priority first and then in the order of the input.

    `priorities` maps the names of PriorityClasses to their values. Without the gate of PodGroups, return [].
    """
    if GENERIC not in gates:
        return []
    groups = link_groups(_groups(index, gates))
    users: dict[tuple[str, str], list[Pods]] = {}
    for items in index.by_kind.values():
        for item in items:
            if not item.has_source or FIELD in item.source.text:
                for pods in pods_of(item):
                    users.setdefault(pods.key, []).append(pods)
    bound: dict[tuple[str, str], list[RunningPod]] = {}
    for pod in running:
        if pod.group is not None:
            bound.setdefault(pod.group, []).append(pod)
    below: dict[tuple[str, str], list[Group]] = {}
    tops: list[Group] = []
    for group in groups:
        root = group
        while root.parent is not None:
            root = root.parent
        if root is group:
            tops.append(group)
        below.setdefault(_key(root), []).append(group)
    roots = [_root(top, below[_key(top)], users, bound, priorities) for top in tops]
    return sorted(roots, key=lambda root: -root.priority)


def _groups(index: Index, gates: frozenset[str]) -> Iterator[Group]:
    kinds = ("PodGroup", "CompositePodGroup") if COMPOSITE in gates else ("PodGroup",)
    for kind in kinds:
        for item in index.of_kind(GROUP, kind):
            value = dict(mapping(item.get(("spec",))))
            if TOPOLOGY not in gates:
                value.pop("schedulingConstraints", None)
            if COMPOSITE not in gates:
                value.pop("parentCompositePodGroupName", None)
            yield Group(item, ("spec",), item.name, value, is_composite=kind != "PodGroup")


def _key(group: Group) -> tuple[str, str]:
    return identity(group.item.value)[2], group_id(group)


def group_id(group: Group) -> str:
    """Return a name that is unique in the group's tree. A CompositePodGroup and a PodGroup may have the same name."""
    return f"{group.item.kind}/{group.name}"


def _root(
    top: Group,
    members: Sequence[Group],
    users: Mapping[tuple[str, str], Sequence[Pods]],
    bound: Mapping[tuple[str, str], Sequence[RunningPod]],
    priorities: Mapping[str, int],
) -> RootGroup:
    namespace = identity(top.item.value)[2]
    pods = {
        group.name: _leaf_pods(users.get((namespace, group.name), ()), bound.get((namespace, group.name), ()), group)
        for group in members
        if not group.is_composite
    }
    named = [each for group in members for each in users.get((namespace, group.name), ()) if not group.is_composite]
    priority = top.value.get("priority")
    return RootGroup(
        top,
        tuple(members),
        pods,
        frozenset(each.scheduler for each in named) or frozenset({DEFAULT_SCHEDULER}),
        priority if type(priority) is int else priorities.get(top.priority_class, 0),
        text(top.value.get("parentCompositePodGroupName")),
    )


def _leaf_pods(users: Sequence[Pods], bound: Sequence[RunningPod], group: Group) -> LeafPods:
    """Return the waiting and running pods of a PodGroup.

    `users` are the pods that workloads make for the group. Each pod in `bound` runs already, so one pod fewer waits.
    """
    counts: Counter[PodShape] = Counter()
    is_counted = True
    for pods in users:
        count = pods.count
        if count is None:
            is_counted, count = False, group.minimum or 1
        counts[PodShape.of(pods.spec)] += count
    for pod in bound:
        request = tuple(sorted(pod.request.items()))
        alike = [shape for shape, count in counts.items() if count and shape.request == request]
        shape = next(iter(alike), None) or next((shape for shape, count in counts.items() if count), None)
        if shape is not None:
            counts[shape] -= 1
    return LeafPods(tuple([(shape, count) for shape, count in counts.items() if count > 0]), tuple(bound), is_counted)


class Model(Record):
    """A tree and the cluster, ready for the search. `nodes` lists the names of the nodes of each class."""

    tree: Tree
    scene: Scene
    shapes: tuple[PodShape, ...]
    nodes: tuple[tuple[str, ...], ...]


def build_model(root: RootGroup, nodes: Sequence[ClusterNode], release: KubernetesRelease) -> Model:
    """Return the tree of a root group and the classes of nodes, as the search reads them."""
    shapes = tuple(dict.fromkeys([shape for pods in root.pods.values() for shape, _ in pods.waiting]))
    resources = list(dict.fromkeys([name for shape in shapes for name, _ in shape.request]))
    classes: dict[NodeClass, list[str]] = {}
    for node in nodes:
        classes.setdefault(_class_of(node, root.keys, shapes, resources), []).append(node.name)
    labels = {node.name: node.labels for node in nodes}
    scene = Scene(
        tuple([node_class.replace(size=len(names)) for node_class, names in classes.items()]),
        tuple([_shape(shape, resources) for shape in shapes]),
        release.empty_is_domain,
    )
    tree = _tree(root.group, root, shapes, labels)
    return Model(tree, scene, shapes, tuple([tuple(names) for names in classes.values()]))


def _class_of(
    node: ClusterNode, keys: Iterable[str], shapes: Sequence[PodShape], resources: Sequence[str]
) -> NodeClass:
    return NodeClass(
        size=1,
        free=tuple([node.allocatable.get(name, 0) - node.used.get(name, 0) for name in resources]),
        labels=tuple([(key, node.labels[key]) for key in keys if key in node.labels]),
        accepts=tuple([node.accepts_pods(shape) for shape in shapes]),
        cpu=node.allocatable.get(CPU, 0),
        memory=node.allocatable.get(MEMORY, 0),
        cpu_used=node.used.get(CPU, 0),
        memory_used=node.used.get(MEMORY, 0),
    )


def _shape(shape: PodShape, resources: Sequence[str]) -> Shape:
    request = dict(shape.request)
    amounts_of = tuple([request.get(name, 0) for name in resources])
    return Shape(amounts_of, request.get(CPU, 0), request.get(MEMORY, 0))


def _tree(group: Group, root: RootGroup, shapes: Sequence[PodShape], labels: Mapping[str, Mapping[str, str]]) -> Tree:
    minimum = 1 if group.minimum is None else group.minimum
    if not group.is_composite:
        pods = root.pods[group.name]
        waiting = dict(pods.waiting)
        return Tree(
            name=group_id(group),
            minimum=minimum,
            key=group.key,
            pods=tuple([waiting.get(shape, 0) for shape in shapes]),
            running_pods=len(pods.running),
            pinned_values=_pin_values(group.key, pods.running, labels),
            is_ready=pods.total >= minimum,
        )
    children = tuple([
        _tree(each, root, shapes, labels)
        for each in root.members
        if each.parent is not None and group_id(each.parent) == group_id(group)
    ])  # fmt: skip
    names = {leaf.name for child in children for leaf in child.leaves}
    running = [pod for leaf in root.leaves if group_id(leaf) in names for pod in root.pods[leaf.name].running]
    return Tree(
        name=group_id(group),
        minimum=minimum,
        key=group.key,
        children=children,
        pinned_values=_pin_values(group.key, running, labels),
        is_ready=sum([child.is_ready for child in children]) >= minimum,
        is_composite=True,
    )


def _pin_values(
    key: str, running: Iterable[RunningPod], labels: Mapping[str, Mapping[str, str]]
) -> frozenset[str | None]:
    return frozenset([labels.get(pod.node, {}).get(key) for pod in running]) if key else frozenset()
