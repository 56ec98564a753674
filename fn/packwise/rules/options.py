"""Options of `packwise rules`, as values."""

from __future__ import annotations

from krmfn.hints import Record


class Rules(Record):
    """`packwise rules` for the rule `name`, or for all."""

    name: str | None = None
    as_json: bool = False
