"""KAI's Topologies of all topologies together: the rendered ones, KAI's refusals, and the conditions about them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from krmfn import KubeObject
from packwise.pipeline.selection import Package, cluster_of, topologies_of
from packwise.pipeline.steps import read_package
from packwise.schedulers import SchedulerInput
from packwise.schedulers.kai.scheduler import KAI
from packwise.topology.known import Condition
from tests.schedulers.test_users_objects import items, line

HEAD = "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata: {name: topology}\nspec:\n"
PROFILES = "  scheduler: {profiles: [{name: kai-scheduler}]}\n"
UPSTREAM = "  revision: upstream\n  topologyAwareScheduling: {enabled: true}\n"

BINDING = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: NAME}
spec:
  levels: [{domain: zone, key: example.com/zone}, {domain: rack, key: example.com/rack}]
  schedulerTopologyBindings: [{schedulerName: kai-scheduler, topologyReference: REFERENCE}]
"""
TOPOLOGY = """\
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: NAME}
spec: {levels: [{nodeLabel: example.com/zone}, {nodeLabel: example.com/rack}]}
"""
CHANGED = ("changed in place", "re-created")
LEVELS = "{domain: rack, key: example.com/rack}"


def named(text: str, name: str, reference: str = "") -> str:
    return text.replace("NAME", name).replace("REFERENCE", reference)


def unlisted(name: str, rack: str = LEVELS) -> str:
    return named(BINDING, name).partition("  schedulerTopologyBindings")[0].replace(LEVELS, rack)


BINDINGS = "---\n".join(
    [
        unlisted("unlisted"),
        unlisted("refused", "{domain: rack, key: kubernetes.io/hostname}, {domain: host, key: example.com/host}"),
        unlisted("invalid", "{domain: Rack, key: example.com/rack}"),
        named(BINDING, "own", "own"),
        named(BINDING, "theirs", "theirs"),
        named(TOPOLOGY, "theirs"),
        named(BINDING, "other", "theirs"),
        named(BINDING, "drifted", "narrow"),
        named(TOPOLOGY, "narrow").replace("{nodeLabel: example.com/zone}, ", ""),
        named(BINDING, "rendered", "unlisted"),
        named(BINDING, "unseen", "nowhere"),
        named(BINDING, "volcano", "own").replace("kai-scheduler", "default-scheduler"),
    ]
)
WAYS = {
    "with KAI": UPSTREAM + PROFILES,
    "rendered for review": UPSTREAM + PROFILES + "  apply: false\n",
    "no Topology is rendered": UPSTREAM + PROFILES + "  emit: [PodGang]\n",
    "Topologies alone": UPSTREAM + PROFILES + "  emit: [Topology]\n",
    "without KAI": UPSTREAM + PROFILES.replace("kai-scheduler", "default-scheduler"),
    "disabled": UPSTREAM.replace("true", "false") + PROFILES,
}

USERS = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: gb200}
spec: {levels: [{domain: rack, key: kubernetes.io/hostname}, {domain: host, key: example.com/host}]}
---
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: a100}
spec: {levels: [{domain: rack, key: a}, {domain: rack, key: a}]}
---
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: h100}
spec: {levels: [{domain: zone, key: example.com/zone}, {domain: rack, key: example.com/rack}]}
"""
SECTIONS = ("topology", "clusterTopology", "topologyAwareScheduling")
MORE = {
    "rendered": "",
    "KAI takes none of the operator's": PROFILES.replace(
        "kai-scheduler", "kai-scheduler, config: {createTopologyResources: false}"
    ),
    "no Topology is rendered": "  emit: [PodGang]\n",
}


def told(condition: Condition) -> tuple[str, ...]:
    return condition.type, condition.status, condition.reason, condition.message


def answer(settings: str, texts: str) -> str:
    """Return the answer of KAI's scheduler: the objects, the findings, the refusals and the conditions."""
    package = Package((KubeObject.parse(HEAD + settings, file="topology.yaml"), *items(texts)))
    inventory, selection = read_package(package)
    known = topologies_of(inventory, selection)
    cluster = cluster_of(selection, known)
    source = SchedulerInput((), known, cluster, inventory, selection.definitions, selection.settings)
    found = KAI.objects(source)
    lines = [
        f"  {KubeObject.new(each.value).id.short_text} of {each.source}, {CHANGED[each.recreate]}\n"
        for each in found.generated
    ]
    lines += [line(finding) for finding in found.findings]
    lines += [f"  refused {name}: {text}\n" for name, text in found.refusals.items()]
    lines += [
        f"  condition of {item.name}: {', '.join(condition)}\n"
        for item, conditions in found.conditions.items()
        for condition in [*map(told, conditions), *([] if conditions else [("none",)])]
    ]
    return "".join(lines)


def test_topologies_of_bindings(assert_expected: Callable[[str, str], None]) -> None:
    texts = [f"{name}\n{answer(settings, BINDINGS)}" for name, settings in WAYS.items()]

    assert_expected("kai/bindings.txt", "\n".join(texts))


@pytest.mark.parametrize("section", SECTIONS)
def test_topologies_of_a_configuration(section: str, assert_expected: Callable[[str, str], None]) -> None:
    keys = {"one level refused": "Example.com/rack", "every level taken": "example.com/rack"}
    configuration = f"  {section}: {{enabled: true, levels: [{{domain: rack, key: KEY}}]}}\n"
    texts = [
        f"{name}, {what}\n{answer(configuration.replace('KEY', key) + more, USERS)}"
        for name, more in MORE.items()
        for what, key in keys.items()
    ]

    assert_expected(f"kai/{section}.txt", "\n".join(texts))
