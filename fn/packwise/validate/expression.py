"""CEL expressions, compiled and evaluated by the CEL project's own runtime; which of them are not.

The runtime bounds the time of an evaluation: 10,000 iterations, 32 levels. It does not bound memory: `cost` does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from krmfn.hints import TYPE_CHECKING
from packwise.validate.cost import MAX_COST, cost_of
from packwise.validate.syntax import read_tree

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from krmfn.value import Value
    from packwise.validate.syntax import Node

__all__ = ["LONGEST", "MOST_COPIES", "Answer", "Expression", "compiled"]

LONGEST = 4000
MOST_COPIES = 5
_COPYING = re.compile(r"\b(?:optFlatMap|optMap)\b")
"""Macros that write what they are called on twice: a chain of them doubles the tree with every link."""

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

    `trouble` is why nobody can tell here what the API server would say. `cost` is what the evaluation takes at most.
    """

    value: Value = None
    error: str = ""
    trouble: str = ""
    cost: int = 0


@dataclass(slots=True)
class Expression:
    """A compiled expression and its syntax tree. `trouble` is why it is not evaluated at all."""

    _program: Any
    _tree: Node | None = None
    trouble: str = ""

    def evaluate(self, variables: Mapping[str, Value]) -> Answer:
        """Its value, or why there is none."""
        if self.trouble:
            return Answer(trouble=self.trouble)
        cost = self._cost(variables)
        if cost is None or cost > MAX_COST:
            too_much = f"it may ask for more than {MAX_COST >> 20} MiB of memory"
            return Answer(trouble="it uses what nothing bounds in memory" if cost is None else too_much)
        try:
            answer = self._program.eval(data=dict(variables))
            if str(answer.type()) != "ERROR":
                return Answer(answer.plain_value(), cost=cost)
            text = _first_line(str(answer.value()))
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            self.trouble = _first_line(str(error))
            return Answer(trouble=self.trouble, cost=cost)
        for pattern, replacement in _TEXTS:
            if match := pattern.fullmatch(text):
                return Answer(error=match.expand(replacement), cost=cost)
        if _NO_OVERLOAD in text:
            # Values have types here where they are met, in Kubernetes where the rule is compiled.
            self.trouble = text
        return Answer(trouble=text, cost=cost)

    def _cost(self, variables: Mapping[str, Value]) -> int | None:
        """What its evaluation for these values takes at most; None where nothing bounds that."""
        try:
            return None if self._tree is None else cost_of(self._tree, variables)
        except RecursionError:
            return None


def compiled(text: str, *, optional: bool = False) -> Expression:
    """`text`, of the variables `self` and `oldSelf`, compiled. `optional`: its `oldSelf` is an optional value.

    An optional one reads `__old__`, a list that is empty or holds the value.
    """
    if len(text) > LONGEST:
        return Expression(None, trouble=f"it is longer than {LONGEST} characters")
    if len(_COPYING.findall(text)) > MOST_COPIES:
        return Expression(None, trouble=f"it calls optMap and optFlatMap more than {MOST_COPIES} times")
    source = _OPTIONAL.format(text) if optional else text
    try:
        program = _environment().compile(source)
        return Expression(program, read_tree(program.serialize()))
    except (RuntimeError, ValueError) as error:
        # A RecursionError is a RuntimeError too.
        return Expression(None, trouble=_first_line(str(error)))


@cache
def _environment() -> Any:
    from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs]
    from cel_expr_python.ext import ext_optional, ext_strings  # pyright: ignore[reportMissingTypeStubs]

    variables: dict[str, Any] = dict.fromkeys(("self", "oldSelf", "__old__"), cel.Type.DYN)
    return cel.NewEnv(variables=variables, extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings()])


def _first_line(text: str) -> str:
    """The runtime's message without its status code, the excerpt and what follows."""
    line = text.partition("\n")[0]
    line = re.sub(r"^[A-Z_]+: (?:ERROR: )?(?:<input>:-?\d+:-?\d+: )?", "", line)
    return re.sub(r" \[[A-Z_]+\]$", "", line)
