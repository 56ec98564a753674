"""The list of the files that packwise wrote into a folder, so that it later removes its own and no others."""

from __future__ import annotations

import re
from hashlib import sha256

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.source import Location

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["NAME", "digest", "listed", "listing"]

NAME = ".packwise.sha256"
"""File of the list, in the folder itself; hidden, so that no tool takes it for a manifest."""

_NO_TEXT = "surrogateescape"
"""How bytes of a file name that are not UTF-8 stand in a text, as in `os.fsdecode`."""

_LINE = re.compile(r"\\?([0-9a-f]{64})  ([^\n]+)")
_ESCAPE = re.compile(r"\\([n\\])")


def digest(content: bytes) -> str:
    """What the list keeps of a file."""
    return sha256(content).hexdigest()


def listing(contents: Mapping[str, bytes]) -> bytes:
    """The list of files by slash-separated path, as `sha256sum --check` reads it."""
    return "".join([_line(path, contents[path]) for path in sorted(contents)]).encode("utf-8", _NO_TEXT)


def listed(folder: Path) -> dict[str, str]:
    """The digest of each file in the list of `folder`, by path; nothing where there is none.

    Raises FieldError where the list is not one that packwise wrote.
    """
    file = folder / NAME
    try:
        text = file.read_bytes().decode("utf-8", _NO_TEXT)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError:
        raise _unreadable(file) from None
    digests: dict[str, str] = {}
    # A name may have any other end of a line in it; git may have written this one for Windows.
    for line in text.removesuffix("\n").split("\n") if text else ():
        match = _LINE.fullmatch(line.removesuffix("\r"))
        if match is None:
            raise _unreadable(file)
        path = _ESCAPE.sub(_unescaped, match[2]) if line.startswith("\\") else match[2]
        digests[path] = match[1]
    return digests


def _line(path: str, content: bytes) -> str:
    if "\n" not in path:
        return f"{digest(content)}  {path}\n"
    escaped = path.replace("\\", r"\\").replace("\n", r"\n")
    return f"\\{digest(content)}  {escaped}\n"


def _unescaped(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else "\\"


def _unreadable(file: Path) -> FieldError:
    message = "must be the list of files that packwise wrote; delete it, and what it named by hand, then render again"
    return FieldError(None, (), message, Location(file.as_posix(), 1, 1))
