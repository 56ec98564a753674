"""The fields of a DynamoGraphDeployment, of both versions: what is of a wrong type, what the API server prunes.

The tables hold what decides the shape in full, and of the rest the names. Fields of Dynamo's newest releases may be
missing, so an unknown one is a warning. Source: spec/dynamo.md#2.1 and #2.2, Dynamo's API types.
"""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from packwise.fields import Array, Field, Flag, Named, Number, Object, Open, Text, TextMap, field_problems
from packwise.findings.finding import Effect, Problem, Stage
from packwise.frontends.dynamo.convert import ALPHA
from packwise.wording import known_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.fields import Kind

__all__ = ["MISPLACED", "paths_of", "shape_problems"]


def _field(kind: Kind) -> Field:
    """A field; the API server prunes null."""
    return Field(kind, nullable=True)


def _object(fields: Mapping[str, Field]) -> Field:
    return _field(Object("", fields))


_TEXT, _FLAG, _ANY, _MAP, _LIST = (
    _field(Text()), _field(Flag()), _field(Open()), _field(Open("object")), _field(Open("array")),
)  # fmt: skip
_WHOLE = _field(Number(reads_decimals=True))
_TEXTS = _field(TextMap())

_OVERRIDE = _object({"apiVersion": _TEXT, "target": _TEXT, "value": _ANY})
_METADATA = {"annotations": _TEXTS, "labels": _TEXTS}
_COMMON = {
    "replicas": _WHOLE, "minAvailable": _WHOLE, "multinode": _object({"nodeCount": _WHOLE}),
    "topologyConstraint": _object({"packDomain": _TEXT}),
    "roles": _field(Array(Object("", {
        "name": _TEXT, "replicas": _WHOLE, "podTemplate": _MAP, "providerOverride": _OVERRIDE,
    }))),
    "providerOverride": _OVERRIDE, "modelRef": _MAP, "runtimeVersionOverride": _TEXT,
    "globalDynamoNamespace": _FLAG, "eppConfig": _MAP,
}  # fmt: skip
_SPEC = {
    **_METADATA, "priorityClassName": _TEXT, "backendFramework": _TEXT,
    "restart": _object({"id": _TEXT, "strategy": _object({"type": _TEXT, "order": _LIST})}),
    "experimental": _object({
        "kvTransferPolicy": _object({
            "clusterTopologyName": _TEXT, "labelKey": _TEXT, "domain": _TEXT, "enforcement": _TEXT,
            "preferredWeight": _ANY,
        }),
        "componentGroups": _LIST,
    }),
    "providerOverride": _OVERRIDE,
}  # fmt: skip
_GPU_MEMORY = {
    "mode": _TEXT, "deviceClassName": _TEXT, "extraClientContainers": _LIST, "extraClientPods": _LIST,
}  # fmt: skip
_FAILOVER = {"mode": _TEXT, "numShadows": _WHOLE}

_RESOURCES = _object({"cpu": _ANY, "memory": _ANY, "gpu": _ANY, "gpuType": _TEXT, "custom": _MAP})
_SERVICE = Object("", {
    **_COMMON, **_METADATA,
    "componentType": _TEXT, "subComponentType": _TEXT, "serviceName": _TEXT, "dynamoNamespace": _TEXT,
    "autoscaling": _MAP, "envs": _LIST, "envFromSecret": _TEXT,
    "volumeMounts": _LIST, "ingress": _MAP, "sharedMemory": _MAP, "livenessProbe": _MAP, "readinessProbe": _MAP,
    "resources": _object({"requests": _RESOURCES, "limits": _RESOURCES, "claims": _LIST}),
    "extraPodMetadata": _object(_METADATA), "extraPodSpec": _MAP, "scalingAdapter": _object({"enabled": _FLAG}),
    "gpuMemoryService": _object({"enabled": _FLAG, **_GPU_MEMORY}),
    "failover": _object({"enabled": _FLAG, **_FAILOVER}),
    "checkpoint": _MAP, "frontendSidecar": _ANY,
})  # fmt: skip
_ALPHA = _object({
    **_SPEC,
    "topologyConstraint": _object({"topologyProfile": _TEXT, "packDomain": _TEXT}),
    "services": _field(Named(_SERVICE)), "pvcs": _LIST, "envs": _LIST,
})  # fmt: skip

_COMPONENT = Object("", {
    **_COMMON,
    "name": _TEXT, "type": _TEXT, "podTemplate": _object({"metadata": _MAP, "spec": _MAP}), "sharedMemorySize": _ANY,
    "scalingAdapter": _object({}), "frontendSidecar": _TEXT, "dynamoSidecar": _TEXT, "compilationCache": _MAP,
    "engineGroup": _MAP,
    "experimental": _object({
        "gpuMemoryService": _object(_GPU_MEMORY),
        "failover": _object(_FAILOVER),
        "checkpoint": _MAP,
        "grove": _object({"forceScalingGroup": _FLAG}),
    }),
})  # fmt: skip
_BETA = _object({
    **_SPEC,
    "topologyConstraint": _object({"clusterTopologyName": _TEXT, "packDomain": _TEXT}),
    "components": _field(Array(_COMPONENT)), "env": _LIST,
})  # fmt: skip

_ROOTS = {
    is_alpha: Object("", {
        "apiVersion": _TEXT, "kind": _TEXT, "metadata": _MAP, "spec": _ALPHA if is_alpha else _BETA, "status": _ANY,
    })
    for is_alpha in (True, False)
}  # fmt: skip

MISPLACED = {
    ("topologyProfile", False): "clusterTopologyName",
    ("clusterTopologyName", True): "topologyProfile",
    ("services", False): "components",
    ("components", True): "services",
}
"""The name of the other version's field in this one, by its name there and whether this one is v1alpha1."""


def shape_problems(value: Mapping[str, Value]) -> list[Problem]:
    """Wrong types of a DynamoGraphDeployment's fields, and fields that nobody knows, in the file's order."""
    is_alpha = value.get("apiVersion") == ALPHA
    problems = [
        problem if problem.effect is Effect.UNKNOWN else problem.replace(stage=Stage.SCHEMA)
        for problem in field_problems(value, _ROOTS[is_alpha], (), partial(_unknown_field, is_alpha=is_alpha))
    ]
    order = {path: place for place, path in enumerate(paths_of(value, ()))} if problems else {}
    return sorted(problems, key=lambda problem: order[problem.path])


def paths_of(value: Value, path: FieldPath) -> list[FieldPath]:
    """The paths of all mappings and lists within `value`, and of their scalars."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for step, part in entries for inner in paths_of(part, (*path, step)))]


def _unknown_field(path: FieldPath, owner: Object, *, is_alpha: bool) -> Problem:
    key = str(path[-1])
    instead = MISPLACED.get((key, is_alpha))
    if instead in owner.fields:
        hint = f"; this version calls it `{instead}`"
    elif key in {"topologyProfile", "clusterTopologyName"}:
        hint = "; the topology of a component is that of the graph"
    else:
        hint = known_names(key, sorted(owner.fields))
    message = f'is no field of this version that packwise knows, and the API server drops those; got "{key}"{hint}'
    return Problem(path, message, effect=Effect.UNKNOWN)
