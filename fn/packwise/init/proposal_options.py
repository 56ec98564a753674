"""Options of `packwise topology import`, as values."""

from __future__ import annotations

from krmfn.record import Record


class ImportTopology(Record):
    """`packwise topology import`. `paths` are files with a cluster's nodes."""

    paths: tuple[str, ...]
