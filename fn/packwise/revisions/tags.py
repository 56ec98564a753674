"""The tags of Grove's releases: their order, and the error about a tag without a record.

Source: spec/grove-releases.md#1.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, Record
from packwise.revisions.grove import REVISIONS
from packwise.wording import did_you_mean, list_known

if TYPE_CHECKING:
    from packwise.revisions.grove import Revision

PATTERN = r"^v[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.[0-9]+(-rc[0-9]+)?)?$"
"""The pattern of Grove's tags."""

_LOOSE = re.compile(
    r"v?(?:(\d{1,9})\.(\d{1,9})\.(\d{1,9}))?[-.]?(?:(alpha|beta|rc)[-.]?(\d{1,9})(?:[-.]?rc[-.]?(\d{1,9}))?)?",
    re.IGNORECASE,
)
"""A tag in a loose spelling. The digits are limited because Python does not read numbers with thousands of digits."""

_STAGES = ("alpha", "beta", "rc")

_NEVER_RELEASED = {
    "v0.1.0-alpha.10-rc1": (
        "v0.1.0-alpha.10",
        "which is off Grove's main branch and was never released",
    )
}
"""Tags that are not part of any release, with the release to name instead and a description."""


class Tag(Record):
    """The numbers of a tag."""

    version: tuple[int, int, int]
    stage: int
    number: int
    candidate: float

    @classmethod
    def read(cls, text: str) -> Tag | None:
        """Return the tag in `text`, also in a loose spelling (`alpha.13`, `0.1.0-alpha13`), or None."""
        match = _LOOSE.fullmatch(text.strip())
        if match is None or not any(match.groups()):
            return None
        major, minor, patch, stage, number, candidate = match.groups()
        version = (int(major or 0), int(minor or 1), int(patch or 0)) if major else (0, 1, 0)
        order = _STAGES.index(stage.lower()) if stage else len(_STAGES)
        return cls(version, order, int(number or 0), float(candidate or "inf"))

    @property
    def order(self) -> tuple[object, ...]:
        """Return a key that sorts releases in their order. A candidate comes before its release."""
        return self.version, self.stage, self.number, self.candidate

    def __str__(self) -> str:
        stage = f"-{_STAGES[self.stage]}.{self.number}" if self.stage < len(_STAGES) else ""
        candidate = f"-rc{int(self.candidate)}" if self.candidate != float("inf") else ""
        return f"v{'.'.join([str(number) for number in self.version])}{stage}{candidate}"


_TAGS = {name: tag for name in REVISIONS if (tag := Tag.read(name)) is not None}

NEWEST = max(_TAGS, key=lambda name: _TAGS[name].order)
"""The tag of the newest release with a record."""


def is_newer(name: str) -> bool:
    """Return True if `name` is the tag of a release after the newest one with a record."""
    tag = Tag.read(name) if re.match(PATTERN, name) else None
    return tag is not None and tag.order > _TAGS[NEWEST].order


def known_release(text: str) -> tuple[str, Revision] | None:
    """Return the tag in `text`, such as the version of an image or a chart, and its record. Return None without a
    record.
    """
    tag = str(Tag.read(text) or "")
    return (tag, REVISIONS[tag]) if tag in _TAGS else None


def newest_as(name: str) -> Revision:
    """Return the newest record under the name `name`."""
    return REVISIONS[NEWEST].replace(name=name)


def wrong_name(name: str) -> str:
    """Return the error about a name that is not a revision, with a suggestion, or "" for a revision."""
    if name in REVISIONS or is_newer(name):
        return ""
    tag = Tag.read(name)
    spelt = name if tag is None else str(tag)
    if spelt in _NEVER_RELEASED:
        instead, reason = _NEVER_RELEASED[spelt]
        return f'must be a release of Grove; got "{name}", {reason}; use "{instead}"'
    if tag is None and not name.lower().startswith("v"):
        return f'must be one of {list_known([design for design in REVISIONS if design not in _TAGS])}; got "{name}"'
    near = f'; did you mean "{spelt}"?' if spelt in _TAGS else did_you_mean(spelt, _TAGS)
    return f'must be a release of Grove that packwise knows; got "{name}"{near or f"; the newest is {NEWEST}"}'
