"""Generated small scenarios: a few racks, a few gangs."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

__all__ = ["repeated", "scenarios"]

ZONE, RACK, HOST = "topology.example/zone", "topology.example/rack", "kubernetes.io/hostname"


@st.composite
def scenarios(draw: st.DrawFn, *, jobs: int = 3) -> dict[str, Any]:
    levels = [ZONE, RACK, *([HOST] if draw(st.booleans()) else [])]
    nodes = [
        _node(draw, f"n-{zone}-{rack}-{number}", {ZONE: f"z{zone}", RACK: f"r{rack}"}, levels)
        for zone in range(draw(st.integers(1, 2)))
        for rack in range(draw(st.integers(1, 3)))
        for number in range(draw(st.integers(1, 3)))
    ]
    return {
        "topologies": [{"name": "cluster", "levels": levels}],
        "queues": [{"name": "q"}],
        "nodes": nodes,
        "jobs": [_job(draw, f"job{number}", levels) for number in range(draw(st.integers(1, jobs)))],
    }


@st.composite
def repeated(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a scenario in which gangs of the same shape take turns, so that facts from one turn matter in the next."""
    scenario = draw(scenarios(jobs=2))
    copies = range(draw(st.integers(2, 5)))
    scenario["jobs"] = [_copy(job, number) for number in copies for job in scenario["jobs"]]
    return scenario


def _copy(job: dict[str, Any], number: int) -> dict[str, Any]:
    tasks = [{**task, "name": f"{task['name']}-{number}"} for task in job["tasks"]]
    return {**job, "name": f"{job['name']}-{number}", "tasks": tasks}


def _node(draw: st.DrawFn, name: str, labels: dict[str, str], levels: list[str]) -> dict[str, Any]:
    gpu = draw(st.sampled_from([0, 4, 8]))
    node: dict[str, Any] = {
        "name": name,
        "labels": labels | ({HOST: name} if HOST in levels else {}),
        "gpu": gpu,
        "cpu": 32,
        "memoryGi": 128,
    }
    if draw(st.integers(0, 3)) == 0:
        node["used"] = {"gpu": draw(st.integers(0, gpu)), "cpu": 4}
    if draw(st.integers(0, 9)) == 0:
        node["unschedulable"] = True
    return node


def _constraint(draw: st.DrawFn, levels: list[str]) -> dict[str, str]:
    required = draw(st.sampled_from(["", *levels]))
    finer = levels[levels.index(required) :] if required else levels
    preferred = draw(st.sampled_from(["", *finer] if required else finer))
    constraint = {"topology": "cluster", "required": required, "preferred": preferred}
    return {key: text for key, text in constraint.items() if text}


def _job(draw: st.DrawFn, name: str, levels: list[str]) -> dict[str, Any]:
    job: dict[str, Any] = {"name": name, "queue": "q", "priority": draw(st.sampled_from([50, 100]))}
    if draw(st.booleans()):
        job["topologyConstraint"] = _constraint(draw, levels)
    if draw(st.booleans()):
        size = draw(st.integers(1, 6))
        job["minMember"] = size
        job["tasks"] = _tasks(draw, name, size)
        return job
    groups: list[dict[str, Any]] = []
    tasks: list[dict[str, Any]] = []
    for index in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 4))
        group: dict[str, Any] = {"name": f"g{index}", "minMember": size}
        if draw(st.booleans()):
            group["topologyConstraint"] = _constraint(draw, levels)
        groups.append(group)
        tasks += [{**task, "subGroup": f"g{index}"} for task in _tasks(draw, f"{name}-g{index}", size)]
    return {**job, "subGroups": groups, "tasks": tasks}


def _tasks(draw: st.DrawFn, name: str, size: int) -> list[dict[str, Any]]:
    task = {"cpu": draw(st.sampled_from([1, 8])), "memoryGi": 1, "gpu": draw(st.sampled_from([0, 1, 2, 4, 8]))}
    return [{"name": f"{name}-{number}", **task} for number in range(size)]
