"""Whether a domain has room for the pods of a constrained subgroup, and in which order KAI tries the domains.

Source: spec/placement.md#4c to #4f.
"""

from __future__ import annotations

from itertools import chain

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kai.allocate.fit_errors import FitError, Shortage, few_pods, insufficient
from packwise.schedulers.kai.allocate.gpu_sharing import portion_of
from packwise.schedulers.kai.allocate.scene import CPU, GPU, MEMORY, PODS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from packwise.schedulers.kai.allocate.domains import Domain, DomainTree
    from packwise.schedulers.kai.allocate.scene import CountedRequest, Pod
    from packwise.schedulers.kai.allocate.state import ClusterState, Holds

__all__ = ["Accounting"]

_ABSENT = 1000.0
"""KAI's ratio of a request to a domain that has nothing left of a resource."""


class Accounting:
    """The accounting of one group of pods within the domain `start`; other domains count as empty.

    Pods that ask for the same kinds of resources are counted by a pod as large as the largest in each resource; pods
    of different kinds by the sum of their requests.
    """

    def __init__(self, cluster: ClusterState, tree: DomainTree, start: Domain, pods: Sequence[Pod]) -> None:
        self.start = start
        self._topology = tree.topology.name
        self._levels = tree.topology.levels
        self._pods = len(pods)
        self.total = _total(pods)
        self.largest: CountedRequest | None = _largest(pods) if _is_alike(pods) else None
        self._asked = [
            (name, -(-amount // 1000) if name == CPU else amount) for name, amount in self.total.items() if name != PODS
        ]
        self._asks_nothing = not self._asked
        self._holds: Holds | None = (
            cluster.holds(tree, self.largest) if self.largest is not None and not self._asks_nothing else None
        )
        self._orders = cluster.orders(tree, (tuple(self._asked), self.largest, len(pods)))

    def held(self, domain: Domain) -> int | None:
        """How many of the pods the domain has room for; None where sums are compared."""
        return self._held(domain) if domain.is_within(self.start) else None

    def _held(self, domain: Domain) -> int | None:
        if self.largest is None:
            return None
        return self._holds[domain] if self._holds is not None else len(domain.nodes) * self._pods

    def fits(self, domain: Domain) -> bool:
        """Whether KAI counts the pods into the domain."""
        return self.fits_below(domain) if domain.is_within(self.start) else self._asks_nothing

    def fits_below(self, domain: Domain) -> bool:
        """Whether KAI counts the pods into a domain of the start."""
        held = self._held(domain)
        return held >= self._pods if held is not None else self._ratio(domain.idle) <= 1

    def error(self, domain: Domain, sub_group: str) -> FitError:
        """Why the pods do not fit into the domain."""
        held = self.held(domain)
        error = (
            few_pods(domain.id, held, self._pods, sub_group)
            if held is not None
            else insufficient(domain.id, self._idle(domain), self.total, sub_group)
        )
        return error._replace(shortage=self.shortage(domain, sub_group))

    def shortage(self, domain: Domain, sub_group: str) -> Shortage:
        """What lacks in the domain, by KAI's own accounting."""
        held = self.held(domain)
        if held is not None and self.largest is not None:
            missing = [(name, amount * (self._pods - held)) for name, amount in self.largest]
        else:
            idle = self._idle(domain)
            missing = [(name, amount - idle.get(name, 0)) for name, amount in self.total.items()]
        level = self._levels[domain.depth] if domain.depth >= 0 else ""
        return Shortage(
            sub_group,
            self._topology,
            domain.id,
            level,
            held,
            self._pods,
            tuple(sorted((name, amount) for name, amount in missing if amount > 0)),
            domain.is_within(self.start),
        )

    def ratio(self, domain: Domain) -> float:
        """How full the domain would be: the largest share of what is left that the pods ask for of any resource."""
        return self._ratio(self._idle(domain))

    def _ratio(self, idle: Mapping[str, int]) -> float:
        largest = 0.0
        for name, asked in self._asked:
            left = idle.get(name, 0)
            if name == CPU:
                # KAI compares whole cores, rounded up.
                left = -(-left // 1000)
            share = asked / left if left > 0 else _ABSENT
            largest = max(largest, share)
        return largest

    def _idle(self, domain: Domain) -> Mapping[str, int]:
        return domain.idle if domain.is_within(self.start) else {}

    def levels(self, deepest: int) -> dict[int, list[Domain]]:
        """The domains of `start` by depth, down to the level `deepest`, the tightest of each parent first."""
        levels = {self.start.depth: [self.start]}
        known = self._orders.children
        for depth in range(self.start.depth + 1, deepest + 1):
            ordered = [known.get(domain) or self._ordered(domain) for domain in levels[depth - 1]]
            levels[depth] = list(chain.from_iterable(ordered))
        return levels

    def fitting(self, levels: Mapping[int, Sequence[Domain]], depth: int) -> list[Domain]:
        """The domains of one of these levels that KAI counts the pods into, in their order."""
        if depth == self.start.depth:
            return [self.start] if self.fits_below(self.start) else []
        known = self._orders.fitting
        fitting = [known[domain] if domain in known else self._fitting(domain) for domain in levels[depth - 1]]
        return list(chain.from_iterable(fitting))

    def _ordered(self, domain: Domain) -> list[Domain]:
        # Children stand in order of their ids, which decides among equals.
        ordered = sorted(domain.children, key=lambda child: -self._ratio(child.idle))
        self._orders.children[domain] = ordered
        return ordered

    def _fitting(self, domain: Domain) -> list[Domain]:
        ordered = self._orders.children.get(domain) or self._ordered(domain)
        fitting = self._orders.fitting[domain] = [child for child in ordered if self.fits_below(child)]
        return fitting


def _counted(pod: Pod) -> CountedRequest:
    """The request of the pod with the portions of GPUs that it shares."""
    if pod.share is None or not portion_of(pod.share):
        return pod.request
    return (*pod.request, (GPU, portion_of(pod.share)))


def _total(pods: Sequence[Pod]) -> dict[str, float]:
    total: dict[str, float] = {}
    for pod in pods:
        for name, amount in _counted(pod):
            total[name] = total.get(name, 0) + amount
    total[PODS] = len(pods)
    return total


def _largest(pods: Sequence[Pod]) -> CountedRequest:
    largest: dict[str, float] = {}
    for pod in pods:
        for name, amount in _counted(pod):
            largest[name] = max(largest.get(name, 0), amount)
    return tuple(sorted(largest.items()))


def _is_alike(pods: Sequence[Pod]) -> bool:
    """Whether each resource beyond CPU and memory is asked for by all of the pods or by none."""
    asked: dict[str, int] = {}
    for pod in pods:
        for name, _ in _counted(pod):
            if name not in (CPU, MEMORY):
                asked[name] = asked.get(name, 0) + 1
    return all(count == len(pods) for count in asked.values())
