"""Which PodGangs a PodCliqueSet becomes, by name and members, in the operator's order.

Source: spec/grove.md#6 and #7, spec/grove-releases.md#3.3.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.frontends.grove import names
from packwise.objects.identity import EPOCH, GENERATION, REPLICA, ROLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.frontends.grove.podgangmap import Entry
    from packwise.objects.place import Origin

__all__ = ["GangPlan", "plans_of_entries", "plans_of_template"]


class GangPlan(NamedTuple):
    """One PodGang: of `replica`, with `cliques` (standalone ones, by name) and `groups` (replicas by position).

    `cliques` maps to the most pods that the gang needs, None where minAvailable alone says. `is_base` tells the gang
    that stands first from those of single replicas of a scaling group. `origin` is that of `labels` and of the name,
    None where the workload alone says them.
    """

    name: str
    replica: int
    is_base: bool
    cliques: Mapping[str, int | None]
    groups: tuple[tuple[int, tuple[int, ...]], ...]
    labels: Mapping[str, str] = {}
    origin: Origin | None = None


def plans_of_template(pcs: PodCliqueSet, live_replicas: Mapping[tuple[str, str], int]) -> Iterator[GangPlan]:
    """The base PodGangs by replica, then the scaled ones by replica, group and group replica."""
    cliques = _standalone(pcs)
    least = tuple([(position, tuple(range(group.min_available))) for position, group in enumerate(pcs.groups)])
    for replica in range(pcs.replicas):
        yield GangPlan(names.base_podgang(pcs.name, replica), replica, True, cliques, least)
    for replica in range(pcs.replicas):
        for position, group in enumerate(pcs.groups):
            fqn = names.scaling_group(pcs.name, replica, group.name)
            count = live_replicas.get((pcs.namespace, fqn), group.replicas)
            for index in range(group.min_available, count):
                name = names.scaled_podgang(fqn, index, group.min_available)
                yield GangPlan(name, replica, False, {}, ((position, (index,)),))


def plans_of_entries(pcs: PodCliqueSet, replica: int, entries: Sequence[Entry]) -> Iterator[GangPlan]:
    """The PodGangs of one replica, in the order of its entries; these stand in the order of their epochs."""
    # No other release pays for the import.
    from packwise.frontends.grove.podgangmap import Role

    first = {entry.generation: entry.epoch for entry in reversed(entries) if entry.role is Role.ANCHOR}
    for entry in entries:
        labels = _labels(replica, entry)
        groups = tuple(_groups(pcs, entry))
        if entry.role is Role.ANCHOR:
            is_first = first[entry.generation] == entry.epoch
            cliques = {
                name: None if is_first else entry.cliques[name]
                for name in _standalone(pcs)
                if entry.cliques.get(name, 0) > 0
            }
            name = names.anchor_podgang(pcs.name, replica, entry.epoch)
            yield GangPlan(name, replica, True, cliques, groups, labels, entry.origin)
            continue
        for position, indices in groups:
            for index in indices:
                name = names.group_podgang(pcs.name, replica, entry.epoch, pcs.groups[position].name, index)
                yield GangPlan(name, replica, False, {}, ((position, (index,)),), labels, entry.origin)


def _standalone(pcs: PodCliqueSet) -> Mapping[str, int | None]:
    grouped = pcs.grouped_cliques()
    return {clique.name: None for clique in pcs.cliques if clique.name not in grouped}


def _groups(pcs: PodCliqueSet, entry: Entry) -> Iterable[tuple[int, tuple[int, ...]]]:
    for position, group in enumerate(pcs.groups):
        if group.name in entry.groups:
            yield position, entry.groups[group.name]


def _labels(replica: int, entry: Entry) -> Mapping[str, str]:
    labels = {REPLICA: str(replica), EPOCH: entry.epoch, ROLE: entry.role.value}
    return {**labels, GENERATION: entry.generation} if entry.generation else labels
