"""The reason why a value is missing, and the change that would add it."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.kubeobject import KubeObject
from packwise.explain.explanation import Explanation, at_line, explanation_of
from packwise.pipeline import render
from packwise.pipeline.selection import Package

BINDING = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: gb200}
spec: {levels: [{domain: zone, key: topology.kubernetes.io/zone}, {domain: rack, key: example.com/rack}]}
"""

QUEUE = ", labels: {kai.scheduler/queue: a}"
LEVELS = "{domain: zone, key: topology.kubernetes.io/zone}, {domain: rack, key: example.com/rack}"


def settings(
    revision: str,
    *,
    section: str = "topologyAwareScheduling",
    enabled: bool = True,
    emit: str = "[PodGang, PodGroup]",
    **spec: Any,
) -> str:
    levels = "" if revision.startswith(("v0.1.0-alpha.1", "upstream")) else f", levels: [{LEVELS}]"
    more = "".join([f", {key}: {value}" for key, value in spec.items()])
    return (
        "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata: {name: t}\n"
        f"spec: {{revision: {revision}, admission: Existing, emit: {emit}{more}, "
        f"{section}: {{enabled: {str(enabled).lower()}{levels}}}, "
        "scheduler: {profiles: [{name: kai-scheduler, default: true}]}}\n"
    )


def workload(constraint: str, group: str, metadata: str = "") -> str:
    return (
        "apiVersion: grove.io/v1alpha1\n"
        "kind: PodCliqueSet\n"
        f"metadata: {{name: llm, namespace: a{metadata}}}\n"
        "spec:\n"
        "  replicas: 1\n"
        "  template:\n"
        f"    topologyConstraint: {{{constraint}}}\n"
        "    cliques:\n"
        "    - name: worker\n"
        "      spec: {roleName: w, replicas: 2, minAvailable: 2, podSpec: {containers: [{name: c, image: i}]}}\n"
        "    podCliqueScalingGroups:\n"
        "    - {name: decode, cliqueNames: [worker], replicas: 2, minAvailable: 1, "
        f"topologyConstraint: {{{group}}}}}\n"
    )


def explained(configuration: str, *items: str) -> Explanation:
    parsed = [KubeObject.parse(text, file=f"{number}.yaml") for number, text in enumerate(items)]
    package = Package(tuple(parsed), KubeObject.parse(configuration, file="settings.yaml"))
    explanation = explanation_of(package, render(package))
    assert explanation.rendered, explanation.results
    return explanation


def missing(explanation: Explanation) -> list[tuple[str, str, str, str]]:
    return [
        (each.origin.place.field, each.asked, each.why, each.remedy)
        for tree in explanation.workloads
        for each in tree.omissions
    ]


SET = "spec.template.topologyConstraint"
GROUP = "spec.template.podCliqueScalingGroups[0].topologyConstraint"
CONFIGS = 'topologyConstraintGroupConfigs of scaling group "decode"'
REPLACED = 'the workload\'s constraint "zone" on PodGangs of scaling group "decode" beyond minAvailable'
WITHOUT = "create the workload without the group's constraint"
ANEW = "create the workload again without the constraint"
ANOTHER = "create the workload again with another constraint"

CASES = {
    "TAS disabled": (
        (settings("grep-244", enabled=False), workload("packDomain: zone", "packDomain: rack")),
        [
            (f"{SET}.packDomain", 'domain "zone"', "topology-aware scheduling is disabled", f"enable it, or {ANEW}"),
            (f"{GROUP}.packDomain", 'domain "rack"', "topology-aware scheduling is disabled", f"enable it, or {ANEW}"),
            (
                GROUP,
                CONFIGS,
                "while topology-aware scheduling is disabled, PodGangs have no group configs",
                "enable it",
            ),
            (
                GROUP,
                REPLACED,
                "the group's constraint replaces it, even if its level no longer exists",
                WITHOUT,
            ),
        ],
    ),
    "TAS disabled in the first design, where constraints may change": (
        (settings("design-1", section="topology", enabled=False), workload("packDomain: zone", "packDomain: zone")),
        [
            (
                f"{path}.packDomain",
                'domain "zone"',
                "topology-aware scheduling is disabled",
                "enable it, or remove the constraint",
            )
            for path in (SET, GROUP)
        ]
        + [
            (
                GROUP,
                REPLACED,
                "the group's constraint replaces it, even if its level no longer exists",
                "remove the group's constraint",
            )
        ],
    ),
    "a level that is gone": (
        (settings("grep-244"), workload("packDomain: zone", "packDomain: host")),
        [
            (
                f"{GROUP}.packDomain",
                'domain "host"',
                'ClusterTopology "grove-topology" has only the levels "zone", "rack"',
                f"restore the level, or {ANOTHER}",
            ),
            (
                GROUP,
                REPLACED,
                "the group's constraint replaces it, even if its level no longer exists",
                WITHOUT,
            ),
        ],
    ),
    "nothing but what a group replaces": (
        (settings("grep-244"), workload("packDomain: zone", "packDomain: rack")),
        [(GROUP, REPLACED, "the group's constraint replaces it", WITHOUT)],
    ),
    "a topology that is gone": (
        (
            settings("v0.1.0-alpha.11"),
            workload("topologyName: gone, pack: {required: zone}", "topologyName: gone, pack: {preferred: rack}"),
            BINDING,
        ),
        [
            (
                f"{SET}.pack.required",
                'domain "zone"',
                'ClusterTopologyBinding "gone" does not exist',
                f"restore the topology, or {ANOTHER}",
            ),
            (
                f"{GROUP}.pack.preferred",
                'domain "rack"',
                'ClusterTopologyBinding "gone" does not exist',
                f"restore the topology, or {ANOTHER}",
            ),
            (
                GROUP,
                REPLACED,
                "the group's constraint replaces it, even if its level no longer exists",
                WITHOUT,
            ),
        ],
    ),
    "a group config that a release leaves out": (
        (
            settings("v0.1.0-alpha.13", apply="false"),
            workload(
                "topologyName: gb200, pack: {required: zone}",
                "topologyName: gb200, pack: {required: host}",
                metadata=QUEUE,
            ),
            BINDING,
        ),
        [
            (
                f"{GROUP}.pack.required",
                'domain "host"',
                'ClusterTopologyBinding "gb200" has only the levels "zone", "rack"',
                f"restore the level, or {ANOTHER}",
            ),
            (
                GROUP,
                CONFIGS,
                "this release omits group configs without a level",
                "name a level that the topology has",
            ),
        ],
    ),
    "replicas beyond minAvailable, and a label": (
        (
            settings("grep-244"),
            workload("packDomain: zone", "packDomain: zone", metadata=", labels: {team: a}").replace(
                "replicas: 2, minAvailable: 2", "replicas: 3, minAvailable: 2"
            ),
        ),
        [
            (GROUP, REPLACED, "the group's constraint replaces it", WITHOUT),
            (
                "spec.template.cliques[0].spec.replicas",
                'replicas 3 of clique "worker"',
                "a PodGang has the minAvailable (2) pods that must start together",
                "set minAvailable to 3 if all of them must start together",
            ),
            (
                "metadata.labels.team",
                "label team",
                "PodGangs of this release have only the operator's own labels",
                "v0.1.0-alpha.9 is the first release that repeats them",
            ),
        ],
    ),
    "annotations that a release which repeats them leaves out": (
        (
            settings("v0.1.0-alpha.11"),
            workload(
                "topologyName: gb200, pack: {required: zone}",
                "topologyName: gb200, pack: {required: zone}",
                metadata=", annotations: {team: a, argocd.argoproj.io/sync-wave: '1'}, labels: {grove.io/a: b, "
                "kai.scheduler/queue: q}",
            ),
            BINDING,
        ),
        [
            (GROUP, REPLACED, "the group's constraint replaces it", WITHOUT),
            (
                "metadata.labels[grove.io/a]",
                "label grove.io/a",
                "PodGangs do not repeat Grove's own keys, or records of other tools about the workload",
                "",
            ),
            (
                "metadata.annotations[argocd.argoproj.io/sync-wave]",
                "annotation argocd.argoproj.io/sync-wave",
                "PodGangs do not repeat Grove's own keys, or records of other tools about the workload",
                "",
            ),
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_missing(case: str) -> None:
    (configuration, *items), expected = CASES[case]

    assert missing(explained(configuration, *items)) == expected


def test_nothing_is_missing_where_nothing_is_left_out() -> None:
    text = workload("packDomain: zone", "packDomain: zone").replace("replicas: 2, minAvailable: 1", "replicas: 1")

    assert missing(explained(settings("grep-244"), text)) == []


@pytest.mark.parametrize(
    ("revision", "maker"),
    [
        ("grep-244", "the scheduler makes it in the cluster from the PodGang"),
        ("v0.1.0-alpha.11", "the scheduler makes it in the cluster from the PodGang"),
        ("upstream", "the workload's operator makes it in the cluster"),
    ],
)
def test_an_object_that_is_not_rendered(revision: str, maker: str) -> None:
    old = revision == "grep-244"
    constraint = "packDomain: zone" if old else "topologyName: gb200, pack: {required: zone}"
    text = workload(constraint, constraint, metadata="" if old else QUEUE)
    configuration = settings(revision, emit="[PodGang]")

    asked = ("spec.emit", "PodGroup objects", f"spec.emit has no PodGroup; {maker}", "add PodGroup to spec.emit")
    assert missing(explained(configuration, text, *(() if old else (BINDING,))))[-1] == asked


def test_the_line_of_what_is_missing_says_why() -> None:
    explanation = explained(settings("grep-244"), workload("packDomain: zone", "packDomain: host"))

    chosen = at_line(explanation, "0.yaml", 12)

    assert chosen is not None
    assert [each.asked for each in chosen.omissions] == ['domain "host"', REPLACED]
    assert [each.name for each in chosen.copies] == ["PodGang a/llm-0-decode-0", "PodGroup a/llm-0-decode-0"]
