"""The limits that the templates of a command share, and the answer for each: none is filled in twice.

A front end asks for it; commands, and packages of a fleet, begin one.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

MAX_SECONDS_TOGETHER = 20
"""Processor time that the templates of a command may take together, beside a tenth of a second for each."""

MAX_CHARACTERS_TOGETHER = 4_000_000
"""Characters that the templates of a command may become together, beside 20,000 for each."""

_SECONDS_EACH, _CHARACTERS_EACH = 0.1, 20_000


class Account:
    """The time and characters that templates may still take, so that many hostile ones do not take hours.

    `answers` are what became of those that were filled in, and what was read of that: commands ask several times.
    """

    def __init__(self) -> None:
        self._seconds, self._characters = float(MAX_SECONDS_TOGETHER), MAX_CHARACTERS_TOGETHER
        self.answers: dict[bytes, object] = {}

    @property
    def is_spent(self) -> bool:
        """True if no template may take anything more."""
        return self._seconds < 0 or self._characters < 0

    def spend(self, seconds: float, characters: int) -> None:
        """Takes away what a template took beyond what each may take."""
        self._seconds -= seconds - _SECONDS_EACH
        self._characters -= characters - _CHARACTERS_EACH


_CURRENT: ContextVar[Account | None] = ContextVar("account", default=None)


@contextmanager
def one_account() -> Generator[None]:
    """All templates that are filled in within share one account: those of a command, or of a package of a fleet."""
    token = _CURRENT.set(Account())
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_account() -> Account:
    """The account of the command; one of its own for whoever calls without any."""
    return _CURRENT.get() or Account()
