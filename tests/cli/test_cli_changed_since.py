"""`check --changed-since REF` checks only files that a change affects. Git itself names the changes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, Call, Ran, write
from tests.cli.test_cli_git import git
from tests.places import needs_command

BROKEN = WORKLOAD.replace("rack", "block")
OTHER = BROKEN.replace("name: web", "name: other")
RULE = "topology-domain-unknown"

FILES = {
    "clusters/west/topology.yaml": CONFIG,
    "clusters/west/web.yaml": BROKEN,
    "clusters/east/topology.yaml": CONFIG,
    "clusters/east/web.yaml": BROKEN,
    "clusters/east/fine.yaml": WORKLOAD.replace("name: web", "name: fine"),
}


def committed(root: Path, message: str = "more") -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", message)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository that git makes once. All tests copy it."""
    root = tmp_path_factory.mktemp("template")
    write(root, FILES)
    git(root, "init", "--quiet", "--initial-branch=main", "--template=")
    committed(root)
    git(root, "checkout", "--quiet", "-b", "change")
    return root


@pytest.fixture
def repository(template: Path, tmp_path: Path) -> Path:
    """Return two packages with an error in each, committed as `main`. The branch `change` is checked out."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return tmp_path


def found(ran: Ran) -> list[tuple[str, str]]:
    return sorted({(finding["rule"], finding["file"]) for finding in ran.findings if finding["severity"] != "info"})


def errors_in(*files: str) -> list[tuple[str, str]]:
    return [(RULE, file) for file in sorted(files)]


ODD = (
    "--include=a.yaml", "-.yaml", "-o.yaml", "--config=x.yaml", "-q.yaml", "a\nb.yaml", "a\tb.yaml", 'a"b.yaml',
    "a\\b.yaml", "wörk.yaml", "$(touch x).yaml", "`touch x`.yaml", " a .yaml", ":(glob)*.yaml", ":!a.yaml", "*.yaml",
    "[a].yaml", "\\n.yaml", "'.yaml", "a;b.yaml", "a|b&.yaml", "\u202ea.yaml", "a b.yml", "é.json.yaml", "a\r.yaml",
    "\x07.yaml", "git:main.yaml", "~.yaml",
)  # fmt: skip


@pytest.mark.parametrize("state", ["committed", "untracked"])
def test_a_file_whose_name_is_no_text_is_checked(call: Call, repository: Path, state: str) -> None:
    (repository / "clusters/east" / os.fsdecode(b"\xff\xfe.yaml")).write_text(OTHER, encoding="utf-8")
    if state == "committed":
        committed(repository)

    ran = call("check", "clusters", "--changed-since", "main", "-o", "json")

    assert (ran.code, [rule for rule, _ in found(ran)]) == (1, [RULE])
    (file,) = {finding["file"] for finding in ran.findings}
    assert os.fsencode(file).decode("utf-8", "replace").startswith("clusters/east/")
    assert "in 1 file affected by the change since main; 1 workload checked" in ran.closing


@pytest.mark.parametrize("state", ["committed", "untracked"])
def test_a_file_of_any_name_is_checked_and_hides_no_other(call: Call, repository: Path, state: str) -> None:
    names = (*ODD, "plain.yaml")
    for at, name in enumerate(names):
        (repository / "clusters/east" / name).write_text(OTHER.replace("other", f"n{at}"), encoding="utf-8")
    if state == "committed":
        committed(repository)

    ran = call("check", ".", "--changed-since", "main", "-o", "json")

    assert (ran.code, found(ran)) == (1, errors_in(*[f"clusters/east/{name}" for name in names]))
    assert f"in {len(names)} files affected by the change since main; {len(names)} workloads checked" in ran.closing


@pytest.mark.parametrize("reference", ["main", "git:main", "HEAD~1", "change~1", "main^{commit}", "@~1"])
def test_only_what_changed_is_reported(call: Call, repository: Path, reference: str) -> None:
    write(repository, {"clusters/east/more.yaml": OTHER})
    committed(repository)

    ran = call("check", ".", "--changed-since", reference, "-o", "json")

    assert (ran.code, found(ran)) == (1, errors_in("clusters/east/more.yaml"))


@pytest.mark.parametrize(
    ("words", "form"),
    [
        *[(["."], form) for form in ("json", "text", "github", "gitlab", "sarif", "junit", "markdown")],
        *[
            (words, "json")
            for words in (["clusters"], ["clusters/west"], ["clusters/west/web.yaml"], ["clusters/east", "."])
        ],
    ],
)
def test_nothing_changed_is_an_answer(call: Call, repository: Path, words: list[str], form: str) -> None:
    write(repository, {"README.md": "a\n"})
    committed(repository)

    ran = call("check", *words, "--changed-since", "main", "-o", form)

    assert (ran.code, ran.stderr) == (0, "no findings: the change since main affects no checked file\n")
    assert RULE not in ran.stdout
    if form == "json":
        assert ran.stdout == "[]\n"


EAST = ("clusters/east/web.yaml",)
WEST = ("clusters/west/web.yaml",)
CHANGES: dict[str, tuple[dict[str, str | None], tuple[str, ...]]] = {
    "a workload": ({"clusters/west/web.yaml": f"{BROKEN}# more\n"}, WEST),
    "a fixed workload": ({"clusters/west/web.yaml": WORKLOAD}, ()),
    "a workload renamed": (
        {"clusters/west/web.yaml": None, "clusters/west/was.yaml": BROKEN}, ("clusters/west/was.yaml",)
    ),
    "a workload to another cluster": (
        {"clusters/west/web.yaml": None, "clusters/east/m/web.yaml": OTHER}, ("clusters/east/m/web.yaml",)
    ),
    "a workload gone": ({"clusters/west/web.yaml": None}, ()),
    "a configuration": ({"clusters/east/topology.yaml": f"{CONFIG}# more\n"}, EAST),
    "a configuration gone": ({"clusters/east/topology.yaml": None}, EAST),
    "a configuration that is new": (
        {"clusters/east/m/topology.yaml": CONFIG, "clusters/east/m/x.yaml": OTHER}, ("clusters/east/m/x.yaml",)
    ),
    "a configuration above": ({"clusters/east/topology.yaml": None, "clusters/topology.yaml": CONFIG}, EAST),
    "both configurations for one above": (
        {"clusters/east/topology.yaml": None, "clusters/west/topology.yaml": None, "topology.yaml": CONFIG}, EAST + WEST
    ),
    "a definition beside it": (
        {"clusters/west/queue.yaml": "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: a}\nspec: {}\n"},
        WEST,
    ),
    "another kind of file": ({"clusters/east/README.md": "a\n", "clusters/east/.hidden.yaml": OTHER}, ()),
    "another object": ({"clusters/east/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"}, ()),
}  # fmt: skip
"""The files that a change writes, or removes (None), and the files with errors that are reported."""


def change(root: Path, files: dict[str, str | None]) -> None:
    write(root, {name: text for name, text in files.items() if text is not None})
    for name, text in files.items():
        if text is None:
            (root / name).unlink()


@pytest.mark.parametrize("state", ["committed", "staged", "in the work tree"])
@pytest.mark.parametrize("name", CHANGES)
def test_what_a_change_reaches(call: Call, repository: Path, name: str, state: str) -> None:
    files, reported = CHANGES[name]
    change(repository, files)
    if state == "committed":
        committed(repository)
    elif state == "staged":
        git(repository, "add", "--all")

    ran = call("check", ".", "--changed-since", "main", "-o", "json")

    assert {file for rule, file in found(ran) if rule == RULE} == set(reported), ran.stderr


@pytest.mark.parametrize("name", [each for each in CHANGES if "configuration" in each])
def test_a_change_above_what_is_named_reaches_it(call: Call, repository: Path, name: str) -> None:
    files, reported = CHANGES[name]
    change(repository, files)
    committed(repository)

    ran = call("check", "clusters/east/web.yaml", "--changed-since", "main", "-o", "json")

    assert {file for rule, file in found(ran) if rule == RULE} == {each for each in reported if each in EAST}


def test_a_configuration_gone_is_said(call: Call, repository: Path) -> None:
    """Its workloads are checked with another configuration, although their bytes did not change."""
    change(repository, {"clusters/east/topology.yaml": None})
    committed(repository)

    ran = call("check", ".", "--changed-since", "main")

    assert "affected by the change since main" in ran.closing
    assert "clusters/east/web.yaml" in ran.stdout


def test_a_branch_means_where_it_was_left(call: Call, repository: Path) -> None:
    """Later commits of other people on main are no changes of this branch."""
    write(repository, {"clusters/east/more.yaml": OTHER})
    committed(repository)
    git(repository, "checkout", "--quiet", "main")
    write(repository, {"clusters/west/web.yaml": WORKLOAD})
    committed(repository)
    git(repository, "checkout", "--quiet", "change")

    ran = call("check", ".", "--changed-since", "main", "-o", "json")

    assert found(ran) == errors_in("clusters/east/more.yaml")


def test_of_several_commits_that_branches_left_each_counts(call: Call, repository: Path) -> None:
    """If merges cross, a file that equals one of the start commits has still changed since the other one."""
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "a")
    git(repository, "checkout", "--quiet", "main")
    write(repository, {"clusters/west/web.yaml": WORKLOAD})
    committed(repository)
    git(repository, "branch", "fixed")
    git(repository, "merge", "--quiet", "--no-edit", "change")
    git(repository, "checkout", "--quiet", "change")
    git(repository, "merge", "--quiet", "--no-edit", "fixed")
    write(repository, {"clusters/west/web.yaml": BROKEN})
    committed(repository)
    done = subprocess.run(
        ["git", "merge-base", "--all", "main", "change"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert len(done.stdout.split()) == 2

    ran = call("check", ".", "--changed-since", "main", "-o", "json")

    assert found(ran) == errors_in("clusters/west/web.yaml")


def test_the_mode_alone_is_no_change(call: Call, repository: Path) -> None:
    (repository / "clusters/west/web.yaml").chmod(0o755)
    committed(repository)

    assert "affects no checked file" in call("check", ".", "--changed-since", "main").stderr


def test_a_link_in_the_place_of_a_file(call: Call, repository: Path) -> None:
    write(repository, {"clusters/west/real.yaml": BROKEN})
    (repository / "clusters/west/web.yaml").unlink()
    (repository / "clusters/west/web.yaml").symlink_to("real.yaml")
    committed(repository)

    ran = call("check", ".", "--changed-since", "main", "-o", "json")

    assert found(ran) == errors_in("clusters/west/real.yaml")


def test_a_folder_in_the_place_of_a_link_and_the_other_way_round(call: Call, repository: Path) -> None:
    (repository / "link").symlink_to("clusters/west")
    committed(repository)
    git(repository, "branch", "--force", "main")
    (repository / "link").unlink()
    write(repository, {"link/web.yaml": OTHER, "link/topology.yaml": CONFIG})
    committed(repository)
    assert found(call("check", ".", "--changed-since", "main", "-o", "json")) == errors_in("link/web.yaml")

    git(repository, "branch", "--force", "main")
    (repository / "link/web.yaml").unlink()
    (repository / "link/topology.yaml").unlink()
    (repository / "link").rmdir()
    (repository / "link").symlink_to("clusters/west")
    ran = call("check", "link", "--changed-since", "main", "-o", "json")
    assert (ran.code, ran.stdout) == (0, "[]\n")


def test_a_second_object_of_a_name_is_reported_wherever_it_is_said(call: Call, repository: Path) -> None:
    """The finding is about the later file, which did not change."""
    write(repository, {"clusters/east/a.yaml": WORKLOAD.replace("name: web", "name: fine")})
    committed(repository)

    ran = call("check", ".", "--changed-since", "main", "-o", "json")

    assert (ran.code, found(ran)) == (1, [("object-once", "clusters/east/fine.yaml")])


def test_a_second_object_that_was_there_is_not_new(call: Call, repository: Path) -> None:
    write(repository, {"clusters/west/x.yaml": WORKLOAD.replace("name: web", "name: x")})
    committed(repository)

    assert call("check", ".", "--changed-since", "main").code == 0


@pytest.mark.parametrize("broken", [CONFIG.replace("levels:", "levels: ["), CONFIG.replace("rack", "!!")])
def test_a_configuration_that_keeps_a_change_from_being_checked_is_reported(
    call: Call, repository: Path, broken: str
) -> None:
    write(repository, {"clusters/west/topology.yaml": broken})
    committed(repository)
    git(repository, "branch", "--force", "main")
    write(repository, {"clusters/west/more.yaml": OTHER})
    committed(repository)

    ran = call("check", ".", "--changed-since", "main", "-o", "json")

    assert (ran.code, {finding["file"] for finding in ran.findings}) == (1, {"clusters/west/topology.yaml"})


def test_what_cannot_be_read_and_is_unchanged_says_nothing(call: Call, repository: Path) -> None:
    write(repository, {"clusters/west/a.yaml": "kind: A\na: [\n"})
    committed(repository)
    git(repository, "branch", "--force", "main")
    write(repository, {"clusters/west/more.yaml": OTHER, "clusters/west/b.yaml": "kind: A\nb: [\n"})
    committed(repository)

    ran = call("check", ".", "--changed-since", "main", "-o", "json")

    assert {finding["file"] for finding in ran.findings} == {"clusters/west/more.yaml", "clusters/west/b.yaml"}


LEFT: dict[str, tuple[dict[str, str | None], dict[str, str | None]]] = {
    ".gitignore": ({".gitignore": "web.yaml\n"}, {".gitignore": None}),
    "a kustomization's patch": (
        {"clusters/east/kustomization.yaml": "patches: [{path: web.yaml}]\n"},
        {"clusters/east/kustomization.yaml": "resources: [web.yaml]\n"},
    ),
    "a configuration's exclude": (
        {"topology.yaml": f"{CONFIG}  exclude: [clusters/east/web.yaml]\n"},
        {"topology.yaml": CONFIG},
    ),
}


@pytest.mark.parametrize("by", LEFT)
def test_what_is_no_longer_left_out_is_checked(call: Call, repository: Path, by: str) -> None:
    before, after = LEFT[by]
    change(repository, before)
    git(repository, "add", "--all", "--force")
    git(repository, "commit", "--quiet", "--message", "left out")
    git(repository, "branch", "--force", "main")
    change(repository, after)
    committed(repository)

    ran = call("check", "clusters/east", "--changed-since", "main", "-o", "json")
    everything = call("check", ".", "--changed-since", "main", "-o", "json")

    assert (RULE, "clusters/east/web.yaml") in found(everything)
    if by != "a configuration's exclude":
        assert found(ran) == errors_in("clusters/east/web.yaml")


def test_a_configuration_that_is_ignored_now_no_longer_applies(call: Call, repository: Path) -> None:
    write(repository, {".gitignore": "clusters/east/topology.yaml\n"})
    committed(repository)

    ran = call("check", "clusters", "--changed-since", "main")

    assert "clusters/east/web.yaml" in ran.stdout
    assert "affected by the change since " in ran.closing


@pytest.mark.parametrize(
    ("before", "after"),
    [({}, {"c.yaml": CONFIG}), ({"c.yaml": CONFIG}, {"c.yaml": f"{CONFIG}# more\n"})],
    ids=["new", "changed"],
)
def test_a_configuration_that_is_named_reaches_everything(
    call: Call, repository: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    write(repository, before)
    committed(repository)
    git(repository, "branch", "--force", "main")
    write(repository, after)
    committed(repository)

    ran = call("check", "clusters/east/web.yaml", "--config", "c.yaml", "--changed-since", "main", "-o", "json")

    assert found(ran) == errors_in("clusters/east/web.yaml")


@pytest.mark.usefixtures("repository")
def test_a_configuration_that_is_named_and_unchanged_reaches_nothing(call: Call) -> None:
    words = ("check", "clusters/east/web.yaml", "--config", "clusters/west/topology.yaml", "--changed-since", "main")

    assert "affects no checked file" in call(*words).stderr


def test_a_path_that_went_is_no_mistake_and_one_that_never_was_is(call: Call, repository: Path) -> None:
    change(repository, {name: None for name in FILES if "west" in name})
    committed(repository)

    gone = call("check", "clusters/west", "--changed-since", "main")
    never = call("check", "clusters/north", "--changed-since", "main")

    assert (gone.code, gone.stderr) == (0, "no findings: the change since main affects no checked file\n")
    assert never.code == 2
    assert '"clusters/north" does not exist' in never.stderr


HIDING: dict[str, dict[str, str | None]] = {
    "a file of before": {".gitignore": "web.yaml\n", "clusters/east/web.yaml": OTHER},
    "a new file": {".gitignore": "new.yaml\n", "clusters/east/new.yaml": OTHER},
    "a folder": {"clusters/.gitignore": "east/\n", "clusters/east/web.yaml": OTHER},
}


@pytest.mark.parametrize("hides", HIDING)
def test_a_change_cannot_hide_behind_a_gitignore(call: Call, repository: Path, hides: str) -> None:
    """Git tracks a file that was added, even if it is ignored."""
    change(repository, HIDING[hides])
    git(repository, "add", "--all", "--force")
    git(repository, "commit", "--quiet", "--message", "hidden")
    file = next(name for name in HIDING[hides] if name.endswith(".yaml"))
    by = next(iter(HIDING[hides]))

    ran = call("check", ".", "--changed-since", "main", "-o", "json")

    assert (ran.code, found(ran)) == (1, [("readable", file)])
    message = f'"{by}" excludes this file, but git tracks it. Remove the pattern from "{by}", or the file from git'
    assert [finding["message"] for finding in ran.findings if finding["file"] == file] == [message]


def test_what_git_does_not_track_is_ignored(call: Call, repository: Path) -> None:
    write(repository, {".gitignore": "new.yaml\n", "clusters/east/new.yaml": OTHER})
    committed(repository)

    ran = call("check", ".", "--changed-since", "main", "-o", "json")

    assert (ran.code, found(ran)) == (0, [])


@pytest.mark.slow
def test_a_submodule(call: Call, repository: Path, tmp_path: Path) -> None:
    # git uses a shell script to add a submodule.
    needs_command("sed", "sed")
    inner = tmp_path / "inner"
    write(inner, {"topology.yaml": CONFIG, "web.yaml": BROKEN})
    git(inner, "init", "--quiet", "--initial-branch=main")
    committed(inner)
    write(repository, {".gitignore": "/inner\n"})
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(inner), "modules/apps")
    committed(repository)
    git(repository, "branch", "--force", "main")
    assert "affects no checked file" in call("check", ".", "--changed-since", "main").stderr

    write(repository / "modules/apps", {"more.yaml": OTHER})
    dirty = call("check", ".", "--changed-since", "main", "-o", "json")
    committed(repository / "modules/apps")
    committed(repository)
    moved = call("check", ".", "--changed-since", "main", "-o", "json")

    assert found(dirty) == found(moved) == errors_in("modules/apps/more.yaml")


def test_a_submodule_whose_commit_is_not_here_is_new(call: Call, repository: Path, tmp_path: Path) -> None:
    inner = repository / "modules/apps"
    write(inner, {"topology.yaml": CONFIG, "web.yaml": BROKEN})
    git(inner, "init", "--quiet", "--initial-branch=main")
    committed(inner)
    committed(repository)
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},modules/apps")
    git(repository, "commit", "--quiet", "--message", "elsewhere")
    git(repository, "branch", "--force", "main")

    ran = call("check", "modules", ".", "--changed-since", "main", "-o", "json")

    assert found(ran) == errors_in("modules/apps/web.yaml")
    assert tmp_path.exists()


UNKNOWN = (
    'here; in CI, fetch it first (fetch-depth: 0 on GitHub, GIT_DEPTH: "0" on GitLab), because a shallow clone has '
    "only the newest commit\n"
)


@pytest.mark.parametrize(
    "reference", ["nothing", "main..change", "main:clusters", "HEAD^9", ":(glob)*", "$(touch x)", "a b"]
)
def test_a_reference_that_is_no_commit(call: Call, repository: Path, reference: str) -> None:
    ran = call("check", ".", "--changed-since", reference)

    assert (ran.code, ran.stdout, ran.stderr) == (
        2,
        "",
        f'error: git does not have the commit "git:{reference}" {UNKNOWN}',
    )
    assert not (repository / "x").exists()


@pytest.mark.parametrize("reference", ["", "git:", "--help", "-x", "git:--output=x"])
def test_a_reference_that_is_none(call: Call, repository: Path, reference: str) -> None:
    ran = call("check", ".", f"--changed-since={reference}")

    assert (ran.code, "does not name a commit; use a branch, a tag or a hash" in ran.stderr) == (2, True)
    assert not (repository / "x").exists()


def test_a_shallow_clone_says_what_to_fetch(call: Call, repository: Path, tmp_path: Path) -> None:
    write(repository, {"clusters/east/more.yaml": OTHER})
    committed(repository)
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", "shallow")
    git(tmp_path / "shallow", "fetch", "--quiet", "--depth=1", "origin", "main:main")

    absent = call("check", "shallow", "--changed-since", "HEAD~1")
    apart = call("check", "shallow", "--changed-since", "main")

    assert absent.stderr == f'error: git does not have the commit "git:HEAD~1" {UNKNOWN}'
    assert (absent.code, apart.code) == (2, 2)
    assert apart.stderr == (
        'error: "main" and the checked-out commit have no common ancestor here; in CI, fetch the whole history '
        '(fetch-depth: 0 on GitHub, GIT_DEPTH: "0" on GitLab)\n'
    )


def test_a_parent_is_enough_of_a_shallow_clone(call: Call, repository: Path, tmp_path: Path) -> None:
    """The page for GitHub describes this clone: fetch-depth: 2, and the first parent."""
    git(repository, "checkout", "--quiet", "main")
    write(repository, {"README.md": "a\n"})
    committed(repository)
    git(repository, "checkout", "--quiet", "change")
    write(repository, {"clusters/east/more.yaml": OTHER})
    committed(repository)
    git(repository, "checkout", "--quiet", "main")
    git(repository, "merge", "--quiet", "--no-edit", "change")
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{repository}", "shallow")

    ran = call("check", "shallow", "--changed-since", "HEAD^1", "-o", "json")

    assert found(ran) == errors_in("shallow/clusters/east/more.yaml")


def test_what_does_not_go_together(call: Call, repository: Path, tmp_path: Path) -> None:
    write(tmp_path.parent / f"{tmp_path.name}-other", {"a.yaml": WORKLOAD})
    elsewhere = f"../{tmp_path.name}-other"

    stdin = call("check", "-", "--changed-since", "main", stdin=WORKLOAD)
    outside = call("check", elsewhere, "--changed-since", "main")
    both = call("check", ".", elsewhere, "--changed-since", "main")

    assert stdin.stderr == (
        'error: --changed-since "main" needs files or folders, because git has no earlier version of stdin\n'
    )
    assert "because it is not in a git repository" in outside.stderr
    assert [ran.code for ran in (stdin, outside, both)] == [2, 2, 2]
    assert repository.exists()


def test_the_baseline_holds_the_rules_for_updates(call: Call, repository: Path) -> None:
    write(repository, {"clusters/east/fine.yaml": FILES["clusters/east/fine.yaml"].replace("rack", "zone")})
    committed(repository)

    ran = call("check", ".", "--changed-since", "main", "--baseline", "git:main", "-o", "json")

    assert found(ran) == [("update-topology-constraint", "clusters/east/fine.yaml")]


def test_git_runs_nothing_of_the_repository(call: Call, repository: Path) -> None:
    marker = repository.parent / f"{repository.name}.ran"
    trap = repository / "trap"
    write(repository, {"trap": f"#!/bin/sh\ntouch {marker}\n", ".gitattributes": "* diff=x filter=x\n"})
    trap.chmod(0o755)
    for setting in (
        "diff.external", "diff.x.textconv", "diff.x.command", "filter.x.clean", "filter.x.process", "core.fsmonitor",
        "core.pager", "alias.merge-base", "alias.ls-tree",
    ):  # fmt: skip
        git(repository, "config", setting, str(trap))
    git(repository, "config", "diff.renames", "copies")
    write(repository, {"clusters/east/more.yaml": OTHER})

    ran = call("check", ".", "--changed-since", "main", "-o", "json")

    assert found(ran) == errors_in("clusters/east/more.yaml")
    assert not marker.exists()


def test_mending_is_another_matter(call: Call, repository: Path) -> None:
    assert call("check", ".", "--changed-since", "main", "--fix").code == 2
    assert repository.exists()


def test_the_environment_moves_no_repository(call: Call, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, {"clusters/east/more.yaml": OTHER})
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, "/nowhere")

    assert found(call("check", ".", "--changed-since", "main", "-o", "json")) == errors_in("clusters/east/more.yaml")


@pytest.mark.parametrize("words", [
    ("check", ".", "--changed-since", "main"),
    ("comment", ".", "--baseline", "git:main"),
    ("fleet", "check", ".", "--changed-since", "main", "--no-cache"),
])  # fmt: skip
def test_a_worktree_says_what_the_repository_says(call: Call, repository: Path, words: tuple[str, ...]) -> None:
    write(repository, {"clusters/west/more.yaml": OTHER})
    committed(repository)
    git(repository, "worktree", "add", "--quiet", "--detach", "tree", "HEAD")
    (repository / "tree").rename(repository.parent / f"{repository.name}-tree")
    git(repository, "worktree", "repair", str(repository.parent / f"{repository.name}-tree"))

    here = call(*words)
    os.chdir(repository.parent / f"{repository.name}-tree")
    there = call(*words)

    assert here.code == 1
    assert "more.yaml" in here.stdout
    assert there == here
