"""Behaviour that only a separate process shows: the installed command, closed pipes, and the function."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG
from tests.places import needs_command

LIST = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"


def test_a_reader_that_goes_early_is_no_news(packwise: Path, package: Path) -> None:
    needs_command("bash", "bash")
    command = ["bash", "-c", f"{packwise} render {package} | exec 0<&-; exit ${{PIPESTATUS[0]}}"]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_bytes_do_not_depend_on_the_locale(locale: str, packwise: Path, tmp_path: Path) -> None:
    (tmp_path / "é.yaml").write_text(f"{CONFIG}# é\n---\na: [\n", encoding="utf-8")
    environment = {**os.environ, "LC_ALL": locale}

    done = subprocess.run([packwise, "check", "."], cwd=tmp_path, env=environment, capture_output=True, check=False)

    reason = (
        "did not find expected node content (while parsing a flow node); if the file belongs to another tool, "
        "pass --exclude GLOB [readable]"
    )
    shown = "  14 | a: [\n"
    assert done.stdout.decode() == f"error: é.yaml:15:1: {reason}\n{shown}\n"
    assert done.stderr == b"1 error in 1 file; no workload checked\n"


@pytest.mark.parametrize(("words", "answer"), [(["fn"], LIST), (["fn", "--validate"], LIST)])
def test_the_function(words: list[str], answer: str, packwise: Path) -> None:
    done = subprocess.run([packwise, *words], input=LIST, capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert done.stdout.startswith(answer)
