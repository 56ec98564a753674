"""The release of KAI that counts, and other releases that the input would install."""

from __future__ import annotations

import pytest

from tests.render.test_revision_choice import lines, rendered

CONFIG = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec: {revision: v0.1.0-alpha.13, topologyAwareScheduling: {enabled: true}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {schedulerName: kai-scheduler, containers: [{name: web, image: web}]}
"""
IMAGE = "ghcr.io/kai-scheduler/kai-scheduler/podgrouper:v0.15.3"
DEPLOYMENT = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: podgrouper}}
spec: {{template: {{spec: {{containers: [{{name: podgrouper, image: {IMAGE}}}]}}}}}}
"""
HELM_RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: kai}
spec: {chart: {spec: {chart: kai-scheduler, version: 0.15.3, sourceRef: {kind: HelmRepository, name: nvidia}}}}
"""
VALUES = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: operators}
spec: {values: {global: {registry: ghcr.io/nvidia/kai-scheduler, tag: v0.15.3}}}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: kai}
spec: {source: {repoURL: "https://github.com/NVIDIA/KAI-Scheduler", path: deployments, targetRevision: v0.15.3}}
"""
OCI_REPOSITORY = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: kai}
spec: {url: "oci://ghcr.io/kai-scheduler/kai-scheduler/kai-scheduler", ref: {tag: v0.15.3}}
"""


@pytest.mark.parametrize(
    ("text", "where", "tag"),
    [
        (DEPLOYMENT, "Deployment podgrouper spec.template.spec.containers[0].image", "v0.15.3"),
        (HELM_RELEASE, "HelmRelease kai spec.chart.spec.version", "0.15.3"),
        (VALUES, "HelmRelease operators spec.values.global.tag", "v0.15.3"),
        (APPLICATION, "Application kai spec.source.targetRevision", "v0.15.3"),
        (OCI_REPOSITORY, "OCIRepository kai spec.ref.tag", "v0.15.3"),
    ],
)
def test_a_release_that_is_deployed_is_offered(text: str, where: str, tag: str) -> None:
    assert [line for line in lines(rendered(CONFIG, POD, text).results) if "kai-unnamed" in line] == [
        f"warning: {where}: the release of KAI is not set: packwise assumed v0.17, but this object deploys KAI "
        f"{tag}. If your cluster runs this release, set `kai: {{version: v0.15}}` in a TopologyRender [kai-unnamed]"
    ]


@pytest.mark.parametrize(
    "texts",
    [
        (CONFIG.replace("spec: {", "spec: {kai: {version: v0.16}, "), POD, DEPLOYMENT),
        (CONFIG, POD, DEPLOYMENT.replace("v0.15.3", "v0.17.1")),
        (CONFIG, POD, DEPLOYMENT.replace("v0.15.3", "v0.9.1")),
        (CONFIG, POD, DEPLOYMENT.replace(":v0.15.3", "@sha256:0123")),
        (CONFIG, POD, DEPLOYMENT.replace("kai-scheduler", "kai-schedulers")),
        (CONFIG, POD.replace("kai-scheduler", "default-scheduler"), DEPLOYMENT),
        (CONFIG, DEPLOYMENT),
    ],
    ids=["named", "assumed", "unknown", "no version", "another product", "no pod of KAI's", "nothing beside"],
)
def test_what_says_nothing_new_is_no_evidence(texts: tuple[str, ...]) -> None:
    assert "kai-unnamed" not in str(rendered(*texts).results)
