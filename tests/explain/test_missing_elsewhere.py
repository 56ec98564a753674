"""The reason why a value is missing in objects of OSMO's workflows and Dynamo's graphs, and the change that adds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from packwise.explain.explanation import explanation_of
from packwise.inputs.groups import read_groups
from packwise.inputs.request import Named
from packwise.pipeline import render
from tests.cli.calling import write

POOL = """\
pools:
  gpu:
    backend: b
    default_platform: p
    platforms: {p: {}}
    topology_keys:
    - {key: zone, label: topology.kubernetes.io/zone}
    - {key: spine, label: example.com/spine}
    - {key: rack, label: example.com/rack}
"""


def workflow(*topology: str, **more: str) -> str:
    entries = ", ".join([f"{{{entry}}}" for entry in topology])
    section = "".join([f"  {key}: {text}\n" for key, text in more.items()])
    return (
        f"workflow:\n  name: train\n  pool: gpu\n{section}"
        "  resources:\n"
        f"    default: {{gpu: 8, topology: [{entries}]}}\n"
        "  tasks:\n  - {name: a, image: i, command: [c]}\n"
    )


KUBERNETES = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: t}
spec:
  revision: REVISION
  apply: false
  emit: [PodGang, PodGroup]
  dynamo: {DYNAMO}
  topologyAwareScheduling:
    enabled: true
LEVELS  scheduler: {profiles: [{name: kai-scheduler, default: true}]}
"""
LEVELS = """\
    levels:
    - {domain: zone, key: topology.kubernetes.io/zone}
    - {domain: rack, key: example.com/rack}
"""
BINDING = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: gb200}
spec: {levels: [{domain: zone, key: topology.kubernetes.io/zone}, {domain: rack, key: example.com/rack}]}
"""


def graph(spec: str = "", component: str = "", metadata: str = "") -> str:
    return (
        "apiVersion: nvidia.com/v1beta1\n"
        "kind: DynamoGraphDeployment\n"
        f"metadata: {{name: llm, namespace: a{metadata}}}\n"
        "spec:\n"
        f"{spec}"
        "  components:\n"
        f"  - name: Worker\n    type: worker\n{component}"
        "    podTemplate: {spec: {containers: [{name: main, image: 'i:1.6.0', command: [python3, -m, dynamo.vllm]}]}}\n"
    )


def missing(folder: Path) -> list[tuple[str, str, str, str]]:
    (group,) = read_groups(Named((str(folder),))).groups
    explanation = explanation_of(group.package, render(group.package))
    assert explanation.rendered, explanation.results
    return [
        (f"{Path(each.origin.place.item.file or '').name} {each.origin.place.field}", each.asked, each.why, each.remedy)
        for tree in explanation.workloads
        for each in tree.omissions
        if not each.asked.endswith(" objects")
    ]


ANYWAY = 'the whole group must be in one "rack" anyway, a finer level'
RESOURCE = "train.yaml workflow.resources.default"
OSMO: dict[str, tuple[dict[str, str], list[tuple[str, str, str, str]]]] = {
    "one level, and nothing that is missing": ({"train": workflow("key: rack")}, []),
    "a bound and a wish within it": (
        {"train": workflow("key: zone", "key: rack, requirementType: preferred")},
        [],
    ),
    "a bound within another one": (
        {"train": workflow("key: zone", "key: rack")},
        [(f"{RESOURCE}.topology[0]", 'required "zone" of group "a-group"', ANYWAY, "")],
    ),
    "a wish around a bound": (
        {"train": workflow("key: rack", "key: zone, requirementType: preferred")},
        [(f"{RESOURCE}.topology[1]", 'preferred "zone" of group "a-group"', ANYWAY, "")],
    ),
    "two wishes": (
        {"train": workflow("key: spine, requirementType: preferred", "key: rack, requirementType: preferred")},
        [
            (
                f"{RESOURCE}.topology[0]",
                'preferred "spine" of group "a-group"',
                'a constraint of KAI prefers one level, and "rack" is the finest',
                'require "spine", or remove "rack"',
            )
        ],
    ),
    "a resource that no task has": (
        {
            "train": workflow().replace(
                "  tasks:\n", "    spare: {topology: [{key: zone}, {key: rack}], nodesExcluded: [n]}\n  tasks:\n"
            )
        },
        [
            (
                "train.yaml workflow.resources.spare.topology",
                'topology "zone, rack" of resource "spare"',
                "no task has this resource",
                "name it in a task: `resource: spare`",
            )
        ],
    ),
    "nodes that are excluded": (
        {"train": workflow().replace("gpu: 8,", "gpu: 8, nodesExcluded: [n1],")},
        [
            (
                f"{RESOURCE}.nodesExcluded",
                'nodesExcluded of resource "default"',
                "OSMO excludes these nodes when it submits the workflow; the rendered pods do not exclude them",
                "",
            )
        ],
    ),
    "labels of OSMO's own": (
        {"train": workflow(labels="{team: a, osmo.pool: mine}")},
        [
            (
                "train.yaml workflow.labels[osmo.pool]",
                "label osmo.pool",
                "OSMO's own label has the same name and wins",
                "give it another key",
            )
        ],
    ),
    "pod templates of the pool": (
        {"train": workflow(), "pool": f"{POOL}    common_pod_template: [user, ctrl]\n"},
        [
            (
                "pool.yaml pools.gpu.common_pod_template",
                'pod templates "user, ctrl" of the pool',
                "OSMO merges them into pods when it submits the workflow; the input does not contain them",
                "",
            )
        ],
    ),
}


@pytest.mark.parametrize("case", OSMO)
def test_what_is_missing_of_a_workflow(case: str, tmp_path: Path) -> None:
    files, expected = OSMO[case]
    write(tmp_path, {f"{name}.yaml": text for name, text in {"pool": POOL, **files}.items()})

    assert missing(tmp_path) == expected


def test_a_workflow_of_several_has_its_own(tmp_path: Path) -> None:
    other = workflow("key: zone", "key: rack").replace("name: train", "name: other")
    write(tmp_path, {"pool.yaml": POOL, "train.yaml": workflow("key: rack"), "other.yaml": other})

    assert [place for place, *_ in missing(tmp_path)] == ["other.yaml workflow.resources.default.topology[0]"]


COPIED = "Dynamo copies only spec.{0} into the PodCliqueSet, not the graph's own {0}"
MEMBERS = "a PodGang has the minAvailable (1) pods that must start together"
OWN_LABELS = "PodGangs of this release have only the operator's own labels"

DYNAMO: dict[str, tuple[tuple[str, str], str, list[tuple[str, str, str, str]]]] = {
    "replicas beyond minAvailable": (
        ("v0.1.0-alpha.14", "1.6"),
        graph(component="    replicas: 3\n"),
        [
            (
                "llm.yaml spec.components[0].replicas",
                'replicas 3 of clique "worker"',
                MEMBERS,
                "set minAvailable to 3 if all of them must start together",
            )
        ],
    ),
    "replicas where no field says minAvailable": (
        ("v0.1.0-alpha.8", "1.2"),
        graph(component="    replicas: 3\n"),
        [
            (
                "llm.yaml spec.components[0].replicas",
                'replicas 3 of clique "worker"',
                MEMBERS,
                "a component of Dynamo 1.2 has no minAvailable",
            )
        ],
    ),
    "nodes of a replica that the gang does not wait for": (
        ("v0.1.0-alpha.8", "1.0"),
        graph(component="    multinode: {nodeCount: 4}\n").replace("v1beta1", "v1alpha1"),
        [
            (
                "llm.yaml spec.services.Worker.multinode.nodeCount",
                'replicas 3 of clique "worker-wkr"',
                MEMBERS,
                "gangs wait for all nodes of a replica only since Dynamo 1.1",
            )
        ],
    ),
    "a topology that the release does not name": (
        ("v0.1.0-alpha.8", "1.3"),
        graph("  topologyConstraint: {clusterTopologyName: mine, packDomain: zone}\n"),
        [
            (
                "llm.yaml spec.topologyConstraint.clusterTopologyName",
                'topology "mine"',
                'Dynamo 1.3 does not pass the name on, and Grove uses its own topology, "grove-topology"',
                "Dynamo 1.4 is the first release that passes it on",
            )
        ],
    ),
    "labels of the graph, and of its pods": (
        ("v0.1.0-alpha.8", "1.3"),
        graph(
            "  labels: {tier: b}\n  annotations: {note: x}\n",
            metadata=", labels: {team: a, tier: c}, annotations: {owner: a, note: y, nvidia.com/enable-metrics: 'no'}",
        ),
        [
            (
                "llm.yaml spec.labels.tier",
                "label tier",
                OWN_LABELS,
                "v0.1.0-alpha.9 is the first release that repeats them",
            ),
            (
                "llm.yaml spec.annotations.note",
                "annotation note",
                OWN_LABELS.replace("labels", "annotations"),
                "v0.1.0-alpha.9 is the first release that repeats them",
            ),
            ("llm.yaml metadata.labels.team", "label team", COPIED.format("labels"), "write it to spec.labels"),
            (
                "llm.yaml metadata.annotations.owner",
                "annotation owner",
                COPIED.format("annotations"),
                "write it to spec.annotations",
            ),
        ],
    ),
    "a queue without KAI": (
        ("v0.1.0-alpha.14", '1.6", kaiScheduler: false, terminationDelay: "15m'),
        graph("  labels: {kai.scheduler/queue: own}\n", metadata=", annotations: {nvidia.com/kai-scheduler-queue: q}"),
        [
            (
                "llm.yaml metadata.annotations[nvidia.com/kai-scheduler-queue]",
                'queue "q"',
                "`dynamo.kaiScheduler` of the TopologyRender is false, and Dynamo does not use KAI",
                "set it to true",
            )
        ],
    ),
    "a queue of pods that another scheduler takes": (
        ("v0.1.0-alpha.8", "1.3"),
        graph(metadata=", annotations: {nvidia.com/kai-scheduler-queue: q}").replace(
            "spec: {containers", "spec: {schedulerName: default-scheduler, containers"
        ),
        [
            (
                "llm.yaml metadata.annotations[nvidia.com/kai-scheduler-queue]",
                'queue "q" of component "Worker"',
                'its pods name the scheduler "default-scheduler"',
                "remove its schedulerName",
            )
        ],
    ),
    "replicas that wait for a checkpoint, and a policy for requests": (
        ("v0.1.0-alpha.14", "1.6"),
        graph(
            "  experimental: {kvTransferPolicy: {clusterTopologyName: gb200, domain: rack, enforcement: required}}\n",
            "    experimental: {checkpoint: {enabled: true, startupPolicy: WaitForCheckpoint}}\n    replicas: 2\n",
        ),
        [
            (
                "llm.yaml spec.components[0].replicas",
                'replicas 2 of component "Worker"',
                "they wait for a checkpoint, and a preview does not know its state",
                "startupPolicy: Immediate",
            ),
            (
                "llm.yaml spec.experimental.kvTransferPolicy.domain",
                'domain "rack"',
                "it routes requests and does not place gangs",
                "write a topologyConstraint",
            ),
        ],
    ),
}


@pytest.mark.parametrize("case", DYNAMO)
def test_what_is_missing_of_a_graph(case: str, tmp_path: Path) -> None:
    (revision, release), text, expected = DYNAMO[case]
    old = revision == "v0.1.0-alpha.8"
    settings = KUBERNETES.replace("REVISION", revision).replace("LEVELS", LEVELS if old else "")
    settings = settings.replace("DYNAMO", f'release: "{release}"')
    if "clusterTopologyName: mine" in text:
        settings = settings.replace("  apply: false\n", "  apply: false\n  admission: Existing\n")
    files = {"topology.yaml": settings, "llm.yaml": alpha(text) if "v1alpha1" in text else text}
    write(tmp_path, files if old else {**files, "binding.yaml": BINDING})

    assert missing(tmp_path) == expected


def alpha(text: str) -> str:
    """Return the graph with the fields of v1alpha1."""
    words: Any = text.replace(
        "  components:\n  - name: Worker\n    type: worker\n", "  services:\n    Worker:\n      componentType: worker\n"
    )
    head, _, rest = words.partition("      componentType: worker\n")
    body = rest.replace("    multinode", "      multinode").partition("    podTemplate")[0]
    main = "      extraPodSpec: {mainContainer: {image: 'i:1.0.1', command: [python3, -m, dynamo.vllm]}}\n"
    return f"{head}      componentType: worker\n{body}{main}"
