"""Usual lines, which the native core reads itself, have the values, errors and places that libyaml gives them."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yamltext_documents import LINES, TEXT

from krmfn.yamltext import reader
from krmfn.yamltext.reader import CORE
from tests.mutation import mutated, with_other_lines
from tests.places import NO_CORE, ROOT, SHARED, TESTDATA, missing
from tests.readers import assert_told_alike

pytestmark = pytest.mark.skipif(CORE is None, reason=NO_CORE)

LONG = "k" * 1023

AT_THE_BORDER = (
    # Documents and their markers.
    *("", "\n", "# c", "   ", "---\n", "---", "--- # c\na: 1\n", "---\n---\na: 1\n", "--- a: 1\n", "---\ta: 1\n"),
    *("a: 1\n---", "a: 1\n---\n", "a: 1\n--- b\n", "a: 1\n---b: 1\n", "a:\n---\nb:\n", "a: 1\n...\n", "...: 1\n"),
    *(
        "  a: 1\n  b: 2\n",
        "  a: 1\nb: 2\n",
        "a: 1\n  b: 2\n",
        "%a: 1\n",
        "a:\n  %b: 1\n",
        "\ufeffa: 1\n",
        "\ufeff# é\n",
    ),
    # Mappings and lists.
    *(
        "a:\n",
        "a:",
        "a:\nb:\n",
        "a:\n  b:\nc:\n",
        "a:\n  b:\n    c: 1\n d: 1\n",
        "a:\n\n  b: 1\n# c\n  d: 1\n",
        "a :\n",
    ),
    *("- a\n- b\n", "-\n", "-", "- -\n", "- - a\n  - b\n- c\n", "- a: 1\n  b: 2\n- c: 3\n", "-\n  a: 1\n-\n- b\n"),
    *("a:\n- b\n- c\nd: 1\n", "a:\n- b\n-\nd: 1\n", "a:\n  - b\n - c\n", "a: 1\n- b\n", "- a\nb: 1\n", "a:\n-\n- b:\n"),
    *("- a:\n  - b\n  c: 1\n", "- - a:\n    - b\n  - c\n", "a:\n- b:\n  - c\n- d\n", "a: - b\n", "a:\n  b\n", "a: -\n"),
    *(
        "-  a:  1\n   b:  2\n",
        "-   - a\n    - b\n",
        "- a: 1\n b: 2\n",
        "- # c\n  a: 1\n",
        "a: # c\n  b: 1\n",
        "a:# c\n",
    ),
    # Plain scalars.
    *("a: b#c\n", "a: b #c\n", "a: b # c\n  d\n", "a: b\n  c\n", "a: b\n\n\n  c\n", "a: b\n # c\nd: e\n", "a: b: c\n"),
    *("a: b:c\n", "a: b:\n", "a: :b\n", "a: ?b\n", "a: -b\n", "a: --\n", "a: ,b\n", "a: @b\n", "a: `b`\n", "a: %b\n"),
    *("a b : c d  \n", "a\tb: 1\n", "a: b\tc\n", "a: b\t\n", "a:\tb\n", "a: b \t# c\n", "\ta: 1\n", "a:\n\t\n  b: 1\n"),
    *(f"{LONG}: 1\n", f"{LONG}k: 1\n", f"{LONG}kk: 1\n", f"- {LONG}kk: 1\n", f"{LONG}   : 1\n", f"- {LONG}kkk\n"),
    *(
        "a: 1\nb\n",
        "a: 1\n'b'\n",
        "a\n",
        "'a'\n",
        "- a\n- b\n c\n",
        "<<: 1\n",
        "a: <<\n",
        "? a\n",
        "a: ? b\n",
        "- ? a\n",
    ),
    # Quoted scalars.
    *("a: 'b''c'\n", "a: ''\n", "a: ''''\n", "a: 'b\n  c'\n", "a: 'b' c\n", "a: 'b'# c\n", "a: 'b' # c\n", "a: 'b\n"),
    *(
        "'a' : 1\n",
        "'a':1\n",
        "'a':\n",
        "'a''b': 1\n",
        "a: 'b': c\n",
        "- 'a': 1\n  'b': 2\n",
        "- 'a' :1\n",
        "a: '\tb'\n",
    ),
    *(
        'a: "b\\"c\\\\d\\/e\\n\\t\\rf"\n',
        'a: "\\u00e9\\x41\\_"\n',
        'a: "b\\\n  c"\n',
        'a: "b\\q"\n',
        'a: "b\n',
        'a: "b"c\n',
    ),
    *(
        'a: "\\"\n',
        'a: ""\n',
        '"a\\nb": 1\n',
        "a: 'é' # é\nb: ü\n",
        "a: '\x7f'\n",
        "a: '\ufffe'\n",
        "a: '\U0001f600'\n",
    ),
    # Brackets.
    *(
        "a: []\n",
        "a: {}\n",
        "a: [ ]\n",
        "a: { } # c\n",
        "a: [b, 'c', \"d\"]\n",
        "a: [b,c]\n",
        "a: [b , c ]\n",
        "a: [b,]\n",
    ),
    *(
        "a: [b]c\n",
        "a: [b] c\n",
        "a: [b]: c\n",
        "- [b]: c\n",
        "- {}: c\n",
        "a: [b\n",
        "a: [b,\n  c]\n",
        "a: [,]\n",
        "a: [-]\n",
    ),
    *(
        "a: [- b]\n",
        "a: [-b]\n",
        "a: [b: c]\n",
        "a: [b:c]\n",
        "a: [?]\n",
        "a: [b?]\n",
        "a: [:b]\n",
        "a: [b:]\n",
        "a: [b #c]\n",
    ),
    *(
        "a: {b: c}\n",
        "a: {b: c, d: {e: [f]}}\n",
        "a: {b}\n",
        "a: {b:}\n",
        "a: {b: }\n",
        "a: {b:c}\n",
        'a: {"b":c}\n',
        "a: {b: c,}\n",
    ),
    *(
        "a: {b: c]\n",
        "a: [b}\n",
        "a: {'b' : c}\n",
        "a: {b : c}\n",
        "a: {b: c}}\n",
        "a: [[], {}]\n",
        "a: [[b], [c]]\n",
        "[a]\n",
    ),
    *(
        "- [a]\n- {b: c}\n",
        "{a: b}\n",
        "a:\n  [b]\n",
        f"a: {{{LONG}kk: 1}}\n",
        "a: [b,\tc]\n",
        "a: [&b c]\n",
        "a: [#b]\n",
    ),
    *(
        "a: " + "[" * 499 + "]" * 499 + "\n",
        "a: " + "[" * 500 + "]" * 500 + "\n",
        "- " * 500 + "a\n",
        "- " * 501 + "a\n",
    ),
    # Block scalars.
    *(
        "a: |\n  b\n  c\nd: 1\n",
        "a: |-\n  b\n\n\n",
        "a: |+\n  b\n\n\nc: 1\n",
        "a: |\n\n  b\n",
        "a: |\n   \n  b\n",
        "a: |\n",
    ),
    *(
        "a: |2\n   b\n",
        "a: | # c\n  b\n",
        "a: |# c\n  b\n",
        "a: |\n  b",
        "a: |\n  b\n   ",
        "a: |+\n  b\n  ",
        "a: |\n  b\n c: 1\n",
    ),
    *(
        "a: >\n  b\n  c\n\n  d\n   e\n  f\n\n\n  g\n",
        "a: >-\n  b\n\n",
        "a: >+\n  b\n\n",
        "a: >\n  \tb\n  c\n",
        "a: >\n\n  b\n",
    ),
    *(
        "- |\n b\n- |\n  c\n",
        "- a: |\n    b\n  c: 1\n",
        "- |\n  b\n # c\n- d\n",
        "a: |\nb: 1\n",
        "a: |\n  b\n\t\n",
        "a: |\n\tb\n",
    ),
    *(
        "a: |\n  b\n  \tc\n \n  d\n",
        "a: |\n  # b\n # c\nd: 1\n",
        "a:\n- |\n b\n- c\n",
        "a: |\n  é\nb: ü\n",
        "a: |x\n  b\n",
        "|\n  a\n",
    ),
    *(
        "a: |\n    b\n   c\n",
        "a: |-+\n  b\n",
        "a:\n  |\n  b\n",
        "- - |\n   b\n",
        "a: |\n  b\n...\n",
        "a: >\n  b\n---\nc: 1\n",
    ),
    # Line ends and characters.
    *(
        "a: 1\r\nb: 2\r\n",
        "a: 1\rb: 2",
        "a: 1\x85b: 2",
        "a: 1\u2028b: 2",
        "a: \x00",
        "# \x01\n",
        "# \ufeff\n",
        "# \u2029a: 1\n",
    ),
)


@pytest.mark.parametrize("text", AT_THE_BORDER, ids=lambda text: repr(text[:24]))
def test_of_lines_at_the_border_of_the_usual(text: str) -> None:
    assert_told_alike(text)


SHORT = sorted(
    path for folder in (ROOT / "examples", TESTDATA) for path in folder.rglob("*.yaml") if path.stat().st_size < 3000
)


@pytest.mark.parametrize("seed", range(6))
def test_of_manifests_with_other_lines(seed: int) -> None:
    random = Random(seed)  # noqa: S311 (tests)
    for _ in range(150):
        text = random.choice(SHORT).read_text(encoding="utf-8")
        for _ in range(random.randint(1, 3)):
            text = with_other_lines(random, text)
        assert_told_alike(mutated(random, text) if random.random() < 0.2 else text)


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(LINES) | TEXT), max_size=8))
def test_of_lines_at_any_column(lines: list[tuple[int, str]]) -> None:
    assert_told_alike("".join(f"{' ' * column}{line}\n" for column, line in lines))


@pytest.mark.slow
def test_of_the_goldens_beside_the_clone() -> None:
    files = sorted((SHARED / "golden").rglob("*.yaml"))
    if not files:
        missing("the goldens of other operators are not beside the clone")
    for path in files:
        assert_told_alike(path.read_bytes().decode("utf-8", "replace"))


def test_of_the_most_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a:\n- b: [c, {d: e}]\n  f: |\n    g\nh:\n"
    for most in range(1, 16):
        monkeypatch.setattr(reader, "MAX_NODES", most)
        assert_told_alike(text)
