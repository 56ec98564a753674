"""`packwise fleet --set` sets variables in the templates of OSMO's workflows, in all packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call, write
from tests.cli.test_cli_osmo import POOL, TEMPLATE

CONFIG = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: t}
spec: {osmo: {values: {tag: "1"}}}
"""


@pytest.fixture(autouse=True)
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return two packages with a variable in their workflows."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    (tmp_path / ".git").mkdir()
    for name in ("east", "west"):
        files = {"topology.yaml": CONFIG, "workflow.yaml": TEMPLATE, "pool.yaml": POOL}
        write(tmp_path / "clusters" / name, files)
    return tmp_path


def images(folder: Path) -> list[str]:
    """Return the lines with an image in all rendered files, sorted."""
    lines = [line.strip() for file in folder.rglob("*.yaml") for line in file.read_text(encoding="utf-8").splitlines()]
    return sorted(line for line in lines if "train:" in line and "{{" not in line)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_values_are_set_in_all_packages(call: Call, fleet: Path, jobs: str) -> None:
    for tag in ("2", "3"):
        out = f"out-{tag}"
        ran = call("fleet", "render", "clusters", "-o", out, "--set", "run=a", "--set", f"tag={tag}", "--jobs", jobs)

        alone = call("render", "clusters/east", "-o", f"alone-{tag}", "--set", "run=a", "--set", f"tag={tag}")
        assert (ran.code, ran.stdout.splitlines()[0], alone.code) == (0, "2 packages: 2 new", 0)
        own = images(fleet / f"alone-{tag}")
        assert own
        assert images(fleet / out / "east") == images(fleet / out / "west") == own


def test_a_word_that_sets_nothing_is_wrong_usage(call: Call) -> None:
    ran = call("fleet", "check", "clusters", "--set", "run")

    assert ran.code == 2
    assert 'must be NAME=VALUE; got "run"' in ran.stderr
