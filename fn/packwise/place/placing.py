"""The places of a render's gangs on a cluster for all schedulers, and the difference between two placings."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from krmfn.hints import TYPE_CHECKING, Record
from packwise.objects.index import gang_identities
from packwise.pipeline.registry import simulations, unsimulated_queues
from packwise.placement import Gang
from packwise.schedulers.kai.gang_jobs import is_of_kai
from packwise.schedulers.kai.simulation import KaiSimulation, gpus_of
from packwise.schedulers.wording import GPU
from packwise.wording import count_text

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject
    from packwise.objects.index import Identity
    from packwise.pipeline.steps import Rendered
    from packwise.schedulers.kai.allocate.scene import Node
    from packwise.schedulers.kai.snapshot import Snapshot
    from packwise.schedulers.simulation import GangAnswer, GangOutline, NodeUse, Simulation


class Situation(Record):
    """The simulations of a render's schedulers, and the cluster's nodes with the pods outside all gangs.

    `gpus_in_use` is the number of GPUs of all running pods.
    """

    simulations: tuple[Simulation, ...]
    nodes: tuple[Node, ...]
    gpus_in_use: int = 0

    @property
    def gangs(self) -> tuple[GangOutline, ...]:
        """Return the gangs of all schedulers in the order of placement."""
        return tuple(gang for each in self.simulations for gang in each.gangs)


class Placing(Record):
    """The answers for all gangs, by scheduler.

    `gpus` are the GPUs of the cluster: all, in use before, and in use afterwards. `nodes` is its number of nodes.
    """

    gangs: tuple[GangAnswer, ...]
    gpus: tuple[int, int, int]
    nodes: int

    @property
    def fits(self) -> bool:
        """True if every gang runs."""
        return all(gang.fits for gang in self.gangs)


def situation(rendered: Rendered, snapshot: Snapshot) -> Situation:
    """Return the simulations of the render's schedulers on the nodes of the snapshot. Pods of the snapshot keep their
    nodes.

    Raise TooManyPodsError if there are too many pods.
    """
    source = rendered.scheduled
    each = () if source is None else simulations(source, rendered.generated, snapshot)
    nodes = next((kai.scene.nodes for kai in each if isinstance(kai, KaiSimulation)), snapshot.nodes)
    return Situation(each, nodes, sum(gpus_of(bound.pod) for bound in snapshot.pods))


def not_placed(rendered: Rendered, there: Situation) -> list[str]:
    """Return notes on gangs and workloads that are not placed, because packwise does not simulate their scheduler.

    The notes of the simulations follow.
    """
    source = rendered.scheduled
    if source is None:
        return []
    of_others: Counter[str] = Counter()
    for placement in source.placements:
        if isinstance(placement.node, Gang) and not is_of_kai(placement.node):
            of_others[placement.node.scheduler] += placement.node.alike
    queued: dict[str, set[KubeObject]] = {}
    for queued_pods in unsimulated_queues():
        for pods in queued_pods(source.inventory, source.topologies, source.settings):
            queued.setdefault(pods.scheduler, set()).add(pods.workload)
    counts = [(count, "gang", f"{scheduler} schedules") for scheduler, count in of_others.items()]
    counts += [(len(workloads), "workload", f"{scheduler} queues") for scheduler, workloads in queued.items()]
    because = "not placed: packwise does not simulate the algorithm of that scheduler"
    notes = [
        f"{count_text(count, noun)} that {who} {'is' if count == 1 else 'are'} {because}" for count, noun, who in counts
    ]
    return [*notes, *(note for each in there.simulations for note in each.notes)]


def place_gangs(there: Situation) -> Placing:
    """Return the answer for every gang. Each scheduler uses the nodes that the earlier ones left free."""
    answers: list[GangAnswer] = []
    taken: list[NodeUse] = []
    for each in there.simulations:
        answers += each.place(taken)
        taken += each.uses()
    total = sum(node.allocatable.get(GPU, 0) for node in there.nodes)
    after = there.gpus_in_use + sum(answer.added_gpus for answer in answers)
    return Placing(tuple(answers), (total, there.gpus_in_use, after), len(there.nodes))


def more_replicas(there: Situation) -> dict[tuple[str, str], int]:
    """Return how many more replicas of each workload fit in addition to all gangs, by namespace and name."""
    return {key: count for each in there.simulations for key, count in each.count_more().items()}


class Fate(StrEnum):
    """The outcome of a change for one gang."""

    NO_LONGER_FITS = "noLongerFits"
    FITS_NOW = "fitsNow"
    LOSES_PODS = "losesPods"
    """The gang runs, but with fewer pods beyond its minimum."""
    MOVES = "moves"
    ADDED = "added"
    REMOVED = "removed"


class Move(Record):
    """A gang with a place that the change affects, and its answers before and after. In a state without the gang, the
    answer is None.

    `pods` is the number of pods that move to another node or lose their node.
    """

    fate: Fate
    before: GangAnswer | None
    after: GangAnswer | None
    pods: int = 0


def moves(before: Placing, after: Placing) -> tuple[Move, ...]:
    """Return the moves between two placings on the same nodes. Gangs that stay are omitted.

    They are in the order of the gangs after the change, followed by removed gangs.
    """
    old, new = _answers_by_key(before), _answers_by_key(after)
    listed = [_move(old.get(key), gang) for key, gang in new.items()]
    removed = [Move(Fate.REMOVED, gang, None) for key, gang in old.items() if key not in new]
    return (*(move for move in listed if move is not None), *removed)


def _answers_by_key(placing: Placing) -> dict[tuple[str, Identity], GangAnswer]:
    """Return the answers by scheduler and gang identity without epochs."""
    gangs = [answer.gang for answer in placing.gangs]
    keys = gang_identities([(gang.namespace, gang.name, gang.labels) for gang in gangs])
    return {(gang.scheduler, key): answer for gang, key, answer in zip(gangs, keys, placing.gangs, strict=True)}


def _move(before: GangAnswer | None, after: GangAnswer) -> Move | None:
    if before is None:
        return Move(Fate.ADDED, None, after)
    if before.fits != after.fits:
        return Move(Fate.FITS_NOW if after.fits else Fate.NO_LONGER_FITS, before, after)
    if after.fits and _count_waiting(after) > _count_waiting(before):
        return Move(Fate.LOSES_PODS, before, after, _count_waiting(after) - _count_waiting(before))
    elsewhere = _count_moved_pods(before, after)
    return Move(Fate.MOVES, before, after, elsewhere) if elsewhere else None


def _count_waiting(gang: GangAnswer) -> int:
    return gang.gang.pods - gang.placed_pods


def _count_moved_pods(before: GangAnswer, after: GangAnswer) -> int:
    """Return the number of pods that move to another node. Added and removed pods do not count.

    Pod sets are matched by their names, which are the same in all epochs.
    """
    new = {name: Counter(dict(spread)) for name, spread in after.spread}
    number = 0
    for name, spread in before.spread:
        old = Counter(dict(spread))
        here = new.get(name, Counter())
        number += min(sum((old - here).values()), sum((here - old).values()))
    return number
