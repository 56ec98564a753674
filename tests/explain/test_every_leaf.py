"""Every leaf of every object that packwise writes has a cause: a place in the input, or packwise itself, and a rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from krmfn.fieldpath import FieldPath, format_path
from krmfn.kubeobject import KubeObject
from krmfn.resourcelist import ResourceList
from krmfn.testing import case_input, collect_cases
from krmfn.value import Value
from krmfn.yamltext import split_documents
from packwise.explain.explanation import Emitted, EmittedValue, Explanation, explanation_of, values_of
from packwise.inputs.groups import read_inputs
from packwise.inputs.request import Named
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from tests.examples import RENDERED
from tests.golden.cases import GOLDEN
from tests.places import TESTDATA

pytestmark = pytest.mark.slow

GITOPS = ("argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/")
RELEASES = {"alpha7": "grep-244", "head": "upstream", "alpha12": "v0.1.0-alpha.12", "alpha14": "v0.1.0-alpha.14"}
KINDS = "ClusterTopology, Topology, PodGang, PodGroup, Queue, Pod"


def leaves(value: Value, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield the paths of all scalars, and of empty mappings and lists."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [leaf for step, entry in entries for leaf in leaves(entry, (*path, step))]
    yield from below or [path]


def explained(package: Package) -> Explanation:
    return explanation_of(package, render(package))


def unexplained(explanation: Explanation) -> list[str]:
    """Return the faults in the causes of the values of all objects."""
    known = {id(item.origin) for item in explanation.items}
    wrong: list[str] = []
    for emitted in explanation.objects:
        values = list(values_of(emitted, explanation.lookup))
        if [each.path for each in values] != list(leaves(dict(emitted.item.value))):
            wrong.append(f"{emitted.name}: not all of its leaves, each once")
        wrong += [f"{emitted.name} {format_path(each.path)}" for each in values if not is_right(emitted, each, known)]
    return wrong


def is_right(emitted: Emitted, each: EmittedValue, known: set[int]) -> bool:
    cause = each.cause
    places = [place for place in (cause.place, cause.lookup_place) if place is not None]
    if not cause.rule or not all(id(place.item.origin) in known and place.description for place in places):
        return False
    if emitted.item.get(each.path) != each.value:
        return False
    if not cause.is_own:
        return cause.place is not None
    key = str(each.path[-1])
    is_gitops = cause.rule == "spec/gitops.md"
    return each.path[:-1] == ("metadata", "annotations") and is_gitops == key.startswith(GITOPS)


@pytest.mark.parametrize("example", RENDERED, ids=lambda path: path.name)
def test_of_an_example(example: Path) -> None:
    explanation = explained(read_inputs(Named((str(example),))).package)

    assert explanation.objects
    assert unexplained(explanation) == []


@pytest.mark.parametrize("case", collect_cases(TESTDATA / "render"), ids=lambda path: path.name)
def test_of_a_case(case: Path) -> None:
    read = ResourceList.parse(case_input(case))

    assert unexplained(explained(Package(read.items, read.function_config))) == []


@pytest.mark.parametrize("case", sorted((TESTDATA / "osmo").iterdir()), ids=lambda path: path.name)
def test_of_a_case_of_osmo(case: Path) -> None:
    paths = [str(path) for path in sorted(case.glob("*.yaml")) if not path.name.startswith("_")]
    package = read_inputs(Named(tuple(paths))).package
    settings = (
        f"apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata: {{name: t}}\nspec: {{emit: [{KINDS}]}}\n"
    )

    assert unexplained(explained(package.replace(function_config=KubeObject.parse(settings)))) == []


@pytest.mark.parametrize("example", ["first-design", "disaggregated-inference", "two-topologies"])
def test_of_a_render_that_finds_its_own_output(example: str) -> None:
    package = read_inputs(Named((str(TESTDATA.parent / "examples" / example),))).package
    first = render(package)
    again = Package((*first.kept, *first.generated), package.function_config)

    assert [emitted.before is not None for emitted in explained(again).objects] == [True] * len(first.generated)
    assert unexplained(explained(again)) == []


def answers() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield the questions to the operators' own code: the release, the case and its files."""
    for name in RELEASES:
        for folder in sorted((GOLDEN / name).glob("*/")) if (GOLDEN / name).is_dir() else ():
            yield name, folder.name, {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.yaml")}
        listed = GOLDEN / f"{name}.jsonl"
        for line in listed.read_text(encoding="utf-8").splitlines() if listed.exists() else ():
            record = json.loads(line)
            yield name, record["case"], record["files"]


@pytest.mark.client
@pytest.mark.parametrize("name", RELEASES)
def test_of_what_the_operators_were_asked(name: str) -> None:
    count, wrong = 0, list[str]()
    for release, case, files in answers():
        if release == name:
            explanation = explained(package_of(release, files))
            count += len(explanation.objects)
            wrong += [f"{case}: {text}" for text in unexplained(explanation)]

    assert wrong == []
    assert count > 20


@pytest.mark.client
def test_of_what_osmo_was_asked(tmp_path: Path) -> None:
    folders = sorted((GOLDEN / "osmo").glob("*/"))
    explanations = [explained(osmo_package(folder, tmp_path / folder.name)) for folder in folders]

    assert [text for explanation in explanations for text in unexplained(explanation)] == []
    assert sum(len(explanation.objects) for explanation in explanations) > 100


def osmo_package(folder: Path, copy: Path) -> Package:
    copy.mkdir()
    for name in ("pool.yaml", "workflow.yaml"):
        if (folder / name).exists():
            (copy / name).write_text((folder / name).read_text(encoding="utf-8"), encoding="utf-8")
    return read_inputs(Named((str(copy),))).package


def package_of(release: str, files: dict[str, str]) -> Package:
    settings = (
        "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata: {name: t}\n"
        f"spec: {{revision: {RELEASES[release]}, emit: [ClusterTopology, Topology, PodGang, PodGroup]}}\n"
    )
    texts = [files.get(name, "") for name in ("config.yaml", "topologies.yaml")]
    texts.append(files.get("input.yaml") or files.get("new.yaml", ""))
    documents = [document.text for text in texts for document in split_documents(text) if document.text.strip()]
    items = [KubeObject.parse(text, file="input.yaml") for text in documents]
    return Package(tuple(items), KubeObject.parse(settings, file="settings.yaml"))
