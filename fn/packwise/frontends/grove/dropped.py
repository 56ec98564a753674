"""What an existing workload loses where the topology has changed. Source: spec/designs.md#1."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings.finding import Finding, Rule
from packwise.frontends.grove.resolution import resolve_topology
from packwise.frontends.grove.rules.constraints import placed_domains
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.frontends.grove.rules import Context
    from packwise.placement import Cluster

__all__ = ["RULES", "dropped_constraints", "lost_domains", "preferred_unknown"]

DROPPED = Rule(
    "constraint-dropped",
    "A constraint of an existing workload whose level is gone.",
    "spec/designs.md#3",
    Severity.WARNING,
)
PREFERRED = Rule(
    "preferred-unknown",
    "While TAS is disabled, what a PodGang preferred is known from an earlier render.",
    "spec/designs.md#1",
    Severity.INFO,
)
RULES = (DROPPED, PREFERRED)
"""Rules of existing workloads."""


def dropped_constraints(workload: KubeObject, pcs: PodCliqueSet, context: Context) -> Iterator[Finding]:
    """A warning for each constraint that the cluster no longer gives a level for."""
    for path, domain, why, remedy in lost_domains(pcs, context):
        yield Finding.of(DROPPED, workload, path, f'"{domain}" is dropped from the render: {why}; {remedy}')


def lost_domains(pcs: PodCliqueSet, context: Context | Cluster) -> Iterator[tuple[FieldPath, str, str, str]]:
    """Each domain of the constraints that the cluster gives no level for: its path, why, what would change that."""
    resolved = resolve_topology(pcs, context.revision)
    topology = context.topologies.get(resolved) if resolved is not None else None
    mutable, kind = context.revision.mutable_constraints, context.revision.topology_kind
    for path, domain in placed_domains(pcs):
        if not context.enabled:
            why = "topology-aware scheduling is disabled"
            other = "remove the constraint" if mutable else "create the workload anew without the constraint"
            yield path, domain, why, f"enable it, or {other}"
        elif resolved is None:
            yield path, domain, "no topologyConstraint has a topologyName", "add it"
        elif topology is None or (domain and topology.level_of(domain) is None):
            why = "does not exist" if topology is None else f"has only the levels {list_known(topology.domains)}"
            other = "change the constraint" if mutable else "create the workload anew with another constraint"
            yield path, domain, f'{kind} "{resolved}" {why}', f"bring it back, or {other}"


def preferred_unknown(workload: KubeObject, gangs: Sequence[str]) -> Finding:
    """A note of PodGangs that may have preferred a level, which no earlier render tells."""
    message = (
        f"no earlier render tells what PodGang{'' if len(gangs) == 1 else 's'} {list_known(gangs)} preferred, so it is "
        "left out; give the earlier render with the input, or as the baseline"
    )
    return Finding.of(PREFERRED, workload, ("metadata", "name"), message)
