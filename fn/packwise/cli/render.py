"""`packwise render`: the whole result on stdout or in a folder, findings on stderr."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from krmfn.errors import FieldError
from krmfn.result import exit_code, sort_results
from packwise.cli.console import cannot_write, is_coloured, say, show
from packwise.cli.folder import plan_folder, refuse_same_target
from packwise.cli.inputs import read_inputs
from packwise.cli.outcome import outcome_of
from packwise.cli.refusal import refusal
from packwise.cli.rendered import rendered_of
from packwise.cli.report.lines import as_lines, count
from packwise.cli.stream import stream_of
from packwise.cli.usage import UsageError
from packwise.cli.write import apply, refuse_lists_within, survey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.result import Result
    from packwise.cli.arguments import Render
    from packwise.cli.folder import FolderPlan
    from packwise.cli.outcome import Outcome
    from packwise.cli.write import Changes

__all__ = ["render"]


def render(command: Render) -> int:
    """Prints or writes the result; returns the exit code. Raises UsageError before anything is written."""
    output = _output_of(command)
    inputs = read_inputs(command.named, output)
    if output is not None:
        refuse_same_target(inputs.files)
        refuse_lists_within(inputs.files, output)
    rendered = rendered_of(inputs)
    if exit_code(rendered.results):
        return _refuse(rendered.results)
    try:
        outcome = outcome_of(inputs.files, rendered)
        if output is None:
            return _print(outcome, rendered.results)
        return _write(plan_folder(outcome), Path(output), rendered.results)
    except FieldError as error:
        return _refuse([*rendered.results, refusal(error)])


def _output_of(command: Render) -> str | None:
    """The folder to write to; None for stdout."""
    if command.in_place:
        paths = command.named.paths
        if len(paths) != 1 or not Path(paths[0]).is_dir():
            got = " ".join([f'"{path}"' for path in paths])
            raise UsageError(f"--in-place must be given with one folder; got {got}")
        return paths[0]
    output = command.output
    if output is not None and (not output or (Path(output).exists() and not Path(output).is_dir())):
        raise UsageError(f'-o must name a folder; got "{output}"')
    return output


def _print(outcome: Outcome, results: Sequence[Result]) -> int:
    text = stream_of(outcome)
    say(as_lines(results, coloured=is_coloured(sys.stderr)))
    return 0 if show(text) else 1


def _write(plan: FolderPlan, folder: Path, results: Sequence[Result]) -> int:
    changes = survey(folder, plan)
    found = sort_results([*results, *plan.results, *changes.results])
    if exit_code(found):
        return _refuse(found)
    say(as_lines(found, coloured=is_coloured(sys.stderr)))
    try:
        apply(folder, changes)
    except OSError as error:
        say([cannot_write(error)])
        return 1
    say([_summary(plan, changes, folder)])
    return 0


def _summary(plan: FolderPlan, changes: Changes, folder: Path) -> str:
    if not changes.contents and not changes.removed:
        return f"{folder.as_posix()} is up to date: {_files(len(plan.texts))}"
    parts: list[str] = []
    if plan.generated:
        parts.append(f"{len(plan.generated)} new object{'s' if len(plan.generated) > 1 else ''}")
    if changes.removed:
        parts.append(f"{_files(len(changes.removed))} removed")
    more = f" ({', '.join(parts)})" if parts else ""
    return f"wrote {_files(len(changes.contents))} to {folder.as_posix()}{more}"


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"


def _refuse(results: Iterable[Result]) -> int:
    ordered = sort_results(results)
    say([*as_lines(ordered, coloured=is_coloured(sys.stderr)), f"{count(ordered)}: nothing was written"])
    return 1
