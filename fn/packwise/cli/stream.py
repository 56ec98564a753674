"""Texts put together as one stream of YAML documents."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from packwise.cli.rendered_files import without_bookkeeping

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packwise.cli.rendered_files import Outcome

__all__ = ["joined", "stream_of"]

_START = re.compile(r"---(?=[ \t\r\n]|\Z)")


def stream_of(outcome: Outcome) -> str:
    """Every file and then the new objects; a template, which is no YAML, would break the stream.

    Raises FieldError where an object has no written form.
    """
    files = [
        joined([document.text for document in file.documents]) if file.is_list else file.text
        for file in outcome.files
        if file.is_stream
    ]
    new = [without_bookkeeping(item).text for item in outcome.new]
    return joined([*files, *new])


def joined(texts: Iterable[str]) -> str:
    """The stream of all `texts`, each of them a stream: what no marker divides gets one."""
    pieces: list[str] = []
    for text in texts:
        if not text:
            continue
        if not pieces:
            pieces.append(text)
            continue
        last = pieces[-1]
        if not last.endswith("\n"):
            pieces.append("\r\n" if "\r\n" in last else "\n")
        # A byte order mark may stand at the start of a stream only; a directive only after the end of a document.
        text = text.removeprefix("\ufeff")  # noqa: PLW2901
        if text.startswith("%"):
            pieces.append("...\n")
        elif not _START.match(text):
            pieces.append("---\n")
        pieces.append(text)
    return "".join(pieces)
