"""`packwise fn`: the KRM function that clients start."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from packwise.cli.arguments import Command

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
The KRM function that kustomize and kpt start: a ResourceList on stdin, a ResourceList on stdout. In the functionConfig
stands the TopologyRender; without one, the TopologyRender among the items counts."""


_EPILOG = """\
examples:
  kpt fn source inference | packwise fn | kpt fn sink rendered
  kpt fn eval inference --exec "packwise fn" --fn-config inference/topology.yaml
  kustomize build --enable-alpha-plugins --enable-exec overlays/west

exit codes: 0 no error, 1 errors were found (they stand in the list's results, and on stderr)"""


class Function(Record):
    """`packwise fn`."""

    validate: bool = False
    verbose: bool = False


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--validate",
        action="store_true",
        help="answer with results and without items, as kustomize wants of a validator",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="list every finding on stderr, as the results do: also more of the same form, and infos",
    )


def fn(command: Function) -> int:
    """Run the function and return the exit code."""
    # Its help needs nothing of it.
    from packwise.function import main

    return main(validate=command.validate, verbose=command.verbose)


def _read(parsed: argparse.Namespace) -> Function:
    return Function(parsed.validate, parsed.verbose)


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, fn)
