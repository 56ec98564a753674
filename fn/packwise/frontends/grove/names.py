"""Names of the objects a PodCliqueSet becomes: joined by `-`, never padded, hashed or cut.

Source: spec/grove.md#6, spec/grove-releases.md#3.3.
"""

from __future__ import annotations

__all__ = [
    "anchor_podgang",
    "base_podgang",
    "group_podgang",
    "grouped_clique",
    "scaled_podgang",
    "scaling_group",
    "standalone_clique",
]


def base_podgang(workload: str, replica: int) -> str:
    """The base PodGang (and headless service) of one replica of the PodCliqueSet."""
    return f"{workload}-{replica}"


def scaling_group(workload: str, replica: int, group: str) -> str:
    """The PodCliqueScalingGroup of one replica of the PodCliqueSet."""
    return f"{workload}-{replica}-{group}"


def standalone_clique(workload: str, replica: int, clique: str) -> str:
    """The PodClique of a clique that is in no scaling group."""
    return f"{workload}-{replica}-{clique}"


def grouped_clique(scaling_group_name: str, group_replica: int, clique: str) -> str:
    """The PodClique of a clique in replica `group_replica` (absolute) of the group named `scaling_group_name`."""
    return f"{scaling_group_name}-{group_replica}-{clique}"


def scaled_podgang(scaling_group_name: str, group_replica: int, min_available: int) -> str:
    """The PodGang of a group replica at or above `min_available`; counted from 0 again, hence not unique by itself."""
    return f"{scaling_group_name}-{group_replica - min_available}"


def anchor_podgang(workload: str, replica: int, epoch: str) -> str:
    """The PodGang of an anchor of one replica of the PodCliqueSet."""
    return f"{workload}-{replica}-{epoch}"


def group_podgang(workload: str, replica: int, epoch: str, group: str, group_replica: int) -> str:
    """The PodGang of one replica of a scaling group beyond the anchors; `group_replica` is absolute."""
    return f"{workload}-{replica}-{epoch}-{group}-{group_replica}"
