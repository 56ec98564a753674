"""A fleet: the packages of many clusters in one repository, what a change reaches, and what becomes of each.

`command.py` runs it; `tree`, `packages`, `kustomization`, `fields` and `result` are pure functions of a tree of files.
"""

from __future__ import annotations

from packwise.commands.fleet.packages import Client, Configuration, FleetPackage, Packages, Reach, reach
from packwise.commands.fleet.result import PackageResult, Status, Summary, Tally
from packwise.commands.fleet.tree import MemoryTree, Tree

__all__ = [
    "Client",
    "Configuration",
    "FleetPackage",
    "MemoryTree",
    "PackageResult",
    "Packages",
    "Reach",
    "Status",
    "Summary",
    "Tally",
    "Tree",
    "reach",
]
