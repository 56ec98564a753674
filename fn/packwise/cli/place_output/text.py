"""A placing for people: each gang with its pod sets and nodes, or with what is in its way."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.cli.report.lines import SEVERITIES, tinted
from packwise.cli.report.visible import visible, width
from packwise.commands.place.exact import Verdict
from packwise.commands.place.placing import FITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packwise.cli.place_output.placed import Placed
    from packwise.commands.place.cure import Second
    from packwise.commands.place.placing import GangAnswer

__all__ = ["as_text"]

_SHOWN_NODES = 12
_STATES = {
    "allocated": "fits",
    "partial": "fits, but for pods beyond its minimum",
    "pending": "does not fit",
    "notready": "is not tried",
}


def as_text(placed: Placed, *, coloured: bool) -> str:
    """The lines of all gangs, and what the cluster has then."""
    lines: list[str] = []
    for index, (gang, reasons) in enumerate(zip(placed.placing.gangs, placed.reasons, strict=True)):
        lines += [*_gang(placed, gang, reasons, coloured=coloured), *_second(placed.seconds.get(index)), ""]
    fitting = sum(gang.fits for gang in placed.placing.gangs)
    total, before, after = placed.placing.gpus
    lines.append(f"{fitting} of {_count(len(placed.placing.gangs), 'gang')} fit")
    nodes = _count(placed.placing.nodes, "node")
    lines.append(f"{nodes}, {_count(total, 'GPU')}: {before} in use before, {after} then")
    lines += _further(placed)
    return "".join([f"{line}\n" for line in lines])


def _gang(placed: Placed, gang: GangAnswer, reasons: Sequence[str], *, coloured: bool) -> Iterator[str]:
    job, answer = gang.gang.job, gang.answer
    nodes = sorted({node for _, spread in gang.spread for node, _ in spread})
    domain = placed.domain_of(gang, nodes) if nodes else ""
    state = tinted(
        _STATES[answer.state],
        SEVERITIES[Severity.INFO if answer.state in FITS else Severity.ERROR],
        coloured=coloured,
    )
    where = f", in {visible(domain)}" if domain else ""
    yield (
        f"{visible(job.namespace)}/{visible(job.name)} (queue {visible(job.queue)}): {state}, "
        f"{gang.placed} of {_count(len(job.pods), 'pod')} placed{where}"
    )
    size = max([width(visible(name)) for name, _ in gang.spread], default=0)
    for name, spread in gang.spread:
        shown = [visible(node) if count == 1 else f"{visible(node)} ×{count}" for node, count in spread[:_SHOWN_NODES]]
        if len(spread) > _SHOWN_NODES:
            shown.append(f"and {len(spread) - _SHOWN_NODES} more nodes")
        padding = " " * (size - width(visible(name)))
        yield f"  {visible(name)}{padding}  {', '.join(shown)}"
    for reason in reasons:
        yield f"  {visible(reason)}"
    if answer.message:
        yield from _message(answer.message)
    for note in gang.gang.notes:
        yield f"  note: {visible(note)}"


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


def _further(placed: Placed) -> Iterator[str]:
    if placed.further:
        yield ""
        yield "further replicas that fit beside these:"
        size = max(width(visible(f"{namespace}/{name}")) for namespace, name in placed.further)
        for (namespace, name), count in placed.further.items():
            full = visible(f"{namespace}/{name}")
            yield f"  {full}{' ' * (size - width(full))}  {count if count < 100 else '100 or more'}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
