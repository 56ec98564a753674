"""A render to stdout or a folder, and its report on stderr."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import exit_code, sort_results
from packwise.answer import PLAIN, Answer, Terminal, Text
from packwise.console import cannot_write
from packwise.inputs.coverage import coverage_of
from packwise.inputs.groups import read_inputs
from packwise.inputs.paths import real
from packwise.inputs.reader import contents_of, error_result
from packwise.inputs.request import UsageError, Verbosity
from packwise.output.findings_text import closing_lines, count_of_causes, hidden_infos, stderr_lines
from packwise.output.write import lock_folder
from packwise.render.files import (
    LIST,
    count_previews,
    outcome_of,
    plan_folder,
    refuse_same_target,
    render_inputs,
    stream_of,
)
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
    """The report of a render on stderr: findings, and a last line with the actions and the coverage.

    `coverage` is the part of that line about checked and skipped files.
    """

    command: Render
    coverage: Coverage
    is_coloured: bool = False

    @property
    def verbosity(self) -> Verbosity:
        """Return the verbosity of the command."""
        return self.command.verbosity

    def findings(self, results: Sequence[Result]) -> list[str]:
        """Return the lines about `results`."""
        return stderr_lines(results, self.verbosity, coloured=self.is_coloured)

    def end(self, results: Iterable[Result], done: str = "") -> list[str]:
        """Return the last lines: the actions `done`, the number of hidden `results`, and the coverage."""
        hidden = hidden_infos(results) if self.verbosity is Verbosity.NORMAL else ""
        last = "; ".join([part for part in (done, hidden, self.coverage.line) if part])
        return closing_lines(last, self.coverage.detail_lines, self.verbosity)

    def refuse(self, results: Iterable[Result], error: FieldError | None = None) -> Answer:
        """Return the answer if nothing was written: the results, and `error` as the reason."""
        ordered = sort_results([*results, *([] if error is None else [error_result(error)])])
        refusal = f"{count_of_causes(ordered)}: nothing was written"
        quiet = [refusal] if self.verbosity is Verbosity.QUIET else []
        return Answer(before=(*self.findings(ordered), *quiet, *self.end((), refusal)), code=1)


def render(command: Render, terminal: Terminal = PLAIN) -> Answer:
    """Return the result, or write it to a folder. Raise UsageError before anything is written."""
    if command.output is not None or command.in_place or command.check:
        return render_folder(command, terminal)
    inputs = read_inputs(command.named)
    rendered = render_inputs(inputs, writes=True)
    coverage = coverage_of(inputs.files, inputs.skipped, rendered)
    report = RenderReport(command, coverage, terminal.is_stderr_coloured)
    if exit_code(rendered.results):
        return report.refuse(rendered.results)
    try:
        text = stream_of(outcome_of(inputs.files, rendered))
    except FieldError as error:
        return report.refuse(rendered.results, error)
    # kubectl applies every object: no annotation excludes one.
    previews = count_previews(rendered)
    note = f"do not apply the {count_text(previews, 'preview')}" if previews else ""
    lines = tuple(report.findings(rendered.results))
    return Answer((Text((text,), is_data=True),), lines, tuple(report.end(rendered.results, note)))


def render_folder(command: Render, terminal: Terminal) -> Answer:
    """Write the result to the folder that `command` names.

    Raise UsageError before anything is written.
    """
    output = _output_of(command)
    inputs = read_inputs(command.named, output)
    refuse_same_target(inputs.files)
    refuse_lists_within(inputs.files, output)
    rendered = render_inputs(inputs, writes=True)
    coverage = coverage_of(inputs.files, inputs.skipped, rendered)
    report = RenderReport(command, coverage, terminal.is_stderr_coloured)
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
) -> Answer:
    """Write the outcome unless it has an error."""
    try:
        plan = plan_folder(outcome, split=split)
        if exit_code(plan.results):
            return report.refuse([*results, *plan.results])
        with _lock_output(output, report.command):
            return _write(plan, output, results, as_read, report)
    except FieldError as error:
        return report.refuse(results, error)


def _output_of(command: Render) -> str:
    """Return the folder to write to. Raise UsageError if the options name none."""
    if command.in_place:
        paths = command.named.paths
        if len(paths) != 1 or not Path(paths[0]).is_dir():
            got = " ".join([f'"{path}"' for path in paths])
            raise UsageError(f"--in-place needs one folder; got {got}")
        return paths[0]
    output = command.output
    if output is None:
        raise UsageError("--check needs -o DIR or --in-place")
    refuse_no_folder(output)
    return output


@contextmanager
def _lock_output(folder: Path, command: Render) -> Generator[None]:
    """Keep other renders from reading or writing the folder until the block ends."""
    if command.in_place:
        # A render in place has its own lock, and compares the files with the content that it read.
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
) -> Answer:
    command = report.command
    changes = survey(folder, plan, with_list=not command.in_place)
    findings = sort_results([*results, *plan.results, *changes.results])
    if exit_code(findings):
        return report.refuse(findings)
    lines = report.findings(findings)
    if command.check and changes:
        return Answer(before=(*lines, *_stale_lines(changes, folder), *report.end(findings)), code=1)
    one_by_one = None
    if not command.in_place:
        remove_left(folder)
    if changes:
        try:
            one_by_one = apply(folder, changes, at_once=not command.in_place, as_read=as_read)
        except OSError as error:
            return Answer(before=(*lines, cannot_write(error)), code=1)
    return Answer(before=(*lines, *report.end(findings, _summary(plan, changes, folder, one_by_one))))


def _stale_lines(changes: Changes, folder: Path) -> Iterator[str]:
    """Yield the lines about files that a render would change."""
    for name in changes.contents:
        path = folder / name
        yield f"{path.as_posix()}: {'differs' if path.exists() else 'is missing'}"
    for path in changes.removed:
        yield f"{path.as_posix()}: is no longer rendered"
    if not changes.contents and not changes.removed:
        yield f"{(folder / LIST).as_posix()}: {'differs' if (folder / LIST).exists() else 'is missing'}"
    yield f"error: {folder.as_posix()} is not up to date; run the same command without --check"


def _summary(plan: FolderPlan, changes: Changes, folder: Path, one_by_one: str | None) -> str:
    if not changes.contents and not changes.removed:
        return f"{folder.as_posix()} is up to date: {count_text(len(plan.contents), 'file')}"
    parts: list[str] = []
    if plan.generated:
        parts.append(f"{len(plan.generated)} new object{'s' if len(plan.generated) > 1 else ''}")
    if changes.removed:
        parts.append(f"{count_text(len(changes.removed), 'file')} removed")
    more = f" ({', '.join(parts)})" if parts else ""
    note = "" if one_by_one is None else f", one by one because the folder cannot be replaced at once: {one_by_one}"
    return f"wrote {count_text(len(changes.contents), 'file')} to {folder.as_posix()}{more}{note}"
