"""The PriorityClasses of the input, and the ConfigMap by which KAI's pod-grouper gives workloads one by their type.

Its flags name the ConfigMap: KAI's Config, or a Deployment of the pod-grouper, has them. Where neither is among the
input, the only ConfigMap of that form is taken. Source: spec/podgrouper.md#3.
"""

from __future__ import annotations

import json

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.workloads.workload import Classes, TypeDefault, mapping
from packwise.objects.index import identity
from packwise.objects.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index

__all__ = ["classes_of"]

_PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass")
_KNOWN_CLASSES = (
    "train", "build-preemptible", "build", "inference", "system-cluster-critical", "system-node-critical",
)  # fmt: skip
"""The PriorityClasses of KAI's chart, and of Kubernetes itself."""

_CONFIG_MAP = ("", "ConfigMap")
_CONFIG, _DEPLOYMENT = ("kai.scheduler", "Config"), ("apps", "Deployment")
_FLAG = "--default-priorities-configmap-"
_TYPES = ("data", "types")
_FIELDS = ("typeName", "group", "priorityName", "preemptibility")


def classes_of(index: Index) -> Classes:
    """The PriorityClasses of the input, and the configured defaults."""
    written = [item.name for item in index.of_kind(*_PRIORITY_CLASS)]
    return Classes(frozenset([*written, *_KNOWN_CLASSES]) if written else None, _defaults(index))


def _defaults(index: Index) -> Mapping[str, TypeDefault]:
    """The defaults by type, as `Kind.group` or `Kind`; none where no ConfigMap, or more than one, may be meant."""
    maps = index.of_kind(*_CONFIG_MAP)
    if not maps:
        return {}
    names = {name for name in _names(index) if all(name)}
    named = [item for item in maps if identity(item.value)[2:] in names]
    candidates = [(item, read) for item in (named if names else maps) if (read := _read(item)) is not None]
    if len(candidates) != 1:
        return {}
    [(item, entries)] = candidates
    defaults: dict[str, TypeDefault] = {}
    for entry in entries:
        kind, group, priority, preemptibility = [_text(entry.get(field)) for field in _FIELDS]
        key = f"{kind}.{group}" if group else kind
        defaults[key] = TypeDefault(priority, preemptibility.lower(), Place(item, _TYPES))
    return defaults


def _read(item: KubeObject) -> list[Mapping[str, Value]] | None:
    """The entries of a ConfigMap of the form; None where it has another."""
    text = item.get(_TYPES)
    if not isinstance(text, str) or "typeName" not in text:
        return None
    try:
        read: Value = json.loads(text)
    except ValueError:
        return None
    entries = [mapping(entry) for entry in _entries(read)]
    is_form = all("typeName" in entry for entry in entries)
    return entries if is_form and isinstance(read, list) else None


def _names(index: Index) -> Iterator[tuple[str, str]]:
    """Namespace and name that flags of the pod-grouper say; "" for one that they do not say."""
    for item in index.of_kind(*_CONFIG):
        args = mapping(item.get(("spec", "podGrouper", "args")))
        parts = [args.get(f"defaultPrioritiesConfigMap{part}") for part in ("Namespace", "Name")]
        if any(parts):
            yield _text(parts[0]), _text(parts[1])
    for item in index.of_kind(*_DEPLOYMENT):
        if not item.written or _FLAG in item.source.text:
            for container in _entries(item.get(("spec", "template", "spec", "containers"))):
                words = [word for field in ("command", "args") for word in _entries(mapping(container).get(field))]
                if any(isinstance(word, str) and word.startswith(_FLAG) for word in words):
                    yield _flag(words, "namespace"), _flag(words, "name")


def _flag(words: list[Value], part: str) -> str:
    """The value of a flag, as its own word or behind "="."""
    for position, word in enumerate(words):
        name, equals, value = word.partition("=") if isinstance(word, str) else ("", "", "")
        if name == f"{_FLAG}{part}":
            return value if equals else _text(words[position + 1] if position + 1 < len(words) else "")
    return ""


def _entries(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ""
