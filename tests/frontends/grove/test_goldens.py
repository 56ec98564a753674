"""The goldens of Grove and the pure functions of its front end: every aspect of every case."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from krmfn import KubeObject
from krmfn.fieldpath import format_path
from krmfn.yamltext import read, split_documents
from packwise.findings import Effect, Stage
from packwise.frontends.grove.admission import validate_create, validate_update
from packwise.frontends.grove.build_gangs import build_gangs, plans_of_template
from packwise.frontends.grove.default import default
from packwise.frontends.grove.frontend import workload_condition
from packwise.frontends.grove.podcliqueset import PodCliqueSet, check_shape, resolve_topology
from packwise.frontends.grove.rules.book import Context
from packwise.placement import Schedulers
from packwise.revisions.grove import GREP_244, UPSTREAM, Revision
from packwise.schedulers.grove import podgang_value
from packwise.topology.known import ClusterTopology, Level, sort_levels
from tests.golden.cases import GOLDEN
from tests.tables import each

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krmfn.value import Value

REVISIONS = {"alpha7": GREP_244, "head": UPSTREAM}
CASES = sorted(
    p.parent
    for name in REVISIONS
    for p in (GOLDEN / name).glob("*/errors.json")
    if (p.parent / "input.yaml").exists() or (p.parent / "new.yaml").exists()
)
BOOKKEEPING = ("argocd.argoproj.io/", "kubectl.kubernetes.io/")
"""Annotations that the operator copies to PodGangs, and packwise does not."""

RANDOM = ("unknown clique names found", "circular dependencies", "label")


def cases(wanted: Callable[[Path], bool] = lambda _: True) -> dict[str, Path]:
    """Return the `wanted` goldens by name."""
    return {f"{folder.parent.name}/{folder.name}": folder for folder in CASES if wanted(folder)}


def revision_of(folder: Path) -> Revision:
    return REVISIONS[folder.parent.name]


def load(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    return cast("dict[str, Any]", read(path.read_text())) or {} if path.exists() else {}


def levels_of(entries: list[dict[str, str]]) -> list[Level]:
    return [Level(entry["domain"], entry["key"]) for entry in entries]


def topologies_of(folder: Path, config: dict[str, Any], bindings: str) -> dict[str, ClusterTopology]:
    """Return the topologies of the configuration, or the bindings in the file of this name."""
    section: dict[str, Any] = config.get("topologyAwareScheduling") or {}
    if revision_of(folder) is GREP_244:
        levels = levels_of(section.get("levels") or [])
        return {"grove-topology": ClusterTopology("grove-topology", sort_levels(levels))} if levels else {}
    found: list[Any] = [read(document.text) for document in split_documents((folder / bindings).read_text())]
    return {
        each["metadata"]["name"]: ClusterTopology(each["metadata"]["name"], tuple(levels_of(each["spec"]["levels"])))
        for each in found
        if each
    }


def schedulers_of(config: dict[str, Any]) -> Schedulers:
    section: dict[str, Any] = config.get("scheduler") or {}
    profiles: list[dict[str, str]] = section.get("profiles") or []
    names = [profile["name"] for profile in profiles]
    return Schedulers((*names, "default-scheduler"), section.get("defaultProfileName", "default-scheduler"))


def context_of(folder: Path, config: str = "config.yaml", bindings: str = "topologies.yaml") -> Context:
    found, revision = load(folder, config), revision_of(folder)
    section: dict[str, Any] = found.get("topologyAwareScheduling") or {}
    return Context(
        enabled=bool(section.get("enabled")),
        domains=tuple(level.domain for level in levels_of(section.get("levels") or [])),
        topologies=topologies_of(folder, found, bindings),
        auto_mnnvl=found["network"]["autoMNNVLEnabled"],
        revision=revision,
        schedulers=schedulers_of(found) if revision.scheduler_backends else None,
    )


def defaulted(folder: Path) -> Mapping[str, Value]:
    create = (folder / "input.yaml").exists()
    mnnvl = load(folder, "config.yaml")["network"]["autoMNNVLEnabled"]
    value = load(folder, "input.yaml" if create else "new.yaml")
    return default(value, revision_of(folder), auto_mnnvl=mnnvl, create=create)


def messages(folder: Path) -> list[str]:
    context = context_of(folder)
    view = PodCliqueSet.read(defaulted(folder))
    if (folder / "input.yaml").exists():
        problems = validate_create(view, context)
    else:
        old = PodCliqueSet.read(default(load(folder, "old.yaml"), revision_of(folder), create=False))
        problems = validate_update(old, view, context)
    return [problem.operator_message for _, problem in problems if problem.operator_message]


def live_replicas(folder: Path, namespace: str) -> dict[tuple[str, str], int]:
    live: dict[str, int] = load(folder, "existing.yaml").get("podCliqueScalingGroups") or {}
    return {(namespace, name): replicas for name, replicas in live.items()}


def canonical(text: str) -> str:
    return " ".join(sorted(re.findall(r"[^\s,\[\]\"]+", text)))


def errors(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "errors.json").read_text())


def without_whole_spec(text: str) -> str:
    """Return an error without a quoted whole spec, which the operator prints. Field and detail still count."""
    return re.sub(r"^spec: Invalid value: \{.*\}: ", "spec: Invalid value: {…}: ", text, flags=re.DOTALL)


@each(lambda: cases(lambda folder: errors(folder)["rejectedBy"] not in ("decode", "panic")))
def test_webhook_messages_and_their_order(folder: Path) -> None:
    want, have = [without_whole_spec(error["message"]) for error in errors(folder)["webhookErrors"]], messages(folder)
    if any(mark in text for text in want for mark in RANDOM):
        want, have = sorted(map(canonical, want)), sorted(map(canonical, have))
    assert have == want


@each(cases)
def test_schema_and_decode_messages(folder: Path) -> None:
    expected = errors(folder)
    new = (folder / "input.yaml").exists()
    problems = check_shape(load(folder, "input.yaml" if new else "new.yaml"), revision_of(folder), new=new)
    decode = [p.operator_message for p in problems if p.stage is Stage.DECODE and p.operator_message]
    assert decode[:1] == ([expected["decodeError"]] if expected.get("decodeError") else [])
    schema = [p.operator_message for p in problems if p.stage is Stage.SCHEMA]
    if not decode:
        # The rules of a CRD are evaluated before or after its parts, in either order.
        assert sorted(filter(None, schema)) == sorted(error["message"] for error in expected["crdErrors"])
    assert sorted(format_path(p.path) for p in problems if p.effect is Effect.UNKNOWN) == sorted(
        expected.get("unknownFields") or []
    )


@each(lambda: cases(lambda folder: "defaulted" in load(folder, "expected.yaml")))
def test_defaulted(folder: Path) -> None:
    want = load(folder, "expected.yaml")["defaulted"]
    have = {key: value for key, value in defaulted(folder).items() if key != "status"}
    for metadata in (want["metadata"], cast("dict[str, Any]", have["metadata"])):
        metadata.pop("creationTimestamp", None)
    for group in want["spec"]["template"].get("podCliqueScalingGroups", []):
        # Go writes null for an absent list, and the schema treats it as absent.
        assert group["cliqueNames"] is not None or group.pop("cliqueNames") is None
    assert have == want


@each(lambda: cases(lambda folder: load(folder, "expected.yaml").get("podGangs") is not None))
def test_podgangs_and_conditions(folder: Path) -> None:
    expected = load(folder, "expected.yaml")
    config, bindings = (
        f"live{name}" if (folder / f"live{name}").exists() else other
        for name, other in ((".yaml", "config.yaml"), ("-topologies.yaml", "topologies.yaml"))
    )
    context, revision = context_of(folder, config, bindings), revision_of(folder)
    enabled = context.enabled
    view = PodCliqueSet.read(defaulted(folder))
    counts = live_replicas(folder, view.namespace)
    topology = context.topologies.get(resolve_topology(view, revision) or "") if enabled else None
    scheduler = context.schedulers.default if context.schedulers is not None else ""
    item = KubeObject.new(defaulted(folder))
    plans = plans_of_template(view, counts)
    gangs = build_gangs(item, view, topology, plans, enabled=enabled, revision=revision, default_scheduler=scheduler)
    for gang in expected["podGangs"]:
        gang["metadata"].pop("ownerReferences")
        for key in [key for key in gang["metadata"].get("annotations", ()) if key.startswith(BOOKKEEPING)]:
            del gang["metadata"]["annotations"][key]
    assert [podgang_value(gang) for gang in gangs] == expected["podGangs"]

    condition = workload_condition(view, topology, enabled=enabled, revision=revision)
    have = [(condition.type, condition.status, condition.reason, canonical(condition.message))] if condition else []
    conditions: list[dict[str, str]] = expected.get("conditions") or []
    assert have == [(c["type"], c["status"], c["reason"], canonical(c["message"])) for c in conditions]
