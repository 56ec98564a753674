"""The files with which pre-commit, GitHub and GitLab start packwise, and the configurations on their pages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.calling import CONFIG, WORKLOAD, write
from tests.forge import BOT, Forge, forge
from tests.places import ROOT, TOOLS, missing, needs_command

pytestmark = pytest.mark.slow

PAGES = ROOT / "docs" / "how-to"
RELEASE = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
COMPONENT = (ROOT / "templates" / "check.yml").read_text(encoding="utf-8")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
BROKEN = WORKLOAD.replace("rack", "block")


def snippet(page: str) -> str:
    """Return the first YAML on a page."""
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
        "language": "python",
        "additional_dependencies": [".[crds]"],
        "files": r"\.(yaml|yml|json)$",
    }

    assert {**shared, **whole} == whole
    assert (whole["id"], whole["args"], whole["pass_filenames"]) == ("packwise-check", ["."], False)
    assert {**shared, **changed} == changed
    assert (changed["id"], changed["require_serial"]) == ("packwise-check-changed", True)
    # With any arguments of the user, the name of a file after them is not read as an option.
    assert changed["entry"].endswith(" --")
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
        ("Dockerfile", "github.com/argoproj/argo-cd/v3", "quay.io/argoproj/argocd:{} AS"),
    ],
)
def test_what_is_named_is_what_is_tested(file: str, module: str, names: str) -> None:
    """The documentation names the versions that `make e2e` runs, from its Go module."""
    go = (ROOT / "tests/e2e/control_plane/go.mod").read_text(encoding="utf-8")
    version = re.search(rf"^\t{re.escape(module)} (v\S+)$", go, re.MULTILINE)

    assert version is not None
    text = re.sub(r"@sha256:[0-9a-f]{64}", "", (ROOT / file).read_text(encoding="utf-8"))
    assert names.format(version[1]) in " ".join(text.split())


def test_actions_are_pinned_by_their_whole_version() -> None:
    used = re.findall(
        r"uses: (\S+(?: # \S+)?)",
        (ROOT / "action.yml").read_text(encoding="utf-8") + snippet("github-actions.md") + FLUX_WORKFLOW + RELEASE,
    )

    whole = re.compile(r"[^@]+@(?:v\d+\.\d+\.\d+|[0-9a-f]{40} # v\d+\.\d+\.\d+)|\S+/packwise@COMMIT")
    assert [one for one in used if not whole.fullmatch(one)] == []


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
    """An expression in a script could let a pull request change the script."""
    assert [script for script in scripts() if "${{" in script] == []


@pytest.fixture
def runner(tmp_path: Path, packwise: Path) -> Path:
    """Return a runner's temporary folder after the installation of packwise, and a workspace with an error."""
    (tmp_path / "temp/packwise/bin").mkdir(parents=True)
    (tmp_path / "temp/packwise/bin/packwise").symlink_to(packwise)
    write(tmp_path / "work", {"clusters/my west/topology.yaml": CONFIG, "clusters/my west/web.yaml": BROKEN})
    return tmp_path


def check(runner: Path, before: str = "", **inputs: str) -> subprocess.CompletedProcess[str]:
    """Return a function that runs the action's check step. `before` are commands that run first in the same shell."""
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
    needs_command("bash", "bash")
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", before + scripts()[1]]
    return subprocess.run(
        command, cwd=runner / "work", env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_action_checks(runner: Path) -> None:
    done = check(runner)

    assert done.returncode == 1
    assert re.fullmatch(r"1 error in 2 files; 1 workload checked .*\n", done.stderr)
    assert done.stdout.startswith("::error file=clusters/my west/web.yaml,line=10,col=38,title=packwise (topology-dom")
    assert not (runner / "temp/packwise.sarif").exists()


def test_the_action_takes_several_paths_a_configuration_and_a_baseline(runner: Path) -> None:
    web, topology = "clusters/my west/web.yaml", "clusters/my west/topology.yaml"

    several = check(runner, PATHS=f"{topology}\n{web}\n\n")
    configured = check(runner, PATHS=web, CONFIG=topology, FORMAT="text")
    existing = check(runner, PATHS=web, CONFIG=topology, BASELINE=web, FORMAT="text")

    assert (several.returncode, several.stdout.split(",")[0]) == (1, f"::error file={web}")
    assert (configured.returncode, configured.stdout.split(": ")[:2]) == (1, ["error", f"{web}:10:38"])
    # A workload that exists in the cluster keeps a level that is removed.
    assert (existing.returncode, existing.stdout.split(": ")[:2]) == (0, ["warning", f"{web}:10:38"])


def test_the_action_takes_definitions(runner: Path) -> None:
    assert (
        'error: --crds "clusters", "clusters/my west" has no CRD'
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
    """Return the workspace as a repository: two packages with an error each, and a commit that changes neither."""
    work = runner / "work"
    write(work, {"clusters/east/topology.yaml": CONFIG, "clusters/east/web.yaml": BROKEN})
    git(work, "init", "--quiet")
    committed(work)
    return work


HOSTILE = (
    "--include=a.yaml", "-x.yaml", "--config=a.yaml", "wörk.yaml", "a\nb.yaml", "a\tb.yaml", 'a"b.yaml', "a\\b.yaml",
    " a .yaml", ":(glob)*.yaml", "$(touch pwned).yaml", "`touch pwned`.yaml", "-.yaml", os.fsdecode(b"\xff.yaml"),
)  # fmt: skip
"""Names of files that once hid themselves or other files from a script."""

CHANGES: dict[str, tuple[dict[str, str], list[str]]] = {
    "nothing": ({}, []),
    "another kind of file": ({"clusters/README.md": "a\n"}, []),
    "a workload": ({"clusters/my west/web.yaml": f"{BROKEN}# more\n"}, ["clusters/my west/web.yaml"]),
    "a configuration": ({"clusters/east/topology.yaml": f"{CONFIG}# more\n"}, ["clusters/east/web.yaml"]),
    "files of such names": (
        {f"clusters/east/{name}": BROKEN.replace("web", f"x{at}") for at, name in enumerate(HOSTILE)},
        [f"clusters/east/{name}" for name in HOSTILE],
    ),
    "files of such names beside another": (
        {f"clusters/east/{name}": WORKLOAD.replace("web", f"x{at}") for at, name in enumerate(HOSTILE)}
        | {"clusters/east/plain.yaml": BROKEN.replace("web", "plain")},
        ["clusters/east/plain.yaml"],
    ),
}
"""Changes of a commit, and the files with errors that are then reported."""


def shown(name: str) -> str:
    """Return a file's name as findings print it."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def warned(work: Path, done: subprocess.CompletedProcess[str]) -> set[str]:
    """Return the files with findings. With a baseline, an earlier problem is a warning."""
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert list(work.rglob("pwned")) == []
    return {shown(finding["file"]) for finding in found if finding["severity"] != "info"}


@pytest.mark.parametrize("change", CHANGES)
def test_the_action_checks_what_changed(change: str, runner: Path, history: Path) -> None:
    files, reported = CHANGES[change]
    write(history, files)
    committed(history)

    done = check(runner, CHANGED_ONLY="true", BASELINE="git:HEAD^1", FORMAT="json")

    assert warned(history, done) == {shown(name) for name in reported}
    assert done.returncode == int(any("east" in name and "web" not in name for name in reported)), done.stderr


def test_the_action_checks_more_files_than_a_command_line_holds(runner: Path, history: Path) -> None:
    """A command line is limited to a fourth of the stack's limit."""
    folder = history / "clusters/east" / "deep".ljust(200, "x")
    write(folder, {f"{at}".ljust(200, "y") + ".yaml": "a: 1\n" for at in range(1000)})
    write(folder, {"web.yaml": BROKEN.replace("web", "x")})
    committed(history)
    small = "ulimit -s 1024\n"

    done = check(runner, small, CHANGED_ONLY="true", BASELINE="git:HEAD^1", FORMAT="json")

    assert warned(history, done) == {f"clusters/east/{folder.name}/web.yaml"}
    every = subprocess.run(["bash", "-c", f"{small}/bin/true */*/*/*"], cwd=history, capture_output=True, check=False)
    assert b"too long" in every.stderr


def test_the_action_checks_what_a_file_that_went_checked(runner: Path, history: Path) -> None:
    (history / "clusters/east/topology.yaml").unlink()
    committed(history)

    done = check(runner, CHANGED_ONLY="true", BASELINE="git:HEAD^1", FORMAT="json")

    assert {finding["file"] for finding in json.loads(done.stdout)} == {"clusters/east/web.yaml"}


def test_the_action_has_nothing_to_check_in_a_folder_that_went(runner: Path, history: Path) -> None:
    git(history, "rm", "-r", "--quiet", "clusters")
    committed(history)

    done = check(runner, CHANGED_ONLY="true", BASELINE="git:HEAD^1", FORMAT="json")

    assert (done.returncode, done.stdout) == (0, "[]\n")


@pytest.mark.parametrize("baseline", ["", "clusters", "git:nothing"])
def test_the_action_wants_a_commit_to_tell_what_changed(baseline: str, runner: Path, history: Path) -> None:
    committed(history)

    assert check(runner, CHANGED_ONLY="true", BASELINE=baseline).returncode not in (0, 1)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the repository from which GitLab's component installs packwise, and the commit before the newest one."""
    folder = tmp_path_factory.mktemp("source")
    write(folder, {"requirements.lock": "a==1\n", "requirements-build.lock": "b==1\n"})
    git(folder, "init", "--quiet")
    commit = committed(folder)
    write(folder, {"requirements.lock": "a==2\n"})
    committed(folder)
    return folder, commit


def component(runner: Path, packwise: Path, part: str = "script", **variables: str) -> subprocess.CompletedProcess[str]:
    """Return a function that runs a script of GitLab's component.

    Its `pip` installs nothing and records the files that it gets.
    """
    _, job = yaml.safe_load_all(COMPONENT)
    script = "\n".join(job["packwise"][part])
    (runner / "bin").mkdir(exist_ok=True)
    pip = (
        '#!/bin/sh\necho "$*" | sed "s|/[^ ]*/||g" >> "$PIP_LOG"\n'
        'for word; do [ ! -f "$word" ] || cat "$word" >> "$PIP_LOG"; done\n'
    )
    (runner / "bin/pip").write_text(pip, encoding="utf-8")
    (runner / "bin/pip").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(runner / "bin"), str(packwise.parent), os.environ["PATH"]]),
        "PIP_LOG": str(runner / "pip.log"),
        "TMPDIR": str(runner / "temp"),
        "PACKWISE_PATH": "clusters",
        "PACKWISE_CHANGED_ONLY": "false",
        "PACKWISE_COMMENT": "true",
        "PACKWISE_NODES": "",
        **variables,
    }
    # GitLab's shell stops at the first command that fails, also within a pipe.
    needs_command("bash", "bash")
    command = ["bash", "-eo", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=runner / "work", env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_component_installs_a_commit_by_its_locks(runner: Path, packwise: Path, source: tuple[Path, str]) -> None:
    folder, commit = source

    done = component(runner, packwise, "before_script", PACKWISE_REPOSITORY=str(folder), PACKWISE_COMMIT=commit)

    assert (done.returncode, done.stderr) == (0, "")
    assert (runner / "pip.log").read_text(encoding="utf-8").splitlines()[:4] == [
        "install --quiet --require-hashes --requirement requirements-build.lock",
        "b==1",
        "install --quiet --require-hashes --requirement requirements.lock",
        "a==1",
    ]
    assert (
        (runner / "pip.log")
        .read_text(encoding="utf-8")
        .splitlines()[4]
        .startswith("install --quiet --no-deps --no-build-isolation --no-index ")
    )


def test_the_component_installs_nothing_where_the_commit_is_not_there(
    runner: Path, packwise: Path, source: tuple[Path, str]
) -> None:
    done = component(runner, packwise, "before_script", PACKWISE_REPOSITORY=str(source[0]), PACKWISE_COMMIT="0" * 40)

    assert done.returncode != 0
    assert not (runner / "pip.log").exists()


def test_the_component_checks_and_reports(runner: Path, history: Path, packwise: Path) -> None:
    done = component(runner, packwise)

    assert done.returncode == 1
    assert "clusters/east/web.yaml:10:38" in done.stdout
    assert reported_by_the_component(history) == {"clusters/east/web.yaml", "clusters/my west/web.yaml"}


def reported_by_the_component(work: Path) -> set[str]:
    report: list[dict[str, Any]] = json.loads((work / "gl-code-quality-report.json").read_text(encoding="utf-8"))
    return {entry["location"]["path"] for entry in report if entry["severity"] != "info"}


@pytest.mark.parametrize("change", CHANGES)
def test_the_component_checks_what_changed(change: str, runner: Path, history: Path, packwise: Path) -> None:
    files, reported = CHANGES[change]
    base = git(history, "rev-parse", "HEAD").strip()
    write(history, files)
    committed(history)

    done = component(runner, packwise, PACKWISE_CHANGED_ONLY="true", CI_MERGE_REQUEST_DIFF_BASE_SHA=base)

    assert done.returncode == int(any("east" in name and "web" not in name for name in reported)), done.stderr
    assert {shown(name) for name in reported_by_the_component(history)} == {shown(name) for name in reported}
    assert list(history.rglob("pwned")) == []


WRITTEN = (
    "gl-code-quality-report.json", ".packwise-new", "packwise-comment.md", "packwise-answer.json", "packwise-body.json",
    "packwise-changed.txt",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["link", "link to nothing", "folder", "link to a folder"])
def test_the_component_writes_through_no_link_of_the_checkout(
    kind: str, runner: Path, history: Path, packwise: Path, remote: Forge
) -> None:
    victim = runner / "victim"
    inner = victim / "inner"
    inner.mkdir(parents=True)
    (victim / "file").write_text("mine", encoding="utf-8")
    for name in WRITTEN:
        if kind == "folder" and name != ".packwise-new":
            (history / name).mkdir()
        elif kind != "folder":
            at = {"link": victim / "file", "link to nothing": victim / "new", "link to a folder": inner}[kind]
            (history / name).symlink_to(at)
    base = committed(history)

    checked = component(runner, packwise, CI_MERGE_REQUEST_DIFF_BASE_SHA=base, PACKWISE_CHANGED_ONLY="true")
    noted = note(runner, remote, packwise)

    assert (checked.returncode, noted.returncode) == (0, 0), checked.stderr + noted.stderr
    assert {path.name: path.is_file() and path.read_text(encoding="utf-8") for path in victim.rglob("*")} == {
        "file": "mine", "inner": False
    }  # fmt: skip
    assert (history / "gl-code-quality-report.json").read_text(encoding="utf-8") == "[]\n"
    assert not (history / "gl-code-quality-report.json").is_symlink()
    assert len(remote.bodies) == 1


def test_the_component_fails_where_git_does(runner: Path, history: Path, packwise: Path) -> None:
    committed(history)

    done = component(runner, packwise, PACKWISE_CHANGED_ONLY="true", CI_MERGE_REQUEST_DIFF_BASE_SHA="nothing")

    assert done.returncode not in (0, 1)


def test_the_page_names_the_inputs_of_the_component() -> None:
    inputs = next(iter(yaml.safe_load_all(COMPONENT)))["spec"]["inputs"]
    page = (PAGES / "gitlab.md").read_text(encoding="utf-8").partition("## As a component")[2]

    assert [name for name in inputs if f"`{name}`" not in page and f"    {name}: " not in page] == []


MARKER = "<!-- packwise comment clusters/my%20west -->\n"
NODES = {
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z", "example.com/rack": "r"}},
    "status": {"allocatable": {"cpu": "8", "pods": "110"}},
}


@pytest.fixture(name="remote")
def remote_forge() -> Iterator[Forge]:
    needs_command("curl", "curl")
    with forge() as held:
        yield held


def post(runner: Path, remote: Forge, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Return a function that runs the action's step for comments."""
    (runner / "temp/packwise/bin/python").unlink(missing_ok=True)
    (runner / "temp/packwise/bin/python").symlink_to(sys.executable)
    given = {"PATHS": "clusters/my west", "CONFIG": "", "BASELINE": "", "CRDS": "", "NODES": "", "NUMBER": "9"}
    places = {
        "TOKEN": remote.token,
        "GITHUB_API_URL": remote.address,
        "GITHUB_REPOSITORY": "team/apps",
        "GITHUB_STEP_SUMMARY": str(runner / "summary.md"),
        "RUNNER_TEMP": str(runner / "temp"),
    }
    needs_command("bash", "bash")
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", scripts()[2]]
    environment = {**os.environ, "NO_PROXY": "127.0.0.1", **given, **places, **inputs}
    return subprocess.run(
        command, cwd=runner / "work", env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def note(runner: Path, remote: Forge, packwise: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Return a function that runs the part of GitLab's component for comments."""
    given = {
        "NO_PROXY": "127.0.0.1",
        "PACKWISE_PATH": "clusters/my west",
        "PACKWISE_TOKEN": remote.token,
        "CI_API_V4_URL": f"{remote.address}/api/v4",
        "CI_MERGE_REQUEST_IID": "9",
        "CI_MERGE_REQUEST_PROJECT_ID": "3",
    }
    return component(runner, packwise, "after_script", **{**given, **variables})


Commenter = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(params=["GitHub", "GitLab"])
def commenter(request: pytest.FixtureRequest, runner: Path, remote: Forge, packwise: Path) -> Commenter:
    """Return a function that runs the script for comments on a change, with the variables that both callers set."""
    names = {"token": "PACKWISE_TOKEN", "number": "CI_MERGE_REQUEST_IID", "nodes": "PACKWISE_NODES"}
    if request.param == "GitHub":
        names = {"token": "TOKEN", "number": "NUMBER", "nodes": "NODES"}

    def call(**more: str) -> subprocess.CompletedProcess[str]:
        given = {names.get(key, key): text for key, text in more.items()}
        if request.param == "GitHub":
            return post(runner, remote, **given)
        return note(runner, remote, packwise, **given)

    return call


def test_a_comment_is_posted_once_and_then_updated(commenter: Commenter, remote: Forge, runner: Path) -> None:
    first = commenter()
    write(runner / "work", {"clusters/my west/web.yaml": WORKLOAD})
    second = commenter()

    assert [(each.returncode, each.stdout, _messages(each.stderr)) for each in (first, second)] == [(0, "", "")] * 2
    (body,) = remote.bodies
    assert body.startswith(f"{MARKER}### packwise check: no findings in 2 files\n")
    writes = [request.split()[0] for request in remote.requests if not request.startswith("GET")]
    assert writes in (["POST", "PATCH"], ["POST", "PUT"])


def test_a_comment_is_found_on_a_later_page(commenter: Commenter, remote: Forge) -> None:
    for number in range(250):
        remote.add(f"comment {number}")
    remote.add(f"{MARKER}old")
    remote.add("the last one")

    commenter()

    assert len(remote.bodies) == 252
    assert remote.bodies[250].startswith(f"{MARKER}### packwise check: 1 error in 2 files\n")
    pages = [request.partition("&page=")[2] for request in remote.requests if "&page=" in request]
    assert pages == ["1", "2", "3"]


def test_a_full_last_page_is_followed_by_an_empty_one(commenter: Commenter, remote: Forge) -> None:
    for number in range(100):
        remote.add(f"comment {number}")

    commenter()

    assert len(remote.bodies) == 101


def _messages(stderr: str) -> str:
    """Return the stderr of the steps without the counts of `packwise comment`."""
    return re.sub(r"^\d+ workloads? checked .*\n", "", stderr, flags=re.MULTILINE)


@pytest.mark.parametrize("writer", [{"login": "mallory", "user": 8}, {"login": f"{BOT}x", "user": 70}])
def test_what_others_write_under_its_first_line_is_theirs(
    commenter: Commenter, remote: Forge, writer: dict[str, Any]
) -> None:
    remote.add(f"{MARKER}mine", **writer)

    commenter()

    assert remote.bodies[0] == f"{MARKER}mine"
    assert len(remote.bodies) == 2


def test_each_path_has_its_comment(commenter: Commenter, remote: Forge) -> None:
    commenter()
    commenter(PATHS="clusters", PACKWISE_PATH="clusters")

    assert [body.splitlines()[0] for body in remote.bodies] == [MARKER.strip(), "<!-- packwise comment clusters -->"]


def test_the_comment_has_what_changes_and_where_it_goes(
    commenter: Commenter, remote: Forge, history: Path, runner: Path
) -> None:
    write(history, {"clusters/my west/web.yaml": WORKLOAD})
    base = committed(history)
    write(
        runner / "work", {"nodes.json": json.dumps(NODES), "clusters/my west/more.yaml": WORKLOAD.replace("web", "x")}
    )

    done = commenter(nodes="nodes.json", BASELINE=f"git:{base}", CI_MERGE_REQUEST_DIFF_BASE_SHA=base)

    assert (done.returncode, _messages(done.stderr)) == (0, "")
    (body,) = remote.bodies
    assert re.findall("^### (.*)$", body, re.MULTILINE) == [
        "packwise check: no findings in 3 files",
        "What changes for the scheduler",
        "Where the scheduler places the gangs",
    ]
    assert "`PodGang 1 added`" in body
    assert "`2 of 2 gangs fit` on `1 node; GPUs in use: 0 of 0 now, 0 of 0 afterwards`" in body


def test_text_of_a_workload_does_nothing_to_the_script(commenter: Commenter, remote: Forge, runner: Path) -> None:
    hostile = "x'\"$(touch pwned)`touch pwned`\\n @all </details>"
    write(
        runner / "work",
        {"clusters/my west/web.yaml": WORKLOAD.replace("name: web # short", json.dumps(hostile).join(["name: ", ""]))},
    )

    commenter()

    (body,) = remote.bodies
    assert "$(touch pwned)" in body
    assert list(runner.rglob("pwned")) == []


def test_without_a_pull_request_there_is_nothing_to_comment_on(commenter: Commenter, remote: Forge) -> None:
    done = commenter(number="")

    assert (done.returncode, done.stderr, remote.requests) == (0, "", [])


def test_a_token_that_may_not_write_is_no_failure(commenter: Commenter, remote: Forge, runner: Path) -> None:
    done = commenter(token="other")  # noqa: S106

    assert (done.returncode, _messages(done.stderr), remote.bodies) == (0, "", [])
    assert "may not write one" in done.stdout
    if "::notice::" in done.stdout:
        assert (runner / "summary.md").read_text(encoding="utf-8").startswith(MARKER)


def test_a_fork_has_no_token_on_gitlab(runner: Path, remote: Forge, packwise: Path) -> None:
    done = note(runner, remote, packwise, PACKWISE_TOKEN="")

    assert (done.returncode, remote.requests) == (0, [])
    assert done.stdout.startswith("no note: PACKWISE_TOKEN is not set (a merge request from a fork")


@pytest.mark.parametrize("status", [500, 429])
def test_a_forge_that_does_not_answer_is_no_failure(commenter: Commenter, remote: Forge, status: int) -> None:
    remote.status = status

    done = commenter()

    assert done.returncode == 0
    assert f"answered {status}" in done.stdout


def test_a_forge_that_is_not_there_is_no_failure(commenter: Commenter) -> None:
    nowhere = "http://127.0.0.1:9"
    done = commenter(GITHUB_API_URL=nowhere, CI_API_V4_URL=nowhere)

    assert done.returncode == 0
    assert "answered 000" in done.stdout


def test_the_component_comments_only_where_it_is_asked_to(runner: Path, remote: Forge, packwise: Path) -> None:
    done = note(runner, remote, packwise, PACKWISE_COMMENT="false")

    assert (done.returncode, done.stdout, remote.requests) == (0, "", [])


def test_wrong_usage_is_shown_and_posts_nothing(commenter: Commenter, remote: Forge) -> None:
    done = commenter(PATHS="nothing", PACKWISE_PATH="nothing")

    assert done.returncode == 2
    assert "does not exist" in done.stderr
    assert remote.requests == []


def break_packwise(runner: Path) -> None:
    """Install a packwise that ends with an internal error, at the place where both forges look for packwise."""
    for path in (runner / "temp/packwise/bin/packwise", runner / "bin/packwise"):
        path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{MARKER}### packwise failed'\nexit 70\n", encoding="utf-8")
        path.chmod(0o755)


def test_a_bug_takes_the_place_of_an_earlier_comment_and_fails(
    commenter: Commenter, remote: Forge, runner: Path
) -> None:
    commenter()
    break_packwise(runner)

    done = commenter()

    assert (done.returncode, remote.bodies) == (70, [f"{MARKER}### packwise failed\n"])
    assert "packwise comment ended with an internal error" in done.stdout


def test_a_bug_is_told_from_findings(runner: Path, packwise: Path) -> None:
    break_packwise(runner)

    for done in (check(runner), component(runner, packwise, "script")):
        assert (done.returncode, "packwise ended with an internal error" in done.stdout) == (70, True)


def test_actionlint_takes_the_steps_of_the_action(tmp_path: Path) -> None:
    """The test puts the steps into a workflow with the same inputs, because actionlint does not read actions."""
    actionlint = TOOLS / "actionlint-v1.7.12" / "actionlint"
    if not actionlint.exists():
        missing("actionlint is not built: `make tools` does it")
    inputs = {name: {"type": "string", "default": given["default"]} for name, given in ACTION["inputs"].items()}
    steps = ACTION["runs"]["steps"]
    workflow = {
        "on": {"workflow_call": {"inputs": inputs}},
        "jobs": {"job": {"runs-on": "ubuntu-latest", "steps": steps}},
    }
    write(tmp_path, {"called.yml": yaml.safe_dump(workflow)})

    done = subprocess.run(
        [actionlint, "-no-color", "called.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "")
