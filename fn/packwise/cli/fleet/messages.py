"""What a fleet's process and its workers hand each other: requests, and answers as the bytes that a cache keeps.

An answer has two parts, of which most runs read the first one alone: the result, and what a render writes.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from hashlib import sha256
from itertools import accumulate, pairwise

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Result, ResultFile
from packwise.cli.folder import FolderPlan
from packwise.commands.fleet.result import LOST, PackageResult, Status

if TYPE_CHECKING:
    from typing import Any

    from packwise.commands.doctor import Problem
    from packwise.commands.fleet import Client

__all__ = ["MAX_TEXT", "Answer", "Request", "Side", "lost", "payload_of", "plan_digest", "plan_of", "result_of"]

MAX_TEXT = 512 << 20
"""Bytes of a part of an answer: a cache is written by others too."""

_PLAIN = re.compile(r"(?:(?!\.\.?(?:/|$))[^/\0]+/)*(?!\.\.?$)[^/\0]+", re.DOTALL)
"""A path below a folder in its shortest form."""


class Side(NamedTuple):
    """A package as one tree has it: all that it reads, and what keeps a fleet from rendering it."""

    folder: str
    client: Client
    files: tuple[tuple[str, bytes], ...]
    problems: tuple[Problem, ...] = ()


class Request(NamedTuple):
    """What to do with a package: `before` is its state before the change, `nodes` the file of its cluster's nodes.

    `kustomize` is the version that the answer must come from. `crds` are those of its cluster, packed; `values` set
    the variables of its templates. `verb` is that of `packwise fleet`. With `writes`, the answer has the contents of
    the files to write.
    """

    key: str
    folder: str
    verb: str
    after: Side | None
    before: Side | None = None
    nodes: tuple[str, bytes] | None = None
    kustomize: str = ""
    writes: bool = False
    crds: bytes = b""
    values: tuple[str, ...] = ()

    @property
    def client(self) -> str:
        """What renders the package: where the change removes it, what did before."""
        side = self.after or self.before
        return "" if side is None else side.client.value


class Answer(NamedTuple):
    """What a cache keeps under `key`, unless the answer is of this run alone."""

    key: str
    payload: bytes
    is_kept: bool = True


def lost(folder: str, client: str, reason: str) -> PackageResult:
    """The result of a package that no worker could finish."""
    result = Result(f"was not finished: {reason}", file=ResultFile(folder or "."), tags={"rule": LOST.name})
    return PackageResult(folder, client, Status.FAILING, 1, 0, (result,))


def payload_of(result: PackageResult, plan: FolderPlan | None = None) -> bytes:
    """The answer as bytes. Without a plan there is nothing to write."""
    head = _packed(json.dumps(result.to_value()).encode())
    tail = b""
    if plan is not None:
        index = {
            "sizes": {path: len(content) for path, content in plan.contents.items()},
            "generated": sorted(plan.generated),
            "loose": sorted(plan.loose),
            "emptied": sorted(plan.emptied),
        }
        tail = _packed(b"\n".join([json.dumps(index).encode(), b"".join(plan.contents.values())]))
    return b"%d\n" % len(head) + head + tail


def result_of(payload: bytes) -> PackageResult:
    """The result in an answer. Raises ValueError, KeyError or TypeError where it is none."""
    return PackageResult.from_value(json.loads(_unpacked(_parts(payload)[0])))


def plan_of(payload: bytes) -> FolderPlan:
    """What an answer has to write. Raises as `result_of` does."""
    first, _, contents = _unpacked(_parts(payload)[1]).partition(b"\n")
    index: dict[str, Any] = json.loads(first)
    sizes: dict[str, int] = index["sizes"]
    wrong = next((path for path in sizes if not _is_plain(path)), None)
    ends = list(accumulate(sizes.values(), initial=0))
    if wrong is not None or min(sizes.values(), default=0) < 0 or ends[-1] != len(contents):
        raise ValueError(f"an answer must have files within its folder; got {wrong!r}")
    return FolderPlan(
        {path: contents[start:end] for path, (start, end) in zip(sizes, pairwise(ends), strict=True)},
        frozenset(index["generated"]),
        frozenset(index["loose"]),
        tuple(index["emptied"]),
        (),
    )


def plan_digest(payload: bytes) -> bytes:
    """What tells apart what answers have to write. Raises ValueError where it is no answer."""
    return sha256(_parts(payload)[1]).digest()


def _parts(payload: bytes) -> tuple[bytes, bytes]:
    end = payload.index(b"\n", 0, 20) + 1
    middle = end + int(payload[:end])
    return payload[end:middle], payload[middle:]


def _is_plain(path: str) -> bool:
    return _PLAIN.fullmatch(path) is not None and (os.sep == "/" or not {os.sep, ":"} & set(path))


def _packed(part: bytes) -> bytes:
    return zlib.compress(part, 1)


def _unpacked(part: bytes) -> bytes:
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(part, MAX_TEXT)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if reader.unconsumed_tail:
        raise ValueError(f"an answer must be at most {MAX_TEXT >> 20} MiB")
    return text
