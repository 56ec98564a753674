"""`packwise render`: the whole result on stdout or in a folder, findings on stderr."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.result import exit_code, sort_results
from packwise.cli.arguments import UsageError, Verbosity
from packwise.cli.console import cannot_write, is_coloured, say, show
from packwise.cli.document import contents_of
from packwise.cli.folder import plan_folder, refuse_same_target
from packwise.cli.input_paths import real
from packwise.cli.inputs import error_result, read_inputs
from packwise.cli.journal import once_complete
from packwise.cli.judgement import closing_of, ending, left_out_lines
from packwise.cli.lock import locked, refuse_interrupted
from packwise.cli.manifests import NAME as LIST
from packwise.cli.rendered_files import outcome_of, rendered_of
from packwise.cli.report.lines import count_of_causes, hidden_infos, stderr_lines
from packwise.cli.stream import stream_of
from packwise.cli.survey import survey
from packwise.cli.swap import remove_left
from packwise.cli.write import apply, refuse_lists_within, refuse_no_folder

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from krmfn.result import Result
    from packwise.cli.arguments import Render
    from packwise.cli.folder import FolderPlan
    from packwise.cli.inputs import Inputs
    from packwise.cli.rendered_files import Outcome
    from packwise.cli.survey import Changes

__all__ = ["render"]


def render(command: Render) -> int:
    """Prints or writes the result; returns the exit code. Raises UsageError before anything is written."""
    output = _output_of(command)
    inputs = _inputs(command, output)
    if output is not None:
        refuse_same_target(inputs.files)
        refuse_lists_within(inputs.files, output)
    rendered = rendered_of(inputs, writes=True)
    closing, listed = closing_of(rendered, inputs.left_out), left_out_lines(inputs.left_out)
    report = _Report(command, closing, tuple(listed))
    if exit_code(rendered.results):
        return report.refuse(rendered.results)
    try:
        outcome = outcome_of(inputs.files, rendered)
        if output is None:
            return _print(outcome, rendered.results, report)
        plan = plan_folder(outcome, split=bool(rendered.gitops) and not command.in_place)
        if exit_code(plan.results):
            return report.refuse([*rendered.results, *plan.results])
        with _alone(Path(output), command):
            return _write(plan, Path(output), rendered.results, contents_of(inputs.files), report)
    except FieldError as error:
        return report.refuse([*rendered.results, error_result(error)])


def _inputs(command: Render, output: str | None) -> Inputs:
    """What is read; where files are written, a change of them that was interrupted comes to its end first."""
    read = partial(read_inputs, command.named, output)
    if output is None:
        return read()
    if command.in_place:
        return read() if command.check else once_complete(read)
    look = partial(refuse_interrupted, Path(real(output)))
    if command.check:
        look()
    else:
        once_complete(look)
    return read()


@contextmanager
def _alone(folder: Path, command: Render) -> Generator[None]:
    """No other render looks at the folder or writes it until the block ends."""
    if command.in_place:
        # What was read is compared once more, under a lock of its own.
        yield
        return
    parent = Path(real(folder)).parent
    if not command.check:
        with suppress(OSError):
            parent.mkdir(parents=True, exist_ok=True)
    with locked(parent):
        yield


def _output_of(command: Render) -> str | None:
    """The folder to write to; None for stdout."""
    if command.in_place:
        paths = command.named.paths
        if len(paths) != 1 or not Path(paths[0]).is_dir():
            got = " ".join([f'"{path}"' for path in paths])
            raise UsageError(f"--in-place must be given with one folder; got {got}")
        return paths[0]
    output = command.output
    if command.check and output is None:
        raise UsageError("--check must go with -o DIR or --in-place, the folder to look at")
    if output is not None:
        refuse_no_folder(output)
    return output


@dataclass(frozen=True, slots=True)
class _Report:
    """What stderr says of a render: findings, and a last line of what was done, judged and left out.

    `closing` is what that line says of the latter two; `listed` are the lines above it that list what is left out.
    """

    command: Render
    closing: str
    listed: tuple[str, ...]

    @property
    def verbosity(self) -> Verbosity:
        """How much is said."""
        return self.command.verbosity

    def list_findings(self, results: Sequence[Result]) -> None:
        """Says what there is to say of `results`."""
        say(stderr_lines(results, self.verbosity, coloured=is_coloured(sys.stderr)), as_they_are=True)

    def end(self, results: Iterable[Result], done: str = "") -> None:
        """Says what was `done`, and the rest of the last line: what is not shown of `results`, what was judged."""
        hidden = hidden_infos(results) if self.verbosity is Verbosity.NORMAL else ""
        say(ending("; ".join([part for part in (done, hidden, self.closing) if part]), self.listed, self.verbosity))

    def refuse(self, results: Iterable[Result]) -> int:
        """Says that nothing was written, and why; returns the exit code."""
        ordered = sort_results(results)
        self.list_findings(ordered)
        refusal = f"{count_of_causes(ordered)}: nothing was written"
        if self.verbosity is Verbosity.QUIET:
            say([refusal])
        self.end((), refusal)
        return 1


def _print(outcome: Outcome, results: Sequence[Result], report: _Report) -> int:
    text = stream_of(outcome)
    report.list_findings(results)
    if not show(text):
        return 1
    report.end(results)
    return 0


def _write(
    plan: FolderPlan, folder: Path, results: Sequence[Result], as_read: Mapping[Path, bytes], report: _Report
) -> int:
    command = report.command
    changes = survey(folder, plan, with_list=not command.in_place)
    findings = sort_results([*results, *plan.results, *changes.results])
    if exit_code(findings):
        return report.refuse(findings)
    report.list_findings(findings)
    if command.check and changes:
        say(_stale(changes, folder))
        report.end(findings)
        return 1
    one_by_one = None
    if not command.in_place:
        remove_left(folder)
    if changes:
        try:
            one_by_one = apply(folder, changes, at_once=not command.in_place, as_read=as_read)
        except OSError as error:
            say([cannot_write(error)])
            return 1
    report.end(findings, _summary(plan, changes, folder, one_by_one))
    return 0


def _stale(changes: Changes, folder: Path) -> Iterator[str]:
    """What a render would change."""
    for name in changes.contents:
        path = folder / name
        yield f"{path.as_posix()}: {'differs' if path.exists() else 'is missing'}"
    for path in changes.removed:
        yield f"{path.as_posix()}: no longer belongs"
    if not changes.contents and not changes.removed:
        yield f"{(folder / LIST).as_posix()}: {'differs' if (folder / LIST).exists() else 'is missing'}"
    yield f"error: {folder.as_posix()} must be what a render of its sources gives; run the same command without --check"


def _summary(plan: FolderPlan, changes: Changes, folder: Path, one_by_one: str | None) -> str:
    if not changes.contents and not changes.removed:
        return f"{folder.as_posix()} is up to date: {_files(len(plan.contents))}"
    parts: list[str] = []
    if plan.generated:
        parts.append(f"{len(plan.generated)} new object{'s' if len(plan.generated) > 1 else ''}")
    if changes.removed:
        parts.append(f"{_files(len(changes.removed))} removed")
    more = f" ({', '.join(parts)})" if parts else ""
    note = "" if one_by_one is None else f", one by one since the folder cannot be replaced at once: {one_by_one}"
    return f"wrote {_files(len(changes.contents))} to {folder.as_posix()}{more}{note}"


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"
