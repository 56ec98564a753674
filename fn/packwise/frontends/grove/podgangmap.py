"""The entries that the PodGangs of one replica are built from, as its PodGangMap has them.

Source: spec/grove-releases.md#3.

Without the PodGangMap its entries follow from the workload, and their epochs from the PodGangs that run.
"""

from __future__ import annotations

from enum import StrEnum

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.frontends.grove import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packwise.frontends.grove.live import Replicas
    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.objects.place import Origin

__all__ = ["Entry", "Epochs", "Role", "entries_of_template", "epochs_from", "placed"]


class Role(StrEnum):
    """What an entry is to the others of its replica."""

    ANCHOR = "Anchor"
    """The standalone cliques, and as many replicas of each scaling group as it needs."""
    TAIL = "Tail"
    """The replicas of scaling groups beyond those, which were there from the start."""
    SCALE_OUT = "ScaleOut"
    """Those that an autoscaler added."""


class Entry(NamedTuple):
    """An entry of a PodGangMap: an anchor is one PodGang, any other one for each replica of a scaling group in it.

    `cliques` are the pods of standalone cliques by name, `groups` the replicas of scaling groups by name, ascending.
    `generation` is the hash of the workload's generation, "" where it is not known. `origin` is that of the epoch.
    """

    epoch: str
    role: Role
    origin: Origin
    cliques: Mapping[str, int] = {}
    groups: Mapping[str, tuple[int, ...]] = {}
    generation: str = ""
    depends_on: tuple[str, ...] = ()


class Epochs(NamedTuple):
    """The epochs of the entries of a replica that has no PodGangMap; `origins` are theirs, by role."""

    anchor: str
    tail: str
    scale_out: str
    origins: Mapping[Role, Origin]
    generation: str = ""


def epochs_from(first: int, origin: Origin) -> Epochs:
    """The epochs that follow `first`, which is the anchor's."""
    return Epochs(str(first), str(first + 1), str(first + 2), dict.fromkeys(Role, origin))


def entries_of_template(pcs: PodCliqueSet, epochs: Epochs) -> tuple[Entry, ...]:
    """The entries of a fresh replica: the anchor, the tail where there is one, what scales out where groups are."""
    grouped = pcs.grouped_cliques()
    anchor = Entry(
        epochs.anchor,
        Role.ANCHOR,
        epochs.origins[Role.ANCHOR],
        {clique.name: clique.replicas for clique in pcs.cliques if clique.name not in grouped},
        {group.name: tuple(range(group.min_available)) for group in pcs.groups},
        epochs.generation,
    )
    beyond = {group.name: tuple(range(group.min_available, group.replicas)) for group in pcs.groups}
    tail = Entry(
        epochs.tail,
        Role.TAIL,
        epochs.origins[Role.TAIL],
        groups={name: indices for name, indices in beyond.items() if indices},
        generation=epochs.generation,
        depends_on=(epochs.anchor,),
    )
    scale_out = tail._replace(
        epoch=epochs.scale_out, role=Role.SCALE_OUT, origin=epochs.origins[Role.SCALE_OUT], groups={}
    )
    return (anchor, *([tail] if tail.groups else []), *([scale_out] if pcs.groups else []))


def placed(entries: Sequence[Entry], pcs: PodCliqueSet, replica: int, live: Replicas) -> tuple[Entry, ...]:
    """The entries in the order of their epochs, with the numbers of live scaling groups and cliques.

    Replicas that no entry has go to what scales out, those that are gone leave their entry. Without live objects every
    entry stays as it is. An entry that becomes empty is dropped, but for the place of what scales out.
    """
    ordered = sorted(entries, key=_order)
    for group in pcs.groups:
        count = live.groups.get((pcs.namespace, names.scaling_group(pcs.name, replica, group.name)))
        if count is not None:
            ordered = _scaled(ordered, group.name, count)
    anchors = [entry for entry in ordered if entry.role is Role.ANCHOR]
    if len(anchors) == 1:
        # How several anchors share the pods of a clique, only the PodGangMap says.
        ordered = [_counted(entry, pcs, replica, live) for entry in ordered]
    return tuple([entry for entry in ordered if entry.cliques or entry.groups or entry.role is Role.SCALE_OUT])


def _scaled(entries: Iterable[Entry], group: str, count: int) -> list[Entry]:
    """The entries with `count` replicas of the group."""
    kept = [_with_indices(entry, group, [index for index in _indices(entry, group) if index < count])
            for entry in entries]  # fmt: skip
    there = {index for entry in kept for index in _indices(entry, group)}
    more = [index for index in range(count) if index not in there]
    if not more or not kept:
        return kept
    position = next((at for at in reversed(range(len(kept))) if kept[at].role is Role.SCALE_OUT), None)
    if position is None:
        kept.append(_scale_out_after(kept))
        position = -1
    kept[position] = _with_indices(kept[position], group, sorted([*_indices(kept[position], group), *more]))
    return kept


def _scale_out_after(entries: Sequence[Entry]) -> Entry:
    """The entry of what scales out, of a replica that has none yet: two after its anchor, and after all others."""
    anchor = next((entry for entry in reversed(entries) if entry.role is Role.ANCHOR), entries[-1])
    epoch = max(int(anchor.epoch) + 2, int(entries[-1].epoch) + 1)
    return Entry(str(epoch), Role.SCALE_OUT, anchor.origin, generation=anchor.generation, depends_on=(anchor.epoch,))


def _counted(entry: Entry, pcs: PodCliqueSet, replica: int, live: Replicas) -> Entry:
    """The entry with the pods of live cliques."""
    counts = {
        name: live.cliques.get((pcs.namespace, names.standalone_clique(pcs.name, replica, name)), count)
        for name, count in entry.cliques.items()
    }
    return entry._replace(cliques=counts)


def _with_indices(entry: Entry, group: str, indices: Sequence[int]) -> Entry:
    groups = {**entry.groups, group: tuple(indices)}
    return entry._replace(groups={name: members for name, members in groups.items() if members})


def _indices(entry: Entry, group: str) -> Iterator[int]:
    yield from entry.groups.get(group, ())


def _order(entry: Entry) -> int:
    return int(entry.epoch)
