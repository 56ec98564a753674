"""Make queues, topologies, gangs and pods from pools and workflows, and report where OSMO's own objects differ.

Source: spec/osmo.md#5, #d1 to #d9, #decisions.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, Record
from packwise.findings import Origin
from packwise.frontends.osmo.model import (
    MAX_NAME,
    TaskGroup,
    TaskTree,
    build,
    join_groups,
    label_text,
    safe_name,
    unique_names,
)
from packwise.frontends.osmo.rules import DIFFERS, levels_of
from packwise.kubernetes import label_value
from packwise.placement import Gang, GangPod, Grouper, NodeTopology, Placement, PodSet, Queue
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Finding
    from packwise.frontends.osmo.model import OsmoPool, Resource, Task, TaskNode, Workflow
    from packwise.frontends.osmo.rules import Submission
    from packwise.placement import Bounds
    from packwise.settings.topologyrender import Osmo

_UNITS = {"T": "Ti", "G": "Gi", "M": "Mi", "K": "Ki", "B": "", "m": "m"}
"""Units in Kubernetes by the first letter of OSMO's unit. For example, both T and TiB become Ti."""

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
"""For each field of a pod, the path in the task from which it is made."""


class Names(Record):
    """The names of rendered objects.

    Queues are found by the name of the pool. Gangs and pods are found by the name of the workflow, and of the group or
    task.
    """

    parent: str
    queues: Mapping[str, str]
    gangs: Mapping[tuple[str, str], str]
    pods: Mapping[tuple[str, str], str]

    def topology(self, pool: str) -> str:
        """Return the name of the Topology that is made from a pool."""
        return f"{self.queues[pool]}-topology"


def object_names(pools: Iterable[OsmoPool], workflows: Iterable[Workflow], settings: Osmo) -> Names:
    """Return the names of all objects that are made from `pools` and `workflows`.

    The names of tasks and of groups must be unique within their workflow.
    """
    workflows = list(workflows)
    queues = [(pool.name, f"osmo-pool-{settings.namespace}-{pool.name}", pool.name) for pool in pools]
    groups = [_wanted_name(workflow, group.name) for workflow in workflows for group in workflow.groups]
    tasks = [_wanted_name(workflow, task.name) for workflow in workflows for task in workflow.tasks()]
    parent = unique_names([("", f"osmo-default-{settings.namespace}", settings.namespace)])[""]
    return Names(parent, unique_names(queues), unique_names(groups), unique_names(tasks))


def _wanted_name(workflow: Workflow, part: str) -> tuple[tuple[str, str], str, str]:
    return (workflow.name, part), f"{workflow.name}-{part}", f"{workflow.name}/{part}"


def pool_placements(
    pools: Iterable[OsmoPool], names: Names, settings: Osmo, before: Iterable[OsmoPool] = ()
) -> Iterator[Placement]:
    """Yield a common queue, a queue below it for each pool, and a topology for each pool with topology keys.

    `before` are the pools of the baseline.
    """
    old = {pool.name: tuple(key.label for key in pool.keys) for pool in before if pool.keys}
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
                place=pool.place.child("topology_keys"),
                field="label",
                origin=Origin(pool.place, "spec/osmo.md#topology"),
                before=old.get(pool.name),
            )
            yield Placement(topology, source, item, emit_by_default=True)


def tree_of(submission: Submission, group: TaskGroup) -> TaskTree:
    """Return the tree of the tasks in a group."""
    return build([levels_of(submission, task) for task in group.tasks], submission.pool.levels, pad=submission.pad)


def workflow_placements(submission: Submission, trees: Iterable[TaskTree], names: Names) -> Iterator[Placement]:
    """Yield a gang for each group and a pod for each task. `trees` has the tree of each group."""
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
            origin=Origin(workflow.place_at(group.path), "spec/osmo.md#podgroup"),
            owner=Origin(workflow.place, "spec/osmo.md#5", _OWNER_FIELDS),
            queue=queue,
            priority_class=f"osmo-{settings.priority.lower()}",
            labels=labels,
        )
        yield Placement(node, source, item, emit_by_default=True)
        for task, leaf in zip(group.tasks, tree.leaves, strict=True):
            value = _pod(submission, task, names.pods[workflow.name, task.name], labels)
            origin = Origin(workflow.place_at(task.path), "spec/osmo.md#pod", _POD_FIELDS)
            pod = GangPod(value, gang, queue, leaf, origin)
            yield Placement(pod, source, item, emit_by_default=True)


def _sets(workflow: Workflow, group: TaskGroup, tree: TaskTree) -> tuple[PodSet, ...]:
    """Return a set of pods for each node of a tree. Its origin is the first task below the node."""
    first = {leaf: task for task, leaf in reversed(list(zip(group.tasks, tree.leaves, strict=True)))}
    for node in reversed(tree.nodes):
        if node.parent is not None and node.name in first:
            first[node.parent] = first[node.name]
    return tuple(
        PodSet(
            node.name,
            node.parent,
            node.members,
            _with_origin(node.bounds, workflow, first[node.name]),
            Origin(workflow.place_at(first[node.name].path), "spec/osmo.md#4"),
        )
        for node in tree.nodes
    )  # fmt: skip


def _with_origin(bounds: Bounds, workflow: Workflow, part: TaskGroup | Task) -> Bounds:
    """Return `bounds` with their origin: the resource of a task, or of the first task of a group."""
    task = part.tasks[0] if isinstance(part, TaskGroup) else part
    path = (*workflow.resources[task.resource].path, "topology")
    return bounds.replace(origin=Origin(workflow.place_at(path), "spec/osmo.md#4"))


def _group_labels(workflow: Workflow, group: TaskGroup, gang: str, settings: Osmo) -> dict[str, str]:
    """Return the labels that OSMO adds. A label with a UUID has a name instead, because a render must not be random."""
    name = label_text(workflow.name)
    labels = {
        "osmo.workflow_id": name,
        "osmo.workflow_uuid": name,
        "osmo.group_name": label_text(group.name),
        "osmo.group_uuid": gang,
    }
    # An e-mail address is no valid label, but the part before the @ is.
    for submitter in (settings.submitted_by, settings.submitted_by.partition("@")[0]):
        if submitter and not label_value(submitter):
            return {**labels, "osmo.submitted_by": submitter}
    return labels


def _pod(submission: Submission, task: Task, name: str, labels: Mapping[str, str]) -> Mapping[str, Value]:
    """Return the pod of a task. It lacks the pod templates of the pool, because only OSMO can merge them."""
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
    """Return the requests and limits of a container, with the resource names in OSMO's default pod template."""
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
    """Return a quantity with the unit that Kubernetes uses."""
    match = _QUANTITY.fullmatch(written)
    return written if match is None else match[1] + _UNITS.get(match[2], "")


_SHOWN = 3


def differences(submission: Submission, group: TaskGroup, tree: TaskTree) -> Iterator[Finding]:
    """Yield a finding for each difference between the rendered gang of `group` and the gang that OSMO would make."""
    for message in _messages(submission, group, tree):
        yield submission.workflow.place_at(group.path).finding(DIFFERS, message)


def queue_differences(pool: OsmoPool, names: Names, settings: Osmo) -> Iterator[Finding]:
    """Yield a finding if the rendered queue of a pool has another name than in OSMO.

    Kubernetes refuses OSMO's name, or another pool would get the same name.
    """
    wanted, name = f"osmo-pool-{settings.namespace}-{pool.name}", names.queues[pool.name]
    if name != wanted:
        message = f'has the queue "{name}", because Kubernetes refuses OSMO\'s name "{wanted}", or another pool has it'
        yield pool.place.finding(DIFFERS, message)


def _messages(submission: Submission, group: TaskGroup, tree: TaskTree) -> Iterator[str]:
    bounds, nodes = tree.bounds, tree.nodes
    if bounds is not None and bounds.required and bounds.preferred:
        yield (
            f"requires {bounds.required.key} and prefers {bounds.preferred.key} within it; OSMO would keep only the "
            "preference, and lose the requirement"
        )
    inner = [node for node in nodes if node.members is None]
    passed = _omitted_by_osmo(nodes)
    if passed:
        yield (
            f"has the {_subgroups(passed)}. OSMO would skip {'it' if len(passed) == 1 else 'them'}, with all "
            "requirements; leaves would then be siblings of inner nodes, and KAI v0.12 drops such leaves"
        )
    if len(inner) > len(passed):
        kept = [node for node in inner if node not in passed]
        yield (
            f"has no minMember on the {_subgroups(kept)}. OSMO would write one, but KAI from v0.15 on refuses it, "
            "because only leaves have pods"
        )
    renamed = [node for node in nodes if node.name != node.wanted]
    if renamed:
        names = ", ".join([f'"{node.wanted}" is "{node.name}"' for node in renamed[:_SHOWN]])
        yield (
            f"has subgroups with other names than in OSMO ({names}{_more_text(renamed)}), because KAI refuses OSMO's "
            "names, or would treat two groups as one"
        )
    shared = [join_groups(tree.shared[:depth]) for depth in range(1, len(tree.shared) + 1)]
    if len(set(shared)) < len(shared) or not {node.wanted for node in nodes}.isdisjoint(shared):
        yield "has levels with groups of the same name; OSMO would treat them as one level, the broadest"
    filled_up = {node.name for node in nodes if any(step.group is None for step in node.path)}
    padded = [leaf for leaf in tree.leaves if leaf in filled_up]
    if padded:
        yield (
            f'has added topology keys in {count_text(len(padded), "task")}, such as "{padded[0]}". OSMO would '
            "refuse the "
            "workflow, or place these tasks in no subgroup"
        )
    long = [task.name for task in group.tasks if len(task.name) > MAX_NAME]
    if long and nodes:
        yield (
            f'has the task "{long[0]}". OSMO would lose it from its subgroup, because its name is too long for a label'
        )
    for name in sorted({task.resource for task in group.tasks}):
        keys = [each.key for each in submission.workflow.resources[name].topology]
        if len(set(keys)) < len(keys):
            yield f'uses resource "{name}", which names a topology key twice; OSMO would nest the level within itself'


def _omitted_by_osmo(nodes: Sequence[TaskNode]) -> list[TaskNode]:
    """Return the inner nodes that OSMO omits: they have one child, and OSMO keeps no node above them."""
    children: dict[str | None, int] = {}
    for node in nodes:
        children[node.parent] = children.get(node.parent, 0) + 1
    omitted: list[TaskNode] = []
    omitted_names: set[str | None] = {None}
    for node in nodes:
        if node.members is None and node.parent in omitted_names and children[node.name] == 1:
            omitted.append(node)
            omitted_names.add(node.name)
    return omitted


def _subgroups(nodes: Sequence[TaskNode]) -> str:
    names = ", ".join([f'"{node.name}"' for node in nodes[:_SHOWN]])
    return f"inner subgroup{'' if len(nodes) == 1 else 's'} {names}{_more_text(nodes)}"


def _more_text(nodes: Sequence[TaskNode]) -> str:
    return f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
