"""The commands of a how-to page. Tests run them as they are written."""

from __future__ import annotations

import re

from tests.places import ROOT

__all__ = ["commands_of", "snippets_of"]

_FENCE = re.compile(r"^```(sh|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands_of(page: str) -> list[str]:
    """Return the shell commands of `docs/how-to/PAGE`, a script for each block."""
    return _blocks(page, "sh")


def snippets_of(page: str) -> list[str]:
    """Return the YAML of `docs/how-to/PAGE`, block by block."""
    return _blocks(page, "yaml")


def _blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    return [block for found, block in _FENCE.findall(text) if found == language]
