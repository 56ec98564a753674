"""Case folders: the name of each is the sentence that the case specifies.

`in` is the folder to migrate, `args` has the arguments of the command, and `expected.txt` has its whole output and the
resulting files.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from krmfn.yamltext import read, split_documents
from krmfn.yamltext.places import comments
from packwise.cli.command_line import main
from tests.cli.calling import listing
from tests.places import TESTDATA

CASES = sorted((TESTDATA / "migrate").iterdir())


def migrated(case: Path, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the output of the command, and the files afterwards."""
    shutil.copytree(case / "in", folder / "in")
    monkeypatch.chdir(folder)
    code = main(["migrate", *(case / "args").read_text(encoding="utf-8").split()])
    said = capfd.readouterr()
    return f"exit code {code}\n===== stdout\n{said.out}===== stderr\n{said.err}{listing(folder)}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(
    case: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    assert_expected: Callable[[str, str], None],
) -> None:
    assert_expected(f"migrate/{case.name}/expected.txt", migrated(case, tmp_path, capfd, monkeypatch))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_comment_is_lost(
    case: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    migrated(case, tmp_path, capfd, monkeypatch)

    assert sorted(comments_in(tmp_path)) == sorted(comments_in(case / "in"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_second_migration_changes_nothing(
    case: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    migrated(case, tmp_path, capfd, monkeypatch)
    words = (case / "args").read_text(encoding="utf-8").split()
    # If there are only workloads, nothing shows their release afterwards.
    again = [word for word in words if word != "--from" and words[words.index(word) - 1] != "--from"]
    before = listing(tmp_path)

    main(["migrate", *again])

    assert listing(tmp_path) == before


def comments_in(folder: Path) -> list[str]:
    """Return the comments of all documents in a folder, and of the documents in the data of ConfigMaps."""
    found: list[str] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        for document in split_documents(path.read_text(encoding="utf-8")):
            found += comments(document.text)
            value = read(document.text)
            data = value.get("data") if isinstance(value, dict) else None
            for text in data.values() if isinstance(data, dict) else ():
                found += comments(str(text))
    return found
