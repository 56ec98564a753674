"""The configuration that applies to each workload of small trees, by `check`, by `render`, and in a package
of a fleet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packwise.build.tree import DiskTree, MemoryTree
from packwise.fleet.packages import PackageClient, function_configuration
from packwise.fleet.requests import Requests, Rooted
from packwise.fleet.work import package_of_side, read_side
from packwise.inputs.groups import read_groups, read_inputs
from packwise.inputs.paths import from_top, real, top_of
from packwise.inputs.request import Named
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from tests.cli.calling import CONFIG, WORKLOAD, AssertEach, write
from tests.fleet.trees import FUNCTION, KPTFILE

OPERATOR = """\
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
topologyAwareScheduling:
  enabled: true
  levels:
  - {domain: rack, key: example.com/rack}
"""

TEXTS = {
    "config": CONFIG,
    "second": CONFIG.replace("name: topology", "name: second"),
    "settings": "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata:\n  name: topology\n",
    "operator": OPERATOR,
    "list": "apiVersion: v1\nkind: List\nitems:\n- " + CONFIG.rstrip("\n").replace("\n", "\n  ") + "\n",
    "configmap": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: grove}\ndata:\n  config.yaml: |\n    "
    + OPERATOR.replace("\n", "\n    "),
    "broken": CONFIG + "  - ]\n",
    "function": FUNCTION,
    "workload": WORKLOAD,
    "other": WORKLOAD.replace("name: web", "name: api"),
    "build": "resources: [w.yaml]\n",
    "build-all": "resources: [w.yaml, t.yaml]\n",
    "build-base": "resources: [../base/w.yaml]\n",
    "transform": "resources: [w.yaml]\ntransformers: [t.yaml]\n",
    "transform-there": "resources: [w.yaml]\ntransformers: [../fn/t.yaml]\n",
    "kpt": KPTFILE.replace("topology.yaml", "t.yaml"),
    "kpt-alone": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\n",
    "ignore": "t.yaml\n",
    "empty": "",
}
"""The contents of files in the trees below, by the words for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A tree, its folder `at`, and the configurations that apply to workloads and packages."""

    tree: str
    check: str
    render: str
    fleet: str
    at: str = "."


ROWS = {
    "in the same folder": Row(
        tree="a/t.yaml=config a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="a: a/t.yaml",
    ),
    "in a folder above": Row(
        tree="a/t.yaml=config a/b/w.yaml=workload",
        check="a/b/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="a: a/t.yaml",
    ),
    "above the folder that is named": Row(
        tree="a/t.yaml=config a/b/w.yaml=workload",
        check="a/b/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="a/b: a/t.yaml",
        at="a/b",
    ),
    "two, one below the other": Row(
        tree="t.yaml=config w.yaml=other a/t.yaml=second a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml, w.yaml: t.yaml",
        render="a/t.yaml!sources",
        fleet=".: t.yaml, a: a/t.yaml",
    ),
    "two, of which the inner folder is named": Row(
        tree="t.yaml=config w.yaml=other a/t.yaml=second a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="a: a/t.yaml",
        at="a",
    ),
    "two beside each other, and a workload below none": Row(
        tree="a/t.yaml=config a/w.yaml=workload b/t.yaml=config b/w.yaml=workload c/w.yaml=workload",
        check="a/w.yaml: a/t.yaml, b/w.yaml: b/t.yaml, c/w.yaml: ",
        render="a/t.yaml!sources",
        fleet="a: a/t.yaml, b: b/t.yaml",
    ),
    "the folder below none is named": Row(
        tree="a/t.yaml=config a/w.yaml=workload b/t.yaml=config b/w.yaml=workload c/w.yaml=workload",
        check="c/w.yaml: ",
        render="!absent",
        fleet="",
        at="c",
    ),
    "the only one, beside": Row(
        tree="cfg/t.yaml=config a/w.yaml=workload",
        check="a/w.yaml: cfg/t.yaml",
        render="cfg/t.yaml",
        fleet="cfg: cfg/t.yaml",
    ),
    "the only one, beside the folder that is named": Row(
        tree="cfg/t.yaml=config a/w.yaml=workload",
        check="a/w.yaml: cfg/t.yaml",
        render="cfg/t.yaml",
        fleet="",
        at="a",
    ),
    "the only one, beside a kustomization": Row(
        tree="cfg/t.yaml=config a/kustomization.yaml=build a/w.yaml=workload",
        check="a/w.yaml: cfg/t.yaml",
        render="cfg/t.yaml",
        fleet="cfg: cfg/t.yaml",
    ),
    "none": Row(
        tree="a/w.yaml=workload",
        check="a/w.yaml: !absent",
        render="!absent",
        fleet="",
    ),
    "two in one folder": Row(
        tree="a/t.yaml=config a/u.yaml=second a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml!sources",
        render="a/t.yaml!sources",
        fleet="a: a/t.yaml!sources",
    ),
    "two in a folder above": Row(
        tree="a/t.yaml=config a/u.yaml=second a/b/w.yaml=workload",
        check="a/b/w.yaml: a/t.yaml!sources",
        render="a/t.yaml!sources",
        fleet="a/b: a/t.yaml!sources",
        at="a/b",
    ),
    "two above a kustomization": Row(
        tree="t.yaml=config u.yaml=second a/kustomization.yaml=build a/w.yaml=workload",
        check="a/w.yaml: t.yaml!sources",
        render="t.yaml!sources",
        fleet="a: t.yaml+u.yaml",
    ),
    "two beside a kustomization": Row(
        tree="a/t.yaml=config a/u.yaml=second a/kustomization.yaml=build a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml!sources",
        render="a/t.yaml!sources",
        fleet="a: a/t.yaml+a/u.yaml",
    ),
    "two that complete each other": Row(
        tree="a/t.yaml=settings a/o.yaml=operator a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml+a/o.yaml",
        render="a/t.yaml+a/o.yaml",
        fleet="a: a/t.yaml+a/o.yaml",
    ),
    "two above that complete each other": Row(
        tree="a/t.yaml=settings a/o.yaml=operator a/b/w.yaml=workload",
        check="a/b/w.yaml: a/t.yaml+a/o.yaml",
        render="a/t.yaml+a/o.yaml",
        fleet="a/b: a/t.yaml+a/o.yaml",
        at="a/b",
    ),
    "two above a kustomization that complete each other": Row(
        tree="t.yaml=settings o.yaml=operator a/kustomization.yaml=build a/w.yaml=workload",
        check="a/w.yaml: t.yaml+o.yaml",
        render="t.yaml+o.yaml",
        fleet="a: o.yaml+t.yaml",
    ),
    "one that a folder below completes": Row(
        tree="a/t.yaml=settings a/op/o.yaml=operator a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml+a/op/o.yaml",
        render="a/t.yaml+a/op/o.yaml",
        fleet="a: a/t.yaml+a/op/o.yaml",
    ),
    "one above that a folder beside completes": Row(
        tree="a/t.yaml=settings a/op/o.yaml=operator a/b/w.yaml=workload",
        check="a/b/w.yaml: a/t.yaml+a/op/o.yaml",
        render="a/t.yaml+a/op/o.yaml",
        fleet="a/b: a/t.yaml+a/op/o.yaml",
        at="a/b",
    ),
    "one above that the folder that is named completes": Row(
        tree="a/t.yaml=settings a/b/op/o.yaml=operator a/b/w.yaml=workload",
        check="a/b/w.yaml: a/t.yaml+a/b/op/o.yaml",
        render="a/b/op/o.yaml",
        fleet="a/b: a/t.yaml+a/b/op/o.yaml",
        at="a/b",
    ),
    "one above a kustomization that a folder beside completes": Row(
        tree="t.yaml=settings op/o.yaml=operator a/kustomization.yaml=build a/w.yaml=workload",
        check="a/w.yaml: t.yaml+op/o.yaml",
        render="t.yaml+op/o.yaml",
        fleet="a: t.yaml+op/o.yaml",
    ),
    "two folders below, of which neither completes it": Row(
        tree="t.yaml=settings a/o.yaml=operator b/o.yaml=operator",
        check="",
        render="t.yaml+a/o.yaml!sources",
        fleet=".: t.yaml, a: a/o.yaml, b: b/o.yaml",
    ),
    "a folder below with workloads": Row(
        tree="t.yaml=settings a/o.yaml=operator a/w.yaml=workload",
        check="a/w.yaml: a/o.yaml",
        render="t.yaml+a/o.yaml",
        fleet=".: t.yaml, a: a/o.yaml",
    ),
    "a folder below with a build of workloads": Row(
        tree="t.yaml=settings a/o.yaml=operator a/kustomization.yaml=build-base base/w.yaml=workload",
        check="base/w.yaml: t.yaml+a/o.yaml",
        render="t.yaml+a/o.yaml",
        fleet="a: t.yaml+a/o.yaml",
    ),
    "samples": Row(
        tree="x/a.yaml=operator x/b.yaml=operator w.yaml=workload",
        check="w.yaml: ",
        render="x/a.yaml!sources",
        fleet="",
    ),
    "samples below another": Row(
        tree="t.yaml=config x/a.yaml=operator x/b.yaml=operator w.yaml=workload",
        check="w.yaml: t.yaml",
        render="t.yaml!sources",
        fleet=".: t.yaml",
    ),
    "no samples, since there is a build": Row(
        tree="x/a.yaml=operator x/b.yaml=operator x/kustomization.yaml=build-base base/w.yaml=workload",
        check="base/w.yaml: ",
        render="x/a.yaml!sources",
        fleet="x: x/a.yaml+x/b.yaml",
    ),
    "beside a kustomization": Row(
        tree="a/t.yaml=config a/kustomization.yaml=build a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="a: a/t.yaml",
    ),
    "in a kustomization": Row(
        tree="a/t.yaml=config a/kustomization.yaml=build-all a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="a: its build",
    ),
    "above a kustomization": Row(
        tree="t.yaml=config a/kustomization.yaml=build a/w.yaml=workload",
        check="a/w.yaml: t.yaml",
        render="t.yaml",
        fleet="a: t.yaml",
    ),
    "above a kustomization that is named": Row(
        tree="t.yaml=config a/kustomization.yaml=build a/w.yaml=workload",
        check="a/w.yaml: t.yaml",
        render="t.yaml",
        fleet="a: t.yaml",
        at="a",
    ),
    "of a transformer": Row(
        tree="a/t.yaml=function a/kustomization.yaml=transform a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="a: a/t.yaml",
    ),
    "of a transformer, below another": Row(
        tree="c.yaml=second a/t.yaml=function a/kustomization.yaml=transform a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml",
        render="a/t.yaml!sources",
        fleet=".: c.yaml, a: a/t.yaml",
    ),
    "of a transformer in another folder": Row(
        tree="fn/t.yaml=function a/kustomization.yaml=transform-there a/w.yaml=workload",
        check="a/w.yaml: fn/t.yaml",
        render="fn/t.yaml",
        fleet="a: fn/t.yaml",
    ),
    "a function's that no kustomization names": Row(
        tree="a/t.yaml=function a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="",
    ),
    "of a pipeline of kpt": Row(
        tree="a/t.yaml=config a/Kptfile=kpt a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="a: a/t.yaml",
    ),
    "of a pipeline of kpt, below another": Row(
        tree="c.yaml=second a/t.yaml=config a/Kptfile=kpt a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml",
        render="a/t.yaml!sources",
        fleet=".: c.yaml, a: a/t.yaml",
    ),
    "above a Kptfile without a pipeline": Row(
        tree="t.yaml=config a/Kptfile=kpt-alone a/w.yaml=workload",
        check="a/w.yaml: t.yaml",
        render="t.yaml",
        fleet=".: t.yaml",
    ),
    "above the repository": Row(
        tree="t.yaml=config r/.git/HEAD=empty r/a/w.yaml=workload",
        check="r/a/w.yaml: !absent",
        render="!absent",
        fleet="",
        at="r/a",
    ),
    "a link to a file": Row(
        tree="t.txt=config a/t.yaml->../t.txt a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="",
    ),
    "a link to one of another folder": Row(
        tree="cfg/t.yaml=config a/t.yaml->../cfg/t.yaml a/w.yaml=workload",
        check="a/w.yaml: cfg/t.yaml",
        render="cfg/t.yaml",
        fleet="cfg: cfg/t.yaml",
    ),
    "a link above the folder that is named": Row(
        tree="x/t.txt=config t.yaml->x/t.txt a/w.yaml=workload b/t.yaml=config",
        check="a/w.yaml: ",
        render="!absent",
        fleet="",
        at="a",
    ),
    "a link to a folder": Row(
        tree="a/t.yaml=config a/w.yaml=workload b->a",
        check="a/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="a: a/t.yaml",
    ),
    "hidden": Row(
        tree=".t.yaml=config a/w.yaml=workload",
        check="a/w.yaml: !absent",
        render="!absent",
        fleet="",
    ),
    "ignored": Row(
        tree=".gitignore=ignore t.yaml=config a/w.yaml=workload",
        check="a/w.yaml: !absent",
        render="!absent",
        fleet="",
    ),
    "ignored, above the folder that is named": Row(
        tree=".gitignore=ignore t.yaml=config a/w.yaml=workload",
        check="a/w.yaml: t.yaml",
        render="t.yaml",
        fleet="a: t.yaml",
        at="a",
    ),
    "in a List": Row(
        tree="a/t.yaml=list a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="a: a/t.yaml",
    ),
    "in a List above": Row(
        tree="a/t.yaml=list a/b/w.yaml=workload",
        check="a/b/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="a/b: a/t.yaml",
        at="a/b",
    ),
    "in a ConfigMap above": Row(
        tree="a/t.yaml=configmap a/b/w.yaml=workload",
        check="a/b/w.yaml: a/t.yaml",
        render="a/t.yaml",
        fleet="a/b: a/t.yaml",
        at="a/b",
    ),
    "the nearest one without a topology": Row(
        tree="t.yaml=config a/t.yaml=settings a/w.yaml=workload",
        check="a/w.yaml: a/t.yaml!absent",
        render="a/t.yaml!sources",
        fleet=".: t.yaml, a: a/t.yaml!absent",
    ),
    "the nearest one cannot be read": Row(
        tree="t.yaml=config a/t.yaml=broken a/w.yaml=workload",
        check="",
        render="unreadable",
        fleet=".: t.yaml, a: !absent",
    ),
    "the one above cannot be read": Row(
        tree="a/t.yaml=broken a/b/w.yaml=workload",
        check="",
        render="unreadable",
        fleet="a/b: ",
        at="a/b",
    ),
}


def plant(tree: str, folder: Path) -> None:
    """Write the files and links of the tree. A link is spelled `a/t.yaml->../t.yaml`."""
    for word in tree.split():
        path, link, target = word.partition("->")
        if link:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).symlink_to(target)
        else:
            path, _, name = word.partition("=")
            write(folder, {path: TEXTS[name]})


def checked_by(package: Package) -> str:
    """Return the files of the configuration that applies, `!absent` if there is none, and `!sources` if there are
    several.
    """
    rendered = render(package, is_listed=False)
    files = () if rendered.selection is None else rendered.selection.files
    rules = {result.tags.get("rule", "") for result in rendered.results}
    return "+".join(files) + "".join(f"!{rule}" for rule in ("absent", "sources") if f"configuration-{rule}" in rules)


def checked(at: str) -> Iterator[str]:
    for group in read_groups(Named((at,))).groups:
        for item in group.package.items:
            if item.kind == "PodCliqueSet":
                yield f"{item.file}: {checked_by(group.package)}"


def fleet(at: str) -> Iterator[str]:
    """Yield the configuration of each package. The output of kustomize is unknown here."""
    top = top_of(real(at))
    root = from_top(at, top).removeprefix(".")
    rooted = Rooted.of(DiskTree(top, root), root)
    requests = Requests("check", rooted, None, None, writes=False)
    for below in rooted.names():
        side = requests.request(below).after
        assert side is not None
        if side.client is PackageClient.KUSTOMIZE:
            function = function_configuration(MemoryTree(dict(side.files)), side.folder, side.client)
            items = () if function is None or function.item is None else (function.item,)
            by = "+".join(str(item.file) for item in items) or "+".join(side.around) or "its build"
        else:
            by = checked_by(package_of_side(read_side(side, ""), None))
        yield f"{side.folder or '.'}: {by}"


def test_a_workload_has_the_same_configuration_everywhere(assert_each_alone: AssertEach) -> None:
    def one(row: Row, folder: Path) -> None:
        plant(row.tree, folder)
        inputs = read_inputs(Named((row.at,)))
        seen = Row(
            tree=row.tree,
            check=", ".join(sorted(checked(row.at))),
            render="unreadable" if inputs.is_lost else checked_by(inputs.package),
            fleet=", ".join(fleet(row.at)),
            at=row.at,
        )
        assert seen == row

    assert_each_alone(ROWS, one)
