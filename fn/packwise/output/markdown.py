"""Comments in Markdown, within the length limit of a pull request."""

from __future__ import annotations

import re
from html import escape

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.terminal import escape_line
from packwise.console import shorten
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Sequence


LIMIT = 65_536
"""The largest number of characters in a comment on GitHub, counted in UTF-16."""


_MARGIN = 1_000


_LONGEST = 400
"""The largest number of characters of a line that are shown."""


_MAX_LINES = 24
"""The largest number of lines of an entry that are shown."""


_RESERVED = 4_000
"""Characters that are reserved for each later section. At most a quarter of the space is reserved."""


_MOST = 1_000_000_000
"""More entries than a part ever has. It reserves the space for their count."""


_TICKS = re.compile("`+")


class Section(Record):
    """A foldable part. `title` is HTML. Each of the `entries` is a list of lines. An entry is shown whole or only
    counted.

    `language` is the language of its code block.
    """

    title: str
    entries: Sequence[Sequence[str]]
    is_open: bool = False
    language: str = "text"


class CommentPart(Record):
    """The part of a comment from one command. `lead` are paragraphs of Markdown. `command` prints the omitted
    entries.
    """

    lead: Sequence[str]
    sections: Sequence[Section]
    command: str


def comment(marker: str, parts: Sequence[CommentPart]) -> str:
    """Return the whole comment. The parts share the space, and each part counts its omitted entries.

    `marker` is invisible. A bot finds its comment again by the marker.
    """
    head = f"<!-- {marker} -->\n"
    leads = ["".join([f"{paragraph}\n\n" for paragraph in part.lead]) for part in parts]
    room = LIMIT - _MARGIN - _size(head)
    room -= sum([_size(lead) + _size(_omitted_line(part, _MOST)) for lead, part in zip(leads, parts, strict=True)])
    later = sum([bool(section.entries) for part in parts for section in part.sections])
    bodies: list[str] = []
    for lead, part in zip(leads, parts, strict=True):
        texts, omitted = [lead], 0
        for section in part.sections:
            if not section.entries:
                continue
            later -= 1
            text, count = _fold(section, room - min(room // 4, later * _RESERVED))
            texts.append(text)
            room -= _size(text)
            omitted += count
        bodies.append("".join([*texts, _omitted_line(part, omitted)]))
    return head + "\n".join(bodies)


def _omitted_line(part: CommentPart, count: int) -> str:
    """Return the last line of a part with `count` omitted entries."""
    if not count:
        return ""
    entries = "1 entry is" if count == 1 else f"{count} entries are"
    return f"{entries} omitted because of GitHub's limit for comments; {code(part.command)} prints all.\n"


def code(text: str) -> str:
    """Return `text` as a code span of Markdown."""
    shown = shorten(escape_line(text), _LONGEST) or " "
    ticks = "`" * (max([len(run) for run in _TICKS.findall(shown)], default=0) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def markup(text: str) -> str:
    """Return `text` as code in HTML for places that do not parse Markdown."""
    return f"<code>{escape(shorten(escape_line(text), _LONGEST))}</code>"


def _fold(section: Section, room: int) -> tuple[str, int]:
    """Return the section with as many entries as fit and the number of omitted entries. Return "" if none fits."""
    frame = f"<details{' open' if section.is_open else ''}><summary>{section.title}</summary>\n\n{{}}\n</details>\n\n"
    # The fence may be as long as the longest line, and the note about omitted entries needs space.
    room -= _size(frame) + 2 * (_LONGEST + 1) + 200
    lines: list[str] = []
    shown = 0
    for entry in section.entries:
        cut = _entry(entry)
        room -= sum([_size(line) + 1 for line in cut])
        if room < 0:
            break
        lines += cut
        shown += 1
    omitted = len(section.entries) - shown
    if not shown:
        return "", omitted
    fence = "`" * max(3, *[len(run) + 1 for line in lines for run in _TICKS.findall(line)], 0)
    note = f"\n{omitted} of {len(section.entries)} omitted.\n" if omitted else ""
    return frame.replace("{}", "\n".join([f"{fence}{section.language}", *lines, fence]) + "\n" + note), omitted


def _entry(lines: Sequence[str]) -> list[str]:
    """Return the lines of an entry as they are shown."""
    shown = [shorten(escape_line(line), _LONGEST) for line in lines[:_MAX_LINES]]
    more = len(lines) - len(shown)
    return [*shown, f"      … {count_text(more, 'more line')}"] if more > 0 else shown


def _size(text: str) -> int:
    """Return the number of characters as GitHub counts them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
