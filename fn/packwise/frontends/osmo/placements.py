"""What pools and workflows become: queues, topologies, gangs and pods. Source: spec/osmo.md#5 and #decisions."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.frontends.osmo.names import MAX_NAME, label_text, safe_name, unique_names
from packwise.frontends.osmo.rules import levelled
from packwise.frontends.osmo.tree import Tree, build
from packwise.frontends.osmo.workflow import Group
from packwise.kubernetes.validation import label_value
from packwise.objects.place import Origin
from packwise.placement.model import Gang, GangPod, Grouper, NodeTopology, PodSet, Queue
from packwise.placement.plan import Placement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.frontends.osmo.pool import Pool
    from packwise.frontends.osmo.rules import Submission
    from packwise.frontends.osmo.workflow import Resource, Task, Workflow
    from packwise.placement.model import Bounds
    from packwise.settings import Osmo

__all__ = ["Names", "object_names", "pool_placements", "tree_of", "workflow_placements"]

_UNITS = {"T": "Ti", "G": "Gi", "M": "Mi", "K": "Ki", "B": "", "m": "m"}
"""OSMO's units by their first letter: its T and TiB are Kubernetes' Ti."""

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([a-zA-Z]?)[a-zA-Z]*")

_OWNER_FIELDS: Mapping[str, FieldPath] = {"name": ("workflow", "name"), "queue": ("workflow", "pool")}
_POD_FIELDS: Mapping[str, FieldPath] = {
    "metadata.name": ("name",),
    "metadata.labels[osmo.task_name]": ("name",),
    "metadata.labels[osmo.task_uuid]": ("name",),
    "metadata.labels[osmo.lead_container]": ("lead",),
    "spec.containers[0].name": ("name",),
    "spec.containers[0].image": ("image",),
    "spec.containers[0].command": ("command",),
    "spec.containers[0].args": ("args",),
    "spec.containers[0].env": ("environment",),
}
"""The fields of a task by those of its pod."""


class Names(NamedTuple):
    """Names of objects: queues by pool, gangs and pods by workflow and then group or task."""

    parent: str
    queues: Mapping[str, str]
    gangs: Mapping[tuple[str, str], str]
    pods: Mapping[tuple[str, str], str]

    def topology(self, pool: str) -> str:
        """The name of a pool's topology."""
        return f"{self.queues[pool]}-topology"


def object_names(pools: Iterable[Pool], workflows: Iterable[Workflow], settings: Osmo) -> Names:
    """The names of all objects of a render; those of tasks and groups are told apart within their workflow."""
    workflows = list(workflows)
    queues = [(pool.name, f"osmo-pool-{settings.namespace}-{pool.name}", pool.name) for pool in pools]
    groups = [_of(workflow, group.name) for workflow in workflows for group in workflow.groups]
    tasks = [_of(workflow, task.name) for workflow in workflows for task in workflow.tasks()]
    parent = unique_names([("", f"osmo-default-{settings.namespace}", settings.namespace)])[""]
    return Names(parent, unique_names(queues), unique_names(groups), unique_names(tasks))


def _of(workflow: Workflow, part: str) -> tuple[tuple[str, str], str, str]:
    return (workflow.name, part), f"{workflow.name}-{part}", f"{workflow.name}/{part}"


def pool_placements(
    pools: Iterable[Pool], names: Names, settings: Osmo, before: Iterable[Pool] = ()
) -> Iterator[Placement]:
    """The queue of each pool below one for all of them, and a topology for each that has keys.

    `before` are the pools of the baseline.
    """
    old = {pool.name: tuple([key.label for key in pool.keys]) for pool in before if pool.keys}
    space = {"osmo.namespace": settings.namespace}
    for number, pool in enumerate(pools):
        source, item = f"OSMO pool {pool.name}", pool.place.item
        queue = Origin(pool.place, "spec/osmo.md#queue", {"gpu": ("resources", "gpu")})
        if number == 0:
            yield Placement(Queue(names.parent, queue, labels=space), "OSMO pools", item)
        yield Placement(Queue(names.queues[pool.name], queue, names.parent, pool.gpu, space), source, item)
        if pool.keys:
            topology = NodeTopology(
                name=names.topology(pool.name),
                levels=pool.levels,
                labels={**space, "osmo.pool": label_text(pool.name)},
                place=pool.place.below("topology_keys"),
                field="label",
                origin=Origin(pool.place, "spec/osmo.md#topology"),
                before=old.get(pool.name),
            )
            yield Placement(topology, source, item, emit_by_default=True)


def tree_of(submission: Submission, group: Group) -> Tree:
    """The tree of a group's tasks."""
    return build([levelled(submission, task) for task in group.tasks], submission.pool.levels, pad=submission.pad)


def workflow_placements(submission: Submission, trees: Iterable[Tree], names: Names) -> Iterator[Placement]:
    """A gang for each group, and a pod for each task; `trees` are the groups' trees."""
    workflow, pool, settings = submission.workflow, submission.pool, submission.settings
    source, item = f"OSMO workflow {workflow.name}", workflow.place.item
    queue = names.queues[pool.name]
    for group, tree in zip(workflow.groups, trees, strict=True):
        gang = names.gangs[workflow.name, group.name]
        labels = _group_labels(workflow, group, gang, settings)
        node = Gang(
            name=gang,
            namespace=settings.namespace,
            workload=workflow.name,
            sets=_sets(workflow, group, tree),
            bounds=_with_origin(tree.bounds, workflow, group) if tree.bounds is not None else None,
            members=None if tree.nodes else len(group.tasks),
            topology=names.topology(pool.name),
            grouper=Grouper.SERVICE,
            origin=Origin(workflow.at(group.path), "spec/osmo.md#podgroup"),
            owner=Origin(workflow.place, "spec/osmo.md#5", _OWNER_FIELDS),
            queue=queue,
            priority_class=f"osmo-{settings.priority.lower()}",
            labels=labels,
        )
        yield Placement(node, source, item, emit_by_default=True)
        for task, leaf in zip(group.tasks, tree.leaves, strict=True):
            value = _pod(submission, task, names.pods[workflow.name, task.name], labels)
            pod = GangPod(value, gang, queue, leaf, Origin(workflow.at(task.path), "spec/osmo.md#pod", _POD_FIELDS))
            yield Placement(pod, source, item, emit_by_default=True)


def _sets(workflow: Workflow, group: Group, tree: Tree) -> tuple[PodSet, ...]:
    """The nodes of a tree; each comes from the first task below it."""
    first = {leaf: task for task, leaf in reversed(list(zip(group.tasks, tree.leaves, strict=True)))}
    for node in reversed(tree.nodes):
        if node.parent is not None and node.name in first:
            first[node.parent] = first[node.name]
    return tuple([
        PodSet(
            node.name,
            node.parent,
            node.members,
            _with_origin(node.bounds, workflow, first[node.name]),
            Origin(workflow.at(first[node.name].path), "spec/osmo.md#4"),
        )
        for node in tree.nodes
    ])  # fmt: skip


def _with_origin(bounds: Bounds, workflow: Workflow, part: Group | Task) -> Bounds:
    """`bounds` with the place of the resource that states the requirement of a task, or of a group's first task."""
    task = part.tasks[0] if isinstance(part, Group) else part
    path = (*workflow.resources[task.resource].path, "topology")
    return bounds._replace(origin=Origin(workflow.at(path), "spec/osmo.md#4"))


def _group_labels(workflow: Workflow, group: Group, gang: str, settings: Osmo) -> dict[str, str]:
    """OSMO's labels. What it calls uuid is a name here: a render has nothing random in it."""
    name = label_text(workflow.name)
    labels = {
        "osmo.workflow_id": name,
        "osmo.workflow_uuid": name,
        "osmo.group_name": label_text(group.name),
        "osmo.group_uuid": gang,
    }
    submitter = _submitter(settings.submitted_by)
    return labels if submitter is None else {**labels, "osmo.submitted_by": submitter}


def _submitter(written: str) -> str | None:
    """Who submits, where a label can say it: of an e-mail address, what stands before the @."""
    for name in (written, written.partition("@")[0]):
        if name and not label_value(name):
            return name
    return None


def _pod(submission: Submission, task: Task, name: str, labels: Mapping[str, str]) -> Mapping[str, Value]:
    """The pod of a task, as far as the workflow says what it is; what a pool's templates add is OSMO's own."""
    workflow, pool = submission.workflow, submission.pool
    resource = workflow.resources[task.resource]
    own: dict[str, str] = {
        "osmo.task_name": label_text(task.name),
        "osmo.task_uuid": name,
        "osmo.retry_id": "0",
        **({"osmo.lead_container": "true"} if task.lead else {}),
        "osmo.pool": label_text(pool.name),
        "osmo.platform": label_text(resource.platform or pool.platform or ""),
        "osmo.priority": submission.settings.priority.lower(),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": submission.settings.namespace,
            "labels": {**workflow.labels, **labels, **own},
        },
        "spec": {
            "containers": [_container(task, resource)],
            "restartPolicy": "Never",
            "schedulerName": pool.backend.scheduler_name,
        },
    }


def _container(task: Task, resource: Resource) -> dict[str, Value]:
    container: dict[str, Value] = {
        "name": safe_name(task.name)[:MAX_NAME].rstrip("-"),
        "image": task.image,
        "command": list(task.command),
    }
    if task.args:
        container["args"] = list(task.args)
    if task.environment:
        container["env"] = [{"name": name, "value": value} for name, value in task.environment.items()]
    amounts = _amounts(resource)
    if amounts:
        container["resources"] = {"limits": amounts, "requests": dict(amounts)}
    return container


def _amounts(resource: Resource) -> dict[str, Value]:
    """As in the pod template that OSMO's chart brings."""
    amounts: dict[str, Value] = {}
    if resource.cpu:
        amounts["cpu"] = str(resource.cpu)
    if resource.memory is not None:
        amounts["memory"] = _quantity(resource.memory)
    if resource.gpu:
        amounts["nvidia.com/gpu"] = str(resource.gpu)
    if resource.storage is not None:
        amounts["ephemeral-storage"] = _quantity(resource.storage)
    return amounts


def _quantity(written: str) -> str:
    """A quantity as Kubernetes writes it."""
    match = _QUANTITY.fullmatch(written)
    return written if match is None else match[1] + _UNITS.get(match[2], "")
