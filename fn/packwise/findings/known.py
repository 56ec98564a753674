"""Findings that were there before, in a file: an old repository starts green, and only what is new is reported.

A finding is the same one when rule, file, resource and field are; lines may move. Where several are alike in all of
these, as many are known as the file has.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.record import NamedTuple
from packwise.findings.fingerprint import fingerprints

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from krmfn.result import Result

__all__ = ["VERSION", "Compared", "compare", "known_of", "written"]

VERSION = 1
"""Of the file's format."""


class Compared(NamedTuple):
    """`new` are the results that are not known, `known` counts the others, `gone` what is known and no longer there."""

    new: tuple[Result, ...]
    known: int
    gone: int


def written(results: Sequence[Result]) -> dict[str, Any]:
    """The file's content: an entry for each of the sorted `results`, in words for those who review it."""
    return {
        "version": VERSION,
        "findings": [
            {
                "fingerprint": fingerprint,
                "rule": result.tags.get("rule", ""),
                "file": result.file.path if result.file is not None else "",
                "resource": str(result.resource_ref or ""),
                "path": result.field.path if result.field is not None else "",
            }
            for result, fingerprint in zip(results, fingerprints(results), strict=True)
        ],
    }


def known_of(content: object) -> frozenset[str]:
    """The fingerprints in a file's content. Raises ValueError, which says what the content must be."""
    if not isinstance(content, dict) or cast("dict[str, object]", content).get("version") != VERSION:
        raise ValueError(f"must be what --write-findings wrote, of version {VERSION}")
    entries = cast("dict[str, object]", content).get("findings")
    prints = [_fingerprint(entry) for entry in cast("list[object]", entries)] if isinstance(entries, list) else [None]
    if None in prints:
        raise ValueError("must have a fingerprint for each of its `findings`; write it once more with --write-findings")
    return frozenset([each for each in prints if each is not None])


def compare(results: Sequence[Result], known: Collection[str]) -> Compared:
    """Which of `results` are new to `known`."""
    prints = fingerprints(results)
    new = tuple(result for result, each in zip(results, prints, strict=True) if each not in known)
    return Compared(new, len(results) - len(new), len(set(known) - set(prints)))


def _fingerprint(entry: object) -> str | None:
    each = cast("dict[str, object]", entry).get("fingerprint") if isinstance(entry, dict) else None
    return each if isinstance(each, str) else None
