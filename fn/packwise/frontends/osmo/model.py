"""A pool and a workflow as the steps see them. Source: spec/osmo.md#1, #2."""

from __future__ import annotations

from pathlib import PurePath

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.placement import GpuShare
from packwise.topology.known import Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.frontends.osmo import schema
    from packwise.objects.place import Place

DEFAULT_SCHEDULER = "kai-scheduler"


class TopologyKey(NamedTuple):
    """A level: the name that workflows use, and the label of the nodes."""

    key: str
    label: str


class Backend(NamedTuple):
    """A cluster that OSMO sends pods to; `scheduler_type` is None where no file says it."""

    scheduler_type: str | None = None
    scheduler_name: str = DEFAULT_SCHEDULER


class Pool(NamedTuple):
    """A pool; `keys` stand broadest first, as OSMO wants them. `place` is where it is written.

    `layered` tells that it stands in Helm values, which are laid over others. `templates` are the names of the pod
    templates that all of its pods have.
    """

    name: str
    place: Place
    backend_name: str
    backend: Backend = Backend()
    keys: tuple[TopologyKey, ...] = ()
    platforms: tuple[str, ...] = ()
    default_platform: str | None = None
    gpu: GpuShare = GpuShare()
    guarantee: int = -1
    layered: bool = False
    templates: tuple[str, ...] = ()

    @property
    def partial(self) -> bool:
        """True if a part of it stands elsewhere: it comes from Helm values, and names no backend."""
        return self.layered and not self.backend_name

    @property
    def key_names(self) -> list[str]:
        """The keys that workflows may ask for, broadest first."""
        return [each.key for each in self.keys]

    @property
    def levels(self) -> tuple[Level, ...]:
        """The topology of the pool, broadest level first; its domains are the keys that workflows use."""
        return tuple([Level(each.key, each.label) for each in self.keys])

    @property
    def platform(self) -> str | None:
        """The platform of resources that name none."""
        return self.default_platform if self.default_platform in self.platforms else None


def read_pool(name: str, place: Place, model: schema.Pool, backends: Mapping[str, Backend]) -> Pool:
    """The pool that `model` says; one in a mapping has its name there."""
    gpu = model.resources.gpu
    return Pool(
        name,
        place,
        model.backend,
        backends.get(model.backend, Backend()),
        tuple([TopologyKey(each.key, each.label) for each in model.topology_keys]),
        tuple(model.platforms),
        model.default_platform or None,
        GpuShare() if gpu is None else GpuShare(gpu.guarantee, gpu.maximum, gpu.weight),
        -1 if gpu is None else gpu.guarantee,
        templates=tuple(model.common_pod_template),
    )


def read_backends(value: Mapping[str, Value]) -> dict[str, Backend]:
    """The backends that stand beside the pools, as in OSMO's own configuration file; others are KAI's by default."""
    by_name: dict[str, Backend] = {}
    backends = value.get("backends")
    for name, entry in backends.items() if isinstance(backends, dict) else ():
        settings = entry.get("scheduler_settings") if isinstance(entry, dict) else None
        if isinstance(settings, dict):
            kind, scheduler = settings.get("scheduler_type"), settings.get("scheduler_name")
            by_name[str(name)] = Backend(
                kind if isinstance(kind, str) else None,
                scheduler if isinstance(scheduler, str) and scheduler else DEFAULT_SCHEDULER,
            )
    return by_name


def pool_of(name: str, file: str | None, pools: Sequence[Pool]) -> Pool | None:
    """The pool of a workflow that stands in `file`: that of its name, else (for "") the first of the nearest ones.

    None where there is none. Source: spec/osmo.md#8.
    """
    candidates = nearest_pools(file, pools) if not name else [pool for pool in pools if pool.name == name]
    return candidates[0] if candidates else None


def nearest_pools(file: str | None, pools: Sequence[Pool]) -> list[Pool]:
    """The pools in the folder of `file`, else in the nearest folder above that has any.

    A single pool is near wherever it stands, and what comes from no file is in every folder.
    """
    if file is None or len(pools) < 2:
        return list(pools)
    folders = [PurePath(pool.place.item.file or "").parent if pool.place.item.file else None for pool in pools]
    for folder in PurePath(file).parents:
        near = [pool for pool, its in zip(pools, folders, strict=True) if its is None or its == folder]
        if near:
            return near
    return []


def one_of_each(pools: Iterable[Pool]) -> tuple[Pool, ...]:
    """The pools, of several layers of Helm values for one pool the first that is whole, or else the first."""
    taken: dict[str, Pool] = {}
    for pool in pools:
        before = taken.setdefault(pool.name, pool)
        if before.partial and not pool.partial:
            taken[pool.name] = pool
    return tuple(taken.values())


class Requirement(NamedTuple):
    """Tasks of one `group` stand within one domain of the level `key`."""

    key: str
    group: str
    required: bool


class Resource(NamedTuple):
    """The resources that tasks ask for; `path` is where they are written."""

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
