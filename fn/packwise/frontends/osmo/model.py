"""Pools, workflows, and the tree of the tasks in a group. Source: spec/osmo.md#1, #2, #4."""

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
    """A cluster to which OSMO sends pods. `scheduler_type` is None if the input does not contain it."""

    scheduler_type: str | None = None
    scheduler_name: str = DEFAULT_SCHEDULER


class OsmoPool(Record):
    """A pool at `place`. `keys` are its topology keys, which OSMO requires to be listed from broadest to finest.

    `in_helm_values` is true for a pool in Helm values, which Helm merges with other values files. `templates` are the
    names of the pod templates that OSMO merges into all its pods.
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
    in_helm_values: bool = False
    templates: tuple[str, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Return True if other Helm values have the rest of the pool: it is in Helm values and names no backend."""
        return self.in_helm_values and not self.backend_name

    @property
    def key_names(self) -> list[str]:
        """Return the keys that workflows may request, broadest first."""
        return [each.key for each in self.keys]

    @property
    def levels(self) -> tuple[Level, ...]:
        """Return the levels of the pool's topology, broadest first. Their domains are the keys that workflows use."""
        return tuple(Level(each.key, each.label) for each in self.keys)

    @property
    def platform(self) -> str | None:
        """Return the platform of a resource that names none. Return None if the pool has no valid default platform."""
        return self.default_platform if self.default_platform in self.platforms else None


def read_pool(name: str, place: Place, model: schema.Pool, backends: Mapping[str, Backend]) -> OsmoPool:
    """Return the pool `name` with the fields in `model`. `backends` are the known backends by name."""
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
    """Return the backends in `value` by name. OSMO's configuration file has them next to the pools.

    A backend without scheduler settings is skipped, because its scheduler is KAI by default.
    """
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
    """Return the pool of a workflow in `file`. Return None if there is none. Source: spec/osmo.md#8.

    `name` is the pool that the workflow names. Return the first of the nearest pools if it is "".
    """
    candidates = nearest_pools(file, pools) if not name else [pool for pool in pools if pool.name == name]
    return candidates[0] if candidates else None


def nearest_pools(file: str | None, pools: Sequence[OsmoPool]) -> list[OsmoPool]:
    """Return the pools in the folder of `file`, or in the nearest folder above it that has pools.

    A single pool is near every file. A pool without a file is near every file too.
    """
    if file is None or len(pools) < 2:
        return list(pools)
    folders = [PurePath(pool.place.item.file or "").parent if pool.place.item.file else None for pool in pools]
    for folder in PurePath(file).parents:
        near = [pool for pool, its in zip(pools, folders, strict=True) if its is None or its == folder]
        if near:
            return near
    return []


def distinct_pools(pools: Iterable[OsmoPool]) -> tuple[OsmoPool, ...]:
    """Return one pool for each name: the first complete one, or the first if none is complete.

    Several Helm values files can have parts of one pool.
    """
    taken: dict[str, OsmoPool] = {}
    for pool in pools:
        before = taken.setdefault(pool.name, pool)
        if before.is_partial and not pool.is_partial:
            taken[pool.name] = pool
    return tuple(taken.values())


class Requirement(Record):
    """The request to place all tasks of the topology group `group` within one domain of the level `key`."""

    key: str
    group: str
    required: bool


class Resource(Record):
    """The resources that a task requests, found at `path` of the workflow's document."""

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
    """A task, which becomes one pod. `resource` is the name of its entry in the workflow's resources."""

    name: str
    path: FieldPath
    resource: str
    image: str
    command: tuple[str, ...]
    args: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    lead: bool = False


class TaskGroup(Record):
    """Tasks that are scheduled together. `path` is the path of the group, or of a task that is in no group."""

    name: str
    path: FieldPath
    tasks: tuple[Task, ...]


class Workflow(Record):
    """A workflow. All paths start at `place`, its document. `pool` is the pool that it names, or ""."""

    name: str
    place: Place
    pool: str
    groups: tuple[TaskGroup, ...]
    resources: Mapping[str, Resource]
    labels: Mapping[str, str]
    text: str = ""

    def place_at(self, path: FieldPath) -> Place:
        """Return the place of the field at `path`."""
        return self.place.child(*path)

    def tasks(self) -> Iterator[Task]:
        """Yield every task, in the order of the groups."""
        for group in self.groups:
            yield from group.tasks


def read_workflow(place: Place, text: str, model: schema.WorkflowSpec) -> Workflow:
    """Return the workflow with the fields in `model`. A task in no group becomes a group."""
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


# The functions below build the tree of a task group: which tasks are placed together, in which domain, under which
# names. They follow OSMO, but without its defects D1 to D5, D7 and D9. The whole path identifies a node. Every node is
# kept. Only leaves have tasks. A required level is never lost. Source: spec/osmo.md#4, #d5, #d6, #d8, #decisions.


MAX_NAME = 63
"""The largest number of characters in a name. Each name is also the value of a label."""

_HASH = 8
_UNNAMED = "unnamed"

_NO_NAME = re.compile(r"[^a-z0-9-]+")
_NO_VALUE = re.compile(r"[^A-Za-z0-9_.-]+")

K = TypeVar("K", bound="Hashable")


def safe_name(wanted: str) -> str:
    """Return `wanted` in lower case, with dashes in place of characters that a DNS label cannot have.

    The result may be longer than a DNS label.
    """
    return _NO_NAME.sub("-", wanted.lower()).strip("-") or _UNNAMED


def label_text(wanted: str) -> str:
    """Return `wanted` as a label value: with dashes in place of invalid characters, and cut to 63 characters."""
    return _NO_VALUE.sub("-", wanted)[:MAX_NAME].strip("-_.")


def unique_names(wanted: Iterable[tuple[K, str, str]]) -> dict[K, str]:
    """Return a unique DNS label for each key. `wanted` has tuples of a key, its wanted name and its identity.

    A label ends in a hash of the identity if the name is too long, or if two keys would get the same label. If
    exactly one of these keys has the label as its wanted name, this key gets the label without a hash. The result does
    not depend on the order.
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


UNCONSTRAINED = "unconstrained"
"""The name of the node for tasks without a requirement at its level."""


class LevelRequirement(Record):
    """A requirement at a level of the pool: tasks of one `group` are placed together. Level 0 is the broadest."""

    level: int
    group: str
    required: bool = True


class TreeStep(Record):
    """A step of a path: the level, and the group there, or None for tasks without a requirement at the level."""

    level: int
    group: str | None


Path = tuple[TreeStep, ...]
"""The steps from the root of a tree to a node. They identify the node."""


class TaskNode(Record):
    """A node of a tree. `wanted` is its name in OSMO, and `name` is its valid and unique name.

    `members` is the number of tasks of a leaf, or None for an inner node.
    """

    path: Path
    wanted: str
    name: str
    parent: str | None
    members: int | None
    bounds: Bounds


class TaskTree(Record):
    """The tree of the tasks in a group.

    `shared` is the common path of all tasks, and `bounds` are its levels, which apply to the whole group. `nodes` are
    the nodes below this path, parents first. `leaves` has the name of each task's node, or None without nodes.
    """

    bounds: Bounds | None
    shared: Path
    nodes: tuple[TaskNode, ...]
    leaves: tuple[str | None, ...]


def paths_of(tasks: Sequence[Sequence[LevelRequirement]], *, pad: bool) -> list[Path]:
    """Return the path of each task: its requirements, broadest first. If two are at one level, the first counts.

    With `pad`, also add a step for each level that only other tasks use.
    """
    used = sorted({each.level for task in tasks for each in task})
    paths: list[Path] = []
    for task in tasks:
        groups: dict[int, str | None] = {}
        for each in task:
            groups.setdefault(each.level, each.group)
        paths.append(tuple(TreeStep(level, groups.get(level)) for level in used if pad or level in groups))
    return paths


def build(tasks: Sequence[Sequence[LevelRequirement]], levels: Sequence[Level], *, pad: bool) -> TaskTree:
    """Return the tree of a group. `tasks` are the requirements of each task. `levels` are the pool's, broadest first.

    Without `pad`, tasks with requirements must have them at the same levels.
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


def _nodes(tasks: Sequence[Sequence[LevelRequirement]], paths: Sequence[Path]) -> dict[Path, bool | None]:
    """Return every node in the order of first appearance, with True if its level is required, and False if preferred.

    A level is required if any task of the node requires it. A node of tasks without a requirement has None.
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
    """Return the finest required level on the path, and the finest preferred level if it is finer than that."""
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
    """Return the name of a node in OSMO: the groups on its path, joined by dashes."""
    name = ""
    for step in path:
        group = UNCONSTRAINED if step.group is None else step.group
        name = f"{name}-{group}" if name else group
    return name


def _unique_text(path: Path) -> str:
    """Return a text that identifies the path. It contains the length of each group's name, so it is unambiguous."""
    return "".join(
        [f"{step.level}:" + ("-" if step.group is None else f"{len(step.group)}:{step.group}") for step in path]
    )
