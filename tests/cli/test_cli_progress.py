"""A progress bar while many files are read. It appears only on a terminal, on stderr, and is removed at the end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from packwise.console import track_files
from packwise.inputs.paths import InputPath
from tests.cli.calling import CHOSEN, CONFIG, WORKLOAD, Call, write

MANY = [InputPath(f"{number}.yaml") for number in range(200)]


@pytest.mark.parametrize(("terminal", "files"), [(False, MANY), (True, MANY[:99]), (True, [])])
def test_nothing_is_drawn(
    terminal: bool, files: list[InputPath], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)

    assert list(track_files(files)) == files
    assert capsys.readouterr() == ("", "")


def test_the_bar_grows_and_goes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    assert list(track_files(MANY)) == MANY

    out, err = capsys.readouterr()
    drawn = err.split("\r")
    assert out == ""
    assert drawn[1] == f"reading [{' ' * 40}] 0 of 200 files"
    assert drawn[41] == f"reading [{'#' * 20}{' ' * 20}] 100 of 200 files"
    assert drawn[-2:] == [" " * 78, ""]
    assert max(len(one) for one in drawn) == 78


def test_the_bar_goes_when_reading_ends_early(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    reading = track_files(MANY)

    next(reading)
    reading.close()  # type: ignore[attr-defined]

    assert capsys.readouterr().err.endswith(f"\r{' ' * 78}\r")


def test_a_check_of_many_files(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    names = {f"in/{number}.yaml": WORKLOAD.replace("name: web ", f"name: web-{number} ") for number in range(150)}
    write(tmp_path, {"in/topology.yaml": CONFIG, **names})

    ran = call("check", "in")

    assert (ran.code, ran.stdout) == (0, "")
    assert ran.stderr.endswith(f"no findings in 151 files{CHOSEN.replace('1 workload', '150 workloads')}\n")
    assert "] 75 of 151 files\r" in ran.stderr
