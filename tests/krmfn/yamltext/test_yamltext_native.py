"""The native core writes the same text as Python, or leaves the value to Python."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yamltext_documents import KEYS, OBJECTS, TEXT, VALUES, WORDS

from benchmarks.workloads import resource_list
from krmfn import NO_MEMORY, Value
from krmfn.yamltext import write
from krmfn.yamltext.reader import CORE
from krmfn.yamltext.writer import write_entry
from tests.places import NO_CORE

NATIVE: Any = CORE
needs_core = pytest.mark.skipif(CORE is None, reason=NO_CORE)


def written(value: Any, indent: int | None = None) -> str:
    """Return the text that Python writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("krmfn.yamltext.writer.CORE", None)
        return write(value) if indent is None else write_entry(value, " " * indent)


@pytest.mark.slow
@needs_core
@settings(max_examples=1500, deadline=None)
@given(OBJECTS | VALUES | st.dictionaries(TEXT | KEYS | WORDS, TEXT | KEYS | WORDS), st.integers(0, 9))
def test_values_are_written_as_by_python(value: Value, indent: int) -> None:
    text = NATIVE.write(value)
    assert text is None or text == written(value)
    if isinstance(value, dict):
        text = NATIVE.write(value, indent)
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
    assert NATIVE.write(value) is None


@needs_core
def test_values_with_tuples_and_lists_of_lists() -> None:
    value: dict[str, Any] = {
        "a": ((1, ("b",)), [[], {}], ()),
        "c": [{"d": [{"e": "f\ng\n"}]}],
        "h": -(1 << 63),
        "i": "j\n\nk",
    }
    assert NATIVE.write(value) == written(value)


RUN_WITH = """
import resource, sys
from krmfn.run import run
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
sys.exit(run(lambda rl: rl.map(lambda item: item.with_annotation("a", "b"))))
"""

# Each call runs in a separate process, which may use this number of bytes more than it has.
CALL_WITH = """
import os, resource
from krmfn.yamltext.reader import CORE

text = "items:\\n" + "".join(
    f"- {{n{i}: {i * 999 + 7}, s: &a{i} 'w\u00f6rd', f: {i}.5, t: !!str {i}, r: *a{i}, l: [{i + 300}, {i + 70000}]}}\\n"
    for i in range(5000)
)
usual = "items:\\n" + "".join(f"- n{i}: {i}\\n  l: [a, 'b']\\n" for i in range(100_000))
tree = CORE.Tree(text, 1 << 20, "")
kept = tree.value()
many, twins = [[]] * 5_000_000, [{}] * 5_000_000
CALLS = {
    "Tree": lambda: CORE.Tree(text, 1 << 20, "").find(("items", 4900, "s"), True),
    "usual": lambda: CORE.Tree(usual, 1 << 20, ""),
    "value": lambda: [tree.value() for _ in range(6)],
    "find": lambda: tree.find(("items", 4900, "s"), True),
    "entries": lambda: tree.entries(2),
    "scalars": lambda: tree.scalars(),
    "anchors": lambda: tree.shared_anchors(),
    "fits": lambda: CORE.Shape(lambda: ({"items": ((None,), {}, {"t": None})}, [], [], {}, [])).fits(kept),
    "different": lambda: CORE.Shape(lambda: ({"a": (None, {}, {"b": ""})}, [], [], {}, [])).fits({"a": twins}),
    "has_text": lambda: CORE.has_text(many, frozenset({"a"})),
}
has = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
for name, call in CALLS.items():
    for more in range(0, 120 << 20, 8 << 20):
        pid = os.fork()
        if pid == 0:
            code = 0
            try:
                resource.setrlimit(resource.RLIMIT_AS, (has + more, has + more))
                call()
            except MemoryError:
                code = 1
            os._exit(code)
        print(name, more >> 20, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""

limits_memory = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process")


@needs_core
@pytest.mark.slow
@limits_memory
@pytest.mark.parametrize(
    ("megabytes", "answer"), [(70, (1, f"{NO_MEMORY}\n")), (80, (1, f"{NO_MEMORY}\n")), (400, (0, ""))]
)
def test_a_run_with_too_little_memory_says_so(megabytes: int, answer: tuple[int, str]) -> None:
    command = [sys.executable, "-c", RUN_WITH, str(megabytes << 20)]
    text = "".join(resource_list(2000))
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == answer


@needs_core
@pytest.mark.slow
@limits_memory
def test_the_core_raises_memory_error_wherever_memory_ends() -> None:
    done = subprocess.run([sys.executable, "-c", CALL_WITH], capture_output=True, text=True, check=True, timeout=120)
    codes: dict[str, set[str]] = {}
    for call, _, code in map(str.split, done.stdout.splitlines()):
        codes.setdefault(call, set()).add(code)
    calls = ("Tree", "usual", "value", "find", "entries", "scalars", "anchors", "different", "has_text")
    # A value that fits needs less memory than the core may use before it asks the system again.
    assert (codes, done.stderr) == ({**{call: {"0", "1"} for call in calls}, "fits": {"0"}}, "")
