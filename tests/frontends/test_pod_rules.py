"""The API server's errors about a workload's pods, in its own words, and resource names that no device has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from krmfn import KubeObject
from krmfn.fieldpath import format_path
from packwise.kubernetes import canonical_quantity, quantity_fault, read_nanos
from packwise.objects.workload_kinds import WORKLOAD_KINDS, Grouping, WorkloadKind
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from packwise.pod_rules import pod_problems
from packwise.pod_templates import template_problems
from tests.places import ROOT

GPU = "nvidia.com/gpu"
FIRST = "spec.containers[0]"
OVERCOMMITS = "Limit must be set for non overcommitable resources"
OPERATORS = 'supported values: "Equal", "Exists"'
EFFECTS = 'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'


def found(spec: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    return [(rule.name, format_path(problem.path), problem.operator_message) for rule, problem in pod_problems(spec)]


def resource_errors(limits: dict[str, Any] | None = None, requests: dict[str, Any] | None = None) -> list[str | None]:
    """Return the texts of the API server about one container. None stands for a warning without such a text."""
    sides = {side: part for side, part in (("limits", limits), ("requests", requests)) if part is not None}
    return [text for _, _, text in found({"containers": [{"name": "main", "image": "app:1", "resources": sides}]})]


def toleration_errors(**fields: Any) -> list[str | None]:
    return [text for _, _, text in found({"tolerations": [fields]})]


@pytest.mark.parametrize(
    "name",
    [
        GPU, "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared",
        "nvidia.com/gpu-h100", "nvidia.com/lpu", "nvidia.com/pgpu", "rdma/hca", "rdma/hca_shared_devices_a", "rdma/ib",
        "vpc.amazonaws.com/efa", "habana.ai/gaudi", "google.com/tpu", "example.com/gpu", "nvidia.com/rdma_a", "x/y",
        "hugepages-2Mi", "hugepages-1Gi", "aws.amazon.com/neuroncore", "${DEVICE}", "nvidia.com/GA102GL_A10",
        "nvidia.com/mig-1g.10gb.me", "nvidia.com/mig-1c.3g.20gb", "nvidia.com/mig-1g.5gb.shared",
        "nvidia.com/mig-small",
        "nvidia.com/mig-1g.12gb.me.all", "nvidia.com/gpumem", "aliyun.com/gpu-count", "k8s.amazonaws.com/vgpu",
        "tencent.com/vcuda-core", "aliyun.com/gpu-mem", "volcano.sh/vgpu-number",
    ],
)  # fmt: skip
def test_devices_of_any_vendor_stand_in_limits(name: str) -> None:
    assert resource_errors({name: "1"}) == []
    assert resource_errors({name: 1}, {name: "1"}) == []


def test_huge_pages_in_requests_alone_are_told_and_do_not_keep_a_gang_from_being_placed() -> None:
    text = f"spec.containers[0].resources.limits: Required value: {OVERCOMMITS}"

    said = found({"containers": [{"name": "main", "image": "app:1", "resources": {"requests": {"hugepages-2Mi": 1}}}]})

    assert [(rule, operator) for rule, _, operator in said] == [("pod-huge-pages", text)]
    assert resource_errors({"hugepages-2Mi": 1}, {"hugepages-2Mi": 2}) == [
        f'{FIRST}.resources.requests: Invalid value: "2": must be equal to hugepages-2Mi limit of 1'
    ]


def test_what_a_container_may_request_alone() -> None:
    assert resource_errors(None, {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": 1}) == []
    assert resource_errors({"cpu": 2, "memory": "2Gi"}, {"cpu": "0.5", "memory": "2048Mi"}) == []
    assert resource_errors({GPU: "8", "cpu": 0.5}, {GPU: 8.0, "cpu": "500m"}) == []


@pytest.mark.parametrize(
    ("limits", "requests", "texts"),
    [
        ({"gpu": 1}, None, ['limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified']),
        ({"pods": 1}, None, ['limits[pods]: Invalid value: "pods": must be a standard resource for containers']),
        ({"requests.nvidia.com/gpu": 1}, None,
         ['limits[requests.nvidia.com/gpu]: Invalid value: "requests.nvidia.com/gpu": doesn\'t follow extended '
          "resource name standard"]),
        ({GPU: "0.5"}, None, [f'limits[{GPU}]: Invalid value: "500m": must be an integer']),
        ({GPU: 1.5}, None, [f'limits[{GPU}]: Invalid value: "1500m": must be an integer']),
        ({"amd.com/gpu": -1}, None, ['limits[amd.com/gpu]: Invalid value: "-1": must be greater than or equal to 0']),
        ({"cpu": "-1"}, None, ['limits[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
        (None, {GPU: "8"}, [f"limits: Required value: {OVERCOMMITS}"]),
        ({}, {"rdma/hca": "1"}, [f"limits: Required value: {OVERCOMMITS}"]),
        ({GPU: 8}, {GPU: 4}, [f'requests: Invalid value: "4": must be equal to {GPU} limit of 8']),
        ({GPU: 4}, {GPU: 8}, [f'requests: Invalid value: "8": must be equal to {GPU} limit of 4']),
        ({"cpu": "1"}, {"cpu": "2000m"},
         ['requests: Invalid value: "2": must be less than or equal to cpu limit of 1']),
        ({"memory": "1Gi"}, {"memory": "1025Mi"},
         ['requests: Invalid value: "1025Mi": must be less than or equal to memory limit of 1Gi']),
    ],
)  # fmt: skip
def test_resources_that_are_refused(
    limits: dict[str, Any] | None, requests: dict[str, Any] | None, texts: list[str]
) -> None:
    assert resource_errors(limits, requests) == [f"{FIRST}.resources.{text}" for text in texts]


def test_an_image_with_a_space_and_a_name_of_a_resource_that_is_none() -> None:
    resources = {"limits": {"-x": 1}}

    (image, name) = found({"containers": [{"name": "main", "image": "app:1 ", "resources": resources}]})

    space = "must not have leading or trailing whitespace"
    path = f"{FIRST}.image"
    assert image == ("pod-container", path.removeprefix("spec."), f'{path}: Invalid value: "app:1 ": {space}')
    assert name[0] == "pod-resource"
    assert (name[2] or "").startswith(f'{FIRST}.resources.limits[-x]: Invalid value: "-x": name part must consist of')


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nvidia.com/gpus", GPU), ("nvdia.com/gpu", GPU), ("nvidia.com/GPU", GPU), ("nvidia.com/gup", GPU),
        ("nvidia.con/gpu", GPU), ("nvidia/gpu", GPU), ("nvidia.io/gpu", GPU), ("nivdia.com/gpus", GPU),
        ("gpu.nvidia.com/gpu", GPU), ("amd.com/gpus", "amd.com/gpu"),
        ("vpc.amazonaws.com/efas", "vpc.amazonaws.com/efa"),
        ("nvidia.com/mig-1g5gb", "nvidia.com/mig-1g.5gb"), ("nvidia.com/mig-1g-5gb", "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/mig-3g.20", "nvidia.com/mig-3g.20gb"), ("nvidia.com/mig1g.5gb", "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/gpu-count", GPU), ("nvidia.com/gpu.count", GPU), ("nvidia.com/gpus.count", GPU),
        ("nvidia.com/gpu.product", GPU), ("gpu.intel.com/i951", "gpu.intel.com/i915"),
        ("nvidia.com/gpu.share", "nvidia.com/gpu.shared"),
    ],
)  # fmt: skip
def test_a_name_near_that_of_a_device_is_a_warning(name: str, meant: str) -> None:
    spec = {"containers": [{"name": "main", "image": "app:1", "resources": {"limits": {name: 1}}}]}

    ((rule, problem),) = pod_problems(spec)

    assert (rule.name, rule.severity, problem.stage) == ("pod-resource-name", "warning", None)
    assert problem.message.endswith(f'; did you mean "{meant}"?')


@pytest.mark.parametrize(
    ("name", "meant"), [("gpu", GPU), ("nvidia-gpu", GPU), ("gpus", GPU), ("memroy", "memory"), ("CPU", "cpu")]
)
def test_a_name_without_a_domain_is_told_what_it_was_to_be(name: str, meant: str) -> None:
    ((_, problem),) = pod_problems({"containers": [{"name": "a", "image": "b", "resources": {"limits": {name: 1}}}]})

    assert problem.message.endswith(f'; did you mean "{meant}"?')


def test_containers() -> None:
    spec = {
        "initContainers": [{"name": "A", "image": "app:1"}, {"image": "app:1"}],
        "containers": [{"name": "main"}, {"name": "", "image": ""}, {"name": "${NAME}", "image": "${IMAGE}"}],
    }

    assert [text for _, _, text in found(spec)] == [
        'spec.initContainers[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case '
        "alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "
        "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        "spec.initContainers[1].name: Required value",
        "spec.containers[0].image: Required value",
        "spec.containers[1].name: Required value",
        "spec.containers[1].image: Required value",
    ]


def test_tolerations() -> None:
    at = "spec.tolerations[0]"
    assert toleration_errors(key="a", operator="Exists", effect="NoSchedule") == []
    assert toleration_errors(key="a", value="b", effect="") == []
    assert toleration_errors(operator="Exists") == []
    assert toleration_errors(key="a", operator="Gt", value="5", effect="NoExecute", tolerationSeconds=5) == []
    assert toleration_errors(key="a", operator="Exist") == [f'{at}.operator: Unsupported value: "Exist": {OPERATORS}']
    assert toleration_errors(key="a", operator="exists") == [f'{at}.operator: Unsupported value: "exists": {OPERATORS}']
    assert toleration_errors(key="a", effect="NoSched") == [f'{at}.effect: Unsupported value: "NoSched": {EFFECTS}']
    assert toleration_errors(value="b") == [
        f'{at}.operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values '
        'and all keys"'
    ]
    assert toleration_errors(key="a", operator="Exists", value="b") == [None]
    assert toleration_errors(key="a", tolerationSeconds=5, effect="NoSchedule") == [
        f"{at}.effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set"
    ]


def test_keys_and_values_of_tolerations_are_those_of_taints() -> None:
    at = "spec.tolerations[0]"
    (key,) = toleration_errors(key="a b", operator="Exists")
    assert (key or "").startswith(f'{at}.key: Invalid value: "a b": name part must consist of alphanumeric characters')
    (value,) = toleration_errors(key="a", value="b c")
    assert (value or "").startswith(f'{at}.operator: Invalid value: "b c": a valid label must be an empty string or')
    assert toleration_errors(key="${KEY}", value="{{ value }}") == []
    assert toleration_errors(key="example.com/dedicated", value="") == []


def test_a_pod_has_a_container_and_none_twice() -> None:
    one = {"name": "main", "image": "app:1"}

    assert found({"containers": []}) == [("pod-container", "containers", "spec.containers: Required value")]
    assert [text for _, _, text in found({"containers": [one, one], "initContainers": [one]})] == [
        'spec.containers[1].name: Duplicate value: "main"', 'spec.initContainers[0].name: Duplicate value: "main"'
    ]  # fmt: skip


def test_what_is_nearly_an_effect() -> None:
    ((_, problem),) = pod_problems({"tolerations": [{"key": "a", "effect": "NoSched"}]})

    assert problem.message.endswith('got "NoSched"; did you mean "NoSchedule"?')


QUANTITIES = json.loads((ROOT / "testdata/kubernetes/quantities.json").read_text(encoding="utf-8"))
"""Texts with the answers of Kubernetes' own ParseQuantity: tests/kubernetes_types/quantities/main.go."""
LARGEST_POWER = 1000
"""A power of ten. packwise computes with this power instead of a larger one."""


def test_quantities_are_read_and_printed_as_kubernetes_does() -> None:
    for each in QUANTITIES:
        text = each["text"]
        read = quantity_fault(text), read_nanos(text), "" if "error" in each else canonical_quantity(text)
        nanos = None
        if "error" not in each:
            nanos = int(each["unscaled"]) * 10 ** (min(each.get("power", 0), LARGEST_POWER) + 9)
        assert read == (each.get("error"), nanos, each.get("printed", "")), text


def workload(name: str, container: dict[str, Any]) -> KubeObject:
    clique = {"name": name, "spec": {"roleName": "a", "replicas": 1, "podSpec": {"containers": [container]}}}
    return KubeObject.new(
        {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "PodCliqueSet",
            "metadata": {"name": "web", "namespace": "team", "labels": {"kai.scheduler/queue": "q"}},
            "spec": {"replicas": 1, "template": {"cliques": [clique]}},
        }
    )


def test_a_workload_is_taken_and_its_pods_are_refused() -> None:
    (result,) = [r for r in render(Package((workload("a", {"name": "main"}),))).results if r.severity == "error"]

    assert (result.tags["rule"], result.tags["stage"]) == ("pod-container", "pod")
    assert result.tags["operatorMessage"] == "spec.containers[0].image: Required value"
    assert result.field is not None
    assert result.field.path == "spec.template.cliques[0].spec.podSpec.containers[0]"


def test_of_a_workload_that_is_refused_nobody_creates_pods() -> None:
    results = [r for r in render(Package((workload("A", {"name": "main"}),))).results if r.severity == "error"]

    stages = {result.tags["rule"]: result.tags.get("stage") for result in results}
    assert stages["pod-container"] is None
    assert "webhook" in stages.values()


CONTAINER = {"name": "main", "image": "app:1"}
JOB = WORKLOAD_KINDS["batch", "Job"]
UNKNOWN_FIELDS: list[tuple[dict[str, Any], str, str]] = [
    ({"nodeselector": {}}, "nodeselector", 'a PodSpec; did you mean "nodeSelector"?'),
    ({"containers": [{**CONTAINER, "limits": {GPU: 1}}]}, "containers[0].limits",
     'a Container; did you mean "resources.limits"?'),
    ({"containers": [{**CONTAINER, "resources": {"limit": {}}}]}, "containers[0].resources.limit",
     'a ResourceRequirements; did you mean "limits"?'),
    ({"containers": [{**CONTAINER, "nodeSelector": {}}]}, "containers[0].nodeSelector",
     "a Container, but of a PodSpec."),
    ({"initContainers": [{**CONTAINER, "name": "init", "gpus": 1}]}, "initContainers[0].gpus", "a Container."),
    ({"affinity": {"nodeAffinity": {"required": {}}}}, "affinity.nodeAffinity.required",
     'a NodeAffinity; did you mean "requiredDuringSchedulingIgnoredDuringExecution"?'),
    ({"volumes": [{"name": "data", "readinessProbe": {}}]}, "volumes[0].readinessProbe", "a Volume."),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "path", "text"), UNKNOWN_FIELDS)
def test_the_api_server_does_not_know_a_field(spec: dict[str, Any], path: str, text: str) -> None:
    ((rule, problem),) = template_problems(JOB, JOB.grouping, ("spec", "template"), {"containers": [CONTAINER], **spec})

    assert (rule.name, rule.severity, format_path(problem.path)) == ("pod-unknown-field", "warning", path)
    assert problem.message == (
        f'"{problem.path[-1]}" is not a field of {text} The API server refuses the object for kubectl, and drops the '
        "field for other clients"
    )


def test_fields_with_keys_of_users_and_placeholders_are_not_compared() -> None:
    spec = {
        "nodeSelector": {"example.com/any": "a"},
        "overhead": {"example.com/any": "1"},
        "volumes": [{"name": "a", "csi": {"driver": "d", "volumeAttributes": {"any": "b"}}}],
        "${FIELD}": "c",
    }

    assert list(template_problems(JOB, JOB.grouping, ("spec", "template"), {"containers": [CONTAINER], **spec})) == []


@pytest.mark.parametrize("kind", [None, WORKLOAD_KINDS["serving.knative.dev", "Service"]])
def test_a_template_that_is_no_whole_pod_can_have_other_fields(kind: WorkloadKind | None) -> None:
    spec: dict[str, Any] = {"containers": [CONTAINER], "containerConcurrency": 1}

    assert list(template_problems(kind, Grouping.REVISION, ("spec", "template"), spec)) == []
