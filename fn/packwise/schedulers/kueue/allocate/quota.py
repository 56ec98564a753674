"""The flavors that Kueue assigns to pod sets by its checks and by quota, before it searches for domains.

Source: spec/kueue.md#9.8 and #9.9; Kueue, flavorassigner.go and resource_node.go.
"""

from __future__ import annotations

from enum import IntEnum

from krmfn.hints import TYPE_CHECKING, Record
from packwise.schedulers.kueue.allocate.scene import PODS, Quota
from packwise.schedulers.kueue.flavors import (
    missing_flavor,
    nodes_mismatch,
    quota_excess,
    quota_shortage,
    selects_flavor,
    topology_mismatch,
)
from packwise.schedulers.node_selection import repelling_taint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packwise.schedulers.kueue.allocate.scene import (
        ClusterQueue,
        Flavor,
        FlavorResource,
        NodeRules,
        PodSet,
        ResourceGroup,
        Scene,
    )


class Mode(IntEnum):
    """The outcome of the quota check for the flavors of pod sets, the worst first."""

    NO_FIT = 0
    SHORT = 1
    """Running Workloads hold the missing quota."""
    FIT = 2


class Assignment(Record):
    """The flavors of a job's pod sets by resource, and their use of quotas.

    `reasons` are the names of pod sets that lack quota or a flavor, each with Kueue's texts.
    """

    mode: Mode
    flavors: tuple[Mapping[str, str], ...]
    usage: Mapping[FlavorResource, int]
    reasons: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def message(self) -> str:
        """Return the text of the Workload's condition."""
        return "; ".join([pod_set_text(name, reasons) for name, reasons in self.reasons])


def pod_set_text(name: str, reasons: Iterable[str]) -> str:
    """Return Kueue's text about a pod set that does not fit. It lists the reasons in alphabetical order."""
    return f"couldn't assign flavors to pod set {name}: {', '.join(sorted(reasons))}"


class Quotas:
    """The quotas of all ClusterQueues and cohorts, and their use.

    A queue keeps the quota that it does not lend. All queues of its cohort may borrow the rest.
    """

    def __init__(self, scene: Scene) -> None:
        self._queues = scene.cluster_queues
        self._cohorts = scene.cohorts
        self._used: dict[str, dict[FlavorResource, int]] = {}
        self._members: dict[str, list[str]] = {}
        self._below: dict[str, list[str]] = {}
        for queue in scene.cluster_queues.values():
            if queue.cohort:
                self._members.setdefault(queue.cohort, []).append(queue.name)
        for cohort in scene.cohorts.values():
            if cohort.parent:
                self._below.setdefault(cohort.parent, []).append(cohort.name)
        self._subtree: dict[tuple[str, FlavorResource], int] = {}

    def add_usage(self, queue: str, usage: Mapping[FlavorResource, int], sign: int = 1) -> None:
        """Add the usage of a Workload to the queue, or subtract it if `sign` is -1."""
        used = self._used.setdefault(queue, {})
        for key, amount in usage.items():
            used[key] = used.get(key, 0) + sign * amount

    def available_quota(self, queue: str, key: FlavorResource) -> int:
        """Return the amount that a queue can still use while all current Workloads run."""
        return max(0, self._remaining_quota(queue, key))

    def potential_available(self, queue: str, key: FlavorResource) -> int:
        """Return the amount that a queue can use if no Workload runs."""
        quota = self._quota(queue, key)
        own = quota.nominal
        cohort = self._queues[queue].cohort
        if not cohort:
            return own
        most = _local_quota(own, quota) + self._potential_of_cohort(cohort, key)
        return most if quota.borrowing is None else min(own + quota.borrowing, most)

    def nominal_quota(self, queue: str, key: FlavorResource) -> int:
        """Return the nominal quota of a queue."""
        return self._quota(queue, key).nominal

    def _quota(self, queue: str, key: FlavorResource) -> Quota:
        return self._queues[queue].quotas.get(key) or Quota()

    def _remaining_quota(self, queue: str, key: FlavorResource) -> int:
        quota = self._quota(queue, key)
        used = self._used.get(queue, {}).get(key, 0)
        cohort = self._queues[queue].cohort
        if not cohort:
            return quota.nominal - used
        return _available_below(quota.nominal, used, quota, self._available_in_cohort(cohort, key))

    def _lineage(self, cohort: str) -> list[str]:
        """Return a cohort and the cohorts above it. Stop if a cohort repeats."""
        names: list[str] = []
        while cohort and cohort not in names:
            names.append(cohort)
            known = self._cohorts.get(cohort)
            cohort = "" if known is None else known.parent
        return names

    def _available_in_cohort(self, cohort: str, key: FlavorResource) -> int:
        *below, root = self._lineage(cohort)
        available = self._total(root, key) - self._usage(root, key)
        for name in reversed(below):
            quota = self._cohort_quota(name, key)
            available = _available_below(self._total(name, key), self._usage(name, key), quota, available)
        return available

    def _potential_of_cohort(self, cohort: str, key: FlavorResource) -> int:
        *below, root = self._lineage(cohort)
        most = self._total(root, key)
        for name in reversed(below):
            quota, total = self._cohort_quota(name, key), self._total(name, key)
            most += _local_quota(total, quota)
            most = most if quota.borrowing is None else min(total + quota.borrowing, most)
        return most

    def _cohort_quota(self, cohort: str, key: FlavorResource) -> Quota:
        known = self._cohorts.get(cohort)
        return Quota() if known is None else known.quotas.get(key) or Quota()

    def _total(self, cohort: str, key: FlavorResource, above: tuple[str, ...] = ()) -> int:
        """Return the quota of a cohort: its own quota, and the amounts that its queues and child cohorts lend."""
        if cohort in above:
            return 0
        cached = self._subtree.get((cohort, key))
        if cached is not None:
            return cached
        total = self._cohort_quota(cohort, key).nominal
        for name in self._members.get(cohort, ()):
            quota = self._quota(name, key)
            total += quota.nominal - _local_quota(quota.nominal, quota)
        for name in self._below.get(cohort, ()):
            lent = self._total(name, key, (*above, cohort))
            total += lent - _local_quota(lent, self._cohort_quota(name, key))
        self._subtree[cohort, key] = total
        return total

    def _usage(self, cohort: str, key: FlavorResource, above: tuple[str, ...] = ()) -> int:
        """Return the amount of a cohort's quota that its queues and child cohorts use."""
        if cohort in above:
            return 0
        usage = 0
        for name in self._members.get(cohort, ()):
            quota = self._quota(name, key)
            usage += max(0, self._used.get(name, {}).get(key, 0) - _local_quota(quota.nominal, quota))
        for name in self._below.get(cohort, ()):
            total = self._total(name, key)
            usage += max(
                0, self._usage(name, key, (*above, cohort)) - _local_quota(total, self._cohort_quota(name, key))
            )
        return usage


def _local_quota(total: int, quota: Quota) -> int:
    """Return the amount of `total` that a queue or cohort does not lend."""
    return 0 if quota.lending is None else max(0, total - quota.lending)


def _available_below(total: int, used: int, quota: Quota, above: int) -> int:
    local = _local_quota(total, quota)
    if quota.borrowing is not None:
        above = min(total - local - max(0, used - local) + quota.borrowing, above)
    return max(0, local - used) + above


class FlavorChoice:
    """Chooses flavors for pod sets: in each resource group, the first flavor that passes all checks and has quota."""

    def __init__(self, scene: Scene, quotas: Quotas) -> None:
        self._flavors = scene.flavors
        self._levels = scene.topologies
        self._quotas = quotas

    def assign(self, queue: ClusterQueue, sets: Sequence[PodSet]) -> Assignment:
        """Return the flavors of pod sets. The search ends at the first group of pod sets without a flavor."""
        flavors: dict[int, Mapping[str, str]] = {}
        usage: dict[FlavorResource, int] = {}
        reasons: list[tuple[str, tuple[str, ...]]] = []
        mode = Mode.FIT
        for members in group_sets(sets):
            chosen, group_mode, texts = self._group_flavors(queue, [sets[index] for index in members], usage)
            mode = min(mode, group_mode)
            for index in members:
                requested = requests_of(sets[index], queue)
                flavors[index] = {name: flavor for name, flavor in chosen.items() if name in requested}
                for name, flavor in flavors[index].items():
                    key = (flavor, name)
                    usage[key] = usage.get(key, 0) + requested[name]
                if texts:
                    reasons.append((sets[index].name, texts))
            if group_mode is Mode.NO_FIT:
                break
        return Assignment(mode, tuple(flavors.get(index, {}) for index in range(len(sets))), usage, tuple(reasons))

    def _group_flavors(
        self, queue: ClusterQueue, sets: Sequence[PodSet], usage: Mapping[FlavorResource, int]
    ) -> tuple[dict[str, str], Mode, tuple[str, ...]]:
        """Return the flavors of pod sets that are placed together, the outcome, and Kueue's reasons.

        All these pod sets get the same flavors.
        """
        total: dict[str, int] = {}
        for each in sets:
            for name, amount in requests_of(each, queue).items():
                total[name] = total.get(name, 0) + amount
        chosen: dict[str, str] = {}
        mode, reasons = Mode.FIT, list[str]()
        for name in sorted(total):
            if name in chosen:
                continue
            group = queue.group_of(name)
            if group is None:
                return {}, Mode.NO_FIT, (f"resource {name} unavailable in ClusterQueue",)
            asked = {each: amount for each, amount in total.items() if each in group.covered_resources}
            flavor, flavor_mode, texts = self._first_flavor(queue, group, sets, asked, usage)
            if flavor is None:
                return {}, Mode.NO_FIT, tuple(texts)
            if flavor_mode is not Mode.FIT:
                reasons += texts
            mode = min(mode, flavor_mode)
            chosen |= dict.fromkeys(asked, flavor)
        return chosen, mode, tuple(reasons)

    def _first_flavor(
        self,
        queue: ClusterQueue,
        group: ResourceGroup,
        sets: Sequence[PodSet],
        asked: Mapping[str, int],
        usage: Mapping[FlavorResource, int],
    ) -> tuple[str | None, Mode, list[str]]:
        """Return the first flavor with free quota, or else the first one that needs preemption, or None.

        Also return the outcome and Kueue's reasons. `asked` has the requests of the pod sets by resource.
        """
        reasons: list[str] = []
        best: str | None = None
        for name in group.flavors:
            mismatch = self._mismatch(name, queue, group, sets)
            if mismatch:
                reasons.append(mismatch)
                continue
            mode, texts = self._check_quota(queue, name, asked, usage)
            if mode is Mode.FIT:
                return name, Mode.FIT, []
            reasons += texts
            if mode is Mode.SHORT and best is None:
                best = name
        return best, Mode.SHORT if best is not None else Mode.NO_FIT, reasons

    def _mismatch(self, name: str, queue: ClusterQueue, group: ResourceGroup, sets: Sequence[PodSet]) -> str:
        """Return Kueue's reason why one of the pod sets cannot use a flavor, or ""."""
        flavor = self._flavors.get(name)
        if flavor is None:
            return missing_flavor(name)
        for each in sets:
            reason = self._topology_mismatch(flavor, queue, group, each) or _node_mismatch(flavor, each.rules)
            if reason:
                return reason
        return ""

    def _topology_mismatch(self, flavor: Flavor, queue: ClusterQueue, group: ResourceGroup, each: PodSet) -> str:
        return topology_mismatch(
            flavor.name,
            self._levels.get(flavor.topology, ()) if flavor.topology else None,
            each.topology,
            is_for_topologies=self.is_tas_only(queue),
            is_overlapping=any(name in group.covered_resources for name, _ in each.request),
        )

    def is_tas_only(self, queue: ClusterQueue) -> bool:
        """Return True if all flavors of the queue have a topology.

        Kueue then places all pods of the queue by topology, even if they do not request one.
        """
        names = queue.flavors
        return bool(names) and all(name in self._flavors and self._flavors[name].topology for name in names)

    def _check_quota(
        self, queue: ClusterQueue, flavor: str, asked: Mapping[str, int], usage: Mapping[FlavorResource, int]
    ) -> tuple[Mode, list[str]]:
        mode, reasons = Mode.FIT, list[str]()
        for name, amount in asked.items():
            key = (flavor, name)
            before = usage.get(key, 0)
            wanted, most = before + amount, self._quotas.potential_available(queue.name, key)
            if wanted > most:
                mode = Mode.NO_FIT
                reasons.append(quota_excess(name, flavor, before, amount, most))
                continue
            lacking = wanted - self._quotas.available_quota(queue.name, key)
            if lacking > 0:
                # By default, a queue above its nominal quota may not preempt Workloads of others.
                is_own = wanted <= self._quotas.nominal_quota(queue.name, key)
                mode = min(mode, Mode.SHORT if is_own else Mode.NO_FIT)
                reasons.append(quota_shortage(name, flavor, lacking))
        return mode, reasons


def group_sets(sets: Sequence[PodSet]) -> Iterator[list[int]]:
    """Yield the positions of pod sets that are placed together. A group is at the place of its first pod set."""
    groups: dict[str | int, list[int]] = {}
    for index, each in enumerate(sets):
        groups.setdefault(each.topology.group or index, []).append(index)
    yield from groups.values()


def requests_of(each: PodSet, queue: ClusterQueue) -> dict[str, int]:
    """Return a pod set's requests for quotas, including its pods if the queue has a quota for them."""
    total = {name: amount * each.count for name, amount in each.request if name != PODS}
    return total | ({PODS: each.count} if queue.group_of(PODS) is not None else {})


def _node_mismatch(flavor: Flavor, rules: NodeRules) -> str:
    """Return Kueue's reason if a pod does not accept the taints or node labels of a flavor, or ""."""
    taint = repelling_taint(flavor.taints, (*rules.tolerations, *flavor.tolerations))
    return nodes_mismatch(flavor.name, taint, is_selected=selects_flavor(flavor.labels, rules.selector, rules.terms))
