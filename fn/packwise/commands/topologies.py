"""`packwise topologies`: all topologies and the workloads that use them.

Grove's design has such a table (GREP-244, "Topology usage overview"): topology and workload, or `<none>`. Source:
spec/packwise.md#3.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command, add_cluster, add_config, add_paths, add_text_or_json, paths_of
from packwise.inputs.request import Named
from packwise.inputs.resources import FOR_TOPOLOGIES
from packwise.topologies.options import Topologies

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Lists the topologies and the workloads that use them, by name or by default. packwise also lists unused topologies, and
missing topologies that workloads name."""

_EPILOG = """\
examples:
  packwise topologies clusters/west
  kubectl get clustertopologies,podcliquesets,podcliques -A -o yaml | packwise topologies -
  packwise topologies clusters/west -o json

`packwise topology import` proposes a topology from the labels of nodes.

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, "*", ["."])
    add_cluster(parser, FOR_TOPOLOGIES)
    add_text_or_json(parser)
    add_config(parser)


def _read(parsed: argparse.Namespace) -> Topologies:
    return Topologies(Named(paths_of(parsed), parsed.config, exclude=tuple(parsed.exclude)), parsed.output == "json")


def _run(command: Topologies) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.inputs.kubectl import cluster_files
    from packwise.topologies.run import topologies

    with cluster_files(command.named.paths, FOR_TOPOLOGIES) as (paths, _):
        return deliver(topologies(command.replace(named=command.named.replace(paths=paths)), terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
