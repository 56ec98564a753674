"""The group of a Ray cluster: its head and its worker groups. Source: spec/podgrouper.md#8."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.frontends.workloads.attributes import TOPOLOGY, bounds_of
from packwise.frontends.workloads.shape import RefusedError, Shape, pod_set
from packwise.frontends.workloads.workload import count, mapping
from packwise.objects.place import Origin
from packwise.placement import Bounds

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from packwise.frontends.workloads.workload import Template, Workload
    from packwise.placement import PodSet

__all__ = ["WorkerGroup", "ray_cluster", "worker_groups"]

_RULE = "spec/podgrouper.md#8"
_HEAD = "headgroup"


class WorkerGroup(NamedTuple):
    """An entry of `workerGroupSpecs`, at `path`; `hosts` are the pods of each replica."""

    name: str
    path: FieldPath
    position: int
    replicas: int
    min_replicas: int
    hosts: int
    is_suspended: bool
    """Whether KubeRay makes no pods of it."""

    is_left_out: bool
    """Whether KAI leaves it out, by a field that KubeRay does not have."""

    template: Template | None

    @property
    def needed(self) -> int:
        """How many pods KAI counts."""
        return (self.min_replicas if self.min_replicas > 0 else self.replicas) * self.hosts


def worker_groups(workload: Workload) -> list[WorkerGroup]:
    """The worker groups, in their order."""
    by_path = {each.path: each for each in workload.templates}
    entries = workload.body.get("workerGroupSpecs")
    groups: list[WorkerGroup] = []
    for position, entry in enumerate(entries if isinstance(entries, list) else ()):
        written = mapping(entry)
        path = (*workload.body_path, "workerGroupSpecs", position)
        name = written.get("groupName")
        groups.append(
            WorkerGroup(
                name=name if isinstance(name, str) and name else f"worker-group-{position}",
                path=path,
                position=position,
                replicas=count(written, "replicas", 0),
                min_replicas=count(written, "minReplicas", 0),
                hosts=count(written, "numOfHosts", 1),
                is_suspended=written.get("suspend") is True,
                is_left_out=written.get("suspended") is True,
                template=by_path.get((*path, "template")),
            )
        )
    return groups


def ray_cluster(workload: Workload) -> list[Shape]:
    """The group of the head and all workers. Raises RefusedError."""
    head = next((each for each in workload.templates if each.path[-2:] == ("headGroupSpec", "template")), None)
    if head is None:
        return []
    sets = [_head(workload, head)]
    for group in worker_groups(workload):
        if group.is_left_out:
            continue
        if group.min_replicas > group.replicas:
            text = (
                f"ray-cluster replicas for a workerGroupsSpec can't be less than minReplicas. Given {group.replicas} "
                f"replicas and {group.min_replicas} minReplicas. Please fix the replicas field for group number "
                f"{group.position}"
            )
            message = f"must be at least {group.min_replicas}, its minReplicas; got {group.replicas}"
            raise RefusedError((*group.path, "replicas"), message, text)
        if group.needed and group.template is not None:
            sets.append(_workers(workload, group, group.template))
    if workload.stays_flat:
        sets = [each._replace(is_named=False) for each in sets]
    return [Shape(tuple(sets), Origin(workload.at(), _RULE), sum([pods.members or 0 for pods in sets]))]


def _head(workload: Workload, template: Template) -> PodSet:
    origin = Origin(workload.at(*workload.body_path, "headGroupSpec"), _RULE)
    bounds, topology = _constraint(workload, template, "headGroupSpec")
    return pod_set(workload, template, _HEAD, 1, origin, bounds=bounds, topology=topology)


def _workers(workload: Workload, group: WorkerGroup, template: Template) -> PodSet:
    written = workload.item.get((*group.path, "groupName"))
    bounds, topology = _constraint(
        workload, template, f"workerGroupSpecs.{written if isinstance(written, str) else ''}"
    )
    origin = Origin(workload.at(*group.path), _RULE, {"name": ("groupName",), "members": ("replicas",)})
    pods = max(group.replicas * group.hosts, group.needed)
    return pod_set(
        workload, template, group.name, group.needed, origin, replicas=pods, bounds=bounds, topology=topology
    )


def _constraint(workload: Workload, template: Template, holder: str) -> tuple[Bounds, str]:
    """The levels of a group, and their topology. Raises RefusedError for levels without one."""
    if not workload.release.ray_group_topology:
        return Bounds(), ""
    bounds = bounds_of(workload, template.annotations, template.metadata)
    if bounds.is_empty:
        return bounds, ""
    topology = template.annotations.get(TOPOLOGY, "")
    if not topology:
        text = f"topology annotation ({TOPOLOGY}) is required for {holder} when topology placement annotations are set"
        message = f"must have the annotation {TOPOLOGY}, too, beside its levels"
        raise RefusedError((*template.metadata, "annotations"), message, text)
    return bounds, topology
