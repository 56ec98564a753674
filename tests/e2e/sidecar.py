"""The plugin's server in its image, confined as `argocd-plugin/repo-server-sidecar.yaml` tells a cluster to
confine it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from supplychain.engine import engine_environment, missing_programs
from supplychain.image import ARGOCD_PLUGIN, name_of
from tests.e2e.process import Servers, wait_for
from tests.e2e.tools import built
from tests.image.containers import call
from tests.places import ROOT, missing

__all__ = ["LOG", "Sidecar", "image_of_plugin"]

LOG = "packwise-sidecar"


def image_of_plugin() -> str:
    """Return the image that `make image` built."""
    wanting, name = missing_programs(), name_of(ARGOCD_PLUGIN)
    if wanting:
        missing(wanting)
    if call(["podman", "image", "exists", name]).code:
        missing(f"{name} is not built: `make image TARGETS={ARGOCD_PLUGIN}` builds it")
    return name


class Sidecar:
    """A container for the repo-server.

    `plugins` is the shared folder of sockets, and `folder` is the container's own folder.
    """

    def __init__(self, image: str, plugins: Path, folder: Path) -> None:
        self.image = image
        self.plugins = plugins
        self.name = f"packwise-sidecar-{folder.name}"
        self._programs = folder / "var-files"

    def start(self, servers: Servers) -> None:
        """Start the container. It is ready when this function returns."""
        # Argo CD's own init container does this.
        self._programs.mkdir()
        shutil.copy(built("argocd"), self._programs / "argocd")
        (self._programs / "argocd-cmp-server").symlink_to("/var/run/argocd/argocd")
        # A folder with the mode that a cluster gives an emptyDir.
        self.plugins.chmod(0o777)
        for left in self.plugins.iterdir():
            left.unlink()
        command = ["podman", "run", "--rm", f"--name={self.name}", "--timeout=900", *self._options(), self.image]
        servers.start(LOG, command, engine_environment())
        wait_for("the socket of the sidecar", lambda: list(self.plugins.glob("*.sock")))

    def stop(self) -> None:
        """Stop the container itself, because it survives the engine's own process."""
        call(["podman", "rm", "--force", "--ignore", "--time=5", self.name])

    def _options(self) -> list[str]:
        patch = yaml.safe_load((ROOT / "argocd-plugin/repo-server-sidecar.yaml").read_text(encoding="utf-8"))
        pod = patch["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        return [
            # In a cluster, the network of the pod reaches Argo CD. The plugin needs no network.
            "--network=none",
            *_confinement(container["securityContext"]),
            f"--memory={container['resources']['limits']['memory'].lower().removesuffix('i')}",
            f"--entrypoint={container['command'][0]}",
            *[self._mount(mount) for mount in container["volumeMounts"]],
        ]

    def _mount(self, mount: dict[str, str]) -> str:
        """Return podman's option for a volume.

        The installation has all volumes except `packwise-tmp`, an emptyDir of the patch.
        """
        shared = {"var-files": self._programs, "plugins": self.plugins}
        if mount["name"] == "packwise-tmp":
            return f"--tmpfs={mount['mountPath']}:rw,mode=0777"
        return f"--volume={shared[mount['name']]}:{mount['mountPath']}"


def _confinement(context: dict[str, Any]) -> list[str]:
    """Return the options of podman for a container's securityContext. Fail if the context has other fields."""
    assert context == {
        "runAsNonRoot": True,
        "runAsUser": context["runAsUser"],
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        # This is the engine's default.
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    user = f"--user={context['runAsUser']}"
    return [user, "--read-only", "--read-only-tmpfs=false", "--security-opt=no-new-privileges", "--cap-drop=all"]
