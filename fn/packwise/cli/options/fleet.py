"""Options of the command `fleet`."""

from __future__ import annotations

import argparse
from typing import Any

from packwise.cli import help_texts
from packwise.cli.arguments import FLEET_FORMATS, FLEET_VERBS, Verbosity
from packwise.cli.options.caching import add_size
from packwise.cli.options.sources import add_crds, add_values

__all__ = ["add_fleet", "refuse_unlike_verb"]


def add_fleet(commands: Any) -> None:
    """Adds the command `fleet`."""
    text = "render, check, compare or place the packages of many clusters"
    fleet = commands.add_parser("fleet", help=text, description=help_texts.FLEET, epilog=help_texts.FLEET_EPILOG)
    fleet.add_argument("verb", choices=FLEET_VERBS, help="what to do with every package")
    fleet.add_argument("root", metavar="ROOT", help="the folder that holds the packages")
    fleet.add_argument(
        "-o",
        "--output",
        metavar="DIR|FORMAT",
        help="of render: the folder in which every package is written to its own; of the others: how to print, "
        "text, json or markdown (default: text)",
    )
    fleet.add_argument("--report", choices=FLEET_FORMATS, help="how render prints its summary (default: text)")
    fleet.add_argument(
        "--prune",
        dest="prunes",
        action="store_true",
        help="of render: remove what an earlier run wrote to DIR for packages that are gone; "
        "what somebody changed since stays",
    )
    _add_scope(fleet)
    _add_workers(fleet)
    fleet.add_argument(
        "-v",
        "--verbose",
        dest="verbosity",
        action="store_const",
        const=int(Verbosity.VERBOSE),
        default=int(Verbosity.NORMAL),
        help="print every group of packages, and every package of it",
    )


def _add_scope(fleet: argparse.ArgumentParser) -> None:
    fleet.add_argument(
        "--changed-since",
        metavar="REF",
        help="look only at packages that read something which differs from this commit, shared bases included; "
        "a branch means the commit where HEAD left it",
    )
    fleet.add_argument(
        "--baseline",
        metavar="PATH|git:COMMIT",
        help="the state before the change: what diff compares with, and what updates are judged by; a folder like "
        "ROOT, or ROOT in a commit",
    )
    fleet.add_argument(
        "--nodes",
        metavar="PATH",
        help="the nodes of the clusters, for place and diff: a file that holds for all, or a folder with "
        "PACKAGE.json (or .yaml) for each, named by its path below ROOT",
    )
    add_crds(fleet)
    add_values(fleet)
    fleet.add_argument("--exit-code", action="store_true", help="exit 1 when anything changes, as git diff does")
    fleet.add_argument(
        "--require-workloads",
        dest="requires_workloads",
        action="store_true",
        help="exit 1 where a package has no workload that was judged, whatever the reason",
    )
    fleet.add_argument(
        "--exclude",
        metavar="GLOB",
        action="append",
        default=[],
        help="leave out the files and folders that this names, spelt as in .gitignore, as often as needed",
    )


def _add_workers(fleet: argparse.ArgumentParser) -> None:
    where = fleet.add_mutually_exclusive_group()
    where.add_argument("--jobs", metavar="N", type=_number, default=1, help="how many processes work (default: 1)")
    where.add_argument(
        "--scheduler", metavar="tcp://HOST:PORT", help="the scheduler of a Dask cluster that works in their place"
    )
    kept = fleet.add_mutually_exclusive_group()
    kept.add_argument(
        "--cache", metavar="DIR|URL", help="where results are kept for the next run (default: the user's cache folder)"
    )
    kept.add_argument(
        "--no-cache", dest="is_cached", action="store_false", help="keep no results, and take none of earlier runs"
    )
    add_size(fleet, "--cache-size", "how much a cache in a folder keeps at most")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 1024):
        raise argparse.ArgumentTypeError(f'must be a number from 1 to 1024; got "{text}"')
    return int(text)


def refuse_unlike_verb(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Ends with usage where an option does not go with the verb."""
    formats = FLEET_FORMATS
    if parsed.verb != "render" and parsed.output is not None and parsed.output not in formats:
        choices = ", ".join([repr(each) for each in formats])
        parser.error(f"argument -o/--output: invalid choice: {parsed.output!r} (choose from {choices})")
    if parsed.verb != "render" and parsed.report is not None:
        parser.error(f"--report goes with render; use -o {parsed.report}")
    if parsed.verb == "render" and parsed.output in formats:
        parser.error(f"-o must name a folder; use --report {parsed.output}, or -o ./{parsed.output} for a folder")
    if parsed.prunes and (parsed.verb != "render" or parsed.output is None):
        parser.error("--prune goes with render -o DIR")
    if parsed.nodes is not None and parsed.verb not in ("diff", "place"):
        parser.error("--nodes goes with place and diff")
    if parsed.requires_workloads and parsed.verb == "diff":
        parser.error("--require-workloads goes with render, check and place: diff judges no workload alone")
    if parsed.verb == "place" and parsed.nodes is None:
        parser.error("place must be given --nodes")
