"""The goldens of KAI's own pod-grouper: packwise shows the PodGroup that KAI wrote."""

from __future__ import annotations

import gzip
import json
import re
from typing import Any, cast

import pytest

from krmfn.kubeobject import KubeObject
from tests.frontends.workloads.workloads import groups_of, rendered
from tests.golden.cases import GOLDEN

FILE = GOLDEN / "workloads" / "podgrouper.jsonl.gz"

OF_CONTROLLERS = frozenset({
    "AmlJob", "PodCliqueSet", "Rollout", "RunaiJob", "SPOTRequest", "SeldonDeployment", "Spark", "TrainJob",
    "TrainingWorkload", "VirtualMachineInstance", "Widget", "Workflow",
})  # fmt: skip
"""Kinds whose pods depend on objects that only controllers make, or on KAI's permissions in a cluster."""

NOT_TOLD = {
    "defaults-no-classes": "the input has no PriorityClass, so that those of KAI's chart are taken to be there",
    "deployment-v1beta1": "the object has no pod template that would name a scheduler",
    "job-owner-gone": "the owner is in no manifest",
    "job-two-owners": "the owners are in no manifest",
    "jobset-legacy": "the PodGroup of an earlier KAI is the input's, and stays as it is",
    "jobset-legacy-inorder": "the PodGroup of an earlier KAI is the input's, and stays as it is",
    "lws-leaderready": "the group of the leader alone, which the next moment is the one that is shown",
    "mpi-wait-launcher": "the group once the launcher is there; that of the workers is shown, which start first",
    "ray-legacy": "the PodGroup of an earlier KAI is the input's, and stays as it is",
    "rayservice-no-status": "the cluster is made a moment later",
    "volcano-job": "the object has no pod template that would name a scheduler",
}
"""Rows that differ from other rows by facts that no manifest shows."""

LATEST = "v0.17.0"
CONFIG_MAP = ("ConfigMapName", "ConfigMapNamespace")
UID = re.compile(r"uid-[a-z]+-[a-z0-9.-]+")


def all_rows() -> list[dict[str, Any]]:
    with gzip.open(FILE, "rt") as lines:
        return [json.loads(line) for line in lines]


def rows() -> list[dict[str, Any]]:
    """Return the rows with objects that users write. No row has flags of the pod-grouper."""
    return [
        row for row in all_rows() if not row.get("flags") and not row.get("then") and row["kind"] not in OF_CONTROLLERS
    ]


def without_empty_parts(value: Any) -> Any:
    """Return a value without its empty parts."""
    if isinstance(value, dict):
        parts = {key: without_empty_parts(part) for key, part in cast("dict[str, Any]", value).items()}
        return {key: part for key, part in parts.items() if part not in ({}, [], None)}
    return [without_empty_parts(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def written(row: dict[str, Any]) -> tuple[KubeObject, ...]:
    return tuple(
        [
            KubeObject.parse(json.dumps(each, indent=1), file="workload.yaml")
            for each in cast("list[Any]", [*row["objects"], *(row.get("cluster") or [])])
        ]
    )


def is_same_answer(row: dict[str, Any], answer: dict[str, Any], version: str) -> bool:
    """Return True if packwise gives the row's PodGroups, or KAI's refusal word for word."""
    objects, short = written(row), ".".join(version.split(".")[:2])
    pods = cast("list[dict[str, Any]]", answer["pods"])
    texts: list[str] = [event for pod in pods for event in pod.get("events", [])]
    texts += [pod["error"] for pod in pods if pod.get("error")]
    events = {UID.sub("uid", text.removeprefix("Warning PodGrouperWarning ")) for text in texts}
    if events and not answer["podGroups"]:
        told = [result.tags.get("operatorMessage", "") for result in rendered(objects, short).results]
        return bool(events & {UID.sub("uid", text) for text in told})
    if events:
        return True
    groups = [without_empty_parts(each) for each in groups_of(rendered(objects, short, writes=True))]
    made = [
        without_empty_parts(
            {
                "name": group["metadata"]["name"],
                "owner": [
                    f"{owner['apiVersion']} {owner['kind']} {owner['name']}"
                    for owner in group["metadata"].get("ownerReferences", [])
                ],
                "spec": group["spec"],
            }
        )
        for group in answer["podGroups"]
    ]
    if is_of_each_pod(row, made, version):
        # One group represents the groups of all pods, because the names of pods are unknown.
        return all(each["spec"] in [one["spec"] for one in groups] for each in made) and bool(groups) == bool(made)
    return groups == made


def is_of_each_pod(row: dict[str, Any], made: list[Any], version: str) -> bool:
    owners = [owner for group in made for owner in group.get("owner", [])]
    return (row["kind"] != "Pod" and all(owner.startswith("v1 Pod") for owner in owners)) or (
        row["kind"] == "Job" and version.startswith("v0.13")
    )


IN_ORDER = frozenset({"jobset-inorder", "jobset-min-inorder"})
"""Rows of releases that make a group for each replicated Job. The pods of later Jobs do not exist yet."""


@pytest.mark.client
@pytest.mark.parametrize("version", [LATEST, "v0.16.8", "v0.15.3", "v0.14.7", "v0.13.4"])
def test_the_groups_and_the_refusals_are_kais_own(version: str) -> None:
    answers = [(row, row.get("differs", {}).get(version, [row["answer"]])[0]) for row in rows()]

    different = {row["id"] for row, answer in answers if not is_same_answer(row, answer, version)}

    assert different - IN_ORDER == set(NOT_TOLD)
    assert (different & IN_ORDER == set()) is (version in (LATEST, "v0.16.8"))


def with_config(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with KAI's Config, from which KAI's operator makes the flags of the pod-grouper."""
    args = {f"defaultPriorities{name}": row["flags"][f"defaultPriorities{name}"] for name in CONFIG_MAP}
    config = {"apiVersion": "kai.scheduler/v1", "kind": "Config", "metadata": {"name": "kai-config"}}
    return {**row, "cluster": [*row["cluster"], {**config, "spec": {"podGrouper": {"args": args}}}]}


@pytest.mark.client
@pytest.mark.parametrize("version", [LATEST, "v0.16.8", "v0.15.3", "v0.14.7", "v0.13.4"])
def test_the_defaults_by_type_are_kais_own(version: str) -> None:
    configured = [with_config(row) for row in all_rows() if f"defaultPriorities{CONFIG_MAP[0]}" in row.get("flags", {})]
    answers = [(row, row.get("differs", {}).get(version, [row["answer"]])[0]) for row in configured]

    assert len(answers) > 5
    assert [row["id"] for row, answer in answers if not is_same_answer(row, answer, version)] == []
