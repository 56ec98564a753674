"""The fields of a DynamoGraphDeployment, of both versions: what is of a wrong type, what the API server prunes.

The tables hold what decides the shape in full, and of the rest the names. Fields of Dynamo's newest releases may be
missing, so an unknown one is a warning. Source: spec/dynamo.md#2.1 and #2.2, Dynamo's API types.
"""

from __future__ import annotations

from collections.abc import Mapping

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Effect, Problem, Stage
from packwise.frontends.dynamo.convert import ALPHA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["MISPLACED", "shape_problems"]

_TEXT, _WHOLE, _FLAG, _MAP, _LIST, _TEXTS, _ANY = (
    "a string",
    "an integer",
    "true or false",
    "a mapping",
    "a list",
    "{}",
    "",
)
_Fields: TypeAlias = "Mapping[str, str | _Fields | tuple[_Fields]]"
"""A field's kind by its name: a word, the fields of a mapping, of each of a list, or (`*`) of each of a mapping."""

_RESTART: _Fields = {"id": _TEXT, "strategy": {"type": _TEXT, "order": _LIST}}
_OVERRIDE: _Fields = {"apiVersion": _TEXT, "target": _TEXT, "value": _ANY}
_TRANSFER: _Fields = {
    "clusterTopologyName": _TEXT, "labelKey": _TEXT, "domain": _TEXT, "enforcement": _TEXT, "preferredWeight": _ANY,
}  # fmt: skip
_GRAPH_EXPERIMENT: _Fields = {"kvTransferPolicy": _TRANSFER, "componentGroups": _LIST}
_MULTINODE: _Fields = {"nodeCount": _WHOLE}
_ROLES: tuple[_Fields] = ({"name": _TEXT, "replicas": _WHOLE, "podTemplate": _MAP, "providerOverride": _OVERRIDE},)
_CONSTRAINT: _Fields = {"packDomain": _TEXT}
_METADATA: _Fields = {"annotations": _TEXTS, "labels": _TEXTS}
_COMMON: _Fields = {
    "replicas": _WHOLE, "minAvailable": _WHOLE, "multinode": _MULTINODE, "topologyConstraint": _CONSTRAINT,
    "roles": _ROLES, "providerOverride": _OVERRIDE, "modelRef": _MAP, "runtimeVersionOverride": _TEXT,
    "globalDynamoNamespace": _FLAG, "eppConfig": _MAP,
}  # fmt: skip
_SPEC: _Fields = {
    "annotations": _TEXTS, "labels": _TEXTS, "priorityClassName": _TEXT, "backendFramework": _TEXT,
    "restart": _RESTART, "experimental": _GRAPH_EXPERIMENT, "providerOverride": _OVERRIDE,
}  # fmt: skip

_RESOURCES: _Fields = {"cpu": _ANY, "memory": _ANY, "gpu": _ANY, "gpuType": _TEXT, "custom": _MAP}
_SERVICE: _Fields = {
    **_COMMON,
    "componentType": _TEXT, "subComponentType": _TEXT, "serviceName": _TEXT, "dynamoNamespace": _TEXT,
    "autoscaling": _MAP, "annotations": _TEXTS, "labels": _TEXTS, "envs": _LIST, "envFromSecret": _TEXT,
    "volumeMounts": _LIST, "ingress": _MAP, "sharedMemory": _MAP, "livenessProbe": _MAP, "readinessProbe": _MAP,
    "resources": {"requests": _RESOURCES, "limits": _RESOURCES, "claims": _LIST},
    "extraPodMetadata": _METADATA, "extraPodSpec": _MAP, "scalingAdapter": {"enabled": _FLAG},
    "gpuMemoryService": {
        "enabled": _FLAG, "mode": _TEXT, "deviceClassName": _TEXT, "extraClientContainers": _LIST,
        "extraClientPods": _LIST,
    },
    "failover": {"enabled": _FLAG, "mode": _TEXT, "numShadows": _WHOLE},
    "checkpoint": _MAP, "frontendSidecar": _ANY,
}  # fmt: skip
_ALPHA: _Fields = {
    **_SPEC,
    "topologyConstraint": {"topologyProfile": _TEXT, "packDomain": _TEXT},
    "services": {"*": _SERVICE}, "pvcs": _LIST, "envs": _LIST,
}  # fmt: skip

_COMPONENT: _Fields = {
    **_COMMON,
    "name": _TEXT, "type": _TEXT, "podTemplate": {"metadata": _MAP, "spec": _MAP}, "sharedMemorySize": _ANY,
    "scalingAdapter": {}, "frontendSidecar": _TEXT, "dynamoSidecar": _TEXT, "compilationCache": _MAP,
    "engineGroup": _MAP,
    "experimental": {
        "gpuMemoryService": {
            "mode": _TEXT, "deviceClassName": _TEXT, "extraClientContainers": _LIST, "extraClientPods": _LIST,
        },
        "failover": {"mode": _TEXT, "numShadows": _WHOLE},
        "checkpoint": _MAP,
        "grove": {"forceScalingGroup": _FLAG},
    },
}  # fmt: skip
_BETA: _Fields = {
    **_SPEC,
    "topologyConstraint": {"clusterTopologyName": _TEXT, "packDomain": _TEXT},
    "components": (_COMPONENT,), "env": _LIST,
}  # fmt: skip

MISPLACED = {
    ("topologyProfile", False): "clusterTopologyName",
    ("clusterTopologyName", True): "topologyProfile",
    ("services", False): "components",
    ("components", True): "services",
}
"""The name of the other version's field in this one, by its name there and whether this one is v1alpha1."""


def shape_problems(value: Mapping[str, Value]) -> Iterator[Problem]:
    """Wrong types of a DynamoGraphDeployment's fields, and fields that nobody knows."""
    is_alpha = value.get("apiVersion") == ALPHA
    fields: _Fields = {
        "apiVersion": _TEXT, "kind": _TEXT, "metadata": _MAP, "spec": _ALPHA if is_alpha else _BETA, "status": _ANY,
    }  # fmt: skip
    yield from _within(value, fields, (), is_alpha=is_alpha)


def _within(value: Mapping[str, Value], fields: _Fields, path: FieldPath, *, is_alpha: bool) -> Iterator[Problem]:
    every = fields.get("*")
    for key, part in value.items():
        kind = fields.get(key) if every is None else every
        if kind is None:
            yield _unknown_field(key, fields, path, is_alpha=is_alpha)
        # The API server prunes null: a service of null is none.
        elif part is not None:
            yield from _field(part, kind, (*path, key), is_alpha=is_alpha)


def _field(part: Value, kind: str | _Fields | tuple[_Fields], path: FieldPath, *, is_alpha: bool) -> Iterator[Problem]:
    if isinstance(kind, tuple):
        if not isinstance(part, list):
            yield _wrong(path, _LIST, part)
            return
        for index, entry in enumerate(part):
            yield from _field(entry, kind[0], (*path, index), is_alpha=is_alpha)
    elif isinstance(kind, Mapping):
        if isinstance(part, dict):
            yield from _within(part, kind, path, is_alpha=is_alpha)
        else:
            yield _wrong(path, _MAP, part)
    elif kind == _TEXTS:
        if not isinstance(part, dict):
            yield _wrong(path, _MAP, part)
            return
        for key, entry in part.items():
            if not isinstance(entry, str):
                yield _wrong((*path, key), _TEXT, entry)
    elif not _is(part, kind):
        yield _wrong(path, kind, part)


def _is(part: Value, kind: str) -> bool:
    if kind == _WHOLE:
        return type(part) is int or (type(part) is float and part.is_integer())
    wanted = {_TEXT: str, _FLAG: bool, _MAP: dict, _LIST: list}.get(kind)
    return wanted is None or type(part) is wanted


def _wrong(path: FieldPath, kind: str, part: Value) -> Problem:
    from krmfn.errors import describe

    return Problem(path, f"must be {kind}; got {describe(part)}", stage=Stage.SCHEMA)


def _unknown_field(key: str, fields: _Fields, path: FieldPath, *, is_alpha: bool) -> Problem:
    from packwise.wording import known_names

    instead = MISPLACED.get((key, is_alpha))
    if instead in fields:
        hint = f"; this version calls it `{instead}`"
    elif key in {"topologyProfile", "clusterTopologyName"}:
        hint = "; the topology of a component is that of the graph"
    else:
        hint = known_names(key, sorted(fields))
    message = f'is no field of this version that packwise knows, and the API server drops those; got "{key}"{hint}'
    return Problem((*path, key), message, effect=Effect.UNKNOWN)
