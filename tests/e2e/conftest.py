"""The control plane of the tests, and its output if a test failed."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e.process import Servers
from tests.places import ROOT, missing

LOGS = ROOT / "build" / "e2e"
"""The folder of logs. It is kept until the tests run again."""

_TAIL, _WIDTH = 8, 300


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and Path(__file__).parent in item.path.parents:
        for log in sorted((LOGS / item.path.stem).glob("*.log")):
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL:]
            text = "\n".join([line[:_WIDTH] for line in lines])
            report.sections.append((f"end of {log.relative_to(ROOT)}", text))
    return report


@pytest.fixture(scope="session", autouse=True)
def private_network() -> None:
    """Require a private network, because these servers trust every client and listen on all addresses."""
    interfaces = Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()[2:]
    if [line.partition(":")[0].strip() for line in interfaces] != ["lo"]:
        missing("this is not a private network namespace: `make e2e` runs these tests in one")


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest) -> Generator[Servers]:
    """Yield the servers for the tests of one module, and stop them after the last test."""
    logs = LOGS / request.path.stem
    shutil.rmtree(logs, ignore_errors=True)
    started = Servers(logs)
    yield started
    started.stop()
