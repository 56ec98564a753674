"""`packwise explain`: why each value of a render is there, or missing."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command, add_build, add_context, add_paths, add_text_or_json, sources_of
from packwise.explain.options import Explain

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Says why the scheduler gets what it gets. Without an object: each workload with its gangs, their groups and sets of
pods, the levels that bound them, and what is missing. With an object: every value in it with the field it comes from,
the level it is looked up in, and the rule that makes it. With a line of a file: the values that come from it."""

_EPILOG = """\
examples:
  packwise explain clusters/west
  packwise explain PodGang/inference/llm-0 clusters/west
  packwise explain PodCliqueSet/llm clusters/west            # its tree, and why something in it is missing
  packwise explain clusters/west/llm.yaml:27 clusters/west   # what this line causes
  packwise explain workflow/train pools train.yaml           # a workflow of OSMO
  packwise explain PodGang/inference/llm-0 clusters/west -o json

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        nargs="?",
        metavar="OBJECT|FILE:LINE",
        help="a workload or a generated object, as Kind/namespace/name or Kind/name; or a line of a file, which an "
        "earlier render may have written; without it, the trees of all workloads",
    )
    add_paths(parser, "*")
    add_text_or_json(parser)
    add_build(parser)
    add_context(parser)


def _read(parsed: argparse.Namespace) -> Explain:
    return Explain(sources_of(parsed), parsed.target, parsed.output == "json")


def _run(command: Explain) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.explain.run import explain

    return deliver(explain(command, terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
