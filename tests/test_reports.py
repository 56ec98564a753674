"""A case for every place in the code that reports something to users: the test finds the places itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.reports import NOTED, Site, sites

CASES = (
    "cli",
    "diff",
    "discovery",
    "fleet",
    "frontends",
    "migrate",
    "render",
    "repositories",
    "schedulers",
    "validate",
)
"""The folders of tests that assert whole outputs of cases and tables."""

ELSEWHERE = re.compile(r"\bSHARED\b|\bshared: Path\b|goldens")
"""What tests say that read the goldens, which stand beside the clone."""


def files() -> list[str]:
    """Files of tests whose cases are the repository's own."""
    found = [path for folder in CASES for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))]
    return [str(path) for path in found if not ELSEWHERE.search(path.read_text(encoding="utf-8"))]


def reported(folder: Path) -> set[Site]:
    """The places that the cases come by; neither laws nor clients, whose examples differ from run to run."""
    # As many processes as the run that this is a part of, which is near its end.
    workers = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")
    words = ["-p", "tests.reports", "-p", "no:cacheprovider", "-n", workers, "-q"]
    cases = ["-m", "not (hypothesis or slow or client)", *files()]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, *cases],
        cwd=ROOT,
        env={name: text for name, text in os.environ.items() if "XDIST" not in name} | {NOTED: str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {Site(*place) for noted in folder.iterdir() for place in json.loads(noted.read_text(encoding="utf-8"))}


@pytest.mark.slow
def test_every_place_that_reports_something_has_a_case(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--without-native"):
        pytest.skip("the places do not depend on the reader of YAML, and another run comes by them")
    seen = reported(tmp_path)

    assert seen <= sites()
    assert [f"{place.file}:{place.line}: {place.text}" for place in sorted(sites() - seen)] == []


def test_the_places_are_those_of_findings_and_of_what_becomes_one() -> None:
    by_file = {place.file.removeprefix("fn/packwise/") for place in sites()}

    assert len(sites()) > 400
    assert by_file >= {
        "commands/migrate/rewrite.py",
        "frontends/grove/rules/cliques.py",
        "frontends/grove/schema/check.py",
        "frontends/osmo/rules/pools.py",
        "schedulers/kai/podgroup_tree.py",
        "topology/known.py",
        "validate/structure.py",
    }
