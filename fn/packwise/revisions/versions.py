"""Releases of KAI, Kueue and Dynamo in spellings of users: `v0.18.6`, `0.18`, `v1.5`. Only the minor release matters.

The records of each component list the known releases. Grove's tags have a separate module.
"""

from __future__ import annotations

import re
from functools import cache

from krmfn.hints import Record
from packwise.wording import list_known

_SPELLING = re.compile(r"v?(\d{1,9})\.(\d{1,9})(?:\.\d{1,9})?(?:[-+][0-9A-Za-z.+-]{1,64})?")


class Component(Record):
    """A component with releases named like `v0.18`, oldest first."""

    name: str
    releases: tuple[str, ...]

    @property
    def newest_release(self) -> str:
        """The newest release that packwise knows."""
        return self.releases[-1]

    def release(self, text: str) -> str | None:
        """Return the release in the text. For a newer release, return the newest known one. Return None for an
        unknown text.
        """
        number = _number(text)
        if number is None:
            return None
        known = {_number(name): name for name in self.releases}
        return known.get(number) or (self.newest_release if self.is_newer(text) else None)

    def is_newer(self, text: str) -> bool:
        """Return True if the text spells a release after the newest known one."""
        number, newest = _number(text), _number(self.newest_release)
        return number is not None and newest is not None and number > newest

    def wrong_release(self, text: str) -> str:
        """Return the error about a text that is neither a known nor a newer release, or ""."""
        if self.release(text) is not None:
            return ""
        message = (
            f'must be a release of {self.name} that packwise knows; got "{text}", known: {list_known(self.releases)}'
        )
        # YAML reads 0.20 as the number 0.2.
        is_cut = f"v{text}0" in self.releases or f"{text}0" in self.releases
        return f"{message}; put it in quotes: a number loses its last zero" if is_cut else message


def _number(text: str) -> tuple[int, int] | None:
    match = _SPELLING.fullmatch(text.strip())
    return None if match is None else (int(match[1]), int(match[2]))


@cache
def component(name: str) -> Component:
    """Return the component of that name. Raise KeyError if packwise knows no releases of it."""
    return {"KAI": _kai, "Kueue": _kueue, "Dynamo": _dynamo}[name]()


def _kai() -> Component:
    from packwise.revisions.kai import OLDEST, RELEASES

    return Component("KAI", tuple(f"v0.{minor}" for minor in range(OLDEST, RELEASES[-1].minor + 1)))


def _kueue() -> Component:
    from packwise.revisions.kueue import RELEASES

    return Component("Kueue", tuple(release.name for release in RELEASES))


def _dynamo() -> Component:
    from packwise.revisions.dynamo import RELEASES

    return Component("Dynamo", tuple(release.name for release in RELEASES))
