"""Keys of workloads that KAI groups itself: the place of each key, and the finding about a misplaced one."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.fieldpath import format_path
from packwise.frontends.workloads.keys import WORKLOAD_KEYS, move_keys, workload_key_findings
from packwise.objects.index import Index
from tests.frontends.workloads.workloads import parsed

POD = "{schedulerName: kai-scheduler, containers: [{name: main, image: main}]}"
JOB = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: train, OWN}}
spec: {{parallelism: 2, template: {{metadata: {{PODS}}, spec: {POD}}}}}
"""
JOB_SET = f"""\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: train, OWN}}
spec:
  replicatedJobs:
  - name: a
    template: {{metadata: {{JOBS}}, spec: {{template: {{metadata: {{PODS}}, spec: {POD}}}}}}}
"""
LWS = f"""\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: serve, OWN}}
spec: {{leaderWorkerTemplate: {{size: 4, workerTemplate: {{metadata: {{PODS}}, spec: {POD}}}}}}}
"""
PYTORCH = f"""\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: train, OWN}}
spec:
  pytorchReplicaSpecs:
    Master: {{replicas: 1, template: {{metadata: {{JOBS}}, spec: {POD}}}}}
    Worker: {{replicas: 4, template: {{metadata: {{PODS}}, spec: {POD}}}}}
"""
CRON_JOB = f"""\
apiVersion: batch/v1
kind: CronJob
metadata: {{name: nightly, OWN}}
spec: {{jobTemplate: {{metadata: {{JOBS}}, spec: {{template: {{metadata: {{PODS}}, spec: {POD}}}}}}}}}
"""
TRAIN_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, OWN}
spec: {runtimeRef: {name: torch}}
"""
WIDGET = f"""\
apiVersion: example.com/v1
kind: Widget
metadata: {{name: thing, OWN}}
spec: {{tasks: [{{name: a, template: {{metadata: {{PODS}}, spec: {POD}}}}}]}}
"""
TOPOLOGY = "kai.scheduler/topology: cluster"
SEGMENT = "kai.scheduler/segment-topology-required-placement: rack"
REQUIRED = "kai.scheduler/topology-required-placement: rack"


def told(text: str, version: str | None = None, **places: str) -> list[tuple[str, str]]:
    """Return field and message of each finding. `places` are the values of the metadata."""
    found = workload_key_findings(Index.of(parsed(filled(text, places))), version)
    return [(format_path(each.path), f"{each.rule}: {each.message}") for each in found]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (JOB, {"own": "labels: {kai.scheduler/queue: q}, annotations: {kai.scheduler/batch-min-member: '2'}"}),
        (JOB, {"pods": "labels: {priorityClassName: train}, annotations: {gpu-fraction: '0.5'}"}),
        (JOB, {"own": f"annotations: {{{TOPOLOGY}, {REQUIRED}}}"}),
        (JOB_SET, {"jobs": f"annotations: {{{TOPOLOGY}, {REQUIRED}, kai.scheduler/batch-min-member: '1'}}"}),
        (LWS, {"pods": f"annotations: {{{TOPOLOGY}, kai.scheduler/segment-topology-required-placement: rack}}"}),
        (LWS, {"own": "annotations: {kai.scheduler/segment-size: '2'}"}),
        (CRON_JOB, {"own": "annotations: {kai.scheduler/skip-podgrouper: 'true'}"}),
        (CRON_JOB, {"jobs": f"annotations: {{{TOPOLOGY}, {REQUIRED}}}"}),
        (JOB.replace("kai-scheduler", "volcano"), {"own": "labels: {kai.scheduler/queu: q}"}),
        (TRAIN_JOB, {"own": "annotations: {kai.scheduler/batch-min-member: '1'}"}),
        (WIDGET, {"pods": f"labels: {{kai.scheduler/queue: q}}, annotations: {{{TOPOLOGY}, {REQUIRED}}}"}),
    ],
)  # fmt: skip
def test_what_is_read_is_left_alone(text: str, places: dict[str, str]) -> None:
    assert told(text, **places) == []


ELSEWHERE: list[tuple[str, dict[str, str], str, str]] = [
    (JOB, {"own": "annotations: {kai.scheduler/batch-minmember: '2'}"},
     "metadata.annotations[kai.scheduler/batch-minmember]",
     'key-spelling: no known component reads this key; did you mean "kai.scheduler/batch-min-member"?'),
    (JOB, {"own": "annotations: {kai.scheduler/topology-required: rack}"},
     "metadata.annotations[kai.scheduler/topology-required]",
     'key-spelling: no known component reads this key; did you mean "kai.scheduler/topology-required-placement"?'),
    (JOB, {"own": "labels: {kai.scheduler/tenant: a}"}, "metadata.labels[kai.scheduler/tenant]",
     "key-spelling: no known component reads this key"),
    (JOB, {"pods": f"annotations: {{{REQUIRED}}}"},
     "spec.template.metadata.annotations[kai.scheduler/topology-required-placement]",
     "key-place: KAI's pod-grouper does not read this key here; set it as an annotation of a Job"),
    (JOB, {"own": f"labels: {{{TOPOLOGY}}}"}, "metadata.labels[kai.scheduler/topology]",
     "key-place: must be an annotation here: KAI's pod-grouper does not read a label of this name"),
    (JOB, {"own": "annotations: {kai.scheduler/queue: q}"}, "metadata.annotations[kai.scheduler/queue]",
     "key-place: must be a label here: KAI does not read an annotation of this name"),
    (JOB, {"own": "annotations: {kai.scheduler/skip-podgrouper: 'True'}"},
     "metadata.annotations[kai.scheduler/skip-podgrouper]",
     'key-value: must be one of "true", "false"; got "True". KAI reads only "true"; did you mean "true"?'),
    (JOB, {"own": "labels: {kai.scheduler/preemptibility: nonpreemptible}"},
     "metadata.labels[kai.scheduler/preemptibility]",
     'key-value: must be one of "preemptible", "non-preemptible"; got "nonpreemptible". KAI ignores other values; did '
     'you mean "non-preemptible"?'),
    (JOB_SET, {"jobs": "labels: {kai.scheduler/queue: q}"},
     "spec.replicatedJobs[0].template.metadata.labels[kai.scheduler/queue]",
     "key-place: KAI does not read this key here; set it as a label of a JobSet, pods of a JobSet"),
    (CRON_JOB, {"own": "labels: {kai.scheduler/queue: q}"}, "metadata.labels[kai.scheduler/queue]",
     (
         "key-place: KAI does not read this key here; set it as a label of the Jobs of a CronJob, pods of a "
         "CronJob"
     )),
    (CRON_JOB, {"jobs": "annotations: {kai.scheduler/batch-min-member: '2'}"},
     "spec.jobTemplate.metadata.annotations[kai.scheduler/batch-min-member]",
     "key-place: KAI's pod-grouper does not read this key here; set it as an annotation of Jobs, JobSets and "
     "their replicatedJobs"),
    (LWS, {"pods": f"annotations: {{{TOPOLOGY}}}"},
     "spec.leaderWorkerTemplate.workerTemplate.metadata.annotations[kai.scheduler/topology]",
     "key-place: KAI's pod-grouper reads this key here only together with one of "
     '"kai.scheduler/segment-topology-required-placement", "kai.scheduler/segment-topology-preferred-placement"; set '
     "it as an annotation of a LeaderWorkerSet, the leaderTemplate of a LeaderWorkerSet, the workerTemplate of a "
     "LeaderWorkerSet"),
    (LWS, {"own": "annotations: {kai.scheduler/segment-topology-required-placement: rack}"},
     "metadata.annotations[kai.scheduler/segment-topology-required-placement]",
     "key-place: KAI's pod-grouper does not read this key here; set it as an annotation of the leaderTemplate "
     "of a LeaderWorkerSet, the workerTemplate of a LeaderWorkerSet"),
    (TRAIN_JOB, {"own": f"labels: {{{TOPOLOGY}}}"}, "metadata.labels[kai.scheduler/topology]",
     "key-place: must be an annotation here: KAI's pod-grouper does not read a label of this name"),
    (WIDGET, {"own": f"annotations: {{{REQUIRED}}}"},
     "metadata.annotations[kai.scheduler/topology-required-placement]",
     "key-place: KAI's pod-grouper does not read this key here; set it as an annotation of pods of a Widget"),
    (WIDGET, {"pods": "labels: {kai.scheduler/queu: q}"},
     "spec.tasks[0].template.metadata.labels[kai.scheduler/queu]",
     'key-spelling: no known component reads this key; did you mean "kai.scheduler/queue"?'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "places", "path", "message"), ELSEWHERE)
def test_what_stands_elsewhere_is_told(text: str, places: dict[str, str], path: str, message: str) -> None:
    assert told(text, **places) == [(path, message)]


def test_releases_before_a_key_are_told() -> None:
    own = "annotations: {kai.scheduler/preemption-delay: 90s}"

    assert told(JOB, "v0.17", own=own) == []
    assert told(JOB, "v0.16", own=own) == [
        (
            "metadata.annotations[kai.scheduler/preemption-delay]",
            "key-place: v0.16 does not read this key here; KAI's pod-grouper reads it since v0.17",
        )
    ]


def test_a_bare_pod_is_owner_and_pod() -> None:
    keys: dict[str, Any] = {"labels": [], "annotations": []}
    for key in WORKLOAD_KEYS.keys.values():
        for form, parts in (("labels", key.labels), ("annotations", key.annotations)):
            keys[form] += [key.name] if any(part.kind == ("", "Pod") for part in parts) else []

    assert keys["labels"] == [
        "kai.scheduler/queue", "kai.scheduler/node-pool", "priorityClassName", "kai.scheduler/preemptibility",
    ]  # fmt: skip
    assert [key for key in keys["annotations"] if key.startswith("gpu")] == [
        "gpu-fraction", "gpu-fraction-num-devices", "gpu-fraction-container-name", "gpu-memory",
    ]  # fmt: skip


MENDED: list[tuple[str, dict[str, str], dict[str, str]]] = [
    (JOB, {"own": "annotations: {kai.scheduler/batch-minmember: '2'}"},
     {"own": "annotations: {kai.scheduler/batch-min-member: '2'}"}),
    (JOB, {"own": "annotations: {kai.scheduler/queue: q}"}, {"own": "labels: {kai.scheduler/queue: q}"}),
    (JOB, {"own": "finalizers: []", "pods": f"annotations: {{{REQUIRED}}}"},
     {"own": f"finalizers: [], annotations: {{{REQUIRED}}}", "pods": ""}),
    (JOB_SET, {"jobs": "labels: {kai.scheduler/batch-min-member: '1'}"},
     {"jobs": "annotations: {kai.scheduler/batch-min-member: '1'}"}),
    (LWS, {"own": "finalizers: []", "pods": f"annotations: {{{TOPOLOGY}, {REQUIRED}}}"},
     {"own": f"finalizers: [], annotations: {{{TOPOLOGY}, {REQUIRED}}}", "pods": ""}),
    (LWS, {"own": f"finalizers: [], annotations: {{{TOPOLOGY}, {SEGMENT}}}"},
     {"pods": f"finalizers: [], annotations: {{{TOPOLOGY}, {SEGMENT}}}"}),
    (PYTORCH, {"own": f"annotations: {{{TOPOLOGY}, {REQUIRED}, {SEGMENT}, kai.scheduler/segment-size: '2'}}"},
     {"own": f"annotations: {{{TOPOLOGY}, {REQUIRED}}}",
      "pods": f"finalizers: [], annotations: {{{SEGMENT}, kai.scheduler/segment-size: '2'}}"}),
    (PYTORCH, {"jobs": "finalizers: [], annotations: {kai.scheduler/segment-size: '2'}"},
     {"pods": "finalizers: [], annotations: {kai.scheduler/segment-size: '2'}"}),
]  # fmt: skip
LEFT: list[tuple[str, dict[str, str]]] = [
    (JOB, {"own": f"annotations: {{{REQUIRED}}}", "pods": f"annotations: {{{REQUIRED}}}"}),
    (JOB, {"own": "labels: {runai/queue: q}"}),
    (JOB, {"own": "labels: {kai.scheduler/preemptibilty: never}"}),
    (JOB_SET, {"pods": f"annotations: {{{REQUIRED}}}"}),
    (CRON_JOB, {"own": "labels: {kai.scheduler/queue: q}"}),
    (LWS, {"pods": f"annotations: {{{TOPOLOGY}}}"}),
    (PYTORCH, {"pods": f"annotations: {{{TOPOLOGY}, {REQUIRED}}}"}),
    (PYTORCH.replace("Worker:", "Other:"), {"own": f"annotations: {{{SEGMENT}}}"}),
    (JOB.replace("kai-scheduler", "volcano"), {"own": "labels: {kai.scheduler/queu: q}"}),
]


def filled(text: str, places: dict[str, str]) -> str:
    for name in ("OWN", "JOBS", "PODS"):
        text = text.replace(name, places.get(name.casefold(), "finalizers: []"))
    return text


@pytest.mark.parametrize(("text", "places", "right"), MENDED)
def test_a_key_moves_to_the_one_place_where_it_is_read(
    text: str, places: dict[str, str], right: dict[str, str]
) -> None:
    (before,), (after,) = parsed(filled(text, places)), parsed(filled(text, right).replace("metadata: {}, ", ""))

    fixed = move_keys(before)

    assert fixed.value == after.value
    assert move_keys(fixed) is fixed


@pytest.mark.parametrize(("text", "places"), LEFT)
def test_a_key_that_may_be_meant_otherwise_stays(text: str, places: dict[str, str]) -> None:
    (item,) = parsed(filled(text, places))

    assert move_keys(item) is item
