"""The condition of a PodCliqueSet about its topology levels. Source: spec/grove.md#8, spec/designs.md#5."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.grove.resolution import resolve_topology
from packwise.topology.known import Condition
from packwise.topology.levels import DOMAINS

if TYPE_CHECKING:
    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.revisions.revision import ConditionCase, Revision
    from packwise.topology.levels import ClusterTopology

__all__ = ["workload_condition"]


def workload_condition(
    pcs: PodCliqueSet, topology: ClusterTopology | None, *, enabled: bool, revision: Revision
) -> Condition | None:
    """The condition of `pcs` given the topology it resolves to (None: it does not exist); None when it has none.

    Some operators list unavailable domains in random order; here they stand broadest first.
    """
    case, missing = _case(pcs, topology, enabled=enabled, revision=revision)
    if case is None:
        return None
    texts = revision.conditions
    message = case.message.format(topology=resolve_topology(pcs, revision), levels=texts.separator.join(missing))
    return Condition(texts.type, case.status, case.reason, message)


def _case(
    pcs: PodCliqueSet, topology: ClusterTopology | None, *, enabled: bool, revision: Revision
) -> tuple[ConditionCase | None, list[str]]:
    """What the condition says, and the domains that it says it of."""
    texts = revision.conditions
    if not enabled:
        return (texts.disabled if any(constraint.domains for constraint in pcs.constraints()) else None), []
    if not pcs.is_constrained and (texts.constrained_only or texts.unconstrained is not None):
        return texts.unconstrained, []
    if texts.unnamed is not None and resolve_topology(pcs, revision) is None:
        return texts.unnamed, []
    if topology is None:
        return texts.topology_missing, []
    missing = _missing_domains(pcs, topology)
    if not missing:
        return texts.available, []
    return (texts.level_missing if len(missing) == 1 else texts.levels_missing), missing


def _missing_domains(pcs: PodCliqueSet, topology: ClusterTopology) -> list[str]:
    named = [domain for constraint in pcs.constraints() for domain in (constraint.required, constraint.preferred)]
    missing = {domain for domain in named if domain and topology.level_of(domain) is None}
    return [d for d in DOMAINS if d in missing] + sorted(missing.difference(DOMAINS)) if missing else []
