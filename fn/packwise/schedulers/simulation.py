"""The interface of the schedulers' simulations for `place` and `report`: gangs, and their answers on a cluster.

packwise has a `Simulation` for each scheduler with an algorithm that it implements. The simulations run one after the
other. Each one sees the pods that the earlier ones placed.
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
"""The states of a gang: all pods are placed, enough pods are placed, the gang waits, the gang is not tried."""

FITS = (ALLOCATED, PARTIAL)
"""The states of gangs that run."""

Spread = tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
"""The number of pods of each pod set on each node, or in each domain if the scheduler chooses no node."""


class TooManyPodsError(Exception):
    """Raised if the gangs have more pods than a simulation can place."""


class GangPart(Record):
    """A gang, or one of its pod sets.

    `depth` is 0 for the gang, 1 for its topmost sets, and increases by 1 at each level below. `pods` is the number of
    pods. `members` is the number of pods that the gang needs. `required` and `preferred` are domains such as `rack`, or
    "". `place` is the place of the topology constraint, or of the set if it has no constraint.
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

    `scheduler_title` is the name of the scheduler in texts. `title` is the gang's name without an epoch. If names have
    an epoch, `labels` tell gangs apart. `gpus` is the number of GPUs that all pods request. `parts` begin with the gang
    itself. `notes` name the facts that the answer ignores.
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
    """The domain that comes nearest to holding a gang or pod set: `fitting_pods` of `requested_pods` pods fit.

    `fitting_pods` is None if the scheduler compares sums of resources instead of counting pods. `level` is a domain
    such as `rack`, or "" for the whole topology. `missing` lists the missing amount of each resource. `is_counted` is
    false if the scheduler does not see the free resources of the domain.
    """

    pod_set: str
    level: str
    domain: str
    fitting_pods: int | None
    requested_pods: int
    missing: tuple[tuple[str, float], ...] = ()
    is_counted: bool = True


class LaterAnswer(Record):
    """The answer for the same gang after all workloads of its scheduler have left the cluster."""

    state: str
    spread: Spread = ()
    message: str = ""


class NodeShare(Record):
    """The number of a gang's pods on one node, and of the GPUs that these pods request."""

    node: str
    pods: int
    gpus: int


class GangAnswer(Record):
    """The outcome of a gang.

    `placed_pods` is the number of placed pods. `added_gpus` is the number of GPUs for pods that did not run before.
    `shares` lists the nodes of the gang. `domain` is the narrowest domain that holds all pods, or "". `reasons` explain
    in packwise's words why pods are not placed. `message` is the scheduler's own text. `flavors` pairs each pod set
    with its flavor if the scheduler has flavors. `domains` pairs each pod set with its only domain if the scheduler
    chooses no nodes.
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
        """Return True if the gang runs."""
        return self.state in FITS


class NodeUse(Record):
    """The resources that placed pods use on a node. The resource `pods` counts the pods themselves."""

    node: str
    request: tuple[tuple[str, int], ...]


class Levels(Record):
    """A topology. `keys` are its node labels, broadest first. `is_named` is true if a gang uses the topology."""

    name: str
    keys: tuple[str, ...]
    is_named: bool = False


class HasObjects(Protocol):
    """A cluster, described by its objects."""

    @property
    def objects(self) -> Sequence[Mapping[str, Value]]:
        """The objects of the cluster, as `kubectl get -o json` prints them."""
        ...


class Simulation(Protocol):
    """A scheduler's algorithm, applied to one cluster and the gangs of a render."""

    scheduler: str
    """The scheduler's name for users."""

    gangs: tuple[GangOutline, ...]
    """The gangs, in the order of the answers."""

    topologies: tuple[Levels, ...]
    """The topologies that the scheduler knows."""

    notes: tuple[str, ...]
    """Notes on workloads of the scheduler that have no answer, each with the reason."""

    def place(self, other_uses: Sequence[NodeUse]) -> tuple[GangAnswer, ...]:
        """Return the answer for each gang. `other_uses` are the resources of pods that other schedulers placed."""
        ...

    def uses(self) -> tuple[NodeUse, ...]:
        """Return the resources that newly placed pods use on nodes. Call `place` first."""
        ...

    def count_more(self) -> Mapping[tuple[str, str], int]:
        """Return how many more replicas of each workload fit together with all gangs. Call `place` first.

        The keys are the namespace and the name of the workload.
        """
        ...


class SimulationOf(Protocol):
    """Makes the simulation of a scheduler for the gangs of a render on a cluster."""

    def __call__(self, source: SchedulerInput, generated: Iterable[KubeObject], snapshot: Snapshot) -> Simulation:
        """Return the simulation. `generated` are the objects that the render writes.

        Raise TooManyPodsError if the gangs have too many pods.
        """
        ...
