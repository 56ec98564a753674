"""What a revision's API takes for levels and their keys. Source: spec/designs.md#1."""

from __future__ import annotations

import re

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Problem, Stage
from packwise.kubernetes.validation import ErrorType, OperatorError, qualified_name

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath

__all__ = ["Limits"]

_PATTERN = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
_KEY = re.compile(_PATTERN.removesuffix("$") + r"\Z")


class Limits(NamedTuple):
    """How many levels a topology may have (None: any number), how long a key may be, whether it must be a qualified
    name.

    A key that need not be one has the pattern of the CRD, which takes a prefix in upper case too.
    """

    levels: int | None = 7
    key_length: int = 63
    qualified_keys: bool = False

    def key_problem(self, path: FieldPath, key: str) -> Problem | None:
        """What is wrong with the node label key at `path` of a topology object; None: nothing.

        Where keys must be qualified names, only the operator looks, and its text has no detail.
        """
        fault = self._fault(format_path(path), key)
        if fault is None:
            return None
        message, kind, detail = fault
        text = OperatorError(format_path(path), kind, key, detail).text()
        return Problem(path, f'{message}; got "{key}"', text, Stage.SCHEMA)

    def _fault(self, field: str, key: str) -> tuple[str, ErrorType, str] | None:
        """packwise's message, and the API server's error type and detail."""
        if not key:
            return "must not be empty", ErrorType.INVALID, f"{field} in body should be at least 1 chars long"
        if len(key) > self.key_length:
            message = f"must not be longer than {self.key_length} characters"
            return message, ErrorType.TOO_LONG, f"may not be more than {self.key_length} bytes"
        if self.qualified_keys:
            faults = qualified_name(key)
            return (f"must be a qualified name: {'; '.join(faults)}", ErrorType.INVALID, "") if faults else None
        if not _KEY.match(key):
            message = (
                "must be a label key: letters, digits, `-`, `_` and `.`, optionally after a prefix and `/`, each "
                "beginning and ending with a letter or digit"
            )
            return message, ErrorType.INVALID, f"{field} in body should match '{_PATTERN}'"
        return None
