"""The PodCliqueSet's condition TopologyLevelsUnavailable, as data. Source: operator.md 8, revisions.md "Conditions"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.plan import Condition
from packwise.topology import DOMAINS

if TYPE_CHECKING:
    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.revisions import Revision
    from packwise.topology import ClusterTopology

__all__ = ["CONDITION_TYPE", "workload_condition"]

CONDITION_TYPE = "TopologyLevelsUnavailable"


def workload_condition(
    pcs: PodCliqueSet, topology: ClusterTopology | None, *, enabled: bool, revision: Revision
) -> Condition | None:
    """The condition of `pcs` given the topology it resolves to (None: it does not exist); None when it has none.

    The operator lists unavailable domains in random order; here they stand broadest first.
    """
    if not enabled:
        disabled = revision.conditions.disabled if pcs.is_constrained else None
        return Condition(CONDITION_TYPE, "Unknown", *disabled) if disabled else None
    if revision.conditions.unconstrained is not None and not pcs.is_constrained:
        return _available(revision.conditions.unconstrained)
    if topology is None:
        return Condition(CONDITION_TYPE, "Unknown", "ClusterTopologyNotFound", "ClusterTopology resource not found")
    missing = _missing_domains(pcs, topology)
    if missing:
        message = f"Unavailable topology domains: [{' '.join(missing)}]"
        return Condition(CONDITION_TYPE, "True", "ClusterTopologyLevelsUnavailable", message)
    return _available("All topology levels are available")


def _available(message: str) -> Condition:
    return Condition(CONDITION_TYPE, "False", "AllClusterTopologyLevelsAvailable", message)


def _missing_domains(pcs: PodCliqueSet, topology: ClusterTopology) -> list[str]:
    known = set(topology.domains)
    missing = {constraint.pack_domain for constraint in pcs.constraints()} - known
    return [d for d in DOMAINS if d in missing] + sorted(missing.difference(DOMAINS))
