"""`typing` without its import: the names that code needs at run time, and `Record` in place of `NamedTuple`.

The import of `typing` uses 14 of 246 million instructions and 5 ms in a run of ten workloads (valgrind, Python 3.11).
For a type checker each name is the one from `typing`. Import names used only in annotations from `typing` below `if
TYPE_CHECKING:`, so that no run imports them.

`Record` is the base of immutable values with named fields between steps.

    class Size(Record):
        width: int
        height: int = 1

    Size(3).replace(height=2)

A record is equal only to records of its own class. It cannot be unpacked, indexed or iterated, so a new field does not
affect other readers. For a type checker the class is a frozen dataclass. At run time it is a named tuple made without
evaluating annotations. Classes with the same number of fields share the code of `__new__`, so a class takes a fifth of
the time of `typing.NamedTuple`. For the reason see docs/decisions/0009.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Generic, Protocol, TypeAlias, TypeVar, cast, final, overload
else:

    def cast(_, value):
        """The value itself."""
        return value

    def final(decorated):
        """The class or method itself."""
        return decorated

    def overload(function):
        """Return the signature. The implementation after it replaces it."""
        return function

    def TypeVar(name, *_, **__):  # noqa: N802
        """The name of a type variable."""
        return name

    class Generic:
        """The base of classes with type variables. Each class is its own instance for every type."""

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
        """The base of records."""

        def replace(self, **changed: Any) -> Self:
            """Return the record with other values of these fields."""
            ...

    def as_dict(record: Record) -> dict[str, Any]:
        """The values of a record's fields by their names."""
        ...

    def field_names(record: Record | type[Record]) -> tuple[str, ...]:
        """The names of a record's fields, in their order."""
        ...

else:
    from functools import cache
    from types import FunctionType

    _new = tuple.__new__
    _values = tuple.__iter__

    class _Methods(tuple):
        """The methods of records beside their fields."""

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
        """Make the class of a class statement with the base `Record`."""

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

    # Python compiles these once, with the module. To compile them in each run would take a hundredth of a short one.
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
    """Make a tuple of the fields, by their number. Only their names differ by class."""

    @cache
    def _code(count):
        """Return the code of a function that makes a tuple of `count` fields."""
        if count < len(_MAKERS):
            return _MAKERS[count].__code__
        names = "".join([f"_{place}, " for place in range(count)])
        return eval(f"lambda _cls, {names}: _new(_cls, ({names}))").__code__  # noqa: S307

    # The descriptor of a field of a named tuple, which has no public name.
    _field = type(type(_code.cache_info()).hits)

    class Record(metaclass=_Maker):
        """The base of records."""

    def as_dict(record):
        """The values of a record's fields by their names."""
        return dict(zip(record.__match_args__, _values(record), strict=True))

    def field_names(record):
        """The names of a record's fields, in their order."""
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
