"""An explanation for people: trees, and below each value where it comes from."""

from __future__ import annotations

import json
import re
from itertools import groupby

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from krmfn.result import Severity
from packwise.cli.console import visible, width
from packwise.cli.findings_text import FAINT, SEVERITIES, as_lines, tinted
from packwise.commands.explain import location_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.value import Value
    from packwise.commands.explain import (
        Cause,
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
    from packwise.objects import Place
    from packwise.placement import Bounds, Omission
    from packwise.topology.known import Level


class Explained(Record):
    """The explanation of the files that one configuration judges, and what of it is asked about; None: everything.

    `configurations` are the names of the configuration's files, empty where there is none.
    """

    explanation: Explanation
    configurations: tuple[str, ...] = ()
    chosen: Chosen | None = None


_LONGEST = 300
"""Characters of a value that are shown."""

_NAMED = 3
"""How many gangs are named of those that are alike."""

_STATES = {True: "enabled", False: "disabled"}

_DIGITS = re.compile(r"\d+")
_BOLD = 1


class _Node(Record):
    """A line of a tree: `details` follow on the same line where they fit, on lines of their own elsewhere."""

    head: str
    details: tuple[str, ...] = ()
    parts: tuple[_Node, ...] = ()
    colour: int = 0


def as_text(explanations: Sequence[Explained], columns: int, *, coloured: bool) -> str:
    """What was asked about, by configuration where there are several."""
    page = _Page(columns, coloured=coloured)
    for position, each in enumerate(explanations):
        if position:
            page.lines.append("")
        by = f"{', '.join(each.configurations)}: " if len(explanations) > 1 and each.configurations else ""
        page.lines.append(f"{visible(by)}{_heading(each.explanation)}")
        _draw(page, each.explanation, each.chosen)
    return "".join([f"{line}\n" for line in page.lines])


def _draw(page: _Page, explanation: Explanation, chosen: Chosen | None) -> None:
    """What was asked about; the trees of all workloads where that is everything."""
    if chosen is None:
        nodes = [*map(_topology, explanation.topologies), *(_workload(tree) for tree in explanation.workloads)]
    else:
        nodes = list(_chosen(chosen, rendered=explanation.rendered))
    for node in nodes:
        page.lines.append("")
        page.draw(node)
    if not explanation.rendered:
        page.lines += ["", "nothing is rendered while there are errors"]
    elif chosen is None and not explanation.workloads:
        page.lines += ["", "no workloads"]


class _Page:
    """Lines that are no longer than `columns` wherever a line can be broken."""

    __slots__ = ("_coloured", "_columns", "lines")

    def __init__(self, columns: int, *, coloured: bool) -> None:
        self._columns, self._coloured = columns, coloured
        self.lines: list[str] = []

    def draw(self, node: _Node, first: str = "", rest: str = "") -> None:
        """The node and its parts; `first` stands before its own line, `rest` before all others."""
        head, details = visible(node.head), [visible(detail) for detail in node.details if detail]
        shown = tinted(head, node.colour, coloured=self._coloured and node.colour > 0)
        joined = "  ".join([head, *details])
        below = f"{rest}{'│' if node.parts else ' '}    "
        if width(first + joined) <= self._columns:
            faint = tinted("  ".join(details), FAINT, coloured=self._coloured)
            self.lines.append(f"{first}{shown}{'  ' if details else ''}{faint}")
        else:
            self.lines.append(f"{first}{shown}")
            self.lines += [below + line for line in self._folded(details, width(below))] if details else []
        for position, part in enumerate(node.parts):
            is_last = position == len(node.parts) - 1
            self.draw(part, f"{rest}{'└─' if is_last else '├─'} ", f"{rest}{'   ' if is_last else '│  '}")

    def _folded(self, details: Sequence[str], indent: int) -> Iterator[str]:
        """The details, as many on a line as fit."""
        line = ""
        for detail in details:
            longer = f"{line}  {detail}" if line else detail
            if line and width(longer) + indent > self._columns:
                yield tinted(line, FAINT, coloured=self._coloured)
                longer = detail
            line = longer
        yield tinted(line, FAINT, coloured=self._coloured)


def _heading(explanation: Explanation) -> str:
    chosen_by = f", chosen by {explanation.chosen_by}" if explanation.chosen_by else ""
    state = "" if explanation.enabled is None else f"; topology-aware scheduling is {_STATES[explanation.enabled]}"
    return visible(f"revision {explanation.revision}{chosen_by}{state}")


def _topology(topology: TopologyNode) -> _Node:
    levels = [_Node(each.level.domain, (each.level.key, str(each.place.location()))) for each in topology.levels]
    return _Node(f"topology {topology.name}", (_place(topology.place),), tuple(levels), _BOLD)


def _workload(tree: WorkloadTree, *, whole: bool = False) -> _Node:
    """The tree of a workload; gangs that are alike are shown once, where it is not the `whole`."""
    gangs = [_gang(gang) for gang in tree.gangs] if whole else list(_alike(tree.gangs))
    queued = [_queued(each) for each in tree.queued]
    others = [_Node(each.name) for each in tree.objects]
    missing = [_missing(omission, whole=whole) for omission in tree.missing]
    results = [_Node(line) for line in as_lines(tree.results)] if whole else []
    place = str(location_of(tree.item))
    return _Node(
        tree.source, () if place == tree.source else (place,), (*gangs, *queued, *others, *missing, *results), _BOLD
    )


def _alike(gangs: Iterable[GangTree]) -> Iterator[_Node]:
    for _, group in groupby(gangs, key=_likeness):
        first, *others = group
        yield _gang(first)
        if others:
            names = ", ".join([tree.gang.name for tree in others[:_NAMED]])
            yield _Node(f"and {len(others)} more alike: {names}{', …' if len(others) > _NAMED else ''}", colour=FAINT)


def _likeness(tree: GangTree) -> tuple[object, ...]:
    """What gangs have in common that differ in the numbers of their names alone."""
    gang = tree.gang
    sets = [(_DIGITS.sub("#", pods.name), pods.parent is None, pods.members, _asked(pods.bounds)) for pods in gang.sets]
    bounds = None if gang.bounds is None else _asked(gang.bounds)
    kinds = [each.name.partition(" ")[0] for each in tree.objects]
    pods = [len(part.members) for part in tree.parts]
    return bounds, gang.members, gang.queue, gang.topology, sets, kinds, pods, len(tree.members)


def _gang(tree: GangTree) -> _Node:
    gang = tree.gang
    kinds = list(dict.fromkeys([each.name.partition(" ")[0] for each in tree.objects]))
    details = (
        "" if gang.members is None else _count(gang.members),
        _needed(gang.needed, tree.parts),
        *_bounds(gang.bounds),
        f"queue {gang.queue}" if gang.queue else "",
        f"priority {gang.priority_class}" if gang.priority_class else "",
        gang.preemptibility,
        f"scheduler {gang.scheduler}" if gang.scheduler else "",
        f"one of {gang.alike} alike" if gang.alike > 1 else "",
        f"as {', '.join(kinds)}" if kinds else "",
        *_pods(tree.members),
    )
    return _Node(f"gang {gang.name}", details, tuple(_set(part) for part in tree.parts))


def _set(tree: SetTree) -> _Node:
    pods = tree.pods
    scheduler = f"scheduler {pods.scheduler}" if pods.scheduler else ""
    kind, count = ("group", "") if pods.members is None else ("pod set", _count(pods.members))
    details = (count, _needed(pods.needed, tree.parts), *_bounds(pods.bounds), scheduler, *_pods(tree.members))
    return _Node(f"{kind} {pods.name}", details, tuple(_set(part) for part in tree.parts))


def _queued(tree: QueuedSet) -> _Node:
    """Pods that a scheduler places itself: what they ask for, and by whom they are placed."""
    pods = tree.pods
    details = (
        _count(pods.count),
        f"queue {pods.queue}" if pods.queue else "",
        f"within {_level(tree.required)}" if tree.required is not None else "",
        f"if possible within {_level(tree.preferred)}" if tree.preferred is not None else "",
        "anywhere in the topology" if pods.is_unconstrained else "",
        *(f"each {size} within {_level(level)}" for level, size in tree.slices),
        f"together with group {pods.group}" if pods.group is not None else "",
        f"topology {', '.join(pods.topologies)}" if pods.topologies else "",
        f"placed by {pods.scheduler}, which is not simulated",
    )
    return _Node(f"pod set {pods.name}", details)


def _count(pods: int) -> str:
    return "1 pod" if pods == 1 else f"{pods} pods"


def _needed(needed: int | None, parts: Sequence[SetTree]) -> str:
    """How many of the sets are enough, where not all of them are needed."""
    return "" if needed is None or needed >= len(parts) else f"needs {needed} of {len(parts)}"


def _bounds(bounds: Bounds | None) -> Iterator[str]:
    if bounds is not None and bounds.required is not None:
        yield f"within {_level(bounds.required)}"
    if bounds is not None and bounds.preferred is not None:
        yield f"if possible within {_level(bounds.preferred)}"


def _asked(bounds: Bounds) -> tuple[Level | None, Level | None]:
    return bounds.required, bounds.preferred


def _level(level: Level) -> str:
    return f"{level.domain} ({level.key})" if level.domain else level.key


def _pods(members: Sequence[Emitted]) -> Iterator[str]:
    if members:
        names = ", ".join([each.name.removeprefix("Pod ") for each in members[:_NAMED]])
        yield f"as Pod {names}{', …' if len(members) > _NAMED else ''}"


def _missing(omission: Omission, *, whole: bool = True) -> _Node:
    """Why something is missing, in short where it is not the `whole` answer."""
    origin = omission.origin
    if not whole:
        details = (omission.why, str(origin.place.location()))
        return _Node(f"missing: {omission.asked}", details, colour=SEVERITIES[Severity.WARNING])
    remedy = f"to change that: {omission.remedy}" if omission.remedy else ""
    details = (omission.why, remedy, _place(origin.place), origin.rule)
    return _Node(f"missing: {omission.asked}", details, colour=SEVERITIES[Severity.WARNING])


def _chosen(chosen: Chosen, *, rendered: bool) -> Iterator[_Node]:
    if chosen.fields:
        yield _Node("fields of the line", chosen.fields, colour=_BOLD)
    if chosen.around:
        yield _Node(f"no value comes from the line alone; these come from {chosen.around}, which it is a part of")
    for tree in chosen.workloads:
        yield _workload(tree, whole=True)
    for tree, values in chosen.added:
        yield _Node(f"annotations of {tree.source}", (), tuple(_value(value) for value in values), _BOLD)
    for each in chosen.objects:
        yield _object(each.emitted, each.values)
    if chosen.copies:
        names = tuple(each.name for each in chosen.copies)
        yield _Node("the line says how many there are", (), tuple(_Node(name) for name in names), _BOLD)
    for omission in chosen.missing:
        yield _missing(omission)
    if rendered and not chosen.workloads and not (chosen.objects or chosen.copies or chosen.missing):
        yield _Node("no value comes from this line")


def _object(emitted: Emitted, values: Iterable[EmittedValue]) -> _Node:
    subject = emitted.generated.subject
    at = "" if subject is None else f" ({location_of(subject)})"
    details = [f"rendered from {emitted.generated.source}{at}"]
    details += [f"how many: {_place(origin.place)}" for origin in emitted.copies]
    return _Node(emitted.name, tuple(details), tuple(_value(value) for value in values), _BOLD)


def _value(each: EmittedValue) -> _Node:
    return _Node(f"{format_path(each.path)}: {_text(each.value)}", tuple(_cause(each.cause)))


def _cause(cause: Cause) -> Iterator[str]:
    if cause.is_own:
        yield "packwise"
    if cause.place is not None:
        yield _place(cause.place)
    if cause.through is not None:
        yield f"through {_place(cause.through)}"
    yield f"[{cause.rule}]"


def _place(place: Place) -> str:
    return place.description


def _text(value: Value) -> str:
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
