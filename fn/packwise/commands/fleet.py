"""`packwise fleet`: a command for all packages that a change reaches, and a summary."""

from __future__ import annotations

import argparse

from packwise.cli.arguments import Command, add_build, add_crds, add_size, add_values, add_verbosity
from packwise.fleet.options import FLEET_FORMATS, FLEET_VERBS, Fleet
from packwise.inputs.request import Verbosity

_DESCRIPTION = """\
Finds packages in ROOT: folders with a TopologyRender, and kustomizations and Kptfiles that run packwise. packwise
renders, checks, compares or places each package, and summarizes changes and failures. kustomize on PATH builds
kustomizations. packwise runs no function or program that a repository names, and downloads nothing. packwise caches
results by content."""

_EPILOG = """\
examples:
  packwise fleet check clusters --jobs 4
  packwise fleet check clusters --crds platform/crds
  packwise fleet check . --build
  packwise fleet diff clusters --changed-since git:origin/main -o markdown
  packwise fleet render clusters -o rendered --prune
  packwise fleet place clusters --nodes nodes/

exit codes: 0 no error, 1 a package fails or a gang does not fit, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=FLEET_VERBS, help="the action for every package")
    parser.add_argument("root", metavar="ROOT", help="the folder that contains the packages")
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR|FORMAT",
        help="for render: the output folder, with a subfolder for each package; else: text, json or markdown "
        "(default: text)",
    )
    parser.add_argument("--report", choices=FLEET_FORMATS, help="format of the summary of render (default: text)")
    parser.add_argument(
        "--prune",
        dest="prunes",
        action="store_true",
        help="for render: remove files of deleted packages that an earlier run wrote to DIR, unless they were edited",
    )
    _add_scope(parser)
    add_build(parser)
    _add_workers(parser)
    add_verbosity(parser, "list every group with all of its packages", has_quiet=False)


def _add_scope(fleet: argparse.ArgumentParser) -> None:
    fleet.add_argument(
        "--changed-since",
        metavar="REF",
        help="only packages with changed input since this commit, including shared bases. For a branch, packwise uses "
        "the merge base with HEAD",
    )
    fleet.add_argument(
        "--baseline",
        metavar="PATH|git:COMMIT",
        help="the packages before the change, for diff and the rules for updates: a folder like ROOT, or a commit of "
        "ROOT",
    )
    fleet.add_argument(
        "--nodes",
        metavar="PATH",
        help="the nodes, for place and diff: one file for all clusters, or a folder with a file for each package. For "
        "the package ROOT/west, this file is west.json or west.yaml",
    )
    add_crds(fleet)
    add_values(fleet)
    fleet.add_argument("--exit-code", action="store_true", help="exit with 1 if anything changes, like git diff")
    fleet.add_argument(
        "--require-workloads",
        dest="requires_workloads",
        action="store_true",
        help="exit with 1 if no workload of a package was checked",
    )
    fleet.add_argument(
        "--exclude",
        metavar="GLOB",
        action="append",
        default=[],
        help="exclude files and folders that match this pattern, written as in .gitignore; repeatable",
    )


def _add_workers(fleet: argparse.ArgumentParser) -> None:
    where = fleet.add_mutually_exclusive_group()
    where.add_argument("--jobs", metavar="N", type=_number, default=1, help="number of worker processes (default: 1)")
    where.add_argument("--scheduler", metavar="tcp://HOST:PORT", help="run on the Dask cluster of this scheduler")
    kept = fleet.add_mutually_exclusive_group()
    kept.add_argument("--cache", metavar="DIR|URL", help="cache of results (default: the user's cache folder)")
    kept.add_argument("--no-cache", dest="is_cached", action="store_false", help="do not read or write cached results")
    add_size(fleet, "--cache-size", "maximum size of a cache folder")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 1024):
        raise argparse.ArgumentTypeError(f'must be a number from 1 to 1024; got "{text}"')
    return int(text)


def _refuse(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Exit with a usage error if an option does not apply to the verb."""
    formats = FLEET_FORMATS
    if parsed.verb != "render" and parsed.output is not None and parsed.output not in formats:
        choices = ", ".join([repr(each) for each in formats])
        parser.error(f"argument -o/--output: invalid choice: {parsed.output!r} (choose from {choices})")
    if parsed.verb != "render" and parsed.report is not None:
        parser.error(f"only render has --report; use -o {parsed.report}")
    if parsed.verb == "render" and parsed.output in formats:
        parser.error(f"-o must name a folder; use --report {parsed.output}, or -o ./{parsed.output} for a folder")
    if parsed.prunes and (parsed.verb != "render" or parsed.output is None):
        parser.error("--prune needs render -o DIR")
    if parsed.nodes is not None and parsed.verb not in ("diff", "place"):
        parser.error("only place and diff have --nodes")
    if parsed.requires_workloads and parsed.verb == "diff":
        parser.error("diff has no --require-workloads, because it does not check single workloads")
    if parsed.verb == "render" and (parsed.build or parsed.requires_build):
        parser.error("render has no --build, because controllers build their sources themselves")
    if parsed.verb == "place" and parsed.nodes is None:
        parser.error("place needs --nodes")


def _read(parsed: argparse.Namespace) -> Fleet:
    return Fleet(
        verb=parsed.verb,
        root=parsed.root,
        folder=parsed.output if parsed.verb == "render" else None,
        output=(parsed.report if parsed.verb == "render" else parsed.output) or "text",
        baseline=parsed.baseline,
        changed_since=parsed.changed_since,
        nodes=parsed.nodes,
        jobs=parsed.jobs,
        scheduler=parsed.scheduler,
        cache=parsed.cache,
        is_cached=parsed.is_cached,
        cache_size=parsed.cache_size,
        exit_code=parsed.exit_code,
        exclude=tuple(parsed.exclude),
        verbosity=Verbosity(parsed.verbosity),
        prunes=parsed.prunes,
        crds=tuple(parsed.crds),
        values=tuple(parsed.set),
        requires_workloads=parsed.requires_workloads,
        builds=parsed.build or parsed.requires_build,
        requires_build=parsed.requires_build,
    )


def _run(command: Fleet) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.fleet.run import fleet

    return fleet(command, deliver, terminal())


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run, _refuse)
