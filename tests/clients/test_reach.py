"""The reach of `packwise fn` as its system calls show it: only its own code and its input, for any user and folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, listing, write
from tests.cli.test_cli_interrupted import BROKEN
from tests.cli.test_cli_osmo_hostile import NODES, embedded
from tests.places import ROOT, TESTDATA, missing

pytestmark = pytest.mark.client

INPUT = TESTDATA / "clients" / "image" / "input.yaml"

TRAPS = (
    "cel_expr_python",
    "json",
    "jsonpatch",
    "krmfn",
    "krmfn_native",
    "packwise",
    "pydantic",
    "re",
    "shtab",
    "site",
    "yaml",
)
"""Modules that packwise imports. The folder in which packwise is started has a file for each of them."""

OWN = (
    ROOT / ".venv",
    ROOT / "fn",
    # This hides the native core if the tests run without it.
    ROOT / "tests" / "without",
    Path(sys.base_prefix),
    Path(sysconfig.get_paths()["stdlib"]),
)
"""The folders of packwise's code, of its libraries and of the interpreter."""

SYSTEM = re.compile(
    r"/(usr/)?lib(64)?/.*|/etc/ld\.so\.(cache|preload)|/etc/localtime|/usr/share/(locale|zoneinfo)/.*|/dev/(null|urandom)|"
    r"/proc/self/(maps|status|cgroup|mountinfo)|/sys/(fs/cgroup|kernel/mm)/.*|/proc/(sys/vm/overcommit_memory|cpuinfo|meminfo)"
)
"""Files that the C library, the interpreter and allocators open at their start."""

OPENED = re.compile(r'^\d+ +open(?:at)?\((?:AT_FDCWD, )?"([^"]*)", ([A-Z_|]+).*\) = (-?\d+)', re.MULTILINE)
CALLED = re.compile(r"^\d+ +([a-z0-9_]+)\(", re.MULTILINE)
DONE = re.compile(r"^\d+ +([a-z0-9_]+)\(.* = 0$", re.MULTILINE)

NETWORK = {"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg", "recvfrom"}
PROCESSES = {"fork", "vfork", "clone", "clone3", "execve", "execveat", "kill", "ptrace"}
CHANGES = {
    *("mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat"),
    *("symlink", "symlinkat", "chmod", "fchmod", "fchmodat", "chown", "fchownat", "truncate", "ftruncate", "mknod"),
    *("mount", "umount2", "chroot", "setuid", "setgid", "utimensat", "memfd_create"),
}

NOBODY = (
    "--reuid=65534 --regid=65534 --clear-groups --bounding-set=-all,+dac_read_search "
    "--inh-caps=-all,+dac_read_search --ambient-caps=-all,+dac_read_search"
)
READ_ONLY = f"""
mount --make-rprivate /
mount -o remount,bind,ro /
exec setpriv {NOBODY} "$@"
"""
"""A script that runs a command as the user nobody, who cannot change anything. All files are readable, because the
interpreter may be in a user's home.
"""


def needed(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        missing(f"{name} is not on PATH: `make e2e-packages` installs it")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a trap for each import."""
    place = tmp_path / "cwd"
    place.mkdir()
    for name in TRAPS:
        (place / f"{name}.py").write_text(
            f"raise SystemExit('{name} of the working directory was imported')\n", "utf-8"
        )
        (place / name).mkdir()
        (place / name / "__init__.py").write_text((place / f"{name}.py").read_text("utf-8"), "utf-8")
    return place


def traced(
    command: list[str | Path], folder: Path, *, alone: bool, stdin: bytes = INPUT.read_bytes()
) -> tuple[subprocess.CompletedProcess[bytes], str]:
    """Return the run and its system calls.

    `alone` means without network, as the user nobody, on a read-only file system.
    """
    trace = folder.parent / "trace"
    around: list[str] = []
    if alone:
        around = [needed("unshare"), "--net", "--mount", "sh", "-c", f"set -e\n{READ_ONLY}", "sh"]
        needed("setpriv")
    done = subprocess.run(
        [needed("strace"), "-f", "-qq", "-o", trace, *around, *command],
        cwd=folder,
        input=stdin,
        capture_output=True,
        check=False,
    )
    text = trace.read_text("utf-8", "replace")
    # Earlier system calls are not packwise's.
    return done, text[text.rindex(f'execve("{command[0]}"') :]


@pytest.mark.parametrize("alone", [False, True], ids=["as it is", "as nobody, without network, read-only"])
def test_the_function_reaches_its_own_code_only(alone: bool, packwise: Path, folder: Path) -> None:
    if alone and os.geteuid() != 0:
        missing("only root can become another user in a network of its own")

    done, trace = traced([packwise, "fn"], folder, alone=alone)

    assert done.returncode == 0, done.stderr
    assert b"kind: PodGang" in done.stdout
    opened = [(Path(path), flags) for path, flags, answer in OPENED.findall(trace) if int(answer) >= 0]
    assert len(opened) > 50
    assert [str(path) for path, _ in opened if not is_own(path)] == []
    writes = [str(path) for path, flags in opened if re.search("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", flags)]
    # If the code has no bytecode cache, the interpreter writes one if it is permitted.
    assert [path for path in writes if "__pycache__" not in path or alone] == []
    called = set(CALLED.findall(trace))
    assert called & (NETWORK | PROCESSES) == set()
    assert (set(DONE.findall(trace)) & CHANGES if alone or not writes else set()) == set()


TEMPLATE = b"""\
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: train, labels: {packwise.dev/osmo: workflow}}
  data:
    train.yaml: |
      workflow:
        name: {{name}}
        pool: p
        tasks:
        - {name: t, image: x, command: [a], args: ["{% for n in range(3) %}{{n}}{% endfor %}"], resource: default}
        resources: {default: {cpu: 1}}
      default-values: {name: train}
"""


@pytest.mark.parametrize("alone", [False, True], ids=["as it is", "as nobody, without network, read-only"])
def test_a_template_is_filled_in_by_a_copy_that_reaches_nothing(alone: bool, packwise: Path, folder: Path) -> None:
    if alone and os.geteuid() != 0:
        missing("only root can become another user in a network of its own")
    stdin = INPUT.read_bytes().replace(b"items:\n", TEMPLATE, 1)

    done, trace = traced([packwise, "fn"], folder, alone=alone, stdin=stdin)

    assert b"{{name}}" in done.stdout
    assert b"osmo-template" not in done.stdout
    # The traced part begins within the line in which the first process starts the command.
    first = trace.splitlines()[1].partition(" ")[0]
    copies = [line for line in trace.splitlines() if not line.startswith(f"{first} ")]
    assert len(copies) > 10
    assert [found for line in copies for found in OPENED.findall(line) if int(found[2]) >= 0] == []
    called = set(CALLED.findall(trace))
    assert called & NETWORK == set()
    assert called & PROCESSES <= {"fork", "clone", "clone3", "kill"}
    assert set(CALLED.findall("\n".join(copies))) & (PROCESSES | CHANGES) == set()


ELSEWHERE = (
    "check in",
    "check in -o sarif --baseline before",
    "render in",
    "explain in",
    "topologies in",
    "diff before in",
    "doctor in",
    "place in --nodes nodes.yaml",
    "comment in --baseline before",
    "fleet check in --no-cache",
    "fleet diff in --baseline before --no-cache -o json",
)


@pytest.mark.parametrize("words", ELSEWHERE)
def test_commands_need_no_file_of_their_own(words: str, packwise: Path, tmp_path: Path) -> None:
    """The user nobody gets the same answer without network, home and a writable file system, also from templates."""
    if os.geteuid() != 0:
        missing("only root can become another user in a network of its own")
    flow = embedded("x\n  tasks: [{name: t, image: i, command: [sleep], args: ['{{ 1 + 1 }}']}]", 1)
    files = {"topology.yaml": CONFIG, "web.yaml": WORKLOAD, "flow.yaml": flow}
    (tmp_path / ".git").mkdir()
    write(tmp_path, {f"{top}/{name}": text for top in ("in", "before") for name, text in files.items()})
    write(tmp_path, {"before/web.yaml": WORKLOAD.replace("replicas: 1", "replicas: 2"), "nodes.yaml": NODES})
    around = [needed("unshare"), "--net", "--mount", "sh", "-c", f"set -e\n{READ_ONLY}", "sh"]
    nowhere = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TMPDIR": "/nonexistent"}

    here, there = (
        subprocess.run(
            [*prefix, packwise, *words.split()], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        for prefix, env in (([], dict(os.environ)), (around, nowhere))
    )

    assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr)
    assert here.returncode in (0, 1)
    assert "osmo-template" not in here.stdout + here.stderr


@pytest.mark.parametrize(
    "words", ["render in -o out", "check in --fix", "fleet render in -o out", "render --in-place in"]
)
def test_another_user_changes_nothing_and_is_told(words: str, packwise: Path, tmp_path: Path) -> None:
    """The user nobody reads folders of root. The missing cache in a missing home causes one warning."""
    if os.geteuid() != 0:
        missing("only root can become another user")
    (tmp_path / ".git").mkdir()
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": BROKEN if "--fix" in words else WORKLOAD})
    before = listing(tmp_path)
    become = [needed("setpriv"), *NOBODY.split()]

    done = subprocess.run(
        [*become, packwise, *words.split()],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "Permission denied" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("warning: cannot write the cache") == (1 if "fleet" in words else 0)
    assert listing(tmp_path) == before


def is_own(path: Path) -> bool:
    return any(path.is_relative_to(own) for own in OWN) or SYSTEM.fullmatch(str(path)) is not None


@pytest.mark.parametrize("words", [["fn"], ["check", "-"], ["render", "-"], ["rules"], ["--version"]])
def test_no_module_of_the_working_directory_is_imported(words: list[str], packwise: Path, folder: Path) -> None:
    python = Path(sys.executable)
    wrapped = folder / "packwise-of-kustomize"
    wrapped.write_text(f'#!/bin/sh\nexec "{packwise}" "$@"\n', "utf-8")
    wrapped.chmod(0o755)
    bare = folder / "bare"
    bare.mkdir()
    # `python -m` searches the working directory before any code of packwise runs, even for packwise itself.
    for name in set(TRAPS) - {"packwise", "re", "site", "json"}:
        shutil.copy(folder / f"{name}.py", bare)
    for command, place in (
        ([packwise], folder),
        ([wrapped], folder),
        ([python, "-P", "-m", "packwise"], folder),
        ([python, "-I", "-m", "packwise"], folder),
        ([python, "-m", "packwise"], bare),
    ):
        done = subprocess.run([*command, *words], cwd=place, input=INPUT.read_bytes(), capture_output=True, check=False)

        assert (done.returncode, b"was imported" in done.stderr) == (0, False), (command, done.stderr)


def test_scripts_of_ci_import_nothing_of_the_checkout() -> None:
    """A pull request could add a `venv.py` or a `pip/`."""
    scripts = [ROOT / "action.yml", *(ROOT / "flux").glob("*.sh"), *(ROOT / "docs" / "how-to").glob("*.md")]
    found = {
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in scripts
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"python3?\"? (?!-I )(.* )?-m ", line)
    }

    assert found == set()
