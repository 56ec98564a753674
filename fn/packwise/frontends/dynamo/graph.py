"""A DynamoGraphDeployment: the tables of its fields, and the records that rules and `shape` read.

The tables describe in full the fields that decide the shape. For other fields, they only have the name. Newer releases
of Dynamo may have more fields, so an unknown field is a warning. The records have the form of v1beta1. Source:
spec/dynamo.md#2.1, #2.2, #2.4 and #3.6, Dynamo's API types.
"""

from __future__ import annotations

import re
from functools import partial

from krmfn.hints import TYPE_CHECKING, Record
from packwise.fields import Array, ByName, Field, Flag, Number, Object, Open, Text, TextMap, field_problems
from packwise.findings import Effect, Problem, Stage
from packwise.frontends.dynamo.convert import ALPHA, MAIN, as_v1beta1
from packwise.lenient import (
    entries,
    mapping,
    mapping_at,
    mappings_by_place,
    mappings_in_place,
    strings,
    text,
    texts,
    whole_number,
)
from packwise.wording import known_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.fields import Kind
    from packwise.frontends.dynamo.convert import Trace

# The tables of both versions show wrong types, and fields that the API server prunes.


def _field(kind: Kind) -> Field:
    """Return a field that may be null, because the API server prunes null."""
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
    "services": _field(ByName(_SERVICE)), "pvcs": _LIST, "envs": _LIST,
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
"""The right name of a field that a user wrote with the name of the other version.

The second part of a key is True if the manifest has the version v1alpha1.
"""


def shape_problems(value: Mapping[str, Value]) -> list[Problem]:
    """Return the wrong types and the unknown fields of a DynamoGraphDeployment, in the order of the file."""
    is_alpha = value.get("apiVersion") == ALPHA
    problems = [
        problem if problem.effect is Effect.UNKNOWN else problem.replace(stage=Stage.SCHEMA)
        for problem in field_problems(value, _ROOTS[is_alpha], (), partial(_unknown_field, is_alpha=is_alpha))
    ]
    order = {path: place for place, path in enumerate(paths_of(value, ()))} if problems else {}
    return sorted(problems, key=lambda problem: order[problem.path])


def paths_of(value: Value, path: FieldPath) -> list[FieldPath]:
    """Return `path` and the paths of all values within `value`, which is found at `path`."""
    parts = value.items() if isinstance(value, dict) else enumerate(entries(value))
    return [path, *(inner for step, part in parts for inner in paths_of(part, (*path, step)))]


def _unknown_field(path: FieldPath, owner: Object, *, is_alpha: bool) -> Problem:
    key = str(path[-1])
    instead = MISPLACED.get((key, is_alpha))
    if instead in owner.fields:
        hint = f"; this version calls it `{instead}`"
    elif key in {"topologyProfile", "clusterTopologyName"}:
        hint = "; a component uses the topology of the graph"
    else:
        hint = known_names(key, sorted(owner.fields))
    message = f'the API server drops the unknown field "{key}"{hint}'
    return Problem(path, message, effect=Effect.UNKNOWN)


BACKENDS = ("sglang", "vllm", "trtllm")
WORKERS = ("worker", "prefill", "decode")
"""The types of components that run a backend."""

CPU_TYPES = ("frontend", "planner", "epp")
"""The types of components that run without a GPU."""

INTER_POD = "InterPod"

_COMMAND_ENDS = re.compile(r"[|&;]")
_PYTHON = re.compile(r"python[0-9.]*\s")
_MODULE = re.compile(r"-m\s")
_BACKEND = re.compile(r"dynamo\.(vllm|sglang|trtllm)")


class GraphConstraint(Record):
    """A topologyConstraint of a graph or a component. Only the constraint of a graph names a topology."""

    pack_domain: str
    topology_name: str = ""


class Override(Record):
    """A providerOverride. `target` is None if the manifest has no target."""

    api_version: str
    target: str | None
    value: Value
    path: FieldPath


class Component(Record):
    """An entry of `spec.components`. `place` is its index. `nodes` is 1 if it is not multinode."""

    place: int
    name: str
    type: str
    replicas: int
    replicas_written: bool
    min_available: int | None
    nodes: int
    constraint: GraphConstraint | None
    inter_pod: bool
    shadows: int
    forced_group: bool
    scaling_adapter: bool
    waits_for_checkpoint: bool
    backends: tuple[str, ...]
    template: Mapping[str, Value]
    value: Mapping[str, Value]
    override: Override | None

    @property
    def lower_name(self) -> str:
        """Return the name in lower case, as it is in Grove's objects."""
        return self.name.lower()

    @property
    def is_multinode(self) -> bool:
        """Return True if a replica has more than one node."""
        return self.nodes > 1

    @property
    def uses_group(self) -> bool:
        """Return True if the component becomes a PodCliqueScalingGroup. Source: spec/dynamo.md#3.4."""
        return self.is_multinode or self.inter_pod or self.forced_group

    @property
    def pod_spec(self) -> Mapping[str, Value]:
        """Return the pod spec of the component's pod template."""
        return mapping(self.template.get("spec"))

    @property
    def main(self) -> Mapping[str, Value]:
        """Return the container that runs Dynamo, or an empty mapping."""
        containers = [each for each in mappings_in_place(self.pod_spec.get("containers")) if each.get("name") == MAIN]
        return containers[0] if containers else mapping(None)

    @property
    def pack_domain(self) -> str:
        """Return the domain into which each replica is packed, or ""."""
        return self.constraint.pack_domain if self.constraint is not None else ""

    def path(self, *steps: str | int) -> FieldPath:
        """Return the path of a field of the component in the graph."""
        return ("spec", "components", self.place, *steps)


class Graph(Record):
    """A DynamoGraphDeployment. A value of a wrong type counts as absent, because `shape_problems` reports it."""

    name: str
    namespace: str
    annotations: Mapping[str, str]
    own_labels: Mapping[str, str]
    own_annotations: Mapping[str, str]
    priority_class: str
    backend: str
    constraint: GraphConstraint | None
    restart: bool
    components: tuple[Component, ...]
    override: Override | None
    value: Mapping[str, Value]
    is_alpha: bool

    @classmethod
    def read(cls, value: Mapping[str, Value], *, is_alpha: bool) -> Graph:
        """Return the graph in `value`, which is v1beta1. `is_alpha` is true if it was converted from v1alpha1."""
        metadata, spec = mapping(value.get("metadata")), mapping(value.get("spec"))
        return cls(
            name=text(metadata.get("name")),
            namespace=text(metadata.get("namespace")),
            annotations=texts(metadata.get("annotations")),
            own_labels=texts(spec.get("labels")),
            own_annotations=texts(spec.get("annotations")),
            priority_class=text(spec.get("priorityClassName")),
            backend=text(spec.get("backendFramework")),
            constraint=_constraint(spec.get("topologyConstraint")),
            restart=spec.get("restart") is not None,
            components=tuple(_component(place, entry) for place, entry in mappings_by_place(spec.get("components"))),
            override=_override(spec.get("providerOverride"), ("spec", "providerOverride")),
            value=mapping(value),
            is_alpha=is_alpha,
        )

    @property
    def is_constrained(self) -> bool:
        """Return True if the graph or a component has a topologyConstraint."""
        return self.constraint is not None or any(each.constraint is not None for each in self.components)

    @property
    def pack_domain(self) -> str:
        """Return the domain into which the whole graph is packed, or ""."""
        return self.constraint.pack_domain if self.constraint is not None else ""

    @property
    def topology_name(self) -> str:
        """Return the topology that the graph names, or ""."""
        return self.constraint.topology_name if self.constraint is not None else ""

    @property
    def experimental_fields(self) -> Mapping[str, Value]:
        """Return the experimental fields of the whole graph."""
        return mapping_at(self.value, "spec", "experimental")

    @property
    def overrides(self) -> tuple[Override, ...]:
        """Return every providerOverride: of the graph, of its components, and of their roles."""
        parts = [self.override]
        for component in self.components:
            parts.append(component.override)
            parts += [
                _override(role.get("providerOverride"), component.path("roles", place, "providerOverride"))
                for place, role in enumerate(mappings_in_place(component.value.get("roles")))
            ]
        return tuple(part for part in parts if part is not None)

    def backend_of(self, component: Component) -> str:
        """Return the backend of a component. Return "" if it is not a worker.

        The command names the backend. If it does not, the backend of the graph counts.
        """
        if component.type not in WORKERS:
            return ""
        return component.backends[0] if len(component.backends) == 1 else self.backend


def read_graph(item: KubeObject) -> tuple[Graph, Trace]:
    """Return the graph in an object of either version, and the place in the object for each part of the graph."""
    converted = as_v1beta1(item.value)
    return Graph.read(converted.value, is_alpha=item.get(("apiVersion",)) == ALPHA), converted.trace


def _component(place: int, value: Mapping[str, Value]) -> Component:
    multinode, experimental = value.get("multinode"), mapping(value.get("experimental"))
    nodes = whole_number(mapping(multinode).get("nodeCount"), 2) if isinstance(multinode, dict) else 1
    memory, failover = experimental.get("gpuMemoryService"), experimental.get("failover")
    inter_pod = isinstance(memory, dict) and memory.get("mode") == INTER_POD
    fails_over = inter_pod and isinstance(failover, dict) and failover.get("mode") == INTER_POD
    checkpoint = mapping(experimental.get("checkpoint"))
    least = value.get("minAvailable")
    template = mapping(value.get("podTemplate"))
    return Component(
        place=place,
        name=text(value.get("name")),
        type=text(value.get("type")),
        replicas=whole_number(value.get("replicas"), 1),
        replicas_written=value.get("replicas") is not None,
        min_available=None if least is None else whole_number(least, 1),
        nodes=nodes,
        constraint=_constraint(value.get("topologyConstraint")),
        inter_pod=inter_pod,
        shadows=whole_number(mapping(failover).get("numShadows"), 1) if fails_over else 0,
        forced_group=mapping(experimental.get("grove")).get("forceScalingGroup") is True,
        scaling_adapter=value.get("scalingAdapter") is not None,
        waits_for_checkpoint=checkpoint.get("enabled") is True
        and checkpoint.get("startupPolicy") == "WaitForCheckpoint",
        backends=_backends(template),
        template=template,
        value=value,
        override=_override(value.get("providerOverride"), ("spec", "components", place, "providerOverride")),
    )


def _constraint(value: Value) -> GraphConstraint | None:
    if not isinstance(value, dict):
        return None
    return GraphConstraint(text(value.get("packDomain")), text(value.get("clusterTopologyName")))


def _override(value: Value, path: FieldPath) -> Override | None:
    if not isinstance(value, dict):
        return None
    target = value.get("target")
    return Override(
        text(value.get("apiVersion")), target if isinstance(target, str) else None, value.get("value"), path
    )


def _backends(template: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the backends that the command of the container `main` runs, without duplicates."""
    for container in mappings_in_place(mapping(template.get("spec")).get("containers")):
        if container.get("name") == MAIN:
            words = [*strings(container.get("command")), *strings(container.get("args"))]
            commands = _COMMAND_ENDS.split(" ".join(words))
            return tuple(dict.fromkeys([backend for command in commands for backend in _backends_of(command)]))
    return ()


def _backends_of(command: str) -> list[str]:
    """Return the backends in one command that starts Python with a module.

    The operator's patterns find the same backends, but they do not always take linear time.
    """
    python = _PYTHON.search(command)
    module = _MODULE.search(command, python.end()) if python else None
    return _BACKEND.findall(command, module.end()) if module else []
