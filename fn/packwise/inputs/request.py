"""The input that a command is given: paths, the configuration, the state before the change."""

from __future__ import annotations

from enum import IntEnum

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from packwise.discovery import LeftOut
    from packwise.inputs.groups import BuiltInputs
    from packwise.inputs.reader import InputFile

    Builder = Callable[[Sequence[str], Sequence[InputFile], Sequence[tuple[str, LeftOut]], str | None], BuiltInputs]
    """Of paths, the files that they name and those that are left out, on disk or in a commit: the files with what is
    built of them.
    """

STDIN = "-"
"""The path that names stdin, or stdout."""


class Named(Record):
    """The input of a command: `paths` of files and folders or `-`, the TopologyRender's file, the state before the
    change.

    `crds` are files and folders with the cluster's CustomResourceDefinitions; `values` are those of variables in
    templates of OSMO's workflows, each as `NAME=VALUE`; `exclude` are globs of files that are left out of folders;
    with `force_exclude`, a file that is named is left out as one of a folder is. `builder` builds charts,
    kustomizations and what controllers deliver; None if all files are read as they are. `apart` are files and folders
    that another option reads: a folder around them does not list them.
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
    """Verbosity for people: programs are given everything in any case."""

    QUIET = -1
    """No line at the end, and nothing that asks for nothing."""
    NORMAL = 0
    """Of findings of one form the first few; infos are counted."""
    VERBOSE = 1
    """Every finding."""


class UsageError(Exception):
    """A path that does not exist, or options that do not go together; the arguments alone do not show it.

    The text says what to give instead.
    """


def refuse_stdin_twice(readers: Sequence[bool]) -> None:
    """Raises UsageError where more than one of the `readers` is to read stdin."""
    if sum(readers) > 1:
        raise UsageError('"-" must stand once: stdin can be read for one purpose only')
