"""The difference of two texts, as `git apply` takes it."""

from __future__ import annotations

__all__ = ["unified"]


def unified(name: str, before: str, after: str) -> str:
    """What changes in the file `name`; it is a new one where there was no text `before`."""
    # Few runs print one.
    from difflib import unified_diff

    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    lines = unified_diff(old, new, f"a/{name}" if before else "/dev/null", f"b/{name}")
    return "".join([line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines])
