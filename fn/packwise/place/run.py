"""A placing as text, Markdown and JSON."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from itertools import groupby
from pathlib import Path

from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.result import ResourceRef, ResultFile, Severity, exit_code
from krmfn.terminal import escape_line
from packwise.answer import PLAIN, Answer, Terminal, Text
from packwise.console import json_text, table
from packwise.extras import SOLVER
from packwise.inputs.coverage import Coverage, coverage_of
from packwise.inputs.groups import read_used_inputs
from packwise.inputs.request import STDIN, Named, UsageError, refuse_stdin_twice
from packwise.objects.index import identity
from packwise.output.findings_text import SEVERITIES, as_lines, tint
from packwise.output.markdown import CommentPart, Section, code, comment
from packwise.pipeline import render
from packwise.place.cluster import (
    ScenarioError,
    WhatIfError,
    add_copies,
    answers,
    drain,
    is_count,
    is_scenario,
    join_nodes,
    read_cluster,
    read_json,
    read_nodes,
    read_objects,
    read_scenario,
    with_replicas,
)
from packwise.place.exact import PackingVerdict, exact_verdict
from packwise.place.placing import (
    Fate,
    more_replicas,
    moves,
    not_placed,
    place_gangs,
    situation,
)
from packwise.render.files import render_inputs
from packwise.schedulers.kai.allocate.scene import PODS
from packwise.schedulers.kai.allocate.session import allocate
from packwise.schedulers.kai.simulation import KaiSimulation, turn_of
from packwise.schedulers.kai.snapshot import Snapshot, SnapshotError, read_snapshot
from packwise.schedulers.simulation import FITS, PENDING, TooManyPodsError
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.inputs.groups import Inputs
    from packwise.pipeline import Rendered, Renderer
    from packwise.pipeline.selection import Package
    from packwise.place.exact import ExactVerdict
    from packwise.place.options import PlaceGangs
    from packwise.place.placing import Move, Placing, Situation
    from packwise.schedulers.simulation import GangAnswer, NearestDomain, Spread


class Baseline(Record):
    """The state before a change, with the name that the user gave it, and the moves that the change causes.

    A state with errors is not placed, and `notes` give the reason.
    """

    name: str
    moves: tuple[Move, ...] = ()
    is_placed: bool = True
    notes: tuple[str, ...] = ()


class Placed(Record):
    """The placing, and the number of additional replicas that fit.

    `further` is keyed by namespace and name, or None if not requested. `exact_verdicts` maps the index of a gang to its
    exact verdict. `baseline` is the state before the change under review, or None. `coverage` lists the checked input.
    `not_placed` has notes on workloads that are not placed.
    """

    situation: Situation
    placing: Placing
    further: Mapping[tuple[str, str], int] | None = None
    exact_verdicts: Mapping[int, ExactVerdict] = {}
    baseline: Baseline | None = None
    coverage: Coverage = Coverage()
    not_placed: tuple[str, ...] = ()


_SHOWN_NODES = 12

_NAMED = 3
"""At most this many similar gangs are named."""

_FEW = 3
"""If fewer similar gangs fit in addition to the first, each is printed with its nodes."""

_DIGITS = re.compile(r"\d+")

_STATES = {
    "allocated": "fits",
    "partial": "fits, except pods beyond its minimum",
    "pending": "does not fit",
    "notready": "is not tried",
}

_FATES = {
    Fate.NO_LONGER_FITS: ("no longer fits", "no longer fit"),
    Fate.FITS_NOW: ("fits now", "fit now"),
    Fate.LOSES_PODS: ("loses pods", "lose pods"),
    Fate.MOVES: ("moves", "move"),
    Fate.ADDED: ("added", "added"),
    Fate.REMOVED: ("removed", "removed"),
}
"""Words for the effect of the change on a gang, the worst effect first."""


def as_text(placed: Placed, *, coloured: bool) -> str:
    """Return the lines of all gangs, of the cluster afterwards, and of the moves."""
    lines: list[str] = []
    for entry in _entries(placed, range(len(placed.placing.gangs)), coloured=coloured):
        lines += [*entry, ""]
    lines += _summary(placed)
    if placed.further:
        lines += ["", "more replicas that fit:", *_further_lines(placed)]
    baseline = placed.baseline
    if baseline is not None:
        lines += ["", f"from {escape_line(baseline.name)}: {_moves_summary(baseline)}"]
        lines += [f"  {_move_line(move)}" for move in baseline.moves]
    return "".join([f"{line}\n" for line in lines])


def _summary(placed: Placed) -> tuple[str, str]:
    """Return the number of gangs that fit, and the cluster's GPUs afterwards."""
    placing = placed.placing
    fitting = sum(gang.fits for gang in placing.gangs)
    total, before, after = placing.gpus
    return (
        f"{fitting} of {count_text(len(placing.gangs), 'gang')} fit",
        f"{count_text(placing.nodes, 'node')}; GPUs in use: {before} of {total} now, {after} of {total} afterwards",
    )


def _entries(placed: Placed, indexes: Iterable[int], *, coloured: bool = False) -> Iterator[list[str]]:
    """Yield the lines of these gangs.

    If neighbours differ only in numbers, only the first has its own lines. If they fit and are few, each has its own
    lines, because their nodes differ.
    """
    for _, group in groupby(indexes, key=lambda index: _similarity_key(placed, index)):
        first, *others = group
        lines = list(_gang_lines(placed, first, coloured=coloured))
        if placed.placing.gangs[first].fits and len(others) < _FEW:
            yield lines
            yield from (list(_gang_lines(placed, index, coloured=coloured)) for index in others)
        else:
            yield [*lines, *_similar_lines([placed.placing.gangs[index] for index in others])]


def _similarity_key(placed: Placed, index: int) -> tuple[object, ...]:
    """Return a key that is equal for gangs if their names and lines differ only in numbers."""
    gang = placed.placing.gangs[index]
    outline = gang.gang
    sets = [_DIGITS.sub("#", name) for name, _ in gang.spread]
    lines = [line.replace(outline.name, "#") for line in _cause_lines(placed, index)]
    return outline.namespace, _DIGITS.sub("#", outline.name), _verdict(gang), sets, lines


def _similar_lines(others: Sequence[GangAnswer]) -> Iterator[str]:
    """Yield the names of further similar gangs, and the domain or the only node of each."""
    if not others:
        return
    names = [escape_line(gang.gang.name) for gang in others[:_NAMED]]
    yield f"  and {len(others)} similar: {', '.join(names)}{', …' if len(others) > _NAMED else ''}"
    places = Counter(gang.domain or _only_node(gang) for gang in others)
    del places[""]
    if places:
        yield f"  in {_count_list([*places.items()], 'place')}"


def _only_node(gang: GangAnswer) -> str:
    """Return the node that has all pods of the gang. Return "" if there are several."""
    nodes = {node for _, spread in gang.spread for node, _ in spread}
    return nodes.pop() if len(nodes) == 1 else ""


def _count_list(counts: Sequence[tuple[str, int]], noun: str) -> str:
    """Return the first names with their counts."""
    shown = [
        escape_line(name) if count == 1 else f"{escape_line(name)} ×{count}" for name, count in counts[:_SHOWN_NODES]
    ]
    if len(counts) > _SHOWN_NODES:
        shown.append(f"and {count_text(len(counts) - _SHOWN_NODES, f'more {noun}')}")
    return ", ".join(shown)


def _gang_lines(placed: Placed, index: int, *, coloured: bool = False) -> Iterator[str]:
    """Yield the lines of the gang at `index`: its state, its nodes, and the reason if it does not fit."""
    gang = placed.placing.gangs[index]
    where = f", in {escape_line(gang.domain)}" if gang.domain else ""
    yield f"{_name(gang)} {_verdict(gang, coloured=coloured)}{where}"
    yield from _spread(gang.spread)
    yield from _cause_lines(placed, index)


def _verdict(gang: GangAnswer, *, coloured: bool = False) -> str:
    """Return the queue and the state of a gang, and its number of placed pods."""
    severity = Severity.INFO if gang.fits else Severity.ERROR
    state = tint(_STATES[gang.state], SEVERITIES[severity], coloured=coloured)
    pods = f"{gang.placed_pods} of {count_text(gang.gang.pods, 'pod')} placed"
    return f"(queue {escape_line(gang.gang.queue)}): {state}, {pods}"


def _cause_lines(placed: Placed, index: int) -> Iterator[str]:
    """Yield the reason why the gang or a part of it cannot be placed, the scheduler's own text, and notes."""
    gang = placed.placing.gangs[index]
    for reason in gang.reasons:
        yield f"  {escape_line(reason)}"
    if gang.message:
        yield from _message(gang.gang.scheduler_title, gang.message)
    yield from _later_lines(gang)
    for note in gang.notes:
        yield f"  note: {escape_line(note)}"
    yield from _exact_lines(placed.exact_verdicts.get(index))


def _spread(listed: Spread) -> Iterator[str]:
    rows = [(escape_line(name), _count_list(spread, "node")) for name, spread in listed]
    yield from (f"  {line}" for line in table(rows))


def _moves_summary(baseline: Baseline) -> str:
    """Return the number of gangs for each effect of the change."""
    counts = Counter(move.fate for move in baseline.moves)
    words = [count_text(counts[fate], singular, plural) for fate, (singular, plural) in _FATES.items() if counts[fate]]
    return ", ".join(words) or "every gang keeps its nodes"


def _move_line(move: Move) -> str:
    """Return the move of a gang and its new place."""
    gang = move.after or move.before
    way = " → ".join([_location_text(state) for state in (move.before, move.after) if state is not None])
    pods = f", {count_text(move.pods, 'pod')} to another node" if move.fate is Fate.MOVES else ""
    return f"{_FATES[move.fate][0]}: {'' if gang is None else _name(gang)}: {way}{pods}"


def _location_text(gang: GangAnswer) -> str:
    """Return the places of a gang's pods in a few words."""
    if not gang.fits:
        return _STATES[gang.state]
    pods = f"{gang.placed_pods} of {count_text(gang.gang.pods, 'pod')}"
    return f"{pods} in {escape_line(gang.domain)}" if gang.domain else pods


def _name(gang: GangAnswer) -> str:
    namespace, name = escape_line(gang.gang.namespace), escape_line(gang.gang.name)
    return f"{namespace}/{name}" if namespace else name


def _exact_lines(exact: ExactVerdict | None) -> Iterator[str]:
    if exact is None:
        return
    match exact.verdict:
        case PackingVerdict.FITS:
            why = f": {exact.hidden_by}" if exact.hidden_by else ""
            yield f"  a packing exists, but KAI does not find it{why}"
        case PackingVerdict.DOES_NOT_FIT:
            yield "  no packing exists; earlier gangs keep their nodes"
        case PackingVerdict.OPEN:
            yield "  packwise did not decide if a packing exists"
    if exact.change:
        yield f"  KAI places it after one change: {escape_line(exact.change)}"


def _message(scheduler: str, message: str) -> Iterator[str]:
    lines = message.splitlines()
    title = f"{scheduler}: "
    for index, line in enumerate(lines[:_SHOWN_NODES]):
        yield f"  {title if index == 0 else ' ' * len(title)}{escape_line(line.rstrip())}"
    if len(lines) > _SHOWN_NODES:
        yield f"  {' ' * len(title)}  and {len(lines) - _SHOWN_NODES} more lines; use -o json for all"


def _later_lines(gang: GangAnswer) -> Iterator[str]:
    """Yield the lines about a gang that does not fit now: its answer on a cluster without its scheduler's other
    pods.
    """
    later = gang.later_answer
    if later is None:
        return
    scheduler = gang.gang.scheduler_title
    if later.state in FITS:
        yield f"  on a cluster without other pods of {scheduler}: fits"
        yield from (f"  {line}" for line in _spread(later.spread))
    else:
        yield f"  on a cluster without other pods of {scheduler}: does not fit either"


def _further_lines(placed: Placed) -> Iterator[str]:
    """Yield a line with the number of further replicas of each workload that fit."""
    rows = [
        (escape_line(f"{namespace}/{name}"), str(count) if count < 100 else "100 or more")
        for (namespace, name), count in (placed.further or {}).items()
    ]
    yield from (f"  {line}" for line in table(rows))


_LISTED = {
    Fate.LOSES_PODS: "Runs with fewer pods",
    Fate.FITS_NOW: "Fits now",
    Fate.MOVES: "Moves",
    Fate.ADDED: "Added",
    Fate.REMOVED: "Removed",
}
"""Titles of the other effects of the change."""


def as_markdown(placed: Placed, command: str) -> str:
    """Return the placing as a comment in Markdown. `command` prints the entries that the comment omits."""
    return comment("packwise place", [part_of_placing(placed, command)])


def part_of_placing(placed: Placed, command: str) -> CommentPart:
    """Return the placing as a part of a comment. `command` prints the entries that the part omits."""
    fit, cluster = _summary(placed)
    lead = ["### Where the scheduler places the gangs", f"{code(fit)} on {code(cluster)}"]
    baseline = placed.baseline
    if baseline is not None:
        lead.append(f"From {code(baseline.name)}: {code(_moves_summary(baseline))}")
    lead += [f"Note: {code(text)}" for text in placed.not_placed]
    return CommentPart(lead, list(_sections(placed, baseline)), command)


def _sections(placed: Placed, baseline: Baseline | None) -> Iterator[Section]:
    gangs = placed.placing.gangs
    moves = baseline.moves if baseline is not None else ()
    lost = {id(move.after): move for move in moves if move.fate is Fate.NO_LONGER_FITS}
    yield _section(
        "No longer fits",
        [_loss_lines(placed, index, lost[id(gang)]) for index, gang in enumerate(gangs) if id(gang) in lost],
        is_open=True,
    )
    pending = [index for index, gang in enumerate(gangs) if not gang.fits and id(gang) not in lost]
    yield _gang_section("Does not fit", placed, pending, is_open=True)
    for fate, title in _LISTED.items():
        yield _section(title, [[_move_line(move)] for move in moves if move.fate is fate])
    fitting = [index for index, gang in enumerate(gangs) if gang.fits]
    yield _gang_section("Fits", placed, fitting)
    yield _section("More replicas that fit", [[line] for line in _further_lines(placed)])


def _loss_lines(placed: Placed, index: int, move: Move) -> list[str]:
    """Return the lines of a gang that no longer fits, with its earlier place."""
    first, *others = _gang_lines(placed, index)
    return [first, f"  before: {_location_text(move.before)}" if move.before is not None else "", *others]


def _gang_section(title: str, placed: Placed, indexes: Sequence[int], *, is_open: bool = False) -> Section:
    return Section(f"{title}: {len(indexes)}", list(_entries(placed, indexes)), is_open)


def _section(title: str, entries: Iterable[list[str]], *, is_open: bool = False) -> Section:
    listed = list(entries)
    return Section(f"{title}: {len(listed)}", listed, is_open)


def as_json(placed: Placed) -> str:
    """Return a JSON object with `fits` for all gangs, the cluster, and the outcome of each gang."""
    total, before, after = placed.placing.gpus
    whole: dict[str, Any] = {
        "fits": placed.placing.fits,
        "cluster": {"nodes": placed.placing.nodes, "gpus": total, "gpusInUse": before, "gpusInUseThen": after},
        "gangs": [
            {**_gang(gang), **_exact_fields(placed.exact_verdicts.get(index))}
            for index, gang in enumerate(placed.placing.gangs)
        ],
        "coverage": placed.coverage.fields,
    }
    if placed.further is not None:
        whole["furtherReplicas"] = [
            {"namespace": namespace, "workload": name, "replicas": count}
            for (namespace, name), count in placed.further.items()
        ]
    if placed.baseline is not None:
        whole["baseline"] = placed.baseline.name
        whole["changes"] = [_move(move) for move in placed.baseline.moves]
    return json_text(whole)


def _move(move: Move) -> dict[str, Any]:
    gang = move.after or move.before
    return {
        "scheduler": "" if gang is None else gang.gang.scheduler,
        "namespace": "" if gang is None else gang.gang.namespace,
        "name": "" if gang is None else gang.gang.name,
        "change": move.fate.value,
        "pods": move.pods,
        "before": None if move.before is None else _podsets(move.before.spread),
        "after": None if move.after is None else _podsets(move.after.spread),
    }


def _podsets(listed: Spread, flavors: Mapping[str, str] = {}, domains: Mapping[str, str] = {}) -> list[dict[str, Any]]:
    """Return the pod sets with their nodes or domains, and with their flavors if the scheduler has any."""
    return [
        {
            "name": name,
            **({"flavor": flavors[name]} if name in flavors else {}),
            **({"domain": domains[name]} if name in domains else {}),
            "nodes": [{"name": node, "pods": count} for node, count in spread],
        }
        for name, spread in listed
    ]


def _gang(gang: GangAnswer) -> dict[str, Any]:
    outline = gang.gang
    value: dict[str, Any] = {
        "scheduler": outline.scheduler,
        "namespace": outline.namespace,
        "name": outline.name,
        "workload": outline.workload,
        "queue": outline.queue,
        "state": gang.state,
        "pods": outline.pods,
        "placedPods": gang.placed_pods,
        "domain": gang.domain,
        "podSets": _podsets(gang.spread, dict(gang.flavors), dict(gang.domains)),
        "nearest": None if gang.nearest_domain is None else _nearest_fields(gang.nearest_domain),
        "reasons": list(gang.reasons),
        "message": gang.message,
        "notes": list(gang.notes),
    }
    later = gang.later_answer
    if later is not None:
        value["afterPreemption"] = {
            "state": later.state,
            "podSets": _podsets(later.spread),
            "message": later.message,
        }
    return value


def _exact_fields(exact: ExactVerdict | None) -> dict[str, Any]:
    if exact is None:
        return {}
    return {"exact": {"verdict": exact.verdict.value, "hiddenBy": exact.hidden_by, "change": exact.change}}


def _nearest_fields(nearest: NearestDomain) -> dict[str, Any]:
    return {
        "podSet": nearest.pod_set,
        "level": nearest.level,
        "domain": nearest.domain,
        "roomFor": nearest.fitting_pods,
        "pods": nearest.requested_pods,
        "missing": dict(nearest.missing),
        "counted": nearest.is_counted,
    }


MAX_EXACT = 20
"""The largest number of gangs that get an exact verdict."""


def place(command: PlaceGangs, terminal: Terminal = PLAIN) -> Answer:
    """Return the places, with exit code 0 if everything fits and 1 otherwise. Raise UsageError for an invalid option or
    file.
    """
    if not command.nodes:
        return _scenario(command)
    refuse_stdin_twice([STDIN in command.nodes, STDIN in command.named.paths])
    try:
        return _workloads(command, terminal)
    except (WhatIfError, TooManyPodsError) as error:
        raise UsageError(str(error)) from None


def _scenario(command: PlaceGangs) -> Answer:
    paths = command.named.paths
    value = read_json(paths[0]) if len(paths) == 1 else None
    if not is_scenario(value):
        raise UsageError(
            "--nodes is not set: pass the output of `kubectl get nodes,pods -A -o json`. Only a scenario, a JSON file "
            "with nodes and jobs, needs no --nodes"
        )
    if command.output == "markdown":
        raise UsageError("-o markdown needs workloads and --nodes; the formats for a scenario are text and json")
    try:
        session = allocate(read_scenario(cast("Mapping[str, Value]", value)))
    except ScenarioError as error:
        raise UsageError(f"{paths[0]}: {error}") from None
    if command.output == "json":
        text = json_text(answers(session))
    else:
        text = "".join(
            [f"{job.name}: {job.state}" + (f"\n  {job.message}" if job.message else "") + "\n" for job in session.jobs]
        )
    return Answer((Text((text,)),), code=int(not all(job.state in FITS for job in session.jobs)))


def _workloads(command: PlaceGangs, terminal: Terminal) -> Answer:
    inputs = read_used_inputs(command.named)
    package = inputs.package.replace(nodes=read_nodes(command.nodes))
    if not inputs.is_broken:
        for text in command.replicas:
            package = package.replace(items=with_replicas(package.items, text))
    rendered = render_inputs(inputs.replace(package=package))
    lines = as_lines(rendered.results, coloured=terminal.is_stderr_coloured)
    coverage = coverage_of(inputs.files, inputs.skipped, rendered).replace(sources=inputs.sources)
    code = exit_code(rendered.results)
    refused: list[KubeObject] = []
    if not inputs.is_broken and _has_errors(inputs, rendered):
        # A queued job gets a place before its pods exist, so an error in these pods does not prevent it.
        refused = _refused_workloads(inputs, render_inputs(inputs.replace(package=package), checks_pods=False))
        package = _remove_workloads(package, refused)
        rendered = render_inputs(inputs.replace(package=package), checks_pods=False)
    if inputs.is_broken or _has_errors(inputs, rendered) or (refused and not rendered.workloads):
        return Answer(before=(*lines, coverage.line), code=1)
    snapshot = _snapshot(command, package.nodes)
    placed = place_render(rendered, snapshot).replace(coverage=coverage)
    placed = placed.replace(not_placed=(*placed.not_placed, *map(_refusal_note, refused)))
    there, placing = placed.situation, placed.placing
    if command.further:
        placed = placed.replace(further=more_replicas(there))
    if command.exact:
        placed = placed.replace(exact_verdicts=_exact_verdicts(there, placing))
        lines += _limit_note(there, placing)
    if command.named.baseline is not None:
        baseline = baseline_of(command.named.baseline, package, placed, snapshot)
        lines += baseline.notes
        placed = placed.replace(baseline=baseline if baseline.is_placed else None)
    text = _text_of(placed, command, coloured=terminal.is_coloured)
    notes = [f"note: {text}" for text in placed.not_placed]
    code = code or int(not placing.fits)
    return Answer((Text((text,)),), tuple(lines), (*notes, coverage.line), code)


def _refusal_note(workload: KubeObject) -> str:
    return f"{ResourceRef.of(workload.id)} in {workload.location()} is not placed: it has errors"


def _has_errors(inputs: Inputs, rendered: Rendered) -> bool:
    """Return True if the render has errors other than errors about reading files."""
    return bool(exit_code([result for result in rendered.results if result not in inputs.results]))


def _refused_workloads(inputs: Inputs, rendered: Rendered) -> list[KubeObject]:
    """Return the workloads with errors.

    If an error is about another object, return none, because every place would be a guess.
    """
    by_place: dict[tuple[str, int | None, ResourceRef | None], KubeObject] = {
        (item.file or "", item.index, ResourceRef.of(item.id)): item for item in rendered.checked_workloads
    }
    refused: dict[int, KubeObject] = {}
    for result in rendered.results:
        if result.severity is Severity.ERROR and result not in inputs.results:
            file = result.file or ResultFile("")
            workload = by_place.get((file.path, file.index, result.resource_ref))
            if workload is None:
                return []
            refused[id(workload)] = workload
    return [*refused.values()]


def _remove_workloads(package: Package, workloads: Sequence[KubeObject]) -> Package:
    """Return the package without these workloads. They are also removed from the baseline."""
    gone = set(map(id, workloads))
    items = tuple([item for item in package.items if id(item) not in gone])
    absent = {identity(item.value) for item in workloads} - {identity(item.value) for item in items}
    before = package.baseline
    if before is not None:
        before = tuple([item for item in before if identity(item.value) not in absent])
    return package.replace(items=items, baseline=before)


def place_render(rendered: Rendered, snapshot: Snapshot) -> Placed:
    """Return the gangs of a render on the nodes of a cluster. Raise TooManyPodsError if there are too many pods."""
    there = situation(rendered, snapshot)
    return Placed(there, place_gangs(there), not_placed=tuple(not_placed(rendered, there)))


def baseline_of(
    name: str, package: Package, placed: Placed, snapshot: Snapshot, renderer: Renderer = render
) -> Baseline:
    """Return the moves that the change of `package` causes. Return a note instead if its earlier state has errors.

    Raise TooManyPodsError if there are too many pods.
    """
    if package.baseline_package is None:
        return Baseline(name, is_placed=False)
    rendered = renderer(package.baseline_package)
    if exit_code(rendered.results):
        note = f"note: packwise does not compare the placement because {name} has errors"
        return Baseline(name, is_placed=False, notes=(note,))
    before = place_gangs(situation(rendered, snapshot))
    return Baseline(name, moves(before, placed.placing))


def _exact_verdicts(there: Situation, placing: Placing) -> dict[int, ExactVerdict]:
    """Return the exact verdicts on the first gangs that KAI leaves pending, by their index.

    Raise UsageError if the solver is not installed.
    """
    if not SOLVER.is_installed:
        raise UsageError(f"cannot use --exact: {SOLVER.advice}")
    kai = next((each for each in there.simulations if isinstance(each, KaiSimulation)), None)
    if kai is None or kai.session is None:
        return {}
    pending = _pending_of_kai(placing, kai)
    scene, session = kai.scene, kai.session
    return {
        index: exact_verdict(turn_of(scene, session, index), session.jobs[index], kai.words)
        for index in pending[:MAX_EXACT]
    }


def _pending_of_kai(placing: Placing, kai: KaiSimulation) -> list[int]:
    """Return the indexes of pending gangs that the solver can decide. It knows only KAI's rules."""
    return [
        index
        for index, gang in enumerate(placing.gangs)
        if gang.state == PENDING and gang.gang.scheduler == kai.scheduler
    ]


def _limit_note(there: Situation, placing: Placing) -> list[str]:
    kai = next((each for each in there.simulations if isinstance(each, KaiSimulation)), None)
    number = 0 if kai is None else len(_pending_of_kai(placing, kai))
    if number <= MAX_EXACT:
        return []
    return [f"note: --exact examines only the first {MAX_EXACT} of {number} gangs that do not fit"]


def _snapshot(command: PlaceGangs, objects: Sequence[Mapping[str, Value]]) -> Snapshot:
    """Return the cluster with the nodes that the command adds, and without the domains that it drains."""
    snapshot = read_cluster(command.nodes, objects)
    refuse_empty(command.nodes, snapshot)
    changed = objects
    for text in command.add_nodes:
        is_number = is_count(text) or not Path(text).exists()
        changed = add_copies(changed, text) if is_number else join_nodes(changed, _more_nodes(text))
    for domain in command.drain:
        changed = drain(changed, domain)
    return snapshot if changed is objects else read_cluster(command.nodes, changed)


def _more_nodes(path: str) -> list[Mapping[str, Value]]:
    """Return the nodes in a file. Raise UsageError if it has none or is unreadable."""
    more = list(read_objects(path))
    try:
        read_snapshot(more)
    except SnapshotError as error:
        raise UsageError(f'--add-nodes "{path}": {error}') from None
    return [value for value in more if value.get("kind") == "Node"]


def refuse_empty(nodes: Sequence[str], snapshot: Snapshot) -> None:
    """Raise UsageError if no node states its resources, as in topograph's output: every gang would be pending."""
    if all(node.allocatable.keys() <= {PODS} for node in snapshot.nodes):
        listed = ", ".join([f'"{name}"' for name in nodes])
        raise UsageError(
            f"--nodes {listed} has no resources of nodes (status.allocatable), because it is topograph's output; add "
            "the output of `kubectl get nodes,pods -A -o json`"
        )


def _text_of(placed: Placed, command: PlaceGangs, *, coloured: bool) -> str:
    match command.output:
        case "json":
            return as_json(placed)
        case "markdown":
            return as_markdown(placed, place_command(command.named, command.nodes))
        case "text":
            return as_text(placed, coloured=coloured)


def place_command(named: Named, nodes: Sequence[str]) -> str:
    """Return the command that prints the whole placing."""
    baseline = () if named.baseline is None else ("--baseline", named.baseline)
    return shlex.join(
        ["packwise", "place", *named.paths, *(word for each in nodes for word in ("--nodes", each)), *baseline]
    )
