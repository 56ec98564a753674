"""Options of `packwise comment`, as values."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from packwise.inputs.request import Named


class Comment(Record):
    """`packwise comment`. `nodes` are files with a cluster's nodes and pods. If they are set, the comment includes
    the gangs' places.
    """

    named: Named
    nodes: tuple[str, ...] = ()
