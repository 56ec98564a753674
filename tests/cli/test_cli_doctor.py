"""`packwise doctor`: the files that packwise sees, and the reasons why a client would skip packwise."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from krmfn.yamltext.reader import READER
from tests.cli.calling import CONFIG, UNNAMED_CONFIG, WORKLOAD, Call, write
from tests.clients.running import run
from tests.places import ROOT

Expect = Callable[[str, str], None]


def annotated(function: str = "exec: {path: packwise, args: [fn]}") -> str:
    note = f"  annotations:\n    config.kubernetes.io/function: |\n      {function}\n"
    return CONFIG.replace("  name: topology\n", f"  name: topology\n{note}")


def kustomization(*, kind: str = "Kustomization", **fields: list[str]) -> str:
    lines = "".join(f"{field}: {json.dumps(entries)}\n" for field, entries in fields.items())
    return f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: {kind}\n{lines}"


def kptfile(pipeline: str) -> str:
    return f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {{name: a}}\npipeline: {pipeline}\n"


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def which(command: str) -> str | None:
        return f"/usr/bin/{command}" if command == "packwise" else None

    monkeypatch.setattr("packwise.doctor.run.shutil.which", which)


MONOREPO = {
    "west/topology.yaml": annotated(),
    "west/web.yaml": WORKLOAD,
    "west/kustomization.yaml": kustomization(resources=["web.yaml"], transformers=["topology.yaml"]),
    "east/topology.yaml": UNNAMED_CONFIG.replace(
        "spec:\n", "spec:\n  revision: v0.1.0-alpha.7\n  apply: false\n  gitops: [flux]\n"
    ),
    "east/web.yaml": WORKLOAD,
    "east/Kptfile": kptfile("{mutators: [{exec: packwise fn, configPath: topology.yaml}]}"),
    "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "charts/web/templates/web.yaml": "a: {{ .Values.a }}\n",
    "charts/web/values.yaml": "a: 1\n",
}


@pytest.mark.usefixtures("on_path")
def test_a_repository(call: Call, tmp_path: Path, assert_expected: Expect) -> None:
    shutil.rmtree(tmp_path / "in", ignore_errors=True)
    write(tmp_path, MONOREPO)

    text, data = call("doctor"), call("doctor", "-o", "json")

    assert (text.code, text.messages, data.code) == (0, "", 0)
    schema: dict[str, Any] = json.loads((ROOT / "docs/reference/doctor.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(data.stdout), schema)
    assert_expected("doctor/repository.txt", text.stdout.replace(READER, "READER"))
    assert_expected("doctor/repository.json", data.stdout.replace(READER, "READER"))


RESOURCE = kustomization(resources=["topology.yaml", "web.yaml"])
TRANSFORMER = kustomization(resources=["web.yaml"], transformers=["topology.yaml"])
VALIDATOR = kustomization(resources=["web.yaml"], validators=["topology.yaml"])

SKIPPED: dict[str, tuple[dict[str, str], str]] = {
    "no annotation": (
        {"topology.yaml": CONFIG, "kustomization.yaml": TRANSFORMER},
        "topology.yaml: kustomize looks for one of its own plugins, because the annotation "
        "config.kubernetes.io/function is not set. Set it to the program, such as exec: {path: packwise, args: "
        "[fn]}",
    ),
    "listed under resources": (
        {"topology.yaml": annotated(), "kustomization.yaml": RESOURCE},
        "topology.yaml: kustomize does not run packwise: kustomization.yaml lists this file under resources; list it "
        "under transformers",
    ),
    "listed nowhere": (
        {"topology.yaml": annotated(), "kustomization.yaml": kustomization(resources=["web.yaml"])},
        "topology.yaml: kustomize does not run packwise: this file has the annotation "
        "config.kubernetes.io/function, but no kustomization lists it under `transformers`",
    ),
    "a generator": (
        {"topology.yaml": annotated(), "kustomization.yaml": kustomization(generators=["topology.yaml"])},
        "topology.yaml: a generator gets no workloads, so packwise renders none; list this file under transformers",
    ),
    "a validator that answers items": (
        {"topology.yaml": annotated(), "kustomization.yaml": VALIDATOR},
        "topology.yaml: a validator must return no items, or kustomize reports them as a change; set args: [fn, "
        "--validate]",
    ),
    "no function in the annotation": (
        {"topology.yaml": annotated("packwise fn"), "kustomization.yaml": TRANSFORMER},
        "topology.yaml: the annotation config.kubernetes.io/function must be YAML with exec or container",
    ),
    "no path": (
        {"topology.yaml": annotated("exec: {}"), "kustomization.yaml": TRANSFORMER},
        "topology.yaml: kustomize silently runs nothing, because exec has no path; set it, as in exec: "
        "{path: packwise, "
        "args: [fn]}",
    ),
    "arguments in the path": (
        {"topology.yaml": annotated("exec: {path: packwise fn}"), "kustomization.yaml": TRANSFORMER},
        'topology.yaml: kustomize does not split exec.path "packwise fn" at spaces; move the arguments to args',
    ),
    "no arguments": (
        {"topology.yaml": annotated("exec: {path: packwise}"), "kustomization.yaml": TRANSFORMER},
        "topology.yaml: exec.args must begin with fn, the command that runs packwise as a function",
    ),
    "environment": (
        {
            "topology.yaml": annotated("exec: {path: packwise, args: [fn], env: [A=1]}"),
            "kustomization.yaml": TRANSFORMER,
        },
        "topology.yaml: kustomize refuses env in exec; remove it, because the function has kustomize's environment",
    ),
    "not on PATH": (
        {"topology.yaml": annotated("exec: {path: packwize, args: [fn]}"), "kustomization.yaml": TRANSFORMER},
        'topology.yaml: exec.path "packwize" is not an executable program on PATH',
    ),
    "no such file": (
        {"topology.yaml": annotated("exec: {path: ./bin/packwise, args: [fn]}"), "kustomization.yaml": TRANSFORMER},
        'topology.yaml: exec.path "./bin/packwise" is not an executable program from .',
    ),
    "an inner kustomization": (
        {
            "base/topology.yaml": annotated(),
            "base/kustomization.yaml": TRANSFORMER,
            "overlay/kustomization.yaml": kustomization(resources=["../base"]),
        },
        "base/topology.yaml: packwise belongs in the outermost kustomization: overlay/kustomization.yaml builds "
        "on base, and adds prefixes and namespaces after packwise",
    ),
    "a Kptfile without packwise": (
        {"topology.yaml": CONFIG, "Kptfile": kptfile("{mutators: []}")},
        "Kptfile: kpt does not run packwise; add an entry to pipeline.mutators, with exec: packwise fn and configPath",
    ),
    "a Kptfile with another configPath": (
        {"topology.yaml": CONFIG, "Kptfile": kptfile("{mutators: [{exec: packwise fn, configPath: a.yaml}]}")},
        'Kptfile: configPath "a.yaml" must be a file of the package with a TopologyRender',
    ),
    "a Kptfile without configuration": (
        {"Kptfile": kptfile("{mutators: [{exec: packwise fn}]}")},
        "Kptfile: packwise has no configuration; set configPath to the file of a TopologyRender",
    ),
    "a Kptfile with a command that is none": (
        {"topology.yaml": CONFIG, "Kptfile": kptfile("{validators: [{exec: ./packwise render}]}")},
        "Kptfile: exec must be `packwise fn`, the command that runs packwise as a function\n"
        'error: Kptfile: exec names "./packwise", which is not an executable program from the folder in which '
        "kpt starts",
    ),
}


@pytest.mark.usefixtures("on_path")
@pytest.mark.parametrize("case", SKIPPED)
def test_why_a_client_passes_over_packwise(case: str, call: Call, tmp_path: Path) -> None:
    files, message = SKIPPED[case]
    shutil.rmtree(tmp_path / "in", ignore_errors=True)
    write(tmp_path, {"web.yaml": WORKLOAD, **files})

    ran = call("doctor")

    assert (ran.code, ran.messages) == (1, "")
    told = [line for line in ran.stdout.splitlines() if line.startswith("error: ")]
    assert "\n".join(told) == f"error: {message}"


@pytest.mark.usefixtures("on_path")
def test_the_plugin_of_this_repository_is_well(call: Call) -> None:
    ran = call("doctor", str(ROOT / "kustomize-plugin"), str(ROOT / "kpt-package"), "-o", "json")

    assert (ran.code, json.loads(ran.stdout)["problems"]) == (0, [])
    clients = [(client["name"], client["role"]) for client in json.loads(ran.stdout)["clients"]]
    assert clients == [("kustomize", "transformer")] * 2 + [("kustomize", "validator"), ("kpt", "mutator")]


@pytest.mark.usefixtures("on_path")
def test_a_transformer_outside_the_named_folder_is_seen(call: Call) -> None:
    ran = call("doctor", str(ROOT / "kustomize-plugin/overlays/team-a"), "-o", "json")

    clients = {client["file"].partition("kustomize-plugin/")[2] for client in json.loads(ran.stdout)["clients"]}
    assert "overlays/team-a/kustomization.yaml" in clients


def test_a_release_that_the_input_contradicts(call: Call, tmp_path: Path) -> None:
    new = WORKLOAD.replace("{packDomain: rack}", "{topologyName: a, packDomain: rack}")
    write(tmp_path / "there", {"web.yaml": new, "topology.yaml": UNNAMED_CONFIG})

    ran = call("doctor", "there", "-o", "json")

    (cluster,) = json.loads(ran.stdout)["clusters"]
    assert cluster["chosenBy"] == "the key topologyAwareScheduling"
    assert cluster["evidence"][0].startswith("error: there/web.yaml:")
    assert ran.code == 0


def test_a_file_that_cannot_be_read_is_an_error(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "there", {"web.yaml": "apiVersion: v1\nkind: [\n"})

    ran = call("doctor", "there")

    assert ran.code == 1
    assert ran.stderr.startswith("error: there/web.yaml:")


@pytest.mark.client
@pytest.mark.parametrize(
    ("case", "code"), [("no annotation", 1), ("arguments in the path", 1), ("environment", 1), ("no path", 0)]
)
def test_kustomize_itself_renders_none_of_these(
    case: str, code: int, tmp_path: Path, kustomize: Path, packwise: Path
) -> None:
    write(tmp_path, {"web.yaml": WORKLOAD, **SKIPPED[case][0]})

    built = run([kustomize, "build", "--enable-alpha-plugins", "--enable-exec", "."], cwd=tmp_path, packwise=packwise)

    assert (built.code, "kind: PodGang" in built.stdout) == (code, False)


IMAGE = "registry.example.com/team/packwise"
DIGEST = f"sha256:{'0' * 64}"
UNPINNED = "none, so the registry can change the image; add the digest after an @"


@pytest.mark.parametrize(
    ("image", "note"),
    [
        (f"{IMAGE}:v0.9.0", f"its image: version v0.9.0; digest: {UNPINNED}"),
        (f"{IMAGE}@{DIGEST}", f"its image: no version; digest: {DIGEST}"),
        (f"localhost:5000/packwise:1.2@{DIGEST}", f"its image: version 1.2; digest: {DIGEST}"),
        ("localhost:5000/packwise", f"its image: no version; digest: {UNPINNED}"),
    ],
)
def test_an_image_in_the_pipeline_of_kpt_is_packwise(image: str, note: str, call: Call, tmp_path: Path) -> None:
    entry = f"{{image: '{image}', configPath: topology.yaml, condition: 'true'}}"
    write(tmp_path, {"topology.yaml": CONFIG, "web.yaml": WORKLOAD, "Kptfile": kptfile(f"{{mutators: [{entry}]}}")})

    ran = call("doctor", ".")

    assert ran.code == 0
    assert (
        f"kpt runs packwise as a mutator (Kptfile): kpt fn render .\n  {note}\n"
        "  runs only if its condition is true: true\n" in ran.stdout
    )
    schema = json.loads((ROOT / "docs/reference/doctor.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(call("doctor", ".", "-o", "json").stdout), schema)


def test_an_image_without_a_configuration_or_of_others_is_told(call: Call, tmp_path: Path) -> None:
    lost = f"{{image: {IMAGE}, configPath: gone.yaml}}"
    write(
        tmp_path, {"web.yaml": WORKLOAD, "Kptfile": kptfile(f"{{mutators: [{lost}, {{image: e.com/other:packwise}}]}}")}
    )

    ran = call("doctor", ".")

    assert ran.code == 1
    assert ran.stdout.count("error: ") == 1
    assert 'configPath "gone.yaml" must be a file of the package with a TopologyRender' in ran.stdout
