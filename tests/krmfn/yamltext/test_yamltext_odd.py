"""Valid text that few people write: explicit keys, line breaks of YAML 1.1, a last line without a break."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krmfn.yamltext import YamlError, locate, read, remove_value, set_value, split_documents
from krmfn.yamltext.reader import ends_in_block_scalar, has_odd_breaks, restore_breaks, unify_breaks, with_last_break

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value


@pytest.mark.parametrize(
    ("text", "path", "value", "new"),
    [
        ("? a\n: b\n", ("c",), 1, "? a\n: b\nc: 1\n"),
        ("? m\n: |\n  text\n", ("c",), 1, "? m\n: |\n  text\nc: 1\n"),
        ("m:\n  ? a\n  : b\nn: 1\n", ("m", "c"), 1, "m:\n  ? a\n  : b\n  c: 1\nn: 1\n"),
        ("m: !!map &x # why\n  ?\n    a\n  : b\n", ("m", "c"), 1, "m: !!map &x # why\n  ?\n    a\n  : b\n  c: 1\n"),
        ("m: &m\n  &k a: b\n", ("m", "c"), 1, "m: &m\n  &k a: b\n  c: 1\n"),
        ("- ? a\n  : b\n", (0, "c"), 1, "- ? a\n  : b\n  c: 1\n"),
        ("? m\n: ? a\n  : b\n", ("m", "c"), 1, "? m\n: ? a\n  : b\n  c: 1\n"),
        ("? m\n: a: 1\n", ("m", "b"), {"c": 2}, "? m\n: a: 1\n  b:\n    c: 2\n"),
        ("? a\n: b\n", ("a",), {"c": 1}, "? a\n:\n  c: 1\n"),
        ("m: {? a : b}\n", ("m", "c"), 1, "m: {? a : b, c: 1}\n"),
        ("m: [? a : b]\n", ("m", 0, "c"), 1, "m: [{? a : b, c: 1}]\n"),
        ("\ufeff? a\n: b\n", ("c",), 1, "\ufeff? a\n: b\nc: 1\n"),
        ("!!str a: 1\n", ("a",), 2, "!!str a: 2\n"),
        ("a: {b: !!str }\n", ("a", "c"), 1, "a: {b: !!str , c: 1 }\n"),
    ],
)
def test_an_entry_is_set_beside_odd_keys(text: str, path: FieldPath, value: Value, new: str) -> None:
    assert set_value(text, path, value) == new


@pytest.mark.parametrize(
    ("text", "path", "new"),
    [
        ("? a\n: b\nc: 1\n", ("a",), "c: 1\n"),
        ("c: 1\n?\n  # why\n  a\n: b\n", ("a",), "c: 1\n"),
        ("- a: 1\n  ? b\n  : 2\n", (0, "a"), "- ? b\n  : 2\n"),
        ("m: {? a : b, c: 1}\n", ("m", "a"), "m: {c: 1}\n"),
        ("m: {c: 1, ? a : b}\n", ("m", "a"), "m: {c: 1}\n"),
        ("m: {a: b, ? c : 1}\n", ("m", "a"), "m: {c : 1}\n"),
    ],
)
def test_an_entry_with_an_explicit_key_is_removed_with_its_mark(text: str, path: FieldPath, new: str) -> None:
    assert remove_value(text, path) == new


@pytest.mark.parametrize("mark", ["\r", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize(
    ("text", "path", "value", "new"),
    [
        ("m:\n  a: 1\n|spec:\n  b: 2\n", ("m", "c"), 3, "m:\n  a: 1|  c: 3\nspec:\n  b: 2\n"),
        ("m:|  a: 1|spec:|  b: 2|", ("m", "c"), 3, "m:|  a: 1|  c: 3\nspec:|  b: 2|"),
        ("m:|  a: 1|spec:|  b: 2|", ("spec", "b"), 3, "m:|  a: 1|spec:|  b: 3|"),
        ("m: {a: 1,|  b: 2}|n: 1", ("m", "c"), 3, "m: {a: 1,|  b: 2, c: 3}|n: 1"),
        ("- m:|    a: 1| # c|", (0, "m", "b"), {"c": 1}, "- m:|    a: 1|    b:\n      c: 1\n # c|"),
    ],
)
def test_lines_that_end_otherwise_are_lines(text: str, path: FieldPath, value: Value, new: str, mark: str) -> None:
    text, new = text.replace("\n|", "|").replace("|", mark), new.replace("|", mark)

    assert set_value(text, path, value) == new


def test_an_entry_is_removed_with_its_line_however_that_ends() -> None:
    assert remove_value("a: 1\rb: 2\u2028c: 3\x85", ("b",)) == "a: 1\rc: 3\x85"
    assert remove_value("a: |\n  x\nb: 2", ("b",)) == "a: |\n  x\n"
    assert remove_value("a: x\nb: 2", ("b",)) == "a: x"


def test_a_break_that_a_literal_ends_with_stays_in_it() -> None:
    text = "m:\n  a: |\n    x\u2028\n  b: 1\n"

    edited = set_value(text, ("m", "c"), 2)

    assert edited == "m:\n  a: |\n    x\u2028\n  b: 1\n  c: 2\n"
    assert read(edited) == {"m": {"a": "x\u2028", "b": 1, "c": 2}}


def test_places_count_the_lines_of_editors() -> None:
    span = locate("a: 1\u2028b: 2\rc: 3\nd: 4\n", ("d",))

    assert span is not None
    assert (span.line, span.column) == (2, 4)


@pytest.mark.parametrize(
    ("text", "path", "value", "new"),
    [
        ("m:\n  a: |\n    x", ("m", "b"), 1, "m:\n  a: |-\n    x\n  b: 1"),
        ("m:\n  a: &x !!str |2+ # why\n    x", ("m", "b"), 1, "m:\n  a: &x !!str |2- # why\n    x\n  b: 1"),
        ("m:\n- >+1\n  x", ("m", 1), 1, "m:\n- >-1\n  x\n- 1"),
        ("m:\n  a: |-\n    x", ("m", "b"), 1, "m:\n  a: |-\n    x\n  b: 1"),
        ("a: 1", ("b",), "x\ny\n", 'a: 1\nb: "x\\ny\\n"'),
        ("# c", ("a",), 1, "# c\na: 1\n"),
    ],
)
def test_a_last_line_without_break_gets_one_and_no_value_changes(
    text: str, path: FieldPath, value: Value, new: str
) -> None:
    assert set_value(text, path, value) == new


@pytest.mark.parametrize(
    "text", ["", "a: 1\n", "a: 1", "a: |\n  x", "a: >\n  x", "a: |\n  x\r", "a: '|'", "a: |\n  x # c"]
)
def test_a_text_gets_a_last_break_without_a_change_of_value(text: str) -> None:
    ended = with_last_break(text)

    assert not ended or ended.endswith(("\n", "\r"))
    assert read(ended) == read(text)


def test_what_ends_in_a_block_scalar() -> None:
    assert ends_in_block_scalar("a: |\n  x\n")
    assert not ends_in_block_scalar("a: |\n  x\nb: '|'\n")
    assert not ends_in_block_scalar("a: |\n  x\n# c\n")


def test_odd_breaks_are_found_and_put_back() -> None:
    text = "a\r\nb\rc\u2028d\n"

    assert has_odd_breaks(text)
    assert not has_odd_breaks("a\r\nb\né\n")
    assert unify_breaks(text) == "a\r\nb\nc\nd\n"
    assert restore_breaks(text, unify_breaks(text), "a\r\nb\nX\nd\n") == "a\r\nb\rX\u2028d\n"
    assert restore_breaks(text, unify_breaks(text), unify_breaks(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\r\r\nb: 2\n", "1:5: must not contain two carriage returns before a line feed"),
        ("a: 1\n\ufeffb: 2\n", "2:1: must not contain a byte order mark at the start of a line"),
        ("\ufeff\ufeffa: 1\n", "1:2: must not contain a byte order mark at the start of a line"),
        ("[!a, 1]\n", "1:2: a tag and a comma must have a space between them"),
        ("a: 1\u2028\ufeffb: 2\n", "1:6: must not contain a byte order mark at the start of a line"),
    ],
)
def test_what_kyaml_reads_otherwise_is_refused(text: str, message: str) -> None:
    with pytest.raises(YamlError) as caught:
        read(text)
    assert str(caught.value) == message


def test_a_byte_order_mark_within_a_line_is_a_character() -> None:
    assert read('a: "x\ufeffy"\n') == {"a": "x\ufeffy"}


@pytest.mark.parametrize("text", ["# c\ra: 1\n---\nb: 2\n", "--- # c\ra: 1\n---\nb: 2\n"])
def test_a_comment_ends_where_readers_end_it(text: str) -> None:
    assert [read(document.text) for document in split_documents(text)] == [{"a": 1}, {"b": 2}]
