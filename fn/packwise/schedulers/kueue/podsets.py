"""The pod sets that Kueue makes of a job of each kind, with the API servers' defaults filled in.

Source: spec/kueue.md#3 and #8; the PodSets method of each of Kueue's integrations.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kueue.request import Template

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = [
    "HEAD",
    "KINDS",
    "LEADER",
    "MAIN",
    "WORKER",
    "JobKind",
    "PodSet",
    "integer",
    "mapping",
    "replicated_jobs",
    "value_at",
]

MAIN, LEADER, WORKER, HEAD = "main", "leader", "worker", "head"

_NOTHING: Mapping[str, Value] = {}


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of one template that Kueue counts and places together.

    `is_validated`: whether the webhook looks at the template's annotations.
    """

    name: str
    count: int
    template: Template
    pod_spec: Mapping[str, Value] = field(default_factory=dict[str, "Value"])
    is_validated: bool = True


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of jobs that Kueue's webhooks see: its pod sets, and where it says that it is suspended.

    `checks_groups`: whether the webhook checks groups of pod sets. `builds_first`: whether it builds the pod sets
    before it checks anything, so that what cannot be parsed hides all other errors.
    """

    group: str
    name: str
    pod_sets: Callable[[Mapping[str, Value]], list[PodSet]]
    suspended: tuple[str, ...] = ("spec", "suspend")
    checks_groups: bool = False
    builds_first: bool = False
    version: str = "v1"

    @property
    def key(self) -> tuple[str, str]:
        """Group and name."""
        return self.group, self.name


def mapping(value: Value) -> Mapping[str, Value]:
    """The mapping that `value` is; an empty one where it is none."""
    return value if isinstance(value, dict) else _NOTHING


def integer(value: Value, default: int) -> int:
    """The integer that `value` is; the default where it is none."""
    return value if type(value) is int else default


def value_at(value: Value, *steps: str) -> Value:
    """The value at the end of `steps`; None where there is none."""
    for step in steps:
        value = mapping(value).get(step)
    return value


def _entries(value: Value) -> list[tuple[int, Mapping[str, Value]]]:
    """The mappings of a list, each with its position."""
    entries = value if isinstance(value, list) else []
    return [(position, entry) for position, entry in enumerate(entries) if isinstance(entry, dict)]


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ""


def _pod_set(
    name: str, count: int, template: Value, path: FieldPath, title: str, *, is_validated: bool = True
) -> PodSet:
    """The pod set of the pod template at `path`, which the operator calls `title`."""
    metadata = mapping(mapping(template).get("metadata"))
    at = Template((*path, "metadata"), f"{title}.metadata", metadata)
    # Kueue's names of pod sets are in lower case.
    return PodSet(name.lower(), count, at, mapping(mapping(template).get("spec")), is_validated)


def _pods_of_job(spec: Value) -> int:
    """Pods of a Job that run at the same time."""
    parallelism = integer(value_at(spec, "parallelism"), 1)
    return min(parallelism, integer(value_at(spec, "completions"), parallelism))


def _job(value: Mapping[str, Value]) -> list[PodSet]:
    spec = value.get("spec")
    path = ("spec", "template")
    return [_pod_set(MAIN, _pods_of_job(spec), value_at(spec, "template"), path, "spec.template")]


def _job_set(value: Mapping[str, Value]) -> list[PodSet]:
    return replicated_jobs(value_at(value, "spec", "replicatedJobs"))


def replicated_jobs(jobs: Value) -> list[PodSet]:
    """A pod set for each entry of a JobSet's `spec.replicatedJobs`."""
    sets: list[PodSet] = []
    for index, job in _entries(jobs):
        spec = value_at(job, "template", "spec")
        path = ("spec", "replicatedJobs", index, "template", "spec", "template")
        count = integer(job.get("replicas"), 1) * _pods_of_job(spec)
        title = f"spec.replicatedJobs[{index}].template.spec.template"
        sets.append(_pod_set(_text(job.get("name")), count, value_at(spec, "template"), path, title))
    return sets


def _leader_worker_set(value: Mapping[str, Value]) -> list[PodSet]:
    group = mapping(value_at(value, "spec", "leaderWorkerTemplate"))
    path: FieldPath = ("spec", "leaderWorkerTemplate")
    size = integer(group.get("size"), 1)
    title = "spec.leaderWorkerTemplate"
    worker = (*path, "workerTemplate")
    if group.get("leaderTemplate") is None:
        return [_pod_set(MAIN, size, group.get("workerTemplate"), worker, f"{title}.workerTemplate")]
    leader = _pod_set(LEADER, 1, group["leaderTemplate"], (*path, "leaderTemplate"), f"{title}.leaderTemplate")
    return [leader, _pod_set(WORKER, size - 1, group.get("workerTemplate"), worker, f"{title}.workerTemplate")]


def _replica_specs(section: str, *types: str) -> Callable[[Mapping[str, Value]], list[PodSet]]:
    """Pod sets by the types of replicas below `spec.<section>`, in the order in which its operator has them."""

    def pod_sets(value: Mapping[str, Value]) -> list[PodSet]:
        specs = mapping(value_at(value, "spec", section))
        return [
            _pod_set(
                each,
                integer(mapping(specs[each]).get("replicas"), 1),
                mapping(specs[each]).get("template"),
                ("spec", section, each, "template"),
                f"spec.{section}[{each}].template",
            )
            for each in types
            if specs.get(each) is not None
        ]

    return pod_sets


def _ray(*section: str, submits: bool = False) -> Callable[[Mapping[str, Value]], list[PodSet]]:
    """The head and the groups of workers of the RayCluster at `section`; of a RayJob the pod that submits it, too."""
    title = "spec.rayClusterSpec" if len(section) > 1 else "spec"

    def pod_sets(value: Mapping[str, Value]) -> list[PodSet]:
        cluster = value_at(value, *section)
        if len(section) > 1 and not isinstance(cluster, dict):
            return []
        head = (*section, "headGroupSpec", "template")
        sets = [_pod_set(HEAD, 1, value_at(value, *head), head, f"{title}.headGroupSpec.template")]
        for index, group in _entries(value_at(cluster, "workerGroupSpecs")):
            count = integer(group.get("replicas"), 0) * max(integer(group.get("numOfHosts"), 1), 1)
            path = (*section, "workerGroupSpecs", index, "template")
            name = f"{title}.workerGroupSpecs[{index}].template"
            sets.append(_pod_set(_text(group.get("groupName")), count, group.get("template"), path, name))
        if submits and value_at(value, "spec", "submissionMode") in (None, "", "K8sJobMode"):
            path = ("spec", "submitterPodTemplate")
            template = value_at(value, *path)
            sets.append(_pod_set("submitter", 1, template, path, "spec.submitterPodTemplate", is_validated=False))
        return sets

    return pod_sets


def _spark(value: Mapping[str, Value]) -> list[PodSet]:
    sets: list[PodSet] = []
    for role in ("driver", "executor"):
        part = mapping(value_at(value, "spec", role))
        base = mapping(value_at(part, "template", "metadata"))
        # The annotations of the role count before those of its pod template.
        annotations: dict[str, Value] = {**mapping(base.get("annotations")), **mapping(part.get("annotations"))}
        metadata: dict[str, Value] = {"annotations": annotations, "labels": part.get("labels")}
        count = 1 if role == "driver" else integer(part.get("instances"), 0)
        template = Template(("spec", role), f"spec.{role}", metadata)
        sets.append(PodSet(role, count, template, mapping(value_at(part, "template", "spec"))))
    return sets


def _pod(value: Mapping[str, Value]) -> list[PodSet]:
    template = Template(("metadata",), "metadata", mapping(value.get("metadata")))
    return [PodSet(MAIN, 1, template, mapping(value.get("spec")))]


_KUBEFLOW = "kubeflow.org"
_RUN_POLICY = ("spec", "runPolicy", "suspend")

_KINDS = (
    JobKind("batch", "Job", _job),
    JobKind("jobset.x-k8s.io", "JobSet", _job_set, checks_groups=True, builds_first=True, version="v1alpha2"),
    JobKind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", _leader_worker_set, checks_groups=True),
    JobKind(_KUBEFLOW, "PyTorchJob", _replica_specs("pytorchReplicaSpecs", "Master", "Worker"), _RUN_POLICY),
    JobKind(
        _KUBEFLOW,
        "TFJob",
        _replica_specs("tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator"),
        _RUN_POLICY,
    ),
    JobKind(_KUBEFLOW, "XGBoostJob", _replica_specs("xgbReplicaSpecs", "Master", "Worker"), _RUN_POLICY),
    JobKind(_KUBEFLOW, "JAXJob", _replica_specs("jaxReplicaSpecs", "Worker"), _RUN_POLICY),
    JobKind(_KUBEFLOW, "PaddleJob", _replica_specs("paddleReplicaSpecs", "Master", "Worker"), _RUN_POLICY),
    JobKind(
        _KUBEFLOW,
        "MPIJob",
        _replica_specs("mpiReplicaSpecs", "Launcher", "Worker"),
        _RUN_POLICY,
        checks_groups=True,
        builds_first=True,
        version="v2beta1",
    ),
    JobKind("ray.io", "RayCluster", _ray("spec"), checks_groups=True),
    JobKind("ray.io", "RayJob", _ray("spec", "rayClusterSpec", submits=True), checks_groups=True),
    JobKind(
        "ray.io",
        "RayService",
        _ray("spec", "rayClusterConfig"),
        ("spec", "rayClusterConfig", "suspend"),
        checks_groups=True,
    ),
    JobKind("sparkoperator.k8s.io", "SparkApplication", _spark, builds_first=True, version="v1beta2"),
    JobKind("", "Pod", _pod),
)

KINDS: Mapping[tuple[str, str], JobKind] = {kind.key: kind for kind in _KINDS}
"""The kinds that Kueue's webhooks validate from the object alone, by group and name; TrainJobs need their runtime."""
