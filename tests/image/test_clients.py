"""kpt and kustomize run the image as they run the program: with the same files, the same bytes and the same
messages.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from supplychain.image import ARGOCD_REPO_SERVER
from tests.clients.running import files_of
from tests.clients.running import run as run_client
from tests.image.containers import Ran, call, podman
from tests.places import ROOT

pytestmark = pytest.mark.image

FLAGS = ("--enable-alpha-plugins",)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} does not contain {old!r}: the test edits nothing"
    path.write_text(text.replace(old, new), encoding="utf-8")


def in_words_of_a_program(text: str, function: str) -> str:
    """Return kpt's output about an image in its words about a program."""
    text = re.sub(rf"(- )?image: {re.escape(function)}", r"\1exec: packwise fn", text)
    return timeless(text.replace(f'"{function}"', '"packwise fn"'))


def timeless(text: str) -> str:
    """Return a text without durations, and without the empty line that kpt adds to a program's stderr."""
    text = re.sub(r"(FAIL|PASS)(.*) in \S+s$", r"\1\2", text, flags=re.MULTILINE)
    return re.sub(r'^ +""\n', "", text, flags=re.MULTILINE)


def packages(folder: Path, function: str) -> tuple[Path, Path]:
    """Return two copies of kpt-package/: one runs the program, and one runs the image."""
    program = Path(shutil.copytree(ROOT / "kpt-package", folder / "program" / "inference"))
    image = Path(shutil.copytree(ROOT / "kpt-package", folder / "image" / "inference"))
    edit(image / "Kptfile", "exec: packwise fn", f"image: {function}")
    return program, image


def test_kpt_renders_the_same_files(function: str, kpt: Path, packwise: Path, tmp_path: Path) -> None:
    program, image = packages(tmp_path, function)
    without = run_client([kpt, "fn", "render", "inference", "--allow-exec"], cwd=program.parent, packwise=packwise)

    inside = call([kpt, "fn", "render", "inference"], cwd=image.parent)

    assert (inside.code, without.code) == (0, 0), inside.stderr
    files = files_of(image)
    assert {name: in_words_of_a_program(text, function) for name, text in files.items()} == files_of(program)
    assert f"image: {function}\n" in files["Kptfile"]
    assert call([kpt, "fn", "render", "inference"], cwd=image.parent).code == 0
    assert files_of(image) == files


def test_kpt_evaluates_to_the_same_files(function: str, kpt: Path, packwise: Path, tmp_path: Path) -> None:
    program, image = packages(tmp_path, function)
    for package in (program, image):
        # `fn eval` gets the function as an argument.
        shutil.copy(ROOT / "kpt-package" / "Kptfile", package)
    evaluate = ["fn", "eval", "inference", "--fn-config", "inference/topology.yaml"]
    without = run_client([kpt, *evaluate, "--exec", "packwise fn"], cwd=program.parent, packwise=packwise)

    inside = call([kpt, *evaluate, "--image", function], cwd=image.parent)

    assert (inside.code, without.code) == (0, 0), inside.stderr
    assert files_of(image) == files_of(program)
    assert "kind: PodGang\n" in "".join(files_of(image).values())


def test_kpt_says_the_same_of_a_workload_that_the_operator_refuses(
    function: str, kpt: Path, packwise: Path, tmp_path: Path
) -> None:
    program, image = packages(tmp_path, function)
    for package in (program, image):
        edit(package / "inference.yaml", "packDomain: rack", "packDomain: shelf")
    without = run_client([kpt, "fn", "render", "inference", "--allow-exec"], cwd=program.parent, packwise=packwise)

    inside = call([kpt, "fn", "render", "inference"], cwd=image.parent)

    assert (inside.code, without.code) == (1, 1)
    assert in_words_of_a_program(inside.stderr, function) == timeless(without.stderr)
    assert "[error] grove.io" in inside.stderr
    files = {name: in_words_of_a_program(text, function) for name, text in files_of(image).items()}
    assert files == {name: timeless(text) for name, text in files_of(program).items()}


@pytest.fixture
def plugin(tmp_path: Path, function: str) -> Path:
    """Return a copy of kustomize-plugin/ with this image as its container."""
    folder = Path(shutil.copytree(ROOT / "kustomize-plugin", tmp_path / "plugin"))
    edit(folder / "function-container" / "topology.yaml", "image: packwise:0.1.0", f"image: {function}")
    return folder


def build(kustomize: Path, folder: Path) -> Ran:
    return call([kustomize, "build", *FLAGS, folder])


@pytest.mark.parametrize(("folder", "expected"), [(".", "base"), ("overlays/team-a", "team-a")])
def test_kustomize_transforms_by_the_container(plugin: Path, kustomize: Path, folder: str, expected: str) -> None:
    for kustomization in (plugin / "kustomization.yaml", plugin / "overlays/team-a/kustomization.yaml"):
        text = kustomization.read_text(encoding="utf-8")
        kustomization.write_text(re.sub(r"\bfunction$", "function-container", text, flags=re.MULTILINE), "utf-8")

    built = build(kustomize, plugin / folder)

    assert (built.code, built.stderr) == (0, "")
    wanted = (ROOT / f"testdata/clients/kustomize/{expected}.yaml").read_text(encoding="utf-8")
    assert built.stdout.decode() == wanted


@pytest.mark.parametrize("old", ["", "packDomain: rack"])
def test_kustomize_validates_by_the_container(
    plugin: Path, kustomize: Path, packwise: Path, image: Callable[[str], str], tmp_path: Path, old: str
) -> None:
    if old:
        edit(plugin / "workloads/serving.yaml", old, "packDomain: shelf")
    program = Path(shutil.copytree(plugin, tmp_path / "program"))
    annotation = "exec:\n        path: packwise\n        args: [fn, --validate]\n"
    container = f"container:\n        image: {image('validator')}\n        network: false\n"
    edit(plugin / "validate/check.yaml", annotation, container)

    built = build(kustomize, plugin / "validate")

    words = [kustomize, "build", *FLAGS, "--enable-exec", program / "validate"]
    without = run_client(words, cwd=tmp_path, packwise=packwise)
    assert (built.code, built.stdout.decode(), built.stderr) == (without.code, without.stdout, without.stderr)
    assert built.code == (1 if old else 0)


def test_the_kustomize_of_argo_cds_image_runs_packwise(image: Callable[[str], str]) -> None:
    """The repo-server runs it so with `argocd-plugin/without-plugin/`. A stand-in replaces Argo CD's own image."""
    options = ("--network=none", "--cap-drop=all", f"--volume={ROOT / 'kustomize-plugin'}:/plugin:ro")
    words = ("build", *FLAGS, "--enable-exec", "/plugin")

    built = podman(*options, "--entrypoint=kustomize", image(ARGOCD_REPO_SERVER), *words)

    assert (built.code, built.stderr) == (0, "")
    assert built.stdout == (ROOT / "testdata/clients/kustomize/base.yaml").read_bytes()
