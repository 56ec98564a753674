"""The exact answer for a gang that does not fit: a packing by OR-Tools CP-SAT, and the smallest change that lets KAI
place it.

Pods that are placed before the gang's turn stay where KAI put them. The answer is deterministic: one worker, a fixed
seed, and a limit on work instead of time.

Source: spec/placement.md#4b, #4c, #5 and #6.
"""

from __future__ import annotations

from enum import Enum

from krmfn.hints import TYPE_CHECKING, Record
from packwise.schedulers.kai.allocate.candidates import refusals
from packwise.schedulers.kai.allocate.scene import DEFAULT_POD_SET, PODS, Pod, Scene
from packwise.schedulers.kai.allocate.session import FITS, JobTree, SetPart, allocate
from packwise.schedulers.kai.allocate.state import ClusterState, SilentMistake, depth_of, levels_of
from packwise.schedulers.wording import level_word
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ortools.sat.python import cp_model

    from packwise.schedulers.kai.allocate.scene import Job, LevelConstraint
    from packwise.schedulers.kai.allocate.session import JobAnswer, Part
    from packwise.schedulers.kai.allocate.state import Domain, NodeState

_WORK = 20.0
"""The limit of work in CP-SAT's deterministic time. One unit takes about one second of one processor."""

_MAX_CHOICES = 2_000_000
"""The largest number of variables for one gang. The verdict on a larger question is `OPEN`."""


class PackingVerdict(Enum):
    """The answer to the question if a packing exists."""

    FITS = "fits"
    DOES_NOT_FIT = "does not fit"
    OPEN = "not decided"


class Packing(Record):
    """The verdict, and the node of each pod if the verdict is `FITS`."""

    verdict: PackingVerdict
    nodes: Mapping[str, str] = {}


class _Kind(Record):
    """Equal pods: they belong to one part, and have the same request and the same rules.

    `fitting_nodes` have room for one of them. `parts` are the parts with constraints that contain them.
    """

    pods: tuple[Pod, ...]
    fitting_nodes: tuple[NodeState, ...]
    parts: tuple[Part, ...]


def exact_packing(turn: Scene) -> Packing:
    """Return a packing of the pods that the only job of `turn` places next.

    The verdict is `OPEN` if KAI cannot read a constraint, if the pods have rules about other pods, or if they share
    GPUs. It needs the extra `solver`.
    """
    cluster = ClusterState(turn)
    tree = JobTree(turn.jobs[0], 0)
    due = tree.root.next_pods()
    if any(pod.share is not None or pod.lacks or cluster.neighbours.affect(pod) for pod in due):
        # The solver does not model rules about other pods and shared GPUs.
        return Packing(PackingVerdict.OPEN)
    kinds = _kinds(cluster, tree, due)
    if kinds is None or sum(len(kind.fitting_nodes) for kind in kinds) > _MAX_CHOICES:
        return Packing(PackingVerdict.OPEN)
    if any(not kind.fitting_nodes for kind in kinds):
        return Packing(PackingVerdict.DOES_NOT_FIT)
    return _Question(cluster, tree, kinds).solve()


def _kinds(cluster: ClusterState, tree: JobTree, due: Sequence[Pod]) -> list[_Kind] | None:
    """Return the pods grouped by kind. Return None if KAI cannot read a constraint."""
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
            if isinstance(levels_of(topology.topology, part.constraint, part.name), SilentMistake):
                return None
            fitting = [node for node in fitting if node.name in topology.paths]
        kinds.append(_Kind(tuple(pods), tuple(fitting), parts))
    return kinds


def _chains(part: Part, above: tuple[Part, ...]) -> Iterator[tuple[str, tuple[Part, ...]]]:
    """Yield the name of each leaf with its chain of parts, from the root to the leaf itself."""
    chain = (*above, part)
    if isinstance(part, SetPart):
        for child in part.children:
            yield from _chains(child, chain)
    else:
        yield part.name, chain


class _Question:
    """The question to the solver: the number of pods of each kind on each node, and the domain of each part."""

    def __init__(self, cluster: ClusterState, tree: JobTree, kinds: list[_Kind]) -> None:
        from ortools.sat.python import cp_model

        self._model = cp_model.CpModel()
        self._kinds = kinds
        self._counts = [
            [
                self._model.new_int_var(0, min(len(kind.pods), node.pod_capacity(kind.pods[0].request)), "")
                for node in kind.fitting_nodes
            ]
            for kind in kinds
        ]
        for kind, counts in zip(kinds, self._counts, strict=True):
            self._model.add(sum(counts) == len(kind.pods))
        self._fill_nodes()
        due = {pod.sub_group if tree.job.sub_groups else next(iter(tree.leaves)) for kind in kinds for pod in kind.pods}
        for part in dict.fromkeys(part for kind in kinds for part in kind.parts):
            running = [node for leaf in part.leaves() if leaf.name in due for node in leaf.placed]
            self._require_domain(cluster, part, running)

    def _fill_nodes(self) -> None:
        """Limit the pods on each node to its free amounts."""
        terms: dict[NodeState, dict[str, list[tuple[int, cp_model.IntVar]]]] = {}
        for kind, counts in zip(self._kinds, self._counts, strict=True):
            for node, count in zip(kind.fitting_nodes, counts, strict=True):
                for name, amount in (*kind.pods[0].request, (PODS, 1)):
                    terms.setdefault(node, {}).setdefault(name, []).append((amount, count))
        for node, by_resource in terms.items():
            for name, weighed in by_resource.items():
                if len(weighed) > 1:
                    self._model.add(sum(amount * count for amount, count in weighed) <= node.idle.get(name, 0))

    def _require_domain(self, cluster: ClusterState, part: Part, running: Sequence[str]) -> None:
        """Require one domain of the required level for all pods of the part. It is the domain of pods that already run,
        if any do.
        """
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
            for node, count in zip(kind.fitting_nodes, counts, strict=True):
                domain = tree.paths[node.name][depth + 1]
                if running and domain not in pinned:
                    self._model.add(count == 0)
                    continue
                if domain not in chosen:
                    chosen[domain] = self._model.new_bool_var("")
                self._model.add(count <= len(kind.pods) * chosen[domain])
        self._model.add(sum(chosen.values()) <= 1)

    def solve(self) -> Packing:
        """Return the solver's answer."""
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.max_deterministic_time = _WORK
        status = solver.solve(self._model)
        if status == cp_model.INFEASIBLE:
            return Packing(PackingVerdict.DOES_NOT_FIT)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Packing(PackingVerdict.OPEN)
        nodes: dict[str, str] = {}
        for kind, counts in zip(self._kinds, self._counts, strict=True):
            left = list(kind.pods)
            for node, count in zip(kind.fitting_nodes, counts, strict=True):
                for _ in range(solver.value(count)):
                    nodes[left.pop(0).name] = node.name
        return Packing(PackingVerdict.FITS, nodes)


_REPLICAS_TRIED = 8
"""To make a gang fit, the minimum of a set is lowered by at most this many pods."""


class GangChange(Record):
    """A change of a gang in words and the job after the change."""

    change: str
    job: Job


class ExactVerdict(Record):
    """The exact verdict on a gang that KAI leaves pending.

    If a packing exists, `hidden_by` is the rule of KAI's search that hides it from KAI, else "". `change` is the
    smallest change that lets KAI place the gang, or "" if none of the tried changes does.
    """

    verdict: PackingVerdict
    hidden_by: str = ""
    change: str = ""


def exact_verdict(turn: Scene, answer: JobAnswer, words: Mapping[str, str]) -> ExactVerdict:
    """Return the verdict on the only job of `turn` after KAI's `answer`. It needs the extra `solver`."""
    verdict = exact_packing(turn).verdict
    best = smallest_change(turn, words)
    hidden = hiding_rule(answer) if verdict is PackingVerdict.FITS and answer.errors else ""
    return ExactVerdict(verdict, hidden, "" if best is None else best.change)


def hiding_rule(answer: JobAnswer) -> str:
    """Return the rule of KAI's search that hides an existing packing from KAI."""
    shortages = [error.shortage for error in answer.errors if error.shortage is not None]
    if any(not shortage.is_counted for shortage in shortages):
        return (
            "the required level is broader than the narrowest domain that holds all candidate nodes, and KAI counts "
            "free capacity only within that domain"
        )
    if any(error.shortage is None and "requirement" not in error.detail for error in answer.errors):
        return "KAI places pod sets in the order of their names, and does not move a placed pod set"
    if any(shortage.fitting_pods is not None for shortage in shortages):
        return "KAI counts every pod of the gang with the largest request of each resource"
    return "KAI compares the sums of each domain, in whole CPU cores"


def smallest_change(turn: Scene, words: Mapping[str, str]) -> GangChange | None:
    """Return the smallest change of the only job of `turn` that lets KAI place it, or None.

    It tries in this order: an additional preferred level, a broader required level, preferred instead of required, and
    fewer pods of one set. `words` maps node labels to the names of levels.
    """
    for best in _changes(turn, words):
        if allocate(turn.replace(jobs=(best.job,))).jobs[0].state in FITS:
            return best
    return None


def _changes(turn: Scene, words: Mapping[str, str]) -> Iterator[GangChange]:
    job = turn.jobs[0]
    for name, constraint in job.constraints:
        if constraint.required and not constraint.preferred:
            change = f"also prefer {level_word(words, constraint.required)}{_suffix_for(name)}"
            yield GangChange(change, _set_constraint(job, name, constraint.replace(preferred=constraint.required)))
    for name, constraint in job.constraints:
        topology = turn.topology(constraint.topology)
        levels = () if topology is None else topology.levels
        depth = levels.index(constraint.required) if constraint.required in levels else 0
        for level in reversed(levels[:depth]):
            broader, old = level_word(words, level), level_word(words, constraint.required)
            change = f"require {broader} instead of {old}{_suffix_for(name)}"
            yield GangChange(change, _set_constraint(job, name, constraint.replace(required=level)))
    for name, constraint in job.constraints:
        if constraint.required:
            level = constraint.preferred or constraint.required
            wish, old = level_word(words, level), level_word(words, constraint.required)
            change = f"prefer {wish} instead of requiring {old}{_suffix_for(name)}"
            yield GangChange(change, _set_constraint(job, name, constraint.replace(required="", preferred=level)))
    yield from _reduce_pods(job)


def _reduce_pods(job: Job) -> Iterator[GangChange]:
    """Yield changes with fewer pods of one set, the smallest reduction first."""
    if job.sub_groups:
        least = {group.name: group.min_members or 0 for group in job.sub_groups if group.min_members}
    else:
        least = {DEFAULT_POD_SET: job.min_members}
    for fewer in range(1, _REPLICAS_TRIED + 1):
        for name, members in least.items():
            if members > fewer:
                left, whole = members - fewer, name if job.sub_groups else "the gang"
                change = f"{count_text(left, 'pod')} instead of {members} of {whole}"
                yield GangChange(change, _with_members(job, name, members - fewer))


def _with_members(job: Job, name: str, members: int) -> Job:
    own = [pod for pod in job.pods if not job.sub_groups or pod.sub_group == name]
    gone = {pod.name for pod in own[members:]}
    pods = tuple(pod for pod in job.pods if pod.name not in gone)
    if not job.sub_groups:
        return job.replace(min_members=members, pods=pods)
    groups = tuple(
        group.replace(min_members=members) if group.name == name else group for group in job.sub_groups
    )  # fmt: skip
    return job.replace(sub_groups=groups, pods=pods)


def _set_constraint(job: Job, name: str, constraint: LevelConstraint) -> Job:
    if not name:
        return job.replace(constraint=constraint)
    groups = tuple(
        group.replace(constraint=constraint) if group.name == name else group for group in job.sub_groups
    )  # fmt: skip
    return job.replace(sub_groups=groups)


def _suffix_for(name: str) -> str:
    return f" for {name}" if name else ""
