"""The parts of a workload with Kubernetes' own types, the podSpec and the metrics, down to the last field."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from krmfn.fieldpath import format_path
from packwise.fields import (
    Array,
    Field,
    Flag,
    IntOrString,
    Kind,
    Number,
    Quantities,
    Quantity,
    Reference,
    Text,
    TextMap,
)
from packwise.findings import Effect, Stage
from packwise.frontends.grove.podcliqueset import check_shape
from packwise.revisions.grove import GREP_244
from packwise.validate.decode import KEYS, REQUIRED, kubernetes_struct
from tests.places import ROOT, missing

from .cases import edited

CLIQUE = "spec.template.cliques[0].spec."
POD = CLIQUE + "podSpec."
MAIN = POD + "containers[0]."
INTO = "json: cannot unmarshal {} into Go struct field {} of type {}"
AT = "spec.template.cliques.spec.podSpec."

DECODE: list[tuple[str, Any, str, str]] = [
    (MAIN + "image", 5, "must be a string; got 5",
     INTO.format("number", f"Container.{AT}containers.image", "string")),
    (MAIN + "image", 1.5, "must be a string; got 1.5",
     INTO.format("number", f"Container.{AT}containers.image", "string")),
    (MAIN + "command", "python", 'must be a list; got "python"',
     INTO.format("string", f"Container.{AT}containers.command", "[]string")),
    (MAIN + "env", [{"name": "REPLICAS", "value": 3}], "must be a string; got 3",
     INTO.format("number", f"EnvVar.{AT}containers.env.value", "string")),
    (MAIN + "ports", [{"containerPort": "http"}], 'must be an integer; got "http"',
     INTO.format("string", f"ContainerPort.{AT}containers.ports.containerPort", "int32")),
    (MAIN + "livenessProbe", {"httpGet": {"port": True}}, "must be an integer of 32 bits or a string; got true",
     INTO.format("bool", f"HTTPGetAction.{AT}containers.livenessProbe.httpGet.port", "int32")),
    (MAIN + "securityContext", {"capabilities": {"add": "ALL"}}, 'must be a list; got "ALL"',
     INTO.format("string", f"Capabilities.{AT}containers.securityContext.capabilities.add", "[]v1.Capability")),
    (POD + "hostNetwork", "yes", 'must be true or false; got "yes"',
     INTO.format("string", f"PodSpec.{AT}hostNetwork", "bool")),
    (POD + "nodeSelector", {"pool": 1}, "must be a string; got 1",
     INTO.format("number", f"PodSpec.{AT}nodeSelector", "string")),
    (POD + "volumes", [{"name": "a", "emptyDir": []}], "must be a mapping; got a list",
     INTO.format("array", f"Volume.{AT}volumes.emptyDir", "v1.EmptyDirVolumeSource")),
    (MAIN + "resources", {"limits": {"memory": "64 GiB"}}, 'must be a quantity such as 2, 500m or 64Gi; got "64 GiB"',
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    (MAIN + "resources", {"limits": {"memory": "64ki"}}, 'must be a quantity such as 2, 500m or 64Gi; got "64ki"',
     "unable to parse quantity's suffix"),
    (CLIQUE + "autoScalingConfig", {"maxReplicas": 3, "metrics": [{"type": "Resource", "resource": {"name": 1}}]},
     "must be a string; got 1",
     INTO.format("number", "ResourceMetricSource.spec.template.cliques.spec.autoScalingConfig.metrics.resource.name",
                 "v1.ResourceName")),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message", "text"), DECODE)
def test_a_value_of_another_type_is_refused_with_the_decoders_text(
    path: str, value: Any, message: str, text: str
) -> None:
    (problem,) = check_shape(edited({path: value}), GREP_244)

    assert (problem.stage, problem.message, problem.operator_message) == (Stage.DECODE, message, text)
    assert format_path(problem.path).startswith(path)


def test_of_several_problems_the_decoder_tells_the_one_that_stops_it() -> None:
    problems = check_shape(
        edited({"spec.replicas": "two", MAIN + "image": 5, MAIN + "resources": {"requests": {"cpu": "a"}}}),
        GREP_244,
    )

    assert [(format_path(problem.path), problem.operator_message) for problem in problems] == [
        ("spec.replicas", None),
        (MAIN + "image", None),
        (
            MAIN + "resources.requests.cpu",
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ]


WRITTEN_MANY_WAYS = [
    {"limits": {"cpu": 2, "memory": "64Gi", "nvidia.com/gpu": "8", "ephemeral-storage": 1.5}},
    {"requests": {"cpu": "500m", "memory": "1e9", "example.com/a": None}},
]


@pytest.mark.parametrize("resources", WRITTEN_MANY_WAYS)
def test_quantities_are_numbers_or_texts(resources: dict[str, Any]) -> None:
    assert check_shape(edited({MAIN + "resources": resources}), GREP_244) == []


UNKNOWN = [
    (MAIN + "imagePulPolicy",
     f'unknown field "imagePulPolicy" of "{MAIN[:-1]}"; did you mean "imagePullPolicy"?'),
    (POD + "toleration", f'unknown field "toleration" of "{POD[:-1]}"; did you mean "tolerations"?'),
    (MAIN + "resources.limit",
     f'unknown field "limit" of "{MAIN}resources", known: "claims", "limits", "requests"; did you mean "limits"?'),
]  # fmt: skip


@pytest.mark.parametrize(("path", "message"), UNKNOWN)
def test_an_unknown_field_names_what_is_meant(path: str, message: str) -> None:
    (problem,) = check_shape(edited({path: []}), GREP_244)

    assert (format_path(problem.path), problem.message, problem.effect) == (path, message, Effect.UNKNOWN)
    assert (problem.stage, problem.operator_message) == (None, None)


def test_names_of_groves_earlier_designs_mean_nothing_to_a_pod() -> None:
    (problem,) = check_shape(edited({POD + "startupType": []}), GREP_244)

    assert "it is now" not in problem.message


def test_a_required_list_is_not_healed_by_the_round_trip() -> None:
    affinity: dict[str, Any] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}
    at = f"{POD}affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"

    (problem,) = check_shape(edited({POD + "affinity": affinity}), GREP_244)

    assert (problem.stage, problem.operator_message) == (Stage.SCHEMA, f"{at}: Required value")


def test_a_required_text_or_number_is() -> None:
    assert check_shape(edited({MAIN + "env": [{"value": "a"}], MAIN + "ports": [{"name": "http"}]}), GREP_244) == []


# The names of the kinds of fields in a JSON Schema of the API server.
SHAPES: dict[type, tuple[str | None, bool]] = {
    Text: ("string", False),
    Flag: ("boolean", False),
    Number: ("integer", False),
    Quantity: (None, True),
    IntOrString: (None, True),
    Array: ("array", False),
    TextMap: ("object", False),
    Quantities: ("object", False),
    Reference: ("object", False),
}


def pod_spec_of(crds: Path) -> dict[str, Any]:
    """Return the schema of `podSpec` in the CRD of PodCliqueSets."""
    text = (crds / "alpha7" / "grove.io_podcliquesets.yaml").read_text(encoding="utf-8")
    found: Any = yaml.load(text, Loader=yaml.CSafeLoader)
    schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for step in ("spec", "template", "cliques"):
        schema = schema["properties"][step]
    return schema["items"]["properties"]["spec"]["properties"]["podSpec"]


def differences(kind: Kind, schema: dict[str, Any], at: str) -> Iterator[str]:
    """Yield the differences between the table and the CRD."""
    if (schema.get("type"), schema.get("x-kubernetes-int-or-string", False)) != SHAPES[type(kind)]:
        yield f"{at} is no {kind}"
    elif isinstance(kind, Number) and schema.get("format") != kind.go:
        yield f"{at} is no {kind.go}"
    elif isinstance(kind, Array):
        keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
        if keys != tuple(kind.keys):
            yield f"{at} has the keys {keys}, not {tuple(kind.keys)}"
        properties = schema["items"].get("properties", {})
        defaults = {key: properties[key].get("default") for key in keys}
        if defaults != dict(kind.keys):
            yield f"{at} has the defaults {defaults}"
        yield from differences(kind.item, schema["items"], f"{at}[]")
    elif isinstance(kind, Reference) and "properties" in schema:
        yield from differing_fields(kind, schema, at)


def differing_fields(kind: Reference, schema: dict[str, Any], at: str) -> Iterator[str]:
    fields = kubernetes_struct(kind.go).fields
    for name, inner in schema["properties"].items():
        if name not in fields:
            yield f"{at}.{name} is unknown"
        else:
            yield from differences(fields[name].kind, inner, f"{at}.{name}")
    for name in schema.get("required", ()):
        if fields[name].required != is_left_out(kind.go, name, fields[name]):
            yield f"{at}.{name} is required"


def is_left_out(go: str, name: str, field: Field) -> bool:
    """Return True if Go writes null for a required field: for a list, and for the only pointer among these fields."""
    return isinstance(field.kind, Array) or f"{go}.{name}" == "v1.ScaleIOVolumeSource.secretRef"


def test_the_types_are_those_of_the_crd(crds: Path) -> None:
    assert list(differences(Reference("v1.PodSpec"), pod_spec_of(crds), "podSpec")) == []


@pytest.mark.parametrize("names", [KEYS, REQUIRED], ids=["keys", "required"])
def test_what_is_added_to_the_types_is_added_to_fields(names: Any) -> None:
    assert [
        name for name in names if name.rpartition(".")[2] not in kubernetes_struct(name.rpartition(".")[0]).fields
    ] == []


@pytest.mark.client
def test_the_types_are_those_of_kubernetes() -> None:
    """`make go-types` rewrites the types."""
    if shutil.which("go") is None:
        missing("go is not on PATH: it prints what k8s.io/api says")
    done = subprocess.run(
        ["go", "run", "."], cwd=ROOT / "tests" / "kubernetes_types", capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert (ROOT / "fn" / "packwise" / "validate" / "go_types.py").read_text(encoding="utf-8") == done.stdout
