"""Options of `packwise doctor`, as values."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from packwise.inputs.request import Named


class Doctor(Record):
    """`packwise doctor`."""

    named: Named
    as_json: bool = False
