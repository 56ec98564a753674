"""A report as one page that needs no network: the picture as JSON, and a script that draws it.

Texts of the input are data, never markup: the script writes them as text nodes, and the page's policy lets no other
script run and nothing be loaded.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from packwise.cli.console import visible
from packwise.cli.findings_text import sentence
from packwise.commands.check.formats import finding_fields
from packwise.commands.report.drawing import INK, PALETTE, STATES, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.result import Result
    from packwise.commands.report.drawing import Drawn
    from packwise.commands.report.picture import DomainBox, GangBox, NodeBox, Outcome, Part, Share

__all__ = ["as_html"]

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_UNSAFE = re.compile("[<>&]")


def as_html(drawn: Drawn) -> str:
    """The whole page."""
    style = _palette() + _static("page.css")
    script = _static("page.js")
    parts = {
        "policy": (
            f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
            "base-uri 'none'; form-action 'none'"
        ),
        "title": html.escape(visible(f"packwise report: {' '.join(drawn.picture.paths)}")),
        "headline": html.escape(drawn.headline),
        "about": html.escape(visible(_about(drawn))),
        "style": style,
        "script": script,
        "data": _embedded(_Data(drawn).value()),
    }
    return _PLACEHOLDER.sub(lambda match: parts[match[1]], _static("page.html"))


def _static(name: str) -> str:
    return (files("packwise.commands.report") / "page" / name).read_text(encoding="utf-8")


def _palette() -> str:
    colours = "".join([f".c{number}{{--c:{colour}}}\n" for number, colour in enumerate(PALETTE)])
    return f":root{{--on-colour:{INK}}}\n{colours}"


def _hash(text: str) -> str:
    """The text as a source of a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _embedded(value: Any) -> str:
    """JSON that ends no script element, and begins no comment in it."""
    text = json.dumps(value, separators=(",", ":"))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _about(drawn: Drawn) -> str:
    picture = drawn.picture
    on = f" on {counted(len(picture.nodes), 'node')}" if picture.nodes else ""
    than = f", compared with {picture.baseline}" if picture.baseline is not None else ""
    return " · ".join([f"{' '.join(picture.paths)}{on}{than}", *picture.facts])


class _Data:
    """The picture as the page's script reads it. Files are listed once, and named by their positions."""

    def __init__(self, drawn: Drawn) -> None:
        self._drawn = drawn
        self._files: dict[str | None, int] = {}

    def value(self) -> dict[str, Any]:
        """The whole document."""
        picture = self._drawn.picture
        value: dict[str, Any] = {
            "nodes": [_node(box) for box in picture.nodes],
            "maps": [
                {
                    "topology": visible(each.topology),
                    "levels": _texts(each.levels),
                    "domains": [_domain(domain) for domain in each.domains],
                    "outside": each.outside,
                }
                for each in picture.maps
            ],
            "gangs": [self._gang(gang) for gang in picture.gangs],
            "findings": [self._finding(result) for result in picture.findings],
            "baseline": None if picture.baseline is None else visible(picture.baseline),
            "hasBefore": picture.has_before,
            "changes": None
            if picture.changes is None
            else [
                {"kind": visible(each.kind), "actions": each.actions, "objects": each.objects}
                for each in picture.changes
            ],
            "states": STATES,
            "colours": len(PALETTE),
        }
        names = ["<stdin>" if file is None else visible(file) for file in self._files]
        return {**value, "files": [[*pair] for pair in zip(names, map(self._drawn.address, self._files), strict=True)]}

    def _file(self, name: str | None) -> int:
        return self._files.setdefault(name, len(self._files))

    def _gang(self, gang: GangBox) -> dict[str, Any]:
        return {
            "name": visible(f"{gang.namespace}/{gang.title}"),
            "workload": visible(gang.workload),
            "queue": visible(gang.queue),
            "pods": gang.pods,
            "gpus": gang.gpus,
            "change": gang.change,
            "notes": _texts(gang.notes),
            "parts": [self._part(part) for part in gang.parts],
            "after": _outcome(gang.after),
            "before": _outcome(gang.before),
        }

    def _part(self, part: Part) -> list[Any]:
        place = part.place
        return [
            visible(part.name),
            part.depth,
            part.pods,
            part.members,
            visible(part.required),
            visible(part.preferred),
            self._file(place.file),
            place.line,
            part.nodes,
        ]

    def _finding(self, result: Result) -> dict[str, Any]:
        fields = finding_fields(result)
        known = result.file is not None or fields["line"] is not None
        return {
            "severity": fields["severity"],
            "text": visible(sentence(result)),
            "rule": visible(fields["rule"]),
            "help": fields["help"],
            "operator": visible(fields.get("operatorMessage", "")),
            "file": self._file(fields["file"]) if known else None,
            "line": fields["line"],
        }


def _node(box: NodeBox) -> list[Any]:
    shares = _shares(box.after), _shares(box.before)
    return [visible(box.name), box.gpus, box.in_use, _texts(box.notes), *shares, box.in_use_before]


def _shares(shares: Sequence[Share]) -> list[list[int]]:
    return [[share.gang, share.pods, share.gpus] for share in shares]


def _domain(box: DomainBox) -> list[Any]:
    inner = [_domain(domain) for domain in box.domains]
    totals = [box.size, box.gpus, box.in_use, box.after, box.before, box.in_use_before]
    return [visible(box.level), visible(box.name), inner, box.nodes, totals]


def _outcome(outcome: Outcome | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    return {
        "state": outcome.state,
        "placed": outcome.placed,
        "domain": visible(outcome.domain),
        "reasons": _texts(outcome.reasons),
        "message": _texts(outcome.message.splitlines()),
        "nearest": visible(outcome.nearest),
    }


def _texts(texts: Iterable[str]) -> list[str]:
    return [visible(text) for text in texts]
