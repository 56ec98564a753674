"""The result of each package of a fleet, the rules about packages, and the summary of all."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from krmfn.hints import TYPE_CHECKING, Record, as_dict
from krmfn.result import Result, Severity, form_of
from packwise.discovery import count_unchecked
from packwise.findings import Rule
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


MAX_FINDINGS = 20
"""The largest number of stored findings of a package, errors first. All findings are counted."""


class PackageStatus(StrEnum):
    """The status of a package after a verb, the worst first."""

    FAILING = "failing"
    REMOVED = "removed"
    ADDED = "added"
    CHANGED = "changed"
    IDLE = "nothing checked"
    """No workload of the package was checked."""
    PASSING = "passing"
    """The package was checked, but not compared."""
    UNCHANGED = "unchanged"


class PackageResult(Record):
    """The outcome for the package in `folder`.

    `workloads` counts its workloads. `objects` counts its objects and the generated ones. `recreated` are topologies
    that must be deleted and created. A comparison sets `gangs_created`, `gangs_deleted`, `gangs_changed` and
    `other_changes`. `dropped` counts lost constraints. `pending` are the gangs that do not fit on the nodes.
    `no_longer_fits` are the pending gangs that fitted before the change. `noted` are gangs with an answer that ignores
    a fact. `placed` is true if there were nodes. `digest` is the digest of the output, or "". `written` counts changed
    files on disk. `passed_over` has each reason for unchecked workloads, with a number.
    """

    folder: str
    client: str
    status: PackageStatus
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
        """Return the result as a value of JSON."""
        value = as_dict(self)
        return {**value, "status": self.status.value, "findings": [each.to_value() for each in self.findings]}

    @classmethod
    def from_value(cls, value: Mapping[str, Any]) -> PackageResult:
        """Return the result that `to_value` wrote. Raise KeyError, TypeError or ValueError for another value."""
        texts = {
            name: tuple(str(each) for each in value[name])
            for name in ("recreated", "pending", "no_longer_fits", "noted")
        }
        fields: dict[str, Any] = {**value, **texts, "status": PackageStatus(value["status"])}
        fields["passed_over"] = tuple((str(reason), int(number)) for reason, number in value["passed_over"])
        fields["findings"] = tuple(Result.from_value(each) for each in value["findings"])
        return cls(**fields)


def kept_findings(results: Iterable[Result]) -> tuple[int, int, tuple[Result, ...]]:
    """Return the numbers of errors and warnings in `results`, and the results for a summary: errors first, no infos."""
    errors: list[Result] = []
    warnings: list[Result] = []
    for result in results:
        if result.severity is not Severity.INFO:
            (errors if result.severity is Severity.ERROR else warnings).append(result)
    return len(errors), len(warnings), tuple([*errors, *warnings][:MAX_FINDINGS])


class PackageGroup(Record):
    """Packages with the same report, by folder. `example` is the worst finding of the first package."""

    status: PackageStatus
    remarks: tuple[str, ...]
    folders: tuple[str, ...]
    example: Result | None = None


class Summary(Record):
    """The numbers of a fleet, and its groups: the worst status first, then the largest group.

    `statuses` counts the packages of each status. Fields with the prefix `with_` count packages. `passed_over` has each
    reason for unchecked workloads, with a number.
    """

    packages: int
    statuses: tuple[tuple[PackageStatus, int], ...]
    errors: int = 0
    warnings: int = 0
    workloads: int = 0
    objects: int = 0
    recreated: int = 0
    with_recreated: int = 0
    gangs_created: int = 0
    gangs_deleted: int = 0
    gangs_changed: int = 0
    with_gangs: int = 0
    dropped: int = 0
    gangs: int = 0
    placed: int = 0
    pending: int = 0
    with_pending: int = 0
    no_longer_fits: int = 0
    noted: int = 0
    written: int = 0
    groups: tuple[PackageGroup, ...] = ()
    passed_over: tuple[tuple[str, int], ...] = ()

    def number(self, status: PackageStatus) -> int:
        """Return the number of packages with this status."""
        return dict(self.statuses).get(status, 0)


class Tally:
    """The sum of results that arrive in any order. A package without remarks is counted, but is in no group."""

    __slots__ = ("_groups", "_packages", "_passed_over", "_statuses", "_sums")

    def __init__(self) -> None:
        self._packages = 0
        self._statuses = dict.fromkeys(PackageStatus, 0)
        self._sums: dict[str, int] = {}
        self._passed_over = Counter[str]()
        self._groups: dict[tuple[object, ...], _Alike] = {}

    def add(self, result: PackageResult) -> None:
        """Count a package, and add it to its group."""
        self._packages += 1
        self._statuses[result.status] += 1
        for name, number in _numbers(result).items():
            self._sums[name] = self._sums.get(name, 0) + number
        self._passed_over.update(dict(result.passed_over))
        says = _remarks(result)
        if says:
            worst = result.findings[0] if result.findings else None
            key = (result.status, says, None if worst is None else form_of(worst))
            self._groups.setdefault(key, _Alike(result.status, says)).add(result.folder, worst)

    def summary(self) -> Summary:
        """Return the summary of all added results."""
        statuses = [(status, number) for status, number in self._statuses.items() if number]
        groups = sorted([alike.group() for alike in self._groups.values()], key=_rank)
        over = tuple(sorted(self._passed_over.items()))
        return Summary(self._packages, tuple(statuses), groups=tuple(groups), passed_over=over).replace(**self._sums)


class _Alike:
    """Packages with the same report, and the worst finding of the first folder."""

    __slots__ = ("_example", "_first", "_folders", "_says", "_status")

    def __init__(self, status: PackageStatus, says: tuple[str, ...]) -> None:
        self._status = status
        self._says = says
        self._folders: list[str] = []
        self._first = ""
        self._example: Result | None = None

    def add(self, folder: str, worst: Result | None) -> None:
        if not self._folders or folder < self._first:
            self._first, self._example = folder, worst
        self._folders.append(folder)

    def group(self) -> PackageGroup:
        return PackageGroup(self._status, self._says, tuple(sorted(self._folders)), self._example)


def _numbers(result: PackageResult) -> dict[str, int]:
    """Return the numbers that a package adds to the summary, by name."""
    return {
        "errors": result.errors,
        "warnings": result.warnings,
        "workloads": result.workloads,
        "objects": result.objects,
        "recreated": len(result.recreated),
        "with_recreated": int(bool(result.recreated)),
        "gangs_created": result.gangs_created,
        "gangs_deleted": result.gangs_deleted,
        "gangs_changed": result.gangs_changed,
        "with_gangs": int(_has_gangs(result)),
        "dropped": result.dropped,
        "gangs": result.gangs,
        "placed": int(result.placed),
        "pending": len(result.pending),
        "with_pending": int(bool(result.pending)),
        "no_longer_fits": len(result.no_longer_fits),
        "noted": len(result.noted),
        "written": result.written,
    }


def _has_gangs(result: PackageResult) -> bool:
    return bool(result.gangs_created or result.gangs_deleted or result.gangs_changed)


def _remarks(result: PackageResult) -> tuple[str, ...]:
    """Return remarks on a package for a summary, or none if there is nothing to report."""
    parts: list[str] = []
    if result.errors:
        parts.append(count_text(result.errors, "error"))
    if result.warnings:
        parts.append(count_text(result.warnings, "warning"))
    if result.recreated:
        parts.append(f"re-creates {count_text(len(result.recreated), 'topology', 'topologies')}")
    if _has_gangs(result):
        numbers = (
            (result.gangs_created, "created"),
            (result.gangs_deleted, "deleted"),
            (result.gangs_changed, "changed"),
        )
        parts.append("gangs " + ", ".join([f"{number} {word}" for number, word in numbers if number]))
    if result.dropped:
        parts.append(f"loses {count_text(result.dropped, 'constraint')}")
    if result.other_changes:
        parts.append(count_text(result.other_changes, "other change"))
    if result.no_longer_fits:
        gangs = len(result.no_longer_fits)
        parts.append(f"{count_text(gangs, 'gang')} no longer {'fits' if gangs == 1 else 'fit'}")
    elif result.pending:
        gangs = len(result.pending)
        parts.append(f"{count_text(gangs, 'gang')} {'does' if gangs == 1 else 'do'} not fit")
    if result.status is PackageStatus.ADDED and not parts:
        parts.append(count_text(result.objects, "object"))
    parts += count_unchecked(result.passed_over)
    if result.status is PackageStatus.IDLE and not parts:
        parts.append("there is no workload")
    return tuple(parts)


def _rank(group: PackageGroup) -> tuple[object, ...]:
    is_error = group.example is not None and group.example.severity is Severity.ERROR
    return list(PackageStatus).index(group.status), not is_error, -len(group.folders), group.folders


FIT = Rule(
    "fleet-package",
    "A package needs a program or file that `packwise fleet` does not run or read.",
    "spec/packwise.md#1.7",
)
BUILD = Rule("fleet-build", "kustomize cannot build the package.", "spec/packwise.md#1.7")
LOST = Rule("fleet-lost", "The worker process of a package ended without a result.", "spec/packwise.md#3.4")
WRITTEN = Rule("fleet-output", "packwise cannot write a package.", "spec/packwise.md#1.5")
RULES = (FIT, BUILD, LOST, WRITTEN)
"""Rules of a fleet."""
