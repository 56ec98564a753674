"""The difference of two texts, in the format that `git apply` reads."""

from __future__ import annotations

from difflib import unified_diff as _unified

__all__ = ["difference", "unified_diff"]

_MAX_LINES = 5_000
"""The largest number of lines of a text that is compared line by line. difflib needs a second for this number of lines
if every fifth line differs.
"""


def unified_diff(name: str, before: str, after: str) -> str:
    """Return the difference of the file `name` from `before` to `after`. Return "" if they are equal.

    If `before` is empty, the file is new.
    """
    return difference(before, after, f"a/{name}" if before else "/dev/null", f"b/{name}")


def difference(before: str, after: str, old_name: str, new_name: str) -> str:
    """Return the difference from `before` to `after` under the names of both. Return "" if they are equal.

    If a text has more than `_MAX_LINES` lines, the difference replaces all of it.
    """
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    if max(len(old), len(new)) > _MAX_LINES:
        hunk = [f"@@ -{_range(old)} +{_range(new)} @@\n", *[f"-{line}" for line in old], *[f"+{line}" for line in new]]
        changes = [f"--- {old_name}\n", f"+++ {new_name}\n", *hunk]
    else:
        changes = list(_unified(old, new, old_name, new_name))
    return "".join([line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in changes])


def _range(lines: list[str]) -> str:
    """Return the range of all `lines` as the header of a hunk spells it, such as `1,12`."""
    return "1" if len(lines) == 1 else f"{1 if lines else 0},{len(lines)}"


def _lines(text: str) -> list[str]:
    """Return the lines of `text` with their line feeds. In git only a line feed ends a line."""
    lines = text.split("\n")
    return [*[f"{line}\n" for line in lines[:-1]], *([lines[-1]] if lines[-1] else [])]
