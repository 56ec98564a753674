"""Checks a PodCliqueSet against the table: types as Go decodes them, the rest as the API server's schema does."""

from __future__ import annotations

from krmfn.errors import describe
from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, cast
from packwise.findings.finding import Effect, Problem, Stage
from packwise.frontends.grove.schema.embedded import struct as struct_of
from packwise.frontends.grove.schema.fits import fits, matches
from packwise.frontends.grove.schema.kinds import (
    INT32,
    Array,
    Duration,
    Flag,
    IntOrString,
    Number,
    Object,
    Open,
    Quantities,
    Quantity,
    Reference,
    Text,
    TextMap,
)  # fmt: skip
from packwise.frontends.grove.schema.table import podcliqueset, replacement
from packwise.kubernetes.quantities import duration_fault, parse_duration, quantity_fault
from packwise.kubernetes.validation import ErrorType, OperatorError, go_number, go_quote
from packwise.wording import closest, list_known, told_known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.frontends.grove.schema.head import ObjectRule
    from packwise.frontends.grove.schema.kinds import Kind
    from packwise.revisions.revision import Revision

__all__ = ["check_shape", "explain_shape"]

_EMPTY: dict[str, Value] = {}
_NOUNS = {
    "integer": "an integer",
    "string": "a string",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}


def check_shape(value: Value, revision: Revision, *, new: bool = True) -> list[Problem]:
    """Decode problems first, in the decoder's order, then the schema's, then unknown fields in the file's order.

    `value` is the object as written, before defaulting; `new`, whether the cluster does not know it yet. An object with
    a decode problem is not fit for defaulting and rules.
    """
    if fits(revision, new=new)(value):
        return []
    return explain_shape(value, revision, new=new)


def explain_shape(value: Value, revision: Revision, *, new: bool = True) -> list[Problem]:
    """What `check_shape` answers, without its quick look."""
    check = _Check(new=new)
    check.object(value if value is not None else {}, podcliqueset(revision), (), "PodCliqueSet", "")
    return [*check.decode, *check.schema, *check.unknown]


class _Check:
    """Collects problems on one walk. `struct` and `dotted` are the decoder's own names for the place."""

    __slots__ = ("_new", "_settled", "_stopped", "decode", "schema", "unknown")

    def __init__(self, *, new: bool) -> None:
        self._new = new
        self._settled = False
        self._stopped = False
        self.decode: list[Problem] = []
        self.schema: list[Problem] = []
        self.unknown: list[Problem] = []

    def object(self, value: Value, kind: Object, path: FieldPath, struct: str, dotted: str) -> None:
        if not isinstance(value, dict):
            self._type(value, kind, path, struct, dotted)
            return
        fields = kind.fields
        for name, field in fields.items():
            entry = value.get(name)
            if entry is None:
                if field.required:
                    self._schema((*path, name), ErrorType.REQUIRED, None, "", "must be set")
                if not field.zero_when_absent:
                    continue
                entry = "" if isinstance(field.kind, Text) else _EMPTY
            if isinstance(field.kind, Object) and field.kind.apart:
                self._value(entry, field.kind, (*path, name), kind.struct, "")
                self._settled = bool(self.decode)
            else:
                self._value(entry, field.kind, (*path, name), kind.struct, f"{dotted}.{name}" if dotted else name)
        if not value.keys() <= fields.keys():
            self._unknown(value, sorted(fields), path)
        for rule in kind.rules:
            self._rule(value, rule, path)

    def reference(self, value: Value, kind: Reference, path: FieldPath, struct: str, dotted: str) -> None:
        self.object(value, struct_of(kind.go), path, struct, dotted)

    def _value(self, value: Value, kind: Kind, path: FieldPath, struct: str, dotted: str) -> None:
        _CHECKS[type(kind)](self, value, kind, path, struct, dotted)

    def array(self, value: Value, kind: Array, path: FieldPath, struct: str, dotted: str) -> None:
        if not isinstance(value, list):
            self._type(value, kind, path, struct, dotted)
            return
        for index, entry in enumerate(value):
            if entry is None and kind.go.startswith("[]*"):
                # The webhook crashes on it.
                message = "must be a mapping; got null; remove the entry or fill it in"
                self.decode.append(Problem((*path, index), message, stage=Stage.DECODE))
            else:
                zero: Value = "" if isinstance(kind.item, Text) else _EMPTY
                self._value(zero if entry is None else entry, kind.item, (*path, index), struct, dotted)
        if kind.keys and len(value) > 1:
            self._duplicates(value, kind, path)

    def text(self, value: Value, kind: Text, path: FieldPath, struct: str, dotted: str) -> None:
        if not isinstance(value, str):
            self._type(value, kind, path, struct, dotted)
        elif kind.enum and value not in kind.enum and not (kind.empty_is_absent and not value):
            known = ", ".join([go_quote(name) for name in kind.enum])
            message = f'must be one of {list_known(kind.enum)}; got "{value}"{closest(value, kind.enum)}'
            self._schema(path, ErrorType.NOT_SUPPORTED, value, f"supported values: {known}", message)

        elif kind.pattern:
            self._matches(value, kind, path)

    def _matches(self, value: str, kind: Text, path: FieldPath) -> None:
        if len(value) < kind.min_length:
            detail = f"{format_path(path)} in body should be at least {kind.min_length} chars long"
            self._schema(path, ErrorType.INVALID, value, detail, "must not be empty")
            return
        if len(value) > kind.max_length > 0:
            message = f"must not be longer than {kind.max_length} characters; got {len(value)}"
            detail = f"may not be more than {kind.max_length} bytes"
            self._schema(path, ErrorType.TOO_LONG, value, detail, message)
        if not matches(kind.pattern, value):
            message = f'must match {kind.pattern}; got "{value}"'
            detail = f"{format_path(path)} in body should match '{kind.pattern}'"
            self._schema(path, ErrorType.INVALID, value, detail, message)

    def _rule(self, value: Mapping[str, Value], rule: ObjectRule, path: FieldPath) -> None:
        if rule.new_only and not self._new:
            return
        text = f"{format_path((*path, *rule.at))}: {rule.type}: {rule.detail}"
        for place in rule.breaches(value):
            self.schema.append(Problem((*path, *place), rule.message, text, Stage.SCHEMA))
            text = None

    def number(self, value: Value, kind: Number, path: FieldPath, struct: str, dotted: str) -> None:
        if not _is_integer(value, kind):
            self._type(value, kind, path, struct, dotted)

    def flag(self, value: Value, kind: Flag, path: FieldPath, struct: str, dotted: str) -> None:
        if not isinstance(value, bool):
            self._type(value, kind, path, struct, dotted)

    def duration(self, value: Value, kind: Duration, path: FieldPath, struct: str, dotted: str) -> None:
        if not isinstance(value, str):
            text = _type_text(value, kind, kind.go, struct, dotted)
        elif parse_duration(value) is None:
            text = duration_fault(value)
        else:
            return
        self._decode(path, f"must be a duration such as 4h0m0s or 90s; got {describe(value)}", text, stops=True)

    def quantity(self, value: Value, _kind: Quantity, path: FieldPath, _struct: str, _dotted: str) -> None:
        # Go reads the JSON text, whatever its type: no quantity begins with what other types begin with.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        fault = None if is_number else quantity_fault(value if isinstance(value, str) else "{")
        if fault is not None:
            self._decode(path, f"must be a quantity such as 2, 500m or 64Gi; got {describe(value)}", fault, stops=True)

    def int_or_string(self, value: Value, kind: IntOrString, path: FieldPath, struct: str, dotted: str) -> None:
        if not isinstance(value, str) and not _is_integer(value, INT32):
            text = _type_text(value, INT32, kind.go, struct, dotted)
            self._decode(path, f"must be an integer of 32 bits or a string; got {describe(value)}", text, stops=True)

    def text_map(self, value: Value, kind: TextMap, path: FieldPath, struct: str, dotted: str) -> None:
        if not isinstance(value, dict):
            self._type(value, kind, path, struct, dotted)
            return
        for key in sorted(value):
            if not isinstance(value[key], str) and value[key] is not None:
                self._type(value[key], Text(), (*path, key), struct, dotted)

    def quantities(self, value: Value, kind: Quantities, path: FieldPath, struct: str, dotted: str) -> None:
        if not isinstance(value, dict):
            self._type(value, kind, path, struct, dotted)
            return
        for key in sorted(value):
            if value[key] is not None:
                self.quantity(value[key], Quantity(), (*path, key), struct, dotted)

    def open(self, _value: Value, _kind: Open, _path: FieldPath, _struct: str, _dotted: str) -> None:
        return

    def _duplicates(self, entries: Sequence[Value], kind: Array, path: FieldPath) -> None:
        seen: dict[tuple[str, ...], int] = {}
        absences = {key: _zero_of(key, kind) if absent is None else absent for key, absent in kind.keys.items()}
        for index, entry in enumerate(entries):
            if entry is not None and not isinstance(entry, dict):
                continue
            written = {key: part for key, part in (entry or _EMPTY).items() if part is not None}
            parts: dict[str, Value] = {key: written.get(key, absent) for key, absent in absences.items()}
            identity = tuple([repr(part) for part in parts.values()])
            seen[identity] = seen.get(identity, 0) + 1
            # As the API server does, once for each value, however often it stands there.
            if seen[identity] == 2:
                shown = ", ".join([f'{key} "{part}"' for key, part in parts.items()])
                self._schema((*path, index), ErrorType.DUPLICATE, parts, "", f"must be the only entry with {shown}")

    def _unknown(self, value: Mapping[str, Value], names: Sequence[str], path: FieldPath) -> None:
        where = f'"{format_path(path)}"' if path else "a PodCliqueSet"
        for name in value:
            if name not in names:
                newer = replacement((*path, name))
                known = told_known(name, names) if newer is None else f", known: {list_known(names)}; it is now {newer}"
                message = f'must be a field of {where}; got "{name}"{known}'
                self.unknown.append(Problem((*path, name), message, effect=Effect.UNKNOWN))

    def _type(self, value: Value, kind: Kind, path: FieldPath, struct: str, dotted: str) -> None:
        go, wanted = ("", "object") if isinstance(kind, Open) else (kind.go, kind.json)
        noun = _NOUNS[wanted]
        if type(value) is int and isinstance(kind, Number):
            noun = f"an integer of {kind.bits} bits"
        self._decode(path, f"must be {noun}; got {describe(value)}", _type_text(value, kind, go, struct, dotted))

    def _decode(self, path: FieldPath, message: str, text: str, *, stops: bool = False) -> None:
        """The decoder reports the problem of a type that reads itself, which stops it; otherwise its first problem."""
        if self._settled:
            text = ""
        elif stops and not self._stopped:
            self._stopped = True
            self.decode = [problem._replace(operator_message=None) for problem in self.decode]
        elif self.decode:
            text = ""
        self.decode.append(Problem(path, message, text or None, Stage.DECODE))

    def _schema(self, path: FieldPath, kind: ErrorType, value: Value, detail: str, message: str) -> None:
        text = OperatorError(format_path(path), kind, value, detail).text()
        self.schema.append(Problem(path, message, text, Stage.SCHEMA))


_CHECKS: dict[type, Callable[[_Check, Value, Kind, FieldPath, str, str], None]] = {
    Reference: _Check.reference,  # pyright: ignore[reportAssignmentType]
    Object: _Check.object,  # pyright: ignore[reportAssignmentType]
    Array: _Check.array,  # pyright: ignore[reportAssignmentType]
    Text: _Check.text,  # pyright: ignore[reportAssignmentType]
    Number: _Check.number,  # pyright: ignore[reportAssignmentType]
    Flag: _Check.flag,  # pyright: ignore[reportAssignmentType]
    Duration: _Check.duration,  # pyright: ignore[reportAssignmentType]
    Quantity: _Check.quantity,  # pyright: ignore[reportAssignmentType]
    IntOrString: _Check.int_or_string,  # pyright: ignore[reportAssignmentType]
    Quantities: _Check.quantities,  # pyright: ignore[reportAssignmentType]
    TextMap: _Check.text_map,  # pyright: ignore[reportAssignmentType]
    Open: _Check.open,  # pyright: ignore[reportAssignmentType]
}


def _zero_of(key: str, kind: Array) -> str | int:
    """What Go writes for the field `key` of an entry that has none."""
    owner = struct_of(kind.item.go) if isinstance(kind.item, Reference) else kind.item
    is_number = isinstance(owner, Object) and isinstance(owner.fields[key].kind, Number)
    return 0 if is_number else ""


def _is_integer(value: Value, kind: Number) -> bool:
    """Whether Go reads it as one: 2.0 is 2 in JSON."""
    limit = 1 << (kind.bits - 1)
    is_whole = type(value) is int or (type(value) is float and value.is_integer())
    return is_whole and -limit <= cast("float", value) < limit


def _type_text(value: Value, kind: Kind, go: str, struct: str, dotted: str) -> str:
    into = f"struct field {struct}.{dotted} of" if dotted else "value of"
    return f"json: cannot unmarshal {_go_kind(value, kind)} into Go {into} type {go}"


def _go_kind(value: Value, kind: Kind) -> str:
    """What Go calls the JSON that it met; a number that is none of those it wants, with its digits."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {go_number(value)}" if isinstance(kind, Number) else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"
