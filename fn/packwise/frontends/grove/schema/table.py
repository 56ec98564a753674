"""The fields of a PodCliqueSet, as a table for each API. Source: Grove's API types; operator.md 1 and 3."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from packwise.frontends.grove.schema import head
from packwise.frontends.grove.schema.kinds import (
    INT32,
    INT64,
    Array,
    Duration,
    Field,
    Flag,
    Object,
    ObjectRule,
    Open,
    Reference,
    Text,
    TextMap,
)  # fmt: skip
from packwise.topology import DOMAINS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.fieldpath import FieldPath
    from packwise.revisions import Revision

__all__ = ["podcliqueset", "replacement"]

_REPLACED = {
    "podCliqueScalingGroupConfigs": "podCliqueScalingGroups",
    "scalingGroups": "podCliqueScalingGroups",
    "startupType": "cliqueStartupType",
    "scaleConfig": "autoScalingConfig",
}

_ANY = Field(Open())
_TEXT = Field(Text())


def replacement(path: FieldPath) -> str | None:
    """What stands in the place of a field of an earlier design or sample; a pod's fields have other such names."""
    return None if "podSpec" in path else _REPLACED.get(str(path[-1]))


def _open(names: Iterable[str]) -> dict[str, Field]:
    return dict.fromkeys(names, _ANY)


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

_STRATEGY = Object("PodCliqueSetUpdateStrategy", {
    "type": Field(Text(("RollingRecreate", "OnDelete"), "v1alpha1.UpdateStrategyType", empty_is_absent=True)),
})  # fmt: skip

_METADATA = Object("ObjectMeta", {
    "annotations": Field(TextMap()),
    "finalizers": Field(Array(Text(), "[]string")),
    "generateName": _TEXT,
    "generation": Field(INT64),
    "labels": Field(TextMap()),
    "name": _TEXT,
    "namespace": _TEXT,
    **_open(("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "managedFields", "ownerReferences",
             "resourceVersion", "selfLink", "uid", "clusterName")),
}, package="v1")  # fmt: skip


class _Api(NamedTuple):
    """Where the APIs differ: `constraint`, what a clique, a group and the template have beside, `rules` of the whole.

    `clique_keys` are the fields that tell cliques apart, where the CRD says so.
    """

    constraint: Object
    clique: Mapping[str, Field] = {}
    group: Mapping[str, Field] = {}
    template: Mapping[str, Field] = {}
    clique_keys: Mapping[str, str | None] = {}
    rules: tuple[ObjectRule, ...] = ()


_APIS = {
    "alpha7": _Api(Object("TopologyConstraint", {
        "packDomain": Field(Text(DOMAINS, "v1alpha1.TopologyDomain"), zero_when_absent=True),
    })),
    "head": _Api(head.CONSTRAINT, head.CLIQUE, head.GROUP, head.TEMPLATE, {"name": ""}, head.RULES),
}  # fmt: skip
"""By the name that a revision has for it."""


def podcliqueset(revision: Revision) -> Object:
    """The PodCliqueSet in the API of `revision`."""
    return _podcliqueset(revision.workload_api, revision.topology_name_field)


@cache
def _podcliqueset(name: str, topology_name_field: str | None) -> Object:
    api = _APIS[name]
    constraint = {"topologyConstraint": Field(api.constraint)}
    clique = Object("PodCliqueTemplateSpec", _sorted({**_CLIQUE, **api.clique, **constraint}))
    group = Object("PodCliqueScalingGroupConfig", _sorted({**_GROUP, **api.group, **constraint}))
    own = {topology_name_field: _TEXT} if topology_name_field else {}
    template = Object("PodCliqueSetTemplateSpec", _sorted({
        **_TEMPLATE,
        **api.template,
        **constraint,
        **own,
        "cliques": Field(Array(clique, "[]*v1alpha1.PodCliqueTemplateSpec", api.clique_keys)),
        "podCliqueScalingGroups": Field(Array(group, "[]v1alpha1.PodCliqueScalingGroupConfig")),
    }))  # fmt: skip
    spec = Object("PodCliqueSetSpec", {
        "replicas": Field(INT32),
        "template": Field(template, zero_when_absent=True),
        "updateStrategy": Field(_STRATEGY),
    })  # fmt: skip
    return Object("PodCliqueSet", {
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "metadata": Field(_METADATA),
        "spec": Field(spec, zero_when_absent=True),
        "status": _ANY,
    }, rules=api.rules)  # fmt: skip


def _sorted(fields: Mapping[str, Field]) -> dict[str, Field]:
    # Go's decoder meets them in this order.
    return dict(sorted(fields.items()))
