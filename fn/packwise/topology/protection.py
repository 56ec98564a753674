"""Which changes of users' ClusterTopologies running workloads forbid. Source: spec/designs.md#7.5 and #7.6."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Finding, Rule
from packwise.objects.kinds import CLUSTER_TOPOLOGY
from packwise.topology.levellist import read_levels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packwise.objects.index import Inventory
    from packwise.revisions import Revision
    from packwise.topology.uses import Use

__all__ = ["RULES", "check_protection"]

LOCKED = Rule(
    "clustertopology-locked",
    "The levels of a ClusterTopology stay while pods are scheduled by it.",
    "spec/designs.md#7.5",
)
IN_USE = Rule(
    "clustertopology-in-use",
    "A ClusterTopology that a workload names is not deleted.",
    "spec/designs.md#7.6",
)
RULES = (LOCKED, IN_USE)
"""Rules of changes against the baseline."""


def check_protection(inventory: Inventory, revision: Revision, uses: Iterable[Use]) -> list[Finding]:
    """What is wrong with the changes of ClusterTopologies since the baseline; nothing where there is none.

    The operator's own topology is not protected: its changes are what workloads' conditions tell.
    """
    if inventory.baseline is None or revision.topology_name_field is None:
        return []
    by_topology: dict[str, list[Use]] = {}
    for use in uses:
        if use.explicit and use.topology is not None:
            by_topology.setdefault(use.topology, []).append(use)
    now = {item.name: item for item in inventory.items.of_kind(*CLUSTER_TOPOLOGY.key)}
    findings: list[Finding] = []
    for before in inventory.baseline.of_kind(*CLUSTER_TOPOLOGY.key):
        users, after = by_topology.get(before.name, []), now.get(before.name)
        if before.name == revision.default_topology or not users:
            continue
        if after is None:
            message = f"must not be deleted: {_naming(users)} it; let them name another one first"
            findings.append(Finding.of(IN_USE, before, ("metadata", "name"), message))
        elif read_levels(after).levels != read_levels(before).levels:
            running = [use for use in users if use.scheduled]
            if running:
                message = (
                    f"must stay as they are while pods are scheduled by them: {_naming(running)} it; scale to 0 first"
                )
                findings.append(Finding.of(LOCKED, after, ("spec", "levels"), message))
    return findings


def _naming(uses: list[Use]) -> str:
    """`team-a/web, team-a/web-2 name`: the workloads that name a topology, and the verb."""
    names = sorted(use.workload.id.short for use in uses)
    return f"{', '.join(names)} name{'s' if len(names) == 1 else ''}"
