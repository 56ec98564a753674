"""An API server with the CRDs of each revision takes what is rendered, and has nothing to change the second time."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
import yaml

from tests.e2e import apiserver
from tests.e2e.apiserver import ApiServer, documents
from tests.e2e.process import Servers
from tests.e2e.revisions import REVISIONS, Revision
from tests.places import ROOT

pytestmark = pytest.mark.e2e

SOURCES = [*sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir()), ROOT / "kpt-package"]


@pytest.fixture(scope="module", params=REVISIONS, ids=lambda revision: revision.name)
def revision(request: pytest.FixtureRequest) -> Revision:
    return request.param


@pytest.fixture(scope="module")
def cluster(
    revision: Revision, servers: Servers, shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> Generator[ApiServer]:
    """A new API server for each revision: their CRDs have the same names."""
    server = apiserver.start(servers, tmp_path_factory.mktemp(revision.name) / "cluster")
    server.install(*revision.definitions(shared))
    yield server
    servers.stop()


def rendered(packwise: Path, source: Path, revision: Revision, folder: Path) -> Path:
    """The source rendered for this revision, for both GitOps tools."""
    copied = Path(shutil.copytree(source, folder / "in"))
    for file in copied.glob("*.yaml"):
        file.write_text(revision.spelt(file.read_text(encoding="utf-8")), encoding="utf-8")
    topology = copied / "topology.yaml"
    config = yaml.safe_load(topology.read_text(encoding="utf-8"))
    config["spec"] |= {"revision": revision.name, "gitops": ["argocd", "flux"]}
    topology.write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [packwise, "render", copied, "-o", folder / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "out"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_what_is_rendered_is_taken_and_stays(
    source: Path, revision: Revision, cluster: ApiServer, packwise: Path, tmp_path: Path
) -> None:
    out = rendered(packwise, source, revision, tmp_path)
    objects = [*documents(out / "topologies"), *documents(out / "workloads")]
    # One of the source before, of this name, has levels of its own.
    cluster.kubectl("delete", "topologies.kai.scheduler", "--all")
    namespaces = {value["metadata"]["namespace"] for value in objects if "namespace" in value["metadata"]}
    cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in namespaces])

    first = cluster.apply(objects)
    second = cluster.apply(objects)

    assert revision.rendered <= {value["kind"] for value in first}
    assert len(first) == len(objects)
    versions = [[value["metadata"]["resourceVersion"] for value in answer] for answer in (first, second)]
    assert versions[0] == versions[1]


def test_levels_of_a_topology_cannot_change(cluster: ApiServer) -> None:
    """Why a Topology, and nothing else, is to be recreated."""
    topology = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": {"name": "fixed"}}
    cluster.apply([topology | {"spec": {"levels": [{"nodeLabel": "example.com/rack"}]}}])

    with pytest.raises(AssertionError, match="immutable"):
        cluster.apply([topology | {"spec": {"levels": [{"nodeLabel": "example.com/block"}]}}])
