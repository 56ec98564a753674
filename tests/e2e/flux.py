"""Flux's source-controller, kustomize-controller and helm-controller, and the requests of tests."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.apiserver import ApiServer
from tests.e2e.process import Servers, wait_for
from tests.e2e.tools import built, manifests_of

__all__ = ["Flux", "start"]

NAMESPACE = "flux-system"
_STORAGE = "127.0.0.1:9790"


@dataclass(frozen=True)
class Flux:
    """The controllers of Flux. They use `cluster`."""

    cluster: ApiServer

    def reconcile(self, kind: str, name: str) -> None:
        """Request a reconciliation, as `flux reconcile` does, without waiting for it."""
        asked = f"reconcile.fluxcd.io/requestedAt={time.time_ns()}"
        self.cluster.kubectl("annotate", "--overwrite", kind, name, "-n", NAMESPACE, asked)

    def applied(self, name: str, revision: str) -> dict[str, Any]:
        """Wait until the Kustomization is ready with this revision, and return it."""

        def look() -> dict[str, Any] | None:
            found = self._of(name)
            ready = condition(found, "Ready")
            is_there = revision in found.get("status", {}).get("lastAppliedRevision", "")
            return found if is_there and ready["status"] == "True" else None

        return wait_for(f"Kustomization {name} ready with {revision}", look)

    def failed(self, name: str, revision: str) -> str:
        """Wait for the reason why the Kustomization could not apply this revision, and return it."""

        def look() -> str | None:
            found = self._of(name)
            ready = condition(found, "Ready")
            is_tried = revision in found.get("status", {}).get("lastAttemptedRevision", "")
            return ready["message"] if is_tried and ready["status"] == "False" else None

        return wait_for(f"Kustomization {name} failed with {revision}", look)

    def released(self, name: str) -> dict[str, Any]:
        """Wait until the HelmRelease is ready, and return it."""

        def look() -> dict[str, Any] | None:
            found = self.cluster.get("helmreleases.helm.toolkit.fluxcd.io", name, NAMESPACE) or {}
            return found if condition(found, "Ready")["status"] == "True" else None

        return wait_for(f"HelmRelease {name} ready", look)

    def _of(self, name: str) -> dict[str, Any]:
        return self.cluster.get("kustomizations.kustomize.toolkit.fluxcd.io", name, NAMESPACE) or {}


def condition(value: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the condition of this type, or one with the status Unknown."""
    found = value.get("status", {}).get("conditions", [])
    return next((one for one in found if one["type"] == kind), {"status": "Unknown", "message": json.dumps(value)})


def start(servers: Servers, cluster: ApiServer, folder: Path, *, releases: bool = False) -> Flux:
    """Start the controllers with their artifacts in `folder`.

    With `releases`, also start the controller of HelmReleases.
    """
    names = ("source-controller", "kustomize-controller", *(["helm-controller"] if releases else []))
    cluster.install(*map(manifests_of, names))
    cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
    environment = {"KUBECONFIG": str(cluster.kubeconfig), "RUNTIME_NAMESPACE": NAMESPACE}
    storage = folder / "artifacts"
    storage.mkdir(parents=True)
    servers.start(
        "source-controller",
        [
            built("source-controller"),
            f"--storage-path={storage}",
            f"--storage-addr={_STORAGE}",
            f"--storage-adv-addr={_STORAGE}",
            "--metrics-addr=127.0.0.1:8880",
            "--health-addr=127.0.0.1:9440",
        ],
        environment,
    )
    servers.start(
        "kustomize-controller",
        [
            built("kustomize-controller"),
            "--requeue-dependency=1s",
            "--metrics-addr=127.0.0.1:8881",
            "--health-addr=127.0.0.1:9441",
        ],
        environment,
    )
    if releases:
        servers.start(
            "helm-controller",
            [built("helm-controller"), "--metrics-addr=127.0.0.1:8882", "--health-addr=127.0.0.1:9442"],
            environment,
        )
    return Flux(cluster)
