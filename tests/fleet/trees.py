"""Small trees for tests: bases, overlays, kpt packages and plain folders."""

from __future__ import annotations

from collections.abc import Mapping

from packwise.build.tree import MemoryTree
from tests.cli.calling import CONFIG, WORKLOAD

__all__ = ["FLEET", "FUNCTION", "KPTFILE", "PIPELINE", "overlay", "tree"]

FUNCTION = CONFIG.replace(
    "  name: topology\n",
    "  name: topology\n  annotations:\n    config.kubernetes.io/function: |\n"
    "      exec: {path: packwise, args: [fn]}\n",
)
"""A configuration with which kustomize runs packwise."""

PIPELINE = "pipeline:\n  mutators:\n  - exec: packwise fn\n    configPath: topology.yaml\n"
KPTFILE = f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\n{PIPELINE}"


def overlay(*more: str, resources: str = "../../base") -> str:
    """Return a kustomization that builds on a base, runs packwise, and has the lines `more`."""
    lines = [f"resources: [{resources}]", "transformers: [topology.yaml]", *more]
    return "".join([f"{line}\n" for line in lines])


FLEET = {
    "base/kustomization.yaml": "resources: [workload.yaml]\n",
    "base/workload.yaml": WORKLOAD,
    "clusters/east/kustomization.yaml": overlay("namePrefix: east-"),
    "clusters/east/topology.yaml": FUNCTION,
    "clusters/north/Kptfile": KPTFILE,
    "clusters/north/topology.yaml": CONFIG,
    "clusters/north/workload.yaml": WORKLOAD,
    "clusters/south/topology.yaml": CONFIG,
    "clusters/south/workload.yaml": WORKLOAD,
    "clusters/west/kustomization.yaml": overlay("namePrefix: west-"),
    "clusters/west/topology.yaml": FUNCTION,
}
"""Two overlays of a base, a kpt package and a plain folder."""


def tree(files: Mapping[str, str]) -> MemoryTree:
    """Return a tree with these files."""
    return MemoryTree({path: text.encode() for path, text in files.items()})
