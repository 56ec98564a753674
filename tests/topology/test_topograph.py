"""topograph's other descriptions of a cluster, as labels of the cluster's nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packwise.topology.topograph import (
    MAX_NAMES,
    SlurmError,
    TopographError,
    is_conf,
    names_of,
    read_conf,
    with_topology,
)

TREE = """\
# core=switch.3.1
SwitchName=core Switches=spine[1-2]
SwitchName=spine1 Switches=leaf[1-2]
switchname=spine2 Switches=leaf3
SwitchName=leaf1 Nodes=n[01-02] # two
SwitchName=leaf2 Nodes=n03,m1
SwitchName=leaf3 Nodes=n04
"""
BLOCKS = "BlockName=b1 Nodes=n[01-03]\nBlockName=b2 Nodes=n04\nBlockName=b3\nBlockSizes=2,4\n"
TIER, DOMAIN = "fabric.topograph.run/tier-{}", "accelerator.topograph.run/domain"


def conf(text: str, **annotations: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"annotations": annotations}, "data": {"topology.conf": text}}


def node(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": name, **more}}


def labels(*objects: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    known: list[dict[str, Any]] = [dict(value) for value in with_topology(objects) if value.get("kind") == "Node"]
    return {each["metadata"]["name"]: each["metadata"].get("labels", {}) for each in known}


def tiers(*names: str) -> dict[str, str]:
    return {TIER.format(tier): name for tier, name in enumerate(names)}


def test_a_tree_of_switches_becomes_tiers_the_nearest_first() -> None:
    assert labels(conf(TREE)) == {
        "n01": tiers("leaf1", "spine1", "core"),
        "n02": tiers("leaf1", "spine1", "core"),
        "n03": tiers("leaf2", "spine1", "core"),
        "m1": tiers("leaf2", "spine1", "core"),
        "n04": tiers("leaf3", "spine2", "core"),
    }


def test_blocks_become_domains_beside_the_tiers() -> None:
    found = labels(conf(TREE), conf(BLOCKS))

    assert found["n01"] == {**tiers("leaf1", "spine1", "core"), DOMAIN: "b1"}
    assert found["m1"] == tiers("leaf2", "spine1", "core")
    assert found["n04"][DOMAIN] == "b2"


def test_topology_yaml_takes_the_default_first() -> None:
    units: list[dict[str, Any]] = [
        {"topology": "a", "tree": {"switches": [{"switch": "x", "nodes": "n[1-2]"}]}},
        {"topology": "flat", "flat": True},
        {
            "topology": "b",
            "cluster_default": True,
            "tree": {"switches": [{"switch": "s", "children": "l"}, {"switch": "l", "nodes": "n1"}]},
            "block": {"block_sizes": [1], "blocks": [{"block": "k", "nodes": "n2"}]},
        },
    ]

    assert labels(*units) == {"n1": tiers("l", "s"), "n2": {DOMAIN: "k", **tiers("x")}}


def test_a_config_map_of_topograph_holds_yaml_too_and_others_are_passed_over() -> None:
    text = "- topology: a\n  block: {blocks: [{block: k, nodes: n1}]}\n"
    ours = {"topograph.run/engine": "slinky"}

    assert labels(conf(text, **ours)) == {"n1": {DOMAIN: "k"}}
    assert (
        labels(conf(text), conf("SwitchName: x"), {"kind": "ConfigMap", "data": {"a": 1}}, {"kind": "ConfigMap"}) == {}
    )


GRAPH = {
    "instances": [
        {"id": "i-1", "network_layers": ["leaf", "spine"], "labels": {DOMAIN: "nvl", "example.com/gpu": "H100"}},
        {"id": "i-2", "network_layers": ["", "spine"]},
        {"id": "i-3", "network_layers": None, "labels": None},
    ]
}


def test_instances_have_layers_and_labels() -> None:
    assert labels(GRAPH) == {
        "i-1": {**tiers("leaf", "spine"), DOMAIN: "nvl", "example.com/gpu": "H100"},
        "i-2": {TIER.format(1): "spine"},
        "i-3": {},
    }


@pytest.mark.parametrize(
    "known",
    [
        node("i-1"),
        node("a", annotations={"topograph.run/instance": "i-1"}),
        {**node("a"), "spec": {"providerID": "aws:///eu-west-1a/i-1"}},
    ],
    ids=["name", "instance", "provider"],
)
def test_nodes_of_the_cluster_get_the_labels_they_do_not_carry(known: dict[str, Any]) -> None:
    known["metadata"]["labels"] = {DOMAIN: "own"}
    other = node("other")

    found = labels(GRAPH, known, other)

    assert found == {
        known["metadata"]["name"]: {**tiers("leaf", "spine"), "example.com/gpu": "H100", DOMAIN: "own"},
        "other": {},
    }


def test_objects_without_topograph_stay_the_same() -> None:
    listed = [node("a"), {"kind": "Pod"}, {"topology": "no unit"}, {"instances": "no list"}]

    assert list(with_topology(listed)) == listed


def test_a_label_that_is_too_long_is_hashed_as_topograph_does_it() -> None:
    assert labels(conf(f"BlockName={'a' * 63} Nodes=n")) == {"n": {DOMAIN: "a" * 63}}
    # FNV-1a with 64 bits of 64 a's, by an independent implementation.
    number = 14695981039346656037
    for byte in b"a" * 64:
        number = (number ^ byte) * 1099511628211 % 2**64
    assert labels(conf(f"BlockName={'a' * 64} Nodes=n")) == {"n": {DOMAIN: f"x{number:x}"}}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("a[1-3]", ["a1", "a2", "a3"]),
        ("a[08-11]", ["a08", "a09", "a10", "a11"]),
        ("a[1,3-4,x]", ["a1", "a3", "a4", "ax"]),
        ("s.2.[1-2]", ["s.2.1", "s.2.2"]),
        ("a[1-2]b[3-4]c", ["a1b3c", "a1b4c", "a2b3c", "a2b4c"]),
        ("a[3-1],b", ["b"]),
    ],
)
def test_lists_of_names(text: str, names: list[str]) -> None:
    assert names_of(text) == names


@pytest.mark.parametrize("text", ["a[", "a]", "a[1", "a[[1]]", "a[[1]", "a[]", "a[1-]", "a[-1]", "a[1;2]", "a[1-2-3]"])
def test_a_list_that_cannot_be_read(text: str) -> None:
    with pytest.raises(SlurmError, match=r"must have ranges such as n\[001-128,130\]"):
        names_of(text)


@pytest.mark.parametrize("text", ["n[0-2000000000]", f"n[0-{10**18 - 1}]", "n[1-1000]m[1-1000]", "n[1-199999],a,b"])
def test_a_list_of_too_many_names(text: str) -> None:
    with pytest.raises(SlurmError, match=f"must list at most {MAX_NAMES} names"):
        names_of(text)


@given(st.text(st.sampled_from("ab1[],-0 "), max_size=40))
def test_any_list_is_names_or_an_error(text: str) -> None:
    try:
        names = names_of(text, 1000)
    except SlurmError:
        return
    assert len(names) <= 1000


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SwitchName=a Nodes=n\nSwitchName=b Nodes=n", '"n" is below two switches, "a" and "b"'),
        (
            "SwitchName=a Switches=b\nSwitchName=b Switches=a\nSwitchName=a Nodes=n",
            'must be a tree of switches, but "a" is below itself',
        ),
        (
            "".join([f"SwitchName=s{n} Switches=s{n + 1}\n" for n in range(16)]) + "SwitchName=s16 Nodes=n",
            "must have at most 16 switches above a node",
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_no_topology(text: str, error: str) -> None:
    with pytest.raises(SlurmError) as raised:
        read_conf(text)

    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("text", "is_it"),
    [
        (TREE, True),
        ("# a\n\n  blocksizes = 2", True),
        ("kind: ConfigMap\ndata:\n  topology.conf: |\n    SwitchName=a Nodes=b\n", False),
        ("", False),
        ("SwitchName: a", False),
    ],
)
def test_what_is_a_topology_conf(text: str, is_it: bool) -> None:
    assert is_conf(text) == is_it


BROKEN: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "an instance without an id": (
        lambda: {"instances": [{"id": "a"}, {"network_layers": []}]},
        "instances[1] of topograph's output must have id, network_layers and labels",
    ),
    "layers that are no list": (
        lambda: {"instances": [{"id": "a", "network_layers": "leaf"}]},
        "instances[0] of topograph's output must have id, network_layers and labels",
    ),
    "a list of names": (
        lambda: conf("BlockName=b Nodes=n[1"),
        'topograph\'s output: must have ranges such as n[001-128,130]; got "n[1"',
    ),
    "text that is no YAML": (
        lambda: conf("a: [", **{"topograph.run/engine": "slinky"}),
        "topograph's output must be YAML or a topology.conf; 1:5: ",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_output_that_cannot_be_read(case: str) -> None:
    value, error = BROKEN[case]
    with pytest.raises(TopographError) as raised:
        with_topology([value()])

    assert str(raised.value).startswith(error)


def test_output_about_other_nodes_than_the_clusters() -> None:
    with pytest.raises(TopographError) as raised:
        with_topology([GRAPH, node("a")])

    assert str(raised.value) == (
        'topograph\'s output names the node "i-1", but no node has this name, topograph.run/instance or providerID'
    )
