"""Options of `packwise explain`, as values."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from packwise.inputs.request import Named


class Explain(Record):
    """`packwise explain`. `target` is the first argument: an object, a line of a file, or a path. The command
    decides which.
    """

    named: Named
    target: str | None = None
    as_json: bool = False
