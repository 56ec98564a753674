"""A comparison of the native core and libyaml's events: the answers of both about a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krmfn.yamltext import YamlError
from krmfn.yamltext.pyyaml import EventTree, read_libyaml
from krmfn.yamltext.reader import CORE, new_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from krmfn.yamltext.reader import Tree

__all__ = ["assert_told_alike", "paths_of", "texts_in"]


def answer(function: Callable[..., Any], *arguments: Any) -> str:
    """Return the answer of a function, or the error that it raises."""
    try:
        return repr(function(*arguments))
    except YamlError as error:
        return f"{type(error).__name__}: {error}"


def read_natively(text: str) -> Value:
    return tree_natively(text).value()


def tree_natively(text: str) -> Tree:
    assert CORE is not None
    return new_tree(text)


def paths_of(value: Value, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield the paths of all nodes, and of some nodes that do not exist."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths_of(item, (*path, key))
        yield (*path, "no such key")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths_of(item, (*path, index))
        yield (*path, len(value))
    yield (*path, 0, "x")


WORDS = ("a", "b", "kind", "metadata")


def assert_words_told(core: Tree) -> None:
    """Assert that the core finds words only in readable documents, and only if they are keys or scalars."""
    words = core.words(WORDS)
    if words is not None:
        value = core.value()
        assert isinstance(value, (dict, list))
        assert words == [word for word in WORDS if word in set(texts_in(value))]


def texts_in(value: Value) -> Iterator[Value]:
    """Yield the keys and scalars of a value."""
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    else:
        yield value


def assert_told_alike(text: str) -> None:
    """Assert that both readers give the same answers about `text`."""
    assert answer(read_natively, text) == answer(read_libyaml, text)
    core, events = tree_natively(text), EventTree(text)
    assert answer(core.scalars) == answer(events.scalars)
    assert answer(core.shared_anchors) == answer(events.shared_anchors)
    assert_words_told(core)
    try:
        paths = list(paths_of(read_natively(text)))
    except YamlError:
        paths = [(), ("a",), ("a", "b"), (0,), (0, "a"), ("metadata", "annotations", "x")]
    for path in paths[:: 1 + len(paths) // 60]:
        for rest in (False, True):
            assert answer(core.find, path, rest) == answer(events.find, path, rest), path
        rows = answer(core.find, path, False)
        if rows.startswith("[("):
            node = core.find(path, False)[-1][0]
            assert core.entries(node) == events.entries(node), path
