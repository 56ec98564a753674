"""The identity of an object, and whether packwise generated it."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import ObjectId
from packwise.objects.kinds import CLUSTER_SCOPED, GENERATED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value


Identity = tuple[str, str, str, str]
"""API group, kind, namespace and name, whatever the version."""


RENDERED_FROM = "packwise.dev/rendered-from"
"""Annotation of every generated object; an object of a generated kind with it is packwise's to change and remove."""


_GENERATED = frozenset(kind.key for kind in GENERATED)


_NO_FIELDS: Mapping[str, Value] = {}


def identity(value: Mapping[str, Value]) -> Identity:
    """The identity of an object; parts that are absent or no strings are "", a blank namespace is "default"."""
    metadata = value.get("metadata")
    names = metadata if isinstance(metadata, dict) else _NO_FIELDS
    group, kind = group_and_kind(value)
    name = names.get("name")
    namespace = "" if kind in CLUSTER_SCOPED else _namespace(names.get("namespace"))
    return group, kind, namespace, name if isinstance(name, str) else ""


def group_and_kind(value: Mapping[str, Value]) -> tuple[str, str]:
    """Return API group and kind of an object in any version. Absent parts and parts that are not strings are ""."""
    kind, version = value.get("kind"), value.get("apiVersion")
    group, slash, _ = version.partition("/") if isinstance(version, str) else ("", "", "")
    return group if slash else "", kind if isinstance(kind, str) else ""


def shown_name(value: Mapping[str, Value]) -> str:
    """The name of an object for messages: its own, else `prefix-*` if the API server makes one of a prefix."""
    name = identity(value)[3]
    metadata = value.get("metadata")
    prefix = metadata.get("generateName") if isinstance(metadata, dict) else None
    return f"{prefix}*" if not name and isinstance(prefix, str) and prefix else name


def format_object(value: Mapping[str, Value]) -> str:
    """`Job team-a/train-*`: an object as messages name it."""
    _, kind, namespace, _ = identity(value)
    return ObjectId("", kind, namespace, shown_name(value)).short


def is_placeholder(text: str) -> bool:
    """Return True if the text contains a placeholder: `${NAME}`, `{{ name }}`, `<your-name>`."""
    return "${" in text or "{{" in text or ("<" in text and _has_words_in_angles(text))


def _has_words_in_angles(text: str) -> bool:
    """True if the text asks its reader to replace something, as in `<your-namespace>`."""
    words = text.partition("<")[2].partition(">")
    return bool(words[1]) and words[0][:1].isalpha() and all(each.isalnum() or each in " _.-" for each in words[0])


def format_identity(key: Identity) -> str:
    """`PodGang team-a/a-0`: the identity as messages name it."""
    _, kind, namespace, name = key
    return ObjectId("", kind, namespace, name).short


def is_generated(value: Mapping[str, Value]) -> bool:
    """True if an earlier render generated this object."""
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and RENDERED_FROM in annotations and group_and_kind(value) in _GENERATED


def _namespace(namespace: Value) -> str:
    return namespace if isinstance(namespace, str) and namespace.strip() else "default"
