"""A list is cut at its items. Each piece reads the same alone, and all pieces together are the list."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn import KubeObject, ResourceList, ResourceListError, envelope
from krmfn.edit import is_same_json
from krmfn.envelope import Envelope, cut
from krmfn.yamltext import YamlError, read
from krmfn.yamltext.reader import new_tree
from tests.readers import paths_of

if TYPE_CHECKING:
    from krmfn.yamltext.reader import Tree

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
KEYS = (
    "items:\n",
    "items: # c\n",
    "items:\n# c\n  # d\n",
    '"items":\n',
    "items: !!seq\n",
    "items: &a\n",
    "items: []\n",
)
LINES = (
    *(
        "- a: 1",
        "  b: 2",
        "-",
        "  c: d",
        "",
        "   ",
        "# e",
        "  # f",
        "- 'g",
        "- h'",
        "- |",
        "  i: |+",
        "    j",
        "  k: >-",
    ),
    *(
        "- {l: 1}",
        "- &m {n: 1}",
        "- *m",
        "  o: *m",
        "  p: é",
        "- - q",
        "- !!map {r: 1}",
        "- ? s",
        "  : t",
        "  u:",
        "\t",
    ),
    *(
        "v: w",
        "functionConfig: {x: 1}",
        "functionConfig:",
        "results: []",
        "...",
        "---",
        "%TAG ! y",
        "-z",
        "\ufeff",
        "- w\r",
    ),
)


@st.composite
def lists(draw: st.DrawFn) -> str:
    indent = draw(st.sampled_from(["", "", "  "]))
    body = "".join([f"{indent}{line}\n" for line in draw(st.lists(st.sampled_from(LINES), max_size=9))])
    tail = draw(st.sampled_from(["", "", "functionConfig:\n  a: 1\n", "# c\nresults: []\n", "a: *m\n"]))
    text = HEAD + draw(st.sampled_from(KEYS)) + body + tail
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])))


def cut_and_kept(text: str) -> tuple[Envelope, dict[str, Tree]]:
    """Return the cut list, and the cached nodes of its pieces."""
    kept: dict[str, Tree] = {}
    with patch.object(envelope, "keep_tree", kept.__setitem__):
        return cut(text), kept


@given(lists())
def test_each_piece_is_told_as_it_is_alone(text: str) -> None:
    try:
        found, kept = cut_and_kept(text)
    except (YamlError, ResourceListError):
        return
    pieces = [item.source.text for item in found.items if item.has_source]
    if found.items and pieces and found.indent is not None:
        assert found.head + "".join(pieces) + found.tail == text
    for item in found.items if found.simple else ():
        piece = item.source.text
        alone = new_tree(piece)
        assert is_same_json(read(piece), [item.value])
        told = kept.get(piece, alone)
        assert is_same_json(told.value(), [item.value])
        assert (told.scalars(), told.shared_anchors()) == (alone.scalars(), alone.shared_anchors())
        for path in paths_of([item.value]):
            assert told.find(path, False) == alone.find(path, False), path


@pytest.mark.parametrize(
    "text",
    [
        "- a: 'x\n- y'\n- b: 1\n",
        "- a: |+\n    x\n\n\n# of b\n- b: |\n    y\n  \n # of nothing\n",
        "# of a\n-\n  # in a\n  a: 1\n- ? b\n  : 1\n",
        "  - a: é\n  # of b\n  - b:\n\n",
        "- &a {b: 1, c: &d 2}\n- e: &f 1\n  g: *f\n",
    ],
)
@pytest.mark.parametrize("key", ["items:\n", "items: # c\n", '"items":\n'])
def test_lists_of_every_style_are_cut_into_pieces_that_stand_alone(key: str, text: str) -> None:
    found, kept = cut_and_kept(HEAD + key + text + "functionConfig: {a: 1}\n")

    assert found.simple
    assert [*kept] == [item.source.text for item in found.items][: len(kept)]
    assert "".join([item.source.text for item in found.items]) == text
    assert found.items[0].source.line == 4


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("items: []\n", "items:\n- a: 1\n"),
        ("items: [] # c\n", "items: # c\n- a: 1\n"),
        ("items: ~\nfunctionConfig: {}\n", "items:\n- a: 1\nfunctionConfig: {}\n"),
        ("items:\n# c\n\n# d\nresults: []\n", "items:\n# c\n\n- a: 1\n# d\nresults: []\n"),
        ("items: []\r\n", "items:\r\n- a: 1\r\n"),
        ("functionConfig: {x: [&x 1, *x]}\nitems: []\n", "functionConfig: {x: [&x 1, *x]}\nitems:\n- a: 1\n"),
        ("", "items:\n- a: 1\n"),
    ],
)
def test_an_empty_list_takes_items_in_block_style(text: str, added: str) -> None:
    item = KubeObject.new({"a": 1})
    head = HEAD.replace("\n", "\r\n") if "\r" in text else HEAD
    assert ResourceList.parse(head + text).with_items([item]).to_text() == head + added
