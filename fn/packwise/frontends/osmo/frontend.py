"""OSMO's front end: each pool and workflow validated, and turned into what the scheduler is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.findings.finding import Stage, has_errors
from packwise.frontends.osmo.differences import differences, renamed
from packwise.frontends.osmo.document import read_documents
from packwise.frontends.osmo.placements import object_names, pool_placements, tree_of, workflow_placements
from packwise.frontends.osmo.pool import pool_of
from packwise.frontends.osmo.recognition import document_places, document_places_before
from packwise.frontends.osmo.rules import (
    POOL,
    POOL_CHOSEN,
    POOL_KNOWN,
    POOLS,
    SUBMISSION,
    TEMPLATE,
    WORKFLOWS,
    PoolAt,
    Submission,
)
from packwise.frontends.osmo.rules.check import run
from packwise.objects.kinds import POD
from packwise.placement.plan import WorkloadPlan
from packwise.topology.uses import ListedTopology, Use
from packwise.wording import list_known, told_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.kubeobject import KubeObject
    from packwise.findings.finding import Finding
    from packwise.frontends.frontend import FrontEnd
    from packwise.frontends.osmo.document import Documents
    from packwise.frontends.osmo.placements import Names
    from packwise.frontends.osmo.pool import Pool
    from packwise.frontends.osmo.workflow import Workflow
    from packwise.objects.inventory import Inventory
    from packwise.placement.plan import Cluster, Placement
    from packwise.revisions import Revision
    from packwise.revisions.step import Step
    from packwise.settings import TopologyRender
    from packwise.topology.known import KnownTopologies
    from packwise.validate.definitions import Definitions

__all__ = ["OSMO"]

POOL_KIND = "OSMO pool"
WORKFLOW_KIND = "OSMO workflow"
"""What people are told of as kinds: OSMO's documents have none."""


class _Osmo:
    def plans(
        self,
        inventory: Inventory,
        cluster: Cluster,  # noqa: ARG002
        settings: TopologyRender,
        definitions: Definitions,  # noqa: ARG002
    ) -> Iterable[WorkloadPlan]:
        """What becomes of the documents that cannot be read, the pools in their order, the workflows by name."""
        documents = read_documents(document_places(inventory))
        names = object_names(documents.pools, documents.workflows, settings.osmo)
        unread = [WorkloadPlan(item, (finding,)) for item, finding in documents.findings]
        before = read_documents(document_places_before(inventory)).pools
        return [*unread, *_pools(documents, names, settings, before), *_workflows(documents, names, settings)]

    def mend(self, item: KubeObject, revision: Revision) -> KubeObject:  # noqa: ARG002
        """Itself: what is wrong with OSMO's documents is for people to decide."""
        return item

    def migrate(self, item: KubeObject, step: Step) -> KubeObject:  # noqa: ARG002
        """Itself: revisions are Grove's."""
        return item

    def uses(
        self,
        inventory: Inventory,
        settings: TopologyRender,
        revision: Revision,  # noqa: ARG002
    ) -> Iterable[Use]:
        """The workflows in order of name, each with the topology of its pool; a pool without keys has none."""
        documents = read_documents(document_places(inventory))
        names = object_names(documents.pools, documents.workflows, settings.osmo)
        for workflow in sorted(documents.workflows, key=lambda each: each.name):
            pool = pool_of(workflow.pool, documents.pools)
            topology = workflow.pool or None
            if pool is not None:
                topology = names.topology(pool.name) if pool.keys else None
            document = (WORKFLOW_KIND, settings.osmo.namespace, workflow.name)
            yield Use(topology, workflow.place.item, explicit=bool(workflow.pool), document=document)

    def topologies(
        self,
        inventory: Inventory,
        settings: TopologyRender,
        revision: Revision,  # noqa: ARG002
        known: KnownTopologies,  # noqa: ARG002
    ) -> Iterable[ListedTopology]:
        """The pools with topology keys, by the name of the Topology that each becomes."""
        documents = read_documents(document_places(inventory))
        names = object_names(documents.pools, documents.workflows, settings.osmo)
        listed = [
            ListedTopology(POOL_KIND, names.topology(pool.name), pool.levels, pool.place.item)
            for pool in documents.pools
            if pool.keys
        ]
        return sorted(listed, key=lambda each: each.name)


def _pools(
    documents: Documents, names: Names, settings: TopologyRender, before: Iterable[Pool]
) -> Iterator[WorkloadPlan]:
    if not documents.pools:
        return
    schedulers = _schedulers(settings)
    findings = list(run(POOLS, documents.pools))
    for pool in documents.pools:
        findings += run(POOL, PoolAt(pool, schedulers))
    placements: list[Placement] = []
    if not has_errors(findings):
        findings += [finding for pool in documents.pools for finding in renamed(pool, names, settings.osmo)]
        placements += pool_placements(documents.pools, names, settings.osmo, before)
    yield WorkloadPlan(documents.pools[0].place.item, tuple(findings), tuple(placements))


def _schedulers(settings: TopologyRender) -> tuple[str, ...]:
    """The names of the cluster's schedulers, where the settings say them."""
    scheduler = settings.scheduler
    profiles = scheduler.get("profiles") if isinstance(scheduler, dict) else None
    names = [each.get("name") for each in profiles if isinstance(each, dict)] if isinstance(profiles, list) else []
    return tuple([name for name in names if isinstance(name, str)])


def _workflows(documents: Documents, names: Names, settings: TopologyRender) -> Iterator[WorkloadPlan]:
    repeats = list(run(WORKFLOWS, documents.workflows))
    for workflow in sorted(documents.workflows, key=lambda each: each.name):
        plan = _plan(workflow, documents, names, settings)
        own = [finding for finding in repeats if finding.subject is workflow.place.item]
        yield plan._replace(findings=(*plan.findings, *own), placements=() if own else plan.placements)


def _plan(workflow: Workflow, documents: Documents, names: Names, settings: TopologyRender) -> WorkloadPlan:
    findings = list(_about_pool(workflow, documents))
    pool = pool_of(workflow.pool, documents.pools)
    if pool is None:
        return WorkloadPlan(workflow.place.item, tuple(findings))
    submission = Submission(workflow, pool, settings.osmo)
    findings += run(SUBMISSION, submission)
    if has_errors(findings):
        return WorkloadPlan(workflow.place.item, tuple(findings))
    trees = [tree_of(submission, group) for group in workflow.groups]
    for group, tree in zip(workflow.groups, trees, strict=True):
        findings += differences(submission, group, tree)
    if "{{" in workflow.text and settings.emits(POD.name, by_default=True):
        message = "holds `{{…}}`, which OSMO fills in at submission; the pods have it as it stands"
        findings.append(workflow.at(("workflow",)).finding(TEMPLATE, message, at_key=True))
    return WorkloadPlan(workflow.place.item, tuple(findings), tuple(workflow_placements(submission, trees, names)))


def _about_pool(workflow: Workflow, documents: Documents) -> Iterator[Finding]:
    pools = list(dict.fromkeys([pool.name for pool in documents.pools]))
    if not workflow.pool and len(pools) > 1:
        message = (
            f'must name one of the pools {list_known(pools)}; without `pool` it is rendered for the first, "{pools[0]}"'
        )
        yield workflow.at(("workflow",)).finding(POOL_CHOSEN, message, at_key=True)
    if pool_of(workflow.pool, documents.pools) is not None or _has_broken_pools(documents):
        return
    if workflow.pool:
        message = f'must be a pool of the input; got "{workflow.pool}"{told_known(workflow.pool, pools)}'
        text = f"Pool {workflow.pool} not found."
        yield workflow.at(("workflow", "pool")).finding(POOL_KNOWN, message, operator_message=text, stage=Stage.WEBHOOK)
    else:
        message = "must come with the config of its pool: there is no OSMO pool among the input"
        yield workflow.at(("workflow",)).finding(POOL_KNOWN, message, at_key=True)


def _has_broken_pools(documents: Documents) -> bool:
    """Whether a pool could not be read: it may be the one that is missing."""
    return any(finding.stage is Stage.CONFIG for _, finding in documents.findings)


OSMO: FrontEnd = _Osmo()
"""OSMO's front end."""
