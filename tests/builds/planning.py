"""Sources of a repository in memory, planned without running any program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from packwise.build.deliveries import owners_in, plan_sources, repository_of
from packwise.build.sources import ChartSource, Delivery, Unbuilt
from packwise.build.tree import MemoryTree

URL = "https://git.example.com/acme/gitops.git"
CHART = {"charts/llm/Chart.yaml": "apiVersion: v2\nname: llm\nversion: 0.1.0\n", "charts/llm/values.yaml": "a: 1\n"}
HERE = "https://kubernetes.default.svc"
QUEUE = """\
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: research}
spec:
  resources:
    cpu: {quota: -1, limit: -1}
    gpu: {quota: -1, limit: -1}
    memory: {quota: -1, limit: -1}
"""
HELM_RELEASE = f"""\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: gitops, namespace: flux-system}}
spec: {{url: "{URL}"}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: release, namespace: flux-system}}
spec:
  chart: {{spec: {{chart: charts/llm, sourceRef: {{kind: GitRepository, name: gitops}}}}}}
"""
"""A chart of a repository, released by Flux."""


def application(source: Mapping[str, Any], name: str = "llm", **spec: Any) -> str:
    """Return an Application with the chart of this repository as its only source, changed by `source`."""
    sources = spec.pop("sources", None)
    own = {"repoURL": URL, "path": "charts/llm", **source}
    fields = {"sources": sources} if sources else {"source": own}
    value = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {"destination": {"namespace": "team-a", "server": HERE}, **fields, **spec},
    }
    return yaml.safe_dump(value, sort_keys=False)


def planned(
    files: Mapping[str, str], remotes: tuple[str, ...] = (URL,), revisions: tuple[str, ...] = ("main",)
) -> list[Delivery | Unbuilt]:
    """Return the planned sources of the owners among the files, in their order."""
    tree = MemoryTree({path: content.encode() for path, content in files.items()})
    repository = repository_of(tree, remotes, revisions)
    return [
        each for path in sorted(files) for owner in owners_in(tree, path) for each in plan_sources(owner, repository)
    ]


def chart(files: Mapping[str, str], **options: Any) -> ChartSource:
    """Return the one planned chart of the owners among the files."""
    (delivery,) = planned(files, **options)
    assert isinstance(delivery, Delivery), delivery
    assert isinstance(delivery.source, ChartSource)
    return delivery.source


def layers(source: ChartSource) -> list[str]:
    """Return the layers of values, from the weakest: files by name, texts by content, and then the options that set
    values.
    """
    named = [each.name if each.text is None else each.text for each in source.values]
    return [*named, *[f"{option} {value}" for option, value in source.lists]]


def refusal(files: Mapping[str, str], **options: Any) -> tuple[str, str, bool]:
    """Return the reason why the only source is not built: the kind, the text, and whether the controller fails too."""
    (unbuilt,) = planned(files, **options)
    assert isinstance(unbuilt, Unbuilt), unbuilt
    return unbuilt.obstacle.name, unbuilt.reason, unbuilt.is_wrong
