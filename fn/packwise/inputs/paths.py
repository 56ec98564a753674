"""The input files that a path names, and functions for paths on disk."""

from __future__ import annotations

import os
import re
from collections import deque
from pathlib import Path

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Result, ResultFile, Severity, exit_code
from packwise.discovery import (
    GITIGNORE,
    LANDMARKS,
    Ignored,
    Landmarks,
    Reason,
    SkipReason,
    ignored_files,
    ignores_above,
)
from packwise.findings import Rule
from packwise.globs import Globs
from packwise.inputs.request import STDIN, UsageError
from packwise.objects.index import READABLE
from packwise.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable


LINK = Rule(
    "outside-link",
    "A symbolic link leads out of the folder, or to a missing file.",
    "spec/packwise.md#1.6",
    Severity.WARNING,
)
RULES = (LINK,)
"""Rules of the files on the command line."""

_URL = r"[A-Za-z][A-Za-z0-9+.-]{1,20}://"
_WILDCARDS = frozenset("*?[")
_REVISION = r"HEAD([~^@].*)?|main|master|v\d.*|[0-9a-f]{7,40}|.*[~^]\d*"
"""Words that name commits, not paths."""

LIVE_FOLDER, LIVE_FILE = "packwise-cluster-", "cluster.json"
"""The prefix of the temporary folder for the objects of a cluster, and the name of the file in it."""

SUFFIXES = (".yaml", ".yml", ".json")
"""The suffixes of the files that packwise reads in a folder."""


class InputPath(Record):
    """A file to read. `name` is the user's name for it, and `target` is its place below an output folder.

    Both are None for stdin. `skip_reason` is the reason to skip a file of a folder, as far as paths show it. A file
    `is_named` if the user passed it, and is then always read. `at` is its real path, if a walk through its folder found
    it.
    """

    name: str | None = None
    target: str | None = None
    skip_reason: SkipReason | None = None
    is_named: bool = True
    at: str | None = None

    def __eq__(self, other: object) -> bool:
        """Return True if the other file has the same name, target and reason. How it was found does not matter."""
        return isinstance(other, InputPath) and self._key == other._key

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return self.name, self.target, self.skip_reason

    @property
    def real_path(self) -> str:
        """Return the real path of the file, which identifies the file, or "-" for stdin."""
        if self.at is not None:
            return self.at
        return STDIN if self.name is None else real(self.name)

    def as_named(self) -> InputPath:
        """Return the path of the same file as if the user had passed it."""
        return InputPath(self.name, self.target, at=self.at)


def find_files(
    path: str, output: str | None = None, exclude: Iterable[str] = (), *, force_exclude: bool = False
) -> tuple[list[InputPath], list[Result]]:
    """Return the files at `path` sorted by path, and the findings about links and folders.

    Hidden files, the folder `output` and links out of the folder are not listed. An ignored or excluded folder is
    listed instead of its files. With `force_exclude`, exclusions also apply to a named file. Raise UsageError if the
    path is missing or has no YAML files.
    """
    if path == STDIN:
        return [InputPath()], []
    if not path or not exists(path):
        raise UsageError(f'"{path}" does not exist{_advice(path)}')
    start = Path(real(path))
    if not start.is_dir():
        name = name_of_path(path)
        named = InputPath(Path(name).as_posix(), Path(path).name, at=None if name == path else str(start))
        return [_as_listed(named, str(start), _exclusions(exclude)) if force_exclude else named], []
    walk = _Walk(Path(path), str(start), None if output is None else real(output), _exclusions(exclude))
    if not walk.files and not exit_code(walk.results):
        raise UsageError(
            f'"{path}" has no YAML files; packwise reads *.yaml, *.yml and *.json files that are not hidden'
        )
    by_target = {target: (at, walk.skip_reason_of(at)) for at, target in walk.files.items()} | walk.pruned
    return [
        InputPath(walk.name_of(target), target, reason, is_named=False, at=at)
        for target, (at, reason) in sorted(by_target.items())
    ], walk.results


def name_of_path(path: str) -> str:
    """Return the user's name of a path. A file with the objects of a cluster has the name "the cluster"."""
    at = Path(path)
    is_live = at.name == LIVE_FILE and at.parent.name.startswith(LIVE_FOLDER)
    return "the cluster" if is_live else path


def names_files(path: str) -> bool:
    """Return True if `path` names something to read."""
    try:
        return bool(find_files(path))
    except UsageError:
        return False


def _exclusions(patterns: Iterable[str]) -> Globs | None:
    """Return the globs in `patterns`. Return None if there are none."""
    listed = tuple(patterns)
    return Globs.read(listed) if listed else None


def _as_listed(path: InputPath, at: str, excluded: Globs | None) -> InputPath:
    """Return a named file as if its folder listed it: with a reason to skip it, if it has one.

    `at` is its real path.
    """
    top = top_of(str(Path(at).parent))
    below = _path_below(top, at)
    texts, ignoring = landmarks_above(at, top)
    by = ignored_files([below], ignoring, "").get(below)
    if by is not None:
        reason = SkipReason(Reason.IGNORED, by)
    elif excluded is not None and excluded.take(str(path.name)):
        reason = SkipReason(Reason.EXCLUDED, "--exclude")
    else:
        reason = Landmarks.of(texts).reason_to_skip(below)
    return InputPath(path.name, path.target, reason, is_named=False)


def _advice(path: str) -> str:
    """Return the advice for a missing path: a link, a URL, a glob that matched no file, a commit, or a typo."""
    link, folder = Path(path), _fixed_folder(path)
    if link.is_symlink():
        return f'; it is a link to "{link.readlink()}"'
    if re.match(_URL, path):
        return f"; packwise does not open URLs: pass the file on stdin, curl -fsSL {path} | packwise COMMAND -"
    if folder is not None and Path(folder).is_dir():
        return f'; no file matches this glob: pass the folder, "{folder}"'
    if path.startswith("git:"):
        return f'; did you mean "--baseline {path}", together with the path to check?'
    return _nearest_text(path)


def _nearest_text(path: str) -> str:
    """Return `; did you mean …?` if a missing path has a typo or is the name of a commit, otherwise ""."""
    try:
        names = sorted(entry.name for entry in Path(path).parent.iterdir() if not entry.name.startswith("."))
    except OSError:
        names = []
    near = did_you_mean(Path(path).name, names)
    if near:
        folder = Path(path).parent.as_posix()
        return near if folder == "." else near.replace('"', f'"{folder}/', 1)
    if "/" not in path and re.fullmatch(_REVISION, path):
        return f'; did you mean "git:{path}"?'
    return ""


def _fixed_folder(path: str) -> str | None:
    """Return the folder above the first wildcard of a glob. Return None if the path has no wildcard."""
    parts = path.split("/")
    at = next((at for at, part in enumerate(parts) if not _WILDCARDS.isdisjoint(part)), None)
    return None if at is None else "/".join(parts[:at]) or "."


def top_of(start: str) -> str:
    """Return the top of the repository around the folder `start`, otherwise `start`. Both are real paths."""
    folder = Path(start)
    return next((str(above) for above in (folder, *folder.parents) if os.path.lexists(above / ".git")), start)


def landmarks_above(start: str, top: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the texts of landmarks and of `.gitignore` files in the folders from `top` to above `start`.

    Landmarks are keyed by path and `.gitignore` files by folder, both relative to `top`.
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
            below = _path_below(top, str(folder))
            if name == GITIGNORE:
                ignoring[below] = text
            else:
                landmarks[_join(below, name)] = text
    return landmarks, ignoring


_MAX_LANDMARK = 16 * 1024 * 1024


def landmark_text(file: Path) -> str | None:
    """Return the text of a landmark file. Return None if it is missing or unreadable.

    Raise UsageError if it is longer than 16 MiB, because a part of it could mislead.
    """
    try:
        if file.is_symlink() or not file.is_file():
            return None
        with file.open("rb") as opened:
            data = opened.read(_MAX_LANDMARK + 1)
    except OSError:
        return None
    if len(data) > _MAX_LANDMARK:
        raise UsageError(f'"{file}" must be at most {_MAX_LANDMARK >> 20} MiB; it selects the files to read')
    return data.decode("utf-8", "replace")


def _path_below(top: str, path: str) -> str:
    """Return `path` relative to `top` with slashes, or "" for `top` itself. Both must be real paths."""
    return path[len(top.rstrip(os.sep)) + 1 :].replace(os.sep, "/")


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def real(path: str | Path) -> str:
    """Return the absolute path without links. The file need not exist."""
    return os.path.realpath(path)


def contains(folder: str, path: str) -> bool:
    """Return True if `path` is `folder` or below it. Both must be real paths."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def from_top(path: str, top: str) -> str:
    """Return the path of a file relative to `top`, with slashes, even if the file is outside.

    A fleet keys its files so.
    """
    at = real(path)
    try:
        return Path(os.path.relpath(at, top)).as_posix()
    except ValueError:
        # The path is on another drive.
        return Path(at).as_posix()


def folder_of(path: str) -> str:
    """Return the folder of `path`, a real path."""
    return os.path.dirname(path)  # noqa: PTH120 (takes a fifth of pathlib's time, for each file)


def exists(path: str) -> bool:
    """Return True if `path` exists. Raise UsageError if the system cannot look it up."""
    try:
        return Path(path).exists()
    except OSError as error:
        raise UsageError(f'cannot read "{path}": {error.strerror}') from None


class _Walk:
    """A walk through a folder that lists every file once. If a file has several names, its own name counts, not a
    link's.

    `files` maps real paths to paths below the folder. `pruned` maps ignored and excluded entries, which are not
    searched, to their real path and the reason. Only links are resolved, because all other entries are below the real
    path of their folder.
    """

    __slots__ = (
        "_excluded", "_landmarks", "_links", "_name", "_output", "_prefix", "_root", "_start", "_texts", "_top",
        "_walked", "files", "pruned", "results",
    )  # fmt: skip

    def __init__(self, start: Path, root: str, output: str | None, excluded: Globs | None) -> None:
        self._start = start
        self._name = start.as_posix()
        self._prefix = "" if self._name == "." else f"{self._name.rstrip('/')}/"
        self._root = root
        self._top = top_of(self._root)
        self._excluded = excluded
        inside = output is not None and output != self._root and contains(self._root, output)
        self._output = output if inside else None
        self._walked = set[str]()
        self._links = deque[str]()
        self._texts, ignoring = landmarks_above(self._root, self._top)
        self._landmarks: Landmarks | None = None
        self.files = dict[str, str]()
        self.pruned = dict[str, tuple[str, SkipReason]]()
        self.results = list[Result]()
        self._walk("", self._root, ignores_above(ignoring, _path_below(self._top, self._root)))
        while self._links:
            self._follow(self._links.popleft())

    def name_of(self, target: str) -> str:
        """Return the user's name of the path `target` below the folder."""
        return self._prefix + target if target else self._name

    def skip_reason_of(self, file: str) -> SkipReason | None:
        """Return the reason to skip the file with this real path. Return None if its path shows no reason."""
        if self._landmarks is None:
            self._landmarks = Landmarks.of(self._texts, _path_below(self._top, self._root))
        return self._landmarks.reason_to_skip(_path_below(self._top, file))

    def _walk(self, root: str, real_root: str, ignored: Ignored) -> None:
        folders = [(root, real_root, ignored)]
        while folders:
            folder, at, rules = folders.pop()
            if at in self._walked or (self._output is not None and contains(self._output, at)):
                continue
            self._walked.add(at)
            try:
                folders += self._folders_in(folder, at, rules)
            except OSError as error:
                message = f"cannot read the file: {error.strerror}"
                file = ResultFile(self.name_of(folder))
                self.results.append(Result(message, file=file, tags={"rule": READABLE.name}))

    def _folders_in(self, folder: str, at: str, rules: Ignored) -> list[tuple[str, str, Ignored]]:
        """Return the folders directly in `folder`, at the real path `at`. Record its files and links."""
        below = _path_below(self._top, at)
        with os.scandir(self._start / folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
        rules = self._with_landmarks(entries, below, rules)
        inside = at.rstrip(os.sep) + os.sep
        folders: list[tuple[str, str, Ignored]] = []
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            path = _join(folder, name)
            if entry.is_symlink():
                self._links.append(path)
                continue
            is_folder = entry.is_dir()
            is_file = not is_folder and name.endswith(SUFFIXES) and entry.is_file()
            if not is_folder and not is_file:
                continue
            if self._is_pruned(path, inside + name, _join(below, name), rules, is_folder=is_folder):
                continue
            if is_folder:
                folders.append((path, inside + name, rules))
            else:
                self.files[inside + name] = path
        return folders

    def _with_landmarks(self, entries: Iterable[os.DirEntry[str]], below: str, rules: Ignored) -> Ignored:
        """Record the texts of the landmarks in a folder, and return `rules` with its `.gitignore`."""
        for entry in entries:
            if entry.name == GITIGNORE or entry.name in LANDMARKS:
                text = landmark_text(Path(entry.path))
                if text is not None and entry.name == GITIGNORE:
                    rules = rules.with_gitignore(below, text)
                elif text is not None:
                    self._texts[_join(below, entry.name)] = text
        return rules

    def _is_pruned(self, path: str, at: str, below: str, rules: Ignored, *, is_folder: bool) -> bool:
        """Return True if the entry is ignored or excluded, and record the reason."""
        by = rules.ignoring_file(below, is_folder=is_folder)
        if by is not None:
            self.pruned[path] = at, SkipReason(Reason.IGNORED, by)
        elif self._is_excluded(path, is_folder=is_folder):
            self.pruned[path] = at, SkipReason(Reason.EXCLUDED, "--exclude")
        else:
            return False
        return True

    def _is_excluded(self, path: str, *, is_folder: bool) -> bool:
        if self._excluded is None:
            return False
        return any(self._excluded.take(name, is_folder=is_folder) for name in (self.name_of(path), path))

    def _follow(self, path: str) -> None:
        link = self._start / path
        target = real(link)
        is_folder = link.is_dir()
        if not is_folder and link.suffix not in SUFFIXES:
            return
        if not link.exists():
            self._warn_of_link(
                path, f'is a link to "{link.readlink()}", which does not exist; restore the file, or remove the link'
            )
        elif not contains(self._root, target):
            self._warn_of_link(
                path,
                "packwise does not follow this link, because it leads out of the folder; pass its target, or copy it",
            )
        elif is_folder:
            self._walk(path, target, Ignored())
        elif link.is_file():
            self.files.setdefault(target, path)

    def _warn_of_link(self, path: str, message: str) -> None:
        file = ResultFile(self.name_of(path))
        self.results.append(Result(message, LINK.severity, file=file, tags={"rule": LINK.name}))
