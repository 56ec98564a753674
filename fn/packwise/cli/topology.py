"""`packwise topology import`: a configuration with the levels that the labels of nodes show, on stdout."""

from __future__ import annotations

import json
import re

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import UsageError
from packwise.cli.cluster_files import read_cluster, read_nodes
from packwise.cli.console import show, visible
from packwise.commands.topologies import propose
from packwise.objects.kinds import CLUSTER_TOPOLOGY_BINDING
from packwise.revisions.records import ALPHA_8

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.cli.arguments import ImportTopology
    from packwise.commands.topologies import Proposal, ProposedLevel

__all__ = ["topology"]

_SHOWN = 20
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


def topology(command: ImportTopology) -> int:
    """Prints the configuration; returns the exit code. Raises UsageError where no label is a level."""
    proposal = propose(read_cluster(command.paths, read_nodes(command.paths)).nodes)
    if not proposal.levels:
        raise UsageError(
            "the nodes must have a label by whose values domains are told apart, as topology.kubernetes.io/zone; got "
            "none: label them, by hand or with topograph"
        )
    return 0 if show("".join([f"{line}\n" for line in _lines(proposal)])) else 1


def _lines(proposal: Proposal) -> Iterator[str]:
    nodes = _count(proposal.nodes, "node")
    yield f"# Levels that the labels of {nodes} show: look at them before workloads are placed by them."
    yield from ("apiVersion: packwise.dev/v1alpha1", "kind: TopologyRender", "metadata:", "  name: topology", "spec:")
    kind = CLUSTER_TOPOLOGY_BINDING.name
    yield f"  # The newest release of Grove whose levels stand here; later ones read them in {kind}s."
    yield f"  revision: {ALPHA_8.name}"
    yield from ("  topologyAwareScheduling:", "    enabled: true", "    levels:")
    for level in proposal.levels:
        yield f"    - {{domain: {level.domain}, key: {_scalar(level.key)}}} # {_counts(level, proposal.nodes)}"
        for note in level.notes:
            yield f"      # {visible(note)}"
    if proposal.contradictions:
        yield ""
        yield f"# Nodes that contradict the nesting ({len(proposal.contradictions)}):"
        for each in proposal.contradictions[:_SHOWN]:
            yield visible(
                f"#   {each.node}: {each.key} {each.value} is in {each.above} {each.here} here, "
                f"in {each.elsewhere} elsewhere"
            )
        if len(proposal.contradictions) > _SHOWN:
            yield f"#   and {len(proposal.contradictions) - _SHOWN} more"
    if proposal.left_out:
        yield ""
        yield "# Labels that look like levels and were left out:"
        for label in proposal.left_out:
            yield f"#   {visible(label.key)}: {visible(label.reason)}"


def _counts(level: ProposedLevel, nodes: int) -> str:
    counts = f"{_count(level.domains, 'domain')}, {_count(level.nodes, 'node')}"
    missing = nodes - level.nodes
    return counts if not missing else f"{counts}; {_count(missing, 'node')} without it, outside of the topology"


def _scalar(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else json.dumps(key)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
