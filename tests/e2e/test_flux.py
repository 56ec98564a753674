"""Flux applies the output of CI. The tests follow the page, then change a repository, in this order."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e import flux
from tests.e2e.apiserver import ApiServer
from tests.e2e.flux import Flux
from tests.e2e.gitserver import Clone, GitServer
from tests.e2e.pages import commands_of
from tests.e2e.process import Servers, wait_for
from tests.e2e.story import Source, available, edit, snapshot, start_cluster
from tests.e2e.tools import built
from tests.places import ROOT

pytestmark = pytest.mark.e2e

RENDER, FOLLOW_BRANCH, SHOW, PUSH_ARTIFACT, FOLLOW_ARTIFACT = commands_of("flux.md")
REGISTRY = "127.0.0.1:5000"


@pytest.fixture(scope="module")
def cluster(servers: Servers, crds: Path, tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    return start_cluster(servers, crds, tmp_path_factory.mktemp("flux") / "cluster")


@pytest.fixture(scope="module")
def controllers(servers: Servers, cluster: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Flux:
    return flux.start(servers, cluster, tmp_path_factory.mktemp("flux"))


@pytest.fixture(scope="module")
def source(cluster: ApiServer, packwise: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[Source]:
    """Yield a repository with the sources and a copy of flux/, as the page describes."""
    folder = tmp_path_factory.mktemp("git")
    server = GitServer(folder)
    path = os.pathsep.join([str(packwise.parent), str(built("crane").parent)])
    clone = server.create("clusters.git", folder / "clone", path)
    clone.environment["KUBECONFIG"] = str(cluster.kubeconfig)
    shutil.copytree(ROOT / "flux", clone.folder / "flux")
    edit(
        clone.folder / "flux/branch/source.yaml",
        "https://git.example.com/platform/clusters.git",
        server.url("clusters.git"),
    )
    edit(
        clone.folder / "flux/oci/source.yaml",
        "oci://ghcr.io/example/rendered/west",
        f"oci://{REGISTRY}/rendered/west\n  insecure: true",
    )
    yield Source(clone)
    server.stop()


def follow(clone: Clone, command: str) -> str:
    """Run a command of the page, and return its output."""
    return clone.run("bash", "-euc", command).stdout


def render(source: Source) -> str:
    """Return the commit on the rendered branch after CI ran."""
    follow(source.clone, RENDER)
    return rendered(source.clone)


def rendered(clone: Clone) -> str:
    return clone.git("ls-remote", "origin", "refs/heads/rendered/west").split()[0]


def settle(controllers: Flux, revision: str) -> None:
    """Wait until both Kustomizations have applied this revision."""
    controllers.reconcile("gitrepository", "west")
    controllers.applied("west-topologies", revision)
    controllers.applied("west-workloads", revision)


def test_first_sync(controllers: Flux, cluster: ApiServer, source: Source) -> None:
    source.create("flux")
    revision = render(source)
    follow(source.clone, FOLLOW_BRANCH)
    wait_for("the workloads", lambda: {"batch", "llm"} == set(cluster.names("podcliquesets.grove.io")))
    available(cluster, "batch", "llm")

    settle(controllers, revision)

    assert "west-workloads" in follow(source.clone, SHOW)
    assert cluster.names("clustertopologies.grove.io") == ["grove-topology"]
    assert cluster.names("topologies.kai.scheduler") == ["grove-topology"]
    assert cluster.names("podgangs.scheduler.grove.io") == [
        "batch-0",
        "batch-1",
        "llm-0",
        "llm-0-decode-0",
        "llm-0-decode-1",
        "llm-0-prefill-0",
    ]


def test_second_sync_has_nothing_to_do(controllers: Flux, cluster: ApiServer, source: Source) -> None:
    before, revision = snapshot(cluster), rendered(source.clone)

    assert follow(source.clone, RENDER).splitlines()[-1] == "rendered/west is up to date"
    for name in ("west-topologies", "west-workloads"):
        controllers.reconcile("kustomization", name)
    settle(controllers, revision)

    assert snapshot(cluster) == before


def test_levels_change_and_the_topology_alone_is_recreated(
    controllers: Flux, cluster: ApiServer, source: Source
) -> None:
    before = snapshot(cluster)
    source.change_levels()

    settle(controllers, render(source))

    after = snapshot(cluster)
    recreated = {name for name in before if before[name][0] != after[name][0]}
    assert recreated == {"Topology/grove-topology"}
    topology = cluster.get("topologies.kai.scheduler", "grove-topology")
    assert topology is not None
    assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == [
        "topology.kubernetes.io/zone",
        "network.example.com/spine",
        "network.example.com/rack",
        "kubernetes.io/hostname",
    ]
    gang = cluster.get("podgangs.scheduler.grove.io", "llm-0", "inference")
    assert gang is not None
    assert gang["spec"]["topologyConstraint"]["packConstraint"] == {"required": "network.example.com/spine"}


def test_a_workload_that_is_gone_takes_its_podgangs_along(
    controllers: Flux, cluster: ApiServer, source: Source
) -> None:
    before = snapshot(cluster)
    source.remove_second()

    settle(controllers, render(source))

    after = snapshot(cluster)
    assert before.keys() - after.keys() == {"PodCliqueSet/batch", "PodGang/batch-0", "PodGang/batch-1"}
    assert {name: before[name] for name in after} == after


def test_a_source_with_an_error_is_never_pushed(cluster: ApiServer, source: Source) -> None:
    before, revision = snapshot(cluster), rendered(source.clone)
    source.break_workload()

    failed = source.clone.run("bash", "-euc", RENDER, check=False)

    assert failed.returncode == 1
    assert "inference.yaml" in failed.stderr
    assert failed.stderr.splitlines()[-1].startswith("1 error: nothing was written; 1 workload checked ")
    assert (rendered(source.clone), snapshot(cluster)) == (revision, before)
    source.clone.git("revert", "--no-edit", "HEAD")
    source.clone.push_commits()


def test_an_edit_by_hand_that_breaks_the_branch_is_reported_and_changes_nothing(
    controllers: Flux, cluster: ApiServer, source: Source, tmp_path: Path
) -> None:
    before = snapshot(cluster)
    by_hand = Clone(tmp_path / "by-hand", source.clone.environment)
    source.clone.git(
        "clone",
        "--quiet",
        "--branch",
        "rendered/west",
        source.clone.git("remote", "get-url", "origin"),
        str(by_hand.folder),
    )
    gang = by_hand.folder / "workloads/packwise/inference/podgang-llm-0.yaml"
    edit(gang, "minReplicas: 1", "minReplicas: one")
    edit(by_hand.folder / "workloads/service.yaml", "port: 80", "port: 81")
    revision = by_hand.push("By hand")
    controllers.reconcile("gitrepository", "west")

    message = controllers.failed("west-workloads", revision)

    assert "PodGang/inference/llm-0 dry-run failed" in message
    assert snapshot(cluster) == before
    # CI can find this, and fixes it.
    check = by_hand.run("packwise", "render", source.folder, "-o", by_hand.folder, "--check", check=False)
    assert check.returncode == 1
    assert f"{gang}: differs" in check.stderr
    settle(controllers, render(source))
    assert snapshot(cluster) == before


def test_an_artifact_instead_of_the_branch_changes_no_object(
    controllers: Flux, servers: Servers, cluster: ApiServer, source: Source, tmp_path: Path
) -> None:
    servers.start("registry", [built("crane"), "registry", "serve", f"--address={REGISTRY}", f"--disk={tmp_path}"])
    before = snapshot(cluster)
    push = PUSH_ARTIFACT.replace("ghcr.io/example", REGISTRY)
    wait_for("the registry", lambda: source.clone.run("bash", "-euc", push, check=False).returncode == 0)
    digest = source.clone.run("crane", "digest", f"{REGISTRY}/rendered/west:latest").stdout.strip()

    follow(source.clone, FOLLOW_ARTIFACT)

    controllers.applied("west-topologies", digest)
    controllers.applied("west-workloads", digest)
    assert snapshot(cluster) == before
    follow(source.clone, push)
    assert source.clone.run("crane", "digest", f"{REGISTRY}/rendered/west:latest").stdout.strip() == digest


def test_a_clustertopology_in_use_outlives_its_configuration(
    controllers: Flux, cluster: ApiServer, source: Source
) -> None:
    (source.folder / "inference.yaml").unlink()
    edit(source.folder / "topology.yaml", "enabled: true", "enabled: false")
    source.clone.push("No topologies any more")
    render(source)
    follow(source.clone, FOLLOW_BRANCH)

    settle(controllers, rendered(source.clone))

    wait_for("pruning", lambda: not cluster.names("topologies.kai.scheduler"))
    assert cluster.names("clustertopologies.grove.io") == ["grove-topology"]
    assert cluster.names("podcliquesets.grove.io") == []
    assert cluster.names("podgangs.scheduler.grove.io") == []
