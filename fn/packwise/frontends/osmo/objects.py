"""What pools and workflows become: queues, topologies, gangs and pods. Source: osmo.md 5 and "Decisions"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from packwise.frontends.osmo.names import MAX_NAME, label_text, safe_name, unique_names
from packwise.frontends.osmo.rules import levelled
from packwise.frontends.osmo.tree import Tree, build
from packwise.kubernetes.validation import label_value
from packwise.request import Gang, GangPod, NodeLevels, Queue, Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.value import Value
    from packwise.api import Osmo
    from packwise.frontends.osmo.pool import Pool
    from packwise.frontends.osmo.rules import Submission
    from packwise.frontends.osmo.workflow import Group, Resource, Task, Workflow

__all__ = ["Names", "named", "pool_requests", "tree_of", "workflow_requests"]

_UNITS = {"T": "Ti", "G": "Gi", "M": "Mi", "K": "Ki", "B": "", "m": "m"}
"""OSMO's units by their first letter: its T and TiB are Kubernetes' Ti."""

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([a-zA-Z]?)[a-zA-Z]*")


class Names(NamedTuple):
    """Names of objects: queues by pool, gangs and pods by workflow and then group or task."""

    parent: str
    queues: Mapping[str, str]
    gangs: Mapping[tuple[str, str], str]
    pods: Mapping[tuple[str, str], str]

    def topology(self, pool: str) -> str:
        """The name of a pool's topology."""
        return f"{self.queues[pool]}-topology"


def named(pools: Iterable[Pool], workflows: Iterable[Workflow], settings: Osmo) -> Names:
    """The names of all objects of a render; those of tasks and groups are told apart within their workflow."""
    workflows = list(workflows)
    queues = [(pool.name, f"osmo-pool-{settings.namespace}-{pool.name}", pool.name) for pool in pools]
    groups = [_of(workflow, group.name) for workflow in workflows for group in workflow.groups]
    tasks = [_of(workflow, task.name) for workflow in workflows for task in workflow.tasks()]
    parent = unique_names([("", f"osmo-default-{settings.namespace}", settings.namespace)])[""]
    return Names(parent, unique_names(queues), unique_names(groups), unique_names(tasks))


def _of(workflow: Workflow, part: str) -> tuple[tuple[str, str], str, str]:
    return (workflow.name, part), f"{workflow.name}-{part}", f"{workflow.name}/{part}"


def pool_requests(
    pools: Iterable[Pool], names: Names, settings: Osmo, before: Iterable[Pool] = ()
) -> Iterator[Request]:
    """The queue of each pool below one for all of them, and a topology for each that has keys.

    `before` are the pools of the baseline.
    """
    old = {pool.name: tuple([key.label for key in pool.keys]) for pool in before if pool.keys}
    space = {"osmo.namespace": settings.namespace}
    for number, pool in enumerate(pools):
        origin, item = f"OSMO pool {pool.name}", pool.place.item
        if number == 0:
            yield Request(Queue(names.parent, labels=space), "OSMO pools", item)
        yield Request(Queue(names.queues[pool.name], names.parent, pool.gpu, space), origin, item)
        if pool.keys:
            levels = NodeLevels(
                names.topology(pool.name),
                tuple([key.label for key in pool.keys]),
                {**space, "osmo.pool": label_text(pool.name)},
                pool.place.below("topology_keys"),
                "label",
                old.get(pool.name),
            )
            yield Request(levels, origin, item, unasked=True)


def tree_of(submission: Submission, group: Group) -> Tree:
    """The tree of a group's tasks."""
    keys = [key.label for key in submission.pool.keys]
    return build([levelled(submission, task) for task in group.tasks], keys, pad=submission.pad)


def workflow_requests(submission: Submission, trees: Iterable[Tree], names: Names) -> Iterator[Request]:
    """A gang for each group, and a pod for each task; `trees` are the groups' trees."""
    workflow, pool, settings = submission.workflow, submission.pool, submission.settings
    origin, item = f"OSMO workflow {workflow.name}", workflow.place.item
    queue = names.queues[pool.name]
    for group, tree in zip(workflow.groups, trees, strict=True):
        gang = names.gangs[workflow.name, group.name]
        labels = _group_labels(workflow, group, gang, settings)
        asked = Gang(
            gang,
            settings.namespace,
            queue,
            f"osmo-{settings.priority.lower()}",
            names.topology(pool.name),
            tree.bounds,
            len(group.tasks),
            tuple([node.pods for node in tree.nodes]),
            labels,
        )
        yield Request(asked, origin, item, unasked=True)
        for task, leaf in zip(group.tasks, tree.leaves, strict=True):
            value = _pod(submission, task, names.pods[workflow.name, task.name], labels)
            yield Request(GangPod(value, gang, queue, leaf), origin, item, unasked=True)


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
