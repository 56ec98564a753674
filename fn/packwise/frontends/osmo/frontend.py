"""OSMO's front end: it checks each pool and workflow, and makes queues, topologies, gangs and pods from them."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Stage, has_errors
from packwise.frontends.frontend import FrontEnd
from packwise.frontends.osmo.document import read_documents
from packwise.frontends.osmo.model import OsmoPool, nearest_pools, pool_of
from packwise.frontends.osmo.placements import (
    differences,
    object_names,
    pool_placements,
    queue_differences,
    tree_of,
    workflow_placements,
)
from packwise.frontends.osmo.recognition import document_places, document_places_before
from packwise.frontends.osmo.rules import (
    NEED_NO_POOL,
    POOL,
    POOL_CHOSEN,
    POOL_KNOWN,
    POOLS,
    SUBMISSION,
    TOKEN,
    WORKFLOWS,
    PoolAt,
    Submission,
    pod_template_findings,
    run,
)
from packwise.lenient import mappings, value_at
from packwise.objects.kinds import POD
from packwise.placement import WorkloadPlan
from packwise.topology.known import ListedTopology, Use
from packwise.wording import known_names, list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packwise.findings import Finding, Rule
    from packwise.frontends.osmo.document import Documents
    from packwise.frontends.osmo.model import Workflow
    from packwise.frontends.osmo.placements import Names
    from packwise.objects.index import Inventory
    from packwise.placement import Cluster, Placement
    from packwise.revisions.grove import Revision
    from packwise.settings.topologyrender import TopologyRender
    from packwise.topology.known import KnownTopologies
    from packwise.validate.crds import Definitions

POOL_KIND = "OSMO pool"
WORKFLOW_KIND = "OSMO workflow"
"""The names of pools and workflows in messages with a kind. OSMO's documents have no kind."""


class _Osmo(FrontEnd):
    def plans(
        self,
        inventory: Inventory,
        cluster: Cluster,  # noqa: ARG002
        settings: TopologyRender,
        definitions: Definitions,  # noqa: ARG002
    ) -> Iterable[WorkloadPlan]:
        """Return the plans of unreadable documents, then one plan of all pools, then a plan of each workflow."""
        documents, names = _read(inventory, settings)
        unread = [WorkloadPlan(item, (finding,)) for item, finding in documents.findings]
        before = read_documents(document_places_before(inventory), settings.osmo.values).rendered_pools
        return [*unread, *_pools(documents, names, settings, before), *_workflows(documents, names, settings)]

    def uses(
        self,
        inventory: Inventory,
        settings: TopologyRender,
        revision: Revision,  # noqa: ARG002
    ) -> Iterable[Use]:
        """Yield the workflows by name. Each has the topology of its pool, or none if the pool has no topology keys."""
        documents, names = _read(inventory, settings)
        for workflow in sorted(documents.workflows, key=lambda each: each.name):
            pool = pool_of(workflow.pool, workflow.place.item.file, documents.rendered_pools)
            topology = workflow.pool or None
            if pool is not None:
                topology = names.topology(pool.name) if pool.keys else None
            document = (WORKFLOW_KIND, settings.osmo.namespace, workflow.name)
            yield Use(topology, workflow.place.item, is_explicit=bool(workflow.pool), document=document)

    def topologies(
        self,
        inventory: Inventory,
        settings: TopologyRender,
        revision: Revision,  # noqa: ARG002
        known: KnownTopologies,  # noqa: ARG002
    ) -> Iterable[ListedTopology]:
        """Return the pools with topology keys as topologies, sorted by the name of the Topology made from each."""
        documents, names = _read(inventory, settings)
        listed = [
            ListedTopology(POOL_KIND, names.topology(pool.name), pool.levels, pool.place.item)
            for pool in documents.rendered_pools
            if pool.keys
        ]
        return sorted(listed, key=lambda each: each.name)


def _read(inventory: Inventory, settings: TopologyRender) -> tuple[Documents, Names]:
    """Return the documents of the input, and the names of the objects that are made from them."""
    documents = read_documents(document_places(inventory), settings.osmo.values)
    return documents, object_names(documents.rendered_pools, documents.workflows, settings.osmo)


def _pools(
    documents: Documents, names: Names, settings: TopologyRender, before: Iterable[OsmoPool]
) -> Iterator[WorkloadPlan]:
    findings = [
        finding for place, template in documents.pod_templates for finding in pod_template_findings(place, template)
    ]
    if not documents.pools:
        if findings:
            yield WorkloadPlan(documents.pod_templates[0][0].item, tuple(findings))
        return
    schedulers = _schedulers(settings)
    findings += run(POOLS, documents.pools)
    for pool in documents.pools:
        findings += run(POOL, PoolAt(pool, schedulers))
    placements: list[Placement] = []
    if not has_errors(findings):
        findings += [
            finding for pool in documents.rendered_pools for finding in queue_differences(pool, names, settings.osmo)
        ]
        placements += pool_placements(documents.rendered_pools, names, settings.osmo, before)
    yield WorkloadPlan(documents.pools[0].place.item, tuple(findings), tuple(placements))


def _schedulers(settings: TopologyRender) -> tuple[str, ...]:
    """Return the names of the schedulers in the settings. There may be none."""
    names = [each.get("name") for each in mappings(value_at(settings.scheduler, "profiles"))]
    return tuple(name for name in names if isinstance(name, str))


def _workflows(documents: Documents, names: Names, settings: TopologyRender) -> Iterator[WorkloadPlan]:
    workflows = sorted(documents.workflows, key=lambda each: each.name)
    pools = documents.rendered_pools
    submissions = [
        Submission(workflow, pool, settings.osmo)
        for workflow in workflows
        if (pool := pool_of(workflow.pool, workflow.place.item.file, pools)) is not None
    ]
    placed = {id(each.workflow): each for each in submissions}
    repeats = [
        # OSMO accepts two workflows with one name, but their rendered objects would have the same names.
        finding.replace(when_written=Severity.ERROR)
        for finding in run(WORKFLOWS, tuple(each for each in documents.workflows if id(each) in placed))
    ]
    chosen = list(_about_pools(workflows, pools, broken=_has_broken_pools(documents)))
    for workflow in workflows:
        submission = placed.get(id(workflow))
        plan = _plan_without_pool(workflow, settings) if submission is None else _plan(submission, names, settings)
        own = [finding for finding in repeats if finding.subject is workflow.place.item]
        about = [finding for finding in chosen if finding.subject is workflow.place.item]
        yield plan.replace(findings=(*about, *plan.findings, *own), placements=() if own else plan.placements)


def _plan_without_pool(workflow: Workflow, settings: TopologyRender) -> WorkloadPlan:
    """Return a plan without objects. It has the findings about a workflow that do not depend on a pool."""
    submission = Submission(workflow, OsmoPool("", workflow.place, ""), settings.osmo)
    return WorkloadPlan(workflow.place.item, tuple(run(NEED_NO_POOL, submission)))


def _plan(submission: Submission, names: Names, settings: TopologyRender) -> WorkloadPlan:
    workflow = submission.workflow
    findings = list(run(SUBMISSION, submission))
    if has_errors(findings):
        return WorkloadPlan(workflow.place.item, tuple(findings))
    trees = [tree_of(submission, group) for group in workflow.groups]
    for group, tree in zip(workflow.groups, trees, strict=True):
        findings += differences(submission, group, tree)
    if settings.emits(POD.name, by_default=True):
        findings += _tokens(workflow)
    return WorkloadPlan(workflow.place.item, tuple(findings), tuple(workflow_placements(submission, trees, names)))


def _tokens(workflow: Workflow) -> Iterator[Finding]:
    """Yield a finding for the first token in the pods of a workflow."""
    for task in workflow.tasks():
        if any("{{" in text for text in (task.image, *task.command, *task.args, *task.environment.values())):
            message = "OSMO fills in `{{…}}` only while the workflow runs; the rendered pod contains it unchanged"
            yield workflow.place_at(task.path).finding(TOKEN, message)
            return


class _PoolReason(Record):
    """The reason why a workflow has no pool, or gets a pool that it does not name. Equal reasons share one finding."""

    rule: Rule
    message: str


def _about_pools(workflows: list[Workflow], pools: tuple[OsmoPool, ...], *, broken: bool) -> Iterator[Finding]:
    """Yield findings about unknown pools that workflows name, and about workflows that name no pool."""
    known = [pool.name for pool in pools]
    workflows_by_reason: dict[_PoolReason, list[Workflow]] = {}
    for workflow in workflows:
        if workflow.pool and known:
            if workflow.pool not in known and not broken:
                message = f'must be a pool of the input; got "{workflow.pool}"{known_names(workflow.pool, known)}'
                text = f"Pool {workflow.pool} not found."
                at = workflow.place_at(("workflow", "pool"))
                yield at.finding(POOL_KNOWN, message, operator_message=text, stage=Stage.WEBHOOK)
            continue
        reason = _pool_reason(nearest_pools(workflow.place.item.file, pools), known)
        if reason is not None and not (broken and reason.rule is POOL_KNOWN):
            workflows_by_reason.setdefault(reason, []).append(workflow)
    for reason, alike in workflows_by_reason.items():
        others = f"; also for {len(alike) - 1} more" if len(alike) > 1 else ""
        finding = alike[0].place_at(("workflow",)).finding(reason.rule, reason.message + others, at_key=True)
        # A workflow without a pool is only a warning for a check, because other rules still apply. A render fails.
        has_no_pool = reason.rule is POOL_KNOWN
        yield finding.replace(severity=Severity.WARNING, when_written=Severity.ERROR) if has_no_pool else finding


def _pool_reason(near: list[OsmoPool], known: list[str]) -> _PoolReason | None:
    """Return the reason for a finding about a workflow that names no pool. Return None if exactly one pool is near.

    `near` are the pools near the workflow's file.
    """
    if not known:
        message = "the input has no OSMO pool; add the config of the workflow's pool"
        return _PoolReason(POOL_KNOWN, message)
    if not near:
        message = f"no pool is in the folder of the workflow or above it; name one of the pools {list_known(known)}"
        return _PoolReason(POOL_KNOWN, message)
    if len(near) == 1:
        return None
    names = list_known([pool.name for pool in near])
    message = f'the workflow names no pool; packwise uses "{near[0].name}", the first of {names}. Set `pool`'
    return _PoolReason(POOL_CHOSEN, message)


def _has_broken_pools(documents: Documents) -> bool:
    """Return True if a pool config is invalid. A pool that seems to be missing may be in it."""
    return any(finding.stage is Stage.CONFIG for _, finding in documents.findings)


OSMO: FrontEnd = _Osmo()
"""OSMO's front end."""
