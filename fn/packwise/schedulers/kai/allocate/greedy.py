"""Places the pods that are due of one job: candidate by candidate, pod by pod, never a step back within a candidate.

Source: spec/placement.md#5.
"""

from __future__ import annotations

from collections import Counter

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kai.allocate.candidates import Wanted, candidates
from packwise.schedulers.kai.allocate.fit_errors import JOINT, node_shortages, unmet_conditions, unschedulable
from packwise.schedulers.kai.allocate.job_tree import PodPart, SetPart
from packwise.schedulers.kai.allocate.predicates import refusals
from packwise.schedulers.kai.allocate.ranking import scored_nodes, visited_before

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from packwise.schedulers.kai.allocate.candidates import Scores
    from packwise.schedulers.kai.allocate.fit_errors import FitError
    from packwise.schedulers.kai.allocate.job_tree import JobTree, Part
    from packwise.schedulers.kai.allocate.levels import Silent
    from packwise.schedulers.kai.allocate.ranking import Ranking, Rankings
    from packwise.schedulers.kai.allocate.scene import Pod
    from packwise.schedulers.kai.allocate.state import ClusterState, NodeState

__all__ = ["Attempt"]


_NO_ROOM = "no nodes with enough resources were found"
_NO_REASON = "Unable to schedule pod"


class Attempt:
    """One attempt to place the pods of a job that are due. `errors` and `silent` are those of all of its attempts.

    `rejections` are those of nodes by pod, of all of the job's attempts: KAI adds them up.
    """

    def __init__(
        self,
        cluster: ClusterState,
        rankings: Rankings,
        tree: JobTree,
        rejections: dict[str, Counter[str]],
    ) -> None:
        self._cluster = cluster
        self._rankings = rankings
        self._tree = tree
        self._job = tree.job
        self._rejections = rejections
        self._scores: dict[str, Scores] = {}
        self._visits: list[tuple[Sequence[NodeState], Scores | None]] = []
        self.errors: list[FitError] = []
        self.silent: list[Silent] = []

    def place(self, pods: Sequence[Pod]) -> bool:
        """Whether all of the pods found a node; without that the cluster is as before."""
        return self._place(self._tree.root, pods, self._cluster.nodes, (), is_tried_again=False)

    def _place(
        self,
        part: Part,
        pods: Sequence[Pod],
        nodes: Sequence[NodeState],
        above: tuple[str, ...],
        *,
        is_tried_again: bool,
    ) -> bool:
        """`is_tried_again`: where the part finds no place here, another set of nodes is left to try."""
        own = {leaf.name: leaf for leaf in part.leaves()}
        due = [pod for pod in pods if self._leaf_name(pod) in own]
        wanted = {self._leaf_name(pod) for pod in due}
        running = [node for name in wanted for node in own[name].placed]
        answer = candidates(self._cluster, Wanted(self._job, part.name, part.constraint, due, running), nodes)
        self.errors += answer.errors
        if answer.silent is not None and answer.silent not in self.silent:
            self.silent.append(answer.silent)
        if answer.scores is not None:
            self._scores[part.name] = answer.scores
        lineage = (part.name, *above)
        for among, is_last in _with_last(answer.sets):
            mark = len(self._cluster.placed)
            is_repeated = is_tried_again or not is_last
            if self._place_among(part, due, among, lineage, is_tried_again=is_repeated):
                return True
            self._roll_back(mark, is_counted=is_repeated)
        return False

    def _place_among(
        self,
        part: Part,
        pods: Sequence[Pod],
        nodes: Sequence[NodeState],
        lineage: tuple[str, ...],
        *,
        is_tried_again: bool,
    ) -> bool:
        if isinstance(part, SetPart):
            return all(
                self._place(child, pods, nodes, lineage, is_tried_again=is_tried_again) for child in part.ordered()
            )
        scores = next((self._scores[name] for name in lineage if name in self._scores), None)
        ranking: Ranking | None = None
        for index, pod in enumerate(pods):
            text = unmet_conditions(self._job.namespace, pod, self._cluster.largest)
            if text is None:
                if not self._rankings.is_plain(pod):
                    node = self._rankings.best(pod, nodes, scores)
                else:
                    if ranking is None or not ranking.serves(pod):
                        ranking = self._rankings.of(pod, nodes, scores)
                    node = ranking.best()
                if node is not None:
                    self._cluster.place(pod, node)
                    self._visits.append((nodes, scores))
                    continue
                text = self._why_nowhere(pod, scored_nodes(nodes, scores))
            self.errors.append(self._pod_error(part, pod, index, text))
            return False
        return True

    def _roll_back(self, mark: int, *, is_counted: bool) -> None:
        """Takes the pods away that were placed since; `is_counted`: what rejected them before counts in messages."""
        while len(self._cluster.placed) > mark:
            pod, node = self._cluster.placed[-1]
            nodes, scores = self._visits.pop()
            self._cluster.roll_back(len(self._cluster.placed) - 1)
            if is_counted:
                self._reject(pod, visited_before(pod, nodes, scores, node))

    def _leaf_name(self, pod: Pod) -> str:
        return pod.sub_group if self._job.sub_groups else next(iter(self._tree.leaves))

    def _why_nowhere(self, pod: Pod, nodes: Iterable[NodeState]) -> str:
        """KAI's text about a pod that no node takes."""
        self._reject(pod, nodes)
        counted = self._rejections.get(pod.name)
        if counted is None:
            return _NO_REASON
        lines = sorted(f"{count} {reason}" for reason, count in counted.items())
        return _NO_ROOM + (f": {JOINT.join(lines)}." if lines else "")

    def _reject(self, pod: Pod, nodes: Iterable[NodeState]) -> None:
        """Counts why the nodes do not take the pod now."""
        refusal = self._cluster.neighbours.judge(pod)
        for node in nodes:
            reasons = node_shortages(pod, node.node, node.idle) if not node.fits(pod) else None
            if reasons is None and node.fits(pod):
                reasons = refusals(pod, node.node, names_taints=self._cluster.names_taints)
                reasons = reasons or tuple(filter(None, (refusal(node.node),)))
            if reasons is not None:
                self._rejections.setdefault(pod.name, Counter()).update(reasons)

    def _pod_error(self, part: PodPart, pod: Pod, index: int, text: str) -> FitError:
        if not self._tree.is_gang or part.is_satisfied:
            return unschedulable(f"Resources were not found for pod {self._job.namespace}/{pod.name} due to: {text}")
        if not self._job.sub_groups:
            return unschedulable(
                f"Resources were found for {index} pods while {part.minimum} are required for gang scheduling. "
                f"Additional pods cannot be scheduled due to: {text}"
            )
        return unschedulable(
            f"Resources were found for {index} pods from all sub-groups while sub-group {part.name} requires "
            f"{part.minimum} pods for gang scheduling. "
            f"Additional pods cannot be scheduled in this sub-group due to: {text}"
        )


def _with_last(sets: Iterable[Sequence[NodeState]]) -> Iterator[tuple[Sequence[NodeState], bool]]:
    """The sets, each with whether it is the last one."""
    remaining = iter(sets)
    following = next(remaining, None)
    while following is not None:
        current, following = following, next(remaining, None)
        yield current, following is None
