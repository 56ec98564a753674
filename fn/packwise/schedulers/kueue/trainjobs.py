"""Pod sets of TrainJobs, which are those of the JobSet of their runtime. Source: spec/kueue.md#3; Kueue's trainjob."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kueue.podsets import JobKind, PodSet, integer, mapping, replicated_jobs, value_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index

__all__ = ["TRAIN_JOB", "runtime_of", "runtimes", "train_job_kind"]

_GROUP = "trainer.kubeflow.org"
TRAIN_JOB = (_GROUP, "TrainJob")
_CLUSTER = "ClusterTrainingRuntime"

_STEP = f"{_GROUP}/trainjob-ancestor-step"
_SUFFIX = (
    '. Adjust either the "TrainJob.spec.runtimePatches" or the "TrainingRuntime.Template" annotations for the '
    "corresponding Job"
)
_MANAGER = "kueue.x-k8s.io/manager"


def runtimes(index: Index, value: Mapping[str, Value]) -> tuple[KubeObject, ...]:
    """The runtimes of the kind that a TrainJob names."""
    kind = value_at(value, "spec", "runtimeRef", "kind")
    return index.of_kind(_GROUP, kind if isinstance(kind, str) else _CLUSTER)


def runtime_of(index: Index, item: KubeObject) -> KubeObject | None:
    """The runtime that a TrainJob names, where it is among the input."""
    name = item.get("spec.runtimeRef.name")
    for runtime in runtimes(index, item.value):
        if runtime.name == name and (runtime.kind == _CLUSTER or runtime.namespace == item.namespace):
            return runtime
    return None


def train_job_kind(runtime: KubeObject, value: Mapping[str, Value]) -> JobKind | None:
    """The kind of a TrainJob with this runtime; None where patches of the runtime make something else of it."""
    patches = value_at(value, "spec", "runtimePatches")
    entries = [mapping(patch) for patch in patches] if isinstance(patches, list) else []
    if any(patch.get("manager") != _MANAGER for patch in entries) or value_at(value, "spec", "podTemplateOverrides"):
        return None
    return JobKind(*TRAIN_JOB, partial(_pod_sets, runtime.value), builds_first=True, version="v1alpha1")


def _pod_sets(runtime: Mapping[str, Value], value: Mapping[str, Value]) -> list[PodSet]:
    jobs = value_at(runtime, "spec", "template", "spec", "replicatedJobs")
    entries = jobs if isinstance(jobs, list) else []
    nodes = integer(value_at(runtime, "spec", "mlPolicy", "numNodes"), 1)
    nodes = integer(value_at(value, "spec", "trainer", "numNodes"), nodes)
    return [
        _of_runtime(each, nodes if _is_trainer(job) else each.count)
        for each, job in zip(replicated_jobs(entries), entries, strict=False)
    ]


def _is_trainer(job: Value) -> bool:
    return mapping(value_at(job, "template", "metadata", "labels")).get(_STEP) == "trainer"


def _of_runtime(each: PodSet, count: int) -> PodSet:
    """The pod set as the webhook names it, told at the field of the TrainJob that names the runtime."""
    template = replace(each.template, path=("spec", "runtimeRef", "name"), field=f"job[{each.name}]", suffix=_SUFFIX)
    return replace(each, count=count, template=template)
