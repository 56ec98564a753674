"""The rules of a fleet: what keeps a package from being rendered, or from being written."""

from __future__ import annotations

from packwise.findings.finding import Rule

__all__ = ["BUILD", "FIT", "LOST", "RULES", "WRITTEN"]

FIT = Rule(
    "fleet-package",
    "A fleet renders what its clients would, and runs nothing that a repository names.",
    "spec/clients.md#2a",
)
BUILD = Rule("fleet-build", "kustomize builds the package.", "spec/clients.md#2a")
LOST = Rule("fleet-lost", "Every package comes to a result.", "spec/packwise.md#3.4")
WRITTEN = Rule("fleet-output", "A package is written whole.", "spec/packwise.md#1.5")
RULES = (FIT, BUILD, LOST, WRITTEN)
"""Rules of a fleet."""
