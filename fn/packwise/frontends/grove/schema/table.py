"""The fields of a PodCliqueSet, as a table. Source: Grove v0.1.0-alpha.7's API; operator.md 1 and 3."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from packwise.frontends.grove.schema.kinds import (
    INT32,
    INT64,
    Array,
    Duration,
    Field,
    Flag,
    Object,
    Open,
    Reference,
    Text,
    TextMap,
)  # fmt: skip
from packwise.topology import DOMAINS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.fieldpath import FieldPath

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


_CONSTRAINT = Field(Object("TopologyConstraint", {
    "packDomain": Field(Text(DOMAINS, "v1alpha1.TopologyDomain"), zero_when_absent=True),
}))  # fmt: skip

_AUTO_SCALING = Field(Object("AutoScalingConfig", {
    "maxReplicas": Field(INT32),
    "metrics": Field(Array(Reference("v2.MetricSpec"), "[]v2.MetricSpec")),
    "minReplicas": Field(INT32),
}))  # fmt: skip

_CLIQUE = Object("PodCliqueTemplateSpec", {
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
    "topologyConstraint": _CONSTRAINT,
})  # fmt: skip

_GROUP = Object("PodCliqueScalingGroupConfig", {
    "cliqueNames": Field(Array(Text(), "[]string"), required=True),
    "minAvailable": Field(INT32),
    "name": _TEXT,
    "replicas": Field(INT32),
    "scaleConfig": _AUTO_SCALING,
    "topologyConstraint": _CONSTRAINT,
})  # fmt: skip

_TEMPLATE = {
    "cliqueStartupType": Field(Text(
        ("CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit"),
        "v1alpha1.CliqueStartupType",
    )),
    "cliques": Field(Array(_CLIQUE, "[]*v1alpha1.PodCliqueTemplateSpec")),
    "headlessServiceConfig": Field(Object("HeadlessServiceConfig", {"publishNotReadyAddresses": Field(Flag())})),
    "podCliqueScalingGroups": Field(Array(_GROUP, "[]v1alpha1.PodCliqueScalingGroupConfig")),
    "priorityClassName": _TEXT,
    "terminationDelay": Field(Duration()),
    "topologyConstraint": _CONSTRAINT,
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


@cache
def podcliqueset(topology_name_field: str | None) -> Object:
    """The PodCliqueSet; `topology_name_field` is the revision's own field of `spec.template`, if it has one."""
    named = {topology_name_field: _TEXT} if topology_name_field else {}
    template = Object("PodCliqueSetTemplateSpec", dict(sorted({**_TEMPLATE, **named}.items())))
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
    })  # fmt: skip
