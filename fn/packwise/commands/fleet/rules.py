"""The rules of a fleet: what keeps a package from being rendered, or from being written."""

from __future__ import annotations

from packwise.findings.rule import Rule

__all__ = ["BUILD", "FIT", "LOST", "RULES", "WRITTEN"]

FIT = Rule(
    "fleet-package",
    "A fleet renders what its clients would, and runs nothing that a repository names.",
    "clients.md 2a",
)
BUILD = Rule("fleet-build", "kustomize builds the package.", "clients.md 2a")
LOST = Rule("fleet-lost", "Every package comes to a result.", "product.md")
WRITTEN = Rule("fleet-output", "A package is written whole.", "product.md")
RULES = (FIT, BUILD, LOST, WRITTEN)
"""Rules of a fleet."""
