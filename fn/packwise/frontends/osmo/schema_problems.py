"""What pydantic says of the fields of OSMO's documents, as problems: its own texts, and messages that help.

Source: spec/osmo.md#1 and #2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from krmfn.errors import describe
from packwise.findings.problem import Problem
from packwise.frontends.osmo.schema import ResourceSpec, TaskGroupSpec, TaskSpec, TopologyRequirement, WorkflowSpec
from packwise.wording import closest

if TYPE_CHECKING:
    from pydantic import ValidationError

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings.rule import Stage

__all__ = ["schema_problems"]

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


def schema_problems(error: ValidationError, value: Value, stage: Stage) -> list[Problem]:
    """The problems of `value` in pydantic's order, refused at `stage` with OSMO's texts, which are pydantic's.

    Names of models in pydantic's locations are no fields, and are left out of the paths.
    """
    problems: list[Problem] = []
    for each in error.errors(include_url=False, include_context=False):
        kind, text = each["type"], each["msg"]
        path = _path_of(each["loc"], value, keeps_last=kind == "missing")
        message = _message(kind, path, text, _plain(each["input"]))
        problems.append(Problem(path, message, text, stage, at_key=kind == "extra_forbidden"))
    return problems


def _message(kind: str, path: FieldPath, text: str, value: Value) -> str:
    """What must be there, what is, and what to do; `kind` and `text` are pydantic's."""
    if kind == "missing":
        return f"must be given: `{path[-1]}` is required"
    if kind == "extra_forbidden":
        suggestion = closest(str(path[-1]), _known_fields(path))
        return f"must be a known field; take it out, or correct its name{suggestion}"
    if kind in _TYPES:
        hint = "; put it in quotes" if kind == "string_type" and isinstance(value, (int, float)) else ""
        return f"must be {_TYPES[kind]}; got {describe(value)}{hint}"
    if kind == "enum":
        return f"{text.replace('Input should be', 'must be')}; got {describe(value)}"
    if kind == "string_pattern_mismatch":
        return f"{_PATTERN}; got {describe(value)}"
    return text.removeprefix("Value error, ")


def _known_fields(path: FieldPath) -> list[str]:
    """The fields that may stand where the last step of `path` does, below a workflow spec."""
    if "topology" in path[:-1]:
        return list(TopologyRequirement.model_fields)
    if "resources" in path[:-1]:
        return list(ResourceSpec.model_fields)
    if "tasks" in path[:-1]:
        return list(TaskSpec.model_fields)
    if "groups" in path[:-1]:
        return list(TaskGroupSpec.model_fields)
    return list(WorkflowSpec.model_fields)


def _plain(value: Any) -> Value:
    """What stands in the text: dates and the like as it spells them."""
    return cast("Value", value if value is None or isinstance(value, (str, int, float, list, dict)) else str(value))


def _path_of(location: tuple[int | str, ...], value: Value, *, keeps_last: bool) -> FieldPath:
    path: list[int | str] = []
    for place, step in enumerate(location):
        part = _part(value, step)
        if part is not None:
            (value,) = part
        elif not (keeps_last and place == len(location) - 1):
            continue
        path.append(step)
    return tuple(path)


def _part(value: Value, step: int | str) -> tuple[Value] | None:
    """The entry of a mapping or list, where there is one."""
    if isinstance(value, dict) and isinstance(step, str) and step in value:
        return (value[step],)
    if isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
        return (value[step],)
    return None
