from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from yamltext_calls import calls_of
from yamltext_documents import documents

from krmfn.yamltext import YamlError, read, resolve

if TYPE_CHECKING:
    from krmfn.value import Scalar, Value

SUITE = Path(__file__).resolve().parents[3] / "testdata" / "yaml"
CASES = sorted(SUITE.glob("*.yaml"))


def test_the_suite_is_there() -> None:
    assert len(CASES) >= 80


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_each_document_of_the_suite_reads_as_written_beside_it(case: Path) -> None:
    text = case.read_bytes().decode()
    error = case.with_suffix(".error")
    if error.exists():
        with pytest.raises(YamlError) as caught:
            read(text)
        assert str(caught.value) == error.read_text().rstrip("\n")
        return
    expected = case.with_suffix(".json").read_text()
    assert json.dumps(read(text), indent=2, ensure_ascii=False) + "\n" == expected


@given(documents())
def test_a_spelled_document_reads_as_its_value(document: tuple[str, dict[str, Value]]) -> None:
    text, value = document
    assert read(text) == value


@pytest.mark.parametrize(
    ("plain", "value"),
    [
        ("012", 10), ("0o14", 12), ("-0o14", -12), ("0x1F", 31), ("0b11", 3), ("1_000", 1000), ("08", 8.0), ("+12", 12),
        ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), ("1e400", "1e400"), ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64), ("-9223372036854775808", -(2**63)), ("0b+1", 1), (".5_0", 0.5),
        ("._5", "._5"), ("0755", 493), ("-0755", -493), ("0_x1F", 31), ("--a=$(B_C)", "--a=$(B_C)"),
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("y", "y"), ("True", True), ("tRUE", "tRUE"),
        ("~", None), ("", None), ("Null", None), ("2001-01-01", "2001-01-01"), ("1:30", "1:30"), ("=", "="), ("-", "-"),
        ("0x10000000000000000", "0x10000000000000000"), ("٣", "٣"), ("1٣", "1٣"), ("+", "+"), ("_1", "_1"),
        ("1" * 500, "1" * 500),
    ],
)  # fmt: skip
def test_resolve_reads_a_plain_scalar_as_kyaml(plain: str, value: Scalar) -> None:
    found = resolve(plain)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize("plain", [
    "0755", "-0755", "089", "0_x1F", "1_000", "--a=$(B_C)", "-0b_1", "+.5_0", "0o_7", "0x", "-0x_F", "0b2", "0b-1",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "0x7fffffffffffffff", "0x8000000000000000", "-0x8000000000000000", "0o777777777777777777777",
    "0b" + "1" * 63, "0b" + "1" * 64, "1" + "_" * 72, "1" * 73 + "_", "0x" + "0_" * 40 + "1",
])  # fmt: skip
def test_a_reader_resolves_the_plain_scalars_of_a_text(plain: str) -> None:
    assert read(f"a: {plain}\n") == {"a": resolve(plain)}


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
