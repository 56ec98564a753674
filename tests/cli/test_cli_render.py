"""`packwise render` to stdout: the complete stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from krmfn import KubeObject
from packwise.render.files import join_streams
from tests.cli.calling import CHOSEN, CONFIG, SERVICE, WORKLOAD, Call, write

LOCAL = 'name: web\n  annotations: {config.kubernetes.io/local-config: "true"}'
Expect = Callable[[str, str], None]


@pytest.mark.usefixtures("package")
def test_stream_is_the_files_and_then_what_is_generated(call: Call, assert_expected: Expect) -> None:
    ran = call("render", "in")

    assert (ran.code, ran.messages) == (0, "")
    assert_expected("cli/stream.yaml", ran.stdout)


@pytest.mark.usefixtures("package")
def test_a_stream_rendered_again_is_itself(call: Call) -> None:
    once = call("render", "in").stdout

    assert call("render", "-", "--config", "in/topology.yaml", stdin=once).stdout == once

    with_configuration = f"{CONFIG}---\n{once}"
    assert call("render", "-", stdin=with_configuration).stdout == with_configuration


CONFIGURATIONS = {
    "TopologyRender": CONFIG,
    "configuration of the operator": """\
# The operator's own.
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
topologyAwareScheduling: {enabled: false}
""",
    "OSMO's pools": "pools:\n  a: {backend: b, platforms: {p: {}}, default_platform: p}\n",
    "kept from clusters by its author": f"{CONFIG}---\n{SERVICE.replace('name: web', LOCAL)}",
}


@pytest.mark.parametrize("case", CONFIGURATIONS)
@pytest.mark.parametrize("order", ["own file", "first", "last"])
def test_the_stream_of_files_can_be_applied(case: str, order: str, call: Call, tmp_path: Path) -> None:
    """An API server does not know the kinds of configurations. Only the objects are printed, with their comments."""
    other = f"# about b\n{SERVICE.replace('web', 'b')}"
    configuration = CONFIGURATIONS[case]
    files = {
        "own file": {"a.yaml": configuration, "b.yaml": other},
        "first": {"a.yaml": f"{configuration}---\n{other}"},
        "last": {"a.yaml": f"{other}---\n{configuration}"},
    }
    write(tmp_path / "in", files[order])

    ran = call("render", "in")

    assert ran.code == 0, ran.stderr
    assert ran.stdout.partition("---\napiVersion: grove.io/v1alpha1\nkind: ClusterTopology\n")[0] == other


def test_documents_beside_a_configuration_keep_their_comments(call: Call, tmp_path: Path) -> None:
    """A comment may contain the text of a marker, and may precede a marker."""
    other = SERVICE.replace("web", "b")
    stream = f"# --- web ---\n---\n{SERVICE}--- # --- b ---\n# --- b ---\n---\n{other}---\n"
    write(tmp_path, {"in/a.yaml": stream + CONFIG})

    assert call("render", "in").stdout.startswith(f"# --- web ---\n{SERVICE}---\n# --- b ---\n{other}---\napiVersion: ")


@pytest.mark.parametrize("annotations", ["{config.kubernetes.io/index: 3}", "[]", "text"])
def test_odd_annotations_keep_no_object_from_the_stream(annotations: str, call: Call, tmp_path: Path) -> None:
    text = f"{SERVICE}  annotations: {annotations}\n"
    write(tmp_path, {"in/a.yaml": text})

    assert call("render", "in").stdout == text


@pytest.mark.usefixtures("package")
def test_previews_are_shown_and_counted(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", {"topology.yaml": f"{CONFIG}  apply: false\n"})

    ran = call("render", "in")

    previews = ran.stdout.count('config.kubernetes.io/local-config: "true"')
    assert previews > 0
    assert ran.stderr.startswith(f"do not apply the {previews} previews; ")


@pytest.mark.usefixtures("package")
def test_dash_is_stdout(call: Call) -> None:
    assert call("render", "in", "-o", "-") == call("render", "in")


OTHERS = {
    "several documents": f"# head\n---\n{SERVICE}---\n# about nothing\n---\n- a list\n---\na: mapping\n...\n",
    "Windows": f"---\n{SERVICE}---\n# c\n{SERVICE.replace('web', 'b')}".replace("\n", "\r\n"),
    "byte order mark": f"\ufeff{SERVICE}",
    "JSON": '{\n\t"apiVersion": "v1",\n\t"kind": "ConfigMap", "metadata": {"name": "é"}\n}\n',
    "comments only": "# nothing here\n",
    "nothing": "",
    "directive": f"%YAML 1.1\n---\n{SERVICE}",
    "odd spacing": "---   \n\n\nkind:   ConfigMap\napiVersion: 'v1'\nmetadata: {  name: x }\n\n\n---\n",
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_does_not_change_keeps_every_byte(case: str, call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"topology.yaml": CONFIG, "other.yaml": OTHERS[case]})

    ran = call("render", "other.yaml", "--config", "topology.yaml")

    assert ran.code == 0, ran.stderr
    write(tmp_path, {"nothing.yaml": "# nothing\n"})
    generated = call("render", "nothing.yaml", "--config", "topology.yaml").stdout.removeprefix("# nothing\n")
    assert ran.stdout == OTHERS[case] + generated.removeprefix("" if OTHERS[case] else "---\n")


def test_the_stream_holds_no_file_that_was_left_out(call: Call, tmp_path: Path) -> None:
    others = {
        "chart/Chart.yaml": "apiVersion: v2\nname: web\n",
        "chart/values.yaml": "queue: team\n",
        "chart/templates/a.yaml": "a: {{ .b }}\n",
        "package.json": '{"name": "x"}\n',
        "patch.yaml": SERVICE,
        "kustomization.yaml": "resources: [web.yaml]\npatches: [{path: patch.yaml}]\n",
    }
    write(tmp_path / "in", {"topology.yaml": CONFIG, "web.yaml": WORKLOAD})
    alone = call("render", "in").stdout
    write(tmp_path / "in", others)

    assert call("render", "in").stdout == alone
    assert call("render", "in", "-o", "out").code == 0
    for name, text in others.items():
        assert (tmp_path / "out" / name).read_text(encoding="utf-8") == text


def test_an_edited_document_changes_alone(call: Call, tmp_path: Path) -> None:
    before, after = f"# head\n---\n{SERVICE}---\n", f"\n--- # the end\n{SERVICE.replace('web', 'b')}".rstrip("\n")
    write(tmp_path, {"topology.yaml": CONFIG, "all.yaml": f"{before}{WORKLOAD}{after}".replace("\n", "\r\n")})

    ran = call("render", "all.yaml", "--config", "topology.yaml")

    edited = ran.stdout.partition("---\napiVersion: grove.io/v1alpha1\nkind: ClusterTopology\n")[0]
    added = [line for line in edited.split("\r\n") if "packwise.dev/conditions" in line]
    assert len(added) == 1
    assert edited.replace(f"  annotations:\r\n{added[0]}\r\n", "") == f"{before}{WORKLOAD}{after}\n".replace(
        "\n", "\r\n"
    )


def test_a_workload_in_json_stays_json(call: Call, tmp_path: Path) -> None:
    value = KubeObject.parse(WORKLOAD).value
    write(tmp_path, {"topology.yaml": CONFIG, "w.json": json.dumps(value, indent="\t") + "\n"})

    assert call("render", "w.json", "topology.yaml", "-o", "out").code == 0

    written = json.loads((tmp_path / "out" / "w.json").read_text(encoding="utf-8"))
    assert list(written["metadata"].pop("annotations")) == ["packwise.dev/conditions"]
    assert written == value


PRUNED = (
    "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\n"
    "metadata:\n  name: old\n  annotations:\n    packwise.dev/rendered-from: x\n"
)

PRUNINGS = {
    "first": (f"{PRUNED}---\n{SERVICE}", f"---\n{SERVICE}"),
    "first, after a comment of its own": (f"# head\n---\n{PRUNED}---\n{SERVICE}", f"# head\n---\n{SERVICE}"),
    "between": (f"{SERVICE}---\n{PRUNED}---\na: 1\n", f"{SERVICE}---\na: 1\n"),
    "last": (f"{SERVICE}---\n{PRUNED}", SERVICE),
    "last, below a comment of its own": (f"{SERVICE}---\n# c\n---\n{PRUNED}", f"{SERVICE}---\n# c\n"),
    "twice": (f"{PRUNED}---\n{SERVICE}---\n{PRUNED}", f"---\n{SERVICE}"),
    "Windows": (
        f"{SERVICE}---\n{PRUNED}---\na: 1\n".replace("\n", "\r\n"),
        f"{SERVICE}---\na: 1\n".replace("\n", "\r\n"),
    ),
    "all": (f"# head\n---\n{PRUNED}---\n# the end\n", ""),
}


@pytest.mark.parametrize("case", PRUNINGS)
def test_what_no_longer_belongs_goes_with_its_marker(case: str, call: Call) -> None:
    before, after = PRUNINGS[case]

    assert call("render", "-", stdin=before).stdout == after


def test_generated_objects_stay_in_their_place_without_a_path(call: Call, package: Path) -> None:
    """They precede all other files, and may have a user's comment, or a path annotation that another client keeps."""
    generated = call("render", "in").stdout.partition("kind: ClusterTopology\n")[2]
    earlier = "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology # ours\n" + generated.replace(
        "  annotations:\n", "  annotations:\n    config.kubernetes.io/path: p.yaml\n"
    )
    write(package, {"a.yaml": earlier.partition("---\n")[0]})

    ran = call("render", "in")

    assert ran.stdout.startswith(earlier.partition("---\n")[0].replace("    config.kubernetes.io/path: p.yaml\n", ""))
    assert ran.stdout.count("kind: ClusterTopology\n") == 0
    assert "config.kubernetes.io/path" not in ran.stdout


def test_errors_print_nothing(call: Call, package: Path, assert_expected: Expect) -> None:
    write(
        package, {"web/workload.yaml": WORKLOAD.replace("rack", "block").replace("minAvailable: 2", "minAvailable: 3")}
    )

    ran = call("render", "in")

    assert (ran.code, ran.stdout) == (1, "")
    assert_expected("cli/errors.stderr", ran.stderr)


@pytest.mark.parametrize(
    ("words", "done"),
    [
        ("render in", ""),
        ("render in -o out", "wrote 8 files to out (3 new objects); "),
        ("render in --in-place", "wrote 4 files to in (3 new objects); "),
    ],
)
def test_the_last_line_counts_checked_and_skipped_files(words: str, done: str, call: Call, package: Path) -> None:
    write(package, {"Chart.yaml": "name: web\n", "values.yaml": "a: 1\n"})

    last = f"{done}{CHOSEN.removeprefix('; ')}; skipped: 1 Helm chart, 1 values file\n"
    assert call(*words.split()).stderr == last
    listed = "skipped: in/Chart.yaml: Helm chart\nskipped: in/values.yaml: values file (Chart.yaml)\n"
    assert call(*words.split(), "-v").stderr.startswith(listed)
    assert call(*words.split(), "-q").stderr == ""


def test_warnings_are_reported_beside_the_result(call: Call) -> None:
    spec = "{parentQueue: b, resources: {gpu: {limit: -1}}}"
    queue = f"apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {{name: a}}\nspec: {spec}\n"
    other = queue.replace("{name: a}", "{name: c}").replace("parentQueue: b", 'parentQueue: ""')
    ran = call("render", "-", stdin=f"{queue}---\n{other}")

    assert (ran.code, ran.stdout) == (0, f"{queue}---\n{other}")
    assert [line.split(":")[0] for line in ran.messages.splitlines()] == ["warning", "1 info (-v lists it)"]


LIST = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig:
{config}
items:
- apiVersion: v1
  kind: Service
  metadata:
    name: web # mine
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'svc.yaml'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/path: 'svc.yaml'
      internal.config.kubernetes.io/seqindent: 'compact'
      config.kubernetes.io/local-config: "true"
      config.kubernetes.io/depends-on: x # kept
- apiVersion: v1
  kind: Service
  metadata:
    name: two
""".replace("{config}", "".join(f"  {line}\n" for line in CONFIG.splitlines()).rstrip("\n"))


def test_a_list_becomes_documents(call: Call, tmp_path: Path) -> None:
    """Its functionConfig configures the render. The client's annotations are removed."""
    ran = call("render", "-", stdin=LIST)

    first = """\
apiVersion: v1
kind: Service
metadata:
  name: web # mine
  annotations:
    config.kubernetes.io/local-config: "true"
    config.kubernetes.io/depends-on: x # kept
"""
    head = f"{first}---\napiVersion: v1\nkind: Service\nmetadata:\n  name: two\n---\n"
    assert ran.stdout.partition("apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\n")[0] == head
    write(tmp_path, {"list.json": LIST, "topology.yaml": CONFIG})
    plain = head.removesuffix("---\n")
    assert call("render", "list.json").stdout == ran.stdout
    assert call("render", "-", "--config", "topology.yaml", stdin=plain).stdout == ran.stdout
    assert call("render", "-", "--config", "topology.yaml", stdin=LIST).stdout == ran.stdout


def test_a_list_in_json(call: Call) -> None:
    text = '{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"kind":"A","apiVersion":"v1"}]}'

    assert call("render", "-", stdin=text).stdout == '{"kind":"A","apiVersion":"v1"}'


def test_two_configurations_on_their_way_are_wrong_usage(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": LIST})

    ran = call("render", "-", "a.yaml", stdin=LIST)

    places = "(<stdin>:4:3 and a.yaml:4:3)"
    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr == f"error: found 2 configurations {places}. Pass --config FILE, or name one folder\n"


@pytest.mark.parametrize(
    ("texts", "stream"),
    [
        ([], ""),
        ([""], ""),
        (["a: 1"], "a: 1"),
        (["a: 1", "b: 1"], "a: 1\n---\nb: 1"),
        (["a: 1\n", "", "---\nb: 1\n"], "a: 1\n---\nb: 1\n"),
        (["a: 1\r\nb: 2", "---"], "a: 1\r\nb: 2\r\n---"),
        (["a: 1\n", "---- b\n"], "a: 1\n---\n---- b\n"),
        (["a: 1\n", "# c\n---\nb: 1\n"], "a: 1\n---\n# c\n---\nb: 1\n"),
        (["\ufeffa: 1\n", "\ufeffb: 1\n", "\ufeff--- {}\n"], "\ufeffa: 1\n---\nb: 1\n--- {}\n"),
        (["a: 1\n", "%YAML 1.2\n---\nb: 1\n"], "a: 1\n...\n%YAML 1.2\n---\nb: 1\n"),
    ],
)
def test_texts_are_divided_by_markers(texts: list[str], stream: str) -> None:
    assert join_streams(texts) == stream
