"""The command line in this process, in a folder of its own."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from packwise.cli import main
from tests.cli.calling import CONFIG, SERVICE, WORKLOAD, Call, Ran, write


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Call:
    """Run the command in `tmp_path`."""
    monkeypatch.chdir(tmp_path)

    def one(*words: str, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main(words)
        out, err = capsysbinary.readouterr()
        return Ran(code, out.decode(), err.decode())

    return one


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with a configuration, a workload and a Service."""
    folder = tmp_path / "in"
    write(folder, {"topology.yaml": CONFIG, "web/workload.yaml": WORKLOAD, "web/service.yaml": SERVICE})
    return folder
