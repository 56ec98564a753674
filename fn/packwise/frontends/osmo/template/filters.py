"""Jinja's filters that a template may use, each with what it takes spent before it runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps

from jinja2.filters import FILTERS

from krmfn.hints import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sized
    from typing import Any

    from packwise.frontends.osmo.template.work import Work

    Filter = Callable[..., Any]

__all__ = ["bounded_filters"]

_LINEAR = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "filesizeformat", "first", "float", "groupby", "int",
    "items", "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "select",
    "selectattr", "sort", "string", "title", "unique", "upper", "urlencode", "wordcount",
)  # fmt: skip
"""Their result is no larger than what they are given, times a small number."""

_WIDE = ("batch", "center", "indent", "round", "slice", "tojson", "truncate")
"""They take a width, or a text to fill with."""


def bounded_filters(work: Work) -> dict[str, Filter]:
    """The filters by name. `random`, those for HTML, and `attr` are left out: no workflow is made of these."""
    costs: dict[str, Callable[[Any, list[Any]], None]] = {
        **dict.fromkeys(_LINEAR, lambda _, rest: work.spend(work.weigh(rest))),
        **dict.fromkeys(_WIDE, lambda value, rest: work.spend(_width(work, value, rest))),
        "format": lambda value, rest: work.formatting(str(value), rest),
        "join": lambda value, rest: work.spend(_entries(value) * work.weigh(rest)),
        "replace": lambda value, rest: work.spend(_replaced(value, rest)),
        "sum": lambda value, rest: work.spend(_entries(value) * work.weigh([value, rest])),
        "trim": lambda value, rest: work.spend(work.weigh(value) * work.weigh(rest)),
    }
    return {name: _bounded(FILTERS[name], cost, work) for name, cost in costs.items()}


def _bounded(function: Filter, cost: Callable[[Any, list[Any]], None], work: Work) -> Filter:
    # Jinja itself passes its context, or the like, before the value.
    passed = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        value, *rest = args[passed:]
        work.weigh(value)
        cost(value, [*rest, *kwargs.values()])
        result = function(*args, **kwargs)
        # What is only made when it is asked for could not be weighed.
        if isinstance(result, Iterator):
            result = list(cast("Iterator[Any]", result))
        work.weigh(result)
        return cast("Any", result)

    return call


def _width(work: Work, value: Any, rest: list[Any]) -> int:
    lines = 1 + value.count("\n") if isinstance(value, str) else work.weigh(value)
    return lines * (work.weigh(rest) + sum([abs(each) for each in rest if isinstance(each, int)]))


def _entries(value: Any) -> int:
    return len(cast("Sized", value)) if isinstance(value, (str, list, tuple, dict, range)) else 1


def _replaced(value: Any, rest: list[Any]) -> int:
    if len(rest) < 2:
        return 0
    return str(value).count(str(rest[0])) * len(str(rest[1]))
