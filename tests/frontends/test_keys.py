"""Labels and annotations that no component reads: they are misspelt, misplaced, or have a meaningless value."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn import KubeObject
from krmfn.fieldpath import format_path
from packwise.keys import KEYS, PARTS, key_findings
from packwise.objects.index import Index
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from packwise.revisions.grove import RECORDS

BY_NAME = {revision.name: revision for revision in RECORDS}
NEWEST = RECORDS[-1]
Found = tuple[str, str, str, str]


def results_of(value: dict[str, Any], release: str | None = None) -> list[Found]:
    """Return rule, severity, path and message of each finding about one object."""
    revision = NEWEST if release is None else BY_NAME[release]
    found = key_findings(Index.of((KubeObject.new(value),)), revision)
    return [(each.rule, each.severity.value, format_path(each.path), each.message) for each in found]


def pod_clique_set(clique: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    cliques = [{"name": "a", **(clique or {})}]
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "llm", **metadata},
        "spec": {"template": {"cliques": cliques}},
    }


def graph(spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "llm", **metadata},
        "spec": spec or {},
    }


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("kai.scheduler/queu", "kai.scheduler/queue"), ("kai.scheduler/Queue", "kai.scheduler/queue"),
        ("kai.scheduler/quue", "kai.scheduler/queue"), ("kai.schedular/queue", "kai.scheduler/queue"),
        ("kai-scheduler/queue", "kai.scheduler/queue"), ("run.ai/queue", "kai.scheduler/queue"),
        ("grove.io/queue", "kai.scheduler/queue"), ("kai.scheduler/preemptability", "kai.scheduler/preemptibility"),
        ("grove.io/mnnvl-grp", "grove.io/mnnvl-group"), ("grove.io/mnvl-group", "grove.io/mnnvl-group"),
        ("grove.io/auto-mnvl", "grove.io/auto-mnnvl"), ("groove.io/mnnvl-group", "grove.io/mnnvl-group"),
        ("nvidia.com/mnnvl-group", "grove.io/mnnvl-group"), ("mnnvl-group", "grove.io/mnnvl-group"),
        ("nvidia.com/enable-grov", "nvidia.com/enable-grove"), ("nvdia.com/enable-grove", "nvidia.com/enable-grove"),
        ("grove.io/enable-grove", "nvidia.com/enable-grove"),
        ("nvidia.com/dynamo-discovery-backand", "nvidia.com/dynamo-discovery-backend"),
        ("kai.scheduler/topology-requir", "kai.scheduler/topology-required-placement"),
        ("kai.scheduler/topology-preferred", "kai.scheduler/topology-preferred-placement"),
        ("grove.io/auto-mnnvl-group", "grove.io/auto-mnnvl"), ("kai.scheduler/queue-name", "kai.scheduler/queue"),
        ("scheduling.run.ai/queue-name", "kai.scheduler/queue"), ("scheduling.run.ai/queue", "kai.scheduler/queue"),
        ("priorityClassname", "priorityClassName"), ("gpu-fractions", "gpu-fraction"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["labels", "annotations"])
@pytest.mark.parametrize("make", [pod_clique_set, graph])
def test_a_key_near_a_known_one(written: str, right: str, form: str, make: Any) -> None:
    ((rule, severity, path, message),) = results_of(make(**{form: {written: "x"}}))

    assert (rule, severity, path) == ("key-spelling", "warning", format_path(("metadata", form, written)))
    assert message.startswith("no known component reads this key")
    assert message.endswith(f'; did you mean "{right}"?')


@pytest.mark.parametrize(
    "key",
    [
        "app", "app.kubernetes.io/name", "argocd.argoproj.io/sync-wave", "config.kubernetes.io/origin", "team", "user",
        "nvidia.com/workload", "nvidia.com/topology", "nvidia.com/role", "nvidia.com/backend", "nvidia.com/recipe",
        "nvidia.com/gpu.product", "nvidia.com/queue", "example.com/queue", "kueue.x-k8s.io/queue-name", "priority",
        "kai.scheduler/migrated-from", "kai.scheduler/requires-env-vars", "grove.io/something", "gpu", "gpu-type",
        "volcano.sh/queue-name", "nvidia.com/profile", "scheduling.grove.io/anchor", "kai.scheduler/${NAME}", "queue",
        "nvidia.com/dynamo", "nvidia.com/dynamo-topology.rack", "{{ .Values.prefix }}/queue", "run.ai/anything", "",
        "x" * 5000, "kai.scheduler/" + "q" * 5000,
    ],
)  # fmt: skip
def test_keys_of_others_are_left_alone(key: str) -> None:
    assert results_of(pod_clique_set(labels={key: "a"}, annotations={key: "a"})) == []
    assert results_of(graph(labels={key: "a"}, annotations={key: "a"})) == []


def test_every_known_key_is_spelt_right_wherever_it_stands() -> None:
    for key in KEYS:
        metadata = {"labels": {key: "true"}, "annotations": {key: "true"}}
        for make in (pod_clique_set, graph):
            assert [each for each in results_of(make(**metadata)) if each[0] == "key-spelling"] == []


def test_what_a_key_says_of_itself_holds() -> None:
    """A key at a place where a component reads it, with an accepted value, has no finding."""
    revisions = RECORDS
    for key in KEYS.values():
        for form, parts in (("labels", key.labels), ("annotations", key.annotations)):
            for part in parts:
                value: Any = {form: {key.name: key.values[0] if key.values else "x"}}
                for step in reversed(part.path):
                    value = [value] if step == "*" else {step: value}
                item = {"apiVersion": f"{part.kind[0]}/v1", "kind": part.kind[1], **value}
                assert any(results_of(item, revision.name) == [] for revision in revisions), (
                    key.name,
                    form,
                    part.path,
                )


def test_the_places_are_of_kinds_that_are_there_once() -> None:
    places = [(part.kind, part.path) for part in PARTS]

    assert len(set(places)) == len(places)


def test_a_label_in_the_place_of_an_annotation() -> None:
    assert results_of(pod_clique_set(labels={"grove.io/mnnvl-group": "train"})) == [
        (
            "key-place", "warning", "metadata.labels[grove.io/mnnvl-group]",
            "must be an annotation here: Grove's operator does not read a label of this name",
        )
    ]  # fmt: skip
    ((_, _, path, message),) = results_of(pod_clique_set({"labels": {"gpu-fraction": "0.5"}}))
    assert path == "spec.template.cliques[0].labels.gpu-fraction"
    assert message == "must be an annotation here: KAI does not read a label of this name"


def test_an_annotation_in_the_place_of_a_label() -> None:
    misplaced = pod_clique_set(annotations={"kai.scheduler/preemptibility": "preemptible"})

    ((rule, _, path, message),) = results_of(misplaced, "v0.1.0-alpha.10")

    assert (rule, path) == ("key-place", "metadata.annotations[kai.scheduler/preemptibility]")
    assert message == "must be a label here: KAI's pod-grouper does not read an annotation of this name"


def test_a_queue_as_annotation_is_read_by_grove_from_the_release_on_that_makes_podgroups() -> None:
    workload = pod_clique_set(annotations={"kai.scheduler/queue": "q"})
    assert results_of(workload) == results_of(workload, "upstream") == []
    ((rule, severity, _, message),) = results_of(workload, "v0.1.0-alpha.10")
    assert (rule, severity) == ("key-place", "warning")
    assert message == (
        "must be a label: only Grove since v0.1.0-alpha.12-rc2 reads the annotation, and this is v0.1.0-alpha.10"
    )
    assert results_of(pod_clique_set(labels={"kai.scheduler/queue": "q"}), "v0.1.0-alpha.10") == []
    # A component reads the other label.
    both = {"kai.scheduler/queue": "q"}
    assert results_of(pod_clique_set(labels=both, annotations=both), "v0.1.0-alpha.10") == []


@pytest.mark.parametrize("form", ["labels", "annotations"])
def test_a_queue_of_a_graph(form: str) -> None:
    ((rule, _, _, message),) = results_of(graph(**{form: {"kai.scheduler/queue": "q"}}))
    assert rule == "key-place"
    assert message == (
        "no component reads this key here: in a DynamoGraphDeployment, set the annotation "
        "nvidia.com/kai-scheduler-queue"
    )
    assert results_of(graph({"labels": {"kai.scheduler/queue": "q"}})) == []


@pytest.mark.parametrize("form", ["labels", "annotations"])
def test_the_former_name_of_the_queue(form: str) -> None:
    ((rule, severity, _, message),) = results_of(pod_clique_set(**{form: {"runai/queue": "q"}}))
    assert (rule, severity) == ("key-place", "warning")
    assert message == "only KAI before v0.6 reads this key; later releases read kai.scheduler/queue"
    # The advice applies to both.
    assert results_of(pod_clique_set(labels={"runai/queue": "q", "kai.scheduler/queue": "q"})) == []


def test_keys_of_dynamo_are_read_of_the_graph_alone() -> None:
    ((rule, _, path, message),) = results_of(graph({"annotations": {"nvidia.com/enable-grove": "false"}}))
    assert (rule, path) == ("key-place", "spec.annotations[nvidia.com/enable-grove]")
    assert message == (
        "Dynamo's operator does not read this key here; set it as an annotation of a DynamoGraphDeployment"
    )
    ((_, _, _, message),) = results_of(pod_clique_set(annotations={"nvidia.com/kai-scheduler-queue": "q"}))
    assert message.startswith("Dynamo's operator does not read this key here; ")
    ((_, _, _, message),) = results_of(graph(labels={"nvidia.com/enable-grove": "false"}))
    assert message == "must be an annotation here: Dynamo's operator does not read a label of this name"


def test_mnnvl_by_release() -> None:
    auto = pod_clique_set(annotations={"grove.io/auto-mnnvl": "enabled"})
    assert results_of(auto, "v0.1.0-alpha.8") == []
    ((rule, _, _, message),) = results_of(auto, "v0.1.0-alpha.9")
    assert rule == "key-place"
    assert message == (
        "only Grove up to v0.1.0-alpha.8 reads this key, and this is v0.1.0-alpha.9: grove.io/mnnvl-group replaces it"
    )
    group = pod_clique_set(annotations={"grove.io/mnnvl-group": "a"})
    assert results_of(group, "v0.1.0-alpha.8") == []
    ((_, _, _, message),) = results_of(group, "grep-244")
    assert message.startswith("only Grove since v0.1.0-alpha.8 reads this key, and this is grep-244")


def test_what_only_the_pod_grouper_reads() -> None:
    workload = pod_clique_set(labels={"kai.scheduler/preemptibility": "non-preemptible"})
    assert results_of(workload, "v0.1.0-alpha.10") == []
    ((rule, _, _, message),) = results_of(workload)
    assert rule == "key-place"
    assert message == (
        "only KAI's pod-grouper with Grove before v0.1.0-alpha.12-rc2 reads this key, and "
        f"this is {NEWEST.name}: Grove makes the PodGroups without it"
    )


@pytest.mark.parametrize("value", ["no", "0", "off", "disabled", "Flase", ""])
def test_a_value_that_is_ignored(value: str) -> None:
    ((rule, severity, path, message),) = results_of(graph(annotations={"nvidia.com/enable-grove": value}))
    assert (rule, severity, path) == ("key-value", "warning", "metadata.annotations[nvidia.com/enable-grove]")
    assert message.startswith(f'must be one of "true", "false"; got "{value}"')
    assert "with other values the operator makes a PodCliqueSet" in message


@pytest.mark.parametrize("value", ["true", "false", "False", "TRUE", "${GROVE}", "{{ .Values.grove }}"])
def test_a_value_that_is_taken(value: str) -> None:
    assert results_of(graph(annotations={"nvidia.com/enable-grove": value})) == []


def test_values_that_are_refused() -> None:
    ((rule, severity, _, message),) = results_of(graph(annotations={"nvidia.com/dynamo-kube-discovery-mode": "pods"}))
    assert (rule, severity) == ("key-refused", "error")
    assert message == (
        'must be one of "pod", "container"; got "pods". Dynamo\'s webhook refuses other values in a graph; '
        'did you mean "pod"?'
    )
    assert results_of(graph(annotations={"nvidia.com/vllm-distributed-executor-backend": "MP"})) == []
    ((_, severity, _, _),) = results_of(graph(annotations={"nvidia.com/vllm-distributed-executor-backend": "mpi"}))
    assert severity == "error"
    # No component refuses keys that are copied from graph components to pods.
    ((rule, _, _, _),) = results_of(pod_clique_set({"annotations": {"nvidia.com/dynamo-kube-discovery-mode": "pods"}}))
    assert rule == "key-value"
    component = {"name": "a", "podTemplate": {"metadata": {"annotations": {
        "nvidia.com/dynamo-discovery-backend": "kubernets"}}}}  # fmt: skip
    ((_, severity, path, message),) = results_of(graph({"components": [component]}))
    assert severity == "warning"
    assert path.startswith("spec.components[0].podTemplate.metadata.annotations")
    assert 'did you mean "kubernetes"?' in message


def test_metadata_of_any_shape_is_passed_over() -> None:
    for wrong in (
        None,
        1,
        "a",
        [1],
        {"labels": 1},
        {"labels": [1], "annotations": {"a": None, "kai.scheduler/queue": 1}},
    ):
        workload = {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": wrong, "spec": wrong}
        assert results_of(workload, "v0.1.0-alpha.12-rc1" if wrong is None else "upstream") == []
    assert results_of(graph({"services": {"a": None, "b": {"annotations": {"nvidia.com/enable-grove": "false"}}}}))


def test_a_render_reports_them() -> None:
    settings = KubeObject.new({"apiVersion": "packwise.dev/v1alpha1", "kind": "TopologyRender",
                               "metadata": {"name": "s"}, "spec": {"revision": "v0.1.0-alpha.8"}})  # fmt: skip
    workload = pod_clique_set(labels={"kai.scheduler/queu": "q"}, annotations={"grove.io/mnnvl-grp": "a"})
    results = render(Package((settings, KubeObject.new(workload)))).results
    assert [r.tags["rule"] for r in results if r.tags["rule"].startswith("key-")] == ["key-spelling", "key-spelling"]


def test_without_a_release_nothing_is_said_of_releases() -> None:
    workload = pod_clique_set(annotations={"kai.scheduler/queue": "q"})
    results = render(Package((KubeObject.new(workload),))).results
    assert [r for r in results if r.tags["rule"].startswith("key-")] == []
