"""A dictionary of words for the fuzzer, which would need a long time to find them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.places import ROOT, TESTDATA

__all__ = ["words", "write_words"]

FIELD = re.compile(r"(?:^|[{,])[ -]*([A-Za-z][A-Za-z0-9./_-]*): +([A-Za-z][A-Za-z0-9./_-]*)?", re.MULTILINE)


def words() -> list[str]:
    """Return the fields of all manifests of the examples and cases, and the values that are one word."""
    found: set[str] = set()
    for folder in (ROOT / "examples", TESTDATA):
        for path in folder.rglob("*.yaml"):
            for field, value in FIELD.findall(path.read_bytes().decode("utf-8", "replace")):
                found |= {f"{field}:", value}
    return sorted(word for word in found if 1 < len(word) <= 40)


def write_words(path: Path) -> None:
    """Write the words in libFuzzer's format."""
    path.write_text("".join(f'"{word}"\n' for word in words()), encoding="utf-8")
