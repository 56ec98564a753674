"""The groups that the default scheduler reads: their templates, their objects, their trees, and the pods in them.

Source: spec/kubernetes-gangs.md#3, #5, #8.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.lenient import integer, mapping_at, mappings_by_place, text, text_at, value_at
from packwise.objects.index import identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value

_LEAVES, _COMPOSITES = "podGroupTemplates", "compositePodGroupTemplates"
_MAX_DEPTH = 16
"""packwise reads a tree of groups to this depth. The API server refuses a deeper tree."""

DEFAULT_SCHEDULER = "default-scheduler"
_DEFAULT_PREEMPTION = "PreemptLowerPriority"


class Group(Record):
    """A group of pods or of other groups. It is an object, or a template in a Workload.

    The fields of the group are `value`, found at `path` of `item`. `parent` is None for a root, and if the parent is
    not in the input. `children` is the number of groups with this parent, or None if unknown.
    """

    item: KubeObject
    path: FieldPath
    name: str
    value: Mapping[str, Value]
    is_composite: bool
    parent: Group | None = None
    children: int | None = None

    @property
    def gang(self) -> Mapping[str, Value] | None:
        """Return the gang policy of the group, or None for a basic group."""
        gang = value_at(self.value, "schedulingPolicy", "gang")
        return gang if isinstance(gang, dict) else None

    @property
    def count_field(self) -> str:
        """Return the field with the number that the gang needs."""
        return "minGroupCount" if self.is_composite else "minCount"

    @property
    def minimum(self) -> int | None:
        """Return the number of pods or groups that the gang needs, or None for a basic group."""
        return None if self.gang is None else integer(self.gang.get(self.count_field), None)

    @property
    def key(self) -> str:
        """Return the node label of the group's topology constraint, or "".

        The scheduler places all pods of the group on nodes with the same value of this label.
        """
        constraints = mappings_by_place(value_at(self.value, "schedulingConstraints", "topology"))
        return text(constraints[0][1].get("key")) if constraints else ""

    @property
    def is_disrupted_together(self) -> bool:
        """Return True if the pods of the group are disrupted together."""
        return value_at(self.value, "disruptionMode", "all") is not None

    @property
    def priority_class(self) -> str:
        """Return the name of the group's PriorityClass, or ""."""
        return text(self.value.get("priorityClassName"))

    def field_path(self, *steps: str | int) -> FieldPath:
        """Return the path of a field of the group in `item`."""
        return (*self.path, *steps)

    @property
    def constrained_ancestors(self) -> list[Group]:
        """Return the ancestors with a topology constraint, the nearest first."""
        nearest: list[Group] = []
        above = self.parent
        while above is not None and len(nearest) < _MAX_DEPTH:
            if above.key:
                nearest.append(above)
            above = above.parent
        return nearest


def templates_of(item: KubeObject, spec: Mapping[str, Value]) -> list[Group]:
    """Return the templates of a Workload, parents before children.

    `spec` has only the fields that the API server of the release stores.
    """
    return list(_templates(item, spec, ("spec",), None, 1))


def _templates(
    item: KubeObject, owner: Mapping[str, Value], path: FieldPath, parent: Group | None, depth: int
) -> Iterator[Group]:
    for place, value in mappings_by_place(owner.get(_LEAVES)):
        yield Group(item, (*path, _LEAVES, place), text(value.get("name")), value, is_composite=False, parent=parent)
    if depth > _MAX_DEPTH:
        return
    for place, value in mappings_by_place(owner.get(_COMPOSITES)):
        number = sum([len(mappings_by_place(value.get(name))) for name in (_LEAVES, _COMPOSITES)])
        at = (*path, _COMPOSITES, place)
        group = Group(item, at, text(value.get("name")), value, is_composite=True, parent=parent, children=number)
        yield group
        yield from _templates(item, value, at, group, depth + 1)


class Pods(Record):
    """The pods of one template, which name a group. Their spec is found at `path` of `item`."""

    item: KubeObject
    path: FieldPath
    group: str
    spec: Mapping[str, Value]
    count: int | None  # pyright: ignore[reportIncompatibleMethodOverride]
    """The number of pods, or None if unknown."""
    holders: tuple[FieldPath, ...]
    """The paths of the metadata of the workload and of its pods."""

    @property
    def scheduler(self) -> str:
        """Return the name of the scheduler of the pods."""
        return text(self.spec.get("schedulerName")) or DEFAULT_SCHEDULER

    @property
    def priority_class(self) -> str:
        """Return the name of the pods' PriorityClass, or ""."""
        return text(self.spec.get("priorityClassName"))

    @property
    def preemption(self) -> str:
        """Return the preemption policy of the pods, by default `PreemptLowerPriority`."""
        return text(self.spec.get("preemptionPolicy")) or _DEFAULT_PREEMPTION

    @property
    def key(self) -> tuple[str, str]:
        """Return the namespace and the name of the group."""
        return identity(self.item.value)[2], self.group


FIELD = "schedulingGroup"
"""The field of a pod that names its group."""


def pods_of(item: KubeObject) -> Iterator[Pods]:
    """Yield the pods of each template that names a group. The object may be of any kind."""
    for path, spec in _specs(item.value, (), 0):
        name = text_at(spec, FIELD, "podGroupName")
        own = path[:-1]
        holders = dict.fromkeys([("metadata",), (*own, "metadata")])
        yield Pods(item, path, name, spec, pod_count(item.value, path), tuple(holders))


def _specs(value: Value, path: FieldPath, depth: int) -> Iterator[tuple[FieldPath, Mapping[str, Value]]]:
    """Yield the path and the value of each pod spec with the field `schedulingGroup`."""
    if depth > 2 * _MAX_DEPTH:
        return
    if isinstance(value, dict):
        group = value.get(FIELD)
        # Another kind may have a field of the same name. If the value is not a mapping, this is a pod only if it has
        # containers: the API server then refuses the value.
        if path[-1:] == ("spec",) and (isinstance(group, dict) or (group is not None and "containers" in value)):
            yield path, value
            return
        for name, entry in value.items():
            if isinstance(entry, dict | list):
                yield from _specs(entry, (*path, name), depth + 1)
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            yield from _specs(entry, (*path, place), depth + 1)


_TEMPLATE: FieldPath = ("spec", "template", "spec")


def pod_count(value: Mapping[str, Value], path: FieldPath) -> int | None:
    """Return the number of pods that an object makes from its template at `path`. Return None if unknown."""
    count = _COUNTS.get(identity(value)[:2])
    return None if count is None else count(value, path)


def job_pods(spec: Mapping[str, Value]) -> int | None:
    """Return the number of pods that a Job runs at the same time. Return None if a field is not an integer."""
    parallelism, completions = spec.get("parallelism"), spec.get("completions")
    numbers = [1 if parallelism is None else parallelism, *([] if completions is None else [completions])]
    whole = [number for number in numbers if type(number) is int]
    return min(whole) if len(whole) == len(numbers) else None


def _bare_pod(_value: Mapping[str, Value], path: FieldPath) -> int | None:
    return 1 if path == ("spec",) else None


def _replicas(value: Mapping[str, Value], path: FieldPath) -> int | None:
    replicas = value_at(value, "spec", "replicas")
    count = 1 if replicas is None else replicas
    return count if type(count) is int and path == _TEMPLATE else None


def _count_job_pods(value: Mapping[str, Value], path: FieldPath) -> int | None:
    return job_pods(mapping_at(value, "spec")) if path == _TEMPLATE else None


def _count_job_set_pods(value: Mapping[str, Value], path: FieldPath) -> int | None:
    if len(path) != 7 or path[1] != "replicatedJobs" or not isinstance(path[2], int):
        return None
    jobs = dict(mappings_by_place(value_at(value, "spec", "replicatedJobs")))
    job = jobs.get(path[2], {})
    replicas, each = job.get("replicas", 1), job_pods(mapping_at(job, "template", "spec"))
    return replicas * each if type(replicas) is int and each is not None else None


_COUNTS: Mapping[tuple[str, str], Callable[[Mapping[str, Value], FieldPath], int | None]] = {
    ("", "Pod"): _bare_pod,
    ("apps", "Deployment"): _replicas,
    ("apps", "ReplicaSet"): _replicas,
    ("apps", "StatefulSet"): _replicas,
    ("batch", "Job"): _count_job_pods,
    ("jobset.x-k8s.io", "JobSet"): _count_job_set_pods,
}
"""The kinds whose number of pods follows from their spec. A DaemonSet is missing, because its pods depend on nodes."""


def is_controlled(item: KubeObject) -> bool:
    """Return True if a controller made the object."""
    owners = mappings_by_place(value_at(item.value, "metadata", "ownerReferences"))
    return any(owner.get("controller") is True for _, owner in owners)


def link_groups(groups: Iterable[Group]) -> list[Group]:
    """Return `groups`, each with its parent and its number of children."""
    by_name = {(identity(each.item.value)[2], each.name, each.is_composite): each for each in groups}
    children: dict[tuple[str, str], int] = {}
    for (namespace, _, _), group in by_name.items():
        parent = _parent_name(group)
        children[namespace, parent] = children.get((namespace, parent), 0) + 1
    counted = {
        key: group.replace(children=children.get(key[:2], 0)) if group.is_composite else group
        for key, group in by_name.items()
    }
    return [_with_ancestors(key, counted) for key in counted]


def _with_ancestors(key: tuple[str, str, bool], groups: Mapping[tuple[str, str, bool], Group]) -> Group:
    """Return the group with its ancestors. In a cycle, each group is an ancestor only once."""
    chain = [key]
    above = (key[0], _parent_name(groups[key]), True)
    while above in groups and above not in chain and len(chain) < _MAX_DEPTH:
        chain.append(above)
        above = (key[0], _parent_name(groups[above]), True)
    group = groups[chain[-1]]
    for each in reversed(chain[:-1]):
        group = groups[each].replace(parent=group)
    return group


def _parent_name(group: Group) -> str:
    return text(group.value.get("parentCompositePodGroupName"))
