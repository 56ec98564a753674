"""Options of `packwise topologies`, as values."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from packwise.inputs.request import Named


class Topologies(Record):
    """`packwise topologies`."""

    named: Named
    as_json: bool = False
