"""Fixtures of all tests: the `--update` option, the executables under test, upstream's CRDs."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from krmfn.difference import difference
from tests.absent import env_without
from tests.places import CRDS, KYAML_ORACLE, NO_CRDS, ROOT, TESTDATA, TOOLS, in_ci, missing
from tests.without.sitecustomize import block

# A hook of git, and `git bisect run`, set variables that name their repository. Every git would use it, also in tests.
for each in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"):
    os.environ.pop(each, None)

if not in_ci():
    # As in Hypothesis' own profile for CI, there is no deadline, because the speed depends on the machine. But examples
    # are new every time.
    settings.register_profile("packwise", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("packwise")
# A property is tested with a hundred examples. After a change of the tested code, run `pytest -m hypothesis
# --hypothesis-profile thorough`.
settings.register_profile("thorough", parent=settings.default, max_examples=3000)

CHANGE = "change of an expected output"
"""The property of a test with its unified diff. The xdist worker that ran the test reports it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite expected outputs and print what changed")
    parser.addoption("--row", default="", help="of tests of a whole table, the rows with TEXT in their names")
    parser.addoption("--without-native", action="store_true", help="run as if krmfn's native core was not installed")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update") and in_ci():
        raise pytest.UsageError(
            "--update rewrites expected outputs: run it on your machine, read the change, commit it"
        )
    if config.getoption("--without-native"):
        # Processes that tests start inherit the variable. Workers of xdist block the module at their start.
        os.environ.update(env_without("krmfn_native"))
        block()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--update`, run only the tests that can rewrite an expected output."""
    if config.getoption("--update"):
        others = [item for item in items if updates_expected.__name__ not in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    finished = [report for reports in terminalreporter.stats.values() for report in reports]
    for report in finished:
        if getattr(report, "when", "") == "call":
            for change in [text for name, text in report.user_properties if name == CHANGE]:
                terminalreporter.write(change)
    skipped: list[pytest.TestReport] = terminalreporter.stats.get("skipped", [])
    without = sum(NO_CRDS in str(report.longrepr) for report in skipped)
    if without:
        terminalreporter.write_line(f"{without} tests {NO_CRDS}")


def built(path: Path, name: str) -> Path:
    """Return the pinned build under .cache/tools. A build of another version on PATH may write other bytes."""
    if not path.exists():
        missing(f"{name} is not built: `make tools` puts it at {path.relative_to(ROOT)}")
    return path


@pytest.fixture(scope="session")
def packwise() -> Path:
    """Return the installed command, as users and clients start it."""
    path = Path(sys.executable).parent / "packwise"
    if not path.exists():
        pytest.fail(f"{path} is not installed: run `make setup`", pytrace=False)
    return path


@pytest.fixture(scope="session")
def kustomize() -> Path:
    return built(TOOLS / "kustomize-v5.8.2" / "kustomize", "kustomize v5.8.2")


@pytest.fixture
def helm(request: pytest.FixtureRequest) -> Path:
    """Return the path of Helm 3. A test for all releases gets each release as an indirect parameter."""
    release = getattr(request, "param", "v3.22.0")
    return built(TOOLS / f"helm-{release}" / "helm", f"helm {release}")


@pytest.fixture(scope="session")
def kubectl_validate() -> Path:
    return built(TOOLS / "kubectl-validate-v0.0.4" / "kubectl-validate", "kubectl-validate v0.0.4")


@pytest.fixture(scope="session")
def kyaml_oracle() -> Path:
    return built(KYAML_ORACLE, "the program that asks kyaml v0.21.2")


@pytest.fixture(scope="session")
def kpt() -> Path:
    found = shutil.which("kpt")
    if found is None:
        missing("kpt is not on PATH: https://kpt.dev/installation/kpt-cli/")
    return Path(found)


@pytest.fixture(scope="session")
def crds() -> Path:
    """Return the folder of upstream's CRDs.

    The repository does not contain them, so a test without them is skipped, also in CI.
    """
    if not CRDS.is_dir():
        pytest.skip(NO_CRDS)
    return CRDS


@pytest.fixture
def here(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., tuple[int, str, str]]:
    """Return the command in this process, for tests/golden/compare.py.

    The start of a process takes most of the time of a small run.
    """
    from packwise.cli.command_line import main

    def one(*words: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main(words)
        out, err = capsysbinary.readouterr()
        return code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    return one


@pytest.fixture(scope="session")
def updates_expected(pytestconfig: pytest.Config) -> bool:
    """Return True if `--update` rewrites expected outputs. Only tests with this fixture run then."""
    return bool(pytestconfig.getoption("--update"))


@pytest.fixture
def assert_expected(
    updates_expected: bool, record_property: Callable[[str, object], None]
) -> Callable[[str, str], None]:
    """Return a function that compares a text with the file of that name under testdata/.

    With `--update`, the function rewrites the file and reports the change.
    """

    def compare(name: str, actual: str) -> None:
        path = TESTDATA / name
        expected = path.read_text(encoding="utf-8") if path.exists() else None
        if actual == expected:
            return
        change = difference(expected or "", actual, f"testdata/{name}", "this run")
        if not updates_expected:
            pytest.fail(
                f"the output differs from testdata/{name} (`make update-goldens` rewrites it):\n{change}", pytrace=False
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(actual, encoding="utf-8")
        record_property(CHANGE, change or f"--- testdata/{name}: new and empty\n")

    return compare
