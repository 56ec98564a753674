"""The fields of a PodCliqueSet, as a table for each API.

Source: Grove's API types; spec/grove.md#1 and #3.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.fields import (
    Array,
    Duration,
    Field,
    Flag,
    IntOrString,
    Number,
    Object,
    Open,
    Quantities,
    Quantity,
    Reference,
    Text,
    TextMap,
)
from packwise.kubernetes.go_types import TYPES
from packwise.topology.known import DOMAINS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath
    from packwise.fields import Kind, ObjectRule
    from packwise.revisions.grove import Revision

_NO_KEYS: Mapping[str, str | None] = MappingProxyType({})


class WorkloadApi(NamedTuple):
    """The difference of one API of PodCliqueSets from the others: fields beside those that all have, and rules."""

    constraint: Object
    """A topologyConstraint, at any of the three levels."""

    clique: Mapping[str, Field] = MappingProxyType({})
    group: Mapping[str, Field] = MappingProxyType({})
    template: Mapping[str, Field] = MappingProxyType({})

    clique_keys: Mapping[str, str | None] = _NO_KEYS
    """The fields that tell cliques apart, where the CRD has such a rule."""

    update_strategies: tuple[str, ...] = ("RollingRecreate", "OnDelete")
    """The types of an updateStrategy, in the order of the enum."""

    rules: tuple[ObjectRule, ...] = ()
    """Rules of the whole object."""


INT32 = Number()
INT64 = Number(64, "int64")


_REPLACED = {
    "podCliqueScalingGroupConfigs": "podCliqueScalingGroups",
    "scalingGroups": "podCliqueScalingGroups",
    "startupType": "cliqueStartupType",
    "scaleConfig": "autoScalingConfig",
}

_ANY = Field(Open())
_TEXT = Field(Text())


def replacement(path: FieldPath) -> str | None:
    """The field that has replaced one of an earlier design or sample; a pod's fields have other such names."""
    return None if "podSpec" in path else _REPLACED.get(str(path[-1]))


_AUTO_SCALING = Field(Object("AutoScalingConfig", {
    "maxReplicas": Field(INT32),
    "metrics": Field(Array(Reference("v2.MetricSpec"), "[]v2.MetricSpec")),
    "minReplicas": Field(INT32),
}))  # fmt: skip

_CLIQUE = {
    "annotations": Field(TextMap()),
    "labels": Field(TextMap()),
    "name": _TEXT,
    "spec": Field(Object("PodCliqueSpec", {
        "autoScalingConfig": _AUTO_SCALING,
        "minAvailable": Field(INT32),
        "podSpec": Field(Reference("v1.PodSpec"), zero_when_absent=True),
        "replicas": Field(INT32),
        "roleName": _TEXT,
        "startsAfter": Field(Array(Text(), "[]string")),
    }), zero_when_absent=True),
}  # fmt: skip

_GROUP = {
    "cliqueNames": Field(Array(Text(), "[]string"), required=True),
    "minAvailable": Field(INT32),
    "name": _TEXT,
    "replicas": Field(INT32),
    "scaleConfig": _AUTO_SCALING,
}  # fmt: skip

_TEMPLATE = {
    "cliqueStartupType": Field(Text(
        ("CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit"),
        "v1alpha1.CliqueStartupType",
    )),
    "headlessServiceConfig": Field(Object("HeadlessServiceConfig", {"publishNotReadyAddresses": Field(Flag())})),
    "priorityClassName": _TEXT,
    "terminationDelay": Field(Duration()),
}  # fmt: skip

_METADATA = Object("ObjectMeta", {
    "annotations": Field(TextMap()),
    "clusterName": Field(Open()),
    "creationTimestamp": _TEXT,
    "deletionGracePeriodSeconds": Field(INT64),
    "deletionTimestamp": _TEXT,
    "finalizers": Field(Array(Text(), "[]string")),
    "generateName": _TEXT,
    "generation": Field(INT64),
    "labels": Field(TextMap()),
    "managedFields": Field(Array(Reference("v1.ManagedFieldsEntry"), "[]v1.ManagedFieldsEntry")),
    "name": _TEXT,
    "namespace": _TEXT,
    "ownerReferences": Field(Array(Reference("v1.OwnerReference"), "[]v1.OwnerReference")),
    "resourceVersion": _TEXT,
    "selfLink": _TEXT,
    "uid": _TEXT,
}, package="v1", apart=True)  # fmt: skip


ALPHA7 = WorkloadApi(Object("TopologyConstraint", {
    "packDomain": Field(Text(DOMAINS, "v1alpha1.TopologyDomain"), zero_when_absent=True),
}))  # fmt: skip
"""The API of Grove v0.1.0-alpha.7."""


class KnownFields(NamedTuple):
    """Names of the fields of each part of a PodCliqueSet.

    `constraint` and `pack` are those of a topologyConstraint, of which Go writes `constraint_texts` even when empty;
    `rolling_update` those of a rollingUpdate.
    """

    spec: frozenset[str]
    template: frozenset[str]
    clique: frozenset[str]
    clique_spec: frozenset[str]
    group: frozenset[str]
    auto_scaling: frozenset[str]
    constraint: frozenset[str]
    constraint_texts: tuple[str, ...]
    pack: frozenset[str]
    rolling_update: frozenset[str]


@cache
def known_fields(revision: Revision) -> KnownFields:
    """The names of the fields that the API of `revision` has."""
    spec = _part(podcliqueset(revision), "spec")
    template = _part(spec, "template")
    clique, group = _part(template, "cliques"), _part(template, "podCliqueScalingGroups")
    clique_spec, constraint = _part(clique, "spec"), _part(template, "topologyConstraint")
    rolling = clique.fields.get("rollingUpdate")
    return KnownFields(
        spec=frozenset(spec.fields),
        template=frozenset(template.fields),
        clique=frozenset(clique.fields),
        clique_spec=frozenset(clique_spec.fields),
        group=frozenset(group.fields),
        auto_scaling=frozenset(_part(clique_spec, "autoScalingConfig").fields),
        constraint=frozenset(constraint.fields),
        constraint_texts=tuple([name for name, field in constraint.fields.items() if field.zero_when_absent]),
        pack=frozenset(_part(constraint, "pack").fields if "pack" in constraint.fields else ()),
        rolling_update=frozenset(rolling.kind.fields if rolling and isinstance(rolling.kind, Object) else ()),
    )


def _part(owner: Object, name: str) -> Object:
    """The object at a field, or in the list there. Raises TypeError where there is none."""
    kind = owner.fields[name].kind
    part = kind.item if isinstance(kind, Array) else kind
    if not isinstance(part, Object):
        raise TypeError(f"{name} of {owner.struct} is no object")
    return part


@cache
def podcliqueset(revision: Revision) -> Object:
    """The PodCliqueSet in the API of `revision`."""
    own = api(revision)
    constraint = {"topologyConstraint": Field(own.constraint)}
    clique = Object("PodCliqueTemplateSpec", _sort_fields({**_CLIQUE, **own.clique, **constraint}))
    group = Object("PodCliqueScalingGroupConfig", _sort_fields({**_GROUP, **own.group, **constraint}))
    chosen = {revision.topology_name_field: _TEXT} if revision.topology_name_field else {}
    template = Object("PodCliqueSetTemplateSpec", _sort_fields({
        **_TEMPLATE,
        **own.template,
        **constraint,
        **chosen,
        "cliques": Field(Array(clique, "[]*v1alpha1.PodCliqueTemplateSpec", own.clique_keys)),
        "podCliqueScalingGroups": Field(Array(group, "[]v1alpha1.PodCliqueScalingGroupConfig")),
    }))  # fmt: skip
    strategy = Object("PodCliqueSetUpdateStrategy", {
        # Where updates roll, the webhook fills in an empty one.
        "type": Field(Text(own.update_strategies, "v1alpha1.UpdateStrategyType", revision.rolling_updates)),
    })  # fmt: skip
    spec = Object("PodCliqueSetSpec", {
        "replicas": Field(INT32),
        "template": Field(template, zero_when_absent=True),
        "updateStrategy": Field(strategy),
    })  # fmt: skip
    return Object("PodCliqueSet", {
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "metadata": Field(_METADATA),
        "spec": Field(spec, zero_when_absent=True),
        "status": _ANY,
    }, rules=own.rules)  # fmt: skip


def _sort_fields(fields: Mapping[str, Field]) -> dict[str, Field]:
    # Go's decoder meets them in this order.
    return dict(sorted(fields.items()))


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


def api(revision: Revision) -> WorkloadApi:
    """The fields of workloads that differ from one API to another."""
    if revision.workload_api == "alpha7":
        return ALPHA7
    # No run of the oldest API, the usual one, pays for the tables of the others.
    from packwise.frontends.grove.schema.releases import APIS

    return APIS[revision.workload_api]
