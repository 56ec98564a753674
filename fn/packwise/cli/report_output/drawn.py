"""What is drawn, whatever the format: the picture, words for its states, colours of gangs, links into files."""

from __future__ import annotations

import posixpath
from urllib.parse import quote

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.cli.inputs import COMMIT
from packwise.schedulers.kai.allocate.session import FITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from packwise.commands.report import DomainBox, GangBox, Picture

__all__ = [
    "INK",
    "PALETTE",
    "STATES",
    "Drawn",
    "State",
    "counted",
    "deepest_level",
    "listed_gangs",
    "place_of",
    "verdict_of",
]


_MOST_GANGS = 40
_MOST_DOMAINS = 160


class State(NamedTuple):
    """A state of a gang in words, and a sign for it, since colour says nothing to everybody."""

    sign: str
    text: str


STATES = {
    "allocated": State("✓", "fits"),
    "partial": State("◐", "fits in part"),
    "pending": State("✕", "does not fit"),
    "notready": State("…", "is not tried"),
    "": State("", ""),
}

PALETTE = (
    "#77b0f0", "#efad6b", "#7bcc92", "#cf9edb", "#63d2d5", "#f08d83",
    "#d6cf67", "#a59ce8", "#2fb69e", "#d98f55", "#f7a9c6", "#4f9dc4",
)  # fmt: skip
"""The colours of gangs, by their positions, again from the first where there are more."""

INK = "#10151c"
"""The text on a colour of the palette."""


class Drawn(NamedTuple):
    """The picture; `root` is the folder that files are named from, as a path from the drawing's own folder.

    `source_url` is what links are made from in its place.
    """

    picture: Picture
    root: str = "."
    source_url: str | None = None

    def address(self, file: str | None) -> str:
        """The address of a file, with `{line}` in the place of a line's number.

        "" for stdin and for a file of the commit that is compared with, which have none.
        """
        commit = (self.picture.baseline or "").partition(COMMIT)[2]
        if file is None or (commit and file.startswith(f"{commit}:")):
            return ""
        if self.source_url is not None:
            return self.source_url.replace("{path}", quote(posixpath.normpath(file), errors="surrogateescape"))
        path = posixpath.normpath(posixpath.join(self.root, file))
        # Two slashes would begin the name of a host.
        return f"{quote('/' + path.lstrip('/') if path.startswith('/') else path, errors='surrogateescape')}#L{{line}}"

    @property
    def headline(self) -> str:
        """What the drawing says in one line."""
        outcomes = [gang.after for gang in self.picture.gangs if gang.after is not None]
        errors = sum([result.severity is Severity.ERROR for result in self.picture.findings])
        also = f", {counted(errors, 'error')}" if errors else ""
        if errors and not outcomes:
            return f"{counted(errors, 'error')}, and no gang"
        if not self.picture.nodes:
            return counted(len(outcomes), "gang") + also
        fitting = sum([outcome.state in FITS for outcome in outcomes])
        return f"{fitting} of {counted(len(outcomes), 'gang')} fit{'s' if len(outcomes) == 1 else ''}{also}"


def verdict_of(gang: GangBox) -> str:
    """What becomes of a gang: its state, or the change that takes it away."""
    state = STATES[gang.outcome.state]
    return gang.change if gang.after is None else f"{state.sign} {state.text}".strip()


def place_of(gang: GangBox) -> str:
    """The domain of a gang; "" where its pods share none, or the change takes it away."""
    return gang.outcome.domain if gang.after is not None else ""


def listed_gangs(gangs: Sequence[GangBox]) -> list[tuple[int, GangBox]]:
    """The gangs that a picture lists, each with its position: the first ones, those that do not fit before others."""
    listed = sorted(enumerate(gangs), key=lambda pair: (pair[1].outcome.state != "pending", pair[0]))
    return listed[:_MOST_GANGS]


def deepest_level(domains: Sequence[DomainBox]) -> int:
    """The deepest level whose domains are not too many for a picture; the first one at least."""
    depth = 0
    while below := [inner for domain in domains for inner in domain.domains]:
        if len(below) > _MOST_DOMAINS:
            break
        domains, depth = below, depth + 1
    return depth


def counted(number: int, noun: str) -> str:
    """`1 gang`, `2 gangs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
