"""The API servers' schemas accept everything that packwise writes: types, unknown fields, patterns and CEL rules."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.golden import compare
from tests.golden.cases import GOLDEN
from tests.places import ROOT

pytestmark = pytest.mark.client

KAI_VERSIONS = ("kai-v0.12.0", "kai-v0.17.0")
"""The oldest and the newest KAI that must accept the output."""

COUNTING = ("kai-v0.15.0", "kai-v0.17.0")
"""The versions of KAI with the field minSubGroup, which the PodGroups of revision `upstream` have."""

NO_MANIFESTS = ("TopologyRender", "Kptfile")
"""Kinds that tools read. They are never sent to an API server."""


def refusals(validator: Path, manifests: Path, *crds: Path) -> str:
    """Return the API server's errors about the manifests in a folder, or "" if it accepts all of them."""
    folders = [word for folder in crds for word in ("--local-crds", str(folder))]
    done = subprocess.run(
        [str(validator), str(manifests), *folders], capture_output=True, text=True, timeout=300, check=False
    )
    checked = done.stdout.count("...")
    expected = sum(1 for _ in manifests.iterdir())
    assert checked == expected, f"{checked} of {expected} files were checked: {done.stderr}"
    failed = re.findall(r"(\S+?)(?:\x1b\[0m)?\.\.\.(?:\x1b\[31m)?ERROR", done.stdout)
    return "" if done.returncode == 0 else f"{failed}\n{done.stderr}"


def emitted_for_goldens(packwise: compare.Packwise, revision: str) -> dict[str, list[dict[str, Any]]]:
    """Return the generated objects of each golden that packwise accepts, by case."""

    def objects(record: Any) -> list[dict[str, Any]]:
        _, settled = compare.answers(packwise, record)
        kinds = ("ClusterTopology", "Topology", "PodGang", "PodGroup") if settled.accepted else ()
        return [made for kind in kinds for made in settled.made(kind)]

    found = {r.case: objects(r) for r in compare.records(GOLDEN / revision) if r.kind != "update"}
    return {case: made for case, made in found.items() if made}


def write(folder: Path, name: str, objects: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text("---\n".join([f"{json.dumps(one)}\n" for one in objects]), encoding="utf-8")


def crd_folders(crds: Path, kai: str, revision: str = "alpha7") -> tuple[Path, Path]:
    return crds / revision, crds / kai


@pytest.mark.parametrize(("revision", "kais"), [("alpha7", KAI_VERSIONS), ("head", COUNTING)])
def test_objects_made_for_the_goldens(
    here: compare.Packwise, crds: Path, kubectl_validate: Path, tmp_path: Path, revision: str, kais: tuple[str, ...]
) -> None:
    made = emitted_for_goldens(here, revision)
    assert len(made) > 50, "too few goldens were rendered to show anything"
    kinds = {one["kind"] for objects in made.values() for one in objects}
    assert ("PodGroup" in kinds) == (revision == "head")
    for case, objects in made.items():
        write(tmp_path / "made", case, objects)

    for kai in kais:
        assert refusals(kubectl_validate, tmp_path / "made", *crd_folders(crds, kai, revision)) == "", kai


@pytest.mark.parametrize(
    ("version", "kais"),
    [("v0.12", ("kai-v0.12.0", "kai-2026-03", *COUNTING)), ("v0.15", COUNTING)],
)
def test_podgroups_of_the_examples_suit_their_kai(
    packwise: Path, crds: Path, kubectl_validate: Path, tmp_path: Path, version: str, kais: tuple[str, ...]
) -> None:
    for example in ("podgroups", "disaggregated-inference", "first-design", "several-topologies", "two-topologies"):
        source = tmp_path / example
        shutil.copytree(ROOT / "examples" / example, source)
        for file in source.glob("*.yaml"):
            text = file.read_text(encoding="utf-8")
            if "kind: TopologyRender" in text:
                settings = yaml.safe_load(text)
                settings["spec"] |= {"emit": ["PodGroup"], "kai": {"version": version}}
                file.write_text(yaml.safe_dump(settings), encoding="utf-8")
        done = subprocess.run(
            [str(packwise), "render", str(source)], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        documents = [d for d in yaml.safe_load_all(done.stdout) if d is not None and d["kind"] == "PodGroup"]
        assert documents, example
        write(tmp_path / "made", example, documents)

    for kai in kais:
        assert refusals(kubectl_validate, tmp_path / "made", crds / kai) == "", kai


@pytest.mark.parametrize("kai", KAI_VERSIONS)
@pytest.mark.parametrize("source", ["examples/disaggregated-inference", "kpt-package"])
def test_whole_render_of_the_examples(
    packwise: Path, crds: Path, kubectl_validate: Path, tmp_path: Path, source: str, kai: str
) -> None:
    rendered = subprocess.run(
        [str(packwise), "render", source], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert rendered.returncode == 0, rendered.stderr
    documents = [d for d in yaml.safe_load_all(rendered.stdout) if d is not None and d["kind"] not in NO_MANIFESTS]
    assert {"ClusterTopology", "Topology", "PodGang", "PodCliqueSet"} <= {d["kind"] for d in documents}
    write(tmp_path / "made", "rendered", documents)

    assert refusals(kubectl_validate, tmp_path / "made", *crd_folders(crds, kai)) == ""


@pytest.mark.parametrize(
    ("manifest", "refusal"),
    [
        (
            {
                "apiVersion": "grove.io/v1alpha1",
                "kind": "ClusterTopology",
                "metadata": {"name": "twice"},
                "spec": {"levels": [{"domain": "rack", "key": "a"}, {"domain": "rack", "key": "b"}]},
            },
            "domain must be unique across all levels",
        ),
        (
            {
                "apiVersion": "kai.scheduler/v1alpha1",
                "kind": "Topology",
                "metadata": {"name": "host-first"},
                "spec": {"levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "example.com/numa"}]},
            },
            "can only be used at the lowest level",
        ),
        (
            {
                "apiVersion": "scheduler.grove.io/v1alpha1",
                "kind": "PodGang",
                "metadata": {"name": "gang", "namespace": "default"},
                "spec": {"podgroups": [], "color": "red"},
            },
            "spec.color",
        ),
    ],
    ids=["CEL", "CEL of KAI", "unknown field"],
)
def test_the_check_refuses_what_an_api_server_refuses(
    crds: Path, kubectl_validate: Path, tmp_path: Path, manifest: dict[str, Any], refusal: str
) -> None:
    write(tmp_path / "made", "wrong", [manifest])

    assert refusal in refusals(kubectl_validate, tmp_path / "made", *crd_folders(crds, "kai-v0.17.0"))


def test_expected_kustomize_builds(crds: Path, kubectl_validate: Path, tmp_path: Path) -> None:
    """tests/clients/test_kustomize.py compares the builds themselves with these files."""
    shutil.copytree(ROOT / "testdata" / "clients" / "kustomize", tmp_path / "builds")
    for other in (tmp_path / "builds").glob("*.stderr"):
        other.unlink()

    assert refusals(kubectl_validate, tmp_path / "builds", *crd_folders(crds, "kai-v0.17.0")) == ""
