"""Names of what a DynamoGraphDeployment becomes. Source: spec/dynamo.md#3.2 and #3.4."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from packwise.frontends.dynamo.graph import Component, Graph

__all__ = ["MOST", "MOST_RANKS", "clique_names", "combined_length", "longest_clique", "set_name"]

MOST = 45
"""Characters that the names of the set, its group and its clique have together at most: pods' names hold them all."""

MOST_RANKS = 256
"""Nodes of a replica whose cliques packwise writes one by one: two for each, where GPU memory is between pods."""

_LEAST = 8
_HASH = 5


def set_name(graph: Graph) -> str:
    """The name of the PodCliqueSet: the graph's, cut and with a hash where it is too long for the pods' names."""
    name = graph.name
    longest = max([_own_length(component, grouped=component.uses_group) for component in graph.components], default=0)
    budget = max(_LEAST, MOST - longest)
    if len(name) <= budget:
        return name
    return f"{name[: budget - _HASH]}-{_fnv1a(name) & 0xFFFF:04x}"


def combined_length(component: Component, pcs: str) -> int:
    """The length that the webhook compares, which does not know forceScalingGroup. Source: spec/dynamo.md#2.6."""
    return len(pcs) + _own_length(component, grouped=component.is_multinode or component.inter_pod)


def longest_clique(component: Component) -> str:
    """The longest name of a component's cliques; the first of those that are equally long."""
    return max(clique_names(component), key=len)


def clique_names(component: Component) -> list[str]:
    """The names of a component's cliques, in their order."""
    lower = component.lower
    if component.inter_pod:
        ranks = range(min(component.nodes, MOST_RANKS))
        engines = [lower if not component.is_multinode else _ranked(lower, rank) for rank in ranks]
        return [name for rank in ranks for name in (f"{lower}-gms-{rank}", engines[rank])]
    return [f"{lower}-ldr", f"{lower}-wkr"] if component.is_multinode else [lower]


def _ranked(lower: str, rank: int) -> str:
    return f"{lower}-ldr" if rank == 0 else f"{lower}-wkr-{rank}"


def _own_length(component: Component, *, grouped: bool) -> int:
    return len(component.lower) + (len(longest_clique(component)) if grouped else 0)


def _fnv1a(name: str) -> int:
    """The 32-bit FNV-1a hash."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
