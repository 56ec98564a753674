"""Everything that a command reads, as the package that the pipeline renders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krmfn.errors import FieldError
from krmfn.result import exit_code
from packwise.api import KIND
from packwise.cli.arguments import STDIN
from packwise.cli.document import InputFile
from packwise.cli.find import find_files, real
from packwise.cli.read import read_file
from packwise.cli.refusal import refusal
from packwise.cli.usage import UsageError
from packwise.select import Package

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.cli.arguments import Named
    from packwise.cli.find import Found

__all__ = ["Inputs", "read_inputs"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files in their order, what the pipeline is given of them, and what could not be read.

    With an error among `results` the package is not whole.
    """

    files: tuple[InputFile, ...]
    package: Package
    results: tuple[Result, ...]


def read_inputs(named: Named, output: str | None = None) -> Inputs:
    """What `named` names. The folder `output` is not read where it stands within another.

    Raises UsageError where something is not there, or does not go together.
    """
    _refuse_stdin_twice(named)
    if named.baseline is not None and named.baseline.startswith("git:"):
        raise UsageError(
            f'--baseline "{named.baseline}" is not supported yet; give a folder: `git worktree add` makes one'
        )
    reader = _Reader()
    files = reader.read(named.paths, output)
    baseline = None if named.baseline is None else _items(reader.read([named.baseline]))
    config = _carried(files) if named.config is None else _config(named.config, reader.read([named.config]), reader)
    package = Package(_items(files), config, baseline)
    return Inputs(tuple(files), package, tuple(reader.results))


class _Reader:
    """Reads files, and keeps what is wrong with them."""

    __slots__ = ("results",)

    def __init__(self) -> None:
        self.results: list[Result] = []

    def read(self, paths: Iterable[str], output: str | None = None) -> list[InputFile]:
        """Each file that `paths` name once, in their order."""
        files: dict[str, InputFile] = {}
        for path in paths:
            found, results = find_files(path, output)
            self.results += results
            for one in found:
                key = STDIN if one.name is None else real(one.name)
                if key not in files:
                    files[key] = self._file(one)
        for item in _items(files.values()):
            try:
                _ = item.value
            except FieldError as error:
                self.results.append(refusal(error))
        return list(files.values())

    def _file(self, found: Found) -> InputFile:
        """The file; one without documents where it cannot be read."""
        try:
            return read_file(found)
        except FieldError as error:
            self.results.append(refusal(error))
            return InputFile(found, ())


def _items(files: Iterable[InputFile]) -> tuple[KubeObject, ...]:
    return tuple([item for file in files for item in file.items])


def _refuse_stdin_twice(named: Named) -> None:
    readers = [STDIN in named.paths, named.config == STDIN, named.baseline == STDIN]
    if sum(readers) > 1:
        raise UsageError('"-" must stand once: stdin can be read for one purpose only')


def _carried(files: Iterable[InputFile]) -> KubeObject | None:
    """The configuration that a client sends along in a ResourceList."""
    found = [file.function_config for file in files if file.function_config is not None]
    if len(found) > 1:
        places = " and ".join([str(config.location()) for config in found[:2]])
        raise UsageError(f"there must be one functionConfig; got {len(found)} ({places}): choose with --config")
    return found[0] if found else None


def _config(path: str, files: Iterable[InputFile], reader: _Reader) -> KubeObject | None:
    """The one configuration in the file `path`; None where it cannot be read."""
    if exit_code(reader.results):
        return None
    items = _items(files)
    chosen = [item for item in items if item.value.get("kind") == KIND] or items
    if len(chosen) != 1:
        noun = f"{len(chosen)} objects" if chosen else "no object"
        raise UsageError(f'--config "{path}" must hold one {KIND}; got {noun}')
    return chosen[0]
