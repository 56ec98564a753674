"""A test of a table fails if a row fails, and names every row that fails."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tables import assert_each


class Config:
    """The value of `--row` for a run."""

    def __init__(self, row: str = "") -> None:
        self.row = row

    def getoption(self, name: str) -> str:
        assert name == "--row"
        return self.row


ROWS = {"one": 1, "two": 2, "three": 3}


def is_two(row: int) -> None:
    assert row == 2


def test_every_row_that_fails_is_named() -> None:
    config: Any = Config()

    with pytest.raises(ExceptionGroup, match="2 of 3 rows fail: one, three") as caught:
        assert_each(ROWS, is_two, config)

    assert [error.__notes__ for error in caught.value.exceptions] == [["row: one"], ["row: three"]]


def test_rows_are_chosen_by_their_names() -> None:
    seen: list[int] = []
    config: Any = Config("t")

    assert_each(ROWS, seen.append, config)

    assert seen == [2, 3]


def test_a_table_without_rows_is_none() -> None:
    config: Any = Config()

    with pytest.raises(AssertionError, match="no rows"):
        assert_each({}, is_two, config)
