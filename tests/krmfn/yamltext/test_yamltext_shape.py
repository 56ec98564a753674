"""The native core's checks of a value: that it has the types of a table, and that it has one of some texts."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.yamltext.reader import CORE
from tests.places import NO_CORE

pytestmark = pytest.mark.skipif(CORE is None, reason=NO_CORE)

ENTRY: dict[str, Any] = {"name": str, "port": 32, "protocol": str}
KEYS = {"name": None, "protocol": "TCP"}


def shape(
    fields: dict[str, Any],
    *,
    never_null: tuple[str, ...] = (),
    required: tuple[str, ...] = (),
    zeros: dict[str, Any] | None = None,
    rules: tuple[Any, ...] = (),
) -> Any:
    """Return the shape of a mapping with these fields."""
    assert CORE is not None
    return CORE.Shape(lambda: (fields, never_null, required, zeros or {}, rules))


def fits(kind: Any, value: Any) -> bool:
    return shape({"a": kind}).fits({"a": value})


def is_b(value: Any) -> bool:
    return value == "b"


def has_a(value: Any) -> bool:
    return "a" in value


def itself(value: Any) -> Any:
    return value


def fails(value: Any) -> bool:
    raise ZeroDivisionError(value)


FITS: list[tuple[Any, list[Any], list[Any]]] = [
    (None, [1, "b", [], {}, None, 1 << 80], []),
    (str, ["b", "", None], [1, True, [], {}]),
    (bool, [True, False, None], [1, "true", []]),
    (32, [0, (1 << 31) - 1, -(1 << 31), None], [1 << 31, -(1 << 31) - 1, 1 << 80, True, 2.0, "1"]),
    (64, [(1 << 63) - 1, -(1 << 63)], [1 << 63, True, 1.0]),
    (frozenset({"b", "c"}), ["b", "c", None], ["", "d", 1, []]),
    ((str,), [{}, {"b": "c"}, {"b": None}, None], [{"b": 1}, {"b": {}}, [], "c"]),
    (is_b, ["b", None], ["c", 1]),
    (itself, [None], ["b", 1]),
    ((str, "", {}), [[], ["b", "b"], [None], None], [[1], {}, "b", [["b"]]]),
    ((str, None, {}), [["b"]], [[None]]),
    ((frozenset({"b"}), "", {}), [["b"]], [[None]]),
]


@pytest.mark.parametrize(("kind", "right", "wrong"), FITS, ids=range(len(FITS)))
def test_a_value_fits_its_type(kind: Any, right: list[Any], wrong: list[Any]) -> None:
    assert [value for value in right if not fits(kind, value)] == []
    assert [value for value in wrong if fits(kind, value)] == []


LISTS: list[tuple[list[Any], bool]] = [
    ([{"name": "a"}, {"name": "b"}], True),
    ([{"name": "a"}, {"name": "a", "protocol": "UDP"}], True),
    ([{"name": "a"}, {"name": "a", "protocol": "TCP"}], False),
    ([{"name": "a"}, {"name": "a", "protocol": None}], False),
    # Without a known default, Python decides.
    ([{"name": "a"}, {"port": 1}], False),
    ([{}], True),
]


@pytest.mark.parametrize(("entries", "is_right"), LISTS)
def test_entries_differ_in_their_keys(entries: list[Any], is_right: bool) -> None:
    assert fits((shape(ENTRY), {}, KEYS), entries) is is_right


def test_fields_are_known_set_and_follow_the_rules() -> None:
    assert not shape({"a": str}).fits({"b": "c"})
    assert not shape({"a": str}).fits(["a"])
    needs = shape({"a": str, "b": None}, required=("a",))
    assert [needs.fits(value) for value in ({"a": ""}, {"a": None}, {})] == [True, False, False]
    zero = shape({"a": frozenset({"b"})}, zeros={"a": ""})
    assert [zero.fits(value) for value in ({"a": "b"}, {"a": None}, {})] == [True, False, False]
    strict = shape({"a": str}, never_null=("a",))
    assert [strict.fits(value) for value in ({"a": "b"}, {"a": None}, {})] == [True, False, True]
    ruled = shape({"a": str}, rules=(has_a,))
    assert [ruled.fits(value) for value in ({"a": "b"}, {})] == [True, False]


def test_a_value_that_is_too_deep_is_left_to_python() -> None:
    def fields() -> Any:
        return {"a": loop}, [], [], {}, []

    assert CORE is not None
    loop: Any = CORE.Shape(fields)
    value: dict[str, Any] = {}
    for _ in range(50):
        value = {"a": value}
    assert loop.fits(value)
    for _ in range(100):
        value = {"a": value}
    assert not loop.fits(value)


@pytest.mark.parametrize("kind", [1.5, {}, (), (str, ""), -1])
def test_no_type_is_an_error(kind: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        fits(kind, 1)


def test_an_error_of_a_rule_is_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        fits(fails, 0)


WORDS = frozenset({"yes", "no"})
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["yes", "a", "b", ""]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["no", "c", "d"]), inner),
    max_leaves=8,
)


@given(st.lists(VALUES) | st.dictionaries(st.sampled_from(["no", "c"]), VALUES))
def test_a_text_is_found_as_a_value_and_not_as_a_key(value: Any) -> None:
    assert CORE is not None
    assert CORE.has_text(value, WORDS) is _has(value)


def _has(value: Any) -> bool:
    if isinstance(value, (dict, list)):
        entries = cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
        return any(_has(entry) for entry in entries)
    return value in WORDS
