"""Places the pods that are due of one job: candidate by candidate, pod by pod, never a step back within a candidate.

Source: placement.md 5.
"""

from __future__ import annotations

from collections import Counter

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kai.allocate.candidates import Silent, Wanted, candidates
from packwise.schedulers.kai.allocate.fit_errors import JOINT, node_shortages, too_large, unschedulable
from packwise.schedulers.kai.allocate.job_tree import PodPart, SetPart
from packwise.schedulers.kai.allocate.predicates import refusals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from packwise.schedulers.kai.allocate.candidates import Scores
    from packwise.schedulers.kai.allocate.fit_errors import FitError
    from packwise.schedulers.kai.allocate.job_tree import JobTree, Part
    from packwise.schedulers.kai.allocate.ranking import Ranking, Rankings
    from packwise.schedulers.kai.allocate.scene import Pod
    from packwise.schedulers.kai.allocate.state import ClusterState, NodeState

__all__ = ["Attempt"]


class Attempt:
    """One attempt to place the pods of a job that are due. `errors` and `silent` are those of all of its attempts."""

    def __init__(
        self,
        cluster: ClusterState,
        rankings: Rankings,
        tree: JobTree,
        refusals: dict[str, dict[str, Sequence[str]]],
    ) -> None:
        self._cluster = cluster
        self._rankings = rankings
        self._tree = tree
        self._job = tree.job
        self._refusals = refusals
        self._scores: dict[str, Scores] = {}
        self.errors: list[FitError] = []
        self.silent: list[Silent] = []

    def place(self, pods: Sequence[Pod]) -> bool:
        """Whether all of the pods found a node; without that the cluster is as before."""
        return self._place(self._tree.root, pods, self._cluster.nodes, ())

    def _place(self, part: Part, pods: Sequence[Pod], nodes: Sequence[NodeState], above: tuple[str, ...]) -> bool:
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
        for among in answer.sets:
            mark = len(self._cluster.placed)
            if self._place_among(part, due, among, lineage):
                return True
            self._cluster.roll_back(mark)
        return False

    def _place_among(
        self, part: Part, pods: Sequence[Pod], nodes: Sequence[NodeState], lineage: tuple[str, ...]
    ) -> bool:
        if isinstance(part, SetPart):
            return all(self._place(child, pods, nodes, lineage) for child in part.ordered())
        scores = next((self._scores[name] for name in lineage if name in self._scores), None)
        ranking: Ranking | None = None
        for index, pod in enumerate(pods):
            text = too_large(self._job.namespace, pod, self._cluster.largest)
            if text is None:
                if ranking is None or not ranking.serves(pod):
                    ranking = self._rankings.of(pod, nodes, scores)
                node = ranking.best()
                if node is not None:
                    self._cluster.place(pod, node)
                    continue
                text = self._why_nowhere(pod, ranking.nodes)
            self.errors.append(self._pod_error(part, pod, index, text))
            return False
        return True

    def _leaf_name(self, pod: Pod) -> str:
        return pod.sub_group if self._job.sub_groups else next(iter(self._tree.leaves))

    def _why_nowhere(self, pod: Pod, nodes: Iterable[NodeState]) -> str:
        """KAI's text about a pod that no node takes; it counts the nodes of all candidates tried so far."""
        request = dict(pod.request)
        by_node = self._refusals.setdefault(pod.name, {})
        for node in nodes:
            by_node[node.name] = node_shortages(request, node.idle) or refusals(pod, node.node)
        counted = Counter(reason for reasons in by_node.values() for reason in reasons)
        lines = sorted(f"{count} {reason}" for reason, count in counted.items())
        return "no nodes with enough resources were found" + (f": {JOINT.join(lines)}." if lines else "")

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
