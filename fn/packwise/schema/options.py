"""Options of `packwise schema`, as values."""

from __future__ import annotations

from krmfn.hints import Record


class SchemaOptions(Record):
    """`packwise schema`. Without a `name`, it lists the schemas. `revision` is the revision of the PodCliqueSet."""

    name: str | None = None
    revision: str | None = None


SCHEMAS = ("TopologyRender", "PodCliqueSet")
"""The kinds that have a schema."""
