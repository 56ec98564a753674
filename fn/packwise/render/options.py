"""Options of `packwise render`, as values."""

from __future__ import annotations

from krmfn.hints import Record
from packwise.inputs.request import Named, Verbosity


class Render(Record):
    """`packwise render`. `output` is a folder, or None for stdout. With `check`, nothing is written."""

    named: Named
    output: str | None = None
    in_place: bool = False
    check: bool = False
    verbosity: Verbosity = Verbosity.NORMAL
