"""`packwise topology import`: a configuration with the levels that the labels of nodes show, on stdout.

Source: spec/packwise.md#3; topograph's reference of node labels, both generations.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command
from packwise.init.proposal_options import ImportTopology

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Prints a TopologyRender with the levels that the labels of nodes show: zones, racks, topograph's labels of both
generations or its graph, any key that ends in such a word. Which of them nest is read from the nodes; those that
contradict are named. Without nodes, the levels of a scheduler's own Topology count. `packwise topologies` lists the
topologies that your files have."""

_EPILOG = """\
examples:
  kubectl get nodes -o json | packwise topology import -
  packwise topology import nodes.json > topology.yaml
  packwise topology import topologies.yaml          # Topologies that a scheduler has already
  packwise topology import topology.conf            # what topograph writes for Slurm

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("import",), help="what to do with the nodes")
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="NODES",
        help="what `kubectl get nodes -o json` prints (or yaml), what topograph writes (instances, topology.conf, "
        'topology.yaml), a Topology, a folder of such files, or "-" for stdin',
    )


def _read(parsed: argparse.Namespace) -> ImportTopology:
    return ImportTopology(tuple(parsed.paths))


def _run(command: ImportTopology) -> int:
    from packwise.cli.deliver import deliver
    from packwise.init.proposal import topology

    return deliver(topology(command))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
