"""The messages and effects of a missing library that only a part of packwise needs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from packwise.extras import COMPLETION, CRDS, DASK, FSSPEC, OSMO, PATCH, SOLVER, Extra
from tests.absent import env_without
from tests.cli.calling import CONFIG, WORKLOAD, write
from tests.cli.test_cli_crds import crd
from tests.places import ROOT

pytestmark = pytest.mark.slow


def packwise(folder: Path, *words: str, absent: Extra | None = None) -> subprocess.CompletedProcess[str]:
    environment = env_without(*([] if absent is None else [absent.module]))
    command = [sys.executable, "-m", "packwise", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": WORKLOAD})
    return tmp_path


@pytest.mark.parametrize("extra", [COMPLETION, CRDS, DASK, FSSPEC, OSMO, PATCH, SOLVER], ids=lambda extra: extra.name)
def test_each_is_an_extra_of_the_distribution(extra: Extra) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    (requirement,) = project["optional-dependencies"][extra.name]
    assert requirement.startswith(f"{extra.library}>=")
    assert project["optional-dependencies"]["all"] == ["packwise[completion,crds,osmo,patch,solver]"]


def test_without_any_of_them_everything_else_works(folder: Path) -> None:
    modules = [extra.module for extra in (COMPLETION, CRDS, DASK, FSSPEC, OSMO, PATCH, SOLVER)]
    for words in (["check", "in"], ["render", "in", "-o", "out"], ["diff", "in", "out"], ["topologies", "in"]):
        command = [sys.executable, "-m", "packwise", *words]
        done = subprocess.run(
            command, cwd=folder, env=env_without(*modules), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_completion(folder: Path) -> None:
    done = packwise(folder, "completion", "bash", absent=COMPLETION)

    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        'error: cannot print completions: shtab is not installed; add the extra "completion": '
        'pip install "packwise[completion] @ git+https://git.example.com/platform/packwise@COMMIT"\n',
    )


def test_patches(folder: Path) -> None:
    done = packwise(folder, "diff", "in", "in", "-o", "patch", absent=PATCH)

    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        'error: cannot use --output patch: jsonpatch is not installed; add the extra "patch": '
        'pip install "packwise[patch] @ git+https://git.example.com/platform/packwise@COMMIT"\n',
    )


ANY: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
RULE = {"x-kubernetes-validations": [{"rule": "self.replicas < 1"}]}
PATTERN = {"properties": {"replicas": {"type": "integer"}, "note": {"type": "string", "pattern": "^a+$"}}}


def definition(spec: dict[str, Any]) -> str:
    return crd("grove.io", "PodCliqueSet", {**ANY, **spec})


@pytest.mark.parametrize("spec", [RULE, PATTERN], ids=["a rule", "a pattern"])
def test_definitions_whose_expressions_nobody_can_evaluate_are_an_error(folder: Path, spec: dict[str, Any]) -> None:
    write(folder, {"in/crd.json": definition(spec)})

    done = packwise(folder, "check", "in", "-o", "json", absent=CRDS)

    (finding,) = json.loads(done.stdout)
    assert (done.returncode, finding["rule"], finding["severity"], finding["file"], finding["path"]) == (
        1,
        "crd-rule",
        "error",
        "in/crd.json",
        "spec.versions",
    )
    assert finding["message"] == (
        "packwise cannot check the rules and patterns of this CRD: cel-expr-python is not installed; add the extra "
        '"crds": pip install "packwise[crds] @ git+https://git.example.com/platform/packwise@COMMIT"'
    )


def test_definitions_without_expressions_need_no_library(folder: Path) -> None:
    write(folder, {"in/crd.json": definition({})})

    assert packwise(folder, "check", "in", absent=CRDS).returncode == 0


def test_the_function_says_it_too() -> None:
    documents = [CONFIG, WORKLOAD, definition(RULE)]
    items = [json.dumps(json.loads(text)) if text.startswith("{") else text for text in documents]
    source = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + "".join(
        "- " + text.replace("\n", "\n  ").rstrip(" ") + ("" if text.endswith("\n") else "\n") for text in items
    )
    command = [sys.executable, "-m", "packwise", "fn"]

    done = subprocess.run(
        command, input=source, env=env_without(CRDS.module), capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert (
        'add the extra "crds": pip install "packwise[crds] @ git+https://git.example.com/platform/packwise@COMMIT"'
        in done.stderr
    )


WORKFLOW = "workflow:\n  name: {}\n  tasks:\n  - {{name: one, image: train, command: [train]}}\n"


def test_templates_that_nobody_can_fill_in_are_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"in/train.yaml": WORKFLOW.format("train-{{run}}") + "default-values: {run: 1}\n"})

    done = packwise(tmp_path, "check", "in", absent=OSMO)

    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == (
        'error: in/train.yaml:1:1: cannot fill in the template: jinja2 is not installed; add the extra "osmo": '
        'pip install "packwise[osmo] @ git+https://git.example.com/platform/packwise@COMMIT" [osmo-template]'
    )


def test_workflows_without_templates_need_no_library(tmp_path: Path) -> None:
    tokens = "  # {{output}} and {{workflow_id}} are for the run\n"
    write(tmp_path, {"in/train.yaml": WORKFLOW.format("train") + tokens})

    assert packwise(tmp_path, "check", "in", absent=OSMO).returncode == 0


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/a/.local/share/pipx/venvs/packwise", "pipx install --force"),
        ("/home/a/.local/share/uv/tools/packwise", "uv tool install --force"),
        ("/srv/.venv", "pip install"),
    ],
)
def test_advice_names_what_installed_packwise(monkeypatch: pytest.MonkeyPatch, prefix: str, command: str) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)

    assert f': {command} "packwise[crds] @ git+https://' in CRDS.advice


def test_no_page_and_no_message_installs_a_name_of_the_public_index() -> None:
    """The public index has no package of this name. Anyone who registers the name could run code on users' machines."""
    texts = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / "fn").rglob("*.py")]
    bare = re.compile(r"""install (?:--\S+ )*["']?packwise(?:\[[\w,]+\])?["']?(?:[ \t`]*$|["'`])""", re.MULTILINE)

    assert [path.name for path in texts if bare.search(path.read_text(encoding="utf-8"))] == []
