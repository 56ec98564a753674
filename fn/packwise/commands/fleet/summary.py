"""A fleet in sum: numbers of all packages, and the packages that say the same in one group, the worst first."""

from __future__ import annotations

from collections import Counter

from krmfn.grouping import form_of
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.commands.fleet.result import Status
from packwise.discovery import passed_over

if TYPE_CHECKING:
    from krmfn.result import Result
    from packwise.commands.fleet.result import PackageResult

__all__ = ["Group", "Summary", "Tally"]


class Group(NamedTuple):
    """Packages of which the same is to be said, by their folders; `example` is the worst finding of the first."""

    status: Status
    says: tuple[str, ...]
    folders: tuple[str, ...]
    example: Result | None = None


class Summary(NamedTuple):
    """The numbers of a fleet, and its groups: the worst status first, then the largest group.

    `statuses` has the number of packages of each status there is. `with_…` are numbers of packages. `passed_over` is
    why workloads were not judged.
    """

    packages: int
    statuses: tuple[tuple[Status, int], ...]
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
    groups: tuple[Group, ...] = ()
    passed_over: tuple[tuple[str, int], ...] = ()

    def number(self, status: Status) -> int:
        """How many packages have this status."""
        return dict(self.statuses).get(status, 0)


class Tally:
    """Results summed up as they come, in any order. Of a package of which nothing is to be said, nothing is kept."""

    __slots__ = ("_groups", "_packages", "_passed_over", "_statuses", "_sums")

    def __init__(self) -> None:
        self._packages = 0
        self._statuses = dict.fromkeys(Status, 0)
        self._sums: dict[str, int] = {}
        self._passed_over = Counter[str]()
        self._groups: dict[tuple[object, ...], _Alike] = {}

    def add(self, result: PackageResult) -> None:
        """Counts a package, and puts it into its group."""
        self._packages += 1
        self._statuses[result.status] += 1
        for name, number in _numbers(result).items():
            self._sums[name] = self._sums.get(name, 0) + number
        self._passed_over.update(dict(result.passed_over))
        says = _says(result)
        if says:
            worst = result.findings[0] if result.findings else None
            key = (result.status, says, None if worst is None else form_of(worst))
            self._groups.setdefault(key, _Alike(result.status, says)).add(result.folder, worst)

    def summary(self) -> Summary:
        """The summary of all that was added."""
        statuses = [(status, number) for status, number in self._statuses.items() if number]
        groups = sorted([alike.group() for alike in self._groups.values()], key=_badness)
        over = tuple(sorted(self._passed_over.items()))
        return Summary(self._packages, tuple(statuses), groups=tuple(groups), passed_over=over)._replace(**self._sums)


class _Alike:
    """Packages of which the same is to be said, and the worst finding of the one whose folder comes first."""

    __slots__ = ("_example", "_first", "_folders", "_says", "_status")

    def __init__(self, status: Status, says: tuple[str, ...]) -> None:
        self._status = status
        self._says = says
        self._folders: list[str] = []
        self._first = ""
        self._example: Result | None = None

    def add(self, folder: str, worst: Result | None) -> None:
        if not self._folders or folder < self._first:
            self._first, self._example = folder, worst
        self._folders.append(folder)

    def group(self) -> Group:
        return Group(self._status, self._says, tuple(sorted(self._folders)), self._example)


def _numbers(result: PackageResult) -> dict[str, int]:
    """What a package adds to the numbers of a summary, by their names."""
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


def _says(result: PackageResult) -> tuple[str, ...]:
    """What is to be said of a package, in the words of a summary; nothing where all is well."""
    parts: list[str] = []
    if result.errors:
        parts.append(_counted(result.errors, "error"))
    if result.warnings:
        parts.append(_counted(result.warnings, "warning"))
    if result.recreated:
        parts.append(f"re-creates {_counted(len(result.recreated), 'topology', 'topologies')}")
    if _has_gangs(result):
        numbers = (
            (result.gangs_created, "created"),
            (result.gangs_deleted, "deleted"),
            (result.gangs_changed, "changed"),
        )
        parts.append("gangs " + ", ".join([f"{number} {word}" for number, word in numbers if number]))
    if result.dropped:
        parts.append(f"loses {_counted(result.dropped, 'constraint')}")
    if result.other_changes:
        parts.append(_counted(result.other_changes, "other change"))
    if result.no_longer_fits:
        gangs = len(result.no_longer_fits)
        parts.append(f"{_counted(gangs, 'gang')} no longer {'fits' if gangs == 1 else 'fit'}")
    elif result.pending:
        gangs = len(result.pending)
        parts.append(f"{_counted(gangs, 'gang')} {'does' if gangs == 1 else 'do'} not fit")
    if result.status is Status.ADDED and not parts:
        parts.append(_counted(result.objects, "object"))
    parts += passed_over(result.passed_over)
    if result.status is Status.IDLE and not parts:
        parts.append("there is no workload")
    return tuple(parts)


def _counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _badness(group: Group) -> tuple[object, ...]:
    is_error = group.example is not None and group.example.severity is Severity.ERROR
    return list(Status).index(group.status), not is_error, -len(group.folders), group.folders
