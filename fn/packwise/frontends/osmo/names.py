"""Names that Kubernetes and KAI take, made of names that OSMO takes. Source: spec/osmo.md#decisions, #d5, #d6, #d8."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

__all__ = ["MAX_NAME", "label_text", "safe_name", "unique_names"]

MAX_NAME = 63
"""Every name here is the value of a label somewhere, too."""

_HASH = 8
_UNNAMED = "unnamed"

_NO_NAME = re.compile(r"[^a-z0-9-]+")
_NO_VALUE = re.compile(r"[^A-Za-z0-9_.-]+")

K = TypeVar("K", bound="Hashable")


def safe_name(wanted: str) -> str:
    """`wanted` as a DNS label, but for its length: in lower case, with a dash for what no label takes."""
    return _NO_NAME.sub("-", wanted.lower()).strip("-") or _UNNAMED


def label_text(wanted: str) -> str:
    """`wanted` as the value of a label: itself where it is one, else without what none takes, cut to 63 characters."""
    return _NO_VALUE.sub("-", wanted)[:MAX_NAME].strip("-_.")


def unique_names(wanted: Iterable[tuple[K, str, str]]) -> dict[K, str]:
    """A DNS label for each key: of `wanted`, (key, name, what tells the key from all others).

    A name that is too long, and one that two keys would have, ends in a hash of what tells its key apart; the one key
    whose own name it is keeps it. Their order does not count.
    """
    entries = [(key, name, safe_name(name), identity) for key, name, identity in wanted]
    sharing: dict[str, list[bool]] = {}
    for _, name, safe, _ in entries:
        sharing.setdefault(safe, []).append(name == safe)
    names: dict[K, str] = {}
    for key, name, safe, identity in entries:
        owners = sharing[safe]
        is_owner = len(owners) == 1 or (name == safe and sum(owners) == 1)
        names[key] = safe if is_owner and len(safe) <= MAX_NAME else _hashed(safe, identity)
    return names


def _hashed(safe: str, identity: str) -> str:
    import hashlib

    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{safe[: MAX_NAME - _HASH - 1].rstrip('-')}-{digest}"
