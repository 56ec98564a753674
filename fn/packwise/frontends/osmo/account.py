"""The limits for all templates of one command, and the results of templates that are already filled in.

Each command opens an account, and so does each package of a fleet. The front end uses it to fill in each template only
once.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

MAX_SECONDS_TOGETHER = 20
"""The largest processor time in seconds for all templates of a command. Each template adds a tenth of a second."""

MAX_CHARACTERS_TOGETHER = 4_000_000
"""The largest number of characters in all filled-in templates of a command. Each template adds 20,000."""

_SECONDS_EACH, _CHARACTERS_EACH = 0.1, 20_000


class Account:
    """The time and characters that templates may still use. Without a common limit, many hostile templates could take
    hours.

    `answers` has the result of each template, and the document that was read from it, because a command needs both
    several times.
    """

    def __init__(self) -> None:
        self._seconds, self._characters = float(MAX_SECONDS_TOGETHER), MAX_CHARACTERS_TOGETHER
        self.answers: dict[bytes, object] = {}

    @property
    def is_spent(self) -> bool:
        """Return True if the templates have used all time or all characters."""
        return self._seconds < 0 or self._characters < 0

    def spend(self, seconds: float, characters: int) -> None:
        """Subtract the time and the characters that a template used, and add the fixed amounts for each template."""
        self._seconds -= seconds - _SECONDS_EACH
        self._characters -= characters - _CHARACTERS_EACH


_CURRENT: ContextVar[Account | None] = ContextVar("account", default=None)


@contextmanager
def open_account() -> Generator[None]:
    """Open an account. All templates in the `with` block share it."""
    token = _CURRENT.set(Account())
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_account() -> Account:
    """Return the open account, or a new one if none is open."""
    return _CURRENT.get() or Account()
