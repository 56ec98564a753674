"""A kube-apiserver with etcd, and the requests of tests.

It has no nodes, because the tests only look at its objects.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from tests.e2e import etcd
from tests.e2e.process import Servers, wait_for
from tests.e2e.tools import built, installed

__all__ = ["ApiServer", "documents", "start"]

Object = Mapping[str, Any]

_URL = "https://127.0.0.1:6443"
_TOKEN = "tests"  # noqa: S105  no secret: this API server listens on the loopback of a namespace of its own


@dataclass(frozen=True)
class ApiServer:
    """A running API server. `kubeconfig` is the one of an administrator."""

    kubeconfig: Path

    def kubectl(self, *words: str | Path, stdin: str | None = None, check: bool = True) -> str:
        """Return the stdout of kubectl. With `check`, raise AssertionError with its stderr if it fails."""
        done = subprocess.run(
            [installed("kubectl"), f"--kubeconfig={self.kubeconfig}", *map(str, words)],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout if check else done.stdout + done.stderr

    def apply(self, objects: Iterable[Object]) -> list[dict[str, Any]]:
        """Return the objects after a server-side apply. Namespaces are applied first."""
        ordered = sorted(objects, key=lambda value: value["kind"] != "Namespace")
        text = yaml.safe_dump_all(ordered, sort_keys=False)
        # kubectl prints a single object as it is, and several objects as a List.
        found = json.loads(self.kubectl("apply", "--server-side", "-o", "json", "-f", "-", stdin=text))
        return found["items"] if found["kind"] == "List" else [found]

    def get(self, kind: str, name: str, namespace: str = "default") -> dict[str, Any] | None:
        """Return one object, or None if it does not exist."""
        text = self.kubectl("get", kind, name, "-n", namespace, "--ignore-not-found", "-o", "json")
        return json.loads(text) if text else None

    def names(self, kind: str) -> list[str]:
        """Return the names of all objects of a kind, in every namespace."""
        found = json.loads(self.kubectl("get", kind, "-A", "-o", "json"))
        return sorted(item["metadata"]["name"] for item in found["items"])

    def install(self, *crds: Object | Path) -> None:
        """Install CustomResourceDefinitions from folders, or one from a value.

        Return once the API server serves them.
        """
        values = [value for one in crds for value in (documents(one) if isinstance(one, Path) else [one])]
        self.apply(values)
        # `kubectl wait` fails if an object has no condition yet.
        wait_for("CRDs that serve", lambda: {value["metadata"]["name"] for value in values} <= self._serving())

    def _serving(self) -> set[str]:
        """Return the names of the established CRDs."""
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", "crd", "-o", "json"))["items"]
        return {crd["metadata"]["name"] for crd in found if _is_established(crd.get("status", {}).get("conditions"))}


def _is_established(conditions: list[dict[str, str]] | None) -> bool:
    return any((one["type"], one["status"]) == ("Established", "True") for one in conditions or [])


def documents(folder: Path) -> list[dict[str, Any]]:
    """Return every object in the YAML files below `folder`, in the order of their paths."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".yaml", ".yml"))
    found = [value for file in files for value in yaml.safe_load_all(file.read_text(encoding="utf-8"))]
    return [cast("dict[str, Any]", value) for value in found if value]


def start(servers: Servers, folder: Path) -> ApiServer:
    """Start etcd and kube-apiserver with their data in `folder`, and return once they are ready."""
    folder.mkdir(parents=True)
    url = etcd.start(servers, folder / "etcd")
    key, tokens = folder / "service-accounts.key", folder / "tokens.csv"
    subprocess.run([installed("openssl"), "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    tokens.write_text(f"{_TOKEN},tests,tests,system:masters\n", encoding="utf-8")
    certificates = folder / "certificates"
    servers.start(
        "kube-apiserver",
        [
            built("kube-apiserver"),
            f"--etcd-servers={url}",
            f"--secure-port={_URL.rpartition(':')[2]}",
            "--bind-address=127.0.0.1",
            # No component uses this address, because the namespace has no network. The API server refuses to advertise
            # its own address here, the loopback.
            "--advertise-address=10.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--cert-dir={certificates}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",
        ],
    )
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(_kubeconfig(certificates / "apiserver.crt")), encoding="utf-8")
    server = ApiServer(kubeconfig)
    ready = ("get", "--raw", "/readyz")
    wait_for("kube-apiserver", lambda: server.kubectl(*ready, check=False) == "ok")
    wait_for("its default namespace", lambda: server.get("namespace", "default"))
    return server


def _kubeconfig(certificate: Path) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": {"server": _URL, "certificate-authority": str(certificate)}}],
        "users": [{"name": "tests", "user": {"token": _TOKEN}}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        "current-context": "tests",
    }
