"""What pydantic says of a field, in words that help. Source: osmo.md 1 and 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.errors import told

if TYPE_CHECKING:
    from packwise.frontends.osmo.schema import SchemaProblem

__all__ = ["explained"]

_TYPES = {
    "string_type": "a string",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}

_PATTERN = "must start with a letter and hold letters, digits, - and _ only, the last of them a letter or digit"


def explained(problem: SchemaProblem) -> str:
    """The message: what must be there, what is, and what to do."""
    got = told(problem.got)
    if problem.kind == "missing":
        return f"must be given: `{problem.path[-1]}` is required"
    if problem.kind == "extra_forbidden":
        return f"must be a known field; take it out, or correct its name{_suggested(problem)}"
    if problem.kind in _TYPES:
        hint = "; put it in quotes" if problem.kind == "string_type" and isinstance(problem.got, (int, float)) else ""
        return f"must be {_TYPES[problem.kind]}; got {got}{hint}"
    if problem.kind == "enum":
        return f"{problem.text.replace('Input should be', 'must be')}; got {got}"
    if problem.kind == "string_pattern_mismatch":
        return f"{_PATTERN}; got {got}"
    return problem.text.removeprefix("Value error, ")


def _suggested(problem: SchemaProblem) -> str:
    from packwise.frontends.osmo.schema import known_fields
    from packwise.wording import closest

    return closest(str(problem.path[-1]), known_fields(problem.path))
