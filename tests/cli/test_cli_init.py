"""`packwise init` writes files that pass a check, that the client renders, and that overwrite no file."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from packwise.revisions.grove import NEWEST, REVISIONS
from tests.cli.calling import Call, listing, write
from tests.clients.running import run

Expect = Callable[[str, str], None]

TARGETS = ("kustomize", "kpt", "argocd", "flux", "github", "gitlab", "pre-commit")


def node(name: str, **labels: str) -> str:
    lines = "".join(f"      {key}: {value}\n" for key, value in {"kubernetes.io/hostname": name, **labels}.items())
    return f"- apiVersion: v1\n  kind: Node\n  metadata:\n    name: {name}\n    labels:\n{lines}"


def nodes(*entries: str) -> str:
    return f"apiVersion: v1\nkind: List\nitems:\n{''.join(entries)}"


NESTED = nodes(
    node("a", **{"topology.kubernetes.io/zone": "z1", "example.com/rack": "r1", "example.com/block": "b1"}),
    node("b", **{"topology.kubernetes.io/zone": "z1", "example.com/rack": "r1", "example.com/block": "b1"}),
    node("c", **{"topology.kubernetes.io/zone": "z2", "example.com/rack": "r2", "example.com/block": "b1"}),
    node("d", **{"topology.kubernetes.io/zone": "z2", "example.com/rack": "r3", "example.com/block": "b1"}),
    node("control-plane"),
)
"""Four nodes in two zones, a block that extends over both zones, and a node without a topology."""

OPERATOR = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: grove-operator, namespace: grove-system}
data:
  config.yaml: |
    apiVersion: operator.config.grove.io/v1alpha1
    kind: OperatorConfiguration
    topologyAwareScheduling:
      enabled: true
      levels:
      - {domain: zone, key: topology.kubernetes.io/zone}
      - {domain: host, key: kubernetes.io/hostname}
    scheduler:
      profiles: [{name: default-scheduler}, {name: kai-scheduler}]
      defaultProfileName: kai-scheduler
"""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: grove-operator, namespace: grove-system}
spec:
  template: {spec: {containers: [{name: operator, image: "ghcr.io/ai-dynamo/grove/grove-operator:RELEASE"}]}}
"""

BINDING = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: gb200}
spec:
  levels:
  - {domain: zone, key: topology.kubernetes.io/zone}
  - {domain: nvlink-domain, key: nvidia.com/gpu.clique}
  - {domain: host, key: kubernetes.io/hostname}
"""

DUMPS = {
    "nodes": NESTED,
    "operator": OPERATOR + "---\n" + DEPLOYMENT.replace("RELEASE", "v0.1.0-alpha.8"),
    "bindings": BINDING + "---\n" + DEPLOYMENT.replace("RELEASE", "v0.1.0-alpha.13"),
    "bindings-alone": BINDING,
    "nothing": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
    "levels": OPERATOR.partition("    scheduler:\n")[0],
    "levels-and-profiles": OPERATOR,
    "own-topologies": BINDING.replace("ClusterTopologyBinding", "ClusterTopology").replace("nvlink-domain", "rack"),
    # No name in a dump ends the comment or the value in which it is written.
    "hostile": 'apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: "a\\nspec: {}"}\n'
    'spec: {levels: [{domain: "x\\n- y", key: "a: b # c"}, {domain: "yes", key: "1"}]}\n---\n'
    + DEPLOYMENT.replace("RELEASE", "v0.1.0-alpha.9"),
}


class Origin(NamedTuple):
    """A distribution with the record of its source, which `init` reads."""

    direct_url: str | None = None

    def read_text(self, name: str) -> str | None:
        return self.direct_url if name == "direct_url.json" else None


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    came_from(None, monkeypatch)


def came_from(direct_url: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def distribution(_: str) -> Origin:
        return Origin(direct_url)

    monkeypatch.setattr("packwise.init.run.distribution", distribution)


@pytest.mark.parametrize("dump", DUMPS)
def test_a_dump_tells_levels_schedulers_release_and_operator(
    dump: str, call: Call, tmp_path: Path, assert_expected: Expect
) -> None:
    write(tmp_path, {"dump.yaml": DUMPS[dump]})

    ran = call("init", "west", "--from", "dump.yaml")

    assert (ran.code, ran.stderr) == (0, "")
    assert_expected(f"init/{dump}.txt", listing(tmp_path / "west"))


@pytest.mark.parametrize("target", TARGETS)
def test_each_target_has_its_files(target: str, call: Call, tmp_path: Path, assert_expected: Expect) -> None:
    ran = call("init", "clusters/west", "--for", target)

    assert (ran.code, ran.stderr) == (0, "")
    whole = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if ".git" not in path.parts}
    new = sorted(
        name
        for name in whole
        if (tmp_path / name).is_file() and Path(name).name not in ("topology.yaml", "example.yaml")
    )
    files = "".join(f"===== {name}\n{(tmp_path / name).read_text(encoding='utf-8')}" for name in new)
    assert_expected(f"init/for-{target}.txt", f"{ran.stdout}{files}")


@pytest.mark.parametrize("folder", [".", "clusters/west"])
@pytest.mark.parametrize("target", TARGETS)
def test_a_doctor_sees_the_client_of_each_target(
    target: str, folder: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def which(command: str) -> str:
        return f"/usr/bin/{command}"

    monkeypatch.setattr("packwise.doctor.run.shutil.which", which)
    subprocess.run(["git", "init", "--quiet", "."], check=True)
    assert call("init", folder, "--for", target).code == 0

    for looked_at in (".", folder):
        ran = call("doctor", looked_at, "-o", "json")
        assert ran.code == 0
        assert [client["name"] for client in json.loads(ran.stdout)["clients"]] == [target]


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_is_written_passes_a_check(revision: str, call: Call) -> None:
    call(
        "init", "west", "--revision", revision, "--for", "argocd", "--for", "flux", "--for", "kustomize", "--for", "kpt"
    )

    ran = call("check", "west", "-o", "json")

    assert (ran.code, [finding for finding in ran.findings if finding["severity"] != "info"]) == (0, [])


@pytest.mark.parametrize("dump", [name for name in DUMPS if name != "hostile"])
def test_what_a_dump_gives_passes_a_check(dump: str, call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"dump.yaml": DUMPS[dump]})
    call("init", "west", "--from", "dump.yaml")

    ran = call("check", "west", "-o", "json")

    assert (ran.code, [finding for finding in ran.findings if finding["severity"] != "info"]) == (0, [])


def test_without_grove_kai_groups_the_example_itself(call: Call, tmp_path: Path, assert_expected: Expect) -> None:
    made = call(
        "init", "west", "--without-grove", "--level", "zone=example.com/zone", "--level", "rack=example.com/rack"
    )

    ran, explained = call("check", "west", "-o", "json"), call("explain", "west")

    assert (made.code, ran.code, ran.findings) == (0, 0, [])
    assert_expected("init/without-grove.txt", f"{listing(tmp_path / 'west')}===== explain\n{explained.stdout}")


@pytest.mark.parametrize("options", [["--apply"], ["--revision", "v0.1.0-alpha.13"]])
def test_nobody_applies_what_kai_makes(options: list[str], call: Call, tmp_path: Path) -> None:
    ran = call("init", "west", "--without-grove", *options)

    assert ran.code == 2
    assert f"{options[0]} conflicts with --without-grove" in ran.stderr
    assert not (tmp_path / "west").exists()


@pytest.mark.client
def test_kustomize_renders_it(call: Call, tmp_path: Path, kustomize: Path, packwise: Path) -> None:
    call("init", "west", "--for", "kustomize")

    built = run(
        [kustomize, "build", "--enable-alpha-plugins", "--enable-exec", "west"], cwd=tmp_path, packwise=packwise
    )

    assert (built.code, built.stderr) == (0, "")
    kinds = [document["kind"] for document in yaml.safe_load_all(built.stdout)]
    # The objects that the operator makes itself are a preview, which kustomize skips.
    assert kinds == ["ClusterTopologyBinding", "PodCliqueSet"]


@pytest.mark.client
def test_kpt_renders_it(call: Call, tmp_path: Path, kpt: Path, packwise: Path) -> None:
    call("init", "west", "--for", "kpt")

    rendered = run([kpt, "fn", "render", "west", "--allow-exec"], cwd=tmp_path, packwise=packwise)

    assert rendered.code == 0, rendered.stderr
    assert {path.parent.relative_to(tmp_path).as_posix() for path in (tmp_path / "west/packwise").rglob("*.yaml")} == {
        "west/packwise/topologies",
        "west/packwise/workloads/default",
    }


def test_workloads_and_configuration_that_are_there_are_kept(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"west/web.yaml": "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: web}\n"})

    first = call("init", "west", "--for", "kustomize")
    second = call("init", "west", "--for", "github")

    assert (first.code, second.code) == (0, 0)
    assert not (tmp_path / "west/example.yaml").exists()
    assert '- "web.yaml"\n' in (tmp_path / "west/kustomization.yaml").read_text(encoding="utf-8")
    assert second.stdout.splitlines()[0] == "wrote .github/workflows/packwise.yaml"


REFUSED = {
    "init west": 'error: "west" already has a configuration; name a client with --for to write its files',
    "init west --for kpt --for gitlab": 'error: ".gitlab-ci.yml" already exists, and init wrote '
    "nothing; move the file, or choose another DIR or --for",
    "init a.txt": 'error: DIR "a.txt" is not a folder; name a folder, which may be new',
    "init east --from nothing.yaml": 'error: "nothing.yaml" does not exist',
    "init east --level rack": "packwise init: error: argument --level: must be DOMAIN=LABEL, as in "
    'rack=example.com/rack; got "rack"',
    "init east --apply --revision v0.1.0-alpha.13": "error: --apply conflicts with v0.1.0-alpha.13, because its "
    "operator deletes PodGangs that are applied from Git; remove --apply, or name an earlier release with --revision",
    "init east --apply": f"error: --apply conflicts with {NEWEST.name}, because its operator deletes PodGangs that are "
    "applied from Git; remove --apply, or name an earlier release with --revision",
    "init east --for kustomise": 'did you mean "kustomize"?',
}


@pytest.mark.parametrize("words", REFUSED)
def test_wrong_usage_writes_nothing(words: str, call: Call, tmp_path: Path) -> None:
    call("init", "west")
    write(tmp_path, {".gitlab-ci.yml": "stages: []\n", "a.txt": ""})
    before = listing(tmp_path / "west")

    ran = call(*words.split())

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.splitlines()[-1].endswith(REFUSED[words])
    assert listing(tmp_path / "west") == before
    assert not (tmp_path / "east").exists()


def test_a_dump_that_cannot_be_read_writes_nothing(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"dump.yaml": "apiVersion: v1\nkind: List\nitems: [\n"})

    ran = call("init", "west", "--from", "dump.yaml")

    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: dump.yaml:")
    assert not (tmp_path / "west").exists()


def answered(packwise: Path, tmp_path: Path, answers: bytes) -> str:
    """Return the configuration that `init` writes for these answers."""
    ours, theirs = pty.openpty()
    os.write(ours, answers)

    done = subprocess.run(
        [packwise, "init", "west"],
        cwd=tmp_path,
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
        check=False,
        timeout=60,
    )

    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0
    return (tmp_path / "west/topology.yaml").read_text(encoding="utf-8")


def test_a_terminal_is_asked(packwise: Path, tmp_path: Path) -> None:
    answers = b"kustomize\nv0.1.0-alpha.8\nzone=example.com/zone host=kubernetes.io/hostname\n"

    configuration = answered(packwise, tmp_path, answers)

    assert "\n  revision: v0.1.0-alpha.8\n" in configuration
    assert "\n    - domain: zone\n      key: example.com/zone\n" in configuration


def test_whoever_runs_no_grove_answers_so(packwise: Path, tmp_path: Path) -> None:
    configuration = answered(packwise, tmp_path, b"\nnone\nrack=example.com/rack\n")

    assert "revision" not in configuration
    assert "emit: [PodGroup]" in configuration
    assert "nodeLabel: example.com/rack" in (tmp_path / "west/topologies.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("origin", "installed"),
    [
        (
            '{"url": "https://u:p@git.a.com/b", "vcs_info": {"vcs": "git", "commit_id": "abc"}}',
            "https://git.a.com/b@abc",
        ),
        (
            '{"url": "file:///src", "vcs_info": {"vcs": "git", "commit_id": "abc"}}',
            "https://git.example.com/platform/packwise@COMMIT",
        ),
        (
            '{"url": "https://a.com/packwise.whl", "archive_info": {}}',
            "https://git.example.com/platform/packwise@COMMIT",
        ),
    ],
)
def test_ci_installs_packwise_from_where_this_one_came(
    origin: str, installed: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came_from(origin, monkeypatch)

    call("init", "west", "--for", "gitlab")

    job = yaml.safe_load((tmp_path / ".gitlab-ci.yml").read_text(encoding="utf-8"))["packwise"]
    assert job["script"][0] == f"pip install 'packwise[crds] @ git+{installed}'"


def test_a_path_of_any_letters_stands_as_it_is(call: Call, tmp_path: Path) -> None:
    ran = call("init", "it's #1", "--for", "github", "--for", "gitlab", "--for", "pre-commit")

    assert (ran.code, ran.stderr) == (0, "")
    github = yaml.safe_load((tmp_path / ".github/workflows/packwise.yaml").read_text(encoding="utf-8"))
    gitlab = yaml.safe_load((tmp_path / ".gitlab-ci.yml").read_text(encoding="utf-8"))
    (repository,) = yaml.safe_load((tmp_path / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    quoted = shlex.quote("it's #1")
    assert github["jobs"]["check"]["steps"][-1]["run"].startswith(f"packwise check {quoted} --baseline")
    assert gitlab["packwise"]["script"][-1] == f"packwise check {quoted}"
    assert repository["hooks"][0]["args"] == ["it's #1"]
    assert re.match(repository["hooks"][0]["files"], "it's #1/web.yaml")
    assert f"\n  packwise check {quoted}\n" in ran.stdout


def test_without_a_repository_the_current_folder_is_the_top(call: Call, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / ".git")

    call("init", "clusters/west", "--for", "github")

    workflow = (tmp_path / ".github/workflows/packwise.yaml").read_text(encoding="utf-8")
    assert "packwise check clusters/west " in workflow


@pytest.mark.parametrize("prefix", ["accelerator.topograph.run", "accelerator.topology.test"])
def test_domains_within_the_domains_of_accelerators_are_levels(prefix: str, call: Call, tmp_path: Path) -> None:
    several = [
        node(
            f"n{number}",
            **{
                f"{prefix}/domain": f"d{number // 4}",
                f"{prefix}/sub-domain": f"d{number // 4}.r{number // 2}",
                "fabric.topograph.run/tier-0": f"l{number // 4}",
            },
        )
        for number in range(8)
    ]
    write(tmp_path, {"nodes.yaml": nodes(*several)})

    assert call("init", "west", "--from", "nodes.yaml").code == 0
    imported = call("topology", "import", "nodes.yaml").stdout

    spec = yaml.safe_load((tmp_path / "west/topologies.yaml").read_text(encoding="utf-8"))["spec"]
    expected = [("block", f"{prefix}/domain"), ("rack", f"{prefix}/sub-domain"), ("host", "kubernetes.io/hostname")]
    for stated in (spec["levels"], yaml.safe_load(imported)["spec"]["topologyAwareScheduling"]["levels"]):
        assert [(level["domain"], level["key"]) for level in stated] == expected


def test_the_levels_are_the_ones_that_an_import_proposes(call: Call, tmp_path: Path) -> None:
    """This holds even if labels of few nodes contradict the others, or if two labels have the same domains."""
    several = [
        node(
            f"n{number}",
            **{
                "topology.kubernetes.io/zone": "z9" if number == 0 else f"z{number // 12}",
                "example.com/dc": f"d{number // 12}",
                "nvidia.com/gpu.clique": f"c{number // 4}",
            },
        )
        for number in range(24)
    ]
    write(tmp_path, {"nodes.yaml": nodes(*several)})

    imported = call("topology", "import", "nodes.yaml").stdout
    assert call("init", "west", "--from", "nodes.yaml").code == 0

    written = (tmp_path / "west/topologies.yaml").read_text(encoding="utf-8")
    expected = yaml.safe_load(imported)["spec"]["topologyAwareScheduling"]["levels"]
    assert yaml.safe_load(written)["spec"]["levels"] == expected
    assert "# From the labels of 24 nodes: a proposal; it contradicts 1 label, and `packwise" in written
