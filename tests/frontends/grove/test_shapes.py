"""The native core finds no problem if Python finds none. Python words all problems."""

from __future__ import annotations

import copy
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krmfn.yamltext.reader import CORE
from packwise.findings import Problem
from packwise.frontends.grove.podcliqueset import check_shape
from packwise.revisions.grove import REVISIONS
from packwise.validate.decode import ObjectTable
from tests.places import NO_CORE

from .cases import edited

pytestmark = pytest.mark.skipif(CORE is None, reason=NO_CORE)

CLIQUE = "spec.template.cliques[0]."
POD = CLIQUE + "spec.podSpec."
RICH = edited({
    "metadata.labels": {"app": "a", "team": "b"},
    "metadata.ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1", "controller": True}],
    "spec.updateStrategy": {"type": "OnDelete"},
    "spec.template.terminationDelay": "1h30m",
    "spec.template.headlessServiceConfig": {"publishNotReadyAddresses": False},
    "spec.template.topologyConstraint": {"packDomain": "rack"},
    CLIQUE + "annotations": {"a": "b"},
    CLIQUE + "spec.autoScalingConfig": {"minReplicas": 1, "maxReplicas": 2},
    CLIQUE + "spec.startsAfter": ["a", "b"],
    POD + "containers[0].env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    POD + "containers[0].ports": [
        {"containerPort": 80, "name": "web"}, {"containerPort": 80, "protocol": "UDP"},
    ],
    POD + "containers[0].resources": {"limits": {"cpu": 2, "nvidia.com/gpu": "8"}, "requests": {"memory": "64Gi"}},
    POD + "containers[0].livenessProbe": {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 5},
    POD + "tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 5}],
    POD + "volumes": [{"name": "a", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "b", "configMap": {"name": "c"}}],
    POD + "terminationGracePeriodSeconds": 30,
    POD + "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
    ]}}},
})  # fmt: skip
ATOMS: st.SearchStrategy[Any] = st.sampled_from([
    None, True, 0, 1, -1, 1 << 31, 1 << 63, 2.0, 2.5, "", "a", "rack", "no-domain", "B_", "1h", "500m", "1e3", "yes",
    [], [None], ["a"], ["a", "a"], {}, {"a": None}, {"a": "b"}, {"name": "A"}, {"required": ""}, {"pack": {}},
    [{"name": "A"}, {"name": "A"}], [{"name": "A"}, {"name": 1}], [None, None],
])  # fmt: skip
NAMES = ("name", "replicas", "pack", "packDomain", "topologyName", "required", "spec", "rollingUpdate", "unknown")


def never(*_: object) -> bool:
    return False


def problems(value: Any, revision: str, *, new: bool) -> list[Problem]:
    """Return the problems that Python alone finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ObjectTable, "fits", never)
        return check_shape(value, REVISIONS[revision], new=new)


def inner_parts(part: Any) -> list[Any]:
    """Return the mappings and lists within a mapping or list."""
    entries = cast("dict[str, Any]", part).values() if isinstance(part, dict) else cast("list[Any]", part)
    return [entry for entry in entries if isinstance(entry, (dict, list))]


@st.composite
def mutants(draw: st.DrawFn) -> Any:
    """Draw a workload with some parts that are changed, missing, repeated or new."""
    value = copy.deepcopy(RICH)
    for _ in range(draw(st.integers(0, 3))):
        part: Any = value
        for _ in range(draw(st.integers(0, 9))):
            if inner := inner_parts(part):
                part = draw(st.sampled_from(inner))
        keys: list[Any] = [*part] if isinstance(part, dict) else [*range(len(part))]
        key: Any = draw(st.sampled_from([*keys, *(NAMES if isinstance(part, dict) else ())] or [0]))
        entry = copy.deepcopy(draw(ATOMS))
        match draw(st.sampled_from(["set", "remove", "double", "append"])):
            case "remove" if key in keys:
                del part[key]
            case "double" if key in keys and not isinstance(part, dict):
                part.append(copy.deepcopy(part[key]))
            case "append" if not isinstance(part, dict):
                part.append(entry)
            case _ if keys or isinstance(part, dict):
                part[key] = entry
            case _:
                part.append(entry)
    return value


@settings(max_examples=300, deadline=None)
@given(mutants() | ATOMS, st.sampled_from(sorted(REVISIONS)), st.booleans())
def test_the_core_and_python_find_the_same(value: Any, revision: str, new: bool) -> None:
    before = copy.deepcopy(value)
    assert check_shape(value, REVISIONS[revision], new=new) == problems(value, revision, new=new)
    assert value == before


@pytest.mark.parametrize("revision", sorted(REVISIONS))
def test_python_does_not_look_at_a_workload_without_a_problem(revision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value = copy.deepcopy(RICH)
    if REVISIONS[revision].workload_api != "alpha7" and problems(value, revision, new=True):
        value["spec"]["template"]["topologyConstraint"] = {"topologyName": "t", "pack": {"required": "rack"}}
    assert problems(value, revision, new=True) == []

    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("packwise.validate.decode.Decoder.object", fail)
    assert check_shape(value, REVISIONS[revision]) == []
