"""A job as a tree of subgroups while its pods are placed: which children come first, and which pods are due.

Source: spec/placement.md#1 to #3.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kai.allocate.scene import DEFAULT_POD_SET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.schedulers.kai.allocate.scene import Constraint, Job, Pod, SubGroup

__all__ = ["JobTree", "Part", "PodPart", "SetPart"]


class PodPart:
    """A subgroup of pods: those that are `placed`, by node, and those that `wait`, in order of their UIDs.

    A pod that a gate keeps back neither waits nor counts.
    """

    def __init__(self, name: str, minimum: int, constraint: Constraint | None, pods: list[Pod]) -> None:
        self.name = name
        self.minimum = minimum
        self.constraint = constraint
        self.placed: list[str] = [pod.node for pod in pods if pod.node]
        self.waiting = sorted((pod for pod in pods if not pod.node and not pod.is_gated), key=lambda pod: pod.name)
        self.size = len(self.placed) + len(self.waiting)
        self.gated = len(pods) - self.size

    @property
    def is_satisfied(self) -> bool:
        """Whether as many pods run as must."""
        return len(self.placed) >= self.minimum

    @property
    def is_beyond(self) -> bool:
        """Whether more pods run than must."""
        return len(self.placed) > self.minimum

    @property
    def is_ready(self) -> bool:
        """Whether there are as many pods as must run."""
        return self.size >= self.minimum

    @property
    def ratio(self) -> float:
        """Pods that run, by those that must."""
        return len(self.placed) / self.minimum if self.minimum else float("inf")

    def due(self) -> list[Pod]:
        """The pods to place next: those that lack, else one more."""
        return self.waiting[: max(1, self.minimum - len(self.placed))]

    def leaves(self) -> Iterator[PodPart]:
        """The part itself."""
        yield self


class SetPart:
    """A subgroup of subgroups, of which `minimum` must run."""

    def __init__(self, name: str, minimum: int | None, constraint: Constraint | None) -> None:
        self.name = name
        self._minimum = minimum
        self.constraint = constraint
        self.children: list[Part] = []

    @property
    def minimum(self) -> int:
        """How many of the children must run."""
        return len(self.children) if self._minimum is None else self._minimum

    @property
    def _running(self) -> int:
        return sum(child.is_satisfied for child in self.children)

    @property
    def is_satisfied(self) -> bool:
        """Whether as many children run as must."""
        return self._running >= self.minimum

    @property
    def is_ready(self) -> bool:
        """Whether as many children as must run have their pods."""
        return sum(child.is_ready for child in self.children) >= self.minimum

    @property
    def ratio(self) -> float:
        """Children that run, by those that must."""
        return self._running / self.minimum if self.minimum else float("inf")

    def ordered(self) -> list[Part]:
        """The children: those below their minimum by name, then by how far they are above it."""
        return sorted(
            self.children,
            key=lambda child: (child.is_satisfied, child.ratio if child.is_satisfied else 0.0, child.name),
        )

    def due(self) -> list[Pod]:
        """The pods to place next: those of the children that lack, else what is next of the first child."""
        lacking = self.minimum - self._running
        due: list[Pod] = []
        taken = 0
        for child in self.ordered():
            pods = child.due()
            if not pods or not child.is_ready:
                continue
            due += pods
            taken += 1
            if taken >= lacking:
                break
        return due

    def leaves(self) -> Iterator[PodPart]:
        """All subgroups of pods below."""
        for child in self.children:
            yield from child.leaves()


Part = SetPart | PodPart
"""A node of a job's tree."""


class JobTree:
    """A job and its tree; `index` is its place in the order of creation."""

    def __init__(self, job: Job, index: int) -> None:
        self.job = job
        self.index = index
        constraint = job.constraint if job.constraint is not None and job.constraint.topology else None
        self.root = SetPart("", job.min_sub_groups, constraint)
        if job.sub_groups:
            self._grow(job.sub_groups)
        else:
            self.root.children.append(PodPart(DEFAULT_POD_SET, max(job.min_members, 1), None, list(job.pods)))
        self.leaves = {leaf.name: leaf for leaf in self.root.leaves()}

    def _grow(self, sub_groups: tuple[SubGroup, ...]) -> None:
        parents = {group.parent for group in sub_groups if group.parent}
        pods: dict[str, list[Pod]] = {}
        for pod in self.job.pods:
            pods.setdefault(pod.sub_group, []).append(pod)
        sets = {
            group.name: SetPart(group.name, group.min_sub_groups, group.constraint)
            for group in sub_groups
            if group.name in parents
        }
        for group in sub_groups:
            part: Part = sets.get(group.name) or PodPart(
                group.name, group.min_members or 0, group.constraint, pods.get(group.name, [])
            )
            (sets[group.parent] if group.parent else self.root).children.append(part)

    @property
    def waits(self) -> bool:
        """Whether pods are left to place."""
        return any(leaf.waiting for leaf in self.leaves.values())

    @property
    def is_gated(self) -> bool:
        """Whether gates keep pods back."""
        return any(leaf.gated for leaf in self.leaves.values())

    @property
    def is_gang(self) -> bool:
        """Whether some subgroup needs more than one pod."""
        return any(leaf.minimum > 1 for leaf in self.leaves.values())

    @property
    def standing(self) -> int:
        """0 where a subgroup, needed or not, is below its minimum, 2 where one is above it, else 1.

        The lower, the sooner is its turn.
        """
        leaves = self.leaves.values()
        if not all(leaf.is_satisfied for leaf in leaves):
            return 0
        return 2 if any(leaf.is_beyond for leaf in leaves) else 1
