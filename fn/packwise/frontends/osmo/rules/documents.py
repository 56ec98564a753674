"""Rules of a workflow spec before anything in it is understood: its sections, and names that must differ."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packwise.findings.rule import Rule, Stage
from packwise.frontends.osmo.rules.check import Check, problem_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.frontends.osmo.rules.check import ProblemAt
    from packwise.objects.place import Place

__all__ = ["GROUPS_OR_TASKS", "NAMES", "NAMES_UNIQUE", "SECTIONS"]

_SECTION = re.compile(r"^([a-zA-Z][a-zA-Z0-9_-]*):", re.MULTILINE)
_KNOWN = ("workflow", "default-values", "version")

Text = tuple["Place", str]


def _sections(subject: Text) -> Iterator[ProblemAt]:
    """OSMO finds the sections by the lines that start them, before it reads any YAML. Source: osmo.md 2."""
    place, text = subject
    seen: set[str] = set()
    for match in _SECTION.finditer(text):
        key = match[1]
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
    Rule("osmo-sections", "A workflow spec has the section `workflow`, and none that OSMO does not know.", "osmo.md 2"),
    _sections,
    Stage.DECODE,
)
GROUPS_OR_TASKS = Check(
    Rule("osmo-groups-or-tasks", "A workflow has groups, or single tasks, and not both.", "osmo.md 2"),
    _groups_or_tasks,
    Stage.SCHEMA,
)
NAMES_UNIQUE = Check(
    Rule(
        "osmo-names-unique",
        "Tasks and groups of a workflow have names that differ in more than case and - or _.",
        "osmo.md 2",
    ),
    _names_unique,
    Stage.SCHEMA,
)
NAMES = (GROUPS_OR_TASKS, NAMES_UNIQUE)
"""What OSMO checks before it looks at the fields."""
