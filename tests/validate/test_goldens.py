"""The API server's errors about the objects of the goldens, by upstream's own CRDs, word for word."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from krmfn.kubeobject import KubeObject
from krmfn.yamltext import read
from packwise.validate.definition import Definition, read_definition
from tests.golden.cases import GOLDEN
from tests.places import CRDS, NO_CRDS
from tests.tables import each

CASES = sorted(path.parent for path in GOLDEN.glob("*/*/errors.json") if path.parts[-3] != "osmo")

pytestmark = pytest.mark.skipif(not CRDS.is_dir(), reason=NO_CRDS)

KAI = CRDS / "kai-v0.12.0"


@cache
def definition(file: Path) -> Definition:
    return read_definition(KubeObject.parse(file.read_text(encoding="utf-8"), file=str(file)))


def load(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    found: Any = read(path.read_text(encoding="utf-8")) if path.exists() else None
    return found or {}


def errors_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "errors.json").read_text(encoding="utf-8"))


def without_nulls(value: dict[str, Any], api_version: str, kind: str) -> dict[str, Any]:
    """Return an object as the API server gets it: with its type, and without the nulls that the harness prints."""
    metadata = {key: entry for key, entry in value.get("metadata", {}).items() if entry is not None}
    found = {"apiVersion": api_version, "kind": kind, **value, "metadata": metadata}
    found.pop("status", None)
    return found


def said(file: Path, value: dict[str, Any]) -> list[str]:
    """Return the API server's texts, sorted because the order of its maps is random. Other tests cover metadata."""
    found = definition(file).problems(value)
    return sorted(p.operator_message or p.message for p in found if p.path[:1] != ("metadata",))


def expected(errors: list[dict[str, Any]]) -> list[str]:
    # From Kubernetes 1.35 on, errors of rules do not quote lists and mappings.
    return sorted(
        error["message"].replace("Invalid value: ", f'Invalid value: "{kind_of(error)}": ', 1)
        if error.get("badValue") == {}
        else error["message"]
        for error in errors
    )


def is_created(folder: Path) -> bool:
    """Return True if the case creates a new workload."""
    return (folder / "input.yaml").exists() and errors_of(folder)["rejectedBy"] != "decode"


def cases(wanted: Callable[[Path], bool] = lambda _: True) -> dict[str, Path]:
    """Return the `wanted` goldens by name."""
    return {f"{folder.parent.name}/{folder.name}": folder for folder in CASES if wanted(folder)}


def kind_of(error: dict[str, Any]) -> str:
    return "array" if error["field"].endswith("levels") else "object"


@each(lambda: cases(is_created))
def test_a_workload(folder: Path) -> None:
    defaulted = load(folder, "expected.yaml")["defaulted"]
    file = CRDS / folder.parent.name / "grove.io_podcliquesets.yaml"

    found = said(file, without_nulls(defaulted, "grove.io/v1alpha1", "PodCliqueSet"))

    assert found == expected(errors_of(folder).get("crdErrors") or [])


MADE = [
    ("clusterTopologies", "ClusterTopology", "grove.io/v1alpha1", CRDS / "alpha7" / "grove.io_clustertopologies.yaml"),
    ("kaiTopologies", "Topology", "kai.scheduler/v1alpha1", KAI / "kai.scheduler_topologies.yaml"),
]


@each(cases)
def test_the_topologies_that_the_operator_made(folder: Path) -> None:
    made = load(folder, "expected.yaml")
    for key, kind, api_version, file in MADE:
        values: list[dict[str, Any]] = made.get(key) or []
        errors: list[dict[str, Any]] = made.get(f"{key.removesuffix('ies')}yCRDErrors") or []
        found = [text for value in values for text in said(file, without_nulls(value, api_version, kind))]
        assert sorted(found) == expected(errors)


@each(cases)
def test_the_podgangs_that_the_operator_made(folder: Path) -> None:
    file = CRDS / folder.parent.name / "scheduler.grove.io_podgangs.yaml"
    gangs: list[dict[str, Any]] = load(folder, "expected.yaml").get("podGangs") or []

    assert [said(file, without_nulls(gang, "scheduler.grove.io/v1alpha1", "PodGang")) for gang in gangs] == [[]] * len(
        gangs
    )
