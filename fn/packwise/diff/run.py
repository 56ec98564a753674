"""A comparison as text, Markdown, JSON (described in docs/reference/diff.md) and JSON Patch."""

from __future__ import annotations

import json
import re
from itertools import groupby

from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.result import Severity, exit_code, sort_results
from krmfn.terminal import escape_line
from packwise.answer import PLAIN, Answer, Terminal, Text
from packwise.check.formats import finding_fields
from packwise.check.groups import limits_answer
from packwise.console import json_text, shorten
from packwise.diff.change import ORDER, Action, NamedEntry, format_steps, kind_of, workload_of
from packwise.diff.difference import (
    State,
    constraint_text,
    constraints,
    json_patch,
    state_after,
    state_before,
    without_kinds,
)
from packwise.diff.difference import diff as compare
from packwise.extras import PATCH
from packwise.inputs.coverage import Coverage, files_covered
from packwise.inputs.groups import Sides, read_sides
from packwise.inputs.paths import name_of_path
from packwise.inputs.request import STDIN, UsageError
from packwise.inputs.variants import variants_as_one
from packwise.lenient import mapping, text
from packwise.objects.index import identity
from packwise.output.findings_text import FAINT, SEVERITIES, as_lines, count, speaker_in, tint
from packwise.output.markdown import CommentPart, Section, code, comment, markup
from packwise.render.files import without_bookkeeping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.diff.change import FieldChange, ObjectChange
    from packwise.diff.difference import Difference, Dropped
    from packwise.diff.options import Diff, DiffFormat
    from packwise.inputs.groups import Group, Inputs


class Comparison(Record):
    """The difference from the user's state `before` to the state `after`.

    `before_rendered` and `after_rendered` are true for states that are rendered from sources. `coloured` requests
    terminal colours. `warnings` are about a release that is not set and about placeholders. `coverage` lists the input
    of both states. `hidden` are kinds that the user may not list.
    """

    difference: Difference
    before: str
    after: str
    before_rendered: bool = True
    after_rendered: bool = True
    coloured: bool = False
    warnings: tuple[Result, ...] = ()
    coverage: tuple[Coverage, Coverage] = (Coverage(), Coverage())
    hidden: tuple[str, ...] = ()


def notes(compared: Comparison) -> list[str]:
    """Return notes on kinds that are not compared or that only one side can have."""
    difference = compared.difference
    texts = [f"{', '.join(compared.hidden)}: not compared, because you may not list them"] if compared.hidden else []
    for name, kinds in ((compared.before, difference.only_before), (compared.after, difference.only_after)):
        if kinds:
            texts.append(f"{', '.join(kinds)} of {name}: not compared, because the other side renders none")
    for name, kinds in ((compared.before, difference.missing_before), (compared.after, difference.missing_after)):
        if kinds:
            texts.append(f"{name} has no {' and no '.join(kinds)}; export every kind")
    if difference.unchecked:
        texts.append(
            f"{compared.before} has gangs of {', '.join(difference.unchecked)}, but not the workload itself, so "
            "packwise "
            "does not know if the operator refuses its update"
        )
    return texts


_SIGNS = {Action.CREATE: "+", Action.DELETE: "-", Action.CHANGE: "~", Action.RECREATE: "±"}

_COLOURS = {Action.CREATE: 32, Action.DELETE: 31, Action.CHANGE: 33, Action.RECREATE: 31}

_WORDS = {
    Action.CREATE: "added",
    Action.DELETE: "removed",
    Action.CHANGE: "changed",
    Action.RECREATE: "to be re-created",
}

_LONGEST = 300

_WIDEST = 100

_NAMED = 6

_DIGITS = re.compile(r"\d+")


class _Shown(Record):
    """A change, and the constraints that the object loses."""

    change: ObjectChange
    dropped: tuple[Dropped, ...]


def as_text(compared: Comparison) -> str:
    """Return the whole comparison. Similar changes of one workload's objects are shown once."""
    difference = compared.difference
    lines: list[str] = []
    for changed in changed_kinds(compared):
        lines += [escape_line(changed.kind), *(line for listed in changed.objects for line in listed), ""]
    for title, results in _errors(difference):
        refused = [line for result in results for line in _refused_lines(result, coloured=compared.coloured)]
        lines += [title, *(f"  {line}" for line in refused), ""]
    lines.append(f"{escape_line(compared.before)} → {escape_line(compared.after)}: {summary(compared)}")
    return "".join([f"{line}\n" for line in lines])


def _errors(difference: Difference) -> Iterator[tuple[str, tuple[Result, ...]]]:
    """Yield the errors of both states under a title, if any."""
    if difference.unreadable:
        yield "Cannot be rendered, before the change", difference.unreadable
    if difference.refusals:
        is_refused = difference.is_compared or difference.unreadable
        yield "Refused" if is_refused else "Cannot be rendered", difference.refusals


class ChangedKind(Record):
    """A kind with changes: how many there are of each action and the lines of each object."""

    kind: str
    actions: str
    objects: list[list[str]]


def changed_kinds(compared: Comparison) -> Iterator[ChangedKind]:
    """Yield the kinds with changes."""
    lost: dict[int, list[Dropped]] = {}
    for dropped in compared.difference.dropped:
        lost.setdefault(id(dropped.subject), []).append(dropped)
    shown = [_Shown(change, tuple(lost.get(id(change.after), ()))) for change in compared.difference.changes]
    for kind, group in groupby(shown, key=lambda entry: kind_of(entry.change.subject)):
        listed = list(group)
        actions = _actions([entry.change for entry in listed])
        yield ChangedKind(kind, actions, list(_objects(listed, coloured=compared.coloured)))


def _refused_lines(result: Result, *, coloured: bool = False) -> list[str]:
    """Return the lines of a refusal with the text of the component that refuses."""
    lines = as_lines([result], coloured=coloured)
    if "operatorMessage" in result.tags:
        lines.append(f"  {speaker_in(result)}: {escape_line(result.tags['operatorMessage'])}")
    return lines


def _objects(shown: Sequence[_Shown], *, coloured: bool) -> Iterator[list[str]]:
    """Yield the lines of each object. Similar objects are shown once."""
    groups: dict[tuple[object, ...], list[_Shown]] = {}
    for entry in shown:
        groups.setdefault(_similarity_key(entry), []).append(entry)
    for first, *others in groups.values():
        lines = list(_object(first, coloured=coloured))
        if others:
            names = [_name(entry.change.subject) for entry in others]
            more = f"{', '.join(names[:_NAMED])}{', …' if len(names) > _NAMED else ''}"
            lines.append(f"      {tint(f'and {len(names)} similar: {escape_line(more)}', FAINT, coloured=coloured)}")
        yield lines


def _similarity_key(shown: _Shown) -> tuple[object, ...]:
    """Return a key that is equal for similar changes. Numbers in the names of a workload's parts are ignored.

    Other values and numbers are compared.
    """
    change = shown.change
    workload = workload_of(change.subject)
    if workload is None:
        return (id(change),)
    fields = tuple(_similar_field(field, workload) for field in change.fields)
    dropped = tuple(
        (
            _without_numbers(format_steps(constraint.holder)),
            constraint.strength,
            constraint.key,
            constraint.topology,
            message,
        )
        for constraint, message in [(lost.constraint, lost.message) for lost in shown.dropped]
    )
    namespace = identity(change.subject.value)[2]
    return change.action, namespace, workload, fields, dropped, _alike_text(_digest(change), workload)


def _similar_field(field: FieldChange, workload: str) -> tuple[object, ...]:
    path = tuple(
        NamedEntry(_without_numbers(step.name)) if isinstance(step, NamedEntry) else step for step in field.path
    )
    return path, *(_alike_text(_dump(value), workload) for value in (field.before, field.after))


def _alike_text(text: str, workload: str) -> str:
    return re.sub(rf"(?<![\w.-]){re.escape(workload)}-[\w.-]*", lambda name: _without_numbers(name[0]), text)


def _without_numbers(text: str) -> str:
    return _DIGITS.sub("#", text)


def _object(shown: _Shown, *, coloured: bool) -> Iterator[str]:
    change = shown.change
    sign = tint(_SIGNS[change.action], _COLOURS[change.action], coloured=coloured)
    digest = _digest(change)
    yield f"  {sign} {escape_line(_name(change.subject))}{f': {escape_line(digest)}' if digest else ''}"
    for sentence in change.meaning:
        yield f"      {escape_line(sentence)}"
    for field in change.fields:
        yield from _field(field)
    for lost in shown.dropped:
        word = tint("lost", SEVERITIES[Severity.WARNING], coloured=coloured)
        text = f"{constraint_text(lost.constraint, lost.domain)}: {lost.message}"
        yield f"      {word}: {escape_line(text)}"


def _field(field: FieldChange) -> Iterator[str]:
    name, before, after = escape_line(format_steps(field.path)), _value(field.before), _value(field.after)
    if len(before) + len(after) <= _WIDEST:
        yield f"      {name}: {before} → {after}"
        return
    yield f"      {name}:"
    yield f"        {before}"
    yield f"        → {after}"


def _name(item: KubeObject) -> str:
    _, _, namespace, name = identity(item.value)
    return f"{namespace}/{name}" if namespace else name


def _digest(change: ObjectChange) -> str:
    """Return the meaning of an added or removed object for the scheduler."""
    if change.before is not None and change.after is not None:
        return ""
    value = change.subject.value
    levels = change.subject.get("spec.levels")
    if isinstance(levels, list):
        return _level_list(levels)
    return ", ".join([constraint_text(constraint) for constraint in constraints(value)])


def _value(value: Value) -> str:
    return shorten(escape_line(_dump(value)), _LONGEST)


def _dump(value: Value) -> str:
    if value is None:
        return "(none)"
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value and all(isinstance(entry, dict) and _is_level(entry) for entry in value):
        return _level_list(value)
    return json.dumps(value, ensure_ascii=False)


def _is_level(entry: object) -> bool:
    keys = cast("dict[str, Value]", entry).keys()
    return keys == {"domain", "key"} or (keys <= {"nodeLabel", "alias"} and "nodeLabel" in keys)


def _level_list(levels: Sequence[Value]) -> str:
    """Return levels broadest first as `domain=key`, or as the key alone in objects without domains."""
    parts: list[str] = []
    for level in levels:
        fields = mapping(level)
        key, domain = fields.get("key", fields.get("nodeLabel")), fields.get("domain", fields.get("alias"))
        parts.append(str(key) if domain is None else f"{domain}={key}")
    return " > ".join(parts)


def summary(compared: Comparison) -> str:
    """Return the numbers of changed objects by kind, of lost constraints, and of errors."""
    difference = compared.difference
    parts = list(_counts(difference.changes))
    if difference.dropped:
        parts.append(f"{len(difference.dropped)} constraint{'s' if len(difference.dropped) > 1 else ''} lost")
    if difference.is_compared and not parts:
        parts.append("nothing changes for the scheduler")
    if not difference.is_compared:
        parts.append("not compared")
    refused = [*difference.refusals, *difference.unreadable]
    if refused:
        parts.append(count(refused))
    return "; ".join(parts)


def _counts(changes: Iterable[ObjectChange]) -> Iterator[str]:
    for kind, group in groupby(changes, key=lambda change: kind_of(change.subject)):
        yield f"{escape_line(kind)} {_actions(list(group))}"


def _actions(changes: Sequence[ObjectChange]) -> str:
    """Return the number of changes of each action."""
    actions = [change.action for change in changes]
    return ", ".join([f"{actions.count(action)} {word}" for action, word in _WORDS.items() if action in actions])


_MARKDOWN_SIGNS = {"±": "!"}
"""Replaced signs, each with the sign at which GitHub colours a line."""


def as_markdown(compared: Comparison) -> str:
    """Return the whole comment."""
    return comment("packwise diff", [part_of_comparison(compared)])


def part_of_comparison(compared: Comparison) -> CommentPart:
    """Return the comparison as a part of a comment."""
    compared = compared.replace(coloured=False)
    difference = compared.difference
    lead = (
        "### What changes for the scheduler",
        f"{code(summary(compared))}",
        f"From {code(compared.before)} to {code(compared.after)}.",
    )
    command = f"packwise diff {compared.before} {compared.after}"
    sections = [
        *_changes(compared),
        *[
            Section(f"{title}: {count(results)}", [_refused_lines(result) for result in results], is_open=True)
            for title, results in _errors(difference)
        ],
        Section("Notes", [[note] for note in notes(compared)]),
    ]
    return CommentPart(lead, sections, command)


def _changes(compared: Comparison) -> Iterator[Section]:
    for changed in changed_kinds(compared):
        signed = [[_with_sign(lines[0]), *lines[1:]] for lines in changed.objects]
        yield Section(f"{markup(changed.kind)}: {changed.actions}", signed, language="diff")


def _with_sign(line: str) -> str:
    """Return the first line of an object with its sign at the start, as GitHub expects."""
    sign, space, rest = line.strip().partition(" ")
    return f"{_MARKDOWN_SIGNS.get(sign, sign)}{space}{rest}"


def as_json(compared: Comparison) -> str:
    """Return one object: the compared states, the counts, and all differences."""
    difference, (before, after) = compared.difference, compared.coverage
    counts = {action.value: sum(1 for change in difference.changes if change.action is action) for action in Action}
    whole = {
        "before": {"name": compared.before, "rendered": compared.before_rendered, "coverage": before.fields},
        "after": {"name": compared.after, "rendered": compared.after_rendered, "coverage": after.fields},
        "compared": difference.is_compared,
        "summary": {
            **counts,
            "droppedConstraints": len(difference.dropped),
            "refusals": len(difference.refusals),
            "unreadable": len(difference.unreadable),
        },
        "changes": [_change(change) for change in difference.changes],
        "droppedConstraints": [_dropped_fields(lost) for lost in difference.dropped],
        "refusals": [finding_fields(result) for result in difference.refusals],
        "unreadable": [finding_fields(result) for result in difference.unreadable],
        "notes": notes(compared),
    }
    return json_text(whole)


def resource(item: KubeObject) -> dict[str, str]:
    """Return the identity of the object. A part that is not text is ""."""
    parts = {
        "apiVersion": item.get("apiVersion"),
        "kind": item.get("kind"),
        "namespace": item.get("metadata.namespace"),
        "name": item.get("metadata.name"),
    }
    return {name: text(part) for name, part in parts.items()}


def _change(change: ObjectChange) -> dict[str, Any]:
    return {
        "action": change.action.value,
        "resource": resource(change.subject),
        "meaning": list(change.meaning),
        "fields": [_field_value(field) for field in change.fields],
    }


def _field_value(field: FieldChange) -> dict[str, Any]:
    values = {"before": field.before, "after": field.after}
    return {"path": format_steps(field.path), **{key: value for key, value in values.items() if value is not None}}


def _dropped_fields(lost: Dropped) -> dict[str, Any]:
    constraint = lost.constraint
    return {
        "resource": resource(lost.subject),
        "holder": format_steps(constraint.holder),
        "strength": constraint.strength,
        "key": constraint.key,
        "domain": lost.domain,
        "reason": lost.reason.value,
        "message": lost.message,
    }


def as_patches(compared: Comparison) -> str:
    """Return a list with an entry for every object that differs. Source: docs/reference/diff.md."""
    return json_text([_entry(change) for change in compared.difference.changes])


def _entry(change: ObjectChange) -> dict[str, Any]:
    # For a gang with another epoch, the patch is for the existing object.
    patched = change.before or change.subject
    entry: dict[str, Any] = {"action": change.action.value, "resource": resource(patched)}
    if change.before is not None and change.after is not None:
        entry["patch"] = json_patch(change.before.value, change.after.value)
    if change.after is not None and change.action in (Action.CREATE, Action.RECREATE):
        entry["object"] = without_bookkeeping(change.after).value
    return entry


def diff(command: Diff, terminal: Terminal = PLAIN) -> Answer:
    """Return the changes. Raise UsageError if an option is wrong."""
    if command.output == "patch" and not PATCH.is_installed:
        raise UsageError(f"cannot use --output patch: {PATCH.advice}")
    sides = Sides(command.before, command.after, command.config, command.crds, command.exclude, command.builder)
    inputs = read_sides(sides)
    results = sort_results([*inputs[0].results, *inputs[1].results])
    lines_before = as_lines(results, coloured=terminal.is_stderr_coloured)
    before, after = [
        files_covered(each.files, each.skipped, each.read).replace(sources=each.sources) for each in inputs
    ]
    lines = [f"{name}: {each.line}" for name, each in zip(_names(command), (before, after), strict=True)]
    if inputs[0].is_broken or inputs[1].is_broken:
        return Answer(before=(*lines_before, *lines), code=1)
    compared = _compare_inputs(command, *inputs).replace(coverage=(before, after), coloured=terminal.is_coloured)
    lines_before += as_lines(compared.warnings, coloured=terminal.is_stderr_coloured)
    if command.output not in ("json", "markdown"):
        lines_before += [f"note: {note}" for note in notes(compared)]
    difference = compared.difference
    if command.output == "patch":
        refused = [*difference.unreadable, *difference.refusals]
        lines_before += as_lines(refused, coloured=terminal.is_stderr_coloured)
    is_wrong = difference.refusals or not difference.is_compared or (command.exit_code and difference.changes)
    code = int(bool(is_wrong or exit_code(results)))
    return Answer((Text((_PRINTERS[command.output](compared),)),), tuple(lines_before), tuple(lines), code)


def _compare_inputs(command: Diff, before: Inputs, after: Inputs) -> Comparison:
    old = sorted_state(state_before(before.package), before.group)
    new = sorted_state(state_after(after.package, before.package), after.group)
    if before.sources is not None:
        old, new = _locate(old, before), _locate(new, after)
    # A finding without a file may be in both states. Report it once.
    results = [*old.render_results, *new.render_results]
    warnings = {str(each): each for each in results if limits_answer(each)}
    seen = [without_kinds(state, command.hidden) for state in (old, new)]
    return Comparison(
        compare(*seen),
        *_names(command),
        old.is_rendered,
        new.is_rendered,
        warnings=tuple(warnings.values()),
        hidden=tuple([kind for kind in ORDER if kind in command.hidden]),
    )


def _locate(state: State, inputs: Inputs) -> State:
    """Return the state with its results moved to the templates of built files."""
    from packwise.build.files import locate_results

    return state.replace(results=locate_results(state.results, inputs.files))


def _names(command: Diff) -> tuple[str, str]:
    """Return the user's names of the two sides."""
    before, after = ("<stdin>" if name == STDIN else name_of_path(name) for name in (command.before, command.after))
    return before, after


def sorted_state(state: State, group: Group) -> State:
    """Return the state of a group with sorted errors. If it has variants, one error names the variant to select."""
    return state.replace(results=sort_results(variants_as_one(state.results, group)))


_PRINTERS: dict[DiffFormat, Callable[[Comparison], str]] = {
    "text": as_text,
    "json": as_json,
    "patch": as_patches,
    "markdown": as_markdown,
}
