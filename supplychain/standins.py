"""Stand-ins for the images of the Dockerfile, for machines that cannot reach a registry of images.

They are root file systems of Debian's packages, and the toolchains of this machine.
docs/decisions/0002-stand-ins-for-base-images.md lists the parts that stay untested.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from supplychain.dockerfile import stages
from supplychain.engine import FOLDER, run
from supplychain.locks import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EPOCH", "KUSTOMIZE", "argocd", "kustomize", "stand_in"]

EPOCH = "1767225600"
"""The time of every file in an image, and in a wheel: 2026-01-01."""

KUSTOMIZE = "kustomize"
"""The stage of the Dockerfile that builds kustomize."""

_SUITE = "trixie"
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


class _Standin(NamedTuple):
    """A stand-in for images with a matching name.

    `build` makes it if necessary, and returns its address for buildah.
    """

    name: re.Pattern[str]
    build: Callable[[], str]


def stand_in(image: str) -> str | None:
    """Return the stand-in for an image of a registry, as a value of buildah's `--build-context`.

    Return None if there is none.
    """
    return next((build() for name, build in _STANDINS if name.match(image)), None)


def kustomize() -> str:
    """Return the folder that replaces the stage `kustomize`.

    It has the kustomize of `make tools`, in the version of the stage.
    """
    (stage,) = (stage for stage in stages(ROOT / "Dockerfile") if stage.name == KUSTOMIZE)
    version = re.search(r"kustomize/v5@(v\S+)", stage.of("RUN")[0].text)
    if version is None:
        sys.exit("Dockerfile: the stage kustomize must name a version of sigs.k8s.io/kustomize/kustomize/v5")
    built = ROOT / ".cache" / "tools" / f"kustomize-{version[1]}" / "kustomize"
    if not built.exists():
        sys.exit(f"{built.relative_to(ROOT)} is not built: `make tools` builds it")
    folder = FOLDER / "kustomize"
    program = folder / "go/bin/kustomize"
    program.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(built, program)
    program.chmod(0o755)
    return str(folder)


def argocd() -> str:
    """Build the stand-in for Argo CD's image, and return its address.

    It is Debian without Python. It has kustomize at the path of Argo CD's image, and Argo CD's user.
    """
    steps = (
        "FROM {slim}",
        "RUN apt-get purge --quiet --quiet --yes --auto-remove python3 python3-venv \\",
        " && rm /usr/local/bin/python && useradd --uid 999 argocd",
        "COPY go/bin/kustomize /usr/local/bin/kustomize",
    )
    return _build_on_slim("argocd", "\n".join(steps), kustomize())


def _build_slim() -> str:
    """Build Debian with Python from its packages, and return its address.

    `python` has the path of the official image.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    certificates = FOLDER / "ca-certificates.crt"
    shutil.copyfile(_CERTIFICATES, certificates)
    # If a proxy of this machine signs its traffic, the build must trust it too.
    pip = FOLDER / "pip.conf"
    pip.write_text(f"[global]\ncert = {_CERTIFICATES}\n", encoding="utf-8")
    words = (
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        "--include=python3,python3-venv,ca-certificates",
        '--aptopt=Acquire::Languages "none"',
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/man/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        "--dpkgopt=force-unsafe-io",
        '--customize-hook=ln -s /usr/bin/python3 "$1/usr/local/bin/python"',
        f"--customize-hook=upload {certificates} {_CERTIFICATES}",
        f"--customize-hook=upload {pip} /etc/pip.conf",
        _SUITE,
    )
    key = _key(*words, certificates.read_text(encoding="utf-8"))

    def build(tag: str) -> None:
        root = FOLDER / "slim.tar"
        run(*words, root, _mirror(), variables={"SOURCE_DATE_EPOCH": EPOCH})
        path = "ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
        run("podman", "import", "--quiet", "--change", path, root, tag)
        root.unlink()

    return _image("python-slim", key, build)


def _build_full() -> str:
    """Build the slim image with a linker, and return its address."""
    packages = "apt-get install --quiet --quiet --yes --no-install-recommends gcc libc6-dev"
    return _build_on_slim("python", "FROM {slim}\nRUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive " + packages)


def _copy_rust() -> str:
    """Copy this machine's Rust into the folders of the official image, and return the folder."""
    root = _output("rustc", "--print", "sysroot")
    folder = FOLDER / f"rust-{_key(_output('rustc', '--version'))}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        toolchain = part / "usr/local/rustup/toolchains/host"
        programs = part / "usr/local/cargo/bin"
        programs.mkdir(parents=True)
        (toolchain / "bin").mkdir(parents=True)
        for name in ("cargo", "rustc"):
            shutil.copy2(f"{root}/bin/{name}", toolchain / "bin" / name)
            (programs / name).symlink_to(f"/usr/local/rustup/toolchains/host/bin/{name}")
        shutil.copytree(f"{root}/lib", toolchain / "lib", symlinks=True)
        part.rename(folder)
    return str(folder)


_STANDINS = (
    _Standin(re.compile(r"(docker\.io/library/)?python[:@][^ ]*-slim-"), _build_slim),
    _Standin(re.compile(r"(docker\.io/library/)?python[:@]"), _build_full),
    _Standin(re.compile(r"(docker\.io/library/)?rust[:@]"), _copy_rust),
)


def _build_on_slim(name: str, text: str, context: str = "") -> str:
    """Build an image from the slim one by a Containerfile, and return its address.

    `context` is the folder to copy from.
    """
    slim = _build_slim()
    containerfile = text.format(slim=slim.removeprefix("container-image://"))

    def build(tag: str) -> None:
        file = FOLDER / f"{name}.Containerfile"
        file.write_text(containerfile, encoding="utf-8")
        empty = FOLDER / "empty"
        empty.mkdir(exist_ok=True)
        options = ("--isolation", "chroot", "--network", "host", "--timestamp", EPOCH, "--pull-never")
        run("buildah", "bud", "--quiet", *options, "--file", file, "--tag", tag, context or empty)

    return _image(name, _key(containerfile), build)


def _image(name: str, key: str, build: Callable[[str], None]) -> str:
    """Return the address of the image `name` with this key of its inputs. Build it if it does not exist."""
    repository = f"localhost/packwise-stands-in-for-{name}"
    tag = f"{repository}:{key}"
    there = run(
        "podman", "images", "--format", "{{.Repository}}:{{.Tag}}", "--filter", f"reference={repository}"
    ).split()
    if tag not in there:
        build(tag)
    return f"container-image://{tag}"


def _mirror() -> str:
    """Return the mirror of Debian that apt uses."""
    listed = _output("apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages")
    found = [line.split()[1] for line in listed.splitlines() if line.startswith("Debian http")]
    return found[0] if found else "http://deb.debian.org/debian"


def _key(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
