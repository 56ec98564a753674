"""A fleet: the packages of many clusters in one repository, what a change reaches, and what becomes of each.

`command.py` runs it; `tree`, `packages`, `kustomization`, `fields` and `result` are pure functions of a tree of files.
"""

from __future__ import annotations

from packwise.commands.fleet.packages import FleetPackage, PackageClient, PackageConfiguration, Packages, Reach, reach
from packwise.commands.fleet.result import PackageResult, PackageStatus, Summary, Tally
from packwise.commands.fleet.tree import FileTree, MemoryTree

__all__ = [
    "FileTree",
    "FleetPackage",
    "MemoryTree",
    "PackageClient",
    "PackageConfiguration",
    "PackageResult",
    "PackageStatus",
    "Packages",
    "Reach",
    "Summary",
    "Tally",
    "reach",
]
