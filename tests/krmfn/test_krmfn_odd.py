"""Valid but unusual lists: an edit changes only its own value, and every other value stays."""

from __future__ import annotations

import pytest

from krmfn import KubeObject, ResourceList, Result, Value

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:"
NEW: dict[str, Value] = {"kind": "N"}


def values(text: str) -> list[Value]:
    return [item.value for item in ResourceList.parse(text).items]


ITEMS = [
    "\n- ? kind\n  : A\n  ? metadata\n  : annotations:\n      ? x\n      : |\n        y\n",
    "\n- kind: A\n  metadata:\n    note: |\n      one\n      two",
    "\n- kind: A\n  metadata:\n    note: >+\n      one",
    "\n- kind: A\n  metadata:\n    note: |\n      one\u2028\n    name: a\n- kind: B\n",
    "\r- kind: A\r  metadata:\r    name: a\r  spec: {}\r- kind: B\r",
    "\u2028- kind: A\x85  metadata:\u2028    name: a\n  spec: {}\u2029- kind: B\n",
    "\n\r- kind: A\n- kind: B\n",
    "\n- kind: A\n\u2029  metadata:\n    name: a\n",
    "\n- kind: A\n  metadata:\n    a: 1\n\u00a0results: x\n",
    "\n- kind: A\n  spec: [.nan, 1]\n  metadata: {name: a,\n    labels: {}}\n",
    " [{kind: A, metadata: {name: !!str }}, {? kind : B}]\n",
]


@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("tail", ["", "functionConfig:\n  kind: F\n  text: |\n    last", "\u00a0x: 1\n", "z: 1\r"])
def test_edits_new_items_and_results_leave_all_values(items: str, tail: str) -> None:
    text = HEAD + items
    text += tail if text.endswith(("\n", "\r")) or not tail else "\n" + tail
    parsed = ResourceList.parse(text)
    config = parsed.function_config.value if parsed.function_config else None
    edited = [item.with_annotation("a", "b").set("status.text", "x\ny\n") for item in parsed.items]

    after = ResourceList.parse(parsed.with_items([*edited, KubeObject.new(NEW)]).with_results([Result("r")]).to_text())

    assert repr([item.value for item in after.items]) == repr([*(item.value for item in edited), NEW])
    assert [result.message for result in after.results] == ["r"]
    assert (after.function_config.value if after.function_config else None) == config


@pytest.mark.parametrize("items", ITEMS)
def test_results_alone_change_no_byte_of_an_item(items: str) -> None:
    parsed = ResourceList.parse(HEAD + items)

    after = parsed.with_results([Result("r")]).to_text()

    assert repr(values(after)) == repr([item.value for item in parsed.items])
    assert all(item.source.text.rstrip("\n").replace(": |\n", ": |-\n") in after.replace(": |\n", ": |-\n")
               for item in parsed.items[:-1])  # fmt: skip


def test_what_no_splice_says_is_written_anew() -> None:
    item = KubeObject.parse("# c\nkind: A\nmetadata: {}\u2028")

    edited = item.set("metadata", {"text": "a\nb\n"})

    assert edited.value == {"kind": "A", "metadata": {"text": "a\nb\n"}}
    assert KubeObject.parse(edited.text).value == edited.value
