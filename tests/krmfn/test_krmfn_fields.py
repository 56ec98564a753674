"""Fields: each getter returns an existing value or None, and refuses a value of another type with its path."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from krmfn import FieldError, Fields, KubeObject
from krmfn.fieldpath import FieldPath, format_path

TEXT = """\
apiVersion: example.dev/v1
kind: Limits
metadata: {name: l}
spec:
  mode: Strict
  count: 3
  ratio: 0.5
  enabled: true
  names: [a, b]
  mixed: [a, 1]
  levels:
  - {domain: rack, key: example.com/rack}
  - {domain: host}
  odd: [1, {a: 2}]
  nested: {deeper: {name: x}}
  nothing:
"""
ITEM = KubeObject.parse(TEXT, file="l.yaml")
SPEC = ITEM.fields("spec")


def test_what_is_there() -> None:
    assert SPEC.text("mode") == SPEC.required_text("mode", known=("Strict", "Loose")) == "Strict"
    assert SPEC.integer("count") == SPEC.required_integer("count") == 3
    assert SPEC.number("ratio") == SPEC.required_number("ratio") == 0.5
    assert SPEC.number("count") == 3
    assert SPEC.flag("enabled") is SPEC.required_flag("enabled") is True
    assert SPEC.list("mixed") == ("a", 1)
    assert SPEC.texts("names") == ("a", "b")
    assert SPEC.mapping("nested").mapping("deeper").required_text("name") == "x"
    assert [level.text("key") for level in SPEC.required_entries("levels")] == ["example.com/rack", None]
    assert [level.path for level in SPEC.entries("levels")] == [("spec", "levels", 0), ("spec", "levels", 1)]
    assert [(name, view.path) for name, view in SPEC.mapping("nested").mappings()] == [
        ("deeper", ("spec", "nested", "deeper"))
    ]
    assert "mode" in SPEC
    assert "nothing" not in SPEC
    assert SPEC.required_mapping("nested").value == {"deeper": {"name": "x"}}


@pytest.mark.parametrize("name", ["absent", "nothing"])
def test_what_is_not_there_is_nothing(name: str) -> None:
    for getter in (SPEC.text, SPEC.integer, SPEC.number, SPEC.flag):
        assert getter(name) is None
    assert (SPEC.list(name), SPEC.texts(name), SPEC.entries(name)) == ((), (), ())
    assert SPEC.mapping(name).value == {}
    assert SPEC.mapping(name).path == ("spec", name)
    assert ITEM.fields("status").value == {}


WRONG: list[tuple[Callable[[Fields], object], str, str]] = [
    (lambda f: f.text("count"), "spec.count", "must be a string; got 3"),
    (lambda f: f.text("mode", known=("A", "B")), "spec.mode", 'must be one of "A", "B"; got "Strict"'),
    (lambda f: f.integer("enabled"), "spec.enabled", "must be an integer; got true"),
    (lambda f: f.integer("ratio"), "spec.ratio", "must be an integer; got 0.5"),
    (lambda f: f.number("enabled"), "spec.enabled", "must be a number; got true"),
    (lambda f: f.flag("count"), "spec.count", "must be true or false; got 3"),
    (lambda f: f.mapping("names"), "spec.names", "must be a mapping; got a list"),
    (lambda f: f.list("nested"), "spec.nested", "must be a list; got a mapping"),
    (lambda f: f.texts("mixed"), "spec.mixed[1]", "must be a string; got 1"),
    (lambda f: f.entries("odd"), "spec.odd[0]", "must be a mapping; got 1"),
    (lambda f: list(f.mappings()), "spec.mode", 'must be a mapping; got "Strict"'),
    (lambda f: f.required_text("absent"), "spec.absent", "must be a string; it is not set"),
    (lambda f: f.required_integer("nothing"), "spec.nothing", "must be an integer; it is not set"),
    (lambda f: f.required_number("absent"), "spec.absent", "must be a number; it is not set"),
    (lambda f: f.required_flag("absent"), "spec.absent", "must be true or false; it is not set"),
    (lambda f: f.required_mapping("absent"), "spec.absent", "must be a mapping; it is not set"),
    (lambda f: f.required_entries("absent"), "spec.absent", "must be a list; it is not set"),
    (lambda f: f.entries("levels")[1].required_text("key"), "spec.levels[1].key", "must be a string; it is not set"),
    (lambda f: f.refuse("count", "must be at most 2; got 3"), "spec.count", "must be at most 2; got 3"),
    (
        lambda f: f.mapping("nested").refuse_unknown("deep"),
        "spec.nested.deeper",
        'must be a known field; got "deeper"; did you mean "deep"? known: "deep"',
    ),
]


@pytest.mark.parametrize(("use", "path", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_what_is_wrong_is_raised(use: Callable[[Fields], object], path: str, message: str) -> None:
    with pytest.raises(FieldError) as caught:
        use(SPEC)

    error = caught.value
    assert (format_path(error.path), error.message, error.location.file) == (path, message, "l.yaml")
    assert str(error.id) == "example.dev/v1 Limits l"


def test_the_error_says_where() -> None:
    with pytest.raises(
        FieldError, match=r"^l\.yaml:13:5: Limits l: spec\.levels\[1\]\.key must be a string; it is not set"
    ):
        SPEC.entries("levels")[1].required_text("key")


def test_a_mapping_of_no_object() -> None:
    with pytest.raises(FieldError, match=r"^<stdin>:1:1: a\.b must be a string; got 1$"):
        Fields({"b": 1}, ("a",)).text("b")


@pytest.mark.parametrize(("use", "path", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_what_is_wrong_can_be_noted_instead(use: Callable[[Fields], object], path: str, message: str) -> None:
    """Each problem is recorded once, and the field counts as absent."""
    notes: list[tuple[FieldPath, str]] = []

    use(Fields(SPEC.value, SPEC.path, refuse=lambda at, text: notes.append((at, text))))

    assert (format_path(notes[0][0]), notes[0][1]) == (path, message)
    assert len(notes) == len(set(notes))


def test_noted_problems_leave_the_rest() -> None:
    notes: list[FieldPath] = []
    fields = Fields(SPEC.value, SPEC.path, refuse=lambda at, _: notes.append(at))

    assert fields.texts("mixed") == ("a",)
    assert [entry.value for entry in fields.entries("odd")] == [{"a": 2}]
    assert (fields.required_text("count"), fields.required_integer("mode"), fields.required_flag("mode")) == (
        "",
        0,
        False,
    )
    assert fields.required_mapping("names").value == {}
    assert len(notes) == 6
