"""Every regular expression in the code takes time in proportion to its text, for any text."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.patterns import Use, attacks, patterns_that_are_data, uses, uses_of_data

MOST = 0.4
"""The largest permitted processor seconds for one text. The kernel ends a process that uses more."""

_OF_A_LINE = "matched at the start of one line of the runtime's message, once"
HARMLESS = {
    ("krmfn/yamltext/edit.py", r"[ \t\n:,\[{]![^ \t\r\n,\[\]{}]*\Z"): "looks at 1,000 characters at most",
    ("packwise/discovery.py", r"([^/]*[-_.])?values([-_.][^/]*)?\.(ya?ml|json)"): "names of files: 255 bytes",
    ("packwise/validate/cel.py", r'.*?Key not found in map : "?(.*?)"?'): _OF_A_LINE,
    ("packwise/validate/cel.py", r".*?Index error: index=(-?\d+) size=\d+"): _OF_A_LINE,
    ("packwise/validate/cel.py", r".*?divide by zero"): _OF_A_LINE,
    ("packwise/validate/cel.py", r".*?(modulus by zero|integer overflow)"): _OF_A_LINE,
}
"""Expressions that a long text would keep busy, by file, with the reason why they never get such a text."""


def is_busy(use: Use) -> bool:
    """Return True if one of the attacks keeps the expression busy for longer than MOST."""
    child = os.fork()
    if child == 0:
        for text in attacks(use):
            signal.setitimer(signal.ITIMER_VIRTUAL, MOST)
            use.run(text)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGVTALRM), f"{use} ends with {code}"
    return code != 0


# A forked process that only matches needs none of the locks of other threads.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_no_text_keeps_an_expression_busy() -> None:
    assert {(use.file, use.pattern) for use in uses() if is_busy(use)} == HARMLESS.keys()


DATA = {
    ("krmfn/selector.py", "text"): "of the author of a function, as a selector; packwise has none",
    ("packwise/init/proposal.py", "pattern"): "a list of its own, given below",
    ("packwise/fields.py", "pattern.removesuffix('$')"): "those of settings, given below",
    (
        "packwise/validate/decode.py",
        "pattern.removesuffix('$') + '\\\\Z' if pattern.endswith('$') else pattern",
    ): "those of Grove's own CRDs, which are part of packwise",
    (
        "packwise/globs.py",
        "expression",
    ): "wildcards of anybody, without a step back: tests/discovery/test_globs.py has long ones",
    ("packwise/build/applicationsets.py", "translate(single)"): "fnmatch's, without a step back, of one step of a path",
    ("packwise/build/sources.py", "expression"): "a class of one character",
    ("packwise/build/substitution.py", "expression"): "fnmatch's of single characters, at most a hundred",
    ("packwise/schedulers/kueue/queue_objects.py", "own.removesuffix('$')"): "those of Kueue's CRDs, part of packwise",
    ("packwise/validate/structure.py", "pattern"): "three formats with no repeat that has no end",
}
"""Expressions that are data, by file and name, with their author."""


@pytest.mark.slow
def test_where_an_expression_is_data_is_known() -> None:
    assert uses_of_data() == DATA.keys()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_no_text_keeps_an_expression_busy_that_is_data() -> None:
    expressions = patterns_that_are_data()

    assert len(expressions) > 10
    assert {(use.file, use.pattern) for use in expressions if is_busy(use)} <= HARMLESS.keys()


SLOW = {
    "match": ("(a+)+b", "a.*b.*c", "(a|aa)+$", "[a-z]+[a-z0-9]*!"),
    "fullmatch": (r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", r"(\d+|\d+\.\d+)*s", "(?:ab?|b)*c"),
    "search": ("(a+)+b", ".*x.*y", ".*x", r"\w+@\w+", r"\s+$", r'"(?:[^"\\]|\\.)*"', r"\{\{(uuid|input:[^}]+)\}\}"),
    "finditer": (r"\n(?:[^\S\n]*\n)*(.*\S.*)", "( *)-( +)"),
}
QUICK = {
    "match": ("a+b", ".*x", r"(?:\s|#[^\n]*)*"),
    "fullmatch": (r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", "(?:a|b)*c"),
    "search": ("a", r"\n([^\S\n]*+\S.*)", r'"(?:[^"\\]|\\.)*+"?', "(?<![a-z])[a-z]+:"),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_is_slow_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    for name, patterns in (("slow_patterns", SLOW), ("quick_patterns", QUICK)):
        lines = [f"re.compile({each!r}).{method}" for method, group in patterns.items() for each in group]
        (tmp_path / f"{name}.py").write_text("import re\n" + "\n".join(lines), encoding="utf-8")

    found = {(use.file, use.pattern, is_busy(use)) for use in uses(tmp_path)}

    assert found == {
        *(("slow_patterns.py", each, True) for group in SLOW.values() for each in group),
        *(("quick_patterns.py", each, False) for group in QUICK.values() for each in group),
    }
