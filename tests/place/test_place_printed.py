"""The output of `packwise place` keeps the requests of PodCliqueSets. The check uses only the YAML and the nodes."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from krmfn.kubeobject import KubeObject
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from packwise.place.run import as_json, place_render
from packwise.schedulers.kai.snapshot import read_snapshot

ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"
LEVELS = {"zone": (ZONE,), "rack": (ZONE, RACK)}
CONFIG = f"""\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {{name: t}}
spec:
  topologyAwareScheduling: {{enabled: true, levels: [{{domain: zone, key: {ZONE}}}, {{domain: rack, key: {RACK}}}]}}
"""


class Clique(NamedTuple):
    name: str
    pods: int
    gpus: int
    domain: str


class Workload(NamedTuple):
    """A PodCliqueSet with standalone cliques. The last `grouped` cliques form a scaling group instead."""

    name: str
    cliques: tuple[Clique, ...]
    domain: str
    grouped: int
    group_domain: str
    group_replicas: int


domains = st.sampled_from(["", "zone", "rack"])


@st.composite
def workloads(draw: st.DrawFn, name: str) -> Workload:
    whole = draw(domains)
    inner = st.sampled_from(["", "rack"] if whole else ["", "zone", "rack"])
    number = draw(st.integers(1, 3))
    grouped = draw(st.integers(0, number))
    cliques = tuple(
        Clique(
            f"c{place}",
            draw(st.integers(1, 3)),
            draw(st.sampled_from([0, 2, 4, 8])),
            "" if place >= number - grouped else draw(inner),
        )
        for place in range(number)
    )
    return Workload(name, cliques, whole, grouped, draw(inner) if grouped else "", draw(st.integers(1, 2)))


@st.composite
def clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    return [
        {
            "kind": "Node",
            "metadata": {"name": f"n{zone}{rack}{number}", "labels": {ZONE: f"z{zone}", RACK: f"r{rack}"}},
            "status": {
                "allocatable": {"cpu": "64", "nvidia.com/gpu": str(draw(st.sampled_from([4, 8]))), "pods": "20"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for zone in range(draw(st.integers(1, 2)))
        for rack in range(draw(st.integers(1, 3)))
        for number in range(draw(st.integers(1, 3)))
    ]


def manifest(workload: Workload) -> KubeObject:
    def constraint(domain: str) -> dict[str, Any]:
        return {"topologyConstraint": {"packDomain": domain}} if domain else {}

    cliques = [
        {
            "name": clique.name,
            **constraint(clique.domain),
            "spec": {
                "roleName": clique.name,
                "replicas": clique.pods,
                "minAvailable": clique.pods,
                "podSpec": {
                    "containers": [
                        {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": clique.gpus}}}
                    ]
                },
            },
        }
        for clique in workload.cliques
    ]
    template: dict[str, Any] = {"cliques": cliques, **constraint(workload.domain)}
    if workload.grouped:
        names = [clique.name for clique in workload.cliques[-workload.grouped :]]
        group = {"name": "g", "cliqueNames": names, "replicas": workload.group_replicas, "minAvailable": 1}
        template["podCliqueScalingGroups"] = [{**group, **constraint(workload.group_domain)}]
    value: dict[str, Any] = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": workload.name, "namespace": "a"},
        "spec": {"replicas": 1, "template": template},
    }
    return KubeObject.parse(json.dumps(value), file=f"{workload.name}.yaml")


def faults(workloads: list[Workload], nodes: list[dict[str, Any]], answer: dict[str, Any]) -> list[str]:
    """Return the faults in the printed places."""
    by_name = {node["metadata"]["name"]: node for node in nodes}
    used: Counter[str] = Counter()
    wrong: list[str] = []

    def domain_of(node: str, domain: str) -> tuple[str, ...]:
        return tuple([by_name[node]["metadata"]["labels"][key] for key in LEVELS[domain]])

    def within(what: str, names: set[str], domain: str) -> None:
        if domain and len({domain_of(name, domain) for name in names}) > 1:
            wrong.append(f"{what} is in several domains of {domain}")

    for workload in workloads:
        alone = workload.cliques[: len(workload.cliques) - workload.grouped]
        for gang in answer["gangs"]:
            if gang["workload"] != workload.name or gang["state"] != "allocated":
                continue
            where = {part["name"]: {node["name"]: node["pods"] for node in part["nodes"]} for part in gang["podSets"]}
            for name, spread in where.items():
                clique = next(each for each in workload.cliques if name.endswith(f"-{each.name}"))
                if sum(spread.values()) != clique.pods:
                    wrong.append(f"{name} has {spread} instead of {clique.pods} pods")
                for node, pods in spread.items():
                    used[node] += pods * clique.gpus
            base = gang["name"] == f"{workload.name}-0"
            everywhere = {node for spread in where.values() for node in spread}
            # A gang beyond minAvailable has the group's constraint instead of the workload's.
            within(
                gang["name"],
                everywhere,
                workload.domain if base or not workload.group_domain else workload.group_domain,
            )
            grouped = {node for name, spread in where.items() if "-g-" in name for node in spread}
            within(f"group of {gang['name']}", grouped, workload.group_domain)
            for clique in alone if base else ():
                within(clique.name, set(where[f"{workload.name}-0-{clique.name}"]), clique.domain)
    for name, gpus in used.items():
        if gpus > int(by_name[name]["status"]["allocatable"]["nvidia.com/gpu"]):
            wrong.append(f"{name} has too few GPUs")
    return wrong


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.tuples(workloads("a"), workloads("b")), clusters())
def test_a_printed_placement_satisfies_every_constraint(
    pair: tuple[Workload, Workload], nodes: list[dict[str, Any]]
) -> None:
    items = tuple([manifest(each) for each in pair])
    rendered = render(Package(items, KubeObject.parse(CONFIG, file="t.yaml")))
    assert rendered.generated, rendered.results

    answer = json.loads(as_json(place_render(rendered, read_snapshot(nodes))))

    assert faults(list(pair), nodes, answer) == []


def test_the_look_notices_what_is_wrong() -> None:
    workload = Workload("a", (Clique("c0", 2, 8, "rack"),), "zone", 0, "", 1)
    nodes: list[dict[str, Any]] = [
        {
            "metadata": {"name": f"n{number}", "labels": {ZONE: f"z{number}", RACK: "r"}},
            "status": {"allocatable": {"nvidia.com/gpu": "8"}},
        }
        for number in range(2)
    ]

    def printed(*spread: tuple[str, int]) -> dict[str, Any]:
        placed = [{"name": name, "pods": pods} for name, pods in spread]
        sets = [{"name": "a-0-c0", "nodes": placed}]
        return {"gangs": [{"name": "a-0", "workload": "a", "state": "allocated", "podSets": sets}]}

    assert faults([workload], nodes, printed(("n0", 1), ("n1", 1))) == [
        "a-0 is in several domains of zone",
        "c0 is in several domains of rack",
    ]
    assert faults([workload], nodes, printed(("n0", 2))) == ["n0 has too few GPUs"]
    assert faults([workload], nodes, printed(("n0", 1))) == ["a-0-c0 has {'n0': 1} instead of 2 pods"]
