"""Every command in the documentation runs.

In a page, a fence of `console` holds commands (`$ …`) and, if the page shows output, the whole output. The commands of
one page run in order, in one copy of a reader's files, each block in a shell of its own. If the last command of a block
must fail, its fence is `console exits=1`. A test runs no `make` commands, because CI runs them. Here they must name
existing targets.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from krmfn.hints import field_names
from packwise.revisions.grove import HISTORY, RECORDS, Revision
from tests.places import ROOT, TOOLS, needs_command

pytestmark = pytest.mark.client

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "examples/**/*.md",
        "kustomize-plugin/*.md",
        "kpt-package/*.md",
        "flux/*.md",
        "argocd-plugin/*.md",
        "fn/*/*.md",
    )
    for path in ROOT.glob(pattern)
)
READER_HAS = ("examples", "kustomize-plugin", "kpt-package")

FENCE = re.compile(r"^```console(?: exits=(?P<code>\d+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
MAKE = re.compile(r"(?:^|[`$] ?|&& )make ([a-z][a-z0-9-]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """Commands of one fence, the output shown after them, the exit code of the last."""

    script: str
    output: str
    code: int


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    for match in FENCE.finditer(text):
        lines = match["body"].splitlines()
        script = "\n".join(line.removeprefix("$ ") for line in lines if line.startswith("$ "))
        output = "".join(f"{line}\n" for line in lines if not line.startswith("$ "))
        found.append(Block(script, output, int(match["code"] or 0)))
    return found


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    for name in READER_HAS:
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def with_commands(page: str) -> bool:
    return bool(blocks((ROOT / page).read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", [page for page in PAGES if with_commands(page)])
def test_commands_run_as_written(page: str, reader: Path, request: pytest.FixtureRequest) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in ("packwise", "kustomize", "kpt"):
        if any(re.search(rf"\b{name} ", block.script) for block in blocks(text)):
            request.getfixturevalue(name)
    folders = [Path(sys.executable).parent, TOOLS / "kustomize-v5.8.2"]
    environment = {**os.environ, "PATH": os.pathsep.join([*map(str, folders), os.environ["PATH"]])}

    needs_command("bash", "bash")
    for block in blocks(text):
        done = subprocess.run(
            ["bash", "-euc", block.script], cwd=reader, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == block.code, f"{block.script}\n{done.stderr}"
        assert block.output in ("", done.stdout + done.stderr)


@pytest.mark.parametrize("page", PAGES)
def test_make_commands_name_targets(page: str) -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(MAKE.findall((ROOT / page).read_text(encoding="utf-8")))

    assert named <= targets


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    words = CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", words)

    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


def test_the_table_of_revisions_tells_every_field_of_the_records() -> None:
    rows = runpy.run_path(str(ROOT / "docs" / "generate.py"))["REVISION_ROWS"]

    assert {field for _, fields, _ in rows for field in fields} == {*field_names(Revision)} - {
        "name",
        "releases",
        "conditions",
    }


def test_every_row_of_the_records_has_a_topic() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "generate.py"))

    assert sorted(row for rows in page["TOPICS"].values() for row in rows) == sorted(
        title for title, _, _ in page["REVISION_ROWS"]
    )


def test_every_release_has_its_facts() -> None:
    assert [release.tag for release in HISTORY] == [tag for record in RECORDS for tag in record.releases]


def test_generated_pages_are_what_the_code_says() -> None:
    """`make docs` rewrites them."""
    generated = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()

    assert {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in generated} == generated


def test_ci_runs_the_commands_of_the_readme() -> None:
    """The first screen of the README has two commands.

    CI runs both as written. `make qualify` ends with `make test`.
    """
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert "step make demo\n" in script
    assert "step make qualify\n" in script
    assert re.search(r"^qualify: .*\btest\b", makefile, re.MULTILINE)
