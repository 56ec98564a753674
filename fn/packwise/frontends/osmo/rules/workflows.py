"""Rules of a workflow and its pool, in the order in which OSMO looks. Source: spec/osmo.md#2 and #3."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.rule import Rule, Severity
from packwise.frontends.osmo.rules.check import Check, problem_at
from packwise.frontends.osmo.tree import Levelled, paths_of
from packwise.wording import list_known, told_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.frontends.osmo.pool import Pool
    from packwise.frontends.osmo.rules.check import ProblemAt
    from packwise.frontends.osmo.tree import Path
    from packwise.frontends.osmo.workflow import Group, Requirement, Task, Workflow
    from packwise.settings import Osmo

__all__ = ["NEED_NO_POOL", "SUBMISSION", "WORKFLOWS", "Submission", "levelled"]

_MAX_NAME = 64

_UNITS = frozenset({"T", "Ti", "TiB", "G", "Gi", "GiB", "M", "Mi", "MiB", "K", "Ki", "KiB", "B", "m"})
_QUANTITY = re.compile(r"\d+(?:\.\d+)?(?P<unit>[a-zA-Z]*)")


class Submission(NamedTuple):
    """A workflow, submitted to a pool with these settings."""

    workflow: Workflow
    pool: Pool
    settings: Osmo

    @property
    def pad(self) -> bool:
        """Whether tasks that ask for less than others are filled up."""
        return self.settings.key_sets == "Pad"

    def topology(self, task: Task) -> tuple[Requirement, ...]:
        """What a task asks for."""
        resource = self.workflow.resources.get(task.resource)
        return () if resource is None else resource.topology


def levelled(submission: Submission, task: Task) -> list[Levelled]:
    """What a task asks for by the pool's levels; keys that the pool does not have are left out."""
    names = submission.pool.key_names
    levels = [
        Levelled(names.index(each.key), each.group, each.required)
        for each in submission.topology(task)
        if each.key in names
    ]
    return sorted(levels, key=lambda each: each.level)


def _once(workflows: tuple[Workflow, ...]) -> Iterator[ProblemAt]:
    first: dict[str, Workflow] = {}
    for workflow in workflows:
        before = first.setdefault(workflow.name, workflow)
        if before is not workflow:
            message = (
                f'must be the only workflow "{workflow.name}"; it also stands at {before.place.description}; '
                "rename one: in Git there is no number behind the name"
            )
            yield problem_at(workflow.at(("workflow", "name")), message)


def _quantities(at: Submission) -> Iterator[ProblemAt]:
    for resource in at.workflow.resources.values():
        for field in ("memory", "storage"):
            value: str | None = getattr(resource, field)
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
                yield problem_at(at.workflow.at((*resource.path, field)), message, text)


def _platforms(at: Submission) -> Iterator[ProblemAt]:
    for name, resource in at.workflow.resources.items():
        if resource.platform is None and at.pool.platform is None and not at.pool.partial:
            message = f'must name a `platform`: pool "{at.pool.name}" has no default platform; it has '
            yield problem_at(
                at.workflow.at(resource.path),
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
                    at.workflow.at((*resource.path, "topology", index, "key")),
                    message + told_known(requirement.key, available),
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
            yield problem_at(at.workflow.at(task.path), message, text)
        else:
            message = f'must be a resource of the workflow; got "{task.resource}"'
            yield problem_at(
                at.workflow.at((*task.path, "resource")),
                message + told_known(task.resource, list(at.workflow.resources)),
                f"Requesting undefined resource {task.resource}.",
            )


def _name_lengths(at: Submission) -> Iterator[ProblemAt]:
    named = [(at.workflow.name, ("workflow", "name"))]
    for group in at.workflow.groups:
        named += [(group.name, (*group.path, "name")), *((task.name, (*task.path, "name")) for task in group.tasks)]
    for name, path in named:
        if len(name) > _MAX_NAME:
            yield problem_at(
                at.workflow.at(path),
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
                at.workflow.at(group.path),
                f'must not ask for more than the {guarantee} GPUs that pool "{at.pool.name}" guarantees; it asks for '
                f"{wanted}: make the group smaller, or submit it with `osmo: {{priority: LOW}}`",
                f"Pool {at.pool.name} has {guarantee} GPUs guaranteed for NORMAL/HIGH priority workflows and group "
                f"{group.name} requires {wanted} GPUs. Higher gpu counts must be submitted with LOW priority",
            )


def _key_sets(at: Submission) -> Iterator[ProblemAt]:
    if at.pad:
        return
    first: dict[tuple[str, ...], Task] = {}
    for task in at.workflow.tasks():
        keys = tuple(sorted([each.key for each in at.topology(task)]))
        if keys:
            first.setdefault(keys, task)
    if len(first) < 2:
        return
    (known, task), (other, unlike) = list(first.items())[:2]
    yield problem_at(
        at.workflow.at((*unlike.path, "resource")),
        f'must ask for the topology keys that task "{task.name}" asks for ({", ".join(known)}); got '
        f"{', '.join(other)}: ask for the same keys in all tasks, or set `osmo: {{keySets: Pad}}`",
        "Topology validation failed: All tasks must use the same topology keys. Found different key sets: "
        f"{[', '.join(keys) for keys in sorted(first)]}. Either all tasks should have topology requirements with the "
        "same keys, or no tasks should have topology requirements.",
    )


def _platforms_known(at: Submission) -> Iterator[ProblemAt]:
    reported: set[str] = set()
    for task in at.workflow.tasks():
        resource = at.workflow.resources.get(task.resource)
        platform = None if resource is None else resource.platform
        if resource is None or platform is None or at.pool.partial or platform in at.pool.platforms:
            continue
        if resource.name in reported:
            continue
        reported.add(resource.name)
        yield problem_at(
            at.workflow.at((*resource.path, "platform")),
            f'must be a platform of pool "{at.pool.name}"; got "{platform}"' + told_known(platform, at.pool.platforms),
            f"Platform {platform} does not exist in pool {at.pool.name}!",
        )


def _mixed(at: Submission) -> Iterator[ProblemAt]:
    """OSMO accepts it, and leaves the pods without a subgroup, or binds them all the same. Source: spec/osmo.md#d2."""
    if at.pad:
        return
    for group in at.workflow.groups:
        tasks = [task for task in group.tasks if task.resource in at.workflow.resources]
        asking = [bool(at.topology(task)) for task in tasks]
        if any(asking) and not all(asking):
            bound, free = tasks[asking.index(True)], tasks[asking.index(False)]
            message = (
                f'must have topology requirements, as task "{bound.name}" of its group has: OSMO would not say where '
                "its pod belongs; give it the same keys, move it to another group, or set `osmo: {keySets: Pad}`"
            )
            yield problem_at(at.workflow.at(free.path), message)


def _repeated_keys(at: Submission) -> Iterator[ProblemAt]:
    """OSMO accepts it, and nests the level within itself. Source: spec/osmo.md#d9."""
    for resource in at.workflow.resources.values():
        first: dict[str, Requirement] = {}
        for index, requirement in enumerate(resource.topology):
            before = first.setdefault(requirement.key, requirement)
            if before != requirement:
                message = (
                    f'must stand once among the topology keys of a resource; got "{requirement.key}" again, which says '
                    "something else; keep one of the two"
                )
                yield problem_at(at.workflow.at((*resource.path, "topology", index, "key")), message)


def _conflicts(at: Submission) -> Iterator[ProblemAt]:
    """OSMO takes what the first task says, so that their order counts. Source: spec/osmo.md#d7."""
    reported: set[tuple[str, str]] = set()
    for group in at.workflow.groups:
        first: dict[Path, tuple[bool, Task]] = {}
        wants = [levelled(at, task) for task in group.tasks]
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
        at.workflow.at((*path, "requirementType")),
        f'must be "{words[0]}" as in resource "{other.resource}": tasks "{other.name}" and "{task.name}" share '
        f"this {key} group, which is one or the other; name another `group`, or make both alike",
    )


class _Built(NamedTuple):
    """A node as OSMO makes it: told by the names of its path joined by dashes, whatever levels they are of."""

    task: Task
    level: int
    children: list[_Built]
    tasks: list[str]


def _clashes(at: Submission) -> Iterator[ProblemAt]:
    """OSMO takes two paths of one joined name for one node; one of them may then be left without anything below it.

    There its build of the group ends in an error, after the submission. Source: spec/osmo.md#d5.
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
            at.workflow.at((*at.workflow.resources[empty.task.resource].path, "topology", index, "group")),
            f'must not lead to a name that others lead to: joined by dashes, groups of task "{empty.task.name}" are '
            "those of another task, and OSMO fails on it; rename the group, or set `osmo: {keySets: Pad}`",
        )


def _as_osmo_builds(at: Submission, group: Group) -> list[_Built]:
    top: list[_Built] = []
    by_name: dict[str, _Built] = {}
    for task in group.tasks:
        siblings, name, node = top, "", None
        for each in levelled(at, task):
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
    """The first node without children and tasks that OSMO comes to below the levels that all tasks share."""
    while len(top) == 1:
        top = top[0].children
    waiting = list(reversed(top))
    while waiting:
        node = waiting.pop()
        # A node with several children is written, and below one that is written nothing fails.
        if len(node.children) == 1:
            waiting.append(node.children[0])
        elif not node.children and not node.tasks:
            return node
    return None


WORKFLOWS = (
    Check(
        Rule("osmo-workflow-once", "A workflow stands in the input once.", "spec/packwise.md#1.4", Severity.WARNING),
        _once,
    ),
)
"""Rules of all workflows together."""

SUBMISSION = (
    Check(
        Rule(
            "osmo-quantity",
            "Memory and storage of a resource are numbers with a unit that OSMO knows.",
            "spec/osmo.md#2",
        ),
        _quantities,
    ),
    Check(Rule("osmo-platform", "Every resource has a platform.", "spec/osmo.md#2"), _platforms),
    Check(
        Rule("osmo-topology-key", "Workflows ask for topology keys that the pool has.", "spec/osmo.md#3.1"),
        _topology_keys,
    ),
    Check(Rule("osmo-resource", "Tasks name resources that the workflow has.", "spec/osmo.md#2"), _resources),
    Check(Rule("osmo-name-length", "Names have at most 64 characters.", "spec/osmo.md#2"), _name_lengths),
    Check(
        Rule("osmo-gpu-guarantee", "A group asks for no more GPUs than its pool guarantees.", "spec/osmo.md#3"), _gpus
    ),
    Check(Rule("osmo-key-sets", "All tasks of a workflow use the same topology keys.", "spec/osmo.md#3.2"), _key_sets),
    Check(
        Rule("osmo-platform-known", "Resources name platforms that the pool has.", "spec/osmo.md#3"), _platforms_known
    ),
    Check(
        Rule(
            "osmo-mixed-none",
            "Within a group all tasks have topology requirements, or none.",
            "spec/osmo.md#d2",
        ),
        _mixed,
    ),
    Check(Rule("osmo-key-repeated", "A resource says one thing of a topology key.", "spec/osmo.md#d9"), _repeated_keys),
    Check(
        Rule("osmo-requirement-conflict", "Tasks that share a group agree whether it is required.", "spec/osmo.md#d7"),
        _conflicts,
    ),
    Check(
        Rule("osmo-group-clash", "Groups have names that lead to a tree which OSMO can build.", "spec/osmo.md#d5"),
        _clashes,
    ),
)
"""Rules of one workflow and its pool."""

NEED_NO_POOL = tuple([
    check
    for check in SUBMISSION
    if check.problems in (_quantities, _resources, _name_lengths, _key_sets, _mixed, _repeated_keys)
])  # fmt: skip
"""Those that hold whatever the pool is."""
