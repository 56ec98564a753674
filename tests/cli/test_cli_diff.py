"""`packwise diff`: each folder under testdata/diff/ is a case. Its name is the sentence that the case specifies."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, SERVICE, SHARED, SHARED_FINDING, WORKLOAD, Call, write
from tests.cli.test_cli_git import git
from tests.places import ROOT, TESTDATA
from tests.schemas import schema_errors

Expect = Callable[[str, str], None]
CASES = sorted(path.name for path in (TESTDATA / "diff").iterdir())
RACKS = CONFIG.replace("example.com/rack", "example.com/rack-v2")


@pytest.fixture
def sides(package: Path) -> Path:
    """Return the package as `in`, and as `new` with another label for its racks."""
    shutil.copytree(package, package.parent / "new")
    write(package.parent, {"new/topology.yaml": RACKS})
    return package.parent


@pytest.mark.parametrize("case", CASES)
def test_case(case: str, call: Call, tmp_path: Path, assert_expected: Expect) -> None:
    for side in ("before", "after"):
        shutil.copytree(TESTDATA / "diff" / case / side, tmp_path / side)

    ran = call("diff", "before", "after")
    as_json = call("diff", "before", "after", "-o", "json")
    as_patch = call("diff", "before", "after", "-o", "patch")
    as_markdown = call("diff", "before", "after", "-o", "markdown")

    assert_expected(f"diff/{case}/expected.txt", f"{ran.stdout}--- stderr\n{ran.stderr}--- exit {ran.code}\n")
    assert_expected(f"diff/{case}/expected.json", as_json.stdout)
    assert_expected(f"diff/{case}/expected.patch.json", as_patch.stdout)
    assert_expected(f"diff/{case}/expected.md", as_markdown.stdout)
    assert (as_markdown.code, as_markdown.messages) == (ran.code, "")
    assert (as_json.code, as_json.messages, as_patch.code) == (ran.code, "", ran.code)
    refusals = [finding["message"] for finding in json.loads(as_json.stdout)["refusals"]]
    assert [message for message in refusals if message not in as_patch.stderr] == []


@pytest.mark.parametrize("case", CASES)
def test_the_json_keeps_its_schema(case: str) -> None:
    schema = json.loads((ROOT / "docs" / "reference" / "diff.schema.json").read_text(encoding="utf-8"))

    for name, part in (("expected.json", schema), ("expected.patch.json", schema["$defs"]["patches"])):
        found = json.loads((TESTDATA / "diff" / case / name).read_text(encoding="utf-8"))
        assert schema_errors(found, {**part, "$defs": schema["$defs"]}) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["in", "in"], 0),
        (["in", "new"], 0),
        (["in", "new", "--exit-code"], 1),
        (["in", "in", "--exit-code"], 0),
        (["in", "new", "-o", "patch", "--exit-code"], 1),
    ],
)
def test_a_change_is_no_error_unless_that_is_asked_for(sides: Path, words: list[str], code: int, call: Call) -> None:
    assert call("diff", *words).code == code
    assert sides.exists()


def test_a_commit_means_the_path_of_the_other_side_or_its_own(sides: Path, call: Call) -> None:
    git(sides, "init", "--quiet", "--initial-branch=main")
    git(sides, "add", "in")
    git(sides, "commit", "--quiet", "--message", "one")
    git(sides, "tag", "one")
    write(sides, {"in/topology.yaml": RACKS})
    changed = "ClusterTopology 1 changed; Topology 1 to be re-created; PodGang 1 changed"
    asked = [["git:main", "in"], ["git:main:in", "in"], ["git:one:in", "new"], ["git:one:./in/", "new"]]

    told = {" ".join(words): call("diff", *words).stdout.splitlines()[-1] for words in asked}
    git(sides, "commit", "--quiet", "--all", "--message", "two")
    both = call("diff", "git:one", "git:main").stdout.splitlines()[-1]

    assert told == {" ".join(words): f"{' → '.join(words)}: {changed}" for words in asked}
    assert both == f"git:one → git:main: {changed}"


def test_what_was_not_there_yet_is_added(sides: Path, call: Call) -> None:
    git(sides, "init", "--quiet", "--initial-branch=main")
    git(sides, "commit", "--quiet", "--allow-empty", "--message", "one")

    ran = call("diff", "git:main", "in")

    assert (ran.code, ran.messages) == (0, "")
    assert ran.stdout.endswith("git:main → in: ClusterTopology 1 added; Topology 1 added; PodGang 1 added\n")


def test_a_configuration_is_read_from_the_commit_too(sides: Path, call: Call) -> None:
    write(sides, {"cluster.yaml": CONFIG})
    (sides / "in" / "topology.yaml").unlink()
    git(sides, "init", "--quiet", "--initial-branch=main")
    git(sides, "add", "in", "cluster.yaml")
    git(sides, "commit", "--quiet", "--message", "one")
    write(sides, {"cluster.yaml": RACKS})

    ran = call("diff", "git:main", "in", "--config", "cluster.yaml")

    assert ran.stdout.splitlines()[-1].endswith("Topology 1 to be re-created; PodGang 1 changed")


def test_stdin_is_one_of_the_sides(sides: Path, call: Call) -> None:
    ran = call("diff", "in", "-", stdin=f"{RACKS}---\n{WORKLOAD}")

    assert ran.code == 0
    assert ran.stdout.splitlines()[-1].startswith("in → <stdin>: ClusterTopology 1 changed")
    assert sides.exists()


def test_the_function_of_a_rendered_folder_is_compared_as_it_is(sides: Path, call: Call) -> None:
    assert call("render", "in", "-o", "out").code == 0

    rendered = call("diff", "out/packwise", "new").stdout
    sources = call("diff", "in", "new").stdout

    assert rendered.splitlines()[:-1] == sources.splitlines()[:-1]
    assert sides.exists()


def test_what_cannot_be_read_is_reported_and_not_compared(sides: Path, call: Call) -> None:
    write(sides, {"new/broken.yaml": "kind: PodCliqueSet\na: [\n"})

    ran = call("diff", "in", "new")

    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: new/broken.yaml:3:1: ")


def test_colours_stand_on_a_terminal_only(sides: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    write(sides, {"new/topology.yaml": CONFIG.replace("enabled: true", "enabled: false")})
    plain = call("diff", "in", "new").stdout
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)

    coloured = call("diff", "in", "new").stdout

    assert "\x1b" not in plain
    assert "\x1b[31m-\x1b[0m grove-topology: " in coloured
    assert "\x1b[33m~\x1b[0m shop/web-0\n" in coloured
    assert "\x1b[33mlost\x1b[0m: required example.com/rack" in coloured
    assert re.sub("\x1b\\[[0-9]+m", "", coloured) == plain


def test_a_label_that_is_no_text_names_no_workload(package: Path, call: Call) -> None:
    gang = "apiVersion: scheduler.grove.io/v1alpha1\nkind: PodGang\nmetadata: {name: a, uid: x, labels: %s}\n"
    write(package.parent, {"live.yaml": gang % "{app.kubernetes.io/part-of: [web]}"})

    ran = call("diff", "live.yaml", "in")

    assert (ran.code, ran.stdout.splitlines()[-1]) == (
        0,
        "live.yaml → in: ClusterTopology 1 added; Topology 1 added; PodGang 1 added, 1 removed",
    )


def test_nothing_acts_on_the_terminal(tmp_path: Path, call: Call) -> None:
    queue = "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: a, uid: x}\nspec: {parentQueue: %s}\n"
    write(tmp_path, {"a.yaml": queue % "b", "b.yaml": queue % '"\\e[31mc\\nd"'})

    ran = call("diff", "a.yaml", "b.yaml")

    assert "      spec.parentQueue: b → \\x1b[31mc\\nd\n" in ran.stdout


@pytest.mark.parametrize("output", ["text", "json", "patch"])
@pytest.mark.parametrize(("depth", "code"), [(99, 0), (100, 1), (490, 1)])
def test_objects_are_compared_down_to_a_depth(depth: int, code: int, output: str, call: Call, tmp_path: Path) -> None:
    head = 'apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: a, namespace: b, uid: "1"}\nspec: '
    for name, leaf in (("one", "1"), ("other", "2")):
        write(tmp_path, {f"{name}.yaml": f"{head}{'{a: ' * depth}{leaf}{'}' * depth}\n"})

    ran = call("diff", "one.yaml", "other.yaml", "-o", output)

    told = ran.stderr if output == "patch" else ran.stdout
    assert ran.code == code
    assert ("must not be nested deeper than 100 levels to be compared" in told) == bool(code)


@pytest.mark.parametrize("output", ["text", "json", "markdown", "patch"])
def test_an_assumed_release_is_told_once_for_both_sides(tmp_path: Path, call: Call, output: str) -> None:
    """If a file lacks the line, each side has a separate place."""
    free = WORKLOAD.partition("    topologyConstraint:")[0] + WORKLOAD.partition("rack}\n")[2]
    write(tmp_path, {"old/web.yaml": free, "new/web.yaml": free.replace("replicas: 2", "replicas: 3")})

    bare = call("diff", "old", "new", "-o", output)
    write(
        tmp_path,
        {
            f"{side}/t.yaml": CONFIG.partition("  topologyAwareScheduling:")[0] + "  emit: [PodGang]\n"
            for side in ("old", "new")
        },
    )
    configured = call("diff", "old", "new", "-o", output)

    assert [line.partition(": the release of Grove is not set")[0] for line in bare.messages.splitlines()] == [
        "warning"
    ]
    assert [
        line.partition(" TopologyRender topology spec: the release of Grove is not set")[0]
        for line in configured.messages.splitlines()
    ] == [
        "warning: old/t.yaml:6:3:",
        "warning: new/t.yaml:6:3:",
    ]


def test_a_patch_needs_bookkeeping_that_can_be_taken_away(sides: Path, call: Call) -> None:
    """An annotation of kpt that shares its anchor with another value stays, so the new object has no text."""
    write(sides, {"old/service.yaml": SERVICE, "new/generated.yaml": SHARED})

    ran = call("diff", "old", "new", "-o", "patch")

    assert (ran.code, ran.stdout, ran.stderr.splitlines()[-1]) == (1, "", f"error: new/{SHARED_FINDING}")
