"""Annotations by which Argo CD and Flux apply generated objects the way these need. Source: spec/gitops.md."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from packwise.objects.kinds import CLUSTER_TOPOLOGY, kind_of_object

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from krmfn.value import Value
    from packwise.objects.place import Generated

__all__ = ["gitops_annotations"]


def gitops_annotations(generated: Generated, tools: Collection[str], in_use: Collection[str]) -> dict[str, str]:
    """The annotations of one object for `tools`, a set of `argocd` and `flux`.

    `in_use` are the names of the ClusterTopologies by which workloads are placed: those are not pruned. Only what is to
    be recreated is forced, since both tools delete the live object first when its manifest is invalid for any reason.
    """
    kind = kind_of_object(generated.value)
    name = cast("Mapping[str, Value]", generated.value["metadata"])["name"]
    kept = kind is CLUSTER_TOPOLOGY and name in in_use
    annotations: dict[str, str] = {}
    if "argocd" in tools:
        if kind.before_workloads:
            annotations["argocd.argoproj.io/sync-wave"] = "-1"
        # Force alone fails beside server-side apply, Replace alone is refused by the API server.
        options = "Replace=true,Force=true" if generated.recreate else "Prune=false" if kept else ""
        if options:
            annotations["argocd.argoproj.io/sync-options"] = options
    if "flux" in tools:
        if generated.recreate:
            annotations["kustomize.toolkit.fluxcd.io/force"] = "enabled"
        if kept:
            annotations["kustomize.toolkit.fluxcd.io/prune"] = "disabled"
    return annotations
