"""The requests of a run: which packages there are to look at, and for each one all that its work needs."""

from __future__ import annotations

import json
import posixpath
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from krmfn.hints import TYPE_CHECKING, Protocol
from krmfn.record import NamedTuple
from packwise.cli.arguments import UsageError
from packwise.cli.fleet.kustomize import KustomizeError, kustomize_version
from packwise.cli.fleet.messages import Request, Side
from packwise.commands.doctor import Problem
from packwise.commands.fleet import Client, Packages, Reach, reach
from packwise.commands.fleet.packages import SUFFIXES
from packwise.commands.fleet.tree import Tree
from packwise.fleet.build import build

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Nodes", "Requests", "Rooted", "digest_of", "reach_of"]

_FORMAT = 2
"""Of answers; another number is another answer to the same request."""


_SMALL = 64 << 10
"""Bytes of a content whose digest is kept, and so the content."""


class BlobTree(Tree, Protocol):
    """A tree that knows what git calls its contents."""

    def blob(self, path: str, name: str = "") -> str:
        """What git calls the content of the file, in the form of `name`. Raises OSError where it cannot be read."""
        ...


class Rooted(NamedTuple):
    """The packages in the folder `root` of a tree."""

    tree: BlobTree
    root: str
    packages: Packages

    @classmethod
    def of(cls, tree: BlobTree, root: str) -> Rooted:
        """The packages of a tree."""
        return cls(tree, root, Packages(tree, root))

    def below(self, folder: str) -> str:
        """The folder of a package below the root; "." for the root itself."""
        return posixpath.relpath(folder or ".", self.root or ".")

    def folder(self, below: str) -> str:
        """The folder that `below` returned that for."""
        joined = posixpath.normpath(posixpath.join(self.root, below))
        return "" if joined == "." else joined

    def names(self) -> list[str]:
        """The folders of all packages, below the root."""
        return [self.below(folder) for folder in self.packages.clients]


class Nodes:
    """The nodes of each cluster: one file for all, or in a folder one for each package, named as this is."""

    __slots__ = ("_folder", "_whole")

    def __init__(self, path: str) -> None:
        at = Path(path)
        if not at.exists():
            raise UsageError(
                f'--nodes "{path}" must be a file, or a folder with one for each package; it does not exist'
            )
        self._folder = at if at.is_dir() else None
        self._whole = None if at.is_dir() else (path, at.read_bytes())

    def of(self, below: str, root: str) -> tuple[str, bytes] | None:
        """The file for a package, which stands at `below` in the root, and its content; None where there is none."""
        if self._folder is None:
            return self._whole
        name = posixpath.basename(root) if below == "." else below
        for suffix in SUFFIXES:
            file = self._folder / f"{name}{suffix}"
            if file.is_file():
                return file.as_posix(), file.read_bytes()
        return None


def digest_of(rooted: Rooted, folder: str, form: str = "") -> str:
    """A digest of all that the package in `folder` reads, by names of git in the form of `form`."""
    package = rooted.packages.package(folder)
    digest = sha256(package.client.value.encode())
    for path in package.files:
        try:
            blob = rooted.tree.blob(path, form)
        except OSError:
            blob = "unreadable"
        digest.update(f"\0{rooted.below(path)}\0{blob}".encode("utf-8", "surrogateescape"))
    for problem in package.problems:
        # What is looked for and not there has no content.
        digest.update(f"\0{problem.message}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def reach_of(before: Rooted, after: Rooted, form: str = "") -> Reach:
    """Which packages the change from one tree to the other reaches, by their folders below the root."""
    old, new = (
        {each.below(folder): digest_of(each, folder, form) for folder in each.packages.clients}
        for each in (before, after)
    )
    return reach(old, new)


class Requests:
    """Makes the requests of one run of `verb`. With `writes`, answers bring the files to write."""

    def __init__(self, verb: str, after: Rooted, before: Rooted | None, nodes: Nodes | None, *, writes: bool) -> None:
        self._verb = verb
        self._after = after
        self._before = before
        self._nodes = nodes
        self._writes = writes

    def request(self, below: str) -> Request:
        """The request for the package at `below`, with the key of its answer."""
        after = _side(self._after, below)
        before = None if self._before is None else _side(self._before, below)
        nodes = None if self._nodes is None else self._nodes.of(below, self._after.root)
        kustomize = ""
        if any(side.client is Client.KUSTOMIZE and not side.problems for side in (after, before) if side is not None):
            try:
                kustomize = kustomize_version()
            except KustomizeError as error:
                if after is not None:
                    problem = Problem(after.folder or ".", str(error))
                    after = after._replace(problems=(*after.problems, problem))
        folder = self._after.folder(below)
        request = Request("", folder, self._verb, after, before, nodes, kustomize, self._writes)
        return request._replace(key=_key(request))


def _side(rooted: Rooted, below: str) -> Side | None:
    """The package with the contents of its files; None where the tree has none there."""
    folder = rooted.folder(below)
    if folder not in rooted.packages.clients:
        return None
    package = rooted.packages.package(folder)
    problems = list(package.problems)
    files: list[tuple[str, bytes]] = []
    for path in package.files:
        try:
            files.append((path, rooted.tree.read(path)))
        except OSError as error:
            problems.append(Problem(path, f'must be readable; got "{error.strerror}"'))
    return Side(folder, package.client, tuple(files), tuple(problems))


def _key(request: Request) -> str:
    """What the answer to a request depends on, as one digest."""
    parts: list[object] = [_FORMAT, build().digest, request.folder, request.verb, request.writes, request.kustomize]
    parts += [None if side is None else list(_digests(side)) for side in (request.after, request.before)]
    parts.append(None if request.nodes is None else (request.nodes[0], sha256(request.nodes[1]).hexdigest()))
    return sha256(json.dumps(parts).encode()).hexdigest()


@lru_cache(1024)
def _kept_digest(data: bytes) -> str:
    """The digest of a content: those of bases are asked for once for every overlay."""
    return sha256(data).hexdigest()


def _digests(side: Side) -> Iterator[object]:
    yield side.folder
    yield side.client.value
    for path, data in side.files:
        yield path, _kept_digest(data) if len(data) <= _SMALL else sha256(data).hexdigest()
    yield from side.problems
