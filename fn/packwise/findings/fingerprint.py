"""What tells one finding from another in the next run, when lines have moved."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.result import Result

__all__ = ["fingerprints"]


def fingerprints(results: Iterable[Result]) -> list[str]:
    """A hash for each result of its rule, resource and field; with a number where another has all of these too."""
    counted: Counter[str] = Counter()
    hashes: list[str] = []
    for result in results:
        hashed = _hash(result)
        counted[hashed] += 1
        hashes.append(f"{hashed}:{counted[hashed]}")
    return hashes


def _hash(result: Result) -> str:
    ref = result.resource_ref
    resource = [ref.api_version, ref.kind, ref.namespace, ref.name] if ref is not None else []
    file = result.file.path if result.file is not None else ""
    path = result.field.path if result.field is not None else ""
    text = json.dumps([result.tags.get("rule", ""), file, *resource, path])
    return sha256(text.encode()).hexdigest()[:32]
