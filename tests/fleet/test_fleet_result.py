"""Results of packages: a single result, the sum of many results, and the reach of a change."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing

import pytest

from krmfn.result import ResourceRef, Result, ResultField, ResultFile, Severity
from packwise.fleet.result import (
    MAX_FINDINGS,
    PackageGroup,
    PackageResult,
    PackageStatus,
    Summary,
    Tally,
    kept_findings,
)
from packwise.fleet.run import Spool
from packwise.inputs.reach import Reach, reach

ERROR = Result(
    'must be "a"; got "b"',
    Severity.ERROR,
    ResourceRef("v1", "Pod", "", "x"),
    ResultField("spec.a", "b", "a"),
    ResultFile("a/x.yaml", 1),
    {"rule": "r", "line": "3"},
)
WARNING = Result("is odd", Severity.WARNING)
INFO = Result("is so", Severity.INFO)


def test_a_result_survives_json() -> None:
    result = PackageResult(
        "a",
        "kpt",
        PackageStatus.FAILING,
        1,
        2,
        (ERROR, WARNING),
        3,
        4,
        "d",
        ("t",),
        5,
        6,
        7,
        8,
        9,
        True,
        10,
        ("p",),
        ("n",),
        11,
    )

    assert PackageResult.from_value(json.loads(json.dumps(result.to_value()))) == result


@pytest.mark.parametrize("wrong", [{"status": "odd"}, {"findings": 1}, {"more": 1}])
def test_another_value_is_no_result(wrong: dict[str, object]) -> None:
    value = {**PackageResult("a", "kpt", PackageStatus.PASSING).to_value(), **wrong}

    with pytest.raises((ValueError, TypeError)):
        PackageResult.from_value(value)


def test_errors_are_kept_before_warnings_and_infos_are_not() -> None:
    assert kept_findings([INFO, WARNING, ERROR]) == (1, 1, (ERROR, WARNING))
    errors, warnings, kept = kept_findings([WARNING] * 30 + [ERROR] * 2)
    assert (errors, warnings, kept) == (2, 30, (ERROR, ERROR) + (WARNING,) * (MAX_FINDINGS - 2))


def test_a_change_reaches_what_reads_something_that_differs() -> None:
    before = {"a": "1", "b": "1", "c": "1", "e": "1"}
    after = {"e": "1", "a": "1", "b": "2", "d": "1"}

    assert reach(before, after) == Reach(("b",), ("d",), ("c",), ("a", "e"))


def summarized(results: Iterable[PackageResult]) -> Summary:
    tally = Tally()
    for result in results:
        tally.add(result)
    return tally.summary()


def test_results_come_back_from_a_file_in_order() -> None:
    failing = PackageResult("b", "kpt", PackageStatus.FAILING, 1, 0, (ERROR,) * MAX_FINDINGS)
    results = [failing.replace(folder=f"{number * 7919 % 500:03}") for number in range(500)]
    with closing(Spool()) as spool:
        for result in results:
            spool.add(result)

        assert list(spool) == list(spool) == sorted(results, key=lambda result: result.folder)


def test_a_fleet_in_sum() -> None:
    base = PackageResult("z", "kustomize", PackageStatus.CHANGED, workloads=2, objects=5)
    failing = base.replace(status=PackageStatus.FAILING, errors=2, warnings=1, findings=(ERROR, WARNING))
    alike = ERROR.replace(message='must be "c"; got "d"')
    results = [
        base.replace(folder="c2", recreated=("t",), gangs_created=1, gangs_deleted=2, dropped=1),
        failing.replace(folder="b", findings=(alike, WARNING)),
        base.replace(folder="c1", recreated=("t",), gangs_created=1, gangs_deleted=2, dropped=1),
        base.replace(folder="d", other_changes=1, gangs_changed=3),
        failing.replace(folder="a"),
        base.replace(folder="e", status=PackageStatus.UNCHANGED),
        base.replace(folder="f", status=PackageStatus.ADDED),
        base.replace(folder="g", status=PackageStatus.REMOVED),
        base.replace(
            folder="h", status=PackageStatus.PASSING, placed=True, gangs=4, pending=("x", "y"), no_longer_fits=("y",)
        ),
        base.replace(folder="i", status=PackageStatus.PASSING, placed=True, gangs=3, pending=("x",)),
        base.replace(folder="j", status=PackageStatus.PASSING, written=3),
    ]

    summary = summarized(results)

    assert summary == summarized(reversed(results))
    assert summary.replace(groups=()) == summarized([]).replace(
        packages=11,
        statuses=(
            (PackageStatus.FAILING, 2), (PackageStatus.REMOVED, 1), (PackageStatus.ADDED, 1),
            (PackageStatus.CHANGED, 3), (PackageStatus.PASSING, 3), (PackageStatus.UNCHANGED, 1),
        ),
        errors=4, warnings=2, workloads=22, objects=55,
        recreated=2, with_recreated=2, gangs_created=2, gangs_deleted=4, gangs_changed=3, with_gangs=3, dropped=2,
        gangs=7, placed=2, pending=3, with_pending=2, no_longer_fits=1, written=3,
    )  # fmt: skip
    assert summary.groups == (
        PackageGroup(PackageStatus.FAILING, ("2 errors", "1 warning"), ("a", "b"), ERROR),
        PackageGroup(PackageStatus.ADDED, ("5 objects",), ("f",)),
        PackageGroup(
            PackageStatus.CHANGED,
            ("re-creates 1 topology", "gangs 1 created, 2 deleted", "loses 1 constraint"),
            ("c1", "c2"),
        ),
        PackageGroup(PackageStatus.CHANGED, ("gangs 3 changed", "1 other change"), ("d",)),
        PackageGroup(PackageStatus.PASSING, ("1 gang no longer fits",), ("h",)),
        PackageGroup(PackageStatus.PASSING, ("1 gang does not fit",), ("i",)),
    )
    assert (summary.number(PackageStatus.FAILING), summarized([]).number(PackageStatus.FAILING)) == (2, 0)
