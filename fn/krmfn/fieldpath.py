"""Field paths: `spec.template.cliques[2].name` as text, `("spec", "template", "cliques", 2, "name")` as a value."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = ["FieldPath", "format_path", "parse_path", "steps_of"]

FieldPath: TypeAlias = tuple[str | int, ...]

_STEP = re.compile(r"(?P<dot>\.?)(?:(?P<key>[^.\[\]]+)|\[(?P<index>\d+)\]|\[(?P<quoted>[^\]]*)\])")


def format_path(path: FieldPath) -> str:
    """`path` as Kubernetes prints it; a key that holds a dot, a slash or a bracket stands in brackets.

    >>> format_path(("metadata", "annotations", "grove.io/x"))
    'metadata.annotations[grove.io/x]'
    """
    out = ""
    for step in path:
        if isinstance(step, int):
            out += f"[{step}]"
        elif _plain_key().fullmatch(step):
            out += f".{step}" if out else step
        else:
            out += f"[{step}]"
    return out


@cache
def _plain_key() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z0-9_$-]+")


@lru_cache(maxsize=1024)
def parse_path(text: str) -> FieldPath:
    """The path that `format_path` prints as `text`. Raises ValueError where `text` is no path.

    Digits in brackets are an index. A key of digits alone, or one that holds `]`, has no text: give it as a tuple.
    """
    path: list[str | int] = []
    at = 0
    while at < len(text):
        step = _STEP.match(text, at)
        # A key starts the path or follows a dot; a bracket follows neither.
        if step is None or bool(step["dot"]) != (step["key"] is not None and at > 0):
            raise ValueError(f'must be a field path such as "spec.items[0].name"; got "{text}"')
        at = step.end()
        if step["index"] is not None:
            path.append(int(step["index"]))
        else:
            path.append(step["key"] if step["key"] is not None else step["quoted"])
    return tuple(path)


def steps_of(path: FieldPath | str) -> FieldPath:
    """`path` as a tuple. Raises ValueError where it is text and no path."""
    return parse_path(path) if isinstance(path, str) else path
