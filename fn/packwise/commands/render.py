"""`packwise render`: to a stream or a folder, with a report on stderr."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command, add_context, add_paths, add_verbosity, sources_of
from packwise.inputs.request import STDIN, Verbosity
from packwise.render.options import Render

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Prints the whole result, your objects and the generated ones, or writes it into a folder. Yours keep every byte,
comments and all, but for the annotations that packwise adds to workloads. With an error nothing is printed or
written. A folder given with -o changes at once or not at all; its list of files, .packwise.sha256, tells packwise's
own from those of others, which stay."""

_EPILOG = """\
examples:
  packwise render examples/disaggregated-inference
  packwise render inference.yaml topology.yaml -o rendered
  packwise render --in-place clusters/west
  packwise render clusters/west -o rendered/west --check   # in CI: is what was committed what a render gives?
  kustomize build overlays/west | packwise render - --config topology.yaml | kubectl apply -f -

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="the folder to write to: your files where they stand in PATH, generated objects below packwise/; "
        '"-", the default, is stdout',
    )
    output.add_argument("--in-place", action="store_true", help="write to PATH itself, which must be one folder")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit with 1 where a render would change a file of the folder, for CI",
    )
    add_context(parser)
    add_verbosity(parser)


def _read(parsed: argparse.Namespace) -> Render:
    return Render(
        sources_of(parsed),
        None if parsed.output == STDIN else parsed.output,
        parsed.in_place,
        parsed.check,
        Verbosity(parsed.verbosity),
    )


def _run(command: Render) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.render.run import render

    return deliver(render(command, terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
