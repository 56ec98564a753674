"""Argo CD renders with the plugin. The tests follow the page, then change a repository, in this order."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e import argocd, sidecar
from tests.e2e.apiserver import ApiServer
from tests.e2e.argocd import ArgoCd
from tests.e2e.gitserver import GitServer
from tests.e2e.pages import commands_of, snippets_of
from tests.e2e.process import Servers, wait_for
from tests.e2e.story import EXAMPLE, SECOND, Source, available, edit, snapshot, start_cluster
from tests.e2e.tools import manifests_of
from tests.places import ROOT

pytestmark = pytest.mark.e2e

INSTALL, APPLY, APPLY_KUSTOMIZATION = commands_of("argocd.md")
INSTALLATION, _, FROM_BRANCH = snippets_of("argocd.md")


@pytest.fixture(scope="module")
def cluster(servers: Servers, crds: Path, tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    return start_cluster(servers, crds, tmp_path_factory.mktemp("argocd") / "cluster")


@pytest.fixture(scope="module")
def source(cluster: ApiServer, packwise: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[Source]:
    """Yield a repository with the sources and a copy of argocd-plugin/."""
    folder = tmp_path_factory.mktemp("git")
    server = GitServer(folder)
    clone = server.create("clusters.git", folder / "clone", str(packwise.parent))
    clone.environment["KUBECONFIG"] = str(cluster.kubeconfig)
    for name in ("argocd-plugin", "flux"):
        shutil.copytree(ROOT / name, clone.folder / name)
    for application in clone.folder.glob("argocd-plugin/*application.yaml"):
        edit(application, "https://git.example.com/platform/clusters.git", server.url("clusters.git"))
    yield Source(clone)
    server.stop()


@pytest.fixture(scope="module")
def tool(servers: Servers, cluster: ApiServer, source: Source, packwise: Path, kustomize: Path) -> Generator[ArgoCd]:
    """Yield Argo CD, installed as the page describes.

    Its processes run on this machine, because the cluster has no nodes.
    """
    installation = source.clone.folder
    install = next(line for line in INSTALLATION.splitlines() if line.endswith("/install.yaml"))
    shutil.copy(manifests_of("argocd") / "install.yaml", installation / "install.yaml")
    text = INSTALLATION.replace(install.removeprefix("- "), "install.yaml")
    (installation / "kustomization.yaml").write_text(text, encoding="utf-8")
    source.clone.run("bash", "-euc", INSTALL)
    # Sockets need short paths.
    with tempfile.TemporaryDirectory(prefix="packwise-argocd-") as short:
        folder = Path(short)
        programs, plugin = folder / "bin", folder / "plugin"
        programs.mkdir()
        plugin.mkdir()
        (programs / "packwise-argocd").symlink_to(ROOT / "argocd-plugin" / "generate.sh")
        shutil.copy(ROOT / "argocd-plugin" / "plugin.yaml", plugin)
        path = os.pathsep.join([str(programs), str(packwise.parent), str(kustomize.parent)])
        yield argocd.start(servers, cluster, folder, plugin, path)
        servers.stop()


def settle(tool: ArgoCd, revision: str) -> dict[str, Any]:
    tool.refresh("west")
    return tool.synced("west", revision)


def test_first_sync(tool: ArgoCd, cluster: ApiServer, source: Source) -> None:
    revision = source.create("argocd")
    source.clone.run("bash", "-euc", APPLY)

    tool.synced("west", revision)

    assert tool.operations("west") == 1
    assert cluster.names("clustertopologies.grove.io") == ["grove-topology"]
    assert cluster.names("topologies.kai.scheduler") == ["grove-topology"]
    assert cluster.names("podcliquesets.grove.io") == ["batch", "llm"]
    assert cluster.names("podgangs.scheduler.grove.io") == [
        "batch-0",
        "batch-1",
        "llm-0",
        "llm-0-decode-0",
        "llm-0-decode-1",
        "llm-0-prefill-0",
    ]


def test_health_is_read_from_the_operators_conditions(tool: ArgoCd, cluster: ApiServer) -> None:
    tool.health("west", "Progressing")
    available(cluster, "batch", "llm")

    tool.health("west", "Healthy")

    found = tool.health_of("west")
    assert {found[name] for name in found if name.startswith("PodGang/")} == {"Healthy"}
    assert found["ClusterTopology/grove-topology"] == found["Topology/grove-topology"] == "Healthy"
    assert found["PodCliqueSet/llm"] == "Healthy"


def test_second_comparison_finds_no_drift(tool: ArgoCd, cluster: ApiServer, source: Source) -> None:
    before = snapshot(cluster)

    settle(tool, source.clone.git("rev-parse", "HEAD"))

    assert (snapshot(cluster), tool.operations("west")) == (before, 1)


def test_what_the_operator_fills_in_is_no_drift(tool: ArgoCd, cluster: ApiServer, source: Source) -> None:
    pod = '{"namespace": "inference", "name": "a"}'
    pods = f'[{{"op": "replace", "path": "/spec/podgroups/0/podReferences", "value": [{pod}]}}]'
    cluster.kubectl("patch", "podgang", "batch-0", "-n", "inference", "--type=json", "-p", pods)
    before = snapshot(cluster)

    settle(tool, source.clone.git("rev-parse", "HEAD"))

    assert (snapshot(cluster), tool.operations("west")) == (before, 1)


def test_levels_change_and_the_topology_alone_is_recreated(tool: ArgoCd, cluster: ApiServer, source: Source) -> None:
    before = snapshot(cluster)

    settle(tool, source.change_levels())

    after = snapshot(cluster)
    assert {name for name in before if before[name][0] != after[name][0]} == {"Topology/grove-topology"}
    topology = cluster.get("topologies.kai.scheduler", "grove-topology")
    assert topology is not None
    assert "network.example.com/spine" in [level["nodeLabel"] for level in topology["spec"]["levels"]]


def test_levels_change_under_server_side_apply_too(tool: ArgoCd, cluster: ApiServer, source: Source) -> None:
    """Force alone fails here.

    Without `protocol`, a port would always be out of sync, because the CRD adds the field.
    """
    sync_options(cluster, "ApplyOutOfSyncOnly=true", "ServerSideApply=true")
    edit(
        source.folder / "inference.yaml", "containerPort: 8080\n", "containerPort: 8080\n              protocol: TCP\n"
    )
    settle(tool, source.clone.push("Ports have protocols"))
    before = snapshot(cluster)
    edit(source.folder / "topology.yaml", "key: network.example.com/spine", "key: network.example.com/fabric")

    settle(tool, source.clone.push("Blocks are fabrics"))

    after = snapshot(cluster)
    assert {name for name in before if before[name][0] != after[name][0]} == {"Topology/grove-topology"}
    sync_options(cluster, "ApplyOutOfSyncOnly=true")


def sync_options(cluster: ApiServer, *given: str) -> None:
    """Set the sync options of the Application."""
    patch = yaml.safe_dump({"spec": {"syncPolicy": {"syncOptions": list(given)}}})
    cluster.kubectl("patch", "application", "west", "-n", "argocd", "--type=merge", "-p", patch)


def test_a_workload_that_is_gone_takes_its_podgangs_along(tool: ArgoCd, cluster: ApiServer, source: Source) -> None:
    before = snapshot(cluster)

    settle(tool, source.remove_second())

    gone = {"PodCliqueSet/batch", "PodGang/batch-0", "PodGang/batch-1"}
    wait_for("pruning", lambda: not gone & snapshot(cluster).keys())
    after = snapshot(cluster)
    assert before.keys() - after.keys() == gone
    # The Topology was not created again either: a sync changes only objects that differ.
    assert {name: before[name] for name in after} == after


def test_an_error_in_the_source_is_reported_and_nothing_is_synced(
    tool: ArgoCd, cluster: ApiServer, source: Source
) -> None:
    before, synced = snapshot(cluster), tool.operations("west")
    source.break_workload()
    tool.refresh("west")

    message = tool.comparison_error("west")

    assert "packwise-argocd generate" in message
    assert "inference.yaml:" in message
    assert 'got "datacenter"' in message
    assert (snapshot(cluster), tool.operations("west")) == (before, synced)
    source.clone.git("revert", "--no-edit", "HEAD")
    settle(tool, source.clone.push_commits())
    assert snapshot(cluster) == before


def test_a_kustomization_with_its_configuration_in_a_parameter(
    tool: ArgoCd, cluster: ApiServer, source: Source
) -> None:
    east = source.clone.folder / "clusters/east"
    (east / "overlay").mkdir(parents=True)
    # These are the topologies of the west.
    only_gangs = "\nspec:\n  gitops: [argocd]\n  emit: [PodGang]\n"
    shutil.copy(EXAMPLE / "topology.yaml", east / "topology.yaml")
    edit(east / "topology.yaml", "\nspec:\n", only_gangs)
    (east / "overlay/batch.yaml").write_text(SECOND, encoding="utf-8")
    kustomization = {"resources": ["batch.yaml"], "namePrefix": "east-"}
    (east / "overlay/kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    revision = source.clone.push("The east")
    source.clone.run("bash", "-euc", APPLY_KUSTOMIZATION)

    tool.synced("east", revision)

    assert [name for name in cluster.names("podgangs.scheduler.grove.io") if "east" in name] == [
        "east-batch-0",
        "east-batch-1",
    ]


def test_without_the_plugin_argo_cds_own_kustomize_runs_packwise(
    tool: ArgoCd, cluster: ApiServer, source: Source
) -> None:
    folder = source.clone.folder
    text = (folder / "kustomization.yaml").read_text(encoding="utf-8")
    edit(folder / "kustomization.yaml", "- argocd-plugin\n", "- argocd-plugin/without-plugin\n")
    source.clone.run("kubectl", "apply", "--server-side", "--force-conflicts", "-k", ".")
    (folder / "kustomization.yaml").write_text(text, encoding="utf-8")
    north = folder / "clusters/north"
    shutil.copytree(ROOT / "kustomize-plugin/function", north / "function")
    edit(north / "function/topology.yaml", "\nspec:\n", "\nspec:\n  gitops: [argocd]\n  emit: [PodGang]\n")
    (north / "batch.yaml").write_text(SECOND, encoding="utf-8")
    kustomization = {"resources": ["batch.yaml"], "namePrefix": "north-", "transformers": ["function"]}
    (north / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    revision = source.clone.push("The north")
    application = yaml.safe_load((folder / "argocd-plugin/application.yaml").read_text(encoding="utf-8"))
    application["metadata"]["name"] = "north"
    application["spec"]["source"]["path"] = "clusters/north"
    del application["spec"]["source"]["plugin"]
    cluster.apply([application])

    tool.synced("north", revision)

    assert "north-batch-1" in cluster.names("podgangs.scheduler.grove.io")


def test_a_rendered_branch_needs_no_plugin(tool: ArgoCd, cluster: ApiServer, source: Source) -> None:
    """The application changes from the plugin to the branch that CI renders. No object changes."""
    before = snapshot(cluster)
    source.clone.run("flux/push-branch.sh", "clusters/west", "rendered/west")
    revision = source.clone.git("ls-remote", "origin", "refs/heads/rendered/west").split()[0]
    application = source.clone.folder / "argocd-plugin/application.yaml"
    value = yaml.safe_load(application.read_text(encoding="utf-8"))
    plugin = dict(value["spec"]["source"])
    del value["spec"]["source"]["plugin"]
    value["spec"]["source"] |= yaml.safe_load(FROM_BRANCH)["spec"]["source"]
    cluster.apply([value])

    tool.synced("west", revision)

    assert snapshot(cluster) == before
    words = ("patch", "application", "west", "-n", "argocd", "--type=json", "-p")
    cluster.kubectl(*words, yaml.safe_dump([{"op": "replace", "path": "/spec/source", "value": plugin}]))
    settle(tool, source.clone.git("rev-parse", "HEAD"))


@pytest.fixture(scope="module")
def in_image(servers: Servers, tool: ArgoCd) -> Generator[None]:
    """Run the plugin in its image, in this test and all later ones."""
    image = sidecar.image_of_plugin()
    servers.stop(argocd.PLUGIN_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        container = sidecar.Sidecar(image, tool.plugins, Path(folder))
        container.start(servers)
        yield
        container.stop()


@pytest.mark.usefixtures("in_image")
def test_the_image_of_the_sidecar_renders_what_the_program_rendered(
    tool: ArgoCd, cluster: ApiServer, source: Source, servers: Servers
) -> None:
    before, synced = snapshot(cluster), tool.operations("west")

    settle(tool, source.clone.git("rev-parse", "HEAD"))

    assert (snapshot(cluster), tool.operations("west")) == (before, synced)
    assert "packwise-argocd generate" in (servers.logs / f"{sidecar.LOG}.log").read_text(encoding="utf-8")


@pytest.mark.usefixtures("in_image")
def test_the_image_of_the_sidecar_syncs_a_change(tool: ArgoCd, cluster: ApiServer, source: Source) -> None:
    before = cluster.names("podgangs.scheduler.grove.io")
    (source.folder / "batch.yaml").write_text(SECOND, encoding="utf-8")

    settle(tool, source.clone.push("Batch is back"))

    after = cluster.names("podgangs.scheduler.grove.io")
    assert sorted({*after} - {*before}) == ["batch-0", "batch-1"]
    settle(tool, source.remove_second())


@pytest.mark.usefixtures("in_image")
def test_the_image_of_the_sidecar_renders_a_kustomization(tool: ArgoCd, cluster: ApiServer, source: Source) -> None:
    """The image contains kustomize."""
    kustomization = source.clone.folder / "clusters/east/overlay/kustomization.yaml"
    edit(kustomization, "namePrefix: east-", "namePrefix: orient-")
    revision = source.clone.push("The east is the orient")
    tool.refresh("east")

    tool.synced("east", revision)

    assert "orient-batch-1" in cluster.names("podgangs.scheduler.grove.io")


@pytest.mark.usefixtures("in_image")
def test_the_image_of_the_sidecar_reports_an_error(tool: ArgoCd, cluster: ApiServer, source: Source) -> None:
    before, synced = snapshot(cluster), tool.operations("west")
    source.break_workload()
    tool.refresh("west")

    message = tool.comparison_error("west")

    assert "packwise-argocd generate" in message
    assert "inference.yaml:" in message
    assert 'got "datacenter"' in message
    assert (snapshot(cluster), tool.operations("west")) == (before, synced)
    source.clone.git("revert", "--no-edit", "HEAD")
    settle(tool, source.clone.push_commits())


def test_a_clustertopology_in_use_outlives_its_configuration(tool: ArgoCd, cluster: ApiServer, source: Source) -> None:
    (source.folder / "inference.yaml").unlink()
    edit(source.folder / "topology.yaml", "enabled: true", "enabled: false")
    source.clone.push("No topologies any more")
    tool.refresh("west")

    wait_for("pruning", lambda: not cluster.names("topologies.kai.scheduler"))
    wait_for("pruning", lambda: "llm" not in cluster.names("podcliquesets.grove.io"))

    assert cluster.names("clustertopologies.grove.io") == ["grove-topology"]
