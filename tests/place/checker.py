"""An independent check of a placement, which uses nothing of packwise's own search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

__all__ = ["faults"]

Scenario = Mapping[str, Any]


def faults(scenario: Scenario, placement: Mapping[str, str], job: Mapping[str, Any]) -> list[str]:
    """Return the limits that a placement of the starting pods breaks: room on nodes, cordons, required levels."""
    nodes = {node["name"]: node for node in scenario["nodes"]}
    used: dict[str, Counter[str]] = {name: Counter(node.get("used", {})) for name, node in nodes.items()}
    for node in nodes.values():
        if "used" in node:
            used[node["name"]]["pods"] += 1
    found: list[str] = []
    for each in scenario["jobs"]:
        for task in each["tasks"]:
            where = placement.get(task["name"]) or task.get("node")
            if where:
                used[where].update({key: task.get(key, 0) for key in ("gpu", "cpu", "memoryGi")} | {"pods": 1})
                if nodes[where].get("unschedulable") and not task.get("node"):
                    found.append(f"{task['name']} is on the cordoned {where}")
    for name, amounts in used.items():
        room = {"pods": 110, **nodes[name]}
        found += [f"{name} has too little {key}" for key, amount in amounts.items() if amount > room.get(key, 0) + 1e-9]
    return found + _levels(scenario, nodes, placement, job)


def _levels(
    scenario: Scenario, nodes: Mapping[str, Any], placement: Mapping[str, str], job: Mapping[str, Any]
) -> list[str]:
    topologies = {topology["name"]: topology for topology in scenario["topologies"]}
    groups = {group["name"]: group for group in job.get("subGroups", [])}
    found: list[str] = []

    def within(name: str, top: str) -> bool:
        while name:
            if name == top:
                return True
            name = groups[name].get("parent", "")
        return top == ""

    for top, part in {"": job, **groups}.items():
        constraint: Mapping[str, str] = part.get("topologyConstraint", {})
        topology = topologies.get(constraint.get("topology", ""))
        required = constraint.get("required", "")
        if topology is None or not required:
            continue
        required = topology.get("aliases", {}).get(required, required)
        levels = topology["levels"][: topology["levels"].index(required) + 1]
        own = [task for task in job["tasks"] if within(task.get("subGroup", ""), top)]
        domains = {
            tuple(nodes[where]["labels"].get(level) for level in levels)
            for task in own
            if (where := placement.get(task["name"]))
        }
        if len(domains) > 1:
            found.append(f"{job['name']}/{top or 'root'} is in {len(domains)} domains of {required}")
    return found
