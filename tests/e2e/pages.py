"""The commands of a how-to page, to be followed as they are written."""

from __future__ import annotations

import re

from tests.places import ROOT

__all__ = ["commands_of"]

_FENCE = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands_of(page: str) -> list[str]:
    """The shell commands of `docs/how-to/PAGE`, a script for each block."""
    return _FENCE.findall((ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8"))
