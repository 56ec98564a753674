"""The fields of a PodCliqueSet, as a table for each API. Source: Grove's API types; operator.md 1 and 3."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeAlias

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
    from collections.abc import Iterable, Mapping

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.schema.objectrule import ObjectRule
    from packwise.revisions import Revision

    Fields: TypeAlias = Mapping[str, Field]
    # The constraint; what a clique, a group and the template have beside; the fields that tell cliques apart, where the
    # CRD says so; rules of the whole.
    API: TypeAlias = tuple[Object, Fields, Fields, Fields, Mapping[str, str | None], tuple[ObjectRule, ...]]

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


_ALPHA7: API = (Object("TopologyConstraint", {
    "packDomain": Field(Text(DOMAINS, "v1alpha1.TopologyDomain"), zero_when_absent=True),
}), {}, {}, {}, {}, ())  # fmt: skip


def _api(name: str) -> API:
    """The API that a revision calls `name`."""
    if name == "alpha7":
        return _ALPHA7
    # Few runs need another.
    from packwise.frontends.grove.schema import head

    return head.CONSTRAINT, head.CLIQUE, head.GROUP, head.TEMPLATE, {"name": ""}, head.RULES


def podcliqueset(revision: Revision) -> Object:
    """The PodCliqueSet in the API of `revision`."""
    return _podcliqueset(revision.workload_api, revision.topology_name_field)


@cache
def _podcliqueset(name: str, topology_name_field: str | None) -> Object:
    packed, of_clique, of_group, of_template, clique_keys, rules = _api(name)
    constraint = {"topologyConstraint": Field(packed)}
    clique = Object("PodCliqueTemplateSpec", _sorted({**_CLIQUE, **of_clique, **constraint}))
    group = Object("PodCliqueScalingGroupConfig", _sorted({**_GROUP, **of_group, **constraint}))
    own = {topology_name_field: _TEXT} if topology_name_field else {}
    template = Object("PodCliqueSetTemplateSpec", _sorted({
        **_TEMPLATE,
        **of_template,
        **constraint,
        **own,
        "cliques": Field(Array(clique, "[]*v1alpha1.PodCliqueTemplateSpec", clique_keys)),
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
    }, rules=rules)  # fmt: skip


def _sorted(fields: Mapping[str, Field]) -> dict[str, Field]:
    # Go's decoder meets them in this order.
    return dict(sorted(fields.items()))
