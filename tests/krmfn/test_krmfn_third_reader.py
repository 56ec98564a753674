"""ruamel.yaml, an independent parser, reads krmfn's values and all comments from spliced texts.

docs/decisions/0006-edits-splice-ruamel-reads-along.md has the reasons why ruamel.yaml reads and does not write.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from krmfn import KubeObject, Value
from krmfn.edit import is_same_json
from krmfn.fieldpath import FieldPath
from krmfn.yamltext import YamlError, read, remove_value, set_value, split_documents
from krmfn.yamltext.places import comments
from tests.places import ROOT, TESTDATA

OUTPUTS = sorted((TESTDATA / "render").glob("*/_expected.yaml"))
EXAMPLES = sorted(
    path for folder in ("examples", "kustomize-plugin", "kpt-package") for path in (ROOT / folder).rglob("*.yaml")
)


@cache
def third_reader() -> YAML:
    reader = YAML(typ="safe", pure=True)
    # In YAML 1.2's core schema, a time is a text.
    texts: Any = reader.constructor
    texts.add_constructor("tag:yaml.org,2002:timestamp", texts.__class__.construct_yaml_str)
    return reader


def as_ruamel_reads(text: str) -> Value:
    return cast("Value", third_reader().load(text))  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda path: path.parent.name)
def test_rendered_lists(output: Path) -> None:
    text = output.read_text(encoding="utf-8")

    assert is_same_json(as_ruamel_reads(text), read(text))


@cache
def documents() -> list[str]:
    texts = [document.text for path in EXAMPLES for document in split_documents(path.read_text(encoding="utf-8"))]
    return [text for text in texts if "{%" not in text]


def paths(value: Value, at: FieldPath = ()) -> list[FieldPath]:
    """Return the paths of all parts of `value`."""
    entries: list[tuple[str | int, Value]] = []
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = list(enumerate(value))
    return [path for step, entry in entries for path in ((*at, step), *paths(entry, (*at, step)))]


TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8) | st.sampled_from(
    ["yes", "012", "1_000", "2001-01-01", "1:30", "~", "null", "0x1F", "a: b", "# a", "- a", "a\nb\n", "=", "<<", "1e3"]
)
SCALARS = TEXTS | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=5
)


@given(st.data(), VALUES, st.sampled_from(["replace", "insert", "remove"]))
def test_spliced_texts(data: st.DataObject, value: Value, edit: str) -> None:
    text = data.draw(st.sampled_from(documents()))
    path = data.draw(st.sampled_from(paths(read(text))))
    try:
        if edit == "remove":
            spliced = remove_value(text, path, keep_comments=True)
        else:
            spliced = set_value(text, path if edit == "replace" else (*path[:-1], "new-key"), value)
    except YamlError:
        # The edit is impossible: an anchor prevents it, a list has no keys, or a comment could not stay.
        return

    assert is_same_json(as_ruamel_reads(spliced), read(spliced))
    if edit != "replace":
        assert Counter(comments(text)) <= Counter(comments(spliced))


@given(st.data(), TEXTS)
def test_annotated_objects(data: st.DataObject, value: str) -> None:
    item = KubeObject.parse(data.draw(st.sampled_from(documents())))

    annotated = item.with_annotation("example.dev/note", value)

    seen = cast("Any", as_ruamel_reads(annotated.text))
    assert seen["metadata"]["annotations"]["example.dev/note"] == value
    assert comments(annotated.text) == comments(item.text)
