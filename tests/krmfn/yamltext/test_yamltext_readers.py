"""The native core and libyaml's events agree about any text: values, errors, and places of nodes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yamltext_documents import ANCHORS, LINES, TEXT, VALUES, documents, lines

from krmfn.yamltext import reader, write
from krmfn.yamltext.reader import CORE
from tests.mutation import mutated
from tests.places import NO_CORE, ROOT, TESTDATA, missing
from tests.readers import assert_told_alike

needs_core = pytest.mark.skipif(CORE is None, reason=NO_CORE)

FOLDERS = (ROOT / "examples", TESTDATA)
FILES = sorted(path for folder in FOLDERS for path in folder.rglob("*.yaml") if path.stat().st_size < 200_000)
FUZZED = sorted(path for path in (TESTDATA / "fuzz").rglob("*") if path.is_file())


def test_the_core_is_installed(request: pytest.FixtureRequest) -> None:
    is_left_out = bool(request.config.getoption("--without-native"))
    if CORE is None and not is_left_out:
        missing(NO_CORE)
    assert (CORE is not None) is not is_left_out


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


@pytest.mark.slow
@needs_core
def test_of_every_text_of_the_repository() -> None:
    assert len(FILES) > 900
    assert len(FUZZED) > 200
    for path in (*FILES, *FUZZED):
        assert_told_alike(text_of(path))


@needs_core
@pytest.mark.parametrize("seed", range(6))
def test_of_mutated_texts(seed: int) -> None:
    random = Random(seed)  # noqa: S311 (tests)
    texts = [text_of(path) for path in FILES if path.stat().st_size < 3000]
    for _ in range(150):
        assert_told_alike(mutated(random, random.choice(texts)))


@needs_core
@given(documents().map(lambda document: document[0]) | VALUES.map(write) | TEXT)
def test_of_documents_in_any_style(text: str) -> None:
    assert_told_alike(text)


@needs_core
@given(ANCHORS)
def test_of_anchors_tags_and_brackets(text: str) -> None:
    assert_told_alike(text)


NUMBERS = st.text("0123456789_+-.eExXoObBafnNI", max_size=9) | st.from_regex(r"[-+]?[0-9]*\.?[0-9]*(e[-+]?[0-9]+)?\Z")


@needs_core
@given(NUMBERS | st.floats().map(repr) | st.integers().map(str))
def test_of_what_looks_like_a_number(plain: str) -> None:
    assert_told_alike(f"a: {plain}\n{plain}: 1\n")


@needs_core
@given(lines(LINES))
def test_of_lines_in_any_order(text: str) -> None:
    assert_told_alike(text)


DEEP = "".join(f"{' ' * depth}a:\n" for depth in range(90))
LONG = f"{'a' * 250}: {'b' * 100_000} # {'c' * 100_000}\nd: 'é'\n"
HOSTILE = (
    *(DEEP, LONG, "[" * 600 + "]" * 600, "- " * 700 + "a", "{a: " * 600, "[" * 499 + "]" * 499, "k" * 2000 + ": 1\n"),
    *(
        "a: \x00",
        "x: 1\na: \ufffe",
        "\ufeff\ufeffa",
        "\ufeffa: [\n",
        "a: " + "1" * 5000,
        "é: [\n",
        "\ufeffé: 'x",
        "a: &a [*a]",
    ),
    *(
        "a0: &a0 [x,x,x,x]\n" + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 20)}]\n" for i in range(1, 9)),
        "a: *b",
    ),
    # libyaml counts the characters up to the colon of a key, not the bytes.
    *(f'"{"é" * 1000}": 1\n', f"{'字' * 1020}: [a\n", f'{{"a": 1, "{"é" * 1025}": 1}}\n', f"? {'é' * 2000}\n: 1\n"),
    *(
        "a: 1\n---\nb: 2\n",
        "a: 1\n--- [",
        "a: 1\n... x: [",
        '"\\ud800"',
        '"\\uk"',
        '"\\x',
        '"\\U00110000"',
        "a: \x85b: 1",
        "'\u2028a': |\r b\r",
    ),
)


@needs_core
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_of_hostile_texts(text: str) -> None:
    assert_told_alike(text)


@needs_core
def test_of_the_most_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_NODES", 12)
    for text in (
        "- a\n" * 11,
        "- a\n" * 12,
        "- a\n" * 13,
        "{a: [" + "1, " * 12 + "1]}",
        "a: &a [1]\nb: [" + "*a, " * 20 + "]",
    ):
        assert_told_alike(text)
