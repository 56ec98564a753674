"""The rules about OSMO's documents. A check is a rule, and the function that finds its problems.

Source: spec/osmo.md, spec/kai.md#1.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, Generic, Record, TypeVar
from krmfn.result import Severity
from packwise.findings import Problem, Rule, Stage
from packwise.frontends.osmo.model import LevelRequirement, distinct_pools, paths_of
from packwise.frontends.osmo.template import sections
from packwise.frontends.pod_keys import pod_key_problems
from packwise.keys import HOSTNAME
from packwise.lenient import mapping, mappings_by_place
from packwise.pod_rules import partial_pod_problems
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.wording import known_names, list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeAlias

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Finding, Place
    from packwise.frontends.osmo.model import OsmoPool, Path, Requirement, Task, TaskGroup, Workflow
    from packwise.settings.topologyrender import Osmo

    ProblemAt: TypeAlias = tuple[Place, Problem]

S = TypeVar("S")


class OsmoCheck(Record, Generic[S]):
    """A rule, and the function that yields its problems. The path of each problem is relative to the place with it.

    `stage` is the part of OSMO that refuses the document. OSMO refuses a pool config when its service starts, and a
    workflow when it is submitted.
    """

    rule: Rule
    problems: Callable[[S], Iterable[ProblemAt]]
    stage: Stage = Stage.WEBHOOK


def problem_at(place: Place, message: str, text: str | None = None, *, at_key: bool = False) -> ProblemAt:
    """Return a problem at `place`. `text` is the text of OSMO, or None if OSMO has none."""
    return place, Problem((), message, text, at_key=at_key)


def run(checks: Iterable[OsmoCheck[S]], subject: S, order: int = 0) -> Iterator[Finding]:
    """Yield all problems as findings, in the order of the checks. `order` is the position of the first."""
    for check in checks:
        for place, problem in check.problems(subject):
            stage = None if problem.operator_message is None else check.stage
            yield place.finding(check.rule, problem.replace(stage=stage), order=order)
            order += 1


_KNOWN = ("workflow", "default-values", "version")
_FIELDS = ("resources", "groups", "tasks", "timeout", "labels")
"""Fields of the section `workflow` that users sometimes write outside it."""

Text = tuple["Place", str]


def _sections(subject: Text) -> Iterator[ProblemAt]:
    """Yield problems of the sections of a workflow spec.

    Before OSMO reads the YAML, it searches the text for the lines with which sections start. Source: spec/osmo.md#2.
    """
    place, text = subject
    seen: set[str] = set()
    for section in sections(text):
        key = section.key
        if key not in _KNOWN:
            where = "put it below `workflow`" if key in _FIELDS else "drop it"
            yield problem_at(
                place.child(key),
                f'must be one of "workflow", "version" and "default-values"; got "{key}": {where}',
                f'Unknown top-level key "{key}" found in the workflow spec.',
                at_key=True,
            )
        elif key in seen:
            yield problem_at(
                place.child(key),
                f'duplicate section "{key}"; merge the two',
                f'Duplicate top-level key "{key}" found in the workflow spec.',
                at_key=True,
            )
        seen.add(key)
    if "workflow" not in seen:
        message = "must start a line, without quotes or braces around it: OSMO searches for that line"
        yield problem_at(place.child("workflow"), message, "Workflow spec not found.", at_key=True)


def _local_files(subject: tuple[Place, Value]) -> Iterator[ProblemAt]:
    """Yield problems of `localpath` in the files of tasks.

    The `osmo` command replaces the field by the text of the local file. packwise does not open this file.
    """
    place, workflow = subject
    for task, path in _tasks(mapping(workflow)):
        for index, entry in mappings_by_place(task.get("files")):
            if "localpath" not in entry:
                continue
            at = place.child(*path, "files", index, "localpath")
            if "contents" in entry:
                text = "Files tag dont support contents and localpath together"
                yield problem_at(at, "conflicts with `contents`; remove one of the two", text, at_key=True)
            elif not isinstance(entry["localpath"], str):
                yield problem_at(at, "must be the path of a file, relative to the folder of the workflow's file")


def _tasks(workflow: Mapping[str, Value]) -> Iterator[tuple[Mapping[str, Value], FieldPath]]:
    """Yield the value and the path of every task that is a mapping: first tasks in no group, then tasks in groups."""
    owners: list[tuple[Mapping[str, Value], FieldPath]] = [(workflow, ("workflow",))]
    owners += [(group, ("workflow", "groups", at)) for at, group in mappings_by_place(workflow.get("groups"))]
    for owner, path in owners:
        for index, task in mappings_by_place(owner.get("tasks")):
            yield task, (*path, "tasks", index)


def _groups_or_tasks(subject: tuple[Place, Value]) -> Iterator[ProblemAt]:
    place, workflow = subject
    if not isinstance(workflow, dict):
        return
    groups, tasks = bool(workflow.get("groups")), bool(workflow.get("tasks"))
    if groups and tasks:
        text = "Value error, Cannot use both groups and tasks in the same workflow."
        message = "conflicts with `groups`; move these tasks into groups"
        yield problem_at(place.child("workflow", "tasks"), message, text, at_key=True)
    if not groups and not tasks:
        text = "Value error, Workflows need to have at least one group or one task."
        yield problem_at(place.child("workflow"), "must have at least one group or task", text)


def _names_unique(subject: tuple[Place, Value]) -> Iterator[ProblemAt]:
    place, workflow = subject
    first: dict[str, FieldPath] = {}
    for name, path in _names(mapping(workflow)):
        same = name.lower().replace("_", "-")
        if same in first:
            there = place.child(*first[same], "name").description
            yield problem_at(
                place.child(*path, "name"),
                f'duplicate name "{name}" ({there}); OSMO ignores case, and treats - and _ as equal. Rename one of the '
                "two",
                f'Value error, Multiple tasks/groups have the same name: "{same}". Note that names are not case '
                'sensitive and we consider "-" and "_" the same. For example, "Group_1" and "group-1" are considered '
                "the same name.",
            )
        first.setdefault(same, path)


def _names(workflow: Mapping[str, Value]) -> Iterator[tuple[str, FieldPath]]:
    """Yield the name and the path of every task and group. The groups that OSMO makes from single tasks are last."""
    alone: list[tuple[str, FieldPath]] = []
    for name, path, _ in _named_entries(workflow.get("tasks"), ("workflow", "tasks")):
        yield name, path
        alone.append((f"{name}-group", path))
    for name, path, group in _named_entries(workflow.get("groups"), ("workflow", "groups")):
        yield name, path
        yield from ((task, at) for task, at, _ in _named_entries(group.get("tasks"), (*path, "tasks")))
    yield from alone


def _named_entries(entries: Value, path: FieldPath) -> Iterable[tuple[str, FieldPath, Mapping[str, Value]]]:
    for index, entry in mappings_by_place(entries):
        if isinstance(entry.get("name"), str):
            yield str(entry["name"]), (*path, index), entry


SECTIONS = OsmoCheck(
    Rule(
        "osmo-sections",
        "A workflow has no section `workflow`, or a section that OSMO does not know.",
        "spec/osmo.md#2",
    ),
    _sections,
    Stage.DECODE,
)
GROUPS_OR_TASKS = OsmoCheck(
    Rule("osmo-groups-or-tasks", "A workflow has both groups and single tasks, or neither.", "spec/osmo.md#2.1"),
    _groups_or_tasks,
    Stage.SCHEMA,
)
NAMES_UNIQUE = OsmoCheck(
    Rule(
        "osmo-names-unique",
        "Two tasks or groups of a workflow have the same name.",
        "spec/osmo.md#2.2",
    ),
    _names_unique,
    Stage.SCHEMA,
)
LOCAL_FILES = OsmoCheck(
    Rule(
        "osmo-localpath",
        "A file of a task has an invalid `localpath`, or also has `contents`.",
        "spec/osmo.md#6.3",
    ),
    _local_files,
    Stage.DECODE,
)
NAMES = (LOCAL_FILES, GROUPS_OR_TASKS, NAMES_UNIQUE)
"""The checks that OSMO runs before it reads the fields."""


_KAI = ("kai", KAI_PROFILE)

_BREADTH = {
    name: breadth
    for breadth, names in enumerate((
        ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region", "region"),
        ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "zone"),
        ("datacenter",),
        ("block",),
        ("spine",),
        ("rack",),
        (HOSTNAME, "hostname"),
    ))
    for name in names
}  # fmt: skip
"""The rank of a level by its label, broadest first. A name is a whole label, or the part of a label after its slash."""


class PoolAt(Record):
    """A pool, and the names of the cluster's schedulers in the settings. There may be none."""

    pool: OsmoPool
    schedulers: tuple[str, ...] = ()


def _pool_once(pools: tuple[OsmoPool, ...]) -> Iterator[ProblemAt]:
    first: dict[str, OsmoPool] = {}
    for pool in pools:
        before = first.setdefault(pool.name, pool)
        if before is not pool and not (before.in_helm_values and pool.in_helm_values):
            message = f'duplicate pool "{pool.name}", also in {before.place.description}; remove or rename one'
            yield problem_at(pool.place, message)


def _values(pools: tuple[OsmoPool, ...]) -> Iterator[ProblemAt]:
    taken = {pool.name: pool for pool in distinct_pools(pools)}
    for pool in pools:
        other = taken[pool.name]
        if other is not pool and other.in_helm_values and pool.in_helm_values:
            message = (
                f'duplicate pool "{pool.name}" in Helm values; packwise uses {other.place.description}. Pass the '
                "merged values of one release"
            )
            yield problem_at(pool.place, message)


def _default_platform(at: PoolAt) -> Iterator[ProblemAt]:
    pool = at.pool
    if pool.default_platform is not None and pool.platform is None and not pool.is_partial:
        message = f'must be one of the pool\'s platforms; got "{pool.default_platform}"'
        yield problem_at(
            pool.place.child("default_platform"),
            message + known_names(pool.default_platform, pool.platforms),
            f"Default platform {pool.default_platform} not in platforms",
        )


def _scheduler(at: PoolAt) -> Iterator[ProblemAt]:
    pool, kind = at.pool, at.pool.backend.scheduler_type
    if kind is None and at.schedulers and not any(name in _KAI for name in at.schedulers):
        kind = at.schedulers[0]
    if pool.keys and kind is not None and kind not in _KAI:
        yield problem_at(
            pool.place.child("topology_keys"),
            f'must be empty: backend "{pool.backend_name}" uses the scheduler "{kind}", but only KAI has topologies. '
            "Remove the keys, or move the pool to a backend with KAI",
            f'Topology keys cannot be set for pool "{pool.name}" because backend "{pool.backend_name}" uses scheduler '
            f'"{kind}" which does not support topology constraints',
            at_key=True,
        )


def _keys(at: PoolAt) -> Iterator[ProblemAt]:
    names = at.pool.key_names
    for index, key in enumerate(names):
        if key in names[:index]:
            message = (
                f'duplicate topology key "{key}" (topology_keys[{names.index(key)}]): OSMO uses the last label for '
                "workflows, and both for the Topology"
            )
            yield problem_at(at.pool.place.child("topology_keys", index, "key"), message)


def _order(at: PoolAt) -> Iterator[ProblemAt]:
    """Yield a problem for each level with a label that is broader than the label of an earlier level.

    OSMO and KAI use the levels in the order of the list.
    """
    above: tuple[int, str] | None = None
    for index, key in enumerate(at.pool.keys):
        breadth = _BREADTH.get(key.label, _BREADTH.get(key.label.rpartition("/")[2]))
        if breadth is None:
            continue
        if above is not None and breadth < above[0]:
            message = (
                f'must be above "{above[1]}": keys go from the broadest level to the finest, and the name '
                f'"{key.label}" is broader'
            )
            yield problem_at(at.pool.place.child("topology_keys", index, "label"), message)
        elif above is None or breadth > above[0]:
            above = (breadth, key.label)


POOLS = (
    OsmoCheck(Rule("osmo-pool-once", "A pool is configured twice.", "spec/osmo.md#1"), _pool_once, Stage.CONFIG),
    OsmoCheck(
        Rule(
            "osmo-pool-values",
            "A pool is set in the Helm values of several releases.",
            "spec/osmo.md#6.4",
            Severity.WARNING,
        ),
        _values,
        Stage.CONFIG,
    ),
)
"""Checks of all pools together."""

POOL = (
    OsmoCheck(
        Rule("osmo-pool-platform", "The default platform of a pool does not exist.", "spec/osmo.md#1.4"),
        _default_platform,
        Stage.CONFIG,
    ),
    OsmoCheck(
        Rule("osmo-pool-scheduler", "A pool has topology keys, but KAI does not schedule it.", "spec/osmo.md#1.2"),
        _scheduler,
        Stage.CONFIG,
    ),
    OsmoCheck(
        Rule("osmo-pool-keys", "A pool has the same topology key twice.", "spec/osmo.md#1.3"), _keys, Stage.CONFIG
    ),
    OsmoCheck(
        Rule(
            "osmo-pool-order",
            "The topology keys of a pool are not listed from the broadest level to the narrowest.",
            "spec/osmo.md#d10",
            Severity.WARNING,
        ),
        _order,
        Stage.CONFIG,
    ),
)
"""Checks of one pool."""


def pod_template_findings(place: Place, template: Mapping[str, Value]) -> Iterator[Finding]:
    """Yield findings about a pod template that OSMO merges into pods."""
    spec = template.get("spec")
    for rule, problem in partial_pod_problems(spec) if isinstance(spec, dict) else ():
        yield place.finding(rule, problem.replace(path=("spec", *problem.path)).short_form)
    for rule, problem in pod_key_problems(template):
        yield place.finding(rule, problem.short_form)


_MAX_NAME = 64

_UNITS = frozenset({"T", "Ti", "TiB", "G", "Gi", "GiB", "M", "Mi", "MiB", "K", "Ki", "KiB", "B", "m"})
_QUANTITY = re.compile(r"\d+(?:\.\d+)?(?P<unit>[a-zA-Z]*)")


class Submission(Record):
    """A workflow that is submitted to a pool with these settings."""

    workflow: Workflow
    pool: OsmoPool
    settings: Osmo

    @property
    def pad(self) -> bool:
        """Return True if the settings add missing topology keys to tasks (`keySets: Pad`)."""
        return self.settings.key_sets == "Pad"

    def topology(self, task: Task) -> tuple[Requirement, ...]:
        """Return the topology requirements of a task. Return none if its resource is unknown."""
        resource = self.workflow.resources.get(task.resource)
        return () if resource is None else resource.topology


def levels_of(submission: Submission, task: Task) -> list[LevelRequirement]:
    """Return the topology requirements of a task, from the broadest level of the pool to the finest.

    Requirements with a key that the pool does not have are skipped.
    """
    names = submission.pool.key_names
    levels = [
        LevelRequirement(names.index(each.key), each.group, each.required)
        for each in submission.topology(task)
        if each.key in names
    ]
    return sorted(levels, key=lambda each: each.level)


def _name_once(workflows: tuple[Workflow, ...]) -> Iterator[ProblemAt]:
    first: dict[str, Workflow] = {}
    for workflow in workflows:
        before = first.setdefault(workflow.name, workflow)
        if before is not workflow:
            message = (
                f'duplicate workflow "{workflow.name}", also in {before.place.description}; rename one: OSMO '
                "adds a number to each submitted name, but packwise does not"
            )
            yield problem_at(workflow.place_at(("workflow", "name")), message)


def _quantities(at: Submission) -> Iterator[ProblemAt]:
    for resource in at.workflow.resources.values():
        for field, value in (("memory", resource.memory), ("storage", resource.storage)):
            if value is None:
                continue
            match = _QUANTITY.fullmatch(value)
            text = None
            if match is None:
                text = f"Resource {field} field has invalid value {value}"
            elif match["unit"] and match["unit"] not in _UNITS:
                text = f"Resource {field} field has invalid unit: {match['unit']}"
            if text is not None:
                message = f'must be a number and a unit such as Gi or Mi; got "{value}"'
                yield problem_at(at.workflow.place_at((*resource.path, field)), message, text)


def _platforms(at: Submission) -> Iterator[ProblemAt]:
    for name, resource in at.workflow.resources.items():
        if resource.platform is None and at.pool.platform is None and not at.pool.is_partial:
            message = f'must name a `platform`: pool "{at.pool.name}" has no default platform; it has '
            yield problem_at(
                at.workflow.place_at(resource.path),
                message + list_known(at.pool.platforms),
                f"Resource {name} does not have a platform!",
            )


def _topology_keys(at: Submission) -> Iterator[ProblemAt]:
    available = at.pool.key_names
    for name, resource in at.workflow.resources.items():
        for index, requirement in enumerate(resource.topology):
            if requirement.key not in available:
                message = f'must be a topology key of pool "{at.pool.name}"; got "{requirement.key}"'
                yield problem_at(
                    at.workflow.place_at((*resource.path, "topology", index, "key")),
                    message + known_names(requirement.key, available),
                    f'Topology key "{requirement.key}" in resource "{name}" is not available in pool "{at.pool.name}". '
                    f"Available topology keys: {sorted(set(available))}",
                )


def _resources(at: Submission) -> Iterator[ProblemAt]:
    for task in at.workflow.tasks():
        if task.resource in at.workflow.resources:
            continue
        if task.resource == "default":
            message = "must name a `resource`, or the workflow must have one named `default`"
            text = f"Task {task.name} has no specified resource. Specify a default resource in the resources section."
            yield problem_at(at.workflow.place_at(task.path), message, text)
        else:
            message = f'must be a resource of the workflow; got "{task.resource}"'
            yield problem_at(
                at.workflow.place_at((*task.path, "resource")),
                message + known_names(task.resource, list(at.workflow.resources)),
                f"Requesting undefined resource {task.resource}.",
            )


def _name_lengths(at: Submission) -> Iterator[ProblemAt]:
    named = [(at.workflow.name, ("workflow", "name"))]
    for group in at.workflow.groups:
        named += [(group.name, (*group.path, "name")), *((task.name, (*task.path, "name")) for task in group.tasks)]
    for name, path in named:
        if len(name) > _MAX_NAME:
            yield problem_at(
                at.workflow.place_at(path),
                f'must be at most {_MAX_NAME} characters long; "{name}" has {len(name)}',
                f"Name {name} is too long. It must be {_MAX_NAME} characters or less.",
            )


def _gpus(at: Submission) -> Iterator[ProblemAt]:
    guarantee = at.pool.guarantee
    if guarantee == -1 or at.settings.priority == "LOW":
        return
    for group in at.workflow.groups:
        resources = [at.workflow.resources.get(task.resource) for task in group.tasks]
        wanted = sum([(resource.gpu or 0) if resource is not None else 0 for resource in resources])
        if wanted > guarantee:
            yield problem_at(
                at.workflow.place_at(group.path),
                f'the group requests {wanted} GPUs, but pool "{at.pool.name}" guarantees {guarantee}. Make the group '
                f"smaller, or submit it with `osmo: {{priority: LOW}}`",
                f"Pool {at.pool.name} has {guarantee} GPUs guaranteed for NORMAL/HIGH priority workflows and group "
                f"{group.name} requires {wanted} GPUs. Higher gpu counts must be submitted with LOW priority",
            )


def _key_sets(at: Submission) -> Iterator[ProblemAt]:
    if at.pad:
        return
    first: dict[tuple[str, ...], Task] = {}
    for task in at.workflow.tasks():
        keys = tuple(sorted(each.key for each in at.topology(task)))
        if keys:
            first.setdefault(keys, task)
    if len(first) < 2:
        return
    (known, task), (other, unlike) = list(first.items())[:2]
    yield problem_at(
        at.workflow.place_at((*unlike.path, "resource")),
        f'task "{unlike.name}" has the topology keys {", ".join(other)}, but task "{task.name}" has '
        f"{', '.join(known)}. Request the same keys in all tasks, or set `osmo: {{keySets: Pad}}`",
        "Topology validation failed: All tasks must use the same topology keys. Found different key sets: "
        f"{[', '.join(keys) for keys in sorted(first)]}. Either all tasks should have topology requirements with the "
        "same keys, or no tasks should have topology requirements.",
    )


def _platforms_known(at: Submission) -> Iterator[ProblemAt]:
    reported: set[str] = set()
    for task in at.workflow.tasks():
        resource = at.workflow.resources.get(task.resource)
        platform = None if resource is None else resource.platform
        if resource is None or platform is None or at.pool.is_partial or platform in at.pool.platforms:
            continue
        if resource.name in reported:
            continue
        reported.add(resource.name)
        yield problem_at(
            at.workflow.place_at((*resource.path, "platform")),
            f'must be a platform of pool "{at.pool.name}"; got "{platform}"' + known_names(platform, at.pool.platforms),
            f"Platform {platform} does not exist in pool {at.pool.name}!",
        )


def _mixed_groups(at: Submission) -> Iterator[ProblemAt]:
    """Yield a problem for each group in which only some tasks have topology requirements.

    OSMO accepts such a group. Pods of the other tasks then have no subgroup, or are constrained too. Source:
    spec/osmo.md#d2.
    """
    if at.pad:
        return
    for group in at.workflow.groups:
        tasks = [task for task in group.tasks if task.resource in at.workflow.resources]
        asking = [bool(at.topology(task)) for task in tasks]
        if any(asking) and not all(asking):
            bound, free = tasks[asking.index(True)], tasks[asking.index(False)]
            message = (
                f'the task has no topology requirements, but task "{bound.name}" of its group has. OSMO would not '
                "place its pod in a subgroup. Add the same keys, move it to another group, or set `osmo: "
                f"{{keySets: Pad}}`"
            )
            yield problem_at(at.workflow.place_at(free.path), message)


def _repeated_keys(at: Submission) -> Iterator[ProblemAt]:
    """Yield a problem for each topology key that a resource repeats with a different value.

    OSMO accepts it, and nests the level within itself. Source: spec/osmo.md#d9.
    """
    for resource in at.workflow.resources.values():
        first: dict[str, Requirement] = {}
        for index, requirement in enumerate(resource.topology):
            before = first.setdefault(requirement.key, requirement)
            if before != requirement:
                message = f'duplicate topology key "{requirement.key}" with another value; keep one of the two'
                yield problem_at(at.workflow.place_at((*resource.path, "topology", index, "key")), message)


def _conflicts(at: Submission) -> Iterator[ProblemAt]:
    """Yield a problem if one task requires a level, and another task of the same topology group only prefers it.

    OSMO uses the value of the first task, so the result depends on the order of tasks. Source: spec/osmo.md#d7.
    """
    reported: set[tuple[str, str]] = set()
    for group in at.workflow.groups:
        first: dict[Path, tuple[bool, Task]] = {}
        wants = [levels_of(at, task) for task in group.tasks]
        for position, path in enumerate(paths_of(wants, pad=at.pad)):
            task = group.tasks[position]
            required = {each.level: each.required for each in wants[position]}
            for depth, step in enumerate(path, start=1):
                if step.group is None:
                    continue
                before, other = first.setdefault(path[:depth], (required[step.level], task))
                key = at.pool.keys[step.level].key
                if before != required[step.level] and (task.resource, key) not in reported:
                    reported.add((task.resource, key))
                    yield _conflict(at, task, other, key)


def _conflict(at: Submission, task: Task, other: Task, key: str) -> ProblemAt:
    index = next(index for index, each in enumerate(at.topology(task)) if each.key == key)
    path = (*at.workflow.resources[task.resource].path, "topology", index)
    words = ["required" if each.required else "preferred" for each in at.topology(other) if each.key == key]
    return problem_at(
        at.workflow.place_at((*path, "requirementType")),
        f'must be "{words[0]}", as in resource "{other.resource}": tasks "{other.name}" and "{task.name}" share this '
        f"{key} group. Name another `group`, or make both equal",
    )


class _Built(Record):
    """A node of the tree that OSMO builds. OSMO identifies it by the joined names of its groups, without the levels."""

    task: Task
    level: int
    children: list[_Built]
    tasks: list[str]


def _clashes(at: Submission) -> Iterator[ProblemAt]:
    """Yield a problem if two different paths have the same joined name, so that OSMO cannot build the group.

    OSMO treats the two as one node, so that another node may get no children and no tasks. It then fails after the
    submission. Source: spec/osmo.md#d5.
    """
    if at.pad:
        return
    for group in at.workflow.groups:
        empty = _empty_node(_as_osmo_builds(at, group))
        if empty is None:
            continue
        key = at.pool.keys[empty.level].key
        index = next(index for index, each in enumerate(at.topology(empty.task)) if each.key == key)
        yield problem_at(
            at.workflow.place_at((*at.workflow.resources[empty.task.resource].path, "topology", index, "group")),
            f'the group names of task "{empty.task.name}", joined by dashes, equal the group names of another task, '
            f"and OSMO fails. Rename the group, or set `osmo: {{keySets: Pad}}`",
        )


def _as_osmo_builds(at: Submission, group: TaskGroup) -> list[_Built]:
    top: list[_Built] = []
    by_name: dict[str, _Built] = {}
    for task in group.tasks:
        siblings, name, node = top, "", None
        for each in levels_of(at, task):
            name = f"{name}-{each.group}" if name else each.group
            if name not in by_name:
                by_name[name] = _Built(task, each.level, [], [])
                siblings.append(by_name[name])
            node = by_name[name]
            siblings = node.children
        if node is not None:
            node.tasks.append(task.name)
    return top


def _empty_node(top: list[_Built]) -> _Built | None:
    """Return the first node without children and tasks at which OSMO fails, or None.

    The levels that all tasks share are skipped.
    """
    while len(top) == 1:
        top = top[0].children
    waiting = list(reversed(top))
    while waiting:
        node = waiting.pop()
        # OSMO renders a node with several children, and does not fail below such a node.
        if len(node.children) == 1:
            waiting.append(node.children[0])
        elif not node.children and not node.tasks:
            return node
    return None


WORKFLOWS = (
    OsmoCheck(
        Rule(
            "osmo-workflow-once",
            "Two workflows of the input have the same name.",
            "spec/packwise.md#1.4",
            Severity.WARNING,
        ),
        _name_once,
    ),
)
"""Checks of all workflows together."""

SUBMISSION = (
    OsmoCheck(
        Rule(
            "osmo-quantity",
            "The memory or storage of a resource is not a number with a unit of OSMO.",
            "spec/osmo.md#2",
        ),
        _quantities,
    ),
    OsmoCheck(Rule("osmo-platform", "A resource has no platform.", "spec/osmo.md#2.6"), _platforms),
    OsmoCheck(
        Rule(
            "osmo-topology-key", "A workflow requests a topology key that its pool does not have.", "spec/osmo.md#3.1"
        ),
        _topology_keys,
    ),
    OsmoCheck(
        Rule("osmo-resource", "A task names a resource that the workflow does not define.", "spec/osmo.md#2.5"),
        _resources,
    ),
    OsmoCheck(Rule("osmo-name-length", "A name has more than 64 characters.", "spec/osmo.md#2.2"), _name_lengths),
    OsmoCheck(
        Rule("osmo-gpu-guarantee", "A group requests more GPUs than its pool guarantees.", "spec/osmo.md#3.4"), _gpus
    ),
    OsmoCheck(
        Rule("osmo-key-sets", "The tasks of a workflow use different topology keys.", "spec/osmo.md#3.2"), _key_sets
    ),
    OsmoCheck(
        Rule("osmo-platform-known", "A resource names a platform that the pool does not have.", "spec/osmo.md#3.5"),
        _platforms_known,
    ),
    OsmoCheck(
        Rule(
            "osmo-mixed-none",
            "Only some tasks of a group have topology requirements.",
            "spec/osmo.md#d2",
        ),
        _mixed_groups,
    ),
    OsmoCheck(Rule("osmo-key-repeated", "A resource names a topology key twice.", "spec/osmo.md#d9"), _repeated_keys),
    OsmoCheck(
        Rule(
            "osmo-requirement-conflict",
            "Tasks of one topology group have different requirement types.",
            "spec/osmo.md#d7",
        ),
        _conflicts,
    ),
    OsmoCheck(
        Rule(
            "osmo-group-clash",
            "OSMO gives two different topology groups the same name.",
            "spec/osmo.md#d5",
        ),
        _clashes,
    ),
)
"""Checks of one workflow and its pool, in the order in which OSMO makes them."""

NEED_NO_POOL = tuple(
    check
    for check in SUBMISSION
    if check.problems in (_quantities, _resources, _name_lengths, _key_sets, _mixed_groups, _repeated_keys)
)  # fmt: skip
"""Checks of one workflow that do not depend on its pool."""


DOCUMENT = Rule(
    "osmo-document", "A labelled ConfigMap does not contain exactly one document of OSMO.", "spec/osmo.md#input"
)
SCHEMA = Rule("osmo-schema", "OSMO does not accept a field of a pool or workflow.", "spec/osmo.md#1")
POOL_KNOWN = Rule("osmo-pool-known", "The pool of a workflow is not in the input.", "spec/osmo.md#2")
POOL_CHOSEN = Rule(
    "osmo-pool-chosen", "A workflow names no pool, and the input has several.", "spec/osmo.md#2", Severity.WARNING
)
TEMPLATE = Rule(
    "osmo-template",
    "A variable of a workflow template has no value.",
    "spec/osmo.md#6.1",
)
DUPLICATE_KEY = Rule("osmo-duplicate-key", "A mapping has the same key twice.", "spec/osmo.md#6.2", Severity.WARNING)
TOKEN = Rule(
    "osmo-token",
    "A rendered Pod contains a token that OSMO fills in only while the workflow runs.",
    "spec/osmo.md#6.1",
    Severity.INFO,
)
DIFFERS = Rule(
    "osmo-differs", "OSMO itself would render the workflow differently.", "spec/osmo.md#defects",
    Severity.INFO,
)  # fmt: skip

RULES: tuple[Rule, ...] = (
    DOCUMENT,
    SECTIONS.rule,
    TEMPLATE,
    DUPLICATE_KEY,
    LOCAL_FILES.rule,
    GROUPS_OR_TASKS.rule,
    NAMES_UNIQUE.rule,
    SCHEMA,
    *(check.rule for check in (*POOLS, *POOL)),
    POOL_KNOWN,
    POOL_CHOSEN,
    *(check.rule for check in (*WORKFLOWS, *SUBMISSION)),
    TOKEN,
    DIFFERS,
)
"""Every rule, in the order in which OSMO checks."""
