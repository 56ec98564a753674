"""Check the types, limits, patterns, formats, lists, unknown fields and metadata of an object as an API server does.

A CRD's schema is untrusted OpenAPI with alternatives, formats and defaults. An API server has an error text for each of
these. `validate.decode` checks objects by packwise's tables of Go types. Source: kube-openapi, validation/validate.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache, lru_cache

from krmfn.fieldpath import FieldPath, describe
from krmfn.hints import TYPE_CHECKING
from packwise.findings import Cause, Effect, Problem, Stage
from packwise.kubernetes import (
    JSON_NOUNS,
    V35,
    ErrorType,
    OperatorError,
    dns_label,
    dns_subdomain,
    go_json,
    go_quote,
    json_type,
    label_value,
    mask_trailing_dash,
    qualified_name,
    unmarshal_error,
)
from packwise.validate.go_types import TYPES
from packwise.validate.schema import Schema
from packwise.wording import count_text, did_you_mean, known_names, list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.value import Value

# An API server checks these formats of texts. It also checks bsonobjectid, creditcard, isbn and rgbcolor, but packwise
# accepts every text for these. Other formats have no effect. Source: kube-openapi, validation/strfmt.

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_DURATION = re.compile(r"[-+]?(0|(([0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(ns|us|µs|μs|ms|s|m|h))+)")
_MAX_DURATION_LENGTH = 100
# Kubernetes also accepts a text with such a duration at any position, for example `2 days`.
_WORDY_DURATION = re.compile(r"[0-9]\s*(ns|us|ms|nano|micro|milli|s|m|h|d|w)", re.IGNORECASE)
_LABEL = re.compile(r"[^\W_]([^\W_]|-)*", re.UNICODE)
_MAC = re.compile(r"([0-9a-f]{2}[:-]){5}[0-9a-f]{2}|([0-9a-f]{4}\.){2}[0-9a-f]{4}", re.IGNORECASE)


def has_format(text: str, name: str) -> bool:
    """Return True if `text` has the format `name`, or if packwise does not check this format."""
    check = CHECKED.get(name.replace("-", ""))
    return check is None or check(text)


def _is_date(text: str) -> bool:
    from datetime import date

    parts = _DATE.fullmatch(text)
    if parts is None:
        return False
    try:
        date(int(parts[1]), int(parts[2]), int(parts[3]))
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    day, _, time = text.lower().partition("t")
    parts = _TIME.fullmatch(time)
    return parts is not None and _is_date(day) and parts[1] <= "23" and parts[2] <= "59" and parts[3] <= "59"


def _is_duration(text: str) -> bool:
    if len(text) > _MAX_DURATION_LENGTH:
        return False
    return _DURATION.fullmatch(text) is not None or _WORDY_DURATION.search(text) is not None


def _is_email(text: str) -> bool:
    name, _, domain = text.rpartition("@")
    return bool(name.strip()) and bool(domain.strip())


def _is_bytes(text: str) -> bool:
    import base64
    import binascii

    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _is_ip(version: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        import ipaddress

        try:
            return ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return check


def _is_cidr(text: str) -> bool:
    import ipaddress

    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return "/" in text


def _is_uri(text: str) -> bool:
    from urllib.parse import urlsplit

    try:
        return bool(urlsplit(text).scheme) or text.startswith("/")
    except ValueError:
        return False


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    return 0 < len(text) <= 255 and all(len(label) <= 63 and _LABEL.fullmatch(label) for label in labels)


def _matching(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(version: str, variant: str = "[0-9a-f]") -> Callable[[str], bool]:
    return _matching(f"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}")


CHECKED: Mapping[str, Callable[[str], bool]] = {
    "byte": _is_bytes,
    "cidr": _is_cidr,
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": _is_email,
    "hexcolor": _matching("#?([0-9a-f]{3}|[0-9a-f]{6})"),
    "hostname": _is_hostname,
    "ipv4": _is_ip(4),
    "ipv6": _is_ip(6),
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "password": lambda _: True,
    "ssn": _matching("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "uri": _is_uri,
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
}
"""The check of each format, by the name of the format without dashes."""


# Patterns are those of RE2, as in Kubernetes. The time of a match is at most proportional to the length of the text,
# and to the number of states of the pattern. RE2 expands counted repetitions, so a pattern of 17 characters may have
# thousands of states. Each state is tried for each character of the text.

MAX_STATES = 100_000_000
"""The largest product of a pattern's states and a text's characters. A text with a larger product is not checked."""

MAX_STATES_OF_OBJECT = 2_000_000_000
"""The largest sum of these products for all texts of an object. Each text also adds the cost to build the states."""

MAX_PATTERN_LENGTH = 4000
"""The largest number of characters of a pattern or rule. RE2 needs quadratic time for some invalid patterns."""

_COMPILE_COST = 256
"""The time to compile a pattern, as the number of characters that could be matched in this time."""

_ATOM = re.compile(
    r"\{(?P<least>[0-9]{1,4})(?:,(?P<most>[0-9]{0,4}))?\}|(?P<open>\()|(?P<close>\))|(?P<unclear>\\Q|\\C)"
    r"|(?P<set>\[\^?\]?(?:\\.|\[:[^\]]*+\]?|[^\]\\])*+\]?|\\[pPDSW]|\.)|\\?.",
    re.DOTALL,
)
_STATES_OF_OTHERS = 4
"""The number of states of a character beyond ASCII, and of any character in a pattern with flags such as `(?i)`."""
_STATES_OF_SET = 1000
"""The number of states of a set with characters beyond ASCII."""
_MAX_REPETITIONS = 1000
"""RE2's own limit of counted repetitions. The counts of nested repetitions are multiplied."""
_ENDLESS = 1 << 60


def match_cost(pattern: str | None, length: int, text: int) -> int:
    """Return the highest cost of a match, in bytes read: the states of the pattern, times `text`, the text's length.

    If the pattern is unknown, `length` is the largest length that it may have.
    """
    if (length if pattern is None else len(pattern)) > MAX_PATTERN_LENGTH:
        return _ENDLESS
    return text * (length * _MAX_REPETITIONS if pattern is None else _states(pattern))


@lru_cache(maxsize=256)
def _states(pattern: str) -> int:
    """Return an upper limit for the states of the automaton that RE2 builds from a pattern."""
    each = 1 if pattern.isascii() and "(?" not in pattern else _STATES_OF_OTHERS
    most = len(pattern) * _STATES_OF_OTHERS * _MAX_REPETITIONS
    # Each open group has an entry: the number of its states, and the number of states of its last part.
    groups = [(1, 0)]
    for atom in _ATOM.finditer(pattern):
        whole, last = groups.pop()
        if atom["open"]:
            groups += [(whole, last), (1, 0)]
        elif atom["close"]:
            outer, _ = groups.pop() if groups else (0, 0)
            groups.append((outer + whole, whole))
        elif atom["least"]:
            times = max(int(atom["least"]), int(atom["most"] or 0), 1)
            groups.append((whole + last * (times - 1), last * times))
        elif atom["unclear"]:
            return most
        else:
            size = each * _states_of_set(atom["set"] or "")
            groups.append((whole + size, size))
    return min(sum([whole for whole, _ in groups]), most)


def _states_of_set(text: str) -> int:
    is_wide = text == "." or not text.isascii() or text.startswith("[^") or re.search(r"\\[pPDSWx]|\[:\^", text)
    return _STATES_OF_SET if is_wide else max(len(text) - 2, 1)


@lru_cache(maxsize=4096)
def matches(pattern: str, text: str) -> bool | None:
    """Return True if `text` contains a match of `pattern`, and False if not.

    Return None if the pattern is invalid, or if the search costs more than MAX_STATES.
    """
    if match_cost(pattern, len(pattern), len(text)) > MAX_STATES or not _is_pattern(pattern):
        return None
    return _matcher()(pattern, text)


@lru_cache(maxsize=256)
def _is_pattern(pattern: str) -> bool:
    return _matcher()(pattern, "") is not None


@cache
def _matcher() -> Callable[[str, str], bool | None]:
    # The function `matches` of CEL uses RE2. So the library that evaluates rules also matches patterns.
    from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs]

    texts = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    program = cel.NewEnv(variables=texts).compile("text.matches(pattern)")

    def match(pattern: str, text: str) -> bool | None:
        try:
            answer = program.eval(data={"text": text, "pattern": pattern}).value()
        except (RuntimeError, ValueError):
            return None
        return answer if isinstance(answer, bool) else None

    return match


NO_FIELD = "<nil>"
"""The name that an API server's error has in place of a field if it has no field."""


@dataclass(frozen=True, slots=True)
class ValuePath:
    """The path of a value. `text` is the path as the API server writes it in errors."""

    path: FieldPath = ()
    text: str = ""

    def field(self, name: str) -> ValuePath:
        """Return the path of a field of this value."""
        return ValuePath((*self.path, name), f"{self.text}.{name}" if self.text else name)

    def key(self, name: str) -> ValuePath:
        """Return the path of an entry in a mapping with free keys, in the form of errors about lists and rules."""
        return ValuePath((*self.path, name), f"{self.text}[{name}]")

    def entry(self, index: int) -> ValuePath:
        """Return the path of an entry of this list."""
        return ValuePath((*self.path, index), f"{self.text}[{index}]")

    def refusal(
        self, kind: ErrorType, message: str, detail: str = "", value: Value = None, cause: Cause = Cause.VALUE
    ) -> Problem:
        """Return a problem of this value, with packwise's `message` and with the API server's text."""
        text = OperatorError(self.text or NO_FIELD, kind, value, detail).text()
        return Problem(self.path, message, text, Stage.SCHEMA, cause=cause)


class _Patterns:
    """Match the patterns of one object until the total cost is reached. `left` is the remaining cost."""

    left = MAX_STATES_OF_OBJECT

    @classmethod
    def match(cls, pattern: str, text: str) -> bool | None:
        """Return True if `text` contains a match of `pattern`, False if not. Return None if it is not searched."""
        if match_cost(pattern, len(pattern), len(text)) > MAX_STATES:
            return None
        cls.left -= match_cost(pattern, len(pattern), len(text) + _COMPILE_COST)
        return None if cls.left < 0 else matches(pattern, text)


def violations_of_object(value: Value, schema: Schema, at: ValuePath) -> list[Problem]:
    """Return the violations of `schema` in a whole prepared object. One limit of cost applies to all its patterns."""
    _Patterns.left = MAX_STATES_OF_OBJECT
    return list(violations(value, schema, at))


def violations(value: Value, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    """Yield the violations of `schema` in a prepared `value`. If its type is wrong, yield only this problem."""
    wrong = _type(value, schema, at)
    if wrong is not None:
        yield wrong
        return
    yield from _alternatives(value, schema, at)
    if isinstance(value, str):
        yield from _text(value, schema, at)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(value, schema, at)
    elif isinstance(value, list):
        yield from _list(value, schema, at)
    yield from _enum(value, schema, at)
    if isinstance(value, dict):
        yield from _mapping(value, schema, at)


def _type(value: Value, schema: Schema, at: ValuePath) -> Problem | None:
    types, actual = schema.types, json_type(value)
    if not types or actual in types or (value is None and schema.nullable):
        return None
    if actual == "integer" and "number" in types:
        return None
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        return None
    wanted, got = ",".join(types), actual
    if schema.format.replace("-", "") in CHECKED and actual not in ("string", "array", "null"):
        wanted, got = schema.format, {"integer": "int64", "number": "float64"}.get(actual, "")
    noun = " or ".join([JSON_NOUNS[name] for name in types])
    detail = f'{at.text} in body must be of type {wanted}: "{got}"'
    return at.refusal(ErrorType.INVALID, f"must be {noun}; got {describe(value)}", detail, got, Cause.TYPE)


def _alternatives(value: Value, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    for name, schemas in schema.alternatives.items():
        # The anyOf of an int-or-string only names the two types, which are already checked.
        if schema.int_or_string and name == "anyOf":
            continue
        if name == "allOf":
            for alternative in schemas:
                yield from violations(value, alternative, at)
            continue
        answers = [_until_refused(value, alternative, at) for alternative in schemas]
        fitting = sum([refused is None for refused, _ in answers])
        yield from (problem for _, unchecked in answers for problem in unchecked)
        if name == "anyOf" and not fitting:
            yield _composite_problem(at, "one", f"{go_quote(at.text)} must validate at least one schema (anyOf)")
        elif name == "oneOf" and fitting != 1:
            many = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
            text = f"{go_quote(at.text)} must validate one and only one schema (oneOf). {many}"
            yield _composite_problem(at, "exactly one", text)
    if schema.forbidden is not None:
        refused, unchecked = _until_refused(value, schema.forbidden, at)
        if unchecked and refused is None:
            yield from unchecked
        elif refused is None:
            yield _composite_problem(at, "none", f"{go_quote(at.text)} must not validate the schema (not)")


def _until_refused(value: Value, schema: Schema, at: ValuePath) -> tuple[Problem | None, list[Problem]]:
    """Return the first problem for which `value` is refused, or None, and the unchecked parts found before it."""
    unchecked: list[Problem] = []
    for problem in violations(value, schema, at):
        if problem.effect is not Effect.UNCHECKED:
            return problem, unchecked
        unchecked.append(problem)
    return None, unchecked


def _composite_problem(at: ValuePath, number: str, text: str) -> Problem:
    message = f"must match {number} of the alternatives in its CRD"
    return Problem(at.path, message, f'{NO_FIELD}: {ErrorType.INVALID}: "": {text}', Stage.SCHEMA)


def _text(value: str, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    bounds, length = schema.bounds, len(value)
    if bounds.max_length is not None and length > bounds.max_length:
        message = f"must be at most {bounds.max_length} characters long; got {length}"
        detail = f"may not be more than {bounds.max_length} bytes"
        yield at.refusal(ErrorType.TOO_LONG, message, detail, value)
    elif bounds.min_length is not None and length < bounds.min_length:
        message = f"must be at least {bounds.min_length} characters long; got {describe(value)}"
        detail = f"{at.text} in body should be at least {bounds.min_length} chars long"
        yield at.refusal(ErrorType.INVALID, message, detail, value)
    elif schema.pattern:
        yield from _pattern(value, schema, at)
    if schema.format and not has_format(value, schema.format):
        message = f"must be a text of the format {schema.format}; got {describe(value)}"
        detail = f"{at.text} in body must be of type {schema.format}: {go_quote(value)}"
        yield at.refusal(ErrorType.INVALID, message, detail, value, Cause.TYPE)


def _pattern(value: str, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    pattern = schema.pattern
    is_match = _Patterns.match(pattern, value)
    if is_match is False:
        message = f"must match the pattern {pattern}; got {describe(value)}"
        detail = f"{at.text} in body should match '{pattern}'"
        yield at.refusal(ErrorType.INVALID, message, detail, value)
    elif is_match is None:
        message = f"packwise does not check this pattern for every string: {_why_unmatched(pattern, value)}"
        yield Problem(schema.pattern_path, message, effect=Effect.UNCHECKED)


def _why_unmatched(pattern: str, text: str) -> str:
    if len(pattern) > MAX_PATTERN_LENGTH:
        return f"it is longer than {MAX_PATTERN_LENGTH} characters; shorten it"
    if match_cost(pattern, len(pattern), len(text)) > MAX_STATES:
        return "a string is too long for this pattern; shorten one of them"
    if _Patterns.left < 0:
        return "one object has too many strings for patterns of this size; split the object, or shorten the patterns"
    return "RE2 does not accept it; fix the pattern"


def _number(value: float, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    bounds = schema.bounds
    if bounds.multiple_of is not None and bounds.multiple_of > 0 and not _is_multiple(value, bounds.multiple_of):
        yield _number_problem(value, at, "a multiple of", bounds.multiple_of)
    if bounds.minimum is not None and bounds.exclusive_minimum and value <= bounds.minimum:
        yield _number_problem(value, at, "greater than", bounds.minimum)
    elif bounds.minimum is not None and value < bounds.minimum:
        yield _number_problem(value, at, "greater than or equal to", bounds.minimum)
    if bounds.maximum is not None and bounds.exclusive_maximum and value >= bounds.maximum:
        yield _number_problem(value, at, "less than", bounds.maximum)
    elif bounds.maximum is not None and value > bounds.maximum:
        yield _number_problem(value, at, "less than or equal to", bounds.maximum)


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and float(factor).is_integer():
        return value % int(factor) == 0
    try:
        quotient = value / factor
    except OverflowError:
        return True
    return quotient.is_integer()


def _number_problem(value: float, at: ValuePath, what: str, bound: float) -> Problem:
    shown = int(bound) if float(bound).is_integer() else bound
    message = f"must be {_SHORT.get(what, what)} {shown}; got {value}"
    return at.refusal(ErrorType.INVALID, message, f"{at.text} in body should be {what} {shown}", value)


_SHORT = {"greater than or equal to": "at least", "less than or equal to": "at most"}
"""Shorter words for packwise's messages, by the words of the API server."""


def _list(value: Sequence[Value], schema: Schema, at: ValuePath) -> Iterator[Problem]:
    bounds, size = schema.bounds, len(value)
    if schema.items is not None:
        for index, entry in enumerate(value):
            yield from violations(entry, schema.items, at.entry(index))
    if bounds.min_items is not None and size < bounds.min_items:
        message = f"must have at least {count_text(bounds.min_items, 'entry', 'entries')}; got {size or 'none'}"
        detail = f"{at.text} in body should have at least {bounds.min_items} items"
        yield at.refusal(ErrorType.INVALID, message, detail, size)
    if bounds.max_items is not None and size > bounds.max_items:
        message = f"must have at most {count_text(bounds.max_items, 'entry', 'entries')}; got {size}"
        detail = f"must have at most {bounds.max_items} items"
        yield at.refusal(ErrorType.TOO_MANY, message, detail, size)
    if schema.unique_items and len({go_json(entry) for entry in value}) < size:
        detail = f"{at.text} in body shouldn't contain duplicates"
        yield at.refusal(ErrorType.INVALID, "must not contain an entry twice", detail, "")


def _enum(value: Value, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    if not schema.enum or any(_is_same(value, known) for known in schema.enum):
        return
    names = [name if isinstance(name, str) else go_json(name) for name in schema.enum]
    near = did_you_mean(value, names) if isinstance(value, str) else ""
    message = f"must be one of {list_known(names)}; got {describe(value)}{near}"
    detail = f"supported values: {', '.join([go_quote(name) for name in names])}"
    yield at.refusal(ErrorType.NOT_SUPPORTED, message, detail, value)


def _is_same(left: Value, other: Value) -> bool:
    return left == other and isinstance(left, bool) == isinstance(other, bool)


def _mapping(value: Mapping[str, Value], schema: Schema, at: ValuePath) -> Iterator[Problem]:
    bounds, size = schema.bounds, len(value)
    if bounds.min_properties is not None and size < bounds.min_properties:
        message = f"must have at least {count_text(bounds.min_properties, 'field')}; got {size or 'none'}"
        detail = f"{at.text} in body should have at least {bounds.min_properties} properties"
        yield at.refusal(ErrorType.INVALID, message, detail, size)
    if bounds.max_properties is not None and size > bounds.max_properties:
        message = f"must have at most {count_text(bounds.max_properties, 'field')}; got {size}"
        detail = f"must have at most {bounds.max_properties} items"
        yield at.refusal(ErrorType.TOO_MANY, message, detail, size)
    if isinstance(schema.additional, Schema):
        for name, entry in value.items():
            if name not in schema.properties:
                yield from violations(entry, schema.additional, at.field(name))
    for name, inner in schema.properties.items():
        if name in value:
            yield from violations(value[name], inner, at.field(name))
    for name in schema.required:
        if name not in value:
            yield at.field(name).refusal(ErrorType.REQUIRED, "must be set", cause=Cause.REQUIRED)


# Fields that the schema does not have. Source: apiextensions-apiserver, schema/pruning.

_OBJECT = ("apiVersion", "kind", "metadata")
_METADATA = tuple(entry.partition(":")[0] for entry in TYPES["v1.ObjectMeta"].split(" "))


def unknown_fields(value: Value, schema: Schema, at: ValuePath, *, is_object: bool = False) -> Iterator[Problem]:
    """Yield each field that an API server would drop, in the order of the text. Fields within them are not yielded.

    With `is_object`, `value` is a whole Kubernetes object. No schema describes its apiVersion, kind and metadata.
    """
    if isinstance(value, dict):
        is_object = is_object or schema.embedded
        known = sorted({*schema.properties, *(_OBJECT if is_object else ())})
        for name, entry in value.items():
            inner = schema.of_key(name)
            if is_object and name in _OBJECT:
                yield from _in_metadata(entry, at.field(name)) if name == "metadata" else ()
            elif inner is not None:
                yield from unknown_fields(entry, inner, at.field(name))
            elif not schema.preserves_unknown and schema.additional is False:
                yield _unknown_field(name, known, at, value)
    elif isinstance(value, list) and schema.items is not None:
        for index, entry in enumerate(value):
            yield from unknown_fields(entry, schema.items, at.entry(index))


def _in_metadata(value: Value, at: ValuePath) -> Iterator[Problem]:
    for name in value if isinstance(value, dict) else ():
        if name not in _METADATA:
            yield _unknown_field(name, _METADATA, at, {})


def _unknown_field(name: str, known: Iterable[str], at: ValuePath, owner: Mapping[str, Value]) -> Problem:
    where = f'"{at.text}"' if at.text else f"a {owner.get('kind')}"
    message = f'unknown field "{name}" of {where}{known_names(name, tuple(known))}'
    return Problem((*at.path, name), message, effect=Effect.UNKNOWN)


# The entries of a list may have to be unique, as a whole or by their keys. Source: apiextensions-apiserver,
# schema/listtype.


def duplicates(value: Value, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    """Yield a problem for each value that occurs more than once in a set, or by its keys in a keyed list."""
    if isinstance(value, dict):
        for name, entry in value.items():
            if isinstance(schema.additional, Schema):
                yield from duplicates(entry, schema.additional, at.key(name))
            if name in schema.properties:
                yield from duplicates(entry, schema.properties[name], at.field(name))
    elif isinstance(value, list):
        if schema.list_type == "set":
            yield from _duplicates(value, value, at)
        elif schema.list_type == "map":
            yield from _map_problems(value, schema, at)
        if schema.items is not None:
            for index, entry in enumerate(value):
                yield from duplicates(entry, schema.items, at.entry(index))


def canonical_text(value: Value) -> str:
    """Return a text that is the same for equal values, even if the order of their fields differs."""
    return json.dumps(value, sort_keys=True)


def _map_problems(value: Sequence[Value], schema: Schema, at: ValuePath) -> Iterator[Problem]:
    keys: list[Value] = []
    for index, entry in enumerate(value):
        if entry is not None and not isinstance(entry, dict):
            detail = "must be an object for an array of list-type map"
            yield at.entry(index).refusal(ErrorType.INVALID, f"must be a mapping; got {describe(entry)}", detail, entry)
            return
        keys.append({} if entry is None else {key: entry[key] for key in schema.keys if key in entry})
    yield from _duplicates(value, keys, at)


def _duplicates(value: Sequence[Value], keys: Sequence[Value], at: ValuePath) -> Iterator[Problem]:
    """Yield a problem at the second entry of each repeated key."""
    seen: dict[str, int] = {}
    for index, key in enumerate(keys):
        text = canonical_text(key)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield at.entry(index).refusal(ErrorType.DUPLICATE, _message(key, value[index]), value=key)


def _message(key: Value, entry: Value) -> str:
    if not isinstance(key, dict) or key is entry:
        return f"duplicate entry {describe(entry)}"
    shown = ", ".join([f"{name} {describe(part)}" for name, part in key.items()]) or "none of its keys"
    return f"two entries have {shown}"


# No CRD describes the metadata of an object. Source: apimachinery v0.34, api/validation ObjectMeta.

_TEXTS = ("generateName", "name", "namespace")
_MAPPINGS = ("annotations", "labels")


def metadata_problems(value: Value, at: ValuePath) -> Iterator[Problem]:
    """Yield the problems of `value`, the metadata of an object."""
    wrong = list(type_problems(value, at))
    yield from wrong
    if not wrong and isinstance(value, dict):
        yield from _name(value, at)
        yield from _keys(value, at)


def type_problems(value: Value, at: ValuePath) -> Iterator[Problem]:
    """Yield a problem for each wrong type in `value`, the metadata of an object. The API server cannot decode them."""
    if not isinstance(value, dict):
        yield _type_problem(value, at, "a mapping", "", "v1.ObjectMeta")
        return
    for name in _TEXTS:
        if not isinstance(value.get(name, ""), str | None):
            yield _type_problem(value[name], at.field(name), "a string", name, "string")
    for name in _MAPPINGS:
        entries = value.get(name)
        if entries is not None and not isinstance(entries, dict):
            yield _type_problem(entries, at.field(name), "a mapping", name, "map[string]string")
        for key, text in entries.items() if isinstance(entries, dict) else ():
            if not isinstance(text, str | None):
                yield _type_problem(text, at.field(name).key(key), "a string", name, "string")


def _type_problem(value: Value, at: ValuePath, noun: str, field: str, go: str) -> Problem:
    text = unmarshal_error(value, go, f"ObjectMeta.{field}" if field else "")
    return Problem(at.path, f"must be {noun}; got {describe(value)}", text, Stage.SCHEMA, cause=Cause.TYPE)


def _name(value: Mapping[str, Value], at: ValuePath) -> Iterator[Problem]:
    name, prefix = str(value.get("name") or ""), str(value.get("generateName") or "")
    if not name and not prefix:
        detail = "name or generateName is required"
        yield at.field("name").refusal(ErrorType.REQUIRED, "must be set", detail, cause=Cause.REQUIRED)
    for field, text, checked in (("name", name, name), ("generateName", prefix, mask_trailing_dash(prefix))):
        for fault in dns_subdomain(checked) if text else ():
            message = f"must be a DNS subdomain; got {describe(text)}: {fault}"
            yield at.field(field).refusal(ErrorType.INVALID, message, fault, text)
    namespace = str(value.get("namespace") or "")
    for fault in dns_label(namespace) if namespace else ():
        message = f"must be a DNS label; got {describe(namespace)}: {fault}"
        yield at.field("namespace").refusal(ErrorType.INVALID, message, fault, namespace)


def _keys(value: Mapping[str, Value], at: ValuePath) -> Iterator[Problem]:
    for name in _MAPPINGS:
        entries = value.get(name)
        for key, text in entries.items() if isinstance(entries, dict) else ():
            place = at.field(name)
            for fault in qualified_name(key.lower() if name == "annotations" else key, V35):
                problem = place.refusal(
                    ErrorType.INVALID, f"must be a qualified name; got {describe(key)}: {fault}", fault, key
                )
                yield problem.replace(path=(*place.path, key))
            for fault in label_value(str(text or ""), V35) if name == "labels" else ():
                problem = place.refusal(
                    ErrorType.INVALID, f"must be a label's value; got {describe(text)}: {fault}", fault, text
                )
                yield problem.replace(path=(*place.path, key))
