"""The items by what they are, so that each step finds its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn.errors import FieldError
from krmfn.source import ObjectId
from packwise.finding import Finding, Rule, Severity, from_field_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value

__all__ = [
    "CLUSTER_SCOPED",
    "READABLE",
    "RENDERED_FROM",
    "RULES",
    "Identity",
    "Index",
    "identity",
    "is_earlier",
    "repeated",
    "told_identity",
]

Identity = tuple[str, str, str, str]
"""API group, kind, namespace and name: what tells one object of a cluster from another, whatever its version."""

CLUSTER_SCOPED = frozenset({"ClusterTopology", "ClusterTopologyBinding", "Topology", "Queue"})
"""Kinds that packwise renders which have no namespace; one that a client stamps on them does not count."""

RENDERED_FROM = "packwise.dev/rendered-from"
"""Annotation of every generated object; one of a rendered kind that carries it is packwise's to change and remove."""

_RENDERED_KINDS = frozenset(
    {
        ("", "Pod"),
        ("grove.io", "ClusterTopology"),
        ("kai.scheduler", "Topology"),
        ("scheduler.grove.io", "PodGang"),
        ("scheduling.run.ai", "PodGroup"),
        ("scheduling.run.ai", "Queue"),
    }
)

READABLE = Rule("readable", "Every item is an object that Kubernetes tools read.", "clients.md")
ONCE = Rule("object-once", "A workload or topology stands in the input once.", "product.md")
LIST = Rule("list-not-read", "Objects stand as documents of their own.", "clients.md", Severity.WARNING)
RULES = (READABLE, ONCE, LIST)
"""Rules of every item."""

_LIST = ("", "List")

_NO_FIELDS: Mapping[str, Value] = {}


class Index(NamedTuple):
    """`others` are the users' own objects, `earlier` the ones that an earlier render made.

    `findings` tells which items could not be read; they are in neither.
    """

    others: Mapping[Identity, KubeObject] = {}
    earlier: Mapping[Identity, KubeObject] = {}
    by_kind: Mapping[tuple[str, str], tuple[KubeObject, ...]] = {}
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, items: Iterable[KubeObject]) -> Index:
        """The index of `items`; of two with one identity the first counts."""
        others: dict[Identity, KubeObject] = {}
        earlier: dict[Identity, KubeObject] = {}
        by_kind: dict[tuple[str, str], list[KubeObject]] = {}
        findings: list[Finding] = []
        for item in items:
            try:
                value = item.value
            except FieldError as error:
                findings.append(from_field_error(error, item, READABLE.name))
                continue
            key = identity(value)
            if is_earlier(value):
                earlier.setdefault(key, item)
            else:
                others.setdefault(key, item)
                by_kind.setdefault(key[:2], []).append(item)
        for item in by_kind.get(_LIST, ()):
            message = "must be split into documents: packwise does not look at the objects within a List"
            findings.append(Finding.of(LIST, item, ("kind",), message))
        grouped = {kind: tuple(found) for kind, found in by_kind.items()}
        return cls(others, earlier, grouped, tuple(findings))

    def of_kind(self, group: str, kind: str) -> tuple[KubeObject, ...]:
        """The users' own objects of this kind, in their order."""
        return self.by_kind.get((group, kind), ())


def identity(value: Mapping[str, Value]) -> Identity:
    """The identity of an object; parts that are absent or no strings are "", a blank namespace is "default"."""
    metadata = value.get("metadata")
    names = metadata if isinstance(metadata, dict) else _NO_FIELDS
    kind, version, name = value.get("kind"), value.get("apiVersion"), names.get("name")
    known = kind if isinstance(kind, str) else ""
    namespace = names.get("namespace")
    group, slash, _ = version.partition("/") if isinstance(version, str) else ("", "", "")
    return (
        group if slash else "",
        known,
        "" if known in CLUSTER_SCOPED else _namespace(namespace),
        name if isinstance(name, str) else "",
    )


def _namespace(found: Value) -> str:
    return found if isinstance(found, str) and found.strip() else "default"


def told_identity(key: Identity) -> str:
    """`PodGang team-a/a-0`: the identity as messages name it."""
    _, kind, namespace, name = key
    return ObjectId("", kind, namespace, name).short


def repeated(items: Iterable[KubeObject]) -> list[Finding]:
    """An error for each of `items` that has the identity of one before it."""
    first: dict[Identity, KubeObject] = {}
    findings: list[Finding] = []
    for item in items:
        before = first.setdefault(identity(item.value), item)
        if before is not item:
            message = (
                f"must stand in the input once; it also stands at {before.location()}; remove or rename one of them"
            )
            findings.append(Finding.of(ONCE, item, ("metadata", "name"), message))
    return findings


def is_earlier(value: Mapping[str, Value]) -> bool:
    """Whether an earlier render made this object."""
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and RENDERED_FROM in annotations and identity(value)[:2] in _RENDERED_KINDS
