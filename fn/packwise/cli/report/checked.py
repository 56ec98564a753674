"""What a check found, as every format is given it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.result import Result

__all__ = ["Checked"]


@dataclass(frozen=True, slots=True)
class Checked:
    """The sorted results of a check of that many `files`.

    `text_of` gives the text of a file by its name, of stdin by None, and None for what was not read. `coloured` asks
    for the colours of a terminal, where a format has any. `closing` is what was judged by which configuration and what
    was left out, in one line; `listed` are lines above it that list what it counts. With `ends`, people get that line.
    """

    results: tuple[Result, ...]
    files: int
    text_of: Callable[[str | None], str | None]
    coloured: bool = False
    closing: str = ""
    listed: tuple[str, ...] = ()
    ends: bool = True
