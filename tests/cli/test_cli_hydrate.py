"""`packwise render -o DIR` as a hydrator: its list of files, all changes or none, `--check`, and a layout
for GitOps.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from packwise.render.files import LIST
from packwise.render.folder import Changes, apply
from tests.cli.calling import CONFIG, SERVICE, WORKLOAD, Call, listing, write

Expect = Callable[[str, str], None]
GITOPS = CONFIG.replace("spec:\n", "spec:\n  gitops: [argocd, flux]\n")
TOPOLOGY = (
    "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: mine}\n"
    "spec: {levels: [{domain: rack, key: example.com/rack}]}\n"
)


@pytest.fixture
def out(call: Call, package: Path) -> Path:
    """Return a folder after one render."""
    assert call("render", "in", "-o", "out").code == 0
    return package.parent / "out"


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def test_the_list_names_every_file_that_was_written(out: Path) -> None:
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", LIST], check=False, cwd=out, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [n for n in names(out) if n != LIST]


def test_own_files_go_and_those_of_others_stay(out: Path, call: Call, package: Path) -> None:
    mine = {"README.md": "ours\n", ".git/HEAD": "ref\n", "web/extra.yaml": SERVICE, "packwise/notes.txt": "ours\n"}
    write(out, mine)
    (package / "web/service.yaml").unlink()

    ran = call("render", "in", "-o", "out")

    assert (ran.code, ran.messages) == (0, "wrote 0 files to out (3 new objects, 1 file removed)\n")
    assert "web/service.yaml" not in names(out)
    assert {name: (out / name).read_text(encoding="utf-8") for name in mine} == mine


def test_an_own_file_that_somebody_changed_stays_and_is_reported(out: Path, call: Call, package: Path) -> None:
    (package / "web/service.yaml").unlink()
    write(out, {"web/service.yaml": SERVICE + "# ours\n"})

    ran = call("render", "in", "-o", "out")

    assert (ran.code, ran.stderr.splitlines()[0]) == (
        0,
        "warning: out/web/service.yaml: packwise no longer renders this file and keeps it, because it was changed; "
        "delete it by hand [output-edited]",
    )
    assert (out / "web/service.yaml").exists()
    assert call("render", "in", "-o", "out").messages == "out is up to date: 5 files\n"


@pytest.mark.parametrize("line", ["no list\n", "../topology.yaml\n", f"{'0' * 64} one-space\n"])
def test_a_list_of_somebody_else_is_refused(line: str, out: Path, call: Call) -> None:
    (out / LIST).write_text(line, encoding="utf-8")
    before = listing(out)

    ran = call("render", "in", "-o", "out")

    reason = "this is not a list of packwise's files; delete it and the files that it names, then render again"
    assert (ran.code, ran.messages) == (
        1,
        f"error: out/{LIST}:1:1: {reason} [readable]\n1 error: nothing was written\n",
    )
    assert listing(out) == before


def test_a_list_leads_to_no_file_outside(out: Path, call: Call, package: Path) -> None:
    import hashlib

    victim = package.parent / "victim.yaml"
    victim.write_text("x", encoding="utf-8")
    known = hashlib.sha256(b"x").hexdigest()
    with (out / LIST).open("a", encoding="utf-8") as file:
        file.write(f"{known}  ../victim.yaml\n{known}  {victim}\n")

    assert call("render", "in", "-o", "out").code == 0
    assert victim.exists()


def test_a_file_name_of_two_lines_is_listed_in_one(call: Call, package: Path) -> None:
    write(package, {"a\nb.yaml": SERVICE})
    assert call("render", "in", "-o", "out").code == 0
    (package / "a\nb.yaml").unlink()

    assert call("render", "in", "-o", "out").messages.endswith("(3 new objects, 1 file removed)\n")


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
@pytest.mark.parametrize(
    "name",
    [
        b"\xff.yaml",
        b"a\xc3/\xe9\xc0\xaf.yaml",
        b"\xed\xa0\x80.yaml",
        "ö\x85\u2028.yaml".encode(),
        b"a\rb\x0bc\x1c.yaml",
        b"a\\nb.yaml",
        b"a\nb\\nc\xff.yaml",
    ],
)
def test_a_file_name_of_any_bytes_is_listed(name: bytes, call: Call, package: Path) -> None:
    file, words = package / os.fsdecode(name), ("render", "in", "-o", "out")
    file.parent.mkdir(exist_ok=True)
    file.write_text(SERVICE, encoding="utf-8")
    out = package.parent / "out"

    assert call(*words, "--check").code == 1
    assert call(*words).code == 0
    digest = sha256(SERVICE.encode()).hexdigest().encode()
    line = digest + b"  " + name
    if b"\n" in name:
        line = b"\\" + line.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
    assert line in (out / LIST).read_bytes().split(b"\n")
    checked = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", LIST], check=False, cwd=out)
    assert checked.returncode == 0
    assert call(*words, "--check").code == 0

    file.unlink()
    assert call(*words, "--check").code == 1
    assert call(*words).code == 0
    assert not (out / os.fsdecode(name)).exists()
    assert call(*words, "--check").code == 0


def test_a_list_that_git_checked_out_for_windows_is_read(out: Path, call: Call, package: Path) -> None:
    (out / LIST).write_bytes((out / LIST).read_bytes().replace(b"\n", b"\r\n"))
    (package / "web/service.yaml").unlink()

    assert call("render", "in", "-o", "out").code == 0
    assert "web/service.yaml" not in names(out)


def test_check_says_what_is_stale_and_writes_nothing(out: Path, call: Call, package: Path) -> None:
    assert (call("render", "in", "-o", "out", "--check").code, call("render", "in", "-o", "new", "--check").code) == (
        0,
        1,
    )
    assert not (package.parent / "new").exists()
    write(package, {"web/more.yaml": SERVICE.replace("web", "more")})
    (package / "web/service.yaml").unlink()
    (out / "web/workload.yaml").write_text(WORKLOAD, encoding="utf-8")
    before = listing(out)

    ran = call("render", "in", "-o", "out", "--check")

    assert (ran.code, ran.stdout, ran.messages.splitlines()) == (
        1,
        "",
        [
            "out/web/more.yaml: is missing",
            "out/web/workload.yaml: differs",
            "out/web/service.yaml: is no longer rendered",
            "error: out is not up to date; run the same command without --check",
        ],
    )
    assert listing(out) == before


def test_check_looks_at_the_list_too(out: Path, call: Call) -> None:
    (out / LIST).unlink()

    assert call("render", "in", "-o", "out", "--check").stderr.splitlines()[0] == f"out/{LIST}: is missing"


def test_check_looks_at_a_folder_that_is_rendered_in_place(call: Call, package: Path) -> None:  # noqa: ARG001
    assert call("render", "--in-place", "in", "--check").code == 1
    call("render", "--in-place", "in")
    assert call("render", "--in-place", "in", "--check").code == 0


def test_check_without_a_folder_is_wrong_usage(call: Call, package: Path) -> None:  # noqa: ARG001
    assert call("render", "in", "--check").stderr == ("error: --check needs -o DIR or --in-place\n")


def test_links_and_permissions_survive(out: Path, call: Call, package: Path) -> None:
    (out / "web").chmod(0o750)
    (out / "web/workload.yaml").chmod(0o640)
    (out / "topology.yaml").rename(out / "real.txt")
    (out / "topology.yaml").symlink_to("real.txt")
    edit = (package / "topology.yaml").read_text(encoding="utf-8").replace("example.com/rack", "example.com/tray")
    (package / "topology.yaml").write_text(edit, encoding="utf-8")

    assert call("render", "in", "-o", "out").code == 0

    assert (out / "topology.yaml").is_symlink()
    assert "example.com/tray" in (out / "real.txt").read_text(encoding="utf-8")
    assert [oct(path.stat().st_mode & 0o777) for path in (out / "web", out / "web/workload.yaml")] == ["0o750", "0o640"]


def test_a_link_that_comes_up_meanwhile_is_not_followed(out: Path) -> None:
    away = out.parent / "away"
    away.mkdir()
    shutil.rmtree(out / "web")
    (out / "web").symlink_to("../away")
    before = listing(out)

    with pytest.raises(OSError, match="File exists"):
        apply(out, Changes({"web/workload.yaml": b"new"}, (), ()), at_once=True)

    assert list(away.iterdir()) == []
    assert listing(out) == before
    assert sorted(path.name for path in out.parent.iterdir()) == ["away", "in", "out"]


def no_library(_name: None, *, use_errno: bool) -> object:
    return use_errno


@pytest.mark.parametrize(
    ("inside", "reason"), [(False, "Operation not supported"), (True, "it is the working directory")]
)
def test_where_folders_cannot_change_places_files_change_one_by_one(
    inside: bool,
    reason: str,
    out: Path,
    call: Call,
    package: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if inside:
        monkeypatch.chdir(out)
    else:
        # On some systems, two folders cannot exchange places.
        monkeypatch.setattr(ctypes, "CDLL", no_library)
    (package / "web/service.yaml").write_text(SERVICE + "# more\n", encoding="utf-8")

    ran = call("render", str(package), "-o", str(out))

    note = f"one by one because the folder cannot be replaced at once: {reason}"
    assert (ran.code, ran.messages) == (0, f"wrote 1 file to {out} (3 new objects), {note}\n")
    assert (out / "web/service.yaml").read_text(encoding="utf-8").endswith("# more\n")
    assert sorted(path.name for path in package.parent.iterdir()) == ["in", "out"]


def test_for_gitops_topologies_workloads_and_the_rest_have_folders(
    call: Call, package: Path, assert_expected: Expect
) -> None:
    mixed = f"# both\n{SERVICE.replace('web', 'both')}---\n# first\n{TOPOLOGY.replace('mine', 'other')}---\n{SERVICE}"
    crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\n"
    (package / "web/service.yaml").unlink()
    write(package, {"topology.yaml": GITOPS, "mine.yaml": TOPOLOGY, "web/mixed.yaml": mixed, "values.yaml": "a: 1\n"})
    write(package, {"crds/crd.yaml": crd, "broken.yaml": "# nothing yet\n"})

    ran = call("render", "in", "-o", "out")

    assert (ran.code, ran.messages) == (0, "wrote 13 files to out (5 new objects)\n")
    assert_expected("cli/gitops.txt", listing(package.parent / "out"))
    assert call("render", "in", "-o", "out", "--check").code == 0
    # Rendering the render again gives the same files.
    assert call("render", "out", "-o", "again").code == 0
    assert listing(package.parent / "again") == listing(package.parent / "out")


def test_what_is_for_review_only_goes_to_no_cluster(call: Call, package: Path) -> None:
    write(package, {"topology.yaml": GITOPS.replace("spec:\n", "spec:\n  apply: false\n")})

    assert call("render", "in", "-o", "out").code == 0

    assert [name for name in names(package.parent / "out") if name != LIST] == [
        "local/packwise/topologies/clustertopology-grove-topology.yaml",
        "local/packwise/topologies/topology-grove-topology.yaml",
        "local/packwise/workloads/shop/podgang-web-0.yaml",
        "local/topology.yaml",
        "topologies/.keep",
        "workloads/web/service.yaml",
        "workloads/web/workload.yaml",
    ]
    assert "argocd" not in listing(package.parent / "out/local/packwise")


def test_folders_that_tools_follow_are_there_though_empty(call: Call, package: Path) -> None:
    """Flux fails if a path is missing, and git keeps no empty folder."""
    write(package, {"topology.yaml": GITOPS.replace("enabled: true", "enabled: false")})
    write(package, {"web/workload.yaml": WORKLOAD.replace("    topologyConstraint: {packDomain: rack}\n", "")})

    assert call("render", "in", "-o", "out").code == 0
    assert (package.parent / "out/topologies/.keep").read_bytes() == b""
    write(package, {"topology.yaml": GITOPS})
    assert call("render", "in", "-o", "out").code == 0
    assert not (package.parent / "out/topologies/.keep").exists()


def test_in_place_moves_no_file(call: Call, package: Path) -> None:
    write(package, {"topology.yaml": GITOPS})

    assert call("render", "--in-place", "in").code == 0
    assert "web/workload.yaml" in names(package)
    assert "packwise/topologies/topology-grove-topology.yaml" in names(package)


def test_what_kustomize_builds_is_built_first(call: Call, package: Path) -> None:
    kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: k}\n"
    write(package, {"topology.yaml": GITOPS, "kustomization.yaml": kustomization})

    ran = call("render", "in", "-o", "out")

    assert (ran.code, ran.stderr.splitlines()[0]) == (
        1,
        "error: in/kustomization.yaml:3:18: Kustomization k metadata.name: `gitops` moves files, so build the "
        "kustomization before you render it: kustomize build DIR | packwise render - --config FILE -o OUT "
        "[output-path]",
    )


def test_two_files_for_one_place_are_refused(call: Call, package: Path) -> None:
    write(package, {"topology.yaml": GITOPS, "a.yaml": SERVICE, "workloads/a.yaml": SERVICE.replace("web", "b")})

    ran = call("render", "in", "-o", "out")

    assert (ran.code, ran.stderr.splitlines()[0]) == (
        1,
        'error: workloads/a.yaml: packwise also writes "in/a.yaml" to "workloads/a.yaml"; rename one of them '
        "[output-path]",
    )


def test_folders_of_the_sources_that_are_called_so_decide_nothing(call: Call, package: Path) -> None:
    files = {"local/a.yaml": "a", "topologies/b.yaml": "b", "workloads/c.yaml": "c"}
    write(package, {name: SERVICE.replace("web", text) for name, text in files.items()})
    write(package, {"topology.yaml": GITOPS, "workloads/mine.yaml": TOPOLOGY})

    assert call("render", "in", "-o", "out").code == 0

    for name in ("workloads/local/a.yaml", "workloads/topologies/b.yaml", "workloads/c.yaml"):
        assert (package.parent / "out" / name).is_file()
    assert (package.parent / "out/topologies/workloads/mine.yaml").is_file()


def test_documents_of_stdin_have_the_layout_too(call: Call, package: Path) -> None:
    stream = f"{GITOPS}---\n{WORKLOAD}---\n{SERVICE}"

    assert call("render", "-", "-o", "out", stdin=stream).code == 0

    assert [name for name in names(package.parent / "out") if name != LIST] == [
        "local/topologyrender_topology.yaml",
        "topologies/packwise/clustertopology-grove-topology.yaml",
        "topologies/packwise/topology-grove-topology.yaml",
        "workloads/packwise/shop/podgang-web-0.yaml",
        "workloads/podcliqueset_web.yaml",
        "workloads/service_web.yaml",
    ]


def test_what_kustomize_builds_is_refused_among_documents_of_stdin(call: Call, package: Path) -> None:
    kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: k}\n"

    ran = call("render", "-", "-o", "out", stdin=f"{GITOPS}---\n{kustomization}")

    assert (ran.code, ran.stderr.splitlines()[0]) == (
        1,
        "error: <stdin>:16:18: Kustomization k metadata.name: `gitops` moves files, so build the kustomization before "
        "you render it: kustomize build DIR | packwise render - --config FILE -o OUT [output-path]",
    )
    assert list(package.parent.iterdir()) == [package]
