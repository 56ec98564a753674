"""`packwise render`: a render to stdout or a folder, with a report on stderr."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command, add_context, add_paths, add_verbosity, sources_of
from packwise.inputs.request import STDIN, Verbosity
from packwise.render.options import Render

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Generates the scheduler's objects and prints them with yours, or writes both into a folder. Your objects keep every
byte, including comments, except for the annotations that packwise adds to workloads. The configuration is not printed:
no cluster accepts it. If there is an error, packwise prints and writes nothing. packwise changes the folder of -o
completely or not at all, and keeps files that are not listed in its .packwise.sha256."""

_EPILOG = """\
examples:
  packwise render examples/disaggregated-inference
  packwise render inference.yaml topology.yaml -o rendered
  packwise render --in-place clusters/west
  packwise render clusters/west | kubectl apply -f -
  packwise render clusters/west -o rendered/west --check   # in CI: check that the committed render is current
  kustomize build overlays/west | packwise render - --config topology.yaml | kubectl apply -f -

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="the output folder: your files at their paths in PATH, generated objects below packwise/ (default: "
        '"-", stdout)',
    )
    output.add_argument("--in-place", action="store_true", help="write into PATH, which must be one folder")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write no file, and exit with 1 if a render would change one, for CI",
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
