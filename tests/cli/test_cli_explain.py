"""`packwise explain` prints why a value exists or is missing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from krmfn.yamltext import read
from packwise.explain.explanation import Explanation, explanation_of, find_named
from packwise.explain.run import Explained, as_text
from packwise.inputs.groups import read_inputs
from packwise.inputs.request import Named
from packwise.pipeline import render
from packwise.revisions.grove import NEWEST
from tests.cli.calling import CONFIG, POOLS, SERVICE, UNNAMED_CONFIG, WORKLOAD, Call, write
from tests.examples import EXAMPLES
from tests.places import ROOT, TESTDATA

Expect = Callable[[str, str], None]

SCHEMA: dict[str, Any] = json.loads((ROOT / "docs/reference/explain.schema.json").read_text(encoding="utf-8"))

OSMO = "osmo-training"
GROVE = "disaggregated-inference"


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    for example in EXAMPLES:
        shutil.copytree(example, tmp_path / example.name)
    return tmp_path


@pytest.mark.parametrize("name", [example.name for example in EXAMPLES])
@pytest.mark.usefixtures("examples")
def test_an_example(name: str, call: Call, assert_expected: Expect) -> None:
    ran, as_json = call("explain", name), call("explain", name, "-o", "json")

    assert (ran.code, ran.messages, as_json.code, as_json.messages) == (0, "", 0, "")
    assert_expected(f"cli/explain/{name}.txt", ran.stdout)
    jsonschema.validate(json.loads(as_json.stdout), SCHEMA)


@pytest.mark.parametrize(
    ("target", "paths", "golden"),
    [
        ("PodGang/inference/llm-0-prefill-0", GROVE, "podgang"),
        ("PodCliqueSet/llm", GROVE, "workload"),
        ("Topology.kai.scheduler/grove-topology", GROVE, "topology"),
        ("PodGroup/chat-0", "podgroups", "podgroup"),
        ("workflow/best-effort", OSMO, "workflow"),
        ("Pod/two-cliques-model1-shard1", OSMO, "pod"),
        (f"{GROVE}/topology.yaml:20", GROVE, "line-of-a-level"),
        (f"{GROVE}/inference.yaml:12", GROVE, "line-of-replicas"),
        (f"{GROVE}/inference.yaml:26:9", GROVE, "line-of-a-missing-value"),
        (f"{OSMO}/best-effort.yaml:20", OSMO, "line-of-osmo"),
        ("PodCliqueSet/llm", "dynamo-services", "podcliqueset-of-dynamo"),
        ("JobSet/pretrain", "kueue", "jobset-of-kueue"),
        ("dynamo-services/llm.yaml:18", "dynamo-services", "line-of-dynamo"),
    ],
)
@pytest.mark.usefixtures("examples")
def test_what_is_asked_about(target: str, paths: str, golden: str, call: Call, assert_expected: Expect) -> None:
    ran, as_json = call("explain", target, paths), call("explain", target, paths, "-o", "json")

    assert (ran.code, ran.messages, as_json.code, as_json.messages) == (0, "", 0, "")
    assert_expected(f"cli/explain/{golden}.txt", ran.stdout)
    assert_expected(f"cli/explain/{golden}.json", as_json.stdout)
    jsonschema.validate(json.loads(as_json.stdout), SCHEMA)


def test_every_value_of_the_json_has_file_line_field_rule_and_revision(call: Call, package: Path) -> None:
    assert package.exists()

    answer = json.loads(call("explain", "PodGang/web-0", "in", "-o", "json").stdout)

    values = {each["path"]: each["origin"] for each in answer["objects"][0]["values"]}
    assert values["spec.topologyConstraint.packConstraint.required"] == {
        "by": "input",
        "place": {
            "file": "in/web/workload.yaml",
            "line": 10,
            "column": 38,
            "field": "spec.template.topologyConstraint.packDomain",
        },
        "through": {
            "file": "in/topology.yaml",
            "line": 10,
            "column": 27,
            "field": "spec.topologyAwareScheduling.levels[1].key",
        },
        "rule": "spec/grove.md#pack-constraint",
        "revision": "grep-244-multi",
    }
    assert values["metadata.annotations[packwise.dev/rendered-from]"] == {
        "by": "packwise",
        "place": None,
        "through": None,
        "rule": "spec/packwise.md#2.1",
        "revision": "grep-244-multi",
    }


def test_the_current_folder_is_the_default(call: Call, package: Path) -> None:
    assert package.exists()
    assert call("explain").stdout == call("explain", ".").stdout
    assert call("explain", "PodGang/web-0").stdout == call("explain", "PodGang/shop/web-0", ".").stdout
    assert call("explain", "in/web/workload.yaml:16").stdout == call("explain", "in/web/workload.yaml:16", ".").stdout


def test_stdin_and_the_line_of_stdin(call: Call) -> None:
    ran = call("explain", "<stdin>:22", "-", stdin=f"{CONFIG}---\n{WORKLOAD}")

    assert (ran.code, ran.messages) == (0, "")
    assert "fields of the line  spec.template.topologyConstraint.packDomain\n" in ran.stdout


def test_a_line_of_a_file_of_a_resourcelist(call: Call) -> None:
    items = [json.loads(json.dumps(read(text))) for text in (CONFIG, WORKLOAD)]
    for item, name in zip(items, ("topology.yaml", "web/workload.yaml"), strict=True):
        item["metadata"]["annotations"] = {"config.kubernetes.io/path": name}
    listed = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items}

    ran = call("explain", "web/workload.yaml:1", "-", stdin=json.dumps(listed))

    assert (ran.code, ran.messages) == (0, "")
    assert "web/workload.yaml:1:" in ran.stdout


def test_a_line_of_an_earlier_render_asks_about_the_values_that_stand_there(call: Call, package: Path) -> None:
    assert call("render", "--in-place", "in").code == 0
    file = "in/packwise/workloads/shop/podgang-web-0.yaml"
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "required:" in text)

    ran = call("explain", f"{file}:{line}", "in")

    assert (ran.code, ran.messages) == (0, "")
    assert "fields of the line  spec.topologyConstraint.packConstraint.required\n" in ran.stdout
    assert "in/web/workload.yaml:12:38 spec.template.topologyConstraint.packDomain" in ran.stdout
    assert package.exists()


def test_a_line_that_causes_nothing(call: Call, package: Path) -> None:
    assert package.exists()

    ran = call("explain", "in/web/workload.yaml:19", "in")

    assert ran.stdout.splitlines()[2:] == [
        "fields of the line",
        "     spec.template.cliques[0].spec.podSpec.containers[0].name  "
        "spec.template.cliques[0].spec.podSpec.containers[0].image",
        "",
        "no value comes from this line",
    ]


WRONG = {
    "PodGang/web-1": '"PodGang/web-1" is not a path, a workload or a rendered object; did you mean '
    '"PodGang/shop/web-0"?',
    "Nothing/like-it-at-all": (
        '"Nothing/like-it-at-all" is not a path, a workload or a rendered object; `packwise explain PATH` lists all 4'
    ),
    "in/web/workload.yaml:900": '"in/web/workload.yaml" has no object on line 900',
    "in/web/absent.yaml:3": 'packwise does not read "in/web/absent.yaml"; pass it or its folder as PATH too',
    "other.yaml:1": 'packwise does not read "other.yaml"; pass it or its folder as PATH too',
    "absent": '"absent" does not exist',
}


@pytest.mark.parametrize("target", WRONG)
def test_what_is_not_there_is_wrong_usage(target: str, call: Call, package: Path) -> None:
    write(package.parent, {"other.yaml": "a: 1\n"})

    ran = call("explain", target, "in")

    assert (ran.code, ran.stdout, ran.stderr) == (2, "", f"error: {WRONG[target]}\n")


def test_without_a_render_the_trees_are_there_and_the_errors_on_stderr(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": WORKLOAD.replace("packDomain: rack", "packDomain: host")})

    ran, as_json = call("explain", "in"), call("explain", "PodCliqueSet/web", "in", "-o", "json")

    assert (ran.code, as_json.code) == (1, 1)
    assert ran.stderr.count("error: ") == 1
    assert "in/web/workload.yaml:10:38" in ran.stderr
    assert ran.stdout.endswith(
        "PodCliqueSet shop/web  in/web/workload.yaml:2:1\n\npackwise renders nothing while there are errors\n"
    )
    answer = json.loads(as_json.stdout)
    jsonschema.validate(answer, SCHEMA)
    assert (answer["rendered"], [each["rule"] for each in answer["workloads"][0]["findings"]]) == (
        False,
        ["topology-domain-unknown"],
    )


def test_a_file_that_cannot_be_read_is_an_error(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": "kind: A\na: [\n"})

    ran = call("explain", "in")

    assert ran.code == 1
    assert "topology grove-topology" in ran.stdout
    assert ran.stderr.startswith("error: in/web/workload.yaml:")


def test_nothing_to_explain(call: Call, package: Path) -> None:
    (package / "web/workload.yaml").unlink()

    ran = call("explain", "in")

    assert ran.code == 0
    assert ran.stdout.endswith("\n\nno workloads\n")


def explained(folder: Path) -> Explanation:
    package = read_inputs(Named((str(folder),))).package
    return explanation_of(package, render(package))


def test_a_narrow_and_a_wide_terminal(monkeypatch: pytest.MonkeyPatch, assert_expected: Expect) -> None:
    monkeypatch.chdir(ROOT / "examples")
    explanation = explained(Path(GROVE))
    chosen = find_named(explanation, "PodGang/llm-0-prefill-0")

    assert_expected("cli/explain/narrow.txt", as_text([Explained(explanation, chosen=chosen)], 50, coloured=False))
    assert_expected("cli/explain/wide.txt", as_text([Explained(explanation, chosen=chosen)], 300, coloured=False))
    narrow = as_text([Explained(explanation)], 40, coloured=False).splitlines()
    assert {line.strip(" │├─└") for line in narrow} >= {"queue inference", "as PodGang"}


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")
    explanation = explained(Path(GROVE))

    plain, coloured = (as_text([Explained(explanation)], 120, coloured=each) for each in (False, True))

    assert "\033" not in plain
    assert '\033[33mmissing: replicas 2 of clique "router"\033[0m' in coloured
    assert (
        "\033[1mPodCliqueSet inference/llm\033[0m  \033[2mdisaggregated-inference/inference.yaml:3:1\033[0m" in coloured
    )


def test_nothing_of_the_input_acts_on_a_terminal(call: Call, package: Path) -> None:
    write(
        package, {"web/workload.yaml": WORKLOAD.replace("namespace: shop", 'namespace: shop\n  labels: {a: "\\e[31m"}')}
    )
    config = UNNAMED_CONFIG.replace("spec:", "spec:\n  revision: v0.1.0-alpha.9").partition("    levels:")[0]
    write(package, {"topology.yaml": config})

    ran = call("explain", "PodCliqueSet/web", "in")

    assert "\033" not in ran.stdout + ran.stderr


def test_many_gangs_that_are_alike_are_shown_once(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": WORKLOAD.replace("  replicas: 1\n", "  replicas: 2000\n")})

    lines = call("explain", "in").stdout.splitlines()

    assert "├─ and 1999 similar: web-1, web-2, web-3, …" in lines
    assert len(lines) < 30
    assert len(call("explain", "PodCliqueSet/web", "in").stdout.splitlines()) > 4000


def test_a_document_in_a_configmap(call: Call, tmp_path: Path, assert_expected: Expect) -> None:
    shutil.copytree(TESTDATA / "render" / "osmos-documents-travel-as-configmaps", tmp_path / "in")
    lines = (tmp_path / "in" / "osmo.yaml").read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "{key: rack}" in text)

    ran = call("explain", f"in/osmo.yaml:{line}", "in/osmo.yaml")

    assert (ran.code, ran.messages) == (0, "")
    assert_expected("cli/explain/line-in-a-configmap.txt", ran.stdout)


def test_a_line_of_a_template(call: Call, tmp_path: Path, assert_expected: Expect) -> None:
    """An object from a template comes from a line of the template, although this line is not YAML."""
    case = TESTDATA / "osmo" / "a-template-is-filled-in-with-its-default-values"
    write(tmp_path, {f"in/{name}": (case / name).read_text(encoding="utf-8") for name in ("pool.yaml", "train.yaml")})

    ran, nothing = call("explain", "in/train.yaml:16", "in"), call("explain", "in/train.yaml:1", "in")

    assert (ran.code, ran.messages, nothing.code) == (0, "", 0)
    assert_expected("cli/explain/line-of-a-template.txt", ran.stdout)
    assert nothing.stdout == "no value comes from this line\n"


def test_a_template_that_cannot_be_filled_in_is_there_once(call: Call, tmp_path: Path) -> None:
    case = TESTDATA / "osmo" / "what-a-template-says-wrong-is-told-at-its-own-lines"
    write(tmp_path, {"in/train.yaml": (case / "train.yaml").read_text(encoding="utf-8")})

    ran = call("explain", "in")

    assert ran.code == 1
    assert ran.stdout.splitlines() == ["in/train.yaml:1:1", "", "packwise renders nothing while there are errors"]


def test_a_gang_has_its_node_pool_if_the_input_has_pools(call: Call) -> None:
    ran, as_json = call("explain", "-", stdin=POOLS), call("explain", "-", "-o", "json", stdin=POOLS)

    assert [
        line.partition("queue")[2].partition("  priority")[0] for line in ran.stdout.splitlines() if "gang" in line
    ] == [
        " team  node pool workers",
        " other  default node pool",
    ]
    answer = json.loads(as_json.stdout)
    jsonschema.validate(answer, SCHEMA)
    assert [gang["nodePool"] for each in answer["workloads"] for gang in each["gangs"]] == ["workers", ""]

    outside = call("explain", "-", "-o", "json", stdin=POOLS.rpartition("---\n")[2])
    assert ["nodePool" in gang for each in json.loads(outside.stdout)["workloads"] for gang in each["gangs"]] == [False]


OLDER = UNNAMED_CONFIG.replace("spec:\n", "spec:\n  revision: v0.1.0-alpha.7\n").replace(
    "example.com/rack", "example.com/row"
)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Return two clusters with a configuration each, and files that belong to neither."""
    write(tmp_path, {"c/east/topology.yaml": CONFIG, "c/east/web.yaml": WORKLOAD})
    write(tmp_path, {"c/west/topology.yaml": OLDER, "c/west/web.yaml": WORKLOAD})
    write(tmp_path, {"c/west/more.yaml": WORKLOAD.replace("web", "more"), "c/service.yaml": SERVICE})
    return tmp_path


@pytest.mark.usefixtures("fleet")
def test_each_file_is_explained_by_its_own_configuration(call: Call, assert_expected: Expect) -> None:
    ran, as_json = call("explain", "c"), call("explain", "c", "-o", "json")

    assert (ran.code, ran.messages, as_json.code, as_json.messages) == (0, "", 0, "")
    assert_expected("cli/explain/several.txt", ran.stdout)
    answer = json.loads(as_json.stdout)
    jsonschema.validate(answer, SCHEMA)
    assert [each["files"] for each in answer["configurations"]] == [["c/east/topology.yaml"], ["c/west/topology.yaml"]]
    assert [each["revision"] for each in answer["configurations"]] == ["grep-244-multi", "v0.1.0-alpha.7"]
    assert (answer["revision"], answer["topologyAwareScheduling"], answer["rendered"]) == ("", True, True)
    assert [each["file"] for each in answer["workloads"]] == ["c/east/web.yaml", "c/west/more.yaml", "c/west/web.yaml"]
    keys = [gang["required"]["key"] for each in answer["workloads"] for gang in each["gangs"]]
    assert keys == ["example.com/rack", "example.com/row", "example.com/row"]


@pytest.mark.parametrize(
    ("target", "files"),
    [
        ("PodGang/shop/web-0", ["c/east/web.yaml", "c/west/web.yaml"]),
        ("PodGang/more-0", ["c/west/more.yaml"]),
        ("c/west/web.yaml:10", ["c/west/web.yaml"]),
    ],
)
@pytest.mark.usefixtures("fleet")
def test_what_is_asked_about_is_looked_up_in_every_configuration(call: Call, target: str, files: list[str]) -> None:
    ran = call("explain", target, "c", "-o", "json")

    answer = json.loads(ran.stdout)
    jsonschema.validate(answer, SCHEMA)
    origins = [value["origin"] for each in answer["objects"] for value in each["values"]]
    required = [each["place"]["file"] for each in origins if each["rule"] == "spec/grove.md#pack-constraint"]
    assert (ran.code, sorted(set(required))) == (0, files)
    assert [each["files"] for each in answer["configurations"]] == [
        [f"{file.rpartition('/')[0]}/topology.yaml"] for file in files
    ]


@pytest.mark.usefixtures("fleet")
def test_an_error_in_one_cluster_leaves_the_others_explained(fleet: Path, call: Call) -> None:
    write(fleet, {"c/east/web.yaml": WORKLOAD.replace("minAvailable: 2", "minAvailable: 3")})

    whole, asked = call("explain", "c", "-o", "json"), call("explain", "PodGang/more-0", "c")

    assert (whole.code, asked.code) == (1, 1)
    assert whole.stderr.startswith("error: c/east/web.yaml:16:")
    assert [each["rendered"] for each in json.loads(whole.stdout)["configurations"]] == [False, True]
    assert "PodGang shop/more-0" in asked.stdout


@pytest.mark.usefixtures("fleet")
def test_a_name_that_no_configuration_has(call: Call) -> None:
    ran = call("explain", "PodGang/mor-0", "c")

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr == (
        'error: "PodGang/mor-0" is not a path, a workload or a rendered object; did you mean "PodGang/shop/more-0"?\n'
    )


UNNAMED = (
    f'the release of Grove is not set; packwise assumes the newest one, "{NEWEST.name}". Add `revision: '
    f"{NEWEST.name}`, or your cluster's release, to the `spec` of a TopologyRender [revision-unnamed]\n"
)


@pytest.mark.parametrize("output", ["text", "json"])
def test_an_assumed_release_is_told(tmp_path: Path, call: Call, output: str) -> None:
    write(
        tmp_path, {"bare/web.yaml": WORKLOAD.partition("    topologyConstraint:")[0] + WORKLOAD.partition("rack}\n")[2]}
    )

    ran = call("explain", "bare", "-o", output)

    assert (ran.code, ran.messages) == (0, f"warning: {UNNAMED}")
    assert NEWEST.name in ran.stdout
