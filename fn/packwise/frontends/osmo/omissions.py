"""The requests of a workflow that no PodGroup or Pod made from it has, each with the reason and the remedy.

Source: spec/osmo.md#1 to #5.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Origin
from packwise.frontends.osmo.document import read_documents
from packwise.frontends.osmo.model import pool_of
from packwise.frontends.osmo.placements import tree_of
from packwise.frontends.osmo.recognition import document_places
from packwise.frontends.osmo.rules import Submission
from packwise.lenient import mapping_at
from packwise.placement import Gang, GangPod, Omission

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.osmo.model import Requirement, Resource, TaskGroup, Workflow
    from packwise.objects.index import Inventory
    from packwise.placement import Cluster, WorkloadPlan
    from packwise.settings.topologyrender import TopologyRender

_TREE, _POD = "spec/osmo.md#4", "spec/osmo.md#pod"


def omissions(
    plans: Sequence[WorkloadPlan],
    inventory: Inventory,
    cluster: Cluster,  # noqa: ARG001
    settings: TopologyRender,
) -> Iterator[tuple[WorkloadPlan, Omission]]:
    """Yield the requests of workflows that no object made from them has, each with its plan."""
    documents = read_documents(document_places(inventory), settings.osmo.values)
    workflows = {workflow.name: workflow for workflow in documents.workflows}
    for plan in plans:
        gang = next((each.node for each in plan.placements if isinstance(each.node, Gang)), None)
        workflow = None if gang is None else workflows.get(gang.workload)
        if workflow is None or workflow.place.item is not plan.workload:
            continue
        pool = pool_of(workflow.pool, workflow.place.item.file, documents.rendered_pools)
        if pool is not None:
            submission = Submission(workflow, pool, settings.osmo)
            yield from ((plan, omission) for omission in _workflow_omissions(plan, submission))


def _workflow_omissions(plan: WorkloadPlan, submission: Submission) -> Iterator[Omission]:
    workflow, pool = submission.workflow, submission.pool
    for group in workflow.groups:
        yield from _bounds(submission, group)
    used = {task.resource for task in workflow.tasks()}
    for name, resource in workflow.resources.items():
        if name not in used:
            yield from _unused_resource(workflow, resource)
        elif resource.nodes_excluded:
            origin = Origin(workflow.place_at((*resource.path, "nodesExcluded")), _POD)
            why = "OSMO excludes these nodes when it submits the workflow; the rendered pods do not exclude them"
            yield Omission(origin, f'nodesExcluded of resource "{name}"', why, "")
    yield from _labels(plan, workflow)
    if pool.templates:
        asked = f'pod template{"" if len(pool.templates) == 1 else "s"} "{", ".join(pool.templates)}" of the pool'
        why = "OSMO merges them into pods when it submits the workflow; the input does not contain them"
        yield Omission(Origin(pool.place.child("common_pod_template"), _POD), asked, why, "")


def _bounds(submission: Submission, group: TaskGroup) -> Iterator[Omission]:
    """Yield the common levels of all tasks of a group that the constraint of the group lacks.

    A constraint has at most one required and one preferred level.
    """
    tree = tree_of(submission, group)
    bounds, levels, workflow = tree.bounds, submission.pool.levels, submission.workflow
    if bounds is None:
        return
    stated = [level.domain for level in (bounds.required, bounds.preferred) if level is not None]
    for step in tree.shared:
        key = levels[step.level].domain
        entry = _entry(submission, group, key)
        if key in stated or entry is None:
            continue
        path, requirement = entry
        kind = "required" if requirement.required else "preferred"
        finer = bounds.required.domain if bounds.required is not None else ""
        if finer and submission.pool.key_names.index(finer) > step.level:
            why, remedy = f'the whole group must be in one "{finer}" anyway, a finer level', ""
        else:
            why = f'a constraint of KAI prefers one level, and "{stated[-1]}" is the finest'
            remedy = f'require "{key}", or remove "{stated[-1]}"'
        yield Omission(Origin(workflow.place_at(path), _TREE), f'{kind} "{key}" of group "{group.name}"', why, remedy)


def _entry(submission: Submission, group: TaskGroup, key: str) -> tuple[FieldPath, Requirement] | None:
    """Return the path and the value of the first requirement with this key among the tasks of a group, or None."""
    for task in group.tasks:
        for place, requirement in enumerate(submission.topology(task)):
            if requirement.key == key:
                return (*submission.workflow.resources[task.resource].path, "topology", place), requirement
    return None


def _unused_resource(workflow: Workflow, resource: Resource) -> Iterator[Omission]:
    if resource.topology:
        keys = ", ".join(dict.fromkeys([each.key for each in resource.topology]))
        origin = Origin(workflow.place_at((*resource.path, "topology")), _TREE)
        why = "no task has this resource"
        remedy = f"name it in a task: `resource: {resource.name}`"
        yield Omission(origin, f'topology "{keys}" of resource "{resource.name}"', why, remedy)


def _labels(plan: WorkloadPlan, workflow: Workflow) -> Iterator[Omission]:
    """Yield the labels of the workflow that OSMO replaces by its own labels."""
    pod = next((each.node for each in plan.placements if isinstance(each.node, GangPod)), None)
    carried = mapping_at(None if pod is None else pod.value, "metadata", "labels")
    for key, value in workflow.labels.items() if carried else ():
        if carried.get(key) != value:
            origin = Origin(workflow.place_at(("workflow", "labels", key)), _POD)
            yield Omission(origin, f"label {key}", "OSMO's own label has the same name and wins", "give it another key")
