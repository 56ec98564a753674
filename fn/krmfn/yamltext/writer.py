"""Writing a value as text: block style that every Kubernetes YAML reader reads alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from krmfn.yamltext.error import YamlError
from krmfn.yamltext.quote import double_quoted, flow_key, key, literal_lines, scalar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.value import Scalar, Value

__all__ = ["block_lines", "flow", "write"]

_MAX_DEPTH = 500
# Readers look for the colon of a plain `key: value` within 1,024 characters only.
_LONGEST_KEY = 1000


def write(value: Value) -> str:
    """`value` in block style, ending in a newline.

    Lists stand at their key's indentation, as kubectl writes them; no anchors, no folding. Strings that some reader
    takes for another type are in double quotes; strings of several lines are literal blocks where that is safe.
    Raises YamlError: nested deeper than 500 levels, or text that is not Unicode.
    """
    out: list[str] = []
    if isinstance(value, (dict, list, tuple)) and value:
        _collection(value, "", "", out, 0)
    else:
        _entry("", cast("Scalar", value), "", out, 0)
        out[0] = out[0].removeprefix(" ")
    return "\n".join(out) + "\n"


def block_lines(value: Value, indent: str = "", *, literals: bool = True) -> list[str]:
    """The lines of a mapping or list that is not empty, in block style, each at `indent` or deeper.

    Without `literals` each string is on one line: a comment that follows could else become part of the last one.
    """
    out: list[str] = []
    _collection(value, indent, indent, out, 0, literals=literals)
    return out


def _collection(value: Value, first: str, indent: str, out: list[str], depth: int, *, literals: bool = True) -> None:
    """Appends the lines of a mapping or list that is not empty; the first line starts with `first`."""
    if depth >= _MAX_DEPTH:
        raise YamlError(f"nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, dict):
        lead = first
        for name, item in value.items():
            head = key(name) if len(name) < _LONGEST_KEY else scalar(name)
            if len(head) > _LONGEST_KEY:
                head = f"? {head}\n{indent}"
            if type(item) is str and "\n" not in item:
                out.append(f"{lead}{head}: {scalar(item)}")
            else:
                _entry(f"{lead}{head}:", item, indent, out, depth, literals=literals)
            lead = indent
        return
    lead = first
    deeper = indent + "  "
    for item in cast("Sequence[Value]", value):
        if isinstance(item, (dict, list, tuple)) and item:
            _collection(item, lead + "- ", deeper, out, depth + 1, literals=literals)
        else:
            _entry(lead + "-", item, indent, out, depth, literals=literals)
        lead = indent


def _entry(head: str, item: Value, indent: str, out: list[str], depth: int, *, literals: bool = True) -> None:
    """Appends what `head` (a key with its colon, or a dash) holds."""
    if isinstance(item, str):
        lines = literal_lines(item) if literals else None
        if lines is None:
            out.append(f"{head} {scalar(item)}")
            return
        out.append(f"{head} |" if item.endswith("\n") else f"{head} |-")
        out.extend(f"{indent}  {line}" if line else "" for line in lines)
    elif isinstance(item, dict):
        if not item:
            out.append(head + " {}")
            return
        out.append(head)
        deeper = indent + "  "
        _collection(cast("Value", item), deeper, deeper, out, depth + 1, literals=literals)
    elif isinstance(item, (list, tuple)):
        if not item:
            out.append(head + " []")
            return
        out.append(head)
        _collection(cast("Value", item), indent, indent, out, depth + 1, literals=literals)
    else:
        out.append(f"{head} {scalar(cast('Scalar', item))}")


def flow(value: Value, *, quoted_keys: bool = True, depth: int = 0) -> str:
    """`value` in flow style on one line; with `quoted_keys`, as JSON."""
    if depth > _MAX_DEPTH:
        raise YamlError(f"nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, str):
        return double_quoted(value)
    if isinstance(value, dict):
        name = double_quoted if quoted_keys else flow_key
        entries = [
            f"{name(k)}: {flow(v, quoted_keys=quoted_keys, depth=depth + 1)}"
            for k, v in cast("Mapping[str, Value]", value).items()
        ]
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, (list, tuple)):
        items = [flow(v, quoted_keys=quoted_keys, depth=depth + 1) for v in cast("Sequence[Value]", value)]
        return f"[{', '.join(items)}]"
    return scalar(cast("Scalar", value))
