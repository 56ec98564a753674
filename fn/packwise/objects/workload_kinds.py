"""The kinds of workloads that KAI groups or Kueue queues, in a table with one row for each kind.

A row has the API versions, the pod templates and metadata, the grouping rule of KAI's pod-grouper, and the integration
in Kueue. Source: spec/podgrouper.md#1 and #4, spec/kueue.md#3.
"""

from __future__ import annotations

from enum import Enum, auto

from krmfn.hints import TYPE_CHECKING, Record
from packwise.objects.index import identity
from packwise.objects.kinds import TRAIN_JOB

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value

ANYWHERE = "**"
"""A step that matches the path to each pod template of an object. Kinds with templates in any place have it."""

_FIELDS_OF_OTHER_KINDS = frozenset(
    {"replicatedJobs", "leaderWorkerTemplate", "headGroupSpec", "workerGroupSpecs", "jobTemplate"}
)
"""Fields of workloads with their own row. An object of another kind with such a field creates that workload."""


QUEUE_NAME = "kueue.x-k8s.io/queue-name"
"""The label of a workload with the name of its LocalQueue in Kueue."""


class Grouping(Enum):
    """KAI's rule for grouping the pods of a kind."""

    POD = auto()
    """A Pod without an owner is a group."""
    JOB = auto()
    """A Job is a group. An annotation of the Job sets the number of pods that the group needs."""
    EACH_POD = auto()
    """Each pod is its own group."""
    OWNER = auto()
    """All pods of the owner are one group, which needs one pod. This is KAI's default."""
    JOB_SET = auto()
    LEADER_WORKER_SET = auto()
    REPLICA_TYPES = auto()
    """A job of Kubeflow's training operator, with replicas by type."""
    RAY = auto()
    REVISION = auto()
    """Knative: the pods of a revision are one group."""
    TRAIN_JOB = auto()
    """Kubeflow Trainer: it creates a JobSet from the TrainJob and its runtime."""
    RUNTIME = auto()
    """A runtime of Kubeflow Trainer. It is a template of JobSets and has no pods."""
    WORKFLOW = auto()
    """Argo: each pod is its own group. It inherits missing labels and annotations from the Workflow."""
    REPLICA_SET = auto()
    """All pods are one group, that of a ReplicaSet with the annotations of the object and the labels of its pods."""
    NO_ACCESS = auto()
    """KAI has no permission to read the object, and ignores it. Each pod is its own group."""


class Integration(Enum):
    """The part of Kueue that supports a kind. It makes the pod sets, and most integrations have a webhook."""

    JOB = auto()
    JOB_SET = auto()
    LEADER_WORKER_SET = auto()
    POD = auto()
    KUBEFLOW = auto()
    """Jobs with replicas by type, except MPIJobs."""
    MPI = auto()
    RAY_CLUSTER = auto()
    RAY_JOB = auto()
    RAY_SERVICE = auto()
    SPARK = auto()
    TRAIN_JOB = auto()
    """A TrainJob. The pod sets are those of the JobSet that Trainer creates from a runtime."""
    APP_WRAPPER = auto()
    """An AppWrapper. The pod sets are the pods of the wrapped objects. No webhook checks their templates."""
    PODS = auto()
    """Kueue queues the pods of the object, one by one or as a group. No webhook checks their template."""
    BARE_PODS = auto()
    """Kueue does not know the kind. If the pods name a queue themselves, Kueue queues them one by one."""
    JOBS = auto()
    """Kueue queues the Jobs of the object. No webhook checks their template."""


class Role(Enum):
    """The object to which metadata belongs, as KAI's pod-grouper sees it."""

    OWNER = auto()
    """Metadata of the object that owns the PodGroup. KAI reads labels and annotations for the group here."""
    ANCESTOR = auto()
    """Metadata of an object that owns the owner of the PodGroup."""
    JOB = auto()
    """Metadata of a Job that the object creates. The Job of a CronJob owns the PodGroup. The Job of a JobSet becomes a
    subgroup of the PodGroup.
    """
    POD = auto()
    """Metadata of pods."""


class Metadata(Record):
    """Labels and annotations in the objects of a kind."""

    path: tuple[str, ...]
    """The steps to the mapping with the metadata. The step `*` matches every entry of a list or a mapping, and
    `ANYWHERE` may come first.
    """

    role: Role
    title: str
    """The name of the object with the metadata in messages and on pages, such as `pods of a JobSet`."""

    @property
    def spec(self) -> tuple[str, ...]:
        """Return the path of the pod spec with this metadata, which must be metadata of pods."""
        return (*self.path[:-1], "spec")


class WorkloadKind(Record):
    """One kind of workload."""

    group: str
    """API group, "" for the core group."""

    name: str
    versions: tuple[str, ...]
    """The versions for which KAI's grouping rule is the rule of the kind."""

    grouping: Grouping
    metadata: tuple[Metadata, ...]
    """All places of labels and annotations: first the object's own metadata, last the pod templates."""

    body: tuple[str, ...] = ("spec",)
    """The steps to the part with the numbers of pods, such as Kubeflow's replicas by type or the spec of a Ray cluster.
    """

    types: tuple[str, ...] = ()
    """Types of replicas, in the order in which the operator lists them."""

    required: tuple[str, ...] = ()
    """Types of replicas that KAI requires. If one is missing, KAI makes no group."""

    members: tuple[str, ...] = ()
    """The steps to the field with the number of pods that the group needs, or none."""

    without_members: str = ""
    """KAI's error text if the field at `members` is missing."""

    priority_class: str = "train"
    """The priority class of the group if the workload names no existing class."""

    integration: Integration | None = None
    """The kind's integration in Kueue, or None if Kueue does not know the kind."""

    suspended: tuple[str, ...] = ("spec", "suspend")
    """The steps to the field with which Kueue suspends the object."""

    @property
    def key(self) -> tuple[str, str]:
        """Return the API group and the name. They identify the kind in all versions."""
        return self.group, self.name

    @property
    def api_versions(self) -> tuple[str, ...]:
        """Return each `apiVersion` as manifests of the kind spell it."""
        return tuple(f"{self.group}/{version}" if self.group else version for version in self.versions)

    @property
    def owner(self) -> Metadata:
        """Return the metadata of the object that is grouped and queued.

        This is the object itself, the Job of a CronJob, the revision of a Knative Service, or the JobSet of a runtime.
        """
        is_created = self.metadata[0].role is Role.ANCESTOR and self.grouping is not Grouping.NO_ACCESS
        return self.metadata[1 if is_created else 0]

    def queue_of(self, value: Mapping[str, Value]) -> str:
        """Return the queue of Kueue that an object names for itself or for the objects that it creates, or ""."""
        if self.integration is Integration.BARE_PODS:
            return ""
        (labels,) = tuple(_mappings_at(value, (*self.owner.path, "labels"))) or ({},)
        queue = labels.get(QUEUE_NAME)
        return queue if isinstance(queue, str) else ""

    @property
    def templates(self) -> tuple[Metadata, ...]:
        """Return the metadata of the pod templates. For a Pod, this is its own metadata."""
        if self.grouping is Grouping.POD:
            return self.metadata
        return tuple(part for part in self.metadata if part.role is Role.POD)

    def pod_specs(self, value: Mapping[str, Value]) -> Iterator[Mapping[str, Value]]:
        """Yield the parts of an object that can set `schedulerName` of its pods: the pod specs, and specs of Argo."""
        if self.grouping is Grouping.WORKFLOW:
            yield from _mappings_at(value, ("spec",))
            yield from _mappings_at(value, ("spec", "templates", "*"))
        for part in self.templates:
            if part.path[0] == ANYWHERE:
                for _, template in pod_templates_in(value):
                    yield from _mappings_at(template, ("spec",))
            else:
                yield from _mappings_at(value, part.spec)


def _mappings_at(value: Value, steps: tuple[str, ...]) -> Iterator[Mapping[str, Value]]:
    if not steps:
        if isinstance(value, dict):
            yield value
    elif steps[0] == "*":
        entries = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for entry in entries:
            yield from _mappings_at(entry, steps[1:])
    elif isinstance(value, dict) and steps[0] in value:
        yield from _mappings_at(value[steps[0]], steps[1:])


def pod_templates_in(value: Mapping[str, Value]) -> Iterator[tuple[FieldPath, Mapping[str, Value]]]:
    """Yield the path and the value of each pod template in an object, in order. A template has a spec with containers.

    Skip whole manifests within the object, and parts that become a workload of a kind with its own row.
    """
    nodes: list[tuple[FieldPath, Value]] = []
    nodes += [((field,), value[field]) for field in value if field != "status"][::-1]
    while nodes:
        path, node = nodes.pop()
        if isinstance(node, list):
            nodes += [((*path, position), entry) for position, entry in enumerate(node)][::-1]
        elif isinstance(node, dict):
            spec = node.get("spec")
            if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
                yield path, node
            elif not ("apiVersion" in node and "kind" in node) and _FIELDS_OF_OTHER_KINDS.isdisjoint(node):
                nodes += [((*path, field), entry) for field, entry in node.items()][::-1]


def workload_kind(value: Mapping[str, Value]) -> WorkloadKind:
    """Return the row of an object's kind. For a kind without a row, return a row of a kind that KAI cannot read."""
    group, slash, version = str(value.get("apiVersion")).rpartition("/")
    name = str(value.get("kind"))
    known = WORKLOAD_KINDS.get((group if slash else "", name))
    if known is not None:
        return known
    own = Metadata(("metadata",), Role.ANCESTOR, _article(name))
    pods = _pods(f"pods of {_article(name)}", ANYWHERE)
    return WorkloadKind(group if slash else "", name, (version,), Grouping.NO_ACCESS, (own, pods))


def is_queued(item: KubeObject) -> bool:
    """Return True if Kueue queues the object: Kueue knows the kind, and a label names a queue."""
    kind = WORKLOAD_KINDS.get(identity(item.value)[:2])
    return kind is not None and kind.integration is not None and bool(kind.queue_of(item.value))


def _article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


_APPS, _BATCH = "apps", "batch"
_JOBS, _KUBEFLOW, _TRAINER, _RAY = "jobset.x-k8s.io", "kubeflow.org", TRAIN_JOB[0], "ray.io"


def _own_metadata(title: str) -> Metadata:
    return Metadata(("metadata",), Role.OWNER, title)


def _pods(title: str, *steps: str) -> Metadata:
    return Metadata((*steps, "metadata"), Role.POD, title)


def _kind_with_template(
    group: str,
    name: str,
    versions: tuple[str, ...],
    grouping: Grouping = Grouping.OWNER,
    *,
    priority_class: str = "train",
    integration: Integration | None = None,
) -> WorkloadKind:
    """Return a kind with one pod template, at `spec.template`."""
    own, pods = _own_metadata(_article(name)), _pods(f"pods of {_article(name)}", "spec", "template")
    return WorkloadKind(
        group, name, versions, grouping, (own, pods), priority_class=priority_class, integration=integration
    )


def _default_kind(
    group: str,
    name: str,
    version: str,
    *,
    priority_class: str = "train",
    members: tuple[str, ...] = (),
    without_members: str = "",
) -> WorkloadKind:
    """Return a kind that KAI groups by its default rule, with pod templates at any place."""
    own, pods = _own_metadata(_article(name)), _pods(f"pods of {_article(name)}", ANYWHERE)
    return WorkloadKind(
        group, name, (version,), Grouping.OWNER, (own, pods),
        members=members, without_members=without_members, priority_class=priority_class,
    )  # fmt: skip


def _runtime(name: str) -> WorkloadKind:
    """Return a kind of Kubeflow Trainer's runtimes, with a template of JobSets."""
    template = ("spec", "template")
    jobs = (*template, "spec", "replicatedJobs", "*", "template")
    return WorkloadKind(
        _TRAINER, name, ("v1alpha1",), Grouping.RUNTIME,
        (
            Metadata(("metadata",), Role.ANCESTOR, f"a {name}"),
            Metadata((*template, "metadata"), Role.OWNER, f"the JobSets of a {name}"),
            Metadata((*jobs, "metadata"), Role.JOB, f"replicatedJobs of a {name}"),
            _pods(f"pods of a {name}", *jobs, "spec", "template"),
        ),
    )  # fmt: skip


def _replica_types(
    name: str,
    field: str,
    *types: str,
    required: tuple[str, ...] = (),
    versions: tuple[str, ...] = ("v1",),
    grouping: Grouping = Grouping.REPLICA_TYPES,
    integration: Integration = Integration.KUBEFLOW,
) -> WorkloadKind:
    """Return a kind of Kubeflow's training operator, with replicas of these types at `spec.<field>`."""
    pods = _pods(f"replica types of a {name}", "spec", field, "*", "template")
    return WorkloadKind(
        group=_KUBEFLOW,
        name=name,
        versions=versions,
        grouping=grouping,
        metadata=(_own_metadata(f"a {name}"), pods),
        body=("spec", field),
        types=types,
        required=required,
        integration=integration,
        suspended=("spec", "runPolicy", "suspend"),
    )


def _ray(
    name: str, integration: Integration, *body: str, submitter: tuple[str, ...] = (), suspended: tuple[str, ...] = ()
) -> WorkloadKind:
    """Return a kind of Ray's operator. The spec of its cluster is at `body`.

    `submitter` is the path to the template of the pod that submits the job.
    """
    groups = (
        _pods(f"the head of a {name}", *body, "headGroupSpec", "template"),
        _pods(f"worker groups of a {name}", *body, "workerGroupSpecs", "*", "template"),
    )
    more = (_pods(f"the submitter of a {name}", *submitter),) if submitter else ()
    return WorkloadKind(
        _RAY, name, ("v1", "v1alpha1"), Grouping.RAY, (_own_metadata(f"a {name}"), *groups, *more), body,
        integration=integration, suspended=suspended or ("spec", "suspend"),
    )  # fmt: skip


_KINDS = (
    _kind_with_template(_BATCH, "Job", ("v1",), Grouping.JOB, integration=Integration.JOB),
    WorkloadKind(
        _JOBS, "JobSet", ("v1alpha2",), Grouping.JOB_SET,
        (
            _own_metadata("a JobSet"),
            Metadata(("spec", "replicatedJobs", "*", "template", "metadata"), Role.JOB, "replicatedJobs of a JobSet"),
            _pods("pods of a JobSet", "spec", "replicatedJobs", "*", "template", "spec", "template"),
        ),
        integration=Integration.JOB_SET,
    ),
    WorkloadKind(
        "leaderworkerset.x-k8s.io", "LeaderWorkerSet", ("v1",), Grouping.LEADER_WORKER_SET,
        (
            _own_metadata("a LeaderWorkerSet"),
            _pods("the leaderTemplate of a LeaderWorkerSet", "spec", "leaderWorkerTemplate", "leaderTemplate"),
            _pods("the workerTemplate of a LeaderWorkerSet", "spec", "leaderWorkerTemplate", "workerTemplate"),
        ),
        integration=Integration.LEADER_WORKER_SET,
    ),
    _replica_types("PyTorchJob", "pytorchReplicaSpecs", "Master", "Worker"),
    _replica_types("TFJob", "tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator"),
    _replica_types("XGBoostJob", "xgbReplicaSpecs", "Master", "Worker", required=("Master", "Worker")),
    _replica_types("JAXJob", "jaxReplicaSpecs", "Worker", required=("Worker",)),
    # KAI has no permission to read PaddleJobs. Each of their pods is its own group.
    _replica_types("PaddleJob", "paddleReplicaSpecs", "Master", "Worker", grouping=Grouping.NO_ACCESS),
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
        "sparkoperator.k8s.io", "SparkApplication", ("v1beta2",), Grouping.NO_ACCESS,
        (
            Metadata(("metadata",), Role.ANCESTOR, "a SparkApplication"),
            Metadata(("spec", "driver"), Role.POD, "the driver of a SparkApplication"),
            Metadata(("spec", "executor"), Role.POD, "executors of a SparkApplication"),
        ),
        integration=Integration.SPARK,
    ),
    WorkloadKind(
        "workload.codeflare.dev", "AppWrapper", ("v1beta2",), Grouping.NO_ACCESS,
        (Metadata(("metadata",), Role.ANCESTOR, "an AppWrapper"),), (), integration=Integration.APP_WRAPPER,
    ),
    WorkloadKind("", "Pod", ("v1",), Grouping.POD, (_own_metadata("a Pod"),), (), integration=Integration.POD),
    WorkloadKind(
        _TRAINER, "TrainJob", ("v1alpha1",), Grouping.TRAIN_JOB,
        # Trainer copies the metadata in the spec to the JobSet.
        (_own_metadata("a TrainJob"), Metadata(("spec",), Role.OWNER, "the spec of a TrainJob")),
        integration=Integration.TRAIN_JOB,
    ),
    _runtime("ClusterTrainingRuntime"),
    _runtime("TrainingRuntime"),
    _kind_with_template(
        _APPS, "Deployment", ("v1",), Grouping.EACH_POD, priority_class="inference", integration=Integration.PODS
    ),
    _kind_with_template(_APPS, "StatefulSet", ("v1",), integration=Integration.PODS),
    _kind_with_template(_APPS, "ReplicaSet", ("v1",), integration=Integration.BARE_PODS),
    WorkloadKind(
        _BATCH, "CronJob", ("v1",), Grouping.JOB,
        (
            Metadata(("metadata",), Role.ANCESTOR, "a CronJob"),
            Metadata(("spec", "jobTemplate", "metadata"), Role.JOB, "the Jobs of a CronJob"),
            _pods("pods of a CronJob", "spec", "jobTemplate", "spec", "template"),
        ),
        ("spec", "jobTemplate", "spec"), integration=Integration.JOBS,
    ),
    WorkloadKind(
        "serving.knative.dev", "Service", ("v1",), Grouping.REVISION,
        (
            Metadata(("metadata",), Role.ANCESTOR, "a Knative Service"),
            Metadata(("spec", "template", "metadata"), Role.POD, "the revisions of a Knative Service"),
        ),
        priority_class="inference",
    ),
    # A Notebook has only the spec of its pods.
    _kind_with_template(_KUBEFLOW, "Notebook", ("v1beta1",), priority_class="build"),
    WorkloadKind(
        "argoproj.io", "Workflow", ("v1alpha1",), Grouping.WORKFLOW,
        (
            _own_metadata("a Workflow"),
            Metadata(("spec", "podMetadata"), Role.POD, "the podMetadata of a Workflow"),
            Metadata(("spec", "templates", "*", "metadata"), Role.POD, "templates of a Workflow"),
        ),
    ),
    # KAI has no permission to read Rollouts. Argo copies their annotations to the ReplicaSet.
    WorkloadKind(
        "argoproj.io", "Rollout", ("v1alpha1",), Grouping.REPLICA_SET,
        (Metadata(("metadata",), Role.ANCESTOR, "a Rollout"), _pods("pods of a Rollout", "spec", "template")),
    ),
    WorkloadKind(
        "kubevirt.io", "VirtualMachineInstance", ("v1",), Grouping.POD, (_own_metadata("a VirtualMachineInstance"),)
    ),
    _kind_with_template("kubevirt.io", "VirtualMachine", ("v1",)),
    _kind_with_template("run.ai", "RunaiJob", ("v1",)),
    _default_kind("egx.nvidia.io", "SPOTRequest", "v1", priority_class="inference"),
    _default_kind(
        "amlarc.azureml.com", "AmlJob", "v1alpha1",
        members=("spec", "job", "options", "envs", "AZUREML_NODE_COUNT"),
        without_members="azureml envs count not found in spec",
    ),
    _default_kind("machinelearning.seldon.io", "SeldonDeployment", "v1"),
    _default_kind("workspace.devfile.io", "DevWorkspace", "v1alpha2"),
    _default_kind("tekton.dev", "PipelineRun", "v1"),
    _default_kind("tekton.dev", "TaskRun", "v1"),
    _default_kind(_KUBEFLOW, "ScheduledWorkflow", "v1beta1"),
)  # fmt: skip

WORKLOAD_KINDS: Mapping[tuple[str, str], WorkloadKind] = {kind.key: kind for kind in _KINDS}
"""The rows of the table, by the group and name of the kind."""

POD_KIND = WORKLOAD_KINDS["", "Pod"]
"""The row of Pods."""
