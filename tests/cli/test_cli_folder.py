"""`packwise render -o DIR` and `--in-place`: the resulting files, with their bytes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from krmfn import KubeObject
from packwise.render.files import RenderedFiles, plan_folder
from tests.cli.calling import CONFIG, SERVICE, WORKLOAD, Call, listing, write

Expect = Callable[[str, str], None]

GANG = "packwise/workloads/shop/podgang-web-0.yaml"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} does not contain {old!r}: the test edits nothing"
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_folder_holds_the_files_and_the_generated_objects(call: Call, package: Path, assert_expected: Expect) -> None:
    before = listing(package)

    ran = call("render", "in", "-o", "out/deep")

    assert (ran.code, ran.stdout, ran.messages) == (0, "", "wrote 6 files to out/deep (3 new objects)\n")
    assert listing(package) == before
    assert_expected("cli/folder.txt", listing(package.parent / "out" / "deep"))


def test_a_second_render_touches_no_file(call: Call, package: Path) -> None:
    call("render", "in", "-o", "out")
    files = [path for path in (package.parent / "out").rglob("*") if path.is_file()]
    for path in files:
        os.utime(path, (0, 0))

    ran = call("render", "in", "-o", "out")

    assert (ran.code, ran.messages) == (0, "out is up to date: 6 files\n")
    assert {path.stat().st_mtime for path in files} == {0}


def test_a_render_of_a_render_is_that_render(call: Call, package: Path) -> None:
    call("render", "in", "-o", "out")

    assert call("render", "out", "-o", "again").messages == "wrote 6 files to again\n"
    assert listing(package.parent / "again") == listing(package.parent / "out")
    assert call("render", "--in-place", "again").messages == "again is up to date: 6 files\n"


def test_in_place_is_the_folder_itself(call: Call, package: Path) -> None:
    call("render", "in", "-o", "out")

    ran = call("render", "--in-place", "in")

    assert (ran.code, ran.messages) == (0, "wrote 4 files to in (3 new objects)\n")
    assert listing(package) == listing(package.parent / "out")


def test_output_within_the_input(call: Call, package: Path) -> None:
    call("render", "in", "-o", "in/out")
    first = listing(package)

    assert call("render", "in", "-o", "in/out").messages == "in/out is up to date: 6 files\n"
    assert listing(package) == first


def test_single_files_go_under_their_own_name(call: Call, package: Path) -> None:
    assert call("render", "in/topology.yaml", "in/web/workload.yaml", "-o", "out").code == 0

    names = [line for line in listing(package.parent / "out").splitlines() if line.startswith("=====")]
    assert names == [
        "===== packwise/topologies/clustertopology-grove-topology.yaml",
        "===== packwise/topologies/topology-grove-topology.yaml",
        f"===== {GANG}",
        "===== topology.yaml",
        "===== workload.yaml",
    ]


@pytest.mark.parametrize("words", ["render in -o out", "render --in-place out"])
def test_what_no_longer_belongs_is_removed(words: str, call: Call, package: Path) -> None:
    """This removes the files of such objects, and folders that become empty.

    It removes nothing that anyone else wrote.
    """
    call("render", "in", "-o", "out")
    out = package.parent / "out"
    mine = {
        "packwise/notes.txt": "mine\n",
        "packwise/mine.yaml": f"{SERVICE}---\n{(out / GANG).read_text(encoding='utf-8')}".replace("web-0", "web-7"),
        "packwise/empty.yaml": "# mine\n",
        "packwise/.hidden.yaml": (out / GANG).read_text(encoding="utf-8"),
        "elsewhere/gang.yaml": SERVICE.replace("web", "other"),
    }
    if words.endswith("-o out"):
        write(out, mine)
    for folder in (package, out):
        edit(folder / "topology.yaml", "enabled: true", "enabled: false")
        edit(folder / "web/workload.yaml", "    topologyConstraint: {packDomain: rack}\n", "")
        edit(folder / "web/workload.yaml", "name: web", "name: api")

    ran = call(*words.split())

    assert (ran.code, ran.stdout) == (0, "")
    assert ran.messages.splitlines()[-1].endswith(", 3 files removed)")
    assert not (out / "packwise/workloads/shop/podgang-web-0.yaml").exists()
    assert not (out / "packwise/topologies").exists()
    if words.endswith("-o out"):
        assert {name: (out / name).read_bytes().decode() for name in mine} == mine


def test_files_outside_packwise_of_which_nothing_remains_are_removed(call: Call, package: Path) -> None:
    generated = call("render", "in").stdout.partition("---\napiVersion: grove.io/v1alpha1\nkind: ClusterT")[2]
    write(package, {"all/generated.yaml": f"# ours\n---\napiVersion: grove.io/v1alpha1\nkind: ClusterT{generated}"})
    assert call("render", "--in-place", "in").messages == "wrote 1 file to in\n"
    edit(package / "topology.yaml", "enabled: true", "enabled: false")
    edit(package / "web/workload.yaml", "    topologyConstraint: {packDomain: rack}\n", "")
    edit(package / "web/workload.yaml", "name: web", "name: api")

    ran = call("render", "--in-place", "in")

    assert ran.messages == "wrote 2 files to in (1 new object, 1 file removed)\n"
    assert not (package / "all").exists()


def test_nothing_is_removed_behind_a_link(call: Call, package: Path) -> None:
    """Nothing of a file remains, but the output has a link of that name to another folder."""
    generated = (
        "apiVersion: kai.scheduler/v1alpha1\nkind: Topology\n"
        "metadata:\n  name: a\n  annotations:\n    packwise.dev/rendered-from: x\n"
    )
    root = package.parent
    write(root, {"in/all/a.yaml": generated, "away/a.yaml": generated, "out/all/b.txt": ""})
    assert call("render", "in", "-o", "out").code == 0
    (root / "out/all/b.txt").unlink()
    (root / "out/all").rmdir()
    (root / "out/all").symlink_to("../away")

    assert call("render", "in", "-o", "out").code == 0

    assert (root / "away/a.yaml").read_text(encoding="utf-8") == generated


def test_errors_write_nothing(call: Call, package: Path) -> None:
    call("render", "in", "-o", "out")
    before = listing(package.parent / "out")
    edit(package / "web/workload.yaml", "minAvailable: 2", "minAvailable: 3")
    edit(package / "web/service.yaml", "web", "other")

    ran = call("render", "in", "-o", "out")

    assert (ran.code, ran.stdout, ran.messages.splitlines()[-1]) == (1, "", "1 error: nothing was written")
    assert listing(package.parent / "out") == before


def test_permissions_stay(call: Call, package: Path) -> None:
    (package / "web/workload.yaml").chmod(0o640)

    call("render", "--in-place", "in")

    modes = [stat.S_IMODE((package / name).stat().st_mode) for name in ("web/workload.yaml", GANG)]
    umask = os.umask(0)
    os.umask(umask)
    assert modes == [0o640, 0o666 & ~umask]


def test_links_stay_links(call: Call, package: Path) -> None:
    (package / "web/workload.yaml").rename(package / ".workload.yaml")
    (package / "web/workload.yaml").symlink_to("../.workload.yaml")

    assert call("render", "--in-place", "in").code == 0

    assert (package / "web/workload.yaml").is_symlink()
    assert "packwise.dev/conditions" in (package / ".workload.yaml").read_text(encoding="utf-8")


REFUSALS: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "a user's file where an object goes, among the input": (
        {f"in/{GANG}": SERVICE.replace("web", "mine")},
        {},
        f'error: in/{GANG}: packwise writes PodGang shop/web-0 to "{GANG}"; rename this file',
    ),
    "a user's file where an object goes, in the output": (
        {f"out/{GANG}": SERVICE.replace("web", "mine")},
        {},
        f"error: out/{GANG}: packwise writes a generated object to this path; rename this file",
    ),
    "a folder where a file goes": (
        {"out/topology.yaml/a.yaml": SERVICE},
        {},
        "error: out/topology.yaml: a folder has the name of this file; rename one of them",
    ),
    "a file where a folder goes": (
        {"out/packwise/workloads": "mine\n"},
        {},
        f"error: out/{GANG}: cannot write the file: Not a directory",
    ),
    "a link out of the folder": (
        {"away/x": ""},
        {"out/packwise/workloads": "../../away"},
        f"error: out/{GANG}: a link leads out of the output folder; remove the link",
    ),
    "a linked file out of the folder": (
        {"out/x": "", "away": ""},
        {"out/topology.yaml": "../away"},
        "error: out/topology.yaml: a link leads out of the output folder; remove the link",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case: str, call: Call, package: Path) -> None:
    files, links, reason = REFUSALS[case]
    root = package.parent
    write(root, files)
    for name, target in links.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(target)
    before = listing(root)

    ran = call("render", "in", "-o", "out")

    stderr = f"{reason} [output-path]\n1 error: nothing was written\n"
    assert (ran.code, ran.stdout, ran.messages) == (1, "", stderr)
    assert listing(root) == before


def item(name: str, **annotations: str) -> str:
    lines = "".join(f"      config.kubernetes.io/{key}: '{text}'\n" for key, text in annotations.items())
    more = f"    annotations:\n{lines}" if lines else ""
    return f"- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: {name}\n{more}"


HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"


def test_items_of_a_list_go_where_their_client_says(call: Call, tmp_path: Path) -> None:
    items = [item("c", path="b.yaml", index="1"), item("b", path="b.yaml", index="0"), item("a", path="./x//a.yaml")]

    ran = call("render", "-", "-o", "out", stdin=HEAD + "".join([*items, item("d"), item("e", path="b.yaml")]))

    def document(name: str) -> str:
        return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"

    assert ran.code == 0
    assert listing(tmp_path / "out") == (
        f"===== b.yaml\n{document('b')}---\n{document('c')}---\n{document('e')}"
        f"===== configmap_d.yaml\n{document('d')}===== x/a.yaml\n{document('a')}"
    )


def test_documents_of_stdin_go_to_files_of_their_own(call: Call, package: Path) -> None:
    """Objects of an earlier render stay in their files."""
    stream = f"{CONFIG}---\n{call('render', 'in').stdout}"

    assert call("render", "-", "-o", "out", stdin=stream).messages == "wrote 6 files to out\n"

    call("render", "in", "-o", "from-files")
    from_files = listing(package.parent / "from-files")
    renamed = {
        "web/service.yaml": "service_web.yaml",
        "web/workload.yaml": "podcliqueset_web.yaml",
        "topology.yaml": "topologyrender_topology.yaml",
    }
    files = dict(part.split("\n", 1) for part in from_files.split("===== ")[1:])
    expected = {renamed.get(name, name): text for name, text in files.items()}
    written = listing(package.parent / "out")
    assert dict(part.split("\n", 1) for part in written.split("===== ")[1:]) == expected


@pytest.mark.parametrize("path", ["/etc/x.yaml", "../x.yaml", "a/../../x.yaml", "a\\b.yaml", ".", "a/.."])
def test_no_client_leads_out_of_the_folder(path: str, call: Call, tmp_path: Path) -> None:
    ran = call("render", "-", "-o", "out", stdin=HEAD + item("a") + item("x", path=path))

    assert (ran.code, ran.stdout) == (1, "")
    errors = [line for line in ran.stderr.splitlines() if line.startswith("error")]
    reason = f'the file would be outside the output folder: the path is "{path}" [output-path]'
    assert errors == [f"error: {path}:6:32: ConfigMap x metadata.annotations[config.kubernetes.io/path]: {reason}"]
    assert list(tmp_path.iterdir()) == []


def test_no_file_stands_in_a_file(call: Call, tmp_path: Path) -> None:
    ran = call("render", "-", "-o", "out", stdin=HEAD + item("a", path="a") + item("b", path="a/b.yaml"))

    assert (ran.code, list(tmp_path.iterdir())) == (1, [])
    assert (
        'error: a/b.yaml: "a" is a file and would also be a folder; rename one of them [output-path]\n'
    ) in ran.stderr


def test_documents_that_are_no_objects_have_no_file(call: Call, tmp_path: Path) -> None:
    ran = call("render", "-", "-o", "out", stdin=f"{CONFIG}---\n# c\n---\n- a\n---\n# d\n")

    assert (ran.code, list(tmp_path.iterdir())) == (1, [])
    assert ran.stderr.splitlines()[0] == (
        "error: <stdin>:15:1: this document is not a Kubernetes object, and packwise cannot write it to a folder; "
        "pass the path of its file [output-path]"
    )


def test_two_documents_for_one_file_of_another_are_refused(call: Call, package: Path) -> None:
    ran = call("render", "in", "-", "-o", "out", stdin=HEAD + item("x", path="web/service.yaml"))

    assert (ran.code, (package.parent / "out").exists()) == (1, False)
    assert ran.stderr.splitlines()[0] == (
        'error: web/service.yaml:4:9: ConfigMap x metadata.name: packwise already writes "web/service.yaml" for '
        "another object; each object needs its own file [output-path]"
    )


def test_a_list_is_not_written_beside_itself(call: Call, package: Path) -> None:
    write(package, {"list.yaml": HEAD + item("x", path="x.yaml")})

    ran = call("render", "in/list.yaml", "-o", "in")

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr == (
        'error: "in/list.yaml" is a ResourceList and cannot be written in place; choose another folder with -o\n'
    )


def test_other_content_of_files_is_written_too(call: Call, tmp_path: Path) -> None:
    files = {"empty.yaml": "", "list.yml": "- a\r\n", "values.yaml": "a: 1", "o.json": '{"a": 1}'}
    write(tmp_path / "in", {**files, "topology.yaml": CONFIG, "README.md": "not read\n", "w.yaml": WORKLOAD})

    assert call("render", "in", "-o", "out").code == 0

    assert {name: (tmp_path / "out" / name).read_bytes().decode() for name in files} == files
    assert not (tmp_path / "out" / "README.md").exists()


def test_a_disk_that_refuses_is_reported(call: Call, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_file: int, _content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", refuse)

    ran = call("render", "in", "-o", "out")

    at = package.parent / "out/packwise/topologies/clustertopology-grove-topology.yaml"
    reason = "cannot write the file: No space left on device"
    assert (ran.code, ran.stdout, ran.stderr) == (1, "", f"error: {at}: {reason}\n")
    assert listing(package.parent / "out") == ""


def test_no_generated_object_leads_out_of_the_folder() -> None:
    generated = KubeObject.parse(item("a", path="../a.yaml").replace("- ", "  ", 1))

    plan = plan_folder(RenderedFiles((), (), (generated,)))

    assert (plan.contents, [result.message for result in plan.results]) == (
        {},
        ['the file would be outside the output folder: the path is "../a.yaml"'],
    )
