"""Requests for the work on a package, with their keys and answers, as values and as bytes.

An answer has two parts: the result, and the files of a render. Most runs read only the first.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import zlib
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path

from krmfn.hints import TYPE_CHECKING, Protocol, Record
from krmfn.result import Result, ResultFile
from packwise.build.cache import build
from packwise.build.problems import ClientProblem
from packwise.build.tree import FileTree
from packwise.fleet.kustomize import KustomizeError, kustomize_version
from packwise.fleet.packages import SUFFIXES, PackageClient, Packages
from packwise.fleet.result import LOST, PackageResult, PackageStatus
from packwise.inputs.paths import from_top
from packwise.inputs.reach import Reach, reach
from packwise.inputs.request import UsageError
from packwise.render.files import FolderPlan

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from packwise.fleet.builds import BuiltPackages
    from packwise.fleet.packages import FleetPackage, PackageBuild
    from packwise.inputs.reader import Sources

    S = TypeVar("S", "PackageSide", "_Outline")

MAX_TEXT = 512 << 20
"""The largest number of bytes in a part of an answer. Other users can also write to a cache."""

_PLAIN = re.compile(r"(?:(?!\.\.?(?:/|$))[^/\0]+/)*(?!\.\.?$)[^/\0]+", re.DOTALL)
"""Matches a normalized path below a folder."""


class PackageSide(Record):
    """A package in one tree: everything that it reads, and the problems that prevent its render in a fleet.

    `around` are files with configurations and definitions for the package. They are also in `files`, but are not
    rendered. `build` has its built sources.
    """

    folder: str
    client: PackageClient
    files: tuple[tuple[str, bytes], ...]
    problems: tuple[ClientProblem, ...] = ()
    around: tuple[str, ...] = ()
    build: PackageBuild | None = None


class Request(Record):
    """A package and its task. `after` is the current package, and `before` its state before the change.

    `nodes` is the file with the nodes of its cluster. `kustomize` is the version of kustomize that must build the
    package. `crds` are the packed CRDs of its cluster. `values` set the variables of its templates. `verb` is the verb
    of `packwise fleet`. With `writes`, the answer includes the files to write.
    """

    key: str
    folder: str
    verb: str
    after: PackageSide | None
    before: PackageSide | None = None
    nodes: tuple[str, bytes] | None = None
    kustomize: str = ""
    writes: bool = False
    crds: bytes = b""
    values: tuple[str, ...] = ()

    @property
    def client(self) -> str:
        """Return the client that renders the package, or that rendered it if the change removes it."""
        side = self.after or self.before
        return "" if side is None else side.client.value


class PackageAnswer(Record):
    """An answer as bytes. If `is_kept` is true, a cache may store it under `key`."""

    key: str
    payload: bytes
    is_kept: bool = True


def lost_result(folder: str, client: str, reason: str) -> PackageResult:
    """Return the result of a package that no worker could finish."""
    result = Result(f"was not finished: {reason}", file=ResultFile(folder or "."), tags={"rule": LOST.name})
    return PackageResult(folder, client, PackageStatus.FAILING, 1, 0, (result,))


def payload_of(result: PackageResult, plan: FolderPlan | None = None) -> bytes:
    """Return the answer as bytes. `plan` holds the files to write, or is None."""
    head = _pack(json.dumps(result.to_value()).encode())
    tail = b""
    if plan is not None:
        index = {
            "sizes": {path: len(content) for path, content in plan.contents.items()},
            "generated": sorted(plan.generated),
            "loose": sorted(plan.loose),
            "emptied": sorted(plan.emptied),
        }
        tail = _pack(b"\n".join([json.dumps(index).encode(), b"".join(plan.contents.values())]))
    return b"%d\n" % len(head) + head + tail


def result_of(payload: bytes) -> PackageResult:
    """Return the result in an answer. Raise ValueError, KeyError or TypeError if it is invalid."""
    return PackageResult.from_value(json.loads(_unpack(_parts(payload)[0])))


def plan_of(payload: bytes) -> FolderPlan:
    """Return the files that an answer has to write. Raise ValueError, KeyError or TypeError if it is invalid."""
    first, _, contents = _unpack(_parts(payload)[1]).partition(b"\n")
    index: dict[str, Any] = json.loads(first)
    sizes: dict[str, int] = index["sizes"]
    wrong = next((path for path in sizes if not _is_plain(path)), None)
    ends = list(accumulate(sizes.values(), initial=0))
    if wrong is not None or min(sizes.values(), default=0) < 0 or ends[-1] != len(contents):
        raise ValueError(f"the answer has a file outside its folder: {wrong!r}")
    return FolderPlan(
        {path: contents[start:end] for path, (start, end) in zip(sizes, pairwise(ends), strict=True)},
        frozenset(index["generated"]),
        frozenset(index["loose"]),
        tuple(index["emptied"]),
        (),
    )


def plan_digest(payload: bytes) -> bytes:
    """Return a digest of the files in an answer. Raise ValueError if it is invalid."""
    return sha256(_parts(payload)[1]).digest()


def _parts(payload: bytes) -> tuple[bytes, bytes]:
    end = payload.index(b"\n", 0, 20) + 1
    middle = end + int(payload[:end])
    return payload[end:middle], payload[middle:]


def _is_plain(path: str) -> bool:
    return _PLAIN.fullmatch(path) is not None and (os.sep == "/" or not {os.sep, ":"} & set(path))


def _pack(part: bytes) -> bytes:
    return zlib.compress(part, 1)


def _unpack(part: bytes) -> bytes:
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(part, MAX_TEXT)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if reader.unconsumed_tail:
        raise ValueError(f"the answer has more than {MAX_TEXT >> 20} MiB")
    return text


_FORMAT = 3
"""The version of the format of answers. An answer in another format is not used."""


class BlobTree(FileTree, Protocol):
    """A tree with digests of its files, and with their names as git blobs."""

    def digest(self, path: str) -> bytes:
        """Return a digest of the file's content at its last reading. Raise OSError if it is unreadable."""
        ...

    def blob(self, path: str, name: str = "") -> str:
        """Return the name of the file's content as a git blob. Raise OSError if the file is unreadable.

        `name` is another such name. Its length selects the hash function.
        """
        ...


class Rooted(Record):
    """The packages in the folder `root` of a tree. `beside` are files that all packages use, with their blob names.

    `sources` counts the built sources, or is None if none are built.
    """

    tree: BlobTree
    root: str
    packages: Packages | BuiltPackages
    beside: tuple[tuple[str, str], ...] = ()
    sources: Sources | None = None

    @classmethod
    def of(cls, tree: BlobTree, root: str) -> Rooted:
        """Return the packages of a tree."""
        return cls(tree, root, Packages(tree, root))

    def relative_folder(self, folder: str) -> str:
        """Return the folder of a package below the root, or "." for the root itself."""
        return posixpath.relpath(folder or ".", self.root or ".")

    def folder(self, below: str) -> str:
        """Return the folder `below`, joined to the root."""
        joined = posixpath.normpath(posixpath.join(self.root, below))
        return "" if joined == "." else joined

    def names(self) -> list[str]:
        """Return the folders of all packages, below the root."""
        return [self.relative_folder(folder) for folder in self.packages.clients]


class Nodes:
    """The nodes of each cluster: one file for all packages, or a folder with a file for each package, under its name.

    The paths of the files are relative to `top`.
    """

    __slots__ = ("_folder", "_top", "_whole")

    def __init__(self, path: str, top: str) -> None:
        at = Path(path)
        if not at.exists():
            raise UsageError(f'--nodes "{path}" does not exist; pass a file, or a folder with a file for each package')
        self._folder = at if at.is_dir() else None
        self._whole = None if at.is_dir() else (from_top(path, top), at.read_bytes())
        self._top = top

    def node_file(self, below: str, root: str) -> tuple[str, bytes] | None:
        """Return the file and its content for a package at `below` in the root, or None."""
        if self._folder is None:
            return self._whole
        name = posixpath.basename(root) if below == "." else below
        for suffix in SUFFIXES:
            file = self._folder / f"{name}{suffix}"
            if file.is_file():
                return from_top(str(file), self._top), file.read_bytes()
        return None


def digest_of(rooted: Rooted, folder: str, form: str = "") -> str:
    """Return a digest of all files that the package in `folder` reads, by their blob names.

    The length of the blob name `form` selects the hash function.
    """
    package = rooted.packages.package(folder)
    digest = sha256(json.dumps([package.client.value, rooted.beside]).encode())
    for path in package.files:
        try:
            blob = rooted.tree.blob(path, form)
        except OSError:
            blob = "unreadable"
        digest.update(f"\0{rooted.relative_folder(path)}\0{blob}".encode("utf-8", "surrogateescape"))
    for problem in package.problems:
        # A missing file has no content, so its problem is added to the digest.
        digest.update(f"\0{problem.message}".encode("utf-8", "surrogateescape"))
    if package.build is not None:
        digest.update(f"\0{package.build.digest}".encode())
    return digest.hexdigest()


def reach_of(before: Rooted, after: Rooted, form: str = "") -> Reach:
    """Return the packages that the change from one tree to the other reaches, by their folders below the root."""
    old, new = (
        {each.relative_folder(folder): digest_of(each, folder, form) for folder in each.packages.clients}
        for each in (before, after)
    )
    return reach(old, new)


class _Outline(Record):
    """A package in one tree, with digests of its files instead of their content. An answer depends only on such
    outlines.
    """

    folder: str
    client: PackageClient
    paths: tuple[str, ...]
    digests: bytes
    problems: tuple[ClientProblem, ...] = ()
    around: tuple[str, ...] = ()
    build: str = ""

    def parts(self) -> list[object]:
        """Return all parts as JSON values."""
        problems = [[each.file, each.message, each.line, each.column] for each in self.problems]
        return [self.folder, self.client.value, self.paths, self.digests.hex(), problems, self.around, self.build]


class Requests:
    """Makes the requests of one run of `verb`, each with `crds` and `values`.

    With `writes`, answers contain the files to write.
    """

    def __init__(
        self,
        verb: str,
        after: Rooted,
        before: Rooted | None,
        nodes: Nodes | None,
        *,
        writes: bool,
        crds: bytes = b"",
        values: tuple[str, ...] = (),
    ) -> None:
        self._verb = verb
        self.after = after
        self._before = before
        self._nodes = nodes
        self._writes = writes
        self._crds = crds
        self._values = values
        self._crds_digest = sha256(crds).hexdigest()

    def key(self, below: str) -> str:
        """Return the key of the answer for the package at `below`, from its files as they were last read."""
        after = _outline(self.after, below)
        before = None if self._before is None else _outline(self._before, below)
        version, complaint = _kustomize(after, before)
        return self._key(below, _with_complaint(after, complaint), before, version)

    def request(self, below: str) -> Request:
        """Return the request for the package at `below`, with its key, from the current content of its files."""
        after = _side(self.after, below)
        before = None if self._before is None else _side(self._before, below)
        version, complaint = _kustomize(after, before)
        after = _with_complaint(after, complaint)
        key = self._key(below, _outline_of(after), _outline_of(before), version)
        return Request(
            key=key,
            folder=self.after.folder(below),
            verb=self._verb,
            after=after,
            before=before,
            nodes=self._nodes_of(below),
            kustomize=version,
            writes=self._writes,
            crds=self._crds,
            values=self._values,
        )

    def _key(self, below: str, after: _Outline | None, before: _Outline | None, kustomize: str) -> str:
        nodes = self._nodes_of(below)
        parts = [
            *(_FORMAT, build().digest, self.after.folder(below), self._verb, self._writes, kustomize),
            *(self._crds_digest, self._values),
            *[None if side is None else side.parts() for side in (after, before)],
            None if nodes is None else (nodes[0], _kept_digest(nodes[1])),
        ]
        return sha256(json.dumps(parts).encode()).hexdigest()

    def _nodes_of(self, below: str) -> tuple[str, bytes] | None:
        """Return the nodes of a package. A package that is an object uses the nodes of the nearest folder above it."""
        if self._nodes is None:
            return None
        root = self.after.root
        nodes, package = self._nodes.node_file(below, root), _package(self.after, below)
        folder = None if package is None else package.place
        while nodes is None and folder is not None:
            nodes = self._nodes.node_file(self.after.relative_folder(folder), root)
            folder = posixpath.dirname(folder) if folder and folder != root else None
        return nodes


def _kustomize(after: PackageSide | _Outline | None, before: PackageSide | _Outline | None) -> tuple[str, str]:
    """Return the version of kustomize if a side is built with it, and the error if kustomize is missing."""
    if any(
        side.client is PackageClient.KUSTOMIZE and not side.problems for side in (after, before) if side is not None
    ):
        try:
            return kustomize_version(), ""
        except KustomizeError as error:
            return "", str(error)
    return "", ""


def _with_complaint(side: S | None, complaint: str) -> S | None:
    if side is None or not complaint:
        return side
    return side.replace(problems=(*side.problems, ClientProblem(side.folder or ".", complaint)))


def _outline(rooted: Rooted, below: str) -> _Outline | None:
    """Return the package with digests of its files. Return None if the tree lacks the package."""
    package = _package(rooted, below)
    if package is None:
        return None
    paths: list[str] = []
    digests: list[bytes] = []
    problems = list(package.problems)
    for path in package.files:
        try:
            digests.append(rooted.tree.digest(path))
            paths.append(path)
        except OSError as error:
            problems.append(_unreadable_problem(path, error))
    return _Outline(
        package.folder,
        package.client,
        tuple(paths),
        b"".join(digests),
        tuple(problems),
        package.around,
        _digest_of_build(package.build),
    )


def _outline_of(side: PackageSide | None) -> _Outline | None:
    if side is None:
        return None
    digests = b"".join([sha256(data).digest() for _, data in side.files])
    paths = tuple(path for path, _ in side.files)
    build_digest = _digest_of_build(side.build)
    return _Outline(side.folder, side.client, paths, digests, side.problems, side.around, build_digest)


def _digest_of_build(build: PackageBuild | None) -> str:
    return "" if build is None else build.digest


def _side(rooted: Rooted, below: str) -> PackageSide | None:
    """Return the package with the contents of its files. Return None if the tree lacks it."""
    package = _package(rooted, below)
    if package is None:
        return None
    problems = list(package.problems)
    files: list[tuple[str, bytes]] = []
    for path in package.files:
        try:
            files.append((path, rooted.tree.read(path)))
        except OSError as error:
            problems.append(_unreadable_problem(path, error))
    return PackageSide(package.folder, package.client, tuple(files), tuple(problems), package.around, package.build)


def _package(rooted: Rooted, below: str) -> FleetPackage | None:
    folder = rooted.folder(below)
    return rooted.packages.package(folder) if folder in rooted.packages.clients else None


def _unreadable_problem(path: str, error: OSError) -> ClientProblem:
    return ClientProblem(path, f"cannot read the file: {error.strerror}")


@lru_cache(1)
def _kept_digest(data: bytes) -> str:
    """Return the digest of the nodes that all packages use."""
    return sha256(data).hexdigest()
