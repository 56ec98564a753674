"""The goldens of Grove v0.1.0-alpha.7 against the front end's pure functions; every aspect of every case."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from krmfn.yamltext import read
from packwise.finding import Stage
from packwise.frontends.grove.condition import workload_condition
from packwise.frontends.grove.default import default
from packwise.frontends.grove.podcliqueset import PodCliqueSet
from packwise.frontends.grove.podgang import podgangs
from packwise.frontends.grove.rules import Context, validate_create, validate_update
from packwise.frontends.grove.schema import check_shape
from packwise.revisions import GREP_244
from packwise.topology import ClusterTopology, Level, sort_levels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.value import Value

ROOT = Path(__file__).parents[3].parent / "shared" / "golden" / "alpha7"
CASES = sorted(
    p.parent
    for p in ROOT.glob("*/errors.json")
    if (p.parent / "input.yaml").exists() or (p.parent / "new.yaml").exists()
)
RANDOM = ("unknown clique names found", "circular dependencies", "label")

pytestmark = pytest.mark.skipif(not CASES, reason=f"no goldens at {ROOT}")


def cases(folders: Iterable[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("folder", list(folders), ids=lambda folder: folder.name)


def load(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    return cast("dict[str, Any]", read(path.read_text())) or {} if path.exists() else {}


def topology_of(config: dict[str, Any]) -> tuple[bool, tuple[str, ...], ClusterTopology | None]:
    section: dict[str, Any] = config.get("topologyAwareScheduling") or {}
    entries: list[dict[str, str]] = section.get("levels") or []
    levels = [Level(entry["domain"], entry["key"]) for entry in entries]
    topology = ClusterTopology("grove-topology", sort_levels(levels)) if section.get("enabled") else None
    return bool(section.get("enabled")), tuple(level.domain for level in levels), topology


def context_of(config: dict[str, Any]) -> Context:
    enabled, domains, _ = topology_of(config)
    return Context(enabled, domains, auto_mnnvl=config["network"]["autoMNNVLEnabled"], revision=GREP_244)


def defaulted(folder: Path) -> Mapping[str, Value]:
    create = (folder / "input.yaml").exists()
    mnnvl = load(folder, "config.yaml")["network"]["autoMNNVLEnabled"]
    return default(load(folder, "input.yaml" if create else "new.yaml"), auto_mnnvl=mnnvl, create=create)


def messages(folder: Path) -> list[str]:
    context = context_of(load(folder, "config.yaml"))
    view = PodCliqueSet.read(defaulted(folder))
    if (folder / "input.yaml").exists():
        found = validate_create(view, context)
    else:
        old = PodCliqueSet.read(default(load(folder, "old.yaml"), create=False))
        found = validate_update(old, view, context)
    return [violation.operator_message for _, violation in found if violation.operator_message]


def live_replicas(folder: Path, namespace: str) -> dict[tuple[str, str], int]:
    live: dict[str, int] = load(folder, "existing.yaml").get("podCliqueScalingGroups") or {}
    return {(namespace, name): replicas for name, replicas in live.items()}


def canonical(text: str) -> str:
    return " ".join(sorted(re.findall(r"[^\s,\[\]\"]+", text)))


def errors(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "errors.json").read_text())


@cases(folder for folder in CASES if errors(folder)["rejectedBy"] != "decode")
def test_webhook_messages_and_their_order(folder: Path) -> None:
    want, have = [error["message"] for error in errors(folder)["webhookErrors"]], messages(folder)
    if any(mark in text for text in want for mark in RANDOM):
        want, have = sorted(map(canonical, want)), sorted(map(canonical, have))
    assert have == want


@cases(CASES)
def test_schema_and_decode_messages(folder: Path) -> None:
    expected = errors(folder)
    problems = check_shape(load(folder, "input.yaml" if (folder / "input.yaml").exists() else "new.yaml"))
    decode = [p.operator_message for p in problems if p.stage is Stage.DECODE and p.operator_message]
    assert decode[:1] == ([expected["decodeError"]] if expected.get("decodeError") else [])
    schema = [p.operator_message for p in problems if p.stage is Stage.SCHEMA]
    if not decode:
        assert schema == [error["message"] for error in expected["crdErrors"]]
    assert sorted(p.field for p in problems if p.is_unknown_field) == sorted(expected.get("unknownFields") or [])


@cases(folder for folder in CASES if "defaulted" in load(folder, "expected.yaml"))
def test_defaulted(folder: Path) -> None:
    want = load(folder, "expected.yaml")["defaulted"]
    have = {key: value for key, value in defaulted(folder).items() if key != "status"}
    for metadata in (want["metadata"], cast("dict[str, Any]", have["metadata"])):
        metadata.pop("creationTimestamp", None)
    assert have == want


@cases(folder for folder in CASES if load(folder, "expected.yaml").get("podGangs") is not None)
def test_podgangs_and_conditions(folder: Path) -> None:
    expected = load(folder, "expected.yaml")
    live = load(folder, "live.yaml") or load(folder, "config.yaml")
    enabled, _, topology = topology_of(live)
    view = PodCliqueSet.read(defaulted(folder))
    counts = live_replicas(folder, view.namespace)
    gangs = podgangs(view, topology, enabled=enabled, live_replicas=counts, revision=GREP_244)
    for gang in expected["podGangs"]:
        gang["metadata"].pop("ownerReferences")
    assert [gang.to_value() for gang in gangs] == expected["podGangs"]

    condition = workload_condition(view, topology, enabled=enabled, revision=GREP_244)
    have = [(condition.type, condition.status, condition.reason, canonical(condition.message))] if condition else []
    conditions: list[dict[str, str]] = expected.get("conditions") or []
    assert have == [(c["type"], c["status"], c["reason"], canonical(c["message"])) for c in conditions]
