"""KAI's Topology: node label keys, broadest first. Source: spec/kai.md, spec/grove.md#9."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.objects.kinds import TOPOLOGY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.value import Value

__all__ = ["NAME", "PROFILE", "read_keys", "topology_value"]

NAME = "KAI"
"""What messages call the scheduler."""

PROFILE = "kai-scheduler"
"""What Grove's scheduler profiles, and pods, call it."""


def topology_value(name: str, keys: Sequence[str], labels: Mapping[str, str] | None = None) -> dict[str, Value]:
    """`kai.scheduler/v1alpha1 Topology`, cluster-scoped, of these node label keys, broadest first."""
    metadata: dict[str, Value] = {"name": name}
    if labels is not None:
        metadata["labels"] = dict(labels)
    levels: list[Value] = [{"nodeLabel": key} for key in keys]
    return {"apiVersion": TOPOLOGY.api_version, "kind": TOPOLOGY.name, "metadata": metadata, "spec": {"levels": levels}}


def read_keys(value: Mapping[str, Value]) -> list[str]:
    """The node label keys of a Topology, broadest first: `spec.levels[].nodeLabel`; what is no text is left out."""
    spec = value.get("spec")
    levels = spec.get("levels") if isinstance(spec, dict) else None
    labels = [level.get("nodeLabel") for level in levels if isinstance(level, dict)] if isinstance(levels, list) else []
    return [label for label in labels if isinstance(label, str)]
