"""The native core if installed: the distribution krmfn-native, built from `fn/krmfn-native`.

Its results equal the results of the Python code, in less time. Without the core or with another krmfn's, `Tree` and
`Shape` are None and the Python code reads, writes and checks.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import krmfn_native
    from krmfn_native import has_text, write

    from krmfn.yamltext import reader

__all__ = ["READER", "VERSION", "Shape", "Tree", "has_text", "is_installed", "write"]

VERSION = 12
"""The version of the interface between the core and this module. It changes with the arguments or the result of a
function.
"""


def _return_none(*_: object) -> None:
    return None


Tree: Callable[[str, int, str], reader.Tree] | None = None
Shape: type[krmfn_native.Shape] | None = None
if not TYPE_CHECKING:
    write = has_text = _return_none
    try:
        import krmfn_native
    except ImportError:
        pass
    else:
        if krmfn_native.VERSION == VERSION:
            from krmfn_native import Shape, Tree, has_text, write

is_installed = Tree is not None
"""True if the core reads YAML, False if libyaml reads it through PyYAML."""

READER = "krmfn-native" if is_installed else "libyaml, through PyYAML"
"""The name of the reader for users."""
