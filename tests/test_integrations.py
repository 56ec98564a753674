"""The files by which pre-commit, GitHub and GitLab start packwise, and the configurations in their pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.calling import CONFIG, WORKLOAD, write
from tests.places import ROOT

PAGES = ROOT / "docs" / "how-to"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
BROKEN = WORKLOAD.replace("rack", "block")


def snippet(page: str) -> str:
    """The first YAML of a page."""
    found = re.search(r"^```yaml\n(.*?)^```$", (PAGES / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None, page
    return found[1]


def scripts() -> list[str]:
    return [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]


SCHEMAS = {
    "vendor.github-actions": (ROOT / "action.yml").read_text(encoding="utf-8"),
    "vendor.github-workflows": snippet("github-actions.md"),
    "vendor.gitlab-ci": snippet("gitlab.md"),
}
FLUX_WORKFLOW = (ROOT / "flux" / "github-workflow.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("schema", "text"), [*SCHEMAS.items(), ("vendor.github-workflows", FLUX_WORKFLOW)], ids=[*SCHEMAS, "flux"]
)
def test_schemas(schema: str, text: str, tmp_path: Path) -> None:
    write(tmp_path, {"file.yml": text})
    command = [Path(sys.executable).parent / "check-jsonschema", "--builtin-schema", schema, "file.yml"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "ok -- validation done\n"), done.stdout


def test_the_pre_commit_hook() -> None:
    assert yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")) == [
        {
            "id": "packwise-check",
            "name": "packwise check",
            "description": "Checks Grove workloads and their topology as the operator's webhooks would.",
            "entry": "packwise check",
            "language": "python",
            "additional_dependencies": [".[crds]"],
            "args": ["."],
            "pass_filenames": False,
            "files": r"\.(yaml|yml|json)$",
        }
    ]
    (repository,) = yaml.safe_load(snippet("pre-commit.md"))["repos"]
    (hook,) = repository["hooks"]
    assert hook == {"id": "packwise-check", "args": ["clusters/west"], "files": "^clusters/west/"}


def test_pages_name_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

    for page in ("pre-commit.md", "github-actions.md", "gitlab.md"):
        named = re.findall(r"packwise(?:@|\n +rev: )([^\s\"#]+)", snippet(page) + "\n")
        assert set(named) == {f"v{version}"}, page
    assert re.findall(r"packwise==(\S+)", FLUX_WORKFLOW) == [version]


@pytest.mark.parametrize(
    ("file", "module", "names"),
    [
        ("docs/how-to/flux.md", "github.com/fluxcd/source-controller", "source-controller {}"),
        ("docs/how-to/flux.md", "github.com/fluxcd/kustomize-controller", "kustomize-controller {}"),
        ("docs/how-to/argocd.md", "github.com/argoproj/argo-cd/v3", "Argo CD {}"),
        ("docs/how-to/argocd.md", "github.com/argoproj/argo-cd/v3", "argo-cd/{}/manifests"),
        ("Dockerfile", "github.com/argoproj/argo-cd/v3", "quay.io/argoproj/argocd:{} "),
    ],
)
def test_what_is_named_is_what_is_tested(file: str, module: str, names: str) -> None:
    """`make e2e` runs the versions of its Go module."""
    go = (ROOT / "tests/e2e/control_plane/go.mod").read_text(encoding="utf-8")
    version = re.search(rf"^\t{re.escape(module)} (v\S+)$", go, re.MULTILINE)

    assert version is not None
    assert names.format(version[1]) in " ".join((ROOT / file).read_text(encoding="utf-8").split())


def test_actions_are_pinned_by_their_whole_version() -> None:
    used = re.findall(
        r"uses: (\S+)", (ROOT / "action.yml").read_text(encoding="utf-8") + snippet("github-actions.md") + FLUX_WORKFLOW
    )

    assert [one for one in used if not re.search(r"@v\d+\.\d+\.\d+$", one)] == []


def test_the_page_lists_the_inputs_of_the_action() -> None:
    page = (PAGES / "github-actions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+)` \| (?:`([^`]*)` )?\|", page, re.MULTILINE)

    assert rows == [(name, given["default"]) for name, given in ACTION["inputs"].items()]


def test_the_action_installs_what_the_locks_pin() -> None:
    install = scripts()[0]

    assert [name for name in re.findall(r"\$GITHUB_ACTION_PATH/([^\"]+)", install) if not (ROOT / name).exists()] == []
    assert install.rstrip().endswith('--no-index "$GITHUB_ACTION_PATH"')
    assert install.count("--require-hashes") == 2


def test_scripts_of_the_action_take_inputs_from_the_environment_alone() -> None:
    """What stands in a script as an expression, a pull request could make part of the script."""
    assert [script for script in scripts() if "${{" in script] == []


@pytest.fixture
def runner(tmp_path: Path, packwise: Path) -> Path:
    """A runner's temporary folder after packwise was installed, beside a workspace with an error in it."""
    (tmp_path / "temp/packwise/bin").mkdir(parents=True)
    (tmp_path / "temp/packwise/bin/packwise").symlink_to(packwise)
    write(tmp_path / "work", {"clusters/my west/topology.yaml": CONFIG, "clusters/my west/web.yaml": BROKEN})
    return tmp_path


def check(runner: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    given = {"PATHS": "clusters", "CONFIG": "", "BASELINE": "", "CRDS": "", "FORMAT": "github", "UPLOAD": "false"}
    environment = {**os.environ, **given, **inputs, "RUNNER_TEMP": str(runner / "temp")}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", scripts()[1]]
    return subprocess.run(
        command, cwd=runner / "work", env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_action_checks(runner: Path) -> None:
    done = check(runner)

    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("::error file=clusters/my west/web.yaml,line=10,col=38,title=packwise (topology-dom")
    assert not (runner / "temp/packwise.sarif").exists()


def test_the_action_takes_several_paths_a_configuration_and_a_baseline(runner: Path) -> None:
    web, topology = "clusters/my west/web.yaml", "clusters/my west/topology.yaml"

    several = check(runner, PATHS=f"{topology}\n{web}\n\n")
    configured = check(runner, PATHS=web, CONFIG=topology, FORMAT="text")
    existing = check(runner, PATHS=web, CONFIG=topology, BASELINE=web, FORMAT="text")

    assert (several.returncode, several.stdout.split(",")[0]) == (1, f"::error file={web}")
    assert (configured.returncode, configured.stdout.split(": ")[:2]) == (1, ["error", f"{web}:10:38"])
    # A workload that stands in the cluster keeps a level that is gone.
    assert (existing.returncode, existing.stdout.split(": ")[:2]) == (0, ["warning", f"{web}:10:38"])


def test_the_action_takes_definitions(runner: Path) -> None:
    assert (
        'error: --crds "clusters", "clusters/my west" must hold the CRD'
        in check(runner, CRDS="clusters\nclusters/my west\n").stderr
    )


def test_the_action_writes_sarif_and_still_fails(runner: Path) -> None:
    done = check(runner, UPLOAD="true")

    assert done.returncode == 1
    assert '"ruleId": "topology-domain-unknown"' in (runner / "temp/packwise.sarif").read_text(encoding="utf-8")


def test_the_action_refuses_wrong_usage(runner: Path) -> None:
    assert "does not exist" in check(runner, PATHS="nothing", UPLOAD="true").stderr
    assert check(runner, PATHS="nothing").returncode == 2
