"""The parts of one comment on a change: the results of check, diff and place."""

from __future__ import annotations

from pathlib import PurePath
from urllib.parse import quote

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.result import exit_code
from krmfn.run import INTERNAL_ERROR, internal_error
from packwise.answer import PLAIN, Answer, Terminal, Text
from packwise.check.formats import part_of_check
from packwise.check.groups import check_groups
from packwise.diff.difference import diff, state_after, state_before
from packwise.diff.run import Comparison, part_of_comparison, sorted_state
from packwise.inputs.groups import read_groups
from packwise.inputs.reader import has_own_errors
from packwise.inputs.request import Named, UsageError
from packwise.output.findings_text import Checked
from packwise.output.markdown import CommentPart, code, markup
from packwise.output.markdown import comment as comment_of
from packwise.pipeline import SharedRenders, render
from packwise.place.cluster import read_cluster, read_nodes
from packwise.place.run import baseline_of, part_of_placing, place_command, place_render, refuse_empty
from packwise.schedulers.simulation import TooManyPodsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from packwise.check.groups import Verdict
    from packwise.comment.options import Comment
    from packwise.inputs.groups import Checkup, Group
    from packwise.pipeline import Renderer

_FAILED = "### packwise failed\n\nAn internal error ended `packwise comment`. The log of the job has one line about it."

_DIFF = "### What changes for the scheduler"

_PLACE = "### Where the scheduler places the gangs"

_LONGEST = 400
"""The largest number of characters of paths in a marker."""


_Answer = tuple[CommentPart, int, tuple[str, ...]]
"""One command's part of the comment, its exit code and its lines for stderr."""


def comment(command: Comment, terminal: Terminal = PLAIN) -> Answer:  # noqa: ARG001
    """Return the comment, with the highest exit code of its parts. Raise UsageError if an option is wrong.

    After an unexpected exception the comment reports the error, so that the comment of an earlier push does not stay.
    """
    try:
        return _comment(command)
    except (UsageError, FieldError, OSError, MemoryError):
        raise
    except Exception as error:
        failed = comment_of(_marker(command.named.paths), [CommentPart([_FAILED], [], "packwise comment")])
        return Answer((Text((failed,)),), after=(f"error: {internal_error(error)}",), code=INTERNAL_ERROR)


def _comment(command: Comment) -> Answer:
    checkup = read_groups(command.named)
    if command.nodes:
        checkup = checkup.with_nodes(read_nodes(command.nodes))
    renderer = SharedRenders() if command.named.baseline is not None else render
    verdict = check_groups(checkup, is_listed=bool(command.nodes), renderer=renderer)
    answers = [_check_answer(checkup, verdict)]
    if command.named.baseline is not None:
        answers.append(_diff_answer(checkup, command.named, frozenset(map(str, verdict.results)), renderer))
    if command.nodes:
        answers.append(_place_answer(checkup, verdict, command, renderer))
    text = comment_of(_marker(command.named.paths), [part for part, *_ in answers])
    code = max([failed for _, failed, _ in answers])
    notes = [note for *_, own in answers for note in own]
    return Answer((Text((text,)),), tuple(notes), (verdict.coverage.line,), code)


def _marker(paths: Sequence[str]) -> str:
    """Return the marker that distinguishes comments by their paths. Its text cannot end an HTML comment."""
    named = " ".join([quote(path, safe="/._~", errors="surrogateescape") for path in paths])[:_LONGEST]
    return f"packwise comment {named}".replace("--", "-%2D")


def _check_answer(checkup: Checkup, verdict: Verdict) -> _Answer:
    files = [file for file in checkup.files if file.skip_reason is None]
    checked = Checked(verdict.results, len(files), checkup.text_of, coverage=verdict.coverage)
    return part_of_check(checked), exit_code(verdict.results), ()


def _diff_answer(checkup: Checkup, named: Named, reported: frozenset[str], renderer: Renderer) -> _Answer:
    """Return the changes for the scheduler by configuration. Refusals in `reported` are not repeated."""
    baseline = named.baseline or ""
    if has_own_errors(checkup.results):
        return CommentPart([_DIFF, "packwise compares nothing, because it cannot read all files."], [], ""), 1, ()
    groups = [group for group in checkup.groups if not group.package.is_part]
    compared = [_difference(group, _name(group, named, alone=len(groups) == 1), baseline, renderer) for group in groups]
    failed = int(any(each.difference.refusals or not each.difference.is_compared for each in compared))
    compared = [_remove_reported(each, reported) for each in compared]
    if len(compared) == 1:
        return part_of_comparison(compared[0]), failed, ()
    parts = [(each.after, part_of_comparison(each)) for each in compared]
    sections = [
        section.replace(title=f"{markup(name)}: {section.title}") for name, part in parts for section in part.sections
    ]
    changed = sum([any(section.entries for section in part.sections) for _, part in parts])
    lead = [_DIFF, f"Changes since {code(baseline)} in {changed} of {len(parts)} configurations."]
    return CommentPart(lead, sections, f"packwise diff {baseline} PATH"), failed, ()


def _difference(group: Group, name: str, baseline: str, renderer: Renderer) -> Comparison:
    package = group.package
    before = package.baseline_package or package.replace(items=(), documents=())
    old = sorted_state(state_before(before, renderer), group.replace(package=before))
    new = sorted_state(state_after(package, before, renderer), group)
    return Comparison(diff(old, new), baseline, name, old.is_rendered, new.is_rendered)


def _remove_reported(compared: Comparison, reported: frozenset[str]) -> Comparison:
    difference = compared.difference
    refusals = tuple(result for result in difference.refusals if str(result) not in reported)
    return compared.replace(difference=difference.replace(refusals=refusals))


def _name(group: Group, named: Named, *, alone: bool) -> str:
    """Return the user's name of a group's files: the named path, or the folder of their configuration."""
    if alone and len(named.paths) == 1:
        return named.paths[0]
    return PurePath(group.configurations[0]).parent.as_posix() if group.configurations else "."


def _place_answer(checkup: Checkup, verdict: Verdict, command: Comment, renderer: Renderer) -> _Answer:
    """Return the places of the gangs. Raise UsageError if they belong to several clusters."""
    rendered = [(group, each) for group, each in verdict.renders if each.workloads]
    if len(rendered) > 1:
        raise UsageError(
            f"--nodes needs workloads of one cluster, but the input has {len(rendered)} configurations. Pass "
            "the folder of one"
        )
    if has_own_errors(checkup.results) or any(exit_code(each.results) for _, each in rendered):
        return CommentPart([_PLACE, "packwise places nothing, because there are errors."], [], ""), 1, ()
    if not rendered:
        return CommentPart([_PLACE, "The input has no gangs to place."], [], ""), 0, ()
    group, own = rendered[0]
    snapshot = read_cluster(command.nodes, group.package.nodes)
    refuse_empty(command.nodes, snapshot)
    notes: tuple[str, ...] = ()
    try:
        placed = place_render(own, snapshot)
        if command.named.baseline is not None:
            baseline = baseline_of(command.named.baseline, group.package, placed, snapshot, renderer)
            placed = placed.replace(baseline=baseline if baseline.is_placed else None)
            notes = baseline.notes
    except TooManyPodsError as error:
        raise UsageError(str(error)) from None
    part = part_of_placing(placed, place_command(command.named, command.nodes))
    return part, int(not placed.placing.fits), notes
