"""A workflow as the steps see it. Source: spec/osmo.md#2."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.osmo import schema
    from packwise.objects.place import Place

__all__ = ["Group", "Requirement", "Resource", "Task", "Workflow", "read_workflow"]


class Requirement(NamedTuple):
    """Tasks of one `group` stand within one domain of the level `key`."""

    key: str
    group: str
    required: bool


class Resource(NamedTuple):
    """What tasks ask for; `path` is where it is written."""

    name: str
    path: FieldPath
    topology: tuple[Requirement, ...] = ()
    cpu: int | None = None
    gpu: int | None = None
    memory: str | None = None
    storage: str | None = None
    platform: str | None = None
    nodes_excluded: tuple[str, ...] = ()


class Task(NamedTuple):
    """One pod; `resource` is the name of its Resource."""

    name: str
    path: FieldPath
    resource: str
    image: str
    command: tuple[str, ...]
    args: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    lead: bool = False


class Group(NamedTuple):
    """Tasks that are scheduled together. `path` is that of the task where it stands alone, outside any group."""

    name: str
    path: FieldPath
    tasks: tuple[Task, ...]


class Workflow(NamedTuple):
    """A workflow; `place` is its document, and all paths start there. `pool` is "" where it names none."""

    name: str
    place: Place
    pool: str
    groups: tuple[Group, ...]
    resources: Mapping[str, Resource]
    labels: Mapping[str, str]
    text: str = ""

    def at(self, path: FieldPath) -> Place:
        """The place of a field."""
        return self.place.below(*path)

    def tasks(self) -> Iterator[Task]:
        """Every task, in order."""
        for group in self.groups:
            yield from group.tasks


def read_workflow(place: Place, text: str, model: schema.WorkflowSpec) -> Workflow:
    """The workflow that `model` says; a task outside groups becomes a group of its own."""
    groups = [_group(("workflow", "groups", index), group) for index, group in enumerate(model.groups)]
    for index, task in enumerate(model.tasks):
        path = ("workflow", "tasks", index)
        groups.append(Group(f"{task.name}-group", path, (_task(path, task, alone=True),)))
    resources = {name: _resource(name, each) for name, each in model.resources.items()}
    return Workflow(model.name, place, model.pool, tuple(groups), resources, dict(model.labels), text)


def _group(path: FieldPath, group: schema.TaskGroupSpec) -> Group:
    alone = len(group.tasks) == 1
    tasks = [_task((*path, "tasks", index), task, alone=alone) for index, task in enumerate(group.tasks)]
    return Group(group.name, path, tuple(tasks))


def _task(path: FieldPath, task: schema.TaskSpec, *, alone: bool) -> Task:
    return Task(
        task.name,
        path,
        task.resource,
        task.image,
        tuple(task.command),
        tuple(task.args),
        dict(task.environment),
        alone or task.lead,
    )


def _resource(name: str, spec: schema.ResourceSpec) -> Resource:
    topology = [Requirement(each.key, each.group, each.requirementType.value == "required") for each in spec.topology]
    return Resource(
        name,
        ("workflow", "resources", name),
        tuple(topology),
        spec.cpu,
        spec.gpu,
        spec.memory,
        spec.storage,
        spec.platform or None,
        tuple(spec.nodesExcluded),
    )
