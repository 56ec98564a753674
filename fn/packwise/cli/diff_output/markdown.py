"""A comparison as a comment on a pull request: what changes for the scheduler, then what is refused."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.diff_output.result import notes
from packwise.cli.diff_output.text import changed_kinds, refused_lines, summary
from packwise.cli.markdown import Part, Section, code, comment, markup
from packwise.cli.report.lines import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.result import Result
    from packwise.cli.diff_output.result import Compared

__all__ = ["as_markdown", "part"]

_SIGNS = {"±": "!"}
"""What GitHub colours a line by, where it is another sign."""


def as_markdown(compared: Compared) -> str:
    """The whole comment."""
    return comment("packwise diff", [part(compared)])


def part(compared: Compared) -> Part:
    """What the comparison is in a comment."""
    compared = compared._replace(coloured=False)
    difference = compared.difference
    lead = (
        "### What changes for the scheduler",
        f"{code(summary(compared))}",
        f"From {code(compared.before)} to {code(compared.after)}.",
    )
    command = f"packwise diff {compared.before} {compared.after}"
    sections = [
        *_changes(compared),
        *_refused("Cannot be rendered, before the change", difference.unreadable),
        *_refused(
            "Refused" if difference.compared or difference.unreadable else "Cannot be rendered", difference.refusals
        ),
        Section("Notes", [[note] for note in notes(compared)]),
    ]
    return Part(lead, sections, command)


def _changes(compared: Compared) -> Iterator[Section]:
    for kind, title, entries in changed_kinds(compared):
        signed = [[_signed(lines[0]), *lines[1:]] for lines in entries]
        yield Section(f"{markup(kind)}: {title}", signed, language="diff")


def _signed(line: str) -> str:
    """The first line of an object with its sign at the start, where GitHub looks for it."""
    sign, space, rest = line.strip().partition(" ")
    return f"{_SIGNS.get(sign, sign)}{space}{rest}"


def _refused(title: str, results: Sequence[Result]) -> Iterator[Section]:
    entries = [refused_lines(result) for result in results]
    yield Section(f"{title}: {count(results)}", entries, is_open=True)
