"""`packwise version`: the installed version."""

from __future__ import annotations

import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.metadata import version as installed

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.yamltext.reader import READER
from packwise.cli.arguments import Command
from packwise.console import show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

_DESCRIPTION = (
    "Prints the version of packwise. With -v, it also prints the versions of Python and of the installed libraries."
)


_EPILOG = """\
examples:
  packwise version
  packwise version -v

exit codes: 0 no error, 1 the output could not be written"""


class Version(Record):
    """`packwise version`. `libraries` adds packwise's libraries."""

    libraries: bool = False


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-v",
        "--verbose",
        dest="libraries",
        action="store_true",
        help="also print the versions of Python and of the libraries",
    )


def _read(parsed: argparse.Namespace) -> Version:
    return Version(parsed.libraries)


_NAME = re.compile(r"[A-Za-z0-9._-]+")


def version(command: Version) -> int:
    """Print the version, and with `libraries` also the versions of libraries. Return the exit code."""
    lines = [f"packwise {installed('packwise')}"]
    if command.libraries:
        lines += [f"{name} {release}" for name, release in _libraries()]
    return 0 if show("".join([f"{line}\n" for line in lines])) else 1


def _libraries() -> Iterator[tuple[str, str]]:
    """Yield the names and versions of Python, the platform, the YAML reader, and the libraries that packwise may use.

    Yield krmfn only if it is installed separately.
    """
    yield platform.python_implementation(), platform.python_version()
    yield "platform", f"{sys.platform} {platform.machine()}"
    yield "YAML reader", READER
    apart = _version("krmfn")
    if apart is not None:
        yield (
            "krmfn",
            f"{apart}, installed separately; packwise also contains krmfn; Python uses the one installed last",
        )
    names = {match[0] for line in requires("packwise") or () if (match := _NAME.match(line))} - {"packwise"}
    for name in sorted(names):
        yield name, _version(name) or "not installed"


def _version(name: str) -> str | None:
    try:
        return installed(name)
    except PackageNotFoundError:
        return None


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, version)
