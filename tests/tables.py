"""Tests of a table: one test for all rows is faster than a test for each row. It names the rows that fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import pytest

__all__ = ["assert_each", "each"]

Row = TypeVar("Row")


def each(rows: Callable[[], Mapping[str, Row]]) -> Callable[[Callable[[Row], None]], Callable[[pytest.Config], None]]:
    """Return a decorator that makes a test from a check of one row.

    `rows` returns the rows by name when the test runs.
    """

    def decorate(check: Callable[[Row], None]) -> Callable[[pytest.Config], None]:
        def test(pytestconfig: pytest.Config) -> None:
            assert_each(rows(), check, pytestconfig)

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate


def assert_each(rows: Mapping[str, Row], check: Callable[[Row], None], config: pytest.Config) -> None:
    """Run `check` on every row, or on the rows with `--row` in their names. Fail with the failures of all rows."""
    assert rows, "the table has no rows"
    part = str(config.getoption("--row"))
    failed: dict[str, Exception] = {}
    for name, row in rows.items():
        if part in name:
            try:
                check(row)
            except Exception as error:
                error.add_note(f"row: {name}")
                failed[name] = error
    if failed:
        raise ExceptionGroup(f"{len(failed)} of {len(rows)} rows fail: {', '.join(failed)}", list(failed.values()))
