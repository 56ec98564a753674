"""Orphans: folders that an earlier run wrote for packages which the fleet no longer has."""

from __future__ import annotations

import os
import posixpath
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from packwise.cli.fleet.output import unwritable
from packwise.cli.folder import FolderPlan
from packwise.cli.input_paths import real
from packwise.cli.manifests import NAME as LIST
from packwise.cli.reader import error_result
from packwise.cli.survey import survey
from packwise.cli.swap import locked, remove_left
from packwise.cli.write import apply, remove_empty

if TYPE_CHECKING:
    from collections.abc import Collection

    from krmfn.result import Result
    from packwise.cli.fleet.evidence import Evidence

__all__ = ["orphans", "prune"]

_NOTHING = FolderPlan({}, frozenset(), frozenset(), (), ())


def orphans(output: str, known: Collection[str], evidence: Evidence) -> list[str]:
    """The folders below `output`, by path, that have a list of packwise's own files and are not `known`.

    What `evidence` has of a folder is not looked for again.
    """
    written: set[str] = set()
    left = ["."]
    while left:
        name = left.pop()
        at = output if name == "." else f"{output}/{name}"
        below = evidence.written_in(at)
        if below is not None:
            written.update([posixpath.normpath(f"{name}/{folder}") for folder in below])
            continue
        with suppress(OSError), os.scandir(at) as entries:
            for entry in entries:
                if entry.name == LIST:
                    written.add(name)
                elif not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                    left.append(entry.name if name == "." else f"{name}/{entry.name}")
    return sorted(written.difference(known))


def prune(output: Path, name: str) -> list[Result]:
    """Removes what an earlier run wrote to the folder `name` of `output`, and folders that are empty then.

    A file that was changed since stays, as do files of others: a warning names it. Errors are among the results where
    the folder cannot be changed; it is as it was then.
    """
    folder = output / name
    try:
        with locked(Path(real(folder)).parent):
            remove_left(folder)
            changes = survey(folder, _NOTHING, with_list=True)
            # The list stays as long as it names a file that stays.
            own = () if changes.results else (Path(real(folder)) / LIST,)
            apply(folder, replace(changes, removed=(*changes.removed, *own), listing=None), at_once=True)
            remove_empty(folder, output)
    except FieldError as error:
        return [error_result(error)]
    except OSError as error:
        return [unwritable(str(error.filename), error.strerror or str(error))]
    return list(changes.results)
