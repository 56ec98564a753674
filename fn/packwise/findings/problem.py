"""What is wrong with one field of a value, before it is known by which rule and in which file."""

from __future__ import annotations

from enum import Enum, auto

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings.rule import Stage

__all__ = ["MAX_TEXT", "Cause", "Effect", "Problem"]

MAX_TEXT = 2000
"""Characters of a text that a result shows: a name of a megabyte makes no message of a megabyte."""


class Effect(Enum):
    """What becomes of an object with a problem."""

    REFUSED = auto()
    """It is not taken."""
    UNKNOWN = auto()
    """The field is one that nobody knows: it is dropped, or refused where the client asks for that."""
    IGNORED = auto()
    """It is taken, and the field has no effect, or not the one that its author wants."""
    UNCHECKED = auto()
    """A rule of its CRD cannot be evaluated here, so that nobody knows."""


class Cause(Enum):
    """Why a value is refused, as far as another check depends on it."""

    VALUE = auto()
    """The value is not one of those that are allowed."""
    TYPE = auto()
    """It has another type."""
    REQUIRED = auto()
    """It is absent."""
    UNANSWERED = auto()
    """A rule of the CRD fails on it: the rule expects a value of another shape."""


class Problem(NamedTuple):
    """One problem with the field at `path`; `message` is packwise's own text, from `must` on."""

    path: FieldPath
    """The true path in the value that was judged."""

    message: str
    """What is wrong, and what to do."""

    operator_message: str | None = None
    """The exact text of the operator, API server or webhook that refuses it; None: it has none of its own."""

    stage: Stage | None = None
    """Who refuses it. Without a stage nobody is known to use that text, and users do not see it."""

    effect: Effect = Effect.REFUSED
    """What becomes of the object."""

    cause: Cause = Cause.VALUE
    """Why it is refused."""

    consequence: str = ""
    """Who does what about it; "" where the message says enough."""

    proposed: Value = None
    """The value that the field should have, where that is plain."""

    at_key: bool = False
    """Whether the place of the problem is the field's name rather than its value."""

    @property
    def bounded(self) -> Problem:
        """The problem with texts that are a little longer than is shown: thousands of them do not fill the memory."""
        longest = MAX_TEXT + 1
        text = self.operator_message
        if len(self.message) <= longest and (text is None or len(text) <= longest):
            return self
        return self._replace(message=self.message[:longest], operator_message=None if text is None else text[:longest])

    @property
    def full_message(self) -> str:
        """The message, with its consequence."""
        return f"{self.message}: {self.consequence}" if self.consequence else self.message
