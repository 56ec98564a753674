"""`packwise check --fix`: files fixed in place, and the findings that remain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import CHOSEN, WORKLOAD, Call, listing, write

BROKEN = WORKLOAD.replace("  namespace: shop", "  namespace: shop\n  labels: {legacy: yes}").replace(
    "- {name: router, image:", "- {name: router, resources: {limits: {nvidia.com/gpu: 8}}, image:"
)
MENDED = BROKEN.replace("legacy: yes", 'legacy: "yes"').replace("nvidia.com/gpu: 8", 'nvidia.com/gpu: "8"')


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_files_are_fixed_and_then_checked(call: Call, package: Path, newline: str) -> None:
    others = "# first\n---\na: 1\n---\n"
    write(package, {"web/workload.yaml": (others + BROKEN).replace("\n", newline)})
    before = {name: text for name, text in listing_of(package).items() if name != "web/workload.yaml"}

    ran = call("check", "in", "--fix")

    assert (ran.code, ran.stdout, ran.stderr) == (
        0,
        "",
        f"fixed in/web/workload.yaml\nno findings in 3 files{CHOSEN}\n",
    )
    assert (package / "web/workload.yaml").read_bytes().decode() == (others + MENDED).replace("\n", newline)
    assert {name: text for name, text in listing_of(package).items() if name != "web/workload.yaml"} == before


def test_what_needs_a_decision_is_left_and_reported(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": BROKEN.replace("packDomain: rack", "packDomain: block")})

    ran = call("check", "in", "--fix", "-o", "json")

    assert (ran.code, ran.messages) == (1, "fixed in/web/workload.yaml\n")
    assert [finding["rule"] for finding in ran.findings] == ["topology-domain-unknown"]


def test_an_anchor_in_the_way_is_left_and_reported(call: Call, package: Path) -> None:
    text = BROKEN.replace("nvidia.com/gpu: 8", "nvidia.com/gpu: &gpus 8").replace("legacy: yes", "legacy: a")
    write(package, {"web/workload.yaml": text})

    ran = call("check", "in", "--fix", "-o", "json")

    assert ran.messages == ""
    assert [finding["rule"] for finding in ran.findings] == ["quantity-unquoted"]
    assert (package / "web/workload.yaml").read_text(encoding="utf-8") == text


def test_nothing_is_written_where_a_file_cannot_be_read(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": BROKEN, "web/other.yaml": "kind: A\na: [\n"})
    before = listing(package)

    ran = call("check", "in", "--fix")

    assert ran.code == 1
    assert listing(package) == before


@pytest.mark.parametrize(
    ("paths", "text"),
    [
        (["-"], "error: --fix needs files or folders, because packwise cannot write to stdin\n"),
        (
            ["list.yaml"],
            'error: "list.yaml" is a ResourceList, which --fix does not write; pass the files that it was made from\n',
        ),
    ],
)
def test_what_cannot_be_written_back_is_wrong_usage(call: Call, package: Path, paths: list[str], text: str) -> None:
    items = "".join(f"  {line}\n" if number else f"- {line}\n" for number, line in enumerate(BROKEN.splitlines()[1:]))
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    write(package.parent, {"list.yaml": head + items})

    ran = call("check", *paths, "--fix")

    assert (ran.code, ran.stdout, ran.stderr) == (2, "", text)


def test_a_disk_that_refuses_is_reported(call: Call, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, _: Path) -> None:
        raise OSError(28, "No space left on device", str(path.parent / "workload.yaml"))

    write(package, {"web/workload.yaml": BROKEN})
    before = listing(package)
    monkeypatch.setattr(Path, "replace", refuse)

    ran = call("check", "in", "--fix")

    text = "error: in/web/workload.yaml: cannot write the file: No space left on device\n"
    assert (ran.code, ran.stdout, ran.stderr) == (1, "", f"no file was changed\n{text}")
    assert listing(package) == before


def listing_of(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in paths}


BINDING = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: gb200}
spec:
  levels: # broadest first
  - {domain: zone, key: topology.kubernetes.io/zone}
  - {domain: rack, key: example.com/rack}
"""
IMAGE = 'image: "registry.example.com/router:1"}'
HIDDEN = (
    "--unsafe-fixes can fix 1 more object, but changes the meaning; --fix --unsafe-fixes --diff shows the changes\n"
)
LISTED = """\
  schedulerTopologyBindings:
  - schedulerName: kai-scheduler
    topologyReference: gb200
"""


def test_a_binding_lists_the_topology_that_is_applied_from_git(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", {"gb200.yaml": BINDING})

    ran = call("check", "in", "--fix", "--unsafe-fixes", "-o", "json")

    assert (ran.code, ran.messages) == (0, "fixed in/gb200.yaml\n")
    assert [finding["rule"] for finding in ran.findings] == ["no-workloads"]
    assert (tmp_path / "in" / "gb200.yaml").read_text(encoding="utf-8") == BINDING + LISTED
    rendered = call("render", "in", "-o", "-")
    assert "kind: Topology\n" in rendered.stdout, "what is listed is what is rendered"


def test_what_changes_the_meaning_is_left_and_counted(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", {"gb200.yaml": BINDING})

    ran = call("check", "in", "--fix", "-o", "json")

    assert (ran.code, ran.messages) == (0, HIDDEN)
    assert [finding["rule"] for finding in ran.findings] == ["no-workloads", "binding-reference"]
    assert "`apply: false`" in ran.findings[1]["message"]
    assert (tmp_path / "in" / "gb200.yaml").read_text(encoding="utf-8") == BINDING


def test_a_diff_is_shown_and_nothing_is_written(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": BROKEN})
    before = listing(package)

    ran = call("check", "in", "--fix", "--diff")

    changes = [line for line in ran.stdout.splitlines() if line.startswith(("---", "+++", "+", "-"))]
    assert changes == [
        "--- a/in/web/workload.yaml",
        "+++ b/in/web/workload.yaml",
        "-  labels: {legacy: yes}",
        '+  labels: {legacy: "yes"}',
        "-          - {name: router, resources: {limits: {nvidia.com/gpu: 8}}, " + IMAGE,
        '+          - {name: router, resources: {limits: {nvidia.com/gpu: "8"}}, ' + IMAGE,
    ]
    assert (ran.code, ran.stderr) == (1, "")
    assert listing(package) == before


def test_a_diff_shows_what_changes_the_meaning_where_that_is_asked_for(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", {"gb200.yaml": BINDING})

    ran = call("check", "in", "--fix", "--diff")
    unsafe = call("check", "in", "--fix", "--unsafe-fixes", "--diff")

    assert (ran.code, ran.stdout, ran.stderr) == (0, "", HIDDEN)
    assert (unsafe.code, unsafe.stderr) == (1, "")
    assert unsafe.stdout.endswith("".join(f"+{line}\n" for line in LISTED.splitlines()))
    assert (tmp_path / "in" / "gb200.yaml").read_text(encoding="utf-8") == BINDING


def test_a_diff_of_nothing_is_no_change(call: Call, package: Path) -> None:
    ran = call("check", package.name, "--fix", "--diff")

    assert (ran.code, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("setting", ["apply: false", "emit: [PodGang]"])
def test_a_binding_is_left_alone_where_nothing_is_applied(call: Call, tmp_path: Path, setting: str) -> None:
    render = "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata: {name: t}\n"
    write(tmp_path / "in", {"gb200.yaml": BINDING, "packwise.yaml": f"{render}spec:\n  {setting}\n"})

    ran = call("check", "in", "--fix", "-o", "json")

    assert (ran.code, [finding["rule"] for finding in ran.findings]) == (0, ["no-workloads"])
    assert (tmp_path / "in" / "gb200.yaml").read_text(encoding="utf-8") == BINDING
