"""`packwise explain`: the reason why each value of a render exists or is missing."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command, add_build, add_context, add_paths, add_text_or_json, sources_of
from packwise.explain.options import Explain

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Explains the objects that the scheduler gets. Without an argument, packwise shows each workload with its gangs, groups
and pod sets, their levels, and missing values. For an object, packwise shows the source field, the level and the rule
of each value. For a line of a file, packwise shows the values that come from the line."""

_EPILOG = """\
examples:
  packwise explain clusters/west
  packwise explain PodGang/inference/llm-0 clusters/west
  packwise explain PodCliqueSet/llm clusters/west            # its tree, and reasons for missing values
  packwise explain clusters/west/llm.yaml:27 clusters/west   # values that come from this line
  packwise explain workflow/train pools train.yaml           # an OSMO workflow
  packwise explain PodGang/inference/llm-0 clusters/west -o json

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        nargs="?",
        metavar="OBJECT|FILE:LINE",
        help="a workload or a generated object, as Kind/namespace/name or Kind/name; or a line of a source or rendered "
        "file (default: the trees of all workloads)",
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
