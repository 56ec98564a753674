from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yamltext_calls import calls_of
from yamltext_documents import KEYS, SCALARS, VALUES, documents

from krmfn.yamltext import Span, YamlError, locate, locate_nearest, read, remove_value, set_value
from krmfn.yamltext.edit import changed_entry
from krmfn.yamltext.reader import CORE
from tests.places import NO_CORE

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value


def paths_of(value: Value, path: FieldPath = ()) -> list[FieldPath]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += paths_of(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += paths_of(item, (*path, index))
    return found


def mappings_of(value: Value) -> list[FieldPath]:
    return [()] + [path for path in paths_of(value) if isinstance(value_at(value, path), dict)]


def value_at(value: Any, path: FieldPath) -> Any:
    for step in path:
        value = value[step]
    return value


def with_value(value: Any, path: FieldPath, new: Value) -> Any:
    if not path:
        return new
    if isinstance(value, list):
        items: list[Any] = [*cast("list[Any]", value)]
        if path[0] == len(items):
            items.append(None)
        index = cast("int", path[0])
        items[index] = with_value(items[index], path[1:], new)
        return items
    mapping: dict[Any, Any] = {**(value or {})}
    mapping[path[0]] = with_value(mapping.get(path[0]), path[1:], new)
    return mapping


def without_value(value: Any, path: FieldPath) -> Any:
    step, rest = path[0], path[1:]
    if rest:
        return with_value(value, (step,), without_value(value[step], rest))
    if isinstance(value, dict):
        return {k: v for k, v in cast("dict[Any, Any]", value).items() if k != step}
    return [v for i, v in enumerate(value) if i != step]


def common_length(one: str, other: str) -> int:
    """Return the length of the common beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def changed_span(text: str, new: str) -> tuple[int, int]:
    """Return [start, end) of the part of `text` that `new` does not have."""
    start = common_length(text, new)
    back = common_length(text[start:][::-1], new[start:][::-1])
    return start, len(text) - back


@given(documents(), st.data(), VALUES)
def test_a_replaced_value_is_read_back_and_nothing_else_changes(
    document: tuple[str, dict[str, Value]], data: st.DataObject, new: Value
) -> None:
    text, value = document
    path = data.draw(st.sampled_from(paths_of(value)))
    span = locate(text, path)
    assert span is not None
    edited = set_value(text, path, new)
    assert read(edited) == with_value(value, path, new), edited
    start, end = changed_span(text, edited)
    if start < end:
        # If the new value begins like the old one, the first difference is further on.
        start = min(start, span.start)
        first = text.rfind("\n", 0, start) + 1
        assert text[first:start].count("\n") <= text[first : span.start].count("\n")
        last = text.find("\n", span.end)
        assert end <= (last + 1 if last >= 0 else len(text))
    assert set_value(edited, path, new) == edited


@given(documents(), st.data(), KEYS, VALUES)
def test_an_inserted_key_is_read_back_and_removing_it_gives_the_text_back(
    document: tuple[str, dict[str, Value]], data: st.DataObject, key: str, new: Value
) -> None:
    text, value = document
    parent = data.draw(st.sampled_from(mappings_of(value)))
    if key in value_at(value, parent):
        return
    path = (*parent, key)
    edited = set_value(text, path, new)
    assert read(edited) == with_value(value, path, new), edited
    if value_at(value, parent):
        start, end = changed_span(text, edited)
        assert start >= end, "an insertion only inserts"
        assert remove_value(edited, path) == text


@given(documents(), st.data())
def test_a_removed_value_is_gone_and_nothing_else(document: tuple[str, dict[str, Value]], data: st.DataObject) -> None:
    text, value = document
    path = data.draw(st.sampled_from(paths_of(value)))
    edited = remove_value(text, path)
    assert read(edited) == without_value(value, path), edited


@given(documents(), st.data(), SCALARS)
def test_missing_parents_are_created_and_pruned(
    document: tuple[str, dict[str, Value]], data: st.DataObject, new: Value
) -> None:
    text, value = document
    parent = data.draw(st.sampled_from(mappings_of(value)))
    path = (*parent, "new key", "x", 0, "y")
    edited = set_value(text, path, new)
    assert value_at(read(edited), path) == new
    if value_at(value, parent):
        assert remove_value(edited, path, prune=True) == text


@given(documents(), st.data(), st.text(alphabet="ab: -?[]{}\"'#&*!|>%\n", max_size=8))
def test_the_lines_of_a_changed_entry_mean_alone_what_the_whole_means_there(
    document: tuple[str, dict[str, Value]], data: st.DataObject, noise: str
) -> None:
    text, value = document
    path = data.draw(st.sampled_from(paths_of(value)))
    span = locate(text, path)
    assert span is not None
    start = data.draw(st.integers(span.start, span.end))
    edited = text[:start] + noise + text[data.draw(st.integers(start, span.end)) :]
    lines, depth = changed_entry(text, edited, path, 0)
    try:
        alone = read(lines)
    except YamlError:
        return
    if isinstance(alone, dict) and depth and [*alone] == [path[depth - 1]]:
        assert read(edited) == with_value(value, path[:depth], alone[cast("str", path[depth - 1])])


ENTRIES = """\
a: 1
b:
  c: {d: 1}
  # of e
  e:
    f: |
      text
  g: 2
h: 3
"""


@pytest.mark.parametrize(
    ("old", "new", "path", "lines", "depth"),
    [
        pytest.param("d: 1", "d: 2", ("b", "c", "d"), "  c: {d: 2}\n  # of e\n", 2, id="the least block entry"),
        pytest.param("text", "words", ("b", "e", "f"), "  e:\n    f: |\n      words\n", 2, id="a last entry's parent"),
        pytest.param("g: 2", "g: 3", ("b", "g"), ENTRIES[5:-5].replace("g: 2", "g: 3"), 1, id="a last entry"),
        pytest.param("  c:", "  k:", ("b", "c"), ENTRIES[5:-5].replace("  c:", "  k:"), 1, id="a key's parent"),
        pytest.param("a: 1", "a: 2", ("b", "c"), "", 0, id="a change elsewhere"),
        pytest.param("h: 3", "h: 4", ("h",), "", 0, id="the last entry of all"),
        pytest.param(
            "c: {d: 1}", "c: " + "[" * 500 + "]" * 500, ("b", "c"), "", 0, id="a depth that counts from above"
        ),
    ],
)
def test_a_changed_entry(old: str, new: str, path: FieldPath, lines: str, depth: int) -> None:
    assert changed_entry(ENTRIES, ENTRIES.replace(old, new), path, 0) == (lines, depth)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: &x 1\nb: *x\nc: 2\n", id="an anchor that is used"),
        pytest.param("%TAG !! tag:example.com,2000:\n---\na: !!int 1\nb: 2\n", id="a tag's own meaning"),
    ],
)
def test_no_entry_means_alone_what_another_place_says(text: str) -> None:
    assert changed_entry(text, text.replace("1", "2"), ("a",), 0) == ("", 0)


@given(documents(), st.data())
def test_setting_what_is_there_changes_nothing(document: tuple[str, dict[str, Value]], data: st.DataObject) -> None:
    text, value = document
    path = data.draw(st.sampled_from(paths_of(value)))
    assert set_value(text, path, value_at(read(text), path)) == text


@given(documents(), st.data())
def test_the_span_of_a_value_reads_as_the_value(document: tuple[str, dict[str, Value]], data: st.DataObject) -> None:
    text, value = document
    path = data.draw(st.sampled_from(paths_of(value)))
    span = locate(text, path)
    assert span is not None
    assert span.line == text.count("\n", 0, span.start) + 1
    if isinstance(value_at(value, path), (int, float, bool)):
        assert read(text[span.start : span.end]) == value_at(value, path)
    key = locate(text, path, key=True)
    if isinstance(path[-1], str) and key is not None:
        assert read("{" + text[key.start : key.end] + ": 1}") == {path[-1]: 1}
    assert locate(text, (*path, "no such key")) is None
    assert locate_nearest(text, (*path, "no such key", 1)) == span


CHUNK = """\
- apiVersion: v1
  kind: X # k
  metadata:
    name: a
    annotations:
      a: "b"   # inline
      c: |
        text

    # about labels
    labels: {} # none
    empty:
    flow: {a: 1, "b": [1]}
  spec:
    list:
    - a
    - b: 1
      c: 2
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("metadata", "annotations", "k"), "v: w", "        text\n", '        text\n      k: "v: w"\n'),
        (("metadata", "labels", "k"), "1", "labels: {} # none\n", 'labels: # none\n      k: "1"\n'),
        (("metadata", "empty", "x"), 1, "empty:\n", "empty:\n      x: 1\n"),
        (("metadata", "flow", "k"), "v", '"b": [1]}', '"b": [1], "k": "v"}'),
        (("metadata", "annotations", "a"), "z", '"b"   # inline', "z   # inline"),
        (("metadata", "annotations", "c"), "z", "|\n        text\n", "z\n"),
        (("metadata", "annotations", "a"), "x\ny", '"b"   # inline\n', "|-   # inline\n        x\n        y\n"),
        (("spec", "list", 1), "s", "- b: 1\n      c: 2\n", "- s\n"),
        (("spec", "list", 2, "r"), True, "      c: 2\n", "      c: 2\n    - r: true\n"),
        (("spec", "list", 0), {"a": 1, "b": [1]}, "- a\n", "- a: 1\n      b:\n      - 1\n"),
        (("kind",), {"a": "b"}, "kind: X # k\n", "kind: # k\n    a: b\n"),
        (("status", "x"), {}, "      c: 2\n", "      c: 2\n  status:\n    x: {}\n"),
    ],
)
@pytest.mark.parametrize("crlf", [False, True])
def test_a_chunk_of_a_list_is_spliced(path: FieldPath, value: Value, old: str, new: str, crlf: bool) -> None:
    assert CHUNK.count(old) == 1
    text, expected = CHUNK, CHUNK.replace(old, new)
    if crlf:
        text, expected = text.replace("\n", "\r\n"), expected.replace("\n", "\r\n")
    assert set_value(text, (0, *path), value) == expected
    assert value_at(read(expected), (0, *path)) == value


@pytest.mark.parametrize(
    ("text", "path", "value", "new"),
    [
        ("", ("a", "b"), 1, "a:\n  b: 1\n"),
        ("# only\n", ("a",), 1, "# only\na: 1\n"),
        ("{}", ("a",), 1, "a: 1"),
        ("a: 1", ("b",), 2, "a: 1\nb: 2"),
        ("---\na: 1\n", ("b",), 2, "---\na: 1\nb: 2\n"),
        ("a: 1\n...\n", ("b",), 2, "a: 1\nb: 2\n...\n"),
        ('{"a":{"b":1}}', ("a", "c"), "x", '{"a":{"b":1, "c": "x"}}'),
        ('{"a": {}}', ("a", "c"), "x", '{"a": {"c": "x"}}'),
        ('{\n  "a": {\n    "b": 1\n  }\n}\n', ("a", "c"), [1], '{\n  "a": {\n    "b": 1,\n    "c": [1]\n  }\n}\n'),
        ("a: {b: 1, # one\n  }\n", ("a", "c"), 2, "a: {b: 1, c: 2, # one\n  }\n"),
        ("a: {b: }\n", ("a", "c"), 2, "a: {b: , c: 2 }\n"),
        ("a: [b: 1, c]\n", ("a", 0, "d"), 2, "a: [{b: 1, d: 2}, c]\n"),
        ("a: {b, c: 1}\n", ("a", "b"), 2, "a: {b: 2, c: 1}\n"),
        ("a: {b, c: }\n", ("a", "c"), 2, "a: {b, c: 2 }\n"),
        ("a: [ ]\n", ("a", 0), 2, "a:\n- 2\n"),
        ("a:\n    b:\n        c: 1\n", ("a", "d", "e"), 2, "a:\n    b:\n        c: 1\n    d:\n      e: 2\n"),
        ("a:\n    b:\n", ("a", "b", "c"), 2, "a:\n    b:\n        c: 2\n"),
        ("a: |+\n  x\n\nb: 1\n", ("a",), "z", "a: z\nb: 1\n"),
        ("a:\n  b: |+\n    x\n\n", ("a", "c"), 1, "a:\n  b: |+\n    x\n\n  c: 1\n"),
        ("a:\n  b: 1\n    # deep\n", ("a", "c"), "x\ny\n", 'a:\n  b: 1\n  c: "x\\ny\\n"\n    # deep\n'),
        ("a: # why\n  # more\n  b: 1\nc: 2\n", ("a",), 1, "a: 1 # why\n  # more\nc: 2\n"),
        ("\ufeffa: \U0001f600\nb: 1\n", ("b",), 2, "\ufeffa: \U0001f600\nb: 2\n"),
        ('a: "\u0085\u2028"\nb: 1\n', ("b",), 2, 'a: "\u0085\u2028"\nb: 2\n'),
        ("a: 012\n", ("a",), 10, "a: 012\n"),
        ("a: 1\n", ("a",), True, "a: true\n"),
        ("a: ~ # none\n", ("a", "b"), 1, "a: # none\n  b: 1\n"),
        ("? a\n: b\n", ("a",), "c", "? a\n: c\n"),
        ("a: &x {b: 1}\nc: 2\n", ("a", "b"), 2, "a: &x {b: 2}\nc: 2\n"),
        ("a: &x {b: 1}\nc: *x\n", ("c", "d"), 2, "a: &x {b: 1}\nc:\n  b: 1\n  d: 2\n"),
        (
            "a: &x {b: {d: 1}}\nc:\n  <<: *x\n",
            ("c", "b", "e"),
            2,
            "a: &x {b: {d: 1}}\nc:\n  <<: *x\n  b:\n    d: 1\n    e: 2\n",
        ),
    ],
)
def test_odd_texts_are_spliced(text: str, path: FieldPath, value: Value, new: str) -> None:
    assert set_value(text, path, value) == new
    assert value_at(read(new), path) == value


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("a: x\n", ("a", "b"), '1:4: "a" must be a mapping to hold "b"; got "x"'),
        ("a: [1]\n", ("a", "b"), '1:4: "a" must be a mapping to hold "b"; got a list'),
        ("a: [1]\n", ("a", 3), '1:4: "a" has 1 items; the index to set must be at most 1; got 3'),
        ("a: {}\n", ("a", "b", 1), "1:1: the first index of a new list must be 0; got 1"),
    ],
)
def test_what_cannot_be_set_is_an_error(text: str, path: FieldPath, message: str) -> None:
    with pytest.raises(YamlError) as caught:
        set_value(text, path, 1)
    assert str(caught.value) == message


def test_a_shared_value_is_not_edited_in_place() -> None:
    text = "a: &x {b: 1}\nc: *x\n"
    with pytest.raises(YamlError, match='1:4: anchor "x" shares this value'):
        set_value(text, ("a", "b"), 2)
    with pytest.raises(YamlError, match='1:4: anchor "x" shares this value'):
        remove_value(text, ("a", "b"))


def test_text_that_looks_like_an_anchor_and_its_alias_is_none() -> None:
    text = 'a: 1\nb:\n  "*": x && y\n  "&": "*y &z"\n'
    assert remove_value(text, ("b",)) == "a: 1\n"
    assert set_value(text, ("b", "&"), 1) == 'a: 1\nb:\n  "*": x && y\n  "&": 1\n'


def test_an_anchor_that_is_needed_elsewhere_is_not_taken_away() -> None:
    for edit in (partial(set_value, path=("a",), value=1), partial(remove_value, path=("a",))):
        with pytest.raises(YamlError, match='2:6: anchor "x" shares this value'):
            edit("a:\n  b: &x 1\nc: *x\n")
    assert set_value("a: &x 1\nc: *x\n", ("a",), 1) == "a: &x 1\nc: *x\n"


@pytest.mark.parametrize(
    ("text", "path", "prune", "new"),
    [
        ("- a: 1\n  b: 2\n", (0, "a"), False, "- b: 2\n"),
        ("- a: 1\n  # c\n  b: 2\n", (0, "a"), False, "-\n  # c\n  b: 2\n"),
        ("a:\n  b: 1 # x\nc: 2\n", ("a", "b"), False, "a: {}\nc: 2\n"),
        ("a:\n  b: 1 # x\nc: 2\n", ("a", "b"), True, "c: 2\n"),
        ("# a\na: 1\n# b\nb: 2\n", ("a",), False, "# a\n# b\nb: 2\n"),
        ("a: 1\r\nb: 2", ("b",), False, "a: 1"),
        ("a: [1, 2, 3]\n", ("a", 1), False, "a: [1, 3]\n"),
        ("a: [1, 2, 3]\n", ("a", 0), False, "a: [2, 3]\n"),
        ("a:\n- x\n- y\n", ("a", 0), False, "a:\n- y\n"),
        ("a: {b: 1, # one\n  c: 2}\n", ("a", "c"), False, "a: {b: 1 # one\n  }\n"),
        ("a: 1\n", ("b", "c"), True, "a: 1\n"),
        ("a: &x {b: 1, c: 2}\nd: *x\n", ("d", "b"), False, "a: &x {b: 1, c: 2}\nd:\n  c: 2\n"),
    ],
)
def test_removal_takes_the_lines_of_its_entry_only(text: str, path: FieldPath, prune: bool, new: str) -> None:
    assert remove_value(text, path, prune=prune) == new


def test_spans_count_characters_and_lines_as_editors_do() -> None:
    text = '\ufeffa: \U0001f600\u2028\r\nb:\r\n  c: "é\U0001f600"  # x\r\n  d: |\r\n    x\r\n'
    found = locate(text, ("b", "c"))
    assert found is not None
    assert text[found.start : found.end] == '"é\U0001f600"'
    assert found == Span(found.start, found.end, 3, 6)
    assert locate(text, ("b", "c"), key=True) == Span(found.start - 3, found.start - 2, 3, 3)
    assert locate_nearest(text, ("b", "d", "e")) == locate(text, ("b", "d"))
    assert locate_nearest("", ("a",)) == Span(0, 0, 1, 1)


@pytest.mark.skipif(CORE is None, reason=NO_CORE)
def test_an_annotation_is_set_without_a_look_at_what_follows() -> None:
    def work(entries: int) -> int:
        text = CHUNK + "".join(f"    - name: n{i}\n      value: v{i}\n" for i in range(entries))
        return calls_of(lambda: set_value(text, (0, "metadata", "annotations", "k"), "v"))

    # Imports and caches of the first use do not count.
    work(0)
    assert work(1000) == work(10) < 1000


MANIFEST = """\
# head
- kind: X # k
  metadata:

      # about the name
      name: a
      labels:
        "app": a
      annotations:   # client's
        a: '1'  # one
        b: [1, 2]
        empty:

        # end
  spec:
  - a: |
      b
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("metadata", "annotations", "c"), "x: y", "        empty:\n", '        empty:\n        c: "x: y"\n'),
        (("metadata", "annotations", "a"), "2", "'1'  # one", '"2"  # one'),
        (("metadata", "annotations", "a"), "1", "'1'  # one", "'1'  # one"),
        (("metadata", "annotations", "empty"), True, "empty:\n", "empty: true\n"),
        (("metadata", "labels", "app"), "b", '"app": a', '"app": b'),
        (("metadata", "namespace"), "x", "        empty:\n", "        empty:\n      namespace: x\n"),
        (
            ("metadata", "new", "a", "b"),
            1,
            "        empty:\n",
            "        empty:\n      new:\n        a:\n          b: 1\n",
        ),
        (("kind",), "Z", "X # k", "Z # k"),
    ],
)
def test_what_an_edit_writes(path: FieldPath, value: Value, old: str, new: str) -> None:
    assert MANIFEST.count(old) == 1
    assert set_value(MANIFEST, (0, *path), value) == MANIFEST.replace(old, new)


def test_long_mappings_are_set_too() -> None:
    text = "a:\n" + "".join(f"  k{n}: {n}\n" for n in range(100)) + "b:\n  c: 1\n"
    assert set_value(text, ("a", "k99"), "x") == text.replace("k99: 99", "k99: x")
    assert set_value(text, ("b", "d"), "x") == text + "  d: x\n"
