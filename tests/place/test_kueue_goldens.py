"""Answers of Kueue's own scheduler, by cluster: admission, the domains of all pods, and the message."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from functools import cache
from typing import Any

from krmfn.kubeobject import KubeObject
from krmfn.yamltext import split_documents
from packwise.objects.index import Index
from packwise.revisions.kueue import kueue_release
from packwise.schedulers.kueue.allocate.session import admit_jobs
from packwise.schedulers.kueue.cluster import objects_by_kind, read_scene
from packwise.schedulers.kueue.jobs import JobPriorities, queued_jobs
from packwise.schedulers.kueue.pod_resources import ResourceRules
from tests.golden.cases import GOLDEN
from tests.tables import each

FILE = GOLDEN / "placement" / "kueue.jsonl.gz"

RANDOM = {"s-0324": "Kueue names one pod set of a leader group at random; the case holds one of its two answers"}
"""Cases with a message that is not compared, each with the reason."""


@cache
def cases() -> dict[str, Any]:
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        return {case["case"]: case for case in map(json.loads, lines)}


def answer_of(case: Any) -> tuple[bool, Counter[tuple[str, str]], str]:
    """Return the answer for the only job: if it is admitted, its pods by pod set and domain, and the message."""
    documents = [each for text in case["files"].values() for each in split_documents(text) if each.text.strip()]
    items = [KubeObject.parse(document.text) for document in documents]
    scene = read_scene(objects_by_kind([*case["nodes"]["items"], *[item.value for item in items]]))
    jobs = queued_jobs(Index.of(items), kueue_release(None), JobPriorities({}, {}), ResourceRules())
    scene = scene.replace(jobs=tuple(job.job for job in jobs))
    [answer] = [
        answer
        for job, answer in zip(scene.jobs, admit_jobs(scene).answers, strict=True)
        if job.name == case["job"]
    ]  # fmt: skip
    placed: Counter[tuple[str, str]] = Counter()
    for pods in answer.sets:
        for path, count in pods.domains or ():
            levels = scene.topologies[pods.topology]
            placed[pods.name, path[-1] if levels[-1] == "kubernetes.io/hostname" else "/".join(path)] += count
    return answer.is_admitted, placed, answer.message


@each(cases)
def test_the_session_answers_as_kueue_does(case: Any) -> None:
    admitted, placed, message = answer_of(case)

    expected = case["answer"]
    domains: dict[str, dict[str, int] | None] = expected["podSets"]
    pods = {(name, where): count for name, sets in domains.items() for where, count in (sets or {}).items()}
    if case["kind"] == "PodGroup":
        # The names of roles are hashes.
        message = re.sub(r"pod set [^ :]+:", "pod set *:", message)
        placed = Counter({("*", where): sum(placed[key] for key in placed if key[1] == where) for _, where in placed})
    assert admitted == expected["admitted"]
    assert dict(placed) == pods
    if not admitted and case["case"] not in RANDOM:
        assert message in (expected["message"], expected.get("orMessage"))


@each(cases)
def test_the_order_of_objects_in_the_cluster_changes_nothing(case: Any) -> None:
    turned = {**case, "nodes": {**case["nodes"], "items": case["nodes"]["items"][::-1]}}

    assert answer_of(turned) == answer_of(case)
