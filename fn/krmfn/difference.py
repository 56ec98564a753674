"""The difference of two texts, as `git apply` reads it."""

from __future__ import annotations

from difflib import unified_diff as _unified

__all__ = ["difference", "unified_diff"]

_MOST_LINES = 5_000
"""The largest number of lines in the longer text for a comparison by line. Above it, difflib takes a second if every
fifth line differs.
"""


def unified_diff(name: str, before: str, after: str) -> str:
    """Return the change of the file `name`, a new file if `before` is empty. Return "" without a change."""
    return difference(before, after, f"a/{name}" if before else "/dev/null", f"b/{name}")


def difference(before: str, after: str, old_name: str, new_name: str) -> str:
    """Return the change of a text under both names, or "" if they are equal.

    Beyond a number of lines, the text is replaced as a whole.
    """
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    if max(len(old), len(new)) > _MOST_LINES:
        hunk = [f"@@ -{_range(old)} +{_range(new)} @@\n", *[f"-{line}" for line in old], *[f"+{line}" for line in new]]
        changes = [f"--- {old_name}\n", f"+++ {new_name}\n", *hunk]
    else:
        # difflib leaves space for dates after names, and writes a tab if there is no date.
        changes = list(_unified(old, new, old_name, new_name))
    return "".join([line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in changes])


def _range(lines: list[str]) -> str:
    """Return the lines of a text in the form of the head of a hunk."""
    return "1" if len(lines) == 1 else f"{1 if lines else 0},{len(lines)}"


def _lines(text: str) -> list[str]:
    """Return the lines with their ends. For git only a line feed ends a line."""
    lines = text.split("\n")
    return [*[f"{line}\n" for line in lines[:-1]], *([lines[-1]] if lines[-1] else [])]
