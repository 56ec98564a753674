"""Options of the commands that answer questions: diff, comment, explain, topologies, topology, place."""

from __future__ import annotations

from typing import Any

from packwise.cli import help_texts
from packwise.cli.arguments import (
    DIFF_FORMATS,
    PLACE_FORMATS,
)
from packwise.cli.options.sources import (
    NODES,
    add_config,
    add_context,
    add_crds,
    add_nodes,
    add_paths,
    add_text_or_json,
)

__all__ = ["add_comment", "add_diff", "add_explain", "add_place", "add_topologies", "add_topology"]


def add_diff(commands: Any) -> None:
    """Adds the command `diff`."""
    text = "say what changes for the scheduler from one state to another"
    diff = commands.add_parser("diff", help=text, description=help_texts.DIFF, epilog=help_texts.DIFF_EPILOG)
    about = (
        'a file, a folder, "-" for stdin, or what a path held in a commit: git:COMMIT:PATH; git:COMMIT alone means the '
        "path of the other one, or the current folder"
    )
    diff.add_argument("before", metavar="A", help=f"the state before: {about}")
    diff.add_argument("after", metavar="B", help="the state after, named alike")
    diff.add_argument(
        "-o",
        "--output",
        choices=DIFF_FORMATS,
        default="text",
        help="how to print: text for people, json for scripts, patch for a JSON Patch (RFC 6902) of every object, "
        "markdown as a comment on a pull request (default: text)",
    )
    diff.add_argument("--exit-code", action="store_true", help="exit 1 when anything changes, as git diff does")
    add_config(diff)
    add_crds(diff)


def add_comment(commands: Any) -> None:
    """Adds the command `comment`."""
    text = "say of a change what check, diff and place say, as one comment on its pull request"
    comment = commands.add_parser(
        "comment", help=text, description=help_texts.COMMENT, epilog=help_texts.COMMENT_EPILOG
    )
    add_paths(comment)
    add_nodes(comment, f"say where the gangs go, and what the change moves, on the nodes of a cluster: {NODES}")
    add_context(comment)


def add_explain(commands: Any) -> None:
    """Adds the command `explain`."""
    text = "say why a value is there, or missing"
    explain = commands.add_parser(
        "explain", help=text, description=help_texts.EXPLAIN, epilog=help_texts.EXPLAIN_EPILOG
    )
    explain.add_argument(
        "target",
        nargs="?",
        metavar="OBJECT|FILE:LINE",
        help="a workload or a generated object, as Kind/namespace/name or Kind/name; or a line of a file, which an "
        "earlier render may have written; without it, the trees of all workloads",
    )
    add_paths(explain, "*")
    add_text_or_json(explain)
    add_context(explain)


def add_topologies(commands: Any) -> None:
    """Adds the command `topologies`."""
    text = "list the topologies and who uses them"
    topologies = commands.add_parser(
        "topologies", help=text, description=help_texts.TOPOLOGIES, epilog=help_texts.TOPOLOGIES_EPILOG
    )
    add_paths(topologies, "*", ["."])
    add_text_or_json(topologies)
    add_config(topologies)


def add_topology(commands: Any) -> None:
    """Adds the command `topology`."""
    text = "propose a configuration from the labels of nodes (import)"
    topology = commands.add_parser(
        "topology", help=text, description=help_texts.TOPOLOGY, epilog=help_texts.TOPOLOGY_EPILOG
    )
    topology.add_argument("action", choices=("import",), help="what to do with the nodes")
    topology.add_argument(
        "paths",
        nargs="+",
        metavar="NODES",
        help="what `kubectl get nodes -o json` prints (or yaml), what topograph writes (instances, topology.conf, "
        'topology.yaml), a folder of such files, or "-" for stdin',
    )


def add_place(commands: Any) -> None:
    """Adds the command `place`."""
    text = "say where the KAI Scheduler puts the gangs, or why it does not"
    place = commands.add_parser("place", help=text, description=help_texts.PLACE, epilog=help_texts.PLACE_EPILOG)
    add_paths(place)
    add_nodes(
        place,
        f"the cluster: {NODES}; only a scenario goes without",
    )
    place.add_argument(
        "-o",
        "--output",
        choices=PLACE_FORMATS,
        default="text",
        help="how to print: text for people, json for scripts, markdown as a comment on a pull request (default: text)",
    )
    add_context(place)
    place.add_argument(
        "--add-nodes",
        metavar="FILE|NxLABELS",
        action="append",
        default=[],
        help="as if these nodes were there too: a file of them, or 4xexample.com/rack=r9 for four copies of the node "
        "that shares most of these labels",
    )
    place.add_argument(
        "--drain",
        metavar="DOMAIN",
        action="append",
        default=[],
        help="as if a node, or all nodes with LABEL=VALUE, were gone, and their pods with them",
    )
    place.add_argument(
        "--replicas",
        metavar="GROUP=N",
        action="append",
        default=[],
        help="as if a workload (llm=2), or a scaling group or clique of it (llm/prefill=4), had N replicas",
    )
    place.add_argument(
        "--exact",
        action="store_true",
        help="for gangs that do not fit, let a solver say whether there is a packing that KAI does not find, for which "
        "rule, and the smallest change that helps (needs packwise[solver])",
    )
    place.add_argument(
        "--further", action="store_true", help="say how many more replicas of each workload fit beside all gangs"
    )
