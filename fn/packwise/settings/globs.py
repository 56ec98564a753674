"""Globs of files as .gitignore spells them: which are taken.

Those that git does not know are refused, and those with so many wildcards that a long name takes minutes to compare.
"""

from __future__ import annotations

__all__ = ["wrong_glob"]

_MOST_STARS = 2
_MOST_FOLDERS = 3
_LONGEST = 500


def wrong_glob(glob: str) -> str:
    """What is wrong with `glob`, from `must` on; "" where nothing is."""
    if not glob.strip() or len(glob) > _LONGEST:
        return f'must be a glob of files of at most {_LONGEST} characters, as in "examples/**"'
    steps = glob.split("/")
    if any(step != "**" and step.count("*") > _MOST_STARS for step in steps):
        return f'must have at most {_MOST_STARS} "*" between slashes; got "{glob}"'
    if steps.count("**") > _MOST_FOLDERS:
        return f'must have at most {_MOST_FOLDERS} "**"; got "{glob}"'
    # Few configurations have globs.
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([glob])
    except ValueError:
        return f'must be a glob as in .gitignore; got "{glob}"'
    return ""
