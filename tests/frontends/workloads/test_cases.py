"""KAI's groups of workloads, and findings about them: a table of cases with the whole answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from krmfn.yamltext import read, write
from tests.frontends.workloads.workloads import groups_of, parsed, rendered, shown
from tests.places import TESTDATA

HEAD = """\
# Each case is a file, `objects`, that is rendered for a release of KAI (`kai`, by default v0.17). `findings` are all
# findings of a check. `groups` are the PodGroups that a render shows. After an error there are none.
"""
TABLES = ("workloads/groups.yaml", "workloads/rules.yaml", "workloads/train-jobs.yaml", "workloads/wrapped.yaml")


def cases(table: str) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", read((TESTDATA / table).read_text(encoding="utf-8")))


def answered(case: dict[str, Any]) -> dict[str, Any]:
    """Return the case with all its results."""
    objects, version = parsed(case["objects"]), case.get("kai", "v0.17")
    findings = shown(rendered(objects, version).results)
    groups = groups_of(rendered(objects, version, writes=True))
    kept = {key: part for key, part in case.items() if key not in ("findings", "groups")}
    return kept | {key: part for key, part in (("findings", findings), ("groups", groups)) if part}


@pytest.mark.parametrize("table", TABLES)
def test_a_workload_is_answered_as_the_table_says(table: str, assert_expected: Callable[[str, str], None]) -> None:
    assert_expected(table, HEAD + write([answered(case) for case in cases(table)]))


def test_kai_may_have_another_name() -> None:
    job = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec: {template: {spec: {schedulerName: %s, containers: [{name: main, image: app:1}]}}}
"""

    groups = [
        [group["name"] for group in groups_of(rendered(parsed(job % name), name="my-kai", writes=True))]
        for name in ("my-kai", "kai-scheduler")
    ]

    assert groups == [["pg-train-uid-job-train"], []]


def test_a_group_has_the_user_of_its_last_pod_and_the_node_pool_of_its_first() -> None:
    pods = "spec: {schedulerName: kai-scheduler, containers: [{name: pytorch, image: app:1}]}"
    job = f"""\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: ddp}}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: {{metadata: {{labels: {{user: ann, kai.scheduler/node-pool: a}}, annotations: {{user: bob}}}}, {pods}}}
    Worker:
      replicas: 1
      template: {{metadata: {{labels: {{user: eve, kai.scheduler/node-pool: b}}}}, {pods}}}
"""

    [group] = [item for item in rendered(parsed(job), writes=True).items if item.kind == "PodGroup"]

    assert group.get(("metadata", "labels")) == {"user": "eve", "kai.scheduler/node-pool": "a"}
    assert group.get(("metadata", "annotations", "user")) == "bob"


def test_no_two_cases_have_one_name() -> None:
    names = [case["name"] for table in TABLES for case in cases(table)]
    assert len(set(names)) == len(names)
