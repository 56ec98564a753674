"""Queues that are their own ancestors, or nested too deeply, and jobs in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from packwise.schedulers.kai.allocate.scene import QueueShare
from packwise.schedulers.kai.allocate.session import MAX_QUEUE_DEPTH, existing_queues
from tests.cli.calling import CONFIG, WORKLOAD, Call, write

NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: z, example.com/rack: r}}
status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}
"""
NEVER = "it is its own ancestor, or has 100 ancestors"


def queue(number: int, parent: int) -> str:
    above = f", parentQueue: q{parent}" if parent >= 0 else ""
    share = "{quota: -1, limit: -1, overQuotaWeight: 1}"
    spec = f"{{resources: {{gpu: {share}, cpu: {share}, memory: {share}}}{above}}}"
    return f"---\napiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {{name: q{number}}}\nspec: {spec}\n"


@pytest.mark.parametrize(
    ("parents", "reason"),
    [
        ([0], NEVER),
        ([2, 0, 1], NEVER),
        ([*range(1, 3_000), 0], NEVER),
        ([*range(1, MAX_QUEUE_DEPTH + 1), -1], NEVER),
        ([*range(1, MAX_QUEUE_DEPTH), -1], ""),
        ([5], 'its ancestor "q5" does not exist'),
    ],
    ids=["its own parent", "a ring", "a long ring", "too deep", "deep", "no parent"],
)
def test_a_job_in_the_first_queue(parents: list[int], reason: str, call: Call, tmp_path: Path) -> None:
    workload = WORKLOAD.replace("namespace: shop", "namespace: shop\n  labels: {kai.scheduler/queue: q0}")
    queues = "".join([queue(number, parent) for number, parent in enumerate(parents)])
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": workload, "nodes.yaml": NODE + queues})

    ran = call("place", "in", "--nodes", "nodes.yaml")

    assert (ran.code, reason in ran.stdout) == (1 if reason else 0, True)
    assert call("report", "in", "--nodes", "nodes.yaml", "-o", "html").code == ran.code
    assert call("render", "in").code == 0


def test_queues_below_one_that_is_not_there_are_dropped() -> None:
    names = {"a": "", "b": "a", "c": "gone", "d": "c", "e": "e"}

    assert list(existing_queues([QueueShare(name, parent=parent) for name, parent in names.items()])) == ["a", "b"]
