"""The field at a path of a workload, and whether all APIs have it alike."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.grove.schema.embedded import struct
from packwise.frontends.grove.schema.kinds import Array, Object, Quantities, Quantity, Reference, TextMap
from packwise.frontends.grove.schema.table import podcliqueset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.schema.kinds import Field, Kind
    from packwise.revisions.revision import Revision

__all__ = ["field_at", "is_alike"]


def field_at(path: FieldPath, root: Object) -> Field | None:
    """The field at `path` in the table; None where it does not know one."""
    kind: Kind = root
    field: Field | None = None
    for step in path:
        owner = struct(kind.go) if isinstance(kind, Reference) else kind
        if isinstance(owner, Object):
            field = owner.fields.get(str(step))
            if field is None:
                return None
            kind = field.kind
        elif isinstance(owner, Array):
            kind = owner.item
        elif isinstance(owner, Quantities) and field is not None:
            kind = Quantity()
            field = field._replace(kind=kind)
        elif not isinstance(owner, TextMap):
            return None
    return field


def is_alike(path: FieldPath, revisions: Iterable[Revision]) -> bool:
    """True if the APIs of `revisions` have the same field at `path`, whatever is below it, or none of them has one."""
    first, *others = [_itself(field_at(path, podcliqueset(revision))) for revision in revisions]
    return all(other == first for other in others)


def _itself(field: Field | None) -> object:
    return field if field is None else field._replace(kind=_shallow(field.kind))


def _shallow(kind: Kind) -> Kind:
    if isinstance(kind, Object):
        return kind._replace(fields={})
    return kind._replace(item=_shallow(kind.item)) if isinstance(kind, Array) else kind
