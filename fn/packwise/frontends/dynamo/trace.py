"""Where in the file a part of a derived object is written: paths of the one, mapped to paths of the other."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath

__all__ = ["IDENTITY", "Trace", "Written"]


class Written(NamedTuple):
    """The place of a derived value: `path`, or (`at_key`) the key there.

    `through`: each part of the value stands at the same path below it; otherwise the whole value stands for its parts.
    """

    path: FieldPath
    through: bool = False
    at_key: bool = False


class Trace(NamedTuple):
    """What is written where, by the path of the derived value; the longest path that leads to a value counts."""

    entries: Mapping[FieldPath, Written]

    def written(self, path: FieldPath) -> Written:
        """Where the value at `path` of the derived object is written."""
        for length in range(len(path), -1, -1):
            known = self.entries.get(path[:length])
            if known is None:
                continue
            rest = path[length:]
            return Written((*known.path, *rest), True) if known.through and rest else known
        return Written(())

    def after(self, first: Trace) -> Trace:
        """This trace, whose paths are those of what `first` derives, in the paths of what that one is derived from."""
        entries: dict[FieldPath, Written] = {}
        for path, written in self.entries.items():
            whole = first.written(written.path)
            entries[path] = whole._replace(
                through=whole.through and written.through, at_key=whole.at_key or written.at_key
            )
            if written.through:
                # What is put together of several places is traced part by part.
                start = len(written.path)
                for inner, at in first.entries.items():
                    if len(inner) > start and inner[:start] == written.path:
                        entries[(*path, *inner[start:])] = at
        return Trace(entries)


IDENTITY = Trace({(): Written((), through=True)})
"""The trace of what is written as it is."""
