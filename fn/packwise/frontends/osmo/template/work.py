"""How much work a template may take: one number for its loops, its calls and all text that it makes."""

from __future__ import annotations

import re
from types import FunctionType

from jinja2.exceptions import SecurityError

from krmfn.hints import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sized
    from typing import Any

__all__ = ["MAX_BITS", "MAX_WORK", "TooMuchWorkError", "Work"]

MAX_WORK = 2_000_000
"""Characters, entries and steps of one template, together. OSMO gives it half a second and 100 MiB."""

MAX_BITS = 4096
"""Bits of a number that a template computes."""

_SIZED = (str, bytes, range, list, tuple, dict)
_UNSTABLE = (FunctionType, type, set, frozenset)
"""What their text is, or its order, differs from run to run."""

_DIGITS = re.compile(r"\d+")


class TooMuchWorkError(SecurityError):
    """A template takes more than MAX_WORK."""


class Work:
    """What is left of MAX_WORK. A value counts before it is made, by all that would be printed of it."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_WORK

    def spend(self, amount: int) -> None:
        """Takes `amount` away. Raises TooMuchWorkError where less is left."""
        self._left -= amount
        if self._left < 0:
            raise TooMuchWorkError(f"takes more than {MAX_WORK} steps, entries and characters")

    def weigh(self, value: Any) -> int:
        """The characters and entries of `value` with all that is in it, which are spent.

        Raises SecurityError where a part of it is no value.
        """
        total = 0
        waiting = [value]
        while waiting:
            part = waiting.pop()
            if isinstance(part, _UNSTABLE):
                raise SecurityError("a function, a class or a set is no value")
            weight = 1 + len(cast("Sized", part)) if isinstance(part, _SIZED) else 1
            self.spend(weight)
            total += weight
            if isinstance(part, dict):
                entries = cast("dict[Any, Any]", part)
                waiting += [*entries.keys(), *entries.values()]
            elif isinstance(part, (list, tuple)):
                waiting += cast("list[Any]", part)
        return total

    def formatting(self, text: str, values: Iterable[Any]) -> None:
        """Spends what `text % values` makes at most: each number in `text` may be a width, and so may each value."""
        values = list(values)
        size = self.weigh(values)
        widths = [int(digits) if len(digits) < 10 else MAX_WORK for digits in _DIGITS.findall(text)]
        if "*" in text:
            widths += [abs(value) for value in values if isinstance(value, int)]
        self.spend(len(text) + text.count("%") * size + sum(widths))

    def operation(self, operator: str, left: Any, right: Any) -> None:
        """Spends what `left operator right` makes at most."""
        if isinstance(left, int) and isinstance(right, int):
            self._numbers(operator, left, right)
        elif operator == "%" and isinstance(left, str):
            self.formatting(left, _formatted(right))
        else:
            times = max([1, *(each for each in (left, right) if operator == "*" and isinstance(each, int))])
            self.spend((self.weigh(left) + self.weigh(right)) * times)

    def _numbers(self, operator: str, left: int, right: int) -> None:
        bits = max(left.bit_length(), right.bit_length()) + 1
        if operator == "*":
            bits = left.bit_length() + right.bit_length()
        elif operator == "**":
            bits = left.bit_length() * abs(right)
        self.spend(1 if bits <= MAX_BITS else MAX_WORK + 1)


def _formatted(value: Any) -> Iterable[Any]:
    """What the right side of `%` has for the text at its left."""
    if isinstance(value, dict):
        return cast("dict[Any, Any]", value).values()
    return cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
