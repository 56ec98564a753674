"""The files of one run: each read once, what cannot be read, and what is left out."""

from __future__ import annotations

import re
from pathlib import Path

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.result import exit_code
from packwise.cli.console import tracked
from packwise.cli.document import InputFile
from packwise.cli.input_paths import find_files
from packwise.cli.read import content_of, decode
from packwise.discovery import LeftOut, Reason
from packwise.findings.finding import bounded
from packwise.globs import Globs
from packwise.objects.index import READABLE
from packwise.objects.kinds import KINDS, POD, workloads_in
from packwise.settings.recognition import is_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.cli.input_paths import InputPath

    _Read = tuple[InputFile, FieldError | None]
    """A file, and why it cannot be read; it has no documents then."""

__all__ = ["Reader", "error_result", "has_own_errors", "is_readable", "items_of", "readable_items"]

_OWN = re.compile(
    "|".join([re.escape(kind.name) for kind in KINDS if kind is not POD] + ["TopologyRender", "grove.io/"])
)
"""Words of objects that packwise reads."""


def error_result(error: FieldError) -> Result:
    """The result that reports `error`: a file or an object cannot be read, or an object has no written form."""
    result = error.to_result()
    return bounded(result._replace(tags={"rule": READABLE.name, **result.tags}))


def items_of(files: Iterable[InputFile]) -> tuple[KubeObject, ...]:
    """The objects of `files`, in their order; those that cannot be read too."""
    return tuple(item for file in files for item in file.items)


def readable_items(file: InputFile) -> Iterator[KubeObject]:
    """The objects of `file` that can be read."""
    return filter(is_readable, file.items)


def is_readable(item: KubeObject) -> bool:
    """Whether the object's text is YAML, and a mapping."""
    try:
        _ = item.value
    except FieldError:
        return False
    return True


class Reader:
    """Reads files, and keeps them, what is wrong with them, and the names of what is left out and why."""

    __slots__ = ("_exclude", "_force_exclude", "files", "left_out", "results")

    def __init__(self, exclude: Iterable[str] = (), *, force_exclude: bool = False) -> None:
        self._exclude = tuple(exclude)
        self._force_exclude = force_exclude
        self.files: list[InputFile] = []
        self.left_out: list[tuple[str, LeftOut]] = []
        self.results: list[Result] = []

    def read(self, paths: Iterable[str], output: str | None = None) -> list[InputFile]:
        """Each file that `paths` name once, in their order; a file that a path names itself is never left out."""
        return self._kept([_read(path) for path in tracked(self._listed(self._named(paths, output)))])

    def _named(self, paths: Iterable[str], output: str | None) -> Iterable[InputPath]:
        paths_by_name: dict[str, InputPath] = {}
        for path in paths:
            named, results = find_files(path, output, self._exclude, force_exclude=self._force_exclude)
            self.results += results
            for file in named:
                key = file.identity
                before = paths_by_name.get(key)
                if before is None:
                    paths_by_name[key] = file
                elif file.is_named and before.left_out is not None:
                    paths_by_name[key] = before.as_named()
        return paths_by_name.values()

    def read_commit(self, commit: str, paths: Iterable[str]) -> list[InputFile]:
        """Each file that `paths` named in a commit of git."""
        from packwise.cli.git import files_in_commit

        return self.read_contents(
            {file: data for path in paths for file, data in files_in_commit(commit, path, self._exclude)}
        )

    def read_contents(self, contents: Mapping[InputPath, bytes | InputFile]) -> list[InputFile]:
        """Each file of which the content, or what was read of that, is at hand, in their order."""
        listed = [(path, contents[path]) for path in self._listed(contents)]
        return self._kept([_decoded(path, held) if isinstance(held, bytes) else (held, None) for path, held in listed])

    def _listed(self, paths: Iterable[InputPath]) -> list[InputPath]:
        """The paths to read; the others are kept as left out."""
        listed: list[InputPath] = []
        for path in paths:
            if path.left_out is None or path.left_out.reason.is_of_the_package:
                listed.append(path)
            else:
                self.left_out.append((str(path.name), path.left_out._replace(workloads=_workloads_at(path))))
        return listed

    def _kept(self, read: list[_Read]) -> list[InputFile]:
        excluded = _exclusions([file for file, _ in read])
        files: list[InputFile] = []
        for file, error in read:
            if self._is_excluded(file.path, excluded, file.text):
                continue
            files.append(file)
            self.results += [] if error is None else [error_result(error)]
            if file.left_out is not None:
                self.left_out.append((str(file.path.name), file.left_out))
            for item in file.items:
                try:
                    _ = item.value
                except FieldError as wrong:
                    self.results.append(error_result(_advised(file.path, wrong, item.source.text)))
        self.files += files
        return files

    def _is_excluded(self, path: InputPath, excluded: Iterable[tuple[str, str, Globs]], text: str) -> bool:
        """Whether a configuration excludes the file, which is kept as left out then."""
        by = None if path.is_named else _excluded_by(str(path.name), excluded)
        if by is not None:
            self.left_out.append((str(path.name), LeftOut(Reason.EXCLUDED, by, workloads_in(text))))
        return by is not None


def _workloads_at(path: InputPath) -> int:
    """How many workloads a file holds that is ignored or excluded; 0 for a folder, into which nobody looks."""
    is_copy = path.left_out is not None and path.left_out.reason is Reason.RENDERED
    if is_copy or path.at is None or not Path(path.at).is_file():
        return 0
    try:
        return workloads_in(content_of(path).decode("utf-8", "replace"))
    except FieldError:
        return 0


def _read(path: InputPath) -> _Read:
    """The file; one without documents where it cannot be read."""
    try:
        data = content_of(path)
    except FieldError as error:
        return InputFile(path, ()), error
    return _decoded(path, data)


def _decoded(path: InputPath, data: bytes) -> _Read:
    try:
        return decode(data, path), None
    except FieldError as error:
        return InputFile(path, ()), _advised(path, error, data.decode("utf-8", "replace"))


def _advised(path: InputPath, error: FieldError, text: str) -> FieldError:
    """The error, with what to do where `text` does not show that it is of an object that packwise reads."""
    if path.is_named or _OWN.search(text):
        return error
    return FieldError(error.id, error.path, error.message + _ADVICE, error.location)


_ADVICE = "; --exclude GLOB leaves out a file of another tool"


def _is_foreign(result: Result) -> bool:
    """Whether it is about a file in a folder that nobody can read, and that shows no object of packwise's."""
    return result.message.endswith(_ADVICE)


def has_own_errors(results: Iterable[Result]) -> bool:
    """Whether there is an error beside those of files of other tools, which keep nothing from being judged."""
    return bool(exit_code([result for result in results if not _is_foreign(result)]))


def _exclusions(files: Iterable[InputFile]) -> list[tuple[str, str, Globs]]:
    """What TopologyRenders exclude: the folder, the name of the TopologyRender's file, the globs."""
    exclusions: list[tuple[str, str, Globs]] = []
    for file in files:
        for item in readable_items(file) if file.path.name is not None else ():
            patterns = item.get(("spec", "exclude")) if is_settings(item) else None
            if isinstance(patterns, list):
                texts = [pattern for pattern in patterns if isinstance(pattern, str)]
                name = str(file.path.name)
                exclusions.append((Path(name).parent.as_posix(), name, Globs.read(texts)))
    return exclusions


def _excluded_by(name: str, exclusions: Iterable[tuple[str, str, Globs]]) -> str | None:
    for folder, by, globs in exclusions:
        below = name if folder == "." else name.removeprefix(f"{folder}/")
        # A name that the folder does not start is outside it.
        if (folder == "." or below != name) and globs.take(below):
            return by
    return None
