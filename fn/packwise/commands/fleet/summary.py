"""A fleet in sum: numbers of all packages, and the packages that say the same in one group, the worst first."""

from __future__ import annotations

from krmfn.grouping import form_of
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.commands.fleet.result import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.result import Result
    from packwise.commands.fleet.result import PackageResult

__all__ = ["Group", "Summary", "summarized"]


class Group(NamedTuple):
    """Packages of which the same is to be said, by their folders; `example` is the worst finding of the first."""

    status: Status
    says: tuple[str, ...]
    folders: tuple[str, ...]
    example: Result | None = None


class Summary(NamedTuple):
    """The numbers of a fleet, and its groups: the worst status first, then the largest group.

    `statuses` has the number of packages of each status there is. `with_…` are numbers of packages.
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
    written: int = 0
    groups: tuple[Group, ...] = ()

    def number(self, status: Status) -> int:
        """How many packages have this status."""
        return dict(self.statuses).get(status, 0)


def summarized(results: Iterable[PackageResult]) -> Summary:
    """The summary of the results, whose order does not matter."""
    ordered = sorted(results, key=lambda result: result.folder)
    groups: dict[tuple[object, ...], list[PackageResult]] = {}
    for result in ordered:
        says = _says(result)
        if says:
            groups.setdefault((result.status, says, _form(result)), []).append(result)
    statuses = [(status, sum(result.status is status for result in ordered)) for status in Status]
    return Summary(
        len(ordered),
        tuple([(status, number) for status, number in statuses if number]),
        sum(result.errors for result in ordered),
        sum(result.warnings for result in ordered),
        sum(result.workloads for result in ordered),
        sum(result.objects for result in ordered),
        sum(len(result.recreated) for result in ordered),
        sum(bool(result.recreated) for result in ordered),
        sum(result.gangs_created for result in ordered),
        sum(result.gangs_deleted for result in ordered),
        sum(result.gangs_changed for result in ordered),
        sum(_has_gangs(result) for result in ordered),
        sum(result.dropped for result in ordered),
        sum(result.gangs for result in ordered),
        sum(result.placed for result in ordered),
        sum(len(result.pending) for result in ordered),
        sum(bool(result.pending) for result in ordered),
        sum(len(result.no_longer_fits) for result in ordered),
        sum(result.written for result in ordered),
        tuple(sorted([_group(members) for members in groups.values()], key=_badness)),
    )


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
    return tuple(parts)


def _counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _worst(result: PackageResult) -> Result | None:
    return result.findings[0] if result.findings else None


def _form(result: PackageResult) -> object:
    worst = _worst(result)
    return None if worst is None else form_of(worst)


def _group(members: list[PackageResult]) -> Group:
    first = members[0]
    return Group(first.status, _says(first), tuple([each.folder for each in members]), _worst(first))


def _badness(group: Group) -> tuple[object, ...]:
    is_error = group.example is not None and group.example.severity is Severity.ERROR
    return list(Status).index(group.status), not is_error, -len(group.folders), group.folders
