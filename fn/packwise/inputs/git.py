"""Files in a commit, read through git itself. The checkout and the index are not touched.

The repository may be hostile: docs/explanation/security.md lists the programs that must not run, and the protection.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from contextlib import suppress
from hashlib import sha1, sha256
from pathlib import Path, PurePosixPath

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.run import MAX_INPUT
from packwise.discovery import GITIGNORE, LANDMARKS, Landmarks, Reason, SkipReason, ignored_files
from packwise.globs import Globs
from packwise.inputs.paths import SUFFIXES, InputPath, contains, real
from packwise.inputs.request import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OPTIONS = (
    "--no-pager",
    "--no-optional-locks",
    "--literal-pathspecs",
    # Ignore a folder that merely contains HEAD, objects and refs, because a commit can create one.
    "-c",
    "safe.bareRepository=explicit",
    # Fetch nothing. Settings for one protocol override this one, and the variable below overrides both.
    "-c",
    "protocol.allow=never",
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
)

_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    # Read a commit by its hash, and ignore the repository's replacements.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": f"{os.devnull}/none",
    # packwise quotes git's messages, so they are always in English.
    "LC_ALL": "C",
}


_TOO_LARGE = f"must be at most {MAX_INPUT >> 20} MiB; split it into smaller files"

_WHOLE = 'fetch-depth: 0 on GitHub, GIT_DEPTH: "0" on GitLab'
"""The settings with which a checkout in CI has all commits."""


class Commit:
    """The files of a commit by path. `blobs` has the blob ID of each file, and `links` of each link's target.

    `modules` maps the folders of submodules to their commits. All reads use one process of git that lives until
    `close`. Raise UsageError if git, the repository or the commit is missing.
    """

    def __init__(self, commit: str, path: str) -> None:
        self.name = commit
        at = Path(path)
        self.top = _top_folder(_nearest_folder(at), path)
        files, modules, links = _tree(self.top, _commit(self.top, commit), [])
        self.blobs = {str(entry.path): entry.blob for entry in files}
        self.modules = {str(entry.path): entry.blob for entry in modules}
        self.links = {str(entry.path): entry.blob for entry in links}
        self._reader: subprocess.Popen[bytes] | None = None

    def content(self, blob: str) -> bytes:
        """Return the content with this blob ID. Raise UsageError if git does not have it."""
        if self._reader is None:
            self._reader = _start(self.top, "cat-file", "--batch")
        names, contents = self._reader.stdin, self._reader.stdout
        if names is None or contents is None:
            raise UsageError("git has no stdin or stdout")
        with suppress(BrokenPipeError):
            names.write(f"{blob}\n".encode())
            names.flush()
        size = contents.readline().rstrip(b"\n").rsplit(b" ", 1)[-1]
        if not size.isdigit():
            raise UsageError(_missing_objects_text(self.name, "."))
        if int(size) > MAX_INPUT:
            raise UsageError(f'"{blob}" in "git:{self.name}" {_TOO_LARGE}')
        return contents.read(int(size) + 1)[:-1]

    def close(self) -> None:
        """End the process of git."""
        if self._reader is not None:
            self._reader.kill()
            self._reader.communicate()


def remote_urls(folder: str) -> list[str]:
    """Return the URLs of the remotes of the repository around `folder`. Return an empty list if git names none."""
    try:
        output = _git(
            _top_folder(Path(folder), folder), "config", "--local", "--null", "--get-regexp", r"^remote\..*\.url$"
        )
    except UsageError:
        return []
    return [entry.partition("\n")[2] for entry in output.decode("utf-8", "replace").split("\0")[:-1]]


def checkout_names(folder: str) -> list[str]:
    """Return the names of the checkout: its branch, its commit and its tags. Return an empty list if git names none."""
    try:
        top = _top_folder(Path(folder), folder)
        branch = _git(top, "symbolic-ref", "--quiet", "--short", "HEAD").decode("utf-8", "replace").split()
    except UsageError:
        branch = []
    try:
        commit = _git(_top_folder(Path(folder), folder), "rev-parse", "--verify", "--quiet", "HEAD").decode().split()
        tags = _git(_top_folder(Path(folder), folder), "tag", "--points-at", "HEAD").decode("utf-8", "replace").split()
    except UsageError:
        commit, tags = [], []
    return [*branch, *commit, *tags]


class _GitError(UsageError):
    """Raised if a command of git fails."""


class _Entry(Record):
    """A file in a commit: its path below the top of the work tree and its blob ID."""

    path: PurePosixPath
    blob: str


def work_tree(path: str) -> str:
    """Return the top of the work tree around `path`, which need not exist.

    Raise UsageError if there is no work tree.
    """
    return str(_top_folder(_nearest_folder(Path(path)), path))


def merge_bases(commit: str, path: str) -> list[str]:
    """Return the merge bases of `commit` and the checkout around `path`. There are several only if merges cross.

    Raise UsageError if git, the repository, the commit or a common ancestor is missing.
    """
    top = _top_folder(_nearest_folder(Path(path)), path)
    revision, head = _commit(top, commit), _commit(top, "HEAD")
    try:
        return _git(top, "merge-base", "--all", revision, head).decode().split()
    except _GitError:
        raise UsageError(
            f'"{commit}" and the checked-out commit have no common ancestor here; in CI, fetch the whole history '
            f"({_WHOLE})"
        ) from None


def files_in_commit(commit: str, path: str, exclude: Iterable[str] = ()) -> list[tuple[InputPath, bytes]]:
    """Return the files at `path` in `commit` with their content. Return an empty list if the path did not exist yet.

    Hidden files and links are not listed, as on disk. Raise UsageError if git, the repository or the commit is missing.
    """
    at = Path(path)
    top = _top_folder(_nearest_folder(at), path)
    revision = _commit(top, commit)
    target = PurePosixPath(_path_within(at, top, path))
    listed = _entries(top, revision, [str(target)])
    markers = [entry for entry in listed if entry.path.name in MARKERS]
    markers += _entries(top, revision, [str(above / name) for above in target.parents for name in sorted(MARKERS)])
    below = [(entry, entry.path.relative_to(target)) for entry in listed]
    files = [
        entry
        for entry, part in below
        if entry.path == target
        or (entry.path.suffix in SUFFIXES and not any(step.startswith(".") for step in part.parts))
    ]
    contents = _contents(top, [*files, *markers])
    if contents is None:
        raise UsageError(_missing_objects_text(commit, path))
    marked = {
        entry.path: text.decode("utf-8", "replace") for entry, text in zip(markers, contents[len(files) :], strict=True)
    }
    reasons = skip_reasons([entry.path for entry in files], marked, target, list(exclude))
    named: list[tuple[InputPath, bytes]] = []
    for entry, content in zip(files, contents, strict=False):
        if entry.path == target:
            named.append((InputPath(f"{commit}:{at.as_posix()}", entry.path.name), content))
            continue
        part = entry.path.relative_to(target)
        name = f"{commit}:{(at / part).as_posix()}"
        named.append((InputPath(name, str(part), reasons.get(entry.path), is_named=False), content))
    return named


def _missing_objects_text(commit: str, path: str) -> str:
    return (
        f'git does not have all files of "{path}" in "git:{commit}", as in a partial clone, and packwise fetches '
        f"nothing. If you trust the repository, fetch them: git archive {commit} {path} > {os.devnull}"
    )


MARKERS = frozenset({GITIGNORE, *LANDMARKS})
"""Names of files that decide which other files are checked."""


def _entries(top: Path, revision: str, paths: Iterable[str]) -> list[_Entry]:
    """Return the files at and below `paths` in a commit, without links."""
    return _tree(top, revision, paths)[0]


def _tree(top: Path, revision: str, paths: Iterable[str]) -> tuple[list[_Entry], list[_Entry], list[_Entry]]:
    """Return the files at and below `paths` in a commit, the submodules with their commits, and the links."""
    output = _git(top, "ls-tree", "-r", "-z", "--full-tree", revision, "--", *paths)
    entries: list[_Entry] = []
    modules: list[_Entry] = []
    links: list[_Entry] = []
    for line in output.split(b"\0")[:-1]:
        about, _, name = line.partition(b"\t")
        mode, kind, blob = about.decode().split(" ")
        entry = _Entry(PurePosixPath(name.decode("utf-8", "surrogateescape")), blob)
        if kind == "commit":
            modules.append(entry)
        elif kind == "blob":
            (links if mode == "120000" else entries).append(entry)
    return entries, modules, links


def skip_reasons(
    files: list[PurePosixPath], markers: Mapping[PurePosixPath, str], target: PurePosixPath, exclude: list[str]
) -> dict[PurePosixPath, SkipReason]:
    """Return the reason to skip each skipped file of `files` in the folder `target`, as far as paths and `markers` show
    it.

    `markers` are the texts of files that decide which other files are checked.
    """
    start = "" if str(target) == "." else str(target)
    texts = {str(path): text for path, text in markers.items() if path.name != GITIGNORE}
    ignoring = {
        "" if str(path.parent) == "." else str(path.parent): text
        for path, text in markers.items()
        if path.name == GITIGNORE
    }
    landmarks, excluded = Landmarks.of(texts, start), Globs.read(exclude)
    ignored = ignored_files([str(path) for path in files], ignoring, start)
    reasons: dict[PurePosixPath, SkipReason] = {}
    for path in files:
        reason = landmarks.reason_to_skip(str(path))
        if str(path) in ignored:
            reason = SkipReason(Reason.IGNORED, ignored[str(path)])
        elif any(excluded.take(str(name)) for name in (path, path.relative_to(target))):
            reason = SkipReason(Reason.EXCLUDED, "--exclude")
        if reason is not None:
            reasons[path] = reason
    return reasons


def _top_folder(folder: Path, path: str) -> Path:
    """Return the top of the work tree around `folder`. Raise UsageError if there is none."""
    start = Path(real(folder))
    # Git itself would stop at the first folder that looks like a repository, even below the folder with `.git`.
    top = next((above for above in (start, *start.parents) if os.path.lexists(above / ".git")), start)
    _refuse_endless(top / ".git")
    try:
        repository = os.fsdecode(_git(top, "rev-parse", "--absolute-git-dir")).rstrip("\n")
    except _GitError as error:
        raise UsageError(
            f'cannot read "{path}" from a commit, because it is not in a git repository; {error}'
        ) from None
    if contains(real(repository), str(top)):
        # Git before 2.38 does not have the setting safe.bareRepository.
        raise UsageError(f'cannot read "{path}" from a commit, because it is not in the work tree of a git repository')
    return top


def _commit(folder: Path, commit: str) -> str:
    """Return the full hash of a commit. Raise UsageError if git does not know the commit."""
    # Git reads ^NAME as the commits that NAME does not contain, which are not one commit.
    if not commit or commit.startswith(("-", "^")):
        raise UsageError(f'"git:{commit}" does not name a commit; use a branch, a tag or a hash')
    try:
        return (
            _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
            .decode()
            .strip()
        )
    except _GitError:
        raise UsageError(
            f'git does not have the commit "git:{commit}" here; in CI, fetch it first ({_WHOLE}), because a shallow '
            "clone has only the newest commit"
        ) from None


def _contents(top: Path, entries: list[_Entry]) -> list[bytes] | None:
    """Return the content of each of `entries`. Return None if git lacks one. Raise UsageError if one is too large."""
    if not entries:
        return []
    names = "".join([f"{entry.blob}\n" for entry in entries]).encode()
    try:
        # An object can be a thousand times larger than its file on disk, so ask for its size first.
        sizes = [line.rsplit(b" ", 1)[-1] for line in _git(top, "cat-file", "--batch-check", stdin=names).splitlines()]
        if not all(map(bytes.isdigit, sizes)):
            return None
        large = [entry for entry, size in zip(entries, sizes, strict=True) if int(size) > MAX_INPUT]
        if large:
            raise UsageError(f'"{large[0].path}" in the commit {_TOO_LARGE}')
        output = _git(top, "cat-file", "--batch", stdin=names)
    except _GitError:
        return None
    contents: list[bytes] = []
    start = 0
    for _ in entries:
        end = output.index(b"\n", start)
        size = output[start:end].rsplit(b" ", 1)[1]
        if not size.isdigit():
            return None
        contents.append(output[end + 1 : end + 1 + int(size)])
        start = end + int(size) + 2
    return contents


_READ_WHOLE = ("config", "config.worktree", "HEAD", "commondir", "shallow", "packed-refs", "objects/info/commit-graph")
"""Files of a repository that git reads completely."""
_ALTERNATES = "info/alternates"
_MAX_ALTERNATES = 100
_LARGEST = 16 << 20
"""The largest number of bytes of a list of other object folders, because git keeps the list in memory. Such a list
usually has one line.
"""


def _refuse_endless(git: Path) -> None:
    """Raise UsageError if git would wait for a file, or read it forever, such as a link to `/dev/zero`."""
    if _is_regular(git):
        git = git.parent / _line(git).removeprefix("gitdir:").strip()
    common = git / "commondir"
    _refuse_odd(common)
    shared = git / _line(common) if _is_regular(common) else git
    for folder in {git, shared}:
        for name in _READ_WHOLE:
            _refuse_odd(folder / name)
        for above, _, names in os.walk(folder / "refs"):
            for name in names:
                _refuse_odd(Path(above) / name)
    stores = [shared / "objects"]
    for objects in stores:
        alternates = objects / _ALTERNATES
        _refuse_odd(alternates)
        if _is_regular(alternates) and len(stores) < _MAX_ALTERNATES:
            lines = alternates.read_bytes().splitlines()[:_MAX_ALTERNATES]
            stores += [objects / os.fsdecode(line) for line in lines if line and b"\0" not in line]


def _line(path: Path) -> str:
    """Return the text of a short file."""
    with path.open("rb") as file:
        return os.fsdecode(file.read(_LONGEST_PATH)).replace("\0", "").strip()


_LONGEST_PATH = 4096


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _refuse_odd(path: Path) -> None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return
    is_endless = not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode)
    if is_endless or (path.name == "alternates" and status.st_size > _LARGEST):
        raise UsageError(f'git cannot read the whole file "{path.as_posix()}"')


def _nearest_folder(path: Path) -> Path:
    """Return the folder in which git runs. The path itself may be missing from the checkout."""
    folder = path if path.is_dir() else path.parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


def _path_within(at: Path, top: Path, path: str) -> str:
    try:
        return at.resolve().relative_to(top.resolve()).as_posix()
    except ValueError:
        raise UsageError(f'"{path}" is outside the git repository "{top.as_posix()}"') from None


def _git(folder: Path, *words: str, stdin: bytes | None = None) -> bytes:
    done = subprocess.run(  # noqa: S603
        [_program(), *_OPTIONS, *words],
        cwd=folder,
        env=_environment(),
        input=b"" if stdin is None else stdin,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        message = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise _GitError(f"git {words[0]} reports: {message or 'nothing'}")
    return done.stdout


def _start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """Return a started process of git with open pipes. Its error output is discarded."""
    return subprocess.Popen(  # noqa: S603
        [_program(), *_OPTIONS, *words],
        cwd=folder,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Only packwise gets Ctrl-C, and packwise ends git itself.
        start_new_session=True,
    )


def _program() -> str:
    program = program_on_path("git")
    if program is None:
        raise UsageError("cannot read a commit: git is not on PATH")
    return program


def program_on_path(name: str) -> str | None:
    """Return the path of a program, or None.

    Relative entries of PATH are ignored, because the checked files could be there.
    """
    entries = [entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(entry).is_absolute()]
    program = shutil.which(name, path=os.pathsep.join(entries))
    return program if program is not None and Path(program).is_absolute() else None


def _environment() -> dict[str, str]:
    """Return the environment without git's variables, which can move repositories, name programs and write traces."""
    own = {name: value for name, value in os.environ.items() if not name.upper().startswith("GIT_")}
    return own | _VARIABLES


def blob_of(data: bytes, name: str = "") -> str:
    """Return the git blob ID of `data`.

    Its hash algorithm is SHA-256 if the ID `name` has 64 digits, otherwise SHA-1.
    """
    header = b"blob %d\0" % len(data)
    return (sha256 if len(name) == 64 else sha1)(header + data, usedforsecurity=False).hexdigest()


_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:[^@/]*@)?([\w.-]+)(?::\d+(?=/))?[:/]/*+(.*[^/])/*+", re.IGNORECASE)


def repository_address(url: str) -> tuple[str, str] | None:
    """Return the host and path of a repository's URL, without its protocol. Return None for a local path."""
    match = None if url.startswith(("/", ".", "~", "file:")) else _URL.fullmatch(url.strip())
    return match and (match[1].lower(), match[2].lower().removesuffix(".git"))
