"""Options of `packwise render`, as values."""

from __future__ import annotations

from krmfn.record import Record
from packwise.inputs.request import Named, Verbosity


class Render(Record):
    """`packwise render`; `output` is a folder, None for stdout. To `check` is to write nothing."""

    named: Named
    output: str | None = None
    in_place: bool = False
    check: bool = False
    verbosity: Verbosity = Verbosity.NORMAL
