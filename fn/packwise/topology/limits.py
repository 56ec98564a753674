"""What a revision's API takes for levels and their keys. Source: revisions.md, table."""

from __future__ import annotations

import re
from typing import NamedTuple

from packwise.kubernetes.field_error import ErrorType
from packwise.kubernetes.validation import qualified_name

__all__ = ["Fault", "Limits"]

_PATTERN = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
_KEY = re.compile(_PATTERN.removesuffix("$") + r"\Z")


class Fault(NamedTuple):
    """What is wrong with a node label key or a domain: packwise's text, the API server's error type and its detail.

    The detail has `{field}` where the API server names the field; it is "" where only the operator looks.
    """

    message: str
    type: ErrorType
    detail: str


class Limits(NamedTuple):
    """How many levels a topology may have (None: any number), how long a key may be, whether it must be a qualified
    name.

    A key that need not be one has the pattern of the CRD, which takes a prefix in upper case too.
    """

    levels: int | None = 7
    key_length: int = 63
    qualified_keys: bool = False

    def key_fault(self, key: str) -> Fault | None:
        """What is wrong with a node label key; None: nothing."""
        if not key:
            return Fault("must not be empty", ErrorType.INVALID, "{field} in body should be at least 1 chars long")
        if len(key) > self.key_length:
            message = f"must not be longer than {self.key_length} characters"
            return Fault(message, ErrorType.TOO_LONG, f"may not be more than {self.key_length} bytes")
        if self.qualified_keys:
            faults = qualified_name(key)
            return Fault(f"must be a qualified name: {'; '.join(faults)}", ErrorType.INVALID, "") if faults else None
        if not _KEY.match(key):
            message = (
                "must be a label key: letters, digits, `-`, `_` and `.`, optionally after a prefix and `/`, each "
                "beginning and ending with a letter or digit"
            )
            return Fault(message, ErrorType.INVALID, f"{{field}} in body should match '{_PATTERN}'")
        return None
