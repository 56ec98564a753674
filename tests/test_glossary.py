"""The glossary defines each word once, and each at a place of the code that exists and says what it is."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest

from tests.places import ROOT

PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `([a-z_.]+\.\w+)` \|$", PAGE, re.MULTILINE)


def test_the_glossary_has_every_row_that_it_shows() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| Word")]

    assert len(ROWS) == len(lines) > 30


def test_a_word_has_one_meaning() -> None:
    words = [word for word, _, _ in ROWS]

    assert sorted(set(words)) == sorted(words)


@pytest.mark.parametrize(("word", "name"), [(word, name) for word, _, name in ROWS])
def test_a_word_is_defined_in_the_code(word: str, name: str) -> None:
    module, _, attribute = name.rpartition(".")
    defined: Any = getattr(import_module(module), attribute)

    assert defined.__doc__, f"{name}, which defines {word}, has no docstring"
    assert defined.__module__ == module
