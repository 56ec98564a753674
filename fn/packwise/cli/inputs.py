"""Everything that a command reads, as the package that the pipeline renders."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from krmfn.errors import FieldError
from krmfn.kubeobject import KubeObject
from krmfn.result import exit_code
from packwise.cli.arguments import STDIN, UsageError
from packwise.cli.document import InputFile
from packwise.cli.input_paths import find_files, real
from packwise.cli.progress import tracked
from packwise.cli.read import decode, read_file
from packwise.cli.values import assigned
from packwise.findings.finding import bounded
from packwise.objects.index import READABLE
from packwise.select import Package
from packwise.settings import KIND
from packwise.validate.definitions import is_definition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.result import Result
    from packwise.cli.arguments import Named
    from packwise.cli.input_paths import InputPath

__all__ = ["COMMIT", "Inputs", "Sides", "error_result", "read_inputs", "read_sides"]

COMMIT = "git:"
"""What a baseline starts with that is a commit: `git:main`, `git:HEAD~1`, `git:v1.2`."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files in their order, what the pipeline is given of them, and what could not be read.

    With an error among `results` the package is not whole. `read` are all files, the configuration's and the
    baseline's too.
    """

    files: tuple[InputFile, ...]
    package: Package
    results: tuple[Result, ...]
    read: tuple[InputFile, ...]

    def text_of(self, name: str | None) -> str | None:
        """The text of the file of that name, of stdin for None; None for a file that was not read."""
        return next((file.text for file in self.read if file.path.name == name), None)


def read_inputs(named: Named, output: str | None = None, *, apart: bool = False) -> Inputs:
    """What `named` names. The folder `output` is not read where it stands within another.

    With `apart`, the entries of Lists are objects of their own, which no file is written from.

    Raises UsageError where something is not there, or does not go together.
    """
    _refuse_stdin_twice(named)
    reader = _Reader()
    files = reader.read(named.paths, output)
    before = None if named.baseline is None else _baseline_files(named.baseline, named.paths, reader)
    baseline = None if before is None else _taken_apart(before, reader)
    config = _carried(files) if named.config is None else _config(named.config, reader.read([named.config]), reader)
    crds = _definitions(named.crds, reader)
    items = _taken_apart(files, reader) if apart else _items(files)
    values = assigned(named.values)
    package = Package(items, config, baseline, crds, _foreign(files), _foreign(before or ()), values)
    return Inputs(tuple(files), package, tuple(reader.results), tuple(reader.files))


def error_result(error: FieldError) -> Result:
    """The result that reports `error`: a file or an object cannot be read, or an object has no written form."""
    result = error.to_result()
    return bounded(result._replace(tags={"rule": READABLE.name, **result.tags}))


@dataclass(frozen=True, slots=True)
class Sides:
    """What is compared: `before` and `after` are files, folders, `-`, `git:COMMIT` or `git:COMMIT:PATH`.

    A commit without a path means the path of the other side, or the current folder where both are commits.
    """

    before: str
    after: str
    config: str | None = None
    crds: tuple[str, ...] = ()


def read_sides(sides: Sides) -> tuple[Inputs, Inputs]:
    """Both sides, entries of Lists as objects of their own. The configuration of a commit is read from that commit.

    Raises UsageError where something is not there, or does not go together.
    """
    if [sides.before, sides.after, sides.config, *sides.crds].count(STDIN) > 1:
        raise UsageError('"-" must stand once: stdin can be read for one purpose only')
    shared = _Reader()
    crds = _definitions(sides.crds, shared)
    before, after = (
        _side(side, other, sides.config, crds)
        for side, other in ((sides.before, sides.after), (sides.after, sides.before))
    )
    return replace(before, results=(*shared.results, *before.results)), after


def _side(name: str, other: str, config: str | None, crds: tuple[KubeObject, ...]) -> Inputs:
    reader = _Reader()
    if not name.startswith(COMMIT):
        files = reader.read([name])
        chosen = None if config is None else _config(config, reader.read([config]), reader)
    else:
        commit, colon, path = name.removeprefix(COMMIT).partition(":")
        if not colon:
            path = "." if other.startswith(COMMIT) else other
        if path == STDIN or (colon and not path):
            raise UsageError(f'"{name}" must name a path too, as in git:main:clusters/west')
        files = reader.read_commit(commit, [path])
        if colon and not files:
            raise UsageError(f'"{path}" holds no YAML files in the commit "{commit}"')
        chosen = None if config is None else _config(config, reader.read_commit(commit, [config]), reader)
    carried = chosen if config is not None else _carried(files)
    items = _taken_apart(files, reader)
    package = Package(items, carried, None, crds, _foreign(files))
    return Inputs(tuple(files), package, tuple(reader.results), tuple(reader.files))


class _Reader:
    """Reads files, and keeps them and what is wrong with them."""

    __slots__ = ("files", "results")

    def __init__(self) -> None:
        self.files: list[InputFile] = []
        self.results: list[Result] = []

    def read(self, paths: Iterable[str], output: str | None = None) -> list[InputFile]:
        """Each file that `paths` name once, in their order."""
        paths_by_name: dict[str, InputPath] = {}
        for path in paths:
            named, results = find_files(path, output)
            self.results += results
            for file in named:
                paths_by_name.setdefault(STDIN if file.name is None else real(file.name), file)
        return self._kept([self._file(file) for file in tracked(list(paths_by_name.values()))])

    def read_commit(self, commit: str, paths: Iterable[str]) -> list[InputFile]:
        """Each file that `paths` named in a commit of git."""
        from packwise.cli.git import files_in_commit

        contents = {file: data for path in paths for file, data in files_in_commit(commit, path)}
        return self._kept([self._decoded(file, data) for file, data in contents.items()])

    def _kept(self, files: list[InputFile]) -> list[InputFile]:
        self.files += files
        for item in _items(files):
            try:
                _ = item.value
            except FieldError as error:
                self.results.append(error_result(error))
        return files

    def _file(self, path: InputPath) -> InputFile:
        """The file; one without documents where it cannot be read."""
        try:
            return read_file(path)
        except FieldError as error:
            self.results.append(error_result(error))
            return InputFile(path, ())

    def _decoded(self, path: InputPath, data: bytes) -> InputFile:
        try:
            return decode(data, path)
        except FieldError as error:
            self.results.append(error_result(error))
            return InputFile(path, ())


def _baseline_files(baseline: str, paths: tuple[str, ...], reader: _Reader) -> list[InputFile]:
    """The files of a folder, or a file; or, as `git:COMMIT`, what the inputs' own paths held in that commit."""
    if not baseline.startswith(COMMIT):
        return reader.read([baseline])
    if STDIN in paths:
        raise UsageError(f'--baseline "{baseline}" must go with files or folders: git does not know what stdin held')
    return reader.read_commit(baseline.removeprefix(COMMIT), paths)


def _taken_apart(files: Iterable[InputFile], reader: _Reader) -> tuple[KubeObject, ...]:
    """All objects, those of Lists too."""
    items = _items(files)
    # With an error nothing is rendered, and an item may have no value to look into.
    return items if exit_code(reader.results) else tuple([item for listed in items for item in _unlisted(listed)])


def _foreign(files: Iterable[InputFile]) -> tuple[KubeObject, ...]:
    return tuple([document for file in files for document in file.foreign])


def _items(files: Iterable[InputFile]) -> tuple[KubeObject, ...]:
    return tuple([item for file in files for item in file.items])


def _refuse_stdin_twice(named: Named) -> None:
    readers = [STDIN in named.paths, named.config == STDIN, named.baseline == STDIN, STDIN in named.crds]
    if sum(readers) > 1:
        raise UsageError('"-" must stand once: stdin can be read for one purpose only')


def _carried(files: Iterable[InputFile]) -> KubeObject | None:
    """The configuration that a client sends along in a ResourceList."""
    carried = [file.function_config for file in files if file.function_config is not None]
    if len(carried) > 1:
        places = " and ".join([str(config.location()) for config in carried[:2]])
        raise UsageError(f"there must be one functionConfig; got {len(carried)} ({places}): choose with --config")
    return carried[0] if carried else None


def _definitions(paths: tuple[str, ...], reader: _Reader) -> tuple[KubeObject, ...]:
    """The cluster's CRDs in files and folders, those of the kinds that count; none where one cannot be read."""
    items = _items(reader.read(paths))
    if not paths or exit_code(reader.results):
        return ()
    definitions = tuple([item for listed in items for item in _unlisted(listed) if is_definition(item)])
    if not definitions:
        listed_paths = ", ".join([f'"{path}"' for path in paths])
        raise UsageError(f"--crds {listed_paths} must hold the CRD of a kind that packwise reads or writes; got none")
    return definitions


def _unlisted(item: KubeObject) -> Iterator[KubeObject]:
    """The entries of a List, as kubectl prints several objects; anything else as it is."""
    source, entries = item.source, item.value.get("items")
    if item.value.get("kind") != "List" or not isinstance(entries, list):
        yield item
        return
    for index, entry in enumerate(entries):
        if isinstance(entry, dict):
            yield KubeObject.cut(source._replace(root=(*source.root, "items", index)), entry)


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
