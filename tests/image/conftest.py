"""The images under test, as `make image` built them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from supplychain.engine import missing_programs
from supplychain.image import FUNCTION, name_of
from supplychain.registry import Repository, publish
from tests.e2e.tools import built
from tests.image.containers import call
from tests.places import missing

Image = Callable[[str], str]


@pytest.fixture(scope="session")
def image() -> Image:
    """Return the name of a target's image."""
    wanting = missing_programs()
    if wanting:
        missing(wanting)

    def one(target: str) -> str:
        name = name_of(target)
        if call(["podman", "image", "exists", name]).code:
            missing(f"{name} is not built: `make image` builds it")
        return name

    return one


@pytest.fixture(scope="session")
def function(image: Image) -> str:
    return image(FUNCTION)


@pytest.fixture(scope="session")
def root(function: str) -> Iterator[Path]:
    """Yield the file system of the function's image."""
    mounted = call(["podman", "image", "mount", function])
    assert mounted.code == 0, mounted.stderr
    yield Path(mounted.stdout.decode().strip())
    call(["podman", "image", "unmount", function])


@pytest.fixture(scope="session")
def registry() -> Iterator[str]:
    """Yield the address of a registry on this machine, which keeps its content in memory."""
    command = [built("crane"), "registry", "serve", "--address", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        port = re.search(r"serving on port (\d+)", line)
        assert port is not None, line
        yield f"127.0.0.1:{port[1]}"
        server.terminate()


@pytest.fixture(scope="session")
def repository(registry: str) -> Repository:
    return Repository(registry, "platform/packwise")


@pytest.fixture(scope="session")
def digest(function: str, repository: Repository) -> str:
    """Return the digest of the pushed image."""
    return publish(function, repository, "0.1.0")
