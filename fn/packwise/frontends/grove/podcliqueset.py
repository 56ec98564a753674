"""The PodCliqueSet: a table of its fields for each API, and records for rules and PodGangs.

Functions here also find the topology, the queue and the scheduler of a set. Source: Grove's API types;
spec/designs.md#7.8, spec/grove.md#1, #3, #4.4, #7, spec/grove-releases.md#2.3, #4.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType

from krmfn.hints import TYPE_CHECKING, Record, cast
from packwise.fields import Array, Duration, Field, Flag, Object, Open, Reference, Text, TextMap
from packwise.keys import KAI_QUEUE
from packwise.kubernetes import read_nanos
from packwise.lenient import entries, integer, mapping, mappings_in_place, text, text_at, value_at, whole_number
from packwise.placement import MNNVL_CLAIM
from packwise.revisions.grove import API_FIELDS
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.topology.known import DOMAINS
from packwise.validate.decode import INT32, INT64, Decoder, ObjectTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.fields import ObjectRule
    from packwise.findings import Problem
    from packwise.placement import Schedulers
    from packwise.revisions.grove import Revision


_NO_KEYS: Mapping[str, str | None] = MappingProxyType({})


class WorkloadApi(Record):
    """The fields and rules in which one API of PodCliqueSets differs from others."""

    constraint: Object
    """The table of a topologyConstraint: of the set, a clique or a scaling group."""

    clique: Mapping[str, Field] = MappingProxyType({})
    clique_spec: Mapping[str, Field] = MappingProxyType({})
    group: Mapping[str, Field] = MappingProxyType({})
    template: Mapping[str, Field] = MappingProxyType({})

    clique_keys: Mapping[str, str | None] = _NO_KEYS
    """The fields that must be unique among cliques. Empty if the CRD has no such rule."""

    update_strategies: tuple[str, ...] = ("RollingRecreate", "OnDelete")
    """The valid types of updateStrategy, in the order of the CRD's enum."""

    rules: tuple[ObjectRule, ...] = ()
    """Rules about the whole object."""


_REPLACED = {
    "podCliqueScalingGroupConfigs": "podCliqueScalingGroups",
    "scalingGroups": "podCliqueScalingGroups",
    "startupType": "cliqueStartupType",
    "scaleConfig": "autoScalingConfig",
}

_TEXT = Field(Text())


def replacement(path: FieldPath) -> str | None:
    """Return the present name of a field that earlier designs or samples called `path[-1]`, or None.

    Return None for fields within a pod spec, because fields of a pod can have the earlier names.
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


# The webhook decodes the status of a new object before the API server drops it.
_STATUS = Object("PodCliqueSetStatus", {
    "availableReplicas": Field(INT32),
    "currentGenerationHash": _TEXT,
    "hpaPodSelector": _TEXT,
    "observedGeneration": Field(INT64),
    "replicas": Field(INT32),
    "updatedReplicas": Field(INT32),
}, takes_others=True)  # fmt: skip

ALPHA7 = WorkloadApi(Object("TopologyConstraint", {
    "packDomain": Field(Text(DOMAINS, "v1alpha1.TopologyDomain"), zero_when_absent=True),
}))  # fmt: skip
"""The API of Grove v0.1.0-alpha.7."""


class KnownFields(Record):
    """The names of the fields of each part of a PodCliqueSet.

    `constraint` are the fields of a topologyConstraint, and `pack` are the fields of its `pack`. Go writes the fields
    in `constraint_texts` even if they are empty. `rolling_update` are the fields of a rollingUpdate.
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
    """Return the names of the fields in the API of `revision`."""
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
    """Return the table of the object or list of objects in a field. Raise TypeError if it contains no objects."""
    kind = owner.fields[name].kind
    part = kind.item if isinstance(kind, Array) else kind
    if not isinstance(part, Object):
        raise TypeError(f"{name} of {owner.struct} is no object")
    return part


@cache
def podcliqueset(revision: Revision) -> Object:
    """Return the table of a PodCliqueSet in the API of `revision`."""
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
        # If the release has rolling updates, the webhook fills in an empty type.
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
        "status": Field(_STATUS),
    }, rules=own.rules)  # fmt: skip


def _sort_fields(fields: Mapping[str, Field]) -> dict[str, Field]:
    # The decoder of Go reads the fields in alphabetical order.
    return dict(sorted(fields.items()))


def api(name: str) -> WorkloadApi:
    """Return the fields and rules of the API with this name. Raise KeyError if it is unknown."""
    if name == "alpha7":
        return ALPHA7
    later = API_FIELDS.get(name)
    if later is None:
        # The import is lazy, so that a run with the oldest API does not build the tables of the other APIs.
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
    """Return the problems of the fields of a PodCliqueSet.

    First come problems of the decoder in its order, then problems of the schema, and last unknown fields in the order
    of the file. `value` is the manifest, without defaults. `new` is true if the cluster does not have the object yet.
    If the decoder refuses an object, it has no defaults, and no rules are checked.
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


TEMPLATE: FieldPath = ("spec", "template")
"""The path of the template of a PodCliqueSet. Nearly all rules are about it."""

# The functions below return names of the objects of a PodCliqueSet. The parts of a name are joined by `-`, and are
# never padded, hashed or shortened. Some of these names are labels of pods. Source: spec/grove.md#6,
# spec/grove-releases.md#3.3.


def base_podgang(workload: str, replica: int) -> str:
    """Return the name of the base PodGang of one replica of a PodCliqueSet. Its headless service has this name too."""
    return f"{workload}-{replica}"


def scaling_group(workload: str, replica: int, group: str) -> str:
    """Return the name of the PodCliqueScalingGroup of a scaling group in one replica of a PodCliqueSet."""
    return f"{workload}-{replica}-{group}"


def standalone_clique(workload: str, replica: int, clique: str) -> str:
    """Return the name of the PodClique of a standalone clique, which is in no scaling group."""
    return f"{workload}-{replica}-{clique}"


def grouped_clique(scaling_group_name: str, group_replica: int, clique: str) -> str:
    """Return the name of the PodClique of a clique in one replica of a scaling group.

    `group_replica` counts all replicas of the group from 0.
    """
    return f"{scaling_group_name}-{group_replica}-{clique}"


def scaled_podgang(scaling_group_name: str, group_replica: int, min_available: int) -> str:
    """Return the name of the PodGang of a scaling group replica beyond `min_available`.

    The number in the name counts from 0 again, so it is not the index of the replica.
    """
    return f"{scaling_group_name}-{group_replica - min_available}"


def anchor_podgang(workload: str, replica: int, epoch: str) -> str:
    """Return the name of the PodGang of an anchor of one replica of a PodCliqueSet."""
    return f"{workload}-{replica}-{epoch}"


def group_podgang(workload: str, replica: int, epoch: str, group: str, group_replica: int) -> str:
    """Return the name of the PodGang of one scaling group replica that is in no anchor.

    `group_replica` counts all replicas of the group from 0.
    """
    return f"{workload}-{replica}-{epoch}-{group}-{group_replica}"


COHERENT = "Coherent"
ON_DELETE = "OnDelete"
"""The types of updateStrategy on which rules depend."""


class Pack(Record):
    """`topologyConstraint.pack`: the required and the preferred domain of a replica."""

    required: str | None = None
    preferred: str | None = None


class TopologyConstraint(Record):
    """A topologyConstraint. It has `pack`, or in earlier revisions the required domain as `pack_domain`.

    `topology_name` names the topology of the domains. It is None if the revision does not have this field.
    """

    pack_domain: str = ""
    pack: Pack | None = None
    topology_name: str | None = None

    @property
    def required(self) -> str:
        """Return the required domain of a replica, or "". Source: spec/grove.md#4.3."""
        return self.pack.required or self.pack_domain if self.pack is not None else self.pack_domain

    @property
    def preferred(self) -> str:
        """Return the preferred domain of a replica, or ""."""
        return self.pack.preferred or "" if self.pack is not None else ""

    @property
    def domains(self) -> tuple[str, ...]:
        """Return the required and the preferred domain, without duplicates and without empty ones."""
        return tuple(dict.fromkeys([domain for domain in (self.required, self.preferred) if domain]))


class AutoScaling(Record):
    """The smallest and the largest number of replicas that an autoscaler sets."""

    min_replicas: int | None
    max_replicas: int


class RollingUpdate(Record):
    """The settings of a rolling update: how many replicas may be unavailable, and the deadline of progress or ""."""

    max_unavailable: int | None = None
    progress_deadline: str = ""


class Clique(Record):
    """An entry of `spec.template.cliques`."""

    name: str
    role: str
    replicas: int
    min_available: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    starts_after: tuple[str, ...] | None
    auto_scaling: AutoScaling | None
    topology: TopologyConstraint | None
    pod_spec: Mapping[str, Value]
    resource_sharing: tuple[Mapping[str, Value], ...] | None = None
    rolling_update: RollingUpdate | None = None

    @property
    def scheduler(self) -> str:
        """Return `schedulerName` of its pods, or "" for the default scheduler."""
        return text_at(self.pod_spec, "schedulerName")


class ScalingGroup(Record):
    """An entry of `spec.template.podCliqueScalingGroups`. `lists_cliques` is true if cliqueNames is set."""

    name: str
    clique_names: tuple[str, ...]
    replicas: int
    min_available: int
    auto_scaling: AutoScaling | None
    topology: TopologyConstraint | None
    lists_cliques: bool = True
    annotations: Mapping[str, str] = {}
    resource_sharing: tuple[Mapping[str, Value], ...] | None = None
    rolling_update: RollingUpdate | None = None


class PodCliqueSet(Record):
    """A PodCliqueSet with its defaults. A value of a wrong type counts as absent, because `check_shape` reports it."""

    name: str
    namespace: str
    metadata: Mapping[str, Value]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    replicas: int
    startup_type: str
    priority_class: str
    termination_delay: str
    topology: TopologyConstraint | None
    topology_name: str | None
    cliques: tuple[Clique, ...]
    groups: tuple[ScalingGroup, ...]
    claim_templates: tuple[Mapping[str, Value], ...] | None = None
    resource_sharing: tuple[Mapping[str, Value], ...] | None = None
    update_strategy: str = ""

    @classmethod
    def read(cls, value: Mapping[str, Value]) -> PodCliqueSet:
        """Return the PodCliqueSet in `value`. `value` must be a result of `default.default`, with all defaults."""
        metadata = mapping(value.get("metadata"))
        spec = mapping(value.get("spec"))
        template = mapping(spec.get("template"))
        return cls(
            name=text(metadata.get("name")),
            namespace=text(metadata.get("namespace")),
            metadata=metadata,
            labels=_texts_by_key(metadata, "labels"),
            annotations=_texts_by_key(metadata, "annotations"),
            replicas=whole_number(spec.get("replicas"), 0),
            startup_type=text(template.get("cliqueStartupType")),
            priority_class=text(template.get("priorityClassName")),
            termination_delay=text(template.get("terminationDelay")),
            topology=read_constraint(template.get("topologyConstraint")),
            topology_name=text(template.get("clusterTopologyName")) or None,
            cliques=tuple(map(_clique, mappings_in_place(template.get("cliques")))),
            groups=tuple(map(_group, mappings_in_place(template.get("podCliqueScalingGroups")))),
            claim_templates=_claim_list(template, "resourceClaimTemplates"),
            resource_sharing=_claim_list(template, "resourceSharing"),
            update_strategy=text_at(spec, "updateStrategy", "type"),
        )

    @property
    def is_constrained(self) -> bool:
        """Return True if the set, a clique or a scaling group has a topologyConstraint."""
        if self.topology is not None:
            return True
        return next(self.constraints(), None) is not None

    def constraints(self) -> Iterator[TopologyConstraint]:
        """Yield every constraint, in the operator's order: of the set, of the cliques, of the scaling groups."""
        if self.topology:
            yield self.topology
        for part in (*self.cliques, *self.groups):
            if part.topology:
                yield part.topology

    def grouped_cliques(self) -> frozenset[str]:
        """Return the names of the cliques that are members of a scaling group."""
        return frozenset([name for group in self.groups for name in group.clique_names])


_NO_TEXTS: Mapping[str, str] = {}


def _claim_list(owner: Mapping[str, Value], key: str) -> tuple[Mapping[str, Value], ...] | None:
    """Return the entries of a list. Return None if there is no list.

    The difference matters, because the operator prints an empty list and an absent list differently.
    """
    value = owner.get(key)
    return tuple(mappings_in_place(value)) if isinstance(value, list) else None


def _clique(value: Mapping[str, Value]) -> Clique:
    spec = mapping(value.get("spec"))
    return Clique(
        name=text(value.get("name")),
        role=text(spec.get("roleName")),
        replicas=whole_number(spec.get("replicas"), 0),
        min_available=whole_number(spec.get("minAvailable"), 0),
        labels=_texts_by_key(value, "labels"),
        annotations=_texts_by_key(value, "annotations"),
        starts_after=_texts(spec, "startsAfter") if isinstance(spec.get("startsAfter"), list) else None,
        auto_scaling=_auto_scaling(spec, "autoScalingConfig"),
        topology=read_constraint(value.get("topologyConstraint")),
        pod_spec=mapping(spec.get("podSpec")),
        resource_sharing=_claim_list(value, "resourceSharing"),
        rolling_update=_rolling_update(value),
    )


def _group(value: Mapping[str, Value]) -> ScalingGroup:
    return ScalingGroup(
        name=text(value.get("name")),
        clique_names=_texts(value, "cliqueNames"),
        replicas=whole_number(value.get("replicas"), 1),
        min_available=whole_number(value.get("minAvailable"), 1),
        auto_scaling=_auto_scaling(value, "scaleConfig"),
        topology=read_constraint(value.get("topologyConstraint")),
        lists_cliques=value.get("cliqueNames") is not None,
        annotations=_texts_by_key(value, "annotations"),
        resource_sharing=_claim_list(value, "resourceSharing"),
        rolling_update=_rolling_update(value),
    )


def read_constraint(constraint: Value) -> TopologyConstraint | None:
    """Return a topologyConstraint. Return None if the value is not a mapping."""
    if not isinstance(constraint, dict):
        return None
    pack = constraint.get("pack")
    return TopologyConstraint(
        text(constraint.get("packDomain")),
        _pack(pack) if isinstance(pack, dict) else None,
        text(constraint.get("topologyName")) or None,
    )


def _pack(value: Mapping[str, Value]) -> Pack:
    return Pack(text(value.get("required")) or None, text(value.get("preferred")) or None)


def _auto_scaling(value: Mapping[str, Value], key: str) -> AutoScaling | None:
    scaling = value.get(key)
    if not isinstance(scaling, dict):
        return None
    least = whole_number(scaling.get("minReplicas"), None)
    return AutoScaling(least, whole_number(scaling.get("maxReplicas"), 0))


def _rolling_update(value: Mapping[str, Value]) -> RollingUpdate | None:
    rolling = value.get("rollingUpdate")
    if not isinstance(rolling, dict):
        return None
    return RollingUpdate(integer(rolling.get("maxUnavailable"), None), text(rolling.get("progressDeadline")))


def _texts(value: Mapping[str, Value], key: str) -> tuple[str, ...]:
    return tuple(text(entry) for entry in entries(value.get(key)))


def _texts_by_key(value: Mapping[str, Value], key: str) -> Mapping[str, str]:
    texts = value.get(key)
    if not isinstance(texts, dict):
        return _NO_TEXTS
    return {name: part if isinstance(part, str) else "" for name, part in texts.items()}


def chosen_topology(pcs: PodCliqueSet, revision: Revision) -> str | None:
    """Return the topology that `pcs` names, or None. Return None if the revision has no field for the name.

    If constraints name the topology, the first name counts: of the set, then of a group, then of a clique.
    """
    if revision.topology_name_field:
        return pcs.topology_name
    for owner in (pcs, *pcs.groups, *pcs.cliques):
        if owner.topology is not None and owner.topology.topology_name is not None:
            return owner.topology.topology_name
    return None


def resolve_topology(pcs: PodCliqueSet, revision: Revision) -> str | None:
    """Return the name of the topology of `pcs`: the topology that it names, or the default.

    If `pcs` has no constraint, return None, unless the revision has only one topology.
    """
    chosen = chosen_topology(pcs, revision)
    if chosen is not None:
        return chosen
    return revision.default_topology if pcs.is_constrained or not revision.chooses_topology else None


KUEUE = "kueue"
"""The name of Grove's future backend for Kueue, in pods and in scheduler profiles. Source: GREP-704."""

VOLCANO = "volcano"
"""The name of Volcano, in pods and in Grove's scheduler profiles."""

VOLCANO_QUEUE = "scheduling.grove.io/volcano-queue"
"""The annotation of a PodCliqueSet or a clique with the name of its queue in Volcano."""


def volcano_queue(pcs: PodCliqueSet) -> str | None:
    """Return the queue in Volcano that `pcs` or its first clique with a queue names, or None."""
    queues = [owner.annotations.get(VOLCANO_QUEUE, "").strip() for owner in (pcs, *pcs.cliques)]
    return next((queue for queue in queues if queue), None)


def resolve_queue(pcs: PodCliqueSet) -> str | None:
    """Return the queue in KAI that `pcs` or its first clique with a queue names, or None."""
    for owner in (pcs, *pcs.cliques):
        queue = queue_of(owner.labels, owner.annotations)
        if queue:
            return queue
    return None


def queues_of(pcs: PodCliqueSet) -> tuple[str, ...]:
    """Return all queues in KAI that `pcs` and its cliques name, without duplicates."""
    queues: dict[str, None] = {}
    for owner in (pcs, *pcs.cliques):
        labels, annotations = owner.labels, owner.annotations
        if KAI_QUEUE in labels or KAI_QUEUE in annotations:
            queues[queue_of(labels, annotations)] = None
    queues.pop("", None)
    return tuple(queues)


def queue_of(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """Return the queue in KAI that these labels or annotations name, or "". Labels count first."""
    return labels.get(KAI_QUEUE) or annotations.get(KAI_QUEUE, "")


LPX = "lpx-scheduler"
"""The name of LPX's scheduler, in pods and in Grove's scheduler profiles."""

_LPU = frozenset({"lpu.nvidia.com/lpu", "nvidia.com/lpu"})


def is_split(scheduler: str, schedulers: Schedulers | None) -> bool:
    """Return True if KAI schedules the cliques that request no LPU in a workload for `scheduler`."""
    names = schedulers.names if schedulers is not None else ()
    return scheduler == LPX and KAI_PROFILE in names


def requests_lpu(clique: Clique) -> bool:
    """Return True if a container of the clique's pods has a request or limit of LPUs."""
    return any(_LPU & resources.keys() for resources in _resources(clique))


_GPU = "nvidia.com/gpu"
_AUTO_MNNVL, _MNNVL_GROUP = "grove.io/auto-mnnvl", "grove.io/mnnvl-group"


def spec_with_claim(pcs: PodCliqueSet, group: ScalingGroup | None, clique: Clique) -> Mapping[str, Value]:
    """Return the spec of a clique's pods as the operator creates them. It may add a claim for MNNVL.

    The annotation mnnvl-group decides, or auto-mnnvl without it. The clique comes first, then the scaling group, then
    the set. Only pods with GPUs get a claim. Source: Grove, internal/mnnvl.
    """
    nearest = [owner.annotations for owner in (clique, group, pcs) if owner is not None]
    named = next((each[_MNNVL_GROUP] for each in nearest if _MNNVL_GROUP in each), None)
    auto = next((each[_AUTO_MNNVL] for each in nearest if _AUTO_MNNVL in each), "")
    is_claimed = named != "none" if named is not None else auto == "enabled"
    if not is_claimed or not any(read_nanos(amounts.get(_GPU)) for amounts in _resources(clique)):
        return clique.pod_spec
    claims = clique.pod_spec.get("resourceClaims")
    own: list[Value] = entries(claims)
    return {**clique.pod_spec, "resourceClaims": [*own, {"name": MNNVL_CLAIM}]}


def _resources(clique: Clique) -> Iterator[Mapping[str, Value]]:
    parts = [clique.pod_spec.get(key) for key in ("containers", "initContainers")]
    for container in [entry for part in parts if isinstance(part, list) for entry in part]:
        resources = value_at(container, "resources")
        for key in ("requests", "limits"):
            amounts = value_at(resources, key)
            if isinstance(amounts, dict):
                yield cast("Mapping[str, Value]", amounts)
