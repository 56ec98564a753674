"""Work on groups of files, shared by several processes: each reads the workloads of its share, and renders them."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.pipeline.portions import size_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from packwise.cli.groups import Group
    from packwise.cli.unread import Unread

__all__ = ["Part", "shares_of", "slices_of"]

_HOST_SHARE = 0.03
"""How much more the first process does: the others have to be started, and hand over their answers."""


class Part(NamedTuple):
    """Files of one group, given by its place, with everything else that the group has; `is_whole`: all its files."""

    group: int
    unread: tuple[Unread, ...]
    is_whole: bool


def shares_of(groups: Sequence[Group], divisible: Sequence[bool], processes: int) -> list[list[Part]]:
    """All groups in at most so many shares; the files of those that are `divisible` may be in several."""
    sizes = [len(group.unread) if cuts else _size(group) for group, cuts in zip(groups, divisible, strict=True)]
    first = sum(sizes) * (1 + (processes - 1) * _HOST_SHARE) / processes
    each = (sum(sizes) - first) / max(processes - 1, 1)
    ends = [first + each * number for number in range(processes)]
    shares: list[list[Part]] = [[] for _ in range(processes)]
    at, total = 0, 0
    for place, (group, cuts, size) in enumerate(zip(groups, divisible, sizes, strict=True)):
        start = 0
        while start < size or not size:
            while at < processes - 1 and total >= int(ends[at]):
                at += 1
            number = size - start
            if cuts:
                left = number if at == processes - 1 else int(ends[at]) - total
                number = min(number, left, size_of(len(group.package.items)))
            part = group.unread[start : start + number] if cuts else group.unread
            shares[at].append(Part(place, part, number == size))
            start += number
            total += number
            if not size:
                break
    return [share for share in shares if share]


def slices_of(unread: Sequence[Unread], processes: int) -> list[Sequence[Unread]]:
    """The files in at most so many slices."""
    first = max(int(len(unread) * (1 + (processes - 1) * _HOST_SHARE) / processes), 1)
    size = -(-(len(unread) - first) // max(processes - 1, 1)) or 1
    return [unread[:first], *[unread[start : start + size] for start in range(first, len(unread), size)]]


def _size(group: Group) -> int:
    return len(group.unread) + len(group.package.items)
