"""A report as SVG for a README, as Mermaid, and as one page that works offline.

The page has the picture as JSON and a script that draws it. Texts of the input are data and never markup: the script
writes them as text nodes. The page's policy permits no other script and loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
from collections import Counter
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from krmfn.hints import Record
from krmfn.result import Severity
from krmfn.terminal import HASH, escape_line
from packwise.check.formats import finding_fields
from packwise.console import markup_text, shorten, width
from packwise.inputs.groups import COMMIT
from packwise.output.findings_text import sentence
from packwise.schedulers.simulation import FITS
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.result import Result
    from packwise.report.run import (
        DomainBox,
        GangBox,
        NodeBox,
        NodeShare,
        Outcome,
        Picture,
        PicturePart,
        TopologyMap,
    )
_MAX_GANGS = 40
_MAX_DOMAINS = 160


class DrawnState(Record):
    """A state of a gang in words, with a sign, because not all readers see colours."""

    sign: str
    text: str


STATES = {
    "allocated": DrawnState("✓", "fits"),
    "partial": DrawnState("◐", "fits in part"),
    "pending": DrawnState("✕", "does not fit"),
    "notready": DrawnState("…", "is not tried"),
    "": DrawnState("", ""),
}

HUES, TINTS = 12, 3
"""The number of hues for queues, and of tints of each hue. Hues repeat if there are more queues."""

_HUES = (
    "#77b0f0", "#efad6b", "#7bcc92", "#cf9edb", "#63d2d5", "#f08d83",
    "#d6cf67", "#a59ce8", "#2fb69e", "#d98f55", "#f7a9c6", "#4f9dc4",
)  # fmt: skip


def _lighten(colour: str, tint: int) -> str:
    """Return the colour, with more white for each tint."""
    parts = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    return "#" + "".join([f"{part + (255 - part) * tint * 3 // 10:02x}" for part in parts])


PALETTE = tuple(_lighten(hue, tint) for hue in _HUES for tint in range(TINTS))
"""The colours of gangs: all tints of the first hue, then of the next one."""

INK = "#10151c"
"""The colour of text on a colour of the palette."""


class Drawn(Record):
    """A picture to draw. `root` is the base folder of file names, relative to the folder of the drawing.

    If `source_url` is set, links use this template instead.
    """

    picture: Picture
    root: str = "."
    source_url: str | None = None

    def address(self, file: str | None) -> str:
        """Return the address of a file, with `{line}` as the placeholder of a line number.

        Return "" for stdin and for a file of the baseline's commit, because they have no address.
        """
        commit = (self.picture.baseline or "").partition(COMMIT)[2]
        if file is None or (commit and file.startswith(f"{commit}:")):
            return ""
        if self.source_url is not None:
            return self.source_url.replace("{path}", quote(posixpath.normpath(file), errors="surrogateescape"))
        path = posixpath.normpath(posixpath.join(self.root, file))
        # Two slashes would begin the name of a host.
        return f"{quote('/' + path.lstrip('/') if path.startswith('/') else path, errors='surrogateescape')}#L{{line}}"

    @property
    def headline(self) -> str:
        """Return the numbers of gangs and errors in one line, such as `3 of 4 gangs fit, 1 error`."""
        outcomes = [gang.after for gang in self.picture.gangs if gang.after is not None]
        errors = sum([result.severity is Severity.ERROR for result in self.picture.findings])
        also = f", {count_text(errors, 'error')}" if errors else ""
        if errors and not outcomes:
            return f"{count_text(errors, 'error')}, and no gang"
        if not self.picture.nodes:
            return count_text(len(outcomes), "gang") + also
        fitting = sum([outcome.state in FITS for outcome in outcomes])
        return f"{fitting} of {count_text(len(outcomes), 'gang')} fit{'s' if len(outcomes) == 1 else ''}{also}"


def verdict_of(gang: GangBox) -> str:
    """Return the outcome of a gang: its state, or the change that removes the gang."""
    state = STATES[gang.outcome.state]
    return gang.change if gang.after is None else f"{state.sign} {state.text}".strip()


def place_of(gang: GangBox) -> str:
    """Return the common domain of a gang's pods. Return "" if there is none or the change removes the gang."""
    return gang.outcome.domain if gang.after is not None else ""


def listed_gangs(gangs: Sequence[GangBox]) -> list[tuple[int, GangBox]]:
    """Return the first gangs of a picture, each with its index."""
    return list(enumerate(gangs[:_MAX_GANGS]))


def constraint_of(gang: GangBox) -> str:
    """Return the level that bounds the gang, or else the level of the first part that has one, or "" without a
    level.
    """
    part = next((part for part in gang.parts if part.required or part.preferred), None)
    if part is None:
        return ""
    within = f"within one {part.required}" if part.required else f"if possible within one {part.preferred}"
    return f"{part.name} {within}" if part.depth else within


def deepest_level(domains: Sequence[DomainBox]) -> int:
    """Return the deepest level with few enough domains for a picture, at least the first one."""
    depth = 0
    while below := [inner for domain in domains for inner in domain.domains]:
        if len(below) > _MAX_DOMAINS:
            break
        domains, depth = below, depth + 1
    return depth


_WIDTH = 960
_PAD = 10
_LINE = 18
_BAR = 14
_CARD, _BAR_CARD = 280, 200
"""The smallest width of a domain that is drawn with its nodes, and of a domain that is drawn as a bar."""
_MAX_NODES = 300

_STYLE = f"""\
.g{{fill:#f4f6f9}}.d{{fill:#fff;stroke:#d4dae3}}.t{{fill:#17202c}}.m{{fill:#525e6e}}.f{{fill:#eef1f5;stroke:#d4dae3}}
.u{{fill:url(#used);stroke:#7d8898}}.h{{stroke:#7d8898}}.b{{fill:#ab1f18}}
.s{{stroke:{INK};stroke-opacity:.55}}.i{{fill:{INK}}}
@media(prefers-color-scheme:dark){{.g{{fill:#0f141b}}.d{{fill:#171e28;stroke:#303c4c}}.t{{fill:#e7ecf3}}.m{{fill:#a8b4c4}}
.f{{fill:#111821;stroke:#303c4c}}.b{{fill:#ffa59c}}}}
text{{font:13px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}}
.l{{font-size:11px}}.k{{font-weight:600}}"""

_HATCH = (
    '<defs><pattern id="used" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path class="h" d="M1 0V5"/></pattern></defs>'
)


def as_svg(drawn: Drawn) -> str:
    """Return the picture. If there are few nodes, each is drawn. Otherwise the innermost domains are bars."""
    picture = drawn.picture
    canvas = _Canvas(picture)
    y = canvas.head(drawn)
    for each in picture.maps[:1]:
        y = canvas.cluster(each, y)
    y = canvas.gangs(y + _PAD)
    title, height = _text(f"{drawn.headline}: {' '.join(picture.paths)}"), round(y + _PAD)
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
        f'<title id="title">{title}</title>',
        f"<style>{_STYLE}</style>",
        _HATCH,
        f'<rect class="g" width="{_WIDTH}" height="{height}" rx="8"/>',
        *canvas.shapes,
        "</svg>",
    ]
    return "".join([f"{line}\n" for line in lines])


class _Area(Record):
    """The area of a drawn domain."""

    x: float
    y: float
    width: float


class _Canvas:
    """The shapes that are drawn so far. Drawing methods return the y coordinate below their shapes."""

    def __init__(self, picture: Picture) -> None:
        self.shapes: list[str] = []
        self._picture = picture
        self._with_nodes = len(picture.nodes) <= _MAX_NODES
        self._deepest = 0
        self._names = max([width(escape_line(node.name)) for node in picture.nodes], default=0)
        self._largest = max([node.gpus for node in picture.nodes], default=0)

    def head(self, drawn: Drawn) -> float:
        """Draw the headline, and below it the nodes, the GPUs and the notes. Return the y of the end."""
        picture = self._picture
        self._write(_PAD, 26, drawn.headline, "t k")
        gpus = sum([node.gpus for node in picture.nodes])
        taken = sum([share.gpus for node in picture.nodes for share in node.after])
        used = sum([node.in_use for node in picture.nodes])
        about = (
            f"{count_text(len(picture.nodes), 'node')}, {count_text(gpus, 'GPU')}: {taken} for gangs (numbered), "
            f"{used} in use by other pods (hatched), {gpus - taken - used} free"
        )
        lines = [about if picture.nodes else "no nodes were given", *(f"note: {note}" for note in picture.notes)]
        y = 26
        for line in lines:
            y += _LINE
            self._write(_PAD, y, line, "m l")
        return y + _PAD

    def cluster(self, drawn: TopologyMap, y: float) -> float:
        """Draw the domains of a topology, and the nodes in none. Return the y of the end."""
        area = _Area(_PAD, y, _WIDTH - 2 * _PAD)
        self._deepest = len(drawn.levels) - 1 if self._with_nodes else deepest_level(drawn.domains)
        y = self._domains(drawn.domains, area, 0)
        if drawn.outside:
            text = f"{count_text(len(drawn.outside), 'node')} in no domain" if drawn.domains else "nodes"
            frame = len(self.shapes)
            self._write(area.x + _PAD, y + _LINE, text, "m l")
            bottom = y + _LINE + _PAD
            if self._with_nodes:
                bottom = self._nodes(drawn.outside, _Area(area.x + _PAD, bottom, area.width - 2 * _PAD))
            self._frame(frame, area.replace(y=y), bottom)
            y = bottom + _PAD
        return y

    def gangs(self, y: float) -> float:
        """Draw the gangs: number, name, state and place. Gangs without a place come first. Return the y of the end."""
        listed = listed_gangs(self._picture.gangs)
        for number, gang in listed:
            self._gang(number, gang, y)
            y += _LINE
            for note in gang.notes:
                self._write(_PAD + 44, y + 10, _shorten(f"note: {note}", 140), "m l")
                y += _LINE - 4
            y += 4
        if more := len(self._picture.gangs) - len(listed):
            self._write(_PAD, y + 10, f"and {count_text(more, 'more gang')}", "m l")
            y += _LINE
        return y

    def _gang(self, number: int, gang: GangBox, y: float) -> None:
        self._segment(_PAD, y, 34, number)
        name = f"{gang.namespace}/{gang.title}"
        self._write(_PAD + 44, y + 12, _shorten(name, 46), "t k")
        self._write(400, y + 12, verdict_of(gang), "b k" if gang.outcome.state == "pending" else "t")
        where = f"in {domain}" if (domain := place_of(gang)) else ""
        reason = next(iter(gang.outcome.reasons), "" if gang.outcome.state else constraint_of(gang))
        self._write(510, y + 12, _shorten(where or reason, 72), "m l")

    def _domains(self, domains: Sequence[DomainBox], area: _Area, depth: int) -> float:
        """Draw domains below each other, and return the y of the end.

        Innermost domains are also next to each other if there is room.
        """
        card = _CARD if self._with_nodes else _BAR_CARD
        columns = max(1, min(len(domains), int(area.width // card))) if depth == self._deepest else 1
        gap = _PAD * (columns - 1)
        size = (area.width - gap) / columns
        y = area.y
        for start in range(0, len(domains), columns):
            row = domains[start : start + columns]
            bottoms = [
                self._domain(domain, _Area(area.x + column * (size + _PAD), y, size), depth)
                for column, domain in enumerate(row)
            ]
            y = max(bottoms) + _PAD
        return y

    def _domain(self, domain: DomainBox, area: _Area, depth: int) -> float:
        frame = len(self.shapes)
        x, inner = area.x + _PAD, area.width - 2 * _PAD
        count = f"{domain.in_use + domain.after}/{domain.gpus}"
        room = int((inner - 7 * len(count) - _PAD) // 9)
        self._write(x, area.y + _LINE, _shorten(f"{domain.level} {domain.name}", room), "t k")
        self._write(area.x + area.width - _PAD, area.y + _LINE, count, "m l", end=True)
        y = area.y + _LINE + 8
        if depth < self._deepest:
            bottom = self._domains(domain.domains, _Area(x, y, inner), depth + 1)
        elif self._with_nodes:
            bottom = self._nodes(domain.nodes, _Area(x, y, inner))
        else:
            bottom = self._bar(domain, _Area(x, y, inner))
        self._frame(frame, area, bottom)
        return bottom

    def _bar(self, domain: DomainBox, area: _Area) -> float:
        """Draw the used GPUs of a domain as a bar, without its nodes. Return the y of the end."""
        unit = area.width / domain.gpus if domain.gpus else 0
        self._rect("f", area.x, area.y, area.width, 8)
        self._rect("u", area.x, area.y, domain.in_use * unit, 8)
        x = area.x + domain.in_use * unit
        for hue, gpus in self._hues(domain):
            self._rect("s", x, area.y, gpus * unit, 8, fill=PALETTE[hue])
            x += gpus * unit
        return area.y + 8 + _PAD

    def _hues(self, domain: DomainBox) -> list[tuple[int, int]]:
        """Return the hues in a domain, each with the GPUs of its gangs. A hue is the index of its first tint."""
        taken: Counter[int] = Counter()
        for index in _nodes_within(domain):
            for share in self._picture.nodes[index].after:
                colour = self._picture.gangs[share.gang].colour
                taken[colour - colour % TINTS] += share.gpus
        return sorted(taken.items())

    def _nodes(self, nodes: Sequence[int], area: _Area) -> float:
        y = area.y
        for index in nodes:
            self._node(self._picture.nodes[index], area.replace(y=y))
            y += _BAR + 6
        return y + 4

    def _node(self, box: NodeBox, area: _Area) -> None:
        names = min(self._names * 7.5 + _PAD, area.width / 2)
        self._write(area.x, area.y + 11, _shorten(box.name, int(names // 7)), "m l")
        x, unit = area.x + names, (area.width - names) / (self._largest or 1)
        if not box.gpus:
            self._write(x, area.y + 11, "no GPUs", "m l")
        for gang, gpus, kind in _segments(box):
            if gang is not None:
                self._segment(x, area.y, gpus * unit, gang)
            else:
                self._rect(kind, x, area.y, gpus * unit, _BAR)
            x += gpus * unit

    def _frame(self, position: int, area: _Area, bottom: float) -> None:
        """Draw the frame of a domain behind the shapes since `position`."""
        place = f'x="{_n(area.x)}" y="{_n(area.y)}" width="{_n(area.width)}" height="{_n(bottom - area.y)}"'
        self.shapes.insert(position, f'<rect class="d" {place} rx="6"/>')

    def _segment(self, x: float, y: float, size: float, gang: int) -> None:
        self._rect("s", x, y, size, _BAR, fill=PALETTE[self._picture.gangs[gang].colour])
        text = str(gang + 1)
        if size > 8 * len(text):
            self.shapes.append(
                f'<text class="i l k" x="{_n(x + size / 2)}" y="{_n(y + 11)}" text-anchor="middle">{text}</text>'
            )

    def _rect(self, kind: str, x: float, y: float, size: float, height: float, *, fill: str = "") -> None:
        if size > 0:
            colour = f' fill="{fill}"' if fill else ""
            place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(size)}" height="{_n(height)}"'
            self.shapes.append(f'<rect class="{kind}" {place}{colour}/>')

    def _write(self, x: float, y: float, text: str, kind: str, *, end: bool = False) -> None:
        if text:
            anchor = ' text-anchor="end"' if end else ""
            self.shapes.append(f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}"{anchor}>{_text(text)}</text>')


def _nodes_within(domain: DomainBox) -> Iterator[int]:
    yield from domain.nodes
    for inner in domain.domains:
        yield from _nodes_within(inner)


def _segments(box: NodeBox) -> Iterator[tuple[int | None, int, str]]:
    """Yield the GPUs of a node with the class of their shape: used GPUs, each gang's GPUs, and free GPUs."""
    if box.in_use:
        yield None, box.in_use, "u"
    for share in box.after:
        if share.gpus:
            yield share.gang, share.gpus, ""
    free = box.gpus - box.in_use - sum([share.gpus for share in box.after])
    if free > 0:
        yield None, free, "f"


def _n(number: float) -> str:
    """Return a coordinate with one decimal."""
    return f"{number:.1f}".removesuffix(".0")


def _shorten(text: str, most: int) -> str:
    shown = escape_line(text)
    return shown if width(shown) <= most else f"{shown[: max(most - 1, 1)]}…"


def _text(text: str) -> str:
    return markup_text(escape(escape_line(text)))


LIMIT = 48_000
"""The largest number of characters of a chart. Mermaid draws at most 50,000. Source: Mermaid, `maxTextSize`."""

_MAX_MERMAID_NODES = 200
_LONGEST = 160
_RESERVED = re.compile(r'["#&<>\[\](){}|`\\;]')


def as_mermaid(drawn: Drawn) -> str:
    """Return the chart. If there are many nodes, it has only domains. If it is still too long, it has only the
    headline.
    """
    text = "".join([f"{line}\n" for line in _Chart(drawn).lines()])
    return text if len(text) <= LIMIT else f'flowchart LR\n  headline(["{_headline_label(drawn)}"])\n'


class _Chart:
    """The parts of a chart. Subgraphs and nodes have numbers as names, so that names of the input are never syntax.

    Mermaid draws parts without links next to each other in a subgraph from top to bottom. In a subgraph from left to
    right it draws them below each other.
    """

    def __init__(self, drawn: Drawn) -> None:
        self._headline = _headline_label(drawn)
        self._picture = drawn.picture
        self._map = next(iter(drawn.picture.maps), None)
        self._with_nodes = len(drawn.picture.nodes) <= _MAX_MERMAID_NODES
        self._deepest = 0
        self._domains = 0
        if self._map is not None:
            self._deepest = len(self._map.levels) - 1 if self._with_nodes else deepest_level(self._map.domains)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the gangs and of the cluster."""
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
        """Yield the gangs with their states. They are also the legend of the colours."""
        listed = listed_gangs(self._picture.gangs)
        yield f'  subgraph gangs ["{self._headline}"]'
        yield "    direction LR"
        for number, gang in listed:
            yield f'    g{number}["{_gang_label(number, gang)}"]:::c{gang.colour}'
        if more := len(self._picture.gangs) - len(listed):
            yield f'    more["and {count_text(more, "more gang")}"]'
        yield "  end"
        used = sorted({gang.colour for gang in self._picture.gangs})
        yield from (f"  classDef c{number} fill:{PALETTE[number]},color:{INK},stroke:{INK}" for number in used)

    def _cluster(self, drawn: TopologyMap) -> Iterator[str]:
        for domain in drawn.domains:
            yield from self._domain(domain, 0)
        if self._with_nodes:
            yield from (self._node(index, "    ") for index in drawn.outside)
        elif drawn.outside:
            yield f'    outside["{count_text(len(drawn.outside), "node")} in no domain"]'

    def _domain(self, domain: DomainBox, depth: int) -> Iterator[str]:
        self._domains += 1
        number, indent = self._domains, "  " * (depth + 2)
        used = f"{domain.in_use + domain.after} of {count_text(domain.gpus, 'GPU')}"
        label = f"{_label(f'{domain.level} {domain.name}')}: {used}"
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
        colour = f":::c{self._picture.gangs[taken[0].gang].colour}" if len(taken) == 1 else ""
        parts = [f"{share.gpus} of gang {share.gang + 1}" for share in taken]
        parts += [f"{box.in_use} in use"] if box.in_use else []
        free = box.gpus - box.in_use - sum([share.gpus for share in taken])
        parts += [f"{free} free"] if free > 0 else []
        text = ", ".join([*(parts if box.gpus else ["no GPUs"]), *map(_label, box.notes)])
        return f'{indent}n{index}["{_label(box.name)}: {text}"]{colour}'


def _headline_label(drawn: Drawn) -> str:
    """Return the headline and the notes below it."""
    return "<br>".join([_label(drawn.headline), *(f"note: {_label(note)}" for note in drawn.picture.notes)])


def _gang_label(number: int, gang: GangBox) -> str:
    verdict, domain = verdict_of(gang) or _label(constraint_of(gang)), place_of(gang)
    text = f"{number + 1} {_label(f'{gang.namespace}/{gang.title}')}"
    notes = "".join([f"<br>note: {_label(note)}" for note in gang.notes])
    return f"{text}{f': {verdict}' if verdict else ''}{f' in {_label(domain)}' if domain else ''}{notes}"


def _label(text: str) -> str:
    """Return a text for Mermaid. Characters with a meaning in Mermaid, HTML or Markdown are written as numbers."""
    return _RESERVED.sub(lambda match: f"#{ord(match[0])};", shorten(escape_line(text), _LONGEST))


_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_UNSAFE = re.compile("[<>&]")


def as_html(drawn: Drawn) -> str:
    """Return the whole page."""
    style = _palette() + _static_file("page.css")
    script = _static_file("page.js")
    parts = {
        "policy": (
            f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
            "base-uri 'none'; form-action 'none'"
        ),
        "title": _text(f"packwise report: {' '.join(drawn.picture.paths)}"),
        "headline": _text(drawn.headline),
        "about": _text(_subject_text(drawn)),
        "notes": "".join([f'\n    <p class="about">Note: {_text(note)}</p>' for note in drawn.picture.notes]),
        "style": style,
        "script": script,
        "data": _script_json(_Data(drawn).value()),
    }
    return _PLACEHOLDER.sub(lambda match: parts[match[1]], _static_file("page.html"))


def _static_file(name: str) -> str:
    return (files("packwise.report") / "page" / name).read_text(encoding="utf-8")


def _palette() -> str:
    colours = "".join([f".c{number}{{--c:{colour}}}\n" for number, colour in enumerate(PALETTE)])
    return f":root{{--on-colour:{INK}}}\n{colours}"


def _hash(text: str) -> str:
    """Return the hash of the text as a source in a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _script_json(value: Any) -> str:
    """Return JSON that cannot end a script element or begin a comment in it."""
    text = re.sub(HASH, r"\\u0023", json.dumps(value, separators=(",", ":")))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _subject_text(drawn: Drawn) -> str:
    picture = drawn.picture
    on = f" on {count_text(len(picture.nodes), 'node')}" if picture.nodes else ""
    than = f", compared with {picture.baseline}" if picture.baseline is not None else ""
    return " · ".join([f"{' '.join(picture.paths)}{on}{than}", *picture.facts])


class _Data:
    """The picture as the page's script reads it. Files are listed once, and their index is used elsewhere."""

    def __init__(self, drawn: Drawn) -> None:
        self._drawn = drawn
        self._files: dict[str | None, int] = {}

    def value(self) -> dict[str, Any]:
        """Return the whole document."""
        picture = self._drawn.picture
        value: dict[str, Any] = {
            "nodes": [_node(box) for box in picture.nodes],
            "maps": [
                {
                    "topology": escape_line(each.topology),
                    "levels": _texts(each.levels),
                    "domains": [_domain(domain) for domain in each.domains],
                    "outside": each.outside,
                }
                for each in picture.maps
            ],
            "gangs": [self._gang(gang) for gang in picture.gangs],
            "findings": [self._finding(result) for result in picture.findings],
            "baseline": None if picture.baseline is None else escape_line(picture.baseline),
            "hasBefore": picture.has_before,
            "changes": None
            if picture.changes is None
            else [
                {"kind": escape_line(each.kind), "actions": each.actions, "objects": each.objects}
                for each in picture.changes
            ],
            "states": {name: [state.sign, state.text] for name, state in STATES.items()},
            "tints": TINTS,
            "levels": [
                {
                    "topology": escape_line(each.topology),
                    "levels": [_texts((line.word, line.key)) for line in each.levels],
                }
                for each in picture.levels
            ],
        }
        names = ["<stdin>" if file is None else escape_line(file) for file in self._files]
        return {**value, "files": [[*pair] for pair in zip(names, map(self._drawn.address, self._files), strict=True)]}

    def _file(self, name: str | None) -> int:
        return self._files.setdefault(name, len(self._files))

    def _gang(self, gang: GangBox) -> dict[str, Any]:
        return {
            "name": escape_line(f"{gang.namespace}/{gang.title}"),
            "workload": escape_line(gang.workload),
            "queue": escape_line(gang.queue),
            "pods": gang.pods,
            "gpus": gang.gpus,
            "change": gang.change,
            "colour": gang.colour,
            "scheduler": escape_line(gang.scheduler),
            "notes": _texts(gang.notes),
            "parts": [self._part(part) for part in gang.parts],
            "after": _outcome(gang.after),
            "before": _outcome(gang.before),
        }

    def _part(self, part: PicturePart) -> list[Any]:
        place = part.place
        return [
            escape_line(part.name),
            part.depth,
            part.pods,
            part.members,
            escape_line(part.required),
            escape_line(part.preferred),
            self._file(place.file),
            place.line,
            part.nodes,
        ]

    def _finding(self, result: Result) -> dict[str, Any]:
        fields = finding_fields(result)
        known = result.file is not None or fields["line"] is not None
        return {
            "severity": fields["severity"],
            "text": escape_line(sentence(result)),
            "rule": escape_line(fields["rule"]),
            "help": fields["help"],
            "operator": escape_line(fields.get("operatorMessage", "")),
            "file": self._file(fields["file"]) if known else None,
            "line": fields["line"],
        }


def _node(box: NodeBox) -> list[Any]:
    shares = _shares(box.after), _shares(box.before)
    return [escape_line(box.name), box.gpus, box.in_use, _texts(box.notes), *shares, box.in_use_before]


def _shares(shares: Sequence[NodeShare]) -> list[list[int]]:
    return [[share.gang, share.pods, share.gpus] for share in shares]


def _domain(box: DomainBox) -> list[Any]:
    inner = [_domain(domain) for domain in box.domains]
    totals = [box.size, box.gpus, box.in_use, box.after, box.before, box.in_use_before]
    return [escape_line(box.level), escape_line(box.name), inner, box.nodes, totals]


def _outcome(outcome: Outcome | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    return {
        "state": outcome.state,
        "placed": outcome.placed,
        "domain": escape_line(outcome.domain),
        "reasons": _texts(outcome.reasons),
        "message": _texts(outcome.message.splitlines()),
        "nearest": escape_line(outcome.nearest),
    }


def _texts(texts: Iterable[str]) -> list[str]:
    return [escape_line(text) for text in texts]
