"""Completion, as a shell requests it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.calling import Call

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["mi"], ["migrate"]),
        (["ex"], ["explain"]),
        (["explain", "clus"], ["clusters"]),
        (["explain", "PodGang/a", "clus"], ["clusters"]),
        (["check", "--ba"], ["--baseline"]),
        (["doc"], ["doctor"]),
        (["init", "--for", "kus"], ["kustomize"]),
        (["schema", "Pod"], ["PodCliqueSet"]),
        (["help", "topol"], ["topologies", "topology"]),
        (["migrate", "--to", "grep"], ["grep-244", "grep-244-multi"]),
        (["rules", "topology-hier"], ["topology-hierarchy"]),
        (["render", "clus"], ["clusters"]),
    ],
    ids=" ".join,
)
def test_bash_completes(packwise: Path, tmp_path: Path, words: list[str], completed: list[str]) -> None:
    if shutil.which("bash") is None:
        pytest.skip("bash is not on PATH")
    (tmp_path / "clusters").mkdir()
    script = (
        f'source <("{packwise}" completion bash); COMP_WORDS=(packwise "$@"); COMP_CWORD=$#; '
        '_shtab_packwise; printf "%s\\n" "${COMPREPLY[@]}"'
    )

    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout.split(), done.stderr) == (0, completed, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh", "powershell"])
def test_every_shell_has_a_script(call: Call, shell: str) -> None:
    ran = call("completion", shell)

    assert (ran.code, ran.stderr) == (0, "")
    assert all(
        command in ran.stdout for command in ("render", "check", "diff", "explain", "topologies", "migrate", "rules")
    )
