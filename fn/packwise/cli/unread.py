"""Files that look as if they held PodCliqueSets and nothing else: whoever renders them reads them.

A look at the bytes tells all that other files are judged by: what configures a render stands in none of them.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.discovery import Traits
from packwise.objects.kinds import POD_CLIQUE_SET

if TYPE_CHECKING:
    from packwise.cli.input_paths import InputPath

__all__ = ["LEAST", "WORKLOADS", "Unread", "looks_plain"]

LEAST = 200
"""Fewer files take less time than processes that share them save."""

WORKLOADS = Traits(workloads=True)
"""What counts of such a file where the nearest configuration is looked for."""

_KIND = b"kind:"
_OWN = f"kind: {POD_CLIQUE_SET.name}\n".encode()
_COMMENT = b"packwise:"
"""How a comment starts that says which findings are reported."""


class Unread(NamedTuple):
    """A file that was not parsed, and its content."""

    path: InputPath
    data: bytes

    @property
    def text(self) -> str:
        """The content; "" where that is no text, which is an error."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError:
            return ""


def looks_plain(path: InputPath, data: bytes) -> bool:
    """Whether a file with this content seems to hold PodCliqueSets alone."""
    if path.name is None or path.left_out is not None:
        return False
    kinds = data.count(b"\n" + _KIND) + data.startswith(_KIND)
    if not kinds or kinds != data.count(b"\n" + _OWN) + data.startswith(_OWN):
        return False
    return _COMMENT not in data
