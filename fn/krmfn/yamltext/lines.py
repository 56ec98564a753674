"""Setting a value by lines: the quick way, where each line as far as the end of its mapping is a usual one."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.record import NamedTuple
from krmfn.yamltext.plainlines import is_usual_line
from krmfn.yamltext.quote import scalar
from krmfn.yamltext.writer import block_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Scalar, Value

__all__ = ["set_by_lines"]

_FEW = 24
_MOST_KNOWN = 2048
_LONGEST_KNOWN = 128

# The column of a line's key, the key, and whether its value is not on the line.
_Line: TypeAlias = tuple[int, str, bool]
_NO_KEY: _Line = (-1, "", False)
_UNUSUAL: _Line = (-2, "", False)
_KNOWN: dict[str, _Line] = {}


class _Place(NamedTuple):
    """Where a path leads: how many of its keys are there, and the line of the last one.

    Where not all are there, the last line of the mapping that lacks the next one. `column` is that of the mapping's
    keys.
    """

    keys: int
    column: int
    line: int


def set_by_lines(text: str, path: FieldPath, value: Value) -> str | None:
    """What `set_value` gives, without a parser; None where it takes one to know, or to say what is wrong.

    What stands behind the mapping and the line after it is not looked at.
    """
    if isinstance(value, (dict, list, tuple)) or (isinstance(value, str) and "\n" in value):
        return None
    lined, keys = (_without_dash(text), path[1:]) if path[:1] == (0,) else (text, path)
    names = [key for key in keys if type(key) is str]
    if not names or len(names) < len(keys):
        return None
    lines = lined.split("\n", _FEW)
    place = _find(lines, names)
    if place is None and len(lines) > _FEW:
        lines = lined.split("\n")
        place = _find(lines, names)
    if place is None:
        return None
    start = sum(map(len, lines[: place.line])) + place.line
    if place.keys == len(names):
        return _replaced(text, start, lines[place.line], place.column, cast("Scalar", value))
    entry: Value = value
    for name in reversed(names[place.keys :]):
        entry = {name: entry}
    end = start + len(lines[place.line])
    added = "\n".join(block_lines(entry, " " * place.column))
    return f"{text[:end]}\n{added}{text[end:]}"


def _without_dash(text: str) -> str:
    """`text` with a space for the dash of its first entry, whose keys stay in their column."""
    at = 0
    while text.startswith(("#", " ", "\n"), at):
        at = text.find("\n", at) + 1 or len(text) if text[at] == "#" else at + 1
    return f"{text[:at]} {text[at + 1 :]}" if text.startswith("- ", at) else ""


def _find(lines: Sequence[str], names: Sequence[str]) -> _Place | None:
    """Where `names` lead; None where a line is not usual, or no entry of its own, as far as the one after the place."""
    known = _KNOWN.get
    columns: list[int] = []
    top = own = last = -1
    depth = matched = 0
    opened, complete = True, False
    for number, line in enumerate(lines):
        column, key, opens = known(line) or _line(line)
        if column == -1:
            continue
        if column > top:
            # Only a key with nothing on its line can hold what stands deeper.
            if complete or not opened:
                return None
            columns.append(column)
            depth += 1
        elif column < top:
            while columns and columns[-1] > column:
                columns.pop()
            if column not in columns:
                return None
            depth = len(columns)
        if complete or depth <= matched:
            break
        top, last, opened = column, number, opens
        if depth == matched + 1:
            own = column
            if key == names[matched]:
                matched += 1
                complete = matched == len(names)
                if not (complete or opens):
                    return None
                own = column if complete else -1
    return _Place(matched, own, last) if own >= 0 else None


def _line(line: str) -> _Line:
    body = line.lstrip(" ")
    first = body[:1]
    # A dash would start a list, or go on with the words of the line above.
    if first == "-" or not is_usual_line(line):
        return _UNUSUAL
    if first in ("", "#"):
        entry = _NO_KEY
    else:
        quote = first if first in ('"', "'") else ""
        key, _, rest = body[len(quote) :].partition(quote + ":")
        entry = len(line) - len(body), key, not rest or rest.lstrip(" ")[0] == "#"
    if len(_KNOWN) < _MOST_KNOWN and len(line) <= _LONGEST_KNOWN:
        _KNOWN[line] = entry
    return entry


def _replaced(text: str, start: int, line: str, column: int, value: Scalar) -> str | None:
    """`text` with `value` for what `line` holds, which starts at `start`, for its key at `column`."""
    quote = line[column] if line[column] in "\"'" else ""
    colon = line.index(quote + ":", column + 1) + len(quote) + 1
    after = line[colon:]
    old = after.lstrip(" ")
    start += colon
    if not old or old[0] == "#":
        return text if value is None else f"{text[:start]} {scalar(value)}{text[start:]}"
    if old[0] in "[{":
        return None
    if old[0] in "\"'":
        old = old[: old.index(old[0], 1) + 1]
        meaning = old[1:-1]
    else:
        from krmfn.yamltext.scalars import resolve

        old = old.partition(" #")[0].rstrip(" ")
        meaning = resolve(old)
    if type(meaning) is type(value) and meaning == value:
        return text
    if "&" in old:
        # It looks like an anchor that another place may need.
        return None
    start += len(after) - len(after.lstrip(" "))
    return f"{text[:start]}{scalar(value)}{text[start + len(old) :]}"
