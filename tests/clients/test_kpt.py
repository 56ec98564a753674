"""kpt runs packwise: kpt-package/ as users copy it, rendered in place, evaluated and piped."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.running import Ran, files_of, run
from tests.places import ROOT

pytestmark = pytest.mark.client

Expect = Callable[[str, str], None]
Kpt = Callable[..., Ran]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a copy of kpt-package/ in which kpt may write."""
    return Path(shutil.copytree(ROOT / "kpt-package", tmp_path / "inference"))


@pytest.fixture
def call(kpt: Path, packwise: Path, package: Path) -> Kpt:
    """Return a function that runs kpt in the folder of the package."""

    def one(*words: str) -> Ran:
        return run([kpt, *words], cwd=package.parent, packwise=packwise)

    return one


@pytest.fixture
def shell(packwise: Path, package: Path, kpt: Path) -> Kpt:
    """Return a function that runs a line of bash in the folder of the package."""
    assert kpt.exists()

    def one(line: str) -> Ran:
        return run(["bash", "-c", line], cwd=package.parent, packwise=packwise)

    return one


def listing(files: dict[str, str]) -> str:
    """Return all files as one text, to be compared as a whole."""
    return "".join(f"===== {name}\n{text}" for name, text in files.items())


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} does not contain {old!r}: the test edits nothing"
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_render_writes_the_package(package: Path, call: Kpt, assert_expected: Expect) -> None:
    rendered = call("fn", "render", "inference", "--allow-exec")

    assert rendered.code == 0, rendered.stderr
    assert_expected("clients/kpt/render.txt", listing(files_of(package)))


def test_second_render_changes_no_byte(package: Path, call: Kpt) -> None:
    call("fn", "render", "inference", "--allow-exec")
    first = files_of(package)

    again = call("fn", "render", "inference", "--allow-exec")

    assert again.code == 0, again.stderr
    assert files_of(package) == first


def test_every_line_of_the_author_survives(package: Path, call: Kpt) -> None:
    """packwise and kpt only add lines. Comments, quotes, anchors, flow style and block scalars stay."""
    before = files_of(package)

    call("fn", "render", "inference", "--allow-exec")

    after = files_of(package)
    for name, text in before.items():
        remaining = iter(after[name].splitlines())
        lost = [line for line in text.splitlines() if line not in remaining]
        assert lost == [], name


def test_files_without_workloads_keep_every_byte(package: Path, call: Kpt) -> None:
    before = files_of(package)

    call("fn", "render", "inference", "--allow-exec")

    after = files_of(package)
    assert {name: after[name] for name in before if name != "inference.yaml"} == {
        name: text for name, text in before.items() if name != "inference.yaml"
    }


def test_eval_gives_what_render_gives(package: Path, call: Kpt) -> None:
    call("fn", "render", "inference", "--allow-exec")
    rendered = files_of(package)
    shutil.rmtree(package)
    shutil.copytree(ROOT / "kpt-package", package)

    evaluated = call("fn", "eval", "inference", "--exec", "packwise fn", "--fn-config", "inference/topology.yaml")

    assert evaluated.code == 0, evaluated.stderr
    assert files_of(package) == rendered


def test_pipe_gives_what_render_gives(package: Path, call: Kpt, shell: Kpt, tmp_path: Path) -> None:
    piped = shell("set -o pipefail; kpt fn source inference | packwise fn | kpt fn sink rendered")
    call("fn", "render", "inference", "--allow-exec")

    assert piped.code == 0, piped.stderr
    expected = files_of(package)
    del expected["README.md"]  # no resource: kpt fn source leaves it out
    assert files_of(tmp_path / "rendered") == expected


def test_render_to_stdout_touches_no_file(package: Path, call: Kpt, assert_expected: Expect) -> None:
    before = files_of(package)

    printed = call("fn", "render", "inference", "--allow-exec", "-o", "unwrap")

    assert printed.code == 0, printed.stderr
    assert files_of(package) == before
    assert_expected("clients/kpt/unwrap.yaml", printed.stdout)


def test_gangs_that_no_longer_belong_lose_their_files(package: Path, call: Kpt, assert_expected: Expect) -> None:
    call("fn", "render", "inference", "--allow-exec")
    edit(package / "inference.yaml", "  replicas: 2 # one per model copy", "  replicas: 1 # one per model copy")

    rendered = call("fn", "render", "inference", "--allow-exec")

    assert rendered.code == 0, rendered.stderr
    assert "inference-1" not in listing(files_of(package))
    assert_expected("clients/kpt/fewer-replicas.txt", listing(files_of(package)))


def test_refused_workload_leaves_every_file_and_shows_the_results(
    package: Path, call: Kpt, assert_expected: Expect
) -> None:
    edit(package / "inference.yaml", "packDomain: rack", "packDomain: block")
    before = files_of(package)

    rendered = call("fn", "render", "inference", "--allow-exec")

    assert rendered.code == 1
    assert files_of(package) == before
    assert_expected("clients/kpt/unknown-domain.stderr", without_times(rendered.stderr))


def test_refused_workload_fails_the_pipe_and_changes_nothing(package: Path, shell: Kpt, tmp_path: Path) -> None:
    edit(package / "inference.yaml", "packDomain: rack", "packDomain: block")

    piped = shell("set -o pipefail; kpt fn source inference | packwise fn | kpt fn sink rendered")

    assert piped.code == 1
    before = files_of(package)
    del before["README.md"]
    assert files_of(tmp_path / "rendered") == before


def test_results_folder_holds_every_field(package: Path, call: Kpt, assert_expected: Expect, tmp_path: Path) -> None:
    edit(package / "inference.yaml", "packDomain: rack", "packDomain: block")

    call("fn", "render", "inference", "--allow-exec", "--results-dir", "results")

    assert_expected("clients/kpt/results.yaml", (tmp_path / "results/results.yaml").read_text(encoding="utf-8"))


def test_configuration_as_a_config_map(package: Path, call: Kpt) -> None:
    """`configMap:` in the Kptfile has the same fields as data. Each value is a YAML text."""
    call("fn", "render", "inference", "--allow-exec")
    gangs = {name: text for name, text in files_of(package).items() if "\nkind: PodGang\n" in text}
    shutil.rmtree(package)
    shutil.copytree(ROOT / "kpt-package", package)
    (package / "topology.yaml").unlink()
    edit(
        package / "Kptfile",
        "    configPath: topology.yaml\n",
        "    configMap:\n"
        "      revision: v0.1.0-alpha.8\n"
        '      topologyAwareScheduling: "{enabled: true, levels: ['
        "{domain: zone, key: topology.kubernetes.io/zone}, {domain: rack, key: example.com/rack},"
        ' {domain: host, key: kubernetes.io/hostname}]}"\n'
        '      scheduler: "{profiles: [{name: kai-scheduler, default: true}]}"\n',
    )

    rendered = call("fn", "render", "inference", "--allow-exec")

    assert rendered.code == 0, rendered.stderr
    assert gangs
    assert {name: text for name, text in files_of(package).items() if "\nkind: PodGang\n" in text} == gangs


def without_times(text: str) -> str:
    """Return the output of kpt with the duration of the function replaced: `in 100ms` becomes `in …`."""
    return "".join(
        line.rsplit(" in ", 1)[0] + " in …\n" if line.startswith(("[FAIL]", "[PASS]")) else line
        for line in text.splitlines(keepends=True)
    )
