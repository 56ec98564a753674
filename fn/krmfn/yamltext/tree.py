"""The nodes of a text and where they stand: the native core tells, or libyaml's events, with the same answer.

A place is an offset: a number of characters of the text, from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from krmfn.hints import TYPE_CHECKING, Protocol
from krmfn.yamltext import bounds, native
from krmfn.yamltext.error import YamlError, error_at

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["MOST_KEPT", "SHORT", "Node", "Row", "Tree", "find", "keep", "new_tree", "tree_of"]

Row: TypeAlias = "tuple[Any, ...]"
"""The fields of a Node."""


class Tree(Protocol):
    """The nodes of the first document of a text, as far as it can be read."""

    def value(self) -> Value:
        """The value of the one document; None where it is empty. Raises YamlError."""
        ...

    def find(self, path: FieldPath, rest: bool) -> list[Row]:
        """The nodes along `path`, as far as they exist, the root first; none for an empty document.

        With `rest`, what stands behind the last of them must be readable too. Raises YamlError.
        """
        ...

    def entries(self, node: int) -> list[tuple[int, int, int]]:
        """The number, start and end of each entry of the list whose `Node.number` is `node`."""
        ...

    def part(self, text: str, entry: int, start: int, dash: int) -> Tree:
        """The nodes of `text`, the lines of an entry of a list in block style, as if they had been read alone.

        `entry` is its number, `start` where its lines begin in the whole, and `dash` where its dash stands there.
        """
        ...

    def scalars(self) -> list[tuple[int, int, str]]:
        """Start, end and style of each scalar, with its anchor and tag. Raises YamlError."""
        ...

    def shared_anchors(self) -> list[tuple[int, str]]:
        """Where each anchor stands that an alias repeats, and its name. Raises YamlError."""
        ...


@dataclass(frozen=True, slots=True)
class Node:
    """A node on a path, and what is known of the entries before the next one on that path."""

    number: int
    """Its place among all nodes, in the order of the text."""
    kind: str
    """mapping, list, scalar or alias."""
    style: str
    """Of a scalar its mark (`"`, `'`, `|`, `>`; "" for none), of a mapping or list block or flow."""
    value: str
    """The text of a scalar, the name of an alias."""
    anchor: str | None
    tag: str | None
    start: int
    """Where its anchor or tag starts, or it itself."""
    end: int
    """The offset after its last character, without the break behind it; -1 where the text breaks off within it."""
    mark_end: int
    """Of a scalar, the end that the parser tells; of a mapping or list, where its end starts."""
    in_flow: int
    """1 within a flow collection."""
    key_start: int
    key_end: int
    """Where the key stands that holds it; -1 where none does."""
    first: int
    """Start of its first key or item; -1 where it has none."""
    previous_end: int
    """End of the entry before the next one on the path; of the last entry where there is none on it."""
    last_key: str | None
    """The style of that entry's key; None where there is no such entry, and in a list."""
    merges: int
    """1 where a key `<<` stands among these entries."""
    count: int
    """How many these entries are."""
    next_start: int
    """Start of the key or item behind it in its parent; -1 where there is none."""

    @property
    def is_flow(self) -> bool:
        """True for a mapping or list in brackets."""
        return self.style == "flow"


def tree_of(text: str) -> Tree:
    """The nodes of `text`. Raises YamlError where it is no Unicode.

    A text is read for its value, and once more where something in it is looked for, when all others have been judged.
    """
    kept = _short if len(text) <= SHORT else _long
    tree = kept.pop(text, None)
    if tree is None:
        tree = new_tree(text)
    return _keep(kept, text, tree)


def keep(text: str, tree: Tree) -> None:
    """Keeps the nodes of `text`, which somebody has read already."""
    _keep(_short if len(text) <= SHORT else _long, text, tree)


def _keep(kept: dict[str, Tree], text: str, tree: Tree) -> Tree:
    """Keeps the nodes as the last that were asked for; those that nobody asked for the longest go."""
    kept[text] = tree
    if len(kept) > (MOST_KEPT if kept is _short else _MOST_LONG):
        for first in kept:
            del kept[first]
            break
    return tree


def new_tree(text: str) -> Tree:
    """As `tree_of`, of a text in which nothing will be looked for."""
    try:
        if native.Tree is not None:
            tree = native.Tree(text, bounds.MAX_NODES, bounds.too_many_nodes())
            if not _may_be_cut_short(text, tree):
                return tree
        from krmfn.yamltext.eventtree import EventTree

        return EventTree(text)
    except UnicodeEncodeError as error:
        raise error_at(text, error.start, "must be Unicode text; got half of a surrogate pair") from None


def _may_be_cut_short(text: str, tree: Tree) -> bool:
    """True if the core refuses the text, maybe for a key that libyaml reads.

    The colon of a key must stand within 1,024 characters; the core's parser counts bytes, of which one may have four.
    """
    if text.isascii() or not any(len(line) > 1024 // 4 for line in text.splitlines()):
        return False
    try:
        tree.shared_anchors()
    except YamlError:
        return True
    return False


SHORT = 1 << 14
"""Characters of a text whose nodes are kept with those of many others: they take some five times as many bytes."""
# A list is written when all of it has been judged: the items beyond these are read once more then, a fifth of the time
# of 10,000 workloads. Their nodes take 12 KiB each. Libyaml's events give a value without the nodes.
MOST_KEPT = 16384 if native.is_installed else 4
_MOST_LONG = 4
_short: dict[str, Tree] = {}
_long: dict[str, Tree] = {}


def find(text: str, path: FieldPath, *, rest: bool = False) -> list[Node]:
    """The nodes along `path`, as far as they exist (`len(nodes) - 1` steps do); none for an empty document.

    With `rest`, what stands behind the last of them must be readable too. Raises YamlError.
    """
    return [Node(*row) for row in tree_of(text).find(path, rest)]
