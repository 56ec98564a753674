"""The operator's own objects of a workload, as an export of a cluster, do not differ from the objects in Git."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from krmfn import KubeObject
from krmfn.yamltext import read
from packwise.diff.difference import diff, state_after, state_before
from packwise.pipeline.selection import Package
from tests.golden.cases import GOLDEN

pytestmark = pytest.mark.client

RENDER = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec: {revision: grep-244, unknownFields: Warn}
"""
MADE = ("clusterTopologies", "kaiTopologies", "podGangs")


def compared(folder: Path) -> tuple[Package, Package] | None:
    """Return the objects in Git and in the cluster, for a workload that is created and accepted."""
    sources = [folder / name for name in ("config.yaml", "input.yaml")]
    there = {path.name for path in folder.iterdir()}
    if not {"config.yaml", "input.yaml", "expected.yaml"} <= there or there & {"live.yaml", "existing.yaml"}:
        return None
    expected = cast("dict[str, Any]", read((folder / "expected.yaml").read_text(encoding="utf-8")) or {})
    if "podGangs" not in expected:
        return None
    made = [item for key in MADE for item in cast("list[dict[str, Any]]", expected.get(key) or [])]
    live = [KubeObject.new({**item, "metadata": {**item["metadata"], "uid": "1"}}) for item in made]
    items = [KubeObject.parse(path.read_text(encoding="utf-8")) for path in sources]
    return Package(tuple(items), KubeObject.parse(RENDER)), Package(tuple(live))


def test_a_cluster_that_runs_the_operator_has_what_git_says() -> None:
    folders = sorted(path for path in (GOLDEN / "alpha7").iterdir() if path.is_dir())
    differing: dict[str, Any] = {}
    count = 0

    for folder in folders:
        sides = compared(folder)
        if sides is None:
            continue
        git, cluster = sides
        there = diff(state_before(git), state_after(cluster, git))
        back = diff(state_before(cluster), state_after(git, cluster))
        if not there.is_compared:
            # KAI refuses an object that Grove accepted, and packwise reports that.
            assert {result.tags["rule"] for result in there.unreadable} == {"scheduler-topology"}
            continue
        count += 1
        if there.changes or back.changes or back.refusals:
            differing[folder.name] = (there.changes, back.changes, back.refusals)

    assert differing == {}
    assert count > 30
