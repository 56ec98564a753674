"""The limits on a text. Each limit has an error that names it."""

from __future__ import annotations

import pytest

from krmfn import ResourceList, ResourceListError
from krmfn.yamltext import YamlError, read

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krmfn.yamltext.reader.MAX_NODES", 12)


@pytest.fixture
def few_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krmfn.envelope.MAX_ITEMS", 2)


NODES = "must have at most 12 mappings, lists and scalars; split it"
ITEMS = "must have at most 2 items; split the package"


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n" * 13, f"12:3: {NODES}"),
        ("[" + "a, " * 13 + "]", f"1:35: {NODES}"),
        ('{"a": [' + "1, " * 12 + "1]}", f"1:35: {NODES}"),
    ],
)
def test_a_text_of_many_nodes_is_refused(text: str, message: str) -> None:
    with pytest.raises(YamlError) as caught:
        read(text)
    assert str(caught.value) == message


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "text", ["- a\n" * 11, 'a: "' + "a, " * 20 + '"', '{"a": "' + "[{" * 20 + '"}', "a: |\n" + "  - x\n" * 20]
)
def test_what_looks_like_many_nodes_in_a_scalar_is_read(text: str) -> None:
    assert read(text)


@pytest.mark.usefixtures("few_items")
@pytest.mark.parametrize(
    ("items", "place"),
    [("\n- {}\n- {}\n- {}\n", "6:1"), (" [{}, {}, {}]\n", "3:17")],
)
def test_a_list_of_many_items_is_refused(items: str, place: str) -> None:
    with pytest.raises(ResourceListError) as caught:
        ResourceList.parse(HEAD + items)
    assert str(caught.value) == f"<stdin>:{place}: {ITEMS}"


@pytest.mark.usefixtures("few_items")
def test_json_of_many_items_is_refused() -> None:
    head = '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": '

    with pytest.raises(ResourceListError) as caught:
        ResourceList.parse(head + "[{}, {}, {}]}")

    assert caught.value.message == ITEMS
