"""Options of the command that draws: report."""

from __future__ import annotations

import argparse
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from packwise.cli import help_texts
from packwise.cli.arguments import REPORT_FORMATS, STDIN, Drawing
from packwise.cli.options.sources import add_context, add_nodes, add_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.cli.arguments import ReportFormat

__all__ = ["add_report", "refuse_twice"]

_SUFFIXES: Mapping[str, ReportFormat] = {".html": "html", ".htm": "html", ".svg": "svg", ".mmd": "mermaid"}


def add_report(commands: Any) -> None:
    """Adds the command `report`."""
    text = "draw the gangs on the nodes of a cluster, as a page or a picture"
    report = commands.add_parser("report", help=text, description=help_texts.REPORT, epilog=help_texts.REPORT_EPILOG)
    add_paths(report)
    report.add_argument(
        "-o",
        "--output",
        metavar="FILE|FORMAT[=FILE]",
        type=_drawing,
        action="append",
        required=True,
        help="the file to write, by its ending .html, .svg or .mmd; or a format, html, svg or mermaid, for stdout or "
        "with a file (mermaid=map.md); as often as needed, but for stdout once",
    )
    add_nodes(
        report,
        "the cluster: what `kubectl get nodes,pods -A -o json` prints (or yaml), a dump of KAI's snapshot plugin, or a "
        "folder of such files, as often as needed",
    )
    add_context(report)
    report.add_argument(
        "--source-url",
        metavar="TEMPLATE",
        type=_template,
        help="what links into files are made from, with {path} and {line}, as in "
        "https://github.com/o/r/blob/SHA/{path}#L{line}; by default they are relative to the page",
    )


def _drawing(text: str) -> Drawing:
    name, equals, file = text.partition("=")
    if name in REPORT_FORMATS:
        if equals and not file:
            raise argparse.ArgumentTypeError(f'"{text}" must name a file after the equals sign')
        return Drawing(name, file if equals and file != STDIN else None)
    kind = _SUFFIXES.get(PurePath(text).suffix.lower())
    if kind is None:
        known = ", ".join(REPORT_FORMATS)
        raise argparse.ArgumentTypeError(
            f'must be a file that ends in .html, .svg or .mmd, or one of {known}; got "{text}"'
        )
    return Drawing(kind, text)


def _template(text: str) -> str:
    if not text.startswith(("https://", "http://")) or "{path}" not in text:
        example = "https://example.com/{path}#L{line}"
        raise argparse.ArgumentTypeError(
            f'must start with https:// or http:// and hold {{path}}, as in {example}; got "{text}"'
        )
    return text


def refuse_twice(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Ends with usage where two formats are to be written to one place."""
    outputs: list[Drawing] = parsed.output
    files = [output.file for output in outputs]
    twice = [file for file in files if files.count(file) > 1]
    if twice:
        to = "stdout" if twice[0] is None else f'"{twice[0]}"'
        parser.error(f"-o must name {to} once; give the others a file each (svg=map.svg)")
