"""kustomize v5.8.2 runs packwise: the files under kustomize-plugin/ as users copy them, and mistakes of users."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.running import Ran, run
from tests.places import ROOT

pytestmark = pytest.mark.client

FLAGS = ("--enable-alpha-plugins", "--enable-exec")
Expect = Callable[[str, str], None]
Build = Callable[..., Ran]


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """Return a copy of kustomize-plugin/ that a test may edit."""
    return Path(shutil.copytree(ROOT / "kustomize-plugin", tmp_path / "plugin"))


@pytest.fixture
def build(kustomize: Path, packwise: Path) -> Build:
    def one(folder: Path, *flags: str, cwd: Path | None = None) -> Ran:
        return run([kustomize, "build", *(flags or FLAGS), folder], cwd=cwd or folder, packwise=packwise)

    return one


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} does not contain {old!r}: the test edits nothing"
    path.write_text(text.replace(old, new), encoding="utf-8")


def kinds(manifests: str) -> list[str]:
    return [line.removeprefix("kind: ") for line in manifests.splitlines() if line.startswith("kind: ")]


@pytest.mark.parametrize(("folder", "expected"), [(".", "base"), ("overlays/team-a", "team-a")])
def test_transformer_renders_the_workloads(
    plugin: Path, build: Build, assert_expected: Expect, folder: str, expected: str
) -> None:
    built = build(plugin / folder)

    assert (built.code, built.stderr) == (0, "")
    assert_expected(f"clients/kustomize/{expected}.yaml", built.stdout)


def test_overlay_names_reach_every_derived_object(plugin: Path, build: Build) -> None:
    built = build(plugin / "overlays/team-a")

    gangs = [document for document in built.stdout.split("\n---\n") if "\nkind: PodGang\n" in document]
    assert gangs
    for gang in gangs:
        assert "\n  namespace: team-a\n" in gang
        assert "\n  name: team-a-" in gang
        assert all("name: team-a-" in line for line in gang.splitlines() if line.strip().startswith(("- name:",)))


def test_cluster_scoped_objects_get_no_namespace(plugin: Path, build: Build) -> None:
    built = build(plugin / "overlays/team-a")

    scoped = [d for d in built.stdout.split("\n---\n") if "\nkind: Topology\n" in d or "\nkind: ClusterTopology\n" in d]
    assert len(scoped) == 2
    assert not any("\n  namespace:" in document for document in scoped)


def test_build_is_the_same_from_any_folder(plugin: Path, build: Build, tmp_path: Path) -> None:
    assert build(plugin).stdout == build(plugin, cwd=tmp_path).stdout


def test_rendering_the_build_again_changes_nothing(plugin: Path, build: Build) -> None:
    first = build(plugin)
    again = plugin / "again"
    again.mkdir()
    (again / "rendered.yaml").write_text(first.stdout, encoding="utf-8")
    (again / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        "resources: [rendered.yaml]\ntransformers: [../function]\n",
        encoding="utf-8",
    )

    assert build(again) == first


def test_strings_that_look_otherwise_stay_strings(plugin: Path, build: Build) -> None:
    built = build(plugin)

    assert 'SCHEDULE: "1:30"\n' in built.stdout
    assert 'VERBOSE: "no"\n' in built.stdout


def test_function_configuration_is_not_part_of_the_build(plugin: Path, build: Build) -> None:
    assert "TopologyRender" not in kinds(build(plugin).stdout)


def test_refused_workload_fails_the_build_and_says_why(plugin: Path, build: Build, assert_expected: Expect) -> None:
    edit(plugin / "workloads/training.yaml", "packDomain: rack", "packDomain: block")

    built = build(plugin)

    assert (built.code, built.stdout) == (1, "")
    assert_expected("clients/kustomize/unknown-domain.stderr", built.stderr)


def test_unknown_field_in_the_configuration_names_the_nearest(
    plugin: Path, build: Build, assert_expected: Expect
) -> None:
    edit(plugin / "function/topology.yaml", "  scheduler:\n", "  schedular:\n")

    built = build(plugin)

    assert (built.code, built.stdout) == (1, "")
    assert_expected("clients/kustomize/unknown-field.stderr", built.stderr)


def test_validator_accepts_without_changing_anything(plugin: Path, build: Build) -> None:
    validated = build(plugin / "validate")
    alone = build(plugin / "workloads")

    assert (validated.code, validated.stderr) == (0, "")
    assert validated.stdout == alone.stdout


def test_validator_refuses_what_the_operator_would(plugin: Path, build: Build, assert_expected: Expect) -> None:
    edit(plugin / "workloads/serving.yaml", "packDomain: zone", "packDomain: host")

    built = build(plugin / "validate")

    assert (built.code, built.stdout) == (1, "")
    assert_expected("clients/kustomize/validator-hierarchy.stderr", built.stderr)


def test_generator_renders_the_topology_and_says_that_it_sees_no_workloads(
    plugin: Path, build: Build, assert_expected: Expect
) -> None:
    edit(plugin / "kustomization.yaml", "transformers:", "generators:")

    built = build(plugin)

    assert built.code == 0
    assert "PodGang" not in kinds(built.stdout)
    assert_expected("clients/kustomize/generator.yaml", built.stdout)
    assert_expected("clients/kustomize/generator.stderr", built.stderr)


@pytest.mark.parametrize("folder", [".", "overlays/team-a"])
def test_relative_path_stands_against_the_kustomization_with_the_transformers(
    plugin: Path, build: Build, packwise: Path, folder: str
) -> None:
    """The path is relative neither to the folder of the configuration, nor to the folder in which kustomize was
    started.
    """
    edit(plugin / "function/topology.yaml", "path: packwise", "path: ./bin/packwise")
    assert "fork/exec ./bin/packwise: no such file" in build(plugin / folder).stderr
    (plugin / folder / "bin").mkdir()
    (plugin / folder / "bin/packwise").symlink_to(packwise)

    assert build(plugin / folder, cwd=plugin.parent).code == 0


def test_container_configuration_differs_in_its_annotation_only(plugin: Path) -> None:
    """The test needs no container engine.

    Except for the way to start packwise, this configuration is the one tested above.
    """

    def spec(folder: str) -> str:
        return (plugin / folder / "topology.yaml").read_text(encoding="utf-8").split("\nspec:\n")[1]

    assert spec("function-container") == spec("function")


OSMO = """\
configMapGenerator:
- name: pools
  files: [pools.yaml]
  options:
    disableNameSuffixHash: true
    labels: {packwise.dev/osmo: pool}
    annotations: {config.kubernetes.io/local-config: "true"}
- name: training
  files: [same-zone.yaml]
  options:
    disableNameSuffixHash: true
    labels: {packwise.dev/osmo: workflow}
    annotations: {config.kubernetes.io/local-config: "true"}
transformers: [function]
"""


@pytest.fixture
def osmo(plugin: Path) -> Path:
    """Return OSMO's own files as ConfigMaps, made as docs/how-to/osmo.md describes."""
    for name in ("pools.yaml", "same-zone.yaml"):
        shutil.copy(ROOT / "examples" / "osmo-training" / name, plugin / name)
    (plugin / "kustomization.yaml").write_text(OSMO, encoding="utf-8")
    return plugin


def test_osmos_documents_travel_as_configmaps_that_nobody_applies(osmo: Path, build: Build) -> None:
    built = build(osmo)

    assert (built.code, built.stderr) == (0, "")
    found = kinds(built.stdout)
    counted = {kind: found.count(kind) for kind in sorted(set(found))}
    assert counted == {"ClusterTopology": 1, "Pod": 8, "PodGroup": 1, "Topology": 3}


def test_what_osmo_would_refuse_fails_the_build(osmo: Path, build: Build) -> None:
    edit(osmo / "same-zone.yaml", "model2-shard2, resource: model-2", "model2-shard2, resource: model-3")

    built = build(osmo)

    assert (built.code, built.stdout) == (1, "")
    assert (
        "data[same-zone.yaml]: workflow.groups[0].tasks[5].resource must be a resource of the workflow" in built.stderr
    )
