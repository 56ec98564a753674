"""An object is a duplicate if one client applies both copies. Variants of an object are checked separately."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, SERVICE, WORKLOAD, Call, write
from tests.cli.test_cli_place import cluster

GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: web
  namespace: shop
spec:
  services:
    Frontend: {componentType: frontend, replicas: 1}
"""


def built(*resources: str, more: str = "") -> str:
    """Return a kustomization of these resources."""
    entries = "".join(f"- {entry}\n" for entry in resources)
    return f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n{more}resources:\n{entries}"


KPT = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\n"

# Each file "*.yaml" with the value "web" has the same object. The findings are about the named files.
CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "sibling folders": ({"a/web.yaml": WORKLOAD, "b/web.yaml": WORKLOAD}, []),
    "variants in one folder, which nothing builds": ({"a/aws.yaml": WORKLOAD, "a/gcp.yaml": WORKLOAD}, []),
    "one file": ({"a/web.yaml": f"{WORKLOAD}---\n{WORKLOAD}"}, ["in/a/web.yaml at in/a/web.yaml"]),
    "a folder with a configuration": (
        {"a/topology.yaml": CONFIG, "a/one.yaml": WORKLOAD, "a/two.yaml": WORKLOAD},
        ["in/a/two.yaml at in/a/one.yaml"],
    ),
    "one folder below a configuration": (
        {"topology.yaml": CONFIG, "a/one.yaml": WORKLOAD, "a/two.yaml": WORKLOAD},
        ["in/a/two.yaml at in/a/one.yaml"],
    ),
    "sibling folders below a configuration": (
        {"topology.yaml": CONFIG, "a/one.yaml": WORKLOAD, "b/two.yaml": WORKLOAD},
        [],
    ),
    "the second of a pair is compared with the one of its folder": (
        {"topology.yaml": CONFIG, "a/one.yaml": WORKLOAD, "b/one.yaml": WORKLOAD, "b/two.yaml": WORKLOAD},
        ["in/b/two.yaml at in/b/one.yaml"],
    ),
    "a kustomization of both": (
        {"a/kustomization.yaml": built("one.yaml", "two.yaml"), "a/one.yaml": WORKLOAD, "a/two.yaml": WORKLOAD},
        ["in/a/two.yaml at in/a/one.yaml"],
    ),
    "a kustomization of one": (
        {"a/kustomization.yaml": built("one.yaml"), "a/one.yaml": WORKLOAD, "a/two.yaml": WORKLOAD},
        [],
    ),
    "a kustomization of one, below a configuration": (
        {
            "topology.yaml": CONFIG,
            "a/kustomization.yaml": built("one.yaml"),
            "a/one.yaml": WORKLOAD,
            "a/two.yaml": WORKLOAD,
        },
        [],
    ),
    "a kustomization without kind, of folders": (
        {
            "all/kustomization.yaml": "resources: [../a, ../b/]\n",
            "a/kustomization.yml": built("web.yaml"),
            "b/kustomization.yaml": built("./web.yaml"),
            "a/web.yaml": WORKLOAD,
            "b/web.yaml": WORKLOAD,
        },
        ["in/b/web.yaml at in/a/web.yaml"],
    ),
    "a kustomization of folders, of which one renames": (
        {
            "all/kustomization.yaml": built("../a", "../b"),
            "a/kustomization.yaml": built("web.yaml", more="namePrefix: new-\n"),
            "b/kustomization.yaml": built("web.yaml"),
            "a/web.yaml": WORKLOAD,
            "b/web.yaml": WORKLOAD,
        },
        [],
    ),
    "a base that two overlays build": (
        {
            "base/kustomization.yaml": built("web.yaml"),
            "base/web.yaml": WORKLOAD,
            "one/kustomization.yaml": built("../base"),
            "two/kustomization.yaml": built("../base"),
        },
        [],
    ),
    "kustomizations that build on themselves": (
        {
            "a/kustomization.yaml": built("../b", "web.yaml"),
            "b/kustomization.yaml": built("../a", "web.yaml", "https://example.com/x", "gone"),
            "a/web.yaml": WORKLOAD,
            "b/web.yaml": WORKLOAD,
        },
        ["in/b/web.yaml at in/a/web.yaml"],
    ),
    "a package of kpt": (
        {"pkg/Kptfile": KPT, "pkg/a/web.yaml": WORKLOAD, "pkg/b/web.yaml": WORKLOAD},
        ["in/pkg/b/web.yaml at in/pkg/a/web.yaml"],
    ),
    "two packages of kpt": (
        {"a/Kptfile": KPT, "a/web.yaml": WORKLOAD, "b/Kptfile": KPT, "b/web.yaml": WORKLOAD},
        [],
    ),
    "graphs": (
        {"a/aws.yaml": GRAPH, "a/gcp.yaml": GRAPH, "b/two.yaml": f"{GRAPH}---\n{GRAPH}"},
        ["in/b/two.yaml at in/b/two.yaml"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_object_stands_twice_where_one_client_applies_both(name: str, call: Call, tmp_path: Path) -> None:
    files, expected = CASES[name]
    write(tmp_path / "in", files)

    findings = call("check", "in", "-o", "json").findings

    said = [each for each in findings if each["rule"] == "object-once"]
    assert [
        f"{each['file']} at {each['message'].partition('the other one is ')[2].partition(':')[0]}" for each in said
    ] == expected


@pytest.mark.parametrize("kind", ["PodCliqueSet", "DynamoGraphDeployment"])
def test_every_variant_is_checked_and_counted(kind: str, call: Call, tmp_path: Path) -> None:
    plain = WORKLOAD.replace("    topologyConstraint: {packDomain: rack}\n", "")
    good = plain if kind == "PodCliqueSet" else GRAPH
    bad = good.replace("replicas: 1", "replicas: many")
    names = [f"recipes/{letter}/deploy-{cloud}.yaml" for letter in "ab" for cloud in ("aws", "gcp", "own")]
    write(tmp_path / "in", {"first.yaml": good, **dict.fromkeys(names, bad)})

    ran = call("check", "in", "-o", "json")

    errors = [(each["file"], each["rule"]) for each in ran.findings if each["severity"] == "error"]
    assert [file for file, _ in errors] == [f"in/{name}" for name in names]
    assert len({rule for _, rule in errors}) == 1
    assert "; 7 workloads checked" in ran.closing
    # A finding about all files together is reported once.
    assert len([each for each in ran.findings if each["rule"] == "dynamo-release-unnamed"]) == (good is GRAPH)


def test_what_comes_in_one_stream_is_applied_together(call: Call) -> None:
    ran = call("check", "-", "-o", "json", stdin=f"{WORKLOAD}---\n{WORKLOAD}")

    assert [each["rule"] for each in ran.findings if each["severity"] == "error"][-1:] == ["object-once"]


def test_the_rules_for_updates_compare_each_variant_with_the_same_file(call: Call, tmp_path: Path) -> None:
    three = WORKLOAD.replace("replicas: 2", "replicas: 3").replace("roleName: router", "roleName: other")
    write(tmp_path / "before", {"a/web.yaml": WORKLOAD, "b/web.yaml": three, "c/web.yaml": WORKLOAD})
    write(tmp_path / "in", {"a/web.yaml": WORKLOAD, "b/web.yaml": three, "c/web.yaml": three})

    ran = call("check", "in", "--baseline", "before", "-o", "json")

    assert [each["file"] for each in ran.findings if each["severity"] == "error"] == ["in/c/web.yaml"]


def test_a_new_variant_is_compared_with_none(call: Call, tmp_path: Path) -> None:
    other = WORKLOAD.replace("roleName: router", "roleName: other")
    write(tmp_path / "before", {"a/web.yaml": WORKLOAD})
    write(tmp_path / "in", {"a/web.yaml": WORKLOAD, "b/web.yaml": other})

    assert updates(call) == []


JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  generateName: train-
  namespace: ml
  labels: {kueue.x-k8s.io/queue-name: QUEUE, kueue.x-k8s.io/priority-class: QUEUE}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: a, image: b}]}
"""
NAMED_JOB = JOB.replace("generateName: train-", "name: train")


def updates(call: Call) -> list[str]:
    """Return the files with an error of a rule for updates."""
    ran = call("check", "in", "--baseline", "before", "-o", "json")
    return [each["file"] for each in ran.findings if each["severity"] == "error"]


def test_a_job_with_a_generated_name_is_never_an_update(call: Call, tmp_path: Path) -> None:
    one, other = JOB.replace("QUEUE", "team-a"), JOB.replace("QUEUE", "team-b")
    write(tmp_path / "before", {"a/job.yaml": one})
    write(tmp_path / "in", {"a/job.yaml": other, "b/job.yaml": one})

    assert updates(call) == []


def test_an_object_is_compared_with_the_one_of_its_file_among_several_of_its_name(call: Call, tmp_path: Path) -> None:
    one, other, third = (NAMED_JOB.replace("QUEUE", queue) for queue in ("team-a", "team-b", "team-c"))
    write(tmp_path / "before", {"a/job.yaml": one, "b/job.yaml": other})
    write(tmp_path / "in", {"a/job.yaml": one, "b/job.yaml": third, "c/job.yaml": third})

    assert set(updates(call)) == {"in/b/job.yaml"}


def test_an_object_whose_file_was_moved_is_compared_with_the_one_that_is_left(call: Call, tmp_path: Path) -> None:
    one, other = (NAMED_JOB.replace("QUEUE", queue) for queue in ("team-a", "team-b"))
    write(tmp_path / "before", {"a/job.yaml": one, "b/job.yaml": other})
    write(tmp_path / "in", {"a/job.yaml": one, "c/job.yaml": one})

    assert set(updates(call)) == {"in/c/job.yaml"}


def variants(text: str) -> dict[str, str]:
    return {f"recipes/{letter}/{cloud}.yaml": text for letter in "ab" for cloud in ("aws", "gcp")}


PLAIN = WORKLOAD.replace("    topologyConstraint: {packDomain: rack}\n", "")
ONE_LINE = (
    "error: in/recipes/a/gcp.yaml:5:9: PodCliqueSet shop/web metadata.name: the input has this object twice, because "
    "3 objects are variants of others, and clients apply only one of them. Pass the file or folder of one, such as "
    "in/recipes/a/aws.yaml or in/recipes/a/gcp.yaml [object-once]"
)
"""The error about variants if all of them are requested at once."""


@pytest.mark.parametrize(
    "arguments",
    [
        ("render", "in"),
        ("render", "in", "-o", "out"),
        ("render", "in", "--in-place"),
        ("place", "in", "--nodes", "nodes.json"),
        ("report", "in", "-o", "svg=page.svg"),
        ("diff", "in", "in"),
        ("diff", "none", "in"),
    ],
    ids=" ".join,
)
def test_variants_that_are_asked_about_at_once_are_one_error_that_names_one(
    arguments: tuple[str, ...], call: Call, tmp_path: Path
) -> None:
    write(tmp_path, {"none/service.yaml": SERVICE, "nodes.json": cluster()})
    write(tmp_path / "in", variants(PLAIN))

    answer = call(*arguments)

    said = [line for line in (answer.stdout + answer.stderr).splitlines() if "the input has this object twice" in line]
    assert (answer.code, [line.strip() for line in said]) == (1, [ONE_LINE] * arguments.count("in"))


def test_variants_are_explained_each(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", variants(PLAIN))

    ran = call("explain", "in")

    assert (ran.code, ran.stdout.count("PodCliqueSet shop/web"), "must stand" in ran.stderr) == (0, 4, False)
    assert "4 workloads checked" in ran.closing


def test_what_one_client_applies_twice_stays_an_error_beside_variants(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", {**variants(PLAIN), "c/two.yaml": f"{PLAIN}---\n{PLAIN}"})

    ran = call("render", "in")

    said = [line for line in ran.stderr.splitlines() if "the input has this object twice" in line]
    assert [line.partition(":")[2].partition(":")[0].strip() for line in said] == [
        "in/c/two.yaml",
        "in/recipes/a/aws.yaml",
    ]
