"""A pool, a workflow, and the tree of a group's tasks. Source: spec/osmo.md#1, #2, #4."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import PurePath

from krmfn.hints import TYPE_CHECKING, Record, TypeVar
from packwise.lenient import mapping_at, text_at, value_at
from packwise.placement import Bounds, GpuShare
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.topology.known import Level

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Place
    from packwise.frontends.osmo import schema


DEFAULT_SCHEDULER = KAI_PROFILE


class PoolKey(Record):
    """A level: the name that workflows use, and the label of the nodes."""

    key: str
    label: str


class Backend(Record):
    """A cluster to which OSMO sends pods. `scheduler_type` is None if no file states it."""

    scheduler_type: str | None = None
    scheduler_name: str = DEFAULT_SCHEDULER


class OsmoPool(Record):
    """A pool at `place`. `keys` are listed broadest first, as OSMO requires.

    `layered` is true for a pool in Helm values, because several values files combine. `templates` are the names of the
    pod templates of all its pods.
    """

    name: str
    place: Place
    backend_name: str
    backend: Backend = Backend()
    keys: tuple[PoolKey, ...] = ()
    platforms: tuple[str, ...] = ()
    default_platform: str | None = None
    gpu: GpuShare = GpuShare()
    guarantee: int = -1
    layered: bool = False
    templates: tuple[str, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Return True if Helm values elsewhere hold a part of it: it is layered and names no backend."""
        return self.layered and not self.backend_name

    @property
    def key_names(self) -> list[str]:
        """Return the keys that workflows may request, broadest first."""
        return [each.key for each in self.keys]

    @property
    def levels(self) -> tuple[Level, ...]:
        """Return the topology of the pool, broadest level first. Its domains are the workflows' keys."""
        return tuple(Level(each.key, each.label) for each in self.keys)

    @property
    def platform(self) -> str | None:
        """Return the platform of resources without one."""
        return self.default_platform if self.default_platform in self.platforms else None


def read_pool(name: str, place: Place, model: schema.Pool, backends: Mapping[str, Backend]) -> OsmoPool:
    """Return the pool in `model`. `name` is its key in a mapping of pools."""
    gpu = model.resources.gpu
    return OsmoPool(
        name=name,
        place=place,
        backend_name=model.backend,
        backend=backends.get(model.backend, Backend()),
        keys=tuple(PoolKey(each.key, each.label) for each in model.topology_keys),
        platforms=tuple(model.platforms),
        default_platform=model.default_platform or None,
        gpu=GpuShare() if gpu is None else GpuShare(gpu.guarantee, gpu.maximum, gpu.weight),
        guarantee=-1 if gpu is None else gpu.guarantee,
        templates=tuple(model.common_pod_template),
    )


def read_backends(value: Mapping[str, Value]) -> dict[str, Backend]:
    """Return the backends beside the pools, as in OSMO's own configuration file. Others use KAI by default."""
    by_name: dict[str, Backend] = {}
    for name, entry in mapping_at(value, "backends").items():
        settings = value_at(entry, "scheduler_settings")
        if isinstance(settings, dict):
            kind = settings.get("scheduler_type")
            by_name[str(name)] = Backend(
                kind if isinstance(kind, str) else None,
                text_at(settings, "scheduler_name") or DEFAULT_SCHEDULER,
            )
    return by_name


def pool_of(name: str, file: str | None, pools: Sequence[OsmoPool]) -> OsmoPool | None:
    """Return the pool of a workflow in `file`: the one of that name, or for "" the first of the nearest ones.

    Return None without such a pool. Source: spec/osmo.md#8.
    """
    candidates = nearest_pools(file, pools) if not name else [pool for pool in pools if pool.name == name]
    return candidates[0] if candidates else None


def nearest_pools(file: str | None, pools: Sequence[OsmoPool]) -> list[OsmoPool]:
    """Return the pools in the folder of `file`, else in the nearest folder above with pools.

    A single pool is near every file. A pool without a file is in every folder.
    """
    if file is None or len(pools) < 2:
        return list(pools)
    folders = [PurePath(pool.place.item.file or "").parent if pool.place.item.file else None for pool in pools]
    for folder in PurePath(file).parents:
        near = [pool for pool, its in zip(pools, folders, strict=True) if its is None or its == folder]
        if near:
            return near
    return []


def one_of_each(pools: Iterable[OsmoPool]) -> tuple[OsmoPool, ...]:
    """Return distinct pools. Return the first complete one of several Helm layers of one pool, else the first."""
    taken: dict[str, OsmoPool] = {}
    for pool in pools:
        before = taken.setdefault(pool.name, pool)
        if before.is_partial and not pool.is_partial:
            taken[pool.name] = pool
    return tuple(taken.values())


class Requirement(Record):
    """Tasks of one `group` are within one domain of the level `key`."""

    key: str
    group: str
    required: bool


class Resource(Record):
    """The resources of tasks, written at `path`."""

    name: str
    path: FieldPath
    topology: tuple[Requirement, ...] = ()
    cpu: int | None = None
    gpu: int | None = None
    memory: str | None = None
    storage: str | None = None
    platform: str | None = None
    nodes_excluded: tuple[str, ...] = ()


class Task(Record):
    """One pod. `resource` is the name of its Resource."""

    name: str
    path: FieldPath
    resource: str
    image: str
    command: tuple[str, ...]
    args: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    lead: bool = False


class TaskGroup(Record):
    """Tasks that are scheduled together. `path` is the group's, or the task's if it is outside groups."""

    name: str
    path: FieldPath
    tasks: tuple[Task, ...]


class Workflow(Record):
    """A workflow. All paths start at its document `place`. `pool` is "" if not named."""

    name: str
    place: Place
    pool: str
    groups: tuple[TaskGroup, ...]
    resources: Mapping[str, Resource]
    labels: Mapping[str, str]
    text: str = ""

    def place_at(self, path: FieldPath) -> Place:
        """The place of a field."""
        return self.place.child(*path)

    def tasks(self) -> Iterator[Task]:
        """Every task, in order."""
        for group in self.groups:
            yield from group.tasks


def read_workflow(place: Place, text: str, model: schema.WorkflowSpec) -> Workflow:
    """Return the workflow in `model`. A task outside groups becomes a group."""
    groups = [_group(("workflow", "groups", index), group) for index, group in enumerate(model.groups)]
    for index, task in enumerate(model.tasks):
        path = ("workflow", "tasks", index)
        groups.append(TaskGroup(f"{task.name}-group", path, (_task(path, task, alone=True),)))
    return Workflow(
        name=model.name,
        place=place,
        pool=model.pool,
        groups=tuple(groups),
        resources={name: _resource(name, each) for name, each in model.resources.items()},
        labels=dict(model.labels),
        text=text,
    )


def _group(path: FieldPath, group: schema.TaskGroupSpec) -> TaskGroup:
    alone = len(group.tasks) == 1
    tasks = [_task((*path, "tasks", index), task, alone=alone) for index, task in enumerate(group.tasks)]
    return TaskGroup(group.name, path, tuple(tasks))


def _task(path: FieldPath, task: schema.TaskSpec, *, alone: bool) -> Task:
    return Task(
        name=task.name,
        path=path,
        resource=task.resource,
        image=task.image,
        command=tuple(task.command),
        args=tuple(task.args),
        environment=dict(task.environment),
        lead=alone or task.lead,
    )


def _resource(name: str, spec: schema.ResourceSpec) -> Resource:
    topology = [Requirement(each.key, each.group, each.requirementType.value == "required") for each in spec.topology]
    return Resource(
        name=name,
        path=("workflow", "resources", name),
        topology=tuple(topology),
        cpu=spec.cpu,
        gpu=spec.gpu,
        memory=spec.memory,
        storage=spec.storage,
        platform=spec.platform or None,
        nodes_excluded=tuple(spec.nodesExcluded),
    )


# The tree of a task group: the tasks that are placed together, their domain and their names. The rule is OSMO's,
# without the defects D1 to D5, D7 and D9. The whole path identifies a node, every node is kept, only leaves have tasks,
# and a required level is never lost. Source: spec/osmo.md#4, #d5, #d6, #d8, #decisions.


MAX_NAME = 63
"""The largest number of characters of a name. Each name is also the value of a label."""

_HASH = 8
_UNNAMED = "unnamed"

_NO_NAME = re.compile(r"[^a-z0-9-]+")
_NO_VALUE = re.compile(r"[^A-Za-z0-9_.-]+")

K = TypeVar("K", bound="Hashable")


def safe_name(wanted: str) -> str:
    """Return `wanted` as a DNS label of any length: in lower case, with dashes for invalid characters."""
    return _NO_NAME.sub("-", wanted.lower()).strip("-") or _UNNAMED


def label_text(wanted: str) -> str:
    """Return `wanted` as a label value: without invalid characters and cut to 63 characters."""
    return _NO_VALUE.sub("-", wanted)[:MAX_NAME].strip("-_.")


def unique_names(wanted: Iterable[tuple[K, str, str]]) -> dict[K, str]:
    """Return a DNS label for each key. `wanted` holds tuples of a key, its name and its identity.

    A name ends in a hash of the identity if it is too long or if two keys share it. The key that has exactly this name
    keeps it. The order of `wanted` does not matter.
    """
    entries = [(key, name, safe_name(name), identity) for key, name, identity in wanted]
    sharing: dict[str, list[bool]] = {}
    for _, name, safe, _ in entries:
        sharing.setdefault(safe, []).append(name == safe)
    names: dict[K, str] = {}
    for key, name, safe, identity in entries:
        owners = sharing[safe]
        is_owner = len(owners) == 1 or (name == safe and sum(owners) == 1)
        names[key] = safe if is_owner and len(safe) <= MAX_NAME else _hash_name(safe, identity)
    return names


def _hash_name(safe: str, identity: str) -> str:
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{safe[: MAX_NAME - _HASH - 1].rstrip('-')}-{digest}"


PADDED = "unconstrained"
"""The name of the node with the tasks that have no requirement at its level."""


class Levelled(Record):
    """A requirement at a level of the pool, 0 being the broadest: tasks of one `group` are placed together."""

    level: int
    group: str
    required: bool = True


class TreeStep(Record):
    """A step of a path: the level and its group, or None for padded tasks."""

    level: int
    group: str | None


Path = tuple[TreeStep, ...]
"""A node, as the steps from the root to it."""


class TaskNode(Record):
    """A node below the branching point. `wanted` is its name before escaping.

    A leaf holds `members` tasks. `members` is None for an inner node with child nodes.
    """

    path: Path
    wanted: str
    name: str
    parent: str | None
    members: int | None
    bounds: Bounds


class TaskTree(Record):
    """The tree of a group's tasks. `bounds` hold for the whole group along `shared`, the common path of all tasks.

    `nodes` lists parents first. `leaves` names each task's node in the tasks' order, or is None without nodes.
    """

    bounds: Bounds | None
    shared: Path
    nodes: tuple[TaskNode, ...]
    leaves: tuple[str | None, ...]


def paths_of(tasks: Sequence[Sequence[Levelled]], *, pad: bool) -> list[Path]:
    """Return the path of each task: its requirements, broadest first. With `pad`, add levels that only other tasks use.

    The first of two requirements at one level counts.
    """
    used = sorted({each.level for task in tasks for each in task})
    paths: list[Path] = []
    for task in tasks:
        groups: dict[int, str | None] = {}
        for each in task:
            groups.setdefault(each.level, each.group)
        paths.append(tuple(TreeStep(level, groups.get(level)) for level in used if pad or level in groups))
    return paths


def build(tasks: Sequence[Sequence[Levelled]], levels: Sequence[Level], *, pad: bool) -> TaskTree:
    """Return the tree of a group of tasks, each given by its requirements. `levels` are the pool's, broadest first.

    Without `pad`, all tasks must have requirements at the same levels or none at all.
    """
    paths = paths_of(tasks, pad=pad)
    nodes = _nodes(tasks, paths)
    children: dict[Path, list[Path]] = {}
    for path in nodes:
        children.setdefault(path[:-1], []).append(path)
    branching: Path = ()
    while len(children.get(branching, ())) == 1:
        branching = children[branching][0]
    bounds = _shared_bounds(branching, nodes, levels)
    below = _preorder(branching, children)
    names = unique_names([(path, join_groups(path), _unique_text(path)) for path in below])
    members = Counter(paths)
    written = tuple(
        TaskNode(
            path,
            join_groups(path),
            names[path],
            names.get(path[:-1]),
            None if path in children else members[path],
            _bounds(path, nodes, levels),
        )
        for path in below
    )  # fmt: skip
    return TaskTree(bounds, branching, written, tuple(names.get(path) for path in paths))


def _nodes(tasks: Sequence[Sequence[Levelled]], paths: Sequence[Path]) -> dict[Path, bool | None]:
    """Return every node in order of first appearance and True if its level is required, or None for a padded one.

    A level is required if any task requires it, in any order of tasks.
    """
    nodes: dict[Path, bool | None] = {}
    for task, path in zip(tasks, paths, strict=True):
        required = {each.level: any(e.required for e in task if e.level == each.level) for each in task}
        for depth, step in enumerate(path, start=1):
            node = path[:depth]
            before = nodes.get(node)
            nodes[node] = None if step.group is None else bool(before) or required[step.level]
    return nodes


def _bounds(path: Path, nodes: Mapping[Path, bool | None], levels: Sequence[Level]) -> Bounds:
    level = levels[path[-1].level]
    return Bounds(required=level) if nodes[path] else Bounds(preferred=level)


def _shared_bounds(shared: Path, nodes: Mapping[Path, bool | None], levels: Sequence[Level]) -> Bounds | None:
    """Return the finest required level along the path, and the finest preferred one if it is finer."""
    required = preferred = None
    for depth, step in enumerate(shared, start=1):
        if nodes[shared[:depth]]:
            required, preferred = levels[step.level], None
        else:
            preferred = levels[step.level]
    return Bounds(required, preferred) if shared else None


def _preorder(root: Path, children: Mapping[Path, list[Path]]) -> list[Path]:
    paths: list[Path] = []
    waiting = list(reversed(children.get(root, ())))
    while waiting:
        path = waiting.pop()
        paths.append(path)
        waiting += reversed(children.get(path, ()))
    return paths


def join_groups(path: Path) -> str:
    """Return OSMO's name of a node: its groups joined by dashes, without a leading dash."""
    name = ""
    for step in path:
        group = PADDED if step.group is None else step.group
        name = f"{name}-{group}" if name else group
    return name


def _unique_text(path: Path) -> str:
    """Return a unique text of the path: lengths mark the end of each group."""
    return "".join(
        [f"{step.level}:" + ("-" if step.group is None else f"{len(step.group)}:{step.group}") for step in path]
    )
