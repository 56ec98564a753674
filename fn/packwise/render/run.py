"""A render, printed or written to a folder, and what stderr says of it."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from pathlib import Path

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from krmfn.result import exit_code, sort_results
from packwise.console import cannot_write, is_coloured, say, show
from packwise.inputs.coverage import coverage_of
from packwise.inputs.groups import read_inputs
from packwise.inputs.paths import real
from packwise.inputs.reader import contents_of, error_result
from packwise.inputs.request import UsageError, Verbosity
from packwise.output.findings_text import count_of_causes, ending, hidden_infos, stderr_lines
from packwise.output.write import lock_folder
from packwise.render.files import LIST, outcome_of, plan_folder, refuse_same_target, render_inputs, stream_of
from packwise.render.folder import apply, refuse_lists_within, refuse_no_folder, remove_left, survey
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from krmfn.result import Result
    from packwise.inputs.coverage import Coverage
    from packwise.render.files import FolderPlan, RenderedFiles
    from packwise.render.folder import Changes
    from packwise.render.options import Render


class RenderReport(Record):
    """The report of a render on stderr: findings, and a last line of what was done, judged and left out.

    `coverage` is what that line says of the latter two.
    """

    command: Render
    coverage: Coverage

    @property
    def verbosity(self) -> Verbosity:
        """The verbosity of the command."""
        return self.command.verbosity

    def list_findings(self, results: Sequence[Result]) -> None:
        """Says what there is to say of `results`."""
        say(stderr_lines(results, self.verbosity, coloured=is_coloured(sys.stderr)), as_they_are=True)

    def end(self, results: Iterable[Result], done: str = "") -> None:
        """Says what was `done`, and the rest of the last line: what is not shown of `results`, what was judged."""
        hidden = hidden_infos(results) if self.verbosity is Verbosity.NORMAL else ""
        last = "; ".join([part for part in (done, hidden, self.coverage.line) if part])
        say(ending(last, self.coverage.detail_lines, self.verbosity))

    def refuse(self, results: Iterable[Result], error: FieldError | None = None) -> int:
        """Says that nothing was written, and why, an `error` beside the results; returns the exit code."""
        ordered = sort_results([*results, *([] if error is None else [error_result(error)])])
        self.list_findings(ordered)
        refusal = f"{count_of_causes(ordered)}: nothing was written"
        if self.verbosity is Verbosity.QUIET:
            say([refusal])
        self.end((), refusal)
        return 1


def render(command: Render) -> int:
    """Prints or writes the result; returns the exit code. Raises UsageError before anything is written."""
    if command.output is not None or command.in_place or command.check:
        # Who prints imports nothing of what writes.

        return render_folder(command)
    inputs = read_inputs(command.named)
    rendered = render_inputs(inputs, writes=True)
    report = RenderReport(command, coverage_of(inputs.files, inputs.left_out, rendered))
    if exit_code(rendered.results):
        return report.refuse(rendered.results)
    try:
        text = stream_of(outcome_of(inputs.files, rendered))
    except FieldError as error:
        return report.refuse(rendered.results, error)
    report.list_findings(rendered.results)
    if not show(text, is_data=True):
        return 1
    report.end(rendered.results)
    return 0


def render_folder(command: Render) -> int:
    """Writes the result to the folder that `command` names; returns the exit code.

    Raises UsageError before anything is written.
    """
    output = _output_of(command)
    inputs = read_inputs(command.named, output)
    refuse_same_target(inputs.files)
    refuse_lists_within(inputs.files, output)
    rendered = render_inputs(inputs, writes=True)
    report = RenderReport(command, coverage_of(inputs.files, inputs.left_out, rendered))
    if exit_code(rendered.results):
        return report.refuse(rendered.results)
    try:
        outcome = outcome_of(inputs.files, rendered)
    except FieldError as error:
        return report.refuse(rendered.results, error)
    split = bool(rendered.gitops) and not command.in_place
    return _write_outcome(outcome, Path(output), rendered.results, contents_of(inputs.files), report, split=split)


def _write_outcome(
    outcome: RenderedFiles,
    output: Path,
    results: Sequence[Result],
    as_read: Mapping[Path, bytes],
    report: RenderReport,
    *,
    split: bool = False,
) -> int:
    """Writes the outcome, where nothing is wrong with that; returns the exit code."""
    try:
        plan = plan_folder(outcome, split=split)
        if exit_code(plan.results):
            return report.refuse([*results, *plan.results])
        with _alone(output, report.command):
            return _write(plan, output, results, as_read, report)
    except FieldError as error:
        return report.refuse(results, error)


def _output_of(command: Render) -> str:
    """The folder to write to."""
    if command.in_place:
        paths = command.named.paths
        if len(paths) != 1 or not Path(paths[0]).is_dir():
            got = " ".join([f'"{path}"' for path in paths])
            raise UsageError(f"--in-place must be given with one folder; got {got}")
        return paths[0]
    output = command.output
    if output is None:
        raise UsageError("--check must go with -o DIR or --in-place, the folder to look at")
    refuse_no_folder(output)
    return output


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
    with lock_folder(parent):
        yield


def _write(
    plan: FolderPlan, folder: Path, results: Sequence[Result], as_read: Mapping[Path, bytes], report: RenderReport
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
    """The lines for what a render would change."""
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
        return f"{folder.as_posix()} is up to date: {count_text(len(plan.contents), 'file')}"
    parts: list[str] = []
    if plan.generated:
        parts.append(f"{len(plan.generated)} new object{'s' if len(plan.generated) > 1 else ''}")
    if changes.removed:
        parts.append(f"{count_text(len(changes.removed), 'file')} removed")
    more = f" ({', '.join(parts)})" if parts else ""
    note = "" if one_by_one is None else f", one by one since the folder cannot be replaced at once: {one_by_one}"
    return f"wrote {count_text(len(changes.contents), 'file')} to {folder.as_posix()}{more}{note}"
