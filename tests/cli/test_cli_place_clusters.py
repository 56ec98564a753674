"""`packwise place` on whole clusters: running pods count in queues, ports, affinities and shares of GPUs.

The goldens are the answers of KAI v0.17.0 for snapshots of the same objects.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.calling import Call, write
from tests.golden.cases import GOLDEN

FILE = GOLDEN / "placement" / "clusters.jsonl.gz"
UNFIT = {"pending", "partial", "notready"}

OTHER_TRIES = ("rnd-0027", "w1-0")
"""The only gang for which KAI tries one domain fewer than packwise reports."""

HOST = "kubernetes.io/hostname"
CONFIG = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec: {revision: upstream, topologyAwareScheduling: {enabled: true}, emit: [PodGang, PodGroup]}
---
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: t}
spec: {levels: [{domain: rack, key: example.com/rack}]}
"""


@cache
def rows() -> list[Any]:
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        return [
            # Random clusters are large, and there are many of them.
            pytest.param(row, id=row["case"], marks=[pytest.mark.client] if row["case"].startswith("rnd-") else [])
            for row in map(json.loads, lines)
        ]


@pytest.mark.parametrize("row", rows())
def test_states_nodes_and_messages_are_kais(row: Any, tmp_path: Path, call: Call) -> None:
    items = row["nodes"] if isinstance(row["nodes"], list) else row["nodes"]["items"]
    write(tmp_path, {f"in/{name}": text for name, text in row["files"].items()})
    write(tmp_path, {"nodes.json": json.dumps({"kind": "List", "items": items})})

    gangs = {
        gang["name"]: gang
        for gang in json.loads(call("place", "in", "--nodes", "nodes.json", "-o", "json").stdout)["gangs"]
    }

    for job in row["answer"]["jobs"]:
        gang = gangs.get(job["name"])
        if gang is None:
            continue
        if job["state"] in UNFIT and gang["notes"] and gang["state"] not in UNFIT:
            # packwise reports facts that the objects do not show.
            continue
        assert (gang["state"] in UNFIT) == (job["state"] in UNFIT)
        assert nodes_of(gang) == {
            (part, node): pods for part, spread in job["podSets"].items() for node, pods in spread.items()
        }
        if "message" in job and (row["case"], job["name"]) != OTHER_TRIES:
            assert gang["message"] == job["message"]


def nodes_of(gang: Any) -> dict[tuple[str, str], int]:
    return {(part["name"], node["name"]): node["pods"] for part in gang["podSets"] for node in part["nodes"]}


def node(name: str, gpus: int = 8, labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, "example.com/rack": "r0", **(labels or {})}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": str(gpus), "pods": "110", **more},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def queue(name: str, parent: str = "", resources: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    shares = {kind: {**free, **(resources or {}).get(kind, {})} for kind in ("gpu", "cpu", "memory")}
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {**({"parentQueue": parent} if parent else {}), "resources": shares, **spec},
    }


def running(name: str, where: str, group: str = "", gpus: int = 8, **more: Any) -> dict[str, Any]:
    """Return a running pod of another owner."""
    metadata: dict[str, Any] = {"name": name, "namespace": "other", **more.pop("metadata", {})}
    if group:
        metadata["annotations"] = {"pod-group-name": group, **metadata.get("annotations", {})}
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {"requests": {"cpu": "1"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"nodeName": where, "containers": [{"name": "c", "image": "i", "resources": resources}], **more},
        "status": {"phase": "Running" if where else "Pending"},
    }


def podgroup(name: str, where: str, priority_class: str = "train") -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "other"},
        "spec": {"queue": where, "minMember": 1, "priorityClassName": priority_class},
    }


def priority_class(name: str, value: int, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **more,
    }


Asked = dict[str, Any]


def workload(name: str = "w", pods: int = 1, *, gpus: int = 8, **more: Any) -> str:
    """Return a PodCliqueSet of one clique. `more` are fields of the pods' spec, `clique` is metadata of the clique.

    `template` and `queue` are set too.
    """
    clique, template, where = more.pop("clique", {}), more.pop("template", {}), more.pop("queue", "q")
    resources: Asked = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {"requests": {"cpu": "1"}}
    container = {"name": "c", "image": "i", "resources": resources, **more.pop("container", {})}
    spec = {"roleName": "a", "replicas": pods, "podSpec": {"containers": [container], **more}}
    value = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": name, "namespace": "ns", "labels": {"kai.scheduler/queue": where}},
        "spec": {"replicas": 1, "template": {"cliques": [{"name": "a", **clique, "spec": spec}], **template}},
    }
    return yaml.safe_dump(value)


class Placed:
    """The answer about one gang."""

    def __init__(self, gang: dict[str, Any]) -> None:
        self.state: str = gang["state"]
        self.message: str = gang["message"]
        self.reasons: list[str] = gang["reasons"]
        self.notes: list[str] = gang["notes"]
        self.nodes = nodes_of(gang)


@pytest.fixture
def place(tmp_path: Path, call: Call) -> Any:
    def one(text: str, *items: dict[str, Any], name: str = "w-0") -> Placed:
        write(tmp_path, {"in/topology.yaml": CONFIG, "in/w.yaml": text})
        write(tmp_path, {"nodes.json": json.dumps({"kind": "List", "items": items})})
        ran = call("place", "in", "--nodes", "nodes.json", "-o", "json")
        assert ran.stdout, ran.stderr
        (gang,) = [gang for gang in json.loads(ran.stdout)["gangs"] if gang["name"] == name]
        return Placed(gang)

    return one


def test_running_pods_count_in_the_queue_of_their_podgroup_and_in_those_above(place: Any) -> None:
    queues = [queue("dept", resources={"gpu": {"limit": 12}}), queue("q", "dept"), queue("p", "dept")]
    busy = running("busy", "n1", "g")

    there = place(workload(), node("n0"), node("n1"), *queues, busy, podgroup("g", "p"))
    elsewhere = place(workload(), node("n0"), node("n1"), *queues, queue("x"), busy, podgroup("g", "x"))

    assert (there.state, there.message) == (
        "pending",
        "OverLimit: dept quota has reached the allowable limit of GPUs. Limit is 12 GPUs, currently 8 GPUs allocated "
        "and workload requested 8 GPUs.",
    )
    assert elsewhere.state == "allocated"


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        (
            {"cpu": {"limit": 1500}},
            "OverLimit: q quota has reached the allowable limit of CPU cores. Limit is 1.5 cores, currently 0 cores "
            "allocated and workload requested 2 cores.",
        ),
        (
            {"memory": {"limit": 1000}},
            "OverLimit: q quota has reached the allowable limit of memory. Limit is 1 GB, currently 0 GB allocated and "
            "workload requested 2 GB.",
        ),
        (
            {"cpu": {"quota": 1000}},
            "NonPreemptibleOverQuota: Non-preemptible workload is over quota. Workload requested 2 CPU cores, but q "
            "quota is 1 cores, while 0 cores are already allocated for non-preemptible pods. Use a preemptible "
            "workload to go over quota..",
        ),
    ],
    ids=["CPU", "memory", "quota"],
)
def test_queues_bound_cpu_and_memory(place: Any, resources: Any, message: str) -> None:
    asked = {"resources": {"requests": {"cpu": "2", "memory": "2G"}}}
    text = workload(container=asked, template={"priorityClassName": "kept"})

    answer = place(text, node("n0"), queue("q", resources=resources), priority_class("kept", 100))

    assert (answer.state, answer.message) == ("pending", message)


@pytest.mark.parametrize(
    ("where", "resources", "message"),
    [
        ("q", {"gpu": {"limit": 12}}, "OverLimit: dept quota has reached the allowable limit of GPUs. Limit is 12"),
        ("r", {"gpu": {"limit": 12}}, "OverLimit: dept quota has reached the allowable limit of GPUs. Limit is 12"),
        ("r", {"gpu": {"quota": 12}}, "NonPreemptibleOverQuota: "),
        ("r", {"gpu": {"limit": 16}}, ""),
        ("x", {"gpu": {"limit": 12}}, ""),
    ],
)
def test_gangs_that_are_placed_count_in_the_queues_above_theirs(
    place: Any, where: str, resources: Any, message: str
) -> None:
    queues = [queue("dept", resources=resources), queue("q", "dept"), queue("r", "dept"), queue("x")]
    kept = {"priorityClassName": "kept"}
    text = f"{workload('a', template=kept)}---\n{workload('b', queue=where, template=kept)}"

    answer = place(text, node("n0"), node("n1"), *queues, priority_class("kept", 100), name="b-0")

    assert answer.message[: len(message)] == message
    assert (answer.state == "allocated") == (not message)


def test_running_pods_that_cannot_be_preempted_count_against_the_quota(place: Any) -> None:
    items = [node("n0"), node("n1"), queue("q", resources={"gpu": {"quota": 8}}), running("busy", "n1", "g")]
    kept, train = priority_class("kept", 100), priority_class("train", 50)
    text = workload(template={"priorityClassName": "kept"})

    over = place(text, *items, kept, train, podgroup("g", "q", "kept"))
    beside = place(text, *items, kept, train, podgroup("g", "q"))

    assert over.message.startswith("NonPreemptibleOverQuota: ")
    assert beside.state == "allocated"


@pytest.mark.parametrize(
    ("queues", "message", "reason"),
    [
        ([queue("other")], "QueueDoesNotExist: Queue 'q' does not exist.", 'the queue "q" does not exist'),
        (
            [queue("q", "p"), queue("p", "gone")],
            "QueueDoesNotExist: Queue 'q' does not exist.",
            'KAI ignores the queue "q": its ancestor "gone" does not exist',
        ),
        (
            [queue("q"), queue("below", "q")],
            "",
            'the queue "q" has child queues ("below"), and KAI silently skips its gangs',
        ),
    ],
    ids=["missing", "orphan", "with children"],
)
def test_queues_that_hold_no_jobs(place: Any, queues: list[Any], message: str, reason: str) -> None:
    answer = place(workload(), node("n0"), *queues)

    assert (answer.state, answer.message, answer.reasons) == ("pending", message, [reason])


def test_what_a_queue_leaves_out_is_zero(place: Any) -> None:
    bare = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "q"}, "spec": {}}
    partial = {**bare, "spec": {"displayName": "Team Q", "resources": {"gpu": {"quota": 8}}}}

    for written, title in ((bare, "q"), (partial, "Team Q")):
        answer = place(workload(), node("n0"), written)
        assert answer.message.startswith(
            f"OverLimit: {title} quota has reached the allowable limit of GPUs. Limit is 0 "
        )


def test_queues_that_nobody_shows_are_a_note(place: Any) -> None:
    answer = place(workload(), node("n0"))

    assert answer.state == "allocated"
    assert answer.notes == ['the queue "q" is not in the cluster\'s objects; its limits and quotas are not counted']


def test_a_queue_of_another_scheduler_is_none_of_kais(place: Any) -> None:
    volcano = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}, "spec": {}}

    assert place(workload(), node("n0"), queue("q"), volcano).state == "allocated"


PORT = {"ports": [{"containerPort": 80, "hostPort": 80}]}
NO_PORT = "node(s) didn't have free ports for the requested pod ports"


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (workload(pods=2, gpus=1, container=PORT), False),
        (workload(pods=2, gpus=1, container={"ports": [{"containerPort": 80}]}, hostNetwork=True), False),
        (workload(pods=2, gpus=1, container={"ports": [{"containerPort": 80}]}), True),
        (workload(pods=1, gpus=1, container=PORT), True),
    ],
    ids=["a port twice", "the node's network", "no port of the node", "once"],
)
def test_host_ports_are_taken_once(place: Any, text: str, fits: bool) -> None:
    answer = place(text, node("n0"), queue("q"))

    assert (answer.state == "allocated") == fits
    assert (f"1 {NO_PORT}" in answer.message) != fits


@pytest.mark.parametrize(("restart", "fits"), [({"restartPolicy": "Always"}, False), ({}, True)])
def test_ports_of_sidecars_count_and_those_of_other_init_containers_do_not(
    place: Any, restart: dict[str, str], fits: bool
) -> None:
    first: Any = {"name": "first", "image": "i", **PORT, **restart}

    answer = place(workload(pods=2, gpus=1, initContainers=[first]), node("n0"), queue("q"))

    assert (answer.state == "allocated") == fits


@pytest.mark.parametrize(
    ("mine", "theirs", "fits"),
    [
        ({}, {}, False),
        ({"protocol": "UDP"}, {}, True),
        ({"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.2"}, True),
        ({"hostIP": "10.0.0.1"}, {}, False),
    ],
)
def test_ports_of_running_pods_count_by_protocol_and_address(place: Any, mine: Any, theirs: Any, fits: bool) -> None:
    port: Any = {"containerPort": 80, "hostPort": 80}
    busy = running("busy", "n0", gpus=1)
    busy["spec"]["containers"][0]["ports"] = [port | theirs]

    answer = place(workload(gpus=1, container={"ports": [port | mine]}), node("n0"), queue("q"), busy)

    assert (answer.state == "allocated") == fits


def term(key: str = HOST, labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    selector = {"labelSelector": {"matchLabels": labels or {"x": "y"}}}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, **selector, **more}]}


def test_pods_that_keep_apart_stand_on_nodes_of_their_own(place: Any) -> None:
    text = workload(pods=2, gpus=1, clique={"labels": {"x": "y"}}, affinity={"podAntiAffinity": term()})

    alone = place(text, node("n0"), queue("q"))
    two = place(text, node("n0"), node("n1"), queue("q"))
    by_rack = place(text.replace(HOST, "example.com/rack"), node("n0"), node("n1"), queue("q"))

    assert "1 node(s) didn't match pod anti-affinity rules" in alone.message
    assert two.nodes == {("w-0-a", "n0"): 1, ("w-0-a", "n1"): 1}
    assert by_rack.state == "pending"


def test_pods_keep_apart_by_the_labels_that_grove_gives_them(place: Any) -> None:
    own = {"podAntiAffinity": term(labels={"grove.io/podclique": "w-0-a"})}

    assert place(workload(pods=2, gpus=1, affinity=own), node("n0"), queue("q")).state == "pending"


@pytest.mark.parametrize(
    ("namespaces", "fits"), [({}, True), ({"namespaces": ["other"]}, False), ({"namespaceSelector": {}}, False)]
)
def test_terms_are_about_pods_of_their_namespaces(place: Any, namespaces: Any, fits: bool) -> None:
    text = workload(gpus=1, affinity={"podAntiAffinity": term(**namespaces)})
    busy = running("busy", "n0", gpus=1, metadata={"labels": {"x": "y"}})

    assert (place(text, node("n0"), queue("q"), busy).state == "allocated") == fits


def test_running_pods_keep_others_away(place: Any) -> None:
    busy = running("busy", "n0", gpus=1, affinity={"podAntiAffinity": term(namespaces=["ns"])})
    text = workload(gpus=1, clique={"labels": {"x": "y"}})

    answer = place(text, node("n0"), queue("q"), busy)

    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in answer.message
    assert place(workload(gpus=1), node("n0"), queue("q"), busy).state == "allocated"


def test_pods_that_want_to_be_near_others(place: Any) -> None:
    near = {"podAffinity": term(namespaces=["other"])}
    busy = running("busy", "n1", gpus=1, metadata={"labels": {"x": "y"}})
    nodes = [node("n0"), node("n1")]

    assert place(workload(gpus=1, affinity=near), *nodes, queue("q"), busy).nodes == {("w-0-a", "n1"): 1}
    nowhere = place(workload(gpus=1, affinity=near), *nodes, queue("q"))
    assert "2 node(s) didn't match pod affinity rules" in nowhere.message


def test_the_first_of_pods_that_are_near_each_other_goes_anywhere(place: Any) -> None:
    text = workload(pods=3, gpus=4, clique={"labels": {"x": "y"}}, affinity={"podAffinity": term()})

    answer = place(text, node("n0"), node("n1"), queue("q"))

    # Two of these pods fill a node, and the third one may not run elsewhere.
    assert answer.state == "pending"
    assert place(text.replace("replicas: 3", "replicas: 2"), node("n0"), node("n1"), queue("q")).state == "allocated"


def test_a_selector_of_namespaces_that_nobody_shows_is_a_note(place: Any) -> None:
    selector: Any = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
    text = workload(gpus=1, affinity={"podAntiAffinity": term(**selector)})
    busy = running("busy", "n0", gpus=1, metadata={"labels": {"x": "y"}})
    namespace = {"kind": "Namespace", "metadata": {"name": "other", "labels": {"team": "a"}}}

    unknown = place(text, node("n0"), queue("q"), busy)

    assert unknown.state == "allocated"
    assert "have an affinity to pods in namespaces with a label" in unknown.notes[0]
    assert place(text, node("n0"), queue("q"), busy, namespace).state == "pending"


def test_the_request_of_a_pod_as_a_whole_is_not_read(place: Any) -> None:
    text = workload(gpus=0, resources={"requests": {"cpu": "100"}})

    assert place(text, node("n0"), queue("q")).state == "allocated"


def test_the_default_class_of_the_cluster_counts_where_none_is_named_or_it_does_not_exist(place: Any) -> None:
    default, high = priority_class("low", 10, globalDefault=True), priority_class("high", 20)
    first, second = workload("a"), workload("b", template={"priorityClassName": "high"})
    unknown = workload("a", template={"priorityClassName": "train"})

    for earlier in (first, unknown):
        answer = place(f"{earlier}---\n{second}", node("n0"), queue("q"), default, high, name="b-0")
        assert answer.state == "allocated"


def shared(name: str, portion: str, group: str) -> dict[str, Any]:
    metadata = {"labels": {"runai-gpu-group": group}, "annotations": {"gpu-fraction": portion}}
    return running(name, "n0", gpus=0, metadata=metadata)


@pytest.mark.parametrize(
    ("pods", "annotations", "fits"),
    [
        (2, {"gpu-fraction": "0.5"}, True),
        (3, {"gpu-fraction": "0.5"}, False),
        (2, {"gpu-fraction": "0.6"}, False),
        (4, {"gpu-memory": "20000"}, True),
        (5, {"gpu-memory": "20000"}, False),
        (1, {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}, False),
    ],
)
def test_pods_share_gpus(place: Any, pods: int, annotations: dict[str, str], fits: bool) -> None:
    text = workload(pods=pods, gpus=0, clique={"annotations": annotations})
    labels = {"nvidia.com/gpu.memory": "81559"}

    assert (place(text, node("n0", 1, labels), queue("q")).state == "allocated") == fits


def test_a_gpu_that_pods_share_is_no_whole_one_and_what_is_left_of_it_is_shared_on(place: Any) -> None:
    bound = shared("f", "0.5", "g")

    whole = place(workload(gpus=1), node("n0", 1), queue("q"), bound)
    half = place(workload(gpus=0, clique={"annotations": {"gpu-fraction": "0.5"}}), node("n0", 1), queue("q"), bound)
    more = place(workload(gpus=0, clique={"annotations": {"gpu-fraction": "0.6"}}), node("n0", 1), queue("q"), bound)

    assert "1 node(s) didn't have enough resources: GPUs" in whole.message
    assert (half.state, more.state) == ("allocated", "pending")


SHORT = "node(s) didn't have enough resources: GPU"


@pytest.mark.parametrize(
    ("annotations", "gpus", "busy", "reasons"),
    [
        ({"gpu-fraction": "0.5"}, 1, 1, [f"1 {SHORT}s"]),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}, 2, 1, ["Unable to schedule pod"]),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}, 2, 0, []),
        ({"gpu-fraction": "0.99"}, 2, 1, []),
        ({"gpu-memory": "90000"}, 2, 0, [f"1 {SHORT} memory"]),
        ({"gpu-memory": "80000"}, 1, 0, []),
    ],
)
def test_a_share_of_gpus_needs_as_many_that_have_room(
    place: Any, annotations: dict[str, str], gpus: int, busy: int, reasons: list[str]
) -> None:
    text = workload(gpus=0, clique={"annotations": annotations})
    there = node("n0", gpus, {"nvidia.com/gpu.memory": "80000"})

    answer = place(text, there, queue("q"), *[running("busy", "n0", gpus=1)] * busy)

    assert (answer.state == "allocated") == (not reasons)
    assert [reason for reason in reasons if reason not in answer.message] == []


def test_a_gpu_that_is_shared_goes_to_one_pod_whole_once_nobody_shares_it(place: Any) -> None:
    """A gang that does not fit releases its shares, so the next gang gets the GPU."""
    half = {"annotations": {"gpu-fraction": "0.6"}}
    text = f"{workload('a', pods=2, gpus=0, clique=half)}---\n{workload('b', gpus=1)}"

    first = place(text, node("n0", 1), queue("q"), name="a-0")
    second = place(text, node("n0", 1), queue("q"), name="b-0")

    assert (first.state, second.state) == ("pending", "allocated")


def test_pods_without_gpus_go_where_gpus_are_shared(place: Any) -> None:
    """KAI orders nodes by whether the pod fits on a shared GPU. A pod without GPUs does."""
    nodes = [node("n0"), node("n1")]
    bound = shared("f", "0.3", "g")
    bound["spec"]["nodeName"] = "n1"

    assert place(workload(gpus=0), *nodes, queue("q"), bound).nodes == {("w-0-a", "n1"): 1}
    assert place(workload(gpus=1), *nodes, queue("q")).nodes == {("w-0-a", "n0"): 1}


def test_shares_of_memory_count_in_hundredths_of_a_gpu(place: Any) -> None:
    text = workload(gpus=0, clique={"annotations": {"gpu-memory": "30000"}})
    bound = shared("f", "", "g")
    bound["metadata"]["annotations"] = {"gpu-memory": "30000", "pod-group-name": "g"}
    items = [node("n0", 8, {"nvidia.com/gpu.memory": "80000"}), bound, podgroup("g", "q")]

    answer = place(text, *items, queue("q", resources={"gpu": {"limit": 0.5}}))

    assert answer.message.endswith(
        "Limit is 0.5 GPUs, currently 0.38 GPUs allocated and workload requested 0.375 GPUs."
    )


def test_shares_count_in_queues(place: Any) -> None:
    text = workload(pods=3, gpus=0, clique={"annotations": {"gpu-fraction": "0.5"}})

    answer = place(text, node("n0"), queue("q", resources={"gpu": {"limit": 1}}))

    assert answer.message.endswith("Limit is 1 GPUs, currently 0 GPUs allocated and workload requested 1.5 GPUs.")


def test_memory_of_gpus_is_shared_where_the_node_says_how_much_it_has(place: Any) -> None:
    text = workload(gpus=0, clique={"annotations": {"gpu-memory": "4000"}})

    unlabelled = place(text, node("n0", 1), queue("q"))
    without = place(text, node("n0", 0), queue("q"))

    assert (
        "the gpu memory count on the node was not synced yet, task: <ns/w-0-a-000000>, node: <n0>" in unlabelled.message
    )
    assert without.message.endswith("due to: Unable to schedule pod.")


def test_slices_of_gpus_go_to_nodes_that_have_them(place: Any) -> None:
    profile = "nvidia.com/mig-3g.20gb"
    text = workload(container={"resources": {"limits": {profile: "1"}}})
    sliced = node("n1", 0, {"nvidia.com/mig.strategy": "mixed"}, **{profile: "2"})

    assert place(text, node("n0"), sliced, queue("q")).nodes == {("w-0-a", "n1"): 1}
    assert "3 GPUs" in place(text, sliced, queue("q", resources={"gpu": {"limit": 2}})).message
    mixed = node("n1", 8, {"nvidia.com/mig.strategy": "mixed"}, **{profile: "2"})
    assert "non MIG jobs cant run on a node with MigStrategy='mixed'" in place(workload(), mixed, queue("q")).message


def test_gates_of_the_pods_keep_the_gang_back(place: Any) -> None:
    answer = place(workload(schedulingGates=[{"name": "mine"}]), node("n0"), queue("q"))

    assert (answer.state, answer.message) == ("notready", "")
    assert answer.reasons == ["scheduling gates hold 1 pod back, and KAI does not try to place them"]


CONFIG_MAP = {"kind": "ConfigMap", "metadata": {"name": "there", "namespace": "ns"}}
CLAIM = {"kind": "PersistentVolumeClaim", "metadata": {"name": "there", "namespace": "ns"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            workload(container={"envFrom": [{"configMapRef": {"name": "gone"}}]}),
            "ConfigMap: Missing required configmaps: [gone].",
        ),
        (
            workload(
                volumes=[{"name": "v", "configMap": {"name": "gone"}}],
                container={"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
            ),
            "ConfigMap: Missing required configmaps: [gone].",
        ),
        (workload(volumes=[{"name": "v", "configMap": {"name": "gone"}}]), ""),
        (workload(container={"envFrom": [{"configMapRef": {"name": "gone", "optional": True}}]}), ""),
        (workload(container={"envFrom": [{"configMapRef": {"name": "there"}}]}), ""),
        (
            workload(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]),
            'VolumeBinding: persistentvolumeclaim "gone" not found.',
        ),
        (workload(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "there"}}]), ""),
    ],
    ids=["environment", "volume", "not mounted", "optional", "there", "claim", "claim that is there"],
)
def test_objects_that_pods_need_where_the_cluster_shows_the_kind(place: Any, text: str, message: str) -> None:
    answer = place(text, node("n0"), queue("q"), CONFIG_MAP, CLAIM)

    assert answer.message == (
        f"PodSchedulingErrors: Resources were not found for pod ns/w-0-a-000000 due to: Scheduling conditions were not "
        f"met for pod ns/w-0-a-000000:\n{message}\n."
        if message
        else ""
    )


def test_objects_that_pods_need_are_a_note_where_nobody_shows_the_kind(place: Any) -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    text = workload(
        volumes=volumes,
        runtimeClassName="nvidia",
        container={"envFrom": [{"configMapRef": {"name": "settings"}}]},
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
    )

    answer = place(text, node("n0"), queue("q"))

    assert answer.state == "allocated"
    assert answer.notes == [
        'pods of "w-0-a" use the RuntimeClass "nvidia", which is not in the cluster\'s objects; its '
        "overhead and node selector are not counted",
        'pods of "w-0-a" claim devices, which are not counted',
        'pods of "w-0-a" need the ConfigMaps "settings", which are not in the cluster\'s objects and may not exist',
        (
            'pods of "w-0-a" need the PersistentVolumeClaims "data", which are not in the cluster\'s objects '
            "and may not exist"
        ),
    ]


def test_namespaces_of_the_input_are_there_too(place: Any) -> None:
    selector: Any = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
    text = workload(gpus=1, affinity={"podAntiAffinity": term(**selector)})
    busy = running("busy", "n0", gpus=1, metadata={"labels": {"x": "y"}})
    listed = {"kind": "Namespace", "metadata": {"name": "ns"}}
    own = "apiVersion: v1\nkind: Namespace\nmetadata: {name: other, labels: {team: a}}\n"

    assert place(text, node("n0"), queue("q"), busy, listed).state == "allocated"
    assert place(f"{text}---\n{own}", node("n0"), queue("q"), busy, listed).state == "pending"


@pytest.mark.parametrize(("cpu", "fits"), [("1", True), ("64", False)])
def test_the_overhead_of_a_runtime_class_of_the_input_counts(place: Any, cpu: str, fits: bool) -> None:
    """It replaces the RuntimeClass with the same name in the cluster."""
    metadata = "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\n"
    own = f"{metadata}overhead: {{podFixed: {{cpu: {cpu}}}}}\n"
    there = {"kind": "RuntimeClass", "metadata": {"name": "kata"}, "overhead": {"podFixed": {"cpu": "2"}}}
    text = f"{workload(gpus=0, runtimeClassName='kata')}---\n{own}"

    alone = place(text, node("n0"), queue("q"))
    beside = place(text, node("n0"), queue("q"), there)

    assert [(each.state == "allocated", each.notes) for each in (alone, beside)] == [(fits, [])] * 2


def test_a_request_of_no_gpus_is_none(place: Any) -> None:
    none: Any = {"resources": {"limits": {"nvidia.com/gpu": "0"}, "requests": {"cpu": "1"}}}
    sliced = node("n1", 8, {"nvidia.com/mig.strategy": "mixed"}, **{"nvidia.com/mig-3g.20gb": "2"})

    assert place(workload(container=none), sliced, queue("q")).state == "allocated"
    assert place(workload(gpus=1), sliced, queue("q")).state == "pending"


def test_objects_of_the_input_are_there_too(place: Any) -> None:
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: ns}\n"
    text = workload(container={"envFrom": [{"configMapRef": {"name": "mine"}}]})

    assert place(f"{text}---\n{config_map}", node("n0"), queue("q"), CONFIG_MAP).state == "allocated"


def test_a_pod_for_one_node_goes_to_it(place: Any) -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    chosen = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    text = workload(affinity={"nodeAffinity": chosen})

    assert place(text, node("n0"), node("n1"), queue("q")).nodes == {("w-0-a", "n1"): 1}
    nowhere = place(text, node("n0"), queue("q"))
    assert "1 node(s) didn't match Pod's node affinity/selector" in nowhere.message


def test_what_the_cluster_decides_is_a_note(place: Any) -> None:
    waiting = running("waits", "", "g")
    ending = running("ends", "n1", gpus=1, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    pool = node("n2", labels={"kai.scheduler/node-pool": "a"})

    answer = place(workload(), node("n0"), node("n1"), pool, queue("q"), waiting, ending)

    assert answer.notes == [
        "1 other PodGroup in the cluster has pending pods; packwise ignores that KAI may place them first",
        "1 pod of the cluster is being deleted and counts as running; KAI uses its room",
    ]


def test_a_gang_that_does_not_fit_says_what_may_be_evicted(place: Any) -> None:
    items = [node("n0"), queue("q"), running("busy", "n0", "g"), podgroup("g", "q"), priority_class("train", 50)]

    answer = place(workload(), *items)

    assert place(workload(), *items, node("n1")).notes == []
    assert answer.notes == [
        "packwise evicts no pods, but KAI's preempt, reclaim and consolidation may make room: 1 running "
        "PodGroup can be evicted"
    ]


@pytest.mark.parametrize(
    ("first", "second", "is_noted"),
    [
        ({"quota": -1}, {"quota": -1}, False),
        ({"quota": 8}, {"quota": 8}, True),
        ({"overQuotaWeight": 1}, {"overQuotaWeight": 2}, True),
    ],
)
def test_queues_that_compete_by_fair_share_are_a_note(place: Any, first: Any, second: Any, is_noted: bool) -> None:
    queues = [queue("q", resources={"gpu": first}), queue("p", resources={"gpu": second})]
    text = f"{workload()}---\n{workload('v', queue='p')}"

    answer = place(text, node("n0"), node("n1"), *queues)

    expected = ['the queue "q" competes with "p"; KAI orders them by fair share, which packwise does not simulate']
    assert answer.notes == (expected if is_noted else [])


def test_nodes_without_the_labels_of_the_topology_are_the_reason(place: Any) -> None:
    text = workload(template={"topologyConstraint": {"topologyName": "t", "pack": {"required": "rack"}}})
    bare = node("n0")
    del bare["metadata"]["labels"]["example.com/rack"]
    small = node("n1", 4)

    nowhere = place(text, bare, queue("q"))
    beside = place(text, bare, small, queue("q"))

    assert nowhere.reasons == ['every node lacks "example.com/rack": KAI sees none in a domain of the topology "t"']
    assert beside.reasons == [
        '1 of 2 nodes lacks "example.com/rack": KAI sees none of these in a domain of the topology "t"'
    ]


def test_a_taint_comes_before_what_the_pod_selects(place: Any) -> None:
    tainted = node("n0")
    tainted["spec"]["taints"] = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
    selecting = workload(nodeSelector={"zone": "elsewhere"})

    assert "1 node(s) had untolerated taint(s)" in place(selecting, tainted, queue("q")).message
    assert "1 node(s) didn't match Pod's node affinity/selector" in place(selecting, node("n0"), queue("q")).message


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "other", "value": "v"}, False),
        ({"key": "k", "value": "other"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_tolerations_are_of_a_key_a_value_and_an_effect(place: Any, toleration: dict[str, str], fits: bool) -> None:
    tainted = node("n0")
    tainted["spec"]["taints"] = [{"key": "k", "value": "v", "effect": "NoSchedule"}]

    answer = place(workload(tolerations=[toleration]), tainted, queue("q"))

    assert (answer.state == "allocated") == fits


@pytest.mark.parametrize(
    ("image", "text"), [("v0.16.8", "taint {k: v}"), ("v0.17.0", "taint(s)"), ("v0.18.1", "taint(s)")]
)
def test_the_text_about_taints_is_that_of_the_clusters_kai(place: Any, image: str, text: str) -> None:
    tainted = node("n0")
    tainted["spec"]["taints"] = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
    kai = running("scheduler", "n0", gpus=0)
    kai["spec"]["containers"][0]["image"] = f"ghcr.io/kai-scheduler/kai-scheduler/scheduler:{image}"

    assert f"1 node(s) had untolerated {text}" in place(workload(), tainted, queue("q"), kai).message


@pytest.mark.parametrize(
    ("resources", "text"),
    [
        (
            {"hugepages-2Mi": "1Gi", "memory": "1Gi"},
            "memory: 1.073 (GB), pods: 1, hugepages-2Mi: 1073741824000. No node in the default node-pool has "
            "hugepages-2Mi resources.",
        ),
        (
            {"ephemeral-storage": "20G"},
            "memory: 0 (GB), pods: 1, ephemeral-storage: 20 (GB). Max ephemeral-storage resources available in a "
            "single node in the default node-pool is topped at 10 GB.",
        ),
    ],
)
def test_pods_larger_than_any_node(place: Any, resources: dict[str, str], text: str) -> None:
    asked = {"resources": {"requests": resources, "limits": resources}}

    answer = place(workload(container=asked), node("n0", 8, None, **{"ephemeral-storage": "10G"}), queue("q"))

    assert text in answer.message
