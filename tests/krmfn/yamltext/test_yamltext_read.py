from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yamltext_calls import calls_of
from yamltext_documents import documents

from krmfn.yamltext import YamlError, read, resolve
from krmfn.yamltext.build import read_libyaml
from krmfn.yamltext.plainlines import is_usual
from krmfn.yamltext.reader import read_fast

if TYPE_CHECKING:
    from krmfn.value import Scalar, Value

SUITE = Path(__file__).resolve().parents[3] / "testdata" / "yaml"
CASES = sorted(SUITE.glob("*.yaml"))
FRAGMENTS = [line for case in CASES for line in case.read_bytes().decode().split("\n")]


def test_the_suite_is_there() -> None:
    assert len(CASES) >= 80


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_each_document_of_the_suite_reads_as_written_beside_it(case: Path) -> None:
    text = case.read_bytes().decode()
    error = case.with_suffix(".error")
    if error.exists():
        for reader in (read, read_libyaml):
            with pytest.raises(YamlError) as caught:
                reader(text)
            assert str(caught.value) == error.read_text().rstrip("\n")
        assert not read_fast(text)[0]
        return
    expected = case.with_suffix(".json").read_text()
    assert json.dumps(read(text), indent=2, ensure_ascii=False) + "\n" == expected
    assert json.dumps(read_libyaml(text), indent=2, ensure_ascii=False) + "\n" == expected


def assert_readers_agree(text: str) -> None:
    agreed, fast = read_fast(text)
    if agreed:
        assert repr(fast) == repr(read_libyaml(text))


@settings(deadline=None)
@given(documents())
def test_a_spelled_document_reads_as_its_value(document: tuple[str, dict[str, Value]]) -> None:
    text, value = document
    assert read(text) == value
    assert_readers_agree(text)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["", "", "  ", "    ", "- "]), st.sampled_from(FRAGMENTS)), max_size=6))
def test_the_fast_reader_agrees_on_shuffled_lines(lines: list[tuple[str, str]]) -> None:
    assert_readers_agree("\n".join(indent + line for indent, line in lines) + "\n")


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(CASES), st.data())
def test_the_fast_reader_agrees_on_damaged_documents(case: Path, data: st.DataObject) -> None:
    text = case.read_bytes().decode()
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 3))
    added = data.draw(st.text("ab01 -:#'\"{}[],|>\n_.", max_size=3))
    assert_readers_agree(text[:at] + added + text[at + cut :])


USUAL_KEYS = ["a", "b", "x.y/z", "y", "on", "inf", "nulls", "'1'", '"a: b"', '""', "'é'"]
USUAL_VALUES = [
    "a", "b c", "NO", "Null", "TRUE", "tRUE", "inf", "NaN", "0", "-0", "-1", "1.5", "-0.0", "123456789012345",
    "100m", "64Gi", "1.5k", "http://x:80/y", "a::b", "a (b) c", "a-", "a=b", '"x: y"', "'{\"a\": [1]} # &b'", "''",
    '"é"', "[]", "{}", "[a, -1, 0.5]", "[null, 'a, b', \"c\"]",
]  # fmt: skip
USUAL_LINES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "  ", "  ", "    ", " ", "   ", "- ", "- ", "  - ", "- - ", "    - "]),
    st.one_of(
        st.builds("{}:".format, st.sampled_from(USUAL_KEYS)),
        st.builds("{}: {}".format, st.sampled_from(USUAL_KEYS), st.sampled_from(USUAL_VALUES)),
        st.sampled_from(USUAL_VALUES),
        st.sampled_from(["", "# a: b"]),
    ),
    st.sampled_from(["", "", "", " # c", "   #d: 'e"]),
)


@settings(max_examples=1000, deadline=None)
@given(st.lists(USUAL_LINES, max_size=6))
def test_the_fast_reader_agrees_on_usual_lines_in_any_order(lines: list[str]) -> None:
    assert_readers_agree("\n".join(lines) + "\n")


@pytest.mark.parametrize("value", USUAL_VALUES)
def test_a_usual_value_is_read_alike_wherever_it_stands(value: str) -> None:
    for place in ("a: {}\n", "a:   {} # b\n", "- {}\n", "- - {}\n", "a:\n- b: {}\n  c:\n    'd': {}\n\n# e\n"):
        text = place.replace("{}", value)
        pytest.importorskip("yaml_rs")
        assert is_usual(text)
        agreed, fast = read_fast(text)
        assert agreed
        assert repr(fast) == repr(read_libyaml(text))


def test_only_constants_are_no_strings_among_words() -> None:
    """What `usual.KEY` and the words of `usual.VALUE` rely on, in both readers."""
    letters = "aefilnrstuyAEFILNRSTUY0.-_/"
    words = ["".join(word) for word in product("fFnNtTiIyYeE", letters, letters)]
    for word in ("true", "false", "null", "yes", "nan", "inf", "infinity", "off"):
        words += ["".join(spelling) for spelling in product(*((letter, letter.upper()) for letter in word))]
    text = "".join(f"- {word}\n" for word in words)
    constants = {word for word in words if resolve(word) != word}
    assert constants == {"true", "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL"}
    yaml_rs = pytest.importorskip("yaml_rs")
    assert yaml_rs.loads(text, parse_datetime=False) == [resolve(word) for word in words]


@pytest.mark.parametrize(
    "text",
    [
        "a: 1", "a: 1 \n", "a:\t1\n", "a: 1\r\n", "a: \x7f\n", "# \u00a0\n", "a\n", "a:1\n", "a: b: c\n", "a: b:\n",
        "a: 012\n", "a: 1e3\n", "a: ~\n", "a: .5\n", "a: 1_000\n", "a: 1234567890123456\n", "a: 0x1F\n", "a: - b\n",
        "a: b#c\n", "true: 1\n", "Null:\n", "1: 1\n", "~: 1\n", "<<: a\n", "? a\n", "a: &b c\n", "a: *b\n", "a: !b c\n",
        "a: |\n  b\n", "a: {b: c}\n", "a: [b,c]\n", "a: [[]]\n", "a: [\n", 'a: "\\n"\n', "a: 'b''c'\n", "a: 'b\n",
        "---\n", "- - - a\n", "-  a\n", "-\n", "%YAML 1.1\n", "\ufeffa: 1\n", "a: \ud800\n", "k" * 300 + ": 1\n",
        "a:\n" + " " * 91 + "b: 1\n",
    ],
)  # fmt: skip
def test_other_lines_are_not_usual(text: str) -> None:
    assert not is_usual(text)
    assert not is_usual("a: 1\n" + text)


def test_a_text_that_starts_with_a_space_is_not_usual() -> None:
    assert is_usual("a:\n b: 1\n")
    assert not is_usual(" b: 1\n")


def test_a_long_text_is_usual_when_each_line_is() -> None:
    text = "- a: b\n" * 50_000
    assert is_usual(text)
    assert not is_usual(text + "&")
    assert not is_usual(f"a: {'b' * 100_000}\n" + text)


def test_the_deepest_usual_text_is_read_alike() -> None:
    pytest.importorskip("yaml_rs")
    text = "".join(f"{' ' * column}{'- ' if column % 2 else ''}a:\n" for column in range(91))
    assert is_usual(text)
    assert_readers_agree(text)
    text = "".join(f"{' ' * column}a:\n" for column in range(91))
    assert read_fast(text) == (True, read_libyaml(text))


@pytest.mark.parametrize(
    "scalar", ["012", "-012", "+012", "_1", "1_", "-_1", "._5", ".5_0", "1e400", "08", "0b+1", "0o7", "0x1F"]
)
@pytest.mark.parametrize(
    "place", ["a: {}\n", "a:\n- {}\n", "a:\n  {}\n", "a: [{}]\n", "a: [x, {}]\n", "a: [\n{}\n]\n", "[{}]", "- {}\n"]
)
def test_both_readers_agree_on_odd_scalars_wherever_they_stand(scalar: str, place: str) -> None:
    assert_readers_agree(place.replace("{}", scalar))


def test_a_plain_workload_takes_the_fast_reader() -> None:
    pytest.importorskip("yaml_rs")
    text = (
        'metadata:\n  name: a\n  annotations:\n    x: \'{"a": [1, {"b": 2}]}\'\nspec:\n- args: ["a", b, 3]\n  e: {}\n'
    )
    assert read_fast(text) == (True, read_libyaml(text))


@pytest.mark.parametrize(
    ("plain", "value"),
    [
        ("012", 10), ("0o14", 12), ("-0o14", -12), ("0x1F", 31), ("0b11", 3), ("1_000", 1000), ("08", 8.0), ("+12", 12),
        ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), ("1e400", "1e400"), ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64), ("-9223372036854775808", -(2**63)), ("0b+1", 1), (".5_0", 0.5),
        ("._5", "._5"),
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("y", "y"), ("True", True), ("tRUE", "tRUE"),
        ("~", None), ("", None), ("Null", None), ("2001-01-01", "2001-01-01"), ("1:30", "1:30"), ("=", "="), ("-", "-"),
        ("0x10000000000000000", "0x10000000000000000"), ("٣", "٣"), ("1٣", "1٣"), ("+", "+"), ("_1", "_1"),
        ("1" * 500, "1" * 500),
    ],
)  # fmt: skip
def test_resolve_reads_a_plain_scalar_as_kyaml(plain: str, value: Scalar) -> None:
    found = resolve(plain)
    assert (type(found), found) == (type(value), value)


def test_an_alias_bomb_is_refused_before_it_is_expanded() -> None:
    text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
    text += "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))

    def refused() -> None:
        with pytest.raises(YamlError, match="aliases expand to more than 1000000 nodes"):
            read(text)

    assert calls_of(refused) < len(text) * 100


@pytest.mark.parametrize(
    "text",
    ["[" * 5000 + "]" * 5000, "- " * 100_000 + "a", "{a: " * 2000, "\n".join(" " * i + "a:" for i in range(2000))],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(YamlError, match="nested deeper than 500 levels"):
        read(text)


def test_errors_count_lines_as_editors_do() -> None:
    with pytest.raises(YamlError) as caught:
        read('a: "\U0001f600\u2028\u0085"\nb: \u00e9\nc: \U0001f600 : x: y\n')
    assert (caught.value.line, caught.value.column) == (3, 6)


@pytest.mark.parametrize("text", ["a: \ud800\n", "a: \x00", "\ufeff\ufeffa", "a: \ufffe"])
def test_text_that_is_not_printable_unicode_is_an_error(text: str) -> None:
    with pytest.raises(YamlError):
        read("x: 1\n" + text)
