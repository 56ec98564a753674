"""The files by which pre-commit, GitHub and GitLab start packwise, and the configurations in their pages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.calling import CONFIG, WORKLOAD, write
from tests.places import ROOT

PAGES = ROOT / "docs" / "how-to"
RELEASE = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
COMPONENT = (ROOT / "templates" / "check.yml").read_text(encoding="utf-8")
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
    ("schema", "text"),
    [*SCHEMAS.items(), ("vendor.github-workflows", FLUX_WORKFLOW), ("vendor.github-workflows", RELEASE)],
    ids=[*SCHEMAS, "flux", "release"],
)
def test_schemas(schema: str, text: str, tmp_path: Path) -> None:
    write(tmp_path, {"file.yml": text})
    command = [Path(sys.executable).parent / "check-jsonschema", "--builtin-schema", schema, "file.yml"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "ok -- validation done\n"), done.stdout


def test_the_pre_commit_hooks() -> None:
    whole, changed = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    shared = {
        "entry": "packwise check",
        "language": "python",
        "additional_dependencies": [".[crds]"],
        "files": r"\.(yaml|yml|json)$",
    }

    assert {**shared, **whole} == whole
    assert (whole["id"], whole["args"], whole["pass_filenames"]) == ("packwise-check", ["."], False)
    assert {**shared, **changed} == changed
    assert (changed["id"], changed["require_serial"]) == ("packwise-check-changed", True)
    (repository,) = yaml.safe_load(snippet("pre-commit.md"))["repos"]
    (hook,) = repository["hooks"]
    assert hook == {"id": "packwise-check", "args": ["clusters/west"], "files": "^clusters/west/"}


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
        r"uses: (\S+)",
        (ROOT / "action.yml").read_text(encoding="utf-8") + snippet("github-actions.md") + FLUX_WORKFLOW + RELEASE,
    )

    assert [one for one in used if not re.search(r"@v\d+\.\d+\.\d+$|/packwise@COMMIT$", one)] == []


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
    given = {
        "PATHS": "clusters",
        "CHANGED_ONLY": "false",
        "CONFIG": "",
        "BASELINE": "",
        "CRDS": "",
        "FORMAT": "github",
        "UPLOAD": "false",
    }
    environment = {**os.environ, **given, **inputs, "RUNNER_TEMP": str(runner / "temp")}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", scripts()[1]]
    return subprocess.run(
        command, cwd=runner / "work", env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_action_checks(runner: Path) -> None:
    done = check(runner)

    assert done.returncode == 1
    assert re.fullmatch(r"1 error in 2 files; 1 workload judged .*\n", done.stderr)
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


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def committed(folder: Path) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "a")
    return git(folder, "rev-parse", "HEAD").strip()


@pytest.fixture
def history(runner: Path) -> Path:
    """The workspace as a repository: two packages with an error each, of which a commit changes nothing yet."""
    work = runner / "work"
    write(work, {"clusters/east/topology.yaml": CONFIG, "clusters/east/web.yaml": BROKEN})
    git(work, "init", "--quiet")
    committed(work)
    return work


CHANGES: dict[str, tuple[dict[str, str], list[str]]] = {
    "nothing": ({}, []),
    "another kind of file": ({"clusters/README.md": "a\n"}, []),
    "a workload": ({"clusters/my west/web.yaml": f"{BROKEN}# more\n"}, ["clusters/my west/web.yaml"]),
    "a configuration": ({"clusters/east/topology.yaml": f"{CONFIG}# more\n"}, ["clusters/east/web.yaml"]),
    "a file that looks like an option": (
        {"clusters/east/-x.yaml": BROKEN.replace("web", "x")},
        ["clusters/east/-x.yaml"],
    ),
}
"""What a commit changes, and the files whose errors are reported then."""


@pytest.mark.parametrize("change", CHANGES)
def test_the_action_checks_what_changed(change: str, runner: Path, history: Path) -> None:
    files, reported = CHANGES[change]
    write(history, files)
    committed(history)

    done = check(runner, CHANGED_ONLY="true", BASELINE="git:HEAD^1", FORMAT="json")

    if done.stdout == "no changed files to check\n":
        assert (done.returncode, reported) == (0, [])
        return
    found: list[dict[str, Any]] = json.loads(done.stdout)
    # What was wrong before is a warning now.
    assert {finding["file"] for finding in found if finding["severity"] != "info"} == set(reported)


def test_the_action_checks_the_folder_of_a_file_that_went(runner: Path, history: Path) -> None:
    (history / "clusters/east/topology.yaml").unlink()
    committed(history)

    done = check(runner, CHANGED_ONLY="true", BASELINE="git:HEAD^1", FORMAT="json")

    assert {finding["file"] for finding in json.loads(done.stdout)} == {"clusters/east/web.yaml"}


@pytest.mark.parametrize("baseline", ["", "clusters", "git:nothing"])
def test_the_action_wants_a_commit_to_tell_what_changed(baseline: str, runner: Path, history: Path) -> None:
    committed(history)

    assert check(runner, CHANGED_ONLY="true", BASELINE=baseline).returncode not in (0, 1)


def component(runner: Path, packwise: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The script of GitLab's component, with `pip` that installs nothing."""
    _, job = yaml.safe_load_all(COMPONENT)
    script = "\n".join(job["packwise"]["script"])
    (runner / "bin").mkdir(exist_ok=True)
    (runner / "bin/pip").write_text('#!/bin/sh\necho "$@" >> "$PIP_LOG"\n', encoding="utf-8")
    (runner / "bin/pip").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(runner / "bin"), str(packwise.parent), os.environ["PATH"]]),
        "PIP_LOG": str(runner / "pip.log"),
        "PACKWISE_PATH": "clusters",
        "PACKWISE_REQUIREMENT": "packwise[crds] @ git+https://a.com/packwise",
        "PACKWISE_CHANGED_ONLY": "false",
        **variables,
    }
    # GitLab's shell stops at the first command that fails, and at one within a pipe.
    command = ["bash", "-eo", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=runner / "work", env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_component_checks_and_reports(runner: Path, history: Path, packwise: Path) -> None:
    done = component(runner, packwise)

    report: list[dict[str, Any]] = json.loads((history / "gl-code-quality-report.json").read_text(encoding="utf-8"))
    assert done.returncode == 1
    assert (runner / "pip.log").read_text() == "install --quiet packwise[crds] @ git+https://a.com/packwise\n"
    assert {entry["location"]["path"] for entry in report if entry["check_name"] == "topology-domain-unknown"} == {
        "clusters/east/web.yaml", "clusters/my west/web.yaml"
    }  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_the_component_checks_what_changed(change: str, runner: Path, history: Path, packwise: Path) -> None:
    files, reported = CHANGES[change]
    base = git(history, "rev-parse", "HEAD").strip()
    write(history, files)
    committed(history)

    done = component(runner, packwise, PACKWISE_CHANGED_ONLY="true", CI_MERGE_REQUEST_DIFF_BASE_SHA=base)

    report: list[dict[str, Any]] = json.loads((history / "gl-code-quality-report.json").read_text(encoding="utf-8"))
    assert done.returncode == (1 if change == "a file that looks like an option" else 0), done.stderr
    assert {entry["location"]["path"] for entry in report if entry["severity"] != "info"} == set(reported)


def test_the_component_fails_where_git_does(runner: Path, history: Path, packwise: Path) -> None:
    committed(history)

    done = component(runner, packwise, PACKWISE_CHANGED_ONLY="true", CI_MERGE_REQUEST_DIFF_BASE_SHA="nothing")

    assert done.returncode not in (0, 1)


def test_the_page_names_the_inputs_of_the_component() -> None:
    inputs = next(iter(yaml.safe_load_all(COMPONENT)))["spec"]["inputs"]
    page = (PAGES / "gitlab.md").read_text(encoding="utf-8").partition("## As a component")[2]

    assert [name for name in inputs if f"`{name}`" not in page and f"    {name}: " not in page] == []
