"""PodGangs from PodGangMaps: the goldens of the commit before them, converted by grove-releases.md 3.3; the entries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from krmfn import KubeObject
from packwise.frontends.grove.build_gangs import TOPOLOGY_NAME, build_gangs
from packwise.frontends.grove.epoch_sources import EpochSources
from packwise.frontends.grove.gang_plans import plans_of_entries
from packwise.frontends.grove.podcliqueset import PodCliqueSet
from packwise.frontends.grove.podgangmap import Entry
from packwise.frontends.grove.resolution import resolve_topology
from packwise.objects.index import Index
from packwise.objects.inventory import Inventory
from packwise.revisions import ALPHA_12
from packwise.schedulers.grove.podgang import podgang_value
from packwise.settings import TopologyRender
from tests.frontends.grove.test_goldens import BOOKKEEPING, CASES, cases, context_of, defaulted, load
from tests.places import SHARED, missing

FIRST = 1000


def entries_of(
    pcs: PodCliqueSet, *items: KubeObject, baseline: tuple[KubeObject, ...] = (), workload: KubeObject | None = None
) -> tuple[tuple[Entry, ...], ...]:
    """The entries of each replica, where `items` are in the input beside the workload."""
    inventory = Inventory(Index.of(items), Index.of(baseline))
    sources = EpochSources(inventory, TopologyRender(podgang_epoch=FIRST))
    return sources.entries(workload or KubeObject.new({"metadata": {"name": pcs.name}}), pcs).by_replica


def head_cases() -> list[Path]:
    """The head goldens with the PodGangs of one replica that no live object moves."""
    return [
        folder
        for folder in CASES
        if folder.parent.name == "head"
        and not (folder / "existing.yaml").exists()
        and (expected := load(folder, "expected.yaml")).get("podGangs")
        and expected["defaulted"]["spec"]["replicas"] == 1
    ]


def converted(expected: dict[str, Any], topology_name: str | None) -> list[dict[str, Any]]:
    """The PodGangs of a head golden as the operator with PodGangMaps makes them."""
    pcs: dict[str, Any] = expected["defaulted"]
    name, template = pcs["metadata"]["name"], pcs["spec"]["template"]
    base, *scaled = expected["podGangs"]
    root = base["spec"].get("topologyConstraint")
    configs = [each for each in base["spec"].pop("topologyConstraintGroupConfigs", []) if "topologyConstraint" in each]
    if configs:
        base["spec"]["topologyConstraintGroupConfigs"] = configs
    base["metadata"]["name"] = f"{name}-0-{FIRST}"
    groups: dict[str, Any] = {group["name"]: group for group in template.get("podCliqueScalingGroups") or []}
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
    """Group and absolute index of a scaled PodGang, by what its name has after the workload and the replica."""
    group, _, number = rest.rpartition("-")
    return group, int(number) + groups[group]["minAvailable"]


@cases(head_cases())
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
    if not CASES:
        missing(f"the goldens are not there: they must stand at {SHARED}")
    assert len(head_cases()) >= 93
