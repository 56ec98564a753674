"""What a file is by its own content: encrypted, a template, or of another tool."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from packwise.discovery.landmarks import is_values
from packwise.discovery.reason import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.value import Value

__all__ = ["content_reason", "unparsed_reason"]

_DIRECTIVE = re.compile(r"\{\{-?\s*[^{}\s]|\{%")
_TWICE = re.compile(r"must stand once in its mapping$")
_TYPED = re.compile(r"""^["']?(?:apiVersion|kind)["']?[ \t]*:""", re.MULTILINE | re.IGNORECASE)
_COMMENT = re.compile(r"(^|[\s,{\[])(//|/\*)", re.MULTILINE)
_OBJECT = re.compile(r"""^[ \t]*(?:- )?["']?apiVersion["']?[ \t]*:|"apiVersion"[ \t]*:""", re.MULTILINE | re.IGNORECASE)


def content_reason(path: str, values: Iterable[Value], *, has_objects: bool) -> Reason | None:
    """Why the file at `path`, whose documents are `values`, is not judged; None where it is.

    `has_objects`: whether one of the documents is an object that packwise reads. A file without content is of nobody.
    """
    documents = [value for value in values if value is not None]
    if any(_is_encrypted(value) for value in documents):
        return Reason.ENCRYPTED
    if has_objects or not documents:
        return None
    return Reason.VALUES if is_values(path) else Reason.FOREIGN


def unparsed_reason(path: str, text: str, error: str = "") -> Reason | None:
    """Why the file at `path`, which is no YAML because of `error`, is not judged; None where nobody could read it."""
    if _DIRECTIVE.search(text):
        return Reason.TEMPLATE
    # Other tools take the last of two keys.
    if _TWICE.search(error) and not _TYPED.search(text):
        return Reason.VALUES if is_values(path) else Reason.FOREIGN
    # Editors and compilers write JSON with comments.
    if path.endswith(".json") and _COMMENT.search(text) and not _OBJECT.search(text):
        return Reason.FOREIGN
    return None


def _is_encrypted(value: Value) -> bool:
    """Whether sops encrypted the document. Source: sops README, "the sops metadata are stored in the branch sops"."""
    sops = value.get("sops") if isinstance(value, dict) else None
    return isinstance(sops, dict) and ("mac" in sops or "lastmodified" in sops)
