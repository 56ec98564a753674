"""`make pins` pins actions and images by digest, with a fake GitHub and a fake registry.

It changes all files or none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from supplychain.pins import FILES, Origin, pin, references, rewrite, unpinned_lines
from tests.places import ROOT, TOOLS, missing

A, B = "a" * 40, "b" * 40
DIGEST = f"sha256:{'c' * 64}"
NEWER = f"sha256:{'d' * 64}"
CHECKOUT = Origin("git", "actions/checkout", "v4")


def step(uses: str) -> str:
    return f"jobs:\n  a:\n    steps:\n    - uses: {uses}\n      with: {{}}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("actions/checkout@v4", f"actions/checkout@{A} # v4"),
        ("actions/checkout@v4  # v4", f"actions/checkout@{A} # v4"),
        ("actions/checkout@v4 # whole history", f"actions/checkout@{A} # v4 whole history"),
        ("'actions/checkout@v4'", f"'actions/checkout@{A}' # v4"),
        ('"actions/checkout@v4" # x', f'"actions/checkout@{A}" # v4 x'),
        ("actions/checkout/sub/folder@v4", f"actions/checkout/sub/folder@{A} # v4"),
        (f"actions/checkout@{B} # v4", f"actions/checkout@{A} # v4"),
        (f"actions/checkout@{B}   #v4 why", f"actions/checkout@{A} # v4 why"),
        (f"actions/checkout@{B}", f"actions/checkout@{B}"),
        ("./.github/actions/here", "./.github/actions/here"),
        ("docker://alpine:3.22", f"docker://alpine:3.22@{DIGEST}"),
        (f'"docker://alpine:3.22@{NEWER}"', f'"docker://alpine:3.22@{DIGEST}"'),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_action_is_pinned_and_renewed(before: str, after: str, end: str) -> None:
    answers = {CHECKOUT: A, Origin("crane", "alpine", "3.22"): DIGEST}

    pinned = rewrite("a.yml", step(before).replace("\n", end), answers)

    assert pinned == step(after).replace("\n", end)
    assert rewrite("a.yml", pinned, answers) == pinned
    assert all(reference.problem == "" for reference in references("a.yml", pinned))


def test_only_values_of_uses_count() -> None:
    text = (
        "# uses: a/b@v1\non: {push: {}}\njobs:\n  a:\n    uses: o/r/.github/workflows/w.yml@v1\n  b:\n    steps:\n"
        + ("    - run: |\n        uses: c/d@v1\n    - &again\n      uses: e/f@v1\n    - *again\n")
    )

    assert [(each.line, each.written) for each in references("a.yml", text)] == [
        (5, "o/r/.github/workflows/w.yml@v1"),
        (11, "e/f@v1"),
    ]


@pytest.mark.parametrize(
    "uses",
    [
        "actions/checkout@-upload-pack=touch",
        "actions/checkout@v4 v5",
        "actions/checkout@$(touch x)",
        "actions/checkout@v4@v5",
        "actions/checkout@v*",
        "actions/checkout",
        "actions/checkout@",
        "actions/../checkout@v4",
        "actions/..@v4",
        "-actions/checkout@v4",
        "--upload-pack=touch/x@v4",
        "https://example.com/a/b@v4",
        "äctions/checkout@v4",
        "docker://alpine",
        "docker://-alpine:3",
        ">-\n        actions/checkout@v4",
        "&a actions/checkout@v4",
        '"actions/check\\x6fut@v4"',
    ],
)
def test_what_is_no_tag_of_an_action_is_refused(uses: str) -> None:
    (reference,) = references("a.yml", step(uses))

    assert (reference.pinned, reference.origin, bool(reference.problem)) == (False, None, True)


@pytest.mark.parametrize("comment", ["-upload-pack=touch", "$(touch x)", "(v4)"])
def test_a_pinned_action_with_another_comment_is_refused(comment: str) -> None:
    (reference,) = references("a.yml", step(f"actions/checkout@{A} # {comment}"))

    assert (reference.pinned, reference.origin) == (True, None)
    assert reference.problem == f"must have a comment that begins with the tag; got {comment!r}"


def test_a_step_in_flow_style_is_refused() -> None:
    (reference,) = references("a.yml", "steps: [{uses: actions/checkout@v4}]\n")

    assert reference.problem == "must be alone on its line, so that a comment can name its tag"


def test_the_images_of_a_dockerfile() -> None:
    text = f"""FROM python:3.13 AS build
copy --chmod=755 --from=rust:1.95 /a /b
COPY --from=build --link /a /b
COPY --from=0 /a /b
from --platform=$BUILDPLATFORM localhost:5000/a/b:v1@{NEWER} as Other
FROM other
FROM scratch
RUN --mount=type=bind,from=golang:1.26,target=/x --mount=type=cache create --from=cronjob/x
# FROM a:1
FROM quay.io/a/b@{NEWER}
"""
    answers = {each.origin: DIGEST for each in references("Dockerfile", text) if each.origin is not None}

    pinned = rewrite("Dockerfile", text, answers)

    assert pinned.splitlines() == [
        f"FROM python:3.13@{DIGEST} AS build",
        f"copy --chmod=755 --from=rust:1.95@{DIGEST} /a /b",
        "COPY --from=build --link /a /b",
        "COPY --from=0 /a /b",
        f"from --platform=$BUILDPLATFORM localhost:5000/a/b:v1@{DIGEST} as Other",
        "FROM other",
        "FROM scratch",
        f"RUN --mount=type=bind,from=golang:1.26@{DIGEST},target=/x --mount=type=cache create --from=cronjob/x",
        "# FROM a:1",
        f"FROM quay.io/a/b@{NEWER}",
    ]
    assert set(answers) == {
        Origin("crane", "python", "3.13"),
        Origin("crane", "rust", "1.95"),
        Origin("crane", "localhost:5000/a/b", "v1"),
        Origin("crane", "golang", "1.26"),
    }
    assert rewrite("Dockerfile", pinned, answers) == pinned
    assert all(reference.pinned for reference in references("Dockerfile", pinned))


@pytest.mark.parametrize(
    "line",
    [
        "FROM python",
        "FROM python:${VERSION}",
        "FROM -x:1",
        "FROM a:1 b",
        "FROM \\",
        "FROM a:1@sha256:12",
        "COPY --from=nginx / /",
    ],
)
def test_what_is_no_tag_of_an_image_is_refused(line: str) -> None:
    (reference,) = references("Dockerfile", f"{line}\n")

    assert (reference.pinned, reference.origin, bool(reference.problem)) == (False, None, True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with this repository's files that name actions and images."""
    root = tmp_path / "project"
    for file in sorted({file.relative_to(ROOT) for pattern in FILES for file in ROOT.glob(pattern)}):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, root / file)
    return root


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is all of PATH. Its git knows every tag, and its crane knows every image."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder / "git", f'printf "{B}\\t%s\\n{A}\\t%s\\n{B}\\tx/%s\\n" "$4" "$5" "$4"')
    program(folder / "crane", f'[ "$1" = digest ] && echo {DIGEST}')
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("programs")
def test_all_files_are_pinned_and_then_stay_as_they_are(project: Path) -> None:
    before = unpinned_lines(project)

    changed, failures = pin(project)

    pinned = contents(project)
    assert failures == []
    assert len(changed) >= len(before)
    assert unpinned_lines(project) == []
    assert pin(project) == ([], [])
    assert contents(project) == pinned
    assert f"uses: sigstore/cosign-installer@{A} # v".encode() in pinned[".github/workflows/release.yml"]
    assert f"uses: github/codeql-action/upload-sarif@{A} # v".encode() in pinned["action.yml"]
    assert pinned["Dockerfile"].count(f"@{DIGEST}".encode()) == 8


def test_a_tag_that_was_moved_is_renewed(project: Path, programs: Path) -> None:
    pin(project)
    program(programs / "crane", f"echo {NEWER}")

    changed, failures = pin(project)

    assert failures == []
    assert [line.partition(":")[0] for line in changed] == ["Dockerfile"] * 8
    assert all(line.endswith(NEWER) for line in changed)


@pytest.mark.parametrize(
    ("name", "script", "failure"),
    [
        ("crane", "", "crane must be on PATH; `make e2e-tools` builds it"),
        ("git", "", "git must be on PATH"),
        ("crane", "echo sha256:12", "python:3.13.9-trixie: crane must answer with a digest; got 'sha256:12'"),
        ("git", "true", "https://github.com/actions/setup-python does not have the tag v7.0.0"),
        (
            "git",
            'case "$3" in */codeql-action) echo "no route" >&2; exit 128;; esac; printf "%040d\\t%s\\n" 1 "$4"',
            "git ls-remote -- https://github.com/github/codeql-action refs/tags/v4.37.6 refs/tags/v4.37.6^{}: no route",
        ),
    ],
)
def test_one_failure_leaves_all_files_as_they_were(
    project: Path, programs: Path, name: str, script: str, failure: str
) -> None:
    before = contents(project)
    (programs / name).unlink()
    if script:
        program(programs / name, script)

    changed, failures = pin(project)

    assert changed == []
    assert failure in failures
    assert contents(project) == before


@pytest.mark.usefixtures("programs")
def test_a_line_that_cannot_be_pinned_leaves_all_files_as_they_were(project: Path) -> None:
    (project / ".github/workflows/x.yaml").write_text(step("a/b@-upload-pack=touch"), encoding="utf-8")
    before = contents(project)

    assert pin(project) == (
        [],
        [".github/workflows/x.yaml:4: a/b@-upload-pack=touch: must name a tag; got '-upload-pack=touch'"],
    )
    assert contents(project) == before


def test_git_itself_tells_the_commit_of_an_annotated_tag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository in a folder replaces GitHub. It also has a tag `x/v1`, which must not be used for `v1`."""
    remote, root = tmp_path / "hub" / "o" / "r", tmp_path / "root"
    remote.mkdir(parents=True)
    root.mkdir()
    person = ("-c", "user.name=a", "-c", "user.email=a@example.com")

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(remote), *person, *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "-m", "one")
    git("tag", "-a", "-m", "v1", "v1")
    git("tag", "v1.2.3")
    commit = git("rev-parse", "HEAD")
    git("commit", "--quiet", "--allow-empty", "-m", "two")
    git("tag", "x/v1")
    settings = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{tmp_path}/hub/.insteadOf"}
    for name, value in {**settings, "GIT_CONFIG_VALUE_0": "https://github.com/"}.items():
        monkeypatch.setenv(name, value)
    (root / "action.yml").write_text("steps:\n- uses: o/r@v1\n- uses: o/r/a@v1.2.3\n", encoding="utf-8")

    assert pin(root)[1] == []
    assert (root / "action.yml").read_text(encoding="utf-8") == (
        f"steps:\n- uses: o/r@{commit} # v1\n- uses: o/r/a@{commit} # v1.2.3\n"
    )
    (root / "action.yml").write_text("steps:\n- uses: o/r@v2\n", encoding="utf-8")
    assert pin(root) == ([], ["https://github.com/o/r does not have the tag v2"])


@pytest.fixture
def registry() -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yield the address of a registry on loopback, and its manifests by `name:tag`."""
    manifests: dict[str, bytes] = {}

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            manifest = manifests.get(self.path.removeprefix("/v2/").replace("/manifests/", ":"))
            self.send_response(200 if self.path == "/v2/" or manifest is not None else 404)
            content = manifest or b"{}"
            self.send_header("Content-Type", "application/vnd.oci.image.index.v1+json")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Docker-Content-Digest", f"sha256:{sha256(content).hexdigest()}")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}", manifests
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.client
def test_crane_itself_tells_the_digest_of_an_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: tuple[str, dict[str, bytes]]
) -> None:
    """A registry on loopback replaces the registries of the images.

    A moved tag is renewed, and a missing one is reported.
    """
    crane = next(TOOLS.glob("crane-*/crane"), None)
    if crane is None:
        missing("crane is not built: `make e2e-tools` does")
    monkeypatch.setenv("PATH", f"{crane.parent}{os.pathsep}{os.environ['PATH']}")
    address, manifests = registry
    dockerfile = tmp_path / "Dockerfile"
    image = f"{address}/team/base:1.2"
    dockerfile.write_text(f"FROM {image} AS base\nFROM base\n", encoding="utf-8")

    for content in (b'{"schemaVersion": 2}', b'{"schemaVersion": 2, "manifests": []}'):
        manifests["team/base:1.2"] = content
        assert pin(tmp_path)[1] == []
        digest = f"sha256:{sha256(content).hexdigest()}"
        assert dockerfile.read_text(encoding="utf-8") == f"FROM {image}@{digest} AS base\nFROM base\n"
    manifests.clear()
    pinned = dockerfile.read_bytes()

    changed, failures = pin(tmp_path)

    assert changed == []
    assert [image in line and "404" in line for line in failures] == [True]
    assert dockerfile.read_bytes() == pinned


def test_make_pins_finds_the_crane_that_make_builds(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "tests/e2e/control_plane/go.mod"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/.ready").touch()
    program(tmp_path / ".venv/bin/python", 'echo "$@"; command -v crane')
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}

    def ran() -> list[str]:
        command = ["make", "--silent", "--old-file=.venv/.ready", "pins"]
        path = {"PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            command, cwd=tmp_path, env={**environment, **path}, capture_output=True, text=True, check=False
        )
        return done.stdout.splitlines()

    assert ran() == ["-m supplychain.pins"]
    go = (ROOT / "tests/e2e/control_plane/go.mod").read_text(encoding="utf-8")
    version = go.partition("google/go-containerregistry ")[2].split()[0]
    crane = tmp_path / f".cache/tools/crane-{version}/crane"
    crane.parent.mkdir(parents=True)
    program(crane, "")
    assert ran() == ["-m supplychain.pins", str(crane)]
