"""Case folders for the tests of a function: its inputs and expected outputs.

    cases/adds-a-label/
      input.yaml        a ResourceList, or the manifests of a package, and
      _fnconfig.yaml    the functionConfig, if the case has one
      _expected.yaml    the exact stdout; absent if it is empty
      _stderr.txt       the exact stderr; absent if it is empty

The exit code must be 1 if stderr has a line that starts with `error:`, else 0. Source of the layout: the golden tests
of the Go SDK (krm-functions-sdk go/fn/testhelpers/golden.go).
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krmfn.difference import difference
from krmfn.edit import list_entry
from krmfn.kubeobject import KubeObject
from krmfn.run import run
from krmfn.yamltext import read, split_documents, write

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from krmfn.resourcelist import ResourceList

__all__ = ["case_input", "collect_cases", "pytest_addoption", "run_case"]

_INPUT, _CONFIG, _EXPECTED, _STDERR = "input.yaml", "_fnconfig.yaml", "_expected.yaml", "_stderr.txt"
_SUFFIXES = (".yaml", ".yml", ".json")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update` to pytest, which writes the function's current output as the expected one.

    Import this function in a conftest.py.
    """
    parser.addoption("--update", action="store_true", default=False, help="rewrite the expected files of case folders")


def collect_cases(root: Path | str) -> tuple[Path, ...]:
    """Return the case folders below `root`, sorted. Raise ValueError if there are none."""
    folders = {file.parent for pattern in (_INPUT, _EXPECTED, _STDERR) for file in Path(root).rglob(pattern)}
    if not folders:
        raise ValueError(f'"{root}" has no case folder: a folder with {_INPUT}, {_EXPECTED} or {_STDERR}')
    return tuple(sorted(folders))


def case_input(folder: Path | str) -> bytes:
    """Return the stdin of the case: `input.yaml`, or a list of the folder's manifests as kpt makes it."""
    folder = Path(folder)
    if (folder / _INPUT).is_file():
        return (folder / _INPUT).read_bytes()
    entries: list[str] = []
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if file.suffix in _SUFFIXES and not file.name.startswith("_"):
            entries.extend(_entries(name, _text(file)))
    text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
    text += f"items:\n{''.join(entries)}" if entries else "items: []\n"
    if (folder / _CONFIG).is_file():
        text += write({"functionConfig": read(_text(folder / _CONFIG))})
    return text.encode()


def run_case(
    folder: Path | str, function: Callable[..., ResourceList], *, config: type[Any] | None = None, update: bool = False
) -> None:
    """Run `function` on the case in `folder`. Raise AssertionError with the difference from the expected output.

    `config` is the function's pydantic model. With `update`, the expected files are written instead.
    """
    folder = Path(folder)
    stdout, stderr = io.BytesIO(), io.StringIO()
    code = run(function, config=config, stdin=io.BytesIO(case_input(folder)), stdout=stdout, stderr=stderr)
    got = {_EXPECTED: stdout.getvalue(), _STDERR: stderr.getvalue().encode()}
    if update:
        for name, data in got.items():
            _put(folder / name, data)
        return
    differences = [_difference(folder / name, data) for name, data in got.items()]
    wanted = int(any(line.startswith("error:") for line in stderr.getvalue().split("\n")))
    if code != wanted:
        differences.append(f"exit code must be {wanted}; got {code}\n")
    if any(differences):
        raise AssertionError(f"{folder}: the output differs from the expected files\n" + "".join(differences))


def _entries(name: str, text: str) -> list[str]:
    """Return the manifests in the text of a file as entries of a list, annotated with their file and index."""
    entries: list[str] = []
    for number, document in enumerate(split_documents(text)):
        if read(document.text) is None:
            continue
        head, body = _split_comments(document.text)
        item = KubeObject.parse(body, file=name, line=document.line + document.text[: -len(body)].count("\n"))
        item = item.with_annotation("config.kubernetes.io/index", str(number))
        item = item.with_annotation("config.kubernetes.io/path", name)
        entry = list_entry(item.text, "", "\n", item.value)
        entries.append(f"- {head}  {entry.removeprefix('- ')}" if head else entry)
    return entries


def _split_comments(text: str) -> tuple[str, str]:
    """Split `text` at its first field. Return the comment lines directly above the field, and the rest of the document.

    kpt writes these comments after the dash of the item. It drops a comment with a blank line below it.
    """
    lines = text.split("\n")
    first = next(n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#"))
    start = first
    while start > 0 and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    comments = [line.strip() for line in lines[start:first]]
    return "\n  ".join([*comments, ""]).removesuffix("  "), "\n".join(lines[first:])


def _text(file: Path) -> str:
    # Do not use the universal newlines of read_text, because a case may be about CRLF.
    return file.read_bytes().decode("utf-8")


def _put(file: Path, data: bytes) -> None:
    if data:
        file.write_bytes(data)
    else:
        file.unlink(missing_ok=True)


def _difference(file: Path, got: bytes) -> str:
    wanted = file.read_bytes() if file.is_file() else b""
    if wanted == got:
        return ""
    before, after = (data.decode("utf-8", "replace") for data in (wanted, got))
    shown = difference(before, after, f"{file.name} (expected)", f"{file.name} (actual)")
    return shown or f"{file.name} differs, and is not UTF-8\n"
