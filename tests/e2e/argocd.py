"""Argo CD outside a cluster: repo-server, the plugin's server, application-controller, Redis, and requests about
Applications.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.apiserver import ApiServer
from tests.e2e.process import Servers, wait_for
from tests.e2e.tools import built, installed

__all__ = ["PLUGIN_SERVER", "ArgoCd", "start"]

NAMESPACE = "argocd"
PLUGIN_SERVER = "argocd-cmp-server"
_REDIS = "127.0.0.1:6379"
_APPLICATION = "applications.argoproj.io"
_REFRESH = "argocd.argoproj.io/refresh"


@dataclass(frozen=True)
class ArgoCd:
    """A running Argo CD. Its objects are on `cluster`, and `plugins` has the sockets of its plugins."""

    cluster: ApiServer
    plugins: Path

    def refresh(self, name: str) -> None:
        """Make Argo CD compare the Application with the newest commit. A sync may still be running afterwards."""
        words = (_APPLICATION, name, "-n", NAMESPACE, f"{_REFRESH}=hard")
        # A refresh that is requested during another one would be lost with it.
        wait_for(f"an earlier comparison of Application {name}", lambda: not self._is_asked(name))
        self.cluster.kubectl("annotate", "--overwrite", *words)
        wait_for(f"the comparison of Application {name}", lambda: not self._is_asked(name))

    def _is_asked(self, name: str) -> bool:
        value = self.cluster.get(_APPLICATION, name, NAMESPACE) or {}
        return _REFRESH in value.get("metadata", {}).get("annotations", {})

    def synced(self, name: str, revision: str) -> dict[str, Any]:
        """Wait until the Application is in sync with this commit and no operation is running. Return its status."""

        def look() -> dict[str, Any] | None:
            status = self._status(name)
            sync = status.get("sync", {})
            operation = status.get("operationState", {}).get("phase")
            return (
                status
                if (sync.get("status"), sync.get("revision")) == ("Synced", revision)
                and operation in (None, "Succeeded")
                else None
            )

        return wait_for(f"Application {name} in sync with {revision}", look)

    def health(self, name: str, wanted: str) -> None:
        """Wait until the Application has this health."""
        wait_for(
            f"Application {name} {wanted}",
            lambda: self._status(name).get("health", {}).get("status") == wanted,
        )

    def health_of(self, name: str) -> dict[str, str]:
        """Return Argo CD's health of each object of the Application with a health check, by kind and name."""
        return {
            f"{one['kind']}/{one['name']}": one["health"]["status"]
            for one in self._status(name)["resources"]
            if "health" in one
        }

    def comparison_error(self, name: str) -> str:
        """Wait for the reason why Argo CD cannot compare the Application with its commit, and return it."""

        def look() -> str | None:
            conditions = self._status(name).get("conditions", [])
            return next((one["message"] for one in conditions if one["type"] == "ComparisonError"), None)

        return wait_for(f"a ComparisonError of Application {name}", look)

    def operations(self, name: str) -> int:
        """Return the number of syncs of the Application."""
        return len(self._status(name).get("history", []))

    def _status(self, name: str) -> dict[str, Any]:
        return (self.cluster.get(_APPLICATION, name, NAMESPACE) or {}).get("status", {})


def serve(servers: Servers, tool: ArgoCd) -> list[str | Path]:
    """Start the server for the command line, without logins. Return the command that talks to the server."""
    words = ("--insecure", "--disable-auth", f"--redis={_REDIS}", "--repo-server=127.0.0.1:8081")
    local = ("--address=127.0.0.1", "--metrics-address=127.0.0.1", "--repo-server-plaintext")
    _start_beside(servers, tool, "argocd-server", *words, *local)
    return [built("argocd"), "--server=127.0.0.1:8080", "--plaintext"]


def generate(servers: Servers, tool: ArgoCd) -> None:
    """Start the controller that makes Applications from ApplicationSets."""
    words = ("--argocd-repo-server=127.0.0.1:8081", "--repo-server-plaintext")
    local = ("--metrics-addr=127.0.0.1:8883", "--probe-addr=127.0.0.1:8884", "--webhook-addr=127.0.0.1:7000")
    _start_beside(servers, tool, "argocd-applicationset-controller", *words, *local)


def _start_beside(servers: Servers, tool: ArgoCd, name: str, *words: str) -> None:
    """Start another component of a running Argo CD."""
    folder = tool.plugins.parent
    environment = {
        "KUBECONFIG": str(tool.cluster.kubeconfig),
        "ARGOCD_BINARY_NAME": name,
        "ARGOCD_FAKE_IN_CLUSTER": "true",
        "ARGOCD_TLS_DATA_PATH": str(folder / "tls"),
        "ARGOCD_SSH_DATA_PATH": str(folder / "ssh"),
    }
    servers.start(name, [built("argocd"), f"--namespace={NAMESPACE}", *words], environment)


def start(servers: Servers, cluster: ApiServer, folder: Path, plugin: Path, path: str) -> ArgoCd:
    """Start the components. Their ConfigMaps and CRDs are installed already.

    `plugin` is the folder of plugin.yaml. The repo-server and the plugin look for programs first in `path`, as in their
    images. `folder` must be short, because it holds sockets.
    """
    for name in ("plugins", "tls", "ssh", "plugin-work"):
        (folder / name).mkdir(parents=True)
    environment = {
        "KUBECONFIG": str(cluster.kubeconfig),
        "PATH": f"{path}{os.pathsep}{os.environ['PATH']}",
        "ARGOCD_FAKE_IN_CLUSTER": "true",
        "ARGOCD_GPG_ENABLED": "false",
        "ARGOCD_PLUGINSOCKFILEPATH": str(folder / "plugins"),
        "ARGOCD_CMP_WORKDIR": str(folder / "plugin-work"),
        "ARGOCD_TLS_DATA_PATH": str(folder / "tls"),
        "ARGOCD_SSH_DATA_PATH": str(folder / "ssh"),
    }

    def component(name: str, *words: str) -> None:
        servers.start(name, [built("argocd"), *words], {**environment, "ARGOCD_BINARY_NAME": name})

    _start_garbage_collector(servers, cluster)
    address, _, port = _REDIS.partition(":")
    servers.start(
        "redis", [installed("redis-server"), "--bind", address, "--port", port, "--save", "", "--dir", folder]
    )
    component(PLUGIN_SERVER, f"--config-dir-path={plugin}")
    wait_for("the plugin's socket", lambda: list((folder / "plugins").glob("*.sock")))
    local = ("--address=127.0.0.1", "--metrics-address=127.0.0.1")
    component("argocd-repo-server", f"--redis={_REDIS}", "--disable-tls", *local)
    component(
        "argocd-application-controller",
        f"--namespace={NAMESPACE}",
        f"--redis={_REDIS}",
        "--repo-server=127.0.0.1:8081",
        "--repo-server-plaintext",
        # Otherwise, only Redis has the health of an object.
        "--persist-resource-health",
        # A commit is compared only when a test requests it.
        "--app-resync=3600",
    )
    project = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": NAMESPACE},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"namespace": "*", "server": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        },
    }
    # The objects that argocd-server makes at its first start.
    secret = {"stringData": {"server.secretkey": "tests"}}
    cluster.kubectl("patch", "secret", "argocd-secret", "-n", NAMESPACE, "-p", json.dumps(secret))
    cluster.apply([project])
    return ArgoCd(cluster, folder / "plugins")


def _start_garbage_collector(servers: Servers, cluster: ApiServer) -> None:
    """Start the garbage collector.

    Argo CD prunes in the foreground, so an object is deleted after the objects that it owns.
    """
    servers.start(
        "kube-controller-manager",
        [
            built("kube-controller-manager"),
            f"--kubeconfig={cluster.kubeconfig}",
            "--controllers=garbage-collector-controller",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            "--authentication-skip-lookup=true",
        ],
    )
