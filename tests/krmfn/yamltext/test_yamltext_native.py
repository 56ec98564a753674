"""What the native core writes is what Python writes, or nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yamltext_documents import KEYS, OBJECTS, TEXT, VALUES, WORDS

from benchmarks.workloads import resource_list
from krmfn import Value
from krmfn.run import NO_MEMORY
from krmfn.yamltext import native, write
from krmfn.yamltext.writer import write_entry
from tests.places import NO_CORE

needs_core = pytest.mark.skipif(not native.is_installed, reason=NO_CORE)


def absent(*_: object) -> None:
    return None


def written(value: Any, indent: int | None = None) -> str:
    """What Python writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "write", absent)
        return write(value) if indent is None else write_entry(value, " " * indent)


@pytest.mark.slow
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
