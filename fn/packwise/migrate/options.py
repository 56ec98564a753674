"""Options of `packwise migrate`, as values."""

from __future__ import annotations

from krmfn.hints import Record


class Migrate(Record):
    """`packwise migrate`. `source` is the revision of the objects in `paths`, or None to infer it.

    Without a `target`, only the objects of schedulers are migrated.
    """

    paths: tuple[str, ...]
    target: str | None = None
    config: str | None = None
    source: str | None = None
    dry_run: bool = False
    keep_pack_domain: bool = False
    exclude: tuple[str, ...] = ()
