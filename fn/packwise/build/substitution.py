"""Flux's variables in the output of a Kustomization: `${name}`, in the syntax of the shell's envsubst.

Source: spec/sources.md#3.8; fluxcd/pkg, envsubst (parse, funcs.go, eval.go), kustomize/kustomize_varsub.go.
"""

from __future__ import annotations

import re
from fnmatch import translate

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DISABLED = "kustomize.toolkit.fluxcd.io/substitute"
"""The label or annotation that keeps an object from being changed, by the value "disabled"."""

_NAME = re.compile(r"_*[A-Za-z][_A-Za-z0-9]*|_+")
_STARTS = re.compile(r"\$\$\{|\$\{")
_MOST_DEPTH = 20


class SubstitutionError(ValueError):
    """An expression that cannot be evaluated."""


class Substitution(Record):
    """The variables, and whether a build is changed even if there is none."""

    variables: Mapping[str, str] = {}
    always: bool = False

    @property
    def is_active(self) -> bool:
        """Return True if the build is changed: without any variable `${x:=2}` stays."""
        return self.always or bool(self.variables)


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """Return the text of an object with its variables. Raises SubstitutionError."""
    return _evaluate(text, variables, 0)


def _evaluate(text: str, variables: Mapping[str, str], depth: int) -> str:
    if depth > _MOST_DEPTH:
        raise SubstitutionError("variables nest too deep")
    parts: list[str] = []
    at = 0
    while (match := _STARTS.search(text, at)) is not None:
        parts.append(text[at : match.start()])
        if match[0] == "$${":
            # An escaped one stays, without the escape.
            parts.append("${")
            at = match.end()
            continue
        end = _end(text, match.end())
        parts.append(_expression(text[match.end() : end], variables, depth))
        at = end + 1
    return "".join([*parts, text[at:]])


def _end(text: str, start: int) -> int:
    """Return the place of the brace that closes an expression."""
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
        return value.replace(old, new) if is_all else value.replace(old, new, 1)
    raise SubstitutionError(f'"{rest[:40]}" is not supported')


def _trim(value: str, glob: str, operator: str) -> str:
    expression = re.compile(translate(glob))
    lengths = range(len(value) + 1)
    if operator.startswith("#"):
        hits = [at for at in lengths if expression.match(value[:at])]
        return value if not hits else value[hits[-1 if operator == "##" else 0] :]
    hits = [at for at in lengths if expression.match(value[at:])]
    return value if not hits else value[: hits[0 if operator == "%%" else -1]]
