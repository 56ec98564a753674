"""OSMO's complete goldens: every object as OSMO built it, and the trees of the design.

`tests/golden/compare.py` skips a case that shows a defect of OSMO. This module skips no case: the table of exceptions
lists each difference with its reason. Names are compared as in the goldens, without OSMO's random parts.
"""

from __future__ import annotations

from typing import Any

from krmfn.yamltext import read, split_documents
from tests.frontends.osmo.rendering import ALL, Rendered, of_kind, rendered
from tests.frontends.osmo.rendering import marks_removed as bare
from tests.golden.cases import GOLDEN
from tests.golden.compare import first_difference

__all__ = ["aspects", "is_binding"]

CASES = GOLDEN / "osmo"


def aspects(record: Any) -> list[tuple[str, str | None]]:
    """Yield each aspect of a case with its first difference or None: OSMO's objects, and the design's tree if it is
    binding.
    """
    found: list[tuple[str, str | None]] = []
    if not record.errors["errors"]:
        found.append(("osmo-as-built", as_built(record)))
    if "scheduler_type" in record.files.get("context.yaml", ""):
        found.append(("osmo-scheduler", scheduler(record)))
    if is_binding(record.case):
        found.append(("osmo-design", design(record)))
    return found


def is_binding(case: str) -> bool:
    """Return True if the design's tree is binding.

    Source: spec/osmo.md#decisions-3: the first line states it, and two cases show the lost level.
    """
    path = CASES / case / "expected-design.yaml"
    if not path.exists() or case in {"mix-passthrough-loses-required", "mix-zone-required-rack-preferred-shared"}:
        return False
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return "; certain" in first or "; structure certain" in first


def as_built(record: Any) -> str | None:
    context: Any = read(record.files.get("context.yaml", "")) or {}
    answer = answer_to(record, f"{{submittedBy: alice, priority: {context.get('priority', 'NORMAL')}}}")
    if not answer.accepted:
        return f"refused: {answer.said()[0][0]}"
    want = {identity(one): one for one in record.expected["documents"]}
    have = {identity(one): one for one in as_the_goldens(answer.objects)}
    if list(want) != list(have):
        return f"{list(have)}, expected {list(want)}"
    return next((f"{key}: {d}" for key in want if (d := difference(want[key], have[key]))), None)


def scheduler(record: Any) -> str | None:
    """Return the backend's scheduler. A case has it next to the files, under its name in the text."""
    (error,) = record.errors["errors"]
    name = error["message"].split('uses scheduler "')[1].split('"')[0]
    said = rendered(record.files["pool.yaml"], more=f"  scheduler: {{profiles: [{{name: {name}}}]}}\n").said()
    return difference([("osmo-pool-scheduler", "topology_keys", error["message"])], said)


def answer_to(record: Any, osmo: str) -> Rendered:
    texts = [record.files[name] for name in ("pool.yaml", "workflow.yaml") if name in record.files]
    return rendered(*texts, emit=ALL, osmo=osmo)


def identity(one: Any) -> tuple[str, str]:
    return one["kind"], one["metadata"]["name"]


def as_the_goldens(objects: list[Any]) -> list[Any]:
    """Return the objects with names of groups and tasks instead of uuids, in OSMO's order, and shortened like the
    goldens.
    """
    # OSMO writes the pods of each group after the group.
    groups = of_kind(objects, "PodGroup")
    names = {one["metadata"]["name"]: one["metadata"]["labels"]["osmo.group_name"] for one in groups}
    names |= {one["metadata"]["name"]: one["metadata"]["labels"]["osmo.task_name"] for one in of_kind(objects, "Pod")}
    found = [*of_kind(objects, "Queue"), *of_kind(objects, "Topology")]
    for group in groups:
        pods = of_kind(objects, "Pod")
        own = [p for p in pods if p["metadata"]["annotations"]["pod-group-name"] == group["metadata"]["name"]]
        found += [group, *own]
    return [normal(bare(one), names) for one in found]


def normal(one: Any, names: dict[str, str]) -> Any:
    metadata, labels = dict(one["metadata"]), dict(one["metadata"]["labels"])
    if "osmo.workflow_id" in labels:
        labels |= {"osmo.workflow_id": f"{labels['osmo.workflow_id']}-1", "osmo.workflow_uuid": "wfuuid"}
    for key in ("osmo.group_uuid", "osmo.task_uuid"):
        if key in labels:
            labels[key] = names[labels[key]]
    metadata.pop("namespace", None)
    metadata |= {"labels": labels, "name": names.get(metadata["name"], metadata["name"])}
    if "annotations" in metadata:
        metadata["annotations"] = {key: names[value] for key, value in metadata["annotations"].items()}
    spec = {key: value for key, value in one["spec"].items() if key != "restartPolicy"}
    if "containers" in spec:
        spec["containers"] = [{key: each[key] for key in ("name", "image", "command")} for each in spec["containers"]]
    return {**one, "metadata": metadata, "spec": spec}


def difference(want: Any, have: Any) -> str | None:
    """Return the first difference. The order of keys does not count."""
    return first_difference(want, have)


def design(record: Any) -> str | None:
    """Return the constraints, the parents, the pods of each leaf, and the tasks that share a leaf.

    Names and the Topology do not count.
    """
    text = (CASES / record.case / "expected-design.yaml").read_text(encoding="utf-8")
    want = [read(one.text) for one in split_documents(text)]
    answer = answer_to(record, "{keySets: Pad}")
    if not answer.accepted:
        return f"refused: {answer.said()[0][0]}"
    return difference(structure(want), structure(answer.objects))


def structure(objects: list[Any]) -> list[dict[str, Any]]:
    tasks: dict[str, list[str]] = {}
    for pod in of_kind(objects, "Pod"):
        labels: dict[str, str] = pod["metadata"].get("labels", {})
        task: str = labels.get("osmo.task_name") or pod["metadata"]["name"]
        tasks.setdefault(labels.get("kai.scheduler/subgroup-name", ""), []).append(task)
    return [tree_of(group["spec"], tasks) for group in of_kind(objects, "PodGroup")]


def tree_of(spec: dict[str, Any], tasks: dict[str, list[str]]) -> dict[str, Any]:
    written: list[dict[str, Any]] = spec.get("subGroups", spec.get("subgroups", []))
    subs: dict[str, dict[str, Any]] = {sub["name"]: sub for sub in written}
    inner = {sub.get("parent") for sub in written}
    nodes: list[list[Any]] = [
        [
            [levels(subs[step]) for step in path_to(name, subs)],
            None if name in inner else sub.get("minMember"),
            sorted(tasks.get(name, [])),
        ]
        for name, sub in subs.items()
    ]
    nodes.sort(key=lambda node: (node[0], node[2]))
    return {"bounds": levels(spec), "members": spec.get("minMember"), "nodes": nodes}


def path_to(name: str, subs: dict[str, Any]) -> list[str]:
    path = [name]
    while subs[path[0]].get("parent") is not None:
        path.insert(0, subs[path[0]]["parent"])
    return path


def levels(holder: dict[str, Any]) -> list[str]:
    constraint: dict[str, str] = holder.get("topologyConstraint", {})
    return [constraint.get(key, "") for key in ("requiredTopologyLevel", "preferredTopologyLevel")]
