"""`packwise place`: the places of gangs on a cluster's nodes or in a scenario. No file is written."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import (
    NODES,
    Command,
    add_build,
    add_cluster,
    add_context,
    add_nodes,
    add_paths,
    live_path,
    sources_of,
)
from packwise.inputs.resources import FOR_PLACE
from packwise.place.options import PLACE_FORMATS, PlaceGangs

if TYPE_CHECKING:
    import argparse


_DESCRIPTION = """\
Shows where the KAI Scheduler places each gang on the nodes of a cluster, or why a gang does not fit. packwise follows
KAI's allocate action (v0.17), gang by gang in queue order. packwise then places jobs that wait in queues, by the rules
of the scheduler that admits them, such as Kueue. Running pods keep their nodes: packwise evicts none of them."""

_EPILOG = """\
examples:
  kubectl get nodes,pods -A -o json > nodes.json
  packwise place clusters/west --nodes nodes.json
  packwise place clusters/west --nodes nodes.json --replicas llm/decode=6 --further
  packwise place clusters/west --nodes nodes.json --baseline git:origin/main   # pods that a change moves
  packwise place clusters/west --nodes nodes.json --drain example.com/rack=r7 -o json
  packwise place scenario.json -o json

exit codes: 0 all gangs fit, 1 a gang does not fit or errors were found, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_nodes(
        parser,
        f"the cluster: {NODES}. A scenario, a JSON file with nodes and jobs, does not need --nodes",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=PLACE_FORMATS,
        default="text",
        help="output format: text, json, markdown (pull request comment) (default: text)",
    )
    add_cluster(parser, FOR_PLACE)
    add_build(parser)
    add_context(parser)
    parser.add_argument(
        "--add-nodes",
        metavar="FILE|NxLABELS",
        action="append",
        default=[],
        help="add nodes: from a file, or, with 4xexample.com/rack=r9, four nodes with this label, copied from "
        "the node that already has most of the labels",
    )
    parser.add_argument(
        "--drain",
        metavar="DOMAIN",
        action="append",
        default=[],
        help="remove a node, or all nodes with LABEL=VALUE, with their pods",
    )
    parser.add_argument(
        "--replicas",
        metavar="GROUP=N",
        action="append",
        default=[],
        help="set the replicas of a workload (llm=2) or of a scaling group, clique or replicated Job in it "
        "(llm/prefill=4); for a Job, its parallelism",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="for gangs that do not fit, search for nodes that KAI does not find. Show the rule of KAI that prevents "
        "the placement, and the smallest change that helps (needs packwise[solver])",
    )
    parser.add_argument("--further", action="store_true", help="show how many more replicas of each workload fit")


def _read(parsed: argparse.Namespace) -> PlaceGangs:
    return PlaceGangs(
        named=sources_of(parsed),
        nodes=(*parsed.nodes, *live_path(parsed)),
        output=parsed.output,
        add_nodes=tuple(parsed.add_nodes),
        drain=tuple(parsed.drain),
        replicas=tuple(parsed.replicas),
        further=parsed.further,
        exact=parsed.exact,
    )


def _run(command: PlaceGangs) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.inputs.kubectl import cluster_files
    from packwise.place.run import place

    with cluster_files(command.nodes, FOR_PLACE) as (nodes, _):
        return deliver(place(command.replace(nodes=nodes), terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
