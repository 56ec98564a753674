"""Explanations as text, with trees and the origins of values, and as JSON.

Source: docs/reference/explain.schema.json.
"""

from __future__ import annotations

import json
import os
import re
from itertools import groupby

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity, exit_code, sort_results
from krmfn.terminal import escape_line
from packwise.answer import PLAIN, Answer, Terminal, Text
from packwise.check.formats import finding_fields
from packwise.check.groups import coverage_of_groups, limits_answer, render_groups, results_of
from packwise.console import json_text, shorten, width
from packwise.explain.explanation import (
    ValueCause,
    at_line,
    explanation_of,
    find_named,
    location_of,
    names,
)
from packwise.inputs.groups import read_groups
from packwise.inputs.paths import real
from packwise.inputs.request import STDIN, UsageError
from packwise.objects.index import identity
from packwise.output.findings_text import FAINT, SEVERITIES, as_lines, tint
from packwise.wording import count_text, did_you_mean, list_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from krmfn.value import Value
    from packwise.explain.explanation import (
        Chosen,
        Emitted,
        EmittedValue,
        Explanation,
        GangTree,
        QueuedSet,
        SetTree,
        TopologyNode,
        WorkloadTree,
    )
    from packwise.explain.options import Explain
    from packwise.findings import Origin, Place
    from packwise.inputs.coverage import Coverage
    from packwise.inputs.groups import Checkup
    from packwise.placement import Bounds, Gang, Omission, Outline
    from packwise.topology.known import Level

_PLACE = re.compile(r"(?P<file>.+?):(?P<line>[1-9]\d{0,8})(?::\d+)?")

_OBJECT = re.compile(r"[A-Za-z][\w.-]*/\S+")

_WIDTH = 120
"""Columns of output that is not shown on a terminal."""


class _Target(Record):
    """The target of a question: a line of a file, an object by its name, or everything."""

    name: str = ""
    file: str = ""
    line: int = 0


def explain(command: Explain, terminal: Terminal = PLAIN) -> Answer:
    """Return the explanations. Raise UsageError if the target does not exist."""
    target, paths = _target(command.target, command.named.paths)
    checkup = read_groups(command.named.replace(paths=paths))
    judged = render_groups(checkup, is_listed=True)
    coverage = coverage_of_groups(checkup, judged)
    rendered = [(batch.group, batch.rendered) for _, batches in judged for batch in batches]
    # If there are several groups, a group without a configuration and workloads has nothing to explain.
    rendered = [pair for pair in rendered if len(rendered) == 1 or pair[0].configurations or pair[1].workloads]
    results = [*checkup.results, *(result for _, batches in judged for result in results_of(batches))]
    # Several groups may read one definition. Report its problems only once.
    if checkup.sources is not None:
        from packwise.build.files import locate_results

        results = locate_results(results, checkup.files)
    unique = sort_results({str(result): result for result in results}.values())
    shown = [result for result in unique if result.severity is Severity.ERROR or limits_answer(result)]
    lines = tuple(as_lines(shown, coloured=terminal.is_stderr_coloured))
    explanations = [
        Explained(explanation_of(group.package, each.replace(results=sort_results(each.results))), group.configurations)
        for group, each in rendered
        if each.selection is not None
    ]
    if not explanations:
        return Answer(before=(*lines, coverage.line), code=1)
    explanations = _choose(target, explanations, checkup)
    if command.as_json:
        text = as_json(explanations, coverage)
    else:
        text = as_text(explanations, terminal.columns or _WIDTH, coloured=terminal.is_coloured)
    return Answer((Text((text,)),), lines, (coverage.line,), exit_code(results))


def _target(first: str | None, others: tuple[str, ...]) -> tuple[_Target, tuple[str, ...]]:
    """Return the target and the paths, both read from the words. The first word is a path if it exists."""
    paths = others or (".",)
    if first is None:
        return _Target(), paths
    if first == STDIN or os.path.lexists(first):
        return _Target(), (first, *others)
    place = _PLACE.fullmatch(first)
    if place is not None:
        return _Target(file=place["file"], line=int(place["line"])), paths
    if _OBJECT.fullmatch(first):
        return _Target(first), paths
    return _Target(), (first, *others)


def _choose(target: _Target, explanations: list[Explained], checkup: Checkup) -> list[Explained]:
    """Return the explanations that include the target, or all without a target.

    Return the explanation with the errors if errors prevent a render and no other render has the target. Raise
    UsageError if the name or place does not exist.
    """
    if target.line:
        return _at_line(target, explanations, checkup)
    if not target.name:
        return explanations
    chosen = [each.replace(chosen=find_named(each.explanation, target.name)) for each in explanations]
    there = [each for each in chosen if each.chosen is not None]
    if not there and all(each.explanation.rendered for each in explanations):
        known = [name for each in explanations for name in names(each.explanation)]
        suggestion = did_you_mean(target.name, known) or f"; `packwise explain PATH` lists all {len(known)}"
        raise UsageError(f'"{target.name}" is not a path, a workload or a rendered object{suggestion}')
    return there or [each for each in explanations if not each.explanation.rendered]


def _at_line(target: _Target, explanations: list[Explained], checkup: Checkup) -> list[Explained]:
    is_stdin = target.file in (STDIN, "<stdin>")
    wanted = None if is_stdin else real(target.file)
    read = [file.path.name for file in checkup.read]
    is_read = False
    there: list[Explained] = []
    for each in explanations:
        # Objects of a ResourceList are in the files that its client read.
        own = [name for item in each.explanation.items if (name := location_of(item).file) == target.file]
        files = [
            name
            for name in dict.fromkeys([*read, *own])
            if (name is None and is_stdin) or (name is not None and wanted == real(name))
        ]
        is_read = is_read or bool(files)
        at = [at_line(each.explanation, name, target.line) for name in files]
        chosen = next((each_at for each_at in at if each_at is not None), None)
        if chosen is not None and chosen not in [other.chosen for other in there]:
            # Variants may have the same answer, because they share some input.
            there.append(each.replace(chosen=chosen))
    if not is_read:
        raise UsageError(f'packwise does not read "{target.file}"; pass it or its folder as PATH too')
    if not there:
        raise UsageError(f'"{target.file}" has no object on line {target.line}')
    return there


class Explained(Record):
    """The explanation of the files with one configuration. `chosen` is the requested part, or None for everything.

    `configurations` are the names of the configuration's files, or empty.
    """

    explanation: Explanation
    configurations: tuple[str, ...] = ()
    chosen: Chosen | None = None


_LONGEST = 300
"""The largest number of characters of a value that are shown."""

_NAMED = 3
"""The number of similar gangs that are named."""

_DIGITS = re.compile(r"\d+")

_BOLD = 1


class _Node(Record):
    """A line of a tree. `details` follow on the same line if they fit, else on separate lines."""

    head: str
    details: tuple[str, ...] = ()
    parts: tuple[_Node, ...] = ()
    colour: int = 0


def as_text(explanations: Sequence[Explained], columns: int, *, coloured: bool) -> str:
    """Return the answer, by configuration if there are several."""
    page = _Page(columns, coloured=coloured)
    for position, each in enumerate(explanations):
        if position:
            page.begin_part()
        by = f"{', '.join(each.configurations)}: " if len(explanations) > 1 and each.configurations else ""
        heading = f"{escape_line(by)}{_heading(each.explanation)}".removesuffix(": ")
        if heading:
            page.lines.append(heading)
        _draw(page, each.explanation, each.chosen)
    return "".join([f"{line}\n" for line in page.lines])


def _draw(page: _Page, explanation: Explanation, chosen: Chosen | None) -> None:
    """Draw the chosen part, or the trees of all workloads if no part is chosen."""
    if chosen is None:
        nodes = [*map(_topology, explanation.topologies), *(_workload(tree) for tree in explanation.workloads)]
    else:
        nodes = list(_chosen_nodes(chosen, rendered=explanation.rendered))
    for node in nodes:
        page.begin_part()
        page.draw(node)
    if not explanation.rendered:
        page.begin_part()
        page.lines.append("packwise renders nothing while there are errors")
    elif chosen is None and not explanation.workloads:
        page.begin_part()
        page.lines.append("no workloads")


class _Page:
    """Lines of text. A line is longer than `columns` only if it cannot be broken."""

    __slots__ = ("_coloured", "_columns", "lines")

    def __init__(self, columns: int, *, coloured: bool) -> None:
        self._columns, self._coloured = columns, coloured
        self.lines: list[str] = []

    def begin_part(self) -> None:
        """Begin a part after a blank line."""
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def draw(self, node: _Node, first: str = "", rest: str = "") -> None:
        """Draw the node and its parts. The first line of the node begins with `first`, and all other lines begin
        with `rest`.
        """
        head, details = escape_line(node.head), [escape_line(detail) for detail in node.details if detail]
        shown = tint(head, node.colour, coloured=self._coloured and node.colour > 0)
        joined = "  ".join([head, *details])
        below = f"{rest}{'│' if node.parts else ' '}    "
        if width(first + joined) <= self._columns:
            faint = tint("  ".join(details), FAINT, coloured=self._coloured)
            self.lines.append(f"{first}{shown}{'  ' if details else ''}{faint}")
        else:
            top, *others = _wrap_words(head, self._columns - width(below))
            colour = self._coloured and node.colour > 0
            self.lines.append(first + tint(top, node.colour, coloured=colour))
            self.lines += [below + tint(line, node.colour, coloured=colour) for line in others]
            self.lines += [below + line for line in self._fold(details, width(below))] if details else []
        for position, part in enumerate(node.parts):
            is_last = position == len(node.parts) - 1
            self.draw(part, f"{rest}{'└─' if is_last else '├─'} ", f"{rest}{'   ' if is_last else '│  '}")

    def _fold(self, details: Sequence[str], indent: int) -> Iterator[str]:
        """Yield lines with as many details as fit on each."""
        line = ""
        for detail in details:
            pieces = _wrap_words(detail, self._columns - indent)
            if len(pieces) > 1:
                yield from [tint(each, FAINT, coloured=self._coloured) for each in [line, *pieces] if each]
                line = ""
                continue
            longer = f"{line}  {detail}" if line else detail
            if line and width(longer) + indent > self._columns:
                yield tint(line, FAINT, coloured=self._coloured)
                longer = detail
            line = longer
        if line:
            yield tint(line, FAINT, coloured=self._coloured)


def _wrap_words(text: str, columns: int) -> list[str]:
    """Return the lines of `text`, broken only between words. Only a line with a single word can be longer than
    `columns`.
    """
    if width(text) <= columns:
        return [text]
    lines: list[str] = []
    for word in text.split(" "):
        if lines and width(lines[-1]) + 1 + width(word) <= columns:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _heading(explanation: Explanation) -> str:
    if not explanation.has_grove:
        return ""
    chosen_by = f", chosen by {explanation.chosen_by}" if explanation.chosen_by else ""
    enabled = "enabled" if explanation.enabled else "disabled"
    state = "" if explanation.enabled is None else f"; topology-aware scheduling is {enabled}"
    return escape_line(f"revision {explanation.revision}{chosen_by}{state}")


def _topology(topology: TopologyNode) -> _Node:
    levels = [_Node(each.level.domain, (each.level.key, str(each.place.location()))) for each in topology.levels]
    return _Node(f"topology {topology.name}", (topology.place.description,), tuple(levels), _BOLD)


def _workload(tree: WorkloadTree, *, whole: bool = False) -> _Node:
    """Return the tree of a workload. Unless it is the `whole` answer, similar gangs are shown once."""
    gangs = [_gang(gang) for gang in tree.gangs] if whole else list(_gang_nodes(tree.gangs))
    queued = [_queued_nodes(each, whole=whole) for each in tree.queued]
    outline = [_outline_nodes(each) for each in tree.outline]
    others = [_Node(each.name) for each in tree.objects]
    missing = [_omission_node(omission, whole=whole) for omission in tree.omissions]
    results = [_Node(line) for line in as_lines(tree.results)] if whole else []
    place = str(location_of(tree.item))
    idle = [_Node(tree.idle)] if tree.idle else []
    nodes = (*idle, *gangs, *queued, *outline, *others, *missing, *results)
    return _Node(tree.source, () if place == tree.source else (place,), nodes, _BOLD)


def _gang_nodes(gangs: Iterable[GangTree]) -> Iterator[_Node]:
    for _, group in groupby(gangs, key=_similarity_key):
        first, *others = group
        yield _gang(first)
        if others:
            names = ", ".join([tree.gang.name for tree in others[:_NAMED]])
            yield _Node(f"and {len(others)} similar: {names}{', …' if len(others) > _NAMED else ''}", colour=FAINT)


def _similarity_key(tree: GangTree) -> tuple[object, ...]:
    """Return a key that is equal for gangs if they differ only in the numbers of their names."""
    gang = tree.gang
    sets = [
        (_DIGITS.sub("#", pods.name), pods.parent is None, pods.members, _levels_of(pods.bounds)) for pods in gang.sets
    ]
    bounds = None if gang.bounds is None else _levels_of(gang.bounds)
    kinds = [each.name.partition(" ")[0] for each in tree.objects]
    pods = [len(part.members) for part in tree.parts]
    return bounds, gang.members, gang.queue, tree.pool, gang.topology, sets, kinds, pods, len(tree.members)


def _gang(tree: GangTree) -> _Node:
    gang = tree.gang
    kinds = list(dict.fromkeys([each.name.partition(" ")[0] for each in tree.objects]))
    details = (
        "" if gang.members is None else count_text(gang.members, "pod"),
        _needed_text(gang.needed, tree.parts),
        *_bounds(gang.bounds),
        f"queue {gang.queue}" if gang.queue else "",
        "" if tree.pool is None else f"node pool {tree.pool}" if tree.pool else "default node pool",
        f"priority {gang.priority_class}" if gang.priority_class else "",
        gang.preemptibility,
        f"scheduler {gang.scheduler}" if gang.scheduler else "",
        f"one of {gang.alike} equal gangs" if gang.alike > 1 else "",
        f"as {', '.join(kinds)}" if kinds else "",
        *_pods(tree.members),
    )
    return _Node(f"gang {gang.name}", details, tuple(_set(part) for part in tree.parts))


def _set(tree: SetTree) -> _Node:
    pods = tree.pods
    scheduler = f"scheduler {pods.scheduler}" if pods.scheduler else ""
    kind, count = ("group", "") if pods.members is None else ("pod set", count_text(pods.members, "pod"))
    details = (count, _needed_text(pods.needed, tree.parts), *_bounds(pods.bounds), scheduler, *_pods(tree.members))
    return _Node(f"{kind} {pods.name}", details, tuple(_set(part) for part in tree.parts))


def _queued_nodes(tree: QueuedSet, *, whole: bool) -> _Node:
    """Return the node of pods that a scheduler places itself: their requests and scheduler."""
    pods = tree.pods
    details = (
        count_text(pods.count, "pod"),
        f"queue {pods.queue}" if pods.queue else "",
        f"within {_level(tree.required)}" if tree.required is not None else "",
        f"if possible within {_level(tree.preferred)}" if tree.preferred is not None else "",
        "anywhere in the topology" if pods.is_unconstrained else "",
        *(f"each {size} within {_level(level)}" for level, size in tree.slices),
        f"together with group {pods.group}" if pods.group is not None else "",
        f"flavor {list_first(pods.flavors)}" if pods.flavors else "",
        f"topology {list_first(pods.topologies)}" if pods.topologies else "",
        f"placed by {pods.scheduler}",
    )
    origins = [_Node(text, (str(place.location()),)) for text, place in pods.origins] if whole else []
    return _Node(f"pod set {pods.name}", details, tuple(origins))


def _outline_nodes(outline: Outline) -> _Node:
    """Return the node of a part of a workload for which no object is rendered."""
    details = (*outline.details, str(outline.place.location()))
    return _Node(outline.name, details, tuple([_outline_nodes(each) for each in outline.parts]))


def _needed_text(needed: int | None, parts: Sequence[SetTree]) -> str:
    """Return how many of the sets the gang needs. Return "" if it needs all."""
    return "" if needed is None or needed >= len(parts) else f"needs {needed} of {len(parts)}"


def _bounds(bounds: Bounds | None) -> Iterator[str]:
    if bounds is not None and bounds.required is not None:
        yield f"within {_level(bounds.required)}"
    if bounds is not None and bounds.preferred is not None:
        yield f"if possible within {_level(bounds.preferred)}"


def _levels_of(bounds: Bounds) -> tuple[Level | None, Level | None]:
    return bounds.required, bounds.preferred


def _level(level: Level) -> str:
    return f"{level.domain} ({level.key})" if level.domain else level.key


def _pods(members: Sequence[Emitted]) -> Iterator[str]:
    if members:
        names = ", ".join([each.name.removeprefix("Pod ") for each in members[:_NAMED]])
        yield f"as Pod {names}{', …' if len(members) > _NAMED else ''}"


def _omission_node(omission: Omission, *, whole: bool = True) -> _Node:
    """Return the reason for a missing value. It is short unless it is the `whole` answer."""
    origin = omission.origin
    if not whole:
        details = (omission.why, str(origin.place.location()))
        return _Node(f"missing: {omission.asked}", details, colour=SEVERITIES[Severity.WARNING])
    remedy = f"to change that: {omission.remedy}" if omission.remedy else ""
    details = (omission.why, remedy, origin.place.description, origin.rule)
    return _Node(f"missing: {omission.asked}", details, colour=SEVERITIES[Severity.WARNING])


def _chosen_nodes(chosen: Chosen, *, rendered: bool) -> Iterator[_Node]:
    if chosen.fields:
        yield _Node("fields of the line", chosen.fields, colour=_BOLD)
    if chosen.around:
        yield _Node(
            f"no value comes from this line alone; the values below come from {chosen.around}, which contains the line"
        )
    for tree in chosen.workloads:
        yield _workload(tree, whole=True)
    for tree, values in chosen.added:
        yield _Node(f"annotations of {tree.source}", (), tuple(_value(value) for value in values), _BOLD)
    for each in chosen.objects:
        yield _object(each.emitted, each.values)
    if chosen.copies:
        names = tuple(each.name for each in chosen.copies)
        yield _Node("the line sets the number of these objects", (), tuple(_Node(name) for name in names), _BOLD)
    for omission in chosen.omissions:
        yield _omission_node(omission)
    if rendered and not chosen.workloads and not (chosen.objects or chosen.copies or chosen.omissions):
        yield _Node("no value comes from this line")


def _object(emitted: Emitted, values: Iterable[EmittedValue]) -> _Node:
    subject = emitted.generated.subject
    at = "" if subject is None else f" ({location_of(subject)})"
    details = [f"rendered from {emitted.generated.source}{at}"]
    details += [f"number set by {origin.place.description}" for origin in emitted.copies]
    return _Node(emitted.name, tuple(details), tuple(_value(value) for value in values), _BOLD)


def _value(each: EmittedValue) -> _Node:
    return _Node(f"{format_path(each.path)}: {_text(each.value)}", tuple(_cause(each.cause)))


def _cause(cause: ValueCause) -> Iterator[str]:
    if cause.is_own:
        yield "packwise"
    if cause.place is not None:
        yield cause.place.description
    if cause.lookup_place is not None:
        yield f"through {cause.lookup_place.description}"
    yield f"[{cause.rule}]"


def _text(value: Value) -> str:
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return shorten(text, _LONGEST)


_DIFFERENT = {"topologyAwareScheduling": None}
"""The common value of a key if its values differ between configurations. A key without an entry has an empty text
then.
"""


def as_json(explanations: Sequence[Explained], coverage: Coverage) -> str:
    """Return the answers of all configurations in one JSON object and a list of the configurations."""
    first, *others = [_answer_fields(each) for each in explanations]
    for other in others:
        for key, value in other.items():
            # A value that is equal in all configurations is printed once.
            first[key] = first[key] + value if isinstance(value, list) else _common_value(key, first[key], value)
    return json_text({**first, "coverage": coverage.fields})


def _common_value(key: str, value: Any, other: Any) -> Any:
    if key == "rendered":
        return value and other
    return value if value == other else _DIFFERENT.get(key, "")


def _answer_fields(explained: Explained) -> dict[str, Any]:
    """Return the chosen part, or the trees of all workloads if no part is chosen."""
    explanation, chosen = explained.explanation, explained.chosen
    revision = explanation.revision
    trees = explanation.workloads if chosen is None else chosen.workloads
    state: dict[str, Any] = {
        "revision": revision,
        "revisionChosenBy": explanation.chosen_by,
        "topologyAwareScheduling": explanation.enabled,
        "rendered": explanation.rendered,
    }
    whole: dict[str, Any] = {
        **state,
        "configurations": [{"files": list(explained.configurations), **state}],
        "topologies": [_topology_fields(topology) for topology in explanation.topologies],
        "workloads": [_workload_fields(tree, revision) for tree in trees],
        "objects": [],
        "annotations": [],
        "fields": [],
        "around": "",
        "copies": [],
        "missing": [],
    }
    if chosen is not None:
        whole["objects"] = [_object_fields(each.emitted, each.values, revision) for each in chosen.objects]
        whole["annotations"] = [
            {"workload": tree.source, "values": _values(values, revision)} for tree, values in chosen.added
        ]
        whole["fields"] = list(chosen.fields)
        whole["around"] = chosen.around
        whole["copies"] = [each.name for each in chosen.copies]
        whole["missing"] = [_missing_fields(omission, revision) for omission in chosen.omissions]
    return whole


def _topology_fields(topology: TopologyNode) -> dict[str, Any]:
    levels = [
        {"domain": each.level.domain, "key": each.level.key, "place": _place_fields(each.place)}
        for each in topology.levels
    ]
    return {"name": topology.name, "place": _place_fields(topology.place), "levels": levels}


def _workload_fields(tree: WorkloadTree, revision: str) -> dict[str, Any]:
    place = location_of(tree.item)
    return {
        "workload": tree.source,
        "file": place.file,
        "line": place.line,
        "gangs": [_gang_fields(gang, revision) for gang in tree.gangs],
        "objects": [each.name for each in tree.objects],
        "missing": [_missing_fields(omission, revision) for omission in tree.omissions],
        "findings": [finding_fields(result) for result in tree.results],
        **({"idle": tree.idle} if tree.idle else {}),
        **({"queued": [_queued_fields(each) for each in tree.queued]} if tree.queued else {}),
        **({"outline": [_outline_fields(each) for each in tree.outline]} if tree.outline else {}),
    }


def _queued_fields(tree: QueuedSet) -> dict[str, Any]:
    pods = tree.pods
    return {
        "name": pods.name,
        "pods": pods.count,
        "scheduler": pods.scheduler,
        "queue": pods.queue or None,
        "flavors": list(pods.flavors),
        "topologies": list(pods.topologies),
        "required": _node_label(tree.required),
        "preferred": _node_label(tree.preferred),
        "unconstrained": pods.is_unconstrained,
        "slices": [{"level": _node_label(level), "pods": size} for level, size in tree.slices],
        "group": pods.group,
        "place": _place_fields(pods.place),
        "origins": [{"what": text, "place": _place_fields(place)} for text, place in pods.origins],
    }


def _outline_fields(outline: Outline) -> dict[str, Any]:
    return {
        "name": outline.name,
        "details": list(outline.details),
        "place": _place_fields(outline.place),
        "parts": [_outline_fields(each) for each in outline.parts],
    }


def _node_label(level: Level | None) -> dict[str, Any] | None:
    return None if level is None else {"domain": level.domain, "key": level.key}


def _gang_fields(tree: GangTree, revision: str) -> dict[str, Any]:
    gang = tree.gang
    return {
        "name": gang.name,
        "namespace": gang.namespace,
        "pods": gang.members,
        "topology": gang.topology,
        "queue": gang.queue,
        **({} if tree.pool is None else {"nodePool": tree.pool}),
        "priorityClassName": gang.priority_class,
        "scheduler": gang.scheduler,
        **_owner_fields(gang),
        **_bounds_fields(gang.bounds, revision),
        "origin": _origin(gang.origin, revision),
        "copies": [_origin(origin, revision) for origin in gang.copies],
        "objects": [each.name for each in (*tree.objects, *tree.members)],
        "sets": [_set_fields(part, revision) for part in tree.parts],
    }


def _owner_fields(gang: Gang) -> dict[str, Any]:
    """Return the fields of gangs that the scheduler makes from the owner of the pods."""
    fields = {
        "needed": gang.needed,
        "preemptibility": gang.preemptibility or None,
        "preemptionDelay": gang.preemption_delay or None,
        "stalenessGracePeriod": gang.grace_period or None,
        "alike": gang.alike if gang.alike > 1 else None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _set_fields(tree: SetTree, revision: str) -> dict[str, Any]:
    pods = tree.pods
    return {
        "name": pods.name,
        "pods": pods.members,
        "scheduler": pods.scheduler,
        **({} if pods.needed is None else {"needed": pods.needed}),
        **_bounds_fields(pods.bounds, revision),
        "origin": _origin(pods.origin, revision),
        "objects": [each.name for each in tree.members],
        "sets": [_set_fields(part, revision) for part in tree.parts],
    }


def _bounds_fields(bounds: Bounds | None, revision: str) -> dict[str, Any]:
    required, preferred = (None, None) if bounds is None else (bounds.required, bounds.preferred)
    origin = None if bounds is None else bounds.origin
    return {
        "required": _level_fields(required, origin and origin.of("required"), revision),
        "preferred": _level_fields(preferred, origin and origin.of("preferred"), revision),
    }


def _level_fields(level: Level | None, origin: Origin | None, revision: str) -> dict[str, Any] | None:
    if level is None:
        return None
    return {"domain": level.domain, "key": level.key, "origin": None if origin is None else _origin(origin, revision)}


def _missing_fields(omission: Omission, revision: str) -> dict[str, Any]:
    return {
        "asked": omission.asked,
        "why": omission.why,
        "remedy": omission.remedy,
        "origin": _origin(omission.origin, revision),
    }


def _object_fields(emitted: Emitted, values: Iterable[EmittedValue], revision: str) -> dict[str, Any]:
    _, kind, namespace, name = identity(emitted.item.value)
    return {
        "apiVersion": emitted.item.value["apiVersion"],
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "renderedFrom": emitted.generated.source,
        "copies": [_origin(origin, revision) for origin in emitted.copies],
        "values": _values(values, revision),
    }


def _values(values: Iterable[EmittedValue], revision: str) -> list[dict[str, Any]]:
    return [
        {"path": format_path(each.path), "value": each.value, "origin": _cause_fields(each.cause, revision)}
        for each in values
    ]


def _cause_fields(cause: ValueCause, revision: str) -> dict[str, Any]:
    return {
        "by": "packwise" if cause.is_own else "input",
        "place": None if cause.place is None else _place_fields(cause.place),
        "through": None if cause.lookup_place is None else _place_fields(cause.lookup_place),
        "rule": cause.rule,
        "revision": revision,
    }


def _origin(origin: Origin, revision: str) -> dict[str, Any]:
    return _cause_fields(ValueCause(origin.rule, origin.place), revision)


def _place_fields(place: Place) -> dict[str, Any]:
    location = place.location()
    return {"file": location.file, "line": location.line, "column": location.column, "field": place.field}
