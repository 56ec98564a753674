"""The functionConfig as a pydantic model. An error names the field, its place and the nearest known field."""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from types import NoneType, UnionType

from krmfn.fieldpath import FieldError, FieldPath, describe, format_path, parse_path, unknown_field
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.result import Result, ResultField
from krmfn.yamltext import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value

    ModelT = TypeVar("ModelT", bound=BaseModel)

__all__ = ["ConfigError", "config_result", "load_config", "read_config"]

_WANTED = {
    "string_type": "a string",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dataclass_type": "a mapping",
    "none_required": "null",
}

_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")


class ConfigError(ValueError):
    """Raised for an invalid functionConfig. `results` holds one error per wrong field."""

    def __init__(self, results: tuple[Result, ...]) -> None:
        super().__init__("; ".join(result.line_of_text().removeprefix("error: ") for result in results))
        self.results = results


def load_config(function_config: KubeObject | None, model: type[ModelT]) -> ModelT:
    """Return the configuration in `function_config` as `model`.

    `model` describes `spec` of a custom kind, or the fields of a ConfigMap's `data`. A ConfigMap holds only strings.
    Therefore each entry is read as YAML (`emit: "[PodGang]"` is a list) unless the field accepts strings. A key may be
    a path (`spec.kai`, `spec.levels[0]`), and its prefix `spec.` is optional. A missing functionConfig, an empty `spec`
    and an empty `data` all count as an empty mapping.

    Other fields than `spec` or `data` are ignored. Raise ConfigError with a result per wrong field.
    """
    from pydantic import ValidationError

    if function_config is None:
        fields, places = {}, {}
    else:
        fields, places = read_config(function_config, lambda path: _takes_string(model, path))
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        results = tuple(_result(function_config, model, detail, places) for detail in problems)
        raise ConfigError(_distinct_results(results)) from None


def read_config(
    config: KubeObject, takes_string: Callable[[FieldPath], bool]
) -> tuple[Mapping[str, Value], dict[str, str] | None]:
    """Return the mapping to validate. For a ConfigMap, also return the key of `data` that sets each field, otherwise
    None.

    `takes_string` returns True if the field at a path accepts a string. The text of an entry is then the value of the
    field. Raise ConfigError if `spec` or `data` is not a mapping, or if an entry of `data` is invalid.
    """
    if config.get("kind") == "ConfigMap" and config.get("apiVersion") == "v1":
        return _from_data(config, takes_string)
    return _mapping(config, "spec"), None


def _mapping(config: KubeObject, name: str) -> Mapping[str, Value]:
    try:
        return config.fields().mapping(name).value
    except FieldError as error:
        raise ConfigError((error.to_result(),)) from None


def _from_data(
    config: KubeObject, takes_string: Callable[[FieldPath], bool]
) -> tuple[Mapping[str, Value], dict[str, str]]:
    fields: dict[str, Value] = {}
    places: dict[str, str] = {}
    errors: list[Result] = []
    for key, text in _mapping(config, "data").items():
        try:
            path = parse_path(key.removeprefix("spec."))
            if not path:
                raise ValueError('must name a field; got ""')
            _put(fields, path, _value(text, takes_string=takes_string(path)))
            places[format_path(path)] = key
        except ValueError as error:
            message = getattr(error, "message", str(error))
            errors.append(config.error(("data", key), message).to_result())
    if errors:
        raise ConfigError(tuple(errors))
    return fields, places


def _value(text: Value, *, takes_string: bool) -> Value:
    if takes_string or not isinstance(text, str):
        return text
    return read(text)


def _put(fields: dict[str, Value], path: FieldPath, value: Value) -> None:
    target: Any = fields
    for step, following in pairwise(path):
        target = _child(target, step, [] if isinstance(following, int) else {}, path)
    _child(target, path[-1], value, path, last=True)


def _child(target: Any, step: str | int, new: Value, path: FieldPath, *, last: bool = False) -> Any:
    clash = ValueError(f"{format_path(path)} is set by two keys of data; remove one of them")
    if isinstance(step, int):
        if not isinstance(target, list) or step > len(cast("list[Value]", target)):
            raise ValueError(f"index {step} leaves a gap in the list; use consecutive indices from 0") from None
        entries = cast("list[Value]", target)
        if step == len(entries):
            entries.append(new)
        elif last:
            raise clash
        return entries[step]
    if not isinstance(target, dict) or (last and step in target):
        raise clash
    return cast("dict[str, Value]", target).setdefault(step, new)


def _takes_string(model: Any, path: FieldPath) -> bool:
    """Return True if the field at `path` is a string, or an enum or literal of strings.

    The text of an entry is then the value of the field.
    """
    from typing import Literal, get_args, get_origin

    annotation = _annotation(model, path)
    options = _options(annotation)
    return bool(options) and all(
        option is str
        or (isinstance(option, type) and issubclass(option, (str, Enum)))
        or (get_origin(option) is Literal and all(isinstance(choice, str) for choice in get_args(option)))
        for option in options
    )


def _options(annotation: Any) -> list[Any]:
    """Return the types that `annotation` permits, except None: the members of a union, or one type.

    Annotated is unwrapped.
    """
    from typing import Annotated, Union, get_args, get_origin

    origin = get_origin(annotation)
    if origin is Annotated:
        return _options(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [option for part in get_args(annotation) for option in _options(part)]
    return [] if annotation in (None, NoneType) else [annotation]


def _annotation(model: Any, path: FieldPath) -> Any:
    """Return the type of the field at `path`. Return None if the model lacks it."""
    from typing import get_args

    current: Any = model
    for step in path:
        if isinstance(step, int):
            current = next((a for option in _options(current) for a in get_args(option)[:1]), None)
            continue
        inner = None
        for option in _options(current):
            if step in _known_fields(option):
                inner = _known_fields(option)[step]
            elif get_args(option)[1:]:
                inner = get_args(option)[1]
        current = inner
    return current


def _known_fields(model: Any) -> dict[str, Any]:
    """Return the type of each field of a model or dataclass, by its name in a configuration."""
    from dataclasses import fields as fields_of
    from dataclasses import is_dataclass
    from typing import get_type_hints

    if isinstance(model, type) and is_dataclass(model):
        hints = get_type_hints(model)
        return {field.name: hints[field.name] for field in fields_of(model)}
    fields = cast("dict[str, Any]", getattr(cast("Any", model), "model_fields", {}))
    return {info.alias or name: info.annotation for name, info in fields.items()}


def _result(
    config: KubeObject | None, model: type[BaseModel], detail: ErrorDetails, places: dict[str, str] | None
) -> Result:
    path = _true_path(model, detail["loc"], names_field=detail["type"] in (*_UNKNOWN, "missing"))
    message = _message(model, path, detail)
    if config is None:
        return Result(f"functionConfig: {message}", field=ResultField(format_path(path)))
    return config_result(config, path, message, places, detail["type"] in _UNKNOWN)


def config_result(
    config: KubeObject, path: FieldPath, message: str, places: Mapping[str, str] | None, at_key: bool
) -> Result:
    """Return the error with `message` about the field at `path` of a configuration.

    `places` maps each field to its key in `data`, as `read_config` returns it. With `at_key`, the error is located at
    the field's name instead of its value.
    """
    if places is None:
        return config.error(("spec", *path), message, key=at_key).to_result()
    for length in range(len(path), 0, -1):
        # The text of an entry is YAML, so an entry for a parent can set the field.
        key = places.get(format_path(path[:length]))
        if key is not None:
            field = f"{format_path(path)} " if length < len(path) else ""
            return config.error(("data", key), field + message).to_result()
    return config.error(("data", format_path(path)), message).to_result()


def _true_path(model: Any, loc: Sequence[str | int], *, names_field: bool) -> FieldPath:
    """Return `loc` without the names of union members. pydantic inserts them between the steps and at the end.

    With `names_field`, the last step is always the name of a field, because the configuration or the model lacks that
    field.
    """
    path: FieldPath = ()
    for number, step in enumerate(loc, 1):
        known = _annotation(model, path)
        is_name = isinstance(step, str) and path and not any(_has_field(option, step) for option in _options(known))
        if is_name and (number < len(loc) or not names_field):
            continue
        path = (*path, step)
    return path


def _has_field(option: Any, step: str) -> bool:
    from typing import get_args

    return step in _known_fields(option) or len(get_args(option)) > 1


def _message(model: Any, path: FieldPath, detail: ErrorDetails) -> str:
    kind, value, context = detail["type"], cast("Value", detail["input"]), detail.get("ctx", {})
    if kind in _UNKNOWN:
        return _unknown_message(model, path)
    if kind == "missing":
        return "must be set"
    if kind in ("enum", "literal_error"):
        known = ", ".join(f'"{choice}"' for choice in _choices(_annotation(model, path))) or context.get("expected", "")
        return f"must be one of {known}; got {describe(value)}"
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}; got {describe(value)}"
    text = detail["msg"].removeprefix("Value error, ")
    text = text.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    for start in ("Input should be ", "String should ", "List should "):
        if text.startswith(start):
            text = "must " + ("be " if start == "Input should be " else "") + text.removeprefix(start)
    return f"{text}; got {describe(value)}" if text.startswith("must ") and "got " not in text else text


def _unknown_message(model: Any, path: FieldPath) -> str:
    known = {name for option in _options(_annotation(model, path[:-1])) for name in _known_fields(option)}
    return unknown_field(str(path[-1]), known)


def _choices(annotation: Any) -> list[str]:
    from typing import Literal, get_args, get_origin

    choices: list[str] = []
    for option in _options(annotation):
        if get_origin(option) is Literal:
            choices.extend(str(choice) for choice in get_args(option))
        elif isinstance(option, type) and issubclass(option, Enum):
            choices.extend(str(member.value) for member in option)
    return choices


def _distinct_results(results: Sequence[Result]) -> tuple[Result, ...]:
    # pydantic reports an error for each member of a union. Keep one of several equal texts.
    seen: dict[str, Result] = {}
    for result in results:
        seen.setdefault(result.line_of_text(), result)
    return tuple(seen.values())
