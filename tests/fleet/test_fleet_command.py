"""`packwise fleet`: its output about many packages for people, programs and pull requests, and its files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, SERVICE, SHARED, SHARED_FINDING, WORKLOAD, Call, listing, write
from tests.cli.test_cli_place import node
from tests.fleet.trees import KPTFILE
from tests.places import ROOT
from tests.schemas import schema_errors

Expect = Callable[[str, str], None]

SUFFIXES = {"text": "txt", "json": "json", "markdown": "md"}
WRONG = WORKLOAD.replace("packDomain: rack", "packDomain: block")
OTHER_KEY = CONFIG.replace("example.com/rack", "example.com/rak")
PLAIN = {
    "clusters/east/topology.yaml": CONFIG,
    "clusters/east/web/workload.yaml": WORKLOAD,
    "clusters/east/web/service.yaml": SERVICE,
    "clusters/north/Kptfile": KPTFILE,
    "clusters/north/topology.yaml": CONFIG,
    "clusters/north/workload.yaml": WORKLOAD,
    "clusters/south/topology.yaml": CONFIG,
    "clusters/south/workload.yaml": WRONG,
    "clusters/south-2/topology.yaml": CONFIG,
    "clusters/south-2/workload.yaml": WRONG,
}
"""Four packages that need no client. Two of them have the same error."""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Return a folder of packages that need no client."""
    write(tmp_path, PLAIN)
    (tmp_path / ".git").mkdir()
    return tmp_path / "clusters"


@pytest.fixture(autouse=True)
def _no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a separate cache for each test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize("verb", ["check", "render", "place"])
@pytest.mark.parametrize("report", ["text", "json", "markdown"])
def test_a_fleet_is_reported(call: Call, assert_expected: Expect, tmp_path: Path, verb: str, report: str) -> None:
    write(tmp_path, {"nodes.json": json.dumps({"kind": "List", "items": [node("n1", "a", "r1")]})})
    options = ["--nodes", "nodes.json"] if verb == "place" else []

    ran = call("fleet", verb, "clusters", "--report" if verb == "render" else "-o", report, *options)

    assert (ran.code, ran.stderr) == (1, "")
    assert_expected(f"fleet/{verb}.{SUFFIXES[report]}", ran.stdout)


@pytest.mark.parametrize("name", ["check", "render", "place", "diff"])
def test_the_json_keeps_its_schema(name: str) -> None:
    schema = json.loads((ROOT / "docs" / "reference" / "fleet.schema.json").read_text(encoding="utf-8"))
    value = json.loads((ROOT / "testdata" / "fleet" / f"{name}.json").read_text(encoding="utf-8"))

    assert schema_errors(value, schema) == []


@pytest.mark.usefixtures("fleet")
def test_paths_are_those_from_where_the_user_stands(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    call("fleet", "check", "clusters")
    monkeypatch.chdir("clusters/south")

    lines = call("fleet", "check", "..").stdout.splitlines()

    assert lines[4] == "failing: 1 error: ., ../south-2"
    assert lines[5].startswith("  error: workload.yaml:10:38: PodCliqueSet shop/web ")


@pytest.mark.usefixtures("fleet")
def test_every_package_is_rendered_as_packwise_render_does_it_alone(call: Call, tmp_path: Path) -> None:
    ran = call("fleet", "render", "clusters", "-o", "out")
    alone = call("render", "clusters/east", "-o", "alone", "-q")

    assert (ran.code, alone.code) == (1, 0)
    assert ran.stdout.splitlines()[0] == "4 packages: 2 failing, 2 new"
    assert listing(tmp_path / "out/east") == listing(tmp_path / "alone")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["east", "north"]


@pytest.mark.usefixtures("fleet")
def test_a_second_render_writes_what_differs_and_takes_away_what_is_gone(call: Call, tmp_path: Path) -> None:
    call("fleet", "render", "clusters", "-o", "out")
    write(tmp_path, {"clusters/east/web/workload.yaml": WORKLOAD.replace("name: web", "name: shop")})

    ran = call("fleet", "render", "clusters", "-o", "out")

    assert ran.stdout.splitlines()[:3] == [
        "4 packages: 2 failing, 1 changed, 1 unchanged",
        "  2 errors",
        "  4 workloads checked",
    ]
    assert ran.stdout.splitlines()[3] == "  3 files written"
    names = {path.name for path in (tmp_path / "out/east").rglob("podgang-*")}
    assert names == {"podgang-shop-0.yaml"}
    assert call("fleet", "render", "clusters", "-o", "out").stdout.startswith("4 packages: 2 failing, 2 unchanged\n")


@pytest.mark.usefixtures("fleet")
def test_a_package_that_cannot_be_written_fails_alone(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"out/east": "a file", "out/north/workload.yaml": "", "out/north/packwise": "a file"})

    ran = call("fleet", "render", "clusters/", "-o", "out", "--exclude", "south*")

    assert ran.code == 1
    assert ran.stdout.splitlines()[0] == "2 packages: 2 failing"
    assert "out/east: cannot write the folder: Not a directory [fleet-output]" in ran.stdout
    assert "out/north/packwise/" in ran.stdout
    assert (tmp_path / "out/north/workload.yaml").read_text(encoding="utf-8") == ""


BELOW = {"clusters/deep/a/topology.yaml": CONFIG, "clusters/deep/a/workload.yaml": WORKLOAD}
RESOURCE_LIST = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Service
  metadata:
    name: web
    annotations: {config.kubernetes.io/index: &first "1", note: *first}
"""
REPORT = """\
1 package: 1 failing
  1 error
{checked}
failing: 1 error: {folder}
  error: {finding}
"""


def failing(folder: str, finding: str, checked: str = "") -> str:
    """Return the report of a fleet with one package and one error."""
    return REPORT.format(folder=folder, finding=finding, checked=checked)


@pytest.mark.parametrize(
    ("files", "finding", "checked"),
    [
        pytest.param(
            {"out/deep/a/.packwise.sha256": "mine\n"},
            "out/deep/a/.packwise.sha256:1:1: this is not a list of packwise's files; delete it and the files that it "
            "names, then render again [readable]",
            "  1 workload checked\n",
            id="a list of files that packwise did not write",
        ),
        pytest.param(
            {"out/deep": "a file"},
            "out/deep: cannot write the folder: File exists [fleet-output]",
            "  1 workload checked\n",
            id="a file in the place of a folder above",
        ),
    ],
)
def test_what_cannot_be_written(call: Call, tmp_path: Path, files: dict[str, str], finding: str, checked: str) -> None:
    write(tmp_path, {".git/HEAD": "", **BELOW, **files})
    before = listing(tmp_path)

    ran = call("fleet", "render", "clusters", "-o", "out", "--no-cache")

    assert (ran.code, ran.stdout, ran.stderr) == (1, failing("clusters/deep/a", finding, checked), "")
    assert listing(tmp_path) == before


def test_a_file_that_is_too_large(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packwise.build.tree.MAX_INPUT", 1 << 20)
    write(tmp_path, {".git/HEAD": "", **BELOW, "clusters/deep/a/large.yaml": f"{SERVICE}# {'x' * (1 << 20)}\n"})

    ran = call("fleet", "check", "clusters", "--no-cache")

    finding = "clusters/deep/a/large.yaml: cannot read the file: more than 1 MiB [fleet-package]"
    assert (ran.code, ran.stdout, ran.stderr) == (1, failing("clusters/deep/a", finding), "")


def git(folder: Path, *words: str) -> None:
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def committed(tmp_path: Path) -> Path:
    """Return the packages in a commit, without the failing ones."""
    write(tmp_path, {path: text for path, text in PLAIN.items() if "south" not in path})
    git(tmp_path, "init")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-m", "x")
    return tmp_path


@pytest.mark.usefixtures("committed")
@pytest.mark.parametrize("report", ["text", "json", "markdown"])
def test_a_change_is_reported(call: Call, assert_expected: Expect, tmp_path: Path, report: str) -> None:
    write(
        tmp_path,
        {
            "clusters/east/topology.yaml": OTHER_KEY,
            "clusters/east-2/topology.yaml": CONFIG,
            "clusters/east-2/workload.yaml": WORKLOAD,
            "clusters/south/topology.yaml": CONFIG,
            "clusters/south/workload.yaml": WRONG,
        },
    )
    for name in ("Kptfile", "topology.yaml", "workload.yaml"):
        (tmp_path / "clusters/north" / name).unlink()

    ran = call("fleet", "diff", "clusters", "--baseline", "git:HEAD", "-o", report)

    assert (ran.code, ran.stderr) == (1, "")
    assert_expected(f"fleet/diff.{SUFFIXES[report]}", ran.stdout)


@pytest.mark.usefixtures("committed")
def test_only_what_a_change_reaches_is_looked_at(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"clusters/east/web/service.yaml": SERVICE + "spec: {}\n", "clusters/notes.yaml": SERVICE})

    check = call("fleet", "check", "clusters", "--changed-since", "git:HEAD")
    render = call("fleet", "render", "clusters", "--changed-since", "git:HEAD", "-o", "out")
    diff = call("fleet", "diff", "clusters", "--changed-since", "git:HEAD", "--exit-code")

    assert check.stdout == "2 packages: 1 passing, 1 unchanged\n  1 workload checked\n"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["east"]
    assert render.stdout.splitlines()[0] == "2 packages: 1 new, 1 unchanged"
    assert (diff.code, diff.stdout) == (0, "2 packages: 2 unchanged\n")


@pytest.mark.usefixtures("committed")
def test_a_package_that_is_gone_is_counted(call: Call, tmp_path: Path) -> None:
    (tmp_path / "clusters/north/Kptfile").unlink()
    (tmp_path / "clusters/north/topology.yaml").unlink()

    ran = call("fleet", "check", "clusters", "--changed-since", "git:HEAD", "--exit-code")

    assert (ran.code, ran.stdout) == (1, "2 packages: 1 gone, 1 unchanged\n")


@pytest.mark.usefixtures("committed")
def test_a_gitignore_that_changes_is_a_change(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"clusters/east/.gitignore": "web\n"})

    ran = call("fleet", "diff", "clusters", "--changed-since", "git:HEAD", "-v")

    assert ran.stdout.splitlines()[0] == "2 packages: 1 changed, 1 unchanged"
    assert "changed: gangs 1 deleted: clusters/east" in ran.stdout


def test_a_folder_is_a_baseline_too(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {f"old/{path}": text for path, text in PLAIN.items() if "south" not in path})
    write(tmp_path, {f"new/{path}": text for path, text in PLAIN.items() if "south" not in path})
    write(tmp_path, {"new/clusters/east/topology.yaml": OTHER_KEY})

    ran = call("fleet", "diff", "new/clusters", "--baseline", "old/clusters", "--exit-code")

    assert ran.code == 1
    assert ran.stdout.splitlines()[0] == "2 packages: 1 changed, 1 unchanged"


def test_an_assumed_release_is_told_beside_the_changes(call: Call, tmp_path: Path) -> None:
    free = WORKLOAD.replace("    topologyConstraint: {packDomain: rack}\n", "")
    settings = CONFIG.partition("  topologyAwareScheduling:")[0] + "  emit: [PodGang]\n"
    for side, replicas in (("old", 1), ("new", 2)):
        files = {"t.yaml": settings, "web.yaml": free.replace("replicas: 1", f"replicas: {replicas}")}
        write(tmp_path / side / "clusters" / "east", files)

    ran = call("fleet", "diff", "new/clusters", "--baseline", "old/clusters", "-o", "json", "--no-cache")

    (package,) = json.loads(ran.stdout)["packages"]
    assert (ran.code, package["status"]) == (0, "changed")
    assert [(each["severity"], each["rule"]) for each in package["findings"]] == [("warning", "revision-unnamed")]


@pytest.mark.usefixtures("committed")
def test_updates_are_checked_by_the_baseline(call: Call, tmp_path: Path) -> None:
    """A webhook refuses some changes of running workloads."""
    write(tmp_path, {"clusters/east/web/workload.yaml": WORKLOAD.replace("roleName: router", "roleName: other")})

    plain = call("fleet", "check", "clusters")
    compared = call("fleet", "check", "clusters", "--baseline", "git:HEAD")

    assert plain.code == 0
    assert compared.code == 1
    assert compared.stdout.splitlines()[0] == "2 packages: 1 failing, 1 passing"


@pytest.mark.usefixtures("committed")
def test_a_state_before_that_cannot_be_read_is_an_error(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"clusters/east/topology.yaml": "a: [\n---\n" + CONFIG})
    git(tmp_path, "commit", "-am", "broken")
    write(tmp_path, {"clusters/east/topology.yaml": CONFIG})

    ran = call("fleet", "diff", "clusters", "--baseline", "git:HEAD")

    assert ran.code == 1
    assert (
        "clusters/east: cannot be compared: the state before has errors: error: clusters/east/topology.yaml:"
        in ran.stdout
    )


def test_nodes_have_a_file_for_each_package(call: Call, tmp_path: Path, fleet: Path) -> None:
    nodes = json.dumps({"kind": "List", "items": [node("n1", "a", "r1")]})
    write(tmp_path, {"nodes/east.json": nodes, "nodes/deep/a.yaml": nodes, "clusters/deep/a/topology.yaml": CONFIG})
    write(tmp_path, {"nodes/north.json": "[]"})

    ran = call("fleet", "place", "clusters", "--nodes", "nodes", "-o", "json", "--exclude", "south*")

    packages = {each["package"]: each for each in json.loads(ran.stdout)["packages"]}
    assert packages["clusters/east"]["placed"] == {
        "gangs": 1,
        "pending": [],
        "noLongerFit": [],
        "noted": ["shop/web-0"],
    }
    assert packages["clusters/deep/a"]["placed"] == {"gangs": 0, "pending": [], "noLongerFit": [], "noted": []}
    assert packages["clusters/north"]["status"] == "failing"
    assert packages["clusters/north"]["findings"][0]["file"] == "nodes/north.json"
    del packages["clusters/north"]
    assert fleet.is_dir()


@pytest.mark.usefixtures("committed")
def test_a_package_without_nodes_is_checked_alone(call: Call, tmp_path: Path) -> None:
    (tmp_path / "nodes").mkdir()

    ran = call("fleet", "place", "clusters", "--nodes", "nodes")

    assert (ran.code, ran.stdout) == (0, "2 packages: 2 passing\n  2 workloads checked\n")


@pytest.mark.usefixtures("committed")
@pytest.mark.parametrize("verb", ["diff", "place"])
def test_what_no_longer_fits_is_reported(call: Call, tmp_path: Path, verb: str) -> None:
    gpus = 'image: "registry.example.com/router:1", resources: {limits: {nvidia.com/gpu: "8"}}}'
    larger = WORKLOAD.replace('image: "registry.example.com/router:1"}', gpus)
    write(tmp_path, {"clusters/east/web/workload.yaml": larger})
    write(tmp_path, {"nodes.json": json.dumps({"kind": "List", "items": [node("n1", "a", "r1")]})})

    ran = call("fleet", verb, "clusters", "--nodes", "nodes.json", "--baseline", "git:HEAD")

    assert ran.code == 1
    assert "  1 gang no longer fits" in ran.stdout
    assert "1 gang no longer fits: clusters/east" in ran.stdout


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("check gone", '"gone" is not a folder; pass a folder with packages'),
        ("check none", '"none" has no packages: folders with a TopologyRender, or a'),
        ("render clusters -o clusters/north/Kptfile", '-o needs a folder; got "clusters/north/Kptfile"'),
        ("diff clusters", "fleet diff needs --baseline or --changed-since, for example --changed-since main"),
        (
            "diff clusters --baseline gone",
            '--baseline "gone" is not a folder; pass a folder, or a commit such as git:main',
        ),
        (
            "check clusters --changed-since main",
            'cannot read "clusters" from a commit, because it is not in a git repository',
        ),
        (
            "check clusters --changed-since git:a --baseline git:b",
            "--changed-since and --baseline name different commits; name the same one, or pass only one option",
        ),
        (
            "place clusters --nodes gone",
            '--nodes "gone" does not exist; pass a file, or a folder with a file for each package',
        ),
        ("check clusters --cache odd://x", "cannot open --cache odd://x: "),
        ("check clusters -o xml", "invalid choice: 'xml' (choose from 'text', 'json', 'markdown')"),
        ("render clusters -o json", "-o must name a folder; use --report json, or -o ./json for a folder"),
        ("check clusters --report json", "only render has --report; use -o json"),
        ("check clusters --nodes n", "only place and diff have --nodes"),
        ("place clusters", "place needs --nodes"),
        ("check clusters --jobs 0", 'must be a number from 1 to 1024; got "0"'),
        ("check clusters --jobs 2 --scheduler tcp://a:1", "not allowed with argument --jobs"),
        ("check clusters --cache a --no-cache", "not allowed with argument --cache"),
    ],
)
def test_wrong_usage(call: Call, tmp_path: Path, words: str, message: str) -> None:
    write(tmp_path, {"none/service.yaml": SERVICE})

    ran = call("fleet", *words.split())

    assert ran.code == 2
    assert ran.stdout == ""
    assert message in ran.stderr


def test_an_object_that_cannot_be_written_fails_its_package(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"clusters/east/topology.yaml": CONFIG, "clusters/east/generated.yaml": SHARED})

    ran = call("fleet", "render", "clusters", "-o", "out", "--no-cache")

    assert (ran.code, ran.stdout.splitlines()[-1]) == (1, f"  error: clusters/east/{SHARED_FINDING} [readable]")


@pytest.mark.slow
def test_the_summary_of_two_thousand_packages_fits_one_screen(call: Call, tmp_path: Path) -> None:
    """This holds even if all packages have different findings."""
    for at in range(200):
        workload = WORKLOAD.replace("packDomain: rack", f"packDomain: {'rack' if at % 2 else 'block'}")
        names = "".join([f"---\n{workload.replace('name: web', f'name: web-{each}')}" for each in range(at % 40 + 1)])
        write(tmp_path, {f"c/{at}/topology.yaml": CONFIG, f"c/{at}/workload.yaml": names})

    lines = call("fleet", "check", "c", "--no-cache").stdout.splitlines()

    assert len(lines) <= 40
    assert lines[-1] == "… and 40 packages more in 8 groups; -v lists them"
