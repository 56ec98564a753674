"""The cases of `testdata/golden/`, packed and unpacked: a line of JSON a case, the same bytes for the same cases.

python -m tests.golden.packing FOLDER    pack the cases of FOLDER into testdata/golden/, but upstream's own
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.places import TESTDATA

__all__ = ["FOLDERS", "PACKED", "UPSTREAMS", "pack", "read_lines", "unpack"]

PACKED = TESTDATA / "golden"
FOLDERS = ("alpha7", "head", "osmo")
"""Parts that are unpacked as a folder for each case."""

LINES = ("alpha12", "alpha14")
"""Parts that are unpacked as a file of lines."""

AS_THEY_ARE = ("placement", "workloads")
"""Folders with files of lines, which tests read without unpacking them."""

UPSTREAMS = ("repo-", "docs-", "unit-")
"""The beginnings of the names of cases with upstream's own files as inputs."""


def unpack(packed: Path, beside: Path, into: Path) -> None:
    """Write the packed cases as folders and files. If `beside` has upstream's own cases, add links to them."""
    for name in FOLDERS:
        entries = [json.loads(line) for line in read_lines(packed / f"{name}.jsonl.gz")]
        for entry in entries:
            write_case(into / name / entry["case"], entry.pop("files"))
        for folder in sorted((beside / name).glob("*/")):
            if folder.name.startswith(UPSTREAMS):
                (into / name / folder.name).symlink_to(folder)
        entries += [entry for entry in described(beside / name) if entry["case"].startswith(UPSTREAMS)]
        if any(len(entry) > 1 for entry in entries):
            (into / name / "manifest.json").write_text(json.dumps({"cases": entries}), encoding="utf-8")
    for name in LINES:
        (into / f"{name}.jsonl").write_text("".join(read_lines(packed / f"{name}.jsonl.gz")), encoding="utf-8")
    for name in AS_THEY_ARE:
        shutil.copytree(packed / name, into / name)


def write_case(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())


def pack(cases: Path, packed: Path) -> None:
    """Write the cases of a folder, except upstream's own, in the form of the repository."""
    for name in FOLDERS:
        # A list of the names of files would add nothing to the files, which come last.
        said = {each["case"]: {key: each[key] for key in each if key != "files"} for each in described(cases / name)}
        folders = sorted(path for path in (cases / name).iterdir() if path.is_dir())
        own = [folder for folder in folders if not folder.name.startswith(UPSTREAMS)]
        entries = [{"case": folder.name, **said.get(folder.name, {}), "files": files_of(folder)} for folder in own]
        write_lines(packed / f"{name}.jsonl.gz", [json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries])
    for name in LINES:
        with (cases / f"{name}.jsonl").open(encoding="utf-8", newline="\n") as lines:
            write_lines(packed / f"{name}.jsonl.gz", lines)
    for name in AS_THEY_ARE:
        for file in sorted((cases / name).glob("*.jsonl.gz")):
            write_lines(packed / name / file.name, read_lines(file))


def files_of(folder: Path) -> dict[str, str]:
    return {file.name: file.read_bytes().decode() for file in sorted(folder.iterdir())}


def described(folder: Path) -> list[dict[str, Any]]:
    """Return the description of each case, or an empty mapping if the folder has no descriptions."""
    path = folder / "manifest.json"
    return json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else []


def read_lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return list(lines)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(lines).encode(), 9, mtime=0))


if __name__ == "__main__":
    pack(Path(sys.argv[1]), PACKED)
