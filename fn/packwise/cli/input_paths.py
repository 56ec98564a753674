"""The input files that a path names, and checks of paths on disk."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from krmfn.result import Result, ResultFile, exit_code
from packwise.cli.arguments import STDIN, UsageError
from packwise.cli.lock import JOURNAL, refuse_interrupted
from packwise.findings.finding import Rule, Severity
from packwise.objects.index import READABLE

__all__ = ["RULES", "SUFFIXES", "InputPath", "contains", "exists", "find_files", "real"]

LINK = Rule("outside-link", "A link that leads out of the named folder is not read.", "product.md", Severity.WARNING)
RULES = (LINK,)
"""Rules of the files that are named."""

SUFFIXES = (".yaml", ".yml", ".json")
"""How the files of a folder end that are read."""


@dataclass(frozen=True, slots=True)
class InputPath:
    """A file to read: `name` is what the user calls it, `target` its place below an output folder.

    Both are None for stdin.
    """

    name: str | None = None
    target: str | None = None


def find_files(path: str, output: str | None = None) -> tuple[list[InputPath], list[Result]]:
    """The files that `path` names, in order of their paths, and the findings about links and folders.

    Of a folder, hidden files, the folder `output` within it and links that lead out of it are left out. Raises
    UsageError where nothing is there, or no YAML; InterruptedChangeError where a change of its files was interrupted.
    """
    if path == STDIN:
        return [InputPath()], []
    if not path or not exists(path):
        raise UsageError(f'"{path}" does not exist')
    start = Path(real(path))
    for folder in start.parents:
        refuse_interrupted(folder)
    if not start.is_dir():
        return [InputPath(Path(path).as_posix(), Path(path).name)], []
    walk = _Walk(Path(path), None if output is None else real(output))
    if not walk.files and not exit_code(walk.results):
        raise UsageError(f'no YAML files in "{path}"; it must hold a *.yaml, *.yml or *.json that is not hidden')
    targets = sorted(file.relative_to(path).as_posix() for file in walk.files.values())
    return [InputPath((Path(path) / target).as_posix(), target) for target in targets], walk.results


def real(path: str | Path) -> str:
    """The absolute path without links; one that does not exist yet has one too."""
    return os.path.realpath(path)


def contains(folder: str, path: str) -> bool:
    """Whether `path` is `folder` or below it; both as `real` gives them."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def exists(path: str) -> bool:
    """Whether there is something at `path`. Raises UsageError where the system does not say."""
    try:
        return Path(path).exists()
    except OSError as error:
        raise UsageError(f'"{path}" must be readable; got "{error.strerror}"') from None


class _Walk:
    """A walk through a folder that meets every file once: under its own name before that of a link."""

    __slots__ = ("_links", "_output", "_root", "_walked", "files", "results")

    def __init__(self, root: Path, output: str | None) -> None:
        self._root = real(root)
        inside = output is not None and output != self._root and contains(self._root, output)
        self._output = output if inside else None
        self._walked = set[str]()
        self._links = deque[Path]()
        self.files = dict[str, Path]()
        self.results = list[Result]()
        self._walk(root)
        while self._links:
            self._follow(self._links.popleft())

    def _walk(self, root: Path) -> None:
        folders = [root]
        while folders:
            folder = folders.pop()
            at = real(folder)
            if at in self._walked or (self._output is not None and contains(self._output, at)):
                continue
            self._walked.add(at)
            try:
                folders += self._folders_in(folder)
            except OSError as error:
                message = f'must be readable; got "{error.strerror}"'
                file = ResultFile(folder.as_posix())
                self.results.append(Result(message, file=file, tags={"rule": READABLE.name}))

    def _folders_in(self, folder: Path) -> list[Path]:
        """The folders directly in `folder`; its files and links are kept."""
        folders: list[Path] = []
        for entry in sorted(folder.iterdir()):
            if entry.name == JOURNAL:
                refuse_interrupted(Path(real(folder)))
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                self._links.append(entry)
            elif entry.is_dir():
                folders.append(entry)
            elif entry.suffix in SUFFIXES and entry.is_file():
                self.files[real(entry)] = entry
        return folders

    def _follow(self, link: Path) -> None:
        target = real(link)
        is_folder = link.is_dir()
        if not is_folder and link.suffix not in SUFFIXES:
            return
        if not contains(self._root, target):
            message = "is a link that leads out of the folder; it is not read: name its target, or copy it"
            file = ResultFile(link.as_posix())
            self.results.append(Result(message, LINK.severity, file=file, tags={"rule": LINK.name}))
        elif is_folder:
            self._walk(link)
        elif link.is_file() or not link.exists():
            self.files.setdefault(target, link)
