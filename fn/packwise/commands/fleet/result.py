"""What became of one package: the part that a summary counts, as JSON in the cache and between processes."""

from __future__ import annotations

from enum import StrEnum

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Result, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

__all__ = ["MOST_FINDINGS", "PackageResult", "Status", "kept_findings"]

MOST_FINDINGS = 20
"""How many findings of a package are kept, errors first; all are counted."""


class Status(StrEnum):
    """What a verb says of a package, the worst first."""

    FAILING = "failing"
    REMOVED = "removed"
    ADDED = "added"
    CHANGED = "changed"
    IDLE = "nothing judged"
    """It has no workload that was judged."""
    PASSING = "passing"
    """It was judged, and nothing was compared."""
    UNCHANGED = "unchanged"


class PackageResult(NamedTuple):
    """What became of the package in `folder`.

    `workloads` and `objects` are how many it has, the latter with what was generated. `recreated` are the topologies
    that must be deleted and created, the four numbers of gangs those of a comparison; `dropped` is how many constraints
    are lost. `pending` are the gangs that do not fit on the nodes, `no_longer_fits` those that did before the change,
    `noted` those whose answer leaves something out of account.
    `placed` tells that there were nodes to ask. `digest` is that of the output, "" where there is none. `written` is
    how many files of a render changed on disk. `passed_over` is why workloads were not judged, with a number each.
    """

    folder: str
    client: str
    status: Status
    errors: int = 0
    warnings: int = 0
    findings: tuple[Result, ...] = ()
    workloads: int = 0
    objects: int = 0
    digest: str = ""
    recreated: tuple[str, ...] = ()
    gangs_created: int = 0
    gangs_deleted: int = 0
    gangs_changed: int = 0
    other_changes: int = 0
    dropped: int = 0
    placed: bool = False
    gangs: int = 0
    pending: tuple[str, ...] = ()
    no_longer_fits: tuple[str, ...] = ()
    written: int = 0
    noted: tuple[str, ...] = ()
    passed_over: tuple[tuple[str, int], ...] = ()

    def to_value(self) -> dict[str, Any]:
        """The result as JSON has it."""
        value = self._asdict()
        return {**value, "status": self.status.value, "findings": [each.to_value() for each in self.findings]}

    @classmethod
    def from_value(cls, value: Mapping[str, Any]) -> PackageResult:
        """The result that `to_value` wrote. Raises KeyError, TypeError or ValueError where it is another value."""
        texts = {
            name: tuple(str(each) for each in value[name])
            for name in ("recreated", "pending", "no_longer_fits", "noted")
        }
        fields: dict[str, Any] = {**value, **texts, "status": Status(value["status"])}
        fields["passed_over"] = tuple((str(reason), int(number)) for reason, number in value["passed_over"])
        fields["findings"] = tuple(Result.from_value(each) for each in value["findings"])
        return cls(**fields)


def kept_findings(results: Iterable[Result]) -> tuple[int, int, tuple[Result, ...]]:
    """The numbers of errors and warnings among `results`, and those that a summary keeps, errors first; no infos."""
    errors: list[Result] = []
    warnings: list[Result] = []
    for result in results:
        if result.severity is not Severity.INFO:
            (errors if result.severity is Severity.ERROR else warnings).append(result)
    return len(errors), len(warnings), tuple([*errors, *warnings][:MOST_FINDINGS])
