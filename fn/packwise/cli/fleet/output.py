"""Where the packages of a fleet are rendered to: a folder for each, all of a package or nothing."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Result, ResultFile, exit_code
from packwise.cli.fleet.messages import plan_digest, plan_of
from packwise.cli.input_paths import real
from packwise.cli.manifests import NAME as LIST
from packwise.cli.reader import error_result
from packwise.cli.survey import survey
from packwise.cli.swap import copied_in, locked, remove_left
from packwise.cli.write import apply
from packwise.commands.fleet import Status
from packwise.commands.fleet.result import WRITTEN, kept_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from packwise.cli.fleet.evidence import Evidence, Look
    from packwise.cli.survey import Changes
    from packwise.commands.fleet import PackageResult

__all__ = ["Output", "unwritable"]


class Output:
    """The folder `folder`, in which each package has one at the path that `below` gives for its own."""

    __slots__ = ("_below", "_copied_in", "_evidence", "_folder")

    def __init__(self, folder: Path, below: Callable[[str], str], evidence: Evidence) -> None:
        # Findings have whole paths, as nobody knows here where the user stands.
        self._folder = Path(real(folder))
        self._below = below
        self._evidence = evidence
        # Of each folder above packages, once: thousands may stand in one.
        self._copied_in = lru_cache(64)(copied_in)

    def written(self, result: PackageResult, payload: bytes) -> PackageResult:
        """The result of an answer, once its package is written; a failing one is not.

        Raises ValueError, KeyError or TypeError where that is no answer.
        """
        if result.status is Status.FAILING:
            return result
        folder = self._folder / self._below(result.folder)
        is_there = folder.exists()
        if is_there and not folder.is_dir():
            return _failing(result, [unwritable(folder.as_posix(), "Not a directory")])
        try:
            if not is_there:
                folder.parent.mkdir(parents=True, exist_ok=True)
            with locked(folder.parent):
                return self._written(result, folder, payload)
        except FieldError as error:
            return _failing(result, [error_result(error)])
        except OSError as error:
            return _failing(result, [unwritable(str(error.filename), error.strerror or str(error))])

    def _written(self, result: PackageResult, folder: Path, payload: bytes) -> PackageResult:
        is_new = not folder.exists()
        digest = plan_digest(payload)
        if not is_new and self._evidence.is_held(folder, digest):
            self._remove_left(folder)
            return result._replace(status=Status.UNCHANGED)
        before = None if is_new else self._evidence.look(folder)
        changes = survey(folder, plan_of(payload), with_list=True)
        if exit_code(changes.results):
            return _failing(result, changes.results)
        self._remove_left(folder)
        if not changes:
            if before is not None and before.is_at_rest():
                self._evidence.keep(folder, digest, before)
            return result._replace(status=Status.UNCHANGED)
        after = self._applied(folder, changes)
        if after is not None and after.is_after(before, _written_paths(changes)):
            # Files that stay had two names for a moment, which changes one of their times.
            now = after if is_new else self._evidence.look(folder)
            if now is not None and now.has(after.entries) and after.has(now.entries):
                self._evidence.keep(folder, digest, now)
        number = len(changes.contents) + len(changes.removed)
        return result._replace(status=Status.ADDED if is_new else Status.CHANGED, written=number)

    def _remove_left(self, folder: Path) -> None:
        if folder.is_symlink() or folder.name in self._copied_in(folder.parent):
            remove_left(folder)

    def _applied(self, folder: Path, changes: Changes) -> Look | None:
        """Writes the folder; a look at what it is then, from before anyone else could change it."""
        looks: list[Look | None] = []
        one_by_one = apply(folder, changes, at_once=True, look=lambda copy: looks.append(self._evidence.look(copy)))
        return looks[0] if looks and one_by_one is None else None


def _written_paths(changes: Changes) -> set[str]:
    return {LIST, *[changes.targets.get(path, path) for path in changes.contents]}


def unwritable(path: str, reason: str) -> Result:
    """The error about a folder that the disk refuses to change."""
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
