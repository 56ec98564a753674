"""Kubernetes' own checks of names, labels and annotations, and the text of a field's error.

Source: apimachinery v0.34 and v0.35, util/validation.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from krmfn.errors import describe
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from krmfn.value import Value

V34 = "v0.34"
V35 = "v0.35"
"""Versions of apimachinery, where its texts differ: by `version` below."""

_UNITS = {V34: "characters", V35: "bytes"}
_KEY_NOUNS = {V34: "a qualified name", V35: "a valid label key"}

MAX_ANNOTATION_BYTES = 256 * 1024
"""Keys and values of one object's annotations together."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = f"{_LABEL}(\\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_ENV = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_QUALIFIED_RE = re.compile(_QUALIFIED)
_ENV_RE = re.compile(_ENV)

_ENDS = "and must start and end with an alphanumeric character"
_SUBDOMAIN_TEXT = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
)
_LABEL_TEXT = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
_QUALIFIED_TEXT = f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_VALUE_TEXT = f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_ENV_TEXT = (
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
    "and must not start with a digit"
)

# The same names come again and again within one run.
_remembered = lru_cache(maxsize=4096)


@_remembered
def dns_subdomain(value: str, unit: str = "characters") -> tuple[str, ...]:
    """Errors of `value` as a DNS-1123 subdomain of at most 253 bytes; `unit` is what the text counts in."""
    errors = _too_long(value, 253, unit)
    if not _SUBDOMAIN_RE.fullmatch(value):
        errors.append(_regex_error(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return tuple(errors)


@_remembered
def is_dns_subdomain(value: str) -> bool:
    """True if `value` is a DNS-1123 subdomain of at most 253 bytes."""
    return len(value) <= 253 and _SUBDOMAIN_RE.fullmatch(value) is not None


@_remembered
def dns_label(value: str) -> tuple[str, ...]:
    """Errors of `value` as a DNS-1123 label of at most 63 bytes."""
    errors = _too_long(value, 63)
    if not _LABEL_RE.fullmatch(value):
        dotted = _SUBDOMAIN_RE.fullmatch(value)
        errors.append("must not contain dots" if dotted else _regex_error(_LABEL_TEXT, _LABEL, "my-name", "123-abc"))
    return tuple(errors)


@_remembered
def qualified_name(value: str, version: str = V34) -> tuple[str, ...]:
    """Errors of `value` as a qualified name: an optional DNS prefix and `/`, then at most 63 bytes."""
    unit = _UNITS[version]
    parts = value.split("/")
    examples = ("MyName", "my.name", "123-abc")
    if len(parts) > 2:
        text = _regex_error(_QUALIFIED_TEXT, _QUALIFIED, *examples)
        return (
            f"{_KEY_NOUNS[version]} {text} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    errors: list[str] = []
    if len(parts) == 2:
        wrong = dns_subdomain(parts[0], unit) if parts[0] else ("must be non-empty",)
        errors += [f"prefix part {text}" for text in wrong]
    name = parts[-1]
    errors += [f"name part {text}" for text in (_too_long(name, 63, unit) if name else ["must be non-empty"])]
    if not _QUALIFIED_RE.fullmatch(name):
        errors.append(f"name part {_regex_error(_QUALIFIED_TEXT, _QUALIFIED, *examples)}")
    return tuple(errors)


@_remembered
def label_value(value: str, version: str = V34) -> tuple[str, ...]:
    """Errors of `value` as a label's value."""
    errors = _too_long(value, 63, _UNITS[version])
    if value and not _QUALIFIED_RE.fullmatch(value):
        errors.append(_regex_error(_VALUE_TEXT, f"({_QUALIFIED})?", "MyValue", "my_value", "12345"))
    return tuple(errors)


@_remembered
def env_name(value: str) -> tuple[str, ...]:
    """Errors of `value` as the name of an environment variable."""
    errors: list[str] = []
    if not _ENV_RE.fullmatch(value):
        errors.append(_regex_error(_ENV_TEXT, _ENV, "my.env-name", "MY_ENV.NAME", "MyEnvName1"))
    if value in {".", ".."}:
        errors.append(f"must not be '{value}'")
    elif value.startswith(".."):
        errors.append("must not start with '..'")
    return tuple(errors)


def mask_trailing_dash(prefix: str) -> str:
    """A generateName as it is checked: its last two characters give way to an `a` when it ends in a dash."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _too_long(value: str, limit: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(value.encode("utf-8", "surrogatepass")) > limit else []


def _regex_error(message: str, pattern: str, *examples: str) -> str:
    shown = " or ".join([f"'{example}', " for example in examples])
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


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


JSON_NOUNS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "object": "a mapping",
    "string": "a string",
}
"""packwise's words for the types of JSON, as an API server names them."""


def json_type(value: Value) -> str:
    """The JSON type of `value`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def type_error(field: str, value: Value, wanted: str, got: str = "") -> tuple[str, OperatorError]:
    """packwise's message and the API server's error about a value of another type than it wants at `field`.

    `got` is the type that the value has for the server, where that is not its JSON type.
    """
    got = got or json_type(value)
    error = OperatorError(field, ErrorType.INVALID, got, f'{field} in body must be of type {wanted}: "{got}"')
    return f"must be {JSON_NOUNS[wanted]}; got {describe(value)}", error


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
