"""The arguments that several commands share: a command's record, the paths to read, verbosity, and their options."""

from __future__ import annotations

import argparse
import re

from krmfn.hints import TYPE_CHECKING, Record
from packwise.inputs.request import Named, Verbosity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from packwise.discovery import SkipReason
    from packwise.inputs.reader import BuiltInputs, InputFile
    from packwise.inputs.request import Builder
    from packwise.inputs.resources import Resource


class Command(Record):
    """A command: its help, its options, and its action.

    `refuse` exits with a usage error if options conflict. `read` converts the parsed words into the record for `run`.
    `run` returns the exit code.
    """

    description: str
    epilog: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    read: Callable[[argparse.Namespace], Any]
    run: Callable[[Any], int]
    refuse: Callable[[argparse.ArgumentParser, argparse.Namespace], None] | None = None


NODES = (
    "output of `kubectl get nodes,pods -A -o json` (or yaml), a dump of KAI's snapshot plugin, or a folder of such "
    "files; repeatable. Files of topograph (instances, topology.conf, topology.yaml) label the nodes"
)
"""The help about files with a cluster's nodes."""


def add_paths(command: argparse.ArgumentParser, number: str = "+", default: Sequence[str] = ()) -> None:
    """Add the argument PATH. `number` is its number, as in argparse."""
    command.add_argument(
        "paths",
        nargs=number,
        default=default,
        metavar="PATH",
        help='a file; a folder with *.yaml, *.yml and *.json files; or "-" for stdin (YAML documents or a '
        "ResourceList)",
    )


def add_config(command: argparse.ArgumentParser) -> None:
    """Add the options for the configuration and the exclusions."""
    command.add_argument(
        "--config",
        metavar="FILE",
        help="file with the TopologyRender, or with Grove's OperatorConfiguration or its ConfigMap (default: the "
        "nearest one in the input or above it in the repository)",
    )
    command.add_argument(
        "--exclude",
        metavar="GLOB",
        action="append",
        default=[],
        help="exclude files and folders that match this pattern, written as in .gitignore; repeatable. packwise "
        "always reads files that you pass on the command line",
    )


def add_crds(command: argparse.ArgumentParser) -> None:
    """Add the option for the CRDs of the cluster."""
    command.add_argument(
        "--crds",
        metavar="DIR",
        action="append",
        default=[],
        help="file or folder with the CustomResourceDefinitions of your cluster; repeatable. packwise validates "
        "objects by the schemas and rules in them, as the API server does (default: the definitions in the input)",
    )


def add_context(command: argparse.ArgumentParser) -> None:
    """Add the options for everything that a render depends on, except the files."""
    add_config(command)
    command.add_argument(
        "--baseline",
        metavar="PATH|git:COMMIT",
        help="the objects before the change, to apply the rules for updates: a file, a folder, or a commit of PATH "
        "(git:main, git:HEAD~1)",
    )
    add_crds(command)
    add_values(command)


def add_values(command: argparse.ArgumentParser) -> None:
    """Add the option for values of variables."""
    command.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        type=_assignment,
        default=[],
        help="value of a variable in OSMO workflow templates, as in `osmo workflow submit --set`; repeatable. The "
        "value overrides default-values",
    )


def _assignment(text: str) -> str:
    if not text.partition("=")[0] or "=" not in text:
        raise argparse.ArgumentTypeError(f'must be NAME=VALUE; got "{text}"')
    return text


def add_nodes(command: argparse.ArgumentParser, text: str) -> None:
    """Add the option for the nodes of the cluster. `text` is its help."""
    command.add_argument("--nodes", metavar="NODES", action="append", default=[], help=text)


def add_build(command: argparse.ArgumentParser) -> None:
    """Add the options for builds of sources."""
    command.add_argument(
        "--build",
        action="store_true",
        help="build charts, kustomizations, and the sources of Argo CD Applications and ApplicationSets and of Flux "
        "HelmReleases and Kustomizations, and read the result. packwise runs helm and kustomize from PATH, without "
        "network access",
    )
    command.add_argument(
        "--require-build",
        dest="requires_build",
        action="store_true",
        help="with --build: exit with 1 if a source cannot be built",
    )


def add_cluster(command: argparse.ArgumentParser, resources: Sequence[Resource]) -> None:
    """Add the option for a cluster that kubectl reads. `resources` are the listed kinds."""
    names = ", ".join([each.full_name for each in resources])
    command.add_argument(
        "--cluster",
        nargs="?",
        const="",
        metavar="CONTEXT",
        help="read the cluster of this kubectl context (default: the current one) with `kubectl get`. You need only "
        f"the permission to list {names}. packwise notes absent or forbidden kinds",
    )


def live_path(parsed: argparse.Namespace) -> tuple[str, ...]:
    """Return the path that means the cluster of `--cluster`, or none without the option."""
    return () if parsed.cluster is None else (f"cluster:{parsed.cluster}",)


def paths_of(parsed: argparse.Namespace) -> tuple[str, ...]:
    """Return the paths on the command line. If there are none, return only the cluster of `--cluster`, if any."""
    live = live_path(parsed)
    return (*parsed.paths, *live) if not live or parsed.paths != ["."] else live


def builder_of(parsed: argparse.Namespace) -> Builder | None:
    """Return the builder that the options of `add_build` select, or None without them."""
    if getattr(parsed, "requires_build", False):
        return _build_all
    return _build if getattr(parsed, "build", False) else None


def _build(
    paths: Sequence[str], files: Sequence[InputFile], skipped: Sequence[tuple[str, SkipReason]], commit: str | None
) -> BuiltInputs:
    # The import is here because few runs build sources.
    from packwise.build.named import build_named

    return build_named(paths, files, skipped, commit)


def _build_all(
    paths: Sequence[str], files: Sequence[InputFile], skipped: Sequence[tuple[str, SkipReason]], commit: str | None
) -> BuiltInputs:
    from packwise.build.named import build_named

    return build_named(paths, files, skipped, commit, requires=True)


def add_text_or_json(command: argparse.ArgumentParser) -> None:
    """Add the option for the format of the answer."""
    command.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="output format (default: text)"
    )


_VERBOSE = "print all findings, including infos and repeated ones, and list skipped files"


def add_verbosity(command: argparse.ArgumentParser, verbose: str = _VERBOSE, *, has_quiet: bool = True) -> None:
    """Add the options for the amount of text. `verbose` is the help of `-v`."""
    verbosity = command.add_mutually_exclusive_group()
    verbosity.add_argument(
        "-v",
        "--verbose",
        dest="verbosity",
        action="store_const",
        const=int(Verbosity.VERBOSE),
        default=int(Verbosity.NORMAL),
        help=verbose,
    )
    if not has_quiet:
        return
    verbosity.add_argument(
        "-q",
        "--quiet",
        dest="verbosity",
        action="store_const",
        const=int(Verbosity.QUIET),
        help="print only errors and warnings, without the last line",
    )


def sources_of(parsed: argparse.Namespace) -> Named:
    """Return the input of a command from the options of `add_paths` and `add_context`."""
    return Named(
        tuple(parsed.paths),
        parsed.config,
        parsed.baseline,
        tuple(parsed.crds),
        tuple(parsed.set),
        tuple(parsed.exclude),
        builder=builder_of(parsed),
        apart=tuple(getattr(parsed, "nodes", ())),
    )


def refuse_same_file(parser: argparse.ArgumentParser, files: Sequence[str | None], example: str) -> None:
    """Exit with a usage error if two of the output `files` are the same. None is stdout."""
    twice = [file for file in files if files.count(file) > 1]
    if twice:
        to = "stdout" if twice[0] is None else f'"{twice[0]}"'
        parser.error(f"-o names {to} more than once; name a different file for each format ({example})")


_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


def add_size(parser: argparse.ArgumentParser, option: str, text: str) -> None:
    """Add an option for the largest number of bytes of a cache."""
    parser.add_argument(option, metavar="SIZE", type=size_in_bytes, help=f"{text}, as in 500Mi (default: 2Gi)")


def size_in_bytes(text: str) -> int:
    """Return the number of bytes of a Kubernetes quantity: 500Mi, 2Gi, 1G, 1000000.

    Raise ArgumentTypeError if it is invalid.
    """
    match = re.fullmatch(r"([0-9]{1,15})(|[kMGT]|[KMGT]i)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f'must be a size such as 500Mi or 2Gi; got "{text}"')
    return int(match[1]) * (1024 if match[2].endswith("i") else 1000) ** _POWERS[match[2][:1]]
