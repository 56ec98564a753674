"""The names of `typing` that code needs at run time, without importing it.

The import uses 14 of 246 million instructions and 5 ms in a run of ten workloads (valgrind, Python 3.11).

For a type checker each name is the one from `typing`. Import names used only in annotations from `typing` below `if
TYPE_CHECKING:`, so that no run imports them.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Generic, Protocol, TypeAlias, TypeVar, cast, final, overload
else:

    def cast(_, value):
        """The value itself."""
        return value

    def final(decorated):
        """The class or method itself."""
        return decorated

    def overload(function):
        """Return the signature. The implementation after it replaces it."""
        return function

    def TypeVar(name, *_, **__):  # noqa: N802
        """The name of a type variable."""
        return name

    class Generic:
        """The base of classes with type variables. Each class is its own instance for every type."""

        __slots__ = ()

        def __class_getitem__(cls, _):
            return cls

    class Protocol:
        """The base of protocols. Only type checkers use them."""


FieldPath: TypeAlias = tuple[str | int, ...]
"""The path to a part of a value. It is defined in this module because the YAML reader also uses it."""

__all__ = ["TYPE_CHECKING", "FieldPath", "Generic", "Protocol", "TypeVar", "cast", "final", "overload"]
