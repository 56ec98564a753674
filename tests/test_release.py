"""`make release-check` reports the errors of an incomplete release, and versions in pages that do not exist."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from supplychain.native import CRATE, TARGETS, build_wheel, missing_tools
from supplychain.release import (
    bill_faults,
    missing_from_context,
    pages,
    references,
    unpinned_warnings,
    wrong_references,
)
from tests.clients.running import run
from tests.places import ROOT, TOOLS, missing

VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"


def tags() -> list[str]:
    done = subprocess.run(["git", "tag", "--list", "v*"], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_no_page_names_a_version_that_does_not_exist() -> None:
    named = list(references(pages()))

    assert {reference.kind for reference in named} == {"component", "git", "hook", "image"}
    assert len({reference.page for reference in named}) > 8
    assert wrong_references(named, VERSION, tags()) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("pipx install packwise==9.9.9\n", "9.9.9: a release (v1.0.0)"),
        ("pip install 'packwise[crds]==1.0.0'\n", ""),
        ("krmfn==0.9\n", "0.9: a release (v1.0.0)"),
        ("git+https://a.com/packwise@v1.0.0#subdirectory=fn/krmfn\n", ""),
        ("git+https://a.com/packwise.git@v2\n", "v2: COMMIT, main or a tag (v1.0.0)"),
        ("uses: a/packwise@COMMIT\n", ""),
        ("uses: a/packwise@main\n", ""),
        ("component: a/packwise/check@v2\n", "v2: COMMIT, main or a tag (v1.0.0)"),
        ("- repo: https://a.com/packwise\n  rev: v2\n", "v2: COMMIT, main or a tag (v1.0.0)"),
        ("image: packwise:1.1.0\n", ""),
        ("image: a.io/packwise@sha256:0\n", ""),
        ("image: packwise-argocd-plugin:1.0.0\n", "1.0.0: 1.1.0, which this tree builds"),
        ("pypi: repackwise==3, other@v2, packwise==X.Y.Z\n", ""),
    ],
)
def test_versions_that_pages_name(text: str, wrong: str) -> None:
    version, _, known = wrong.partition(": ")
    message = f"names version {version}, which does not exist; use {known}"

    found = wrong_references(references({"a.md": f"\n{text}"}), "1.1.0", ["v1.0.0"])

    assert [each.partition(": ")[2] for each in found] == ([message] if wrong else [])
    assert all(each.startswith(("a.md:2: ", "a.md:3: ")) for each in found)


def test_a_wheel_without_its_bill_of_materials(tmp_path: Path) -> None:
    bill, wheel = tmp_path / "a.cdx.json", tmp_path / "a-1-py3-none-any.whl"
    bill.write_text("{}", encoding="utf-8")
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a-1.dist-info/sboms/a.cdx.json", "{ }")

    assert bill_faults(wheel, bill) == [
        "a-1-py3-none-any.whl lacks this tree's .dist-info/sboms/a.cdx.json; run make sbom, and build it again"
    ]


def test_each_line_that_is_not_pinned_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supplychain.release.unpinned_lines", lambda: ["a.yml:1: a/b@v1 is not pinned by digest"])

    assert unpinned_warnings() == [
        "warning: a.yml:1: a/b@v1 is not pinned by digest",
        "warning: the tags in these lines can move; run `make pins` with network access",
    ]
    monkeypatch.setattr("supplychain.release.unpinned_lines", list)
    assert unpinned_warnings() == []


def test_a_context_without_what_the_image_copies() -> None:
    dockerfile = "FROM a AS b\nCOPY a.lock b.lock ./\nCOPY --chmod=755 c/d.sh /d\nCOPY --from=b /x /y\nCOPY fn fn\n"

    wrong = missing_from_context(dockerfile, "*\n!a.lock\n!c/d.sh\n!fn\n", ["a.lock", "b.lock", "fn/a.py"])

    assert [each.split()[2].rstrip(",") for each in wrong] == ["b.lock", "c/d.sh"]


@pytest.mark.slow
@pytest.mark.client
def test_a_release_of_this_tree_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The requested tag differs from the version of the tree. `make release-check` requests no tag."""
    command = [ROOT / ".venv/bin/python", "-m", "supplychain.release", tmp_path / "dist", "v99.0.0"]
    environment = {"SOURCE_DATE_EPOCH": "1767225600", "PATH": "/usr/bin:/bin"}

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    monkeypatch.setenv("PATH", environment["PATH"])
    lacks = {target.machine: missing_tools(target) for target in TARGETS}
    native = [f"warning: no wheel of krmfn-native for Linux on {name}: {lack}" for name, lack in lacks.items() if lack]
    tagged = [
        f"tag v99.0.0: must be v{VERSION}, the version in pyproject.toml",
        "CHANGELOG.md: must have a section ## [" + VERSION + "]",
    ]
    said = [f"release-check: {line}" for line in (*unpinned_warnings(), *tagged, *native)]
    assert (done.returncode, done.stderr.splitlines()) == (1, said)
    names = ["krmfn", "krmfn", *["krmfn_native" for lack in lacks.values() if not lack], "packwise", "packwise"]
    assert sorted(line.split("  ")[1].partition("-")[0] for line in done.stdout.splitlines()) == names


def test_what_is_published_is_what_was_checked() -> None:
    jobs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]

    assert any(step.get("run", "").startswith("make release-check") for step in jobs["build"]["steps"])
    assert {name: job.get("needs") for name, job in jobs.items()} == {"build": None, "pypi": "build", "image": "build"}
    assert jobs["pypi"]["permissions"] == {"id-token": "write"}
    signs = [step["run"] for step in jobs["image"]["steps"] if step.get("run", "").startswith("cosign")]
    assert signs == ['cosign sign --yes "$IMAGE@$DIGEST"']


@pytest.mark.client
def test_actionlint_takes_the_workflows(packwise: Path, tmp_path: Path) -> None:
    actionlint = TOOLS / "actionlint-v1.7.12" / "actionlint"
    if not actionlint.exists():
        missing("actionlint is not built: `make tools` does it")
    shutil.copy(ROOT / "flux/github-workflow.yaml", tmp_path / "flux.yaml")
    subprocess.run([packwise, "init", "west", "--for", "github"], cwd=tmp_path, check=True, capture_output=True)
    (written,) = tmp_path.rglob(".github/workflows/packwise.yaml")

    linted = run([actionlint, "-no-color", WORKFLOW, tmp_path / "flux.yaml", written], cwd=ROOT, packwise=packwise)

    assert (linted.code, linted.stdout) == (0, "")


READ = """
import json, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from krmfn.yamltext import read
from krmfn.yamltext.reader import CORE
from krmfn.yamltext.edit import set_value
from krmfn.yamltext.places import locate
assert CORE is not None
for path in sorted(Path(sys.argv[1]).glob("*.yaml")):
    text = path.read_text("utf-8")
    print(json.dumps(read(text)), locate(text, ("spec", "template", "cliques", 0)))
    print(set_value(text, ("metadata", "labels", "é"), ["a: b"]))
"""


@pytest.mark.slow
@pytest.mark.client
def test_the_native_core_reads_on_arm64_as_here(tmp_path: Path) -> None:
    (target,) = [each for each in TARGETS if each.machine == "aarch64"]
    lack = "it is of this machine" if target.is_here else missing_tools(target)
    if lack or not all(map(shutil.which, ("qemu-aarch64", "mmdebstrap"))):
        pytest.skip(lack or "qemu-aarch64 and mmdebstrap are not on PATH: make native-tools")
    with zipfile.ZipFile(build_wheel(target, tmp_path)) as wheel:
        wheel.extractall(tmp_path / "core")
    system = tmp_path / "system"
    made = ["mmdebstrap", "--quiet", "--arch=arm64", "--variant=extract", "--include=python3", "trixie", str(system)]
    subprocess.run([*made, "http://deb.debian.org/debian"], check=True)
    (system / "lib").symlink_to("usr/lib")
    words = ["-c", READ, ROOT / "benchmarks" / "manifests"]

    here = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    there = subprocess.run(
        ["qemu-aarch64", "-L", system, system / "usr/bin/python3", "-S", *words, tmp_path / "core", ROOT / "fn"],
        capture_output=True,
        text=True,
        check=True,
        env={"LANG": "C.UTF-8"},
    )

    assert there.stdout == here.stdout
    assert len(here.stdout) > 10_000


@pytest.mark.slow
@pytest.mark.client
def test_the_wheel_of_the_native_core_names_no_folder(tmp_path: Path) -> None:
    """A copy of the sources that is built in another folder, with the crates in another place, gives the same bytes."""
    cargo, home = shutil.which("cargo"), Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    if cargo is None:
        missing("cargo is not on PATH, which builds the native core")
    shutil.copytree(ROOT / "fn" / "krmfn-native", tmp_path / "core", ignore=shutil.ignore_patterns("target"))
    (tmp_path / "cargo").symlink_to(home)
    environment = {
        **os.environ,
        "CARGO_HOME": str(tmp_path / "cargo"),
        "CARGO_TARGET_DIR": str(tmp_path / "target"),
        "RUSTFLAGS": f"--remap-path-prefix={tmp_path / 'cargo'}=/cargo",
        "SOURCE_DATE_EPOCH": "1767225600",
    }
    command = [ROOT / ".venv/bin/maturin", "build", "--quiet", "--release", "--out", tmp_path / "elsewhere"]
    done = subprocess.run(command, cwd=tmp_path / "core", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (elsewhere,) = (tmp_path / "elsewhere").glob("*.whl")
    (tmp_path / "here").mkdir()
    (target,) = [each for each in TARGETS if each.is_here]

    here = build_wheel(target, tmp_path / "here")

    assert here.name == elsewhere.name
    assert hashlib.sha256(here.read_bytes()).hexdigest() == hashlib.sha256(elsewhere.read_bytes()).hexdigest()
    assert bill_faults(here, CRATE / "krmfn-native.cdx.json") == []
