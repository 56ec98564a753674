"""Defaults of admission that differ between releases. The goldens cover the other defaults."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from krmfn.fieldpath import parse_path
from krmfn.yamltext import read
from packwise.frontends.grove.default import default
from packwise.revisions.grove import REVISIONS
from tests.golden.cases import GOLDEN

from .cases import edited

if TYPE_CHECKING:
    from krmfn.value import Value

T = "spec.template."
CLIQUE = T + "cliques[0]."
MEMBER = T + "cliques[1]."
GROUP = T + "podCliqueScalingGroups[0]."
ABSENT = "absent"


def value_at(value: Any, path: str) -> Any:
    part = value
    for step in parse_path(path):
        if isinstance(part, dict) and step not in part:
            return ABSENT
        part = cast("Any", part[step])
    return part


DEFAULTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("v0.1.0-alpha.13", {CLIQUE + "spec.replicas": 3},
     {CLIQUE + "spec.minAvailable": 3, "spec.updateStrategy": ABSENT, CLIQUE + "rollingUpdate": ABSENT}),
    ("v0.1.0-alpha.13", {CLIQUE + "spec.replicas": None, CLIQUE + "spec.autoScalingConfig": {"maxReplicas": 4}},
     {CLIQUE + "spec.replicas": 1, CLIQUE + "spec.minAvailable": 0, CLIQUE + "spec.autoScalingConfig.minReplicas": 0}),
    ("v0.1.0-alpha.13", {CLIQUE + "rollingUpdate": {"maxUnavailable": 1}}, {CLIQUE + "rollingUpdate": ABSENT}),
    ("v0.1.0-alpha.14", {CLIQUE + "spec.replicas": 3}, {
        CLIQUE + "spec.minAvailable": 1,
        "spec.updateStrategy": {"type": "RollingRecreate"},
        CLIQUE + "rollingUpdate": {"maxUnavailable": 1},
        GROUP + "rollingUpdate": {"maxUnavailable": 1},
        MEMBER + "rollingUpdate": ABSENT,
    }),
    ("v0.1.0-alpha.14", {CLIQUE + "spec.replicas": None, CLIQUE + "spec.autoScalingConfig": {"maxReplicas": 4}},
     {CLIQUE + "spec.replicas": 1, CLIQUE + "spec.minAvailable": 1, CLIQUE + "spec.autoScalingConfig.minReplicas": 1}),
    ("v0.1.0-alpha.14", {"spec.updateStrategy": {}}, {"spec.updateStrategy": {"type": "RollingRecreate"}}),
    ("v0.1.0-alpha.14", {
        "spec.updateStrategy.type": "Coherent", CLIQUE + "spec.minAvailable": 2, GROUP + "minAvailable": 2,
    }, {CLIQUE + "rollingUpdate": {"maxUnavailable": 2}, GROUP + "rollingUpdate": {"maxUnavailable": 2}}),
    ("v0.1.0-alpha.14", {
        "spec.updateStrategy.type": "OnDelete", CLIQUE + "rollingUpdate": {"maxUnavailable": 7},
    }, {CLIQUE + "rollingUpdate": {"maxUnavailable": 7}, GROUP + "rollingUpdate": ABSENT}),
    ("v0.1.0-alpha.14", {CLIQUE + "rollingUpdate": {"progressDeadline": "90s", "maxSurge": 1}},
     {CLIQUE + "rollingUpdate": {"maxUnavailable": 1, "progressDeadline": "1m30s"}}),
    ("v0.1.0-alpha.14-rc1", {CLIQUE + "spec.replicas": 3},
     {CLIQUE + "spec.minAvailable": 3, "spec.updateStrategy": ABSENT, GROUP + "rollingUpdate": ABSENT}),
]  # fmt: skip


@pytest.mark.parametrize(("release", "edits", "expected"), DEFAULTS)
def test_defaults(release: str, edits: dict[str, Any], expected: dict[str, Any]) -> None:
    defaulted = default(edited(edits), REVISIONS[release])
    assert {path: value_at(defaulted, path) for path in expected} == expected


@pytest.mark.parametrize("release", ["alpha12", "alpha14"])
def test_goldens_of_releases(release: str) -> None:
    path = GOLDEN / f"{release}.jsonl"
    records: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for record in records:
        if "defaulted" in record["expected"]:
            written = cast("dict[str, Value]", read(record["files"]["input.yaml"]))
            have = default(written, REVISIONS[f"v0.1.0-alpha.{release.removeprefix('alpha')}"])
            assert have == record["expected"]["defaulted"], record["case"]
