"""Every scheduler in the view of `place` and `report`: its gangs and its answers on a cluster.

A scheduler with an algorithm in packwise has a `Simulation`. Simulations run one after the other, each on the nodes
that the earlier ones left free.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Protocol, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings import Place
    from packwise.schedulers import SchedulerInput
    from packwise.schedulers.kai.snapshot import Snapshot

ALLOCATED, PARTIAL, PENDING, NOT_READY = "allocated", "partial", "pending", "notready"
"""The states of a gang: all of its pods are placed, fewer but enough are placed, it waits, or it is not tried."""

FITS = (ALLOCATED, PARTIAL)
"""The states of running gangs."""

Spread = tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
"""The pods of each pod set by node, or by domain if the scheduler chooses no node."""


class TooManyPodsError(Exception):
    """The gangs have more pods than a simulation places."""


class GangPart(Record):
    """A whole gang, or a set of its pods `depth` sets below. The gang needs `members` of its `pods`.

    The levels are words, as in workloads, or "". `place` is the constraint's or the set's.
    """

    name: str
    place: Place
    required: str = ""
    preferred: str = ""
    depth: int = 0
    pods: int = 0
    members: int = 0


class GangOutline(Record):
    """A gang before placement.

    `scheduler_title` is its scheduler's name in texts. `labels` distinguish it from others if names have an epoch.
    `title` has no epoch. `gpus` is the number for all its pods. `parts` begin with the gang itself. `notes` name the
    facts that an answer ignores.
    """

    scheduler: str
    scheduler_title: str
    namespace: str
    name: str
    workload: str
    queue: str
    pods: int
    gpus: int
    parts: tuple[GangPart, ...]
    title: str = ""
    labels: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()


class NearestDomain(Record):
    """The domain nearest to fitting a gang: it has room for `fitting_pods` of `requested_pods` pods.

    `fitting_pods` is None if the scheduler compares sums. `level` is a word, or "" for the whole topology. `missing` is
    the lacking amount by resource. `is_counted` is false if the scheduler does not see the free amounts there.
    """

    pod_set: str
    level: str
    domain: str
    fitting_pods: int | None
    requested_pods: int
    missing: tuple[tuple[str, float], ...] = ()
    is_counted: bool = True


class LaterAnswer(Record):
    """The answer on a cluster without the scheduler's own workloads."""

    state: str
    spread: Spread = ()
    message: str = ""


class NodeShare(Record):
    """Pods of a gang on one node, and their GPUs."""

    node: str
    pods: int
    gpus: int


class GangAnswer(Record):
    """The outcome of a gang.

    `placed_pods` have a place. `added_gpus` counts the GPUs of pods that did not run before. `shares` is its use of
    nodes. `domain` is the common domain of all pods, or "". `reasons` explain in packwise's words why pods have no
    place. `message` is the scheduler's own text. `flavors` are the pod sets' flavors if the scheduler has them.
    `domains` is the single domain of each pod set for a scheduler that names no nodes.
    """

    gang: GangOutline
    state: str
    placed_pods: int
    spread: Spread = ()
    shares: tuple[NodeShare, ...] = ()
    added_gpus: int = 0
    domain: str = ""
    nearest_domain: NearestDomain | None = None
    reasons: tuple[str, ...] = ()
    message: str = ""
    notes: tuple[str, ...] = ()
    flavors: tuple[tuple[str, str], ...] = ()
    domains: tuple[tuple[str, str], ...] = ()
    later_answer: LaterAnswer | None = None

    @property
    def fits(self) -> bool:
        """True if the gang runs."""
        return self.state in FITS


class NodeUse(Record):
    """The amounts that placed pods use on a node. Each pod also counts as one of `pods`."""

    node: str
    request: tuple[tuple[str, int], ...]


class Levels(Record):
    """A topology: its node labels, broadest first. `is_named`: a gang is bound to it."""

    name: str
    keys: tuple[str, ...]
    is_named: bool = False


class HasObjects(Protocol):
    """A cluster, as the objects that show it."""

    @property
    def objects(self) -> Sequence[Mapping[str, Value]]:
        """The objects, as `kubectl get -o json` lists them."""
        ...


class Simulation(Protocol):
    """A scheduler's algorithm over one cluster and the gangs of a render."""

    scheduler: str
    """The scheduler's name for users."""

    gangs: tuple[GangOutline, ...]
    """The gangs, in the order of the answers."""

    topologies: tuple[Levels, ...]
    """The topologies that the scheduler knows."""

    notes: tuple[str, ...]
    """Workloads of the scheduler that have no answer, with the reason."""

    def place(self, beside: Sequence[NodeUse]) -> tuple[GangAnswer, ...]:
        """Return the answer for each gang. `beside` are the pods that other schedulers placed before."""
        ...

    def uses(self) -> tuple[NodeUse, ...]:
        """Return the pods that the scheduler newly placed on nodes, after `place`."""
        ...

    def count_more(self) -> Mapping[tuple[str, str], int]:
        """Return the further replicas of each workload, by namespace and name, that fit beside all gangs after
        `place`.
        """
        ...


class SimulationOf(Protocol):
    """Make the simulation of a scheduler for the gangs of a render on a cluster."""

    def __call__(self, source: SchedulerInput, generated: Iterable[KubeObject], snapshot: Snapshot) -> Simulation:
        """Return the simulation. `generated` are the objects that the render writes. Raise TooManyPodsError."""
        ...
