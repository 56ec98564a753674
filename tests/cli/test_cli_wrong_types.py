"""A name or kind that is not a string is an error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.calling import WORKLOAD, Call, listing, write

LEVELS = "spec: {levels: [{domain: rack, key: example.com/rack}]}\n"
COMMANDS = (
    ("check", "in"),
    ("check", "in", "--fix"),
    ("topologies", "in"),
    ("explain", "in"),
    ("diff", "in", "in"),
    ("init", "new", "--from", "in"),
)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("kind", ["ClusterTopology", "ClusterTopologyBinding"])
@pytest.mark.parametrize("name", ["1", "true", "[a]", "{a: b}"])
def test_a_topology_whose_name_is_no_string(
    name: str, kind: str, arguments: tuple[str, ...], call: Call, tmp_path: Path
) -> None:
    head = f"apiVersion: grove.io/v1alpha1\nkind: {kind}\nmetadata:\n  name: {name}\n"
    write(tmp_path, {"in/topology.yaml": head + LEVELS, "in/web.yaml": WORKLOAD})
    before = listing(tmp_path)

    ran = call(*arguments)

    assert (ran.code, listing(tmp_path)) == (1, before)
    assert re.search(r"in/topology\.yaml:4:9: .*metadata\.name: must be a string; got ", ran.stdout + ran.stderr)


@pytest.mark.parametrize("command", ["check", "doctor", "explain", "topologies"])
@pytest.mark.parametrize("kind", ["1", "true", "[TopologyRender]", "{a: b}"])
def test_a_configuration_whose_kind_is_no_string(kind: str, command: str, call: Call, tmp_path: Path) -> None:
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n"
    write(tmp_path, {"list.yaml": f"{head}  kind: {kind}\n"})

    ran = call(command, "list.yaml")

    assert ran.code == 1
    assert re.search(r"list\.yaml:5:9: .*kind: must be a string; got ", ran.stdout + ran.stderr)


def test_objects_of_no_kind_stand_in_no_way(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"in/other.yaml": "apiVersion: v1\nkind: 1\n", "in/web.yaml": WORKLOAD})

    assert call("init", "in", "--level", "rack=example.com/rack").code == 0
