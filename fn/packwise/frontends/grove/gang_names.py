"""Names of PodGangs with epochs: pods have them as a label, which bounds their length.

Source: spec/grove-releases.md#3.3.
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
    from packwise.frontends.grove.gang_plans import GangPlan

__all__ = ["RULES", "long_names"]

LENGTH = Rule(
    "podgang-name-length",
    "The name of a PodGang with an epoch is one that pods can have as a label.",
    "spec/grove-releases.md#3.3",
    Severity.WARNING,
)
RULES = (LENGTH,)
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
