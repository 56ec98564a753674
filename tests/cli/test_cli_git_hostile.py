"""Repositories with programs in their settings. Reading a commit runs none of the programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from tests.cli.calling import Call, Ran, write
from tests.cli.test_cli_git import git
from tests.places import needs_command

pytestmark = pytest.mark.slow

TRAP = "touch {marker}; false"
"""A shell command that creates the file `marker`."""

ORIGIN = '[remote "origin"]\n\turl = {address}\n'
SSH = ORIGIN.replace("{address}", "ssh://localhost/x")
ALLOWED = '[protocol "{name}"]\n\tallow = always\n'
EXT = ALLOWED.replace("{name}", "ext")

OLDER_GIT = """\
#!/bin/sh
unset GIT_NO_LAZY_FETCH
for word; do
  shift
  case $word in safe.bareRepository=*) word=core.unknown=true ;; esac
  set -- "$@" "$word"
done
exec {git} "$@"
"""
"""A git that does not know some of the settings. It ignores them as git ignores every unknown setting."""

SETTINGS = {
    "ssh": '[core]\n\tsshCommand = "{trap}"\n' + SSH,
    "ssh, its protocol allowed": '[core]\n\tsshCommand = "{trap}"\n' + ALLOWED.replace("{name}", "ssh") + SSH,
    "a short address": '[core]\n\tsshCommand = "{trap}"\n' + ORIGIN.replace("{address}", "localhost:x"),
    "git's proxy": "[core]\n\tgitProxy = {script}\n" + ORIGIN.replace("{address}", "git://localhost/x"),
    "transport ext": EXT + ORIGIN.replace("{address}", "ext::{script}"),
    "transport ext by a rewritten address": (
        EXT + '[url "ext::{script} "]\n\tinsteadOf = x:\n' + ORIGIN.replace("{address}", "x:y")
    ),
    "upload-pack of a folder": ORIGIN.replace("{address}", "{folder}") + '\tuploadpack = "{trap}"\n',
    "credential helper": (
        '[credential]\n\thelper = "!{trap}"\n[core]\n\taskPass = {script}\n'
        + ORIGIN.replace("{address}", "https://localhost:1/x")
    ),
    "settings of another file": "[include]\n\tpath = {folder}/more\n" + SSH,
    "settings on a condition": '[includeIf "gitdir:**"]\n\tpath = {folder}/more\n' + SSH,
    "everything that runs beside a fetch": """\
[core]
    fsmonitor = {script}
    hooksPath = {folder}/hooks
    pager = {script}
    editor = {script}
    alternateRefsCommand = {script}
    attributesFile = {folder}/info/attributes
[pager]
    ls-tree = {script}
    cat-file = {script}
    rev-parse = {script}
[diff]
    external = {script}
[diff "x"]
    textconv = {script}
    command = {script}
[filter "x"]
    smudge = {script}
    clean = {script}
    process = {script}
    required = true
[gpg]
    program = {script}
[log]
    showSignature = true
[uploadpack]
    packObjectsHook = {script}
[alias]
    ls-tree = "!{trap}"
    cat-file = "!{trap}"
"""
    + SSH,
}
"""Settings of a repository that make a command of git run a program."""


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Return the path of the file that exists after a command of the repository ran."""
    return tmp_path.parent / f"{tmp_path.name}.ran"


def arm(repository: Path, settings: str, marker: Path) -> None:
    """Remove the object of a file from a repository, so that git wants to fetch it, and add `settings`."""
    folder = repository.resolve()
    script = folder / "trap"
    trap = TRAP.format(marker=marker)
    write(folder, {"trap": f"#!/bin/sh\n{trap}\n", "more": f'[core]\n\tsshCommand = "{trap}"\n'})
    for name in ("post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc"):
        write(folder, {f"hooks/{name}": f"#!/bin/sh\n{trap}\n"})
    for path in (script, *(folder / "hooks").iterdir()):
        path.chmod(0o755)
    write(folder, {"info/attributes": "* filter=x diff=x\n"})
    partial = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n"
    promisor = '[remote "origin"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n'
    text = settings.format(trap=trap, script=script, folder=folder)
    with (folder / "config").open("a", encoding="utf-8") as config:
        config.write(partial + promisor + text)
    blob = subprocess.run(
        ["git", "--git-dir", folder, "rev-parse", "main:in/web/workload.yaml"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (folder / "objects" / blob[:2] / blob[2:]).unlink()


@pytest.fixture
def repository(package: Path) -> Path:
    """Return the package, committed as `main`."""
    root = package.parent
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "one")
    return root


def reads(call: Call) -> list[Ran]:
    return [
        call("check", "in", "--baseline", "git:main"),
        call("diff", "git:main", "in"),
        call("diff", "git:main:in", "git:main~0:in"),
    ]


@pytest.fixture(params=["git as it is", "an older git"])
def age(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Remove the protections of git 2.38 (`safe.bareRepository`) and git 2.45 (`GIT_NO_LAZY_FETCH`)."""
    if request.param == "an older git":
        folder = tmp_path_factory.mktemp("older")
        program = folder / "git"
        program.write_text(OLDER_GIT.format(git=shutil.which("git")), encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("age")
@pytest.mark.parametrize("settings", SETTINGS)
def test_settings_of_the_repository_run_nothing(settings: str, call: Call, repository: Path, marker: Path) -> None:
    """An unpacked archive contains a `.git` with settings."""
    arm(repository / ".git", SETTINGS[settings], marker)

    runs = reads(call)

    reason = (
        'error: git does not have all files of "in" in "git:main", as in a partial clone, and packwise fetches '
        "nothing. If you trust the repository, fetch them: git archive main in > /dev/null\n"
    )
    assert not marker.exists()
    assert [(ran.code, ran.stdout, ran.stderr) for ran in runs[:2]] == [(2, "", reason)] * 2
    assert runs[2].code == 2


@pytest.mark.usefixtures("age")
@pytest.mark.parametrize("settings", SETTINGS)
def test_asking_what_changed_runs_nothing(settings: str, call: Call, repository: Path, marker: Path) -> None:
    arm(repository / ".git", SETTINGS[settings], marker)
    write(repository, {".gitattributes": "* filter=x diff=x\n"})

    unchanged = call("check", "in", "--changed-since", "main")
    write(repository, {"in/web/workload.yaml": "a: 1\n"})
    changed = call("check", "in", "--changed-since", "main")

    assert not marker.exists()
    # A file that is unchanged on disk is not requested.
    assert (unchanged.code, "affects no checked file" in unchanged.stderr) == (0, True)
    assert (changed.code, "as in a partial clone" in changed.stderr) == (2, True)


@pytest.mark.usefixtures("age")
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("extra", ["", "[core]\n\tbare = false\n\tworktree = .\n", "[core]\n\tworktree = ../..\n"])
def test_a_folder_that_looks_like_a_repository_is_none(
    settings: str, extra: str, call: Call, repository: Path, marker: Path
) -> None:
    """Git treats a folder with HEAD, objects and refs as a repository, and a commit can contain these files."""
    shutil.copytree(repository / ".git", repository / "in", dirs_exist_ok=True)
    arm(repository / "in", extra + SETTINGS[settings], marker)

    runs = reads(call)

    assert not marker.exists()
    assert [(ran.code, ran.messages) for ran in runs if "note: " not in ran.messages] == [(0, "")] * 3


@pytest.mark.usefixtures("age")
def test_without_a_repository_around_it_it_is_none_either(call: Call, repository: Path, marker: Path) -> None:
    shutil.copytree(repository / ".git", repository / "in", dirs_exist_ok=True)
    arm(repository / "in", "[core]\n\tbare = false\n\tworktree = .\n" + SETTINGS["ssh"], marker)
    shutil.rmtree(repository / ".git")

    runs = reads(call)

    assert not marker.exists()
    assert {ran.code for ran in runs} == {2}
    assert runs[0].stderr.startswith('error: cannot read "in" from a commit, because it is not in ')


@pytest.mark.usefixtures("age")
@pytest.mark.parametrize("inner", ["", "in"], ids=["around the folder", "the folder itself"])
def test_an_empty_folder_called_git_hides_nothing(inner: str, call: Call, repository: Path, marker: Path) -> None:
    """If `.git` is not a repository, git checks the folder itself."""
    shutil.copytree(repository / ".git", repository / "in", dirs_exist_ok=True)
    arm(repository / "in", "[core]\n\tbare = false\n\tworktree = .\n" + SETTINGS["ssh"], marker)
    shutil.rmtree(repository / ".git")
    (repository / inner / ".git").mkdir()

    runs = reads(call)

    assert not marker.exists()
    assert {ran.code for ran in runs} == {2}


@pytest.mark.parametrize(
    "variables",
    [
        {"GIT_SSH_COMMAND": "trap", "GIT_ALLOW_PROTOCOL": "ssh"},
        {"GIT_SSH": "trap", "GIT_NO_LAZY_FETCH": "0"},
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "trap"},
        {"GIT_CONFIG_PARAMETERS": "'core.sshcommand=trap'"},
        {"GIT_DIR": "elsewhere"},
        {"GIT_WORK_TREE": "/", "GIT_PREFIX": "a/"},
        {"GIT_OBJECT_DIRECTORY": "/nowhere"},
        {"GIT_EXEC_PATH": "/nowhere"},
        {"GIT_TRACE": "trace", "GIT_TRACE2": "trace"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_variables_of_git_are_not_passed_on(
    variables: dict[str, str], call: Call, repository: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, trace = repository / "trap", repository / "trace"
    write(repository, {"trap": f"#!/bin/sh\ntouch {marker}\n"})
    script.chmod(0o755)
    for name, value in variables.items():
        monkeypatch.setenv(name, {"trap": str(script), "trace": str(trace)}.get(value, value))

    runs = reads(call)

    assert [ran.code for ran in runs] == [0, 0, 0]
    assert not marker.exists()
    assert not trace.exists()


def test_git_itself_is_taken_from_no_relative_entry_of_path(
    call: Call, repository: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository, {"git": f"#!/bin/sh\ntouch {marker}\n"})
    (repository / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f".:in/..::{os.environ['PATH']}")

    assert [ran.code for ran in reads(call)] == [0, 0, 0]
    assert not marker.exists()

    monkeypatch.setenv("PATH", ".")
    assert call("check", "in", "--baseline", "git:main").stderr == ("error: cannot read a commit: git is not on PATH\n")


def test_a_work_tree_of_its_own_and_a_submodule_are_read(call: Call, repository: Path, tmp_path: Path) -> None:
    """Their `.git` is a file that names another folder."""
    # git uses a shell script to add a submodule.
    needs_command("sed", "sed")
    git(repository, "worktree", "add", "--quiet", "tree", "-b", "other")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path), "module")

    for folder in ("tree/in", "module/in"):
        assert call("diff", "git:HEAD", folder).code == 0


def reads_and_asks(call: Call) -> list[Ran]:
    return [
        *reads(call)[:2],
        call("check", "in", "--changed-since", "main"),
        call("fleet", "check", ".", "--changed-since", "git:main", "--no-cache"),
    ]


def swap(path: Path, target: str | None) -> None:
    """Replace a file by a link, or by a named pipe without a writer."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    if target is None:
        os.mkfifo(path)
    else:
        path.symlink_to(target)


ENDLESS = ("config", "refs/heads/main", "objects/info/alternates", "packed-refs", "shallow", "commondir")


@pytest.mark.parametrize("target", [None, "/dev/zero"], ids=["a pipe", "a device"])
@pytest.mark.parametrize("name", ENDLESS)
def test_what_git_would_read_without_end_is_refused(
    name: str, target: str | None, call: Call, repository: Path
) -> None:
    """Git would use all memory for a link to `/dev/zero`, and would wait forever for a named pipe."""
    swap(repository / ".git" / name, target)

    for ran in reads_and_asks(call):
        assert (ran.code, ran.stdout) == (2, "")
        assert ran.stderr.endswith(f'.git/{name}"\n')


def test_what_an_alternate_names_is_looked_at_too(call: Call, repository: Path, tmp_path: Path) -> None:
    other = tmp_path.parent / f"{tmp_path.name}.objects"
    write(repository / ".git", {"objects/info/alternates": f"{other}\n"})
    other.mkdir()
    swap(other / "info" / "alternates", "/dev/zero")

    assert {ran.code for ran in reads_and_asks(call)} == {2}


def move_git_folder(repository: Path, tmp_path: Path) -> Path:
    """Move the `.git` of the repository to another folder."""
    place = tmp_path.parent / f"{tmp_path.name}.git"
    shutil.move(repository / ".git", place)
    return place


@pytest.mark.parametrize("way", ["a file", "a link", "a common folder", "settings of the work tree"])
def test_settings_that_stand_elsewhere_run_nothing(
    way: str, call: Call, repository: Path, tmp_path: Path, marker: Path
) -> None:
    place = move_git_folder(repository, tmp_path)
    arm(place, SETTINGS["everything that runs beside a fetch"], marker)
    git_folder = repository / ".git"
    if way == "a file":
        git_folder.write_text(f"gitdir: {place}\n", encoding="utf-8")
    elif way == "a link":
        git_folder.symlink_to(place)
    elif way == "a common folder":
        write(git_folder, {"HEAD": "ref: refs/heads/main\n", "commondir": f"{place}\n"})
    else:
        shutil.copytree(place, git_folder)
        shutil.move(git_folder / "config", git_folder / "config.worktree")
        write(git_folder, {"config": "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n"})

    codes = [ran.code for ran in reads_and_asks(call)]

    assert codes == [2, 2, 0, 0]
    assert not marker.exists()


def test_a_submodule_with_settings_of_its_own_runs_nothing(
    call: Call, repository: Path, tmp_path: Path, marker: Path
) -> None:
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path), "in/module")
    git(repository, "commit", "--quiet", "--message", "two")
    arm(repository / ".git/modules/in/module", SETTINGS["everything that runs beside a fetch"], marker)
    write(repository, {"in/module/in/web/new.yaml": "a: 1\n"})

    ran = call("check", "in", "--changed-since", "main")

    assert ran.code in (0, 1, 2)
    assert not marker.exists()


@pytest.mark.parametrize(
    "text",
    ["gitdir: .git\n", "gitdir: ../../..\n", "gitdir: /nowhere\n", "gitdir: \0\n", "gitdir: " + "a" * 2_000_000, ""],
    ids=["itself", "above", "nowhere", "a NUL", "long", "empty"],
)
def test_a_file_called_git_that_names_no_repository(text: str, call: Call, repository: Path) -> None:
    shutil.rmtree(repository / ".git")
    write(repository, {".git": text})

    assert {ran.code for ran in reads_and_asks(call)} == {2}


ODD_SETTINGS = {
    "a device": "[include]\n\tpath = /dev/zero\n",
    "itself": "[include]\n\tpath = config\n",
    "another format": "[core]\n\trepositoryformatversion = 99\n",
    "no settings": "[core\n\0",
    "a length that is none": "[core]\n\tabbrev = 1\n",
}


@pytest.mark.parametrize("settings", ODD_SETTINGS.values(), ids=list(ODD_SETTINGS))
def test_settings_that_git_refuses(settings: str, call: Call, repository: Path) -> None:
    with (repository / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(settings)

    for ran in reads_and_asks(call):
        assert (ran.code, ran.stdout) == (2, "")
        assert "git rev-parse reports: " in ran.stderr


def test_a_commit_is_what_its_hash_says(call: Call, repository: Path) -> None:
    """This holds even if refs or a file would replace a blob or the parents."""
    blob, other = (
        subprocess.run(
            ["git", "hash-object", "-w", "--stdin"], cwd=repository, input=text, capture_output=True, check=True
        ).stdout.decode()
        for text in ((repository / "in/web/workload.yaml").read_bytes(), b"a: 1\n")
    )
    git(repository, "replace", blob.strip(), other.strip())
    before = call("diff", "git:main", "in").stdout
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "two")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, check=True).stdout
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "grafts").write_bytes(head)

    assert "nothing changes for the scheduler" in before
    assert call("check", "in", "--changed-since", "main~1").code == 0


def test_an_object_that_becomes_too_large_is_not_read(call: Call, repository: Path) -> None:
    """The object has a hundred KiB on disk."""
    head = b"blob %d\0" % (600 << 20)
    packing = zlib.compressobj(9)
    parts = [packing.compress(head), *[packing.compress(bytes(1 << 20)) for _ in range(100)], packing.flush()]
    blob = subprocess.run(
        ["git", "rev-parse", "main:in/web/workload.yaml"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout.strip()
    place = repository / ".git" / "objects" / blob[:2] / blob[2:]
    place.chmod(0o644)
    place.write_bytes(b"".join(parts))
    write(repository, {"in/web/workload.yaml": "a: 1\n"})

    for ran in reads_and_asks(call)[:3]:
        assert (ran.code, ran.stdout) == (2, "")
        assert ran.stderr.endswith(" must be at most 512 MiB; split it into smaller files\n")
