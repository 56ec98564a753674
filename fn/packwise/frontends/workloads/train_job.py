"""The JobSet of a TrainJob: one of the input, or what Kubeflow Trainer makes of a runtime of the input.

Its group is the JobSet's; what that lacks of labels and annotations is the TrainJob's. Source: spec/podgrouper.md#4.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject
from packwise.frontends.workloads.workload import mapping
from packwise.objects.index import identity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value
    from packwise.objects.index import Index

__all__ = ["derived_job_sets", "train_job_of"]

_GROUP = "trainer.kubeflow.org"
_TRAIN_JOB = (_GROUP, "TrainJob")
_RUNTIME = "ClusterTrainingRuntime"
_JOB_SET = ("jobset.x-k8s.io", "JobSet")
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def train_job_of(item: KubeObject, index: Index) -> KubeObject | None:
    """The TrainJob of the input that a JobSet names as its owner; None for anything else."""
    if identity(item.value)[:2] != _JOB_SET:
        return None
    owners = item.get(("metadata", "ownerReferences"))
    names = [mapping(each).get("name") for each in owners] if isinstance(owners, list) else []
    return next((each for each in index.of_kind(*_TRAIN_JOB) if each.name in names and _is_beside(each, item)), None)


def derived_job_sets(index: Index) -> Iterator[tuple[KubeObject, KubeObject]]:
    """Each TrainJob whose JobSet is not among the input and whose runtime is, with the JobSet that follows."""
    existing = {job for each in index.of_kind(*_JOB_SET) if (job := train_job_of(each, index)) is not None}
    for item in index.of_kind(*_TRAIN_JOB):
        runtime = _runtime_of(item, index) if item not in existing else None
        if runtime is not None:
            yield item, KubeObject.new(_job_set(item, runtime))


def _runtime_of(item: KubeObject, index: Index) -> KubeObject | None:
    reference = mapping(item.get(("spec", "runtimeRef")))
    kind, name = reference.get("kind") or _RUNTIME, reference.get("name")
    runtimes = index.of_kind(_GROUP, kind) if isinstance(kind, str) else ()
    return next((each for each in runtimes if each.name == name and (kind == _RUNTIME or _is_beside(each, item))), None)


def _job_set(item: KubeObject, runtime: KubeObject) -> Mapping[str, Value]:
    template = mapping(runtime.get(("spec", "template")))
    metadata = mapping(template.get("metadata"))
    _, _, namespace, name = identity(item.value)
    spec = dict(mapping(template.get("spec")))
    jobs, nodes = spec.get("replicatedJobs"), _nodes(item, runtime)
    if isinstance(jobs, list) and nodes is not None:
        spec["replicatedJobs"] = [_of_nodes(mapping(job), nodes) for job in jobs]
    if item.get(("spec", "suspend")) is True:
        spec["suspend"] = True
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": name,
            "namespace": namespace,
            **{
                form: {**mapping(metadata.get(form)), **mapping(item.get(("spec", form)))}
                for form in ("labels", "annotations")
            },
        },
        "spec": spec,
    }


def _nodes(item: KubeObject, runtime: KubeObject) -> int | None:
    """The number of pods that train; None where nobody says, or MPI has a way of its own."""
    policy = mapping(runtime.get(("spec", "mlPolicy")))
    if "mpi" in policy:
        return None
    numbers = (item.get(("spec", "trainer", "numNodes")), policy.get("numNodes"))
    return next((number for number in numbers if isinstance(number, int)), None)


def _of_nodes(job: Mapping[str, Value], nodes: int) -> Mapping[str, Value]:
    """A replicated Job with that many pods, where it is the one that trains."""
    template = mapping(job.get("template"))
    if mapping(mapping(template.get("metadata")).get("labels")).get(_STEP) != "trainer":
        return job
    spec = {**mapping(template.get("spec")), "parallelism": nodes, "completions": nodes}
    return {**job, "template": {**template, "spec": spec}}


def _is_beside(item: KubeObject, other: KubeObject) -> bool:
    """True if both are in one namespace."""
    return identity(item.value)[2] == identity(other.value)[2]
