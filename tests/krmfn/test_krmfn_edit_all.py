"""Many edits of one object: each entry of a list is edited in its own lines, with the result of single edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krmfn.fieldpath import FieldError
from krmfn.kubeobject import KubeObject

if TYPE_CHECKING:
    from krmfn.edit import Edit
    from krmfn.fieldpath import FieldPath

HEAD = "apiVersion: v1\nkind: A\n"
BLOCK = """\
spec:
  # before
  list:
  - name: a # first
    old: 1
  # of b
  - {name: b, old: 2}

  -
    name: c
    old: |
      text
    # under c
  # the last
  - name: d
    old: yes
"""
TEXTS = {
    "block": HEAD + BLOCK,
    "no break at the end": (HEAD + BLOCK).removesuffix("\n"),
    "Windows": (HEAD + BLOCK).replace("\n", "\r\n"),
    "more behind": HEAD + BLOCK + "  more: x\nlast: y\n",
    "flow": HEAD + "spec: {list: [{name: a, old: 1}, {name: b, old: 2}]}\n",
    "flow on lines": HEAD + "spec:\n  list: [\n    {name: a, old: 1},\n    {name: b, old: 2}]\n",
    "alias": HEAD + "spec:\n  list:\n  - {name: &a a, old: 1}\n  - {name: b, old: 2, more: *a}\n  - name: *a\n",
    "not indented": HEAD + "spec:\n  list:\n  - old: 1\n  -   old: 2\n  - - old: 3\n",
    "tag": HEAD + "spec:\n  list:\n  - !!map {old: 1}\n  - !!map\n    old: 2\n",
    "one line": HEAD + "spec:\n  list: [{old: 1}]\n",
}


def edit(item: KubeObject, path: FieldPath) -> KubeObject:
    if item.get((*path, "old")) is None:
        return item.set((*path, "name"), "new")
    return item.rename((*path, "old"), "new").set((*path, "deep", "er"), {"x": [1, "yes"]})


def remove(item: KubeObject, path: FieldPath) -> KubeObject:
    return item.remove((*path, "old"))


@pytest.mark.parametrize("change", [edit, remove])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_text_is_that_of_edits_one_by_one(text: str, change: Edit) -> None:
    item = KubeObject.parse(text)
    entries = item.get("spec.list")
    assert isinstance(entries, list)
    paths: list[FieldPath] = [("spec", "list", index) for index, each in enumerate(entries) if isinstance(each, dict)]
    expected = item
    for path in paths:
        expected = change(expected, path)

    edited = item.edit_all([(path, change) for path in paths])

    assert edited.text == expected.text
    assert edited.value == KubeObject.parse(edited.text).value


def test_an_edit_that_fails_names_its_place_in_the_file() -> None:
    item = KubeObject.parse(HEAD + BLOCK)
    paths: list[FieldPath] = [("spec", "list", index) for index in range(4)]

    with pytest.raises(FieldError) as caught:
        item.edit_all([(path, lambda item, path: item.rename((*path, "old"), "name")) for path in paths])

    assert (caught.value.path, caught.value.location.line if caught.value.location else 0) == (
        ("spec", "list", 0, "old"),
        7,
    )


def test_edits_that_change_nothing_give_the_object_itself() -> None:
    item = KubeObject.parse(HEAD + BLOCK)

    assert item.edit_all([(("spec", "list", index), lambda item, _: item) for index in range(4)]) is item
    assert item.edit_all([]) is item
