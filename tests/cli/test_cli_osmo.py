"""OSMO's files on the command line: whole cases of testdata/osmo, and the effects of changes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, Call, write
from tests.places import TESTDATA

CASES = sorted(path.parent for path in (TESTDATA / "osmo").glob("*/_stdout.yaml"))

POOL = """\
# The racks.
name: gb200
backend: cluster
default_platform: gb200
platforms: {gb200: {}}
topology_keys:
- {key: zone, label: topology.kubernetes.io/zone}
- {key: rack, label: example.com/rack} # finest
"""
WORKFLOW = """\
workflow:
  name: training
  groups:
  - name: workers
    tasks:
    - {name: one, lead: true, image: "registry.example.com/train:1", command: [train]}
    - {name: two, image: "registry.example.com/train:1", command: [train]}
  resources:
    default:
      topology: [{key: rack}]
"""


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_case(folder: Path, call: Call, tmp_path: Path, assert_expected: Callable[[str, str], None]) -> None:
    names = [path.name for path in sorted(folder.iterdir()) if not path.name.startswith("_")]
    for name in names:
        shutil.copy(folder / name, tmp_path / name)

    ran = call("render", *names)

    assert_expected(f"osmo/{folder.name}/_stdout.yaml", ran.stdout)
    assert_expected(f"osmo/{folder.name}/_stderr.txt", ran.stderr)
    # The finding has OSMO's own text.
    assert_expected(f"osmo/{folder.name}/_findings.json", call("check", *names, "-o", "json").stdout)
    assert ran.code == int("error: " in ran.stderr)


def test_every_folder_is_a_case() -> None:
    assert sorted(path for path in (TESTDATA / "osmo").iterdir() if path.is_dir()) == CASES


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    write(folder, {"pool.yaml": POOL, "workflow.yaml": WORKFLOW})
    return folder


def files(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8") for p in folder.rglob("*.yaml")}


PODGROUP = "packwise/workloads/osmo-workflows/podgroup-training-workers.yaml"
PODS = [f"packwise/workloads/osmo-workflows/pod-training-{name}.yaml" for name in ("one", "two")]
TOPOLOGY = "packwise/topologies/topology-osmo-pool-osmo-workflows-gb200-topology.yaml"


def test_objects_stand_in_files_of_their_own_and_osmos_files_keep_their_bytes(call: Call, package: Path) -> None:
    ran = call("render", "in", "--in-place")

    assert (ran.code, ran.messages) == (0, "wrote 4 files to in (4 new objects)\n")
    found = files(package)
    assert sorted(found) == sorted([TOPOLOGY, *PODS, PODGROUP, "pool.yaml", "workflow.yaml"])
    assert (found["pool.yaml"], found["workflow.yaml"]) == (POOL, WORKFLOW)


def test_rendering_again_changes_nothing(call: Call, package: Path) -> None:
    call("render", "in", "--in-place")
    before = files(package)

    ran = call("render", "in", "--in-place")

    assert (ran.code, ran.messages) == (0, "in is up to date: 6 files\n")
    assert files(package) == before


def test_rendering_what_was_printed_changes_nothing(call: Call) -> None:
    once = call("render", "-", stdin=f"{POOL}---\n{WORKFLOW}").stdout

    assert once.startswith(f"{POOL}---\n{WORKFLOW}---\n")
    assert call("render", "-", stdin=once).stdout == once


@pytest.mark.usefixtures("package")
def test_the_stream_of_files_holds_what_a_cluster_takes(call: Call) -> None:
    assert set(re.findall("^kind: (.*)", call("render", "in").stdout, re.MULTILINE)) == {"PodGroup", "Pod", "Topology"}
    assert "workflow:" not in call("render", "in").stdout


def test_what_no_longer_belongs_goes_and_the_rest_is_edited_in_place(call: Call, package: Path) -> None:
    call("render", "in", "--in-place")
    group = package / PODGROUP
    group.write_text("# mine\n" + group.read_text(encoding="utf-8"), encoding="utf-8")
    without = WORKFLOW.replace('    - {name: two, image: "registry.example.com/train:1", command: [train]}\n', "")
    write(package, {"workflow.yaml": without})

    ran = call("render", "in", "--in-place")

    assert (ran.code, ran.messages) == (0, "wrote 1 file to in (1 file removed)\n")
    assert not (package / PODS[1]).exists()
    assert group.read_text(encoding="utf-8").startswith("# mine\n")
    assert "minMember: 1\n" in group.read_text(encoding="utf-8")


def test_a_workflow_that_is_gone_takes_its_objects_with_it(call: Call, package: Path) -> None:
    call("render", "in", "--in-place")
    (package / "workflow.yaml").unlink()

    call("render", "in", "--in-place")

    assert sorted(files(package)) == sorted([TOPOLOGY, "pool.yaml"])


REPLACED = (
    'the levels of Topology "osmo-pool-osmo-workflows-gb200-topology" change (they were %s), but '
    "KAI does not allow that. Delete the Topology in the cluster when you apply this change"
)


def test_other_levels_are_reported_for_kai_keeps_those_of_a_topology(call: Call, package: Path) -> None:
    call("render", "in", "--in-place")
    write(package, {"pool.yaml": POOL.replace("- {key: zone, label: topology.kubernetes.io/zone}\n", "")})

    found = call("check", "in", "-o", "json").findings

    assert [(f["severity"], f["rule"], f["line"], f["path"], f["message"]) for f in found] == [
        ("warning", "topology-replaced", 7, "topology_keys", REPLACED % "topology.kubernetes.io/zone, example.com/rack")
    ]


def test_a_baseline_is_what_the_levels_were(call: Call, package: Path) -> None:
    call("render", "in", "-o", "out")
    write(package, {"pool.yaml": POOL.replace("example.com/rack", "example.com/row")})

    found = call("check", "in", "--baseline", "out", "-o", "json").findings

    levels = "topology.kubernetes.io/zone, example.com/rack"
    assert [(f["rule"], f["message"]) for f in found] == [("topology-replaced", REPLACED % levels)]


@pytest.mark.parametrize("folder", ["old", "old/pool.yaml"])
def test_a_baseline_of_osmos_files_alone_will_do(call: Call, package: Path, folder: str) -> None:
    write(package.parent / "old", {"pool.yaml": POOL})
    write(package, {"pool.yaml": POOL.replace("example.com/rack", "example.com/row")})

    found = call("check", "in", "--baseline", folder, "-o", "json").findings

    levels = "topology.kubernetes.io/zone, example.com/rack"
    assert [(f["rule"], f["message"]) for f in found] == [("topology-replaced", REPLACED % levels)]
    assert call("check", "in", "--baseline", "in", "-o", "json").findings == []


@pytest.mark.parametrize("form", ["text", "json", "github", "gitlab", "sarif"])
def test_findings_of_a_document_without_a_kind_are_reported_in_every_form(call: Call, package: Path, form: str) -> None:
    write(package, {"workflow.yaml": WORKFLOW.replace("key: rack", "key: rock")})

    ran = call("check", "in", "-o", form)

    assert ran.code == 1
    assert "workflow.resources.default.topology[0].key" in ran.stdout
    assert "in/workflow.yaml" in ran.stdout


def test_a_users_object_of_the_same_name_is_never_overwritten(call: Call, package: Path) -> None:
    mine = "apiVersion: v1\nkind: Pod\nmetadata: {name: training-one, namespace: osmo-workflows}\n"
    write(package, {"mine.yaml": mine})

    ran = call("render", "in", "--in-place")

    assert ran.code == 1
    assert "mine.yaml:3:18: Pod osmo-workflows/training-one" in ran.stderr
    assert "[identity-clash]" in ran.stderr


def test_grove_and_osmo_stand_side_by_side(call: Call, package: Path) -> None:
    write(package, {"topology.yaml": CONFIG, "web.yaml": WORKLOAD})

    ran = call("render", "in", "-o", "out")

    assert ran.code == 0, ran.stderr
    kinds = [line for text in files(package.parent / "out").values() for line in text.splitlines() if "kind: " in line]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "kind: TopologyRender": 1,
        "kind: PodCliqueSet": 1,
        "kind: ClusterTopology": 1,
        "kind: Topology": 2,
        "kind: PodGang": 1,
        "kind: PodGroup": 1,
        "kind: Pod": 2,
    }


def test_sections_beside_a_template_keep_their_lines(call: Call, package: Path) -> None:
    write(package, {"workflow.yaml": "workflow:\n  name: {{ name }}\ntasks: []\ndefault-values:\n  name: x\n"})

    found = call("check", "in", "-o", "json").findings

    assert [(f["rule"], f["line"], f.get("operatorMessage")) for f in found] == [
        ("osmo-groups-or-tasks", 2, "Value error, Workflows need to have at least one group or one task."),
        ("osmo-sections", 3, 'Unknown top-level key "tasks" found in the workflow spec.'),
    ]


TEMPLATE = """\
workflow:
  name: train-{{ run }}
  tasks:
  - {name: one, image: "train:{{ tag }}", command: [train]}
"""


@pytest.mark.parametrize(("words", "config", "image"), [
    (["--set", "run=a", "--set", "tag=2"], "{}", "train:2"),
    (["--set", "run=a"], '{values: {tag: "2.10"}}', "train:2.10"),
    (["--set", "run=a", "--set", "tag=3", "--set", "tag=4"], "{values: {tag: 1}}", "train:4"),
])  # fmt: skip
def test_values_are_set_by_option_and_configuration(
    call: Call, package: Path, words: list[str], config: str, image: str
) -> None:
    settings = (
        f"apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata: {{name: t}}\nspec: {{osmo: {config}}}\n"
    )
    write(package, {"workflow.yaml": TEMPLATE, "config.yaml": settings})

    assert call("check", "in", *words).code == 0
    ran = call("render", "in", *words)

    assert (ran.code, f"image: {image}\n" in ran.stdout, "  name: train-a-one\n" in ran.stdout) == (0, True, True)


@pytest.mark.parametrize("word", ["run", "=a", ""])
def test_a_value_has_a_name(call: Call, word: str) -> None:
    ran = call("check", ".", "--set", word)

    assert (ran.code, ran.stdout) == (2, "")
    assert f'argument --set: must be NAME=VALUE; got "{word}"' in ran.stderr


PLAIN = "workflow:\n  name: {}\n  tasks:\n  - {{name: one, image: train, command: [train]}}\n"


def pool_named(name: str) -> str:
    return f"name: {name}\nbackend: west\ndefault_platform: a\nplatforms: {{a: {{}}}}\n"


def test_the_pool_of_a_workflow_is_the_nearest(call: Call, tmp_path: Path) -> None:
    files = {
        "west/pool.yaml": pool_named("west"),
        "west/team/train.yaml": PLAIN.format("near"),
        "east/pool.yaml": pool_named("east"),
        "other/train.yaml": PLAIN.format("far"),
        "other/more/train.yaml": PLAIN.format("farther"),
    }
    write(tmp_path, {f"in/{name}": text for name, text in files.items()})

    found = call("check", "in", "-o", "json").findings
    rendered = call("render", "in", "-o", "out")
    near = call("render", "in/west", "in/east")

    far = "no pool is in the folder of the workflow or above it"
    assert [(f["rule"], f["severity"], f["file"], f["message"]) for f in found] == [
        (
            "osmo-pool-known",
            "warning",
            "in/other/train.yaml",
            f'{far}; name one of the pools "east", "west"; also for 1 more',
        )
    ]
    assert (rendered.code, "1 error: nothing was written" in rendered.stderr) == (1, True)
    assert (near.code, "  queue: osmo-pool-osmo-workflows-west\n" in near.stdout) == (0, True)


def test_of_layers_of_values_the_whole_one_is_taken(call: Call, tmp_path: Path) -> None:
    layer = "services: {configs: {pools: {gpu: {default_platform: other, topology_keys: []}}}}\n"
    whole = "configuration: {pools: {gpu: {backend: west, default_platform: a, platforms: {a: {}}}}}\n"
    write(tmp_path, {"in/a.yaml": layer, "in/b.yaml": whole, "in/train.yaml": PLAIN.format("train")})

    found = call("check", "in", "-o", "json").findings

    assert [(f["rule"], f["file"], f["path"], f["message"]) for f in found] == [(
        "osmo-pool-values", "in/a.yaml", "services.configs.pools.gpu",
        'duplicate pool "gpu" in Helm values; packwise uses in/b.yaml:1:30 configuration.pools.gpu. '
        "Pass the merged values of one release",
    )]  # fmt: skip


def test_a_template_may_leave_no_workflow(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"in/train.yaml": "workflow:{{ 'a' }}\n# b\n{% if true %}{% endif %}\n"})

    (found,) = [f for f in call("check", "in", "-o", "json").findings if f["severity"] == "error"]

    message = 'the filled-in template must be a mapping with `workflow`; got "workflow:a"'
    assert (found["rule"], found["line"], found["message"]) == ("osmo-template", 1, message)


FOREIGN = {
    "gitlab.yaml": "workflow:\n  rules:\n  - if: $CI\n",
    "answer.json": '{"name": "w-1", "uuid": "a", "backend": "west", "status": "RUNNING", "groups": []}',
    "values.yaml": "configuration: {pools: {a: {size: 1}}}\nservices: {configs: {pools: {}}}\n",
}


def test_files_of_other_tools_are_none_of_osmos(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {f"in/{name}": text for name, text in FOREIGN.items()})

    found = call("check", "in", "-o", "json").findings

    assert [f["file"] for f in found if f["rule"].startswith("osmo-")] == []


def test_a_template_in_a_configmap_keeps_its_lines(call: Call, tmp_path: Path) -> None:
    document = (
        "    workflow:\n      name: {{ n }}\n      {% if true %}\n      tasks: []\n      {% endif %}\n      pol: a\n"
    )
    item = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {packwise.dev/osmo: workflow}\n"
        f"data:\n  a.yaml: |\n{document}"
    )
    write(tmp_path, {"in/item.yaml": item})

    unset = call("check", "in", "-o", "json").findings
    found = call("check", "in", "-o", "json", "--set", "n=w").findings

    assert [(f["rule"], f["line"], f["column"]) for f in unset] == [("osmo-template", 9, 16)]
    assert [(f["rule"], f["line"]) for f in found] == [("osmo-groups-or-tasks", 9), ("osmo-schema", 13)]


ALONE = '{"workflow": {"name": "w", "tasks": [{"name": "a", "image": "i", "command": ["c"]}]}}'
DUPLICATE = 'Duplicate top-level key "workflow" found in the workflow spec.'


@pytest.mark.parametrize(("text", "said"), [
    (ALONE, "Workflow spec not found."),
    ("workflow: {}\nworkflow: {}\n", DUPLICATE),
])  # fmt: skip
def test_sections_are_what_osmo_finds_by_their_lines(call: Call, package: Path, text: str, said: str) -> None:
    write(package, {"workflow.yaml": text})

    found = call("check", "in", "-o", "json").findings

    assert [f["operatorMessage"] for f in found if f["rule"] == "osmo-sections"] == [said]


@pytest.mark.parametrize(("text", "field", "said"), [
    ("name: x\ntopology_keys: []\n", "backend", "Field required"),
    ("backend: x\ntopology_keys: []\n", "name", None),
    ("name: x\nbackend: y\ntopology_keys: null\n", "topology_keys", "Input should be a valid list"),
    (
        "name: x\nbackend: y\ntopology_keys: [zone]\n",
        "topology_keys[0]",
        "Input should be a valid dictionary or instance of TopologyKey",
    ),
])  # fmt: skip
def test_a_pool_is_known_by_what_only_pools_have(call: Call, package: Path, text: str, field: str, said: str) -> None:
    (package / "workflow.yaml").unlink()
    write(package, {"pool.yaml": text})

    found = call("check", "in", "-o", "json").findings

    assert [(f["rule"], f["path"], f.get("operatorMessage")) for f in found] == [("osmo-schema", field, said)]


def test_documents_of_others_are_left_alone(call: Call, package: Path) -> None:
    argo = "apiVersion: argoproj.io/v1alpha1\nkind: WorkflowTemplate\nmetadata: {name: x}\nworkflow: {}\n"
    values = "pools:\n- metal\nname: x\n"
    write(package, {"argo.yaml": argo, "values.yaml": values})

    ran = call("check", "in")

    assert (ran.code, ran.stdout, ran.stderr) == (
        0,
        "",
        "no findings in 3 files; 2 workloads checked; skipped: 1 values file\n",
    )


@pytest.mark.usefixtures("package")
def test_a_workflow_on_stdin_is_rendered_with_a_pool_in_a_file(call: Call) -> None:
    ran = call("render", "in/pool.yaml", "-", stdin=WORKFLOW)

    assert ran.code == 0, ran.stderr
    assert ran.stdout.startswith(WORKFLOW)
    assert ran.stdout.count("\nkind: Pod\n") == 2


@pytest.mark.parametrize(("text", "rule", "message"), [
    ("a: [", "readable", "must be a YAML document; line 1, column 5: did not find expected node content (while "
                         "parsing a flow node)"),
    ("workflow: {}", "osmo-document", "must be a pool config, with `pools`, or `backend` and `name`, at the top"),
])  # fmt: skip
def test_a_configmap_labelled_pool_holds_a_pool(call: Call, tmp_path: Path, text: str, rule: str, message: str) -> None:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {packwise.dev/osmo: pool}}\n"
    write(tmp_path, {"in/item.yaml": f'{head}data: {{a.yaml: "{text}"}}\n'})

    found = call("check", "in", "-o", "json").findings

    assert [(f["rule"], f["line"], f["message"]) for f in found if f["severity"] == "error"] == [(rule, 4, message)]


NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {example.com/other: x}}\n"


def test_nodes_beside_the_folders_of_several_clusters_are_of_none(call: Call, tmp_path: Path) -> None:
    """Nodes among the files of one cluster belong to this cluster."""
    write(tmp_path / "one", {"pool.yaml": POOL, "nodes.yaml": NODE})
    several = {"pool.yaml": POOL, "nodes.yaml": NODE, "west/topology.yaml": CONFIG, "east/topology.yaml": CONFIG}
    write(tmp_path / "several", several)

    rules = {folder: {f["rule"] for f in call("check", folder, "-o", "json").findings} for folder in ("one", "several")}

    assert rules == {"one": {"level-on-no-node"}, "several": set()}
