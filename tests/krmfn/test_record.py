"""Records behave like named tuples, except that only records of one class are equal and a record is no sequence."""

from __future__ import annotations

import copy
import json
import pickle
import typing
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pytest

from krmfn.hints import Record, as_dict, field_names

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Plain(Record):
    """Two fields, one with a default."""

    name: str
    size: int = 1

    @property
    def double(self) -> int:
        return 2 * self.size

    @classmethod
    def of(cls, name: str) -> Plain:
        return cls(name, 7)


class Empty(Record):
    pass


class Boxed(Record, Generic[T]):
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
    "equal": lambda plain, _e, _b: (plain("a") == plain("a", 1), plain("a") != plain("b"), {plain("a"): 1}[plain("a")]),
    "match": lambda plain, empty, boxed: (plain.__match_args__, empty.__match_args__, boxed.__match_args__),
    "documentation": lambda plain, empty, _b: (plain.__doc__, empty.__name__.removeprefix("Typing")),
    "property": lambda plain, _e, _b: plain("a", 4).double,
    "classmethod": lambda plain, _e, _b: plain.of("a").size,
    "text": lambda plain, _e, _b: repr(plain("a")).removeprefix("Typing"),
    "pickled": lambda plain, _e, _b: pickle.loads(pickle.dumps(plain("a", 5))),  # noqa: S301
    "copied": lambda plain, _e, _b: (copy.copy(plain("a")), copy.deepcopy(plain("a"))),
}  # fmt: skip

FAULTS: dict[str, Callable[[Any], object]] = {
    "too few": lambda plain: plain(),
    "too many": lambda plain: plain("a", 1, 2),
    "unknown": lambda plain: plain("a", colour=1),
    "twice": lambda plain: plain("a", name="b"),
    "changed": lambda plain: setattr(plain("a"), "name", "b"),
    "new attribute": lambda plain: setattr(plain("a"), "colour", "b"),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_record_answers_as_a_named_tuple_does(question: Callable[[Any, Any, Any], object]) -> None:
    named_tuples = question(TypingPlain, TypingEmpty, TypingBoxed)

    assert repr(question(Plain, Empty, Boxed)) == repr(named_tuples).replace("Typing", "")


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_record_refuses_what_a_named_tuple_refuses(fault: Callable[[Any], object]) -> None:
    refusals = (TypeError, ValueError, AttributeError)
    with pytest.raises(refusals):
        fault(TypingPlain)
    with pytest.raises(refusals):
        fault(Plain)


def test_a_record_with_other_fields_is_another_record() -> None:
    plain = Plain("a")

    assert plain.replace(size=9) == Plain("a", 9)
    assert plain == Plain("a", 1)
    with pytest.raises(TypeError, match=r"unexpected field names: \['colour'\]"):
        plain.replace(colour=1)


def test_the_fields_of_a_record_are_told_by_name() -> None:
    assert as_dict(Plain("a", 2)) == {"name": "a", "size": 2}
    assert field_names(Plain) == field_names(Plain("a")) == ("name", "size")
    assert field_names(Empty) == ()


def test_the_error_of_a_missing_field_names_the_class_and_the_field() -> None:
    with pytest.raises(TypeError, match=r"^Plain\.__new__\(\) missing 1 required positional argument: 'name'$"):
        Plain()  # pyright: ignore[reportCallIssue]


class Other(Record):
    name: str
    size: int = 1


def test_records_of_two_classes_are_never_equal() -> None:
    assert Plain("a") != Other("a")
    assert {Plain("a"): 1, Other("a"): 2, ("a", 1): 3} == {("a", 1): 3, Other("a"): 2, Plain("a"): 1}
    assert len({Plain("a"), Other("a"), ("a", 1)}) == 3


UNPACKING: dict[str, Callable[[Any], object]] = {
    "into arguments": lambda plain: Other(*plain),
    "into a list": lambda plain: [*plain],
    "in a loop": lambda plain: [each for each in plain],  # noqa: C416 (a loop is what is asked for)
    "as JSON": json.dumps,
}  # fmt: skip


@pytest.mark.parametrize("unpack", UNPACKING.values(), ids=UNPACKING)
def test_a_record_is_not_unpacked(unpack: Callable[[Any], object]) -> None:
    """If a record could be unpacked, another field would break code that unpacks it."""
    with pytest.raises(TypeError, match="iter"):
        unpack(Plain("a"))


@pytest.mark.parametrize("place", [0, -1, slice(1)])
def test_a_record_is_not_indexed(place: object) -> None:
    plain: Any = Plain("a")
    with pytest.raises(TypeError):
        plain[place]
