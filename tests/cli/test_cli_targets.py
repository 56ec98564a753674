"""The permitted paths for objects of a stream. packwise does not trust a client's annotation."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from packwise.render.files import LIST
from tests.cli.calling import SERVICE, Call, listing, write
from tests.cli.test_cli_folder import HEAD

HIDDEN = (
    "the file or a folder above it is hidden, and other programs use such files: the path is {}. Choose names that do "
    "not begin with a dot"
)
UNPRINTABLE = "the file name has control characters: the path is {}. Rename the file"
OUTSIDE = "the file would be outside the output folder: the path is {}"
LONG = (
    "the path is too long: {size} bytes, {shown}. A path must have at most 1024 bytes, and each name at most 255. "
    "Choose shorter names"
)

REFUSED = {
    ".git/hooks/pre-commit": HIDDEN,
    ".git/config": HIDDEN,
    ".GIT/config": HIDDEN,
    "./.git/config": HIDDEN,
    "a/.git/config": HIDDEN,
    ".envrc": HIDDEN,
    ".github/workflows/x.yaml": HIDDEN,
    "a/.hidden.yaml": HIDDEN,
    "...": HIDDEN,
    "GIT~1/hooks/pre-commit": HIDDEN,
    LIST: HIDDEN,
    "../x.yaml": OUTSIDE,
    "a/../../x.yaml": OUTSIDE,
    "/etc/x.yaml": OUTSIDE,
    "a\\b.yaml": OUTSIDE,
    ".": OUTSIDE,
    "a\rb.yaml": UNPRINTABLE,
    "a\nb.yaml": UNPRINTABLE,
    "a\tb.yaml": UNPRINTABLE,
    "a\x1b[31mb.yaml": UNPRINTABLE,
    "a\x7fb.yaml": UNPRINTABLE,
    "a\x85b.yaml": UNPRINTABLE,
    "a\u2028b.yaml": UNPRINTABLE,
    "a\u2029b.yaml": UNPRINTABLE,
    "a\u202eb.yaml": UNPRINTABLE,
    "\u200c.git/config": UNPRINTABLE,
    "a\0b.yaml": UNPRINTABLE,
}


def item(name: str, path: str, key: str = "config.kubernetes.io/path") -> str:
    import json

    annotations = f"{{{key}: {json.dumps(path)}}}"
    return f"- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: {name}\n    annotations: {annotations}\n"


def shown(path: str) -> str:
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path) + '"'


@pytest.mark.parametrize("path", REFUSED, ids=ascii)
def test_no_client_leads_to_what_is_not_a_manifest(path: str, call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"out/.git/hooks/pre-commit": "#!/bin/sh\n", "out/.git/config": "[core]\n"})
    before = listing(tmp_path)

    ran = call("render", "-", "-o", "out", stdin=HEAD + item("a", "a.yaml") + item("x", path))

    assert (ran.code, ran.stdout) == (1, "")
    errors = [line for line in ran.stderr.splitlines() if line.startswith("error")]
    field = "ConfigMap x metadata.annotations[config.kubernetes.io/path]"
    reason = REFUSED[path].format(shown(path))
    at = shown(path.replace("\n", " "))[1:-1]
    assert errors == [f"error: {at}:5:44: {field}: {reason} [output-path]"]
    assert listing(tmp_path) == before


@pytest.mark.parametrize(
    "key", ["internal.config.kubernetes.io/path", "config.kubernetes.io/path", "config.k8s.io/path"]
)
def test_the_annotation_that_counts_is_named(key: str, call: Call, tmp_path: Path) -> None:
    ran = call("render", "-", "-o", "out", stdin=HEAD + item("x", ".x.yaml", key))

    assert f"ConfigMap x metadata.annotations[{key}]: the file or a folder above it is hidden" in ran.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x/.git/hooks/pre-commit", "x/../../x", "a\\u2028b"])
def test_a_name_without_an_annotation_leads_nowhere_either(name: str, call: Call, tmp_path: Path) -> None:
    text = f'- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: "{name}"\n'

    ran = call("render", "-", "-o", "out", stdin=HEAD + text)

    assert "metadata.name: the file " in ran.stderr
    assert (ran.code, list(tmp_path.iterdir())) == (1, [])


@pytest.mark.parametrize("path", ["x" * 256, "é" * 128, "x/" * 512 + "y", "x" * 1_000_000], ids=len)
def test_no_path_is_longer_than_a_system_takes(path: str, call: Call, tmp_path: Path) -> None:
    ran = call("render", "-", "-o", "out", stdin=HEAD + item("x", path))

    start = path if len(path) <= 80 else path[:80] + "…"
    reason = LONG.format(size=len(path.encode()), shown=f'"{start}"')
    assert (ran.code, list(tmp_path.iterdir())) == (1, [])
    assert f"{reason} [output-path]" in ran.stderr


@pytest.mark.parametrize("path", ["x" * 255, "é" * 127, "x/" * 511 + "y"], ids=len)
def test_what_systems_take_is_written(path: str, call: Call, tmp_path: Path) -> None:
    assert call("render", "-", "-o", "out", stdin=HEAD + item("x", path)).code == 0
    assert (tmp_path / "out" / path).is_file()


ALIKE = {
    ("a.yaml", "A.yaml"),
    ("web/a.yaml", "Web/a.yaml"),
    ("straße.yaml", "STRASSE.yaml"),
    ("caf\u00e9.yaml", "cafe\u0301.yaml"),
}


@pytest.mark.parametrize("paths", sorted(ALIKE), ids=ascii)
def test_names_that_a_system_may_take_for_one_are_refused(paths: tuple[str, str], call: Call, tmp_path: Path) -> None:
    ran = call("render", "-", "-o", "out", stdin=HEAD + item("x", paths[0]) + item("y", paths[1]))

    first, second = sorted(paths)
    reason = f'some systems do not distinguish "{second}" from "{first}"; rename one of them [output-path]'
    assert (ran.code, list(tmp_path.iterdir())) == (1, [])
    assert f"error: {second}: {reason}" in ran.stderr.splitlines()


def test_a_file_of_the_input_is_such_a_name_too(call: Call, package: Path) -> None:
    ran = call("render", "in", "-", "-o", "out", stdin=HEAD + item("x", "Web/Service.yaml"))

    assert (ran.code, (package.parent / "out").exists()) == (1, False)
    assert ran.stderr.startswith('error: web/service.yaml: some systems do not distinguish "web/service.yaml"')


def test_files_that_stand_beside_each_other_already_do_so(call: Call, package: Path) -> None:
    write(package, {"a.yaml": SERVICE.replace("web", "a"), "A.yaml": SERVICE.replace("web", "b")})

    assert call("render", "in", "-o", "out").code == 0
    assert call("render", "--in-place", "in").code == 0


def test_no_file_stands_in_one_that_differs_in_case(call: Call, tmp_path: Path) -> None:
    ran = call("render", "-", "-o", "out", stdin=HEAD + item("a", "A") + item("b", "a/b.yaml"))

    assert (ran.code, list(tmp_path.iterdir())) == (1, [])
    assert (
        'error: a/b.yaml: "A" is a file and would also be a folder; rename one of them [output-path]\n'
    ) in ran.stderr


def test_a_file_of_two_folders_whose_names_differ_in_case_is_refused(call: Call, package: Path) -> None:
    write(package.parent, {"x/a.yaml": SERVICE.replace("web", "a"), "y/A.yaml": SERVICE.replace("web", "b")})

    assert call("render", "in", "x", "y", "-o", "out").stderr == (
        'error: "x/a.yaml" and "y/A.yaml" would both be written to "A.yaml"; render them one by one\n'
    )


def test_the_list_of_files_is_no_output(call: Call, package: Path) -> None:
    write(package.parent, {f"x/{LIST}": SERVICE})

    ran = call("render", "in", f"x/{LIST}", "-o", "out")

    assert (ran.code, (package.parent / "out").exists()) == (1, False)
    reason = f'packwise writes its list of files to "{LIST}"; rename this file [output-path]'
    assert ran.stderr.splitlines()[0] == f"error: {LIST}: {reason}"


def test_no_output_can_be_executed(call: Call, package: Path) -> None:
    script = package.parent / "out/web/service.yaml"
    write(package.parent, {"out/web/service.yaml": SERVICE.replace("mine", "older")})
    script.chmod(0o4755)

    assert call("render", "in", "-o", "out").code == 0

    assert script.read_text(encoding="utf-8") == SERVICE
    assert stat.S_IMODE(script.stat().st_mode) == 0o644


@pytest.mark.parametrize("text", ["all:\n\ttrue\n", "#!/bin/sh\ntrue\n", "steps:\n- script: make\n", "\udcff\n"])
def test_a_client_replaces_no_file_that_holds_something_else(text: str, call: Call, tmp_path: Path) -> None:
    file = tmp_path / "out" / "Makefile"
    file.parent.mkdir()
    file.write_bytes(text.encode("utf-8", "surrogateescape"))

    ran = call("render", "-", "-o", "out", stdin=HEAD + item("x", "Makefile"))

    assert (ran.code, file.read_bytes()) == (1, text.encode("utf-8", "surrogateescape"))
    assert [line for line in ran.stderr.splitlines() if line.startswith("error")] == [
        "error: out/Makefile: this file has no Kubernetes objects, but an object of stdin or of a list would "
        "replace it. Rename the file, or write the object to another folder [output-path]"
    ]


@pytest.mark.parametrize("text", ["", "# nothing yet\n", SERVICE])
def test_a_client_replaces_manifests_and_empty_files(text: str, call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"out/x.yaml": text})

    assert call("render", "-", "-o", "out", stdin=HEAD + item("x", "x.yaml")).code == 0
    assert "name: x" in (tmp_path / "out/x.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", ["render in -o out", "render - -o out"])
def test_no_link_leads_into_git(words: str, call: Call, package: Path) -> None:
    """A commit can contain a link to `.git/hooks`, although it cannot contain a file in it."""
    root = package.parent
    write(root, {"out/.git/hooks/service.yaml": "#!/bin/sh\n"})
    (root / "out/web").symlink_to(".git/hooks")
    stdin = f"{HEAD}{item('x', 'web/service.yaml')}" if " - " in words else ""
    before = listing(root)

    ran = call(*words.split(), stdin=stdin)

    assert (ran.code, listing(root)) == (1, before)
    assert (
        "error: out/web/service.yaml: a link leads into the folder of a git repository; remove the link"
    ) in ran.stderr


def test_nothing_is_removed_in_git(call: Call, package: Path) -> None:
    """Nothing is removed there because of the list of files, nor through a link, even if the content is known."""
    import hashlib

    root = package.parent
    assert call("render", "in", "-o", "out").code == 0
    write(root, {"out/.git/HEAD": "ref: refs/heads/main\n"})
    (root / "out/link").symlink_to(".git")
    known = hashlib.sha256(b"ref: refs/heads/main\n").hexdigest()
    with (root / "out" / LIST).open("a", encoding="utf-8") as file:
        file.write(
            f"{known}  .git/HEAD\n{known}  .GIT/HEAD\n{known}  link/HEAD\n{known}  nul\0\n{known}  {'x' * 300}\n"
        )

    assert call("render", "in", "-o", "out").code == 0

    assert (root / "out/.git/HEAD").exists()


def test_a_folder_whose_own_path_is_too_long_is_an_error(call: Call, package: Path) -> None:
    deep = package.parent / "/".join(["x" * 250] * 17)

    ran = call("render", "in", "-o", str(deep))

    assert (ran.code, ran.stderr) == (2, f'error: cannot read "{deep}": File name too long\n')
