"""Convert DynamoGraphDeployments from v1alpha1 to v1beta1, and record the origin of each part.

The operator saves fields that v1beta1 does not have as JSON in an annotation. Fields of v1beta1 in this annotation are
restored. Values of a wrong type are skipped, because `graph.shape_problems` reports them. Source: spec/dynamo.md#2.3.
"""

from __future__ import annotations

import json

from krmfn.hints import TYPE_CHECKING, Record
from packwise.lenient import mapping, mappings_in_place, text, value_at

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value


class Written(Record):
    """The place in the file from which a derived value comes: the value at `path`, or its key if `at_key`.

    With `maps_parts`, each part of the derived value comes from the same path below `path`. Otherwise, all parts come
    from the whole value at `path`.
    """

    path: FieldPath
    maps_parts: bool = False
    at_key: bool = False


class Trace(Record):
    """For paths in a derived object, the places in the file from which the values come.

    For a value without an entry, the entry of the closest value around it counts.
    """

    entries: Mapping[FieldPath, Written]

    def find(self, path: FieldPath) -> Written:
        """Return the place in the file from which the value at `path` of the derived object comes."""
        for length in range(len(path), -1, -1):
            known = self.entries.get(path[:length])
            if known is None:
                continue
            rest = path[length:]
            return Written((*known.path, *rest), True) if known.maps_parts and rest else known
        return Written(())

    def compose_after(self, first: Trace) -> Trace:
        """Return the trace of two steps: first the step with the trace `first`, then the step with this trace."""
        entries: dict[FieldPath, Written] = {}
        for path, written in self.entries.items():
            whole = first.find(written.path)
            entries[path] = whole.replace(
                maps_parts=whole.maps_parts and written.maps_parts, at_key=whole.at_key or written.at_key
            )
            if written.maps_parts:
                # In the first step, parts of this value may come from other places.
                start = len(written.path)
                for inner, at in first.entries.items():
                    if len(inner) > start and inner[:start] == written.path:
                        entries[(*path, *inner[start:])] = at
        return Trace(entries)


IDENTITY = Trace({(): Written((), maps_parts=True)})
"""The trace of an unchanged value."""


ALPHA, BETA = "nvidia.com/v1alpha1", "nvidia.com/v1beta1"

SAVED = "nvidia.com/dgd-spec"
"""The annotation with the fields that the version of the object does not have."""

MAIN = "main"
"""The name of the container in which Dynamo runs."""

_SPEC = (
    "annotations",
    "labels",
    "priorityClassName",
    "backendFramework",
    "restart",
    "experimental",
    "providerOverride",
)
COMPONENT_FIELDS = (
    "replicas", "minAvailable", "multinode", "topologyConstraint", "roles", "providerOverride", "modelRef",
    "runtimeVersionOverride", "globalDynamoNamespace", "eppConfig",
)  # fmt: skip
"""Fields of a component with the same spelling in both versions."""

_ALPHA_ONLY = ("serviceName", "dynamoNamespace", "autoscaling", "ingress")
_BETA_ONLY = ("frontendSidecar", "dynamoSidecar", "compilationCache", "engineGroup")
_MODES = {"intraPod": "IntraPod", "interPod": "InterPod"}
_RESOURCES = {"cpu": "cpu", "memory": "memory"}
_GPU = "nvidia.com/gpu"


class Converted(Record):
    """A DynamoGraphDeployment of v1beta1 with the origin of each part."""

    value: Mapping[str, Value]
    trace: Trace


def as_v1beta1(value: Mapping[str, Value]) -> Converted:
    """Return the graph `value` as v1beta1. It may have either version."""
    return to_v1beta1(value) if value.get("apiVersion") == ALPHA else Converted(value, IDENTITY)


def to_v1beta1(value: Mapping[str, Value]) -> Converted:
    """Return the graph `value` of v1alpha1 as v1beta1. Services are sorted by the bytes of their keys."""
    spec = mapping(value.get("spec"))
    saved = _read(value_at(value, "metadata", "annotations", SAVED))
    entries: dict[FieldPath, Written] = {
        (): Written(()),
        ("metadata",): Written(("metadata",), maps_parts=True),
        ("spec",): Written(("spec",)),
    }
    converted: dict[str, Any] = {}
    for key in _SPEC:
        _take(converted, entries, ("spec", key), ("spec", key), spec.get(key))
    _take(converted, entries, ("spec", "env"), ("spec", "envs"), spec.get("envs"))
    constraint = spec.get("topologyConstraint")
    if isinstance(constraint, dict):
        entries["spec", "topologyConstraint"] = Written(("spec", "topologyConstraint"), maps_parts=True)
        profile = ("spec", "topologyConstraint", "topologyProfile")
        entries["spec", "topologyConstraint", "clusterTopologyName"] = Written(profile)
        converted["topologyConstraint"] = _rename_key(constraint, "topologyProfile", "clusterTopologyName")
    services = spec.get("services")
    entries["spec", "components"] = Written(("spec", "services"))
    if isinstance(services, dict):
        keys = sorted([key for key, service in services.items() if isinstance(service, dict)], key=str.encode)
        restored = {entry.get("name"): entry for entry in mappings_in_place(saved.get("components"))}
        converted["components"] = [
            _component(key, mapping(services[key]), place, entries, restored.get(key, {}))
            for place, key in enumerate(keys)
        ]
    alpha_fields: dict[str, Value] = {}
    for key, service in mapping(services).items():
        if part := {field: mapping(service)[field] for field in _ALPHA_ONLY if field in mapping(service)}:
            alpha_fields[key] = part
    save = {key: spec[key] for key in ("pvcs",) if key in spec} | ({"services": alpha_fields} if alpha_fields else {})
    result = {**value, "apiVersion": BETA, "metadata": _save(value, save), "spec": converted}
    return Converted(result, Trace(entries))


def _component(
    key: str, service: Mapping[str, Value], place: int, entries: dict[FieldPath, Written], restored: Mapping[str, Value]
) -> dict[str, Any]:
    old: FieldPath = ("spec", "services", key)
    new: FieldPath = ("spec", "components", place)
    entries[new] = Written(old)
    entries[*new, "name"] = Written(old, at_key=True)
    component: dict[str, Any] = {"name": key}
    kind, sub = service.get("componentType"), service.get("subComponentType")
    if isinstance(kind, str):
        is_sub = kind == "worker" and sub in ("prefill", "decode")
        component["type"] = sub if is_sub else kind
        entries[*new, "type"] = Written((*old, "subComponentType" if is_sub else "componentType"))
    for field in COMPONENT_FIELDS:
        _take(component, entries, (*new, field), (*old, field), service.get(field))
    memory = service.get("sharedMemory")
    if isinstance(memory, dict):
        component["sharedMemorySize"] = "0" if memory.get("disabled") is True else memory.get("size")
        entries[*new, "sharedMemorySize"] = Written((*old, "sharedMemory"))
    if mapping(service.get("scalingAdapter")).get("enabled") is True:
        component["scalingAdapter"] = {}
        entries[*new, "scalingAdapter"] = Written((*old, "scalingAdapter"))
    experimental = _experimental_fields(service, old, new, entries)
    experimental |= mapping(restored.get("experimental"))
    if experimental:
        component["experimental"] = experimental
    template = _pod_template(service, old, new, entries)
    if template:
        component["podTemplate"] = template
    return component | {field: restored[field] for field in _BETA_ONLY if field in restored}


def _experimental_fields(
    service: Mapping[str, Value], old: FieldPath, new: FieldPath, entries: dict[FieldPath, Written]
) -> dict[str, Any]:
    experimental: dict[str, Any] = {}
    for field in ("gpuMemoryService", "failover"):
        part = mapping(service.get(field))
        if part.get("enabled") is True:
            kept = {key: entry for key, entry in part.items() if key != "enabled"}
            mode = kept.get("mode")
            experimental[field] = kept | ({"mode": _MODES.get(mode, mode)} if isinstance(mode, str) else {})
            entries[*new, "experimental", field] = Written((*old, field), maps_parts=True)
    _take(experimental, entries, (*new, "experimental", "checkpoint"), (*old, "checkpoint"), service.get("checkpoint"))
    return experimental


def _pod_template(
    service: Mapping[str, Value], old: FieldPath, new: FieldPath, entries: dict[FieldPath, Written]
) -> dict[str, Any]:
    """Return the pod template of a service, made from extraPodSpec and from its other fields about pods."""
    at: FieldPath = (*new, "podTemplate")
    extra, metadata = mapping(service.get("extraPodSpec")), mapping(service.get("extraPodMetadata"))
    entries[at] = Written(old)
    entries[*at, "metadata"] = Written((*old, "extraPodMetadata"), maps_parts=True)
    entries[*at, "spec"] = Written((*old, "extraPodSpec"), maps_parts=True)
    template: dict[str, Any] = {}
    merged = {
        key: {**mapping(service.get(key)), **mapping(metadata.get(key))}
        for key in ("annotations", "labels")
        if service.get(key) or metadata.get(key)
    }
    for key in merged:
        for name in mapping(service.get(key)):
            if name not in mapping(metadata.get(key)):
                entries[*at, "metadata", key, name] = Written((*old, key, name))
    if merged:
        template["metadata"] = merged
    pod = {key: part for key, part in extra.items() if key not in ("mainContainer", "containers")}
    main = _main_container(service, old, (*at, "spec", "containers", 0), entries)
    others: list[Mapping[str, Value]] = []
    for index, container in enumerate(mappings_in_place(extra.get("containers"))):
        # The operator drops an entry with the name of the container that it makes from mainContainer.
        if container.get("name") != MAIN:
            place = (*at, "spec", "containers", len(others) + bool(main))
            entries[place] = Written((*old, "extraPodSpec", "containers", index), maps_parts=True)
            others.append(container)
    if main or others:
        pod["containers"] = ([main] if main else []) + others
    volumes = _claims(service)
    if volumes:
        entries[*at, "spec", "volumes"] = Written((*old, "volumeMounts"))
        pod["volumes"] = [*mappings_in_place(extra.get("volumes")), *volumes]
    return template | ({"spec": pod} if pod else {})


def _main_container(
    service: Mapping[str, Value], old: FieldPath, at: FieldPath, entries: dict[FieldPath, Written]
) -> dict[str, Any]:
    """Return the container `main`: mainContainer of extraPodSpec, completed from other fields of the service."""
    written = mapping(service.get("extraPodSpec")).get("mainContainer")
    main: dict[str, Any] = dict(mapping(written))
    entries[at] = Written((*old, "extraPodSpec", "mainContainer"), maps_parts=True)
    entries[*at, "name"] = Written((*old, "extraPodSpec", "mainContainer"))
    resources = _resources(service, old, at, entries)
    if resources:
        main["resources"] = _merge_resources(resources, mapping(main.get("resources")), (*at, "resources"), entries)
    for field, key in (("envs", "env"), ("livenessProbe", "livenessProbe"), ("readinessProbe", "readinessProbe")):
        if field in service and service[field] is not None and (key not in main or key == "env"):
            entries[*at, key] = Written((*old, field), maps_parts=True)
            main[key] = (
                [*mappings_in_place(service[field]), *mappings_in_place(main.get("env"))]
                if key == "env"
                else service[field]
            )
    secret = service.get("envFromSecret")
    if isinstance(secret, str):
        entries[*at, "envFrom"] = Written((*old, "envFromSecret"))
        main["envFrom"] = [*mappings_in_place(main.get("envFrom")), {"secretRef": {"name": secret}}]
    mounts = [
        {"name": mount.get("name"), "mountPath": mount.get("mountPoint")}
        for mount in mappings_in_place(service.get("volumeMounts"))
        if isinstance(mount.get("mountPoint"), str)
    ]
    if mounts:
        entries[*at, "volumeMounts"] = Written((*old, "volumeMounts"))
        main["volumeMounts"] = [*mappings_in_place(main.get("volumeMounts")), *mounts]
    return {**main, "name": MAIN} if main or isinstance(written, dict) else {}


def _resources(
    service: Mapping[str, Value], old: FieldPath, at: FieldPath, entries: dict[FieldPath, Written]
) -> dict[str, Any]:
    """Return the resources of the container `main`. The resource of `gpu` is `gpuType`, by default `nvidia.com/gpu`.

    Source: spec/dynamo.md#3.10.
    """
    written = mapping(service.get("resources"))
    resources: dict[str, Any] = {}
    for side in ("requests", "limits"):
        item = written.get(side)
        if not isinstance(item, dict):
            continue
        names = {**_RESOURCES, "gpu": text(item.get("gpuType")) or _GPU}
        resources[side] = {}
        entries[*at, "resources"] = Written((*old, "resources"), maps_parts=True)
        for key, name in names.items():
            if item.get(key) is not None:
                resources[side][name] = item[key]
                entries[*at, "resources", side, name] = Written((*old, "resources", side, key))
        for name, quantity in mapping(item.get("custom")).items():
            resources[side][name] = quantity
            entries[*at, "resources", side, name] = Written((*old, "resources", side, "custom", name))
    if isinstance(written.get("claims"), list):
        resources["claims"] = written["claims"]
    return resources


def _merge_resources(
    dedicated: Mapping[str, Any], main: Mapping[str, Value], at: FieldPath, entries: dict[FieldPath, Written]
) -> dict[str, Any]:
    """Return the resources of a service, overridden key by key by the resources of its mainContainer."""
    merged: dict[str, Any] = {**dedicated, **{key: part for key, part in main.items() if part}}
    for side in ("requests", "limits"):
        amounts = mapping(main.get(side))
        if side in dedicated:
            merged[side] = {**dedicated[side], **amounts}
        for name in amounts:
            entries.pop((*at, side, name), None)
            container = entries[at[:-1]].path
            entries[*at, side, name] = Written((*container, "resources", side, name))
    return merged


def _claims(service: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Return a volume for each PersistentVolumeClaim that a service mounts."""
    names = [mount.get("name") for mount in mappings_in_place(service.get("volumeMounts"))]
    return [
        {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for name in dict.fromkeys(names)
        if isinstance(name, str)
    ]


def _take(
    target: dict[str, Any], entries: dict[FieldPath, Written], new: FieldPath, old: FieldPath, part: Value
) -> None:
    if part is not None:
        target[str(new[-1])] = part
        entries[new] = Written(old, maps_parts=True)


def _rename_key(constraint: Mapping[str, Value], before: str, after: str) -> dict[str, Any]:
    return {after if key == before else key: part for key, part in constraint.items() if key != after}


def _save(value: Mapping[str, Value], save: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of `value` with `save` in the annotation. If `save` is empty, remove the annotation."""
    metadata = dict(mapping(value.get("metadata")))
    annotations = {key: part for key, part in mapping(metadata.get("annotations")).items() if key != SAVED}
    if save:
        annotations[SAVED] = json.dumps(save, sort_keys=True, separators=(",", ":"))
    if annotations:
        metadata["annotations"] = annotations
    elif SAVED in mapping(metadata.get("annotations")):
        del metadata["annotations"]
    return metadata


def _read(saved: Value) -> Mapping[str, Value]:
    if not isinstance(saved, str):
        return {}
    try:
        return mapping(json.loads(saved))
    except (ValueError, RecursionError):
        return {}
