"""The PodCliqueSet's condition TopologyLevelsUnavailable, as data. Source: operator.md 8, revisions.md "Conditions"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packwise.topology import DOMAINS

if TYPE_CHECKING:
    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.revisions import Revision
    from packwise.topology import ClusterTopology

__all__ = ["CONDITION_TYPE", "WorkloadCondition", "workload_condition"]

CONDITION_TYPE = "TopologyLevelsUnavailable"


@dataclass(frozen=True, slots=True)
class WorkloadCondition:
    """One condition without its times: the caller knows what was there before."""

    type: str
    status: str
    reason: str
    message: str


def workload_condition(
    pcs: PodCliqueSet, topology: ClusterTopology | None, *, enabled: bool, revision: Revision
) -> WorkloadCondition | None:
    """The condition of `pcs` given the topology it resolves to (None: it does not exist); None when it has none.

    The operator lists unavailable domains in random order; here they stand broadest first.
    """
    if not enabled:
        disabled = revision.conditions.disabled if pcs.is_constrained else None
        return WorkloadCondition(CONDITION_TYPE, "Unknown", *disabled) if disabled else None
    if revision.conditions.unconstrained is not None and not pcs.is_constrained:
        return _available(revision.conditions.unconstrained)
    if topology is None:
        return WorkloadCondition(
            CONDITION_TYPE, "Unknown", "ClusterTopologyNotFound", "ClusterTopology resource not found"
        )
    missing = _missing_domains(pcs, topology)
    if missing:
        message = f"Unavailable topology domains: [{' '.join(missing)}]"
        return WorkloadCondition(CONDITION_TYPE, "True", "ClusterTopologyLevelsUnavailable", message)
    return _available("All topology levels are available")


def _available(message: str) -> WorkloadCondition:
    return WorkloadCondition(CONDITION_TYPE, "False", "AllClusterTopologyLevelsAvailable", message)


def _missing_domains(pcs: PodCliqueSet, topology: ClusterTopology) -> list[str]:
    known = set(topology.domains)
    missing = {constraint.pack_domain for constraint in pcs.constraints()} - known
    return [d for d in DOMAINS if d in missing] + sorted(missing.difference(DOMAINS))
