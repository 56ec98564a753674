"""TrainJobs of Kubeflow Trainer and their JobSets. A JobSet is in the input, or is derived from a runtime in the input.

The group of a TrainJob is the group of its JobSet, completed with labels and annotations of the TrainJob. Source:
spec/podgrouper.md#4.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject
from packwise.findings import Finding
from packwise.frontends.workloads.rules import RUNTIME_POLICY, UNSCHEDULED
from packwise.lenient import mapping, mappings, value_at
from packwise.objects.index import identity
from packwise.objects.kinds import TRAIN_JOB
from packwise.objects.trainer import GROUP, job_set_metadata, replicated_jobs
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value
    from packwise.frontends.workloads.workload import Workload
    from packwise.objects.index import Index

_DOMAIN = "kai.scheduler/"
_FORMS = ("labels", "annotations")
_RUNTIMES = ("ClusterTrainingRuntime", "TrainingRuntime")
_POLICIES = ("coscheduling", "volcano")

_RUNTIME_KIND = "ClusterTrainingRuntime"
_JOB_SET = ("jobset.x-k8s.io", "JobSet")


def train_job_of(item: KubeObject, index: Index) -> KubeObject | None:
    """Return the TrainJob of the input that owns the JobSet `item`. Return None if there is none."""
    if identity(item.value)[:2] != _JOB_SET:
        return None
    names = [owner.get("name") for owner in owners_of(item)]
    jobs = index.of_kind(*TRAIN_JOB)
    return next((each for each in jobs if each.name in names and _in_one_namespace(each, item)), None)


def derived_job_sets(index: Index) -> Iterator[tuple[KubeObject, KubeObject]]:
    """Yield each TrainJob with a runtime but without a JobSet in the input, and the JobSet derived from both."""
    existing = {job for each in index.of_kind(*_JOB_SET) if (job := train_job_of(each, index)) is not None}
    for item in index.of_kind(*TRAIN_JOB):
        runtime = _runtime_of(item, index) if item not in existing else None
        if runtime is not None:
            yield item, KubeObject.new(_job_set(item, runtime))


def owners_of(item: KubeObject) -> list[Mapping[str, Value]]:
    """Return the owner references of an object."""
    return mappings(item.get(("metadata", "ownerReferences")))


def _runtime_of(item: KubeObject, index: Index) -> KubeObject | None:
    reference = mapping(item.get(("spec", "runtimeRef")))
    kind, name = reference.get("kind") or _RUNTIME_KIND, reference.get("name")
    runtimes = index.of_kind(GROUP, kind) if isinstance(kind, str) else ()
    return next(
        (each for each in runtimes if each.name == name and (kind == _RUNTIME_KIND or _in_one_namespace(each, item))),
        None,
    )


def _job_set(item: KubeObject, runtime: KubeObject) -> Mapping[str, Value]:
    _, _, namespace, name = identity(item.value)
    spec = dict(mapping(runtime.get(("spec", "template", "spec"))))
    if isinstance(spec.get("replicatedJobs"), list):
        spec["replicatedJobs"] = list(replicated_jobs(item.value, runtime.value))
    if item.get(("spec", "suspend")) is True:
        spec["suspend"] = True
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": namespace, **job_set_metadata(item.value, runtime.value)},
        "spec": spec,
    }


def _in_one_namespace(item: KubeObject, other: KubeObject) -> bool:
    """Return True if both objects are in the same namespace."""
    return identity(item.value)[2] == identity(other.value)[2]


def unscheduled_train_job(item: KubeObject, workload: Workload) -> Iterator[Finding]:
    """Yield a finding about the first key of KAI on a TrainJob, if its runtime names no scheduler.

    `workload` is the JobSet that is derived from the TrainJob.
    """
    if any(each.scheduler for each in workload.templates) or _names_scheduler(item):
        return
    runtime = value_at(item.value, "spec", "runtimeRef", "name")
    for holder in ("metadata", "spec"):
        for form in _FORMS:
            for key in mapping(item.get((holder, form))):
                if key.startswith(_DOMAIN):
                    message = (
                        f'KAI never sees this key: the pods of the runtime "{runtime}" name no scheduler. Set '
                        f"schedulerName: {workload.scheduler} in the pod templates of the runtime"
                    )
                    yield Finding.of(UNSCHEDULED, item, (holder, form, key), message)
                    return


def _names_scheduler(item: KubeObject) -> bool:
    """Return True if an override or a patch in the TrainJob may set `schedulerName`."""
    parts = (item.get(("spec", "podTemplateOverrides")), item.get(("spec", "runtimePatches")))
    return any("schedulerName" in str(part) for part in parts)


def policy_findings(index: Index) -> Iterator[Finding]:
    """Yield a finding about each unknown gang policy of a runtime. The API server drops such a field."""
    for kind in _RUNTIMES:
        for item in index.of_kind(GROUP, kind):
            for name in mapping(item.get(("spec", "podGroupPolicy"))):
                if name not in _POLICIES:
                    message = (
                        f"Trainer drops this field; it knows only {list_known(_POLICIES)}. KAI makes PodGroups "
                        "without a policy, if the pods have its schedulerName"
                    )
                    yield Finding.of(RUNTIME_POLICY, item, ("spec", "podGroupPolicy", name), message, at_key=True)
