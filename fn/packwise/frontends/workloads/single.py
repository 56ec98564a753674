"""Groups without sets: bare pods, Jobs, pods of a Deployment, revisions, and whatever has no rule of its own.

Source: spec/podgrouper.md#4.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.workloads.attributes import BATCH_MIN_MEMBER, annotation_path
from packwise.frontends.workloads.shape import RefusedError, Shape, pod_set
from packwise.frontends.workloads.workload import count
from packwise.kubernetes.quantities import atoi, parse_int
from packwise.objects.place import Origin
from packwise.objects.workload_kinds import Grouping

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from packwise.frontends.workloads.workload import Workload

__all__ = ["MIN_SCALE", "is_own", "job_members", "pods_of", "single"]

MIN_SCALE = "autoscaling.knative.dev/min-scale"
_RULE = "spec/podgrouper.md#4"


def single(workload: Workload) -> list[Shape]:
    """The one group of the workload, or one for each of its pods."""
    number = pods_of(workload)
    if number < 1:
        return []
    members, path = _members(workload)
    each = workload.grouping is Grouping.EACH_POD or (
        workload.grouping is Grouping.JOB and is_own(workload) and not workload.release.groups_jobs
    )
    fields: dict[str, FieldPath] = {"members": path} if path else {}
    if each:
        fields["copies"] = _number_path(workload)
    origin = Origin(workload.at(), _RULE, fields)
    template = workload.scheduled[0]
    pods = Origin(workload.at(*template.path), _RULE)
    own = 1 if each else number
    # All that the group needs are pods of the only set.
    leaf = pod_set(workload, template, template.part, members, pods, replicas=own, is_named=False)
    return [Shape((leaf,), origin, members, alike=number if each else 1, each_pod=each)]


def is_own(workload: Workload) -> bool:
    """Whether the group is of the workload itself, and not of a Job or a revision that is made of it."""
    return workload.owner.path == ("metadata",)


def pods_of(workload: Workload) -> int:
    """How many pods the workload has at once."""
    match workload.grouping:
        case Grouping.JOB:
            return count(workload.body, "parallelism", 1)
        case Grouping.POD:
            return 1
        case Grouping.REVISION:
            return max(_min_scale(workload), 1)
        case _:
            return count(workload.spec, "replicas", 1)


def _number_path(workload: Workload) -> FieldPath:
    if workload.grouping is Grouping.JOB:
        return (*workload.body_path, "parallelism")
    return ("spec", "replicas")


def _members(workload: Workload) -> tuple[int, FieldPath]:
    if workload.grouping is Grouping.REVISION:
        path = annotation_path(workload.owner.path, MIN_SCALE)
        return _min_scale(workload), path if MIN_SCALE in workload.owner.annotations else ()
    if workload.grouping is Grouping.JOB:
        return job_members(workload)
    return 1, ()


def job_members(workload: Workload) -> tuple[int, FieldPath]:
    """How many pods the group of a Job needs, and what says so. Raises RefusedError. Of a CronJob nothing is read."""
    text = workload.owner.annotations.get(BATCH_MIN_MEMBER)
    if text is None or not is_own(workload) or not workload.release.batch_min_member:
        return 1, ()
    path = annotation_path(workload.owner.path, BATCH_MIN_MEMBER)
    number = parse_int(text)
    if isinstance(number, str):
        message = f'must be a whole number of pods; got "{text}"'
        raise RefusedError(path, message, f"invalid min-member annotation value: {number}")
    return number, path


def _min_scale(workload: Workload) -> int:
    number = atoi(workload.owner.annotations.get(MIN_SCALE, "1"))
    return 1 if isinstance(number, str) else number
