"""The images of the Dockerfile, built here by buildah: `python -m supplychain.image [TARGET ...]`.

Stand-ins replace images of registries. Everything else is the Dockerfile's own. Two builds of one commit have the same
digest.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from supplychain.dockerfile import foreign_images, stages
from supplychain.engine import missing_programs, run
from supplychain.locks import ROOT
from supplychain.standins import EPOCH, KUSTOMIZE, argocd, kustomize, stand_in

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ARGOCD_PLUGIN", "ARGOCD_REPO_SERVER", "FUNCTION", "TARGETS", "build", "main", "name_of", "revision"]

FUNCTION = ""
"""The default target of a build."""

ARGOCD_PLUGIN = "argocd-plugin"
ARGOCD_REPO_SERVER = "argocd-repo-server"

TARGETS = (FUNCTION, "validator", "without-crds", ARGOCD_PLUGIN, ARGOCD_REPO_SERVER)
"""The targets whose bases have stand-ins."""


def name_of(target: str) -> str:
    """Return the name of a target's image, as the documentation spells it."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return f"localhost/packwise{'-' if target else ''}{target}:{version}"


def build(target: str, tag: str, context: Path = ROOT, *options: str) -> str:
    """Build a target and return the ID of the image. The ID is the digest of the image's configuration."""
    run(*_command(target, tag, context, options))
    return run("podman", "image", "inspect", "--format", "{{.Id}}", tag).strip()


def _command(target: str, tag: str, context: Path, options: Sequence[str]) -> list[str]:
    version = tag.rpartition(":")[2]
    words = ["--layers", "--isolation", "chroot", "--network", "host", "--pull-never", "--identity-label=false"]
    words += ["--timestamp", EPOCH, "--tag", tag, *options]
    for label, value in (("version", version), ("revision", revision())):
        words += ["--label", f"org.opencontainers.image.{label}={value}"]
    for image in foreign_images(context / "Dockerfile"):
        taken = stand_in(image)
        if taken is not None:
            words += ["--build-context", f"{image}={taken}"]
    if target == ARGOCD_PLUGIN:
        words += ["--build-context", f"{KUSTOMIZE}={kustomize()}"]
    if target == ARGOCD_REPO_SERVER:
        (stage,) = (stage for stage in stages(context / "Dockerfile") if stage.name == target)
        words += ["--build-context", f"{stage.image}={argocd()}"]
    if target:
        words += ["--target", target]
    return ["buildah", "bud", *words, str(context)]


def revision() -> str:
    """Return the commit from which the image is built."""
    return _output("git", "-C", str(ROOT), "rev-parse", "HEAD")


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603


def main() -> None:
    """Build the named targets, or all targets. Print the ID and the name of each image."""
    missing = missing_programs()
    if missing:
        sys.exit(f"make image: {missing}")
    for target in sys.argv[1:] or TARGETS:
        chosen = "" if target == "function" else target
        sys.stdout.write(f"{build(chosen, name_of(chosen))}  {name_of(chosen)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
