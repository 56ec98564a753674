"""The lines of a file in a finding: marks, shortened lines and escapes."""

from __future__ import annotations

import pytest

from krmfn.terminal import escape_line
from packwise.console import width
from packwise.output.findings_text import LineAndColumn, excerpt

RED = 31

MARKS = {
    # the text at the place: its marked part
    "packDomain: ^rack": "rack",
    "packDomain: ^rack # the row": "rack",
    "packDomain: ^topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "image: ^registry.example.com/router:1": "registry.example.com/router:1",
    "note: ^two words, and more": "two words",
    "^packDomain: rack": "packDomain",
    "- ^name: router": "name",
    "^- name: router": "-",
    "{packDomain: ^rack}": "rack",
    "{packDomain: ^rack, other: 1}": "rack",
    "constraint: ^{packDomain: rack} # flow": "{packDomain: rack}",
    "levels: ^[a, b]": "[a, b]",
    "levels: ^[{a: b}]": "[",
    'name: ^"a \\" b": 1': '"a \\" b"',
    "name: ^'it''s'  # x": "'it''s'",
    'name: ^"unclosed': '"unclosed',
    "replicas: ^-1": "-1",
    "text: ^|": "|",
    "empty:^": "",
    "anchored: ^&a b": "&a b",
    "name: ^日本 # wide": "日本",
}


@pytest.mark.parametrize("text", MARKS)
def test_the_node_is_marked(text: str) -> None:
    before, _, after = text.partition("^")

    shown = excerpt([before + after], LineAndColumn(1, len(before) + 1), RED, coloured=False)

    mark = "^" + "~" * (width(MARKS[text]) - 1)
    assert shown == [f"  1 | {before}{after}", f"    | {' ' * len(before)}{mark}"]


EXCERPTS: dict[str, tuple[list[str], LineAndColumn, list[str]]] = {
    "the line before": (["a:", "  b: 1"], LineAndColumn(2, 6), ["  1 | a:", "  2 |   b: 1", "    |      ^"]),
    "a wider number": (
        ["x"] * 8 + ["a:", "  b: 1"],
        LineAndColumn(10, 3),
        ["   9 | a:", "  10 |   b: 1", "     |   ^"],
    ),
    "no blank line before": (["a:", " ", "b: 1"], LineAndColumn(3, 1), ["  3 | b: 1", "    | ^"]),
    "no marker before": (["---", "b: 1"], LineAndColumn(2, 1), ["  2 | b: 1", "    | ^"]),
    "no marker with a comment before": (["--- # one", "b: 1"], LineAndColumn(2, 1), ["  2 | b: 1", "    | ^"]),
    "a line alone": (["a: 1"], LineAndColumn(1), ["  1 | a: 1"]),
    "a blank line": (["a: 1", ""], LineAndColumn(2, 1), ["  1 | a: 1", "  2 |", "    | ^"]),
    "after the end of the line": (["a: 1"], LineAndColumn(1, 90), ["  1 | a: 1", "    |     ^"]),
    "after the end of the file": (["a: 1"], LineAndColumn(2, 1), []),
    "Windows": (["a:\r", "  b: 1\r"], LineAndColumn(2, 6), ["  1 | a:", "  2 |   b: 1", "    |      ^"]),
    "tabs": (["a:\tb\tc"], LineAndColumn(1, 4), ["  1 | a:→   b→   c", "    |       ^"]),
    "wide characters": (
        ["{名: 前, b: 値段}"],
        LineAndColumn(1, 11),
        ["  1 | {名: 前, b: 値段}", "    |             ^~~~"],
    ),
    "marks above letters": (["{e\u0301: x}"], LineAndColumn(1, 6), ["  1 | {e\u0301: x}", "    |     ^"]),
    "control characters": (
        ['a: "\x1b[31m", b: 1'],
        LineAndColumn(1, 4),
        ['  1 | a: "\\x1b[31m", b: 1', "    |    ^~~~~~~~~~"],
    ),
    "a space that is none": (["a:\xa0 b"], LineAndColumn(1, 5), ["  1 | a:\\xa0 b", "    |        ^"]),
    "a changed direction": (["a: \u202eb"], LineAndColumn(1, 4), ["  1 | a: \\u202eb", "    |    ^~~~~~~"]),
}


@pytest.mark.parametrize("case", EXCERPTS)
def test_excerpts(case: str) -> None:
    lines, place, shown = EXCERPTS[case]

    assert excerpt(lines, place, RED, coloured=False) == shown


def test_a_long_line_is_cut_around_the_node() -> None:
    line = '{"a": "' + "x" * 500 + '", "bad": 1, "b": "' + "y" * 500 + '"}'

    shown = excerpt([line], LineAndColumn(1, line.index("1,") + 1), RED, coloured=False)

    assert shown == [
        "  1 | …" + "x" * 30 + '", "bad": 1, "b": "' + "y" * 49 + "…",
        "    | " + " " * 41 + "^",
    ]


def test_of_a_line_that_is_too_long_the_end_is_shown_when_it_is_near() -> None:
    shown = excerpt(["k: " + "x" * 150 + " y: 1"], LineAndColumn(1, 158), RED, coloured=False)

    assert shown == ["  1 | …" + "x" * 36 + " y: 1", "    | " + " " * 41 + "^"]


def test_a_long_node_is_marked_as_far_as_it_is_shown() -> None:
    shown = excerpt(["# " + "c" * 200, "k: " + "x" * 200], LineAndColumn(2, 4), RED, coloured=False)

    assert shown == [
        "  1 | # " + "c" * 97 + "…",
        "  2 | k: " + "x" * 96 + "…",
        "    |    ^" + "~" * 96,
    ]


def test_wide_characters_are_cut_whole() -> None:
    shown = excerpt(["値" * 60], LineAndColumn(1, 1), RED, coloured=False)

    assert shown == ["  1 | " + "値" * 49 + "…", "    | ^" + "~" * 98]


def test_colours_are_for_the_gutter_and_the_mark() -> None:
    assert excerpt(["a:", "  b: x1"], LineAndColumn(2, 6), RED, coloured=True) == [
        "\x1b[2m  1 |\x1b[0m a:",
        "\x1b[2m  2 |\x1b[0m   b: x1",
        "\x1b[2m    |\x1b[0m      \x1b[31m^~\x1b[0m",
    ]


def test_what_does_not_print_is_escaped() -> None:
    assert escape_line("a b\u3000é値\t\u200b\ufeff\x9b\n\ud800🙂") == (
        "a b\\u3000é値\\t\\u200b\\ufeff\\x9b\\n\\ud800🙂"
    )
