"""Limits that the templates of one command share, and the answers so far.

Front ends read the account. Commands and packages of a fleet open one. Each template is filled in only once.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

MAX_SECONDS_TOGETHER = 20
"""Seconds of processor time for all templates of a command, plus a tenth of a second for each template."""

MAX_CHARACTERS_TOGETHER = 4_000_000
"""Characters of all rendered templates of a command, plus 20,000 for each template."""

_SECONDS_EACH, _CHARACTERS_EACH = 0.1, 20_000


class Account:
    """Time and characters that templates may still use. The shared limit keeps many hostile templates from taking
    hours.

    `answers` holds the outcome of each template that was filled in and the objects read from it. Commands need these
    several times.
    """

    def __init__(self) -> None:
        self._seconds, self._characters = float(MAX_SECONDS_TOGETHER), MAX_CHARACTERS_TOGETHER
        self.answers: dict[bytes, object] = {}

    @property
    def is_spent(self) -> bool:
        """Return True if templates may use no more time or characters."""
        return self._seconds < 0 or self._characters < 0

    def spend(self, seconds: float, characters: int) -> None:
        """Subtract the part that a template used beyond its own share."""
        self._seconds -= seconds - _SECONDS_EACH
        self._characters -= characters - _CHARACTERS_EACH


_CURRENT: ContextVar[Account | None] = ContextVar("account", default=None)


@contextmanager
def one_account() -> Generator[None]:
    """Share one account among all templates of a command or of a package of a fleet."""
    token = _CURRENT.set(Account())
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_account() -> Account:
    """Return the account of the command, or a new one for callers without an account."""
    return _CURRENT.get() or Account()
