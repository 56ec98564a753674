"""Check values against a table of fields: types as Go's decoder does, everything else as an API server's schema does.

Problems are in packwise's words, each with the text of the component that refuses the value. `validate.structure`
checks objects by a cluster's own CRD.

`packwise.fields` also reads such tables, for packwise's own files, but by other rules:

- Null is an error there unless the field accepts it. Here, it is an absent value or Go's zero value.
- Problems have the order of the table there. Here, they have the order of refusal, and one hides the text of another.
- 2.0 is an integer there only if the field reads decimals. Here, it always is, as in Go.
- A pattern must match the whole text there. Here, it may match a part, as in a CRD.

The only common code would be a branch on the kind of a value.
"""

from __future__ import annotations

import re
from functools import cache, partial

from krmfn.fieldpath import FieldPath, describe, format_path
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.yamltext.reader import CORE
from packwise.fields import (
    Array,
    Decimal,
    Duration,
    Field,
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
    TextOr,
)
from packwise.findings import Effect, Problem, Stage
from packwise.kubernetes import (
    JSON_NOUNS,
    ErrorType,
    OperatorError,
    duration_fault,
    go_number,
    go_quote,
    parse_duration,
    quantity_fault,
    unmarshal_error,
)
from packwise.validate.go_types import TYPES
from packwise.wording import did_you_mean, known_names, list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from krmfn_native import Shape, Type, Types

    from krmfn.value import Value
    from packwise.fields import Kind, ObjectRule

    At: TypeAlias = tuple["At", str | int] | None
    """The place of a value: the place of the mapping or list around it, and its key or index there.

    The full path is built only for a problem.
    """

_EMPTY: dict[str, Value] = {}
_FLOAT32 = 3.5e38


INT32 = Number()
INT64 = Number(64, "int64")

_BY_NAME: Mapping[str, str | None] = {"name": None}

KEYS: Mapping[str, Mapping[str, str | None]] = {
    "v1.Container.env": _BY_NAME,
    "v1.Container.ports": {"containerPort": None, "protocol": "TCP"},
    "v1.Container.volumeDevices": {"devicePath": None},
    "v1.Container.volumeMounts": {"mountPath": None},
    "v1.EphemeralContainer.env": _BY_NAME,
    "v1.EphemeralContainer.ports": {"containerPort": None, "protocol": "TCP"},
    "v1.EphemeralContainer.volumeDevices": {"devicePath": None},
    "v1.EphemeralContainer.volumeMounts": {"mountPath": None},
    "v1.PodSpec.containers": _BY_NAME,
    "v1.PodSpec.ephemeralContainers": _BY_NAME,
    "v1.PodSpec.hostAliases": {"ip": None},
    "v1.PodSpec.imagePullSecrets": {"name": ""},
    "v1.PodSpec.initContainers": _BY_NAME,
    "v1.PodSpec.resourceClaims": _BY_NAME,
    "v1.PodSpec.schedulingGates": _BY_NAME,
    "v1.PodSpec.topologySpreadConstraints": {"topologyKey": None, "whenUnsatisfiable": None},
    "v1.PodSpec.volumes": _BY_NAME,
    "v1.ResourceRequirements.claims": _BY_NAME,
}
"""For each list, the fields that identify an entry, each with its default. Source: Grove v0.1.0-alpha.7's CRD."""

REQUIRED = frozenset({
    "v1.CephFSVolumeSource.monitors",
    "v1.NodeSelector.nodeSelectorTerms",
    "v1.OpaqueDeviceConfiguration.parameters",
    "v1.PodSpec.containers",
    "v1.RBDVolumeSource.monitors",
    "v1.ScaleIOVolumeSource.secretRef",
})  # fmt: skip
"""Required fields that are lists or pointers. If one is absent, Go writes null, which the API server refuses.

Go writes other absent fields as zero values, which the API server accepts.
"""

_LEAVES: Mapping[str, Kind] = {
    "bool": Flag(),
    "int32": INT32,
    "int64": INT64,
    "map[v1.QualifiedName]resource.Quantity": Quantities("map[v1.QualifiedName]resource.Quantity"),
    "runtime.RawExtension": Open(),
    "intstr.IntOrString": IntOrString(),
    "map[string]string": TextMap(),
    "resource.Quantity": Quantity(),
    "v1.FieldsV1": Open(),
    "v1.ResourceList": Quantities(),
    "v1.Time": Text(),
}


@cache
def kubernetes_struct(go: str) -> Object:
    """Return the table of fields of the Kubernetes type that Go calls `go`, such as `v1.PodSpec`.

    A type is read on demand, because a workload needs few types.
    """
    package, _, name = go.partition(".")
    return Object(name, dict([_field(go, entry) for entry in TYPES[go].split(" ")]), package)


def _field(owner: str, entry: str) -> tuple[str, Field]:
    name, _, go = entry.partition(":")
    at = f"{owner}.{name}"
    return name, Field(_kind(go, KEYS.get(at, {})), required=at in REQUIRED)


def _kind(go: str, keys: Mapping[str, str | None]) -> Kind:
    if go.startswith("[]"):
        return Array(_kind(go.removeprefix("[]"), {}), go, keys)
    if go in TYPES:
        return Reference(go)
    return _LEAVES[go] if go in _LEAVES else Text(go=go)


@cache
def _table_of(go: str) -> ObjectTable:
    """Return the prepared table of the Kubernetes type `go`."""
    return ObjectTable(lambda: kubernetes_struct(go))


def _path(at: At) -> FieldPath:
    keys: list[str | int] = []
    while at is not None:
        at, key = at
        keys.append(key)
    return tuple(reversed(keys))


class _PreparedField:
    """A prepared field. `check` checks a value by `prepared`, the type of the field. `zero` replaces an absent one."""

    __slots__ = ("check", "prepared", "reads_null", "required", "zero")

    def __init__(self, field: Field) -> None:
        kind = field.kind
        self.reads_null = _reads_null(kind)
        self.check = _TypedWalk.object_apart if isinstance(kind, Object) and kind.apart else _CHECKS[type(kind)]
        self.prepared = _prepare(kind)
        self.required = field.required
        self.zero = _zero_value(kind) if field.zero_when_absent else None


class _FieldOrder(dict[str, int]):
    """The rank of each field in its table. Unknown fields come last."""

    __slots__ = ()

    def __missing__(self, name: str) -> int:
        return len(self)


class ObjectTable:
    """The fields of a type of object. They are prepared for the first value, because a workload has few types."""

    __slots__ = ("_find", "fields", "is_ready", "kind", "needed", "order", "rules", "shape", "struct", "valid_types")

    kind: Object
    struct: str
    rules: tuple[ObjectRule, ...]
    fields: Mapping[str, _PreparedField]
    order: _FieldOrder
    valid_types: Mapping[str, type]
    """For some fields, a Python type: every value of the type is valid in the field."""
    needed: frozenset[str]
    """Fields that are also checked if they are absent."""

    def __init__(self, find: Callable[[], Object]) -> None:
        self._find = find
        self.is_ready = False
        # The table of krmfn's native core.
        self.shape = None if CORE is None else CORE.Shape(partial(_types_of, find))

    def prepare(self) -> None:
        """Read the kind, and set the attributes that checks of its values need."""
        kind = self.kind = self._find()
        self.struct, self.rules = kind.struct, kind.rules
        self.fields = {name: _PreparedField(field) for name, field in kind.fields.items()}
        self.order = _FieldOrder({name: place for place, name in enumerate(kind.fields)})
        self.valid_types = {name: known for name, field in kind.fields.items() if (known := _valid_type(field.kind))}
        needed = [name for name, field in self.fields.items() if field.required or field.zero is not None]
        self.needed = frozenset(needed)
        self.is_ready = True

    def fits(self, value: Value) -> bool:
        """Return True if the native core finds no problem in `value`. Otherwise, or without the core, return False."""
        return self.shape is not None and self.shape.fits(value)

    def fields_to_check(self, value: Mapping[str, Value]) -> list[str]:
        """Return the names of the fields to check, in the order of the table. Unknown fields come last."""
        valid_types = self.valid_types
        names: list[str] = []
        # A loop is faster than a comprehension here: in Python 3.11 that is a call, and most mappings have few fields.
        for name, entry in value.items():
            if type(entry) is not valid_types.get(name):
                names.append(name)
        if self.needed and not value.keys() >= self.needed:
            names += self.needed - value.keys()
        if len(names) > 1:
            names.sort(key=self.order.__getitem__)
        return names


class _List:
    """A prepared list. `absent` has the value of each key that an entry lacks. Only lists with two entries need it."""

    __slots__ = ("absent", "check", "kind", "prepared", "refuses_null", "valid_type", "zero")

    def __init__(self, kind: Array) -> None:
        self.kind = kind
        self.check = _CHECKS[type(kind.item)]
        self.prepared = _prepare(kind.item)
        self.valid_type = _valid_type(kind.item)
        self.zero = _zero_value(kind.item)
        self.refuses_null = kind.go.startswith("[]*")
        self.absent: dict[str, str | int] = {}


def _prepare(kind: Kind) -> Any:
    if isinstance(kind, Object):
        return ObjectTable(lambda: kind)
    if isinstance(kind, Reference):
        return _table_of(kind.go)
    return _List(kind) if isinstance(kind, Array) else kind


def _types_of(find: Callable[[], Object]) -> Types:
    """Return the table of the object that `find` returns, in the form of the native core."""
    kind = find()
    fields = kind.fields.items()
    return (
        {name: _type_of(field.kind) for name, field in fields},
        [name for name, field in fields if _reads_null(field.kind)],
        [name for name, field in fields if field.required],
        {name: _zero_value(field.kind) for name, field in fields if field.zero_when_absent},
        [partial(_follows, rule) for rule in kind.rules],
    )


def _type_of(kind: Kind) -> Type | None:
    """Return the type in the native core. Return None if every value is valid."""
    make = _DEPENDENT_TYPES.get(type(kind))
    return _CORE_TYPES[type(kind)] if make is None else make(kind)


def _shape_of(kind: Object | Reference) -> Shape:
    # Only the core calls this function, so the shape exists.
    return cast("Shape", _prepare(kind).shape)


def _list_type(kind: Array) -> Type:
    return _type_of(kind.item), None if kind.go.startswith("[]*") else _zero_value(kind.item), dict(kind.keys)


def _text_type(kind: Text) -> Type:
    if kind.enum:
        return frozenset((*kind.enum, "") if kind.empty_is_absent else kind.enum)
    return _valid_type(kind) or partial(_is_text_within, kind)


def _valid_type(kind: Kind) -> type | None:
    """Return a Python type if every value of it is valid. Return None if each value must be checked."""
    if isinstance(kind, Text):
        return None if kind.enum or kind.pattern or kind.min_length or kind.max_length else str
    return bool if isinstance(kind, Flag) else None


def _reads_null(kind: Kind) -> bool:
    return isinstance(kind, Duration) and not kind.is_pointer


def _zero_value(kind: Kind) -> Value:
    return "" if isinstance(kind, Text) else _EMPTY


@cache
def _has_pattern(pattern: str, text: str) -> bool:
    """Return True if `text` contains a match of a CRD's `pattern`."""
    return re.search(pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern, text) is not None


class _TypedWalk:
    """The problems found in one walk through an object.

    `stage` is the component that refuses wrong types. `durations` are examples of durations in its messages. The
    argument `struct` of a check is the decoder's name for the mapping around the value.
    """

    __slots__ = ("_apart", "_settled", "_stopped", "decode", "schema", "unknown")

    stage = Stage.DECODE
    durations = "4h0m0s or 90s"

    def __init__(self) -> None:
        self._apart: At = None
        self._settled = False
        self._stopped = False
        self.decode: list[Problem] = []
        self.schema: list[Problem] = []
        self.unknown: list[Problem] = []

    def object(self, value: Value, mapping: ObjectTable, at: At, struct: str) -> None:
        if not mapping.is_ready:
            mapping.prepare()
        if not isinstance(value, dict):
            self._type(value, mapping.kind, at, struct)
            return
        fields, own = mapping.fields, mapping.struct
        knows_all = True
        for name in mapping.fields_to_check(value):
            field = fields.get(name)
            if field is None:
                knows_all = False
                continue
            entry = value.get(name)
            if entry is None:
                if field.required:
                    self._schema((at, name), ErrorType.REQUIRED, None, "", "must be set")
                if field.zero is None:
                    if name in value and field.reads_null:
                        self.null((at, name), field.prepared)
                    continue
                entry = field.zero
            field.check(self, entry, field.prepared, (at, name), own)
        if not (knows_all or mapping.kind.takes_others):
            path = _path(at)
            self.unknown += [self.unknown_problem(path, name, mapping) for name in value if name not in fields]
        for rule in mapping.rules:
            self._rule(value, rule, at)

    def object_apart(self, value: Value, mapping: ObjectTable, at: At, struct: str) -> None:
        self._apart = at
        self.object(value, mapping, at, struct)
        self._apart = None
        self._settled = bool(self.decode)

    def array(self, value: Value, entries: _List, at: At, struct: str) -> None:
        if not isinstance(value, list):
            self._type(value, entries.kind, at, struct)
            return
        valid_type, check = entries.valid_type, entries.check
        for index, entry in enumerate(value):
            if type(entry) is valid_type:
                continue
            if entry is None and entries.refuses_null:
                # Grove's webhook crashes on a null in a list of pointers.
                message = "must be a mapping; got null; remove the entry or fill it in"
                self.decode.append(Problem(_path((at, index)), message, stage=self.stage))
            else:
                item = entries.zero if entry is None else entry
                check(self, item, entries.prepared, (at, index), struct)
        if entries.kind.keys and len(value) > 1:
            self._duplicates(value, entries, at)

    def text(self, value: Value, kind: Text, at: At, struct: str) -> None:
        if not isinstance(value, str):
            self._type(value, kind, at, struct)
        elif kind.enum and value not in kind.enum and not (kind.empty_is_absent and not value):
            known = ", ".join([go_quote(name) for name in kind.enum])
            message = f'must be one of {list_known(kind.enum)}; got "{value}"{did_you_mean(value, kind.enum)}'
            self._schema(at, ErrorType.NOT_SUPPORTED, value, f"supported values: {known}", message)
        elif not kind.enum:
            self._bounds(value, kind, at)

    def _bounds(self, value: str, kind: Text, at: At) -> None:
        if len(value) < kind.min_length:
            detail = f"{format_path(_path(at))} in body should be at least {kind.min_length} chars long"
            message = f"must be at least {kind.min_length} characters long; got {describe(value)}"
            if kind.min_length == 1:
                message = "must not be empty"
            self._schema(at, ErrorType.INVALID, value, detail, message)
            return
        if len(value) > kind.max_length > 0:
            message = f"must be at most {kind.max_length} characters long; got {len(value)}"
            detail = f"may not be more than {kind.max_length} bytes"
            self._schema(at, ErrorType.TOO_LONG, value, detail, message)
        if not _has_pattern(kind.pattern, value):
            message = f'must match {kind.pattern}; got "{value}"'
            detail = f"{format_path(_path(at))} in body should match '{kind.pattern}'"
            self._schema(at, ErrorType.INVALID, value, detail, message)

    def _rule(self, value: Mapping[str, Value], rule: ObjectRule, at: At) -> None:
        breaches = rule.breaches(value)
        if not breaches:
            return
        path = _path(at)
        text = f"{format_path((*path, *rule.at))}: {rule.type}: {rule.detail}"
        for place in breaches:
            self.schema.append(Problem((*path, *place), rule.message, text, Stage.SCHEMA))
            text = None

    def number(self, value: Value, kind: Number, at: At, struct: str) -> None:
        if not _is_integer(value, kind):
            self._type(value, kind, at, struct)

    def decimal(self, value: Value, kind: Decimal, at: At, struct: str) -> None:
        if not _is_decimal(value):
            self._type(value, kind, at, struct)

    def flag(self, value: Value, kind: Flag, at: At, struct: str) -> None:
        if not isinstance(value, bool):
            self._type(value, kind, at, struct)

    def duration(self, value: Value, kind: Duration, at: At, struct: str) -> None:
        if not isinstance(value, str):
            text = _type_text(value, kind, kind.go, struct, self.decoder_path(at))
        elif parse_duration(value) is None:
            text = duration_fault(value)
        else:
            return
        self._decode(at, f"must be a duration such as {self.durations}; got {describe(value)}", text, stops=True)

    def null(self, at: At, _kind: Duration) -> None:
        """Report null for a duration that is not a pointer: its decoder also reads null, and refuses it."""
        message = f"must be a duration such as {self.durations}; got {describe(None)}"
        self._decode(at, message, duration_fault(""), stops=True)

    def quantity(self, value: Value, _kind: Quantity, at: At, _struct: str) -> None:
        fault = _quantity_fault(value)
        if fault is not None:
            self._decode(at, f"must be a quantity such as 2, 500m or 64Gi; got {describe(value)}", fault, stops=True)

    def int_or_string(self, value: Value, kind: IntOrString, at: At, struct: str) -> None:
        if not _is_int_or_string(value):
            text = _type_text(value, INT32, kind.go, struct, self.decoder_path(at))
            self._decode(at, f"must be an integer of 32 bits or a string; got {describe(value)}", text, stops=True)

    def text_map(self, value: Value, kind: TextMap, at: At, struct: str) -> None:
        if not isinstance(value, dict):
            self._type(value, kind, at, struct)
            return
        for key in sorted(key for key, text in value.items() if not isinstance(text, str) and text is not None):
            self._type(value[key], Text(), (at, key), struct, of=at)

    def quantities(self, value: Value, kind: Quantities, at: At, struct: str) -> None:
        if not isinstance(value, dict):
            self._type(value, kind, at, struct)
            return
        for key in sorted(key for key, amount in value.items() if amount is not None and _quantity_fault(amount)):
            self.quantity(value[key], _QUANTITY, (at, key), struct)

    def open(self, _value: Value, _kind: Open, _at: At, _struct: str) -> None:
        return

    def _duplicates(self, values: Sequence[Value], entries: _List, at: At) -> None:
        absent = entries.absent
        if not absent:
            absent |= {
                key: _zero_of(key, entries.kind) if default is None else default
                for key, default in entries.kind.keys.items()
            }
        named = [
            (index, entry or _EMPTY) for index, entry in enumerate(values) if entry is None or isinstance(entry, dict)
        ]
        columns: list[list[Value]] = []
        for key, default in absent.items():
            parts = [entry.get(key, default) for _, entry in named]
            columns.append([default if part is None else part for part in parts] if None in parts else parts)
        # A number differs from a text with the same digits. Lists and mappings are compared by their `repr`.
        forms = [[part if type(part) is str else repr(part).encode() for part in parts] for parts in columns]
        identities = list(zip(*forms, strict=True))
        if len(set(identities)) == len(identities):
            return
        seen: dict[tuple[str | bytes, ...], int] = {}
        for (index, _), identity, parts in zip(named, identities, zip(*columns, strict=True), strict=True):
            seen[identity] = seen.get(identity, 0) + 1
            # Report a repeated value once, as the API server does, even if it occurs more than twice.
            if seen[identity] == 2:
                shown = ", ".join([f'{key} "{part}"' for key, part in zip(absent, parts, strict=True)])
                value = dict(zip(absent, parts, strict=True))
                self._schema((at, index), ErrorType.DUPLICATE, value, "", f"two entries have {shown}")

    def unknown_problem(self, path: FieldPath, name: str, mapping: ObjectTable) -> Problem:
        """Return the problem of a field `name` that the mapping at `path` does not have."""
        where = f'"{format_path(path)}"' if path else f"a {mapping.struct}"
        names = sorted(mapping.fields)
        newer = self.replacement((*path, name))
        known = known_names(name, names) if newer is None else f"; known: {list_known(names)}; its new name is {newer}"
        return Problem((*path, name), f'unknown field "{name}" of {where}{known}', effect=Effect.UNKNOWN)

    def replacement(self, path: FieldPath) -> str | None:  # noqa: ARG002
        """Return the field that replaced the one at `path`, or None."""
        return None

    def _type(self, value: Value, kind: Kind, at: At, struct: str, *, of: At = None) -> None:
        go, wanted = ("", "object") if isinstance(kind, Open | TextOr) else (kind.go, kind.json)
        noun = JSON_NOUNS[wanted]
        if type(value) is int and isinstance(kind, Number):
            noun = f"an integer of {kind.bits} bits"
        text = _type_text(value, kind, go, struct, self.decoder_path(of or at))
        self._decode(at, f"must be {noun}; got {describe(value)}", text)

    def decoder_path(self, at: At) -> str:
        """Return the decoder's name for a place: the names of the fields without list indices."""
        names: list[str] = []
        while at is not None and at is not self._apart:
            at, key = at
            if isinstance(key, str):
                names.append(key)
        return ".".join(reversed(names))

    def _decode(self, at: At, message: str, text: str, *, stops: bool = False) -> None:
        """Report a problem of the decoder. Only one problem has the decoder's text, because the decoder reports one.

        A type with its own decoder stops the decoding, so its problem gets the text. Without such a problem, the first
        problem gets the text.
        """
        if self._settled:
            text = ""
        elif stops and not self._stopped:
            self._stopped = True
            self.decode = [problem.replace(operator_message=None) for problem in self.decode]
        elif self.decode:
            text = ""
        self.decode.append(Problem(_path(at), message, text or None, self.stage))

    def _schema(self, at: At, kind: ErrorType, value: Value, detail: str, message: str) -> None:
        path = _path(at)
        text = OperatorError(format_path(path), kind, value, detail).text()
        self.schema.append(Problem(path, message, text, Stage.SCHEMA))


class Decoder(_TypedWalk):
    """A walk through one object. Its problems are `decode`, `schema` and `unknown`, each in the order of the walk.

    The decoder of another operator is a subclass with its own texts and stage.
    """

    __slots__ = ()

    def read(self, value: Value, table: ObjectTable) -> None:
        """Collect the problems of a whole object."""
        if not table.fits(value):
            self.object(value, table, None, "")


_CHECKS: dict[type, Callable[[_TypedWalk, Value, Any, At, str], None]] = {
    Reference: _TypedWalk.object,
    Object: _TypedWalk.object,
    Array: _TypedWalk.array,
    Text: _TypedWalk.text,
    Number: _TypedWalk.number,
    Decimal: _TypedWalk.decimal,
    Flag: _TypedWalk.flag,
    Duration: _TypedWalk.duration,
    Quantity: _TypedWalk.quantity,
    IntOrString: _TypedWalk.int_or_string,
    Quantities: _TypedWalk.quantities,
    TextMap: _TypedWalk.text_map,
    Open: _TypedWalk.open,
}


def _follows(rule: ObjectRule, value: Mapping[str, Value]) -> bool:
    return not rule.breaches(value)


def _is_text_within(kind: Text, value: Value) -> bool:
    return (
        isinstance(value, str)
        and len(value) >= kind.min_length
        and not len(value) > kind.max_length > 0
        and _has_pattern(kind.pattern, value)
    )


def _is_decimal(value: Value) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and -_FLOAT32 <= cast("float", value) < _FLOAT32


def _is_duration(value: Value) -> bool:
    return isinstance(value, str) and parse_duration(value) is not None


def _is_quantity(value: Value) -> bool:
    # This is called often. Most quantities are texts, so they are checked without a second call.
    return (quantity_fault(value) if isinstance(value, str) else _quantity_fault(value)) is None


def _is_int_or_string(value: Value) -> bool:
    return isinstance(value, str) or _is_integer(value, INT32)


_CORE_TYPES: dict[type, Type | None] = {
    Decimal: _is_decimal,
    Flag: bool,
    Duration: _is_duration,
    Quantity: _is_quantity,
    IntOrString: _is_int_or_string,
    Quantities: (_is_quantity,),
    TextMap: (str,),
    Open: None,
}
"""The type in the native core of each kind of value."""

_DEPENDENT_TYPES: dict[type, Callable[[Any], Type]] = {
    Reference: _shape_of,
    Object: _shape_of,
    Array: _list_type,
    Text: _text_type,
    Number: lambda kind: kind.bits,
}
"""Make the type in the native core from the settings of the kind of value, such as its enum or its fields."""


def _zero_of(key: str, kind: Array) -> str | int:
    """Return the zero value that Go writes for the missing field `key` of an entry."""
    owner = kubernetes_struct(kind.item.go) if isinstance(kind.item, Reference) else kind.item
    is_number = isinstance(owner, Object) and isinstance(owner.fields[key].kind, Number)
    return 0 if is_number else ""


_QUANTITY = Quantity()


def _quantity_fault(value: Value) -> str | None:
    """Return the decoder's error about an invalid quantity, or None."""
    # Go parses the JSON text of any type as a quantity. The texts of booleans, lists and mappings are never one.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return None if is_number else quantity_fault(value if isinstance(value, str) else "{")


def _is_integer(value: Value, kind: Number) -> bool:
    """Return True if Go reads `value` as an integer within the limits of `kind`. To Go, 2.0 is the integer 2."""
    if type(value) is int or (type(value) is float and value.is_integer()):
        limit = 1 << (kind.bits - 1)
        return -limit <= value < limit
    return False


def _type_text(value: Value, kind: Kind, go: str, struct: str, dotted: str) -> str:
    digits = go_number(value) if isinstance(kind, Number | Decimal) and isinstance(value, int | float) else ""
    return unmarshal_error(value, go, f"{struct}.{dotted}" if dotted else "", digits=digits)
