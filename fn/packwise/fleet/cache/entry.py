"""An entry of a cache as bytes: a line with a digest of key and value, then the value."""

from __future__ import annotations

import re
from hashlib import sha256

__all__ = ["LARGEST", "NAME", "entry_of", "name_of", "value_of"]

_HEAD = b"packwise-cache-1 "
_LENGTH = len(_HEAD) + 64 + 1

LARGEST = 64 * 1024 * 1024
"""Bytes of the largest entry that is read or written: what a hostile one can fill the memory with."""

NAME = re.compile(r"[0-9a-f]{64}")
"""How entries are named; nothing else in a cache is read or removed."""


def name_of(key: str) -> str:
    """The name of the entry with that key, whatever characters the key has."""
    return sha256(_HEAD + key.encode()).hexdigest()


def entry_of(key: str, value: bytes) -> bytes:
    """The entry with that value."""
    return _HEAD + _digest(key, value) + b"\n" + value


def value_of(key: str, entry: bytes) -> bytes | None:
    """The value of an entry; None where it is not whole, or is the entry of another key."""
    value = entry[_LENGTH:]
    return value if entry[:_LENGTH] == _HEAD + _digest(key, value) + b"\n" else None


def _digest(key: str, value: bytes) -> bytes:
    digest = sha256(key.encode() + b"\0")
    digest.update(value)
    return digest.hexdigest().encode()
