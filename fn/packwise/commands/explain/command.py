"""`packwise explain`: why each value of a render is there, or missing."""

from __future__ import annotations

import os
import re
import sys

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from krmfn.result import Severity, exit_code, sort_results
from packwise.cli.arguments import (
    STDIN,
    Command,
    Named,
    UsageError,
    add_context,
    add_paths,
    add_text_or_json,
    named_of,
)
from packwise.cli.console import is_coloured, say, show
from packwise.cli.findings_text import as_lines, groups_covered, judge_of, objects_judged
from packwise.cli.input_paths import real
from packwise.cli.inputs import read_groups
from packwise.cli.judgement import is_of_release, layers_rendered, results_of
from packwise.commands.explain import at_line, explanation_of, location_of, named, names
from packwise.commands.explain.text import Explained
from packwise.pipeline import render
from packwise.wording import closest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from packwise.cli.inputs import Checkup, Group
    from packwise.pipeline import Rendered

_DESCRIPTION = """\
Says why the scheduler gets what it gets. Without an object: each workload with its gangs, their groups and sets of
pods, the levels that bound them, and what is missing. With an object: every value in it with the field it comes from,
the level it is looked up in, and the rule that makes it. With a line of a file: the values that come from it."""


_EPILOG = """\
examples:
  packwise explain clusters/west
  packwise explain PodGang/inference/llm-0 clusters/west
  packwise explain PodCliqueSet/llm clusters/west            # its tree, and why something in it is missing
  packwise explain clusters/west/llm.yaml:27 clusters/west   # what this line causes
  packwise explain workflow/train pools train.yaml           # a workflow of OSMO
  packwise explain PodGang/inference/llm-0 clusters/west -o json

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""


class Explain(Record):
    """`packwise explain`; `target` is an object, a line of a file, or one more path: the command looks which."""

    named: Named
    target: str | None = None
    as_json: bool = False


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        nargs="?",
        metavar="OBJECT|FILE:LINE",
        help="a workload or a generated object, as Kind/namespace/name or Kind/name; or a line of a file, which an "
        "earlier render may have written; without it, the trees of all workloads",
    )
    add_paths(parser, "*")
    add_text_or_json(parser)
    add_context(parser)


def _read(parsed: argparse.Namespace) -> Explain:
    return Explain(named_of(parsed), parsed.target, parsed.output == "json")


_PLACE = re.compile(r"(?P<file>.+?):(?P<line>[1-9]\d{0,8})(?::\d+)?")
_OBJECT = re.compile(r"[A-Za-z][\w.-]*/\S+")
_WIDTH = 120
"""Columns of what is not shown on a terminal."""


class _Target(Record):
    """What is asked about: a line of a file, or an object by its name; neither: everything."""

    name: str = ""
    file: str = ""
    line: int = 0


def explain(command: Explain) -> int:
    """Prints the explanations; returns the exit code. Raises UsageError."""
    target, paths = _target(command.target, command.named.paths)
    checkup = read_groups(command.named.replace(paths=paths))
    judged = [(group, layers_rendered(group, render(group.package), is_listed=True)) for group in checkup.groups]
    coverage = groups_covered(
        checkup,
        [
            (
                group,
                sum([layer.rendered.workloads for layer in layers]),
                judge_of(layers[0].rendered),
                sum([objects_judged(layer.rendered) for layer in layers]),
            )
            for group, layers in judged
        ],
    )
    rendered = [(layer.group, layer.rendered) for _, layers in judged for layer in layers]
    # Files that belong to no cluster have nothing to explain beside those that do.
    rendered = [pair for pair in rendered if len(rendered) == 1 or pair[0].configurations or pair[1].workloads]
    results = [*checkup.results, *(result for _, layers in judged for result in results_of(layers))]
    # A definition that several groups read is wrong once.
    unique = sort_results({str(result): result for result in results}.values())
    shown = [result for result in unique if result.severity is Severity.ERROR or is_of_release(result)]
    say(as_lines(shown, coloured=is_coloured(sys.stderr)), as_they_are=True)
    explanations = list(_explained(rendered))
    if not explanations:
        say([coverage.line])
        return 1
    explanations = _chosen(target, explanations, checkup)
    if command.as_json:
        from packwise.commands.explain.json import as_json

        text = as_json(explanations, coverage)
    else:
        from packwise.commands.explain.text import as_text

        text = as_text(explanations, _width(), coloured=is_coloured(sys.stdout))
    if not show(text):
        return 1
    say([coverage.line])
    return exit_code(results)


def _explained(rendered: Iterable[tuple[Group, Rendered]]) -> Iterator[Explained]:
    for group, each in rendered:
        if each.selection is not None:
            whole = each.replace(results=sort_results(each.results))
            yield Explained(explanation_of(group.package, whole), group.configurations)


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


def _chosen(target: _Target, explanations: list[Explained], checkup: Checkup) -> list[Explained]:
    """The explanations that have what is asked about; all of them where that is everything.

    Where errors keep a render from having it, its explanation has nothing chosen. Raises UsageError where there is
    nothing of that name or at that place.
    """
    if target.line:
        return _at_line(target, explanations, checkup)
    if not target.name:
        return explanations
    chosen = [each.replace(chosen=named(each.explanation, target.name)) for each in explanations]
    there = [each for each in chosen if each.chosen is not None]
    if not there and all(each.explanation.rendered for each in explanations):
        known = [name for each in explanations for name in names(each.explanation)]
        suggestion = closest(target.name, known) or f"; there are {len(known)}: `packwise explain PATH` lists them"
        raise UsageError(f'"{target.name}" must be a path, or name a workload or an object of the render{suggestion}')
    return there or [each for each in explanations if not each.explanation.rendered]


def _at_line(target: _Target, explanations: list[Explained], checkup: Checkup) -> list[Explained]:
    is_stdin = target.file in (STDIN, "<stdin>")
    wanted = None if is_stdin else real(target.file)
    read = [file.path.name for file in checkup.read]
    is_read = False
    there: list[Explained] = []
    for each in explanations:
        # Objects of a ResourceList are in the files that its client read.
        own = [name for item in each.explanation.items if (name := location_of(item).file) == target.file]
        files = [
            name
            for name in dict.fromkeys([*read, *own])
            if (name is None and is_stdin) or (name is not None and wanted == real(name))
        ]
        is_read = is_read or bool(files)
        at = [at_line(each.explanation, name, target.line) for name in files]
        chosen = next((each_at for each_at in at if each_at is not None), None)
        if chosen is not None and chosen not in [other.chosen for other in there]:
            # What all variants read is the same for each.
            there.append(each.replace(chosen=chosen))
    if not is_read:
        raise UsageError(f'"{target.file}" must be a file that is read; name it, or its folder, as PATH too')
    if not there:
        raise UsageError(f'"{target.file}" must have an object on line {target.line}')
    return there


def _width() -> int:
    """The columns to fill: those of the terminal, where there is one."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, explain)
