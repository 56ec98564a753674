"""Replacements for `typing`, which takes time to import: the names that code needs at run time, and `Record`.

The import of `typing` uses 14 of 246 million instructions and 5 ms in a run of ten workloads (valgrind, Python 3.11). A
type checker sees the names of `typing` itself. Import names that only annotations use from `typing` below `if
TYPE_CHECKING:`. Then no run imports `typing`.

`Record` is the base class of immutable values with named fields. It replaces `NamedTuple`.

    class Size(Record):
        width: int
        height: int = 1

    Size(3).replace(height=2)

A record is equal only to records of its own class. It cannot be unpacked, indexed or iterated, so a new field does not
affect existing code. A type checker sees a frozen dataclass. At run time the class is a tuple with named fields, and
its annotations are not evaluated. Classes with the same number of fields share the code of `__new__`. Making a class
therefore takes a fifth of the time that `typing.NamedTuple` takes. docs/decisions/0009 has the reasons.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Generic, Protocol, TypeAlias, TypeVar, cast, final, overload
else:

    def cast(_, value):
        """Return the value itself."""
        return value

    def final(decorated):
        """Return the class or method itself."""
        return decorated

    def overload(function):
        """Return the signature itself. The implementation that follows then replaces the signature."""
        return function

    def TypeVar(name, *_, **__):  # noqa: N802
        """Return the name of the type variable."""
        return name

    class Generic:
        """The base of classes with type variables. With a type in brackets, such a class is still itself."""

        __slots__ = ()

        def __class_getitem__(cls, _):
            return cls

    class Protocol:
        """The base of protocols. Only type checkers use them."""


FieldPath: TypeAlias = tuple[str | int, ...]
"""The path to a part of a value. It is defined in this module because the YAML reader also uses it."""

if TYPE_CHECKING:
    from typing import Any, Self, dataclass_transform

    @dataclass_transform(frozen_default=True)
    class Record:
        """The base class of immutable values with named fields."""

        def replace(self, **changed: Any) -> Self:
            """Return a copy of the record with the values `changed`, by the names of the fields."""
            ...

    def as_dict(record: Record) -> dict[str, Any]:
        """Return the values of the record's fields by their names."""
        ...

    def field_names(record: Record | type[Record]) -> tuple[str, ...]:
        """Return the names of the record's fields, in their order."""
        ...

else:
    from functools import cache
    from types import FunctionType

    _new = tuple.__new__
    _values = tuple.__iter__

    class _Methods(tuple):
        """The methods of all records."""

        __slots__ = ()

        __iter__ = None
        __getitem__ = None

        def __eq__(self, other):
            return type(self) is type(other) and tuple.__eq__(self, other)

        def __ne__(self, other):
            return not self == other

        __hash__ = tuple.__hash__

        def replace(self, /, **changed):
            replaced = _new(type(self), map(changed.pop, self.__match_args__, _values(self)))
            if changed:
                raise TypeError(f"got unexpected field names: {list(changed)!r}")
            return replaced

        def __getnewargs__(self):
            return tuple(_values(self))

        def __repr__(self):
            fields = ", ".join([f"{name}={value!r}" for name, value in as_dict(self).items()])
            return f"{type(self).__name__}({fields})"

    class _Maker(type):
        """The metaclass of `Record`. It makes the class for each class statement with this base."""

        def __new__(cls, name, bases, namespace):
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            if "__annotate_func__" in namespace:
                raise TypeError(f"{name}: its module must have `from __future__ import annotations`")
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = tuple(namespace[field] for field in fields if field in namespace)
            namespace |= {field: _field(place, None) for place, field in enumerate(fields)}
            namespace |= {"__match_args__": fields, "__slots__": ()}
            namespace["__new__"] = _constructor(name, fields, defaults)
            return type(name, (_Methods, *[base for base in bases if base is not Record]), namespace)

    def _constructor(name, fields, defaults):
        code = _code(len(fields)).replace(
            co_varnames=("_cls", *fields), co_name="__new__", co_qualname=f"{name}.__new__"
        )
        return FunctionType(code, {"_new": _new}, "__new__", defaults)

    # Python compiles these functions once, with the module. Compiling them in each run would take a hundredth of the
    # time of a short run.
    _MAKERS = (
        lambda _cls: _new(_cls, ()),
        lambda _cls, a: _new(_cls, (a,)),
        lambda _cls, a, b: _new(_cls, (a, b)),
        lambda _cls, a, b, c: _new(_cls, (a, b, c)),
        lambda _cls, a, b, c, d: _new(_cls, (a, b, c, d)),
        lambda _cls, a, b, c, d, e: _new(_cls, (a, b, c, d, e)),
        lambda _cls, a, b, c, d, e, f: _new(_cls, (a, b, c, d, e, f)),
        lambda _cls, a, b, c, d, e, f, g: _new(_cls, (a, b, c, d, e, f, g)),
        lambda _cls, a, b, c, d, e, f, g, h: _new(_cls, (a, b, c, d, e, f, g, h)),
        lambda _cls, a, b, c, d, e, f, g, h, i: _new(_cls, (a, b, c, d, e, f, g, h, i)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j: _new(_cls, (a, b, c, d, e, f, g, h, i, j)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m)),
    )
    """The function at index n makes a tuple of n fields. Each class uses its code with other names of parameters."""

    @cache
    def _code(count):
        """Return the code of a function that makes a tuple of `count` fields."""
        if count < len(_MAKERS):
            return _MAKERS[count].__code__
        names = "".join([f"_{place}, " for place in range(count)])
        return eval(f"lambda _cls, {names}: _new(_cls, ({names}))").__code__  # noqa: S307

    # The type of the fields of a named tuple, which has no public name.
    _field = type(type(_code.cache_info()).hits)

    class Record(metaclass=_Maker):
        """The base class of immutable values with named fields."""

    def as_dict(record):
        """Return the values of the record's fields by their names."""
        return dict(zip(record.__match_args__, _values(record), strict=True))

    def field_names(record):
        """Return the names of the record's fields, in their order."""
        return record.__match_args__


__all__ = [
    "TYPE_CHECKING",
    "FieldPath",
    "Generic",
    "Protocol",
    "Record",
    "TypeVar",
    "as_dict",
    "cast",
    "field_names",
    "final",
    "overload",
]
