"""The input files that a path names, and checks of paths on disk."""

from __future__ import annotations

import os
import re
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Result, ResultFile, exit_code
from krmfn.run import MAX_INPUT
from packwise.cli.arguments import STDIN, UsageError
from packwise.cli.lock import JOURNAL, refuse_interrupted
from packwise.discovery import (
    GITIGNORE,
    LANDMARKS,
    Ignored,
    Landmarks,
    LeftOut,
    Reason,
    globs,
    ignored_files,
    ignored_from,
)
from packwise.findings.finding import Rule, Severity
from packwise.objects.index import READABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pathspec import GitIgnoreSpec

__all__ = ["RULES", "SUFFIXES", "InputPath", "contains", "exists", "find_files", "landmarks_above", "real", "top_of"]

LINK = Rule("outside-link", "A link that leads out of the named folder is not read.", "product.md", Severity.WARNING)
RULES = (LINK,)
"""Rules of the files that are named."""

_REVISION = re.compile(r"HEAD([~^@].*)?|main|master|v\d.*|[0-9a-f]{7,40}|.*[~^]\d*")
"""Words that are commits rather than paths."""

SUFFIXES = (".yaml", ".yml", ".json")
"""How the files of a folder end that are read."""


@dataclass(frozen=True, slots=True)
class InputPath:
    """A file to read: `name` is what the user calls it, `target` its place below an output folder.

    Both are None for stdin. `left_out` is why a file of a folder is not judged, as far as paths tell; a file that the
    user named `is_named`, and always read.
    """

    name: str | None = None
    target: str | None = None
    left_out: LeftOut | None = None
    is_named: bool = field(default=True, compare=False)

    def as_named(self) -> InputPath:
        """The path of the same file where the user named it itself."""
        return InputPath(self.name, self.target)


def find_files(
    path: str, output: str | None = None, exclude: Iterable[str] = (), *, force_exclude: bool = False
) -> tuple[list[InputPath], list[Result]]:
    """The files that `path` names, in order of their paths, and the findings about links and folders.

    Of a folder, hidden files, the folder `output` within it and links that lead out of it are not listed; an ignored or
    excluded folder is listed in the place of its files. Raises UsageError where nothing is there, or no YAML;
    InterruptedChangeError where a change of its files was interrupted. With `force_exclude`, a file is left out as one
    of a folder is.
    """
    if path == STDIN:
        return [InputPath()], []
    if not path or not exists(path):
        raise UsageError(f'"{path}" does not exist{_meant(path)}')
    start = Path(real(path))
    for folder in start.parents:
        refuse_interrupted(folder)
    if not start.is_dir():
        named = InputPath(Path(path).as_posix(), Path(path).name)
        return [_as_listed(named, str(start), globs(exclude)) if force_exclude else named], []
    walk = _Walk(Path(path), None if output is None else real(output), globs(exclude))
    if not walk.files and not exit_code(walk.results):
        raise UsageError(f'no YAML files in "{path}"; it must hold a *.yaml, *.yml or *.json that is not hidden')
    by_target = {file.relative_to(path).as_posix(): walk.left_out_of(at) for at, file in walk.files.items()}
    by_target |= {entry.relative_to(path).as_posix(): left_out for entry, left_out in walk.pruned.items()}
    return [
        InputPath((Path(path) / target).as_posix(), target, by_target[target], is_named=False)
        for target in sorted(by_target)
    ], walk.results


def _as_listed(path: InputPath, at: str, excluded: GitIgnoreSpec) -> InputPath:
    """A named file as its folder lists it, by what stands in the folders above it; `at` is its real path."""
    top = top_of(str(Path(at).parent))
    below = _below(top, at)
    texts, ignoring = landmarks_above(at, top)
    by = ignored_files([below], ignoring, "").get(below)
    if by is not None:
        left_out = LeftOut(Reason.IGNORED, by)
    elif excluded.match_file(str(path.name)):
        left_out = LeftOut(Reason.EXCLUDED, "--exclude")
    else:
        left_out = Landmarks.of(texts).left_out(below)
    return InputPath(path.name, path.target, left_out, is_named=False)


def _meant(path: str) -> str:
    """`; did you mean …?` for a path that does not exist: a commit in the place of a path, or a slip of the pen."""
    if path.startswith("git:"):
        return f'; did you mean "--baseline {path}", beside the path that is checked?'
    from packwise.wording import closest

    try:
        names = sorted(entry.name for entry in Path(path).parent.iterdir() if not entry.name.startswith("."))
    except OSError:
        names = []
    near = closest(Path(path).name, names)
    if near:
        folder = Path(path).parent.as_posix()
        return near if folder == "." else near.replace('"', f'"{folder}/', 1)
    if "/" not in path and _REVISION.fullmatch(path):
        return f'; did you mean "git:{path}"?'
    return ""


def top_of(start: str) -> str:
    """The root of the repository that the folder `start` is in, else `start`; both as `real` gives them."""
    folder = Path(start)
    return next((str(above) for above in (folder, *folder.parents) if os.path.lexists(above / ".git")), start)


def landmarks_above(start: str, top: str) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of landmarks and of `.gitignore` files in the folders from `top` to above `start`.

    Landmarks are by path, `.gitignore` files by folder, both below `top`.
    """
    landmarks: dict[str, str] = {}
    ignoring: dict[str, str] = {}
    for folder in Path(start).parents:
        if not contains(top, str(folder)):
            break
        for name in (GITIGNORE, *LANDMARKS):
            text = landmark_text(folder / name)
            if text is None:
                continue
            below = _below(top, str(folder))
            if name == GITIGNORE:
                ignoring[below] = text
            else:
                landmarks[_joined(below, name)] = text
    return landmarks, ignoring


def landmark_text(file: Path) -> str | None:
    """The text of a file that says what others are; None where there is none that can be read."""
    try:
        if file.is_symlink() or not file.is_file():
            return None
        with file.open("rb") as opened:
            return opened.read(MAX_INPUT).decode("utf-8", "replace")
    except OSError:
        return None


def _below(top: str, path: str) -> str:
    """`path`, slash-separated, below `top`; "" for `top` itself."""
    below = Path(path).relative_to(top).as_posix()
    return "" if below == "." else below


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


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
    """A walk through a folder that meets every file once: under its own name before that of a link.

    `pruned` are the ignored and excluded entries, which are not looked into.
    """

    __slots__ = (
        "_excluded", "_landmarks", "_links", "_output", "_root", "_start", "_texts", "_top", "_walked", "files",
        "pruned", "results",
    )  # fmt: skip

    def __init__(self, start: Path, output: str | None, excluded: GitIgnoreSpec) -> None:
        self._start = start
        self._root = real(start)
        self._top = top_of(self._root)
        self._excluded = excluded
        inside = output is not None and output != self._root and contains(self._root, output)
        self._output = output if inside else None
        self._walked = set[str]()
        self._links = deque[Path]()
        self._texts, ignoring = landmarks_above(self._root, self._top)
        self._landmarks: Landmarks | None = None
        self.files = dict[str, Path]()
        self.pruned = dict[Path, LeftOut]()
        self.results = list[Result]()
        self._walk(start, ignored_from(ignoring, _below(self._top, self._root)))
        while self._links:
            self._follow(self._links.popleft())

    def left_out_of(self, file: str) -> LeftOut | None:
        """Why the file, by its real path, is not judged; None where paths do not say so."""
        if self._landmarks is None:
            self._landmarks = Landmarks.of(self._texts, _below(self._top, self._root))
        return self._landmarks.left_out(_below(self._top, file))

    def _walk(self, root: Path, ignored: Ignored) -> None:
        folders = [(root, ignored)]
        while folders:
            folder, rules = folders.pop()
            at = real(folder)
            if at in self._walked or (self._output is not None and contains(self._output, at)):
                continue
            self._walked.add(at)
            try:
                folders += self._folders_in(folder, at, rules)
            except OSError as error:
                message = f'must be readable; got "{error.strerror}"'
                file = ResultFile(folder.as_posix())
                self.results.append(Result(message, file=file, tags={"rule": READABLE.name}))

    def _folders_in(self, folder: Path, at: str, rules: Ignored) -> list[tuple[Path, Ignored]]:
        """The folders directly in `folder`; its files and links are kept."""
        below = _below(self._top, at)
        entries = sorted(folder.iterdir())
        rules = self._with_landmarks(entries, below, rules)
        folders: list[tuple[Path, Ignored]] = []
        for entry in entries:
            if entry.name == JOURNAL:
                refuse_interrupted(Path(real(folder)))
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                self._links.append(entry)
                continue
            is_folder = entry.is_dir()
            is_file = not is_folder and entry.suffix in SUFFIXES and entry.is_file()
            if (is_folder or is_file) and not self._prune(entry, _joined(below, entry.name), rules, is_folder):
                if is_folder:
                    folders.append((entry, rules))
                else:
                    self.files[real(entry)] = entry
        return folders

    def _with_landmarks(self, entries: list[Path], below: str, rules: Ignored) -> Ignored:
        """Keeps the texts of the landmarks in a folder; returns `rules` with its `.gitignore`."""
        for entry in entries:
            if entry.name == GITIGNORE or entry.name in LANDMARKS:
                text = landmark_text(entry)
                if text is not None and entry.name == GITIGNORE:
                    rules = rules.within(below, text)
                elif text is not None:
                    self._texts[_joined(below, entry.name)] = text
        return rules

    def _prune(self, entry: Path, below: str, rules: Ignored, is_folder: bool) -> bool:
        by = rules.by(below, is_folder=is_folder)
        if by is not None:
            self.pruned[entry] = LeftOut(Reason.IGNORED, by)
        elif self._is_excluded(entry, is_folder=is_folder):
            self.pruned[entry] = LeftOut(Reason.EXCLUDED, "--exclude")
        return entry in self.pruned

    def _is_excluded(self, entry: Path, *, is_folder: bool) -> bool:
        slash = "/" if is_folder else ""
        names = (entry.as_posix(), entry.relative_to(self._start).as_posix())
        return any(self._excluded.match_file(f"{name}{slash}") for name in names)

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
            self._walk(link, Ignored())
        elif link.is_file() or not link.exists():
            self.files.setdefault(target, link)
