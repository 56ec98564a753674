from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from yamltext_documents import KEYS, OBJECTS, VALUES, WORDS

from krmfn.yamltext import YamlError, read, resolve, write
from krmfn.yamltext.pyyaml import read_libyaml
from krmfn.yamltext.writer import block_lines, write_entry

if TYPE_CHECKING:
    from krmfn.value import Value


def load_yaml_1_1(text: str) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader)


@given(VALUES)
def test_every_reader_gives_back_what_was_written(value: Value) -> None:
    text = write(value)
    assert repr(read(text)) == repr(value)
    assert repr(read_libyaml(text)) == repr(value)
    assert repr(load_yaml_1_1(text)) == repr(value)


@given(OBJECTS, st.sampled_from(["", " ", "    "]))
def test_an_entry_is_the_list_of_it_moved_to_its_column(value: dict[str, Value], indent: str) -> None:
    lines = write([value]).removesuffix("\n").split("\n")
    assert write_entry(value, indent) == "".join(f"{indent}{line}\n" if line else "\n" for line in lines)
    assert write_entry({}, indent) == f"{indent}- {{}}\n"


@given(OBJECTS)
def test_lines_without_literals_are_one_for_each_scalar(value: dict[str, Value]) -> None:
    lines = block_lines(value, "  ", literals=False)
    assert all(line.startswith("  ") for line in lines)
    assert repr(read("\n".join(lines) + "\n")) == repr(value)


@given(KEYS | WORDS)
def test_keys_and_values_are_spelled_alike(text: str) -> None:
    assert load_yaml_1_1(write({text: text})) == {text: text}


@pytest.mark.parametrize("word", ["y", "N", "yes", "No", "ON", "off", "null", "~", "1", "012", "0o14", "1_000", ".5",
    "1e3",
    "1:30", "2001-01-01", "<<", "=", " a", "a ", "a: b", "a #b", "#a", "-", "- a", "?", "*a", "&a", "!a", "%a", "@a",
    "`a", "",
    ".inf", "nan", "0x1F", "+1", "1.", "TRUE", "a:", "12e03", "1E3"])  # fmt: skip
def test_what_some_reader_takes_for_another_type_is_quoted(word: str) -> None:
    assert write({"k": word}) == f'k: "{word}"\n'


@pytest.mark.parametrize(
    "word", ["a", "8Gi", "100m", "team-a/x", "http://x:80/y", "a b", "registry.example/web:1.2", "v1", "a_x"]
)
def test_plain_words_stay_plain(word: str) -> None:
    assert write({"k": word}) == f"k: {word}\n"


def test_the_layout_is_that_of_kubectl() -> None:
    value: Value = {
        "a": [1, {"b": "x", "c": []}, ["d", ["e"]]],
        "s": "x\n\n y\n",
        "t": "x\ny",
        "u": "x\n\n",
        "e": {},
        "f": 1e20,
    }
    assert write(value) == (
        "a:\n- 1\n- b: x\n  c: []\n- - d\n  - - e\ns: |\n  x\n\n   y\nt: |-\n  x\n  y\n"
        'u: "x\\n\\n"\ne: {}\nf: 1.0e+20\n'
    )


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("value", [1, True, 1.0, "1", "true", None, "null", (), [], {}, "", Text("true"), Text("a")])
def test_what_was_written_before_does_not_count(value: Value) -> None:
    alone = write({"a": value, "b": [value, [value], {"c": value}]})
    for other in (True, 1.0, 1, "1", "1.0", "true", None, "null"):
        write({"a": other, "b": [other]})
    assert write({"a": value, "b": [value, [value], {"c": value}]}) == alone
    spelled = alone.split("\n", 1)[0].removeprefix("a: ")
    assert alone == f"a: {spelled}\nb:\n- {spelled}\n- - {spelled}\n- c: {spelled}\n"
    assert read(alone) == {"a": plain(value), "b": [plain(value), [plain(value)], {"c": plain(value)}]}


def plain(value: Value) -> Value:
    return list(value) if isinstance(value, tuple) else value


def test_long_strings_are_not_folded_and_long_keys_are_explicit() -> None:
    value = {"a" * 3000: "b c " * 1000 + "d"}
    assert max(map(len, write(value).split("\n"))) > 4000
    assert load_yaml_1_1(write({"x": [value]})) == {"x": [value]} == read(write({"x": [value]}))


def test_what_no_reader_could_read_is_an_error() -> None:
    deep: Value = []
    for _ in range(600):
        deep = [deep]
    with pytest.raises(YamlError, match="nested deeper than 500 levels"):
        write(deep)
    with pytest.raises(YamlError, match="surrogate"):
        write("\ud800")


def test_resolve_and_write_know_the_same_words() -> None:
    for word in ("true", "Null", ".NaN", "+.inf"):
        assert resolve(word) != word
        assert write(word) == f'"{word}"\n'
