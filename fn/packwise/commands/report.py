"""`packwise report`: the gangs on the nodes of a cluster, drawn as a page or a picture."""

from __future__ import annotations

import argparse
from pathlib import PurePath

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import (
    Command,
    add_build,
    add_cluster,
    add_context,
    add_nodes,
    add_paths,
    live_path,
    refuse_same_file,
    sources_of,
)
from packwise.inputs.request import STDIN
from packwise.inputs.resources import FOR_PLACE
from packwise.report.options import REPORT_FORMATS, Drawing, ReportOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.report.options import ReportFormat


_DESCRIPTION = """\
Draws the gangs of PATH on the nodes of a cluster, as one page that needs no network. The page shows domains, nodes and
GPUs, the place of each gang or the reason why it does not fit, constraints, and findings with links to the files. With
--baseline, the page shows both states side by side. Without --nodes, the page shows gangs, constraints and findings.
packwise writes the report even if there are errors."""

_EPILOG = """\
examples:
  packwise report clusters/west --nodes nodes.json -o report.html
  packwise report clusters/west --nodes nodes.json --baseline git:origin/main -o report.html
  packwise report clusters/west --nodes nodes.json -o docs/placement.svg -o mermaid
  packwise report clusters/west -o report.html --source-url 'https://github.com/o/r/blob/SHA/{path}#L{line}'

exit codes: 0 every gang fits and no error was found, 1 otherwise, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE|FORMAT[=FILE]",
        type=_drawing,
        action="append",
        required=True,
        help="file to write (.html, .svg or .mmd), or a format for stdout (html, svg or mermaid), or both "
        "(mermaid=map.md); repeatable, with at most one format for stdout",
    )
    add_nodes(
        parser,
        "the cluster: output of `kubectl get nodes,pods -A -o json` (or yaml), a dump of KAI's snapshot plugin, or a "
        "folder of such files; repeatable",
    )
    add_cluster(parser, FOR_PLACE)
    add_build(parser)
    add_context(parser)
    parser.add_argument(
        "--source-url",
        metavar="TEMPLATE",
        type=_template,
        help="template of links to files, with {path} and {line}, such as "
        "https://github.com/o/r/blob/SHA/{path}#L{line} (default: relative to the page)",
    )


_SUFFIXES: Mapping[str, ReportFormat] = {".html": "html", ".htm": "html", ".svg": "svg", ".mmd": "mermaid"}


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


def _refuse(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Exit with a usage error if two formats name the same output file."""
    outputs: list[Drawing] = parsed.output
    refuse_same_file(parser, [output.file for output in outputs], "svg=map.svg")


def _read(parsed: argparse.Namespace) -> ReportOptions:
    return ReportOptions(
        sources_of(parsed), tuple(parsed.output), (*parsed.nodes, *live_path(parsed)), parsed.source_url
    )


def _run(command: ReportOptions) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.inputs.kubectl import cluster_files
    from packwise.report.run import report

    with cluster_files(command.nodes, FOR_PLACE) as (nodes, _):
        return deliver(report(command.replace(nodes=nodes), terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run, _refuse)
