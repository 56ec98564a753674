"""The front end of workloads that KAI groups itself, and of the JobSets of TrainJobs.

packwise only previews the PodGroups of these workloads, because KAI makes them in the cluster. Source:
spec/podgrouper.md.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Finding, Place, has_errors
from packwise.frontends.frontend import FrontEnd
from packwise.frontends.workloads.groups import gangs, idle_reason, least_number_of_sets, pods_in_order, shapes
from packwise.frontends.workloads.leaders import without_types
from packwise.frontends.workloads.rules import advice, no_group, pod_findings, scheduler_name_findings, unscheduled_keys
from packwise.frontends.workloads.train_jobs import derived_job_sets, owners_of, train_job_of, unscheduled_train_job
from packwise.frontends.workloads.workload import TOPOLOGY as TOPOLOGY_KEY
from packwise.frontends.workloads.workload import Classes, RefusedError, classes_of, read_workloads
from packwise.objects.index import format_object, identity, kai_candidates
from packwise.objects.kinds import PODGROUP, TOPOLOGY
from packwise.objects.workload_kinds import QUEUE_NAME, WORKLOAD_KINDS, Grouping
from packwise.objects.wrapped import unwrap
from packwise.placement import LIMIT, Placement, WorkloadPlan, excess_text
from packwise.revisions.kai import NEWEST, release_of
from packwise.topology.known import ListedTopology, Use

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.frontends.workloads.workload import Workload
    from packwise.objects.index import Inventory
    from packwise.placement import Cluster
    from packwise.revisions.grove import Revision
    from packwise.revisions.kai import KaiRelease
    from packwise.settings.topologyrender import TopologyRender
    from packwise.topology.known import KnownTopologies
    from packwise.validate.crds import Definitions

_GROVE = "grove.io"
_RUNTIME = ("spec", "runtimeRef")
"""The field of a TrainJob that names its runtime."""
_ANY_CLASS = Classes()


class _Workloads(FrontEnd):
    def plans(
        self,
        inventory: Inventory,
        cluster: Cluster,  # noqa: ARG002
        settings: TopologyRender,
        definitions: Definitions,  # noqa: ARG002
    ) -> Iterable[WorkloadPlan]:
        """Yield the plan of each workload with pods of KAI or with KAI's keys, in the order of namespace and name."""
        release = release_of(settings.kai_version)
        classes = classes_of(inventory.items)
        groups = inventory.items.of_kind(*PODGROUP.key)
        for item in _sort(kai_candidates(inventory.items)):
            workloads = () if _has_grouped_owner(item) else read_workloads(item, release, settings.kai_name, classes)
            if not workloads and settings.kai_version is not None and (error := without_types(item.value)) is not None:
                # KAI refuses such a job, so it has no templates, and the schedulers of its pods are unknown.
                yield WorkloadPlan(item, _limit_severity((no_group(item, error),), release))
            outer = train_job_of(item, inventory.items)
            plans: list[WorkloadPlan] = []
            for workload in workloads:
                is_flat = any(_is_flat_group(group, workload) for group in groups)
                own = workload if outer is None else workload.with_metadata_of(outer)
                plan = _plan(own.replace(has_flat_podgroup=is_flat), settings.limits.gangs)
                if plan is not None:
                    plans.append(plan)
            if plans:
                yield _merge_plans(item, plans)
            wrapped = list(_wrapped_plans(item, release, settings, classes))
            if wrapped:
                yield _merge_plans(item, wrapped)
        for outer, job_set in derived_job_sets(inventory.items):
            for workload in read_workloads(job_set, release, settings.kai_name, classes):
                unscheduled = tuple(unscheduled_train_job(outer, workload))
                if unscheduled:
                    yield WorkloadPlan(outer, unscheduled)
                    continue
                place = Place(outer, _RUNTIME)
                plan = _plan(workload.replace(made_from=place).with_metadata_of(outer), settings.limits.gangs)
                if plan is not None:
                    yield _train_job_plan(plan, outer)

    def fix(self, item: KubeObject, revision: Revision, settings: TopologyRender) -> KubeObject:  # noqa: ARG002
        """Return a workload with KAI's keys moved to the places where KAI reads them."""
        # The import is lazy, because only a fix needs it.
        from packwise.frontends.workloads.keys import move_keys

        return move_keys(item, settings.kai_name)

    def uses(
        self,
        inventory: Inventory,
        settings: TopologyRender,
        revision: Revision,  # noqa: ARG002
    ) -> Iterable[Use]:
        """Yield the workloads with pods of KAI, each with the Topology that it names."""
        for item in _sort(kai_candidates(inventory.items)):
            workloads = () if _has_grouped_owner(item) else read_workloads(item, NEWEST, settings.kai_name, _ANY_CLASS)
            named = [each.owner.annotations.get(TOPOLOGY_KEY) for each in workloads if each.scheduled_templates]
            for name in dict.fromkeys([name or None for name in named]):
                yield Use(name, item)

    def topologies(
        self,
        inventory: Inventory,
        settings: TopologyRender,
        revision: Revision,
        known: KnownTopologies,  # noqa: ARG002
    ) -> Iterable[ListedTopology]:
        """Yield the Topologies of the input that workloads with pods of KAI name, sorted by name."""
        named = {use.topology for use in self.uses(inventory, settings, revision)}
        for item in sorted(inventory.items.of_kind(*TOPOLOGY.key), key=lambda each: each.name):
            if item.name in named:
                yield ListedTopology.of_scheduler(TOPOLOGY.name, item)


def _sort(items: Iterable[KubeObject]) -> list[KubeObject]:
    """Return the objects in the order of namespace, name and kind."""
    return sorted(items, key=lambda item: (*identity(item.value)[2:], identity(item.value)[:2]))


def _merge_plans(item: KubeObject, plans: Sequence[WorkloadPlan]) -> WorkloadPlan:
    """Return one plan for an object with several workloads. A finding of several workloads appears once."""
    if len(plans) == 1:
        return plans[0]
    findings: dict[tuple[str, FieldPath, str], Finding] = {}
    for finding in [finding for plan in plans for finding in plan.findings]:
        findings.setdefault((finding.rule, finding.path, finding.message), finding)
    placements = tuple(placement for plan in plans for placement in plan.placements)
    return WorkloadPlan(item, tuple(findings.values()), placements)


def _wrapped_plans(
    item: KubeObject, release: KaiRelease, settings: TopologyRender, classes: Classes
) -> Iterator[WorkloadPlan]:
    """Yield the plans of the workloads within an object. Their findings are reported at the object."""
    for wrapped in unwrap(item):
        place = Place(item, wrapped.path)
        for workload in read_workloads(wrapped.item, release, settings.kai_name, classes):
            plan = _plan(workload.replace(made_from=place), settings.limits.gangs)
            if plan is not None:
                source = f"{item.kind} {identity(item.value)[2]}/{item.name}"
                yield plan.replace(
                    workload=item,
                    findings=tuple(wrapped.finding(finding) for finding in plan.findings),
                    placements=tuple(each.replace(source=source, subject=item) for each in plan.placements),
                )


def _train_job_plan(plan: WorkloadPlan, item: KubeObject) -> WorkloadPlan:
    """Return the plan of a derived JobSet as a plan of its TrainJob. Findings are reported at `spec.runtimeRef`."""
    findings: list[Finding] = []
    for finding in plan.findings:
        message = f"{finding.message} (at {format_path(finding.path)} of the JobSet that the controller makes)"
        findings.append(finding.replace(subject=item, path=_RUNTIME, message=message))
    source = f"{item.kind} {identity(item.value)[2]}/{item.name}"
    placements = tuple(placement.replace(source=source, subject=item) for placement in plan.placements)
    return plan.replace(workload=item, findings=tuple(findings), placements=placements)


def _limit_severity(findings: Iterable[Finding], release: KaiRelease) -> tuple[Finding, ...]:
    """Return the findings. If packwise was never compared with a run of the release, errors become warnings."""
    if release.is_run:
        return tuple(findings)
    return tuple(
        finding.replace(severity=Severity.WARNING) if finding.severity is Severity.ERROR else finding
        for finding in findings
    )  # fmt: skip


def _has_grouped_owner(item: KubeObject) -> bool:
    """Return True if KAI or Grove groups an owner of the object. Its pods are then in the group of the owner.

    The input has such objects if it is a dump of a cluster.
    """
    kinds: list[tuple[str, str]] = []
    for owner in owners_of(item):
        group, slash, _ = str(owner.get("apiVersion")).partition("/")
        kinds.append((group if slash else "", str(owner.get("kind"))))
    # A TrainJob is an exception, because the group belongs to its JobSet.
    return any(
        (kind in WORKLOAD_KINDS and WORKLOAD_KINDS[kind].grouping is not Grouping.TRAIN_JOB) or kind[0].endswith(_GROVE)
        for kind in kinds
    )


def _is_flat_group(group: KubeObject, workload: Workload) -> bool:
    """Return True if the PodGroup belongs to the workload and has no subgroups."""
    if not group.name.startswith(f"pg-{workload.owner.name}-") or group.get(("spec", "subGroups")):
        return False
    named = [owner.get("name") for owner in owners_of(group)]
    return identity(group.value)[2] == workload.namespace and (not named or workload.owner.name in named)


def _plan(workload: Workload, most: int) -> WorkloadPlan | None:
    """Return the plan of a workload. Return None if KAI does not schedule it and it has no finding."""
    item = workload.item
    refused = tuple(scheduler_name_findings(workload))
    if refused or not workload.scheduled_templates:
        findings = refused or tuple(unscheduled_keys(workload))
        return WorkloadPlan(item, findings) if findings else None
    about_pods = tuple(pod_findings(workload))
    if idle_reason(workload):
        # Kueue suspends an object in its queues until it admits the object, so this is no reason to mention.
        is_queued = bool(workload.owner.labels.get(QUEUE_NAME))
        return WorkloadPlan(item, about_pods, idle="" if is_queued else idle_reason(workload))
    try:
        number = least_number_of_sets(workload)
        if number > most:
            message = excess_text(f"{number} gangs and sets of pods", 0, most)
            return WorkloadPlan(item, (Finding.of(LIMIT, item, ("spec",), message),))
        has_pods = bool(pods_in_order(workload))
        groups = shapes(workload) if has_pods else []
        findings = (*about_pods, *_limit_severity(advice(workload), workload.release))
    except RefusedError as error:
        return WorkloadPlan(item, (*about_pods, *_limit_severity((no_group(item, error),), workload.release)))
    if has_errors(about_pods):
        # No component creates these pods, so they have no group.
        groups = []
    source = format_object(item.value)
    placements = [Placement(gang, source, item) for gang in gangs(workload, groups)] if groups else []
    return WorkloadPlan(item, findings, tuple(placements), idle="" if has_pods else _SKIPPED)


_SKIPPED = "no gang: KAI's pod-grouper skips its pods"

WORKLOADS: FrontEnd = _Workloads()
"""The front end of workloads that KAI groups itself."""
