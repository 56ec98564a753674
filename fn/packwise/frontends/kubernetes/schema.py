"""The fields of group scheduling, each with its type, validation, permitted changes and feature gate.

Each kind has a table. Its rows repeat the `+k8s:` tags of the fields in Kubernetes' Go types. The decoder uses a table
of `packwise.fields` that is built from the same rows. Source: spec/kubernetes-gangs.md#3, #4, #6, #7.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import cache, partial

from krmfn.hints import TYPE_CHECKING, Record
from packwise.fields import Array, Field, Number, Object, Text
from packwise.kubernetes import V35, dns_label, dns_subdomain, path_segment, qualified_name
from packwise.revisions.kubernetes import CLAIMS, COMPOSITE, GENERIC, JOBS, PREEMPTION, TOPOLOGY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from packwise.fields import Kind
    from packwise.revisions.kubernetes import KubernetesRelease

_BYTES = "bytes"
MAX_TEMPLATES = 8
"""The largest number of templates in one list."""
MAX_DEPTH = 4
"""The largest depth of a tree of templates, including the leaves."""
_MAX_CLAIMS = 4


class Change(Enum):
    """The changes that an update may make to a field."""

    FREE = auto()
    """The field and the fields within it can change."""
    FIXED = auto()
    """Neither the field nor a field within it can change."""
    ONCE = auto()
    """The fields within it can change. The field itself cannot be added or removed after creation."""


class Leaf(Record):
    """A text or a number. `texts` returns the API server's errors about a text. `enum` lists the only valid texts.

    With `is_pointer`, an empty text and 0 are values. Otherwise, they count as absent.
    """

    kind: Kind = Text()
    texts: Callable[[str], tuple[str, ...]] | None = None
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    is_pointer: bool = False


class Struct(Record):
    """A mapping, by the name of its Go type. If there is a `union`, exactly one of these fields must be set.

    With `is_embedded`, the Go field is not a pointer, so an absent mapping counts as empty. `variant` is the API
    server's text if an update sets another field of the union. If it is "", each field of the union is checked by
    itself.
    """

    name: str
    members: Mapping[str, Member] = {}
    union: tuple[str, ...] = ()
    is_embedded: bool = False
    variant: str = ""


class Listing(Record):
    """A list of at most `max_items` items. 0 means no limit. With `is_map`, the names of the items must be unique."""

    item: Callable[[], Struct]
    go: str
    max_items: int = 0
    is_map: bool = False


class Member(Record):
    """A field. The API server drops it if the feature gate `gate` is off."""

    of: Leaf | Struct | Listing
    is_required: bool = False
    change: Change = Change.FREE
    gate: str = ""


def _text(texts: Callable[[str], tuple[str, ...]], *, is_pointer: bool = False) -> Leaf:
    return Leaf(texts=texts, is_pointer=is_pointer)


_subdomain = partial(dns_subdomain, unit=_BYTES)
_label = partial(dns_label, unit=_BYTES)
_key = partial(qualified_name, version=V35)
_FIXED = partial(Member, change=Change.FIXED)
_VARIANT = (
    "the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be updated"
)
_GANG_TYPES = {"CompositePodGroup": "CompositeGangSchedulingPolicy"}

_CONTROLLER = Struct("TypedLocalObjectReference", {
    "apiGroup": Member(_text(_subdomain)),
    "kind": Member(_text(path_segment), is_required=True),
    "name": Member(_text(path_segment), is_required=True),
})  # fmt: skip
_CONSTRAINT = Struct("TopologyConstraint", {"key": Member(_text(_key), is_required=True)})
_CLAIM = Struct(
    "PodGroupResourceClaim",
    {
        "name": Member(_text(_label), is_required=True),
        "resourceClaimName": Member(_text(_subdomain, is_pointer=True)),
        "resourceClaimTemplateName": Member(_text(_subdomain, is_pointer=True)),
    },
    union=("resourceClaimName", "resourceClaimTemplateName"),
)
_PREEMPTION = Leaf(Text(go="{0}.PreemptionPolicy"), enum=("Never", "PreemptLowerPriority"), is_pointer=True)
_REFERENCE = Struct("WorkloadReference", {
    "workloadName": Member(_text(_subdomain), is_required=True),
    "templateName": Member(_text(_label), is_required=True),
})  # fmt: skip
_PARENT = _FIXED(_text(_subdomain, is_pointer=True), gate=COMPOSITE)


def _policy(group: str, count: str, *, of_job: bool = False) -> Struct:
    """Return the table of a scheduling policy. `count` is the field with the number that a gang needs.

    A Job may omit the policy and the count, because the API server fills them in.
    """
    minimum = Leaf(Number(), minimum=1, is_pointer=of_job)
    basic = Member(Struct("BasicSchedulingPolicy"), change=Change.FREE if of_job else Change.FIXED)
    gang = Struct(_GANG_TYPES.get(group, "GangSchedulingPolicy"), {count: Member(minimum, is_required=not of_job)})
    return Struct(
        f"{group}SchedulingPolicy",
        {"basic": basic, "gang": Member(gang, change=Change.FREE if of_job else Change.ONCE)},
        union=("basic", "gang"),
        is_embedded=not of_job,
        variant=_VARIANT if of_job else "",
    )


def _common_members(
    prefix: str, policy: Member, max_priority: int | None, *, claims: bool, has_priority: bool = True
) -> dict[str, Member]:
    """Return the fields that templates, groups and Jobs have in common, in the order of the Go types."""
    constraints = Struct(f"{prefix}SchedulingConstraints", {
        "topology": Member(Listing(lambda: _CONSTRAINT, "[]{0}.TopologyConstraint", max_items=1)),
    })  # fmt: skip
    mode = Struct(
        f"{prefix}DisruptionMode",
        {"single": Member(Struct("SingleDisruptionMode")), "all": Member(Struct("AllDisruptionMode"))},
        union=("single", "all"),
    )
    claim_list = Listing(lambda: _CLAIM, "[]{0}.PodGroupResourceClaim", max_items=_MAX_CLAIMS, is_map=True)
    members = {"schedulingPolicy": policy, "schedulingConstraints": _FIXED(constraints, gate=TOPOLOGY)}
    if claims:
        members["resourceClaims"] = _FIXED(claim_list, gate=CLAIMS)
    members["disruptionMode"] = _FIXED(mode)
    if has_priority:
        members |= {
            "priorityClassName": _FIXED(_text(_subdomain)),
            "priority": _FIXED(Leaf(Number(), maximum=max_priority, is_pointer=True)),
            "preemptionPolicy": _FIXED(_PREEMPTION, gate=PREEMPTION),
        }
    return members


@cache
def _templates(max_priority: int | None) -> tuple[Listing, Listing]:
    """Return the types of `podGroupTemplates` and of `compositePodGroupTemplates`."""
    name = Member(_text(_label), is_required=True)
    leaf_policy = Member(_policy("PodGroup", "minCount"))
    leaf = Struct(
        "PodGroupTemplate", {"name": name, **_common_members("PodGroup", leaf_policy, max_priority, claims=True)}
    )
    leaves = Listing(lambda: leaf, "[]{0}.PodGroupTemplate", MAX_TEMPLATES, is_map=True)
    composites = Listing(lambda: composite, "[]{0}.CompositePodGroupTemplate", MAX_TEMPLATES, is_map=True)
    policy = Member(_policy("CompositePodGroup", "minGroupCount"))
    composite = Struct(
        "CompositePodGroupTemplate",
        {
            "name": name,
            **_common_members("CompositePodGroup", policy, max_priority, claims=False),
            "podGroupTemplates": Member(leaves),
            "compositePodGroupTemplates": Member(composites),
        },
    )
    return leaves, composites


def spec_of(kind: str, release: KubernetesRelease) -> Struct:
    """Return the table of `spec` of a Workload, PodGroup or CompositePodGroup."""
    return _spec(kind, release.max_priority, release.fixes_group_count)


@cache
def _spec(kind: str, max_priority: int | None, fixes_group_count: bool) -> Struct:
    leaves, composites = _templates(max_priority)
    if kind == "Workload":
        return Struct(
            "WorkloadSpec",
            {
                "controllerRef": _FIXED(_CONTROLLER),
                "podGroupTemplates": Member(leaves),
                "compositePodGroupTemplates": Member(composites, gate=COMPOSITE),
            },
            union=("podGroupTemplates", "compositePodGroupTemplates"),
            is_embedded=True,
        )
    if kind == "PodGroup":
        policy = Member(_policy("PodGroup", "minCount"))
        return Struct(
            "PodGroupSpec",
            {
                "parentCompositePodGroupName": _PARENT,
                "workloadRef": _FIXED(_REFERENCE),
                **_common_members("PodGroup", policy, max_priority, claims=True),
            },
            is_embedded=True,
        )
    change = Change.FIXED if fixes_group_count else Change.FREE
    policy = Member(_policy("CompositePodGroup", "minGroupCount"), change=change)
    return Struct(
        "CompositePodGroupSpec",
        {
            "parentCompositePodGroupName": _PARENT,
            "workloadRef": _FIXED(_REFERENCE, is_required=True),
            **_common_members("CompositePodGroup", policy, max_priority, claims=False),
        },
        is_embedded=True,
    )


@cache
def job_scheduling() -> Struct:
    """Return the table of `spec.scheduling` of a Job."""
    policy = Member(_policy("Job", "minCount", of_job=True), change=Change.ONCE)
    return Struct("JobSchedulingConfiguration", _common_members("Job", policy, None, claims=True, has_priority=False))


POD_GROUP_NAME = _text(dns_subdomain, is_pointer=True)
"""The type of the group's name in `spec.schedulingGroup` of a pod."""
SCHEDULING_GROUP = Struct("PodSchedulingGroup", {"podGroupName": Member(POD_GROUP_NAME)})
"""The table of `spec.schedulingGroup` of a pod."""
JOB_GATE, POD_GATE = JOBS, GENERIC
"""The gate of `spec.scheduling` of Jobs, and the gate of `spec.schedulingGroup` of pods."""


def decoder_table(struct: Struct, version: str, known: dict[str, Object] | None = None) -> Object:
    """Return the table of a struct for the decoder. Messages of the decoder name types of the API `version`.

    `known` are the tables that already exist, by the name of the struct. New tables are added to it.
    """
    known = {} if known is None else known
    if struct.name in known:
        return known[struct.name]
    # A template of a composite group can contain such templates, so the table must be known before its fields are made.
    fields: dict[str, Field] = {}
    known[struct.name] = table = Object(struct.name, fields, version)
    for name, member in struct.members.items():
        fields[name] = Field(_kind(member.of, version, known))
    return table


def _kind(of: Leaf | Struct | Listing, version: str, known: dict[str, Object]) -> Kind:
    if isinstance(of, Leaf):
        kind = of.kind
        return kind.replace(go=kind.go.format(version)) if isinstance(kind, Text) else kind
    if isinstance(of, Struct):
        return decoder_table(of, version, known)
    return Array(decoder_table(of.item(), version, known), of.go.format(version))
