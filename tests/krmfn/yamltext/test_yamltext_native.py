"""What the native core writes, and the lines that it cuts a list at, are what Python writes and cuts at, or nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yamltext_documents import KEYS, OBJECTS, TEXT, VALUES, WORDS

from benchmarks.workloads import resource_list
from krmfn import ResourceList, Value
from krmfn.envelope import MAX_ITEMS
from krmfn.run import NO_MEMORY
from krmfn.yamltext import native, write
from krmfn.yamltext.writer import write_entry

needs_core = pytest.mark.skipif(not native.is_installed, reason="the native core is not installed")


def absent(*_: object) -> None:
    return None


def written(value: Any, indent: int | None = None) -> str:
    """What Python writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "write", absent)
        return write(value) if indent is None else write_entry(value, " " * indent)


@needs_core
@settings(max_examples=1500, deadline=None)
@given(OBJECTS | VALUES | st.dictionaries(TEXT | KEYS | WORDS, TEXT | KEYS | WORDS), st.integers(0, 9))
def test_values_are_written_as_by_python(value: Value, indent: int) -> None:
    text = native.write(value)
    assert text is None or text == written(value)
    if isinstance(value, dict):
        text = native.write(value, indent)
        assert text is None or text == written(value, indent)


class Word(str):
    __slots__ = ()


def nested(depth: int) -> Value:
    value: Value = {"a": 1}
    for _ in range(depth):
        value = {"a": value}
    return value


UNWRITTEN: list[Any] = [
    *({}, [], "a", None, 1),
    *({"a": 1.5}, {"a": 1 << 64}, {1: 2}, {"a": "\ud800"}, {"a": Word("b")}, {"a" * 2000: 1}, nested(200)),
]


@needs_core
@pytest.mark.parametrize("value", UNWRITTEN, ids=lambda value: repr(value)[:20])
def test_values_that_python_has_to_write_or_refuse(value: Any) -> None:
    assert native.write(value) is None


@needs_core
def test_values_with_tuples_and_lists_of_lists() -> None:
    value: dict[str, Any] = {
        "a": ((1, ("b",)), [[], {}], ()),
        "c": [{"d": [{"e": "f\ng\n"}]}],
        "h": -(1 << 63),
        "i": "j\n\nk",
    }
    assert native.write(value) == written(value)


def cuts(text: str) -> Any:
    """The pieces that a list is cut into."""
    parsed = ResourceList.parse(text)
    return [(item.source, item.value) for item in parsed.items], parsed.to_text()


HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"


@needs_core
@settings(max_examples=1000, deadline=None)
@given(
    st.lists(st.sampled_from(["- a: 1", "  b: 2", "-", "  c: d", "", "# e", "- 'f", "- g'", "x: y", "-z", "\t", "\r"]))
)
def test_a_list_is_cut_at_the_same_lines(body: list[str]) -> None:
    for indent in ("", "  "):
        text = HEAD + "".join(f"{indent}{line}\n" for line in body)
        assert outcome_of_cut(text) == by_python_alone(text)


def outcome_of_cut(text: str) -> Any:
    try:
        return cuts(text)
    except ValueError as error:
        return str(error)


def by_python_alone(text: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "entries", absent)
        return outcome_of_cut(text)


@needs_core
def test_a_list_with_other_characters_is_cut_by_python() -> None:
    text = f"{HEAD}- a: 'é'\n- b: 1\n"
    assert native.entries(text, len(HEAD), 0) is None
    assert native.entries(text.replace("é", "e"), len(HEAD), 0) == (len(text), [len(HEAD), len(HEAD) + 9])
    assert native.entries("", 0, 0) == (0, [])
    assert native.entries("", MAX_ITEMS, 0) is None


LIMITED = """
import resource, sys
from krmfn.run import run
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
sys.exit(run(lambda rl: rl.map(lambda item: item.with_annotation("a", "b"))))
"""


@needs_core
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process")
def test_too_little_memory_is_an_error_as_in_python() -> None:
    text = "".join(resource_list(2000))
    codes: list[int] = []
    for megabytes in range(60, 200, 10):
        command = [sys.executable, "-c", LIMITED, str(megabytes << 20)]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
        codes.append(done.returncode)
        assert (done.returncode, done.stderr) in ((0, ""), (1, f"{NO_MEMORY}\n")), megabytes
    assert set(codes) == {0, 1}
