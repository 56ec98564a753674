"""How much a text may hold: each node costs memory beyond its characters, a hundred bytes and more."""

from __future__ import annotations

import re

from krmfn.yamltext import native
from krmfn.yamltext.error import YamlError

__all__ = ["MAX_NODES", "check_nodes", "too_many_nodes"]

MAX_NODES = 5_000_000
"""How many mappings, lists and scalars a text may hold, keys too. That many take about 1 GiB."""

_LEAST = 1
"""Characters that a node takes at least, with the mark before it."""
_SPACE = re.compile(r"[ \t\r\n]+")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


def check_nodes(text: str) -> None:
    """Raises YamlError where `text` holds more than MAX_NODES nodes, or cannot be read as far as that shows.

    Aliases are not counted here: what they repeat, `read` bounds where it meets them.
    """
    if len(text) <= _LEAST * MAX_NODES or _most(text) <= MAX_NODES:
        return
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        # JSON need not be YAML, and can be counted without a reader.
        if _of_json(text) > MAX_NODES:
            raise YamlError(too_many_nodes())
        return
    if not native.is_installed:
        # The core counts as it reads. Nodes in Python would take gigabytes.
        from krmfn.yamltext.events import count_nodes

        count_nodes(text)


def _most(text: str) -> int:
    """A number of nodes that `text` does not exceed: each follows one of these marks, or starts the text."""
    return 1 + sum([text.count(mark) for mark in (",", "[", "{", ":", "\n", "- ", "? ")])


def _of_json(text: str) -> int:
    bare = _SPACE.sub("", _QUOTED.sub('"', text))
    filled = bare.count("{") + bare.count("[") - bare.count("{}") - bare.count("[]")
    return 1 + filled + bare.count(",") + bare.count(":")


def too_many_nodes() -> str:
    """What the error says of a text with more than MAX_NODES nodes."""
    return f"must hold at most {MAX_NODES} mappings, lists and scalars; split it into smaller ones"
