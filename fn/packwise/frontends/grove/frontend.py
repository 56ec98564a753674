"""Grove's front end: each PodCliqueSet validated, and turned into PodGangs and conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packwise.finding import Finding, Rule, Severity, Stage, has_errors
from packwise.frontends.grove import record
from packwise.frontends.grove.admission import Admitted, History, admit, is_new
from packwise.frontends.grove.advice import ADVICE, advise
from packwise.frontends.grove.condition import workload_condition
from packwise.frontends.grove.dropped import RULES as DROPPED_RULES
from packwise.frontends.grove.dropped import dropped_constraints, preferred_unknown
from packwise.frontends.grove.fields import REMOVED, removed_fields, without_optional
from packwise.frontends.grove.live import GROUP, live_replicas, scheduled_pods
from packwise.frontends.grove.mend import mend
from packwise.frontends.grove.podcliqueset import PodCliqueSet
from packwise.frontends.grove.podgang import KIND as PODGANG
from packwise.frontends.grove.podgang import count_podgangs, podgangs
from packwise.frontends.grove.preferred import earlier_podgangs, keep_preferred
from packwise.frontends.grove.resolution import chosen_topology, resolve_topology
from packwise.frontends.grove.rules import Context, Violation, all_rules
from packwise.frontends.grove.rules import Rule as WebhookRule
from packwise.frontends.grove.schema import check_shape
from packwise.plan import Generated, ListedTopology, Use, WorkloadPlan
from packwise.select.index import identity, repeated
from packwise.topology.clustertopology import KIND as CLUSTER_TOPOLOGY
from packwise.topology.levellist import read_levels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.frontends.frontend import FrontEnd
    from packwise.frontends.grove.podgang import PodGang
    from packwise.frontends.grove.schema import ShapeProblem
    from packwise.migrate.step import Step
    from packwise.plan import Cluster, Condition
    from packwise.revisions import Revision
    from packwise.select.selection import Selection
    from packwise.select.topologies import KnownTopologies
    from packwise.topology import ClusterTopology

__all__ = ["GROVE", "KIND", "MAX_ENTRIES", "RULES"]

KIND = "PodCliqueSet"

MAX_ENTRIES = 200_000
"""PodGangs and PodGroups that one workload may become: a slip of the pen must not fill the memory."""

DECODE = Rule("workload-decode", "Every field of a workload has the type that its API gives it.", "operator.md 1")
SCHEMA = Rule("workload-schema", "A workload keeps the schema of its CRD.", "operator.md 3")
UNKNOWN = Rule(
    "unknown-field", "Every field of a workload is one that the API server knows.", "product.md unknownFields"
)
LIMIT = Rule(
    "podgang-limit", f"One workload becomes at most {MAX_ENTRIES} PodGangs and entries of podgroups.", "product.md"
)
RULES = (DECODE, SCHEMA, UNKNOWN, REMOVED, *DROPPED_RULES, LIMIT)
"""Rules beside those of the webhook."""

_SHAPE_RULES = {Stage.DECODE: DECODE, Stage.SCHEMA: SCHEMA, None: UNKNOWN}

Named = tuple[str, str]


class _Grove:
    def plans(self, selection: Selection, cluster: Cluster) -> Iterable[WorkloadPlan]:
        """What becomes of each PodCliqueSet, by namespace and name."""
        items = selection.index.of_kind(GROUP, KIND)
        if not items:
            return []
        planner = _Planner(selection, cluster)
        named = sorted([(identity(item.value)[2:], place) for place, item in enumerate(items)])
        plans = [planner.plan(name, items[place]) for name, place in named]
        repeats = {id(finding.subject): finding for finding in repeated(items)}
        return [_once(plan, repeats.get(id(plan.workload))) for plan in plans] if repeats else plans

    def mend(self, item: KubeObject, revision: Revision) -> KubeObject:
        """A PodCliqueSet, mended."""
        if identity(item.value)[:2] != (GROUP, KIND):
            return item
        return mend(item, revision)

    def migrate(self, item: KubeObject, step: Step) -> KubeObject:
        """A PodCliqueSet, rewritten."""
        if identity(item.value)[:2] != (GROUP, KIND):
            return item
        from packwise.frontends.grove.migrate import migrate

        return migrate(item, step)

    def uses(self, selection: Selection) -> Iterable[Use]:
        """The PodCliqueSets in their order, each with the ClusterTopology it resolves to."""
        scheduled, revision = _scheduled(selection), selection.revision
        for item in selection.index.of_kind(GROUP, KIND):
            pcs = PodCliqueSet.read(item.value)
            count = scheduled.get(identity(item.value)[2:])
            yield Use(resolve_topology(pcs, revision), item, count, chosen_topology(pcs, revision) is not None)

    def topologies(self, selection: Selection, known: KnownTopologies) -> Iterable[ListedTopology]:
        """The topologies that are known, and every topology object there is, whoever made it."""
        found = {one.topology.name: (one.topology, one.item) for one in known.by_name.values()}
        kinds, index = {CLUSTER_TOPOLOGY, selection.revision.topology_kind}, selection.index
        for key, item in (*index.others.items(), *index.earlier.items()):
            if key[0] == GROUP and key[1] in kinds:
                found.setdefault(item.name, (read_levels(item), item))
        for name, (topology, item) in sorted(found.items()):
            # The others are made of a configuration, and of this kind.
            made = item.api_version.partition("/")[0] != GROUP
            yield ListedTopology(CLUSTER_TOPOLOGY if made else item.kind, name, topology.levels, item, made)


def _scheduled(selection: Selection) -> dict[Named, int]:
    """Scheduled pods by workload, in the input or the baseline, whichever is higher."""
    found = scheduled_pods(selection.index)
    for name, count in scheduled_pods(selection.baseline).items():
        found[name] = max(count, found.get(name, 0))
    return found


def _once(plan: WorkloadPlan, repeat: Finding | None) -> WorkloadPlan:
    """A workload that stands in the input already is refused; what it would become is told there."""
    return plan if repeat is None else plan._replace(findings=(*plan.findings, repeat), generated=())


class _Planner:
    """What all workloads of one run have in common."""

    __slots__ = (
        "_baseline", "_cluster", "_context", "_definition", "_earlier", "_live", "_records", "_scheduled", "_settings",
    )  # fmt: skip

    def __init__(self, selection: Selection, cluster: Cluster) -> None:
        self._settings = selection.settings
        self._definition = selection.definitions.of_kind(GROUP, KIND)
        self._cluster = cluster
        self._context = Context(
            cluster.enabled,
            cluster.domains,
            cluster.topologies,
            auto_mnnvl=cluster.auto_mnnvl,
            revision=cluster.revision,
            schedulers=cluster.schedulers,
        )
        self._live = live_replicas(selection.index)
        self._scheduled = _scheduled(selection)
        before = () if selection.baseline is None else selection.baseline.of_kind(GROUP, KIND)
        self._baseline = {identity(item.value)[2:]: item.value for item in before}
        self._earlier = earlier_podgangs(selection)
        self._records = _records(selection)

    def plan(self, name: Named, workload: KubeObject) -> WorkloadPlan:
        """What becomes of one PodCliqueSet."""
        value, baseline, revision = workload.value, self._baseline.get(name), self._cluster.revision
        history = History(baseline, self._records.get(name))
        new = is_new(value, history, self._settings.admission)
        problems = without_optional(workload, check_shape(value, revision, new=new), revision)
        findings = self._shape_findings(workload, problems, None if new else baseline or value)
        if any(problem.stage is Stage.DECODE for problem in problems):
            return WorkloadPlan(workload, findings)
        context = self._context._replace(scheduled=self._scheduled[name]) if name in self._scheduled else self._context
        admitted = admit(value, history, self._settings.admission, context)
        findings += _told(workload, admitted.violations) + _told(workload, advise(workload, admitted.pcs, context))
        if has_errors(findings):
            return WorkloadPlan(workload, findings)
        return self._rendered(workload, admitted, findings)

    def _rendered(self, workload: KubeObject, admitted: Admitted, findings: tuple[Finding, ...]) -> WorkloadPlan:
        pcs, cluster = admitted.pcs, self._cluster
        entries = count_podgangs(pcs, self._live)
        if entries > MAX_ENTRIES:
            message = (
                f"would become {entries} PodGangs and entries of their podgroups; packwise renders at most "
                f"{MAX_ENTRIES} of one workload: lower the replicas, or split the workload"
            )
            return WorkloadPlan(workload, (*findings, Finding.of(LIMIT, workload, ("spec", "replicas"), message)))
        resolved = resolve_topology(pcs, cluster.revision)
        topology = cluster.topologies.get(resolved) if resolved is not None else None
        gangs, noted = self._podgangs(workload, admitted, topology)
        notes = {record.NOTE: record.record_of(pcs)} if gangs else {}
        origin = f"{KIND} {pcs.namespace}/{pcs.name}"
        generated = tuple([Generated(gang.to_value(), origin, workload, notes) for gang in gangs])
        condition = workload_condition(pcs, topology, enabled=cluster.enabled, revision=cluster.revision)
        if admitted.existing:
            findings += tuple(dropped_constraints(workload, pcs, self._context))
        used = resolved if pcs.is_constrained or cluster.revision.topology_name_field else None
        traits = None
        if gangs and (cluster.grouped or "." in pcs.name):
            # No other run pays for the import. Of names that the webhook takes, schedulers may mind those with dots.
            from packwise.frontends.grove.gangs import gang_traits

            traits = gang_traits(pcs, resolved)
        return WorkloadPlan(workload, (*findings, *noted), generated, _some(condition), used, gangs=traits)

    def _podgangs(
        self, workload: KubeObject, admitted: Admitted, topology: ClusterTopology | None
    ) -> tuple[tuple[PodGang, ...], tuple[Finding, ...]]:
        """The PodGangs, with what they preferred before TAS was disabled where the revision lets them keep it."""
        pcs, cluster = admitted.pcs, self._cluster
        revision = cluster.revision
        gangs = podgangs(
            pcs,
            topology,
            enabled=cluster.enabled,
            live_replicas=self._live,
            revision=revision,
            default_scheduler=cluster.schedulers.default if cluster.schedulers is not None else "",
        )
        if cluster.enabled or not revision.keeps_preferred:
            return gangs, ()
        kept = tuple([keep_preferred(gang, self._earlier.get((gang.namespace, gang.name))) for gang in gangs])
        unknown = [gang.name for gang in gangs if (gang.namespace, gang.name) not in self._earlier]
        told = admitted.existing and unknown and pcs.is_constrained
        return kept, (preferred_unknown(workload, unknown),) if told else ()

    def _shape_findings(
        self, workload: KubeObject, problems: list[ShapeProblem], before: Mapping[str, Value] | None
    ) -> tuple[Finding, ...]:
        """What refuses the workload before any webhook: by the cluster's own CRD, where that is at hand."""
        unknown = Severity.ERROR if self._settings.unknown_fields == "Error" else Severity.WARNING
        definition = self._definition
        if definition is None:
            return removed_fields(self._by_table(workload, problems, unknown)) if problems else ()
        from packwise.crds.findings import findings_of
        from packwise.frontends.grove.schema.cluster import by_definition

        decode, found = by_definition(workload.value, before, definition, problems, self._cluster.revision)
        told = findings_of(found, workload, definition, SCHEMA, (UNKNOWN, unknown))
        return removed_fields((*self._by_table(workload, decode, unknown), *told))

    def _by_table(self, workload: KubeObject, problems: list[ShapeProblem], unknown: Severity) -> tuple[Finding, ...]:
        return tuple(
            [
                Finding.of(
                    _SHAPE_RULES[problem.stage],
                    workload,
                    problem.path,
                    problem.message,
                    severity=unknown if problem.is_unknown_field else None,
                    operator_message=problem.operator_message,
                    stage=problem.stage,
                    order=order,
                    at_key=problem.is_unknown_field,
                )
                for order, problem in enumerate(problems)
            ]
        )


def _records(selection: Selection) -> dict[Named, str]:
    """The recorded constraints of each workload that an earlier render made PodGangs of."""
    found: dict[Named, str] = {}
    for (_, kind, namespace, _), item in selection.index.earlier.items():
        if kind == PODGANG:
            text = item.get(("metadata", "annotations", f"packwise.dev/{record.NOTE}"))
            workload = item.get(("metadata", "labels", "app.kubernetes.io/part-of"))
            if isinstance(text, str) and isinstance(workload, str):
                found[namespace, workload] = text
    return found


def _told(workload: KubeObject, violations: list[tuple[WebhookRule[Any], Violation]]) -> tuple[Finding, ...]:
    if not violations:
        return ()
    return tuple(
        [
            Finding(
                rule.name,
                rule.severity,
                violation.message,
                workload,
                violation.path,
                violation.operator_message,
                Stage.WEBHOOK if violation.operator is not None else None,
                order,
                violation.proposed,
            )
            for order, (rule, violation) in enumerate(violations)
        ]
    )


def _some(condition: Condition | None) -> tuple[Condition, ...]:
    return () if condition is None else (condition,)


def rule_table() -> list[Rule]:
    """Every rule of this front end."""
    webhook: list[Any] = [*all_rules(), *ADVICE]
    return [*RULES, *(Rule(rule.name, rule.summary, rule.source, rule.severity) for rule in webhook)]


GROVE: FrontEnd = _Grove()
"""Grove's front end."""
