"""Queues and PriorityClasses that a workload names and that do not exist."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.kubeobject import KubeObject
from packwise.pipeline import render
from packwise.pipeline.selection import Package

RULES = ("queue-parent", "queue-known", "queue-leaf", "priority-class-known", "pod-priority-class")


def queue(name: str, parent: Any = None) -> dict[str, Any]:
    spec = {} if parent is None else {"parentQueue": parent}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def priority_class(name: str) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 100}


def workload(named: str = "", priority: str = "", of_pod: str = "", scheduler: str = "kai-scheduler") -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "app:1"}]}
    spec |= {"priorityClassName": of_pod} if of_pod else {}
    spec["schedulerName"] = scheduler
    template: dict[str, Any] = {
        "cliques": [{"name": "a", "spec": {"roleName": "a", "replicas": 1, "podSpec": spec}}],
        **({"priorityClassName": priority} if priority else {}),
    }
    labels = {"labels": {"kai.scheduler/queue": named}} if named else {}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "web", "namespace": "team", **labels},
        "spec": {"replicas": 3, "template": template},
    }


def said(*objects: dict[str, Any]) -> list[tuple[str, str, str]]:
    results = render(Package(tuple([KubeObject.new(value) for value in objects]))).results
    return [
        (result.tags["rule"], result.field.path if result.field else "", result.message)
        for result in results
        if result.tags["rule"] in RULES
    ]


ROOT, LEAF = queue("root"), queue("team-a", "root")


@pytest.mark.parametrize(
    "objects",
    [
        (workload("team-a"),),
        (ROOT, LEAF, workload("team-a")),
        (ROOT, LEAF, workload("default-queue")),
        (ROOT, LEAF, workload()),
        (ROOT, LEAF, workload("root", scheduler="volcano")),
        (queue("a", "default-parent-queue"),),
        (LEAF, workload("elsewhere")),
        (LEAF, queue("team-b", "elsewhere")),
        (ROOT, queue("a", "${PARENT}"), workload("${QUEUE}")),
        (queue("root", ""), queue("a", 1), queue("b", None), workload("a")),
        (priority_class("high"), workload("q", "high", "high")),
        (priority_class("high"), workload("q", "system-node-critical", "inference")),
        (priority_class("high"), workload("q", "${CLASS}")),
        (workload("q", "any", "other"),),
    ],
)
def test_what_is_there_or_may_be_elsewhere(objects: tuple[dict[str, Any], ...]) -> None:
    assert said(*objects) == []


def test_queues_that_are_their_own_ancestors() -> None:
    end = "Each of these queues has a child, and KAI silently skips its pods. Remove the parent of one queue"

    assert said(queue("a", "a")) == [
        ("queue-parent", "spec.parentQueue", f'the queue is its own ancestor: "a" → "a". {end}')
    ]
    # The queue below the circle needs no fix.
    assert said(queue("c", "b"), queue("b", "d"), queue("d", "b"), queue("below", "c")) == [
        ("queue-parent", "spec.parentQueue", f'the queue is its own ancestor: "b" → "d" → "b". {end}')
    ]


def test_a_parent_that_is_not_there() -> None:
    assert said(ROOT, queue("team-a", "rot")) == [
        (
            "queue-parent", "spec.parentQueue",
            'the parent queue "rot" is not in the input. Without it, KAI ignores this queue and its '
            'children; did you mean "root"?',
        )
    ]  # fmt: skip
    ((rule, _, message),) = said(ROOT, queue("team-a", "platform"))
    assert (rule, "did you mean" in message) == ("queue-parent", False)
    # Without the root of the tree, only similar names are reported.
    ((_, _, message),) = said(LEAF, queue("team-b", "team_a"))
    assert 'did you mean "team-a"?' in message


def test_a_workload_in_a_queue_with_others_below() -> None:
    assert said(ROOT, LEAF, queue("team-b", "root"), workload("root")) == [
        (
            "queue-leaf", "metadata.labels[kai.scheduler/queue]",
            'the queue "root" has child queues ("team-a", "team-b"), and KAI silently skips its pods. Name '
            "a child queue",
        )
    ]  # fmt: skip


def test_a_queue_that_is_not_there() -> None:
    assert said(ROOT, LEAF, workload("team-aa")) == [
        (
            "queue-known", "metadata.labels[kai.scheduler/queue]",
            'the queue "team-aa" is not in the input; did you mean "team-a"?',
        )
    ]  # fmt: skip
    ((rule, _, _),) = said(ROOT, LEAF, workload("platform"))
    assert rule == "queue-known"
    ((rule, _, _),) = said(LEAF, workload("team-aa"))
    assert rule == "queue-known"


def test_a_priority_class_that_is_not_there() -> None:
    assert said(priority_class("serving"), workload("q", "servin", "servng")) == [
        (
            "priority-class-known", "spec.template.priorityClassName",
            'the PriorityClass "servin" is not in the input. Without it, KAI gives the pods the default '
            'priority; did you mean "serving"?',
        ),
        (
            "pod-priority-class", "spec.template.cliques[0].spec.podSpec.priorityClassName",
            'the PriorityClass "servng" is not in the input. Without it, the API server refuses the pods; '
            'did you mean "serving"?',
        ),
    ]  # fmt: skip


def test_a_quota_that_no_float_holds() -> None:
    huge = {**ROOT, "spec": {"resources": {"gpu": {"quota": 10**400, "limit": -(10**400)}}}}
    assert said(huge, LEAF, workload("team-a")) == []


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec: {template: {spec: {schedulerName: kai-scheduler, priorityClassName: "%s", containers: [{name: a, image: a}]}}}
"""
JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - name: a
    replicas: 2
    template:
      spec:
        template: {spec: {schedulerName: kai-scheduler, priorityClassName: "%s", containers: [{name: a, image: a}]}}
"""
GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g, namespace: team}
spec:
  services:
    Frontend:
      componentType: frontend
      replicas: 1
      extraPodSpec: {priorityClassName: "%s", mainContainer: {image: "a:1.0.0"}}
"""


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (JOB, "spec.template.spec.priorityClassName"),
        (JOB_SET, "spec.replicatedJobs[0].template.spec.template.spec.priorityClassName"),
        (GRAPH, "spec.services.Frontend.extraPodSpec.priorityClassName"),
    ],
)
@pytest.mark.parametrize("writes", [False, True])
def test_pods_of_every_kind_are_refused_without_their_class(text: str, path: str, *, writes: bool) -> None:
    given = KubeObject.new(priority_class("serving"))

    def found(name: str) -> list[tuple[str, str, str | None]]:
        package = Package((given, KubeObject.parse(text % name, file="w.yaml")))
        return [
            (result.severity.value, result.field.path, result.tags.get("operatorMessage"))
            for result in render(package, writes=writes).results
            if result.tags["rule"] == "pod-priority-class" and result.field
        ]

    severity = "warning" if writes else "error"
    assert found("nope") == [(severity, path, "no PriorityClass with name nope was found")]
    assert [found(name) for name in ("serving", "system-node-critical", "train", "${CLASS}")] == [[], [], [], []]
