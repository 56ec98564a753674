"""A report as a Mermaid flowchart for a README: domains as subgraphs, nodes with the gangs on them."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from packwise.cli.report.visible import visible
from packwise.cli.report_output.drawn import (
    INK,
    PALETTE,
    counted,
    deepest_level,
    listed_gangs,
    place_of,
    verdict_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.cli.report_output.drawn import Drawn
    from packwise.commands.report import DomainBox, GangBox, TopologyMap

__all__ = ["LIMIT", "as_mermaid"]

LIMIT = 48_000
"""Characters of a chart: Mermaid draws none that is longer than 50,000. Source: Mermaid, `maxTextSize`."""

_MOST_NODES = 200
_LONGEST = 160
_RESERVED = re.compile(r'["#&<>\[\](){}|`\\;]')


def as_mermaid(drawn: Drawn) -> str:
    """The chart; of many nodes, only the domains are drawn, and where that is too long too, the headline alone."""
    text = "".join([f"{line}\n" for line in _Chart(drawn).lines()])
    return text if len(text) <= LIMIT else f'flowchart LR\n  headline(["{_label(drawn.headline)}"])\n'


class _Chart:
    """The parts of a chart; subgraphs and nodes have numbers for names, so that no name of the input is syntax.

    Parts without links between them stand beside each other in a subgraph from top to bottom, and below each other in
    one from left to right.
    """

    def __init__(self, drawn: Drawn) -> None:
        self._headline = _label(drawn.headline)
        self._picture = drawn.picture
        self._map = next(iter(drawn.picture.maps), None)
        self._with_nodes = len(drawn.picture.nodes) <= _MOST_NODES
        self._deepest = 0
        self._domains = 0
        if self._map is not None:
            self._deepest = len(self._map.levels) - 1 if self._with_nodes else deepest_level(self._map.domains)

    def lines(self) -> Iterator[str]:
        """The gangs, and the cluster beside them."""
        yield "flowchart LR"
        if self._picture.gangs:
            yield from self._gangs()
        else:
            yield f'  gangs(["{self._headline}"])'
        if self._map is not None:
            yield f'  subgraph cluster ["{_label(self._map.topology or "cluster")}"]'
            yield "    direction LR"
            yield from self._cluster(self._map)
            yield "  end"
            yield "  gangs ~~~ cluster"

    def _gangs(self) -> Iterator[str]:
        """The gangs with their states, which are the legend of the colours too."""
        listed = listed_gangs(self._picture.gangs)
        yield f'  subgraph gangs ["{self._headline}"]'
        yield "    direction LR"
        for number, gang in listed:
            yield f'    g{number}["{_gang_label(number, gang)}"]:::c{number % len(PALETTE)}'
        if more := len(self._picture.gangs) - len(listed):
            yield f'    more["and {counted(more, "more gang")}"]'
        yield "  end"
        used = range(min(len(PALETTE), len(self._picture.gangs)))
        yield from (f"  classDef c{number} fill:{PALETTE[number]},color:{INK},stroke:{INK}" for number in used)

    def _cluster(self, drawn: TopologyMap) -> Iterator[str]:
        for domain in drawn.domains:
            yield from self._domain(domain, 0)
        if self._with_nodes:
            yield from (self._node(index, "    ") for index in drawn.outside)
        elif drawn.outside:
            yield f'    outside["{counted(len(drawn.outside), "node")} in no domain"]'

    def _domain(self, domain: DomainBox, depth: int) -> Iterator[str]:
        self._domains += 1
        number, indent = self._domains, "  " * (depth + 2)
        label = f"{_label(f'{domain.level} {domain.name}')}: {_taken(domain)}"
        if depth == self._deepest and not self._with_nodes:
            yield f'{indent}d{number}["{label}"]'
            return
        yield f'{indent}subgraph d{number} ["{label}"]'
        yield f"{indent}  direction {'TB' if depth == self._deepest - 1 else 'LR'}"
        for inner in domain.domains:
            yield from self._domain(inner, depth + 1)
        yield from (self._node(index, f"{indent}  ") for index in domain.nodes)
        yield f"{indent}end"

    def _node(self, index: int, indent: str) -> str:
        box = self._picture.nodes[index]
        taken = [share for share in box.after if share.gpus]
        colour = f":::c{taken[0].gang % len(PALETTE)}" if len(taken) == 1 else ""
        parts = [f"{share.gpus} of gang {share.gang + 1}" for share in taken]
        parts += [f"{box.in_use} in use"] if box.in_use else []
        free = box.gpus - box.in_use - sum([share.gpus for share in taken])
        parts += [f"{free} free"] if free > 0 else []
        text = ", ".join([*(parts if box.gpus else ["no GPUs"]), *map(_label, box.notes)])
        return f'{indent}n{index}["{_label(box.name)}: {text}"]{colour}'


def _gang_label(number: int, gang: GangBox) -> str:
    verdict, domain = verdict_of(gang), place_of(gang)
    text = f"{number + 1} {_label(f'{gang.namespace}/{gang.title}')}"
    notes = "".join([f"<br>note: {_label(note)}" for note in gang.notes])
    return f"{text}{f': {verdict}' if verdict else ''}{f' in {_label(domain)}' if domain else ''}{notes}"


def _taken(domain: DomainBox) -> str:
    return f"{domain.in_use + domain.after} of {counted(domain.gpus, 'GPU')}"


def _label(text: str) -> str:
    """A text as Mermaid shows it: its own syntax, HTML and Markdown as numbers of characters."""
    text = visible(text)
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return _RESERVED.sub(lambda match: f"#{ord(match[0])};", shown)
