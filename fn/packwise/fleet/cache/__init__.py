"""A store of results by their content: what a package becomes is looked up by a digest of all that it is made from.

Entries are bytes, which callers read as JSON; nothing of a cache is ever unpickled. An entry names its key and carries
a digest: what is cut short, mixed up or not an entry counts as absent, and goes.
"""

from __future__ import annotations

from packwise.fleet.cache.entry import LARGEST
from packwise.fleet.cache.folder import DEFAULT_SIZE, default_place
from packwise.fleet.cache.prune import Contents, contents_of, prune
from packwise.fleet.cache.store import Cache, CacheError, open_cache, open_store

__all__ = [
    "DEFAULT_SIZE",
    "LARGEST",
    "Cache",
    "CacheError",
    "Contents",
    "contents_of",
    "default_place",
    "open_cache",
    "open_store",
    "prune",
]
