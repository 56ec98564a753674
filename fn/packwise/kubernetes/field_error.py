"""The operator's own error texts: Go's `field.Error`. Source: apimachinery v0.34, util/validation/field."""

from __future__ import annotations

from enum import StrEnum

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from krmfn.value import Value

__all__ = [
    "OMITTED",
    "ErrorType",
    "OperatorError",
    "Sentence",
    "TypedText",
    "Unquoted",
    "go_json",
    "go_number",
    "go_quote",
]


class ErrorType(StrEnum):
    """Kinds of `field.Error`, as they are printed."""

    INVALID = "Invalid value"
    REQUIRED = "Required value"
    DUPLICATE = "Duplicate value"
    FORBIDDEN = "Forbidden"
    NOT_SUPPORTED = "Unsupported value"
    NOT_FOUND = "Not found"
    TOO_LONG = "Too long"
    TOO_MANY = "Too many"
    INTERNAL = "Internal error"


_WITHOUT_VALUE = frozenset({ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.INTERNAL})

_GO_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"',
}  # fmt: skip


class TypedText(str):
    """A string of a named Go type (a topology domain): Go prints it as JSON, not with %q."""

    __slots__ = ()


class Unquoted(str):
    """A text that stands for a value too long to print; it is printed as it is."""

    __slots__ = ()


OMITTED = Unquoted("")
"""In the place of a value that is not printed: newer API servers say no more than the rule of a CRD."""


class OperatorError(NamedTuple):
    """One `field.Error`: `field` is the operator's path, which is not always a true one."""

    field: str
    type: ErrorType
    value: Value = None
    detail: str = ""

    def text(self) -> str:
        """The error as the webhook prints it: `<field>: <type>: <value>: <detail>`."""
        body: str = self.type
        if self.type not in _WITHOUT_VALUE and self.value is not OMITTED:
            body += f": {_go_value(self.value)}"
        if self.detail:
            body += f": {self.detail}"
        return f"{self.field}: {body}"


class Sentence(NamedTuple):
    """A text of the operator that names no field."""

    sentence: str

    def text(self) -> str:
        """The error as the webhook prints it."""
        return self.sentence


def go_quote(text: str) -> str:
    """`text` as Go's `%q` prints it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join([_GO_ESCAPES.get(char) or _go_char(char) for char in text]) + '"'


def go_json(value: Value) -> str:
    """`value` as Go's `json.Marshal` prints it: no spaces, `<`, `>` and `&` escaped, keys in the given order."""
    import json

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def go_number(value: float) -> str:
    """`value` as Go's `json.Marshal` prints a number: whole ones without a point, very large ones with an exponent."""
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value).replace("e-0", "e-")


def _go_char(char: str) -> str:
    code = ord(char)
    if char == " " or (char.isprintable() and char != "\u00a0"):
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _go_value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Unquoted):
        return value
    if isinstance(value, str) and not isinstance(value, TypedText):
        return go_quote(value)
    return str(value) if isinstance(value, int) else go_json(value)
