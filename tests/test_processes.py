"""How many processes work at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from packwise import processes
from packwise.processes import most_processes, processes_of, usable

pytestmark = pytest.mark.skipif(not usable(), reason="one process works on this system")


def processors(number: int) -> Callable[[int], set[int]]:
    def affinity(process: int) -> set[int]:
        assert process == 0
        return set(range(number))

    return affinity


@pytest.mark.parametrize(
    ("quota", "number"),
    [
        ("max 100000\n", 4),
        ("400000 100000\n", 4),
        ("900000 100000\n", 4),
        ("150000 100000\n", 2),
        ("100000 100000\n", 1),
        ("10000 100000\n", 1),
        ("0 100000\n", 1),
        ("200000 0\n", 4),
        ("200000\n", 4),
        ("", 4),
        (None, 4),
    ],
)
def test_a_limit_of_the_container_counts(
    quota: str | None, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if quota is not None:
        (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(processes, "_QUOTA", str(tmp_path / "cpu.max"))
    monkeypatch.setattr(os, "sched_getaffinity", processors(8))

    assert most_processes() == number
    assert processes_of(None) == number
    assert processes_of(3) == 3


def test_processors_of_this_process_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_QUOTA", "/nowhere")
    monkeypatch.setattr(os, "sched_getaffinity", processors(2))

    assert most_processes() == 2
