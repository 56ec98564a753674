"""How messages list the names that are known and suggest the nearest one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["closest", "list_known", "told_known"]

_MANY = 12


def closest(name: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` for the nearest of `known`, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f'; did you mean "{near[0]}"?' if near else ""


def list_known(names: Iterable[str]) -> str:
    """Names for a message: `"a", "b"`, or `none`."""
    return ", ".join([f'"{name}"' for name in names]) or "none"


def told_known(name: str, known: Sequence[str]) -> str:
    """What follows an unknown name: the names that are known, and the nearest; of many, the nearest alone."""
    near = closest(name, known)
    return near if near and len(known) > _MANY else f", known: {list_known(known)}{near}"
