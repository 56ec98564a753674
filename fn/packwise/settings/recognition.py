"""Which objects configure a render, and in which of their texts.

A ConfigMap can hold a TopologyRender or an OperatorConfiguration as a document, as Grove's chart writes the latter.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject
from krmfn.source import Source
from packwise.objects.identity import identity
from packwise.settings.sources import OPERATOR_GROUP, OPERATOR_KIND
from packwise.settings.topologyrender import DIALECTS, GROUP, KAI_PROFILE, KIND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.value import Value

__all__ = ["has_topology", "held_configuration", "is_operator", "is_settings", "kai_names"]


def is_settings(item: KubeObject) -> bool:
    """Whether the object is a TopologyRender."""
    return identity(item.value)[:2] == (GROUP, KIND)


def is_operator(item: KubeObject) -> bool:
    """Whether the object is an OperatorConfiguration, or a ConfigMap that holds one."""
    kind = identity(item.value)[:2]
    if kind == (OPERATOR_GROUP, OPERATOR_KIND):
        return True
    return kind == ("", "ConfigMap") and any(
        f"{OPERATOR_GROUP}/" in text and value.get("kind") == OPERATOR_KIND for _, text, value in _documents(item)
    )


def has_topology(item: KubeObject) -> bool:
    """Whether the object states a topology: it does so where it is an OperatorConfiguration, whatever that holds."""
    spec = item.get(("spec",)) if is_settings(item) else None
    return any(isinstance(spec, dict) and spec.get(key) is not None for key in DIALECTS) or is_operator(item)


def held_configuration(item: KubeObject) -> KubeObject | None:
    """The TopologyRender that a ConfigMap holds as a document, at its place in the file; None where there is none."""
    if identity(item.value)[:2] != ("", "ConfigMap"):
        return None
    for key, text, value in _documents(item):
        if value.get("kind") == KIND and str(value.get("apiVersion")).startswith(f"{GROUP}/"):
            return KubeObject.cut(_source(item, key, text), value)
    return None


def kai_names(items: Iterable[KubeObject]) -> frozenset[str]:
    """The names by which pods ask for KAI: its own, and those of the configurations among the items."""
    names = {KAI_PROFILE}
    for item in items:
        # Few ConfigMaps hold one, and some hold much.
        may_hold = not item.written or "schedulerName" in item.source.text
        settings = item if is_settings(item) else held_configuration(item) if may_hold else None
        name = None if settings is None else settings.get(("spec", "kai", "schedulerName"))
        if isinstance(name, str):
            names.add(name)
    return frozenset(names)


def _documents(item: KubeObject) -> list[tuple[str, str, Mapping[str, Value]]]:
    """The texts in the data of a ConfigMap that are documents with a mapping."""
    from krmfn.yamltext import YamlError, read

    data = item.get(("data",))
    documents: list[tuple[str, str, Mapping[str, Value]]] = []
    for key, text in data.items() if isinstance(data, dict) else ():
        if not isinstance(text, str) or "kind" not in text:
            continue
        try:
            value = read(text)
        except YamlError:
            continue
        if isinstance(value, dict):
            documents.append((key, text, value))
    return documents


def _source(item: KubeObject, key: str, text: str) -> Source:
    """The document at its place: the lines of a literal block as they are, with their indentation."""
    at = item.location(("data", key))
    lines = item.origin.text.split("\n")
    first = at.line - item.origin.line
    if lines[first].rstrip().endswith(("|", "|-", "|+")):
        block = lines[first + 1 : first + 1 + len(text.rstrip("\n").split("\n"))]
        indented = "\n".join(block) + "\n"
        if [line.strip() for line in block] == [line.strip() for line in text.rstrip("\n").split("\n")]:
            return Source(indented, (), at.line + 1, 1, item.file)
    return Source(text, (), at.line, 1, item.file)
