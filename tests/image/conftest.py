"""The images under test, as `make image` built them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from supplychain.engine import absent
from supplychain.image import FUNCTION, name_of
from tests.image.containers import call
from tests.places import missing

Image = Callable[[str], str]


@pytest.fixture(scope="session")
def image() -> Image:
    """The name of the image of a target."""
    wanting = absent()
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
    """The file system of the function's image."""
    mounted = call(["podman", "image", "mount", function])
    assert mounted.code == 0, mounted.stderr
    yield Path(mounted.stdout.decode().strip())
    call(["podman", "image", "unmount", function])
