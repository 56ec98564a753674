"""The nodes of a cluster nested in the domains of its topologies, with what is taken of their GPUs."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from packwise.commands.place.placing import Situation
    from packwise.schedulers.kai.allocate.scene import KaiTopology

__all__ = ["DomainBox", "NodeBox", "Share", "TopologyMap", "maps_of"]

_MOST_LEVELS = 16
"""Levels of a topology that are drawn. Source: KAI's CRD Topology, maxItems of `levels`."""

_HOSTNAME = "kubernetes.io/hostname"
_NUMBER = re.compile("([0-9]+)")


class Share(NamedTuple):
    """Pods of a gang on a node, and the GPUs that they take; `gang` is its position in the picture."""

    gang: int
    pods: int
    gpus: int


class NodeBox(NamedTuple):
    """A node: its GPUs, those that pods of no gang take, and the pods of gangs; `notes` are why it takes no pods.

    `in_use_before` are the GPUs that pods of no gang took, when gangs that are gone counted as gangs.
    """

    name: str
    gpus: int
    in_use: int
    notes: tuple[str, ...] = ()
    after: tuple[Share, ...] = ()
    before: tuple[Share, ...] = ()
    in_use_before: int = 0


class DomainBox(NamedTuple):
    """A domain of `level`; the innermost ones hold `nodes`, by their positions in the picture, the others `domains`.

    `gpus` are those of all its nodes, `in_use` those that pods of no gang take, `after` and `before` those of gangs.
    """

    level: str
    name: str
    domains: tuple[DomainBox, ...]
    nodes: tuple[int, ...]
    size: int
    gpus: int
    in_use: int
    after: int
    before: int
    in_use_before: int


class TopologyMap(NamedTuple):
    """The cluster by a topology: its levels as words, without the last where that is of single hosts.

    `outside` are nodes without a label of each level, of which KAI puts none in a domain.
    """

    topology: str
    levels: tuple[str, ...]
    domains: tuple[DomainBox, ...]
    outside: tuple[int, ...] = ()


def maps_of(situation: Situation, boxes: Sequence[NodeBox]) -> tuple[TopologyMap, ...]:
    """The cluster by each topology that gangs name; by all that there are where they name none.

    Topologies of the same levels are drawn once, those that hold no node not at all. Where none is left, all nodes
    stand outside.
    """
    jobs = situation.scene.jobs
    constraints = [each for job in jobs for each in (job.constraint, *(group.constraint for group in job.sub_groups))]
    named = {constraint.topology for constraint in constraints if constraint is not None}
    known = situation.scene.topologies
    shown = [topology for topology in known if topology.name in named] or known
    by_levels = {topology.levels: topology for topology in reversed(shown)}
    maps = [_map(topology, situation, boxes) for topology in shown if by_levels[topology.levels] is topology]
    return tuple(each for each in maps if each.domains) or (
        (TopologyMap("", (), (), tuple(range(len(boxes)))),) if boxes else ()
    )


def _map(topology: KaiTopology, situation: Situation, boxes: Sequence[NodeBox]) -> TopologyMap:
    nodes = situation.scene.nodes
    inside = [index for index, node in enumerate(nodes) if all(key in node.labels for key in topology.levels)]
    keys = topology.levels[:_MOST_LEVELS]
    paths = {index: tuple(nodes[index].labels[key] for key in keys) for index in inside}
    if len(keys) > 1 and (keys[-1] == _HOSTNAME or all(path[-1] == nodes[index].name for index, path in paths.items())):
        keys = keys[:-1]
    words = tuple(situation.words.get(key) or key for key in keys)
    outside = tuple(index for index in range(len(nodes)) if index not in paths)
    return TopologyMap(topology.name, words, _domains(words, inside, paths, boxes), outside)


def _domains(
    levels: tuple[str, ...], inside: Iterable[int], paths: Mapping[int, tuple[str, ...]], boxes: Sequence[NodeBox]
) -> tuple[DomainBox, ...]:
    """The domains of the first of `levels`; `paths` are the labels of nodes, from the first level of all on."""

    def below(indexes: Iterable[int], depth: int) -> tuple[DomainBox, ...]:
        members: dict[str, list[int]] = {}
        for index in indexes:
            members.setdefault(paths[index][depth], []).append(index)
        return tuple(domain(name, members[name], depth) for name in sorted(members, key=_natural))

    def domain(name: str, members: list[int], depth: int) -> DomainBox:
        is_innermost = depth == len(levels) - 1

        def total(amount: Callable[[NodeBox], int]) -> int:
            return sum([amount(boxes[index]) for index in members])

        return DomainBox(
            levels[depth],
            name,
            () if is_innermost else below(members, depth + 1),
            tuple(sorted(members, key=lambda index: _natural(boxes[index].name))) if is_innermost else (),
            len(members),
            total(lambda box: box.gpus),
            total(lambda box: box.in_use),
            total(lambda box: sum([share.gpus for share in box.after])),
            total(lambda box: sum([share.gpus for share in box.before])),
            total(lambda box: box.in_use_before),
        )

    return below(inside, 0) if levels else ()


def _natural(name: str) -> tuple[tuple[str, int], ...]:
    """What a name is sorted by: r2 stands before r10."""
    parts = _NUMBER.split(name)
    texts, numbers = parts[::2], parts[1::2]
    return tuple((text, int(number[:18])) for text, number in zip(texts, [*numbers, "0"], strict=True))
