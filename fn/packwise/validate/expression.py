"""CEL expressions, compiled and evaluated by the CEL project's own runtime; which of them are not.

The runtime bounds the time of an evaluation: 10,000 iterations, 32 levels. It does not bound memory; see `_growth`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value

__all__ = ["Answer", "Expression", "compiled"]

_LONGEST = 4000
_MOST_GROWTH = 4096
_CALLED = r"\b(?:{})\b\s*(?://[^\n]*\n\s*)*\("
_LOOP = re.compile(_CALLED.format("all|exists|exists_one|filter|map|optFlatMap|optMap"))
_UNBOUNDED = re.compile(_CALLED.format("format|join|replace"))

# What the runtime calls things, and what Kubernetes' does.
_TEXTS = (
    (re.compile(r'.*?Key not found in map : "?(.*?)"?'), r"no such key: \1"),
    (re.compile(r".*?Index error: index=(-?\d+) size=\d+"), r"index out of bounds: \1"),
    (re.compile(r".*?divide by zero"), "division by zero"),
    (re.compile(r".*?(modulus by zero|integer overflow)"), r"\1"),
)
_OPTIONAL = "[size(__old__) > 0 ? optional.of(__old__[0]) : optional.none()].map(oldSelf, {}\n)[0]"
_NO_OVERLOAD = "No matching overloads"


@dataclass(frozen=True, slots=True)
class Answer:
    """What an expression gives. With an `error`, which the API server would meet too, there is no value.

    `trouble` is why nobody can tell here what the API server would say.
    """

    value: Value = None
    error: str = ""
    trouble: str = ""


@dataclass(slots=True)
class Expression:
    """A compiled expression. `trouble` is why it is not evaluated: it cannot be compiled, or asked for too much."""

    _program: Any
    trouble: str = ""

    def evaluate(self, variables: Mapping[str, Value]) -> Answer:
        """Its value, or why there is none."""
        if self.trouble:
            return Answer(trouble=self.trouble)
        try:
            answer = self._program.eval(data=dict(variables))
            if str(answer.type()) != "ERROR":
                return Answer(answer.plain_value())
            text = _first_line(str(answer.value()))
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            self.trouble = _first_line(str(error))
            return Answer(trouble=self.trouble)
        for pattern, replacement in _TEXTS:
            if match := pattern.fullmatch(text):
                return Answer(error=match.expand(replacement))
        if _NO_OVERLOAD in text:
            # Values have types here where they are met, in Kubernetes where the rule is compiled.
            self.trouble = text
        return Answer(trouble=text)


def compiled(text: str, *, optional: bool = False) -> Expression:
    """`text`, of the variables `self` and `oldSelf`, compiled. `optional`: its `oldSelf` is an optional value.

    An optional one reads `__old__`, a list that is empty or holds the value.
    """
    if len(text) > _LONGEST:
        return Expression(None, f"it is longer than {_LONGEST} characters")
    if _UNBOUNDED.search(text) or _growth(text) > _MOST_GROWTH:
        return Expression(None, "it may ask for too much memory")
    source = _OPTIONAL.format(text) if optional else text
    try:
        return Expression(_environment().compile(source))
    except (RuntimeError, ValueError) as error:
        return Expression(None, _first_line(str(error)))


@cache
def _environment() -> Any:
    from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs]
    from cel_expr_python.ext import ext_optional, ext_strings  # pyright: ignore[reportMissingTypeStubs]

    variables: dict[str, Any] = dict.fromkeys(("self", "oldSelf", "__old__"), cel.Type.DYN)
    return cel.NewEnv(variables=variables, extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings()])


def _growth(text: str) -> float:
    """By how much a value can grow at most: each loop can add it up, or list it, as often as there is `+` and `,`."""
    loops = len(_LOOP.findall(text))
    return (1 + (text.count("+") + text.count(",")) / loops) ** loops if loops else 1


def _first_line(text: str) -> str:
    """The runtime's message without its status code, the excerpt and what follows."""
    line = text.partition("\n")[0]
    line = re.sub(r"^[A-Z_]+: (?:ERROR: )?(?:<input>:-?\d+:-?\d+: )?", "", line)
    return re.sub(r" \[[A-Z_]+\]$", "", line)
