"""Findings about Kueue's jobs and objects: a table of cases with the whole answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from krmfn.kubeobject import KubeObject
from krmfn.result import sort_results
from krmfn.yamltext import read, write
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from tests.frontends.workloads.workloads import parsed, shown
from tests.places import TESTDATA
from tests.schedulers.placing import places

HEAD = """\
# Each case is a file, `objects`, that is checked for a release of Kueue (`kueue`, by default v0.19). If it has the file
# `before`, it is an update of that file. `settings` are lines in the spec of the settings. `findings` are all findings.
"""
PLACED = "kueue/places.yaml"
WITHOUT_TOPOLOGY = (
    "; note: Kueue assigns no topology to pods of a flavor without one; kube-scheduler chooses their nodes"
)
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n%(number)d, labels: {pool: a, example.com/rack: r%(rack)d, kubernetes.io/hostname: n%(number)d}}
status: {allocatable: {cpu: "64", memory: 256Gi, pods: "110"}}
"""
NODES = "---\n".join([NODE % {"number": number, "rack": number // 2} for number in range(4)])
HEAD_OF_PLACED = (
    HEAD
    + """\
# `places` is what comes of each job on four nodes of 64 cores, two a rack; an error leaves none of it.
"""
)
TABLES = (
    "kueue/rules.yaml", "kueue/waiting.yaml", "kueue/queues.yaml", "kueue/workloads.yaml", "kueue/grove.yaml",
    "kueue/places.yaml",
    "kueue/managed.yaml",
)  # fmt: skip
SETTINGS = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
"""
OF_ALL = """\
revision: v0.1.0-alpha.13
apply: false
emit: [PodGroup]
topologyAwareScheduling: {enabled: true}
"""


def cases(table: str) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", read((TESTDATA / table).read_text(encoding="utf-8")))


def settings(case: dict[str, Any]) -> KubeObject:
    flavors = f", flavors: {case['flavors']}" if "flavors" in case else ""
    unreleased = ", unreleased: true" if case.get("unreleased") else ""
    lines = [
        f"kueue: {{version: {case.get('kueue', 'v0.19')}{flavors}{unreleased}}}",
        *case.get("settings", OF_ALL).splitlines(),
    ]
    return KubeObject.parse(SETTINGS + "".join(f"  {line}\n" for line in lines), file="topology.yaml")


def answered(case: dict[str, Any]) -> dict[str, Any]:
    """Return the case with all its results."""
    configuration = settings(case)
    baseline = (configuration, *parsed(case["before"])) if "before" in case else None
    package = Package((configuration, *parsed(case.get("objects", ""))), baseline=baseline)
    results = [each for each in sort_results(render(package).results) if each.tags["rule"] != "no-workloads"]
    findings = shown(results, "kueue")
    answer = {key: part for key, part in case.items() if key not in ("findings", "places")}
    return answer | ({"findings": findings} if findings else {})


def placed(case: dict[str, Any]) -> list[str]:
    """Return the places of a case's jobs. A flavor without a topology gives the same answer for all."""
    lines = places(NODES, Package((settings(case), *parsed(case["objects"]))))
    return [line.removesuffix(WITHOUT_TOPOLOGY) for line in lines]


@pytest.mark.parametrize("table", TABLES)
def test_a_job_is_answered_as_the_table_says(table: str, assert_expected: Callable[[str, str], None]) -> None:
    is_placed = table == PLACED
    answers = [answered(case) | ({"places": placed(case)} if is_placed else {}) for case in cases(table)]

    assert_expected(table, (HEAD_OF_PLACED if is_placed else HEAD) + write(answers))


POD = """\
apiVersion: v1
kind: Pod
metadata:
  generateName: worker-
  labels: {kueue.x-k8s.io/queue-name: lq, kueue.x-k8s.io/pod-group-name: g}
  annotations: {kueue.x-k8s.io/pod-group-total-count: "1"}
spec: {restartPolicy: Never, containers: [{name: c, image: "i:1"}]}
"""


def test_a_group_in_two_files_may_be_two_variants() -> None:
    pods = [KubeObject.parse(POD, file=file) for file in ("v1/pod.yaml", "v2/pod.yaml")]

    rules = [result.tags["rule"] for result in render(Package((settings({}), *pods))).results]

    assert "kueue-pod-group" not in rules


def test_no_two_cases_have_one_name() -> None:
    names = [case["name"] for table in TABLES for case in cases(table)]
    assert len(set(names)) == len(names)
