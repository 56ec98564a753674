"""The fields of a PodCliqueSet, as a table for each API.

Source: Grove's API types; spec/grove.md#1 and #3.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from packwise.fields import (
    Array,
    Duration,
    Field,
    Flag,
    Object,
    Open,
    Reference,
    Text,
    TextMap,
)
from packwise.revisions.grove import API_FIELDS
from packwise.topology.known import DOMAINS
from packwise.validate.decode import INT32, INT64, Decoder, ObjectTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.fields import ObjectRule
    from packwise.findings import Problem
    from packwise.revisions.grove import Revision

_NO_KEYS: Mapping[str, str | None] = MappingProxyType({})


class WorkloadApi(Record):
    """The fields and rules of one PodCliqueSet API that not all APIs share."""

    constraint: Object
    """A topologyConstraint, at any of the three levels."""

    clique: Mapping[str, Field] = MappingProxyType({})
    clique_spec: Mapping[str, Field] = MappingProxyType({})
    group: Mapping[str, Field] = MappingProxyType({})
    template: Mapping[str, Field] = MappingProxyType({})

    clique_keys: Mapping[str, str | None] = _NO_KEYS
    """The fields that must be unique among cliques, if the CRD has such a rule."""

    update_strategies: tuple[str, ...] = ("RollingRecreate", "OnDelete")
    """The types of an updateStrategy, in the order of the enum."""

    rules: tuple[ObjectRule, ...] = ()
    """Rules of the whole object."""


_REPLACED = {
    "podCliqueScalingGroupConfigs": "podCliqueScalingGroups",
    "scalingGroups": "podCliqueScalingGroups",
    "startupType": "cliqueStartupType",
    "scaleConfig": "autoScalingConfig",
}

_ANY = Field(Open())
_TEXT = Field(Text())


def replacement(path: FieldPath) -> str | None:
    """Return the field that replaced one of an earlier design or sample. Fields of pods have such names too and are
    excluded.
    """
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
}

_CLIQUE_SPEC = {
    "autoScalingConfig": _AUTO_SCALING,
    "minAvailable": Field(INT32),
    "podSpec": Field(Reference("v1.PodSpec"), zero_when_absent=True),
    "replicas": Field(INT32),
    "roleName": _TEXT,
    "startsAfter": Field(Array(Text(), "[]string")),
}

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


class KnownFields(Record):
    """Names of the fields of each part of a PodCliqueSet.

    `constraint` and `pack` are the fields of a topologyConstraint. Go writes its `constraint_texts` even when empty.
    `rolling_update` are the fields of a rollingUpdate.
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
        constraint_texts=tuple(name for name, field in constraint.fields.items() if field.zero_when_absent),
        pack=frozenset(_part(constraint, "pack").fields if "pack" in constraint.fields else ()),
        rolling_update=frozenset(rolling.kind.fields if rolling and isinstance(rolling.kind, Object) else ()),
    )


def _part(owner: Object, name: str) -> Object:
    """Return the object at a field or in the list there. Raise TypeError if there is none."""
    kind = owner.fields[name].kind
    part = kind.item if isinstance(kind, Array) else kind
    if not isinstance(part, Object):
        raise TypeError(f"{name} of {owner.struct} is no object")
    return part


@cache
def podcliqueset(revision: Revision) -> Object:
    """The PodCliqueSet in the API of `revision`."""
    own = api(revision.workload_api)
    constraint = {"topologyConstraint": Field(own.constraint)}
    clique_spec = Object("PodCliqueSpec", _sort_fields({**_CLIQUE_SPEC, **own.clique_spec}))
    own_spec = {"spec": Field(clique_spec, zero_when_absent=True)}
    clique = Object("PodCliqueTemplateSpec", _sort_fields({**_CLIQUE, **own.clique, **own_spec, **constraint}))
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
        # With rolling updates, the webhook sets an empty one.
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
    # Go's decoder reads them in this order.
    return dict(sorted(fields.items()))


def api(name: str) -> WorkloadApi:
    """The fields of workloads that differ from one API to another, by the name of the API."""
    if name == "alpha7":
        return ALPHA7
    later = API_FIELDS.get(name)
    if later is None:
        # A run of the oldest API, the usual one, does not build the tables of the others.
        from packwise.frontends.grove.apis import APIS

        return APIS[name]
    before = api(later.beyond)
    return before.replace(
        template={**before.template, **later.template},
        clique={**before.clique, **later.clique},
        clique_spec={**before.clique_spec, **later.clique_spec},
        group={**before.group, **later.group},
        update_strategies=(*later.strategies, *before.update_strategies),
    )


def check_shape(value: Value, revision: Revision, *, new: bool = True) -> list[Problem]:
    """Return decode problems in the decoder's order, then schema problems, then unknown fields in the file's order.

    `value` is the object as written, before defaulting. `new` is true if the cluster does not know it yet. An object
    with a decode problem is not fit for defaulting and rules.
    """
    decoder = _SetDecoder()
    decoder.read(value if value is not None else {}, _root(revision, new))
    return [*decoder.decode, *decoder.schema, *decoder.unknown]


class _SetDecoder(Decoder):
    __slots__ = ()

    def replacement(self, path: FieldPath) -> str | None:
        return replacement(path)


@cache
def _root(revision: Revision, new: bool) -> ObjectTable:
    root = podcliqueset(revision)
    rules = tuple(rule for rule in root.rules if new or not rule.new_only)
    return ObjectTable(lambda: root.replace(rules=rules))
