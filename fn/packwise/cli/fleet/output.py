"""Where the packages of a fleet are rendered to: a folder for each, all of a package or nothing."""

from __future__ import annotations

from pathlib import Path

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Result, ResultFile, exit_code
from packwise.cli.input_paths import real
from packwise.cli.lock import locked
from packwise.cli.reader import error_result
from packwise.cli.swap import remove_left
from packwise.cli.write import apply, survey
from packwise.commands.fleet import Status
from packwise.commands.fleet.result import kept_findings
from packwise.commands.fleet.rules import WRITTEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from packwise.cli.folder import FolderPlan
    from packwise.commands.fleet import PackageResult

__all__ = ["Output"]


class Output:
    """The folder `folder`, in which each package has one at the path that `below` gives for its own."""

    __slots__ = ("_below", "_folder")

    def __init__(self, folder: Path, below: Callable[[str], str]) -> None:
        # Findings have whole paths, as nobody knows here where the user stands.
        self._folder = Path(real(folder))
        self._below = below

    def written(self, result: PackageResult, plan: Callable[[], FolderPlan]) -> PackageResult:
        """The result, once its package is written; a failing one is not."""
        if result.status is Status.FAILING:
            return result
        folder = self._folder / self._below(result.folder)
        if folder.exists() and not folder.is_dir():
            return _failing(result, [_unwritable(folder.as_posix(), "Not a directory")])
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with locked(folder.parent):
                return _written(result, folder, plan())
        except FieldError as error:
            return _failing(result, [error_result(error)])
        except OSError as error:
            return _failing(result, [_unwritable(str(error.filename), error.strerror or str(error))])


def _written(result: PackageResult, folder: Path, plan: FolderPlan) -> PackageResult:
    is_new = not folder.exists()
    changes = survey(folder, plan, with_list=True)
    if exit_code(changes.results):
        return _failing(result, changes.results)
    remove_left(folder)
    if not changes:
        return result._replace(status=Status.UNCHANGED)
    apply(folder, changes, at_once=True)
    number = len(changes.contents) + len(changes.removed)
    return result._replace(status=Status.ADDED if is_new else Status.CHANGED, written=number)


def _unwritable(path: str, reason: str) -> Result:
    message = f'must be a folder that can be written; got "{reason}"'
    return Result(message, file=ResultFile(path), tags={"rule": WRITTEN.name})


def _failing(result: PackageResult, results: Iterable[Result]) -> PackageResult:
    errors, warnings, findings = kept_findings(results)
    return result._replace(
        status=Status.FAILING,
        errors=result.errors + errors,
        warnings=result.warnings + warnings,
        findings=(*findings, *result.findings),
    )
