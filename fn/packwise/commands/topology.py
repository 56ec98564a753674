"""`packwise topology import`: a configuration with the levels that the labels of nodes show, on stdout.

Source: spec/packwise.md#3; topograph's reference of node labels, both generations.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command
from packwise.init.options import ImportTopology

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Proposes a TopologyRender with levels from node labels. packwise reads the labels of zones and racks, topograph's
labels or its graph, and other keys that end with a word such as "rack". packwise derives the order of the levels from
the nodes, and reports labels that contradict this order. Without nodes, packwise uses the levels of a scheduler's
Topology. To list the topologies of your files, run `packwise topologies`."""

_EPILOG = """\
examples:
  kubectl get nodes -o json | packwise topology import -
  packwise topology import nodes.json > topology.yaml
  packwise topology import topologies.yaml          # existing Topologies of a scheduler
  packwise topology import topology.conf            # topograph's file for Slurm

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("import",), help="the action")
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="NODES",
        help="output of `kubectl get nodes -o json` (or yaml), files of topograph (instances, topology.conf, "
        'topology.yaml), a Topology, a folder of such files, or "-" for stdin',
    )


def _read(parsed: argparse.Namespace) -> ImportTopology:
    return ImportTopology(tuple(parsed.paths))


def _run(command: ImportTopology) -> int:
    from packwise.cli.deliver import deliver
    from packwise.init.proposal import topology

    return deliver(topology(command))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
