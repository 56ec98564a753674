"""Options of `packwise schema`, as values."""

from __future__ import annotations

from krmfn.record import Record


class SchemaOptions(Record):
    """`packwise schema`; without a `name`, which there are. `revision` is that of a PodCliqueSet."""

    name: str | None = None
    revision: str | None = None


SCHEMAS = ("TopologyRender", "PodCliqueSet")
"""The kinds that have a schema."""
