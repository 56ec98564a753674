"""The pins of the Dockerfile, and the facts about its images. `make image-test` builds and runs them."""

from __future__ import annotations

import re

import pytest

from supplychain.dockerfile import stages
from tests.places import ROOT

pytestmark = pytest.mark.client

STAGES = {stage.name: stage for stage in stages(ROOT / "Dockerfile")}
NATIVE, BUILD, KUSTOMIZE = STAGES["native"], STAGES["build"], STAGES["kustomize"]
PLUGIN, REPO_SERVER, BASE = STAGES["argocd-plugin"], STAGES["argocd-repo-server"], STAGES["base"]
FUNCTION = STAGES["function"]


def test_base_images_are_pinned_to_one_exact_version() -> None:
    assert BUILD.image == PLUGIN.image == BASE.image
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+|python@sha256:[0-9a-f]{64}", BASE.image)
    toolchains = {step.words()[0].removeprefix("--from=") for step in NATIVE.of("COPY") if "--from=" in step.text}
    assert len(toolchains) == 1
    assert NATIVE.image == BUILD.image.replace("-slim", "")
    for other in (KUSTOMIZE.image, REPO_SERVER.image, *toolchains):
        assert re.search(r":v?\d+\.\d+\.\d+(-[a-z]+)*$", other)


def test_everything_installed_is_pinned_by_hash_or_built_here() -> None:
    installs = [
        line
        for stage in (NATIVE, BUILD)
        for step in stage.of("RUN")
        for line in step.text.split("&&")
        if re.search(r"pip .*\b(install|wheel)\b", line)
    ]

    assert len(installs) == 6
    assert [line for line in installs if "--require-hashes" not in line and "--no-index" not in line] == []


def test_image_runs_the_function_as_a_numeric_user_without_a_shell() -> None:
    user, group = BASE.of("USER")[0].text.split(":")

    assert int(user) > 0
    assert int(group) > 0
    assert BASE.of("ENTRYPOINT")[0].words() == ["/opt/packwise/bin/packwise", "fn"]
    assert all(step.text.startswith("[") for step in BASE.of("RUN")), "exec form: nothing in this stage needs a shell"
    assert [step.words() for step in FUNCTION.instructions] == [["--from=build", "/opt/packwise", "/opt/packwise"]]
    # The stage that a build without a target makes.
    assert (STAGES[""].image, STAGES[""].instructions) == ("function", ())
