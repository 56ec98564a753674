"""Check that a release is complete: `make release-check`.

This checks wheels and sdists with their bills of materials, the native core's wheels, the image's context, and the
versions in pages. Until a version is released, pages refer to the repository at a commit. An action or image with a tag
only causes a warning, because its digest needs a network.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from supplychain.locks import ROOT
from supplychain.native import CRATE, TARGETS, build_wheel, missing_tools
from supplychain.pins import unpinned_lines
from supplychain.sbom import DISTRIBUTIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

__all__ = [
    "COMMIT",
    "Reference",
    "bill_faults",
    "main",
    "missing_from_context",
    "pages",
    "references",
    "unpinned_warnings",
    "wrong_references",
]

COMMIT = "COMMIT"
"""Placeholder in pages. Readers replace it by the commit that they use."""

_BRANCH = "main"
_ANY = ("X.Y.Z", "vX.Y.Z")
_NAMES = r"(?:packwise|krmfn)"
_PATTERNS = {
    "index": re.compile(rf"(?<![\w./-]){_NAMES}(?:\[[\w,]+\])?==([\w.!+-]+)"),
    "git": re.compile(r"(?<![\w.-])packwise(?:\.git)?@(?!sha256:)([\w./-]+)"),
    "component": re.compile(r"packwise/check@([\w./-]+)"),
    "hook": re.compile(r"/packwise(?:\.git)?\n +rev: +(\S+)"),
    "image": re.compile(r"(?<![\w/-])packwise(?:-argocd-(?:plugin|repo-server)|-validator|-without-crds)?:(\d[\w.-]*)"),
}
"""Patterns of a version of packwise in pages. The keys are the places where the version must exist."""

_NOT_PAGES = ("CHANGELOG.md", "testdata/*", "tests/*", "*.lock", "*.cdx.json")


class Reference(NamedTuple):
    """A version that a page names. `kind` is the place where it must exist."""

    page: str
    line: int
    kind: str
    version: str


def pages() -> dict[str, str]:
    """Return the texts that users read or copy, by path: the files in git except tests and generated files."""
    listed = _output("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    names = [name for name in listed if name.endswith((".md", ".yaml", ".yml", "Kptfile", ".py", ".sh"))]
    kept = [name for name in names if not any(fnmatch.fnmatch(name, pattern) for pattern in _NOT_PAGES)]
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in kept if (ROOT / name).is_file()}


def references(texts: Mapping[str, str]) -> Iterator[Reference]:
    """Yield every version of packwise or krmfn that the texts name."""
    for page, text in texts.items():
        for kind, pattern in _PATTERNS.items():
            for match in pattern.finditer(text):
                if match[1] not in _ANY:
                    yield Reference(page, text.count("\n", 0, match.start(1)) + 1, kind, match[1])


def wrong_references(named: Iterable[Reference], version: str, tags: Collection[str]) -> list[str]:
    """Return an error for each reference to a tag, release or image that does not exist.

    `version` is the version of this tree.
    """
    wrong: list[str] = []
    for page, line, kind, name in named:
        if kind == "image":
            exists, known = name == version, f"{version}, which this tree builds"
        elif kind == "index":
            exists, known = f"v{name}" in tags, f"a release ({', '.join(sorted(tags)) or 'there is none'})"
        else:
            exists = name in (COMMIT, _BRANCH) or name in tags
            known = f"{COMMIT}, {_BRANCH} or a tag ({', '.join(sorted(tags)) or 'there is none'})"
        if not exists:
            wrong.append(f"{page}:{line}: names version {name}, which does not exist; use {known}")
    return wrong


def bill_faults(wheel: Path, bill: Path) -> list[str]:
    """Return the faults of the bill of materials in a wheel (PEP 770)."""
    with zipfile.ZipFile(wheel) as archive:
        inside = [name for name in archive.namelist() if ".dist-info/sboms/" in name and name.endswith(f"/{bill.name}")]
        if len(inside) == 1 and archive.read(inside[0]) == bill.read_bytes():
            return []
    return [f"{wheel.name} lacks this tree's .dist-info/sboms/{bill.name}; run make sbom, and build it again"]


def missing_from_context(dockerfile: str, ignore: str, files: Collection[str]) -> list[str]:
    """Return an error for each path that the Dockerfile copies, although `.dockerignore` excludes it or git's `files`
    lack it.
    """
    kept = [line[1:] for line in ignore.splitlines() if line.startswith("!")]
    sources: list[str] = []
    for line in dockerfile.replace("\\\n", " ").splitlines():
        words = shlex.split(line) if line.startswith("COPY ") and "--from=" not in line else []
        sources += [word for word in words[1:-1] if not word.startswith("--")]
    return [
        f"Dockerfile: copies {source}, which must be in the repository and in .dockerignore after a !"
        for source in sources
        if not any(source == each or source.startswith(f"{each}/") for each in kept)
        or not any(file == source or file.startswith(f"{source}/") for file in files)
    ]


def unpinned_warnings() -> list[str]:
    """Return a warning for each action and image with a tag, and one that names the command to pin them."""
    lines = unpinned_lines()
    if not lines:
        return []
    advice = "the tags in these lines can move; run `make pins` with network access"
    return [f"warning: {line}" for line in [*lines, advice]]


def _built(folder: Path) -> list[str]:
    """Build wheels and sdists, and return their faults."""
    wrong: list[str] = []
    for distribution in DISTRIBUTIONS:
        project = distribution.project()
        _output(sys.executable, "-m", "hatchling", "build", "-d", str(folder), cwd=distribution.folder)
        stem = f"{project['name']}-{project['version']}"
        wheel = folder / f"{stem}-py3-none-any.whl"
        wrong += bill_faults(wheel, distribution.bill)
        again = folder / ".again"
        with tarfile.open(folder / f"{stem}.tar.gz") as archive:
            archive.extractall(again, filter="data")
        _output(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(again), cwd=again / stem)
        if _digest(again / wheel.name) != _digest(wheel):
            wrong.append(f"{stem}.tar.gz builds another wheel than the repository")
        _output("rm", "-r", str(again))
    return wrong


def _native_wheels(folder: Path) -> list[str]:
    """Build the wheels of the native core.

    Return their faults, and a warning for each wheel that cannot be built here.
    """
    wrong: list[str] = []
    for target in TARGETS:
        lack = missing_tools(target)
        if lack:
            wrong.append(f"warning: no wheel of krmfn-native for Linux on {target.machine}: {lack}")
        else:
            wrong += bill_faults(build_wheel(target, folder), CRATE / "krmfn-native.cdx.json")
    return wrong


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _tag_faults(tag: str, version: str) -> list[str]:
    """Return the faults of a release of this tree as `tag`. Return an empty list if `tag` is empty."""
    if not tag:
        return []
    wrong = [] if tag == f"v{version}" else [f"tag {tag}: must be v{version}, the version in pyproject.toml"]
    if f"\n## [{version}]" not in _text("CHANGELOG.md"):
        wrong.append(f"CHANGELOG.md: must have a section ## [{version}]")
    return wrong


def _output(*command: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{shlex.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Build everything into the folder in the first argument.

    The second argument is the tag of the release, or empty.
    """
    folder, tag = Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else ""
    version = tomllib.loads(_text("pyproject.toml"))["project"]["version"]
    tags = _output("git", "tag", "--list", "v*").split()
    files = _output("git", "ls-files").splitlines()
    wrong = [
        *wrong_references(references(pages()), version, tags),
        *missing_from_context(
            (ROOT / "Dockerfile").read_text(encoding="utf-8"),
            (ROOT / ".dockerignore").read_text(encoding="utf-8"),
            files,
        ),
        *_tag_faults(tag, version),
        *_built(folder),
        *_native_wheels(folder),
    ]
    for each in [*unpinned_warnings(), *wrong]:
        sys.stderr.write(f"release-check: {each}\n")
    for file in sorted(folder.iterdir()):
        sys.stdout.write(f"{_digest(file)}  {file.name}\n")
    sys.exit(any(not each.startswith("warning: ") for each in wrong))


if __name__ == "__main__":
    main()
