"""Kubernetes' own checks of names, labels, annotations, quantities and durations, and the texts of its errors.

Source: apimachinery v0.34 and v0.35, util/validation.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from krmfn.fieldpath import describe, format_path
from krmfn.hints import TYPE_CHECKING, Record
from packwise.findings import Problem, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Literal, TypeAlias

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value


V34 = "v0.34"
V35 = "v0.35"
"""Versions of apimachinery with different texts."""

_UNITS = {V34: "characters", V35: "bytes"}
_KEY_NOUNS = {V34: "a qualified name", V35: "a valid label key"}

MAX_ANNOTATION_BYTES = 256 * 1024
"""The largest number of bytes of all keys and values of an object's annotations."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = f"{_LABEL}(\\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_ENV = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"
_ALPHANUMERIC = _LOWER + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

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


# The patterns above appear only in texts. These functions accept the same values without compiling the patterns,
# because that would take a hundredth of a short run.


def _is_label(value: str) -> bool:
    return value != "" and not value.strip(f"{_LOWER}-") and value[0] != "-" and value[-1] != "-"


def _is_subdomain(value: str) -> bool:
    return all(map(_is_label, value.split(".")))


def _is_qualified(value: str) -> bool:
    is_of_characters = value != "" and not value.strip(f"{_ALPHANUMERIC}-_.")
    return is_of_characters and value[0] in _ALPHANUMERIC and value[-1] in _ALPHANUMERIC


def _is_env(value: str) -> bool:
    return value.isascii() and value.replace("-", "_").replace(".", "_").isidentifier()


# One run checks the same names many times.
_remembered = lru_cache(maxsize=4096)


@_remembered
def dns_subdomain(value: str, unit: str = "characters") -> tuple[str, ...]:
    """Return errors of `value` as a DNS-1123 subdomain of at most 253 bytes. `unit` is the text's word for bytes."""
    errors = _too_long(value, 253, unit)
    if not _is_subdomain(value):
        errors.append(_regex_error(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return tuple(errors)


@_remembered
def is_dns_subdomain(value: str) -> bool:
    """Return True if `value` is a DNS-1123 subdomain of at most 253 bytes."""
    return len(value) <= 253 and _is_subdomain(value)


def is_prefixed_name(value: str, *, dns_prefix: bool) -> bool:
    """Return True if `value` matches a CRD's pattern of qualified names: a name of any length, with or without a
    prefix.

    With `dns_prefix`, the prefix must be a DNS subdomain.
    """
    prefix, slash, name = value.rpartition("/")
    is_prefix = _is_subdomain if dns_prefix else _is_qualified
    return (not slash or is_prefix(prefix)) and _is_qualified(name)


@_remembered
def dns_label(value: str, unit: str = "characters") -> tuple[str, ...]:
    """Return errors of `value` as a DNS-1123 label of at most 63 bytes. `unit` is the word for bytes in the text."""
    errors = _too_long(value, 63, unit)
    if not _is_label(value):
        dotted = _is_subdomain(value)
        errors.append("must not contain dots" if dotted else _regex_error(_LABEL_TEXT, _LABEL, "my-name", "123-abc"))
    return tuple(errors)


@_remembered
def qualified_name(value: str, version: str = V34) -> tuple[str, ...]:
    """Return the errors of `value` as a qualified name: an optional DNS prefix and `/`, then at most 63 bytes."""
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
    if not _is_qualified(name):
        errors.append(f"name part {_regex_error(_QUALIFIED_TEXT, _QUALIFIED, *examples)}")
    return tuple(errors)


@_remembered
def label_value(value: str, version: str = V34) -> tuple[str, ...]:
    """Return the errors of `value` as a label's value."""
    errors = _too_long(value, 63, _UNITS[version])
    if value and not _is_qualified(value):
        errors.append(_regex_error(_VALUE_TEXT, f"({_QUALIFIED})?", "MyValue", "my_value", "12345"))
    return tuple(errors)


@_remembered
def env_name(value: str) -> tuple[str, ...]:
    """Return the errors of `value` as the name of an environment variable."""
    errors: list[str] = []
    if not _is_env(value):
        errors.append(_regex_error(_ENV_TEXT, _ENV, "my.env-name", "MY_ENV.NAME", "MyEnvName1"))
    if value in {".", ".."}:
        errors.append(f"must not be '{value}'")
    elif value.startswith(".."):
        errors.append("must not start with '..'")
    return tuple(errors)


def path_segment(value: str) -> tuple[str, ...]:
    """Return the errors of `value` as one segment of a URL's path."""
    if value in {".", ".."}:
        return (f"may not be '{value}'",)
    return tuple([f"may not contain '{char}'" for char in "/%" if char in value])


def mask_trailing_dash(prefix: str) -> str:
    """Return a generateName in the form that is validated.

    If it ends in a dash, an `a` replaces its last two characters.
    """
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _too_long(value: str, limit: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(value.encode("utf-8", "surrogatepass")) > limit else []


def _regex_error(message: str, pattern: str, *examples: str) -> str:
    shown = " or ".join([f"'{example}', " for example in examples])
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


class ErrorType(StrEnum):
    """Types of `field.Error`, spelt as Kubernetes prints them."""

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
    """A string of a named Go type, such as a topology domain. Kubernetes prints it as JSON, not with %q."""

    __slots__ = ()


class Unquoted(str):
    """A text that an error prints instead of a value that is too long. It has no quotes."""

    __slots__ = ()


OMITTED = Unquoted("")
"""The value of an error that prints no value. Newer API servers print only the rule of a CRD."""


class OperatorError(Record):
    """One `field.Error`. `field` is the operator's path, which may be inaccurate."""

    field: str
    type: ErrorType
    value: Value = None
    detail: str = ""

    def text(self) -> str:
        """Return the error as the webhook prints it: `<field>: <type>: <value>: <detail>`."""
        body: str = self.type
        if self.type not in _WITHOUT_VALUE and self.value is not OMITTED:
            body += f": {_go_value(self.value)}"
        if self.detail:
            body += f": {self.detail}"
        return f"{self.field}: {body}"


class MetadataError(Record):
    """An error at `path` in an object's metadata, and packwise's message about it."""

    path: FieldPath
    message: str
    error: OperatorError


def metadata_errors(metadata: Mapping[str, Value], version: str) -> Iterator[MetadataError]:
    """Yield the errors that `ValidateObjectMeta` finds in the metadata of a namespaced object.

    The name must be a DNS subdomain.
    """
    texts = {key: value for key, value in metadata.items() if isinstance(value, str)}
    prefix, name, namespace = texts.get("generateName", ""), texts.get("name", ""), texts.get("namespace", "")
    path: FieldPath = ("metadata", "generateName")
    for wrong in dns_subdomain(mask_trailing_dash(prefix)) if prefix else ():
        yield _invalid_error(path, prefix, wrong, f'must be the beginning of a DNS subdomain; got "{prefix}"')
    path = ("metadata", "name")
    if not name and not prefix:
        required = OperatorError("metadata.name", ErrorType.REQUIRED, None, "name or generateName is required")
        yield MetadataError(path, "must name the object", required)
    for wrong in dns_subdomain(name) if name else ():
        yield _invalid_error(path, name, wrong, f'must be a DNS subdomain; got "{name}"')
    for wrong in dns_label(namespace) if namespace else ():
        yield _invalid_error(("metadata", "namespace"), namespace, wrong, f'must be a DNS label; got "{namespace}"')
    for part, errors in (("labels", label_errors), ("annotations", annotation_errors)):
        entries = metadata.get(part)
        if isinstance(entries, dict):
            written = {key: value for key, value in entries.items() if isinstance(value, str)}
            yield from errors(written, ("metadata", part), version)


def label_errors(labels: Mapping[str, str], path: FieldPath, version: str) -> Iterator[MetadataError]:
    """Yield errors of the labels at `path`. `version` is the version of apimachinery."""
    for key, value in labels.items():
        for wrong in qualified_name(key, version):
            message = f'key "{key}" must be a valid label key'
            yield _invalid_error((*path, key), key, wrong, message, field=format_path(path))
        for wrong in label_value(value, version):
            message = f'label "{key}" must have a valid label value; got "{value}"'
            yield _invalid_error((*path, key), value, wrong, message, field=format_path(path))


def annotation_errors(annotations: Mapping[str, str], path: FieldPath, version: str) -> Iterator[MetadataError]:
    """Yield errors of the annotations at `path`. `version` is the version of apimachinery."""
    for key in annotations:
        for wrong in qualified_name(key.lower(), version):
            message = f'key "{key}" must be a valid annotation key'
            yield _invalid_error((*path, key), key, wrong, message, field=format_path(path))
    size, limit = _bytes("".join(annotations)) + _bytes("".join(annotations.values())), MAX_ANNOTATION_BYTES
    if size > limit:
        error = OperatorError(format_path(path), ErrorType.TOO_LONG, None, f"may not be more than {limit} bytes")
        message = f"keys and values must be at most {limit} bytes long together; got {size}"
        yield MetadataError(path, message, error)


def _invalid_error(path: FieldPath, value: str, wrong: str, message: str, *, field: str = "") -> MetadataError:
    error = OperatorError(field or format_path(path), ErrorType.INVALID, value, wrong)
    return MetadataError(path, message + (variable_advice(value) or f": {wrong}"), error)


def variable_advice(value: str) -> str:
    """Return the end of a message about `value`: advice to replace its variable `${...}`, or "" without a variable."""
    return '; replace the variable first, for example with "flux envsubst"' if "${" in value else ""


def _bytes(value: str) -> int:
    return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))


JSON_NOUNS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "object": "a mapping",
    "string": "a string",
}
"""packwise's words for the JSON types that an API server names."""


def json_type(value: Value) -> str:
    """Return the JSON type of `value`."""
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
    """Return packwise's message and the API server's error about a value of a wrong type at `field`.

    `got` is the API server's name for the type of `value` if it differs from the JSON type.
    """
    got = got or json_type(value)
    error = OperatorError(field, ErrorType.INVALID, got, f'{field} in body must be of type {wanted}: "{got}"')
    return f"must be {JSON_NOUNS[wanted]}; got {describe(value)}", error


def refusal(
    path: FieldPath,
    message: str,
    error: OperatorError | str,
    stage: Stage = Stage.WEBHOOK,
    *,
    at_key: bool = False,
) -> Problem:
    """Return a problem for which the component of `stage` refuses the object. `error` is its error, or the text of its
    error.
    """
    return Problem(path, message, error if isinstance(error, str) else error.text(), stage, at_key=at_key)


def field_error(
    path: FieldPath,
    kind: ErrorType,
    value: Value,
    detail: str,
    message: str,
    *,
    stage: Stage = Stage.WEBHOOK,
    field: str | None = None,
    at_key: bool = False,
) -> Problem:
    """Return a problem for which the component of `stage` refuses the object with a `field.Error`.

    The error names `field`, or `path` if `field` is None.
    """
    error = OperatorError(format_path(path) if field is None else field, kind, value, detail)
    return refusal(path, message, error, stage, at_key=at_key)


def go_quote(text: str) -> str:
    """Return `text` as Go's `%q` prints it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join([_GO_ESCAPES.get(char) or _go_char(char) for char in text]) + '"'


def go_json(value: Value) -> str:
    """Return `value` as Go's `json.Marshal` prints it: without spaces, with `<`, `>` and `&` escaped. Keys keep their
    order.
    """
    import json

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def go_number(value: float) -> str:
    """Return `value` as Go's `json.Marshal` prints it.

    Integers have no point, and very large numbers have an exponent.
    """
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value).replace("e-0", "e-")


def unmarshal_error(value: Value, go: str, field: str = "", *, digits: str = "") -> str:
    """Return the error of `json.Unmarshal` about a value that is not of the type `go`, at `field` of its struct.

    If `value` is a number of the wrong kind, `digits` is its text.
    """
    target = f"struct field {field}" if field else "value"
    return f"json: cannot unmarshal {_go_kind(value, digits)} into Go {target} of type {go}"


def _go_kind(value: Value, digits: str) -> str:
    kind = json_type(value)
    if kind in ("integer", "number"):
        return f"number {digits}" if digits else "number"
    return "bool" if kind == "boolean" else kind


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


# Quantities, durations and integers as Kubernetes and Go read them, and the requests of a pod. Source: apimachinery
# v0.37.2, api/resource (quantity.go, suffix.go, amount.go); Go, time and strconv. Requests: Kubernetes v1.34,
# component-helpers `AggregateContainerRequests`, and KAI Scheduler v0.17.0, api/pod_info. Sidecars are init containers
# with a restart policy.


# ParseQuantity accepts a number without digits as 0, and skips leading zeros.
_QUANTITY = re.compile(r"([+-]?)0*+([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[+-]?[0-9]*+)")
_EXPONENT = r"[eE]([+-]?[0-9]++)"
_BINARY = {f"{letter}i": 10 * step for step, letter in enumerate("KMGTPE", 1)}
_BINARY_SUFFIXES = ("", *_BINARY)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}
_NANO = -9
NANOS = 10**-_NANO
"""Billionths of one. A quantity has no smaller part."""
_MAX_FACTORS = 18
"""A number with at most this many digits fits into 64 bits. It is not rounded, and may keep its text."""

_MAX_DIGITS = 1000
"""The largest number of digits that are read, and the largest power of ten. No cluster has such amounts."""

MAX_QUANTITY = 2**63 - 1
"""The largest binary quantity, and the largest amount of a resource."""

_FORMAT_TEXT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NUMERIC_TEXT = "unable to parse numeric part of quantity"
_SUFFIX_TEXT = "unable to parse quantity's suffix"


_Notation: TypeAlias = 'Literal["binary", "decimal", "exponent"]'
"""The notation of a quantity. Kubernetes prints a quantity in the notation in which it was written."""


class _Quantity(Record):
    """The number `unscaled` times ten to the `power`. If `text` is not empty, Kubernetes prints it unchanged."""

    unscaled: int
    power: int
    notation: _Notation
    text: str = ""

    @property
    def nanos(self) -> int:
        """Return the number in billionths. A power of ten above `_MAX_DIGITS` counts as `_MAX_DIGITS`."""
        return self.unscaled * 10 ** max(0, min(self.power, _MAX_DIGITS) - _NANO)


@lru_cache(maxsize=4096)
def _parse_quantity(text: str) -> _Quantity | str:
    """Return a quantity as ParseQuantity reads it, or its error."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or not match[0]:
        return _FORMAT_TEXT
    suffix = match[4]
    number, fraction = match[2] or "0", match[3] or ""
    sign = -1 if match[1] == "-" else 1
    if suffix in _BINARY:
        return _binary_quantity(match, sign, number, fraction)
    exponent = None if suffix in _DECIMAL else re.fullmatch(_EXPONENT, suffix)
    power = _DECIMAL.get(suffix) if exponent is None else _exponent(exponent[1])
    if power is None:
        return _SUFFIX_TEXT
    notation = "decimal" if exponent is None else "exponent"
    digits, scale = number + fraction, power - len(fraction)
    if len(digits) > _MAX_FACTORS or scale < _NANO:
        return _round_number(match, sign, scale, notation)
    is_canonical = scale % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
    return _Quantity(sign * int(digits), scale, notation, match[0] if is_canonical else "")


def _binary_quantity(match: re.Match[str], sign: int, number: str, fraction: str) -> _Quantity | str:
    exponent = _BINARY[match[4]]
    # By Kubernetes' own estimate, this many digits and the suffix fit into 64 bits.
    if fraction or len(number) > 14 - exponent * 3 // 10:
        return _round_number(match, sign, -len(fraction), "binary", 1 << exponent)
    is_canonical = int(number) % 8 != 0
    return _Quantity(sign * int(number) << exponent, 0, "binary", match[0] if is_canonical else "")


def _round_number(match: re.Match[str], sign: int, power: int, notation: _Notation, factor: int = 1) -> _Quantity | str:
    """Return a number, rounded away from zero to billionths as in Kubernetes, or Kubernetes' error.

    A binary number is at most `MAX_QUANTITY`.
    """
    digits = match[2] + (match[3] or "")
    if not digits and not match[0].lstrip("+-").startswith("0"):
        return _NUMERIC_TEXT
    unscaled = int(digits[:_MAX_DIGITS] or "0")
    cut = digits[_MAX_DIGITS:]
    unscaled, power = (unscaled + (cut.strip("0") != "")) * factor, power + len(cut)
    if unscaled and power < _NANO:
        finer = _NANO - power
        unscaled = -(-unscaled // 10**finer) if finer < 2 * _MAX_DIGITS else 1
        power = _NANO
    if factor > 1 and unscaled * 10 ** max(0, power - _NANO) > MAX_QUANTITY * NANOS:
        unscaled, power = MAX_QUANTITY, 0
    return _Quantity(sign * unscaled, power, notation)


def _exponent(text: str) -> int | None:
    """Return the lower 32 bits of an exponent, as Kubernetes keeps them. Return None if it exceeds 64 bits."""
    digits = text.lstrip("+-").lstrip("0")
    # Python refuses to read numbers of thousands of digits.
    number = int(text) if len(digits) < 20 else _MAX
    return (number + (1 << 31)) % (1 << 32) - (1 << 31) if -_MAX <= number < _MAX else None


def quantity_fault(text: str) -> str | None:
    """Return Kubernetes' error about `text`. Return None if it is a quantity."""
    parsed = _parse_quantity(text)
    return parsed if isinstance(parsed, str) else None


def canonical_quantity(text: str) -> str:
    """Return the quantity `text` as Kubernetes prints it: `0.5` is `500m`, `2000` is `2k`, `1024Mi` is `1Gi`."""
    parsed = _parse_quantity(text)
    if isinstance(parsed, str) or parsed.text:
        return text if isinstance(parsed, str) else parsed.text
    if not parsed.unscaled:
        return "0"
    rest, part = divmod(parsed.nanos if parsed.notation == "binary" else 0, NANOS)
    if not part and abs(rest) >= 1024:
        step = 0
        while rest % 1024 == 0:
            step, rest = step + 1, rest // 1024
        return f"{rest}{_BINARY_SUFFIXES[step]}"
    digits = str(parsed.unscaled)
    bare = digits.rstrip("0")
    power = parsed.power + len(digits) - len(bare)
    whole = f"{bare}{'0' * (power % 3)}"
    power -= power % 3
    if parsed.notation != "exponent" and power in _DECIMAL_SUFFIXES:
        return whole + _DECIMAL_SUFFIXES[power]
    # A larger power has no suffix.
    return f"{whole}e{power}" if power else whole


def container_requests(spec: Mapping[str, Value]) -> dict[str, int]:
    """Return a pod's positive requests by resource: millicores of `cpu`, else whole units, rounded up.

    These are the containers' requests. KAI does not read the request of the whole pod (`spec.resources`).
    """
    running: dict[str, int] = {}
    most: dict[str, int] = {}
    for container in _mappings(spec.get("initContainers")):
        request = _request(container)
        if container.get("restartPolicy") == "Always":
            running = _sum(running, request)
            most = _max(most, running)
        else:
            most = _max(most, _sum(running, request))
    for container in _mappings(spec.get("containers")):
        running = _sum(running, _request(container))
    total = _max(running, most)
    overhead = spec.get("overhead")
    total = _sum(total, amounts(overhead) if isinstance(overhead, dict) else {})
    return {name: amount for name, amount in sorted(total.items()) if amount > 0}


def amounts(quantities: Mapping[str, Value]) -> dict[str, int]:
    """Return quantities as whole numbers, rounded up: `cpu` in millicores, others in units. Invalid quantities are
    skipped.

    An amount has 64 bits. Kubernetes' Value and MilliValue are undefined for larger quantities. This function then
    returns the largest amount.
    """
    read: dict[str, int] = {}
    for name, written in quantities.items():
        number = read_nanos(written)
        if number is not None:
            whole = -(-number // (NANOS // 1000 if name == "cpu" else NANOS))
            read[name] = max(-MAX_QUANTITY, min(whole, MAX_QUANTITY))
    return read


def read_nanos(written: Value) -> int | None:
    """Return a quantity in billionths, as ParseQuantity rounds and limits it. Return None if it is not a quantity."""
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        return None
    if isinstance(written, int):
        return written * NANOS
    return _nanos(str(written))


@lru_cache(maxsize=4096)
def _nanos(text: str) -> int | None:
    parsed = _parse_quantity(text)
    return None if isinstance(parsed, str) else parsed.nanos


def _request(container: Mapping[str, Value]) -> dict[str, int]:
    """Return the requests of a container. For a missing request, return the limit, as the API server does."""
    resources = container.get("resources")
    if not isinstance(resources, dict):
        return {}
    limits, requests = resources.get("limits"), resources.get("requests")
    return {
        **(amounts(limits) if isinstance(limits, dict) else {}),
        **(amounts(requests) if isinstance(requests, dict) else {}),
    }


def _mappings(value: Value) -> Iterable[Mapping[str, Value]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else ()


def _sum(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def _max(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}


_UNITS_OF_TIME = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_ANY_PART = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)([^0-9.]*)"
_MAX = 1 << 63


@lru_cache(maxsize=256)
def parse_duration(text: str) -> int | None:
    """Return the nanoseconds of a Go duration. Return None if `text` is not a duration."""
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in {"-", "+"} else text
    if rest == "0":
        return 0
    if not rest or len(rest) > 100:
        return None
    total, at = 0, 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None or not (part[1] or part[2]):
            return None
        unit = _UNITS_OF_TIME[part[3]]
        fraction = part[2] or ""
        total += int(part[1] or 0) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
        at = part.end()
    return sign * total if total < _MAX or (sign < 0 and total == _MAX) else None


def duration_fault(text: str) -> str:
    """Return Go's error about the invalid duration `text`."""
    at = 1 if text[:1] in {"-", "+"} else 0
    while part := re.compile(_ANY_PART).match(text, at):
        unit = part[1]
        if unit not in _UNITS_OF_TIME:
            fault = f"unknown unit {_quote(unit)}" if unit else "missing unit"
            return f"time: {fault} in duration {_quote(text)}"
        at = part.end()
    return f"time: invalid duration {_quote(text)}"


def _quote(text: str) -> str:
    """Return `text` as Go's time package quotes it, with escaped bytes for characters outside ASCII."""
    shown = text.replace("\\", "\\\\").replace('"', '\\"').encode("utf-8", "surrogatepass")
    return '"' + "".join([chr(byte) if 0x20 <= byte < 0x80 else f"\\x{byte:02x}" for byte in shown]) + '"'


def format_duration(nanoseconds: int) -> str:
    """Return a duration as Go prints it: `4h0m0s`, `1m0s`, `1.5s`, `300ms`, `0s`."""
    if nanoseconds == 0:
        return "0s"
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest < _UNITS_OF_TIME["s"]:
        unit = next(unit for unit in ("ms", "µs", "ns") if rest >= _UNITS_OF_TIME[unit])
        return f"{sign}{_decimal(rest, _UNITS_OF_TIME[unit])}{unit}"
    minutes, left = divmod(rest, _UNITS_OF_TIME["m"])
    seconds = f"{_decimal(left, _UNITS_OF_TIME['s'])}s"
    if not minutes:
        return sign + seconds
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}h{minutes}m{seconds}" if hours else f"{sign}{minutes}m{seconds}"


def _decimal(value: int, unit: int) -> str:
    whole, fraction = divmod(value, unit)
    if not fraction:
        return str(whole)
    return f"{whole}.{str(fraction).zfill(len(str(unit)) - 1).rstrip('0')}"


_INTEGER = r"[+-]?[0-9]+"
_INT32, _INT64 = 1 << 31, 1 << 63


def parse_int(text: str) -> int | str:
    """Return a 32-bit number, or the fault that `strconv.ParseInt` reports."""
    return _integer(text, _INT32, "ParseInt")


def atoi(text: str) -> int | str:
    """Return a 64-bit number, or the fault that `strconv.Atoi` reports."""
    return _integer(text, _INT64, "Atoi")


def parse_natural(text: str) -> int | None:
    """Return the 64-bit number in digits without a sign. Return None if `text` is not one."""
    number = atoi(text) if text.isascii() and text.isdigit() else ""
    return number if isinstance(number, int) else None


def _integer(text: str, limit: int, function: str) -> int | str:
    fault = f"strconv.{function}: parsing {go_quote(text)}: "
    if not re.fullmatch(_INTEGER, text, re.ASCII):
        return f"{fault}invalid syntax"
    digits = text.lstrip("+-").lstrip("0") or "0"
    # Python refuses to read numbers of thousands of digits.
    number = int(digits) if len(digits) < len(str(_INT64)) + 1 else _INT64 + 1
    number = -number if text.startswith("-") else number
    return number if -limit <= number < limit else f"{fault}value out of range"


def json_string(text: str) -> str:
    """Return `text` as a JSON string."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    import json

    return json.dumps(text, ensure_ascii=False)


def json_object(fields: Mapping[str, str]) -> str:
    """Return a JSON object of these fields in order. The values are JSON already."""
    return "{" + ",".join([f"{json_string(name)}:{value}" for name, value in fields.items()]) + "}"


def json_list(entries: Iterable[str]) -> str:
    """Return a JSON array of `entries`, which are JSON already."""
    return "[" + ",".join(entries) + "]"
