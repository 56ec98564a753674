"""The errors of KAI's API server appear in a ClusterTopology's status. They are the same with and without KAI's CRD."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krmfn import KubeObject
from krmfn.yamltext import read, write
from packwise.generated import LAST_ERRORS
from packwise.pipeline import render
from packwise.pipeline.selection import Package

HEAD = "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata:\n  name: topology\n"
DOMAINS = ("region", "zone", "rack", "host")
HOSTNAME = 'spec.levels: Invalid value: "array": the kubernetes.io/hostname label can only be used at the lowest level'

REFUSED = {
    "the hostname above another level": ["example.com/a", "kubernetes.io/hostname", "example.com/b"],
    "a prefix in upper case": ["Example.com/a", "example.com/b"],
    "two of them, and the hostname": ["Example.com/a", "kubernetes.io/hostname", "example.COM/b"],
}


def descriptions(keys: list[str], *crds: KubeObject) -> list[str]:
    """Return the last errors of the ClusterTopology with these levels, and True if its Topology was skipped."""
    levels = [{"domain": domain, "key": key} for domain, key in zip(DOMAINS, keys, strict=False)]
    spec = {"clusterTopology": {"enabled": True, "levels": levels}}
    rendered = render(Package((KubeObject.parse(HEAD + write({"spec": read(json.dumps(spec))})),), crds=crds))
    assert [item.kind for item in rendered.generated] == ["ClusterTopology"]
    found = rendered.generated[0].annotations[LAST_ERRORS]
    return [error["description"] for error in json.loads(found)]


@pytest.mark.parametrize("kai", ["kai-v0.12.0", "kai-v0.17.0"])
@pytest.mark.parametrize("keys", REFUSED.values(), ids=REFUSED)
def test_the_answer_is_that_of_the_crd(crds: Path, keys: list[str], kai: str) -> None:
    texts = [file.read_text(encoding="utf-8") for file in sorted((crds / kai).glob("*.yaml"))]

    assert descriptions(keys) == descriptions(keys, *[KubeObject.parse(text) for text in texts])


def test_several_answers_stand_in_brackets() -> None:
    (found,) = descriptions(REFUSED["two of them, and the hostname"])

    assert found.startswith(
        'Failed to create KAI Topology resource: Topology.kai.scheduler "grove-topology" is invalid: '
        '[spec.levels[0].nodeLabel: Invalid value: "Example.com/a": '
    )
    assert found.count("in body should match") == 2
    assert found.endswith(f"{HOSTNAME} of topology]")
