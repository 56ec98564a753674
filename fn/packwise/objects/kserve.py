"""The Deployments and LeaderWorkerSets that KServe makes of InferenceServices and LLMInferenceServices.

The objects contain only the fields that schedulers read. Source: spec/podgrouper.md#4.23; KServe v0.20,
pkg/controller/v1beta1/inferenceservice and pkg/controller/v1alpha2/llmisvc.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.lenient import integer, mapping, mapping_at, text, texts, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

ObjectFromService = tuple[dict[str, "Value"], "FieldPath", tuple[tuple["FieldPath", "FieldPath"], ...]]
"""An object, the path in the service from which it is made, and pairs of paths for its other parts.

Each pair has a path in the object, and the path in the service from which this part is made.
"""

_FORMS = ("labels", "annotations")
_COMPONENTS = ("predictor", "transformer", "explainer")
_EXTENSION = frozenset({
    "minReplicas", "maxReplicas", "scaleTarget", "scaleMetric", "scaleMetricType", "autoScaling",
    "containerConcurrency", "timeout", "canaryTrafficPercent", "logger", "batcher", "labels", "annotations",
    "deploymentStrategy", "name", "storageUris", "storageContainerName", "workerSpec",
})  # fmt: skip
"""Fields of a component that are not fields of its pods."""
_MODELS = (
    "model", "sklearn", "xgboost", "tensorflow", "pytorch", "triton", "onnx", "huggingface", "pmml", "lightgbm",
    "paddle", "art",
)  # fmt: skip
"""Fields of a component that become its container `kserve-container`."""
_MODE = "serving.kserve.io/deploymentMode"
_DEPLOYED = frozenset({"", "Standard", "RawDeployment"})
_COPIED = "kueue.x-k8s.io/"
_COPIED_TO_SETS = "leaderworkerset.sigs.k8s.io/"
_POD: FieldPath = ("spec", "template")
_LEADER: FieldPath = ("spec", "leaderWorkerTemplate", "leaderTemplate")
_WORKER: FieldPath = ("spec", "leaderWorkerTemplate", "workerTemplate")


def objects_of_inference_service(value: Mapping[str, Value]) -> Iterator[ObjectFromService]:
    """Yield the Deployment of each component. Yield none if Knative or ModelMesh runs the service.

    A label or annotation of a component overrides the same key of the service. KServe copies all of them to the
    Deployment and to its pods.
    """
    outer = mapping_at(value, "metadata")
    if texts(outer.get("annotations")).get(_MODE, "") not in _DEPLOYED:
        return
    for name in _COMPONENTS:
        component = mapping_at(value, "spec", name)
        if not component:
            continue
        path: FieldPath = ("spec", name)
        metadata = {form: {**texts(outer.get(form)), **texts(component.get(form))} for form in _FORMS}
        pod, at_pod = _pod_of_component(component, path)
        origins = [*at_pod, ((*_POD, "spec"), path), (("spec", "replicas"), (*path, "minReplicas"))]
        for inner in ((), _POD):
            for form in _FORMS:
                at: FieldPath = (*inner, "metadata", form)
                origins += [((*at, key), (*path, form, key)) for key in texts(component.get(form))]
                origins.append((at, ("metadata", form)))
        yield (
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": _metadata(value, f"-{name}", metadata),
                "spec": {
                    "replicas": component.get("minReplicas", 1),
                    "template": {"metadata": _copy(metadata), "spec": pod},
                },
            },
            path,
            tuple(origins),
        )


def _pod_of_component(
    component: Mapping[str, Value], path: FieldPath
) -> tuple[dict[str, Value], list[tuple[FieldPath, FieldPath]]]:
    """Return the spec of a component's pods and the origins of its parts. The last container is made from the model."""
    models = [name for name in _MODELS if isinstance(component.get(name), dict)]
    pod = {key: field for key, field in component.items() if key not in _EXTENSION and key not in _MODELS}
    if not models:
        return pod, []
    written = pod.get("containers")
    containers = list(written) if isinstance(written, list) else []
    model = mapping(component[models[0]])
    pod["containers"] = [*containers, {"name": "kserve-container", "resources": model.get("resources", {})}]
    return pod, [((*_POD, "spec", "containers", len(containers)), (*path, models[0]))]


def objects_of_llm_service(value: Mapping[str, Value]) -> Iterator[ObjectFromService]:
    """Yield the object of the main workload and of the prefill workload.

    A workload with a `worker` becomes a LeaderWorkerSet. Others become a Deployment. KServe copies Kueue's keys of the
    service to the object and to its pods. It copies `labels` and `annotations` of the workload's spec only to the pods.
    """
    for path in (("spec",), ("spec", "prefill")):
        part = value_at(value, *path)
        if isinstance(part, dict):
            yield _workload_of_part(value, part, path)


def _workload_of_part(value: Mapping[str, Value], part: Mapping[str, Value], path: FieldPath) -> ObjectFromService:
    outer = mapping_at(value, "metadata")
    is_set = isinstance(part.get("worker"), dict)
    templates = {_WORKER: "worker"} if is_set else {_POD: "template"}
    if is_set and isinstance(part.get("template"), dict):
        templates[_LEADER] = "template"
    prefixes = {"labels": (_COPIED,), "annotations": (_COPIED, _COPIED_TO_SETS) if is_set else (_COPIED,)}
    copied = {
        form: {key: each for key, each in texts(outer.get(form)).items() if key.startswith(prefixes[form])}
        for form in _FORMS
    }
    origins: list[tuple[FieldPath, FieldPath]] = [(("metadata", form), ("metadata", form)) for form in _FORMS]
    pods: dict[FieldPath, dict[str, Value]] = {}
    for template, field in templates.items():
        metadata = {form: {**copied[form], **texts(part.get(form))} for form in _FORMS}
        pods[template] = {"metadata": _copy(metadata), "spec": part.get(field, {})}
        origins.append(((*template, "spec"), (*path, field)))
        for form in _FORMS:
            at: FieldPath = (*template, "metadata", form)
            origins += [((*at, key), (*path, form, key)) for key in texts(part.get(form))]
            origins.append((at, ("metadata", form)))
    suffix = "-prefill" if path[1:] else ""
    replicas = {"replicas": part["replicas"]} if "replicas" in part else {}
    if not is_set:
        deployment: dict[str, Value] = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": _metadata(value, f"-kserve{suffix}", copied),
            "spec": {**replicas, "template": pods[_POD]},
        }
        return deployment, path, tuple(origins)
    body: dict[str, Value] = {"size": _size(mapping(part.get("parallelism"))), "workerTemplate": pods[_WORKER]}
    if _LEADER in pods:
        body["leaderTemplate"] = pods[_LEADER]
    leader_worker_set: dict[str, Value] = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": _metadata(value, f"-kserve-mn{suffix}", copied),
        "spec": {**replicas, "leaderWorkerTemplate": body},
    }
    origins.append((("spec", "leaderWorkerTemplate", "size"), (*path, "parallelism")))
    return leader_worker_set, path, tuple(origins)


def _size(parallelism: Mapping[str, Value]) -> int:
    """Return the number of pods in a group.

    With data parallelism, this is the number of ranks divided by the ranks of one pod. Otherwise, it is the number of
    pipeline stages.
    """
    data, local, pipeline = [max(integer(parallelism.get(field), 0), 0) for field in ("data", "dataLocal", "pipeline")]
    if data or local:
        return max((data or 1) // (local or 1), 1)
    return pipeline or 1


def _metadata(value: Mapping[str, Value], suffix: str, written: Mapping[str, Mapping[str, str]]) -> dict[str, Value]:
    outer = mapping_at(value, "metadata")
    own: dict[str, Value] = {"name": f"{text(outer.get('name'))}{suffix}"}
    namespace = text(outer.get("namespace"))
    return own | ({"namespace": namespace} if namespace else {}) | _copy(written)


def _copy(written: Mapping[str, Mapping[str, str]]) -> dict[str, Value]:
    return {form: dict(keys) for form, keys in written.items() if keys}
