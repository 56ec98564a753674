"""`NamedTuple` as `typing` has it, made faster: for the modules that are imported whenever a function starts.

To a type checker it is that class. At run time the classes have the same fields, defaults and methods; but records are
equal to those of their own class alone, and are not unpacked: a field more changes nothing for readers of the others.
Annotations are not looked at, and one `__new__` is compiled for each number of fields, not for each class: a class
takes a fifth of the time. Why that counts: docs/decisions/0009.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple  # noqa: TID251
else:
    from collections import namedtuple
    from functools import cache
    from types import FunctionType

    # The descriptor of a field of a named tuple, which has no public name.
    _field = type(namedtuple("_Sample", ("field",)).field)

    _values = tuple.__iter__

    class _Methods(tuple):
        """The methods of records beside their fields."""

        __slots__ = ()

        @classmethod
        def _make(cls, values):
            return cls(*values)

        __iter__ = None

        def __eq__(self, other):
            return type(self) is type(other) and tuple.__eq__(self, other)

        def __ne__(self, other):
            return not self == other

        __hash__ = tuple.__hash__

        def _replace(self, /, **changed):
            replaced = tuple.__new__(type(self), map(changed.pop, self._fields, _values(self)))
            if changed:
                raise TypeError(f"got unexpected field names: {list(changed)!r}")
            return replaced

        def _asdict(self):
            return dict(zip(self._fields, _values(self), strict=True))

        def __getnewargs__(self):
            return tuple(_values(self))

        def __repr__(self):
            fields = ", ".join([f"{name}={value!r}" for name, value in self._asdict().items()])
            return f"{type(self).__name__}({fields})"

    class _Record(type):
        """Makes the class of a class statement whose base is `NamedTuple`."""

        def __new__(cls, name, bases, namespace):
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            if "__annotate_func__" in namespace:
                raise TypeError(f"{name}: its module must have `from __future__ import annotations`")
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = tuple(namespace[field] for field in fields if field in namespace)
            namespace |= {field: _field(place, None) for place, field in enumerate(fields)}
            namespace |= {"_fields": fields, "__match_args__": fields, "__slots__": ()}
            namespace["__new__"] = _constructor(name, fields, defaults)
            return type(name, (_Methods, *[base for base in bases if base is not NamedTuple]), namespace)

    def _constructor(name, fields, defaults):
        code = _code(len(fields)).replace(
            co_varnames=("_cls", *fields), co_name="__new__", co_qualname=f"{name}.__new__"
        )
        return FunctionType(code, {"_new": tuple.__new__}, "__new__", defaults)

    @cache
    def _code(count):
        """Of a function that makes a tuple of so many fields; only the names of its parameters differ by class."""
        names = "".join([f"_{place}, " for place in range(count)])
        return eval(f"lambda _cls, {names}: _new(_cls, ({names}))").__code__  # noqa: S307

    class NamedTuple(metaclass=_Record):
        """The base of records."""


__all__ = ["NamedTuple"]
