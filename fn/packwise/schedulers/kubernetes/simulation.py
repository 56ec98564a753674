"""The simulation of the default scheduler for `place` and `report`: the groups of a render on a cluster.

Source: spec/kubernetes-gangs.md#10.
"""

from __future__ import annotations

from collections import Counter

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Place
from packwise.lenient import text, value_at
from packwise.objects.index import identity
from packwise.objects.scheduling_groups import DEFAULT_SCHEDULER
from packwise.revisions.kubernetes import release_for
from packwise.schedulers.kubernetes.scene import (
    PODS,
    build_model,
    effective_gates,
    group_id,
    read_nodes,
    read_roots,
)
from packwise.schedulers.kubernetes.search import ALLOCATED, NOT_READY, PARTIAL, PENDING, decide
from packwise.schedulers.simulation import FITS, GangAnswer, GangOutline, GangPart, NodeShare, NodeUse
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.scheduling_groups import Group
    from packwise.schedulers import SchedulerInput
    from packwise.schedulers.kubernetes.scene import ClusterNode, Model, RootGroup
    from packwise.schedulers.kubernetes.search import Verdict
    from packwise.schedulers.simulation import HasObjects, Levels

_GPU = "nvidia.com/gpu"
_WORST_FIRST = (PENDING, PARTIAL, ALLOCATED, NOT_READY)


class KubernetesSimulation:
    """The scheduling cycles of the default scheduler for the groups of a render, one group after the other."""

    scheduler = DEFAULT_SCHEDULER
    topologies: tuple[Levels, ...] = ()
    notes: tuple[str, ...] = ()

    def __init__(self, source: SchedulerInput, cluster: HasObjects) -> None:
        settings, items = source.settings, source.inventory.items
        self._release = release_for(items, settings.kubernetes.version)
        gates = effective_gates(settings.kubernetes, self._release)
        self._nodes, running = read_nodes(cluster.objects)
        classes = [*cluster.objects, *[item.value for item in items.of_kind("scheduling.k8s.io", "PriorityClass")]]
        roots = read_roots(items, gates, running, _priorities(classes)) if self._release.is_validated else []
        self._roots = [root for root in roots if settings.kai_name not in root.schedulers]
        self.gangs = tuple([_outline(root) for root in self._roots])
        self._uses: tuple[NodeUse, ...] = ()

    def place(self, other_uses: Sequence[NodeUse]) -> tuple[GangAnswer, ...]:
        """Return the answer for each group, in the order of priority. A group uses what earlier groups leave free."""
        nodes = _with_uses(self._nodes, other_uses)
        answers: list[GangAnswer] = []
        uses: list[NodeUse] = []
        for root, outline in zip(self._roots, self.gangs, strict=True):
            model = build_model(root, nodes, self._release)
            verdict = decide(model.tree, model.scene)
            if root.lacks_parent:
                verdict = verdict.replace(states=(NOT_READY,), domains={}, outcome=None)
            own = _uses_of(model, verdict)
            nodes = _with_uses(nodes, own)
            uses += own
            answers.append(self._answer(root, outline, model, verdict, own))
        self._uses = tuple(uses)
        return tuple(answers)

    def uses(self) -> tuple[NodeUse, ...]:
        """Return the resources on nodes that the newly placed pods of all groups use."""
        return self._uses

    def count_more(self) -> Mapping[tuple[str, str], int]:
        """Return an empty mapping, because a group has no replicas."""
        return {}

    def _answer(
        self, root: RootGroup, outline: GangOutline, model: Model, verdict: Verdict, uses: Sequence[NodeUse]
    ) -> GangAnswer:
        state = min(verdict.states, key=_WORST_FIRST.index)
        fits = state in FITS
        domains: Mapping[str, str] = verdict.domains if fits else {}
        running = sum([len(pods.running) for pods in root.pods.values()])
        placed = 0 if verdict.outcome is None or not fits else sum([count for _, count in verdict.outcome.placed])
        listed = tuple([(leaf.name, domains.get(group_id(leaf), "")) for leaf in root.leaves])
        return GangAnswer(
            gang=outline,
            state=state,
            placed_pods=running + placed,
            spread=tuple([(leaf.name, ()) for leaf in root.leaves]),
            shares=tuple([NodeShare(use.node, _amount(use, PODS), _amount(use, _GPU)) for use in uses]),
            added_gpus=sum([_amount(use, _GPU) for use in uses]),
            domain=domains.get(model.tree.name, ""),
            domains=tuple([(name, value) for name, value in listed if value]),
            reasons=tuple(_reasons(root, model, verdict, state)),
            message=_message(root, model, verdict, state),
            notes=tuple(_notes(root, model, verdict, state, self._release.looks_at_all)),
        )


def _outline(root: RootGroup) -> GangOutline:
    namespace = identity(root.group.item.value)[2]
    parts = [_part(each, root) for each in root.members if each.item is not root.group.item]
    return GangOutline(
        scheduler=DEFAULT_SCHEDULER,
        scheduler_title="the default scheduler",
        namespace=namespace,
        name=root.group.name,
        workload=text(value_at(root.group.value, "workloadRef", "workloadName")) or root.group.name,
        queue="",
        pods=root.total,
        gpus=_gpus(root),
        parts=(_part(root.group, root), *parts),
        title=root.group.name,
    )


def _part(group: Group, root: RootGroup, depth: int = 0) -> GangPart:
    pods = root.total if group.is_composite else root.pods[group.name].total
    above = group.parent
    while above is not None:
        depth, above = depth + 1, above.parent
    members = 1 if group.minimum is None else group.minimum
    place = Place(group.item, ("spec", "schedulingConstraints") if group.key else ("metadata", "name"))
    return GangPart(group.name, place, group.key, "", depth, pods, pods if group.is_composite else members)


def _amount(use: NodeUse, resource: str) -> int:
    return dict(use.request).get(resource, 0)


def _gpus(root: RootGroup) -> int:
    waiting = [dict(shape.request).get(_GPU, 0) * count for pods in root.pods.values() for shape, count in pods.waiting]
    running = [pod.request.get(_GPU, 0) for pods in root.pods.values() for pod in pods.running]
    return sum(waiting) + sum(running)


def _priorities(objects: Iterable[Mapping[str, Value]]) -> dict[str, int]:
    classes = [value for value in objects if identity(value)[:2] == ("scheduling.k8s.io", "PriorityClass")]
    return {identity(value)[3]: number for value in classes if type(number := value.get("value")) is int}


def _with_uses(nodes: Sequence[ClusterNode], uses: Iterable[NodeUse]) -> list[ClusterNode]:
    added: dict[str, Counter[str]] = {}
    for use in uses:
        added.setdefault(use.node, Counter[str]()).update(dict(use.request))
    return [
        node.replace(used=dict(Counter(node.used) + added[node.name])) if node.name in added else node for node in nodes
    ]


def _uses_of(model: Model, verdict: Verdict) -> list[NodeUse]:
    """Return the use of nodes in one possible result of the group. The pods are on the first nodes of each class."""
    if verdict.outcome is None or verdict.states == (PENDING,):
        return []
    left = [list(names) for names in model.nodes]
    uses: list[NodeUse] = []
    for index, load in verdict.outcome.state:
        request = Counter[str]()
        for shape, count in zip(model.shapes, load, strict=True):
            request.update({name: amount * count for name, amount in shape.request})
        uses.append(NodeUse(left[index].pop(0), tuple(sorted(request.items()))))
    return uses


def _reasons(root: RootGroup, model: Model, verdict: Verdict, state: str) -> Iterator[str]:
    """Yield the reasons in packwise's words why the group does not fit or is not tried."""
    if root.lacks_parent:
        yield f"the parent CompositePodGroup {root.lacks_parent} is not in the input"
    elif state == NOT_READY:
        yield from _unready_reasons(root)
    elif state == PENDING and not verdict.message:
        tree = model.tree
        needed = count_text(tree.minimum, "group" if tree.is_composite else "pod")
        where = f"no domain of {tree.key}" if tree.key else "the cluster"
        yield f"{where} {'does not hold' if not tree.key else 'holds'} the minimum of {needed}"


def _unready_reasons(root: RootGroup) -> Iterator[str]:
    for leaf in root.leaves:
        pods, needed = root.pods[leaf.name], 1 if leaf.minimum is None else leaf.minimum
        if pods.total < needed:
            yield f"{leaf.name} needs {count_text(needed, 'pod')} but has {pods.total}"
    if root.group.is_composite and len(root.leaves) < (root.group.minimum or 1):
        yield f"{root.group.name} needs {count_text(root.group.minimum or 1, 'group')} but has {len(root.leaves)}"


def _message(root: RootGroup, model: Model, verdict: Verdict, state: str) -> str:
    """Return the scheduler's own text, without its random parts."""
    namespace = identity(root.group.item.value)[2]
    if root.lacks_parent:
        return (
            "failed to build hierarchy snapshot: composite pod group object not found in state for podgroup/"
            f"{namespace}/{root.group.name}"
        )
    if state == NOT_READY and root.group.is_composite:
        return f'waiting for composite pod group "{root.group.name}" tree to meet quorum'
    if state == NOT_READY:
        return "waiting for minCount pods from a gang to appear in scheduling queue"
    if verdict.message:
        return verdict.message
    key = model.tree.key
    has_candidates = any(name == key for node in model.scene.classes for name, _ in node.labels)
    return "no feasible placements found" if state == PENDING and key and not has_candidates else ""


def _notes(root: RootGroup, model: Model, verdict: Verdict, state: str, looks_at_all: bool) -> Iterator[str]:
    if verdict.is_partial:
        yield "the domain is unknown: there are too many orders to try, and packwise tried one"
    if len(verdict.states) > 1:
        words = {PENDING: "does not fit", PARTIAL: "fits in part", ALLOCATED: "fits"}
        listed = " or ".join([words[each] for each in sorted(verdict.states, key=_WORST_FIRST.index)])
        yield f"it {listed}, depending on the order of groups and pods, which varies"
    elif state in FITS and model.tree.key and model.tree.name not in verdict.domains and not verdict.is_partial:
        yield f"several domains of {model.tree.key} fit equally well, and the scheduler chooses one at random"
    if not looks_at_all and model.tree.key:
        yield "Kubernetes 1.38 examines only some of the domains, and may choose another one"
    if any(not pods.is_counted for pods in root.pods.values()):
        yield "the number of pods is unknown for some groups; packwise assumes their minimum"
    yield "preemption, resource claims, volumes and affinity between pods are not simulated"


def simulate(source: SchedulerInput, generated: Iterable[KubeObject], snapshot: HasObjects) -> KubernetesSimulation:  # noqa: ARG001
    """Return the default scheduler's simulation of a render on a cluster."""
    return KubernetesSimulation(source, snapshot)
