"""Warnings of packwise that no operator gives, each with its whole text."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.kubeobject import KubeObject
from krmfn.yamltext import write
from packwise.frontends.grove.advice import ADVICE, advise, pod_specs
from packwise.frontends.grove.default import default
from packwise.frontends.grove.podcliqueset import PodCliqueSet
from packwise.frontends.grove.rules.book import Context, rules_of
from packwise.revisions.grove import GREP_244

from .cases import context_of, edited, view_of

T = "spec.template."
POD = f"{T}cliques[0].spec.podSpec"

# Fields that the base workload of other rules lacks. With them, no rule has advice.
COMPLETE = {"metadata.namespace": "team-a", "metadata.labels": {"kai.scheduler/queue": "team-a"}}

CASES: list[tuple[str, dict[str, Any], list[tuple[str, str, str, str | None]]]] = [
    ("nothing to say", {}, []),
    (
        "no namespace",
        {"metadata.namespace": ""},
        [
            (
                "namespace-missing",
                "metadata.namespace",
                'must be set: packwise renders the workload into "default", and Flux refuses it',
                None,
            )
        ],
    ),
    (
        "KAI without a queue",
        {"metadata.labels": {}, f"{POD}.schedulerName": "kai-scheduler"},
        [
            (
                "queue-missing",
                f"{POD}.schedulerName",
                "the workload names no queue of the KAI Scheduler; add the label kai.scheduler/queue",
                None,
            )
        ],
    ),
    (
        "a queue on the clique",
        {
            "metadata.labels": {},
            f"{T}cliques[0].labels": {"kai.scheduler/queue": "q"},
            f"{POD}.schedulerName": "kai-scheduler",
        },
        [],
    ),
    ("another scheduler needs no queue", {"metadata.labels": {}, f"{POD}.schedulerName": "default-scheduler"}, []),
    (
        "a restart policy",
        {f"{POD}.restartPolicy": "Never"},
        [
            (
                "pod-restart-policy",
                f"{POD}.restartPolicy",
                '"Never" has no effect: the operator sets "Always"; remove the field',
                None,
            )
        ],
    ),
    ("the restart policy there is", {f"{POD}.restartPolicy": "Always"}, []),
    (
        "quantities as numbers",
        {
            f"{POD}.containers": [
                {"name": "a", "resources": {"limits": {"nvidia.com/gpu": 8}, "requests": {"cpu": 0.5}}}
            ]
        },
        [
            (
                "quantity-unquoted",
                f"{POD}.containers[0].resources.limits[nvidia.com/gpu]",
                'must be the string "8": the operator stores a string, and Argo CD then always shows a difference',
                "8",
            ),
            (
                "quantity-unquoted",
                f"{POD}.containers[0].resources.requests.cpu",
                'must be the string "0.5": the operator stores a string, and Argo CD then always shows a difference',
                "0.5",
            ),
        ],
    ),
    ("quantities as strings", {f"{POD}.containers": [{"name": "a", "resources": {"limits": {"cpu": "8"}}}]}, []),
    ("containers of another type are for others to refuse", {f"{POD}.containers": "none"}, []),
]


def warnings(workload: KubeObject) -> list[tuple[str, str, str, str | None]]:
    from krmfn.fieldpath import format_path

    pcs = PodCliqueSet.read(default(workload.value, GREP_244))
    problems = advise(workload, pod_specs(workload), pcs, Context(GREP_244))
    return [(rule.name, format_path(p.path), p.message, p.proposed) for rule, p in problems]  # type: ignore[misc]


@pytest.mark.parametrize(("edits", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_advice(edits: dict[str, Any], expected: list[tuple[str, str, str, str | None]]) -> None:
    assert warnings(KubeObject.parse(write(edited({**COMPLETE, **edits})))) == expected


GROUPS = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: a, namespace: team-a}
spec:
  replicas: 1
  template:
    topologyConstraint: {packDomain: zone}
    cliques:
    - {name: alone, topologyConstraint: {packDomain: zone}, spec: {roleName: a, replicas: 1, podSpec: {}}}
    - {name: member, topologyConstraint: {packDomain: rack}, spec: {roleName: b, replicas: 1, podSpec: {}}}
    podCliqueScalingGroups:
    - name: scaled
      cliqueNames: [member]
      replicas: 2
      topologyConstraint: {packDomain: rack}
      scaleConfig: {minReplicas: 1, maxReplicas: 4}
    - {name: empty, cliqueNames: []}
"""


def test_advice_on_groups_and_constraints() -> None:
    assert warnings(KubeObject.parse(GROUPS)) == [
        (
            "group-without-cliques",
            f"{T}podCliqueScalingGroups[1].cliqueNames",
            "the group names no cliques and has no pods; name cliques, or remove the group",
            None,
        ),
        (
            "autoscaler-moves-gangs",
            f"{T}podCliqueScalingGroups[0].scaleConfig",
            "an autoscaler sets 1 to 4 replicas, but packwise renders PodGangs for 2. Add the live "
            "PodCliqueScalingGroup with its current replicas to the input",
            None,
        ),
        (
            "constraint-redundant",
            f"{T}cliques[0].topologyConstraint.packDomain",
            'the constraint has no effect, because the whole workload already requests "zone"; narrow it, or remove it',
            None,
        ),
        (
            "constraint-redundant",
            f"{T}cliques[1].topologyConstraint.packDomain",
            'the constraint has no effect, because group "scaled" already requests "rack"; narrow it, or remove it',
            None,
        ),
    ]


@pytest.mark.parametrize("word", ["yes", "No", "ON", "off", "y", "N"])
@pytest.mark.parametrize(("written", "is_told"), [("{}", True), ('"{}"', False), ("'{}'", False)])
def test_a_word_that_tools_read_differently_is_reported_unless_it_is_quoted(
    word: str, written: str, is_told: bool
) -> None:
    text = GROUPS.replace("{name: a, namespace: team-a}", "{name: a, namespace: team-a, labels: {a: WORD}}")

    found = [
        each
        for each in warnings(KubeObject.parse(text.replace("WORD", written.format(word))))
        if each[0] == "scalar-tool-dependent"
    ]

    truth = "true" if word.lower() in ("yes", "on", "y") else "false"
    message = f"must be in quotes: kustomize and kpt read {word} as a string, kubectl as {truth}"
    assert found == ([("scalar-tool-dependent", "metadata.labels.a", message, f'"{word}"')] if is_told else [])


def test_every_advice_is_a_warning_but_what_asks_for_nothing() -> None:
    assert [rule.name for rule in rules_of(ADVICE) if rule.severity != "warning"] == ["constraint-redundant"]


@pytest.mark.parametrize(
    ("release", "schedulers", "is_warned"),
    [
        ("v0.1.0-alpha.11", ["kai-scheduler", "default-scheduler"], True),
        ("v0.1.0-alpha.11", ["default-scheduler", "kai-scheduler"], False),
        ("v0.1.0-alpha.12", ["kai-scheduler", "default-scheduler"], False),
    ],
)
def test_a_queue_is_missed_where_kai_is_the_default_and_the_operator_does_not_ask(
    release: str, schedulers: list[str], is_warned: bool
) -> None:
    workload = KubeObject.new(edited({"metadata.namespace": "team-a"}))
    context = context_of({"revision": release, "schedulers": schedulers})
    found = advise(workload, pod_specs(workload), view_of(workload.value, context, create=True), context)
    assert [rule.name for rule, _ in found] == (["queue-missing"] if is_warned else [])
