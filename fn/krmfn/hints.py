"""The names of `typing` that code needs at run time, without its import.

The import takes 14 million instructions, and 5 ms, of a run of ten workloads, which takes 246 (valgrind, Python 3.11).

To a type checker each name is that of `typing`. Names that stand in annotations alone are imported from `typing` below
`if TYPE_CHECKING:`, where no run comes by.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Generic, Protocol, TypeVar, cast, final, overload
else:

    def cast(_, value):
        """The value itself."""
        return value

    def final(decorated):
        """The class or method itself."""
        return decorated

    def overload(function):
        """The signature, which the implementation after it replaces."""
        return function

    def TypeVar(name, *_, **__):  # noqa: N802
        """The name of a type variable."""
        return name

    class Generic:
        """The base of classes with type variables, which are their own instances of whatever type."""

        __slots__ = ()

        def __class_getitem__(cls, _):
            return cls

    class Protocol:
        """The base of protocols, which are looked at by type checkers alone."""


__all__ = ["TYPE_CHECKING", "Generic", "Protocol", "TypeVar", "cast", "final", "overload"]
