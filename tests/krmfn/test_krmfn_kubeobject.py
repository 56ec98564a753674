from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krmfn import FieldError, KubeObject, ObjectId, ResourceList, Source, Value

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = """\
# top
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet # kind
metadata:
  name: inference
  namespace: team-a
  labels: {app: x}
  annotations:
    config.kubernetes.io/path: a.yaml
    internal.config.kubernetes.io/path: b.yaml
    config.kubernetes.io/index: '2'
spec:
  replicas: two
  flag: yes
  on: true
  list: [1, {name: a}]
  nothing:
  # end
"""
ITEM = KubeObject.parse(TEXT, file="in.yaml")


def test_what_it_is() -> None:
    assert ITEM.id == ObjectId("grove.io/v1alpha1", "PodCliqueSet", "team-a", "inference")
    assert str(ITEM.id) == "grove.io/v1alpha1 PodCliqueSet team-a/inference"
    assert (ITEM.api_version, ITEM.kind) == ("grove.io/v1alpha1", "PodCliqueSet")
    assert (ITEM.namespace, ITEM.name) == ("team-a", "inference")
    assert (ITEM.path, ITEM.index, ITEM.file) == ("b.yaml", 2, "b.yaml")
    assert ITEM.labels == {"app": "x"}
    assert list(ITEM.annotations) == [
        "config.kubernetes.io/path",
        "internal.config.kubernetes.io/path",
        "config.kubernetes.io/index",
    ]
    assert ITEM.text == TEXT
    assert repr(ITEM) == "<KubeObject grove.io/v1alpha1 PodCliqueSet team-a/inference>"


def test_what_says_nothing_is_empty() -> None:
    empty = KubeObject.parse("{}")
    assert empty.id == ObjectId("", "", "", "")
    assert (empty.annotations, empty.labels, empty.path, empty.index, empty.file) == ({}, {}, None, None, None)
    assert KubeObject.parse("metadata: {annotations: null}").annotations == {}


def test_get() -> None:
    assert ITEM.get("spec.list[1].name") == "a"
    assert ITEM.get(("spec", "list", 0)) == 1
    assert ITEM.get("spec.nothing", 3) is None
    for absent in ("spec.none", "spec.list[2]", "spec.list.x", "spec[0]", "kind.x"):
        assert ITEM.get(absent, 3) == 3
    assert ITEM.get(()) == ITEM.value


def test_typed() -> None:
    assert ITEM.string("spec.flag") == "yes"
    assert ITEM.boolean("spec.on") is True
    assert ITEM.integer("spec.list[0]") == 1
    assert ITEM.mapping("spec.list[1]") == {"name": "a"}
    assert ITEM.sequence("spec.list") == [1, {"name": "a"}]
    assert ITEM.integer("spec.nothing") is None
    assert ITEM.string("spec.none") is None
    assert ITEM.required_string("kind") == "PodCliqueSet"
    assert ITEM.required_integer("spec.list[0]") == 1
    assert ITEM.required_boolean("spec.on") is True
    assert ITEM.required_mapping("spec.list[1]") == {"name": "a"}
    assert ITEM.required_sequence("spec.list") == [1, {"name": "a"}]


WRONG: list[tuple[Callable[[KubeObject], object], str]] = [
    (lambda o: o.integer("spec.replicas"), 'spec.replicas must be an integer; got "two"'),
    (lambda o: o.integer("spec.on"), "spec.on must be an integer; got true"),
    (lambda o: o.boolean("spec.list[0]"), "spec.list[0] must be true or false; got 1"),
    (lambda o: o.string("spec.list"), "spec.list must be a string; got a list"),
    (lambda o: o.mapping("spec.replicas"), 'spec.replicas must be a mapping; got "two"'),
    (lambda o: o.sequence("spec.list[1]"), "spec.list[1] must be a list; got a mapping"),
    (lambda o: o.required_string("spec.none"), "spec.none must be a string; it is not set"),
    (lambda o: o.required_integer("spec.nothing"), "spec.nothing must be an integer; it is not set"),
    (lambda o: o.set("spec.replicas.x", 1), 'spec.replicas must be a mapping for spec.replicas.x to be set; got "two"'),
    (lambda o: o.set("spec.list[3]", 1), "spec.list[3] must have an index from 0 to 2, the number of entries; got 3"),
    (lambda o: o.remove(()), "the path to remove must name a field"),
]


@pytest.mark.parametrize(("use", "message"), WRONG)
def test_wrong_types(use: Callable[[KubeObject], object], message: str) -> None:
    item = KubeObject.parse(TEXT.replace("/path", "/other"), file="in.yaml", line=5)
    with pytest.raises(FieldError) as caught:
        use(item)
    place, _, said = str(caught.value).partition(": PodCliqueSet team-a/inference: ")
    assert said == message
    assert place.startswith("in.yaml:")


def test_the_error_says_where() -> None:
    item = KubeObject.parse(TEXT.replace("/path", "/other"), file="in.yaml", line=5)
    with pytest.raises(FieldError) as caught:
        item.integer("spec.replicas")
    assert str(caught.value) == (
        'in.yaml:17:13: PodCliqueSet team-a/inference: spec.replicas must be an integer; got "two"'
    )
    assert caught.value.to_result().line_of_text() == (
        'error: in.yaml:17:13: PodCliqueSet team-a/inference spec.replicas: must be an integer; got "two"'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "f:10:1: did not find expected node content (while parsing a flow node)"),
        ("- a", "f:9:1: must be a mapping; got a list"),
        ("", "f:9:1: must be a mapping; got null"),
    ],
)
def test_unreadable(text: str, message: str) -> None:
    with pytest.raises(FieldError) as caught:
        KubeObject.parse(text + ("\n" if text == "a: [" else ""), file="f", line=9)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    ["metadata: {name: 3}", "metadata: {annotations: []}", "metadata: {annotations: {a: 1}}"],
)
def test_wrong_metadata(text: str) -> None:
    item = KubeObject.parse(text)
    with pytest.raises(FieldError):
        _ = (item.id, item.annotations)


EDITS: list[tuple[str, Callable[[KubeObject], KubeObject], str | None]] = [
    (
        "kind: A # a\nmetadata:\n  name: x # n\nspec: 1\n",
        lambda o: o.with_annotation("a/b", "no"),
        'kind: A # a\nmetadata:\n  name: x # n\n  annotations:\n    a/b: "no"\nspec: 1\n',
    ),
    ("metadata: {}\n", lambda o: o.with_label("a", "b"), "metadata:\n  labels:\n    a: b\n"),
    ("metadata:\n  annotations: {}\n", lambda o: o.with_annotation("a", "b"), "metadata:\n  annotations:\n    a: b\n"),
    ("metadata:\n  annotations:\n", lambda o: o.with_annotation("a", "b"), "metadata:\n  annotations:\n    a: b\n"),
    (
        "metadata: {annotations: {x: y}, name: n}\n",
        lambda o: o.with_annotation("a", "b"),
        'metadata: {annotations: {x: y, a: "b"}, name: n}\n',
    ),
    (
        "metadata:\n  annotations:\n    # of a\n    a: b\n  name: n\n",
        lambda o: o.without_annotation("a"),
        "metadata:\n  name: n\n",
    ),
    ("a: 1\r\nb: 2 # b\r\n", lambda o: o.set("a", "x").remove("b"), "a: x\r\n"),
    ("spec:\n  a: [1, 2]\n", lambda o: o.set("spec.a[1]", {"k": "v"}), None),
]


@pytest.mark.parametrize(("before", "edit", "after"), EDITS)
def test_edits(before: str, edit: Callable[[KubeObject], KubeObject], after: str | None) -> None:
    item = KubeObject.parse(before)
    edited = edit(item)
    assert KubeObject.parse(edited.text).value == edited.value
    assert item.text == before
    if after is not None:
        assert edited.text == after


def test_no_change_is_the_same_object() -> None:
    item = KubeObject.parse("metadata: {annotations: {a: b}, labels: {c: d}}\nn: 1\nf: 1.0\nt: true\n")
    assert item.with_annotation("a", "b") is item
    assert item.with_label("c", "d") is item
    assert item.without_annotation("x") is item
    assert item.remove("a.b.c") is item
    assert item.set("n", 1) is item
    assert item.set("n", 1.0) is not item
    assert item.set("n", True) is not item
    assert item.set("f", 1.0) is item


def test_a_new_object() -> None:
    value: dict[str, Value] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"y": "on"}}
    item = KubeObject.new(value, path="gen/x.yaml").with_annotation("a", "b")
    assert item.path == "gen/x.yaml"
    assert item.text == (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  annotations:\n"
        '    config.kubernetes.io/path: gen/x.yaml\n    a: b\ndata:\n  "y": "on"\n'
    )
    assert value["metadata"] == {"name": "x"}
    assert item.source.line == 1


def test_equality() -> None:
    assert KubeObject.parse("a: 1") == KubeObject.parse("a: 1")
    assert hash(KubeObject.parse("a: 1\n")) == hash(KubeObject.new({"a": 1}))
    assert KubeObject.parse("a: 1") != KubeObject.parse("a: 1 ")
    assert KubeObject.parse("a: 1") != "a: 1"
    assert KubeObject.parse("a: 1").source == Source("a: 1")


def test_an_item_as_a_document() -> None:
    items = ResourceList.parse(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
        "  # of a\n  - kind: A\n    # in a\n    s: |\n      x\n\n       y\n"
        "  # of b\n  -   kind: B\n      l:\n      - 1\n"
        "  - {kind: C,\n    d: e}\n"
        '  - kind: D\n    s: "a\n  b"\n'
        "  -\n    kind: E\n"
    ).items
    assert [item.text for item in items] == [
        "# of a\nkind: A\n# in a\ns: |\n  x\n\n   y\n",
        "# of b\nkind: B\nl:\n- 1\n",
        "{kind: C,\nd: e}\n",
        "kind: D\ns: a b\n",
        "kind: E\n",
    ]


KPT = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- # about
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'a.yaml'
      internal.config.kubernetes.io/seqindent: 'compact'
  data: {a: b}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: b
    annotations:
      x: y
      config.kubernetes.io/index: '1'
      config.kubernetes.io/path: 'a.yaml'
  data:
    k: v
"""


@pytest.mark.parametrize(
    ("item", "path", "key", "place"),
    [
        (0, "metadata.name", False, "a.yaml:5:9"),
        (0, "data", False, "a.yaml:6:7"),
        (0, "data", True, "a.yaml:6:1"),
        (0, "data.a", False, "a.yaml:6:11"),
        (0, "apiVersion", False, "a.yaml:2:13"),
        (0, "data.none", False, "a.yaml:6:7"),
        (1, "apiVersion", False, "a.yaml:1:13"),
        (1, "metadata.annotations.x", False, "a.yaml:6:8"),
        (1, "data.k", False, "a.yaml:8:6"),
        (1, "spec.none", False, "a.yaml:1:1"),
    ],
)
def test_locations_in_the_file_that_kpt_read(item: int, path: str, key: bool, place: str) -> None:
    assert str(ResourceList.parse(KPT).items[item].location(path, key=key)) == place


def test_locations_count_in_what_was_read() -> None:
    item = KubeObject.parse("kind: A\nspec:\n  x: 1\n", file="f.yaml").with_annotation("a", "b").set("spec.y", 2)
    assert str(item.location("spec.x")) == "f.yaml:3:6"
    assert str(item.location("spec.y")) == "f.yaml:3:3"
