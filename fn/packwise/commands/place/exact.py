"""Whether the pods of a gang fit at all, whatever KAI's search finds: an exact answer by OR-Tools' CP-SAT.

The pods that were placed before the gang's turn stay where KAI put them. The answer is the same on every machine: one
worker, a fixed seed, a bound on the work instead of the clock.
"""

from __future__ import annotations

from enum import Enum

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.schedulers.kai.allocate.domains import Silent, depth_of, levels_of
from packwise.schedulers.kai.allocate.nodes import refusals
from packwise.schedulers.kai.allocate.scene import PODS, Pod, Scene
from packwise.schedulers.kai.allocate.session import JobTree, SetPart
from packwise.schedulers.kai.allocate.state import ClusterState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ortools.sat.python import cp_model

    from packwise.schedulers.kai.allocate.domains import Domain
    from packwise.schedulers.kai.allocate.session import Part
    from packwise.schedulers.kai.allocate.state import NodeState

__all__ = ["Packing", "Verdict", "exact_packing"]

_WORK = 20.0
"""CP-SAT's own measure of work, about seconds of one processor."""

_MOST_CHOICES = 2_000_000
"""Variables of one gang; a larger question is left open."""


class Verdict(Enum):
    """Whether there is a packing."""

    FITS = "fits"
    DOES_NOT_FIT = "does not fit"
    OPEN = "not decided"


class Packing(NamedTuple):
    """The verdict, and where it is `FITS`, a node for each pod."""

    verdict: Verdict
    nodes: Mapping[str, str] = {}


class _Kind(NamedTuple):
    """Pods that are alike: of one part, with one request and one set of rules."""

    pods: tuple[Pod, ...]
    fitting: tuple[NodeState, ...]
    parts: tuple[Part, ...]


def exact_packing(turn: Scene) -> Packing:
    """Whether the pods that are due of the only job of `turn` fit on its nodes.

    A constraint that KAI cannot read leaves the question open. Needs the extra `solver`.
    """
    cluster = ClusterState(turn)
    tree = JobTree(turn.jobs[0], 0)
    due = tree.root.due()
    if any(pod.share is not None or pod.lacks or cluster.neighbours.concern(pod) for pod in due):
        # What other pods, and shared GPUs, have to say is no part of the question.
        return Packing(Verdict.OPEN)
    kinds = _kinds(cluster, tree, due)
    if kinds is None or sum(len(kind.fitting) for kind in kinds) > _MOST_CHOICES:
        return Packing(Verdict.OPEN)
    if any(not kind.fitting for kind in kinds):
        return Packing(Verdict.DOES_NOT_FIT)
    return _Question(cluster, tree, kinds).solve()


def _kinds(cluster: ClusterState, tree: JobTree, due: Sequence[Pod]) -> list[_Kind] | None:
    """The pods by kind; None where a constraint cannot be read."""
    chains = dict(_chains(tree.root, ()))
    grouped: dict[tuple[str, object], list[Pod]] = {}
    for pod in due:
        leaf = pod.sub_group if tree.job.sub_groups else next(iter(tree.leaves))
        grouped.setdefault((leaf, (pod.request, pod.rules)), []).append(pod)
    kinds: list[_Kind] = []
    for (leaf, _), pods in grouped.items():
        parts = tuple(part for part in chains[leaf] if part.constraint is not None and part.constraint.topology)
        fitting = [node for node in cluster.nodes if node.fits(pods[0]) and not refusals(pods[0], node.node)]
        for part in parts:
            topology = part.constraint and cluster.trees.get(part.constraint.topology)
            if part.constraint is None or topology is None:
                return None
            if isinstance(levels_of(topology.topology, part.constraint, part.name), Silent):
                return None
            fitting = [node for node in fitting if node.name in topology.paths]
        kinds.append(_Kind(tuple(pods), tuple(fitting), parts))
    return kinds


def _chains(part: Part, above: tuple[Part, ...]) -> Iterator[tuple[str, tuple[Part, ...]]]:
    """The parts above each leaf, itself included, by the name of the leaf."""
    chain = (*above, part)
    if isinstance(part, SetPart):
        for child in part.children:
            yield from _chains(child, chain)
    else:
        yield part.name, chain


class _Question:
    """The question to the solver: how many pods of each kind stand on each node, and which domain holds each part."""

    def __init__(self, cluster: ClusterState, tree: JobTree, kinds: list[_Kind]) -> None:
        from ortools.sat.python import cp_model

        self._model = cp_model.CpModel()
        self._kinds = kinds
        self._counts = [
            [
                self._model.new_int_var(0, min(len(kind.pods), node.holds(kind.pods[0].request)), "")
                for node in kind.fitting
            ]
            for kind in kinds
        ]
        for kind, counts in zip(kinds, self._counts, strict=True):
            self._model.add(sum(counts) == len(kind.pods))
        self._fill_nodes()
        due = {pod.sub_group if tree.job.sub_groups else next(iter(tree.leaves)) for kind in kinds for pod in kind.pods}
        for part in dict.fromkeys(part for kind in kinds for part in kind.parts):
            running = [node for leaf in part.leaves() if leaf.name in due for node in leaf.placed]
            self._bound(cluster, part, running)

    def _fill_nodes(self) -> None:
        """No node holds more than it has."""
        terms: dict[NodeState, dict[str, list[tuple[int, cp_model.IntVar]]]] = {}
        for kind, counts in zip(self._kinds, self._counts, strict=True):
            for node, count in zip(kind.fitting, counts, strict=True):
                for name, amount in (*kind.pods[0].request, (PODS, 1)):
                    terms.setdefault(node, {}).setdefault(name, []).append((amount, count))
        for node, by_resource in terms.items():
            for name, weighed in by_resource.items():
                if len(weighed) > 1:
                    self._model.add(sum(amount * count for amount, count in weighed) <= node.idle.get(name, 0))

    def _bound(self, cluster: ClusterState, part: Part, running: Sequence[str]) -> None:
        """All pods of the part stand in one domain of the required level, that of its running pods where there are."""
        constraint = part.constraint
        tree = cluster.trees[constraint.topology] if constraint is not None else None
        depth = depth_of(tree.topology, constraint.required) if constraint is not None and tree is not None else None
        if constraint is None or tree is None or depth is None:
            return
        pinned = {tree.paths[name][depth + 1] for name in running if name in tree.paths}
        chosen: dict[Domain, cp_model.IntVar] = {}
        for kind, counts in zip(self._kinds, self._counts, strict=True):
            if part not in kind.parts:
                continue
            for node, count in zip(kind.fitting, counts, strict=True):
                domain = tree.paths[node.name][depth + 1]
                if running and domain not in pinned:
                    self._model.add(count == 0)
                    continue
                if domain not in chosen:
                    chosen[domain] = self._model.new_bool_var("")
                self._model.add(count <= len(kind.pods) * chosen[domain])
        self._model.add(sum(chosen.values()) <= 1)

    def solve(self) -> Packing:
        """The solver's answer."""
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.max_deterministic_time = _WORK
        status = solver.solve(self._model)
        if status == cp_model.INFEASIBLE:
            return Packing(Verdict.DOES_NOT_FIT)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Packing(Verdict.OPEN)
        nodes: dict[str, str] = {}
        for kind, counts in zip(self._kinds, self._counts, strict=True):
            left = list(kind.pods)
            for node, count in zip(kind.fitting, counts, strict=True):
                for _ in range(solver.value(count)):
                    nodes[left.pop(0).name] = node.name
        return Packing(Verdict.FITS, nodes)
