"""Operational scenarios, step by step in a folder: the input, the findings, and the written and removed files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from krmfn.yamltext import read, write
from packwise.cli.command_line import main
from tests.places import TESTDATA

HEAD = """\
# Each scenario changes a folder step by step. `give` has the files that a step writes, or removes (null). Then packwise
# renders the folder in place. With `baseline`, the baseline is the folder before the step. `exit` is the exit code, and
# `findings` are the findings. `written` has every created or changed file, and `removed` the removed ones. All other
# files kept every byte.
"""
FILES = (
    "design-1/scenarios.yaml",
    "design-1/more.yaml",
    "design-2/scenarios.yaml",
    "grep-244/scenarios.yaml",
    "grep-244-multi/scenarios.yaml",
)


def scenarios(name: str) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", read((TESTDATA / name).read_text(encoding="utf-8")))


CASES = [(name, scenario["name"]) for name in FILES for scenario in scenarios(name)]


@pytest.mark.parametrize(("file", "name"), CASES, ids=[f"{file.removesuffix('.yaml')}: {name}" for file, name in CASES])
def test_scenario(
    file: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    assert_expected: Callable[[str, str], None],
) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    monkeypatch.chdir(folder)
    found = scenarios(file)
    for scenario in found:
        if scenario["name"] == name:
            scenario["steps"] = [outcome(step, folder, capsys) for step in scenario["steps"]]

    assert_expected(file, HEAD + write(found))


def outcome(step: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return the step with all its results."""
    baseline = folder.with_name("baseline")
    shutil.rmtree(baseline, ignore_errors=True)
    shutil.copytree(folder, baseline)
    against = ["--baseline", str(baseline)] if step.get("baseline") else []
    for name, text in step["give"].items():
        if text is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(text, encoding="utf-8")
    before = contents(folder)
    checked = main(["check", "-o", "json", ".", *against])
    findings = [shown(finding) for finding in json.loads(capsys.readouterr().out)]
    code = main(["render", "--in-place", ".", *against])
    capsys.readouterr()
    after = contents(folder)

    assert checked == code
    assert code == 0 or after == before, "with an error nothing is written"
    assert main(["render", "--in-place", ".", *against]) == code
    capsys.readouterr()
    assert contents(folder) == after, "what was rendered is rendered again as it is"

    told: dict[str, Any] = {key: step[key] for key in ("do", "baseline", "give") if key in step} | {"exit": code}
    parts: dict[str, Any] = {
        "findings": findings,
        "written": {name: text for name, text in after.items() if before.get(name) != text},
        "removed": [name for name in before if name not in after],
    }
    return told | {key: part for key, part in parts.items() if part}


def contents(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def shown(finding: dict[str, Any]) -> dict[str, Any]:
    """Return a finding without its place. The tests of reports show places."""
    keys = ("rule", "severity", "path", "message", "stage", "operatorMessage")
    where = finding["resource"]
    told = " ".join(filter(None, [where["kind"], "/".join(filter(None, [where["namespace"], where["name"]]))]))
    return {"resource": told, **{key: finding[key] for key in keys if finding.get(key)}}
