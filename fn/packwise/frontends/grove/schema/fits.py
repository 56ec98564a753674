"""A quick look: does an object surely fit the table? Nearly every one does, and then nothing need be explained.

The tests are made from the table when the first workload is met; no list of fields is kept here.
"""

from __future__ import annotations

import re
from functools import cache

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.grove.schema.table import (
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
    podcliqueset,
    struct,
)  # fmt: skip
from packwise.kubernetes.quantities import parse_duration, quantity_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeAlias

    from krmfn.value import Value
    from packwise.frontends.grove.schema.table import Field, Kind
    from packwise.revisions.revision import Revision

    Test: TypeAlias = Callable[[Value], bool] | None

__all__ = ["fits"]

_COMPARABLE = {str, int}


def fits(revision: Revision, *, new: bool) -> Callable[[Value], bool]:
    """The test of a PodCliqueSet. True: `check_shape` would answer no problem. False: it has to be asked."""
    return _fits(revision, new)


@cache
def _fits(revision: Revision, new: bool) -> Callable[[Value], bool]:
    root = podcliqueset(revision)
    test = _test(root._replace(rules=tuple([rule for rule in root.rules if new or not rule.new_only])))
    return test if test is not None else bool


@cache
def matches(pattern: str, text: str) -> bool:
    """Whether `text` has what a CRD's `pattern` looks for."""
    return re.search(pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern, text) is not None


def _test(kind: Kind) -> Test:
    """The test of one kind of field; None where anything fits."""
    if isinstance(kind, Object):
        return _ruled(kind) if kind.rules else _object(kind)
    if isinstance(kind, Array):
        return _array(kind)
    if isinstance(kind, Reference):
        return _reference(kind.go)
    if isinstance(kind, Text):
        return _text(kind)
    return _number(kind) if isinstance(kind, Number) else _OTHERS[type(kind)]


def _object(kind: Object) -> Callable[[Value], bool]:
    tests = {name: _test(field.kind) for name, field in kind.fields.items()}
    needed = {name for name, field in kind.fields.items() if not _may_be_absent(field)}

    def test(value: Value) -> bool:
        if not isinstance(value, dict):
            return False
        try:
            for name, entry in value.items():
                inner = tests[name]
                if inner is _is_text:
                    # What most fields are.
                    if type(entry) is not str:
                        return False
                elif entry is None or (inner is not None and not inner(entry)):
                    return False
        except KeyError:
            # Nobody knows the field.
            return False
        return not needed or value.keys() >= needed

    return test


def _ruled(kind: Object) -> Test:
    plain, rules = _object(kind), kind.rules
    return lambda value: plain(value) and isinstance(value, dict) and not any(rule.breaches(value) for rule in rules)


def _may_be_absent(field: Field) -> bool:
    if field.required:
        return False
    if not field.zero_when_absent:
        return True
    test = _test(field.kind)
    return test is None or test("" if isinstance(field.kind, Text) else {})


@cache
def _reference(go: str) -> Test:
    """The test of an object of Kubernetes' own, made when a value is first met."""
    tests: list[Test] = []

    def test(value: Value) -> bool:
        if not tests:
            tests.append(_object(struct(go)))
        inner = tests[0]
        return inner is not None and inner(value)

    return test


def _array(kind: Array) -> Test:
    inner, keys, open_ended = _test(kind.item), tuple(kind.keys.items()), isinstance(kind.item, Open)

    def test(value: Value) -> bool:
        if not isinstance(value, list):
            return False
        if inner is _is_text:
            return _are_texts(value)
        if inner is not None:
            for entry in value:
                if not inner(entry):
                    return False
        if not open_ended and None in value:
            return False
        if not keys or len(value) < 2:
            return True
        return _are_named_apart(value, *keys[0]) if len(keys) == 1 else _are_distinct(value, keys)

    return test


def _are_named_apart(entries: Sequence[Value], key: str, absent: str | None) -> bool:
    """The same as `_are_distinct` answers, of entries with one key only."""
    names: list[Any] = [entry.get(key, absent) if isinstance(entry, dict) else None for entry in entries]
    return set(map(type, names)) <= _COMPARABLE and len({*names}) == len(names)


def _are_distinct(entries: Sequence[Value], keys: tuple[tuple[str, str | None], ...]) -> bool:
    """Whether every entry has every key, as text or number, and no two have all of them alike."""
    seen: set[tuple[Value, ...]] = set()
    for entry in entries:
        if not isinstance(entry, dict):
            return False
        identity = tuple([entry.get(key, absent) for key, absent in keys])
        if not {type(part) for part in identity} <= _COMPARABLE:
            return False
        seen.add(identity)
    return len(seen) == len(entries)


def _text(kind: Text) -> Test:
    if kind.pattern:
        # What nearly every text is; check_shape looks at the others.
        return lambda value: (
            type(value) is str and 0 < len(value) <= (kind.max_length or len(value)) and matches(kind.pattern, value)
        )
    if not kind.enum:
        return _is_text
    allowed = frozenset((*kind.enum, "") if kind.empty_is_absent else kind.enum)
    return lambda value: type(value) is str and value in allowed


def _number(kind: Number) -> Test:
    limit = 1 << (kind.bits - 1)
    return lambda value: type(value) is int and -limit <= value < limit


def _is_text(value: Value) -> bool:
    return type(value) is str


def _are_texts(values: Iterable[Value]) -> bool:
    for value in values:  # noqa: SIM110 (a generator costs twice as much)
        if type(value) is not str:
            return False
    return True


def _is_flag(value: Value) -> bool:
    return type(value) is bool


def _is_duration(value: Value) -> bool:
    return type(value) is str and parse_duration(value) is not None


def _is_quantity(value: Value) -> bool:
    return type(value) is int or (type(value) is str and quantity_fault(value) is None)


def _is_int_or_string(value: Value) -> bool:
    return type(value) is str or (type(value) is int and -(1 << 31) <= value < 1 << 31)


def _are_quantities(value: Value) -> bool:
    if not isinstance(value, dict):
        return False
    for amount in value.values():  # noqa: SIM110
        if not _is_quantity(amount):
            return False
    return True


def _is_text_map(value: Value) -> bool:
    return isinstance(value, dict) and _are_texts(value.values())


_OTHERS: dict[type[Kind], Test] = {
    Flag: _is_flag,
    Duration: _is_duration,
    Quantity: _is_quantity,
    IntOrString: _is_int_or_string,
    Quantities: _are_quantities,
    TextMap: _is_text_map,
    Open: None,
}
