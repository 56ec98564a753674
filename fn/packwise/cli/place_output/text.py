"""A placing for people: each gang with its pod sets and nodes, or with what is in its way."""

from __future__ import annotations

from collections import Counter

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.cli.report.lines import SEVERITIES, tinted
from packwise.cli.report.visible import visible, width
from packwise.commands.place.cure import Verdict
from packwise.commands.place.placing import Fate
from packwise.schedulers.kai.allocate.session import FITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.cli.place_output.placed import Baseline, Placed
    from packwise.commands.place.cure import Second
    from packwise.commands.place.placing import GangAnswer, Move

__all__ = ["as_text", "further_lines", "gang_lines", "move_line", "moves_summary", "summary", "where"]

_SHOWN_NODES = 12
_STATES = {
    "allocated": "fits",
    "partial": "fits, but for pods beyond its minimum",
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
"""What the change does to a gang, the worst first."""


def as_text(placed: Placed, *, coloured: bool) -> str:
    """The lines of all gangs, what the cluster has then, and what the change does to places."""
    lines: list[str] = []
    for index in range(len(placed.placing.gangs)):
        lines += [*gang_lines(placed, index, coloured=coloured), ""]
    lines += summary(placed)
    if placed.further:
        lines += ["", "further replicas that fit beside these:", *further_lines(placed)]
    baseline = placed.baseline
    if baseline is not None:
        lines += ["", f"from {visible(baseline.name)}: {moves_summary(baseline)}"]
        lines += [f"  {move_line(placed, move)}" for move in baseline.moves]
    return "".join([f"{line}\n" for line in lines])


def summary(placed: Placed) -> tuple[str, str]:
    """How many gangs fit, and what the cluster has then."""
    placing = placed.placing
    fitting = sum(gang.fits for gang in placing.gangs)
    total, before, after = placing.gpus
    return (
        f"{fitting} of {_count(len(placing.gangs), 'gang')} fit",
        f"{_count(placing.nodes, 'node')}, {_count(total, 'GPU')}: {before} in use before, {after} then",
    )


def gang_lines(placed: Placed, index: int, *, coloured: bool = False) -> Iterator[str]:
    """What becomes of the gang at `index`: its nodes, or what is in its way."""
    gang = placed.placing.gangs[index]
    job, answer = gang.gang.job, gang.answer
    domain = placed.domain_of(gang)
    state = tinted(
        _STATES[answer.state],
        SEVERITIES[Severity.INFO if answer.state in FITS else Severity.ERROR],
        coloured=coloured,
    )
    where = f", in {visible(domain)}" if domain else ""
    yield (
        f"{_name(gang)} (queue {visible(job.queue)}): {state}, "
        f"{gang.placed} of {_count(len(job.pods), 'pod')} placed{where}"
    )
    yield from _spread(gang)
    for reason in placed.reasons[index]:
        yield f"  {visible(reason)}"
    if answer.message:
        yield from _message(answer.message)
    for note in gang.notes:
        yield f"  note: {visible(note)}"
    yield from _second(placed.seconds.get(index))


def _spread(gang: GangAnswer) -> Iterator[str]:
    size = max([width(visible(name)) for name, _ in gang.spread], default=0)
    for name, spread in gang.spread:
        shown = [visible(node) if count == 1 else f"{visible(node)} ×{count}" for node, count in spread[:_SHOWN_NODES]]
        if len(spread) > _SHOWN_NODES:
            shown.append(f"and {len(spread) - _SHOWN_NODES} more nodes")
        padding = " " * (size - width(visible(name)))
        yield f"  {visible(name)}{padding}  {', '.join(shown)}"


def moves_summary(baseline: Baseline) -> str:
    """How many gangs the change adds, removes, moves, and how many no longer fit or fit now."""
    counts = Counter(move.fate for move in baseline.moves)
    words = [
        f"{counts[fate]} {singular if counts[fate] == 1 else plural}"
        for fate, (singular, plural) in _FATES.items()
        if counts[fate]
    ]
    return ", ".join(words) or "every gang stays where it is"


def move_line(placed: Placed, move: Move) -> str:
    """What the change does to a gang, and where it goes."""
    gang = move.after or move.before
    before = where(placed.baseline.placed, move.before) if placed.baseline is not None and move.before else ""
    after = where(placed, move.after) if move.after else ""
    way = " → ".join([text for text in (before, after) if text])
    pods = f", {_count(move.pods, 'pod')} to another node" if move.fate is Fate.MOVES else ""
    return f"{_FATES[move.fate][0]}: {'' if gang is None else _name(gang)}: {way}{pods}"


def where(placed: Placed, gang: GangAnswer) -> str:
    """Where the pods of a gang go, in a few words."""
    if not gang.fits:
        return _STATES[gang.answer.state]
    domain, pods = placed.domain_of(gang), f"{gang.placed} of {_count(len(gang.gang.job.pods), 'pod')}"
    return f"{pods} in {visible(domain)}" if domain else f"{pods}"


def _name(gang: GangAnswer) -> str:
    return f"{visible(gang.gang.job.namespace)}/{visible(gang.gang.job.name)}"


def _second(second: Second | None) -> Iterator[str]:
    if second is None:
        return
    match second.verdict:
        case Verdict.FITS:
            yield "  there is a packing that KAI does not find" + (f": {second.hidden_by}" if second.hidden_by else "")
        case Verdict.DOES_NOT_FIT:
            yield "  there is no packing at all beside what was placed before"
        case Verdict.OPEN:
            yield "  whether there is a packing was not decided"
    if second.change:
        yield f"  KAI places it with one change: {visible(second.change)}"


def _message(message: str) -> Iterator[str]:
    lines = message.splitlines()
    for index, line in enumerate(lines[:_SHOWN_NODES]):
        yield f"  {'KAI: ' if index == 0 else '     '}{visible(line.rstrip())}"
    if len(lines) > _SHOWN_NODES:
        yield f"       and {len(lines) - _SHOWN_NODES} more lines; -o json has all"


def further_lines(placed: Placed) -> Iterator[str]:
    """How many more replicas of each workload fit."""
    size = max([width(visible(f"{namespace}/{name}")) for namespace, name in placed.further or {}], default=0)
    for (namespace, name), count in (placed.further or {}).items():
        full = visible(f"{namespace}/{name}")
        yield f"  {full}{' ' * (size - width(full))}  {count if count < 100 else '100 or more'}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
