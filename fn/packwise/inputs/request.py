"""The input of a command: paths, configuration, and the state before the change."""

from __future__ import annotations

from enum import IntEnum

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from packwise.discovery import SkipReason
    from packwise.inputs.reader import BuiltInputs, InputFile

    Builder = Callable[[Sequence[str], Sequence[InputFile], Sequence[tuple[str, SkipReason]], str | None], BuiltInputs]
    """A function that builds sources. Its arguments are paths, their files, the skipped files and a commit, or None for
    the files on disk. It returns the files together with the built ones.
    """

STDIN = "-"
"""The path that names stdin, or stdout."""


class Named(Record):
    """The input of a command: `paths` of files and folders or `-`, and the file `config` with the TopologyRender.

    `baseline` is the state before the change. `crds` are files and folders with the cluster's
    CustomResourceDefinitions. `values` set template variables of OSMO's workflows, each as `NAME=VALUE`. `exclude` are
    globs of files to skip in folders. With `force_exclude`, they also apply to named files. `builder` builds charts,
    kustomizations and controllers' sources. It is None if all files are read directly. `apart` are the files and
    folders of another option, which are not read as part of `paths`.
    """

    paths: tuple[str, ...]
    config: str | None = None
    baseline: str | None = None
    crds: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    builder: Builder | None = None
    apart: tuple[str, ...] = ()


class Verbosity(IntEnum):
    """Verbosity for people. Programs always get everything."""

    QUIET = -1
    """Print no last line, and no finding that needs no action."""
    NORMAL = 0
    """Print the first few findings of each form, and count infos."""
    VERBOSE = 1
    """Print every finding."""


class UsageError(Exception):
    """Raised if a path does not exist, or if options conflict in a way that the arguments alone do not show.

    The text names the fix.
    """


def refuse_stdin_twice(readers: Sequence[bool]) -> None:
    """Raise UsageError if more than one of the `readers` reads stdin."""
    if sum(readers) > 1:
        raise UsageError('"-" is given twice, but packwise can read stdin only once')
