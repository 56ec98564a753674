"""`packwise explain`: why each value of a render is there, or missing."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity, exit_code
from packwise.cli.arguments import STDIN, UsageError
from packwise.cli.console import is_coloured, say, show
from packwise.cli.input_paths import real
from packwise.cli.inputs import read_inputs
from packwise.cli.rendered_files import rendered_of
from packwise.cli.report.lines import as_lines
from packwise.commands.explain import at_line, explanation_of, location_of, named, names
from packwise.wording import closest

if TYPE_CHECKING:
    from packwise.cli.arguments import Explain
    from packwise.cli.inputs import Inputs
    from packwise.commands.explain import Chosen, Explanation

__all__ = ["explain"]

_PLACE = re.compile(r"(?P<file>.+?):(?P<line>[1-9]\d{0,8})(?::\d+)?")
_OBJECT = re.compile(r"[A-Za-z][\w.-]*/\S+")
_WIDTH = 120
"""Columns of what is not shown on a terminal."""


class _Target(NamedTuple):
    """What is asked about: a line of a file, or an object by its name; neither: everything."""

    name: str = ""
    file: str = ""
    line: int = 0


def explain(command: Explain) -> int:
    """Prints the explanation; returns the exit code. Raises UsageError."""
    target, paths = _target(command.target, command.named.paths)
    inputs = read_inputs(replace(command.named, paths=paths))
    rendered = rendered_of(inputs)
    explanation = explanation_of(inputs.package, rendered)
    errors = [result for result in rendered.results if result.severity is Severity.ERROR]
    say(as_lines(errors, coloured=is_coloured(sys.stderr)), as_they_are=True)
    if rendered.selection is None:
        return 1
    chosen = _chosen(target, explanation, inputs)
    if command.as_json:
        from packwise.cli.explain_output.json import as_json

        text = as_json(explanation, chosen)
    else:
        from packwise.cli.explain_output.text import as_text

        text = as_text(explanation, chosen, _width(), coloured=is_coloured(sys.stdout))
    return exit_code(rendered.results) if show(text) else 1


def _target(first: str | None, others: tuple[str, ...]) -> tuple[_Target, tuple[str, ...]]:
    """What is asked about, and the paths to read: the first word is a path where it names one that is there."""
    paths = others or (".",)
    if first is None:
        return _Target(), paths
    if first == STDIN or os.path.lexists(first):
        return _Target(), (first, *others)
    place = _PLACE.fullmatch(first)
    if place is not None:
        return _Target(file=place["file"], line=int(place["line"])), paths
    if _OBJECT.fullmatch(first):
        return _Target(first), paths
    return _Target(), (first, *others)


def _chosen(target: _Target, explanation: Explanation, inputs: Inputs) -> Chosen | None:
    """What is asked about; None where that is everything, or where errors keep the render from having it.

    Raises UsageError where there is nothing of that name or at that place.
    """
    if target.line:
        return _at_line(target, explanation, inputs)
    if not target.name:
        return None
    chosen = named(explanation, target.name)
    if chosen is None and explanation.rendered:
        known = names(explanation)
        suggestion = closest(target.name, known) or f"; there are {len(known)}: `packwise explain PATH` lists them"
        raise UsageError(f'"{target.name}" must be a path, or name a workload or an object of the render{suggestion}')
    return chosen


def _at_line(target: _Target, explanation: Explanation, inputs: Inputs) -> Chosen:
    is_stdin = target.file in (STDIN, "<stdin>")
    files = [file.path.name for file in inputs.read]
    # Objects of a ResourceList are in the files that its client read.
    files += [name for item in explanation.items if (name := location_of(item).file) == target.file]
    wanted = None if is_stdin else real(target.file)
    chosen = [
        at_line(explanation, name, target.line)
        for name in dict.fromkeys(files)
        if (name is None and is_stdin) or (name is not None and wanted == real(name))
    ]
    if not chosen:
        raise UsageError(f'"{target.file}" must be a file that is read; name it, or its folder, as PATH too')
    at = next((each for each in chosen if each is not None), None)
    if at is None:
        raise UsageError(f'"{target.file}" must have an object on line {target.line}')
    return at


def _width() -> int:
    """The columns to fill: those of the terminal, where there is one."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH
