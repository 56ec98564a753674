"""The glossary defines each word once, and names an existing place of the code that has a docstring."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from tests.places import ROOT

PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `([a-z_.]+\.\w+)` \|$", PAGE, re.MULTILINE)


def test_a_word_has_one_meaning_and_a_place_in_the_code() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| Word")]
    words = [word for word, _, _ in ROWS]

    assert len(ROWS) == len(lines) > 30
    assert sorted(set(words)) == sorted(words)
    assert [name for _, _, name in ROWS if not is_defined(name)] == []


def is_defined(name: str) -> bool:
    """Return True if the module itself defines the name with a docstring."""
    module, _, attribute = name.rpartition(".")
    defined: Any = getattr(import_module(module), attribute)
    return bool(defined.__doc__) and defined.__module__ == module
