"""A report as a Mermaid flowchart for a README: domains as subgraphs, nodes with the gangs on them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packwise.cli.report.visible import visible
from packwise.cli.report_output.drawn import INK, PALETTE, counted, place_of, verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.cli.report_output.drawn import Drawn
    from packwise.commands.report.domains import DomainBox, NodeBox, TopologyMap
    from packwise.commands.report.picture import GangBox

__all__ = ["LIMIT", "as_mermaid"]

LIMIT = 48_000
"""Characters of a chart: Mermaid draws none that is longer than 50,000. Source: Mermaid, `maxTextSize`."""

_MOST_NODES = 200
_LONGEST = 80
_RESERVED = re.compile(r'["#&<>\[\](){}|`\\;]')


def as_mermaid(drawn: Drawn) -> str:
    """The chart; of many nodes, only the domains are drawn, and of too many domains nothing."""
    for lines in (_chart(drawn, with_nodes=len(drawn.picture.nodes) <= _MOST_NODES), _chart(drawn, with_nodes=False)):
        text = "".join([f"{line}\n" for line in lines])
        if len(text) <= LIMIT:
            return text
    return "".join([f"{line}\n" for line in _head(drawn)])


def _chart(drawn: Drawn, *, with_nodes: bool) -> list[str]:
    chart = _Chart(drawn, with_nodes=with_nodes)
    return [*_head(drawn), *chart.gangs(), *chart.cluster()]


def _head(drawn: Drawn) -> list[str]:
    return ["flowchart LR", f'  summary(["{_label(drawn.headline)}"])']


class _Chart:
    """The parts of a chart; subgraphs and nodes have numbers for names, so that no name of the input is syntax."""

    def __init__(self, drawn: Drawn, *, with_nodes: bool) -> None:
        self._picture = drawn.picture
        self._with_nodes = with_nodes
        self._domains = 0

    def gangs(self) -> Iterator[str]:
        """The gangs with their states, which are the legend of the colours too."""
        if not self._picture.gangs:
            return
        yield '  subgraph gangs ["gangs"]'
        yield "    direction TB"
        for number, gang in enumerate(self._picture.gangs):
            yield f'    g{number}["{_gang_label(number, gang)}"]:::c{number % len(PALETTE)}'
        yield "  end"
        used = range(min(len(PALETTE), len(self._picture.gangs)))
        yield from (f"  classDef c{number} fill:{PALETTE[number]},color:{INK},stroke:{INK}" for number in used)

    def cluster(self) -> Iterator[str]:
        """The domains of the first topology, and its nodes."""
        for each in self._picture.maps[:1]:
            yield f'  subgraph cluster ["{_label(each.topology or "cluster")}"]'
            yield "    direction TB"
            yield from self._map(each)
            yield "  end"

    def _map(self, drawn: TopologyMap) -> Iterator[str]:
        for domain in drawn.domains:
            yield from self._domain(domain, "    ")
        if self._with_nodes:
            for index in drawn.outside:
                yield f'    n{index}["{self._node_label(self._picture.nodes[index])}"]'
        elif drawn.outside:
            yield f'    outside["{counted(len(drawn.outside), "node")} in no domain"]'

    def _domain(self, domain: DomainBox, indent: str) -> Iterator[str]:
        self._domains += 1
        number = self._domains
        label = f"{_label(f'{domain.level} {domain.name}')}: {_taken(domain)}"
        if not self._with_nodes and not domain.domains:
            yield f'{indent}d{number}["{label}"]'
            return
        yield f'{indent}subgraph d{number} ["{label}"]'
        yield f"{indent}  direction TB"
        for inner in domain.domains:
            yield from self._domain(inner, f"{indent}  ")
        for index in domain.nodes:
            box = self._picture.nodes[index]
            gangs = {share.gang for share in box.after if share.gpus}
            colour = f":::c{gangs.pop() % len(PALETTE)}" if len(gangs) == 1 else ""
            yield f'{indent}  n{index}["{self._node_label(box)}"]{colour}'
        yield f"{indent}end"

    def _node_label(self, box: NodeBox) -> str:
        taken = [f"{share.gpus} of gang {share.gang + 1}" for share in box.after if share.gpus]
        used = [f"{box.in_use} in use"] if box.in_use else []
        free = box.gpus - box.in_use - sum([share.gpus for share in box.after])
        parts = [*taken, *used, *([f"{free} free"] if free else [])] if box.gpus else ["no GPUs"]
        return f"{_label(box.name)}: {', '.join([*parts, *map(_label, box.notes)])}"


def _gang_label(number: int, gang: GangBox) -> str:
    verdict, domain = verdict_of(gang), place_of(gang)
    text = f"{number + 1} {_label(f'{gang.namespace}/{gang.name}')}"
    return f"{text}{f': {verdict}' if verdict else ''}{f' in {_label(domain)}' if domain else ''}"


def _taken(domain: DomainBox) -> str:
    return f"{domain.in_use + domain.after} of {counted(domain.gpus, 'GPU')}"


def _label(text: str) -> str:
    """A text as Mermaid shows it: its own syntax, HTML and Markdown as numbers of characters."""
    text = visible(text)
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return _RESERVED.sub(lambda match: f"#{ord(match[0])};", shown)
