"""HelmReleases and Kustomizations of Flux: their values, names and folders.

Each rule is tested with and without its condition.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from packwise.build.flux_kustomizations import generated_resources
from packwise.build.sources import Delivery, KustomizationSource
from packwise.build.substitution import SubstitutionError, substitute
from packwise.build.tree import MemoryTree
from tests.builds.planning import CHART, URL, chart, layers, planned, refusal

REPOSITORY = {
    "flux/git.yaml": yaml.safe_dump(
        {
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "GitRepository",
            "metadata": {"name": "repo", "namespace": "team-a"},
            "spec": {"url": URL, "ref": {"branch": "main"}},
        }
    )
}
FILES = CHART | REPOSITORY | {"values/one.yaml": "", "charts/llm/one.yaml": ""}


def release(name: str = "llm", chart: Any = None, **spec: Any) -> dict[str, str]:
    own: dict[str, Any] = {"chart": "./charts/llm", "sourceRef": {"kind": "GitRepository", "name": "repo"}}
    source: dict[str, Any] = own | (chart or {})
    value: dict[str, Any] = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {"chart": {"spec": source}, **spec},
    }
    return {"flux/release.yaml": yaml.safe_dump(value)}


def config(name: str, kind: str = "ConfigMap", namespace: str = "team-a", **data: str) -> dict[str, str]:
    value = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "data": data}
    return {f"flux/{kind}-{name}.yaml": yaml.safe_dump(value)}


@pytest.mark.parametrize(
    ("spec", "name", "expected"),
    [
        ({}, "llm", "llm"),
        ({"releaseName": "other", "targetNamespace": "b"}, "llm", "other"),
        ({"targetNamespace": "b"}, "llm", "b-llm"),
        ({}, "x" * 54, f"{'x' * 40}-{sha256(b'x' * 54).hexdigest()[:12]}"),
    ],
)
def test_the_name_of_a_release(spec: dict[str, Any], name: str, expected: str) -> None:
    assert chart(FILES | release(name, **spec)).release == expected


@pytest.mark.parametrize(("spec", "namespace"), [({}, "team-a"), ({"targetNamespace": "b"}, "b")])
def test_the_namespace_of_a_release(spec: dict[str, Any], namespace: str) -> None:
    assert chart(FILES | release(**spec)).namespace == namespace


def test_values_come_from_references_in_their_order_and_then_from_the_release() -> None:
    maps = config("a", **{"values.yaml": "x: 1"}) | config("b", other="x: 2")
    references = [{"kind": "ConfigMap", "name": "b", "valuesKey": "other"}, {"kind": "ConfigMap", "name": "a"}]

    source = chart(FILES | maps | release(valuesFrom=references, values={"x": 3}))

    assert layers(source) == ["x: 2", "x: 1", '{"x": 3}']


def test_values_files_replace_those_of_the_chart_and_start_at_the_root() -> None:
    source = chart(FILES | release(chart={"valuesFiles": ["values/one.yaml"]}))

    assert [each.name for each in source.base or ()] == ["values/one.yaml"]
    assert chart(FILES | release()).base is None


def test_a_target_path_is_a_value_and_one_that_others_set_too_is_not_built() -> None:
    reference = [{"kind": "ConfigMap", "name": "a", "valuesKey": "n", "targetPath": "deep.gpus"}]
    files = FILES | config("a", n="8")

    assert layers(chart(files | release(valuesFrom=reference))) == ['{"deep": {"gpus": 8}}']
    assert layers(chart(files | release(valuesFrom=reference, values={"deep": {"x": 1}})))[0] == '{"deep": {"gpus": 8}}'
    assert refusal(files | release(valuesFrom=reference, values={"deep": {"gpus": 1}})) == (
        "UNSUPPORTED",
        "valuesFrom with a targetPath that other values also set is not supported",
        False,
    )


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ({"kind": "ConfigMap", "name": "a", "optional": True}, []),
        ({"kind": "ConfigMap", "name": "b", "valuesKey": "none", "optional": True}, []),
        ({"kind": "Secret", "name": "a"}, []),
    ],
)
def test_values_that_may_be_missing(reference: dict[str, Any], expected: list[str]) -> None:
    assert layers(chart(FILES | config("b", x="y") | release(valuesFrom=[reference]))) == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (
            {"kind": "ConfigMap", "name": "a"},
            ("MISSING_VALUES", "the repository has no ConfigMap a for valuesFrom", False),
        ),
        (
            {"kind": "ConfigMap", "name": "b", "valuesKey": "none"},
            ("MISSING_VALUES", 'ConfigMap b has no key "none"', True),
        ),
        (
            {"kind": "ConfigMap", "name": "far"},
            ("MISSING_VALUES", "the repository has no ConfigMap far for valuesFrom", False),
        ),
    ],
)
def test_values_that_are_missing(reference: dict[str, Any], expected: tuple[str, str, bool]) -> None:
    files = FILES | config("b", x="y") | config("far", namespace="elsewhere", **{"values.yaml": "a: 1"})

    assert refusal(files | release(valuesFrom=[reference])) == expected


def test_a_suspended_release_is_counted() -> None:
    assert refusal(FILES | release(suspend=True)) == ("SUSPENDED", "suspend is true", False)


def test_a_chart_of_a_helm_repository_is_remote() -> None:
    remote = {"chart": "redis", "sourceRef": {"kind": "HelmRepository", "name": "bitnami"}}

    assert refusal(FILES | release(chart=remote))[0] == "REMOTE_CHART"


def kustomization(**spec: Any) -> dict[str, str]:
    value = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "apps", "namespace": "team-a"},
        "spec": {"path": "./apps", "sourceRef": {"kind": "GitRepository", "name": "repo"}, **spec},
    }
    return {"flux/ks.yaml": yaml.safe_dump(value)}


def flux_source(files: dict[str, str]) -> KustomizationSource:
    (delivery,) = planned(files)
    assert isinstance(delivery, Delivery), delivery
    assert isinstance(delivery.source, KustomizationSource)
    return delivery.source


def test_variables_of_later_references_and_of_the_kustomization_win() -> None:
    maps = config("a", x="1\n2", y="a") | config("b", y="b", z="b")
    references = [{"kind": "ConfigMap", "name": "a"}, {"kind": "ConfigMap", "name": "b"}]

    source = flux_source(
        REPOSITORY
        | {"apps/a.yaml": ""}
        | maps
        | kustomization(postBuild={"substituteFrom": references, "substitute": {"z": "own"}})
    )

    assert source.substitution is not None
    assert source.substitution.variables == {"x": "12", "y": "b", "z": "own"}
    assert source.substitution.is_active


def secret(name: str, data: dict[str, str], texts: dict[str, str]) -> dict[str, str]:
    metadata = {"name": name, "namespace": "team-a"}
    value = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data, "stringData": texts}
    return {f"flux/Secret-{name}.yaml": yaml.safe_dump(value)}


def test_an_object_of_the_namespace_comes_before_one_that_names_none() -> None:
    data = {"x": "none"}
    unplaced = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    files = FILES | {"base/a.yaml": yaml.safe_dump(unplaced)}
    references = [{"kind": "ConfigMap", "name": "a", "valuesKey": "x"}]

    assert layers(chart(files | release(valuesFrom=references))) == ["none"]
    assert layers(chart(files | config("a", x="own") | release(valuesFrom=references))) == ["own"]


def test_the_data_of_a_secret_is_decoded_and_its_texts_win() -> None:
    files = secret("a", {"x": "b25l", "y": "b25l"}, {"y": "two"})
    build = {"substituteFrom": [{"kind": "Secret", "name": "a"}]}

    source = flux_source(REPOSITORY | {"apps/a.yaml": ""} | files | kustomization(postBuild=build))

    assert source.substitution is not None
    assert source.substitution.variables == {"x": "one", "y": "two"}
    references = [{"kind": "Secret", "name": "a", "valuesKey": key} for key in ("x", "y")]
    assert layers(chart(FILES | files | release(valuesFrom=references))) == ["one", "two"]


@pytest.mark.parametrize("name", ["a", "_", "_1", "A_b1", "1a", "values.yaml", "a-b", ""])
def test_the_name_of_a_variable(name: str) -> None:
    files = REPOSITORY | {"apps/a.yaml": ""} | config("values", **{name: "1"})
    build = {"substitute": {"z": "own"}, "substituteFrom": [{"kind": "ConfigMap", "name": "values"}]}
    (found,) = planned(files | kustomization(postBuild=build))

    if name in ("a", "_", "_1", "A_b1"):
        assert isinstance(found, Delivery)
        return
    assert refusal(files | kustomization(postBuild=build)) == (
        "FAILED",
        f'Flux refuses a variable with the name "{name}"; use letters, digits and "_"',
        True,
    )


def test_without_a_variable_expressions_stay() -> None:
    files = REPOSITORY | {"apps/a.yaml": ""}
    idle = flux_source(files | kustomization(postBuild={"substitute": {}, "x": 1}))
    always = flux_source(files | kustomization(postBuild={"substituteStrategy": "Always"}))

    assert idle.substitution is not None
    assert not idle.substitution.is_active
    assert always.substitution is not None
    assert always.substitution.is_active


def test_a_folder_without_a_kustomization_gets_one_of_all_that_is_below() -> None:
    tree = MemoryTree(
        dict.fromkeys(("x/a.yaml", "x/b.txt", "x/in/c.yml", "x/own/kustomization.yaml", "x/own/d.yaml"), b"")
    )

    assert generated_resources(tree, "x") == ("a.yaml", "in/c.yml", "own")
    assert generated_resources(tree, "x/own") is None


EXPRESSIONS = {
    "${a}": "1",
    "${none}": "",
    "${none:=2}": "2",
    "${none:-2}": "2",
    "${a:=2}": "1",
    "${none:=${a}}": "1",
    "$${a}": "${a}",
    "$a": "$a",
    "${word^^}": "ABC",
    "${word^}": "Abc",
    "${#word}": "3",
    "${word:1:1}": "b",
    "${word/b/x}": "axc",
    "${word#a}": "bc",
    "${word%c}": "ab",
    "${word#x}": "abc",
    "${path#*/}": "b/a.b.c",
    "${path##*/}": "a.b.c",
    "${path%.*}": "a/b/a.b",
    "${path%%.*}": "a/b/a",
    "${path#a?b}": "/a.b.c",
    "${path##[a-b]*[!c].}": "c",
    "${path%[.]c}": "a/b/a.b",
    "${path%%a*}": "",
    "${path#*}": "a/b/a.b.c",
    "${path##*}": "",
    "${path%%*}": "",
    "${path#[a}": "a/b/a.b.c",
    "${path##*b*b}": ".c",
    "${path//b/xy}": "a/xy/a.xy.c",
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text: str) -> None:
    variables = {"a": "1", "word": "abc", "path": "a/b/a.b.c"}

    assert substitute(f"x: {text}\n", variables) == f"x: {EXPRESSIONS[text]}\n"


@given(
    value=st.text("ab/", max_size=12),
    glob=st.text("ab*?[]!/", max_size=8),
    operator=st.sampled_from(["#", "##", "%", "%%"]),
)
def test_a_trimmed_value_is_the_one_that_every_length_compared_gives(value: str, glob: str, operator: str) -> None:
    """fnmatch decides which is the shortest or longest start or end."""
    lengths = range(len(value) + 1)
    starts = [at for at in lengths if fnmatchcase(value[:at], glob)]
    ends = [at for at in lengths if fnmatchcase(value[at:], glob)]
    expected = {
        "#": value[starts[0] :] if starts else value,
        "##": value[starts[-1] :] if starts else value,
        "%": value[: ends[-1]] if ends else value,
        "%%": value[: ends[0]] if ends else value,
    }

    assert substitute(f"${{v{operator}${{glob}}}}", {"v": value, "glob": glob}) == expected[operator]


@pytest.mark.parametrize("glob", ["*b", "*a*b", "a*b", "*[b]", f"*{'a' * 50_000}b", f"*{'a*' * 500}b", f"*{'?' * 90}b"])
@pytest.mark.parametrize("operator", ["#", "##", "%", "%%"])
def test_a_long_value_is_trimmed_in_one_search(operator: str, glob: str) -> None:
    value = "a" * 100_000

    assert substitute(f"${{v{operator}${{glob}}}}", {"v": value, "glob": glob}) == value


@pytest.mark.parametrize("text", ["${a}" * 1000, f"${{a//x/{'y' * 40}}}", f"${{a#{'?' * 101}}}"])
def test_variables_make_no_text_beyond_a_limit(text: str) -> None:
    with pytest.raises(SubstitutionError):
        substitute(text, {"a": "x" * 1_000_000})


@pytest.mark.parametrize("text", ["${a", "${1}", "${a@Q}", "${none:?}", "${a:=" * 30 + "}" * 30])
def test_expressions_that_are_none(text: str) -> None:
    with pytest.raises(SubstitutionError):
        substitute(text, {"b": "1"})


@pytest.mark.parametrize(("ignores", "expected"), [(True, ["../there"]), (False, ["../there", "../absent"])])
def test_components_that_are_missing_may_be_ignored(ignores: bool, expected: list[str]) -> None:
    files = {"apps/kustomization.yaml": "resources: []\n", "there/kustomization.yaml": "kind: Component\n"}
    options = {"components": ["../there", "../absent"], "ignoreMissingComponents": ignores}

    source = flux_source(REPOSITORY | files | kustomization(**options))

    assert source.change is not None
    assert source.change({})["components"] == expected


def test_an_external_artifact_is_not_built() -> None:
    source = {"sourceRef": {"kind": "ExternalArtifact", "name": "apps"}}

    reason = "the source ExternalArtifact apps is not supported"
    assert refusal(REPOSITORY | {"apps/a.yaml": ""} | kustomization(**source)) == ("UNSUPPORTED", reason, False)
