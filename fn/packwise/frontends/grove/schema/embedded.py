"""Kubernetes' own types as parts of a workload: the fields that Go decodes, and what the CRD adds to them."""

from __future__ import annotations

from functools import cache

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.grove.schema.kinds import (
    INT32,
    INT64,
    Array,
    Field,
    Flag,
    IntOrString,
    Object,
    Open,
    Quantities,
    Quantity,
    Reference,
    Text,
    TextMap,
)  # fmt: skip
from packwise.kubernetes.go_types import TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.frontends.grove.schema.kinds import Kind

__all__ = ["KEYS", "REQUIRED", "struct"]

_BY_NAME: Mapping[str, str | None] = {"name": None}

KEYS: Mapping[str, Mapping[str, str | None]] = {
    "v1.Container.env": _BY_NAME,
    "v1.Container.ports": {"containerPort": None, "protocol": "TCP"},
    "v1.Container.volumeDevices": {"devicePath": None},
    "v1.Container.volumeMounts": {"mountPath": None},
    "v1.EphemeralContainer.env": _BY_NAME,
    "v1.EphemeralContainer.ports": {"containerPort": None, "protocol": "TCP"},
    "v1.EphemeralContainer.volumeDevices": {"devicePath": None},
    "v1.EphemeralContainer.volumeMounts": {"mountPath": None},
    "v1.PodSpec.containers": _BY_NAME,
    "v1.PodSpec.ephemeralContainers": _BY_NAME,
    "v1.PodSpec.hostAliases": {"ip": None},
    "v1.PodSpec.imagePullSecrets": {"name": ""},
    "v1.PodSpec.initContainers": _BY_NAME,
    "v1.PodSpec.resourceClaims": _BY_NAME,
    "v1.PodSpec.schedulingGates": _BY_NAME,
    "v1.PodSpec.topologySpreadConstraints": {"topologyKey": None, "whenUnsatisfiable": None},
    "v1.PodSpec.volumes": _BY_NAME,
    "v1.ResourceRequirements.claims": _BY_NAME,
}
"""Fields that tell the entries of a list apart, with the default of each. Source: Grove v0.1.0-alpha.7's CRD."""

REQUIRED = frozenset({
    "v1.CephFSVolumeSource.monitors",
    "v1.NodeSelector.nodeSelectorTerms",
    "v1.OpaqueDeviceConfiguration.parameters",
    "v1.PodSpec.containers",
    "v1.RBDVolumeSource.monitors",
    "v1.ScaleIOVolumeSource.secretRef",
})  # fmt: skip
"""Required lists and pointers: Go writes an absent one as null. Other required fields it writes as zero values."""

_LEAVES: Mapping[str, Kind] = {
    "bool": Flag(),
    "int32": INT32,
    "int64": INT64,
    "map[v1.QualifiedName]resource.Quantity": Quantities("map[v1.QualifiedName]resource.Quantity"),
    "runtime.RawExtension": Open(),
    "intstr.IntOrString": IntOrString(),
    "map[string]string": TextMap(),
    "resource.Quantity": Quantity(),
    "v1.FieldsV1": Open(),
    "v1.ResourceList": Quantities(),
    "v1.Time": Text(),
}


@cache
def struct(go: str) -> Object:
    """The object that Go calls `go` (`v1.PodSpec`). Read when it is first asked for: a workload has few of them."""
    package, _, name = go.partition(".")
    return Object(name, dict([_field(go, entry) for entry in TYPES[go].split(" ")]), package)


def _field(owner: str, entry: str) -> tuple[str, Field]:
    name, _, go = entry.partition(":")
    at = f"{owner}.{name}"
    return name, Field(_kind(go, KEYS.get(at, {})), required=at in REQUIRED)


def _kind(go: str, keys: Mapping[str, str | None]) -> Kind:
    if go.startswith("[]"):
        return Array(_kind(go.removeprefix("[]"), {}), go, keys)
    if go in TYPES:
        return Reference(go)
    return _LEAVES[go] if go in _LEAVES else Text(go=go)
