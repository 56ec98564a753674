"""If several results have the same message, the first few are shown, with the number of the others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from krmfn.result import ResourceRef, Result, ResultFile, Severity, Shown, group_results, grouped_lines


def warning(number: int, text: str = 'must not be "a"', severity: Severity = Severity.WARNING) -> Result:
    return Result(text, severity, file=ResultFile(f"{number}.yaml"), tags={"rule": "r"})


@pytest.mark.parametrize(
    ("number", "shown"), [(0, []), (1, [0]), (3, [0, 0, 0]), (4, [0, 0, 0, 0]), (5, [0, 0, 2]), (1000, [0, 0, 997])]
)
def test_the_first_three_are_shown_and_no_line_stands_for_one_alone(number: int, shown: list[int]) -> None:
    results = [warning(each) for each in range(number)]

    kept = group_results(results)

    assert [each.alike for each in kept] == shown
    assert [each.result for each in kept] == results[: len(shown)]


def test_values_and_numbers_make_no_other_form() -> None:
    results = [warning(each, f'must be {each} or more; got "{each}a"') for each in range(9)]

    assert [each.alike for each in group_results(results)] == [0, 0, 6]


ROWS: list[tuple[str, Sequence[Result], list[str]]] = [
    (
        "forms stand in their order, each with its own rest",
        [*[warning(each) for each in range(5)], warning(5, "other"), *[warning(each) for each in range(6, 8)]],
        [
            *[f'warning: {each}.yaml: must not be "a" [r]' for each in range(3)],
            "warning: … and 4 more [r]; HINT",
            "warning: 5.yaml: other [r]",
        ],
    ),
    (
        "severities make other forms, and infos about an object are not shown",
        [
            warning(1),
            warning(2, severity=Severity.ERROR),
            warning(3, severity=Severity.INFO).replace(resource_ref=ResourceRef("v1", "ConfigMap", "", "a")),
            Result("there is nothing to do", Severity.INFO),
        ],
        [
            'warning: 1.yaml: must not be "a" [r]',
            'error: 2.yaml: must not be "a" [r]',
            "info: there is nothing to do",
        ],
    ),
    (
        "a result without a rule",
        [Result("a", Severity.WARNING)] * 5,
        [*["warning: a"] * 3, "warning: … and 2 more; HINT"],
    ),
]


@pytest.mark.parametrize(("results", "lines"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_lines(results: Sequence[Result], lines: list[str]) -> None:
    assert grouped_lines(results, "HINT") == lines


def test_of_a_rule_whose_results_have_one_cause_the_first_is_shown_alone() -> None:
    results = [*[warning(each) for each in range(9)], warning(9, 'must not be "b"'), warning(10)]

    kept = group_results(results, alone={"r"})

    assert kept == [Shown(results[0], 9), Shown(results[9], 0)]
