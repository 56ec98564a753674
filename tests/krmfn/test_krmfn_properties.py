from __future__ import annotations

from random import Random
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from krmfn import KubeObject, ResourceList, Result, Value
from krmfn.yamltext import YamlError, read, write

KEYS = st.text(alphabet="abyn01.:#-'\" ", min_size=1, max_size=6)
TEXTS = st.text(alphabet="ab\n -#:'\"\\&*é\t{[|>?!%@`", max_size=20)
SCALARS: st.SearchStrategy[Value] = st.one_of(st.none(), st.booleans(), st.integers(-(10**6), 10**6), TEXTS)
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
OBJECTS: st.SearchStrategy[dict[str, Value]] = st.dictionaries(KEYS, VALUES, max_size=3).map(
    lambda value: cast("dict[str, Value]", {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, **value})
)
COMMENTS = st.sampled_from(["", "# c\n", "\n", "# c\n# d\n", "\n# c\n"])


@st.composite
def lists(draw: st.DrawFn) -> tuple[str, list[dict[str, Value]]]:
    values = draw(st.lists(OBJECTS, max_size=4))
    indent = draw(st.sampled_from(["", "  "]))
    text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:" + ("\n" if values else " []\n")
    for value in values:
        entry = write([value])
        lines = [f"{indent}{line}\n" if line else "\n" for line in entry.removesuffix("\n").split("\n")]
        text += draw(COMMENTS) + "".join(lines)
    text += draw(COMMENTS) + draw(st.sampled_from(["", write({"functionConfig": {"kind": "F", "spec": {}}})]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return text.replace("\n", newline), list(values)


@given(lists())
def test_nothing_changes_by_itself(drawn: tuple[str, list[dict[str, Value]]]) -> None:
    text, values = drawn
    parsed = ResourceList.parse(text)
    assert parsed.to_text() == text
    assert len(parsed.items) == len(values)


@given(lists(), st.data())
def test_an_edit_leaves_the_other_items_bytes(drawn: tuple[str, list[dict[str, Value]]], data: st.DataObject) -> None:
    text, values = drawn
    if not values:
        return
    parsed = ResourceList.parse(text)
    at = data.draw(st.integers(0, len(values) - 1))
    edited = parsed.items[at].with_annotation("x", data.draw(TEXTS)).set("added", data.draw(VALUES))
    after = parsed.with_items([*parsed.items[:at], edited, *parsed.items[at + 1 :]]).to_text()
    again = ResourceList.parse(after)
    assert again.items[at].value == edited.value
    for number, item in enumerate(again.items):
        if number != at:
            assert item.source.text == parsed.items[number].source.text
    start = text.index(parsed.items[0].source.text)
    assert after[:start] == text[:start]


@given(lists(), lists(), st.randoms())
def test_any_items_in_any_order(
    one: tuple[str, list[dict[str, Value]]], two: tuple[str, list[dict[str, Value]]], random: Random
) -> None:
    here, there = ResourceList.parse(one[0]), ResourceList.parse(two[0])
    items = [*here.items, *there.items, *(KubeObject.new(value) for value in two[1])]
    random.shuffle(items)
    after = ResourceList.parse(here.with_items(items).with_results([Result("r")]).to_text())
    assert [item.value for item in after.items] == [item.value for item in items]
    assert after.results == (Result("r"),)


@given(lists())
def test_an_item_as_a_document(drawn: tuple[str, list[dict[str, Value]]]) -> None:
    for item in ResourceList.parse(drawn[0]).items:
        assert read(item.text) == item.value


@given(st.text(alphabet="ab:-[]{}\"'#&*!|>\n ", max_size=60))
def test_whatever_stands_between_the_cut_agrees_with_yaml(inside: str) -> None:
    text = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- a: {inside}\n- kind: B\nz: 1\n"
    try:
        whole: Value = read(text)
    except YamlError:
        whole = None
    try:
        parsed = ResourceList.parse(text)
    except ValueError:
        assert not _is_list(whole)
        return
    items = cast("dict[str, list[Value]]", whole)["items"]
    assert [item.value for item in parsed.items] == items
    assert parsed.to_text() == text
    gone = ResourceList.parse(parsed.with_items(parsed.items[1:]).to_text())
    assert [item.value for item in gone.items] == items[1:]


def _is_list(value: Value) -> bool:
    """Return True if `value` has a list of mappings as its items."""
    items = value.get("items") if isinstance(value, dict) else None
    return isinstance(items, list) and all(isinstance(item, dict) for item in items)
