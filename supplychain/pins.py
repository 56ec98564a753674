"""Actions and images that this repository runs, pinned by digest: `make pins`.

A tag can be moved to other code, but a commit and a digest cannot. The tag stays next to the digest: in a comment after
an action, and in the name of an image. The next `make pins` renews the digest by the tag. Examples for users keep their
tags.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import yaml

from supplychain.locks import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FILES", "Origin", "Reference", "main", "pin", "references", "rewrite", "unpinned_lines"]

FILES = (".github/workflows/*.yml", ".github/workflows/*.yaml", "action.yml", "Dockerfile")
"""Files whose actions and images run with this project's rights."""

_COMMIT = re.compile(r"[0-9a-fA-F]{40}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TAG = re.compile(r"\w[\w.+/-]*", re.ASCII)
_ACTION = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*/(?!\.{1,2}[/@])[\w.][\w.-]*)(?:/\w[\w./-]*)?@([^@]*)", re.ASCII)
_IMAGE = re.compile(
    r"((?:[a-z0-9][a-z0-9.-]*(?::[0-9]+)?/)?[a-z0-9][a-z0-9._/-]*(:\w[\w.-]{0,127})?)(?:@(sha256:[0-9a-f]{64}))?",
    re.ASCII,
)
_COMMENT = re.compile(r"[ \t]*(?:#[ \t]*([^\r\n]*?))?[ \t]*(?=\r?$)", re.MULTILINE)
_FROM = re.compile(r"[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(\S+)(?:[ \t]+AS[ \t]+(\S+))?[ \t\r]*", re.IGNORECASE)
_FLAGS = re.compile(r"[ \t]*(?:COPY|ADD|RUN)[ \t]+(?:--\S+[ \t]+)+", re.IGNORECASE)
_FLAG_FROM = re.compile(r"--(?:from=|mount=(?:\S*,)?from=)([^,\s]+)")
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Origin:
    """A tag of a repository on GitHub, or of an image."""

    kind: Literal["git", "crane"]
    """The program that looks up the digest of the tag."""
    name: str
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An action or an image in a line of a file."""

    line: int
    written: str
    pinned: bool
    start: int
    end: int
    origin: Origin | None = None
    """The tag to look up, or None if the line has a digest without a tag, or if the line is invalid."""
    before: str = ""
    """The text from `start` up to the digest."""
    after: str = ""
    problem: str = ""
    """The reason why `make pins` cannot pin or renew the line, or ""."""


def references(file: str, text: str) -> list[Reference]:
    """Return every action and image in a workflow, an action or a Dockerfile, in the order of the text."""
    found = _actions(text) if file.endswith((".yml", ".yaml")) else _images(text)
    return sorted(found, key=lambda reference: reference.start)


def rewrite(file: str, text: str, answers: Mapping[Origin, str]) -> str:
    """Return the text with the digests of `answers` for their tags."""
    for reference in reversed(references(file, text)):
        digest = answers.get(reference.origin) if reference.origin is not None else None
        if digest is not None:
            pinned = f"{reference.before}{digest}{reference.after}"
            text = f"{text[: reference.start]}{pinned}{text[reference.end :]}"
    return text


def unpinned_lines(root: Path = ROOT) -> list[str]:
    """Return a line for each action and image that is not pinned by digest."""
    return [
        f"{file}:{reference.line}: {reference.written} is not pinned by digest"
        for file, text in _texts(root).items()
        for reference in references(file, text)
        if not reference.pinned
    ]


def pin(root: Path = ROOT) -> tuple[list[str], list[str]]:
    """Pin and renew all files, or none of them. Return the changes and the failures."""
    texts = _texts(root)
    named = [(file, reference) for file, text in texts.items() for reference in references(file, text)]
    failures = [f"{file}:{each.line}: {each.written}: {each.problem}" for file, each in named if each.problem]
    answers: dict[Origin, str] = {}
    for origin in dict.fromkeys(each.origin for _, each in named if each.origin is not None):
        try:
            answers[origin] = _digest_of(origin)
        except LookupError as error:
            failures.append(str(error))
    if failures:
        return [], list(dict.fromkeys(failures))
    after = {file: rewrite(file, text, answers) for file, text in texts.items()}
    _write(root, {file: text for file, text in after.items() if text != texts[file]})
    changed = [
        f"{file}:{old.line}: {old.origin.name} {old.origin.tag} is {answers[old.origin]}"
        for file, old in named
        if old.origin is not None
        and texts[file][old.start : old.end] != f"{old.before}{answers[old.origin]}{old.after}"
    ]
    return changed, []


def _actions(text: str) -> Iterator[Reference]:
    """Yield the values of `uses`. The text is read as YAML, so that `uses` in a script or a comment does not count."""
    seen: set[int] = set()
    for document in yaml.compose_all(text, Loader=yaml.SafeLoader):
        for node in _values_of_uses(document):
            if node.start_mark.index not in seen:
                seen.add(node.start_mark.index)
                if not node.value.startswith("./"):
                    yield _action(text, node)


def _values_of_uses(node: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _values_of_uses(child)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(value, yaml.ScalarNode) and key.value == "uses":
                yield value
            yield from _values_of_uses(value)


def _action(text: str, node: yaml.ScalarNode) -> Reference:
    start, end, value = node.start_mark.index, node.end_mark.index, node.value
    line, spelling = node.start_mark.line + 1, text[start:end]
    quote = spelling[:1] if spelling[:1] in ("'", '"') else ""
    remark = _COMMENT.match(text, end)
    if spelling != f"{quote}{value}{quote}" or remark is None:
        problem = "must be alone on its line, so that a comment can name its tag"
        pinned = _COMMIT.fullmatch(value.partition("@")[2]) is not None
        return Reference(line=line, written=value, pinned=pinned, start=start, end=end, problem=problem)
    if value.startswith("docker://"):
        return _image(value.removeprefix("docker://"), line, start + len(f"{quote}docker://"))
    match, comment = _ACTION.fullmatch(value), remark[1] or ""
    if match is None:
        problem = "must be OWNER/REPOSITORY@TAG, or with a path in the repository"
        return Reference(line=line, written=value, pinned=False, start=start, end=end, problem=problem)
    pinned = _COMMIT.fullmatch(match[2]) is not None
    first, _, others = comment.partition(" ")
    tag = first if pinned else match[2]
    problem, origin = "", None
    if _TAG.fullmatch(tag):
        origin = Origin("git", match[1], tag)
    elif not pinned:
        problem = f"must name a tag; got {tag!r}"
    elif comment:
        problem = f"must have a comment that begins with the tag; got {comment!r}"
    note = (others if first == tag else comment).strip()
    return Reference(
        line=line,
        written=value,
        pinned=pinned,
        start=start,
        end=remark.end(),
        origin=origin,
        before=f"{quote}{value.rpartition('@')[0]}@",
        after=f"{quote} # {tag}{' ' if note else ''}{note}",
        problem=problem,
    )


def _images(text: str) -> Iterator[Reference]:
    """Yield the images of `FROM`, and of each `--from=` that does not name a stage."""
    stages = {"scratch"}
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        flags = _FLAGS.match(line)
        if re.match(r"[ \t]*FROM(?:[ \t]|$)", line, re.IGNORECASE):
            match = _FROM.fullmatch(line)
            if match is None:
                problem = "must be FROM IMAGE:TAG, or FROM IMAGE:TAG AS NAME, on one line"
                written, end = line.strip(), start + len(line)
                yield Reference(line=number, written=written, pinned=False, start=start, end=end, problem=problem)
            elif match[1].lower() not in stages:
                yield _image(match[1], number, start + match.start(1))
            if match is not None and match[2]:
                stages.add(match[2].lower())
        elif flags is not None:
            for match in _FLAG_FROM.finditer(flags[0]):
                if match[1].lower() not in stages and not match[1].isdecimal():
                    yield _image(match[1], number, start + match.start(1))
        start += len(line) + 1


def _image(written: str, line: int, start: int) -> Reference:
    end, match = start + len(written), _IMAGE.fullmatch(written)
    if match is None or not (match[2] or match[3]):
        problem = "must be IMAGE:TAG"
        return Reference(line=line, written=written, pinned=False, start=start, end=end, problem=problem)
    origin = Origin("crane", match[1].removesuffix(match[2]), match[2][1:]) if match[2] else None
    pinned = match[3] is not None
    return Reference(
        line=line, written=written, pinned=pinned, start=start, end=end, origin=origin, before=f"{match[1]}@"
    )


def _texts(root: Path) -> dict[str, str]:
    files = sorted({file for pattern in FILES for file in root.glob(pattern)})
    return {file.relative_to(root).as_posix(): file.read_bytes().decode() for file in files}


def _digest_of(origin: Origin) -> str:
    """Return the current commit or digest of a tag. Raise LookupError with the reason if the look-up fails."""
    if origin.kind == "crane":
        image = f"{origin.name}:{origin.tag}"
        answer = _output("crane", "digest", image).strip()
        if not _DIGEST.fullmatch(answer):
            raise LookupError(f"{image}: crane must answer with a digest; got {answer[:100]!r}")
        return answer
    address, tag = f"https://github.com/{origin.name}", f"refs/tags/{origin.tag}"
    lines = _output("git", "ls-remote", "--", address, tag, f"{tag}^{{}}").splitlines()
    commits = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
    # An annotated tag is a separate object. The name that ends with `^{}` is its commit.
    commit = commits.get(f"{tag}^{{}}", commits.get(tag, ""))
    if not _COMMIT.fullmatch(commit):
        raise LookupError(f"{address} does not have the tag {origin.tag}")
    return commit


def _output(program: str, *words: str) -> str:
    path = shutil.which(program)
    if path is None:
        hint = "; `make e2e-tools` builds it" if program == "crane" else ""
        raise LookupError(f"{program} must be on PATH{hint}")
    # If a repository does not exist, git must fail instead of asking for a password.
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(  # noqa: S603
            [path, *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise LookupError(f"{program} {' '.join(words)}: no answer in {_SECONDS} seconds") from None
    if done.returncode:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise LookupError(f"{program} {' '.join(words)}: {said}")
    return done.stdout


def _write(root: Path, texts: Mapping[str, str]) -> None:
    """Write all files to temporary ones first, then replace the old files.

    A full disk then leaves the old files unchanged.
    """
    with tempfile.TemporaryDirectory(prefix=".pins-", dir=root) as folder:
        written: list[tuple[Path, Path]] = []
        for number, (file, text) in enumerate(texts.items()):
            new = Path(folder) / str(number)
            new.write_bytes(text.encode())
            shutil.copymode(root / file, new)
            written.append((new, root / file))
        for new, old in written:
            new.replace(old)


def main() -> None:
    """Print each changed pin. If a look-up fails, change no file and exit with 1."""
    changed, failures = pin()
    for each in failures:
        sys.stderr.write(f"pins: {each}\n")
    if failures:
        sys.exit("pins: no file was changed")
    for each in changed:
        sys.stdout.write(f"{each}\n")
    sys.stdout.write(f"pins: {len(changed)} lines changed\n")


if __name__ == "__main__":
    main()
