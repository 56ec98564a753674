"""`packwise report`: the gangs on the nodes of a cluster, drawn as a page or a picture."""

from __future__ import annotations

import argparse
import os.path
import re
import sys
from pathlib import Path, PurePath

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from krmfn.result import exit_code, sort_results
from packwise.cli.arguments import (
    STDIN,
    Command,
    Named,
    UsageError,
    Verbosity,
    add_context,
    add_nodes,
    add_paths,
    named_of,
)
from packwise.cli.cluster_files import read_cluster, read_nodes
from packwise.cli.console import is_coloured, say, show, write_text
from packwise.cli.findings_text import coverage_of, stderr_lines
from packwise.cli.inputs import read_inputs
from packwise.cli.rendered_files import rendered_of
from packwise.commands.diff import State, state_after, state_before
from packwise.commands.diff import diff as compare
from packwise.commands.diff.output import Compared, changed_kinds, notes
from packwise.commands.place.placing import free_after, place_gangs, reasons, situation
from packwise.commands.report.drawing import Drawn, as_html, as_mermaid, as_svg
from packwise.commands.report.picture import Changed, Side, picture_of
from packwise.commands.topologies import has_sources
from packwise.pipeline import render
from packwise.schedulers.kai.gang_jobs import TooManyPodsError
from packwise.schedulers.kai.snapshot import Snapshot
from packwise.settings.configuration import has_topology

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Literal

    from packwise.cli.inputs import Inputs
    from packwise.commands.report.picture import Picture
    from packwise.pipeline import Rendered
    from packwise.select import Package

    ReportFormat = Literal["html", "svg", "mermaid"]

_DESCRIPTION = """\
Draws the gangs of PATH on the nodes of a cluster: one page that needs no network, with domains, nodes and GPUs, where
the KAI Scheduler puts each gang or why it does not, constraints, findings with links into the files, and with
--baseline both states side by side. Without --nodes it shows gangs, constraints and findings. It is written also where
there are errors."""


_EPILOG = """\
examples:
  packwise report clusters/west --nodes nodes.json -o report.html
  packwise report clusters/west --nodes nodes.json --baseline git:origin/main -o report.html
  packwise report clusters/west --nodes nodes.json -o docs/placement.svg -o mermaid
  packwise report clusters/west -o report.html --source-url 'https://github.com/o/r/blob/SHA/{path}#L{line}'

exit codes: 0 every gang fits and no error was found, 1 otherwise, 2 wrong usage"""


REPORT_FORMATS: tuple[ReportFormat, ...] = ("html", "svg", "mermaid")
"""How a report is drawn."""


class Drawing(Record):
    """A report in a format, and the file that gets it; None: stdout."""

    format: ReportFormat
    file: str | None = None


class Report(Record):
    """`packwise report`; `nodes` are files with a cluster's nodes and pods.

    `source_url` is what a link into a file is made from, with `{path}` and `{line}`; None: links are relative.
    """

    named: Named
    outputs: tuple[Drawing, ...]
    nodes: tuple[str, ...] = ()
    source_url: str | None = None


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument(
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
        parser,
        "the cluster: what `kubectl get nodes,pods -A -o json` prints (or yaml), a dump of KAI's snapshot plugin, or a "
        "folder of such files, as often as needed",
    )
    add_context(parser)
    parser.add_argument(
        "--source-url",
        metavar="TEMPLATE",
        type=_template,
        help="what links into files are made from, with {path} and {line}, as in "
        "https://github.com/o/r/blob/SHA/{path}#L{line}; by default they are relative to the page",
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
    """Ends with usage where two formats are to be written to one place."""
    outputs: list[Drawing] = parsed.output
    files = [output.file for output in outputs]
    twice = [file for file in files if files.count(file) > 1]
    if twice:
        to = "stdout" if twice[0] is None else f'"{twice[0]}"'
        parser.error(f"-o must name {to} once; give the others a file each (svg=map.svg)")


def _read(parsed: argparse.Namespace) -> Report:
    return Report(named_of(parsed), tuple(parsed.output), tuple(parsed.nodes), parsed.source_url)


_COMMIT = re.compile(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
"""A commit in the template of links."""


def report(command: Report) -> int:
    """Writes the drawings; returns 0 where every gang fits and there is no error, else 1. Raises UsageError."""
    if STDIN in command.nodes and STDIN in command.named.paths:
        raise UsageError('"-" must stand once: stdin can be read for one purpose only')
    inputs = read_inputs(command.named)
    if command.nodes:
        inputs = inputs.replace(package=inputs.package.replace(nodes=read_nodes(command.nodes)))
    rendered = rendered_of(inputs)
    say(stderr_lines(rendered.results, Verbosity.NORMAL, coloured=is_coloured(sys.stderr)), as_they_are=True)
    snapshot = read_cluster(command.nodes, inputs.package.nodes) if command.nodes else Snapshot(())
    try:
        picture, fits = _picture(command, inputs, rendered, snapshot)
    except TooManyPodsError as error:
        raise UsageError(str(error)) from None
    written = [_write(output, picture, command) for output in command.outputs]
    if any(output.file is not None for output in command.outputs):
        # The drawing says it too, and is open nowhere yet.
        say([Drawn(picture).headline])
    say([coverage_of(inputs, rendered).line])
    return int(not fits or bool(exit_code(rendered.results)) or not all(written))


def _picture(command: Report, inputs: Inputs, rendered: Rendered, snapshot: Snapshot) -> tuple[Picture, bool]:
    """The picture, and whether every gang fits."""
    paths = tuple("<stdin>" if path == STDIN else path for path in command.named.paths)
    accepted, comparison = rendered, _Comparison()
    if command.named.baseline is not None and not exit_code(inputs.results):
        comparison = _compared(inputs.package, command.named.baseline, " ".join(paths), snapshot)
        if exit_code(rendered.results):
            # Where an update is refused, the gangs are those that it would lead to.
            accepted = render(inputs.package.replace(baseline=None))
    after = _side(accepted, snapshot)
    picture = picture_of(
        paths,
        after,
        comparison.before,
        findings=rendered.results,
        baseline=command.named.baseline,
        changes=comparison.changes,
        facts=tuple(_facts(rendered, snapshot, command.source_url)),
    )
    return picture, after.placing is None or after.placing.fits


def _facts(rendered: Rendered, snapshot: Snapshot, source_url: str | None) -> Iterator[str]:
    """What the picture is of, as far as the input says it: no clock and no repository is asked."""
    commit = None if source_url is None else _COMMIT.search(source_url)
    if commit is not None:
        yield f"commit {commit[0][:12]}"
    selection = rendered.selection
    if selection is not None:
        if rendered.has_grove:
            named = selection.settings.revision or selection.revision.name
            yield f"Grove {named}" if selection.is_named else f"Grove {named}, which nobody named"
        if selection.settings.kai_version is not None:
            yield f"KAI {selection.settings.kai_version} or newer"
    if snapshot.kai is not None:
        yield f"KAI v0.{snapshot.kai} in the cluster"
    if snapshot.taken:
        yield f"cluster as of {snapshot.taken[:10]} {snapshot.taken[11:16]} UTC"


class _Comparison(Record):
    """The gangs before the change, None where only its objects are known, and the objects that change.

    These are None where a state cannot be rendered.
    """

    before: Side | None = None
    changes: tuple[Changed, ...] | None = None


def _compared(package: Package, name: str, other: str, snapshot: Snapshot) -> _Comparison:
    earlier = _earlier(package)
    old, new = _sorted(state_before(earlier)), _sorted(state_after(package, earlier))
    compared = Compared(compare(old, new), name, other, old.rendered, new.rendered)
    say([f"note: {note}" for note in notes(compared)])
    say(stderr_lines(compared.difference.unreadable, Verbosity.NORMAL), as_they_are=True)
    changes = tuple(
        Changed(kind, actions, tuple(tuple(lines) for lines in objects))
        for kind, actions, objects in changed_kinds(compared)
    )  # fmt: skip
    # An export shows objects, and no workloads whose gangs could be placed.
    before = _side(render(earlier), snapshot) if old.rendered and old.objects is not None else None
    return _Comparison(before, changes if compared.difference.compared else None)


def _earlier(package: Package) -> Package:
    """The package before the change; the configuration of today counts where the baseline has workloads and none."""
    items = package.baseline or ()
    earlier = package.replace(items=items, baseline=None, documents=package.documents_before, documents_before=())
    bare = earlier.replace(function_config=None, context=())
    if not has_sources(bare):
        # An export, which no configuration makes a source of.
        return bare
    if any(has_topology(item) for item in items):
        return earlier
    return earlier.replace(context=(*package.context, *(item for item in package.items if has_topology(item))))


def _sorted(state: State) -> State:
    return state.replace(results=sort_results(state.results))


def _side(rendered: Rendered, snapshot: Snapshot) -> Side:
    there = situation(rendered, snapshot)
    if not snapshot.nodes:
        return Side(there)
    placing = place_gangs(there)
    free = free_after(there, placing)
    return Side(there, placing, tuple(tuple(reasons(gang, there, free)) for gang in placing.gangs))


def _write(output: Drawing, picture: Picture, command: Report) -> bool:
    """Whether the drawing was written."""
    folder = Path(output.file).parent if output.file is not None else Path()
    text = _PRINTERS[output.format](Drawn(picture, Path(os.path.relpath(".", folder)).as_posix(), command.source_url))
    return show(text) if output.file is None else write_text(output.file, text)


_PRINTERS: dict[ReportFormat, Callable[[Drawn], str]] = {"html": as_html, "svg": as_svg, "mermaid": as_mermaid}


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, report, _refuse)
