"""`packwise migrate` without a release of Grove migrates only objects of schedulers."""

from __future__ import annotations

from pathlib import Path

import pytest

from packwise.cli.command_line import main

OLD = """\
# The levels of the cluster.
apiVersion: kueue.x-k8s.io/v1beta1 # as it was
kind: Topology
metadata: {name: racks}
spec: {levels: [{nodeLabel: example.com/rack}]}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: gpu}
spec: {nodeLabels: {example.com/pool: gpu}, topologyName: racks}
---
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: chat}
spec: {template: {topologyConstraint: {packDomain: rack}}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "objects.yaml"
    path.write_text(OLD, encoding="utf-8")
    return path


def test_objects_of_kueue_become_those_of_v1beta2_and_nothing_else_changes(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [main(["migrate", str(file)]), main(["migrate", str(file)])] == [0, 0]

    assert file.read_text(encoding="utf-8") == OLD.replace("v1beta1", "v1beta2")
    said = [line for line in capsys.readouterr().err.splitlines() if "migrate" in line]
    assert said == [f"migrated {file}", "nothing to migrate"]


def test_a_topology_of_v1alpha1_becomes_one_of_v1beta2(file: Path) -> None:
    file.write_text(OLD.replace("v1beta1 # as", "v1alpha1 # as"), encoding="utf-8")

    assert main(["migrate", str(file)]) == 0
    assert file.read_text(encoding="utf-8") == OLD.replace("v1beta1", "v1beta2")


def test_a_dry_run_shows_them(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", str(file), "--dry-run"]) == 0

    assert file.read_text(encoding="utf-8") == OLD
    changed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("+api")]
    assert changed == ["+apiVersion: kueue.x-k8s.io/v1beta2 # as it was", "+apiVersion: kueue.x-k8s.io/v1beta2"]


@pytest.mark.parametrize("option", [["--from", "grep-244"], ["--keep-pack-domain"]])
def test_what_goes_with_a_release_wants_one(file: Path, option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", str(file), *option]) == 2

    assert "--from and --keep-pack-domain need --to" in capsys.readouterr().err


def test_an_anchor_is_in_the_way(file: Path) -> None:
    text = (
        "apiVersion: &old kueue.x-k8s.io/v1beta1\nkind: Topology\nmetadata: {name: racks, annotations: {was: *old}}\n"
        "spec: {levels: [{nodeLabel: example.com/rack}]}\n"
    )
    file.write_text(text, encoding="utf-8")

    assert main(["migrate", str(file)]) == 1

    assert file.read_text(encoding="utf-8") == text
