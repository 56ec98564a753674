"""What a workload asks for and no generated object says, and why: `packwise explain` asks for it, no render does."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from packwise.objects.place import Origin

__all__ = ["Omission"]


class Omission(NamedTuple):
    """`asked` is what stands at the origin's place and is missing in the objects; the origin's rule leaves it out.

    `why` says what keeps it away, `remedy` what would change that.
    """

    origin: Origin
    asked: str
    why: str
    remedy: str
