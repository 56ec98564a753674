"""`packwise fn`: the KRM function that clients start."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.cli.arguments import Command

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Runs as a KRM function for kustomize and kpt: reads a ResourceList from stdin and writes one to stdout. The
functionConfig is the TopologyRender. Without one, packwise uses the TopologyRender among the items."""


_EPILOG = """\
examples:
  kpt fn source inference | packwise fn | kpt fn sink rendered
  kpt fn eval inference --exec "packwise fn" --fn-config inference/topology.yaml
  kustomize build --enable-alpha-plugins --enable-exec overlays/west

exit codes: 0 no error, 1 errors were found (they are in the list's results and on stderr)"""


class Function(Record):
    """`packwise fn`."""

    validate: bool = False
    verbose: bool = False


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--validate",
        action="store_true",
        help="return only results, without items, as kustomize expects from a validator",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="list every finding on stderr, including infos and repeated ones",
    )


def fn(command: Function) -> int:
    """Run the function and return the exit code."""
    # The import is here because the help does not need it.
    from packwise.function import main

    return main(validate=command.validate, verbose=command.verbose)


def _read(parsed: argparse.Namespace) -> Function:
    return Function(parsed.validate, parsed.verbose)


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, fn)
