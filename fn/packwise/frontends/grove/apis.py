"""The fields and rules that each of Grove's releases adds to the release before it.

Source: its API types; spec/grove.md#3, spec/grove-releases.md#2.1, #2.2, #2.6; the CRDs of alpha.8 and alpha.9.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.fields import Array, Field, Object, ObjectRule, Reference, Text, TextMap
from packwise.frontends.grove.podcliqueset import ALPHA7, WorkloadApi
from packwise.kubernetes import ErrorType
from packwise.lenient import value_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value


_TEXT = Field(Text())
_NAMES = Field(Array(Text(), "[]string"))
_DOMAIN = Field(Text(
    go="v1alpha1.TopologyDomain", pattern="^[a-z][a-z0-9-]*$", max_length=63, min_length=1
))  # fmt: skip


def _has_field(value: Value, key: str) -> bool:
    """Return True if `value` is a mapping with the field `key`. Null counts as absent: the API server prunes it."""
    return isinstance(value, dict) and value.get(key) is not None


def _names_no_domain(pack: Mapping[str, Value]) -> Sequence[FieldPath]:
    return () if _has_field(pack, "required") or _has_field(pack, "preferred") else ((),)


def _packs_nothing(constraint: Mapping[str, Value]) -> Sequence[FieldPath]:
    return () if _has_field(constraint, "pack") or _has_field(constraint, "packDomain") else ((),)


def _packs_twice(constraint: Mapping[str, Value]) -> Sequence[FieldPath]:
    if not _has_field(constraint, "packDomain") or not _has_field(constraint.get("pack"), "required"):
        return ()
    return (("packDomain",),)


_PACK = Object("TopologyPackConstraint", {"preferred": _DOMAIN, "required": _DOMAIN}, rules=(
    ObjectRule(
        _names_no_domain,
        (),
        ErrorType.REQUIRED,
        "pack must specify at least one of required or preferred",
        "must set `required`, `preferred`, or both",
    ),
))  # fmt: skip

_CONSTRAINT = Object("TopologyConstraint", {
    "pack": Field(_PACK),
    "packDomain": _DOMAIN,
    "topologyName": _TEXT,
}, rules=(
    ObjectRule(
        _packs_nothing,
        ("pack",),
        ErrorType.REQUIRED,
        "topologyConstraint must specify pack or deprecated packDomain",
        "must set `pack`, for example `pack: {required: rack}`",
    ),
    ObjectRule(
        _packs_twice,
        ("pack", "required"),
        ErrorType.INVALID,
        "must not set both pack.required and deprecated packDomain",
        "packDomain conflicts with pack.required and is deprecated; remove it",
    ),
))  # fmt: skip


def _sharing(struct: str, filter_struct: str, *children: str) -> Field:
    fields = {
        "name": _TEXT,
        "namespace": _TEXT,
        "scope": Field(Text(("AllReplicas", "PerReplica"), "v1alpha1.ResourceSharingScope"), zero_when_absent=True),
    }
    if children:
        fields["filter"] = Field(Object(filter_struct, dict.fromkeys(children, _NAMES)))
    return Field(Array(Object(struct, dict(sorted(fields.items()))), f"[]v1alpha1.{struct}"))


_CLIQUE = {"resourceSharing": _sharing("ResourceSharingSpec", "")}

_GROUP = {
    "annotations": Field(TextMap()),
    "resourceSharing": _sharing("PCSGResourceSharingSpec", "PCSGResourceSharingFilter", "childCliqueNames"),
}

_CLAIM_TEMPLATE = Object("ResourceClaimTemplateConfig", {
    "name": _TEXT,
    "templateSpec": Field(Object("ResourceClaimTemplateSpec", {
        # The CRD has no fields of ObjectMeta here.
        "metadata": Field(Object("ObjectMeta", {}, "v1")),
        "spec": Field(Reference("v1.ResourceClaimSpec")),
    }, "v1")),
})  # fmt: skip

_TEMPLATE = {
    "resourceClaimTemplates": Field(Array(_CLAIM_TEMPLATE, "[]v1alpha1.ResourceClaimTemplateConfig")),
    "resourceSharing": _sharing(
        "PCSResourceSharingSpec", "PCSResourceSharingFilter", "childCliqueNames", "childScalingGroupNames"
    ),
}


def _no_pack_domain(*owners: str) -> ObjectRule:
    """Return a rule that forbids packDomain in the constraint of the template, or of each entry of a list `owners`."""

    def breaches(value: Mapping[str, Value]) -> Sequence[FieldPath]:
        spec = value.get("spec")
        template = value_at(spec, "template")
        if not isinstance(template, dict):
            return ()
        if not owners:
            return (
                [("spec", "template", *_FIELD)] if _has_field(template.get("topologyConstraint"), "packDomain") else ()
            )
        entries = template.get(owners[0])
        return [
            ("spec", "template", *owners, index, *_FIELD)
            for index, entry in enumerate(entries if isinstance(entries, list) else ())
            if isinstance(entry, dict) and _has_field(entry.get("topologyConstraint"), "packDomain")
        ]

    return ObjectRule(
        breaches,
        ("spec", "template", *(owners or _FIELD)),
        ErrorType.FORBIDDEN,
        "packDomain is deprecated and cannot be used on new workloads; use pack.required",
        "new workloads cannot use packDomain, the deprecated name of pack.required; use pack.required",
        new_only=True,
    )


_FIELD = ("topologyConstraint", "packDomain")

_RULES = (_no_pack_domain(), _no_pack_domain("cliques"), _no_pack_domain("podCliqueScalingGroups"))

HEAD = WorkloadApi(
    constraint=_CONSTRAINT,
    clique=_CLIQUE,
    group=_GROUP,
    template=_TEMPLATE,
    clique_keys={"name": ""},
    rules=_RULES,
)
"""The API of Grove's HEAD."""


ALPHA_8 = HEAD.replace(
    constraint=ALPHA7.constraint,
    group={name: field for name, field in HEAD.group.items() if name != "annotations"},
    rules=(),
)
"""The API of alpha.8. It adds shared resources. A constraint has one of seven domains."""

ALPHA_9 = HEAD.replace(
    constraint=Object("TopologyConstraint", {
        "packDomain": Field(
            Text(go="v1alpha1.TopologyDomain", pattern="^[a-z][a-z0-9-]*$", max_length=63, min_length=1),
            zero_when_absent=True,
        ),
        "topologyName": Field(Text()),
    }),
    rules=(),
)  # fmt: skip
"""The API of alpha.9. Domains can have any name, and a constraint can name its topology."""

APIS: Mapping[str, WorkloadApi] = {
    "alpha8": ALPHA_8,
    "alpha9": ALPHA_9,
    "head": HEAD,
}
"""The APIs with tables in this module, by the value of `workload_api` in the record of a revision."""
