"""Grove's front end: it checks each PodCliqueSet, and makes its PodGangs and its condition.

Source: spec/grove.md#8, spec/designs.md#5, #1, #6, #8.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Effect, Finding, Rule, Stage, findings_of, has_errors, soften_lists
from packwise.frontends.grove.admission import (
    RECORD_NOTE,
    STORED,
    Admitted,
    EarlierRender,
    History,
    admit,
    all_rules,
    earlier_podgangs,
    is_new,
    keep_preferred,
    live_replicas,
    record_of,
    scheduled_pods,
)
from packwise.frontends.grove.advice import ABOUT_APPLIED_OBJECTS, ADVICE, advise, pod_specs
from packwise.frontends.grove.build_gangs import (
    NAME_RULES,
    build_gangs,
    count_entries,
    long_names,
    plans_of_entries,
    plans_of_template,
)
from packwise.frontends.grove.podcliqueset import PodCliqueSet, check_shape, chosen_topology, resolve_topology
from packwise.frontends.grove.rules.book import Context, rules_of
from packwise.frontends.grove.rules.topology import placed_domains
from packwise.objects.index import identity, repetitions
from packwise.objects.kinds import CLUSTER_TOPOLOGY, POD_CLIQUE_SET, PODGANG, kind_of
from packwise.placement import LIMIT, Placement, WorkloadPlan, excess_text, length, weight_of_copies
from packwise.pod_rules import RULES as POD_RULES
from packwise.pod_rules import pod_problems
from packwise.revisions.grove import REVISIONS
from packwise.topology.known import DOMAINS, Condition, ListedTopology, Use, read_levels
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings import Problem
    from packwise.frontends.frontend import FrontEnd
    from packwise.frontends.grove.advice import Pods
    from packwise.frontends.grove.build_gangs import GangPlan
    from packwise.frontends.grove.epoch_sources import EpochSources
    from packwise.objects.index import Inventory
    from packwise.placement import Cluster, Gang
    from packwise.revisions.grove import ConditionCase, Revision, Step
    from packwise.settings.topologyrender import TopologyRender
    from packwise.topology.known import ClusterTopology, KnownTopologies
    from packwise.validate.crds import Definitions
    from packwise.validate.definition import Definition


def workload_condition(
    pcs: PodCliqueSet, topology: ClusterTopology | None, *, enabled: bool, revision: Revision
) -> Condition | None:
    """Return the condition of `pcs`. Return None if it has none. `topology` is its topology, or None if it does not
    exist.

    Some releases list unavailable domains in random order. Here, the broadest domain comes first.
    """
    case, missing = _case(pcs, topology, enabled=enabled, revision=revision)
    if case is None:
        return None
    texts = revision.conditions
    message = case.message.format(topology=resolve_topology(pcs, revision), levels=texts.separator.join(missing))
    return Condition(texts.type, case.status, case.reason, message)


def _case(
    pcs: PodCliqueSet, topology: ClusterTopology | None, *, enabled: bool, revision: Revision
) -> tuple[ConditionCase | None, list[str]]:
    """Return the case of the condition, or None, and the domains that the topology does not have."""
    texts = revision.conditions
    if not enabled:
        return (texts.disabled if any(constraint.domains for constraint in pcs.constraints()) else None), []
    if not pcs.is_constrained and (texts.constrained_only or texts.unconstrained is not None):
        return texts.unconstrained, []
    if texts.unnamed is not None and resolve_topology(pcs, revision) is None:
        return texts.unnamed, []
    if topology is None:
        return texts.topology_missing, []
    missing = _missing_domains(pcs, topology)
    if not missing:
        return texts.available, []
    return (texts.level_missing if len(missing) == 1 else texts.levels_missing), missing


def _missing_domains(pcs: PodCliqueSet, topology: ClusterTopology) -> list[str]:
    named = [domain for constraint in pcs.constraints() for domain in (constraint.required, constraint.preferred)]
    missing = {domain for domain in named if domain and topology.level_of(domain) is None}
    return [d for d in DOMAINS if d in missing] + sorted(missing.difference(DOMAINS)) if missing else []


DROPPED = Rule(
    "constraint-dropped",
    "The topology no longer has the level that an existing workload requires.",
    "spec/designs.md#3.2",
    Severity.WARNING,
)
PREFERRED = Rule(
    "preferred-unknown",
    "The preferred level of a PodGang is unknown while topology-aware scheduling is disabled.",
    "spec/designs.md#1",
    Severity.INFO,
)
DROPPED_RULES = (DROPPED, PREFERRED)
"""Rules about existing workloads."""


def dropped_constraints(workload: KubeObject, pcs: PodCliqueSet, context: Context) -> Iterator[Finding]:
    """Yield a warning for each constraint with a level that the cluster no longer has."""
    for path, domain, why, remedy in lost_domains(pcs, context):
        yield Finding.of(DROPPED, workload, path, f'packwise drops the level "{domain}": {why}; {remedy}')


def lost_domains(pcs: PodCliqueSet, context: Context | Cluster) -> Iterator[tuple[FieldPath, str, str, str]]:
    """Yield each domain of `pcs` for which the cluster has no level: its path, its name, the reason and the remedy."""
    resolved = resolve_topology(pcs, context.revision)
    topology = context.topologies.get(resolved) if resolved is not None else None
    mutable, kind = context.revision.mutable_constraints, context.revision.topology_kind
    for path, domain in placed_domains(pcs):
        if not context.enabled:
            why = "topology-aware scheduling is disabled"
            other = "remove the constraint" if mutable else "create the workload again without the constraint"
            yield path, domain, why, f"enable it, or {other}"
        elif resolved is None:
            yield path, domain, "no topologyConstraint has a topologyName", "add one"
        elif topology is None or (domain and topology.level_of(domain) is None):
            why = "does not exist" if topology is None else f"has only the levels {list_known(topology.domains)}"
            other = "change the constraint" if mutable else "create the workload again with another constraint"
            yield (
                path,
                domain,
                f'{kind} "{resolved}" {why}',
                f"restore the {'topology' if topology is None else 'level'}, or {other}",
            )


def preferred_unknown(workload: KubeObject, gangs: Sequence[str]) -> Finding:
    """Return a finding about PodGangs that may have had a preferred level. No earlier render shows the level."""
    message = (
        f"the preferred level of PodGang{'' if len(gangs) == 1 else 's'} {list_known(gangs)} is unknown and omitted. "
        "Add the earlier render to the input or the baseline"
    )
    return Finding.of(PREFERRED, workload, ("metadata", "name"), message)


REMOVED = Rule(
    "field-removed",
    "A workload uses a field that topologyConstraint has replaced.",
    "spec/designs.md#6.5",
)

_PODS = "podSpec"
_WHERE = "`topologyConstraint` of the workload (`spec.template`), of a scaling group or a clique"
_INSTEAD = {
    "replicaSpreadConstraints": (
        f"Grove no longer spreads replicas, and packs each of them by {_WHERE}; use separate workloads for replicas "
        "that must not share a domain"
    ),
    "schedulingPolicyConfig": f"set the domain of each replica in {_WHERE}",
    "networkPackGroupConfigs": "make the cliques a scaling group with a `topologyConstraint`",
}
_DOMAIN = ("topologyConstraint", "packDomain")


def removed_fields(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return `findings`, with errors in place of findings about unknown fields that an earlier API had.

    The field requests a placement that no component provides any more, so it must not be ignored.
    """
    return tuple(each for finding in findings for each in _with_reason(finding))


def without_optional(workload: KubeObject, problems: list[Problem], revision: Revision) -> list[Problem]:
    """Return `problems` without problems about an absent domain, if the domain is optional in the revision."""
    if not problems or not revision.optional_domain:
        return problems
    return [problem for problem in problems if problem.path[-2:] != _DOMAIN or workload.get(problem.path) is not None]


def _with_reason(finding: Finding) -> Iterator[Finding]:
    if not finding.at_key or _replacement(finding.path) is None:
        yield finding
        return
    yield _removed_finding(finding, finding.path)
    value = finding.subject.get(finding.path) if finding.subject is not None else None
    for name in value if isinstance(value, dict) else ():
        if name in _INSTEAD:
            # Unknown fields are not validated further.
            yield _removed_finding(finding, (*finding.path, name))


def _removed_finding(finding: Finding, path: FieldPath) -> Finding:
    message = f"the API no longer has this field; {_replacement(path)}"
    return finding.replace(rule=REMOVED.name, severity=Severity.ERROR, path=path, message=message)


def _replacement(path: FieldPath) -> str | None:
    return None if not path or _PODS in path else _INSTEAD.get(str(path[-1]))


KIND = POD_CLIQUE_SET.name

DECODE = Rule("workload-decode", "A field of a workload has the wrong type.", "spec/grove.md#1.2")
SCHEMA = Rule("workload-schema", "A workload does not match the schema of its CRD.", "spec/grove.md#3")
UNKNOWN = Rule(
    "unknown-field", "A workload has a field that the API server does not know.", "spec/packwise.md#unknown-fields"
)
RULES = (DECODE, SCHEMA, UNKNOWN, REMOVED, *DROPPED_RULES)
"""Rules about workloads that the webhook does not have."""

Named = tuple[str, str]


class _Grove:
    """The front end of PodCliqueSets. `image_of` is the name of a container that gets its image later, or ""."""

    def __init__(self, image_of: str = "") -> None:
        self._image_of = image_of

    def plans(
        self, inventory: Inventory, cluster: Cluster, settings: TopologyRender, definitions: Definitions
    ) -> Iterable[WorkloadPlan]:
        """Return the plan of each PodCliqueSet, in the order of namespace and name."""
        items = inventory.items.of_kind(*POD_CLIQUE_SET.key)
        if not items:
            return []
        planner = _Planner(inventory, cluster, settings, definitions.of_kind(*POD_CLIQUE_SET.key), self._image_of)
        named = sorted((identity(item.value)[2:], place) for place, item in enumerate(items))
        plans = planner.plans([planner.check(name, items[place]) for name, place in named])
        if planner.placeholders:
            plans = _with_notice(plans, planner.placeholders, settings)
        repeats = {finding.subject: finding for finding in repetitions(items)}
        return [_refuse_repeat(plan, repeats.get(plan.workload)) for plan in plans] if repeats else plans

    def fix(self, item: KubeObject, revision: Revision, settings: TopologyRender) -> KubeObject:  # noqa: ARG002
        """Return a PodCliqueSet with safe fixes applied. Other objects are returned unchanged."""
        if identity(item.value)[:2] != POD_CLIQUE_SET.key:
            return item
        from packwise.frontends.grove.migrate import fix_workload

        return fix_workload(item, revision)

    def migrate(self, item: KubeObject, step: Step) -> KubeObject:
        """Return a PodCliqueSet in the form of the later revision of `step`. Other objects are returned unchanged."""
        if identity(item.value)[:2] != POD_CLIQUE_SET.key:
            return item
        from packwise.frontends.grove.migrate import migrate

        return migrate(item, step)

    def uses(self, inventory: Inventory, settings: TopologyRender, revision: Revision) -> Iterable[Use]:  # noqa: ARG002
        """Yield the PodCliqueSets in the order of the input, each with its topology."""
        scheduled = _count_scheduled(inventory)
        for item in inventory.items.of_kind(*POD_CLIQUE_SET.key):
            pcs = PodCliqueSet.read(item.value)
            count = scheduled.get(identity(item.value)[2:])
            yield Use(resolve_topology(pcs, revision), item, count, chosen_topology(pcs, revision) is not None)

    def topologies(
        self,
        inventory: Inventory,
        settings: TopologyRender,  # noqa: ARG002
        revision: Revision,
        known: KnownTopologies,
    ) -> Iterable[ListedTopology]:
        """Yield all known topologies and all other topology objects of the input, sorted by name."""
        listed = {topology.topology.name: (topology.topology, topology.item) for topology in known.by_name.values()}
        kinds, index = {CLUSTER_TOPOLOGY.key, kind_of(revision.topology_kind).key}, inventory.items
        for key, item in (*index.users.items(), *index.generated.items()):
            if key[:2] in kinds:
                listed.setdefault(item.name, (read_levels(item), item))
        for name, (topology, item) in sorted(listed.items()):
            # If the object is not one of Grove, it is a configuration from which the topology is made.
            generated = item.api_version.partition("/")[0] != CLUSTER_TOPOLOGY.group
            kind = CLUSTER_TOPOLOGY.name if generated else item.kind
            yield ListedTopology(kind, name, topology.levels, item, generated)


def _epoch_sources(inventory: Inventory, settings: TopologyRender) -> EpochSources:
    """Return the sources of epochs. The import is lazy, because only some releases have epochs."""
    from packwise.frontends.grove.epoch_sources import EpochSources

    return EpochSources(inventory, settings)


def _with_notice(
    plans: list[WorkloadPlan], placeholders: list[KubeObject], settings: TopologyRender
) -> list[WorkloadPlan]:
    """Return the plans, and add one finding about all workloads with unknown epochs to the plan of the first."""
    from packwise.frontends.grove.epoch_sources import placeholder_notice

    notice = placeholder_notice(placeholders, settings)
    first = placeholders[0]
    return [plan.replace(findings=(*plan.findings, notice)) if plan.workload is first else plan for plan in plans]


def _count_scheduled(inventory: Inventory) -> dict[Named, int]:
    """Return the number of scheduled pods of each workload: the larger number of input and baseline."""
    pods = scheduled_pods(inventory.items)
    for name, count in scheduled_pods(inventory.baseline).items():
        pods[name] = max(count, pods.get(name, 0))
    return pods


def _refuse_repeat(plan: WorkloadPlan, repeat: Finding | None) -> WorkloadPlan:
    """Return the plan. If the workload repeats an earlier one, add the finding and remove the placements."""
    return plan if repeat is None else plan.replace(findings=(*plan.findings, repeat), placements=())


class _CheckedWorkload(Record):
    """A workload, its findings, and its admitted form or None if it is refused.

    `record` is the record of its constraints. `is_recorded` is true if an earlier render wrote one.
    """

    workload: KubeObject
    findings: tuple[Finding, ...]
    admitted: Admitted | None = None
    record: str = ""
    is_recorded: bool = False


class _Planner:
    """Check and plan the workloads of one run with their shared context."""

    __slots__ = (
        "_baseline", "_before", "_cluster", "_context", "_definition", "_earlier", "_epochs", "_image_of", "_live",
        "_records", "_scheduled", "_settings", "placeholders",
    )  # fmt: skip

    def __init__(
        self,
        inventory: Inventory,
        cluster: Cluster,
        settings: TopologyRender,
        definition: Definition | None,
        image_of: str,
    ) -> None:
        self._settings = settings
        self._definition = definition
        self._image_of = image_of
        self._cluster = cluster
        self._context = Context(
            enabled=cluster.enabled,
            domains=cluster.domains,
            topologies=cluster.topologies,
            auto_mnnvl=cluster.auto_mnnvl,
            is_mnnvl_known=cluster.is_mnnvl_known,
            revision=cluster.revision,
            schedulers=cluster.schedulers,
        )
        self._live = live_replicas(inventory.items).groups
        self._epochs = _epoch_sources(inventory, settings) if cluster.revision.podgang_maps else None
        self.placeholders: list[KubeObject] = []
        self._scheduled = _count_scheduled(inventory)
        before = () if inventory.baseline is None else inventory.baseline.of_kind(*POD_CLIQUE_SET.key)
        self._baseline = {identity(item.value)[2:]: item.value for item in before}
        keeps = cluster.revision.keeps_preferred and not cluster.enabled
        self._earlier = earlier_podgangs(inventory) if keeps else {}
        self._records = _records(inventory)
        rolls = cluster.revision.rolling_updates
        self._before = EarlierRender.of(inventory, cluster.revision_before) if rolls else None

    def plans(self, checked: Sequence[_CheckedWorkload]) -> list[WorkloadPlan]:
        """Return the plan of each PodCliqueSet. If they exceed the run's limit, no gang is built."""
        most, total = self._settings.limits.gangs, 0
        refused: dict[int, Finding] = {}
        counted: list[int] = []
        for place, each in enumerate(checked):
            admitted = each.admitted
            entries = 0 if admitted is None else self._entries(admitted.pcs, each.record, most)
            counted.append(entries)
            if total + entries > most:
                message = excess_text(f"{entries} PodGangs and entries of their podgroups", total, most)
                refused[place] = Finding.of(LIMIT, each.workload, ("spec", "replicas"), message)
            else:
                total += entries
        if not refused:
            return [self._plan(each, entries) for each, entries in zip(checked, counted, strict=True)]
        return [
            WorkloadPlan(each.workload, (*each.findings, refused[place]) if place in refused else each.findings)
            for place, each in enumerate(checked)
        ]

    def _entries(self, pcs: PodCliqueSet, text: str, most: int) -> int:
        """Return the number of gangs and sets of a workload. `text` is the record of its constraints."""
        copied = len(text) + len(pcs.priority_class)
        if self._cluster.revision.mirrors_metadata:
            copied += length(pcs.labels) + length(pcs.annotations)
        mapped = 0 if self._epochs is None else self._epochs.count
        return count_entries(pcs, self._live, most, 1 + weight_of_copies(copied), mapped)

    def check(self, name: Named, workload: KubeObject) -> _CheckedWorkload:
        """Return the workload with the errors of the API server and the webhook, and with packwise's own findings."""
        value, baseline, revision = workload.value, self._baseline.get(name), self._cluster.revision
        history = History(baseline, self._records.get(name), self._cluster.revision_before)
        new = is_new(value, history, self._settings.admission)
        problems = without_optional(workload, check_shape(value, revision, new=new), revision)
        findings = self._soften(self._shape_findings(workload, problems, None if new else baseline or value))
        if problems and any(problem.stage is Stage.DECODE for problem in problems):
            return _CheckedWorkload(workload, findings)
        context = self._context.replace(scheduled=self._scheduled[name]) if name in self._scheduled else self._context
        admitted = admit(value, history, self._settings.admission, context)
        findings += self._soften(findings_of(admitted.problems, workload))
        pods = pod_specs(workload)
        findings += self._advice(workload, pods, admitted.pcs, context)
        if self._before is not None:
            findings += findings_of(self._before.problems(value, baseline, admitted.pcs, context), workload)
        findings += self._about_pods(workload, pods, is_refused=any(each.stage is not None for each in findings))
        if has_errors(findings):
            return _CheckedWorkload(workload, findings)
        return _CheckedWorkload(workload, findings, admitted, record_of(admitted.pcs), history.record is not None)

    def _soften(self, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """Return the findings. If packwise does not know the release, errors about fields and enums become warnings."""
        if self._cluster.revision.name in REVISIONS:
            return findings
        return soften_lists(findings, (UNKNOWN.name,))

    def _about_pods(self, workload: KubeObject, pods: Pods, *, is_refused: bool) -> tuple[Finding, ...]:
        """Return findings about the pods of a workload.

        If the workload `is_refused`, the findings have no text of the API server, because the pods are never created.
        """
        findings = findings_of(
            [
                (rule, problem.replace(path=(*path, *problem.path)).short_form)
                for path, spec in pods
                for rule, problem in pod_problems(spec, self._image_of, has_unique_names=True)
            ],
            workload,
        )
        if not is_refused:
            return findings
        return tuple(each.replace(operator_message=None, stage=None) for each in findings)

    def _advice(self, workload: KubeObject, pods: Pods, pcs: PodCliqueSet, context: Context) -> tuple[Finding, ...]:
        """Return the findings of `advice` about a workload. Some are only an info if no generated object is applied."""
        findings = findings_of(advise(workload, pods, pcs, context), workload)
        settings = self._settings
        if settings.apply and (self._cluster.enabled or settings.item is not None):
            return findings
        # Flux refuses a workload without a namespace, even if the operator creates its objects.
        asking = {"namespace-missing"} if "flux" in settings.gitops else set[str]()
        quiet = ABOUT_APPLIED_OBJECTS - asking
        return tuple(each.replace(severity=Severity.INFO) if each.rule in quiet else each for each in findings)

    def _plan(self, each: _CheckedWorkload, entries: int) -> WorkloadPlan:
        workload, findings, admitted = each.workload, each.findings, each.admitted
        if admitted is None:
            return WorkloadPlan(workload, findings)
        pcs, cluster = admitted.pcs, self._cluster
        resolved = resolve_topology(pcs, cluster.revision)
        topology = cluster.topologies.get(resolved) if resolved is not None else None
        plans, problems = self._gang_plans(workload, pcs)
        findings = (*findings, *problems)
        if has_errors(problems):
            return WorkloadPlan(workload, findings)
        gangs, notices = self._gangs(workload, admitted, topology, plans)
        notes = {RECORD_NOTE: each.record}
        # If the workload has no PodGang any more, it keeps the record itself. Otherwise, the next render would take it
        # for a new workload.
        is_left = each.is_recorded and not (gangs and self._settings.emits(PODGANG.name))
        source = f"{KIND} {pcs.namespace}/{pcs.name}"
        placements = tuple(Placement(gang, source, workload, notes) for gang in gangs)
        condition = workload_condition(pcs, topology, enabled=cluster.enabled, revision=cluster.revision)
        if admitted.existing:
            findings += tuple(dropped_constraints(workload, pcs, self._context))
        used = resolved if pcs.is_constrained or cluster.revision.topology_name_field else None
        conditions = () if condition is None else (condition,)
        own = {RECORD_NOTE: each.record if is_left else None}
        return WorkloadPlan(
            workload=workload,
            findings=(*findings, *notices),
            placements=placements,
            conditions=conditions,
            topology=used,
            notes=own,
            entries=entries,
        )

    def _gang_plans(self, workload: KubeObject, pcs: PodCliqueSet) -> tuple[Iterable[GangPlan], tuple[Finding, ...]]:
        """Return the plans of the workload's gangs, and findings about its PodGangMaps and its PodGang names."""
        if self._epochs is None:
            return plans_of_template(pcs, self._live), ()
        entries = self._epochs.entries(workload, pcs)
        if entries.placeholders:
            self.placeholders.append(workload)
        plans = [
            plan
            for replica, members in enumerate(entries.by_replica)
            for plan in plans_of_entries(pcs, replica, members)
        ]
        return plans, (*entries.findings, *long_names(workload, plans))

    def _gangs(
        self, workload: KubeObject, admitted: Admitted, topology: ClusterTopology | None, plans: Iterable[GangPlan]
    ) -> tuple[tuple[Gang, ...], tuple[Finding, ...]]:
        """Return the gangs and findings about them.

        While topology-aware scheduling is disabled, gangs of some revisions keep their earlier preferred levels.
        """
        pcs, cluster = admitted.pcs, self._cluster
        revision = cluster.revision
        gangs = build_gangs(
            workload,
            pcs,
            topology,
            plans,
            enabled=cluster.enabled,
            revision=revision,
            default_scheduler=cluster.schedulers.default if cluster.schedulers is not None else "",
            schedulers=cluster.schedulers,
        )
        if cluster.enabled or not revision.keeps_preferred:
            return gangs, ()
        kept = tuple(keep_preferred(gang, self._earlier.get((gang.namespace, gang.name))) for gang in gangs)
        unknown = [gang.name for gang in gangs if (gang.namespace, gang.name) not in self._earlier]
        is_noticed = admitted.existing and unknown and pcs.is_constrained
        return kept, (preferred_unknown(workload, unknown),) if is_noticed else ()

    def _shape_findings(
        self, workload: KubeObject, problems: list[Problem], before: Mapping[str, Value] | None
    ) -> tuple[Finding, ...]:
        """Return findings for which the decoder or the API server refuses the workload.

        The cluster's CRD decides. Without the CRD, `problems`, which are found by packwise's table, decide.
        """
        if not problems and self._definition is None:
            return ()
        from packwise.frontends.grove.crd import validate_workload

        unknown = Severity.ERROR if self._settings.unknown_fields == "Error" else Severity.WARNING
        decode, verdict = validate_workload(workload.value, before, self._definition, problems, self._cluster.revision)
        findings = findings_of(_with_rules(decode), workload, unknown)
        findings += findings_of(_with_rules(verdict.problems), workload, unknown)
        return removed_fields((*findings, *verdict.unchecked))


def _with_rules(problems: Iterable[Problem]) -> list[tuple[Rule, Problem]]:
    """Return each problem of a workload's fields with the rule that it breaks."""
    return [(_shape_rule(problem), problem) for problem in problems]


def _shape_rule(problem: Problem) -> Rule:
    if problem.effect is Effect.UNKNOWN:
        return UNKNOWN
    return DECODE if problem.stage is Stage.DECODE else SCHEMA


def _records(inventory: Inventory) -> dict[Named, str]:
    """Return the constraints that an earlier render recorded, by the namespace and name of the workload.

    The record is in the PodGangs of a workload, or in the workload itself.
    """
    key = ("metadata", "annotations", f"packwise.dev/{RECORD_NOTE}")
    records: dict[Named, str] = {}
    for workload in inventory.items.of_kind(*POD_CLIQUE_SET.key):
        text = workload.get(key)
        if isinstance(text, str):
            records[identity(workload.value)[2:]] = text
    for (_, kind, namespace, _), item in inventory.items.generated.items():
        if kind == PODGANG.name:
            text, name = item.get(key), item.get(("metadata", "labels", "app.kubernetes.io/part-of"))
            if isinstance(text, str) and isinstance(name, str):
                records[namespace, name] = text
    return records


def rule_table() -> list[Rule]:
    """Return every rule of this front end."""
    from packwise.frontends.grove.epoch_sources import RULES as EPOCH_RULES

    rules = (*EPOCH_RULES, *NAME_RULES, *all_rules())
    return [*RULES, *rules, *rules_of(ADVICE), *rules_of(STORED), *POD_RULES]


GROVE: FrontEnd = _Grove()
"""Grove's front end."""


def grove_for(image_of: str) -> FrontEnd:
    """Return Grove's front end for PodCliqueSets of another operator, which sets the image of container `image_of`."""
    return _Grove(image_of)
