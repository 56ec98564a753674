"""An API server with the CRDs of each revision accepts the rendered objects, and a second apply changes nothing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e import apiserver
from tests.e2e.apiserver import ApiServer, documents
from tests.e2e.process import Servers
from tests.e2e.revisions import REVISIONS, Revision
from tests.examples import EXAMPLES, ORDER, holds_workloads_of_grove, is_preview, revision_of
from tests.places import ROOT

pytestmark = pytest.mark.e2e

KPT_PACKAGE = ROOT / "kpt-package"

REFUSED_LATER = {"second-design"}
"""An example with a Topology that KAI refuses. From grep-244 on, this is an error."""

OF_OTHERS = {"jobset", "kueue", "kubernetes-gangs"}
"""Examples with objects of APIs that this API server lacks: of JobSet, of Kueue, and of a Kubernetes with gangs."""

CONFIGURATIONS = {"TopologyRender", "Kptfile"}
"""Kinds that packwise reads, and that are never applied."""


def sources(revision: Revision) -> list[Path]:
    """Return the examples of this revision, the ones that can migrate to it, and OSMO's examples, which have no
    revision.
    """
    found: list[Path] = []
    for source in (*EXAMPLES, KPT_PACKAGE):
        if is_preview(source) or source.name in OF_OTHERS:
            continue
        own = revision_of(source)
        carried = ORDER.index(own) < ORDER.index(revision.name) and source.name not in REFUSED_LATER
        if own == revision.name or carried or not holds_workloads_of_grove(source):
            found.append(source)
    return found


@pytest.fixture(scope="module", params=REVISIONS, ids=lambda revision: revision.name)
def revision(request: pytest.FixtureRequest) -> Revision:
    return request.param


@pytest.fixture(scope="module")
def cluster(
    revision: Revision, servers: Servers, crds: Path, tmp_path_factory: pytest.TempPathFactory
) -> Generator[ApiServer]:
    """Yield a new API server for each revision, because their CRDs have the same names."""
    server = apiserver.start(servers, tmp_path_factory.mktemp(revision.name) / "cluster")
    server.install(*revision.definitions(crds))
    yield server
    servers.stop()


def rendered(packwise: Path, source: Path, revision: Revision, folder: Path) -> list[dict[str, Any]]:
    """Render the source for this revision and both GitOps tools."""
    copied = Path(shutil.copytree(source, folder / "in"))
    if holds_workloads_of_grove(source) and revision_of(copied) != revision.name:
        run(packwise, "migrate", copied, "--to", revision.name)
    written = [with_gitops(file) for file in copied.glob("*.yaml")]
    if not any(written):
        settings = {"apiVersion": "packwise.dev/v1alpha1", "kind": "TopologyRender", "metadata": {"name": "settings"}}
        (copied / "settings.yaml").write_text(yaml.safe_dump({**settings, "spec": GITOPS}), encoding="utf-8")
    run(packwise, "render", copied, "-o", folder / "out")
    found = documents(folder / "out")
    return [value for value in found if "apiVersion" in value and value["kind"] not in CONFIGURATIONS]


GITOPS = {"gitops": ["argocd", "flux"]}


def with_gitops(file: Path) -> bool:
    """Return True if `file` has packwise's configuration. Then request both GitOps tools in it."""
    values = [value for value in yaml.safe_load_all(file.read_text(encoding="utf-8")) if value]
    own = [value for value in values if value.get("kind") == "TopologyRender"]
    for value in own:
        value["spec"] |= GITOPS
    if own:
        file.write_text(yaml.safe_dump_all(values), encoding="utf-8")
    return bool(own)


def run(*command: Path | str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_rendered_is_taken_and_stays(
    revision: Revision, cluster: ApiServer, packwise: Path, tmp_path: Path
) -> None:
    for source in sources(revision):
        objects = rendered(packwise, source, revision, tmp_path / source.name)
        assert {"PodGang", "Pod"} & {value["kind"] for value in objects}, f"nothing is tested by {source.name}"
        # A Topology of an earlier source with this name has other levels.
        cluster.kubectl("delete", "topologies.kai.scheduler", "--all")
        namespaces = {value["metadata"]["namespace"] for value in objects if "namespace" in value["metadata"]}
        cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in namespaces])

        first = cluster.apply(objects)
        second = cluster.apply(objects)

        assert len(first) == len(objects)
        versions = [[value["metadata"]["resourceVersion"] for value in answer] for answer in (first, second)]
        assert versions[0] == versions[1], source.name


def test_levels_of_a_topology_cannot_change(cluster: ApiServer) -> None:
    """A Topology with other levels is therefore deleted and created again."""
    topology = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": {"name": "fixed"}}
    cluster.apply([topology | {"spec": {"levels": [{"nodeLabel": "example.com/rack"}]}}])

    with pytest.raises(AssertionError, match="immutable"):
        cluster.apply([topology | {"spec": {"levels": [{"nodeLabel": "example.com/block"}]}}])
