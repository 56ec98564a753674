"""`packwise report`: the gangs on the nodes of a cluster, drawn as a page or a picture."""

from __future__ import annotations

import os.path
import re
import sys
from importlib import import_module
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import exit_code, sort_results
from packwise.cli.arguments import STDIN, UsageError, Verbosity
from packwise.cli.cluster_files import read_cluster, read_nodes
from packwise.cli.console import is_coloured, say, show
from packwise.cli.coverage import coverage_of
from packwise.cli.diff_output import Compared, changed_kinds, notes
from packwise.cli.findings_text import stderr_lines
from packwise.cli.inputs import read_inputs
from packwise.cli.outputs import write_text
from packwise.cli.rendered_files import rendered_of
from packwise.cli.report_output.drawing import Drawn
from packwise.commands.diff import State, state_after, state_before
from packwise.commands.diff import diff as compare
from packwise.commands.place.placing import place_gangs, situation
from packwise.commands.place.reasons import free_after, reasons
from packwise.commands.report import Changed, Side, picture_of
from packwise.commands.topologies import has_sources
from packwise.pipeline import render
from packwise.schedulers.kai.gang_jobs import TooManyPodsError
from packwise.schedulers.kai.snapshot import Snapshot
from packwise.settings.recognition import has_topology

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from packwise.cli.arguments import Drawing, Report
    from packwise.cli.inputs import Inputs
    from packwise.commands.report import Picture
    from packwise.pipeline import Rendered
    from packwise.select import Package

__all__ = ["report"]

_COMMIT = re.compile(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
"""A commit in the template of links."""


def report(command: Report) -> int:
    """Writes the drawings; returns 0 where every gang fits and there is no error, else 1. Raises UsageError."""
    if STDIN in command.nodes and STDIN in command.named.paths:
        raise UsageError('"-" must stand once: stdin can be read for one purpose only')
    inputs = read_inputs(command.named)
    if command.nodes:
        inputs = inputs._replace(package=inputs.package._replace(nodes=read_nodes(command.nodes)))
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
            accepted = render(inputs.package._replace(baseline=None))
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


class _Comparison(NamedTuple):
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
    earlier = package._replace(items=items, baseline=None, documents=package.documents_before, documents_before=())
    bare = earlier._replace(function_config=None, context=())
    if not has_sources(bare):
        # An export, which no configuration makes a source of.
        return bare
    if any(has_topology(item) for item in items):
        return earlier
    return earlier._replace(context=(*package.context, *(item for item in package.items if has_topology(item))))


def _sorted(state: State) -> State:
    return state._replace(results=sort_results(state.results))


def _side(rendered: Rendered, snapshot: Snapshot) -> Side:
    there = situation(rendered, snapshot)
    if not snapshot.nodes:
        return Side(there)
    placing = place_gangs(there)
    free = free_after(there, placing)
    return Side(there, placing, tuple(tuple(reasons(gang, there, free)) for gang in placing.gangs))


def _write(output: Drawing, picture: Picture, command: Report) -> bool:
    """Whether the drawing was written."""
    # Each format is a module of report_output/, imported only where it is asked for.
    module = import_module(f"packwise.cli.report_output.{'html' if output.format == 'html' else 'drawing'}")
    draw: Callable[[Drawn], str] = getattr(module, f"as_{output.format}")
    folder = Path(output.file).parent if output.file is not None else Path()
    text = draw(Drawn(picture, Path(os.path.relpath(".", folder)).as_posix(), command.source_url))
    return show(text) if output.file is None else write_text(output.file, text)
