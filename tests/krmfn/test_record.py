"""Records are named tuples: whatever is asked of both, the answers are the same."""

from __future__ import annotations

import copy
import pickle
import typing
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pytest

from krmfn import record

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Plain(record.NamedTuple):
    """Two fields, one with a default."""

    name: str
    size: int = 1

    @property
    def double(self) -> int:
        return 2 * self.size

    @classmethod
    def of(cls, name: str) -> Plain:
        return cls(name, 7)


class Empty(record.NamedTuple):
    pass


class Boxed(record.NamedTuple, Generic[T]):
    content: T
    label: str = ""


class TypingPlain(typing.NamedTuple):
    """Two fields, one with a default."""

    name: str
    size: int = 1

    @property
    def double(self) -> int:
        return 2 * self.size

    @classmethod
    def of(cls, name: str) -> TypingPlain:
        return cls(name, 7)


class TypingEmpty(typing.NamedTuple):
    pass


class TypingBoxed(typing.NamedTuple, Generic[T]):
    content: T
    label: str = ""


QUESTIONS: dict[str, Callable[[Any, Any, Any], object]] = {
    "by position": lambda plain, _e, _b: plain("a", 2),
    "by name": lambda plain, _e, _b: plain(size=2, name="a"),
    "default": lambda plain, _e, _b: plain("a"),
    "no field": lambda _p, empty, _b: empty(),
    "generic": lambda _p, _e, boxed: boxed[int](3).content,
    "equal to its tuple": lambda plain, _e, _b: (plain("a") == ("a", 1), hash(plain("a")) == hash(("a", 1))),
    "fields": lambda plain, empty, boxed: (plain._fields, empty._fields, boxed._fields),
    "match": lambda plain, _e, _b: plain.__match_args__,
    "documentation": lambda plain, empty, _b: (plain.__doc__, empty.__name__.removeprefix("Typing")),
    "property": lambda plain, _e, _b: plain("a", 4).double,
    "classmethod": lambda plain, _e, _b: plain.of("a").size,
    "text": lambda plain, _e, _b: repr(plain("a")).removeprefix("Typing"),
    "replaced": lambda plain, _e, _b: plain("a")._replace(size=9),
    "as a dict": lambda plain, _e, _b: plain("a")._asdict(),
    "made": lambda plain, _e, _b: plain._make(["a", 3]),
    "pickled": lambda plain, _e, _b: pickle.loads(pickle.dumps(plain("a", 5))),  # noqa: S301
    "copied": lambda plain, _e, _b: (copy.copy(plain("a")), copy.deepcopy(plain("a"))),
    "unpacked": lambda plain, _e, _b: [*plain("a")],
    "a tuple": lambda plain, _e, _b: (isinstance(plain("a"), tuple), issubclass(plain, tuple)),
}  # fmt: skip

FAULTS: dict[str, Callable[[Any], object]] = {
    "too few": lambda plain: plain(),
    "too many": lambda plain: plain("a", 1, 2),
    "unknown": lambda plain: plain("a", colour=1),
    "twice": lambda plain: plain("a", name="b"),
    "changed": lambda plain: setattr(plain("a"), "name", "b"),
    "replaced what is not there": lambda plain: plain("a")._replace(colour=1),
    "new attribute": lambda plain: setattr(plain("a"), "colour", "b"),
    "made of too few": lambda plain: plain._make([]),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_record_answers_as_a_named_tuple_does(question: Callable[[Any, Any, Any], object]) -> None:
    assert question(Plain, Empty, Boxed) == question(TypingPlain, TypingEmpty, TypingBoxed)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_record_refuses_what_a_named_tuple_refuses(fault: Callable[[Any], object]) -> None:
    refusals = (TypeError, ValueError, AttributeError)
    with pytest.raises(refusals):
        fault(TypingPlain)
    with pytest.raises(refusals):
        fault(Plain)


def test_the_error_of_a_missing_field_names_the_class_and_the_field() -> None:
    with pytest.raises(TypeError, match=r"^Plain\.__new__\(\) missing 1 required positional argument: 'name'$"):
        Plain()  # pyright: ignore[reportCallIssue]
