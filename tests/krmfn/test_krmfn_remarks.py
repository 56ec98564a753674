"""Comments for a function: their places, and the lines to which they refer."""

from __future__ import annotations

import pytest

from krmfn.kubeobject import KubeObject
from krmfn.remarks import remarks
from krmfn.resourcelist import ResourceList

CASES: list[tuple[str, str, list[tuple[str, str, int]]]] = [
    ("at the end of a line", "a: 1\nb: 2 # fn: x y\n", [("x y", "f.yaml:2:6", 2)]),
    ("on the line above, over blank lines and comments", "# fn: x\n\n  # c\na: 1\n", [("x", "f.yaml:1:1", 4)]),
    ("above an entry", "a:\n- # fn: x\n  b: 1\n", [("x", "f.yaml:2:3", 3)]),
    ("at a key that starts a block", "a: # fn: x\n  b: 1\n", [("x", "f.yaml:1:4", 1)]),
    ("after a flow mapping", "a: {b: 1} # fn: x\n", [("x", "f.yaml:1:11", 1)]),
    ("behind a quoted text", "a: 'b # fn: y' # fn: x\n", [("x", "f.yaml:1:16", 1)]),
    ("at the end of the text", "a: 1\n# fn: x\n", [("x", "f.yaml:2:1", 2)]),
    ("with CRLF", "a: 1\r\n# fn: x\r\nb: 1\r\n", [("x", "f.yaml:2:1", 3)]),
    ("two of them", "# fn: x\n# fn: y\na: 1\n", [("x", "f.yaml:1:1", 3), ("y", "f.yaml:2:1", 3)]),
    ("in a text, which is no comment", "a: |\n  # fn: x\nb: 1\n", []),
    ("of another function", "a: 1 # other: x\nb: fn\n", []),
    ("after its own word only", "a: 1 # see fn: x\n", []),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_remarks(text: str, expected: list[tuple[str, str, int]]) -> None:
    item = KubeObject.parse(text, file="f.yaml")

    assert [(each.text, str(each.location), each.about) for each in remarks(item, "fn")] == expected


def test_lines_count_from_the_documents_own_in_its_file() -> None:
    (remark,) = remarks(KubeObject.parse("a: 1\nb: 2 # fn: x\n", file="f.yaml", line=11), "fn")

    assert (str(remark.location), remark.about) == ("f.yaml:12:6", 12)


def test_lines_that_a_client_added_do_not_count() -> None:
    text = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
    annotations:
      config.kubernetes.io/index: "0"
      config.kubernetes.io/path: "a.yaml"
  data:
    # fn: x
    a: b
"""
    (item,) = ResourceList.parse(text).items

    (remark,) = remarks(item, "fn")

    assert (remark.location.file, remark.location.line, remark.about) == ("a.yaml", 6, 7)
    assert item.location("data.a").line == 7
