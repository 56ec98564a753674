"""Relations between findings: consequences of other findings, findings that are known already, and fingerprints."""

from __future__ import annotations

import json
from collections import Counter

from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.result import Severity
from packwise.findings import Stage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any

    from krmfn.result import Result


def fingerprints(results: Iterable[Result]) -> list[str]:
    """Return a hash of the rule, the resource and the field of each result. Equal hashes are numbered."""
    counted: Counter[str] = Counter()
    hashes: list[str] = []
    for result in results:
        hashed = _hash(result)
        counted[hashed] += 1
        hashes.append(f"{hashed}:{counted[hashed]}")
    return hashes


def _hash(result: Result) -> str:
    # The import is here because few formats need hashes, and it loads OpenSSL.
    from hashlib import sha256

    ref = result.resource_ref
    resource = [ref.api_version, ref.kind, ref.namespace, ref.name] if ref is not None else []
    file = result.file.path if result.file is not None else ""
    path = result.field.path if result.field is not None else ""
    text = json.dumps([result.tags.get("rule", ""), file, *resource, path])
    return sha256(text.encode()).hexdigest()[:32]


VERSION = 1
"""The version of the file's format."""


class Compared(Record):
    """`new` are results that are not known. `known` counts the other results. `gone` counts known findings without a
    result.
    """

    new: tuple[Result, ...]
    known: int
    gone: int


def content_of(results: Sequence[Result]) -> dict[str, Any]:
    """Return the file's content: an entry for each of the sorted `results`, readable in a review."""
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


def fingerprints_in(content: object) -> frozenset[str]:
    """Return the fingerprints in a file's content. Raise ValueError with the reason if the content is invalid."""
    if not isinstance(content, dict) or cast("dict[str, object]", content).get("version") != VERSION:
        raise ValueError(f"was not written by --write-findings with version {VERSION}")
    entries = cast("dict[str, object]", content).get("findings")
    prints = [_fingerprint(entry) for entry in cast("list[object]", entries)] if isinstance(entries, list) else [None]
    if None in prints:
        raise ValueError("has a finding without a fingerprint; write the file again with --write-findings")
    return frozenset(each for each in prints if each is not None)


def compare(results: Sequence[Result], known: Collection[str]) -> Compared:
    """Return the results that are not in `known`, and the number of the other results."""
    prints = fingerprints(results)
    new = tuple(result for result, each in zip(results, prints, strict=True) if each not in known)
    return Compared(new, len(results) - len(new), len(set(known) - set(prints)))


def _fingerprint(entry: object) -> str | None:
    each = cast("dict[str, object]", entry).get("fingerprint") if isinstance(entry, dict) else None
    return each if isinstance(each, str) else None


_ECHOES = {"workload-schema": "topology-domain-unknown"}
"""Rules with results that repeat the result of another rule at the same place. The other rule gives the reason."""

_CAUSING = frozenset(_ECHOES.values())

_STAGES = {stage.value: number for number, stage in enumerate(Stage)}


def causes(results: Iterable[Result]) -> list[Result]:
    """Return the results without errors about a field that an error of a later stage explains better."""
    kept: list[Result] = []
    places: dict[object, int] = {}
    for result in results:
        place = _place(result) if _is_refused_field(result) else None
        earlier = places.get(place) if place is not None else None
        if earlier is None:
            if place is not None:
                places[place] = len(kept)
            kept.append(result)
        elif _stage(result) > _stage(kept[earlier]):
            kept[earlier] = result
        elif _stage(result) == _stage(kept[earlier]):
            # Two texts of the same component are two problems to fix.
            kept.append(result)
    return kept


def without_echoes(results: Iterable[Result]) -> list[Result]:
    """Remove results that repeat a more specific result about the same value. One typo is then one error."""
    results = list(results)
    causing = {(result.tags.get("rule"), _place(result)) for result in results if result.tags.get("rule") in _CAUSING}
    return [result for result in results if (_ECHOES.get(result.tags.get("rule", "")), _place(result)) not in causing]


def _is_refused_field(result: Result) -> bool:
    """Return True if the result is an error about a field, and a component refuses the object."""
    field = result.field
    return result.severity is Severity.ERROR and field is not None and bool(field.path) and "stage" in result.tags


def _place(result: Result) -> object:
    path = None if result.field is None else result.field.path
    return result.file, result.resource_ref, result.tags.get("line"), result.tags.get("column"), path


def _stage(result: Result) -> int:
    return _STAGES.get(result.tags.get("stage", ""), -1)
