"""The value of a text: read by the native core where it is installed, by libyaml's events otherwise."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext.breaks import BREAKS
from krmfn.yamltext.error import error_at
from krmfn.yamltext.tree import new_tree, tree_of

if TYPE_CHECKING:
    from krmfn.value import Value
    from krmfn.yamltext.tree import Tree

__all__ = ["read", "read_tree"]

_BEFORE_MARK = (*BREAKS, "\ufeff")


def read(text: str, *, is_kept: bool = True) -> Value:
    """The value of the one YAML document in `text`; None when it is empty.

    What was read `is_kept` for a while, for those who look for places in the text.

    Scalars, aliases and `<<` mean what they mean to kyaml; keys that are no strings become the strings of Go's JSON
    conversion. Raises YamlError: not YAML, a duplicate key, more than one document, nested deeper than 500 levels, more
    than five million nodes, or aliases that expand to more than a million.
    """
    _refuse_disputed(text)
    return (tree_of if is_kept else new_tree)(text).value()


def read_tree(text: str) -> tuple[Value, Tree]:
    """The value of the one YAML document in `text`, as `read` gives it, and the nodes, which are not kept."""
    _refuse_disputed(text)
    tree = new_tree(text)
    return tree.value(), tree


def _refuse_disputed(text: str) -> None:
    """Raises YamlError for characters that libyaml and kyaml take for different things."""
    if "\r\r\n" in text:
        raise error_at(text, text.index("\r\r\n"), "must not hold two carriage returns before a line feed")
    at = text.find("\ufeff", 1)
    while at > 0:
        # libyaml passes over such a mark, kyaml takes it for a part of what follows.
        if text[at - 1] in _BEFORE_MARK:
            raise error_at(text, at, "must not hold a byte order mark at the start of a line")
        at = text.find("\ufeff", at + 1)
