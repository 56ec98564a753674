"""Releases with epochs in the names of PodGangs, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call, listing, write

CONFIG = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  revision: v0.1.0-alpha.13
  topologyAwareScheduling: {enabled: false}
  podGangEpoch: 1000
"""

WORKLOAD = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: web
  namespace: shop
  labels: {kai.scheduler/queue: shop}
spec:
  replicas: 1
  template:
    cliques:
    - name: router
      spec:
        roleName: router
        replicas: 2
        minAvailable: 2
        podSpec:
          containers:
          - {name: router, image: "registry.example.com/router:1"}
    - name: worker
      spec:
        roleName: worker
        replicas: 1
        minAvailable: 1
        podSpec:
          containers:
          - {name: worker, image: "registry.example.com/worker:1"}
    podCliqueScalingGroups:
    - {name: pool, cliqueNames: [worker], replicas: 2, minAvailable: 1}
"""
LONG = "inference-with-retrieval-for-all-us"


@pytest.fixture
def gangs(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    write(folder, {"topology.yaml": CONFIG, "web.yaml": WORKLOAD})
    return folder


def files(folder: Path) -> list[str]:
    """Return the files of rendered objects, and the names of the objects."""
    paths = sorted(folder.rglob("podgang-*.yaml"))
    return [f"{path.name}: {path.read_text(encoding='utf-8').split('  name: ')[1].splitlines()[0]}" for path in paths]


def test_a_new_epoch_changes_objects_and_no_file_name(call: Call, gangs: Path) -> None:
    out = gangs.parent / "out"
    assert call("render", "in", "-o", "out").code == 0
    before = files(out)
    write(gangs, {"topology.yaml": CONFIG.replace("1000", "2000")})

    again = call("render", "in", "-o", "out")

    assert before == ["podgang-web-0_anchor.yaml: web-0-1000", "podgang-web-0_pool-1.yaml: web-0-1001-pool-1"]
    assert files(out) == ["podgang-web-0_anchor.yaml: web-0-2000", "podgang-web-0_pool-1.yaml: web-0-2001-pool-1"]
    assert again.closing.startswith("wrote 3 files to out (2 new objects); ")


def test_an_earlier_render_in_place_keeps_its_files_and_comments(call: Call, gangs: Path) -> None:
    call("render", "--in-place", "in")
    (anchor,) = gangs.rglob("podgang-web-0_anchor.yaml")
    anchor.write_text(f"# ours\n{anchor.read_text(encoding='utf-8')}", encoding="utf-8")
    before = listing(gangs)
    write(gangs, {"topology.yaml": CONFIG.replace("1000", "2000")})

    assert call("render", "--in-place", "in").code == 0

    after = before.replace("1000", "2000").replace("1001", "2001")
    assert listing(gangs) == after
    assert "# ours\n" in after


def test_a_name_that_is_too_long_is_a_warning_of_check_and_an_error_of_render(call: Call, gangs: Path) -> None:
    write(gangs, {"topology.yaml": CONFIG.replace("  podGangEpoch: 1000\n", ""),
                  "web.yaml": WORKLOAD.replace("name: web", f"name: {LONG}")})  # fmt: skip

    checked, rendered, compared = call("check", "in", "-o", "json"), call("render", "in"), call("diff", "in", "in")

    assert [(f["severity"], f["rule"], f["path"]) for f in checked.findings] == [
        ("info", "podgang-epoch-unknown", "metadata.name"),
        ("warning", "podgang-name-length", "spec.template.podCliqueScalingGroups[0].name"),
    ]
    assert (checked.code, rendered.code, rendered.stdout, compared.code) == (0, 1, "", 0)
    assert f'the name of PodGang "{LONG}-0-1000000000000000001-pool-1" has 64 characters' in rendered.stderr


def test_a_podgangmap_in_the_baseline_names_the_epochs(call: Call, gangs: Path) -> None:
    entries = 'entries: [{epoch: "77", role: Anchor, podCliques: {router: 2}, pcsgReplicaIndices: {pool: [0, 1]}}]'
    metadata = "metadata: {name: web-0, namespace: shop}"
    podgangmap = f"apiVersion: grove.io/v1alpha1\nkind: PodGangMap\n{metadata}\nspec: {{{entries}}}\n"
    write(gangs.parent, {"live/map.yaml": podgangmap, "live/web.yaml": WORKLOAD})

    ran = call("render", "in", "--baseline", "live", "-o", "out")

    assert ran.code == 0
    assert files(gangs.parent / "out") == ["podgang-web-0_anchor.yaml: web-0-77"]
    assert "epoch" not in ran.stderr
