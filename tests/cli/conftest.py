"""The command line in this process, in a separate folder."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from packwise.cli.command_line import main
from tests.cli.calling import CONFIG, SERVICE, WORKLOAD, AssertEach, Call, Ran, write
from tests.tables import assert_each


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Call:
    """Return a function that runs the command in `tmp_path`."""
    monkeypatch.chdir(tmp_path)

    def one(*words: str, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main(words)
        out, err = capsysbinary.readouterr()
        return Ran(code, out.decode(), err.decode())

    return one


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a folder with a configuration, a workload and a Service."""
    folder = tmp_path / "in"
    write(folder, {"topology.yaml": CONFIG, "web/workload.yaml": WORKLOAD, "web/service.yaml": SERVICE})
    return folder


@pytest.fixture
def assert_each_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> AssertEach:
    """Return a function that runs a check on every row of a table, each in a separate repository."""

    def all_rows(rows: Mapping[str, Any], check: Callable[[Any, Path], None]) -> None:
        def one(row: tuple[int, Any]) -> None:
            folder = tmp_path / str(row[0])
            (folder / ".git").mkdir(parents=True)
            monkeypatch.chdir(folder)
            check(row[1], folder)

        assert_each({name: (number, rows[name]) for number, name in enumerate(rows)}, one, pytestconfig)

    return all_rows
