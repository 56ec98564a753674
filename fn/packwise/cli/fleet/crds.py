"""The cluster's CRDs, which hold for all packages of a run: read once where it starts, and once by each worker."""

from __future__ import annotations

import json
import posixpath
import zlib
from functools import lru_cache
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject
from krmfn.record import NamedTuple
from krmfn.result import Result, exit_code
from krmfn.source import Source
from packwise.cli.arguments import STDIN
from packwise.cli.fleet.disk import DiskTree
from packwise.cli.input_paths import SUFFIXES, from_top
from packwise.cli.inputs import definitions_in
from packwise.cli.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from packwise.cli.fleet.commit import CommitTree

    Blobs = tuple[tuple[str, str], ...]

__all__ = ["Crds", "blobs_of", "crds_of", "read_crds"]


class Crds(NamedTuple):
    """CRDs as a request brings them: `packed` is b"" where none are named. `results` say what cannot be read."""

    packed: bytes = b""
    results: tuple[Result, ...] = ()


def read_crds(paths: tuple[str, ...], top: str) -> Crds:
    """The CRDs of the kinds that count in files and folders; findings name these by their path from `top`.

    Raises UsageError where something is not there, or has no such CRD.
    """
    reader = Reader()
    items = definitions_in(paths, reader)
    if exit_code(reader.results):
        return Crds(results=tuple(reader.results))
    named = [item.source for item in items]
    sources = [each if each.file is None else each._replace(file=from_top(each.file, top)) for each in named]
    # Each request brings them, and they have some hundred thousand characters of much the same.
    return Crds(zlib.compress(json.dumps(sources).encode()) if sources else b"", tuple(reader.results))


def blobs_of(paths: Iterable[str], top: str, commit: CommitTree) -> tuple[Blobs, Blobs]:
    """The files that `paths` name below `top`, with what git calls each: those of a commit, and those of today."""
    before: list[tuple[str, str]] = []
    after: list[tuple[str, str]] = []
    for path in [from_top(path, top) for path in paths if path != STDIN]:
        if path == ".." or path.startswith("../") or Path(path).is_absolute():
            continue
        at = "" if path == "." else path
        folder = at if Path(top, at).is_dir() else posixpath.dirname(at)
        for blobs, tree in ((before, commit.listing(folder)), (after, DiskTree(top, folder))):
            files = [at] if tree.is_file(at) else tree.files_below(at)
            blobs += [(file, tree.blob(file, commit.form)) for file in files if file.endswith(SUFFIXES)]
    return tuple(before), tuple(after)


@lru_cache(1)
def crds_of(packed: bytes) -> tuple[KubeObject, ...]:
    """The CRDs in a request."""
    if not packed:
        return ()
    return tuple(KubeObject(_source(fields)) for fields in json.loads(zlib.decompress(packed)))


def _source(fields: list[Any]) -> Source:
    text, root, line, column, file, entry = fields
    return Source(text, tuple(root), line, column, file, tuple(entry))
