"""Documents of other tools, which are no Kubernetes objects: OSMO's pool configs and workflow specs.

As files they stand for themselves; among the items of a ResourceList each travels as a ConfigMap with a label that says
so. Source: osmo.md (top).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.objects.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.objects.inventory import Inventory

__all__ = ["LABEL", "document_places", "document_places_before", "is_document", "may_be_document"]

LABEL = "packwise.dev/osmo"
"""Label of a ConfigMap that carries a document: `pool` or `workflow`."""


def is_document(value: Value) -> bool:
    """Whether a document is OSMO's, by its content."""
    if not isinstance(value, dict) or all(isinstance(value.get(key), str) for key in ("apiVersion", "kind")):
        return False
    if "workflow" in value or "topology_keys" in value or isinstance(value.get("pools"), dict):
        return True
    return {"backend", "name"} <= value.keys()


def may_be_document(text: str) -> bool:
    """Whether a text that is no YAML is a workflow all the same: OSMO's may be templates."""
    lines = text.splitlines()
    return any(line.startswith("workflow:") for line in lines) and not any(line.startswith("kind:") for line in lines)


def document_places(inventory: Inventory) -> tuple[Place, ...]:
    """The places of OSMO's documents: those of files, and then the data of labelled ConfigMaps."""
    return _places(inventory.documents, inventory.items)


def document_places_before(inventory: Inventory) -> tuple[Place, ...]:
    """The places of OSMO's documents in the baseline."""
    baseline = inventory.baseline
    return () if baseline is None else _places(inventory.documents_before, baseline)


def _places(documents: Iterable[KubeObject], index: Index) -> tuple[Place, ...]:
    places = [Place(document) for document in documents]
    for item in index.of_kind("", "ConfigMap"):
        if item.get(("metadata", "labels", LABEL)) is not None:
            data = item.get(("data",))
            keys = list(data) if isinstance(data, dict) else []
            # Which key is free to choose; where there is not one of them, the front end says so.
            places.append(Place(item, ("data", keys[0]), True) if len(keys) == 1 else Place(item, ("data",)))
    return tuple(places)
