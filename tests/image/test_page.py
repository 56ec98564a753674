"""The commands of the page about containers, in order. Its images are the ones of `make image`."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from supplychain.engine import engine_environment
from supplychain.image import TARGETS, name_of
from tests.e2e.pages import commands_of, snippets_of
from tests.image.containers import call
from tests.places import ROOT

pytestmark = pytest.mark.image

BUILD = re.compile(r"docker build --tag (\S+)(?: --target (\S+))? \.")


def test_the_page_is_followed(image: Callable[[str], str], kpt: Path, kustomize: Path, tmp_path: Path) -> None:
    for name in ("kpt-package", "kustomize-plugin"):
        shutil.copytree(ROOT / name, tmp_path / name)
    annotate(tmp_path / "kustomize-plugin/validate/check.yaml", snippets_of("container.md")[0])
    environment = engine_environment()
    environment["PATH"] = f"{environment['PATH']}:{kpt.parent}:{kustomize.parent}"
    answers: list[str] = []

    for script in commands_of("container.md"):
        built = BUILD.fullmatch(script.strip())
        if built:
            assert image(built[2] or TARGETS[0]) == f"localhost/{built[1]}"
            continue
        done = call(["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, environment=environment)
        assert done.code == 0, f"{script}\n{done.stderr}"
        answers.append(done.stdout.decode())

    assert "kind: PodGang\n" in (tmp_path / "answer.yaml").read_text(encoding="utf-8")
    assert any((tmp_path / "kpt-package").rglob("*podgang*"))
    base = (ROOT / "testdata/clients/kustomize/base.yaml").read_text(encoding="utf-8")
    assert base in answers
    assert name_of("validator").endswith("packwise-validator:0.1.0")


def annotate(check: Path, annotation: str) -> None:
    """Make kustomize run the validator as the page describes."""
    value = yaml.safe_load(check.read_text(encoding="utf-8"))
    value["metadata"]["annotations"]["config.kubernetes.io/function"] = annotation
    check.write_text(yaml.safe_dump(value), encoding="utf-8")
