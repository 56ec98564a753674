"""The code is what docs/architecture.md says: imports point one way, nothing heavy is on the path of every run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from packwise.revisions import REVISIONS
from tests.places import ROOT

FN = ROOT / "fn"
MODULES = sorted(FN.rglob("*.py"))

FORBIDDEN = {
    # package: what nothing in it may import
    "krmfn": ("packwise",),
    "packwise.topology": ("packwise.frontends", "packwise.schedulers", "packwise.pipeline", "packwise.cli"),
    "packwise.revisions": ("packwise.frontends", "packwise.schedulers", "packwise.pipeline", "packwise.cli"),
    "packwise.frontends": ("packwise.schedulers", "packwise.pipeline", "packwise.cli", "packwise.function"),
    "packwise.schedulers": ("packwise.frontends", "packwise.pipeline", "packwise.cli", "packwise.function"),
    "packwise.pipeline": ("packwise.cli", "packwise.diff", "packwise.function"),
    "packwise.diff": ("packwise.cli", "packwise.frontends", "packwise.function", "packwise.schedulers"),
    "packwise.explain": ("packwise.cli", "packwise.function"),
}


def name_of(module: Path) -> str:
    parts = module.relative_to(FN).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(module: Path) -> Iterator[str]:
    """Every module imported anywhere in a file, also for types only and inside functions."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import hides where it points"
            yield f"{node.module}"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("package", FORBIDDEN)
def test_imports_point_one_way(package: str) -> None:
    wrong = [
        f"{name_of(module)} imports {imported}"
        for module in MODULES
        if within(name_of(module), package)
        for imported in imports(module)
        if any(within(imported, other) for other in FORBIDDEN[package])
    ]

    assert wrong == []


def test_only_the_pipeline_knows_front_ends_and_schedulers_both() -> None:
    both = [
        name_of(module)
        for module in MODULES
        if all(any(within(i, f"packwise.{side}") for i in imports(module)) for side in ("frontends", "schedulers"))
    ]

    assert [name for name in both if not within(name, "packwise.pipeline")] == []


def test_nothing_asks_for_the_name_of_a_revision() -> None:
    """What differs is data: only the records and the configuration's own fields spell the names."""
    spelt = [
        f"{name_of(module)}: {node.value}"
        for module in MODULES
        if not any(within(name_of(module), package) for package in ("packwise.revisions", "packwise.api"))
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in REVISIONS
    ]

    assert spelt == []


def test_every_entry_of_the_tree_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = page.split("## The tree is the diagram")[1].split("\n\n")[1]
    folders: list[str] = []
    missing: list[str] = []
    for line in tree.splitlines():
        entry = re.match(r"^( +)(\S+)", line)
        assert entry is not None, line
        depth = (len(entry[1]) - 4) // 2
        folders[depth:] = [entry[2]]
        if not (ROOT / "".join(folders)).exists():
            missing.append("".join(folders))

    assert missing == []


def test_a_usual_run_imports_nothing_heavy() -> None:
    """Each costs as much as rendering a hundred workloads; docs/dependencies.md has the figures."""
    source = (ROOT / "testdata" / "clients" / "image" / "input.yaml").read_text(encoding="utf-8")
    command = [sys.executable, "-X", "importtime", "-m", "packwise", "fn"]

    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    heavy = {
        "argparse",
        "cel_expr_python",
        "difflib",
        "json",
        "jsonpatch",
        "packwise.crds",
        "packwise.frontends.osmo",
        "packwise.request",
        "pydantic",
        "yaml",
    }
    assert imported & heavy == set()


@pytest.mark.parametrize("command", ["render", "check"])
def test_explanations_are_read_only_where_they_are_shown(command: str) -> None:
    """No render pays for what only people who ask for it read."""
    example = ROOT / "examples" / "disaggregated-inference"
    words = [sys.executable, "-X", "importtime", "-m", "packwise", command, str(example)]

    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "packwise.pipeline" in done.stderr
    assert "packwise.explain" not in done.stderr


@pytest.mark.parametrize(("output", "imports"), [("text", False), ("json", False), ("patch", True)])
def test_patches_are_paid_for_where_they_are_asked_for(output: str, imports: bool) -> None:
    sides = [str(ROOT / "testdata" / "diff" / "more-replicas-add-gangs-that-are-shown-once" / "before")] * 2
    sides[1] = str(ROOT / "testdata" / "diff" / "a-level-with-another-label-re-creates-the-topology" / "after")
    words = [sys.executable, "-X", "importtime", "-m", "packwise", "diff", *sides, "-o", output]

    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (done.returncode, "| jsonpatch\n" in done.stderr) == (0, imports), done.stderr
