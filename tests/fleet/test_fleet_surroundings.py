"""A package is checked with the definitions that `packwise check` reads around its folder.

Other clients' packages have none.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, AssertEach, Call, write
from tests.fleet.trees import FUNCTION

QUEUE = "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: team}\nspec: {resources: {gpu: {quota: 1}}}\n"
TEXTS = {
    "config": CONFIG,
    "function": FUNCTION,
    "workload": WORKLOAD.replace("  namespace: shop\n", "  namespace: shop\n  labels: {kai.scheduler/queue: teem}\n"),
    "queue": QUEUE,
    "other": QUEUE.replace("team", "others"),
    "commented": f"# For the TopologyRender above.\n{QUEUE}",
    "broken": QUEUE + "  - ]\n",
    "config-and-queue": f"{CONFIG}---\n{QUEUE}",
    "workload-and-queue": f"{WORKLOAD.replace('web', 'api')}---\n{QUEUE}",
    "pools": "pools:\n  default: {backend: a}\n",
    "build": "resources: [w.yaml]\n",
    "build-all": "resources: [w.yaml, q.yaml]\n",
    "build-other": "resources: [q.yaml]\n",
    "transform": "resources: [w.yaml]\ntransformers: [t.yaml]\n",
    "kpt": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n",
    "chart": "apiVersion: v2\nname: a\nversion: 1.0.0\n",
}
TEAM = 'the queue "teem" is not in the input; did you mean "team"?'


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A tree, and the Queues with which a workload in c/a is checked: by `check c/a`, and in its package."""

    tree: str
    check: str = "team"
    fleet: str = "team"


ROWS = {
    "beside the configuration above": Row(tree="c/t.yaml=config c/q.yaml=queue c/a/w.yaml=workload"),
    "in the file of the configuration": Row(tree="c/t.yaml=config-and-queue c/a/w.yaml=workload"),
    "in a file of workloads": Row(tree="c/t.yaml=config c/w.yaml=workload-and-queue c/a/w.yaml=workload"),
    "in another folder below it": Row(tree="c/t.yaml=config c/b/q.yaml=queue c/a/w.yaml=workload"),
    "in the folder itself": Row(tree="c/t.yaml=config c/a/q.yaml=queue c/a/w.yaml=workload"),
    "above the configuration": Row(tree="q.yaml=queue c/t.yaml=config c/a/w.yaml=workload", check="none", fleet="none"),
    "of another configuration": Row(
        tree="c/t.yaml=config c/b/t.yaml=config c/b/q.yaml=queue c/a/w.yaml=workload", check="none", fleet="none"
    ),
    "that nobody can read": Row(
        tree="c/t.yaml=config c/q.yaml=broken c/a/w.yaml=workload", check="unreadable", fleet="unreadable"
    ),
    "in the templates of a chart": Row(
        tree="c/t.yaml=config c/Chart.yaml=chart c/templates/q.yaml=queue c/a/w.yaml=workload",
        check="none",
        fleet="none",
    ),
    "above a build": Row(tree="c/t.yaml=config c/q.yaml=queue c/a/kustomization.yaml=build c/a/w.yaml=workload"),
    "beside a build": Row(tree="c/t.yaml=config c/a/q.yaml=queue c/a/kustomization.yaml=build c/a/w.yaml=workload"),
    "beside a build and its configuration": Row(
        tree="c/a/t.yaml=config c/a/q.yaml=queue c/a/kustomization.yaml=build c/a/w.yaml=workload"
    ),
    "in a build": Row(tree="c/t.yaml=config c/a/q.yaml=queue c/a/kustomization.yaml=build-all c/a/w.yaml=workload"),
    "in a build, and another one above": Row(
        tree="c/t.yaml=config c/q.yaml=other c/a/q.yaml=queue c/a/kustomization.yaml=build-all c/a/w.yaml=workload"
    ),
    "of another build": Row(
        tree="c/t.yaml=config c/b/q.yaml=queue c/b/kustomization.yaml=build-other c/a/w.yaml=workload", fleet="none"
    ),
    "of another build, beside one": Row(
        tree="c/t.yaml=config c/b/q.yaml=queue c/b/kustomization.yaml=build-other c/a/kustomization.yaml=build "
        "c/a/w.yaml=workload",
        fleet="none",
    ),
    "of a package of kpt": Row(
        tree="c/t.yaml=config c/b/q.yaml=queue c/b/Kptfile=kpt c/a/w.yaml=workload", fleet="none"
    ),
    "beside a function's configuration above": Row(
        tree="c/t.yaml=config c/f.yaml=function c/q.yaml=queue c/b/kustomization.yaml=build-other c/b/q.yaml=other "
        "c/a/w.yaml=workload",
        check="sources",
    ),
    "beside a build that runs packwise": Row(
        tree="c/a/t.yaml=function c/a/q.yaml=queue c/a/kustomization.yaml=transform c/a/w.yaml=workload", fleet="none"
    ),
    "beside a word in a comment": Row(
        tree="c/t.yaml=config c/q.yaml=commented c/a/w.yaml=workload",
    ),
    "pools alone": Row(tree="c/t.yaml=config c/p.yaml=pools c/a/w.yaml=workload", check="none", fleet="none"),
}


def queues(findings: list[dict[str, str]]) -> str:
    """Return the Queues with which the workload was checked, as its finding names them, or why it was not checked."""
    rules = {each["rule"] for each in findings}
    texts = " ".join(each["message"] for each in findings if each["rule"] == "queue-known")
    if "configuration-sources" in rules:
        return "sources"
    if "readable" in rules:
        return "unreadable"
    return "team" if '"team"' in texts else "others" if texts else "none"


def test_a_package_is_checked_by_the_definitions_around_it(
    call: Call, assert_each_alone: AssertEach, kustomize: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{kustomize.parent}{os.pathsep}{os.environ['PATH']}")

    def one(row: Row, folder: Path) -> None:
        write(folder, {path: TEXTS[name] for path, _, name in (word.partition("=") for word in row.tree.split())})
        alone = json.loads(call("check", "c/a", "-o", "json").stdout)
        packages = json.loads(call("fleet", "check", "c/a", "--no-cache", "-o", "json").stdout)["packages"]
        of_all = json.loads(call("fleet", "check", ".", "--no-cache", "-o", "json").stdout)["packages"]
        (package,) = [each for each in packages if each["package"] == "c/a"]
        same = [each for each in of_all if each["package"] == "c/a"]
        assert Row(tree=row.tree, check=queues(alone), fleet=queues(package["findings"])) == row
        assert all(each["findings"] == package["findings"] for each in same)

    assert_each_alone(ROWS, one)


def test_a_change_of_a_definition_around_reaches_the_packages(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"c/t.yaml": CONFIG, "c/q.yaml": TEXTS["other"], "c/a/w.yaml": TEXTS["workload"]})
    (tmp_path / ".git").mkdir()
    words = ("fleet", "check", "c/a", "--cache", "kept", "-o", "json")
    before = json.loads(call(*words).stdout)
    write(tmp_path, {"c/q.yaml": QUEUE})

    assert TEAM not in str(before)
    assert TEAM in json.loads(call(*words).stdout)["packages"][0]["findings"][0]["message"]


def test_an_unreadable_definition_around_is_an_error_of_the_package(call: Call, tmp_path: Path) -> None:
    """The table above needs kustomize. `make test` must reach every report without kustomize."""
    write(tmp_path, {"c/t.yaml": CONFIG, "c/q.yaml": TEXTS["broken"], "c/a/w.yaml": TEXTS["workload"]})
    (tmp_path / ".git").mkdir()

    (package,) = json.loads(call("fleet", "check", "c/a", "--no-cache", "-o", "json").stdout)["packages"]

    assert queues(package["findings"]) == "unreadable"
