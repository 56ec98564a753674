from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from krmfn import KubeObject, ResourceList, ResourceListError, Result
from krmfn.resourcelist import pieces_of
from krmfn.yamltext import read
from tests.tables import each

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
CONFIG = "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c # mine\n"
RESULTS = "results:\n- message: old\n  severity: info\n"
A = "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data:\n    x: |\n      - no entry\n\n      end\n"
B = "# about b\n# more\n- # on the dash\n  kind: Secret\n  apiVersion: v1\n  metadata:\n    name: 'b'\n    # deeper\n\n"
C = "-\n  kind: C\n  apiVersion: v1\n  text: >-\n    folded\n     text\n  # last, of c\n"
D = '- {"apiVersion": "v1", kind: D,\n   metadata: {name: d}}\n'


def indented(text: str, by: str) -> str:
    return "".join(f"{by}{line}\n" if line else "\n" for line in text.removesuffix("\n").split("\n"))


PLAIN = {
    "items last": HEAD + "items:\n" + A + B + C + D,
    "items first": "items:\n" + A + B + C + HEAD + CONFIG,
    "config before items": CONFIG + HEAD + "items: # all\n\n# about a\n" + A + B,
    "config and results after": HEAD + "items:\n" + A + B + C + "# about the config\n" + CONFIG + RESULTS,
    "results before": HEAD + RESULTS + "items:\n" + A + D + CONFIG,
    "dashes indented": HEAD + "items:\n" + indented(A + B + C + D, "  ") + CONFIG,
    "dashes indented by three": HEAD + "items:\n" + indented(A + B, "   "),
    "comment at column 0 above an indented dash": HEAD
    + "items:\n"
    + indented(A, "  ")
    + "# of b\n"
    + indented(C, "  "),
    "empty": HEAD + "items: []\n" + CONFIG,
    "empty with a comment": HEAD + "items: []  # none\n",
    "empty with space inside": HEAD + "items: [ ]\n",
    "null": HEAD + "items:\n" + CONFIG,
    "null, last": HEAD + "items:",
    "spelled null": HEAD + "items: null\n" + CONFIG,
    "tilde": HEAD + "items: ~ # none\n",
    "document start": "---\n" + HEAD + "items:\n" + A + B,
    "document start and end": "# top\n---\n" + HEAD + "items:\n" + A + B + CONFIG + "...\n",
    "directive": "%YAML 1.1\n---\n" + HEAD + "items:\n" + A,
    "byte order mark": "\ufeff" + HEAD + "items:\n" + A + B,
    "no newline at the end": (HEAD + "items:\n" + A + B + "- kind: x").removesuffix("\n"),
    "comment at the end": HEAD + "items:\n" + A + B + "# the end\n",
    "blank lines at the end": HEAD + "items:\n" + A + B + "\n\n",
    "quoted scalar over the dash's column": HEAD + 'items:\n- kind: A\n  text: "one\n- two\n# three"\n- kind: B\n',
    "flow over the dash's column": HEAD + "items:\n- kind: A\n  list: [1,\n2]\n- kind: B\n" + CONFIG,
    "quoted scalar with keys at column 0": HEAD + 'note: "\nitems:\n- x\nkind: y"\nitems:\n- kind: A\n- kind: B\n',
    "quoted keys": '"apiVersion": config.kubernetes.io/v1\n"kind": ResourceList\n"items":\n' + A + B,
    "alias between items": HEAD + "items:\n- kind: A\n  x: &x {k: v}\n- kind: B\n  x: *x\n- kind: C\n" + CONFIG,
    "merge between items": HEAD + "items:\n- kind: A\n  x: &x\n    k: v\n- kind: B\n  x:\n    <<: *x\n    j: w\n",
    "anchor on an item": HEAD + "items:\n- &a\n  kind: A\n- *a\n- kind: C\n",
    "tagged list": HEAD + "items: !!seq\n- kind: A\n# c\n- kind: B\n",
    "flow list in block": HEAD + "items: [{kind: A}, # a\n  {kind: B},]\n" + CONFIG,
    "flow list over lines": HEAD + "items:\n  [\n    {kind: A},\n    {kind: B}\n  ]\n",
    "flow": "{apiVersion: config.kubernetes.io/v1, kind: ResourceList, items: [{kind: A}, {kind: B}]}\n",
    "indented root": "  kind: ResourceList\n  apiVersion: config.kubernetes.io/v1\n"
    "  items:\n  - kind: A\n  - kind: B\n",
    "explicit key": "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n? items\n: - kind: A\n  - kind: B\n",
    "json": '{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"kind":"A"},{"kind":"B"}]}',
    "json, indented": json.dumps(
        {
            "apiVersion": "config.kubernetes.io/v1beta1",
            "kind": "ResourceList",
            "functionConfig": {"kind": "F"},
            "items": [{"kind": "A", "t": "a\n\tb é \U0001f600"}, {"kind": "B", "n": [1, 2.5, None, True]}],
            "results": [{"message": "m"}],
        },
        indent="\t",
    ),
    "json, empty": '{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[ ]}\n',
    "json, null": '{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":null}\n',
    "v1alpha1": HEAD.replace("/v1", "/v1alpha1") + "items:\n" + A,
}
CRLF = {f"{name}, CRLF": text.replace("\n", "\r\n") for name, text in PLAIN.items() if "json" not in name}
LISTS = PLAIN | CRLF

NEW = KubeObject.new({"apiVersion": "v1", "kind": "New", "metadata": {"name": "new"}, "yes": "no", "l": ["a"]})


@pytest.fixture(params=LISTS.values(), ids=list(LISTS))
def text(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def the(text: str, field: str) -> object:
    value: Any = json.loads(text) if text.startswith(('{"', "{\n")) else read(text)
    assert isinstance(value, dict)
    return cast("dict[str, object]", value).get(field) or None


def test_what_is_not_changed_stays(text: str) -> None:
    read_list = ResourceList.parse(text)
    assert read_list.to_text() == text
    assert ResourceList.parse(text.encode()).to_text() == text
    assert read_list.with_items(list(read_list.items)).with_results(read_list.results).to_text() == text
    assert [item.value for item in read_list.items] == (the(text, "items") or [])
    config = read_list.function_config
    assert (config.value if config else None) == the(text, "functionConfig")


def test_an_unchanged_item_takes_no_more_memory() -> None:
    read_list = ResourceList.parse(PLAIN["config and results after"])
    for answer in (read_list, read_list.with_items(read_list.items[1:])):
        pieces = {id(piece) for piece in pieces_of(answer)}
        assert all(id(item.source.text) in pieces for item in answer.items)


EDITS: dict[str, Callable[[tuple[KubeObject, ...]], list[KubeObject]]] = {
    "none left": lambda _: [],
    "first gone": lambda items: list(items[1:]),
    "last gone": lambda items: list(items[:-1]),
    "reversed": lambda items: list(reversed(items)),
    "one more": lambda items: [*items, NEW],
    "one more in front": lambda items: [NEW, *items],
    "all annotated": lambda items: [item.with_annotation("x/y", "no") for item in items],
    "last annotated, one more": lambda items: [*items[:-1], *(i.with_annotation("a", "b") for i in items[-1:]), NEW],
    "from another list": lambda items: [*items, *ResourceList.parse(LISTS["dashes indented"]).items],
    "from json": lambda items: [*ResourceList.parse(LISTS["json, indented"]).items, *items],
    "from a file": lambda items: [*items, KubeObject.parse("# top\nkind: F # f\ns: |\n  a\n\n  b\n")],
}


@each(lambda: {f"{edit}: {name}": (text, edit) for name, text in LISTS.items() for edit in EDITS})
def test_an_edit_says_what_was_meant(case: tuple[str, str]) -> None:
    text, edit = case
    before = ResourceList.parse(text)
    items = EDITS[edit](before.items)
    after = before.with_items(items).to_text()
    again = ResourceList.parse(after)
    assert [item.value for item in again.items] == [item.value for item in items]
    assert the(after, "functionConfig") == the(text, "functionConfig")
    assert "items" in str(after)
    assert again.results == before.results
    if "CRLF" in text:
        assert after.count("\n") == after.count("\r\n")
    if text.startswith(('{"', "{\n")):
        assert (json.loads(after)["items"] or []) == [item.value for item in items]


def test_results_are_replaced_and_removed(text: str) -> None:
    before = ResourceList.parse(text)
    results = (Result("first: [x]"), Result("second"))
    after = ResourceList.parse(before.with_results(results).to_text())
    assert after.results == results
    assert [item.value for item in after.items] == [item.value for item in before.items]
    bare = after.with_results(())
    assert the(bare.to_text(), "results") is None
    assert [item.value for item in ResourceList.parse(bare.to_text()).items] == [item.value for item in before.items]
    both = before.with_items([*before.items, NEW]).with_results(results).to_text()
    assert ResourceList.parse(both).results == results
    assert len(ResourceList.parse(both).items) == len(before.items) + 1


WHOLE: list[tuple[str, Callable[[ResourceList], ResourceList], str]] = [
    (
        HEAD + "items:\n" + A + B + C + "# about the config\n" + CONFIG,
        lambda rl: rl.with_items([rl.items[0], rl.items[2]]),
        HEAD + "items:\n" + A + C + "# about the config\n" + CONFIG,
    ),
    (
        HEAD + "items:\n" + A + B + "# the end\n",
        lambda rl: rl.with_items(rl.items[:1]),
        HEAD + "items:\n" + A + "# the end\n",
    ),
    (
        HEAD + "items: # all\n" + A + B + CONFIG,
        lambda rl: rl.with_items([]),
        HEAD + "items: [] # all\n" + CONFIG,
    ),
    (
        HEAD + "items: []  # none\n" + CONFIG,
        lambda rl: rl.with_items([NEW]),
        HEAD
        + "items:  # none\n- apiVersion: v1\n  kind: New\n  metadata:\n    name: new\n"
        + '  "yes": "no"\n  l:\n  - a\n'
        + CONFIG,
    ),
    (
        HEAD + "items:\n" + B + "- kind: X",
        lambda rl: rl.with_items([*rl.items, rl.items[0]]),
        HEAD + "items:\n" + B + "- kind: X\n" + B,
    ),
    (
        HEAD + "items:\n" + A + CONFIG + RESULTS + "other: 1\n",
        lambda rl: rl.with_results([Result("new")]),
        HEAD + "items:\n" + A + CONFIG + RESULTS.replace("old", "new").replace("info", "error") + "other: 1\n",
    ),
    (
        (HEAD + "items:\n" + A).replace("\n", "\r\n"),
        lambda rl: rl.with_items([*rl.items, KubeObject.new({"kind": "Add", "l": [1]})]).with_results([Result("new")]),
        (
            HEAD + "items:\n" + A + "- kind: Add\n  l:\n  - 1\nresults:\n- message: new\n  severity: error\n"
        ).replace("\n", "\r\n"),
    ),
    (
        HEAD + "items:\n" + indented(A + B, "  "),
        lambda rl: rl.with_items([rl.items[1].with_annotation("a", "1"), KubeObject.new({"kind": "Add", "l": [1]})]),
        HEAD
        + "items:\n"
        + indented(B, "  ").replace("      name: 'b'\n", "      name: 'b'\n      annotations:\n        a: \"1\"\n")
        + "  - kind: Add\n    l:\n    - 1\n",
    ),
    (HEAD + CONFIG, lambda rl: rl, HEAD + CONFIG + "items: []\n"),
    (
        LISTS["json"],
        lambda rl: rl.with_items([rl.items[1], NEW]).with_results([Result("new")]),
        '{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"kind":"B"},'
        '{"apiVersion": "v1", "kind": "New", "metadata": {"name": "new"}, "yes": "no", "l": ["a"]}], '
        '"results": [{"message": "new", "severity": "error"}]}',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("before", "edit", "after"), WHOLE)
def test_whole_output(before: str, edit: Callable[[ResourceList], ResourceList], after: str) -> None:
    assert edit(ResourceList.parse(before)).to_text() == after


def test_where_items_stand() -> None:
    before = ResourceList.parse(HEAD + "items:\n" + A + B + C)
    assert [(item.source.line, item.source.root) for item in before.items] == [(4, (0,)), (12, (0,)), (21, (0,))]
    assert str(before.items[1].location("metadata.name")) == "<stdin>:18:11"


ADVICE = "pass the manifests through kustomize, kpt or `kpt fn source`"
REFUSED: list[tuple[str | bytes, str]] = [
    ("", f"<stdin>:1:1: must be a ResourceList; got nothing: {ADVICE}"),
    (" \n\n", f"<stdin>:1:1: must be a ResourceList; got nothing: {ADVICE}"),
    ("hello", f'<stdin>:1:1: must be a ResourceList; got "hello": {ADVICE}'),
    (
        "apiVersion: v1\nkind: ConfigMap\n---\nkind: X\n",
        f"<stdin>:1:1: is a stream of manifests (first: v1 ConfigMap), not a ResourceList; {ADVICE}",
    ),
    (
        "apiVersion: v1\nkind: ConfigMap\ndata: {a: ResourceList}\n",
        f"<stdin>:1:1: is a stream of manifests (first: v1 ConfigMap), not a ResourceList; {ADVICE}",
    ),
    (
        "kind: ResourceList\napiVersion: config.kubernetes.io/v2\nitems: []\n",
        '<stdin>:2:13: apiVersion must be one of "config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", '
        '"config.kubernetes.io/v1alpha1"; got "config.kubernetes.io/v2"',
    ),
    (HEAD + "items: x\n", '<stdin>:3:8: items must be a list; got "x"'),
    (HEAD + "items: {}\n", "<stdin>:3:8: items must be a list; got a mapping"),
    (HEAD + "items:\n- kind: A\n- x\n", '<stdin>:5:3: items[1] must be a mapping; got "x"'),
    (HEAD + "items:\n- kind: A\n  kind: B\n", '<stdin>:5:3: duplicate key "kind"'),
    (b"kind: ResourceList\na: \xff\n", "<stdin>:2:4: must be UTF-8; got byte 0xff at offset 22"),
    (
        HEAD + "items: []\n---\nkind: X\n",
        "<stdin>:4:1: a second YAML document starts here; only one is allowed",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(ResourceListError) as caught:
        ResourceList.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "items:\n- a: " + "[" * 10_000 + "]" * 10_000 + "\n",
        HEAD + "items:\n" + "".join(" " * n + "- a:\n" for n in range(10_000)),
        '{"kind": "ResourceList", "items": ' + "[" * 100_000,
        HEAD + "items:\n- a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"  {chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(12)
        ),
        "ResourceList\n" + "\x01" * 100_000,
        "ResourceList: [" * 10_000,
    ],
    ids=["deep flow", "deep block", "deep json", "alias bomb", "control characters", "nonsense"],
)  # fmt: skip
def test_hostile(text: str) -> None:
    with pytest.raises(ResourceListError):
        ResourceList.parse(text)


def test_much_nonsense_is_refused_at_once() -> None:
    with pytest.raises(ResourceListError, match="must be a ResourceList"):
        ResourceList.parse(b"\xfe nonsense" * 3_000_000)
