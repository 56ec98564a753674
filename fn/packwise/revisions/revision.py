"""One revision of the design, by what it does otherwise than the others, as data.

Source: spec/designs.md#1, spec/grove.md#12.
"""

from __future__ import annotations

import re

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Problem, Stage
from packwise.kubernetes.validation import ErrorType, OperatorError, qualified_name

if TYPE_CHECKING:
    from typing import Literal

    from krmfn.fieldpath import FieldPath

# What a revision's operator writes into statuses, as data. Source: spec/designs.md#5, spec/grove.md#8.


class ConditionCase(NamedTuple):
    """The text of a condition in one case; `message` is a format of the names that the case has."""

    status: str
    reason: str
    message: str


class ConditionTexts(NamedTuple):
    """The condition of workloads; None: the revision has no such case, and the workload has no condition then.

    Messages may name `{topology}`, which is the ClusterTopology, and where levels are missing `{levels}`: their
    domains, broadest first, joined by `separator`.
    """

    type: str
    """The condition's type."""

    disabled: ConditionCase | None
    """Of a workload with constraints while TAS is disabled; one without has none."""

    unconstrained: ConditionCase | None
    """Of a workload without constraints; None: see `constrained_only`."""

    constrained_only: bool
    """True if a workload without constraints has no condition; otherwise it is judged like any other."""

    unnamed: ConditionCase | None
    """Of a workload whose constraints name no topology; None: there is a default one."""

    topology_missing: ConditionCase | None
    """The ClusterTopology does not exist; None: while TAS is enabled it always does."""

    level_missing: ConditionCase
    """One level that the workload names does not exist."""

    levels_missing: ConditionCase
    """Several do not."""

    separator: str
    """The text between the missing levels."""

    available: ConditionCase
    """Every level that the workload names exists."""


class TopologyStatus(NamedTuple):
    """The condition Ready of a ClusterTopology; `{why}` is the answer of the scheduler's API server."""

    ready: ConditionCase
    """The scheduler takes the object made of it."""

    failed: ConditionCase
    """The scheduler refuses it, for which the operator does not stop."""

    error_code: str
    """Code of the last error that goes with `failed`."""

    error_description: str
    """Its description."""


# What a revision's API takes for levels and their keys. Source: spec/designs.md#1.

_PATTERN = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
_KEY = re.compile(_PATTERN.removesuffix("$") + r"\Z")


class Limits(NamedTuple):
    """The largest number of levels (None: any) and length of a key, and if a key must be a qualified name.

    A key that need not be one has the pattern of the CRD, which takes a prefix in upper case too.
    """

    levels: int | None = 7
    key_length: int = 63
    qualified_keys: bool = False

    def key_problem(self, path: FieldPath, key: str) -> Problem | None:
        """The problem of the node label key at `path` of a topology object; None: no problem.

        Where keys must be qualified names, only the operator looks, and its text has no detail.
        """
        fault = self._fault(format_path(path), key)
        if fault is None:
            return None
        message, kind, detail = fault
        text = OperatorError(format_path(path), kind, key, detail).text()
        return Problem(path, f'{message}; got "{key}"', text, Stage.SCHEMA)

    def _fault(self, field: str, key: str) -> tuple[str, ErrorType, str] | None:
        """packwise's message, and the API server's error type and detail."""
        if not key:
            return "must not be empty", ErrorType.INVALID, f"{field} in body should be at least 1 chars long"
        if len(key) > self.key_length:
            message = f"must not be longer than {self.key_length} characters"
            return message, ErrorType.TOO_LONG, f"may not be more than {self.key_length} bytes"
        if self.qualified_keys:
            faults = qualified_name(key)
            return (f"must be a qualified name: {'; '.join(faults)}", ErrorType.INVALID, "") if faults else None
        if not _KEY.match(key):
            message = (
                "must be a label key: letters, digits, `-`, `_` and `.`, optionally after a prefix and `/`, each "
                "beginning and ending with a letter or digit"
            )
            return message, ErrorType.INVALID, f"{field} in body should match '{_PATTERN}'"
        return None


class Revision(NamedTuple):
    """One revision of the design: the fields are what the front end asks instead of the revision's name."""

    name: str
    """The name users write in `spec.revision`."""

    releases: tuple[str, ...]
    """The tags of Grove that do all of this, oldest first; each is a name of the revision too. Empty: a design."""

    rulebook: str
    """The key of the webhook's rules in the front end's tables: whose webhook judges workloads."""

    workload_api: str
    """The key of the workloads' fields in the front end's tables: whose API workloads are written in."""

    configuration_key: str
    """The key of the topology section in a configuration."""

    chosen_by_key: bool
    """True if that key alone chooses this revision, False if only `spec.revision` does."""

    needs_levels: bool
    """True if that takes levels beside the key, which later releases share and have no levels in."""

    workload_keys: tuple[str, ...]
    """Keys of `spec.template`, of cliques or of groups that came with this revision and show it: of a design, its own
    ones; of the first of the releases, those that the design of the same key lacks."""

    named_by_configuration: bool
    """True if `name` in that section names the ClusterTopology, False if its name is fixed."""

    limits: Limits
    """The levels and keys that the configuration and a topology object may have."""

    duplicate_level: str | None
    """The operator's whole text for a `{field}` whose `{value}` stands twice in the configuration, where it has no
    text for anything else there; None: field errors, for everything."""

    listed_order: bool
    """True if the list of the levels is the hierarchy, broadest first; False if the fixed order of the domains is."""

    topology_kind: str
    """Kind of the objects that hold a topology."""

    chosen_by_topologies: bool
    """True if such an object in the input chooses this revision."""

    topology_name_field: str | None
    """Field of `spec.template` that chooses a workload's topology; None where there is none, or constraints do it."""

    default_topology: str | None
    """The topology that the operator makes of its configuration's levels; None: its configuration has no levels."""

    topology_labels: tuple[tuple[str, str], ...]
    """Labels of the ClusterTopology that the operator makes."""

    user_topologies: Literal["Refused", "Ignored", "Unused", "Used"]
    """The effect of users' own ClusterTopologies: an error, nobody's business, a warning, the workloads' choice."""

    finalizer: str | None
    """The operator's finalizer of ClusterTopologies, which `finalizers` asks for; None: it has none."""

    topology_status: TopologyStatus | None
    """The status of the ClusterTopology; None: it has none, and what the scheduler refuses is an error."""

    scheduler_profiles: bool
    """True if `scheduler.profiles` decides if KAI Topologies are made; otherwise they always are."""

    optional_domain: bool
    """True if a constraint may leave out its packDomain, and demand nothing then."""

    deprecates_pack_domain: bool
    """True if packDomain is the deprecated name of pack.required."""

    mnnvl_annotation: str | None
    """The annotation that the webhook writes on new workloads with GPUs, where its configuration asks for that; None:
    it writes none."""

    scheduler_backends: tuple[str, ...]
    """The names that profiles may have, in the operator's order; empty: it does not check them."""

    topology_backends: tuple[str, ...]
    """Those of them that implement topology-aware scheduling."""

    mirrors_metadata: bool
    """True if PodGangs carry the labels and annotations of their PodCliqueSet."""

    scheduler_label: Literal["Never", "Named", "Always"]
    """The PodGangs that carry the name of their scheduler: those whose workload or configuration names it, or all."""

    apimachinery: str
    """Version of the Kubernetes library that the operator checks names and labels with, as its texts tell it."""

    group_constraint_field: str
    """Field of `spec.template` that the operator's errors name for a scaling group's constraint."""

    always_preferred: bool
    """True if the strictest level is preferred on every PodGang, PodGroup and group config, whatever users wrote."""

    keeps_preferred: bool
    """True if PodGangs that had a preferred level keep it while TAS is disabled."""

    mutable_constraints: bool
    """True if an update may change constraints, which are judged again then."""

    annotate_topology: bool
    """True if PodGangs carry `grove.io/topology-name`; otherwise only `topologyNameAnnotation` asks for it."""

    annotate_unconstrained: bool
    """True if `grove.io/topology-name` stands on every PodGang while TAS is enabled; else on translated ones only."""

    fixed_domain_order: bool
    """True if the operator lists known domains broadest first, False if in the configuration's order."""

    names_missing_domain: bool
    """True if an empty packDomain has a webhook error of its own, False if it is an unknown domain like any other."""

    podgroups_by_operator: bool
    """True if the operator makes KAI's PodGroups of PodGangs; else KAI's pod-grouper does once there are pods."""

    follows_references: bool
    """True if these PodGroups name the Topology that the ClusterTopologyBinding refers to for KAI, where it does;
    otherwise they name the binding.
    """

    empty_podgroups: bool
    """True if a PodGang without pods has such a PodGroup, which needs no member."""

    splits_lpx: bool
    """True if lpx-scheduler leaves cliques that ask for no LPU to KAI, where that has a profile too."""

    podgang_maps: bool
    """True if PodGangs are built from PodGangMaps: epochs are in their names and labels, every PodGang has the
    PodCliqueSet's constraint, a scaling group's is that of a group config, and one without a level is left out.
    """

    min_available_default: Literal["WrittenReplicas", "One"]
    """A clique's minAvailable where it is absent: the replicas that the author wrote, 0 among them, or 1."""

    min_replicas_default: Literal["WrittenReplicas", "Replicas"]
    """The minReplicas of a clique's autoscaler where they are absent: the replicas that the author wrote, 0 among
    them, or its replicas.
    """

    rolling_updates: bool
    """True if cliques and scaling groups have a `rollingUpdate`, which admission fills in with the updateStrategy."""

    conditions: ConditionTexts
    """The condition of workloads."""

    @property
    def chooses_topology(self) -> bool:
        """True if a workload chooses one of many topologies, which users make."""
        return self.user_topologies == "Used"

    @property
    def constraints_choose(self) -> bool:
        """True if constraints name the topology, and say `pack`; otherwise they say `packDomain` alone."""
        return self.chooses_topology and self.topology_name_field is None

    def with_configuration(self, name: str | None, *, annotate_topology: bool) -> Revision:
        """This revision with what a configuration may choose in it: the topology's name, the PodGangs' annotation."""
        return self._replace(
            default_topology=name if name and self.named_by_configuration else self.default_topology,
            annotate_topology=self.annotate_topology or annotate_topology,
        )
