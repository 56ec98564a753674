"""`packwise init`: a first package. Existing files are never overwritten."""

from __future__ import annotations

import argparse
import sys

from packwise.cli.arguments import Command, add_cluster, live_path
from packwise.console import say
from packwise.init.options import TARGETS, Init
from packwise.inputs.resources import FOR_INIT
from packwise.revisions.grove import NEWEST, REVISIONS

_DESCRIPTION = """\
Creates a package: a configuration with comments, an example if the folder has no workload, and the files that the
client in --for needs. packwise reads levels, schedulers and the release from --from. packwise never overwrites a file:
if one of the files exists, packwise writes none. In a terminal, init asks for missing options."""

_EPILOG = """\
examples:
  packwise init clusters/west --for kustomize
  packwise init clusters/west --level zone=topology.kubernetes.io/zone --level rack=example.com/rack
  kubectl get nodes,deployments,configmaps,clustertopologies -A -o yaml | packwise init clusters/west --from -
  packwise init clusters/west --for kpt --revision v0.1.0-alpha.13 --no-apply
  packwise init clusters/west --without-grove     # KAI groups Jobs and JobSets itself
  packwise init clusters/west --for github        # also for an existing package

exit codes: 0 no error, 1 errors were found (for example, a file of --from cannot be read), 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="the folder of the package (default: .)")
    parser.add_argument(
        "--for",
        dest="targets",
        action="append",
        default=[],
        choices=TARGETS,
        metavar="CLIENT",
        help=f"the client that renders or checks the package: {', '.join(TARGETS)}; repeatable",
    )
    parser.add_argument(
        "--from",
        dest="sources",
        action="append",
        default=[],
        metavar="FILE",
        help="output of `kubectl get -o yaml`: the operator's ConfigMap, ClusterTopologies or ClusterTopologyBindings, "
        'nodes, deployments; "-" for stdin; repeatable',
    )
    add_cluster(parser, FOR_INIT)
    parser.add_argument(
        "--level",
        dest="levels",
        action="append",
        default=[],
        type=_level,
        metavar="DOMAIN=LABEL",
        help="a topology level such as rack=example.com/rack; repeatable, broadest level first",
    )
    parser.add_argument(
        "--revision",
        choices=tuple(REVISIONS),
        metavar="RELEASE",
        help=f"the release of Grove that the cluster runs: {', '.join(REVISIONS)}",
    )
    parser.add_argument(
        "--without-grove",
        action="store_true",
        help="for clusters without Grove: KAI groups the pods itself, and the example is a JobSet",
    )
    parser.add_argument(
        "--apply",
        action=argparse.BooleanOptionalAction,
        help="apply generated objects from Git (default: only if --from shows no operator)",
    )


def _level(text: str) -> tuple[str, str]:
    domain, equals, key = text.partition("=")
    if not (domain and equals and key):
        raise argparse.ArgumentTypeError(f'must be DOMAIN=LABEL, as in rack=example.com/rack; got "{text}"')
    # The import is here because the list of commands imports this module.
    from packwise.kubernetes import qualified_name

    wrong = qualified_name(key)
    if wrong:
        raise argparse.ArgumentTypeError(f'"{key}" is not a valid node label: {wrong[0]}')
    return domain, key


def _read(parsed: argparse.Namespace) -> Init:
    return Init(
        folder=parsed.folder,
        targets=tuple(parsed.targets),
        sources=(*parsed.sources, *live_path(parsed)),
        levels=tuple(parsed.levels),
        revision=parsed.revision,
        apply=parsed.apply,
        without_grove=parsed.without_grove,
    )


def _ask(command: Init) -> Init:
    """Return the command. If options are missing and a user is at the terminal, ask for them and add the answers."""
    if command.targets or command.sources or command.levels or command.revision or command.without_grove:
        return command
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return command
    say(["packwise init writes files only after the last answer. Press Enter to skip a question."])
    # The import is here because the list of commands imports this module.
    from packwise.cli.command_line import parse

    words: list[str] = []
    for question, option in _QUESTIONS:
        for word in _answer(question).split():
            is_none = option == "--revision" and word.casefold() in _NONE
            words += ["--without-grove"] if is_none else [option, word]
    answered = parse(["init", *words, "--", command.folder]).arguments
    return answered if isinstance(answered, Init) else command


_QUESTIONS: tuple[tuple[str, str], ...] = (
    (f"Clients that render or check the package ({', '.join(TARGETS)}):", "--for"),
    (
        f"Release of Grove in the cluster, such as {NEWEST.releases[0]}, or `none` if KAI groups the pods itself:",
        "--revision",
    ),
    ("Topology levels, broadest first, such as zone=topology.kubernetes.io/zone rack=example.com/rack:", "--level"),
)
"""The questions on a terminal, each with its option."""


_NONE = ("none", "no")
"""Answers that mean that Grove is not used."""


def _answer(question: str) -> str:
    sys.stderr.write(f"{question} ")
    sys.stderr.flush()
    return sys.stdin.readline().replace(",", " ")


def _run(command: Init) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.init.run import init
    from packwise.inputs.kubectl import cluster_files

    with cluster_files(command.sources, FOR_INIT) as (sources, _):
        return deliver(init(_ask(command.replace(sources=sources)), terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
