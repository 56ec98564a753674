"""The image, without a container engine: the steps of the Dockerfile, followed in a scratch directory.

The build stage's own commands run there; what they make then runs as the image's user, with no network, as kpt and
kustomize run functions. The wheels are built twice to the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.dockerfile import Stage, stages
from tests.places import ROOT, missing

pytestmark = [pytest.mark.client, pytest.mark.xdist_group("image")]

NATIVE, BUILD, KUSTOMIZE, PLUGIN, REPO_SERVER, FINAL = stages(ROOT / "Dockerfile")

RESOURCE_LIST = (ROOT / "testdata" / "clients" / "image" / "input.yaml").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Image:
    """What the Dockerfile's steps left, under a folder that stands for `/`."""

    root: Path

    def inside(self, path: str) -> Path:
        return self.root / path.lstrip("/")


def world_readable_python() -> Path:
    """A Python 3.11+ that the image's user may run; one under a private home folder is none."""
    names = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
    candidates = [Path(sys.executable).resolve(), *(Path("/usr/bin") / name for name in names)]
    found = next((python for python in candidates if python.exists() and suits(python)), None)
    if found is None:
        missing(
            "no Python 3.11+ with venv that every user may run: install one, for example python3-venv of the system"
        )
    return found


def suits(python: Path) -> bool:
    check = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"
    return (
        subprocess.run(confined([str(python), "-c", check]), cwd="/", capture_output=True, check=False).returncode == 0
    )


def confined(command: list[str]) -> list[str]:
    """The command as the image's user in a network namespace of its own, which has no network at all."""
    user, group = FINAL.of("USER")[0].text.split(":")
    if os.geteuid() != 0:
        return ["unshare", "--user", f"--map-user={user}", f"--map-group={group}", "--net", "--", *command]
    alone = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--no-new-privs", "--"]
    return ["unshare", "--net", "--", *alone, *command]


def environment(stage: Stage) -> dict[str, str]:
    """The variables of a stage; the toolchain of Rust is this machine's."""
    variables = [word.partition("=") for step in stage.of("ENV") for word in step.words()]
    return {key: value for key, _, value in variables if key not in ("PATH", "RUSTUP_HOME", "CARGO_HOME")}


def copy_into(folder: Path, words: list[str]) -> None:
    """The files of the repository that a step copies, and none of those of another stage."""
    *sources, target = words
    for source in sources if not sources[0].startswith("--from=") else ():
        if (ROOT / source).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "target")
            shutil.copytree(ROOT / source, folder / target, ignore=ignored)
        else:
            shutil.copy(ROOT / source, folder / target)


def follow(stage: Stage, root: Path, python: Path) -> None:
    """Run a stage's steps with `/src` and `/opt` standing under `root`."""
    folder = root
    commands = root / "commands"
    commands.mkdir(parents=True)
    (commands / "python").symlink_to(python)
    paths = [str(root / "opt/build/bin"), str(commands), os.environ["PATH"]]
    # An image sees nothing of the shell that builds it, so not what hides a library from the tests either.
    shell = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    variables = {**shell, **environment(stage), "PATH": os.pathsep.join(paths)}
    for step in stage.instructions:
        if step.name == "WORKDIR":
            folder = root / step.text.lstrip("/")
            folder.mkdir(parents=True, exist_ok=True)
        elif step.name == "COPY":
            copy_into(folder, step.words())
        elif step.name == "RUN":
            script = re.sub(r"(?<![\w.])/opt/", f"{root}/opt/", step.text)
            subprocess.run(["sh", "-euc", script], cwd=folder, env=variables, check=True, timeout=600)


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    for needed in ("unshare", "setpriv"):
        if shutil.which(needed) is None:
            missing(f"{needed} is not on PATH: install util-linux")
    # pytest's own temporary folders are closed to other users.
    with tempfile.TemporaryDirectory(prefix="packwise-image-") as scratch:
        root = Path(scratch)
        root.chmod(0o755)
        python = world_readable_python()
        native = root / "native"
        follow(NATIVE, native, python)
        copied = [step.words() for step in BUILD.of("COPY") if step.words()[0] == "--from=native"]
        for _, source, target in copied:
            shutil.copytree(native / source.lstrip("/"), root / target.lstrip("/"))
        follow(BUILD, root, python)
        yield Image(root)


def run_function(image: Image, stdin: str) -> subprocess.CompletedProcess[str]:
    return run_inside(image, FINAL.of("ENTRYPOINT")[0].words(), stdin)


def run_python(image: Image, program: str) -> subprocess.CompletedProcess[str]:
    done = run_inside(image, ["/opt/packwise/bin/python", "-c", program])
    assert (done.returncode, done.stderr) == (0, "")
    return done


def run_inside(image: Image, words: list[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    program, *arguments = words
    command = confined([str(image.inside(program)), *arguments])
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, env={}, cwd="/", timeout=60, check=False
    )


def test_base_images_are_pinned_to_one_exact_version() -> None:
    assert BUILD.image == PLUGIN.image == FINAL.image
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+|python@sha256:[0-9a-f]{64}", FINAL.image)
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
    user, group = FINAL.of("USER")[0].text.split(":")

    assert int(user) > 0
    assert int(group) > 0
    assert FINAL.of("ENTRYPOINT")[0].words() == ["/opt/packwise/bin/packwise", "fn"]
    assert all(step.text.startswith("[") for step in FINAL.of("RUN")), "exec form: nothing in this stage needs a shell"
    copied = FINAL.of("COPY")[0].words()
    assert copied == ["--from=build", "/opt/packwise", "/opt/packwise"]


def test_function_runs_as_the_image_user_without_network(image: Image, packwise: Path) -> None:
    installed = subprocess.run([str(packwise), "fn"], input=RESOURCE_LIST, capture_output=True, text=True, check=False)

    done = run_function(image, RESOURCE_LIST)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == installed.stdout
    assert "kind: PodGang\n" in done.stdout


def test_function_refuses_nonsense_with_exit_code_1(image: Image) -> None:
    done = run_function(image, "no list\n")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")


def test_confinement_has_no_network_and_no_privileges(image: Image) -> None:
    program = (
        "import os, socket\n"
        "print(os.getuid(), os.getgid(), [name for _, name in socket.if_nameindex()])\n"
        "print(os.access('/etc/shadow', os.R_OK))\n"
    )

    done = run_python(image, program)

    assert done.stdout == "65532 65532 ['lo']\nFalse\n"


def test_environment_holds_what_the_lock_names_and_no_installer(image: Image) -> None:
    libraries = next(image.inside("/opt/packwise/lib").glob("python3.*/site-packages"))
    there = {path.name.split("-")[0].lower().replace("_", "-") for path in libraries.glob("*.dist-info")}

    locked = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert there == {"krmfn-native", "packwise", *re.findall(r"^([a-z0-9-]+)==", locked, re.MULTILINE)}


def test_every_file_of_the_packages_is_installed(image: Image) -> None:
    """Data too: the explanations of rules are YAML."""
    libraries = next(image.inside("/opt/packwise/lib").glob("python3.*/site-packages"))
    there = [path for path in (ROOT / "fn").rglob("*.*") if "__pycache__" not in path.parts]
    beside = ("pyproject.toml", "packwise.cdx.json", "krmfn.cdx.json")
    # The native core is a distribution of its own.
    python = [path for path in there if not path.is_relative_to(ROOT / "fn" / "krmfn-native")]
    files = {path.relative_to(ROOT / "fn") for path in python if path.name not in beside}

    assert {path for path in files if not (libraries / path).is_file()} == set()


def test_the_native_core_reads_and_writes(image: Image) -> None:
    program = "from krmfn.yamltext import native; print(native.write({'a': 1}), end='')"

    done = run_python(image, program)

    assert done.stdout == "a: 1\n"


def test_the_distribution_brings_its_bill_of_materials(image: Image) -> None:
    libraries = next(image.inside("/opt/packwise/lib").glob("python3.*/site-packages"))
    # Libraries may bring theirs.
    bills = {path.name: path.read_bytes() for path in libraries.glob("packwise-*.dist-info/sboms/**/*.json")}

    assert bills == {"packwise.cdx.json": (ROOT / "fn/packwise.cdx.json").read_bytes()}


def test_libraries_are_compiled_without_time_stamps(image: Image) -> None:
    libraries = next(image.inside("/opt/packwise/lib").glob("python3.*/site-packages"))
    sources = [path for path in libraries.rglob("*.py") if "packwise" in path.parts or "krmfn" in path.parts]
    compiled = [next(path.parent.glob(f"__pycache__/{path.stem}.cpython-*.pyc")) for path in sources]

    assert sources
    assert {path.read_bytes()[4] for path in compiled} == {1}, "flags of an unchecked hash-based file"


def test_wheels_have_the_same_bytes_when_built_again(image: Image, tmp_path: Path) -> None:
    """From another folder, with other file times and another umask, by the words of `make wheel`."""
    again = tmp_path / "elsewhere"
    again.mkdir()
    for step in BUILD.of("COPY"):
        copy_into(again, step.words())
    for path in again.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    quiet = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    build = ["-m", "pip", "wheel", *quiet, "--wheel-dir", "dist", *distributions()]
    variables = {**os.environ, **environment(BUILD)}
    subprocess.run([image.inside("/opt/build/bin/python"), *build], cwd=again, env=variables, check=True, umask=0o077)

    first, second = (digests(folder) for folder in (image.inside("/opt/dist"), again / "dist"))
    assert [name.split("-")[0] for name in second] == ["krmfn", "packwise"]
    assert first == {name: digest for name, digest in second.items() if not name.startswith("krmfn")}


def distributions() -> list[str]:
    """What `make wheel` builds."""
    found = re.search(r"^DISTRIBUTIONS := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return found[1].split()


def digests(folder: Path) -> dict[str, str]:
    """The wheels in `folder`, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.whl"))}
