"""The kind of a file in a repository: by other files, by git's rules, by its own text."""

from __future__ import annotations

import pytest

from krmfn.value import Value
from krmfn.yamltext import YamlError, read
from packwise.discovery import (
    Ignored,
    Landmarks,
    Reason,
    SkipReason,
    content_reason,
    ignored_files,
    ignores_above,
    is_of_another_tool,
    summary,
    unparsed_reason,
)

CHART = {"charts/web/Chart.yaml": "name: web\n"}
OVERLAY = {
    "o/kustomization.yaml": """\
patches:
- path: ../base/patch.yaml
- patch: |-
    - op: remove
patchesJson6902: [{path: json.yaml}]
patchesStrategicMerge: [merge.yaml, "kind: A\\nspec: {}\\n"]
replacements: [{path: names.yaml}]
configurations: [fields.yaml]
helmCharts: [{valuesFile: v.yaml, additionalValuesFiles: [w.yaml]}]
"""
}
OUTPUT = {"out/.packwise.sha256": f"{'0' * 64}  a/b.yaml\n"}
COMPONENT = {"c/kustomization.yml": "kind: Component\n"}

PLACES = [
    (CHART, "charts/web/Chart.yaml", SkipReason(Reason.HELM_CHART)),
    (CHART, "charts/web/templates/a/b.yaml", SkipReason(Reason.HELM_TEMPLATE, "charts/web/Chart.yaml")),
    (CHART, "charts/web/values.yaml", SkipReason(Reason.VALUES, "charts/web/Chart.yaml")),
    (CHART, "charts/web/ci/test-values.yml", SkipReason(Reason.VALUES, "charts/web/Chart.yaml")),
    (CHART, "charts/web/crds/a.yaml", None),
    (CHART, "charts/web/evalues.yaml", None),
    (CHART, "charts/webs/templates/a.yaml", None),
    ({"Chart.yaml": ""}, "templates/a.yaml", SkipReason(Reason.HELM_TEMPLATE, "Chart.yaml")),
    ({"Chart.yaml": ""}, "a.yaml", None),
    (OVERLAY, "base/patch.yaml", SkipReason(Reason.PATCH, "o/kustomization.yaml")),
    (OVERLAY, "o/json.yaml", SkipReason(Reason.PATCH, "o/kustomization.yaml")),
    (OVERLAY, "o/merge.yaml", SkipReason(Reason.PATCH, "o/kustomization.yaml")),
    (OVERLAY, "o/names.yaml", SkipReason(Reason.FOREIGN, "o/kustomization.yaml")),
    (OVERLAY, "o/fields.yaml", SkipReason(Reason.FOREIGN, "o/kustomization.yaml")),
    (OVERLAY, "o/v.yaml", SkipReason(Reason.VALUES, "o/kustomization.yaml")),
    (OVERLAY, "o/w.yaml", SkipReason(Reason.VALUES, "o/kustomization.yaml")),
    (OVERLAY, "o/kustomization.yaml", None),
    (OVERLAY, "base/web.yaml", None),
    ({"o/kustomization.yaml": "patches: [\n"}, "o/a.yaml", None),
    ({"o/kustomization.yaml": "patches: {path: a.yaml}\n"}, "o/a.yaml", None),
    (COMPONENT, "c/kustomization.yml", SkipReason(Reason.COMPONENT)),
    (COMPONENT, "c/d/a.yaml", SkipReason(Reason.COMPONENT, "c/kustomization.yml")),
    (OUTPUT, "out/a/b.yaml", SkipReason(Reason.RENDERED, "out/.packwise.sha256")),
    (OUTPUT, "out/a/c.yaml", None),
    ({".packwise.sha256": f"{'0' * 64}  a.yaml\n"}, "a.yaml", None),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "path", "reason"), PLACES)
def test_other_files_say_what_a_file_is(texts: dict[str, str], path: str, reason: SkipReason | None) -> None:
    assert Landmarks.of(texts).reason_to_skip(path) == reason


@pytest.mark.parametrize(("top", "skipped"), [("", True), ("site", True), ("site/out", False), ("other", False)])
def test_rendered_files_are_left_out_below_the_named_folder_only(top: str, skipped: bool) -> None:
    landmarks = Landmarks.of({"site/out/.packwise.sha256": f"{'0' * 64}  a.yaml\n"}, top)

    assert (landmarks.reason_to_skip("site/out/a.yaml") is not None) == skipped


GITIGNORES = {"": "*.tmp.yaml\n!kept.tmp.yaml\n/build\nnode_modules/\n", "a": "!x.tmp.yaml\nlocal.yaml\n"}

IGNORED = {
    "x.tmp.yaml": ".gitignore",
    "kept.tmp.yaml": None,
    "a/x.tmp.yaml": None,
    "a/y.tmp.yaml": ".gitignore",
    "a/local.yaml": "a/.gitignore",
    "local.yaml": None,
    "build/a.yaml": ".gitignore",
    "a/build/a.yaml": None,
    "a/node_modules/b/c.yaml": ".gitignore",
}


def test_files_are_ignored_as_git_ignores_them() -> None:
    assert ignored_files(IGNORED, GITIGNORES, "") == {path: by for path, by in IGNORED.items() if by is not None}


def test_what_stands_in_an_ignored_folder_cannot_be_taken_back() -> None:
    texts = {"": "out/\n", "out": "!a.yaml\n"}

    assert ignored_files(["out/a.yaml"], texts, "") == {"out/a.yaml": ".gitignore"}


def test_who_names_an_ignored_folder_wants_it_read() -> None:
    assert ignored_files(["build/a.yaml"], GITIGNORES, "build") == {}
    assert ignores_above(GITIGNORES, "build/sub") == Ignored()
    assert ignored_files(["a/y.tmp.yaml"], GITIGNORES, "a") == {"a/y.tmp.yaml": ".gitignore"}


def test_a_pattern_that_is_none_matches_nothing() -> None:
    assert ignored_files(["a.yaml", "b.yaml"], {"": "!\n[\n\\\nb.yaml\n"}, "") == {"b.yaml": ".gitignore"}


SECRET = {"kind": "Secret", "sops": {"mac": "x"}}
CONTENTS: list[tuple[str, list[Value], bool, Reason | None]] = [
    ("a.yaml", [SECRET], True, Reason.ENCRYPTED),
    ("a.yaml", [{"sops": "a tool"}], False, Reason.FOREIGN),
    ("a.yaml", [{"kind": "Pod"}], True, None),
    ("a.yaml", [{"services": {}}], False, Reason.FOREIGN),
    ("a.yaml", [{"services": {}}, {"kind": "Pod"}], True, None),
    ("a.yaml", [None], False, None),
    ("a.yaml", [], False, None),
    ("x/values-prod.yaml", [{"a": 1}], False, Reason.VALUES),
]


@pytest.mark.parametrize(("path", "values", "has_objects", "reason"), CONTENTS)
def test_content_says_what_a_file_is(path: str, values: list[Value], has_objects: bool, reason: Reason | None) -> None:
    assert content_reason(path, values, has_objects=has_objects) == reason


UNPARSED = [
    ("a.yaml", "{{- if .Values.a }}\na: b\n", Reason.TEMPLATE),
    ("a.yaml", "{% if a %}\n", Reason.TEMPLATE),
    ("a.yaml", "kind: Pod\nspec:\n  ${CONTAINERS}\n  a: b\n", Reason.TEMPLATE),
    ("a.tftpl.yaml", "a: |\n  ${indent(4, file)}\n%{ if gpu }\nb: 1\n%{ endif }\n", Reason.TEMPLATE),
    ("a.tftpl.yaml", "kind: Pod\n${indent(4, pod)}\n", Reason.TEMPLATE),
    ("a.yaml", "a: ${B}\nb: [\n", None),
    ("a.yaml", "a: {{}\n", None),
    ("a.yaml", "a: [\n", None),
    ("tsconfig.json", '{ // no\n"a": }', Reason.FOREIGN),
    ("a.json", '{"apiVersion": "v1", // no\n}', None),
    ("a.json", '{"a": "http://b"', None),
]


@pytest.mark.parametrize(
    ("text", "is_foreign"),
    [
        ('{"a": 1}\n{"a": 2}\n', True),
        ('2026-01-01T00:00:00Z INFO of a kind {"a": 1}: b: c\n', True),
        ("a: [\n", True),
        ('{"apiVersion": "v1", "kind": "Pod"', False),
        ("kind: Pod\na: [\n", False),
        ("apiversion: v1\na: [\n", False),
        ("'kind' : Pod\na: [\n", False),
    ],
)
def test_a_file_without_both_words_of_a_manifest_is_another_tools(text: str, is_foreign: bool) -> None:
    assert is_of_another_tool(text) is is_foreign


@pytest.mark.parametrize(("path", "text", "reason"), UNPARSED)
def test_what_is_no_yaml(path: str, text: str, reason: Reason | None) -> None:
    assert unparsed_reason(path, text) == reason


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("a.yaml", "a: 1\na: 2\n", Reason.FOREIGN),
        ("helm/prometheus-values.yaml", "a: 1\na: 2\nb: {kind: DaemonSet}\n", Reason.VALUES),
        ("a.yaml", "kind: Pod\na: 1\na: 2\n", None),
        ("a.yaml", '"apiversion": v1\na: 1\na: 2\n', None),
        ("a.yaml", "branches: [release-?]\n", Reason.FOREIGN),
        ("a.yaml", "kind: Pod\na: [b?]\n", None),
    ],
)
def test_what_kustomize_alone_refuses_is_an_error_of_objects_alone(path: str, text: str, reason: Reason | None) -> None:
    with pytest.raises(YamlError) as error:
        read(text)

    assert unparsed_reason(path, text, error.value.message) == reason


def test_reasons_are_counted_in_one_order() -> None:
    assert summary([Reason.PATCH, Reason.HELM_TEMPLATE, Reason.PATCH]) == "1 Helm template, 2 patches"
    assert summary([]) == ""
