"""PodGangs from PodGangMaps: goldens of the commit before them, converted by spec/grove-releases.md#3.3, and the
entries.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krmfn import KubeObject
from packwise.frontends.grove.build_gangs import TOPOLOGY_NAME, build_gangs, plans_of_entries
from packwise.frontends.grove.default import default
from packwise.frontends.grove.epoch_sources import EpochSources, MapEntry
from packwise.frontends.grove.podcliqueset import PodCliqueSet, resolve_topology
from packwise.objects.index import Index, Inventory
from packwise.revisions.grove import ALPHA_12
from packwise.schedulers.grove import podgang_value
from packwise.settings.topologyrender import TopologyRender
from tests.frontends.grove.test_goldens import BOOKKEEPING, CASES, context_of, defaulted, load
from tests.golden.cases import GOLDEN
from tests.tables import each

FIRST = 1000


def entries_of(
    pcs: PodCliqueSet, *items: KubeObject, baseline: tuple[KubeObject, ...] = (), workload: KubeObject | None = None
) -> tuple[tuple[MapEntry, ...], ...]:
    """Return the entries of each replica. `items` are objects in the input other than the workload."""
    inventory = Inventory(Index.of(items), Index.of(baseline))
    sources = EpochSources(inventory, TopologyRender(podgang_epoch=FIRST))
    return sources.entries(workload or KubeObject.new({"metadata": {"name": pcs.name}}), pcs).by_replica


def head_cases() -> list[Path]:
    """Return the head goldens with the PodGangs of one replica, without live objects that change them."""
    return [
        folder
        for folder in CASES
        if folder.parent.name == "head"
        and not (folder / "existing.yaml").exists()
        and (expected := load(folder, "expected.yaml")).get("podGangs")
        and expected["defaulted"]["spec"]["replicas"] == 1
    ]


def converted(expected: dict[str, Any], topology_name: str | None) -> list[dict[str, Any]]:
    """Return the PodGangs of a head golden as the operator with PodGangMaps makes them."""
    pcs: dict[str, Any] = expected["defaulted"]
    name, template = pcs["metadata"]["name"], pcs["spec"]["template"]
    base, *scaled = expected["podGangs"]
    root = base["spec"].get("topologyConstraint")
    configs = [each for each in base["spec"].pop("topologyConstraintGroupConfigs", []) if "topologyConstraint" in each]
    if configs:
        base["spec"]["topologyConstraintGroupConfigs"] = configs
    base["metadata"]["name"] = f"{name}-0-{FIRST}"
    listed: list[dict[str, Any]] = template.get("podCliqueScalingGroups") or []
    groups = {group["name"]: group for group in listed}
    for gang in scaled:
        spec, members = gang["spec"], [each["name"] for each in gang["spec"]["podgroups"]]
        group, index = group_of(gang["metadata"]["name"].removeprefix(f"{name}-0-"), groups)
        own = spec.pop("topologyConstraint", None) if groups[group].get("topologyConstraint") else None
        spec.pop("topologyConstraint", None)
        if root is not None:
            spec["topologyConstraint"] = root
        if own is not None:
            config = {"name": f"{name}-0-{group}-{index}", "podGroupNames": members, "topologyConstraint": own}
            spec["topologyConstraintGroupConfigs"] = [config]
        gang["metadata"]["name"] = f"{name}-0-{FIRST + 1}-{group}-{index}"
    for gang in expected["podGangs"]:
        metadata = gang["metadata"]
        is_base = gang is base
        metadata.pop("ownerReferences")
        metadata["labels"] |= {
            "grove.io/podcliqueset-replica-index": "0",
            "grove.io/epoch": str(FIRST if is_base else FIRST + 1),
            "grove.io/podgang-role": "Anchor" if is_base else "Tail",
        }
        notes = {k: v for k, v in metadata.pop("annotations", {}).items() if not k.startswith(BOOKKEEPING)}
        notes.pop(TOPOLOGY_NAME, None)
        if "packConstraint" in json.dumps(gang["spec"]) and topology_name is not None:
            notes[TOPOLOGY_NAME] = topology_name
        if notes:
            metadata["annotations"] = notes
    return expected["podGangs"]


def group_of(rest: str, groups: dict[str, Any]) -> tuple[str, int]:
    """Return the group and the absolute index of a scaled PodGang, from the part of its name after workload and
    replica.
    """
    group, _, number = rest.rpartition("-")
    return group, int(number) + groups[group]["minAvailable"]


@each(lambda: {folder.name: folder for folder in head_cases()})
def test_a_converted_golden_is_what_podgangmaps_make(folder: Path) -> None:
    expected = load(folder, "expected.yaml")
    config, bindings = (
        f"live{name}" if (folder / f"live{name}").exists() else other
        for name, other in ((".yaml", "config.yaml"), ("-topologies.yaml", "topologies.yaml"))
    )
    context = context_of(folder, config, bindings)
    pcs, item = PodCliqueSet.read(defaulted(folder)), KubeObject.new(defaulted(folder))
    resolved = resolve_topology(pcs, ALPHA_12)
    topology = context.topologies.get(resolved or "") if context.enabled else None
    plans = [
        plan
        for replica, entries in enumerate(entries_of(pcs, workload=item))
        for plan in plans_of_entries(pcs, replica, entries)
    ]
    scheduler = context.schedulers.default if context.schedulers is not None else ""

    gangs = build_gangs(
        item, pcs, topology, plans, enabled=context.enabled, revision=ALPHA_12, default_scheduler=scheduler
    )

    assert [podgang_value(gang) for gang in gangs] == converted(expected, resolved)


def test_enough_goldens_are_converted() -> None:
    assert len(head_cases()) >= 48


def pcs_of(cliques: dict[str, int], groups: dict[str, tuple[int, int]], replicas: int = 1) -> PodCliqueSet:
    """Return a PodCliqueSet of standalone cliques with these replicas, and groups with these replicas and
    minAvailable.
    """
    members: list[Any] = [
        {"name": name, "spec": {"replicas": count, "minAvailable": 1}} for name, count in cliques.items()
    ]
    members += [{"name": f"c-{name}", "spec": {"replicas": 1, "minAvailable": 1}} for name in groups]
    scaling = [
        {"name": name, "cliqueNames": [f"c-{name}"], "replicas": count, "minAvailable": least}
        for name, (count, least) in groups.items()
    ]
    template = {"cliques": members, "podCliqueScalingGroups": scaling}
    metadata = {"name": "pcs", "namespace": "default"}
    return PodCliqueSet.read({"metadata": metadata, "spec": {"replicas": replicas, "template": template}})


def live(kind: str, name: str, replicas: int) -> KubeObject:
    metadata = {"name": name, "namespace": "default"}
    value = {"apiVersion": "grove.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": {"replicas": replicas}}
    return KubeObject.new(value)


def gang(epoch: str, role: str, name: str | None = None, replica: int = 0, generation: str = "hash") -> KubeObject:
    labels = {
        "app.kubernetes.io/part-of": "pcs",
        "grove.io/podcliqueset-replica-index": str(replica),
        "grove.io/epoch": epoch,
        "grove.io/podgang-role": role,
        "grove.io/podcliqueset-generation-hash": generation,
    }
    metadata = {"name": name or f"pcs-{replica}-{epoch}", "namespace": "default", "labels": labels}
    return KubeObject.new({"apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang", "metadata": metadata})


def podgangmap(*entries: dict[str, Any], replica: int = 0) -> KubeObject:
    metadata = {"name": f"pcs-{replica}", "namespace": "default"}
    spec = {"podCliqueSetReplicaIndex": replica, "entries": list(entries)}
    return KubeObject.new({"apiVersion": "grove.io/v1alpha1", "kind": "PodGangMap", "metadata": metadata, "spec": spec})


def mapped(epoch: str, role: str, indices: list[int] | None = None, cliques: dict[str, int] | None = None) -> Any:
    entry: dict[str, Any] = {"epoch": epoch, "podCliqueSetGenerationHash": "hash", "role": role}
    if cliques:
        entry["podCliques"] = cliques
    return {**entry, "pcsgReplicaIndices": {"sg": indices}} if indices is not None else entry


def told(entries: tuple[MapEntry, ...]) -> list[Any]:
    """Return epoch, role, the pods of cliques, the replicas of the group `sg`, and the dependencies."""
    return [
        (entry.epoch, entry.role.value, dict(entry.cliques), list(entry.groups.get("sg", ())), list(entry.depends_on))
        for entry in entries
    ]


ANCHOR_01 = mapped("1000", "Anchor", [0, 1])
TAIL_23 = mapped("1001", "Tail", [2, 3])
GROUP_42 = pcs_of({}, {"sg": (4, 2)})

ENTRIES: dict[str, tuple[PodCliqueSet, tuple[KubeObject, ...], list[Any]]] = {
    "a clique alone is an anchor": (
        pcs_of({"clq-a": 3}, {}), (), [("1000", "Anchor", {"clq-a": 3}, [], [])],
    ),
    "a group that needs all of its replicas has no tail": (
        pcs_of({}, {"sg": (2, 2)}), (),
        [("1000", "Anchor", {}, [0, 1], []), ("1002", "ScaleOut", {}, [], ["1000"])],
    ),
    "what a group does not need is the tail": (
        pcs_of({"clq-a": 3}, {"sg": (4, 2)}), (),
        [
            ("1000", "Anchor", {"clq-a": 3}, [0, 1], []),
            ("1001", "Tail", {}, [2, 3], ["1000"]),
            ("1002", "ScaleOut", {}, [], ["1000"]),
        ],
    ),
    "a lost map has the epochs of the gangs that run": (
        GROUP_42, (gang("500", "Anchor"), gang("600", "Tail", "pcs-0-600-sg-2")),
        [
            ("500", "Anchor", {}, [0, 1], []),
            ("502", "ScaleOut", {}, [], ["500"]),
            ("600", "Tail", {}, [2, 3], ["500"]),
        ],
    ),
    "a tail that has no gang follows the anchor": (
        GROUP_42, (gang("500", "Anchor"),),
        [
            ("500", "Anchor", {}, [0, 1], []),
            ("501", "Tail", {}, [2, 3], ["500"]),
            ("502", "ScaleOut", {}, [], ["500"]),
        ],
    ),
    "without an anchor all epochs are new": (
        GROUP_42, (gang("600", "Tail", "pcs-0-600-sg-2"),),
        [
            ("1000", "Anchor", {}, [0, 1], []),
            ("1001", "Tail", {}, [2, 3], ["1000"]),
            ("1002", "ScaleOut", {}, [], ["1000"]),
        ],
    ),
    "a gang without an epoch tells none": (
        pcs_of({"clq-a": 3}, {}), (gang("", "Anchor", "pcs-0"),), [("1000", "Anchor", {"clq-a": 3}, [], [])],
    ),
    "replicas that the map does not place scale out": (
        GROUP_42, (podgangmap(ANCHOR_01), live("PodCliqueScalingGroup", "pcs-0-sg", 3)),
        [("1000", "Anchor", {}, [0, 1], []), ("1002", "ScaleOut", {}, [2], ["1000"])],
    ),
    "what scaled out leaves first": (
        GROUP_42,
        (podgangmap(ANCHOR_01, TAIL_23, mapped("1002", "ScaleOut", [4, 5])),
         live("PodCliqueScalingGroup", "pcs-0-sg", 4)),
        [
            ("1000", "Anchor", {}, [0, 1], []), ("1001", "Tail", {}, [2, 3], []), ("1002", "ScaleOut", {}, [], []),
        ],
    ),
    "then the tail": (
        GROUP_42, (podgangmap(ANCHOR_01, TAIL_23), live("PodCliqueScalingGroup", "pcs-0-sg", 3)),
        [("1000", "Anchor", {}, [0, 1], []), ("1001", "Tail", {}, [2], [])],
    ),
    "a tail that is gone is no entry": (
        GROUP_42, (podgangmap(ANCHOR_01, TAIL_23), live("PodCliqueScalingGroup", "pcs-0-sg", 1)),
        [("1000", "Anchor", {}, [0], [])],
    ),
    "an anchor has the pods of the live clique": (
        pcs_of({"clq-a": 3}, {}),
        (podgangmap(mapped("1000", "Anchor", cliques={"clq-a": 3})), live("PodClique", "pcs-0-clq-a", 5)),
        [("1000", "Anchor", {"clq-a": 5}, [], [])],
    ),
    "the template moves nothing that the map places": (
        pcs_of({}, {"sg": (9, 3)}), (podgangmap(ANCHOR_01, TAIL_23),),
        [("1000", "Anchor", {}, [0, 1], []), ("1001", "Tail", {}, [2, 3], [])],
    ),
    "a map without entries counts as lost": (
        pcs_of({"clq-a": 3}, {}), (podgangmap(),), [("1000", "Anchor", {"clq-a": 3}, [], [])],
    ),
    "a map of a replica that is gone is nobody's": (
        pcs_of({"clq-a": 3}, {}), (podgangmap(ANCHOR_01, replica=1),), [("1000", "Anchor", {"clq-a": 3}, [], [])],
    ),
    "epochs are ordered as numbers": (
        GROUP_42, (podgangmap(mapped("1000000000", "Tail", [2, 3]), mapped("999999999", "Anchor", [0, 1])),),
        [("999999999", "Anchor", {}, [0, 1], []), ("1000000000", "Tail", {}, [2, 3], [])],
    ),
}  # fmt: skip
"""A workload, the live objects in its cluster, and the entries of its first replica. Source:
spec/grove-releases.md#8.
"""


@pytest.mark.parametrize("case", ENTRIES)
def test_entries(case: str) -> None:
    pcs, items, expected = ENTRIES[case]

    assert told(entries_of(pcs, *items)[0]) == expected
    assert told(entries_of(pcs, baseline=items[:1])[0]) == told(entries_of(pcs, *items[:1])[0])


def test_further_anchors_have_the_pods_that_the_map_gives_them() -> None:
    pcs = pcs_of({"clq-a": 5, "clq-b": 5}, {})
    anchors = [mapped("1", "Anchor", cliques={"clq-a": 0, "clq-b": 4}), mapped("2", "Anchor", cliques={"clq-a": 1})]
    (entries,) = entries_of(pcs, podgangmap(*anchors))

    assert [(plan.name, dict(plan.cliques)) for plan in plans_of_entries(pcs, 0, entries)] == [
        ("pcs-0-1", {"clq-b": None}),
        ("pcs-0-2", {"clq-a": 1}),
    ]


def golden_maps() -> dict[str, Any]:
    """Return the goldens with PodGangMaps, by case."""
    lines = (GOLDEN / "alpha12.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return {record["case"]: record for record in records if "podGangMaps" in record["expected"]}


@each(golden_maps)
def test_entries_are_those_of_a_podgangmap_that_the_operator_writes(record: Any) -> None:
    pcs = PodCliqueSet.read(default(KubeObject.parse(record["files"]["input.yaml"]).value, ALPHA_12))
    (expected,) = record["expected"]["podGangMaps"]

    entries = [
        {
            "epoch": entry.epoch,
            "role": entry.role.value,
            **({"podCliques": dict(entry.cliques)} if entry.cliques else {}),
            **({"pcsgReplicaIndices": {k: list(v) for k, v in entry.groups.items()}} if entry.groups else {}),
            **({"dependsOn": list(entry.depends_on)} if entry.depends_on else {}),
        }
        for entry in entries_of(pcs)[0]
    ]

    wanted = [
        {key: part for key, part in entry.items() if key != "anchorIndex"} for entry in expected["spec"]["entries"]
    ]
    assert entries == wanted
