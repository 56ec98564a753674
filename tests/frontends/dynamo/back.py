"""The conversion of v1beta1 back to v1alpha1, which packwise itself never makes. Tests use it to check the conversion.

Source: spec/dynamo.md#2.3, written independently of the conversion under test.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from krmfn.value import Value
from packwise.frontends.dynamo.convert import ALPHA, MAIN, SAVED
from packwise.lenient import mapping, mappings_in_place, text

__all__ = ["to_v1alpha1"]

_SPEC = (
    "annotations", "labels", "priorityClassName", "backendFramework", "restart", "experimental", "providerOverride",
)  # fmt: skip
_COMPONENT = (
    "replicas", "minAvailable", "multinode", "topologyConstraint", "roles", "providerOverride", "modelRef",
    "runtimeVersionOverride", "globalDynamoNamespace", "eppConfig",
)  # fmt: skip
_BETA_ONLY = ("frontendSidecar", "dynamoSidecar", "compilationCache", "engineGroup")
_MODES = {"IntraPod": "intraPod", "InterPod": "interPod"}


def to_v1alpha1(value: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return `value` of v1beta1 as v1alpha1, with the saved fields at their original places."""
    spec = mapping(value.get("spec"))
    metadata = mapping(value.get("metadata"))
    annotations = dict(mapping(metadata.get("annotations")))
    saved = mapping(json.loads(str(annotations.pop(SAVED, "{}"))))
    converted: dict[str, Any] = {key: spec[key] for key in _SPEC if key in spec}
    if "env" in spec:
        converted["envs"] = spec["env"]
    constraint = spec.get("topologyConstraint")
    if isinstance(constraint, dict):
        names = {"clusterTopologyName": "topologyProfile"}
        converted["topologyConstraint"] = {names.get(key, key): part for key, part in constraint.items()}
    components = mappings_in_place(spec.get("components"))
    restored = mapping(saved.get("services"))
    if "components" in spec:
        converted["services"] = {
            name: {**_service(component), **mapping(restored.get(name))}
            for component in components
            if (name := text(component.get("name")))
        }
    if "pvcs" in saved:
        converted["pvcs"] = saved["pvcs"]
    unsaid = [part for component in components if len(part := _unsaid(component)) > 1]
    if unsaid:
        annotations[SAVED] = json.dumps({"components": unsaid}, sort_keys=True, separators=(",", ":"))
    kept = {key: part for key, part in metadata.items() if key != "annotations"}
    metadata = {**kept, "annotations": annotations} if annotations else kept
    return {**value, "apiVersion": ALPHA, "metadata": metadata, "spec": converted}


def _service(component: Mapping[str, Value]) -> dict[str, Any]:
    service: dict[str, Any] = {field: component[field] for field in _COMPONENT if field in component}
    kind = component.get("type")
    if kind in ("prefill", "decode"):
        service |= {"componentType": "worker", "subComponentType": kind}
    elif kind is not None:
        service["componentType"] = kind
    size = component.get("sharedMemorySize")
    if size is not None:
        service["sharedMemory"] = {"disabled": True} if str(size) == "0" else {"size": size}
    if component.get("scalingAdapter") is not None:
        service["scalingAdapter"] = {"enabled": True}
    experimental = mapping(component.get("experimental"))
    for field in ("gpuMemoryService", "failover"):
        if isinstance(experimental.get(field), dict):
            part = mapping(experimental[field])
            mode = text(part.get("mode"))
            service[field] = {"enabled": True, **part} | ({"mode": _MODES.get(mode, mode)} if mode else {})
    if "checkpoint" in experimental:
        service["checkpoint"] = experimental["checkpoint"]
    template = mapping(component.get("podTemplate"))
    if isinstance(template.get("metadata"), dict):
        service["extraPodMetadata"] = template["metadata"]
    if isinstance(template.get("spec"), dict):
        service["extraPodSpec"] = _extra_pod_spec(mapping(template["spec"]))
    return service


def _extra_pod_spec(pod: Mapping[str, Value]) -> dict[str, Any]:
    containers = mappings_in_place(pod.get("containers"))
    main = next((container for container in containers if container.get("name") == MAIN), None)
    others = [container for container in containers if container is not main]
    extra = {key: part for key, part in pod.items() if key != "containers"}
    if main is not None:
        extra["mainContainer"] = main
    return extra | ({"containers": others} if others else {})


def _unsaid(component: Mapping[str, Value]) -> dict[str, Any]:
    """Return the name of a component, and its fields that have no place in v1alpha1."""
    unsaid = {field: component[field] for field in ("name", *_BETA_ONLY) if field in component}
    grove = mapping(component.get("experimental")).get("grove")
    return unsaid | ({"experimental": {"grove": grove}} if grove is not None else {})
