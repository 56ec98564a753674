"""Globs of files as .gitignore spells them: which are taken."""

from __future__ import annotations

__all__ = ["wrong_glob"]

_LONGEST = 500


def wrong_glob(glob: str) -> str:
    """What is wrong with `glob`, from `must` on; "" where nothing is."""
    if not glob.strip() or len(glob) > _LONGEST:
        return f'must be a glob of files of at most {_LONGEST} characters, as in "examples/**"'
    # Few configurations have globs.
    from packwise.globs import Globs

    return "" if Globs.read([glob]).patterns else f'must be a glob as in .gitignore; got "{glob}"'
