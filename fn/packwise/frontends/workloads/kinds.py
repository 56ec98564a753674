"""The kinds of workloads that KAI's pod-grouper knows, by row: their API versions, pod templates and metadata.

A kind of another version, or of no row, is grouped by the default rule. Source: spec/podgrouper.md#1 and #4.
"""

from __future__ import annotations

from enum import Enum, auto

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KINDS", "KINDS_BY_KEY", "Grouping", "Metadata", "Role", "WorkloadKind"]


class Grouping(Enum):
    """The rule by which the pods of a kind become groups."""

    POD = auto()
    """A bare pod is a group."""
    JOB = auto()
    """A Job is a group of as many pods as its annotation says."""
    EACH_POD = auto()
    """Each pod is a group of its own."""
    OWNER = auto()
    """All pods of the owner are one group, of which KAI needs one: the default rule."""
    JOB_SET = auto()
    LEADER_WORKER_SET = auto()
    REPLICA_TYPES = auto()
    """Kubeflow's training operator: replicas by type."""
    RAY = auto()
    REVISION = auto()
    """Knative: the pods of a revision are one group."""
    TRAIN_JOB = auto()
    """Kubeflow Trainer: the JobSet that it makes of a runtime."""


class Role(Enum):
    """What the metadata at a place are for KAI."""

    OWNER = auto()
    """Those of the object that the PodGroup is of: the keys of groups are read here."""
    ABOVE = auto()
    """Those of an owner of that object."""
    JOB = auto()
    """Those of a Job that the object makes: of a CronJob it is the owner of the PodGroup, of a JobSet a subgroup."""
    POD = auto()
    """Those of pods."""


class Metadata(NamedTuple):
    """Labels and annotations in the objects of a kind."""

    path: tuple[str, ...]
    """The steps to the mapping that has them; `*` is every entry of a list or a mapping."""

    role: Role
    title: str
    """How messages and pages call what has them."""

    @property
    def spec(self) -> tuple[str, ...]:
        """Of pods: the steps to the spec beside them."""
        return (*self.path[:-1], "spec")


class WorkloadKind(NamedTuple):
    """One kind of workload."""

    group: str
    """API group; "" is the core group."""

    name: str
    versions: tuple[str, ...]
    """The versions that the rule of the kind is for."""

    grouping: Grouping
    metadata: tuple[Metadata, ...]
    """All places of labels and annotations: the object's own first, pod templates last."""

    body: tuple[str, ...] = ("spec",)
    """The steps to what is counted: Kubeflow's replicas by type, the spec of a Ray cluster."""

    required: tuple[str, ...] = ()
    """Types of replicas without which KAI makes no group."""

    priority_class: str = "train"
    """The class of the group where the workload names none that exists."""

    @property
    def key(self) -> tuple[str, str]:
        """Group and name, by which objects of all versions are the same kind."""
        return self.group, self.name

    @property
    def api_versions(self) -> tuple[str, ...]:
        """`apiVersion` as manifests of the kind spell it."""
        return tuple([f"{self.group}/{version}" if self.group else version for version in self.versions])

    @property
    def templates(self) -> tuple[Metadata, ...]:
        """The pod templates; of a Pod itself, its own metadata."""
        if self.grouping is Grouping.POD:
            return self.metadata
        return tuple([part for part in self.metadata if part.role is Role.POD])


_APPS, _BATCH = "apps", "batch"
_JOBS, _KUBEFLOW, _TRAINER, _RAY = "jobset.x-k8s.io", "kubeflow.org", "trainer.kubeflow.org", "ray.io"


def _own(title: str) -> Metadata:
    return Metadata(("metadata",), Role.OWNER, title)


def _pods(title: str, *steps: str) -> Metadata:
    return Metadata((*steps, "metadata"), Role.POD, title)


def _simple(group: str, name: str, versions: tuple[str, ...], grouping: Grouping = Grouping.OWNER) -> WorkloadKind:
    """A kind with one pod template, at `spec.template`."""
    article = "an" if name[0] in "AEIOU" else "a"
    own, pods = _own(f"{article} {name}"), _pods(f"pods of {article} {name}", "spec", "template")
    return WorkloadKind(group, name, versions, grouping, (own, pods))


def _replica_types(name: str, field: str, *required: str, versions: tuple[str, ...] = ("v1",)) -> WorkloadKind:
    pods = _pods(f"replica types of a {name}", "spec", field, "*", "template")
    return WorkloadKind(
        _KUBEFLOW, name, versions, Grouping.REPLICA_TYPES, (_own(f"a {name}"), pods), ("spec", field), required
    )  # fmt: skip


def _ray(name: str, versions: tuple[str, ...], *body: str, submitter: tuple[str, ...] = ()) -> WorkloadKind:
    """A kind that has, or is, a Ray cluster; `submitter` are the steps to the template of a further pod."""
    groups = (
        _pods(f"the head of a {name}", *body, "headGroupSpec", "template"),
        _pods(f"worker groups of a {name}", *body, "workerGroupSpecs", "*", "template"),
    )
    more = (_pods(f"the submitter of a {name}", *submitter),) if submitter else ()
    return WorkloadKind(_RAY, name, versions, Grouping.RAY, (_own(f"a {name}"), *groups, *more), body)


KINDS = (
    WorkloadKind("", "Pod", ("v1",), Grouping.POD, (_own("a Pod"),), ()),
    _simple(_BATCH, "Job", ("v1",), Grouping.JOB),
    WorkloadKind(
        _BATCH, "CronJob", ("v1",), Grouping.JOB,
        (
            Metadata(("metadata",), Role.ABOVE, "a CronJob"),
            Metadata(("spec", "jobTemplate", "metadata"), Role.JOB, "the Jobs of a CronJob"),
            _pods("pods of a CronJob", "spec", "jobTemplate", "spec", "template"),
        ),
        ("spec", "jobTemplate", "spec"),
    ),
    _simple(_APPS, "Deployment", ("v1",), Grouping.EACH_POD)._replace(priority_class="inference"),
    _simple(_APPS, "ReplicaSet", ("v1",)),
    _simple(_APPS, "StatefulSet", ("v1",)),
    WorkloadKind(
        _JOBS, "JobSet", ("v1alpha2",), Grouping.JOB_SET,
        (
            _own("a JobSet"),
            Metadata(("spec", "replicatedJobs", "*", "template", "metadata"), Role.JOB, "replicatedJobs of a JobSet"),
            _pods("pods of a JobSet", "spec", "replicatedJobs", "*", "template", "spec", "template"),
        ),
    ),
    WorkloadKind(
        "leaderworkerset.x-k8s.io", "LeaderWorkerSet", ("v1",), Grouping.LEADER_WORKER_SET,
        (
            _own("a LeaderWorkerSet"),
            _pods("the leaderTemplate of a LeaderWorkerSet", "spec", "leaderWorkerTemplate", "leaderTemplate"),
            _pods("the workerTemplate of a LeaderWorkerSet", "spec", "leaderWorkerTemplate", "workerTemplate"),
        ),
    ),
    _replica_types("PyTorchJob", "pytorchReplicaSpecs"),
    _replica_types("TFJob", "tfReplicaSpecs"),
    _replica_types("XGBoostJob", "xgbReplicaSpecs", "Master", "Worker"),
    _replica_types("JAXJob", "jaxReplicaSpecs", "Worker"),
    _replica_types("MPIJob", "mpiReplicaSpecs", "Launcher", "Worker", versions=("v1", "v2beta1")),
    WorkloadKind(_TRAINER, "TrainJob", ("v1alpha1",), Grouping.TRAIN_JOB, (_own("a TrainJob"),)),
    _ray("RayCluster", ("v1", "v1alpha1"), "spec"),
    _ray("RayJob", ("v1", "v1alpha1"), "spec", "rayClusterSpec", submitter=("spec", "submitterPodTemplate")),
    _ray("RayService", ("v1", "v1alpha1"), "spec", "rayClusterConfig"),
    WorkloadKind(
        "serving.knative.dev", "Service", ("v1",), Grouping.REVISION,
        (
            Metadata(("metadata",), Role.ABOVE, "a Knative Service"),
            Metadata(("spec", "template", "metadata"), Role.POD, "the revisions of a Knative Service"),
        ),
        priority_class="inference",
    ),
    # Of a Notebook's pods only the spec is there.
    _simple(_KUBEFLOW, "Notebook", ("v1beta1",))._replace(priority_class="build"),
)  # fmt: skip
"""Every kind that has a row."""

KINDS_BY_KEY: Mapping[tuple[str, str], WorkloadKind] = {kind.key: kind for kind in KINDS}
"""The kinds by group and name."""
