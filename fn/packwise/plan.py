"""What the steps hand to each other: objects to generate, conditions to write, what was found on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.finding import Finding
    from packwise.request import Request
    from packwise.revisions import Revision
    from packwise.topology import ClusterTopology, Level

__all__ = [
    "Cluster",
    "Condition",
    "GangTraits",
    "Generated",
    "LastError",
    "ListedTopology",
    "Schedulers",
    "Status",
    "Use",
    "WorkloadPlan",
]


class Schedulers(NamedTuple):
    """The schedulers that Grove's operator is configured for, and the one of pods that name none."""

    names: tuple[str, ...]
    default: str


class Cluster(NamedTuple):
    """What is known of the cluster that is rendered for.

    `enabled`: whether TAS is. `domains`: the configuration's domains, in its own order. `topologies`: every
    topology by name. `auto_mnnvl`: the operator's network.autoMNNVLEnabled. `schedulers`: where the revision has them.
    `grouped`: whether the scheduler's groups of pods are rendered of PodGangs.
    """

    revision: Revision
    enabled: bool = False
    domains: tuple[str, ...] = ()
    topologies: Mapping[str, ClusterTopology] = {}
    auto_mnnvl: bool = False
    schedulers: Schedulers | None = None
    grouped: bool = False


class Condition(NamedTuple):
    """One condition of an object's status, without its times. Source: revisions.md "Conditions"."""

    type: str
    status: str
    reason: str
    message: str


class LastError(NamedTuple):
    """What an operator met last, in an object's status; when it did is left out."""

    code: str
    description: str


class Status(NamedTuple):
    """What an object's status would say, as far as a render tells it."""

    conditions: tuple[Condition, ...] = ()
    last_errors: tuple[LastError, ...] = ()


class Generated(NamedTuple):
    """An object to write: `value` is the manifest without packwise's own annotations.

    `origin` says in words what it is rendered from, `subject` is that object (None: the configuration has none);
    `notes` are further annotations, their keys without the prefix `packwise.dev/`. `recreate`: the API server changes
    no such object, deleting and creating it is the only way, and this one keeps every rule of its CRD. `unasked`:
    written also where the user chose no kinds, whatever kinds are the default.
    """

    value: Mapping[str, Value]
    origin: str
    subject: KubeObject | None
    notes: Mapping[str, str] = {}
    recreate: bool = False
    unasked: bool = False


class GangTraits(NamedTuple):
    """What a front end knows of a workload's PodGangs and their manifests do not say.

    `queue`: where their pods queue, None where the workload does not say; `queues` are all that it names. `scheduler`
    is the one of its pods, "" where they name none. `topology` is the one that constraints without a name of their own
    are about. `place_of` tells where in the workload a PodGang is written, by its name; or one of its podgroups or
    group configs, by the name of that.
    """

    queue: str | None
    queues: tuple[str, ...]
    scheduler: str
    topology: str | None
    place_of: Callable[[str, str | None], FieldPath]


class Use(NamedTuple):
    """`workload` is placed by `topology` (None: by none), which it names itself (`explicit`) or gets by default.

    `scheduled` of its pods are, None where no status tells. `named` is kind, namespace and name of a workload that is
    no Kubernetes object.
    """

    topology: str | None
    workload: KubeObject
    scheduled: int | None = None
    explicit: bool = True
    named: tuple[str, str, str] | None = None


class ListedTopology(NamedTuple):
    """A topology that workloads can use: of which kind, and its levels, broadest first.

    `item` is the object that it is written in, a configuration or the topology itself, and `generated` tells which.
    """

    kind: str
    name: str
    levels: tuple[Level, ...]
    item: KubeObject
    generated: bool = False


class WorkloadPlan(NamedTuple):
    """What becomes of one workload. With an error among `findings` there is nothing to write.

    `topology` is the name of the ClusterTopology that it is placed by, None where it asks for no place. `requests` are
    for the scheduler to answer with objects of its own. `gangs`: of the PodGangs among `generated`, where groups of
    pods are rendered of them for the scheduler, or it might refuse those that others make.
    """

    workload: KubeObject
    findings: tuple[Finding, ...] = ()
    generated: tuple[Generated, ...] = ()
    conditions: tuple[Condition, ...] = ()
    topology: str | None = None
    requests: tuple[Request, ...] = ()
    gangs: GangTraits | None = None
