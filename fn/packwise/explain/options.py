"""Options of `packwise explain`, as values."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from packwise.inputs.request import Named


class Explain(Record):
    """`packwise explain`. `target` is an object, a line of a file, or another path: the command decides."""

    named: Named
    target: str | None = None
    as_json: bool = False
