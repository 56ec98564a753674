"""Types, required fields, enums, patterns, bounds and formats. Source: kube-openapi, validation/validate."""

from __future__ import annotations

from krmfn.errors import describe
from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Cause, Effect, Problem, Stage
from packwise.kubernetes.validation import ErrorType, go_json, go_quote
from packwise.validate.formats import CHECKED, has_format
from packwise.validate.patterns import MOST_STATES, match_cost, matches
from packwise.validate.schema import Schema
from packwise.validate.valuepath import NO_FIELD
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.validate.valuepath import ValuePath

__all__ = ["type_of", "violations"]

_NOUNS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "object": "a mapping",
    "string": "a string",
}


def type_of(value: Value) -> str:
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


def violations(value: Value, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    """What is wrong with `value`, which is prepared. A value of another type has that one problem."""
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
    types, actual = schema.types, type_of(value)
    if not types or actual in types or (value is None and schema.nullable):
        return None
    if actual == "integer" and "number" in types:
        return None
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        return None
    wanted, got = ",".join(types), actual
    if schema.format.replace("-", "") in CHECKED and actual not in ("string", "array", "null"):
        wanted, got = schema.format, {"integer": "int64", "number": "float64"}.get(actual, "")
    noun = " or ".join([_NOUNS[name] for name in types])
    detail = f'{at.text} in body must be of type {wanted}: "{got}"'
    return at.refused(ErrorType.INVALID, f"must be {noun}; got {describe(value)}", detail, got, Cause.TYPE)


def _alternatives(value: Value, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    for name, schemas in schema.alternatives.items():
        # Those of a number or text are its types, which are checked.
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
            yield _composite(at, "one", f"{go_quote(at.text)} must validate at least one schema (anyOf)")
        elif name == "oneOf" and fitting != 1:
            many = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
            text = f"{go_quote(at.text)} must validate one and only one schema (oneOf). {many}"
            yield _composite(at, "exactly one", text)
    if schema.forbidden is not None:
        refused, unchecked = _until_refused(value, schema.forbidden, at)
        if unchecked and refused is None:
            yield from unchecked
        elif refused is None:
            yield _composite(at, "none", f"{go_quote(at.text)} must not validate the schema (not)")


def _until_refused(value: Value, schema: Schema, at: ValuePath) -> tuple[Problem | None, list[Problem]]:
    """The first problem for which `value` is refused, and what was not checked before it."""
    unchecked: list[Problem] = []
    for problem in violations(value, schema, at):
        if problem.effect is not Effect.UNCHECKED:
            return problem, unchecked
        unchecked.append(problem)
    return None, unchecked


def _composite(at: ValuePath, number: str, text: str) -> Problem:
    message = f"must keep {number} of the alternatives that its CRD gives"
    return Problem(at.path, message, f'{NO_FIELD}: {ErrorType.INVALID}: "": {text}', Stage.SCHEMA)


def _text(value: str, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    bounds, length = schema.bounds, len(value)
    if bounds.max_length is not None and length > bounds.max_length:
        message = f"must not be longer than {bounds.max_length} characters; got {length}"
        detail = f"may not be more than {bounds.max_length} bytes"
        yield at.refused(ErrorType.TOO_LONG, message, detail, value)
    elif bounds.min_length is not None and length < bounds.min_length:
        message = f"must be at least {bounds.min_length} characters long; got {describe(value)}"
        detail = f"{at.text} in body should be at least {bounds.min_length} chars long"
        yield at.refused(ErrorType.INVALID, message, detail, value)
    elif schema.pattern:
        yield from _pattern(value, schema, at)
    if schema.format and not has_format(value, schema.format):
        message = f"must be a text of the format {schema.format}; got {describe(value)}"
        detail = f"{at.text} in body must be of type {schema.format}: {go_quote(value)}"
        yield at.refused(ErrorType.INVALID, message, detail, value, Cause.TYPE)


def _pattern(value: str, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    pattern = schema.pattern
    is_match = matches(pattern, value)
    if is_match is False:
        message = f"must match the pattern {pattern}; got {describe(value)}"
        detail = f"{at.text} in body should match '{pattern}'"
        yield at.refused(ErrorType.INVALID, message, detail, value)
    elif is_match is None:
        is_long = match_cost(pattern, len(pattern), len(value)) > MOST_STATES
        why = "a text is too long for so large a pattern" if is_long else "it is no pattern of RE2"
        message = f"is not checked for every text: {why}; {'shorten one of them' if is_long else 'correct it'}"
        yield Problem(schema.pattern_path, message, effect=Effect.UNCHECKED)


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
    return at.refused(
        ErrorType.INVALID, f"must be {what} {shown}; got {value}", f"{at.text} in body should be {what} {shown}", value
    )


def _list(value: Sequence[Value], schema: Schema, at: ValuePath) -> Iterator[Problem]:
    bounds, size = schema.bounds, len(value)
    if schema.items is not None:
        for index, entry in enumerate(value):
            yield from violations(entry, schema.items, at.entry(index))
    if bounds.min_items is not None and size < bounds.min_items:
        message = f"must hold at least {_entries(bounds.min_items)}; got {size or 'none'}"
        detail = f"{at.text} in body should have at least {bounds.min_items} items"
        yield at.refused(ErrorType.INVALID, message, detail, size)
    if bounds.max_items is not None and size > bounds.max_items:
        message = f"must hold at most {_entries(bounds.max_items)}; got {size}"
        detail = f"must have at most {bounds.max_items} items"
        yield at.refused(ErrorType.TOO_MANY, message, detail, size)
    if schema.unique_items and len({go_json(entry) for entry in value}) < size:
        detail = f"{at.text} in body shouldn't contain duplicates"
        yield at.refused(ErrorType.INVALID, "must not hold an entry twice", detail, "")


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _enum(value: Value, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    if not schema.enum or any(_is_same(value, known) for known in schema.enum):
        return
    names = [name if isinstance(name, str) else go_json(name) for name in schema.enum]
    near = closest(value, names) if isinstance(value, str) else ""
    message = f"must be one of {list_known(names)}; got {describe(value)}{near}"
    detail = f"supported values: {', '.join([go_quote(name) for name in names])}"
    yield at.refused(ErrorType.NOT_SUPPORTED, message, detail, value)


def _is_same(left: Value, other: Value) -> bool:
    return left == other and isinstance(left, bool) == isinstance(other, bool)


def _mapping(value: Mapping[str, Value], schema: Schema, at: ValuePath) -> Iterator[Problem]:
    bounds, size = schema.bounds, len(value)
    if bounds.min_properties is not None and size < bounds.min_properties:
        message = f"must hold at least {_fields(bounds.min_properties)}; got {size or 'none'}"
        detail = f"{at.text} in body should have at least {bounds.min_properties} properties"
        yield at.refused(ErrorType.INVALID, message, detail, size)
    if bounds.max_properties is not None and size > bounds.max_properties:
        message = f"must hold at most {_fields(bounds.max_properties)}; got {size}"
        detail = f"must have at most {bounds.max_properties} items"
        yield at.refused(ErrorType.TOO_MANY, message, detail, size)
    if isinstance(schema.additional, Schema):
        for name, entry in value.items():
            if name not in schema.properties:
                yield from violations(entry, schema.additional, at.field(name))
    for name, inner in schema.properties.items():
        if name in value:
            yield from violations(value[name], inner, at.field(name))
    for name in schema.required:
        if name not in value:
            yield at.field(name).refused(ErrorType.REQUIRED, "must be set", cause=Cause.REQUIRED)


def _fields(number: int) -> str:
    return "1 field" if number == 1 else f"{number} fields"
