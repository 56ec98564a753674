"""Names of the objects a PodCliqueSet becomes: joined by `-`, never padded, hashed or cut; pods have some as a label.

Source: spec/grove.md#6, spec/grove-releases.md#3.3.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings.finding import Finding, Rule
from packwise.frontends.grove.rules.check import TEMPLATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.frontends.grove.build_gangs import GangPlan


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


LENGTH = Rule(
    "podgang-name-length",
    "The name of a PodGang with an epoch is one that pods can have as a label.",
    "spec/grove-releases.md#length",
    Severity.WARNING,
)
NAME_RULES = (LENGTH,)
"""Rules of these names."""

_LONGEST = 63
_GROUPS = (*TEMPLATE, "podCliqueScalingGroups")


def long_names(workload: KubeObject, plans: Iterable[GangPlan]) -> Iterator[Finding]:
    """A finding for the workload and for each scaling group of which a PodGang has too long a name; of the longest."""
    longest: dict[FieldPath, str] = {}
    for plan in plans:
        place = ("metadata", "name") if plan.is_base else (*_GROUPS, plan.groups[0][0], "name")
        if len(plan.name) > max(_LONGEST, len(longest.get(place, ""))):
            longest[place] = plan.name
    for place, name in longest.items():
        message = (
            f'becomes PodGang "{name}", whose name has {len(name)} characters; pods carry it as the label '
            f"grove.io/podgang, which takes at most {_LONGEST}, so the operator cannot create them: shorten the name "
            f"by {len(name) - _LONGEST}"
        )
        yield Finding.of(LENGTH, workload, place, message, when_written=Severity.ERROR)
