"""`packwise help`."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = "Prints the help of packwise, or of a command."


_EPILOG = """\
examples:
  packwise help
  packwise help check

exit codes: 0 no error, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="the command (default: all commands)")


def _run(_: None) -> int:
    return 0


def _read(parsed: argparse.Namespace) -> None:
    """Return None, because the command line treats `packwise help COMMAND` as `packwise COMMAND --help`."""


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
