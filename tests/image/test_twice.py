"""Two builds of one commit give the same image."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from supplychain.image import FUNCTION, build, name_of
from supplychain.registry import Repository, publish
from tests.image.containers import call
from tests.places import ROOT

pytestmark = pytest.mark.image


def test_a_second_build_gives_the_same_digest(
    function: str, repository: Repository, digest: str, tmp_path: Path
) -> None:
    """The second build has another folder, and other times and modes of files. It uses the native core of the first
    build.

    The compared digests are those of the image's configuration, and of its manifest in a registry.
    """
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in files.split("\0")[:-1]:
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
            (tmp_path / name).chmod((ROOT / name).stat().st_mode & 0o700)
            os.utime(tmp_path / name, (1_000_000_000, 1_000_000_000))
    dockerfile = tmp_path / "Dockerfile"
    text = dockerfile.read_text(encoding="utf-8")
    stage = " AS build\n"
    assert text.count(stage) == 1
    dockerfile.write_text(text.replace(stage, f"{stage}ENV AGAIN={tmp_path.name}\n"), encoding="utf-8")

    name = f"localhost/packwise-again:{name_of(FUNCTION).rpartition(':')[2]}"
    again = build(FUNCTION, name, tmp_path)

    first = call(["podman", "image", "inspect", "--format", "{{.Id}}", function]).stdout.decode().strip()
    assert again == first
    assert publish(name, repository, "again") == digest
