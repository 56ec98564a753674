"""A cluster that is read from its objects: waiting pods, their age, the release of KAI, and kinds that are
not listed.
"""

from __future__ import annotations

from typing import Any

import pytest

from packwise.schedulers.kai.snapshot import Snapshot, SnapshotError, read_snapshot

MORNING, NOON, NIGHT = "2026-03-02T08:00:00Z", "2026-03-02T12:00:00Z", "2026-03-02T20:00:00Z"


def node(name: str = "n0", **more: Any) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": name, **more.pop("metadata", {})}, **more}


def pod(name: str = "p", where: str = "n0", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", **more.pop("metadata", {})}
    spec: dict[str, Any] = {"containers": [{"name": "c", **more.pop("container", {})}], **more.pop("spec", {})}
    return {"kind": "Pod", "metadata": metadata, "spec": {**spec, **({"nodeName": where} if where else {})}, **more}


def conditions(**times: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": "Ready", "status": "True", **times}]}}


@pytest.mark.parametrize(
    ("objects", "taken"),
    [
        ([node()], ""),
        ([node(metadata={"creationTimestamp": NOON})], NOON),
        ([node(metadata={"creationTimestamp": NOON}, **conditions(lastHeartbeatTime=NIGHT))], NIGHT),
        ([node(metadata={"creationTimestamp": NOON}, **conditions(lastTransitionTime=NIGHT))], NIGHT),
        ([node(**conditions(lastHeartbeatTime=NOON, lastTransitionTime=MORNING))], NOON),
        ([node(metadata={"creationTimestamp": MORNING}), pod(metadata={"creationTimestamp": NIGHT})], NIGHT),
        ([node(metadata={"creationTimestamp": NOON}), node("n1", metadata={"creationTimestamp": "yesterday"})], NOON),
    ],
)
def test_the_newest_time_of_an_object_is_that_of_the_cluster(objects: list[Any], taken: str) -> None:
    assert read_snapshot(objects).newest_time == taken


GROUPED = {"annotations": {"pod-group-name": "g"}}


@pytest.mark.parametrize(
    ("one", "waiting", "running"),
    [
        (pod(where="", metadata=GROUPED), [("ns", "g")], 0),
        (pod(where=""), [], 0),
        (pod(where="", metadata={**GROUPED, "deletionTimestamp": NOON}), [], 0),
        (pod(metadata=GROUPED), [], 1),
        (pod(where="gone", metadata=GROUPED), [], 0),
        (pod(metadata=GROUPED, status={"phase": "Succeeded"}), [], 0),
        (pod(metadata=GROUPED, status={"phase": "Failed"}), [], 0),
    ],
)
def test_pods_wait_that_have_a_group_and_no_node(one: Any, waiting: list[Any], running: int) -> None:
    snapshot = read_snapshot([node(), one])

    assert (list(snapshot.waiting), len(snapshot.pods)) == (waiting, running)


@pytest.mark.parametrize(
    ("metadata", "gang", "part", "queue"),
    [
        ({}, "", "", ""),
        ({"labels": {"grove.io/podgang": "a", "grove.io/podclique": "a-0"}}, "a", "a-0", ""),
        ({**GROUPED, "labels": {"kai.scheduler/subgroup-name": "s", "kai.scheduler/queue": "q"}}, "g", "s", "q"),
        ({**GROUPED, "labels": {"grove.io/podgang": "a", "runai/queue": "old"}}, "a", "", "old"),
        ({"labels": {"runai/queue": "old", "kai.scheduler/queue": "new"}}, "", "", "new"),
    ],
)
def test_labels_of_a_pod_say_what_it_is_part_of(metadata: Any, gang: str, part: str, queue: str) -> None:
    (bound,) = read_snapshot([node(), pod(metadata=metadata)]).pods

    assert (bound.node, bound.gang, bound.pod_set, bound.queue) == ("n0", gang, part, queue)
    assert bound.group == metadata.get("annotations", {}).get("pod-group-name", "")


def bind_request(where: str, *groups: str) -> dict[str, Any]:
    spec = {"podName": "p", "selectedNode": where, "selectedGPUGroups": list(groups)}
    return {"kind": "BindRequest", "metadata": {"name": "b", "namespace": "ns"}, "spec": spec}


def test_a_pod_that_is_about_to_be_bound_is_on_its_node_with_its_shares() -> None:
    half = pod(where="", metadata={"annotations": {"gpu-fraction": "0.5"}})

    snapshot = read_snapshot([node(), half, bind_request("n0", "g0")])

    assert [(bound.node, bound.gpus) for bound in snapshot.pods] == [("n0", ("g0",))]
    assert dict(snapshot.nodes[0].shared) == {"g0": 50}


def test_shares_of_one_gpu_add_up() -> None:
    metadata = {"labels": {"runai-gpu-group": "g0"}, "annotations": {"gpu-fraction": "0.25"}}
    other = {"labels": {"runai-gpu-group/a": "g1"}, "annotations": {"gpu-memory": "1000"}}
    labels = {"nvidia.com/gpu.memory": "80000"}

    snapshot = read_snapshot([
        node(metadata={"labels": labels}), node("n1"), pod("a", metadata=metadata), pod("b", metadata=metadata),
        pod("c", metadata=other),
    ])  # fmt: skip

    assert [dict(each.shared) for each in snapshot.nodes] == [{"g0": 40000, "g1": 1000}, {}]


@pytest.mark.parametrize(
    ("image", "minor"),
    [
        ("ghcr.io/kai-scheduler/kai-scheduler/scheduler:v0.16.8", 16),
        ("registry.example.com/mirror/kai-scheduler/scheduler:v0.9", 9),
        ("ghcr.io/kai-scheduler/kai-scheduler/binder:v0.16.8", None),
        ("ghcr.io/kai-scheduler/kai-scheduler/scheduler:v1.0", None),
    ],
)
def test_the_image_of_kais_scheduler_says_its_version(image: str, minor: int | None) -> None:
    assert read_snapshot([node(), pod(container={"image": image})]).kai == minor


def listed(kind: str) -> tuple[Any, ...]:
    """Return the queues, groups and priorities of a cluster that lists the kind, but has no object of it."""
    snapshot = read_snapshot([node(), *([{"kind": f"{kind}List"}] if kind else [])])
    return snapshot.queues, snapshot.groups, snapshot.priorities


def test_a_kind_that_was_listed_is_known_also_where_there_is_none_of_it() -> None:
    assert listed("") == (None, None, None)
    assert listed("Queue") == ((), None, None)
    assert listed("PodGroup") == (None, {}, None)
    queues, groups, classes = listed("PriorityClass")
    assert (queues, groups, dict(classes.by_name), classes.default) == (None, None, {}, None)


def test_groups_and_classes_are_read_with_what_decides_about_them() -> None:
    group = {
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ns"},
        "spec": {"queue": "q", "priorityClassName": "high", "preemptibility": "non-preemptible"},
    }
    classes = [
        {"kind": "PriorityClass", "metadata": {"name": name}, "value": value, "globalDefault": value == 7}
        for name, value in (("low", 7), ("high", 100))
    ]

    snapshot: Snapshot = read_snapshot([node(), group, *classes])

    assert snapshot.groups is not None
    assert snapshot.priorities is not None
    found = snapshot.groups["ns", "g"]
    assert (found.queue, found.priority_class, found.preemptibility) == ("q", "high", "non-preemptible")
    assert (dict(snapshot.priorities.by_name), snapshot.priorities.default) == ({"low": 7, "high": 100}, 7)


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ([pod()], "found no nodes; pass the output of `kubectl get nodes,pods -A -o json`"),
        ([node(), node("n1"), node()], 'duplicate Node "n0"'),
    ],
)
def test_objects_that_show_no_cluster(objects: list[Any], text: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(objects)

    assert str(caught.value) == text
