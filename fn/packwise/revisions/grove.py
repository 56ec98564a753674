"""Designs and releases of Grove, each as a record of its differences from the previous one, and their texts.

Records are in the order in which a cluster upgrades. Source: spec/designs.md#1, spec/grove.md#12,
spec/grove-releases.md#1 and #7.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record
from packwise.fields import Duration, Field, Number, Object, Open
from packwise.findings import Problem, Stage
from packwise.kubernetes import ErrorType, OperatorError, is_prefixed_name, qualified_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from krmfn.fieldpath import FieldPath

# The statuses that a revision's operator writes, as data. Source: spec/designs.md#5, spec/grove.md#8.


class ConditionCase(Record):
    """The text of a condition in one case. `message` is a format string with fields for the names of the case."""

    status: str
    reason: str
    message: str


class ConditionTexts(Record):
    """The condition of workloads. A case is None if the revision does not have it. There is then no condition.

    Messages may contain `{topology}`, the ClusterTopology. A message about missing levels may contain `{levels}`: their
    domains, broadest first, joined by `separator`.
    """

    type: str
    """The condition's type."""

    disabled: ConditionCase | None
    """The condition of a workload with constraints if topology-aware scheduling is disabled. Without constraints
    there is none.
    """

    unconstrained: ConditionCase | None
    """The condition of a workload without constraints. If it is None, `constrained_only` decides."""

    constrained_only: bool
    """True if a workload without constraints has no condition, False if it is handled like any other."""

    unnamed: ConditionCase | None
    """The condition of a workload if its constraints name no topology, or None if there is a default topology."""

    topology_missing: ConditionCase | None
    """The condition if the ClusterTopology does not exist, or None if it always exists with topology-aware
    scheduling.
    """

    level_missing: ConditionCase
    """The condition if one level that the workload names does not exist."""

    levels_missing: ConditionCase
    """The condition if several levels that the workload names do not exist."""

    separator: str
    """The text between the missing levels."""

    available: ConditionCase
    """The condition if every level that the workload names exists."""


class TopologyStatus(Record):
    """The condition Ready of a ClusterTopology. `{why}` is the answer of the scheduler's API server."""

    ready: ConditionCase
    """The condition if the scheduler accepts the object that is made from the topology."""

    failed: ConditionCase
    """The condition if the scheduler refuses that object. The operator continues."""

    error_code: str
    """Code of the last error that goes with `failed`."""

    error_description: str
    """Description of that error."""


# The levels and keys that a revision's API accepts. Source: spec/designs.md#1.

_PATTERN = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"


class Limits(Record):
    """The limits of levels and keys. `levels` is the largest number of levels, or None for any number.

    `key_length` is the largest length of a key. With `qualified_keys`, a key must be a qualified name. Otherwise it
    must match the pattern of the CRD, which also accepts a prefix in upper case.
    """

    levels: int | None = 7
    key_length: int = 63
    qualified_keys: bool = False

    def key_problem(self, path: FieldPath, key: str) -> Problem | None:
        """Return the problem of the node label key at `path` of a topology object, or None.

        If keys must be qualified names, only the operator checks them, and its text has no detail.
        """
        fault = self._fault(path, key)
        if fault is None:
            return None
        message, kind, detail = fault
        text = OperatorError(format_path(path), kind, key, detail).text()
        return Problem(path, f'{message}; got "{key}"', text, Stage.SCHEMA)

    def _fault(self, path: FieldPath, key: str) -> tuple[str, ErrorType, str] | None:
        """Return packwise's message, and the API server's error type and detail, or None."""
        if not key:
            detail = f"{format_path(path)} in body should be at least 1 chars long"
            return "must not be empty", ErrorType.INVALID, detail
        if len(key) > self.key_length:
            message = f"must be at most {self.key_length} characters long"
            return message, ErrorType.TOO_LONG, f"may not be more than {self.key_length} bytes"
        if self.qualified_keys:
            faults = qualified_name(key)
            return (f"must be a qualified name: {'; '.join(faults)}", ErrorType.INVALID, "") if faults else None
        if not is_prefixed_name(key, dns_prefix=False):
            message = (
                "must be a label key: an optional prefix and `/`, then letters, digits, `-`, `_` and `.`, with "
                "a letter "
                "or digit at both ends"
            )
            return message, ErrorType.INVALID, f"{format_path(path)} in body should match '{_PATTERN}'"
        return None


# The workload fields that a release introduced, in the terms of packwise.fields. Source: spec/grove-releases.md#2.6.


class WorkloadFields(Record):
    """The workload fields that an API has and the older API `beyond` does not have, by part.

    `strategies` are types of an updateStrategy. `is_known` is false if the API may have the fields, but it is not
    known. A workload with such a field is then no evidence of the release.
    """

    beyond: str
    template: Mapping[str, Field] = {}
    clique: Mapping[str, Field] = {}
    clique_spec: Mapping[str, Field] = {}
    group: Mapping[str, Field] = {}
    strategies: tuple[str, ...] = ()
    is_known: bool = True


_ROLLING_UPDATE = {
    "rollingUpdate": Field(Object("RollingUpdateConfiguration", {
        "maxUnavailable": Field(Number()),
        "progressDeadline": Field(Duration()),
    })),
}  # fmt: skip
_UNKNOWN_UPDATE = {"rollingUpdate": Field(Open())}

API_FIELDS: Mapping[str, WorkloadFields] = {
    "alpha14-rc1": WorkloadFields(
        "head", clique=_UNKNOWN_UPDATE, group=_UNKNOWN_UPDATE, strategies=("Coherent",), is_known=False
    ),
    "alpha14": WorkloadFields("head", clique=_ROLLING_UPDATE, group=_ROLLING_UPDATE, strategies=("Coherent",)),
}
"""Fields of workloads by the `workload_api` of a record. The table of the front end has the older APIs."""


class Revision(Record):
    """One revision of the design. Front ends use its fields instead of its name."""

    name: str
    """The name in `spec.revision`."""

    releases: tuple[str, ...]
    """The tags of Grove with this behaviour, oldest first. Each is also a name of the revision. A design has none."""

    validated_by: str
    """The release with the webhook that validates workloads of a design, or "" if the design is older than all
    releases.
    """

    workload_api: str
    """The key of the workloads' fields in `API_FIELDS` or in the table of the front end."""

    configuration_key: str
    """The key of the topology section in a configuration."""

    chosen_by_key: bool
    """True if that key alone selects this revision, False if only `spec.revision` does."""

    needs_levels: bool
    """True if the key selects the revision only together with levels. Later releases have the same key without levels.
    """

    workload_keys: tuple[str, ...]
    """Keys of `spec.template`, of cliques or of groups that were introduced by this revision and identify it. For the
    first release, they are the keys that the design with the same configuration key lacks.
    """

    named_by_configuration: bool
    """True if `name` in that section names the ClusterTopology, False if the name is fixed."""

    limits: Limits
    """The levels and keys that the configuration and a topology object may have."""

    duplicate_level: str | None
    """The operator's text for a `{field}` with a repeated `{value}`, in a design that has a text only for this error.

    None if the operator has a text for every error.
    """

    listed_order: bool
    """True if the list of levels is the hierarchy, broadest first. False if the fixed order of the domains is the
    hierarchy.
    """

    topology_kind: str
    """Kind of the topology objects."""

    chosen_by_topologies: bool
    """True if an object of that kind in the input selects this revision."""

    topology_name_field: str | None
    """Field of `spec.template` that names a workload's topology, or None if no field or only a constraint does."""

    default_topology: str | None
    """The topology that the operator creates from the levels of its configuration, or None if the configuration has
    no levels.
    """

    topology_labels: tuple[tuple[str, str], ...]
    """Labels of the ClusterTopology that the operator creates."""

    user_topologies: Literal["Refused", "Ignored", "Unused", "Used"]
    """The effect of users' own ClusterTopologies: an error, none, a warning, or a choice for workloads."""

    finalizer: str | None
    """The operator's finalizer of ClusterTopologies, which `finalizers` enables, or None."""

    topology_status: TopologyStatus | None
    """The status of the ClusterTopology, or None. Without a status, a refusal by the scheduler is an error."""

    scheduler_profiles: bool
    """True if `scheduler.profiles` decides whether KAI Topologies are created, False if they always are."""

    optional_domain: bool
    """True if a constraint may have no packDomain. It then has no effect."""

    deprecates_pack_domain: bool
    """True if packDomain is the deprecated name of pack.required."""

    mnnvl_annotation: str | None
    """The annotation that the webhook adds to new workloads with GPUs if its configuration enables it, or None."""

    scheduler_backends: tuple[str, ...]
    """The valid names of profiles in the operator's order, or none if it does not check them."""

    topology_backends: tuple[str, ...]
    """The profiles with topology-aware scheduling."""

    mirrors_metadata: bool
    """True if PodGangs have the labels and annotations of their PodCliqueSet."""

    scheduler_label: Literal["Never", "Named", "Always"]
    """The PodGangs with a label that names their scheduler: none, all, or the PodGangs with a named scheduler.

    The workload or the configuration names it.
    """

    apimachinery: str
    """Version of the Kubernetes library with which the operator checks names and labels. It decides the texts."""

    group_constraint_field: str
    """Field of `spec.template` that the operator's errors name for a scaling group's constraint."""

    always_preferred: bool
    """True if every PodGang, PodGroup and group config prefers the strictest level, whatever users wrote."""

    keeps_preferred: bool
    """True if PodGangs with a preferred level keep it while topology-aware scheduling is disabled."""

    mutable_constraints: bool
    """True if an update may change constraints. They are then validated again."""

    annotate_topology: bool
    """True if PodGangs have `grove.io/topology-name`, False if only `topologyNameAnnotation` adds it."""

    annotate_unconstrained: bool
    """True if every PodGang has `grove.io/topology-name` while topology-aware scheduling is enabled.

    False if only PodGangs with translated constraints have it.
    """

    fixed_domain_order: bool
    """True if the operator's messages list known domains broadest first, False if they keep the order of the
    configuration.
    """

    names_missing_domain: bool
    """True if an empty packDomain has its own webhook error, False if it counts as an unknown domain."""

    podgroups_by_operator: bool
    """True if the operator creates KAI's PodGroups from PodGangs, False if KAI's pod-grouper does so once pods exist.
    """

    follows_references: bool
    """True if the operator's PodGroups name the Topology that the ClusterTopologyBinding lists for KAI, if it lists
    one.

    False if they name the binding.
    """

    empty_podgroups: bool
    """True if a PodGang without pods also has a PodGroup, with no required member."""

    splits_lpx: bool
    """True if KAI schedules cliques for lpx-scheduler that request no LPU. KAI must have a profile too."""

    podgang_maps: bool
    """True if PodGangs are built from PodGangMaps. Their names and labels contain epochs.

    Every PodGang has the PodCliqueSet's constraint. The constraint of a scaling group becomes a group config, unless it
    has no level.
    """

    min_available_default: Literal["WrittenReplicas", "One"]
    """The default of a clique's minAvailable. It is either 1, or the replicas as written, which may be 0."""

    min_replicas_default: Literal["WrittenReplicas", "Replicas"]
    """The default minReplicas of a clique's autoscaler.

    It is either the clique's replicas, or the replicas as written, which may be 0.
    """

    rolling_updates: bool
    """True if cliques and scaling groups have a `rollingUpdate`. Admission sets its defaults from the updateStrategy.
    """

    conditions: ConditionTexts
    """The condition of workloads."""

    @property
    def chooses_topology(self) -> bool:
        """Return True if a workload chooses one of many topologies made by users."""
        return self.user_topologies == "Used"

    @property
    def constraints_choose(self) -> bool:
        """Return True if constraints name the topology and use `pack`. Otherwise they use only `packDomain`."""
        return self.chooses_topology and self.topology_name_field is None

    @property
    def webhook(self) -> str:
        """Return the tag of the release with the webhook for workloads. Return "" if the revision is older than all."""
        return self.releases[0] if self.releases else self.validated_by

    def with_configuration(self, name: str | None, *, annotate_topology: bool) -> Revision:
        """Return this revision with the settings of a configuration.

        `name` is the default topology, if configurations name one in this revision. If `annotate_topology` is true,
        PodGangs get the annotation with the topology's name.
        """
        return self.replace(
            default_topology=name if name and self.named_by_configuration else self.default_topology,
            annotate_topology=self.annotate_topology or annotate_topology,
        )

    def with_planned_backends(self) -> Revision:
        """Return this revision with the scheduler backends of proposals, if it has scheduler backends at all."""
        backends = self.scheduler_backends
        return self.replace(scheduler_backends=(*backends, *PLANNED_BACKENDS) if backends else ())


PLANNED_BACKENDS = ("kueue",)
"""Scheduler backends of no release so far: GREP-704. Source: spec/kueue.md#10."""


# The designs of topology-aware scheduling. Each record contains the differences from the design before it. Source:
# spec/designs.md#1, spec/grove.md#12.

_DISABLED = "Topology support disabled in operator configuration"
_NOT_FOUND = "Topology level '{levels}' not found in ClusterTopology '{topology}'."
_IGNORED = "Topology constraint will be ignored. Please remove packDomain or update ClusterTopology."
_READY = ConditionCase("True", "TopologyReady", "ClusterTopology configured and KAI Topology created successfully")
_FAILED = "Failed to create KAI Topology CR: {why}"
_ERROR = ("KAI_TOPOLOGY_CREATE_ERROR", "Failed to create KAI Topology resource: {why}")
_DUPLICATE = "duplicate topology {field} '{value}' in configuration"

TOPOLOGY_MISSING = ConditionCase("Unknown", "ClusterTopologyNotFound", "ClusterTopology resource not found")
"""The condition of a workload that names a missing topology."""

_UNAVAILABLE = ConditionCase("True", "ClusterTopologyLevelsUnavailable", "Unavailable topology domains: [{levels}]")
_AVAILABLE = ConditionCase("False", "AllClusterTopologyLevelsAvailable", "All topology levels are available")
_UNCONSTRAINED = _AVAILABLE.replace(message="No topology constraints defined")
_DISABLED_CONSTRAINTS = ConditionCase(
    "Unknown",
    "TopologyAwareSchedulingDisabled",
    "Topology constraints are defined but Topology Aware Scheduling is disabled",
)

DESIGN_1 = Revision(
    name="design-1",
    releases=(),
    validated_by="",
    workload_api="alpha7",
    configuration_key="topology",
    chosen_by_key=True,
    needs_levels=False,
    workload_keys=(),
    named_by_configuration=True,
    limits=Limits(levels=8, key_length=64, qualified_keys=True),
    duplicate_level=_DUPLICATE,
    listed_order=True,
    topology_kind="ClusterTopology",
    chosen_by_topologies=False,
    topology_name_field=None,
    default_topology="grove-topology",
    topology_labels=(),
    user_topologies="Refused",
    finalizer=None,
    topology_status=TopologyStatus(
        _READY, ConditionCase("False", "KAITopologyCreationOrUpdateFailed", _FAILED), *_ERROR
    ),
    scheduler_profiles=False,
    optional_domain=True,
    deprecates_pack_domain=False,
    mnnvl_annotation="grove.io/auto-mnnvl",
    scheduler_backends=(),
    topology_backends=(),
    mirrors_metadata=False,
    scheduler_label="Never",
    apimachinery="v0.34",
    group_constraint_field="podCliqueScalingGroups",
    always_preferred=True,
    keeps_preferred=True,
    mutable_constraints=True,
    annotate_topology=False,
    annotate_unconstrained=True,
    fixed_domain_order=False,
    names_missing_domain=False,
    podgroups_by_operator=False,
    follows_references=False,
    empty_podgroups=True,
    splits_lpx=False,
    podgang_maps=False,
    min_available_default="WrittenReplicas",
    min_replicas_default="WrittenReplicas",
    rolling_updates=False,
    conditions=ConditionTexts(
        type="TopologyConstraints",
        disabled=ConditionCase("False", "TopologyDisabled", f"{_DISABLED}. Required constraints removed."),
        unconstrained=None,
        constrained_only=True,
        unnamed=None,
        topology_missing=None,
        level_missing=ConditionCase(
            "False", "TopologyLevelNotFound", f"{_NOT_FOUND} Remove packDomain or update ClusterTopology."
        ),
        levels_missing=ConditionCase(
            "False",
            "TopologyLevelsRemoved",
            "Topology levels removed from ClusterTopology: [{levels}]. Update packDomain constraints.",
        ),
        separator=", ",
        available=ConditionCase("True", "TopologyLevelsAvailable", "All topology constraints satisfied"),
    ),
)
"""The first design. The listed order of levels is the hierarchy, and every PodGang prefers the strictest level."""

DESIGN_2 = DESIGN_1.replace(
    name="design-2",
    configuration_key="clusterTopology",
    limits=Limits(),
    listed_order=False,
    user_topologies="Ignored",
    topology_status=TopologyStatus(_READY, ConditionCase("False", "TopologyCreationOrUpdateFailed", _FAILED), *_ERROR),
    keeps_preferred=False,
    annotate_topology=True,
    fixed_domain_order=True,
    conditions=ConditionTexts(
        type="TopologyConstraintSatisfied",
        disabled=ConditionCase("False", "TopologyDisabled", _DISABLED),
        unconstrained=None,
        constrained_only=True,
        unnamed=None,
        topology_missing=None,
        level_missing=ConditionCase("False", "TopologyLevelNotFound", f"{_NOT_FOUND} {_IGNORED}"),
        # The design has no text for several levels. Each is in quotes, as in the text for a single level.
        levels_missing=ConditionCase(
            "False", "TopologyLevelNotFound", f"{_NOT_FOUND.replace('level', 'levels', 1)} {_IGNORED}"
        ),
        separator="', '",
        available=ConditionCase("True", "", ""),
    ),
)
"""The second design. The fixed order of domains is the hierarchy, and PodGangs name their topology."""

GREP_244 = DESIGN_2.replace(
    name="grep-244",
    releases=("v0.1.0-alpha.7",),
    configuration_key="topologyAwareScheduling",
    chosen_by_key=False,
    named_by_configuration=False,
    duplicate_level=None,
    user_topologies="Unused",
    topology_status=None,
    optional_domain=False,
    group_constraint_field="podCliqueScalingGroupConfigs",
    always_preferred=False,
    mutable_constraints=False,
    fixed_domain_order=False,
    conditions=ConditionTexts(
        type="TopologyLevelsUnavailable",
        disabled=None,
        unconstrained=None,
        constrained_only=False,
        unnamed=None,
        topology_missing=TOPOLOGY_MISSING,
        level_missing=_UNAVAILABLE,
        levels_missing=_UNAVAILABLE,
        separator=" ",
        available=_AVAILABLE,
    ),
)
"""Grove v0.1.0-alpha.7, with one ClusterTopology from the operator's configuration."""

GREP_244_MULTI = GREP_244.replace(
    name="grep-244-multi",
    releases=(),
    validated_by="v0.1.0-alpha.7",
    chosen_by_key=True,
    needs_levels=True,
    workload_keys=("clusterTopologyName",),
    topology_name_field="clusterTopologyName",
    topology_labels=(("app.kubernetes.io/managed-by", "grove-operator"),),
    user_topologies="Used",
    finalizer="grove.io/clustertopology",
    scheduler_profiles=True,
    group_constraint_field="podCliqueScalingGroups",
    annotate_unconstrained=False,
    fixed_domain_order=True,
    names_missing_domain=True,
    conditions=GREP_244.conditions.replace(disabled=_DISABLED_CONSTRAINTS, unconstrained=_UNCONSTRAINED),
)
"""A design with many ClusterTopologies. A workload names one in `spec.template.clusterTopologyName`."""


# Grove's releases from alpha.8, in their order. Each record contains the differences from the one before it. Releases
# with the same behaviour share a record. Source: spec/grove-releases.md#1.1.

ALPHA_8 = GREP_244.replace(
    name="v0.1.0-alpha.8",
    releases=("v0.1.0-alpha.8",),
    workload_api="alpha8",
    workload_keys=("resourceSharing", "resourceClaimTemplates"),
    scheduler_profiles=True,
    scheduler_backends=("kai-scheduler", "default-scheduler"),
    scheduler_label="Named",
)
"""Scheduler profiles, resource sharing and MNNVL groups. The operator's configuration still has the topology."""

ALPHA_9 = GREP_244_MULTI.replace(
    name="v0.1.0-alpha.9",
    releases=("v0.1.0-alpha.9",),
    workload_api="alpha9",
    chosen_by_key=False,
    needs_levels=False,
    workload_keys=(),
    limits=Limits(levels=None),
    listed_order=True,
    topology_kind="ClusterTopologyBinding",
    topology_name_field=None,
    default_topology=None,
    topology_labels=(),
    finalizer=None,
    mnnvl_annotation=None,
    scheduler_backends=ALPHA_8.scheduler_backends,
    topology_backends=("kai-scheduler",),
    mirrors_metadata=True,
    scheduler_label="Always",
    fixed_domain_order=False,
    conditions=GREP_244_MULTI.conditions.replace(
        unnamed=ConditionCase(
            "Unknown", "TopologyNameMissing", "PodCliqueSet topology constraints must include topologyName"
        ),
        topology_missing=TOPOLOGY_MISSING.replace(message="ClusterTopologyBinding resource not found"),
    ),
)
"""ClusterTopologyBindings with domains of any name. Each constraint may name its topology."""

ALPHA_10 = ALPHA_9.replace(
    name="v0.1.0-alpha.10",
    releases=("v0.1.0-alpha.10", "v0.1.0-alpha.11"),
    workload_api="head",
    deprecates_pack_domain=True,
    scheduler_backends=("kai-scheduler", "default-scheduler", "volcano", "lpx-scheduler"),
    apimachinery="v0.35",
    names_missing_domain=False,
)
"""Constraints with required and preferred domains. Volcano and LPX are schedulers."""

ALPHA_12_RC1 = ALPHA_10.replace(
    name="v0.1.0-alpha.12-rc1",
    releases=("v0.1.0-alpha.12-rc1",),
)
"""A clique without a name is one error."""

UPSTREAM = ALPHA_12_RC1.replace(
    name="upstream",
    releases=("v0.1.0-alpha.12-rc2",),
    chosen_by_topologies=True,
    podgroups_by_operator=True,
)
"""The operator makes KAI's PodGroups, and a workload must name its queue."""

ALPHA_12 = UPSTREAM.replace(
    name="v0.1.0-alpha.12",
    releases=("v0.1.0-alpha.12", "v0.1.0-alpha.13"),
    chosen_by_topologies=False,
    podgang_maps=True,
)
"""PodGangs are built from PodGangMaps."""

ALPHA_14_RC1 = ALPHA_12.replace(
    name="v0.1.0-alpha.14-rc1",
    releases=("v0.1.0-alpha.14-rc1",),
    workload_api="alpha14-rc1",
)
"""It is not known which part of alpha.14 this release candidate has. packwise handles it as alpha.13, with warnings."""

ALPHA_14 = ALPHA_12.replace(
    name="v0.1.0-alpha.14",
    releases=("v0.1.0-alpha.14",),
    workload_api="alpha14",
    follows_references=True,
    empty_podgroups=False,
    splits_lpx=True,
    min_available_default="One",
    min_replicas_default="Replicas",
    rolling_updates=True,
)
"""Coherent and rolling updates. PodGroups name the Topology that a binding lists."""


RECORDS: tuple[Revision, ...] = (
    DESIGN_1,
    DESIGN_2,
    GREP_244,
    ALPHA_8,
    GREP_244_MULTI,
    ALPHA_9,
    ALPHA_10,
    ALPHA_12_RC1,
    UPSTREAM,
    ALPHA_12,
    ALPHA_14_RC1,
    ALPHA_14,
)
"""Every record once."""

REVISIONS: dict[str, Revision] = {
    name: record.replace(name=name) for record in RECORDS for name in dict.fromkeys((record.name, *record.releases))
}
"""Every valid name of `spec.revision`, with its record under that name."""

RELEASES = tuple(record for record in RECORDS if record.releases)
"""Every record of a release that clusters run or ran."""

NEWEST = RELEASES[-1].replace(name=RELEASES[-1].releases[-1])
"""The newest release, which packwise assumes if the input shows none."""

_PLACES = {
    name: (place, record.releases.index(name) if name in record.releases else -1)
    for place, record in enumerate(RECORDS)
    for name in (record.name, *record.releases)
}
_AFTER_ALL = (len(RECORDS), 0)


_ORDER = {tag: place for place, tag in enumerate([tag for record in RECORDS for tag in record.releases])}


def is_within(tag: str, since: Revision | None, until: Revision | None) -> bool:
    """Return True if the release with this tag is `since` or later, and before `until`. None means no limit.

    An empty tag is before all releases.
    """
    place = _ORDER.get(tag, -1)
    return (since is None or _ORDER[since.webhook] <= place) and (until is None or place < _ORDER[until.webhook])


def precedes(revision: Revision, other: Revision) -> bool:
    """Return True if `revision` came before `other`. Tags of one record are ordered by release."""
    return _PLACES.get(revision.name, _AFTER_ALL) < _PLACES.get(other.name, _AFTER_ALL)


def same_record(revision: Revision, other: Revision) -> bool:
    """Return True if both are names of one record, with the same behaviour."""
    return _PLACES.get(revision.name, _AFTER_ALL)[0] == _PLACES.get(other.name, _AFTER_ALL)[0]


# Other facts about each release of Grove: its date, its news and its compatible releases. Source:
# spec/grove-releases.md#1 and #7.


class Release(Record):
    """A release. `date` is a day or a span. `goes_with` are the known compatible versions of KAI and Dynamo."""

    tag: str
    date: str
    news: str
    goes_with: str = ""


HISTORY = (
    Release(
        "v0.1.0-alpha.7",
        "2026-03-23",
        "one ClusterTopology, created from the configured levels",
        "KAI 0.12 or newer; Dynamo 1.0, 1.1",
    ),
    Release(
        "v0.1.0-alpha.8",
        "2026-04-16",
        "scheduler profiles; PodGangs are created before their pods; resource sharing; MNNVL groups",
        "KAI 0.13.4 or newer; Dynamo 1.1 to 1.3",
    ),
    Release("v0.1.0-alpha.9", "2026-05-20", "ClusterTopologyBindings, `topologyName`, any name in `packDomain`"),
    Release(
        "v0.1.0-alpha.10", "2026-07-02", "`pack.required` and `pack.preferred`; volcano and lpx-scheduler", "KAI 0.15"
    ),
    Release(
        "v0.1.0-alpha.11",
        "2026-07-03",
        "only the chart changed: volcano and lpx-scheduler are off by default",
        "Dynamo 1.4 needs this release or a newer one",
    ),
    Release(
        "v0.1.0-alpha.12-rc1",
        "2026-07-21",
        "only one error for a clique without a name; the token's Secret has another name",
        "KAI 0.13.4; Dynamo 1.4.0",
    ),
    Release(
        "v0.1.0-alpha.12-rc2",
        "before 2026-09-04",
        "the operator creates KAI's PodGroups; a workload must name its queue",
        "KAI 0.15 or newer",
    ),
    Release(
        "v0.1.0-alpha.12",
        "2026-08-24 to 08-27",
        "PodGangMaps: names of PodGangs contain epochs; other constraints for replicas beyond minAvailable",
        "KAI 0.15 or newer; Dynamo 1.4.1, 1.4.2",
    ),
    Release("v0.1.0-alpha.13", "2026-09-04 to 09-06", "fixes", "KAI 0.17 or newer; Dynamo 1.5.0, 1.5.1"),
    Release(
        "v0.1.0-alpha.14-rc1",
        "after 2026-09-18",
        "the index of a pod in its scaling group; the other changes of this release are unknown",
        "KAI 0.17 or newer; Dynamo 1.6.0, 1.6.1",
    ),
    Release(
        "v0.1.0-alpha.14",
        "after 2026-09-26",
        "Coherent updates, `rollingUpdate`; the operator uses `topologyReference`; minAvailable is 1 by default",
        "KAI 0.17, 0.18; Dynamo 1.6 needs this release for Coherent",
    ),
)
"""Every release with a record, in the order of the tags."""


# The facts for the rewriting of one object: the two revisions, and the topology that workloads mean.


class Step(Record):
    """The step from `source` to `target`. `topology` is the new name of the operator's own topology.

    `preferred` is the domain that the source prefers on every rendered object, or None. `keep_pack_domain` keeps the
    deprecated field, because a running workload may not replace it. `dynamo` is the later release of Dynamo, or None if
    unnamed.
    """

    source: Revision
    target: Revision
    topology: str
    preferred: str | None = None
    keep_pack_domain: bool = False
    dynamo: str | None = None

    @property
    def changes_topologies(self) -> bool:
        """Return True if users must then write topologies of another kind, which replace the levels of the
        configuration.
        """
        return self.source.topology_kind != self.target.topology_kind

    @property
    def packs(self) -> bool:
        """Return True if constraints use `pack` afterwards instead of packDomain."""
        return self.target.deprecates_pack_domain and not self.source.deprecates_pack_domain
