"""The native core, where it is installed: the distribution krmfn-native, built from `fn/krmfn-native`.

Each function does what Python's own does, for the texts and values that are most frequent, and answers None for all
others: then Python has to do it. Without the core, or with that of another krmfn, it is always so.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from krmfn_native import entries, key_lines, nearest, read, set_string, write

__all__ = ["VERSION", "entries", "key_lines", "nearest", "read", "set_string", "write"]

VERSION = 1
"""The number that the core and this module share; each change of what a function takes or answers is another."""


def _absent(*_: object) -> None:
    return None


if not TYPE_CHECKING:
    entries = key_lines = nearest = read = set_string = write = _absent
    try:
        import krmfn_native
    except ImportError:
        pass
    else:
        if krmfn_native.VERSION == VERSION:
            from krmfn_native import entries, key_lines, nearest, read, set_string, write
