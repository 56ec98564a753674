"""Objects that no rule reads. A check drops them while it reads files, before their values are built.

An object is dropped by its group, its kind and its text. Rules, schedulers, references and the search for near misses
must never need a dropped object. Dropping saves time and memory, and never loses a finding:
`tests/cli/test_cli_unread.py` compares checks with and without it. If a rule reads a new kind, add the kind to `_READ`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import PATH_KEYS
from packwise.objects.index import KAI_WORDS
from packwise.objects.kinds import CONFIGURING, KINDS, POD_DEPENDENCIES, QUEUEING, WORKLOADS, may_be_misspelt
from packwise.objects.workload_kinds import WORKLOAD_KINDS
from packwise.objects.wrapped import WRAPPERS
from packwise.pipeline.selection import DEPLOYING
from packwise.settings.configuration import OPERATOR_GROUP
from packwise.validate.crds import DEFINABLE

if TYPE_CHECKING:
    from typing import Any

    from krmfn.fieldpath import FieldPath
    from krmfn.yamltext.reader import Tree

Unread = Callable[[str, "Tree"], bool]
"""A function that returns True if no rule reads the document with this text and these nodes."""

_Head = tuple[str, str]
"""The group and kind of an object."""

_DEFINITION: _Head = ("apiextensions.k8s.io", "CustomResourceDefinition")

READ_BY_TEXT: frozenset[_Head] = frozenset({("", "ConfigMap"), _DEFINITION})
"""Kinds of objects that rules read only for certain words in the text."""

_READ: frozenset[_Head] = frozenset([
    *[kind.key for kind in (*KINDS, *CONFIGURING, *QUEUEING)],
    *POD_DEPENDENCIES,
    *WORKLOAD_KINDS,
    *WRAPPERS,
    *DEPLOYING,
    ("resource.k8s.io", "ResourceClaimTemplate"),
    ("config.kueue.x-k8s.io", "Configuration"),
])  # fmt: skip
"""Kinds of objects that rules always read, whatever the text is."""

_GROUPS = frozenset(group for group, _ in _READ) - {"", "apps", "batch"}
"""Groups with kinds that rules may read. Kubernetes' own groups are excluded, because rules do not read most of their
kinds.
"""

_WORDS = (
    *KAI_WORDS, *PATH_KEYS, *[kind.name for kind in WORKLOADS], OPERATOR_GROUP,
    # Schedulers and front ends look for these words in all texts: pipeline/registry.py.
    "kueue", "scheduling.k8s.io", "schedulingGroup",
    # Comments for packwise, its annotations, and its settings in ConfigMaps.
    "packwise",
    # ConfigMaps with OSMO's pools or with KAI's default priorities.
    "pools:", "typeName",
)  # fmt: skip
"""Words that make a rule read an object of any kind."""

_ESCAPE = re.compile(r"\\[xuU/\r\n]")
"""An escape that can hide a part of a word."""

_API_VERSION = re.compile(r"(?:([a-z0-9.-]+)/)?v[0-9][a-z0-9]*")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]+")
_CONSTANTS = frozenset({"True", "TRUE", "False", "FALSE", "Null", "NULL", "Yes", "YES", "No", "NO", "On", "ON"})
"""Words that some YAML readers do not read as strings."""


def is_unread(text: str, tree: Tree) -> bool:
    """Return True if no rule reads the object with this `text` and `tree`, or any object of a List.

    Return False in doubt.
    """
    heads = heads_of(tree)
    if not heads or not all(is_unread_kind(*head) for head in heads) or any(word in text for word in _WORDS):
        return False
    if _DEFINITION in heads and any(kind in text and group in text for group, kind in DEFINABLE):
        return False
    return "\\" not in text or _ESCAPE.search(text) is None


@lru_cache(maxsize=1024)
def is_unread_kind(group: str, kind: str) -> bool:
    """Return True if rules read objects of the kind only for words in their text."""
    return (group, kind) not in _READ and group not in _GROUPS and not may_be_misspelt(group, kind)


def heads_of(tree: Tree) -> list[_Head]:
    """Return the head of the object (its group and kind), or the different heads of the entries of a List.

    Return an empty list if a head is unusual.
    """
    head = _head_at(tree, ())
    if head is None:
        return []
    group, kind = head
    if not kind.endswith("List"):
        return [head]
    nodes = tree.find(("items",), False)
    if len(nodes) < 2 or nodes[1][1] != "list":
        return [head]
    default = None if kind == "List" else (group, kind.removesuffix("List"))
    heads: dict[_Head, None] = {}
    for place in range(len(tree.entries(nodes[1][0]))):
        entry = _head_at(tree, ("items", place), default)
        if entry is None or entry[1].endswith("List"):
            return []
        heads[entry] = None
    return list(heads) or [head]


def _head_at(tree: Tree, path: FieldPath, default: _Head | None = None) -> _Head | None:
    """Return the head (group and kind) of the mapping at `path`. Return None if it is unusual.

    An entry of a List with one kind may omit its head, which is then `default`.
    """
    nodes = tree.find((*path, "kind"), False)
    if len(nodes) < len(path) + 2:
        is_bare = default is not None and len(nodes) == len(path) + 1 and nodes[-1][1] == "mapping"
        has_version = is_bare and len(tree.find((*path, "apiVersion"), False)) > len(path) + 1
        return default if is_bare and not has_version else None
    kind = _text_of(nodes[-1])
    nodes = tree.find((*path, "apiVersion"), False)
    version = _API_VERSION.fullmatch(_text_of(nodes[-1])) if len(nodes) == len(path) + 2 else None
    if version is None or kind in _CONSTANTS or _KIND.fullmatch(kind) is None:
        return None
    return version[1] or "", kind


def _text_of(node: tuple[Any, ...]) -> str:
    """Return the text of a scalar, or "" for other nodes."""
    return node[3] if node[1] == "scalar" else ""
