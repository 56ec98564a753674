"""Kueue's labels and annotations, and where it reads them of each kind of workload.

Kueue says nothing of a key that is misspelt or in the wrong place: the pods stand anywhere, or are not queued at all.
Source: spec/kueue.md#1.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings.finding import Finding, Rule
from packwise.keys import Key, KeyTable, Part, key_places, key_problems
from packwise.objects.workload_kinds import QUEUE_NAME, WORKLOAD_KINDS, Integration
from packwise.schedulers.kueue.request import PREFIX, TOPOLOGY_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.kubeobject import KubeObject
    from packwise.objects import Index
    from packwise.objects.workload_kinds import Metadata, WorkloadKind

KEY = Rule(
    "kueue-key", "Kueue's labels and annotations are spelt right, and stand where they are read.", "spec/kueue.md#1",
    Severity.WARNING,
)  # fmt: skip
RULES = (KEY,)
"""Rules of keys."""

_KUEUE = "Kueue"
_KINDS = tuple(kind for kind in WORKLOAD_KINDS.values() if kind.integration is not None)


def _part(kind: WorkloadKind, metadata: Metadata) -> Part:
    """The metadata, by their path: Kueue has no other names for them."""
    return Part(kind.key, metadata.path, ".".join(metadata.path).replace(".*", "[]"))


_PARTS = tuple(_part(kind, metadata) for kind in _KINDS for metadata in kind.metadata)
_PODS = tuple(_part(kind, each) for kind in _KINDS for each in kind.templates)
_OWNERS = tuple(_part(kind, kind.owner) for kind in _KINDS)
_PODS_WITH_QUEUES = tuple(
    _part(kind, each) for kind in _KINDS if kind.integration is Integration.PODS for each in kind.templates
)
"""Templates of pods that are queued one by one, or as a group."""

_OTHERS = (
    "admission", "admission-gated-by", "auto-generated", "cluster-queue-name", "component-workload-index",
    "concurrent-admission", "concurrent-admission-parent", "elastic-job", "is-group-workload",
    "job-completions-equal-parallelism", "job-min-parallelism", "job-owner-gvk", "job-owner-name", "job-uid",
    "local-queue-name", "managed", "manager", "max-exec-time-seconds", "multikueue", "multikueue-origin",
    "multikueue-origin-uid", "multikueue-worker-workload-pod", "pod-group-fast-admission", "pod-group-name",
    "pod-group-pod-index", "pod-group-pod-index-label", "pod-group-serving", "pod-group-total-count",
    "pod-index-offset", "pod-suspending-parent", "podset", "podset-replica-sizes", "podset-topology-spreading",
    "prebuilt-workload-name", "priority-boost", "priority-class", "provisioning-request", "raycluster-generation",
    "raycluster-podset-replica-sizes", "resource-in-use", "retriable-in-group", "role-hash",
    "safe-to-forcefully-delete", "stopping", "topology", "workload", "workload-allowed-resource-flavors",
    "workload-slice-name", "workload-slice-replacement-for", "workloadpriorityclass",
)  # fmt: skip
"""Names of keys that say nothing of a topology, or that Kueue writes itself."""

_ROWS = (
    Key(QUEUE_NAME, _KUEUE, labels=(*_OWNERS, *_PODS_WITH_QUEUES)),
    *[
        Key(name, _KUEUE, annotations=_PODS, elsewhere="an annotation of the pod templates of the runtime")
        for name in TOPOLOGY_KEYS
    ],
    *[Key(f"{PREFIX}{name}", _KUEUE, is_written=True) for name in _OTHERS],
)
_TABLE = KeyTable({key.name: key for key in _ROWS}, _PARTS, word="kueue", stem="podset-", rule=KEY)


def check_keys(index: Index) -> Iterator[Finding]:
    """Findings about the keys of all workloads that Kueue knows."""
    for kind in _KINDS:
        parts = [part for part in _TABLE.parts if part.kind == kind.key]
        for item in index.of_kind(*kind.key):
            yield from _keys_of(item, kind, parts)


def _keys_of(item: KubeObject, kind: WorkloadKind, parts: list[Part]) -> Iterator[Finding]:
    owner = kind.owner.path
    is_queued = bool(item.get((*owner, "labels", QUEUE_NAME)))
    for part in parts:
        for place in key_places(item.value, part):
            for rule, problem in key_problems(place, _TABLE, lambda _key, _place: ""):
                # A copy beside the label that counts does no harm.
                if not (is_queued and part.path != owner and problem.path[-1] == QUEUE_NAME):
                    yield Finding.about(problem, item, rule)
