"""Rules of a workflow spec before anything in it is understood: its sections, and names that must differ."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.rule import Rule, Stage
from packwise.frontends.osmo.rules.check import Check, problem_at
from packwise.frontends.osmo.template.fill import sections

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.frontends.osmo.rules.check import ProblemAt
    from packwise.objects.place import Place

__all__ = ["GROUPS_OR_TASKS", "LOCAL_FILES", "NAMES", "NAMES_UNIQUE", "SECTIONS"]

_KNOWN = ("workflow", "default-values", "version")

Text = tuple["Place", str]


def _sections(subject: Text) -> Iterator[ProblemAt]:
    """OSMO finds the sections by the lines that start them, before it reads any YAML. Source: spec/osmo.md#2."""
    place, text = subject
    seen: set[str] = set()
    for key, _, _ in sections(text):
        if key not in _KNOWN:
            where = (
                "put it below `workflow`" if key in ("resources", "groups", "tasks", "timeout", "labels") else "drop it"
            )
            yield problem_at(
                place.below(key),
                f'must be one of "workflow", "version" and "default-values"; got "{key}": {where}',
                f'Unknown top-level key "{key}" found in the workflow spec.',
                at_key=True,
            )
        elif key in seen:
            yield problem_at(
                place.below(key),
                f'must stand once; "{key}" is there twice: put both together',
                f'Duplicate top-level key "{key}" found in the workflow spec.',
                at_key=True,
            )
        seen.add(key)
    if "workflow" not in seen:
        message = "must start a line of its own, without quotes or braces around it: OSMO looks for that line"
        yield problem_at(place.below("workflow"), message, "Workflow spec not found.", at_key=True)


def _local_files(subject: tuple[Place, Value]) -> Iterator[ProblemAt]:
    """The `osmo` command puts the file's text in the place of `localpath`. packwise opens no file that nobody named."""
    place, workflow = subject
    if not isinstance(workflow, dict):
        return
    for task, path in _tasks(workflow):
        files = task.get("files")
        for index, entry in enumerate(files) if isinstance(files, list) else ():
            if not isinstance(entry, dict) or "localpath" not in entry:
                continue
            at = place.below(*path, "files", index, "localpath")
            if "contents" in entry:
                text = "Files tag dont support contents and localpath together"
                yield problem_at(at, "must not stand beside `contents`; take one of the two out", text, at_key=True)
            elif not isinstance(entry["localpath"], str):
                yield problem_at(at, "must be the path of a file, from the folder of the workflow's own file on")


def _tasks(workflow: Mapping[str, Value]) -> Iterator[tuple[Mapping[str, Value], FieldPath]]:
    """Every task that is a mapping, of groups or by itself, with its path."""
    owners: list[tuple[Value, FieldPath]] = [(workflow, ("workflow",))]
    groups = workflow.get("groups")
    owners += [(each, ("workflow", "groups", at)) for at, each in enumerate(groups if isinstance(groups, list) else ())]
    for owner, path in owners:
        tasks = owner.get("tasks") if isinstance(owner, dict) else None
        for index, task in enumerate(tasks) if isinstance(tasks, list) else ():
            if isinstance(task, dict):
                yield task, (*path, "tasks", index)


def _groups_or_tasks(subject: tuple[Place, Value]) -> Iterator[ProblemAt]:
    place, workflow = subject
    if not isinstance(workflow, dict):
        return
    groups, tasks = bool(workflow.get("groups")), bool(workflow.get("tasks"))
    if groups and tasks:
        text = "Value error, Cannot use both groups and tasks in the same workflow."
        message = "must not stand beside `groups`; put these tasks into groups of their own"
        yield problem_at(place.below("workflow", "tasks"), message, text, at_key=True)
    if not groups and not tasks:
        text = "Value error, Workflows need to have at least one group or one task."
        yield problem_at(place.below("workflow"), "must hold at least one group, or at least one task", text)


def _names_unique(subject: tuple[Place, Value]) -> Iterator[ProblemAt]:
    place, workflow = subject
    first: dict[str, FieldPath] = {}
    for name, path in _names(workflow):
        same = name.lower().replace("_", "-")
        if same in first:
            there = place.below(*first[same], "name").description
            yield problem_at(
                place.below(*path, "name"),
                f'must differ from all other names of tasks and groups; got "{name}" again ({there}), '
                "upper case and - or _ do not count; rename one of them",
                f'Value error, Multiple tasks/groups have the same name: "{same}". Note that names are not case '
                'sensitive and we consider "-" and "_" the same. For example, "Group_1" and "group-1" are considered '
                "the same name.",
            )
        first.setdefault(same, path)


def _names(workflow: Value) -> Iterator[tuple[str, FieldPath]]:
    """Every name of a task or group, and of the groups that single tasks become."""
    if not isinstance(workflow, dict):
        return
    alone: list[tuple[str, FieldPath]] = []
    for name, path, _ in _named(workflow.get("tasks"), ("workflow", "tasks")):
        yield name, path
        alone.append((f"{name}-group", path))
    for name, path, group in _named(workflow.get("groups"), ("workflow", "groups")):
        yield name, path
        yield from ((task, at) for task, at, _ in _named(group.get("tasks"), (*path, "tasks")))
    yield from alone


def _named(entries: Value, path: FieldPath) -> Iterable[tuple[str, FieldPath, Mapping[str, Value]]]:
    for index, entry in enumerate(entries) if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            yield str(entry["name"]), (*path, index), entry


SECTIONS = Check(
    Rule(
        "osmo-sections",
        "A workflow spec has the section `workflow`, and none that OSMO does not know.",
        "spec/osmo.md#2",
    ),
    _sections,
    Stage.DECODE,
)
GROUPS_OR_TASKS = Check(
    Rule("osmo-groups-or-tasks", "A workflow has groups, or single tasks, and not both.", "spec/osmo.md#2"),
    _groups_or_tasks,
    Stage.SCHEMA,
)
NAMES_UNIQUE = Check(
    Rule(
        "osmo-names-unique",
        "Tasks and groups of a workflow have names that differ in more than case and - or _.",
        "spec/osmo.md#2",
    ),
    _names_unique,
    Stage.SCHEMA,
)
LOCAL_FILES = Check(
    Rule(
        "osmo-localpath",
        "A file of a task has `localpath`, a path, or `contents`.",
        "spec/osmo.md#6.3",
    ),
    _local_files,
    Stage.DECODE,
)
NAMES = (LOCAL_FILES, GROUPS_OR_TASKS, NAMES_UNIQUE)
"""What OSMO checks before it looks at the fields."""
