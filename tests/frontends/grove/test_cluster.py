"""A workload and its CRD: the decoder, packwise's table and the CRD can all have a verdict.

The tests show which one counts.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.kubeobject import KubeObject
from packwise.frontends.grove.crd import validate_workload
from packwise.frontends.grove.podcliqueset import check_shape
from packwise.revisions.grove import GREP_244
from packwise.validate.definition import Definition, read_definition

from .cases import edited

T = "spec.template."
CLIQUE = T + "cliques[0]."
POD = CLIQUE + "spec.podSpec."

TEXT: dict[str, Any] = {"type": "string"}
OPEN: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def obj(required: str = "", **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split()}


CONTAINER = obj(
    "image name", name=TEXT, image=TEXT, env={"type": "array", "items": OPEN}, resources=obj(
        limits={"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}
    ),
)  # fmt: skip
POD_SPEC = obj("containers", containers={"type": "array", "items": CONTAINER})
CLIQUE_SPEC = obj(
    "podSpec replicas roleName",
    podSpec=POD_SPEC,
    replicas={"type": "integer"},
    roleName=TEXT,
    minAvailable=OPEN | {"type": "integer"},
)
CONSTRAINT = obj("packDomain", packDomain={"type": "string", "enum": ["rack", "host"]})
TEMPLATE = obj(
    "cliques",
    cliques={
        "type": "array",
        "items": obj("name", name=TEXT, spec=CLIQUE_SPEC, labels=OPEN, topologyConstraint=CONSTRAINT),
    },
    podCliqueScalingGroups={"type": "array", "items": OPEN},
    cliqueStartupType=TEXT,
    terminationDelay=TEXT,
    topologyConstraint=CONSTRAINT,
    headlessServiceConfig=OPEN,
    inNoTable=obj("size", size={"type": "integer", "minimum": 1}),
)
SPEC = obj("template", replicas={"type": "integer"}, template=TEMPLATE)


def definition(spec: dict[str, Any]) -> Definition:
    """Return a CRD of PodCliqueSets. It is smaller than upstream's, and has a field that upstream's lacks."""
    schema = {"type": "object", "properties": {"spec": spec}}
    versions = [{"name": "v1alpha1", "served": True, "schema": {"openAPIV3Schema": schema}}]
    names = {"group": "grove.io", "names": {"kind": "PodCliqueSet"}}
    return read_definition(
        KubeObject.new({"kind": "CustomResourceDefinition", "spec": {**names, "versions": versions}})
    )


CRD = definition(SPEC)


def refused(value: Any, crd: Definition = CRD) -> list[tuple[str, str | None]]:
    """Return each refused field, and the text of the component that refuses it."""
    decode, verdict = validate_workload(value, None, crd, check_shape(value, GREP_244), GREP_244)
    return [(".".join(map(str, p.path)), p.operator_message) for p in (*decode, *verdict.problems)]


def test_a_workload_that_is_right() -> None:
    assert refused(edited({})) == []


CASES: list[tuple[dict[str, Any], str, str | None]] = [
    # Only the CRD has the field.
    ({T + "inNoTable": {"size": 0}}, "spec.template.inNoTable.size",
     "spec.template.inNoTable.size: Invalid value: 0: spec.template.inNoTable.size in body should be greater than or "
     "equal to 1"),
    # The round trip fills in only fields that the operator's version has.
    ({T + "inNoTable": {}}, "spec.template.inNoTable.size", "spec.template.inNoTable.size: Required value"),
    # The table has more fields than this CRD.
    ({"spec.updateStrategy": {"type": "OnDelete"}}, "spec.updateStrategy", None),
    ({POD + "tolerations": []}, "spec.template.cliques.0.spec.podSpec.tolerations", None),
    # Both have the field, and the CRD's verdict counts.
    ({T + "topologyConstraint.packDomain": "zone"}, "spec.template.topologyConstraint.packDomain",
     'spec.template.topologyConstraint.packDomain: Unsupported value: "zone": supported values: "rack", "host"'),
    # A constraint without a domain has an empty one after the webhook wrote it back.
    ({T + "topologyConstraint": {}}, "spec.template.topologyConstraint.packDomain",
     'spec.template.topologyConstraint.packDomain: Unsupported value: "": supported values: "rack", "host"'),
    # The decoder comes first, and its error is reported once.
    ({"spec.replicas": "two"}, "spec.replicas",
     "json: cannot unmarshal string into Go struct field PodCliqueSetSpec.spec.replicas of type int32"),
    ({POD + "containers": "none"}, "spec.template.cliques.0.spec.podSpec.containers",
     "json: cannot unmarshal string into Go struct field PodSpec.spec.template.cliques.spec.podSpec.containers of type "
     "[]v1.Container"),
    # No schema has a format for Go's durations.
    ({T + "terminationDelay": "soon"}, "spec.template.terminationDelay", 'time: invalid duration "soon"'),
]  # fmt: skip


@pytest.mark.parametrize(("edits", "field", "text"), CASES)
def test_one_finding_for_each_cause(edits: dict[str, Any], field: str, text: str | None) -> None:
    assert refused(edited(edits)) == [(field, text)]


HEALED: list[dict[str, Any]] = [
    {CLIQUE + "spec.replicas": None, CLIQUE + "spec.roleName": None, CLIQUE + "name": None},
    {POD + "containers[0].image": None},
    {POD + "containers[0].resources": {"limits": {"cpu": 1.5}}},
]


@pytest.mark.parametrize("edits", HEALED)
def test_what_the_round_trip_heals_is_no_problem(edits: dict[str, Any]) -> None:
    assert refused(edited(edits)) == []


def test_metadata_is_the_webhooks() -> None:
    assert refused(edited({"metadata.name": "Not A Name"})) == []
    assert refused(edited({"metadata.colour": "red"})) == [("metadata.colour", None)]


def test_rules_see_what_the_webhook_fills_in() -> None:
    spec = copy.deepcopy(SPEC)
    rule = {"rule": "self.template.cliques.all(c, c.spec.replicas > 0)", "message": "replicas must be there"}
    spec["x-kubernetes-validations"] = [rule]

    assert refused(edited({CLIQUE + "spec.replicas": None}), definition(spec)) == []


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 1 << 40), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["name", "spec", "podSpec", "a", "replicas", "packDomain"]), inner, max_size=3),
    ),
    max_leaves=8,
)
PLACES = [
    "spec", "spec.replicas", "spec.template", T + "cliques", T + "cliques[0]", CLIQUE + "spec", POD[:-1],
    T + "terminationDelay", POD + "containers", POD + "containers[0]", POD + "containers[0].resources",
    T + "topologyConstraint", T + "podCliqueScalingGroups", T + "podCliqueScalingGroups[0]", "metadata",
    "metadata.labels",
]  # fmt: skip


@given(place=st.sampled_from(PLACES), value=VALUES)
def test_nothing_at_any_place_is_a_crash(place: str, value: Any) -> None:
    written = json.loads(json.dumps(edited({place: value if value is not None else 5})))

    assert isinstance(refused(written), list)
