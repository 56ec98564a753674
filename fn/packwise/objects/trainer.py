"""The JobSet that Kubeflow Trainer makes from a TrainJob and its runtime.

Source: Trainer v2.2.1, pkg/runtime/core/trainingruntime.go and pkg/runtime/framework/plugins (jobset/builder.go, mpi,
plainml, torch).
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.lenient import integer, mapping, mapping_at, mappings, mappings_in_place, text, text_at, value_at
from packwise.objects.kinds import TRAIN_JOB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.value import Value

GROUP, _ = TRAIN_JOB
"""The API group of TrainJobs and runtimes."""

STEP = f"{GROUP}/trainjob-ancestor-step"
"""The label of a Job with the step of the training that it performs."""

KUEUE = "kueue.x-k8s.io/manager"
"""The `manager` of the patches that Kueue adds to a TrainJob when it starts the job."""

_TRAINER = "trainer"
_SINGLE = frozenset({_TRAINER, "dataset-initializer", "model-initializer"})
"""The steps for which Trainer always makes one Job. It ignores `replicas` of the runtime."""
_NODE = "node"
"""The name of the training container, and of MPI's Job for all pods but the launcher."""
_RESTRICTED = ("containers", "initContainers")
"""Lists of a patch that packwise ignores. In them, Trainer accepts only envs, mounts and security contexts."""

_FORMS = ("labels", "annotations")


def replicated_jobs(train_job: Mapping[str, Value], runtime: Mapping[str, Value]) -> list[Mapping[str, Value]]:
    """Return `spec.replicatedJobs` of the JobSet.

    These are the Jobs of the runtime, with the patches, numbers of pods and resources of the TrainJob.
    """
    policy = mapping_at(runtime, "spec", "mlPolicy")
    jobs = mappings_in_place(value_at(runtime, "spec", "template", "spec", "replicatedJobs"))
    patched = [_patch_job(job, train_job) for job in jobs]
    # Trainer applies `numNodes` of the TrainJob to one Job only.
    first = next((index for index, job in enumerate(patched) if _is_resized(job, policy)), None)
    return [_fill(job, train_job, policy, is_resized=index == first) for index, job in enumerate(patched)]


def job_set_metadata(train_job: Mapping[str, Value], runtime: Mapping[str, Value]) -> dict[str, Value]:
    """Return the labels and annotations of the JobSet. Before Trainer v2.2, `spec` of a TrainJob could set some."""
    metadata = mapping_at(runtime, "spec", "template", "metadata")
    patches = [mapping_at(template, "metadata") for template in _patched_templates(train_job)]
    return {
        form: _join([each.get(form) for each in (metadata, *patches, mapping_at(train_job, "spec"))]) for form in _FORMS
    }


def _join(parts: Sequence[Value]) -> dict[str, Value]:
    return {key: value for part in parts for key, value in mapping(part).items()}


def _patched_templates(train_job: Mapping[str, Value]) -> list[Mapping[str, Value]]:
    """Return the patches for the JobSet's template, in their order. Patches of Kueue are skipped.

    Kueue adds its patches only after it has queued the job.
    """
    patches = mappings(value_at(train_job, "spec", "runtimePatches"))
    return [mapping_at(each, "trainingRuntimeSpec", "template") for each in patches if each.get("manager") != KUEUE]


def _patch_job(job: Mapping[str, Value], train_job: Mapping[str, Value]) -> Mapping[str, Value]:
    template: Mapping[str, Value] = mapping(job.get("template"))
    for patched in _patched_templates(train_job):
        for each in mappings(value_at(patched, "spec", "replicatedJobs")):
            if each.get("name") == job.get("name"):
                template = _merge(template, mapping(each.get("template")))
    return {**job, "template": template}


def _merge(value: Mapping[str, Value], patch: Mapping[str, Value]) -> dict[str, Value]:
    """Return a mapping with a patch applied. Mappings are merged, and lists are replaced."""
    merged = dict(value)
    for key, new in patch.items():
        old = merged.get(key)
        if new is None or key in _RESTRICTED:
            continue
        # The recursion ends, because the YAML reader limits the depth of a document.
        merged[key] = _merge(old, new) if isinstance(old, dict) and isinstance(new, dict) else new
    return merged


def _step(job: Mapping[str, Value]) -> str:
    return text_at(job, "template", "metadata", "labels", STEP)


def _is_resized(job: Mapping[str, Value], policy: Mapping[str, Value]) -> bool:
    return job.get("name") == _NODE if "mpi" in policy else _step(job) == _TRAINER


def _fill(
    job: Mapping[str, Value], train_job: Mapping[str, Value], policy: Mapping[str, Value], *, is_resized: bool
) -> Mapping[str, Value]:
    """Return a Job with its number of pods, and with the TrainJob's resources if it runs the training."""
    template, step = mapping(job.get("template")), _step(job)
    spec = mapping(template.get("spec"))
    pods = integer(spec.get("parallelism"), 1)
    if step == _TRAINER and policy:
        pods = integer(policy.get("numNodes"), 1)
    launcher_is_node = value_at(policy, "mpi", "runLauncherAsNode") is True
    nodes = integer(value_at(train_job, "spec", "trainer", "numNodes"), None)
    if is_resized and nodes is not None:
        pods = max(nodes - 1, 1) if launcher_is_node else nodes
    filled: dict[str, Value] = {**spec, "parallelism": pods, "completions": pods}
    if step == _TRAINER or (launcher_is_node and job.get("name") == _NODE):
        filled["template"] = _with_resources(spec.get("template"), train_job)
    replicas: dict[str, Value] = {"replicas": 1} if step in _SINGLE else {}
    return {**job, **replicas, "template": {**template, "spec": filled}}


def _with_resources(template: Value, train_job: Mapping[str, Value]) -> Value:
    """Return a pod template in which the training container has the resources of the TrainJob."""
    resources = value_at(train_job, "spec", "trainer", "resourcesPerNode")
    if not isinstance(resources, dict) or not isinstance(template, dict):
        return template
    spec = mapping(template.get("spec"))
    containers: list[Value] = [
        {**container, "resources": resources} if text(container.get("name")) == _NODE else dict(container)
        for container in mappings(spec.get("containers"))
    ]
    return {**template, "spec": {**spec, "containers": containers}}
