"""`packwise comment` combines check, diff and place of a change in one comment."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from packwise.output.markdown import LIMIT
from packwise.pipeline import steps
from packwise.pipeline.selection import Package
from tests.cli.calling import CONFIG, Call, write
from tests.cli.test_cli_place import GPU_WORKLOAD, named, node, queue

Expect = Callable[[str, str], None]

OTHER = named("shop", 2).replace('"8"', '"9"')
HEADINGS = re.compile(r"^### (.*)$", re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    nodes = [node(f"n{number}", "a", f"r{number // 2}") for number in range(4)]
    write(
        tmp_path,
        {
            "west/topology.yaml": CONFIG,
            "west/web.yaml": OTHER,
            "nodes.json": json.dumps([*nodes, queue("default-queue")]),
        },
    )
    write(tmp_path, {"old/topology.yaml": CONFIG, "old/web.yaml": GPU_WORKLOAD})
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_all_that_is_to_be_said_of_a_change(call: Call, assert_expected: Expect) -> None:
    ran = call("comment", "west", "--baseline", "old", "--nodes", "nodes.json")

    assert (ran.code, ran.messages) == (1, "")
    assert_expected("place/comment.md", ran.stdout)


@pytest.mark.usefixtures("folder")
def test_without_a_baseline_or_nodes_their_parts_are_not_there(call: Call) -> None:
    alone, compared = call("comment", "west"), call("comment", "west", "--baseline", "old")

    assert HEADINGS.findall(alone.stdout) == ["packwise check: no findings in 2 files"]
    assert HEADINGS.findall(compared.stdout) == [
        "packwise check: no findings in 2 files",
        "What changes for the scheduler",
    ]
    assert (alone.code, compared.code) == (0, 0)


def test_what_is_refused_fails_and_is_not_placed(folder: Path, call: Call) -> None:
    write(folder, {"west/web.yaml": named("web", 3)})

    ran = call("comment", "west", "--baseline", "old", "--nodes", "nodes.json")

    assert (ran.code, ran.messages) == (1, "")
    assert ran.stdout.count("field is immutable") == 1
    assert "`PodGang 1 changed`" in ran.stdout
    assert ran.stdout.endswith(
        "### Where the scheduler places the gangs\n\npackwise places nothing, because there are errors.\n\n"
    )


def test_a_file_that_nobody_can_read_is_not_compared(folder: Path, call: Call) -> None:
    write(folder, {"west/broken.yaml": "kind: PodCliqueSet\na: [\n"})

    ran = call("comment", "west", "--baseline", "old", "--nodes", "nodes.json")

    assert ran.code == 1
    assert "packwise compares nothing, because it cannot read all files." in ran.stdout
    assert "packwise places nothing, because there are errors." in ran.stdout


def test_nothing_to_place(folder: Path, call: Call) -> None:
    (folder / "west/web.yaml").unlink()

    ran = call("comment", "west", "--nodes", "nodes.json")

    assert ran.stdout.endswith("The input has no gangs to place.\n\n")


@pytest.fixture
def fleet(folder: Path) -> Path:
    """Return three clusters with a configuration each. The change affects two of them."""
    for name in ("east", "north", "west"):
        write(folder, {f"before/{name}/topology.yaml": CONFIG, f"before/{name}/web.yaml": GPU_WORKLOAD})
        write(folder, {f"clusters/{name}/topology.yaml": CONFIG, f"clusters/{name}/web.yaml": GPU_WORKLOAD})
    write(folder, {"clusters/east/web.yaml": named("shop", 2), "clusters/west/x.yaml": named("x", 2)})
    return folder


@pytest.mark.usefixtures("fleet")
def test_each_cluster_is_compared_by_its_own_configuration(call: Call) -> None:
    ran = call("comment", "clusters", "--baseline", "before")

    assert (ran.code, ran.messages) == (0, "")
    assert "Changes since `before` in 2 of 3 configurations.\n" in ran.stdout
    assert re.findall(r"<summary>(.*)</summary>", ran.stdout) == [
        "<code>clusters/east</code>: <code>PodGang</code>: 1 added, 1 removed",
        "<code>clusters/west</code>: <code>PodGang</code>: 1 added",
    ]


@pytest.mark.usefixtures("fleet")
def test_nodes_are_those_of_one_cluster(call: Call) -> None:
    ran = call("comment", "clusters", "--nodes", "nodes.json")

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr == (
        "error: --nodes needs workloads of one cluster, but the input has 3 configurations. Pass the folder of one\n"
    )


@pytest.mark.parametrize(
    ("path", "marker"),
    [
        ("clusters/my west", "clusters/my%20west"),
        ("a--->b", "a-%2D-%3Eb"),
        ("ü\n`", "%C3%BC%0A%60"),
    ],
)
def test_the_first_line_names_the_paths_whatever_they_are_called(
    tmp_path: Path, call: Call, path: str, marker: str
) -> None:
    write(tmp_path, {f"{path}/topology.yaml": CONFIG})

    ran = call("comment", path)

    assert ran.stdout.splitlines()[0] == f"<!-- packwise comment {marker} -->"


def test_a_change_of_any_size_is_one_comment(folder: Path, call: Call) -> None:
    many = "---\n".join([named(f"w{number}", 2) for number in range(300)])
    wrong = "---\n".join([GPU_WORKLOAD.replace("web", f"v{number}").replace("Set", "Sett") for number in range(300)])
    write(folder, {"west/many.yaml": many, "west/wrong.yaml": wrong})

    ran = call("comment", "west", "--baseline", "old")

    assert len(ran.stdout.encode("utf-16-le")) // 2 <= LIMIT
    assert HEADINGS.findall(ran.stdout)[1:] == ["What changes for the scheduler"]


SCENES = {
    "fits": (GPU_WORKLOAD, 4),
    "fits on no node": (OTHER, 4),
    "more than there is": (GPU_WORKLOAD, 1),
    "one of two": (f"{GPU_WORKLOAD}---\n{OTHER}", 4),
    "claims of devices, which a note is about": (
        GPU_WORKLOAD.replace(
            "          containers:",
            "          resourceClaims: [{name: gpu, resourceClaimName: shared}]\n          containers:",
        ),
        4,
    ),
}


@pytest.mark.parametrize("baseline", [(), ("--baseline", "old")])
@pytest.mark.parametrize("scene", SCENES)
def test_a_comment_says_what_place_says(scene: str, baseline: tuple[str, ...], folder: Path, call: Call) -> None:
    workloads, number = SCENES[scene]
    nodes = [node(f"n{place}", "a", f"r{place // 2}") for place in range(number)]
    nodes_text = json.dumps([*nodes, queue("default-queue")])
    write(folder, {"west/web.yaml": workloads, "nodes.json": nodes_text})

    ran = call("comment", "west", "--nodes", "nodes.json", *baseline)
    placed = call("place", "west", "--nodes", "nodes.json", "-o", "markdown", *baseline)

    heading = "### Where the scheduler places the gangs\n"
    sections = [each.stdout.partition(heading)[2].strip() for each in (ran, placed)]
    assert sections[0] == sections[1] != ""
    assert ran.code == placed.code


@pytest.mark.usefixtures("folder")
def test_each_of_the_two_states_is_rendered_once(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[Package] = []

    def counted(
        package: Package, *, writes: bool, is_listed: bool, previews: bool, checks_pods: bool
    ) -> steps.Rendered:
        rendered.append(package)
        return render(package, writes=writes, is_listed=is_listed, previews=previews, checks_pods=checks_pods)

    # Every render calls this function, for any purpose.
    render = steps._render  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(steps, "_render", counted)

    ran = call("comment", "west", "--baseline", "old", "--nodes", "nodes.json")

    assert len(HEADINGS.findall(ran.stdout)) == 3
    assert len(rendered) == 2
