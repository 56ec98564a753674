"""Flux's variables in the output of a Kustomization: `${name}`, in the syntax of the shell's envsubst.

Source: spec/sources.md#3.8; fluxcd/pkg, envsubst (parse, funcs.go, eval.go), kustomize/kustomize_varsub.go.
"""

from __future__ import annotations

import re
from fnmatch import translate

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DISABLED = "kustomize.toolkit.fluxcd.io/substitute"
"""The label or annotation that disables substitution in an object if its value is "disabled"."""

_NAME = re.compile(r"_*[A-Za-z][_A-Za-z0-9]*|_+")
_STARTS = re.compile(r"\$\$\{|\$\{")
_MAX_DEPTH = 20
_MAX_WILDCARDS = 100
MAX_SUBSTITUTED = 10_000_000
"""The largest number of characters of a text after substitution. A few characters can expand to many."""


class SubstitutionError(ValueError):
    """An expression that cannot be evaluated."""


class Substitution(Record):
    """The variables of a Kustomization. With `is_always`, expressions are evaluated even if there are no variables."""

    variables: Mapping[str, str] = {}
    is_always: bool = False

    @property
    def is_active(self) -> bool:
        """Return True if expressions are evaluated. Otherwise even `${x:=2}` stays as it is."""
        return self.is_always or bool(self.variables)


def is_variable(name: str) -> bool:
    """Return True if Flux accepts a variable of that name. A single invalid name makes the whole substitution fail."""
    return re.fullmatch("[_A-Za-z][_A-Za-z0-9]*", name) is not None


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """Return `text` with the values of `variables`.

    Raise SubstitutionError if an expression is invalid, or if the result is too long.
    """
    return _evaluate(text, variables, 0)


def _evaluate(text: str, variables: Mapping[str, str], depth: int) -> str:
    if depth > _MAX_DEPTH:
        raise SubstitutionError("variables nest too deep")
    parts: list[str] = []
    at, length = 0, 0
    while (match := _STARTS.search(text, at)) is not None:
        parts.append(text[at : match.start()])
        if match[0] == "$${":
            # An escaped expression stays, without the escape.
            parts.append("${")
            at = match.end()
            continue
        end = _end(text, match.end())
        parts.append(_expression(text[match.end() : end], variables, depth))
        length += len(parts[-1])
        _refuse_length(length)
        at = end + 1
    return "".join([*parts, text[at:]])


def _refuse_length(length: int) -> None:
    if length > MAX_SUBSTITUTED:
        raise SubstitutionError(f"the text with its variables is longer than {MAX_SUBSTITUTED} characters")


def _end(text: str, start: int) -> int:
    """Return the place of the brace that closes an expression. Raise SubstitutionError if there is none."""
    depth, at = 1, start
    while at < len(text):
        if text.startswith("${", at):
            depth += 1
            at += 1
        elif text[at] == "}":
            depth -= 1
            if not depth:
                return at
        at += 1
    raise SubstitutionError("missing closing brace")


def _expression(inner: str, variables: Mapping[str, str], depth: int) -> str:
    if inner.startswith("#") and _NAME.fullmatch(inner[1:]):
        return str(len(variables.get(inner[1:], "")))
    name = _NAME.match(inner)
    if name is None:
        raise SubstitutionError(f'variable name "{inner[:40]}" is invalid')
    value, rest = variables.get(name[0], ""), inner[name.end() :]
    if not rest:
        return value
    for operator in (":=", ":-", ":?", "=", "-", "?"):
        if rest.startswith(operator):
            default = _evaluate(rest[len(operator) :], variables, depth + 1)
            if operator in (":?", "?") and not value:
                raise SubstitutionError(f'variable "{name[0]}" is not set')
            return value or default
    if rest.startswith(":+"):
        return _evaluate(rest[2:], variables, depth + 1) if value else ""
    return _function(value, rest, variables, depth)


_CASES: dict[str, Callable[[str], str]] = {
    "^^": str.upper,
    "^": lambda value: value[:1].upper() + value[1:],
    ",,": str.lower,
    ",": lambda value: value[:1].lower() + value[1:],
}


def _function(value: str, rest: str, variables: Mapping[str, str], depth: int) -> str:
    if rest in _CASES:
        return _CASES[rest](value)
    if rest.startswith(":"):
        words = [_evaluate(each, variables, depth + 1).strip() for each in rest[1:].split(":")]
        if len(words) > 2 or not all(re.fullmatch(r"-?\d{1,9}", word) for word in words):
            raise SubstitutionError(f'"{rest[:40]}" is not supported')
        start = int(words[0])
        start = max(len(value) + start, 0) if start < 0 else start
        return value[start:] if len(words) == 1 else value[start : start + max(int(words[1]), 0)]
    for operator in ("##", "#", "%%", "%"):
        if rest.startswith(operator):
            return _trim(value, _evaluate(rest[len(operator) :], variables, depth + 1), operator)
    if rest.startswith("/"):
        is_all = rest.startswith("//")
        old, _, new = rest[2 if is_all else 1 :].partition("/")
        most = -1 if is_all else 1
        _refuse_length(len(value) + len(new) * (value.count(old) if is_all else 1))
        return value.replace(old, new, most)
    raise SubstitutionError(f'"{rest[:40]}" is not supported')


def _trim(value: str, glob: str, operator: str) -> str:
    """Return the value without the shortest (`#`, `%`) or longest (`##`, `%%`) start or end that the glob matches."""
    units = _units(glob)
    is_longest = len(operator) == 2
    if operator.startswith("#"):
        return value[_match_end(value, units, is_longest=is_longest) :]
    # Read backwards, an end is a start.
    return value[::-1][_match_end(value[::-1], units[::-1], is_longest=is_longest) :][::-1]


def _find_last(value: str, units: Sequence[_Unit], start: int) -> int:
    """Return the end of the last text after `start` that these units match, or -1.

    Python needs quadratic time to find the last match in a long text. So the text is searched backwards for the first
    match.
    """
    backwards = value[start:][::-1]
    end = _find_first(backwards, units[::-1], 0)
    return -1 if end < 0 else len(value) - end + len(units)


def _find_first(value: str, units: Sequence[_Unit], start: int) -> int:
    """Return the end of the first text after `start` that these units match, or -1."""
    literals = [unit.literal for unit in units if unit.literal is not None]
    if len(literals) == len(units):
        at = value.find("".join(literals), start)
        return -1 if at < 0 else at + len(units)
    # With wildcards, the search takes as many steps at each place as there are units.
    if len(units) > _MAX_WILDCARDS:
        raise SubstitutionError(f"a glob has more than {_MAX_WILDCARDS} characters between two asterisks")
    expression = "".join([unit.expression for unit in units])
    match = re.compile(expression).search(value, start)
    return -1 if match is None else match.end()


def _match_end(value: str, units: Sequence[_Unit], *, is_longest: bool) -> int:
    """Return the length of the shortest or longest prefix of `value` that matches the glob. Return 0 if none matches.

    Search once for each part between two `*`. The first match leaves the most text for the other parts.
    """
    stars = [at for at, unit in enumerate(units) if unit.is_star]
    starts, ends = [0, *[at + 1 for at in stars]], [*stars, len(units)]
    at = _find_first(value[: ends[0]], units[: ends[0]], 0)
    for place in range(1, len(starts)):
        find = _find_last if is_longest and place == len(stars) else _find_first
        at = find(value, units[starts[place] : ends[place]], at) if at >= 0 else -1
    return max(at, 0)


class _Unit(Record):
    """One unit of a glob: a `literal` character, a `bracket`, a `?` or a `*`."""

    literal: str | None = None
    bracket: str = ""
    is_star: bool = False

    @property
    def expression(self) -> str:
        """Return the regular expression of the unit."""
        # Remove the end of the expression, which is `\Z`, or `\z` since Python 3.14.
        return translate(self.bracket or self.literal or "?")[: -len(r"\Z")]


def _units(glob: str) -> list[_Unit]:
    units: list[_Unit] = []
    at = 0
    while at < len(glob):
        # A bracket may begin with a closing bracket: `[]a]`, `[!]a]`.
        first = at + 2 + glob.startswith("[!", at)
        end = glob.find("]", first) if glob[at] == "[" else -1
        if end >= 0:
            units.append(_Unit(bracket=glob[at : end + 1]))
            at = end + 1
            continue
        units.append(_Unit(None if glob[at] in "*?" else glob[at], is_star=glob[at] == "*"))
        at += 1
    return units
