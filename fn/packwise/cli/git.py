"""Files as they stand in a commit, read through git itself; the checkout and the index are not touched."""

from __future__ import annotations

import subprocess
from pathlib import Path, PurePosixPath

from packwise.cli.find import SUFFIXES, Found
from packwise.cli.usage import UsageError

__all__ = ["files_in_commit"]

# A repository's own settings may name programs; none of them is needed to read objects.
_GIT = ("git", "--no-pager", "--no-optional-locks", "--literal-pathspecs", "-c", "core.fsmonitor=false")


class _GitError(UsageError):
    """What git said no to."""


def files_in_commit(commit: str, path: str) -> list[tuple[Found, bytes]]:
    """The files that `path` named in `commit`, with their content; none where it was not there yet.

    As in a folder on disk, hidden files and links are left out. Raises UsageError: no git, no repository, no commit.
    """
    at = Path(path)
    folder = _nearest_folder(at)
    top = _top(folder, path)
    revision = _commit(folder, commit)
    target = PurePosixPath(_within(at, top, path))
    listed = _git(top, "ls-tree", "-r", "-z", "--full-tree", revision, "--", str(target))
    found: list[tuple[Found, str]] = []
    for entry in listed.split(b"\0")[:-1]:
        about, _, name = entry.partition(b"\t")
        mode, kind, blob = about.decode().split(" ")
        file = PurePosixPath(name.decode("utf-8", "surrogateescape"))
        below = file.relative_to(target)
        named = file == target
        hidden = any(part.startswith(".") for part in below.parts)
        if kind == "blob" and mode != "120000" and (named or (file.suffix in SUFFIXES and not hidden)):
            shown = at.as_posix() if named else (at / below).as_posix()
            found.append((Found(f"{commit}:{shown}", file.name if named else str(below)), blob))
    contents = _contents(top, [blob for _, blob in found])
    return [(one, content) for (one, _), content in zip(found, contents, strict=True)]


def _top(folder: Path, path: str) -> Path:
    try:
        return Path(_git(folder, "rev-parse", "--show-toplevel").decode().rstrip("\n"))
    except _GitError as error:
        raise UsageError(f'"{path}" must be in a git repository to be read from a commit; {error}') from None


def _commit(folder: Path, commit: str) -> str:
    """The full name of a commit. Raises UsageError where git knows none of this name."""
    if not commit or commit.startswith("-"):
        raise UsageError(f'"git:{commit}" must name a commit: a branch, a tag, a hash')
    try:
        return (
            _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
            .decode()
            .strip()
        )
    except _GitError:
        raise UsageError(
            f'"git:{commit}" must be a commit that git knows here: in CI, fetch it first, since a shallow clone has '
            "the newest commit only"
        ) from None


def _contents(top: Path, blobs: list[str]) -> list[bytes]:
    if not blobs:
        return []
    output = _git(top, "cat-file", "--batch", stdin="".join([f"{blob}\n" for blob in blobs]).encode())
    contents: list[bytes] = []
    start = 0
    for _ in blobs:
        end = output.index(b"\n", start)
        size = int(output[start:end].rsplit(b" ", 1)[1])
        contents.append(output[end + 1 : end + 1 + size])
        start = end + size + 2
    return contents


def _nearest_folder(path: Path) -> Path:
    """The folder to ask git in: the path may be gone from the checkout."""
    folder = path if path.is_dir() else path.parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


def _within(at: Path, top: Path, path: str) -> str:
    try:
        return at.resolve().relative_to(top.resolve()).as_posix()
    except ValueError:
        raise UsageError(f'"{path}" must be inside the git repository "{top.as_posix()}"') from None


def _git(folder: Path, *words: str, stdin: bytes | None = None) -> bytes:
    try:
        done = subprocess.run([*_GIT, *words], cwd=folder, input=stdin, capture_output=True, check=False)  # noqa: S603
    except FileNotFoundError:
        raise UsageError("reading a commit needs git, which is not on PATH") from None
    if done.returncode != 0:
        told = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise _GitError(f"git {words[0]} says: {told or 'nothing'}")
    return done.stdout
