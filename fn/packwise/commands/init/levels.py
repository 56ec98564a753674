"""Topology levels as the labels of nodes propose them.

Source: Kubernetes' well-known labels; topograph's reference of node labels; GREP-244 for the domains.
"""

from __future__ import annotations

from collections import Counter

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.topology.levels import DOMAINS, Level, new_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["GUESSED", "Proposal", "proposed_levels"]

GUESSED = (
    Level("zone", "topology.kubernetes.io/zone"),
    Level("rack", "example.com/rack"),
    Level("host", "kubernetes.io/hostname"),
)
"""What a package begins with where nothing tells the levels; the label of racks is everybody's own."""

_DOMAIN = {
    "kubernetes.io/hostname": "host",
    "fabric.topograph.run/tier-0": "rack",
    "fabric.topograph.run/tier-1": "block",
    "fabric.topograph.run/tier-2": "datacenter",
}
"""The domain of a label whose last part is no domain's name."""

_SUB_DOMAIN = "sub-domain"
"""The last part of the label of domains within an accelerator's domain."""

_PRUNED = ("beta.kubernetes.io/",)
"""Ends of prefixes whose labels are deprecated names of others."""


class Proposal(NamedTuple):
    """Levels, broadest first, and a comment for each; `dropped` are those that form no hierarchy with the others."""

    levels: tuple[Level, ...] = ()
    comments: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def proposed_levels(nodes: Sequence[Mapping[str, str]]) -> Proposal:
    """What the labels of the nodes propose: for each domain the label that most nodes have.

    A level whose domains reach over several of a broader level's is dropped, as schedulers take each to be within one.
    """
    levels: list[Level] = []
    comments: list[str] = []
    dropped: list[str] = []
    for level in _candidates(nodes):
        if levels and not _is_nested(nodes, level.key, levels[-1].key):
            dropped.append(f"{level.domain}={level.key}: its values are not within one {levels[-1].domain} each")
            continue
        values = [labels[level.key] for labels in nodes if level.key in labels]
        levels.append(level)
        comments.append(f"{len(set(values))} on {len(values)} of {len(nodes)} nodes")
    return Proposal(tuple(levels), tuple(comments), tuple(dropped))


def _candidates(nodes: Sequence[Mapping[str, str]]) -> list[Level]:
    counted = Counter([key for labels in nodes for key in labels])
    by_domain: dict[str, str] = {}
    # Of accelerators whose domains hold others (topograph's, under whatever prefix), these are what a gang fits in.
    for key in sorted(counted):
        prefix, _, name = key.rpartition("/")
        if name == _SUB_DOMAIN and f"{prefix}/domain" in counted:
            by_domain.setdefault("block", f"{prefix}/domain")
            by_domain.setdefault("rack", key)
    for key, _ in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])):
        domain = _domain(key)
        if domain is not None:
            by_domain.setdefault(domain, key)
    return [Level(domain, by_domain[domain]) for domain in DOMAINS if domain in by_domain]


def _domain(key: str) -> str | None:
    prefix, _, name = key.rpartition("/")
    if f"{prefix}/".endswith(_PRUNED):
        return None
    known = _DOMAIN.get(new_label(key) or key)
    return known or (name if name in DOMAINS else None)


def _is_nested(nodes: Sequence[Mapping[str, str]], narrow: str, broad: str) -> bool:
    """Whether all nodes of one value of `narrow` have one value of `broad`."""
    outer: dict[str, str] = {}
    return all(
        outer.setdefault(labels[narrow], labels[broad]) == labels[broad]
        for labels in nodes
        if narrow in labels and broad in labels
    )
