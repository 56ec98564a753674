"""The parts of an object that a comparison compares. The rest of the object stays as it is."""

from __future__ import annotations

from typing import Any, cast

import pytest

from krmfn.yamltext import read
from packwise.diff.change import counted_both, counting_part, is_deeper, with_counted
from packwise.diff.difference import json_patch
from packwise.objects.kinds import GANGS

GANG = "kind: PodGang\n"
COUNTED: list[tuple[str, str, str]] = [
    ("nothing", "{}", "{}"),
    ("a status does not count, nor does null", "{kind: PodGang, status: {phase: Running}, data: null, spec: null}",
     "{kind: PodGang}"),
    ("of metadata what a user writes", """
metadata:
  name: a
  namespace: b
  uid: "1"
  resourceVersion: "2"
  generation: 3
  finalizers: [c]
  labels: {team: a, kustomize.toolkit.fluxcd.io/name: x, packwise.dev/y: z}
  annotations: {note: a, argocd.argoproj.io/tracking-id: x, kubectl.kubernetes.io/last-applied-configuration: y}
""", "metadata: {name: a, namespace: b, labels: {team: a}, annotations: {note: a}}"),
    ("notes of tools alone are none", "metadata: {name: a, labels: {}, annotations: {meta.helm.sh/release-name: x}}",
     "metadata: {name: a}"),
    ("metadata that is none", "metadata: text", "metadata: {}"),
    ("metadata of other types", "metadata: {name: a, labels: [b], annotations: c, namespace: ''}",
     "metadata: {name: a}"),
    ("an empty constraint is none", """
spec:
  topologyConstraint: {}
  other: {}
  podgroups: [{name: a, topologyConstraint: {}}, {name: b, topologyConstraint: {packConstraint: {}}}, null, [{a: null}]]
""", "spec: {other: {}, podgroups: [{name: a}, {name: b, topologyConstraint: {packConstraint: {}}}, null, [{}]]}"),
    ("what a cluster fills in of a PodGang", f"""
{GANG}spec:
  podgroups: [{{name: a, podReferences: [x], minReplicas: 1}}, text]
  podReferences: kept
  others: [{{podReferences: kept}}]
""", f"""
{GANG}spec:
  podgroups: [{{name: a, minReplicas: 1}}, text]
  podReferences: kept
  others: [{{podReferences: kept}}]
"""),
    ("a list that is none", f"{GANG}spec: {{podgroups: {{podReferences: [x]}}}}",
     f"{GANG}spec: {{podgroups: {{podReferences: [x]}}}}"),
    ("what KAI fills in of a PodGroup", """
kind: PodGroup
spec: {markUnschedulable: true, schedulingBackoff: 1, queue: a, subGroups: [{markUnschedulable: true}]}
""", "{kind: PodGroup, spec: {queue: a, subGroups: [{markUnschedulable: true}]}}"),
    ("of Volcano's it counts",
     "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, spec: {markUnschedulable: true}}",
     "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, spec: {markUnschedulable: true}}"),
    ("of other kinds it counts", "{kind: Queue, spec: {markUnschedulable: true, podgroups: [{podReferences: [x]}]}}",
     "{kind: Queue, spec: {markUnschedulable: true, podgroups: [{podReferences: [x]}]}}"),
    ("no kind, and a spec of another type", "{spec: [null, {a: null}], data: {b: {c: null, d: 0}}}",
     "{spec: [null, {}], data: {b: {d: 0}}}"),
]  # fmt: skip


def value(text: str) -> Any:
    """Return the value of a text. A gang without an API gets the API of the first gang with its name."""
    parsed = cast("dict[str, Any]", read(text))
    kind = next((kind for kind in GANGS if kind.name == parsed.get("kind")), None)
    return parsed if kind is None else {"apiVersion": kind.api_version, **parsed}


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in COUNTED], ids=[row[0] for row in COUNTED])
def test_what_counts(text: str, expected: str) -> None:
    assert counting_part(value(text)) == value(expected)


LIVE = """
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata:
  name: a
  uid: "1"
  labels: {team: a, gone: b, argocd.argoproj.io/instance: x}
  annotations: {note: a, kubectl.kubernetes.io/last-applied-configuration: y}
spec:
  podgroups:
  - {name: a, minReplicas: 1, podReferences: [{name: a-1}]}
  - {name: b, minReplicas: 1, podReferences: [{name: b-1}]}
  - text
  gone: 1
status: {phase: Running}
data: gone
"""
WANTED = """
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata:
  name: a
  namespace: default
  labels: {team: b, packwise.dev/y: z}
spec:
  podgroups:
  - {name: c, minReplicas: 3, podReferences: []}
  - {name: b, minReplicas: 2}
  - other
  new: 1
status: {phase: Pending}
"""
RESULT = """
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata:
  uid: "1"
  name: a
  namespace: default
  labels: {team: b, argocd.argoproj.io/instance: x}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: y}
spec:
  podgroups:
  - {name: c, minReplicas: 3, podReferences: []}
  - {name: b, minReplicas: 2, podReferences: [{name: b-1}]}
  - other
  new: 1
status: {phase: Running}
"""
LABELS = (
    'grove.io/epoch: "%s", grove.io/podcliqueset-generation-hash: %s, team: %s, '
    'grove.io/podcliqueset-replica-index: "0", grove.io/podgang-role: Anchor, app.kubernetes.io/part-of: web'
)


def epoch_gang(epoch: str, generation: str, team: str) -> str:
    """Return a gang of an epoch, in flow style."""
    labels = LABELS % (epoch, generation, team)
    head = "apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang"
    return f"{{{head}, metadata: {{name: web-0-{epoch}, labels: {{{labels}}}}}}}"


WITH: list[tuple[str, str, str, str]] = [
    ("a gang of a cluster, and another one", LIVE, WANTED, RESULT),
    ("a PodGroup keeps what KAI fills in", "{kind: PodGroup, spec: {markUnschedulable: true, minMember: 1}}",
     "{kind: PodGroup, spec: {markUnschedulable: false, schedulingBackoff: 1, queue: a}}",
     "{kind: PodGroup, spec: {markUnschedulable: true, queue: a}}"),
    ("nothing before", "{}", "{kind: PodGang, metadata: {name: a}, spec: {podgroups: [{name: a}]}}",
     "{kind: PodGang, metadata: {name: a}, spec: {podgroups: [{name: a, podReferences: []}]}}"),
    ("before it other types", "{metadata: a, spec: b, data: c}", "{metadata: {labels: {d: e}}, spec: {f: g}, data: h}",
     "{metadata: {labels: {d: e}}, spec: {f: g}, data: h}"),
    ("groups of other types before", "{kind: PodGang, spec: {podgroups: a}, metadata: {labels: [b], annotations: c}}",
     "{kind: PodGang, spec: {podgroups: [{name: a}]}, metadata: {name: d}}",
     "{kind: PodGang, spec: {podgroups: [{name: a, podReferences: []}]}, metadata: {name: d}}"),
    ("groups that were texts", "{kind: PodGang, spec: {podgroups: [a, {podReferences: [x]}]}}",
     "{kind: PodGang, spec: {podgroups: [{name: a}, {minReplicas: 1}]}}",
     "{kind: PodGang, spec: {podgroups: [{name: a, podReferences: []}, {minReplicas: 1, podReferences: [x]}]}}"),
    ("a gang keeps its epoch, with the labels that follow from it", epoch_gang("7", "old", "a"),
     epoch_gang("9", "new", "b"), epoch_gang("7", "old", "b")),
    ("a spec of another type afterwards", "{spec: {a: b}}", "{spec: [c]}", "{spec: [c]}"),
]  # fmt: skip


def without_epoch(team: str) -> str:
    """Return the comparable part of a gang with an epoch. It is compared with a gang of another epoch."""
    labels = LABELS.partition("team: %s, ")[2]
    head = "apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang"
    return f"{{{head}, metadata: {{labels: {{team: {team}, {labels}}}}}}}"


BESIDE: list[tuple[str, str, str, str, str]] = [
    ("two epochs", epoch_gang("7", "old", "a"), epoch_gang("9", "new", "b"), without_epoch("a"), without_epoch("b")),
    ("an epoch, and none", epoch_gang("7", "old", "a"), "{kind: PodGang, metadata: {name: web-0, labels: {a: b}}}",
     "{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang, metadata: {name: web-0-7, labels: {team: a, "
     "app.kubernetes.io/part-of: web}}}", "{kind: PodGang, metadata: {name: web-0, labels: {a: b}}}"),
    ("none", "{metadata: {name: a, uid: b}}", "{metadata: {name: c}, status: d}", "{metadata: {name: a}}",
     "{metadata: {name: c}}"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "counts", "others"), [row[1:] for row in BESIDE], ids=[row[0] for row in BESIDE]
)
def test_what_counts_of_two_states_of_a_gang(one: str, other: str, counts: str, others: str) -> None:
    assert counted_both(value(one), value(other)) == (value(counts), value(others))
    assert counted_both(value(other), value(one)) == (value(others), value(counts))


@pytest.mark.parametrize(("before", "after", "expected"), [row[1:] for row in WITH], ids=[row[0] for row in WITH])
def test_what_counts_of_another_object_takes_its_place(before: str, after: str, expected: str) -> None:
    assert with_counted(value(before), value(after)) == value(expected)


def test_a_patch_leaves_alone_what_does_not_count() -> None:
    assert json_patch({"spec": {"a": 1}, "status": {"b": 2}}, {"spec": {"a": 3}, "status": {"b": 4}}) == [
        {"op": "replace", "path": "/spec/a", "value": 3}
    ]


@pytest.mark.parametrize(("text", "most", "expected"), [
    ("1", 0, True),
    ("1", 1, False),
    ("{a: 1}", 1, False),
    ("{a: [1]}", 1, True),
    ("{a: [1]}", 2, False),
    ("[1, [{}]]", 2, True),
    ("[1, [{}]]", 3, False),
    ("[[], {}, {a: []}]", 2, True),
])  # fmt: skip
def test_how_deep_values_are_nested(text: str, most: int, expected: bool) -> None:
    assert is_deeper(read(text), most) == expected


OWNED = "{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: a%s}}"
OWNER = ", ownerReferences: [{apiVersion: batch/v1, kind: Job, name: %s, uid: %s}]"


@pytest.mark.parametrize(
    ("before", "after", "is_changed"),
    [
        (OWNER % ("a", "u1"), OWNER % ("b", "u1"), True),
        (OWNER % ("a", "u1"), OWNER % ("a", "u2"), False),
        # A controller adds the owner in the cluster.
        ("", OWNER % ("a", "u1"), False),
        (OWNER % ("a", "u1"), "", False),
    ],
)
def test_another_owner_counts_if_both_states_have_one(before: str, after: str, is_changed: bool) -> None:
    mine, theirs = counted_both(value(OWNED % before), value(OWNED % after))

    assert (mine != theirs) is is_changed
