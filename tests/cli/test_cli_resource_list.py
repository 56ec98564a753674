"""A ResourceList is read from stdin, or if it is named. In a folder, it counts as a function's test data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.calling import CHOSEN, CONFIG, WORKLOAD, Call, write

if TYPE_CHECKING:
    from pathlib import Path

OTHER = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig:
  apiVersion: packwise.dev/v1alpha1
  kind: TopologyRender
  metadata: {name: other}
  spec:
    revision: v0.1.0-alpha.8
    topologyAwareScheduling: {enabled: true, levels: [{domain: rack, key: example.com/rack}]}
items: []
"""
FULL = OTHER.replace("items: []", "items:\n- " + WORKLOAD.partition("\n")[2].rstrip().replace("\n", "\n  "))


def test_its_configuration_is_nobodys(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", {"topology.yaml": CONFIG, "web.yaml": WORKLOAD, "a/rl.yaml": OTHER, "b/rl.yaml": OTHER})

    ran = call("check", "in")

    assert (ran.code, ran.stderr) == (0, f"no findings in 2 files{CHOSEN}; skipped: 2 ResourceLists\n")


def test_workloads_in_it_are_not_forgotten(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", {"rl.yaml": FULL, "v1.yaml": FULL.replace("config.kubernetes.io/v1", "v1")})

    ran = call("check", "in")

    assert ran.code == 0
    assert ran.closing.endswith(
        "2 ResourceLists hold workloads that were not checked: packwise check FILE; skipped: 2 ResourceLists"
    )


def test_one_that_is_named_is_the_input(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"rl.yaml": FULL})

    for ran in (call("check", "rl.yaml"), call("check", "-", stdin=FULL)):
        assert "v0.1.0-alpha.8" in ran.closing


def test_a_folder_keeps_it(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", {"topology.yaml": CONFIG, "rl.yaml": FULL})

    assert call("render", "in", "-o", "out").code == 0
    assert (tmp_path / "out/rl.yaml").read_text(encoding="utf-8") == FULL
    assert "ResourceList" not in call("render", "in").stdout
