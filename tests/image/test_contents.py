"""The files of the images, and files that must be absent."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.image.containers import CONFINED, call, podman
from tests.places import ROOT

pytestmark = pytest.mark.image

RESOURCE_LIST = (ROOT / "testdata" / "clients" / "image" / "input.yaml").read_bytes()
PYTHON = "--entrypoint=/opt/packwise/bin/python"
EPOCH = 1767225600
MEGABYTE = 1_000_000


@pytest.fixture
def libraries(root: Path) -> Path:
    return next((root / "opt/packwise/lib").glob("python3.*/site-packages"))


def test_environment_holds_what_the_lock_names_and_no_installer(libraries: Path) -> None:
    there = {path.name.split("-")[0].lower().replace("_", "-") for path in libraries.glob("*.dist-info")}

    locked = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert there == {"krmfn-native", "packwise", *re.findall(r"^([a-z0-9-]+)==", locked, re.MULTILINE)}


def test_every_file_of_the_packages_is_installed(libraries: Path) -> None:
    """This includes data: the explanations of rules are YAML."""
    there = [path for path in (ROOT / "fn").rglob("*.*") if not {"__pycache__", "target"} & set(path.parts)]
    beside = ("pyproject.toml", "packwise.cdx.json", "krmfn.cdx.json")
    # The native core is a separate distribution.
    python = [path for path in there if not path.is_relative_to(ROOT / "fn" / "krmfn-native")]
    files = {path.relative_to(ROOT / "fn"): path for path in python if path.name not in beside and path.is_file()}

    assert {path for path in files if not (libraries / path).is_file()} == set()
    assert {path for path, file in files.items() if file.read_bytes() != (libraries / path).read_bytes()} == set()


def test_the_distribution_brings_its_bill_of_materials(libraries: Path) -> None:
    # Libraries may contain their own.
    bills = {path.name: path.read_bytes() for path in libraries.glob("packwise-*.dist-info/sboms/**/*.json")}

    assert bills == {"packwise.cdx.json": (ROOT / "fn/packwise.cdx.json").read_bytes()}


def test_commands_are_python_and_packwise(root: Path) -> None:
    there = {path.name for path in (root / "opt/packwise/bin").iterdir()}

    assert {name for name in there if not name.startswith("python")} == {"packwise"}
    assert {path.name for path in (root / "opt/packwise").iterdir()} == {"bin", "lib", "lib64", "pyvenv.cfg"}


def test_every_file_has_one_time_and_no_user_may_write_it(root: Path) -> None:
    files = [path for path in (root / "opt").rglob("*") if not path.is_symlink()]

    assert {path.stat().st_mtime for path in files} == {EPOCH}
    assert {path for path in files if path.stat().st_mode & 0o022 or path.stat().st_uid} == set()


def test_libraries_are_compiled_without_time_stamps(libraries: Path) -> None:
    sources = list(libraries.rglob("*.py"))
    compiled = [next(path.parent.glob(f"__pycache__/{path.stem}.cpython-*.pyc")) for path in sources]

    assert len(sources) > 300
    assert {path.read_bytes()[4] for path in compiled} == {1}, "flags of an unchecked hash-based file"


def test_the_native_core_reads_and_writes(function: str) -> None:
    program = "from krmfn.yamltext.reader import CORE; print(CORE.write({'a': 1}), end='')"

    ran = podman(*CONFINED, PYTHON, function, "-c", program)

    assert (ran.code, ran.stdout, ran.stderr) == (0, b"a: 1\n", "")


@pytest.mark.parametrize(("target", "most"), [
    ("", 55), ("validator", 55), ("without-crds", 27), ("argocd-plugin", 85),
])  # fmt: skip
def test_an_image_is_as_small_as_the_page_says(image: Callable[[str], str], target: str, most: int) -> None:
    """The page gives the size of one of the layers above the base."""
    name = image(target)
    folder = Path(call(["podman", "image", "mount", name]).stdout.decode().strip())

    files = [path for top in ("opt", "usr/local/bin") for path in (folder / top).rglob("*")]
    files = [path for path in files if path.is_file() and not path.is_symlink()]

    size = sum(path.stat().st_size for path in files) / MEGABYTE
    assert most - 6 < size <= most, f"{size:.1f} MB above the base"
    call(["podman", "image", "unmount", name])


CRD = b"""\
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: podcliquesets.grove.io}
  spec:
    group: grove.io
    names: {kind: PodCliqueSet, plural: podcliquesets}
    scope: Namespaced
    versions:
    - name: v1alpha1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          x-kubernetes-preserve-unknown-fields: true
          x-kubernetes-validations:
          - {rule: "self.spec.replicas < 2", message: at most one}
          properties:
            spec:
              type: object
              x-kubernetes-preserve-unknown-fields: true
              properties: {replicas: {type: integer}}
"""
WITH_CRD = RESOURCE_LIST.replace(b"items:\n", b"items:\n" + CRD, 1)


def test_rules_of_crds_hold_in_the_image(function: str, packwise: Path) -> None:
    inside = podman(*CONFINED, function, stdin=WITH_CRD)

    assert inside == call([packwise, "fn"], WITH_CRD)
    assert "at most one" in inside.stderr


def test_the_small_image_says_what_it_has_not(image: Callable[[str], str], packwise: Path) -> None:
    small = image("without-crds")

    assert podman(*CONFINED, small, stdin=RESOURCE_LIST) == call([packwise, "fn"], RESOURCE_LIST)
    refused = podman(*CONFINED, small, stdin=WITH_CRD)
    assert refused.code == 1
    assert "packwise[crds]" in refused.stderr
