"""The kinds of workloads that KAI groups or Kueue queues: a row each, with all that differs between kinds.

Its API versions, pod templates and metadata; the rule by which KAI's pod-grouper groups its pods, and the integration
of Kueue that makes its pod sets. What another version of a kind, or a kind of no row, becomes is the default rule's.
Source: spec/podgrouper.md#1 and #4, spec/kueue.md#3.
"""

from __future__ import annotations

from enum import Enum, auto

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WORKLOAD_KINDS", "Grouping", "Integration", "Metadata", "Role", "WorkloadKind"]


class Grouping(Enum):
    """The rule by which KAI makes groups of the pods of a kind."""

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
    UNREAD = auto()
    """KAI may not read the object: each pod is a group of its own, and nothing of the object counts."""


class Integration(Enum):
    """The part of Kueue that knows a kind: it makes the pod sets, and has a webhook of its own."""

    JOB = auto()
    JOB_SET = auto()
    LEADER_WORKER_SET = auto()
    POD = auto()
    KUBEFLOW = auto()
    """Replicas by type, of all kinds but MPIJobs."""
    MPI = auto()
    RAY_CLUSTER = auto()
    RAY_JOB = auto()
    RAY_SERVICE = auto()
    SPARK = auto()
    TRAIN_JOB = auto()
    """The JobSet that it makes of a runtime."""
    PODS = auto()
    """Its pods are queued, one by one or as a group; no webhook looks at their template."""
    JOBS = auto()
    """The Jobs that it makes are queued; no webhook looks at their template."""


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

    types: tuple[str, ...] = ()
    """Types of replicas, in the order of their operator."""

    required: tuple[str, ...] = ()
    """Types of replicas without which KAI makes no group."""

    priority_class: str = "train"
    """The class of the group where the workload names none that exists."""

    integration: Integration | None = None
    """Kueue's; None where it does not know the kind."""

    suspended: tuple[str, ...] = ("spec", "suspend")
    """The steps to the field by which Kueue keeps it waiting."""

    @property
    def key(self) -> tuple[str, str]:
        """Group and name, by which objects of all versions are the same kind."""
        return self.group, self.name

    @property
    def api_versions(self) -> tuple[str, ...]:
        """`apiVersion` as manifests of the kind spell it."""
        return tuple([f"{self.group}/{version}" if self.group else version for version in self.versions])

    @property
    def owner(self) -> Metadata:
        """Those of the object that is grouped and queued: of a CronJob the Job, of Knative the revision."""
        is_made = self.metadata[0].role is Role.ABOVE and self.grouping is not Grouping.UNREAD
        return self.metadata[1 if is_made else 0]

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


def _simple(
    group: str,
    name: str,
    versions: tuple[str, ...],
    grouping: Grouping = Grouping.OWNER,
    *,
    priority_class: str = "train",
    integration: Integration | None = None,
) -> WorkloadKind:
    """A kind with one pod template, at `spec.template`."""
    article = "an" if name[0] in "AEIOU" else "a"
    own, pods = _own(f"{article} {name}"), _pods(f"pods of {article} {name}", "spec", "template")
    return WorkloadKind(
        group, name, versions, grouping, (own, pods), priority_class=priority_class, integration=integration
    )


def _replica_types(
    name: str,
    field: str,
    *types: str,
    required: tuple[str, ...] = (),
    versions: tuple[str, ...] = ("v1",),
    grouping: Grouping = Grouping.REPLICA_TYPES,
    integration: Integration = Integration.KUBEFLOW,
) -> WorkloadKind:
    """A kind of Kubeflow's training operator, with replicas of these types at `spec.<field>`."""
    pods = _pods(f"replica types of a {name}", "spec", field, "*", "template")
    return WorkloadKind(
        _KUBEFLOW, name, versions, grouping, (_own(f"a {name}"), pods), ("spec", field), types, required,
        integration=integration, suspended=("spec", "runPolicy", "suspend"),
    )  # fmt: skip


def _ray(
    name: str, integration: Integration, *body: str, submitter: tuple[str, ...] = (), suspended: tuple[str, ...] = ()
) -> WorkloadKind:
    """A kind that has, or is, a Ray cluster; `submitter` are the steps to the template of a further pod."""
    groups = (
        _pods(f"the head of a {name}", *body, "headGroupSpec", "template"),
        _pods(f"worker groups of a {name}", *body, "workerGroupSpecs", "*", "template"),
    )
    more = (_pods(f"the submitter of a {name}", *submitter),) if submitter else ()
    return WorkloadKind(
        _RAY, name, ("v1", "v1alpha1"), Grouping.RAY, (_own(f"a {name}"), *groups, *more), body,
        integration=integration, suspended=suspended or ("spec", "suspend"),
    )  # fmt: skip


_KINDS = (
    _simple(_BATCH, "Job", ("v1",), Grouping.JOB, integration=Integration.JOB),
    WorkloadKind(
        _JOBS, "JobSet", ("v1alpha2",), Grouping.JOB_SET,
        (
            _own("a JobSet"),
            Metadata(("spec", "replicatedJobs", "*", "template", "metadata"), Role.JOB, "replicatedJobs of a JobSet"),
            _pods("pods of a JobSet", "spec", "replicatedJobs", "*", "template", "spec", "template"),
        ),
        integration=Integration.JOB_SET,
    ),
    WorkloadKind(
        "leaderworkerset.x-k8s.io", "LeaderWorkerSet", ("v1",), Grouping.LEADER_WORKER_SET,
        (
            _own("a LeaderWorkerSet"),
            _pods("the leaderTemplate of a LeaderWorkerSet", "spec", "leaderWorkerTemplate", "leaderTemplate"),
            _pods("the workerTemplate of a LeaderWorkerSet", "spec", "leaderWorkerTemplate", "workerTemplate"),
        ),
        integration=Integration.LEADER_WORKER_SET,
    ),
    _replica_types("PyTorchJob", "pytorchReplicaSpecs", "Master", "Worker"),
    _replica_types("TFJob", "tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator"),
    _replica_types("XGBoostJob", "xgbReplicaSpecs", "Master", "Worker", required=("Master", "Worker")),
    _replica_types("JAXJob", "jaxReplicaSpecs", "Worker", required=("Worker",)),
    # What KAI may not read: each pod is on its own.
    _replica_types("PaddleJob", "paddleReplicaSpecs", "Master", "Worker", grouping=Grouping.UNREAD),
    _replica_types(
        "MPIJob", "mpiReplicaSpecs", "Launcher", "Worker", required=("Launcher", "Worker"), versions=("v2beta1", "v1"),
        integration=Integration.MPI,
    ),
    _ray("RayCluster", Integration.RAY_CLUSTER, "spec"),
    _ray("RayJob", Integration.RAY_JOB, "spec", "rayClusterSpec", submitter=("spec", "submitterPodTemplate")),
    _ray(
        "RayService", Integration.RAY_SERVICE, "spec", "rayClusterConfig",
        suspended=("spec", "rayClusterConfig", "suspend"),
    ),
    WorkloadKind(
        "sparkoperator.k8s.io", "SparkApplication", ("v1beta2",), Grouping.UNREAD,
        (
            Metadata(("metadata",), Role.ABOVE, "a SparkApplication"),
            Metadata(("spec", "driver"), Role.POD, "the driver of a SparkApplication"),
            Metadata(("spec", "executor"), Role.POD, "executors of a SparkApplication"),
        ),
        integration=Integration.SPARK,
    ),
    WorkloadKind("", "Pod", ("v1",), Grouping.POD, (_own("a Pod"),), (), integration=Integration.POD),
    WorkloadKind(
        _TRAINER, "TrainJob", ("v1alpha1",), Grouping.TRAIN_JOB, (_own("a TrainJob"),),
        integration=Integration.TRAIN_JOB,
    ),
    _simple(
        _APPS, "Deployment", ("v1",), Grouping.EACH_POD, priority_class="inference", integration=Integration.PODS
    ),
    _simple(_APPS, "StatefulSet", ("v1",), integration=Integration.PODS),
    _simple(_APPS, "ReplicaSet", ("v1",), integration=Integration.PODS),
    WorkloadKind(
        _BATCH, "CronJob", ("v1",), Grouping.JOB,
        (
            Metadata(("metadata",), Role.ABOVE, "a CronJob"),
            Metadata(("spec", "jobTemplate", "metadata"), Role.JOB, "the Jobs of a CronJob"),
            _pods("pods of a CronJob", "spec", "jobTemplate", "spec", "template"),
        ),
        ("spec", "jobTemplate", "spec"), integration=Integration.JOBS,
    ),
    WorkloadKind(
        "serving.knative.dev", "Service", ("v1",), Grouping.REVISION,
        (
            Metadata(("metadata",), Role.ABOVE, "a Knative Service"),
            Metadata(("spec", "template", "metadata"), Role.POD, "the revisions of a Knative Service"),
        ),
        priority_class="inference",
    ),
    # Of a Notebook's pods only the spec is there.
    _simple(_KUBEFLOW, "Notebook", ("v1beta1",), priority_class="build"),
)  # fmt: skip

WORKLOAD_KINDS: Mapping[tuple[str, str], WorkloadKind] = {kind.key: kind for kind in _KINDS}
"""Every kind that has a row, by group and name."""
