"""Paths below the output folder: which of them an object may be written to.

A path comes from a client's annotation or from an object's name, and both come from whoever wrote the object.
"""

from __future__ import annotations

import re
import unicodedata

from krmfn.errors import describe
from krmfn.hints import TYPE_CHECKING
from krmfn.source import PATH_KEYS
from packwise.cli.console import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject

__all__ = ["TargetError", "alike", "is_of_git", "target_field", "target_path"]

MAX_PATH = 1024
_MAX_NAME = 255
"""Bytes that macOS takes in a path, and every system in one name."""

_CONTROLS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that end lines, change directions or print nothing."""

_SHORT = re.compile(r"git~[0-9]+", re.IGNORECASE)
"""How Windows calls `.git` in eight letters."""


class TargetError(ValueError):
    """A path that no object may be written to; the text says why, and what to do."""


def target_path(path: str) -> str:
    """`path`, slash-separated and relative to the output folder, in its shortest form.

    Raises TargetError where it leads out of the folder, is hidden, does not print, or is longer than systems take.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    got = f"got the path {visible(describe(path))}"
    if any(unicodedata.category(letter) in _CONTROLS for letter in path):
        raise TargetError(f"must stand in a file whose name has no control characters; {got}; take them out")
    if path.startswith("/") or ".." in parts or "\\" in path or not parts:
        raise TargetError(f"must stand in a file within the output folder; {got}")
    if any(part.startswith(".") or _SHORT.fullmatch(part) for part in parts):
        raise TargetError(
            f"must stand in no hidden file or folder, which other programs read as their own; {got}; choose names that "
            "start with no dot"
        )
    shortest = "/".join(parts)
    if _size(shortest) > MAX_PATH or any(_size(part) > _MAX_NAME for part in parts):
        raise TargetError(
            f"must stand in a file whose path has at most {MAX_PATH} bytes, and each name in it {_MAX_NAME}; "
            f"got {_size(path)} bytes, {describe(path)}; choose shorter names"
        )
    return shortest


def target_field(item: KubeObject) -> FieldPath:
    """The field that says where `item` is written: the client's annotation, else the name."""
    annotations = item.annotations
    key = next((key for key in PATH_KEYS if annotations.get(key)), None)
    return ("metadata", "name") if key is None else ("metadata", "annotations", key)


def alike(path: str) -> str:
    """What is the same of paths that a system without cases, or with one form of each letter, takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def is_of_git(parts: Iterable[str]) -> bool:
    """Whether a path of these names leads into a repository's own folder, on a system without cases too."""
    return any(part.casefold() == ".git" or _SHORT.fullmatch(part) for part in parts)


def _size(text: str) -> int:
    return len(text.encode())
