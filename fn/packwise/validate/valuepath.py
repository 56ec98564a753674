"""Where a value is in an object: its path, and how the API server writes that path."""

from __future__ import annotations

from dataclasses import dataclass

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Cause, Problem, Stage
from packwise.kubernetes.validation import OperatorError

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.kubernetes.validation import ErrorType

__all__ = ["NO_FIELD", "ValuePath"]

NO_FIELD = "<nil>"
"""What the API server calls the field of an error that knows none."""


@dataclass(frozen=True, slots=True)
class ValuePath:
    """The path of a value, and `text`, which is that path in the API server's errors."""

    path: FieldPath = ()
    text: str = ""

    def field(self, name: str) -> ValuePath:
        """The path of a field."""
        return ValuePath((*self.path, name), f"{self.text}.{name}" if self.text else name)

    def key(self, name: str) -> ValuePath:
        """The path of an entry of a mapping with free keys, as list types and rules write it."""
        return ValuePath((*self.path, name), f"{self.text}[{name}]")

    def entry(self, index: int) -> ValuePath:
        """The path of an entry of a list."""
        return ValuePath((*self.path, index), f"{self.text}[{index}]")

    def refused(
        self, kind: ErrorType, message: str, detail: str = "", value: Value = None, cause: Cause = Cause.VALUE
    ) -> Problem:
        """What is wrong with the value: packwise's own message, and the API server's text."""
        text = OperatorError(self.text or NO_FIELD, kind, value, detail).text()
        return Problem(self.path, message, text, Stage.SCHEMA, cause=cause)
