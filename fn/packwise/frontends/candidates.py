"""Objects that KAI may group: objects that name its scheduler or have one of its keys."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.objects.index import group_and_kind
from packwise.objects.kinds import KINDS, POD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings import Finding
    from packwise.objects.index import Index


_OF_OTHERS = frozenset(kind.key for kind in KINDS if kind is not POD)


_TRAIN_JOB = ("trainer.kubeflow.org", "TrainJob")

WORDS = ("schedulerName", "kai.scheduler/", "batchScheduler")
"""Every workload with a scheduler or a key of KAI contains one of these texts."""


_QUEUED = "kueue.x-k8s.io/"
"""Prefix of the keys that Kueue reads."""


_TYPED, _TYPES = "kubeflow.org", "ReplicaSpecs"
"""The group of jobs with replicas by type, and the suffix of their fields. Without this suffix, no pod has a template.
"""


def candidates(index: Index) -> Iterator[KubeObject]:
    """Yield the users' objects that may be workloads of the scheduler, judged by their texts alone.

    A TrainJob's runtime names its scheduler. If there is any candidate, TrainJobs are candidates too.
    """
    seen: dict[str, bool] = {}
    waiting: list[KubeObject] = []
    is_any = False
    for key, items in index.by_kind.items():
        if key in _OF_OTHERS:
            continue
        for item in items:
            if not item.has_source or (key[0] == _TYPED and _TYPES not in item.source.text):
                is_any = True
                yield item
                continue
            # The objects of a file share its text.
            text = item.source.text
            if text not in seen:
                seen[text] = any(word in text for word in WORDS)
            if seen[text]:
                is_any = True
                yield item
            elif key == _TRAIN_JOB:
                waiting.append(item)
    yield from waiting if is_any else ()


def may_be_workload(item: KubeObject) -> bool:
    """Return True if an unreadable object has a kind or words of KAI or Kueue."""
    # Few inputs have such an object.
    from packwise.objects.workload_kinds import WORKLOAD_KINDS

    words = (*WORDS, _QUEUED)
    return group_and_kind(item.value) in WORKLOAD_KINDS or any(word in item.source.text for word in words)


def has_candidates(index: Index) -> bool:
    """Return True if there are candidates."""
    return next(candidates(index), None) is not None


def candidate_key_findings(index: Index, kai_version: str | None, kai_name: str) -> Iterator[Finding]:
    """Yield findings about keys of candidates without a reader, for the named release and scheduler name of KAI."""
    if has_candidates(index):
        # Few inputs have workloads that KAI groups itself.
        from packwise.frontends.workloads.keys import workload_key_findings

        yield from workload_key_findings(index, kai_version, kai_name)


def candidate_metadata(index: Index, kai_name: str) -> Iterator[tuple[KubeObject, FieldPath, Mapping[str, Value]]]:
    """Yield the metadata of KAI's candidates and of their templates, each with its path."""
    if has_candidates(index):
        # Few inputs have one.
        from packwise.frontends.workloads.keys import metadata_of_workloads

        yield from metadata_of_workloads(index, kai_name)
