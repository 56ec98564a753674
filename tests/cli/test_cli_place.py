"""`packwise place`: the nodes of gangs in a cluster, and the reasons why a gang does not fit."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packwise.extras import SOLVER
from packwise.output.markdown import LIMIT
from tests.cli.calling import CONFIG, WORKLOAD, Call, write
from tests.cli.test_cli_markdown import outside_code
from tests.places import ROOT, TESTDATA
from tests.schemas import schema_errors

Expect = Callable[[str, str], None]

ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"
GPU_WORKLOAD = WORKLOAD.replace(
    'image: "registry.example.com/router:1"}',
    'image: "registry.example.com/router:1", resources: {limits: {nvidia.com/gpu: "8"}}}',
)


def node(name: str, zone: str, rack: str, **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {ZONE: zone, RACK: rack}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
            **status,
        },
    }


def pod(name: str, where: str, gpus: int = 8, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "other"},
        "spec": {"nodeName": where, "containers": [container], **spec},
        "status": {"phase": "Running"},
    }


def queue(name: str, parent: str = "", **gpu: int) -> dict[str, Any]:
    unbounded = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {
            **({"parentQueue": parent} if parent else {}),
            "resources": {"gpu": {**unbounded, **gpu}, "cpu": unbounded, "memory": unbounded},
        },
    }


def cluster(*more: dict[str, Any]) -> str:
    nodes = [node(f"n{number}", "a", f"r{number // 2}") for number in range(4)]
    items = [*nodes, queue("default-queue"), *more]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": GPU_WORKLOAD, "nodes.json": cluster()})
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_gang_that_fits_shows_its_nodes(call: Call, assert_expected: Expect) -> None:
    ran = call("place", "in", "--nodes", "nodes.json")
    as_json = call("place", "in", "--nodes", "nodes.json", "-o", "json")

    assert (ran.code, ran.messages, as_json.code) == (0, "", 0)
    assert_expected("place/fits.txt", ran.stdout)
    assert_expected("place/fits.json", as_json.stdout)


def test_a_gang_that_does_not_fit_shows_what_is_missing_and_where(
    folder: Path, call: Call, assert_expected: Expect
) -> None:
    write(folder, {"nodes.json": cluster(pod("busy-0", "n0"), pod("busy-1", "n2", 4))})

    ran = call("place", "in", "--nodes", "nodes.json")
    as_json = call("place", "in", "--nodes", "nodes.json", "-o", "json")

    assert (ran.code, as_json.code) == (1, 1)
    assert_expected("place/pending.txt", ran.stdout)
    assert_expected("place/pending.json", as_json.stdout)


@pytest.mark.parametrize("command", ["place", "report", "comment"])
def test_gangs_of_other_schedulers_are_counted_and_not_placed(tmp_path: Path, call: Call, command: str) -> None:
    for path in (ROOT / "examples" / "disaggregated-inference").glob("*.yaml"):
        text = path.read_text("utf-8").replace("kai-scheduler", "default-scheduler")
        write(tmp_path, {f"in/{path.name}": text})
    options = ["-o", "drawing.svg"] if command == "report" else []

    ran = call(command, "in", "--nodes", str(ROOT / "examples" / "nodes.yaml"), *options)

    note = (
        "4 gangs that default-scheduler schedules are not placed: packwise does not simulate the "
        "algorithm of that scheduler"
    )
    said = (f"note: {note}\n", ran.messages) if command != "comment" else (f"Note: `{note}`\n", ran.stdout)
    assert ran.code == 0
    assert said[0] in said[1]


def test_a_gang_that_only_prefers_a_level_needs_room_in_the_cluster(tmp_path: Path, call: Call) -> None:
    """The message names no level, because none is required."""
    examples = ROOT / "examples"
    nodes = (examples / "nodes.yaml").read_text(encoding="utf-8")
    nodes = nodes.replace("network.example.com/block", "topology.kubernetes.io/spine")
    write(tmp_path, {"nodes.yaml": nodes.replace("network.example.com/rack", "topology.kubernetes.io/rack")})

    ran = call(
        "place",
        str(examples / "osmo-training"),
        "--nodes",
        str(tmp_path / "nodes.yaml"),
        "--drain",
        "topology.kubernetes.io/spine=b1",
        "--drain",
        "topology.kubernetes.io/rack=b2-r0",
    )

    assert "best-effort-training" in ran.stdout
    assert "  8 pods need room; the cluster has room for 4: it lacks 32 GPUs\n" in ran.stdout
    assert "must stand in one ;" not in ran.stdout


@pytest.mark.parametrize("name", ["fits", "pending", "exact", "moves"])
def test_the_output_is_by_its_schema(name: str) -> None:
    schema = json.loads((ROOT / "docs" / "reference" / "place.schema.json").read_text(encoding="utf-8"))

    assert schema_errors(json.loads((TESTDATA / "place" / f"{name}.json").read_text(encoding="utf-8")), schema) == []


@pytest.mark.parametrize(
    ("more", "fits"),
    [
        ([pod("ended", "n0") | {"status": {"phase": "Succeeded"}}, pod("busy", "n2")], True),
        ([pod("waiting", ""), pod("busy", "n2")], True),
        ([pod("elsewhere", "unknown"), pod("busy", "n2")], True),
        ([pod("busy-0", "n0", 1), pod("busy-1", "n2", 1)], False),
    ],
    ids=["ended", "not bound", "on no node", "one GPU each"],
)
def test_pods_count_that_are_bound_and_run(folder: Path, call: Call, more: list[dict[str, Any]], fits: bool) -> None:
    write(folder, {"nodes.json": cluster(*more)})

    assert call("place", "in", "--nodes", "nodes.json").code == int(not fits)


def test_init_containers_sidecars_and_overhead_count_as_kubernetes_counts_them(folder: Path, call: Call) -> None:
    def asks(cpu: str) -> dict[str, Any]:
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}}

    sidecar = asks("10") | {"restartPolicy": "Always"}
    spec: dict[str, Any] = {
        "initContainers": [asks("30"), sidecar, asks("50")],
        "overhead": {"cpu": "1"},
        "containers": [asks("20")],
    }
    workload = GPU_WORKLOAD.replace('nvidia.com/gpu: "8"', "cpu: 4")
    for left, fits in (("65", True), ("64999m", False)):
        nodes = [node(f"n{n}", "a", "r0", allocatable={"cpu": left, "pods": "9"}) for n in range(2)]
        busy = [pod(f"busy-{n}", f"n{n}", 8, **spec) for n in range(2)]
        write(folder, {"in/web.yaml": workload, "nodes.json": json.dumps({"kind": "List", "items": nodes + busy})})
        # 65 cores minus max(30, 10 + 50, 10 + 20) + 1 leaves 4 cores for each pod of the gang.
        assert call("place", "in", "--nodes", "nodes.json").code == int(not fits)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"spec": {"unschedulable": True}}, "2 node is unschedulable"),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, "2 node has NotReady condition"),
        (
            {"status": {"conditions": [{"type": "DiskPressure", "status": "True"}]}},
            "2 node has DiskPressure condition",
        ),
        (
            {"spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}},
            "2 node(s) had untolerated taint(s)",
        ),
    ],
    ids=["cordon", "not ready", "pressure", "taint"],
)
def test_nodes_that_take_no_pods(folder: Path, call: Call, change: dict[str, Any], reason: str) -> None:
    nodes = [node(f"n{number}", "a", "r0") for number in range(2)]
    for each in nodes:
        for field, value in change.items():
            each[field] = {**each[field], **value}
    write(folder, {"nodes.json": json.dumps({"kind": "List", "items": nodes})})
    workload = GPU_WORKLOAD.replace("    topologyConstraint: {packDomain: rack}\n", "")
    write(folder, {"in/web.yaml": workload})

    ran = call("place", "in", "--nodes", "nodes.json")

    assert ran.code == 1
    assert reason in ran.stdout


def test_node_selectors_affinity_and_tolerations_of_pods(folder: Path, call: Call) -> None:
    nodes = json.loads(cluster())
    for each in nodes["items"]:
        each["spec"]["taints"] = [{"key": "gpu", "effect": "NoSchedule"}]
    term = "{matchExpressions: [{key: example.com/rack, operator: In, values: [r1]}]}"
    affinity = f"{{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{term}]}}}}}}"
    rules = f"{{tolerations: [{{key: gpu, operator: Exists}}], nodeSelector: {{{ZONE}: a}}, affinity: {affinity}, "
    one_line = GPU_WORKLOAD.replace(
        "podSpec:\n          containers:\n          - {", f"podSpec: {rules}containers: [{{"
    )
    write(folder, {"in/web.yaml": one_line.rstrip("\n") + "]}\n", "nodes.json": json.dumps(nodes)})

    ran = call("place", "in", "--nodes", "nodes.json", "-o", "json")

    (gang,) = json.loads(ran.stdout)["gangs"]
    assert gang["podSets"] == [
        {"name": "web-0-router", "nodes": [{"name": "n2", "pods": 1}, {"name": "n3", "pods": 1}]}
    ]


def test_pods_of_the_gang_that_run_already_stay(folder: Path, call: Call) -> None:
    running = pod("web-0-router-x", "n1")
    running["metadata"] = {
        "name": "web-0-router-x",
        "namespace": "shop",
        "labels": {"grove.io/podgang": "web-0", "grove.io/podclique": "web-0-router"},
    }
    write(folder, {"nodes.json": cluster(running)})

    ran = call("place", "in", "--nodes", "nodes.json", "-o", "json")

    answer = json.loads(ran.stdout)
    assert answer["gangs"][0]["podSets"][0]["nodes"] == [{"name": "n0", "pods": 1}, {"name": "n1", "pods": 1}]
    assert answer["cluster"] == {"nodes": 4, "gpus": 32, "gpusInUse": 8, "gpusInUseThen": 16}


def test_what_if_nodes_are_added_or_drained_and_replicas_changed(folder: Path, call: Call) -> None:
    def where(*words: str) -> list[str]:
        ran = call("place", "in", "--nodes", "nodes.json", "-o", "json", *words)
        assert ran.messages == ""
        return [gang["domain"] or gang["state"] for gang in json.loads(ran.stdout)["gangs"]]

    write(folder, {"more.json": json.dumps([node("m0", "b", "r7"), node("m1", "b", "r7")])})
    assert where() == ["a/r0"]
    assert where("--drain", f"{RACK}=r0", "--add-nodes", "1xexample.com/rack=r2") == ["a/r1"]
    assert where("--drain", "n0", "--drain", "n2") == ["pending"]
    assert where("--drain", "n0", "--drain", "n2", "--add-nodes", f"1x{RACK}=r1") == ["a/r1"]
    assert where("--drain", "n0", "--drain", "n2", "--add-nodes", "more.json") == ["b/r7"]
    assert where("--replicas", "web=3") == ["a/r0", "a/r1", "pending"]


@pytest.mark.usefixtures("folder")
def test_added_nodes_have_slices_where_their_labels_say_so(call: Call) -> None:
    away = [word for number in (0, 1, 2) for word in ("--drain", f"n{number}")]
    sliced = "node-role.kubernetes.io/mig-enabled=true"

    def message(strategy: str) -> str:
        add = f"2x{RACK}=r7,{sliced},nvidia.com/mig.strategy={strategy}"
        ran = call("place", "in", "--nodes", "nodes.json", *away, "--add-nodes", add, "-o", "json")
        (gang,) = json.loads(ran.stdout)["gangs"]
        return gang["domain"] or gang["message"]

    assert "2 non MIG jobs cant run on a node with MigStrategy='mixed'" in message("mixed")
    assert message("single") == message("") == "a/r7"


@pytest.mark.usefixtures("folder")
def test_how_many_more_replicas_fit(call: Call) -> None:
    ran = call("place", "in", "--nodes", "nodes.json", "--further")
    as_json = call("place", "in", "--nodes", "nodes.json", "--further", "-o", "json")

    assert ran.stdout.endswith("more replicas that fit:\n  shop/web  1\n")
    assert json.loads(as_json.stdout)["furtherReplicas"] == [{"namespace": "shop", "workload": "web", "replicas": 1}]


def test_nodes_come_as_yaml_as_a_folder_on_stdin_and_as_a_snapshot_of_kai(folder: Path, call: Call) -> None:
    expected = call("place", "in", "--nodes", "nodes.json").stdout
    items = json.loads(cluster())["items"]
    write(folder, {f"export/{item['metadata']['name']}.yaml": json.dumps(item) for item in items})
    raw: dict[str, Any] = {"nodes": [], "pods": [], "queues": []}
    for item in items:
        bare = {key: part for key, part in item.items() if key not in ("apiVersion", "kind")}
        raw[f"{item['kind'].lower()}s"].append(bare)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("snapshot.json", json.dumps({"config": {}, "rawObjects": raw}))
    (folder / "snapshot.gzip").write_bytes(packed.getvalue())

    assert call("place", "in", "--nodes", "export").stdout == expected
    assert call("place", "in", "--nodes", "-", stdin=cluster()).stdout == expected
    assert call("place", "in", "--nodes", "snapshot.gzip").stdout == expected


def test_the_order_of_nodes_and_pods_says_nothing(folder: Path, call: Call) -> None:
    busy = [pod("busy-0", "n0", 4), pod("busy-1", "n2", 4)]
    write(folder, {"nodes.json": cluster(*busy)})
    first = call("place", "in", "--nodes", "nodes.json", "-o", "json").stdout
    turned = {"kind": "List", "items": json.loads(cluster(*busy))["items"][::-1]}
    write(folder, {"nodes.json": json.dumps(turned)})

    assert call("place", "in", "--nodes", "nodes.json", "-o", "json").stdout == first


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["in"], "--nodes is not set: pass the output of `kubectl get nodes,pods -A -o json`. Only a scenario, a JSON "
                 "file with nodes and jobs, needs no --nodes"),
        (["in", "--nodes", "in"], '--nodes "in": found no nodes; pass the output of `kubectl get nodes,pods -A -o '
                                  'json`'),
        (["in", "--nodes", "gone.json"], '"gone.json" does not exist'),
        (["in", "--nodes", "bad.json"], '"bad.json" must be YAML or JSON; 1:'),
        (["in", "--nodes", "latin.json"], '"latin.json" must be UTF-8'),
        (["in", "--nodes", "bad.zip"], "\"bad.zip\" is not a dump of KAI's snapshot plugin: a complete zip with "
                                       "snapshot.json, stored or deflated"),
        (["in", "--nodes", "nodes.json", "--nodes", "nodes.json"], '--nodes "nodes.json", "nodes.json": duplicate Node '
                                                                   '"n0"'),
        (["-", "--nodes", "-"], '"-" is given twice, but packwise can read stdin only once'),
        (["in", "--nodes", "nodes.json", "--drain", "n9"], "--drain needs a node or a label=value of nodes; no node "
                                                           'has "n9"'),
        (["in", "--nodes", "nodes.json", "--drain", f"{ZONE}=a"], f'--drain "{ZONE}=a" would remove all nodes'),
        (["in", "--nodes", "nodes.json", "--add-nodes", "0xa=b"], "--add-nodes needs a file or a text such as "
                                                                  "4xexample.com/rack=r9 (1 to 100000 nodes); got "
                                                                  '"0xa=b"'),
        (["in", "--nodes", "nodes.json", "--add-nodes", "nodes.json"], "--add-nodes names nodes that the cluster "
                                                                       'already has: "n0"'),
        (["in", "--nodes", "nodes.json", "--add-nodes", "in"], '--add-nodes "in": found no nodes'),
        (["in", "--nodes", "nodes.json", "--replicas", "web"], "--replicas needs a text such as llm=2 or "
                                                               'llm/prefill=4; got "web"'),
        (["in", "--nodes", "nodes.json", "--replicas", "llm=2"], '--replicas "llm" matches 0 workloads, not 1; known: '
                                                                 "web"),
        (["in", "--nodes", "nodes.json", "--replicas", "web/x=2"], '--replicas: PodCliqueSet "web" has no part '
                                                                   '"x" with replicas; known: router'),
    ],
)  # fmt: skip
def test_wrong_usage(folder: Path, call: Call, words: list[str], error: str) -> None:
    write(folder, {"bad.json": "{a: [}"})
    (folder / "latin.json").write_bytes(b"{\xff}")
    (folder / "bad.zip").write_bytes(b"PK\x03\x04nothing")

    ran = call("place", *words)

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"error: {error}")


def test_workloads_with_errors_are_not_placed(folder: Path, call: Call) -> None:
    write(folder, {"in/web.yaml": GPU_WORKLOAD.replace("minAvailable: 2", "minAvailable: 3")})

    ran = call("place", "in", "--nodes", "nodes.json")

    assert (ran.code, ran.stdout) == (1, "")
    assert "minAvailable" in ran.stderr


def test_a_workload_with_errors_does_not_stop_the_others(folder: Path, call: Call) -> None:
    alone = call("place", "in", "--nodes", "nodes.json")
    wrong = GPU_WORKLOAD.replace("name: web", "name: wrong").replace("minAvailable: 2", "minAvailable: 3")
    write(folder, {"in/wrong.yaml": wrong})

    ran = call("place", "in", "--nodes", "nodes.json")

    assert (ran.code, ran.stdout) == (1, alone.stdout)
    assert "wrong.yaml" in ran.stderr
    assert "note: PodCliqueSet shop/wrong in in/wrong.yaml:2:1 is not placed: it has errors" in ran.messages


SAMPLE = """\
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
topologyAwareScheduling:
  enabled: true
  levels:
  - {domain: rack, key: example.com/rack}
"""


@pytest.mark.parametrize(
    "command", [["place", "--nodes", "nodes.json"], ["report", "-o", "html", "--nodes", "nodes.json"], ["topologies"]]
)
def test_configurations_that_a_check_does_not_use_for_the_workloads_do_not_count(
    folder: Path, call: Call, command: list[str]
) -> None:
    alone = call(*command, "in")
    write(folder, {"in/samples/first.yaml": SAMPLE, "in/samples/second.yaml": SAMPLE.replace("rack", "host")})

    ran = call(*command, "in")

    assert (ran.code, ran.stdout, ran.messages) == (0, alone.stdout, alone.messages)


SCENARIO = {
    "topologies": [{"name": "cluster", "levels": [ZONE, RACK]}],
    "queues": [{"name": "q"}],
    "nodes": [{"name": "n0", "labels": {ZONE: "a", RACK: "r"}, "gpu": 8, "cpu": 8, "memoryGi": 8}],
    "jobs": [
        {"name": "j", "queue": "q", "priority": 50, "tasks": [{"name": "j-0", "gpu": 8, "cpu": 1, "memoryGi": 1}]}
    ],
}


def test_a_scenario_is_answered_by_job(folder: Path, call: Call) -> None:
    write(folder, {"scenario.json": json.dumps(SCENARIO)})

    ran = call("place", "scenario.json", "-o", "json")

    assert (ran.code, ran.messages) == (0, "")
    assert json.loads(ran.stdout) == {"jobs": [{"name": "j", "state": "allocated", "placement": {"j-0": "n0"}}]}
    assert call("place", "scenario.json").stdout == "j: allocated\n"


def test_a_scenario_in_which_a_job_waits(folder: Path, call: Call) -> None:
    scenario = json.loads(json.dumps(SCENARIO).replace('"gpu": 8, "cpu": 1', '"gpu": 9, "cpu": 1'))
    write(folder, {"scenario.json": json.dumps(scenario)})

    ran = call("place", "scenario.json")

    assert ran.code == 1
    assert ran.stdout.startswith("j: pending\n  PodSchedulingErrors: Resources were not found for pod ns/j-0 due to: ")


UNREADABLE: list[tuple[dict[str, Any], str]] = [
    ({"nodes": [{}]}, "nodes[0].name: must be a string; it is not set"),
    ({"nodes": 3}, "nodes: must be a list; got 3"),
    ({"nodes": ["n"]}, 'nodes[0]: must be a mapping; got "n"'),
    (
        {"nodes": [{"name": "n", "gpus": 8}]},
        'nodes[0].gpus: must be a known field; got "gpus"; did you mean "gpu"? known',
    ),
    (
        {"nodes": [{"name": "n", "gpu": 0.5}]},
        "nodes[0].gpu: must be a whole number; got 0.5",
    ),
    ({"nodes": [{"name": "n", "cpu": -1}]}, "nodes[0].cpu: must be at least 0; got -1"),
    (
        {"nodes": [{"name": "n", "cpu": 1 << 53}]},
        "nodes[0].cpu: must be at most 9007199254740991; got 9007199254740992",
    ),
    ({"nodes": [{"name": "n", "pods": 1.5}]}, "nodes[0].pods: must be a whole number; got 1.5"),
    ({"nodes": [{"name": "n", "labels": []}]}, "nodes[0].labels: must be a mapping; got a list"),
    ({"nodes": [{"name": "n"}, {"name": "n"}]}, 'nodes: "n" is not unique'),
    ({"topologies": [{"name": "t"}]}, "topologies[0].levels: must be a list of node label keys; it is not set"),
    (
        {"jobs": [{"name": "j", "subGroups": [{"name": "a", "parent": "b"}]}]},
        'jobs[0].subGroups: the parent of "a" must be a subgroup; got "b"',
    ),
    (
        {"jobs": [{"name": "j", "subGroups": [{"name": "a", "parent": "a"}]}]},
        'jobs[0].subGroups: subgroups must be a tree, but "a" is below itself',
    ),
    (
        {"jobs": [{"name": "j", "subGroups": [{"name": "a"}], "tasks": [{"name": "p", "subGroup": "b"}]}]},
        'jobs[0].tasks: pod "p" names "b", which is not a subgroup with pods; known: a',
    ),
]


@pytest.mark.parametrize(("change", "error"), UNREADABLE)
def test_a_scenario_that_cannot_be_read(folder: Path, call: Call, change: dict[str, Any], error: str) -> None:
    write(folder, {"scenario.json": json.dumps({**SCENARIO, **change})})

    ran = call("place", "scenario.json")

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"error: scenario.json: {error}")


UNALIKE = (
    GPU_WORKLOAD.rstrip("\n")
    + """
    - name: leader
      spec:
        roleName: leader
        replicas: 1
        minAvailable: 1
        podSpec:
          containers:
          - {name: leader, image: "i", resources: {limits: {nvidia.com/gpu: "2"}}}
"""
)
"""Pods with 8 and with 2 GPUs. KAI computes with three pods of 8 GPUs."""


def test_a_packing_that_kai_does_not_find_its_rule_and_the_change_that_helps(
    folder: Path, call: Call, assert_expected: Expect
) -> None:
    pytest.importorskip(SOLVER.module, reason=SOLVER.advice)
    nodes = [*(node(f"n{number}", "a", "r0") for number in range(3)), node("m0", "b", "r1")]
    nodes += [pod("busy", "n2", 6), queue("default-queue")]
    write(folder, {"in/web.yaml": UNALIKE, "nodes.json": json.dumps({"kind": "List", "items": nodes})})

    ran = call("place", "in", "--nodes", "nodes.json", "--exact")
    as_json = call("place", "in", "--nodes", "nodes.json", "--exact", "-o", "json")

    assert ran.code == 1
    assert_expected("place/exact.txt", ran.stdout)
    assert_expected("place/exact.json", as_json.stdout)


def test_an_exact_verdict_without_its_library(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packwise.place.run.SOLVER", SOLVER.replace(module="not.there"))

    ran = call("place", "in", "--nodes", str(folder / "nodes.json"), "--exact")

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr == (
        'error: cannot use --exact: ortools is not installed; add the extra "solver": pip install "packwise[solver] @ '
        'git+https://git.example.com/platform/packwise@COMMIT"\n'
    )


def test_further_replicas_keep_to_the_limit_of_their_queue(folder: Path, call: Call) -> None:
    nodes = [node(f"n{number}", "a", f"r{number // 2}") for number in range(8)]
    nodes.append(queue("default-queue", quota=8, limit=48))
    write(folder, {"nodes.json": json.dumps({"kind": "List", "items": nodes})})

    ran = call("place", "in", "--nodes", "nodes.json", "--further", "-o", "json")

    # Four pairs of nodes have room; the gang takes 16 of the queue's 48 GPUs.
    assert json.loads(ran.stdout)["furtherReplicas"][0]["replicas"] == 2


def test_a_required_level_above_one_that_all_nodes_share(folder: Path, call: Call) -> None:
    nodes = [node(f"n{number}", "a", "r0") for number in range(2)]
    write(folder, {"nodes.json": json.dumps({"kind": "List", "items": nodes})})
    write(folder, {"in/web.yaml": GPU_WORKLOAD.replace("packDomain: rack", "packDomain: zone")})

    ran = call("place", "in", "--nodes", "nodes.json")

    assert ran.code == 1
    assert (
        "2 pods must be in one zone, and zone a may have room. KAI counts free resources only "
        "within the smallest domain that holds all candidate nodes, and does not see the room. Add a preferred "
        "level: zone, or a finer one"
    ) in ran.stdout


@pytest.fixture
def changed(folder: Path) -> Path:
    """Return a change that makes one workload's pods larger, adds a workload, removes one, and moves another one."""
    first = GPU_WORKLOAD.replace("web", "a")
    write(folder, {"old/topology.yaml": CONFIG, "old/a.yaml": first, "old/web.yaml": GPU_WORKLOAD})
    write(folder, {"old/z.yaml": named("z", 1), "in/a.yaml": first.replace('"8"', '"9"'), "in/x.yaml": named("x", 2)})
    nodes = [node(f"n{number}", "a", f"r{number // 2}") for number in range(6)]
    write(folder, {"nodes.json": json.dumps([*nodes, queue("default-queue")])})
    return folder


def named(name: str, pods: int) -> str:
    sized = GPU_WORKLOAD.replace("replicas: 2", f"replicas: {pods}").replace("minAvailable: 2", f"minAvailable: {pods}")
    return sized.replace("web", name)


@pytest.mark.usefixtures("changed")
def test_what_a_change_moves(call: Call, assert_expected: Expect) -> None:
    words = ("place", "in", "--nodes", "nodes.json", "--baseline", "old")
    for output, suffix in (("text", "txt"), ("json", "json"), ("markdown", "md")):
        ran = call(*words, "-o", output)
        assert (ran.code, ran.messages) == (1, "")
        assert_expected(f"place/moves.{suffix}", ran.stdout)


def fates(call: Call) -> list[tuple[str, str, int]]:
    ran = call("place", "in", "--nodes", "nodes.json", "--baseline", "old", "-o", "json")
    return [(each["name"], each["change"], each["pods"]) for each in json.loads(ran.stdout)["changes"]]


def test_a_gang_that_stays_is_no_change_and_one_may_fit_again(folder: Path, call: Call) -> None:
    write(folder, {"old/topology.yaml": CONFIG, "old/web.yaml": GPU_WORKLOAD})
    assert fates(call) == []

    write(folder, {"old/web.yaml": GPU_WORKLOAD.replace('"8"', '"9"')})
    assert fates(call) == [("web-0", "fitsNow", 0)]


def test_pods_that_are_added_to_a_gang_do_not_move_and_those_that_wait_are_counted(folder: Path, call: Call) -> None:
    few = GPU_WORKLOAD.replace("    topologyConstraint: {packDomain: rack}\n", "").replace(
        "minAvailable: 2", "minAvailable: 1"
    )
    write(
        folder,
        {"old/topology.yaml": CONFIG, "old/web.yaml": few, "in/web.yaml": few.replace("replicas: 2", "replicas: 4")},
    )
    assert fates(call) == []

    write(folder, {"in/web.yaml": few.replace("replicas: 2", "replicas: 7")})
    assert fates(call) == [("web-0", "losesPods", 3)]


def test_a_baseline_with_errors_is_compared_with_nothing(folder: Path, call: Call) -> None:
    write(
        folder, {"old/topology.yaml": CONFIG, "old/z.yaml": named("z", 1).replace("minAvailable: 1", "minAvailable: 9")}
    )

    ran = call("place", "in", "--nodes", "nodes.json", "--baseline", "old", "-o", "json")

    assert (ran.code, ran.messages) == (0, "note: packwise does not compare the placement because old has errors\n")
    assert "changes" not in json.loads(ran.stdout)


def test_a_scenario_is_no_comment(folder: Path, call: Call) -> None:
    write(folder, {"scenario.json": json.dumps(SCENARIO)})

    ran = call("place", "scenario.json", "-o", "markdown")

    assert (ran.code, ran.stdout) == (2, "")
    formats = "the formats for a scenario are text and json"
    assert ran.stderr == f"error: -o markdown needs workloads and --nodes; {formats}\n"


def test_hostile_names_are_text_in_a_comment(folder: Path, call: Call) -> None:
    hostile = "```</details>@org <img src=x> #1 `"
    nodes = [node(f"{hostile}{number}", f"a {hostile}", "r") for number in range(2)]
    write(folder, {"nodes.json": json.dumps(nodes), "old/topology.yaml": CONFIG, "old/web.yaml": GPU_WORKLOAD})
    write(folder, {"in/x.yaml": named("x", 2)})

    ran = call("place", "in", "--nodes", "nodes.json", "--baseline", "old", "-o", "markdown")

    assert hostile in ran.stdout
    assert [part for part in outside_code(ran.stdout) if "org" in part or "img" in part] == []


def test_a_placing_of_any_size_is_one_comment(folder: Path, call: Call) -> None:
    nodes = [node(f"n{number}", "a", f"r{number // 2}") for number in range(200)]
    # Neighbours with names that differ only in numbers would be shown as one entry.
    many = "---\n".join([named(f"{chr(97 + number // 20)}{chr(97 + number % 20)}", 2) for number in range(400)])
    write(folder, {"in/web.yaml": many, "old/topology.yaml": CONFIG, "old/a.yaml": GPU_WORKLOAD})
    write(folder, {"nodes.json": json.dumps(nodes)})

    ran = call("place", "in", "--nodes", "nodes.json", "--baseline", "old", "-o", "markdown")

    assert len(ran.stdout.encode("utf-16-le")) // 2 <= LIMIT
    title = "### Where the scheduler places the gangs"
    assert ran.stdout.startswith(f"<!-- packwise place -->\n{title}\n\n`100 of 400 gangs fit`")
    assert "<summary>Does not fit: 300</summary>" in ran.stdout
    assert "<summary>Fits: 100</summary>" in ran.stdout
    assert ran.stdout.endswith("; `packwise place in --nodes nodes.json --baseline old` prints all.\n")


def test_what_topograph_writes_labels_the_nodes_of_the_cluster(folder: Path, call: Call) -> None:
    write(folder, {"in/topology.yaml": CONFIG.replace("example.com/rack", "fabric.topograph.run/tier-0")})
    write(folder, {"topology.conf": "SwitchName=l0 Nodes=n[0-2]\nSwitchName=l1 Nodes=n3\n"})
    words = ("place", "in", "--nodes", "nodes.json", "-o", "json")

    labelled = json.loads(call(*words, "--nodes", "topology.conf").stdout)["gangs"][0]

    assert json.loads(call(*words).stdout)["gangs"][0]["state"] == "pending"
    assert (labelled["state"], labelled["domain"]) == ("allocated", "a/l0")


def test_what_topograph_writes_does_not_say_what_nodes_have(folder: Path, call: Call) -> None:
    write(folder, {"topology.conf": "SwitchName=l0 Nodes=n[0-2]\n"})

    for command in ("place", "comment"):
        ran = call(command, "in", "--nodes", "topology.conf")
        assert (ran.code, ran.stdout) == (2, "")
        assert ran.stderr.endswith(
            'error: --nodes "topology.conf" has no resources of nodes (status.allocatable), because it is '
            "topograph's output; add the output of `kubectl get nodes,pods -A -o json`\n"
        )


def test_pods_of_a_podgroup_that_users_write_are_named_in_a_note(folder: Path, call: Call) -> None:
    grouped = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: ours}
spec: {minMember: 2, queue: default-queue}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/skip-podgrouper: "true"}}
spec:
  parallelism: 2
  template:
    metadata: {annotations: {pod-group-name: ours}}
    spec: {schedulerName: kai-scheduler, containers: [{name: main, image: app:1}]}
"""
    write(folder, {"grouped/job.yaml": grouped})

    ran = call("place", "grouped", "--nodes", "nodes.json")

    assert (ran.code, ran.stdout.splitlines()[0], ran.stderr) == (
        0,
        "0 of 0 gangs fit",
        "note: did not place the pods of 1 PodGroup in the input: packwise places only gangs that it derives from "
        "workloads\n1 workload checked\n",
    )
