"""Comments on pull requests are short enough for GitHub, and all parts of the input are only text in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from packwise.output.markdown import LIMIT, CommentPart, Section, code, comment, markup
from tests.cli.calling import CONFIG, WORKLOAD, Call, write

Expect = Callable[[str, str], None]

HOSTILE = [
    "@octocat and @org/team, #1, GH-1, org/repo#1, 0123456789abcdef0123456789abcdef01234567",
    "https://example.com www.example.com [a](https://example.com) ![a](https://example.com/a.png) <https://example.com>",
    "``` ```` `````` ` `` ~~~",
    "</code></summary></details><img src=x onerror=alert(1)><!-- --> <details>",
    "\r\n# heading\n\n- item\n\n| a |\n|---|\n",
    "\\` &lt; &amp; &#64;",
    "-->",
    "`a",
    "a`",
    "`",
    "",
    " ",
    "\u202e\u200b\x1b[31m\ud800",
]
FIXED = re.compile(
    r"<!-- packwise -->\n|</?details(?: open)?>|<summary>title <code>|</code></summary>|</details>\n?|\n"
)


def size(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def outside_code(text: str) -> list[str]:
    """Return all text of a comment outside code, as a parser of Markdown reads it."""
    outside: list[str] = []
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text):
        parts = token.children or [token] if token.type in ("inline", "html_block") else []
        outside += [part.content for part in parts if part.type not in ("code_inline", "softbreak") and part.content]
    return outside


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_text_of_the_input_is_code_wherever_it_stands(text: str) -> None:
    whole = comment(
        "packwise",
        [
            CommentPart(
                [f"lead {code(text)}."], [Section(f"title {markup(text)}", [[text, text], [text]])], "packwise check"
            )
        ],
    )

    outside = outside_code(whole)
    titles = [part for part in outside if "<summary>" in part]
    assert [part for part in outside if part not in titles] == ["<!-- packwise -->\n", "lead ", ".", "</details>\n"]
    assert len(titles) == 1
    assert re.fullmatch(r"<details><summary>title <code>[^<>]*</code></summary>\n", titles[0])


@pytest.mark.parametrize("text", ["plain", "`", "``", "a`b", "`a`", "a``b`", " a ", "@a #1"])
def test_a_code_span_has_the_whole_text(text: str) -> None:
    tokens = MarkdownIt().parse(f"x{code(text)}x")[1].children

    assert tokens is not None
    assert [(token.type, token.content.strip()) for token in tokens] == [
        ("text", "x"),
        ("code_inline", text.strip()),
        ("text", "x"),
    ]


def test_html_has_the_whole_text() -> None:
    assert unescape(markup("<a href='x'>&amp;")) == "<code><a href='x'>&amp;</code>"


lines = st.text(st.sampled_from("`~@#<>-|&a 😀\n"), max_size=600)
entries = st.lists(lines, min_size=1, max_size=10)


@given(st.lists(st.tuples(lines, st.lists(entries, max_size=12)), max_size=6), lines, st.integers(1, 2000))
def test_no_comment_is_longer_than_github_takes(
    parts: list[tuple[str, list[list[str]]]], lead: str, times: int
) -> None:
    sections = [Section(f"title {markup(title)}", listed * times) for title, listed in parts]

    whole = comment("packwise", [CommentPart([code(lead)], sections, f"packwise diff {lead}")])

    assert size(whole) <= LIMIT


def omitted(whole: str) -> int:
    """Return the number of skipped entries in the last line."""
    counted = re.search(
        r"^(\d+) entr(?:y is|ies are) omitted because of GitHub's limit for comments; ", whole, re.MULTILINE
    )
    return 0 if counted is None else int(counted[1])


def numbered(count: int, length: int = 50) -> Sequence[Sequence[str]]:
    return [[f"entry {number} ".ljust(length, "x")] for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, 100, 5_000, 200_000])
def test_omitted_entries_are_counted(count: int) -> None:
    whole = comment("packwise", [CommentPart(["lead"], [Section("many", numbered(count))], "packwise check")])

    assert whole.count("entry ") - whole.count(" entry is") + omitted(whole) == count
    assert (omitted(whole) == 0) == (count <= 1_000)


def test_many_changes_leave_room_for_findings() -> None:
    sections = [Section("changes", numbered(100_000)), Section("findings", numbered(40))]

    whole = comment("packwise", [CommentPart(["lead"], sections, "packwise diff a b")])

    assert whole.rindex("entry 39 ") > whole.index("<summary>findings</summary>")
    assert size(whole) > LIMIT * 0.9
    assert whole.endswith(
        " entries are omitted because of GitHub's limit for comments; `packwise diff a b` prints all.\n"
    )


def test_parts_share_the_room_and_each_counts_what_it_leaves_out() -> None:
    parts = [CommentPart([f"lead {name}"], [Section("many", numbered(5_000))], f"packwise {name}") for name in "abc"]

    whole = comment("packwise", parts)

    assert LIMIT * 0.9 < size(whole) <= LIMIT
    counted = re.findall(r"^(\d+) entries are omitted .*; `packwise (\w)` prints all\.$", whole, re.MULTILINE)
    assert [name for _, name in counted] == ["a", "b", "c"]
    for body, (left, _) in zip(whole.split("lead ")[1:], counted, strict=True):
        assert len(re.findall("^entry [0-9]", body, re.MULTILINE)) + int(left) == 5_000
        assert int(left) < 5_000


def test_a_long_entry_is_cut_and_says_so() -> None:
    lines = [f"line {number}" for number in range(30)]
    whole = comment("packwise", [CommentPart([], [Section("one", [lines])], "packwise check")])
    longest = comment("packwise", [CommentPart([], [Section("one", [["x" * 5_000]])], "packwise check")])

    assert "line 23\n      … 6 more lines\n```\n" in whole
    assert "x" * 400 + "…" in longest


def test_a_change_of_any_size_is_one_comment(call: Call, package: Path) -> None:
    before = "---\n".join([WORKLOAD.replace("name: web # short", f"name: web-{letter}") for letter in letters(400)])
    write(package.parent, {"new/topology.yaml": CONFIG, "new/w.yaml": before})

    ran = call("diff", "in", "new", "-o", "markdown")

    assert (ran.code, ran.messages) == (0, "")
    assert size(ran.stdout) <= LIMIT
    assert "`PodGang 400 added, 1 removed`" in ran.stdout
    assert omitted(ran.stdout) == 0


def letters(count: int) -> list[str]:
    """Return a name without digits, so that no two objects have the same form."""
    return ["".join([chr(97 + number // 26**at % 26) for at in range(4)]) for number in range(count)]


def test_findings_of_any_number_are_one_comment(call: Call, package: Path) -> None:
    wrong = WORKLOAD.replace("minAvailable: 2", "minAvailable: 3")
    write(package, {"w.yaml": "---\n".join([wrong.replace("web # short", f"web-{name}") for name in letters(600)])})

    ran = call("check", "in", "-o", "markdown")

    assert ran.code == 1
    assert size(ran.stdout) <= LIMIT
    assert ran.stdout.startswith("<!-- packwise check -->\n### packwise check: 600 errors in 4 files\n")
    shown = ran.stdout.count("error: in/w.yaml:")
    assert shown > 100
    assert shown + omitted(ran.stdout) == 600


def test_colours_of_a_terminal_are_not_in_a_comment(call: Call, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(package.parent, {"new/topology.yaml": CONFIG})
    monkeypatch.setattr("packwise.cli.deliver.is_coloured", bool)

    assert "\033" not in call("diff", "in", "new", "-o", "markdown").stdout
