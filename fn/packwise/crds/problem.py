"""What an API server has to say against an object: packwise's own text, and its."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from packwise.kubernetes.field_error import ErrorType, OperatorError

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["NO_FIELD", "Cause", "Place", "Problem"]

NO_FIELD = "<nil>"
"""What the API server calls the field of an error that knows none."""


class Cause(Enum):
    """What kind of problem it is, as far as someone asks."""

    UNKNOWN = auto()
    """A field that nobody knows: it is dropped without a word, or refused where the client asks for it."""
    TYPE = auto()
    REQUIRED = auto()
    VALUE = auto()
    UNANSWERED = auto()
    """A rule of the CRD that finds something else than it expects."""
    UNCHECKED = auto()
    """A rule of the CRD that cannot be evaluated here: no refusal."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem with the field at `path`. `operator_message` is the API server's text, where it has one."""

    path: FieldPath
    cause: Cause
    message: str
    operator_message: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: its path, and how the API server writes that path."""

    path: FieldPath = ()
    text: str = ""

    def field(self, name: str) -> Place:
        """The place of a field."""
        return Place((*self.path, name), f"{self.text}.{name}" if self.text else name)

    def key(self, name: str) -> Place:
        """The place of an entry of a mapping with free keys, as list types and rules write it."""
        return Place((*self.path, name), f"{self.text}[{name}]")

    def entry(self, index: int) -> Place:
        """The place of an entry of a list."""
        return Place((*self.path, index), f"{self.text}[{index}]")

    def refused(
        self, kind: ErrorType, message: str, detail: str = "", value: Value = None, cause: Cause = Cause.VALUE
    ) -> Problem:
        """What is wrong here, as packwise says it and as the API server does."""
        return Problem(self.path, cause, message, OperatorError(self.text or NO_FIELD, kind, value, detail).text())
