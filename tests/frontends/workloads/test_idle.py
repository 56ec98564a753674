"""The output for workloads that have no pods for now, and for workloads without a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from packwise.cli.command_line import main
from packwise.explain.explanation import explanation_of
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from tests.frontends.workloads.workloads import parsed

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {%s, namespace: ml, labels: {kai.scheduler/queue: q%s}}
spec: {%sparallelism: 2, template: {spec: {schedulerName: kai-scheduler, containers: [{name: c, image: i:1}]}}}
"""
SUSPENDED = "no gang while spec.suspend is true"
CASES = {
    "suspended": (JOB % ("generateName: a-", "", "suspend: true, "), "Job ml/a-*", SUSPENDED),
    "suspended, with a name": (JOB % ("name: a", "", "suspend: true, "), "Job ml/a", SUSPENDED),
    "it runs": (JOB % ("name: a", "", ""), "Job ml/a", ""),
    "it runs, without a name": (JOB % ("generateName: a-", "", ""), "Job ml/a-*", ""),
    "Kueue suspends it itself": (
        JOB % ("name: a", ", kueue.x-k8s.io/queue-name: lq", "suspend: true, "), "Job ml/a", "",
    ),
    "its pods have a PodGroup of their own": (
        JOB % ("annotations: {kai.scheduler/skip-podgrouper: 'true', pod-group-name: ours}, name: a", "", ""),
        "Job ml/a",
        "no gang: KAI's pod-grouper skips its pods",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_workload_without_pods_says_why(case: str) -> None:
    text, name, idle = CASES[case]
    package = Package(parsed(text))

    trees = explanation_of(package, render(package)).workloads

    assert [(tree.source, tree.idle) for tree in trees] == [(name, idle)]


def test_topologies_show_the_prefix_of_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.yaml").write_text(JOB % ("generateName: a-", "", ""))

    assert main(["topologies", str(tmp_path)]) == 0
    assert "ml/a-*" in capsys.readouterr().out
