"""The defaults of a baseline are those of its own release, at any place of its configuration."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.calling import Call, write
from tests.cli.test_cli_git import git

CONFIG = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  revision: v0.1.0-alpha.11
  topologyAwareScheduling: {enabled: true}
"""
UNNAMED = CONFIG.replace("  revision: v0.1.0-alpha.11\n", "")
DATA = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: topology}
data: {revision: v0.1.0-alpha.11}
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: grove, namespace: grove-system}
spec: {chart: {spec: {chart: grove-charts, version: v0.1.0-alpha.11}}}
"""
WORKLOAD = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: web, namespace: team, labels: {kai.scheduler/queue: q}}
spec:
  replicas: 1
  template:
    cliques:
    - name: router
      spec:
        roleName: router
        replicas: 2
        podSpec:
          containers: [{name: main, image: "registry.example.com/app:1"}]
"""
REFUSED = (
    'must stay "2" once the PodCliqueSet exists; got "1" (its default is 1, but in earlier releases it '
    'was the value of replicas; set "2")'
)
INSIDE = {"w/topology.yaml": CONFIG, "w/wl.yaml": WORKLOAD}
ABOVE = {"topology.yaml": CONFIG, "w/wl.yaml": WORKLOAD}
CHOSEN = {"cluster/chosen.yaml": CONFIG, "w/wl.yaml": WORKLOAD}
DEPLOYED = {"w/topology.yaml": UNNAMED, "w/grove.yaml": RELEASE, "w/wl.yaml": WORKLOAD}

CASES = {
    "check": (INSIDE, "check w --baseline git:main"),
    "check of a file": (INSIDE, "check w/wl.yaml w/topology.yaml --baseline git:main"),
    "check of a folder": (INSIDE, "check w --baseline old/w"),
    "check, configured above": (ABOVE, "check w --baseline git:main"),
    "check, with a chosen configuration": (CHOSEN, "check w --config cluster/chosen.yaml --baseline git:main"),
    "check, by a ConfigMap": (
        CHOSEN | {"cluster/chosen.yaml": DATA}, "check w --config cluster/chosen.yaml --baseline git:main",
    ),
    "check, by what was deployed": (DEPLOYED, "check w --baseline git:main"),
    "render": (INSIDE, "render w --baseline git:main"),
    "render, configured above": (ABOVE, "render w --baseline git:main"),
    "diff": (INSIDE, "diff git:main w"),
    "diff of folders": (INSIDE, "diff old/w w"),
    "diff, with a chosen configuration": (CHOSEN, "diff git:main w --config cluster/chosen.yaml"),
    "comment": (INSIDE, "comment w --baseline git:main"),
    "comment, configured above": (ABOVE, "comment w --baseline git:main"),
    "fleet check": (INSIDE, "fleet check . --baseline git:main"),
    "fleet render": (INSIDE, "fleet render . -o ../out --baseline git:main"),
    "fleet diff": (INSIDE, "fleet diff . --baseline git:main"),
    "fleet, configured above": (ABOVE, "fleet check . --baseline git:main"),
}  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize("case", CASES)
def test_what_an_earlier_release_filled_in_stays(
    case: str, call: Call, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, words = CASES[case]
    monkeypatch.chdir(repository)
    write(repository, files)
    git(repository, "init", "--quiet", "--initial-branch=main")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "one")
    if "old/" in words:
        shutil.copytree(repository / "w", repository / "old" / "w")
    for path in files:
        file = repository / path
        text = file.read_text(encoding="utf-8").replace("alpha.11", "alpha.14")
        named = "spec:\n  revision: v0.1.0-alpha.14\n  topology"
        file.write_text(text.replace("spec:\n  topology", named), "utf-8")

    skipped = call(*words.split())
    workload = repository / "w" / "wl.yaml"
    workload.write_text(WORKLOAD.replace("replicas: 2", "replicas: 2\n        minAvailable: 2"), "utf-8")
    written = call(*words.split())

    assert (skipped.code, REFUSED in skipped.stdout + skipped.stderr) == (1, True)
    assert (written.code, "must stay" in written.stdout + written.stderr) == (0, False), written.stderr


def test_a_release_that_is_named_for_the_first_time_is_no_other(call: Call, repository: Path) -> None:
    write(repository, {"old/topology.yaml": UNNAMED, "old/wl.yaml": WORKLOAD})
    write(repository, {"new/topology.yaml": CONFIG.replace("alpha.11", "alpha.14"), "new/wl.yaml": WORKLOAD})

    assert call("check", "new", "--baseline", "old").code == 0
