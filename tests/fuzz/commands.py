"""Every command answers any files with a documented exit code and without a traceback."""

from __future__ import annotations

import io
import os
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from packwise.cli.command_line import main
from tests.places import TESTDATA
from tests.runners import commands_in

__all__ = ["COMMANDS", "commands", "run_command"]

_NODES = ("--nodes", "in")
COMMANDS = (
    ("check", "in"),
    ("check", "in", "--fix", "--unsafe-fixes"),
    ("check", "in", "--crds", "in"),
    ("check", "in", "-o", "sarif", "--baseline", "before"),
    ("check", "in", *_NODES),
    ("render", "in", "-o", "out"),
    ("render", "in"),
    ("migrate", "in", "--to", "v0.1.0-alpha.13"),
    ("migrate", "in", "--to", "v0.1.0-alpha.14", "--from", "v0.1.0-alpha.8"),
    ("doctor", "in"),
    ("diff", "before", "in"),
    ("diff", "in", "before", "-o", "patch"),
    ("diff", "before", "in", "-o", "markdown"),
    ("migrate", "in", "--dry-run"),
    ("place", "in", *_NODES, "--exact"),
    ("explain", "in", "-o", "json"),
    ("topologies", "in", "-o", "json"),
    ("check", "in", "-o", "markdown", "-v"),
    ("fleet", "check", ".", "--no-cache", "-o", "json"),
    ("explain", "in"),
    ("topologies", "in"),
    ("place", "in", *_NODES),
    ("place", "in", *_NODES, "--baseline", "before"),
    ("report", "in", *_NODES, "-o", "report.html", "--baseline", "before"),
    ("comment", "in", *_NODES, "--baseline", "before"),
    ("topology", "import", "in/input.yaml"),
    ("init", "new", "--from", "in/input.yaml", "--for", "kustomize"),
)
"""The commands. The first byte of an input selects one."""

_BEFORE = TESTDATA / "fuzz" / "before.yaml"


def commands(data: bytes) -> None:
    """Assert that two runs give the same answer with a documented exit code, and change files only in the named
    folders.
    """
    run_command(COMMANDS[data[0] % len(COMMANDS)] if data else COMMANDS[0], data[1:])


def run_command(words: tuple[str, ...], text: bytes) -> None:
    """Run the command twice on a file with `text`."""
    first, second = (_ran(words, text) for _ in range(2))
    assert first == second, words
    code, out, err, _ = first
    assert code in (0, 1, 2), (words, err)
    assert "internal error" not in out + err, (words, err)
    assert "Traceback" not in err, (words, err)
    assert commands_in(err) == [], (words, err)


def _ran(words: tuple[str, ...], data: bytes) -> tuple[int, str, str, dict[str, bytes]]:
    """Return the exit code, both streams, and the files afterwards."""
    out, err = io.BytesIO(), io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name, content in (("in/input.yaml", data), ("before/input.yaml", _BEFORE.read_bytes())):
            Path(name).parent.mkdir()
            Path(name).write_bytes(content)
        with (
            redirect_stdout(io.TextIOWrapper(out, "utf-8")) as stdout,
            redirect_stderr(io.TextIOWrapper(err, "utf-8", "backslashreplace")) as stderr,
        ):
            code = main(words)
            stdout.flush()
            stderr.flush()
            files = {os.fsdecode(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}
            return code, out.getvalue().decode(), err.getvalue().decode(), files
