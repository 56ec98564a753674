"""Typed access to the fields of an object, by path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from krmfn.errors import FieldError, told
from krmfn.fieldpath import parse_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["Fields", "steps_of"]

_NAMES = {str: "a string", int: "an integer", bool: "true or false", dict: "a mapping", list: "a list"}


def steps_of(path: FieldPath | str) -> FieldPath:
    """`path` as a tuple. Raises ValueError where it is text and no path."""
    return parse_path(path) if isinstance(path, str) else path


class Fields:
    """What has a value, and can say where in it something is wrong."""

    __slots__ = ()

    @property
    def value(self) -> Mapping[str, Value]:
        """The whole value."""
        raise NotImplementedError

    def error(self, path: FieldPath | str, message: str) -> FieldError:
        """The error that says `message` of the field at `path`."""
        raise NotImplementedError

    def get(self, path: FieldPath | str, default: Value = None) -> Value:
        """The value at `path`; `default` where there is none, or a parent is of another type."""
        value: Any = self.value
        for step in parse_path(path) if isinstance(path, str) else path:
            if type(step) is str:
                if not isinstance(value, dict) or step not in value:
                    return default
                value = cast("dict[str, Value]", value)[step]
            elif not isinstance(value, list) or not 0 <= cast("int", step) < len(cast("list[Value]", value)):
                return default
            else:
                value = cast("list[Value]", value)[cast("int", step)]
        return cast("Value", value)

    def string(self, path: FieldPath | str) -> str | None:
        """The string at `path`; None when absent or null. Raises FieldError when it is of another type."""
        return self.typed(path, str)

    def integer(self, path: FieldPath | str) -> int | None:
        """The integer at `path`; None when absent or null. Raises FieldError when it is of another type."""
        return self.typed(path, int)

    def boolean(self, path: FieldPath | str) -> bool | None:
        """The boolean at `path`; None when absent or null. Raises FieldError when it is of another type."""
        return self.typed(path, bool)

    def mapping(self, path: FieldPath | str) -> Mapping[str, Value] | None:
        """The mapping at `path`; None when absent or null. Raises FieldError when it is of another type."""
        return cast("Mapping[str, Value] | None", self.typed(path, dict))

    def sequence(self, path: FieldPath | str) -> Sequence[Value] | None:
        """The list at `path`; None when absent or null. Raises FieldError when it is of another type."""
        return cast("Sequence[Value] | None", self.typed(path, list))

    def required_string(self, path: FieldPath | str) -> str:
        """The string at `path`. Raises FieldError when it is absent or of another type."""
        return self._required(path, str)

    def required_integer(self, path: FieldPath | str) -> int:
        """The integer at `path`. Raises FieldError when it is absent or of another type."""
        return self._required(path, int)

    def required_boolean(self, path: FieldPath | str) -> bool:
        """The boolean at `path`. Raises FieldError when it is absent or of another type."""
        return self._required(path, bool)

    def required_mapping(self, path: FieldPath | str) -> Mapping[str, Value]:
        """The mapping at `path`. Raises FieldError when it is absent or of another type."""
        return cast("Mapping[str, Value]", self._required(path, dict))

    def required_sequence(self, path: FieldPath | str) -> Sequence[Value]:
        """The list at `path`. Raises FieldError when it is absent or of another type."""
        return cast("Sequence[Value]", self._required(path, list))

    def typed(self, path: FieldPath | str, kind: type[Any]) -> Any:
        """The value at `path`, None when absent or null. Raises FieldError when its type is not exactly `kind`."""
        found = self.get(path)
        if found is not None and type(found) is not kind:
            self.refuse(steps_of(path), kind, found)
        return found

    def _required(self, path: FieldPath | str, kind: type[Any]) -> Any:
        found = self.typed(path, kind)
        if found is None:
            raise self.error(path, f"must be {_NAMES[kind]}; there is none")
        return found

    def refuse(self, path: FieldPath, kind: type[Any], found: Value) -> NoReturn:
        """Raises the FieldError that says `kind` must be at `path`, where `found` is."""
        raise self.error(path, f"must be {_NAMES[kind]}; got {told(found)}")
