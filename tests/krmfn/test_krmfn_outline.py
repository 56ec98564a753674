"""A list by its lines: what it says of its items before they are read, and what an answer in parts writes."""

from __future__ import annotations

import io

import pytest

from krmfn.outline import Answer, Outline
from krmfn.resourcelist import ResourceList
from krmfn.result import Result, Severity
from krmfn.run import run
from krmfn.yamltext import YamlError

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
POD = "# the first\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n"
SERVICE = "- apiVersion: v1\n  kind: Service\n  metadata: {name: b} # é\n"
CONFIG = "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n"
TEXT = HEAD + POD + SERVICE + CONFIG


def outline(text: str = TEXT) -> Outline:
    made = Outline.of(text)
    assert made is not None
    return made


def test_the_items_are_those_of_the_list_that_is_read_whole() -> None:
    read, made = ResourceList.parse(TEXT), outline()

    assert made.items(range(len(made))) == list(read.items)
    assert made.items([1]) == [read.items[1]]
    assert made.items([]) == []
    assert made.function_config == read.function_config
    assert [made.entry(place) for place in range(len(made))] == [POD, SERVICE]


def test_the_places_of_a_kind_are_known_without_reading() -> None:
    assert outline().places_of("kind: Service") == [1]
    assert outline().places_of("kind: Secret") == []


UNKNOWN = {
    "a flow list": '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []}',
    "no items": HEAD,
    "items in flow style": HEAD.rstrip() + " [{kind: Pod}]\n",
    "results": TEXT + "results: []\n",
    "another kind": TEXT.replace("ResourceList", "List"),
    "no line break at the end": HEAD + POD.rstrip(),
    "a tail that cannot be read": TEXT + "a: [\n",
    "a configuration that is no mapping": HEAD + POD + "functionConfig: 1\n",
    "a second items": TEXT + "items: []\n",
}


@pytest.mark.parametrize("reason", UNKNOWN)
def test_what_may_be_otherwise_has_no_outline(reason: str) -> None:
    assert Outline.of(UNKNOWN[reason]) is None


def test_a_cut_within_a_text_shows_when_its_items_are_read() -> None:
    made = outline(HEAD + '- kind: "A\n\n- b"\n- kind: Pod\n')

    with pytest.raises(YamlError):
        made.items([0])
    assert outline(HEAD + "- Pod\n").items([0]) is None


def written(answer: Answer, *, validator: bool = False) -> tuple[int, str, str]:
    stdout, stderr = io.BytesIO(), io.StringIO()
    stdin = io.BytesIO(answer.outline.text.encode())
    code = run(
        lambda read: read, in_parts=lambda _: answer, validator=validator, stdin=stdin, stdout=stdout, stderr=stderr
    )
    return code, stdout.getvalue().decode(), stderr.getvalue()


WARNING = Result("has a slip", Severity.WARNING)
ERROR = Result("is wrong")
RESULTS = "results:\n- message: has a slip\n  severity: warning\n"
ERRORS = "results:\n- message: is wrong\n  severity: error\n"
ENTRIES = (SERVICE.encode(), POD.encode())


def test_an_answer_is_written_around_its_entries() -> None:
    made = outline()

    assert written(Answer(made, ENTRIES)) == (0, HEAD + SERVICE + POD + CONFIG, "")
    assert written(Answer(made, ENTRIES, (WARNING,))) == (
        0, HEAD + SERVICE + POD + CONFIG + RESULTS, "warning: has a slip\n",
    )  # fmt: skip


def test_with_an_error_the_items_are_those_that_came_in() -> None:
    assert written(Answer(outline(), ENTRIES, (ERROR,))) == (1, TEXT + ERRORS, "error: is wrong\n")


def test_a_validator_answers_no_items() -> None:
    empty = HEAD.replace("items:", "items: []")

    assert written(Answer(outline(), ENTRIES), validator=True) == (0, empty + CONFIG, "")
    assert written(Answer(outline(), ENTRIES, (ERROR,)), validator=True) == (
        1, empty + CONFIG + ERRORS, "error: is wrong\n",
    )  # fmt: skip


def test_what_fails_in_parts_is_left_to_the_function() -> None:
    def fail(_: str) -> Answer | None:
        raise AttributeError

    stdout = io.BytesIO()

    assert run(lambda read: read, in_parts=fail, stdin=io.BytesIO(TEXT.encode()), stdout=stdout) == 0
    assert stdout.getvalue().decode() == TEXT
