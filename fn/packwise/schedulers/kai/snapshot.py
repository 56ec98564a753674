"""What a cluster has: its nodes, the pods that are bound to them, its KAI topologies and queues.

Read of objects as `kubectl get nodes,pods -A -o json` prints them, or of a dump of KAI's snapshot plugin.
"""

from __future__ import annotations

from itertools import pairwise

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.record import NamedTuple
from packwise.kubernetes.pod_requests import amounts, pod_requests
from packwise.schedulers.kai.allocate.scene import PODS, KaiTopology, Node, PodRules, QueueShare, Taint, Toleration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.value import Value

__all__ = [
    "BoundPod",
    "Snapshot",
    "SnapshotError",
    "labelled",
    "objects_of",
    "pod_rules",
    "priorities",
    "read_snapshot",
]

_NOT_READY = "node has NotReady condition"
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
_KINDS = {
    "nodes": "Node",
    "pods": "Pod",
    "topologies": "Topology",
    "queues": "Queue",
    "priorityClasses": "PriorityClass",
}
"""The kinds of the objects that a KAI snapshot lists, by its field."""

_PODS_OF_A_NODE = 110


class SnapshotError(Exception):
    """Objects that show no cluster; the text says what must be there."""


class BoundPod(NamedTuple):
    """A pod that runs, or is about to, on `node`. `gang` and `pod_set` are what its labels say that it is part of."""

    namespace: str
    name: str
    node: str
    request: tuple[tuple[str, int], ...]
    gang: str = ""
    pod_set: str = ""


class Snapshot(NamedTuple):
    """The cluster. `nodes` are in order of name, none of their resources in use; `pods` are what uses them.

    `priorities` are the values of its PriorityClasses.
    """

    nodes: tuple[Node, ...]
    pods: tuple[BoundPod, ...] = ()
    topologies: tuple[KaiTopology, ...] = ()
    queues: tuple[QueueShare, ...] = ()
    priorities: Mapping[str, int] = {}


def objects_of(value: Value) -> Iterator[Mapping[str, Value]]:
    """The objects that a document holds: itself, the items of a List, or those of a KAI snapshot."""
    if isinstance(value, list):
        for entry in value:
            yield from objects_of(entry)
    if not isinstance(value, dict):
        return
    raw, items = value.get("rawObjects"), value.get("items")
    if isinstance(raw, dict):
        for field, kind in _KINDS.items():
            entries = raw.get(field)
            # The API server's client leaves the kind of listed objects out.
            yield from (
                {"kind": kind, **entry}
                for entry in (entries if isinstance(entries, list) else ())
                if isinstance(entry, dict)
            )
    elif isinstance(items, list) and str(value.get("kind", "")).endswith("List"):
        kind = str(value["kind"]).removesuffix("List")
        for entry in items:
            if isinstance(entry, dict):
                yield from objects_of({"kind": kind, **entry} if kind else entry)
    else:
        yield value


def read_snapshot(objects: Iterable[Mapping[str, Value]]) -> Snapshot:
    """The cluster of these objects. Raises SnapshotError where there is no node, or one twice."""
    by_kind: dict[str, list[Mapping[str, Value]]] = {}
    for value in objects:
        by_kind.setdefault(str(value.get("kind")), []).append(value)
    nodes = sorted((_node(value) for value in by_kind.get("Node", ())), key=lambda node: node.name)
    for before, node in pairwise(nodes):
        if before.name == node.name:
            raise SnapshotError(f'must hold each node once; got Node "{node.name}" twice')
    if not nodes:
        raise SnapshotError("must hold nodes, as `kubectl get nodes,pods -A -o json` prints them; got none")
    names = {node.name for node in nodes}
    pods = [pod for value in by_kind.get("Pod", ()) if (pod := _pod(value)) is not None and pod.node in names]
    return Snapshot(
        tuple(nodes),
        tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name))),
        tuple([_topology(value) for value in by_kind.get("Topology", ())]),
        tuple([_queue(value) for value in by_kind.get("Queue", ())]),
        priorities(by_kind.get("PriorityClass", ())),
    )


def priorities(classes: Iterable[Mapping[str, Value]]) -> dict[str, int]:
    """The value of each PriorityClass by name."""
    return {
        _text(_at(value, "metadata"), "name"): number
        for value in classes
        if isinstance(number := value.get("value"), int)
    }


def labelled(nodes: Iterable[Node], domain: str) -> list[Node]:
    """The nodes that `domain` names: a node's name, or `label=value`."""
    key, equals, value = domain.partition("=")
    return [node for node in nodes if (node.labels.get(key) == value if equals else node.name == domain)]


def pod_rules(spec: Mapping[str, Value]) -> PodRules:
    """What else the spec of a pod asks of its node."""
    required = _at(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = _mappings(required.get("nodeSelectorTerms"))
    return PodRules(
        tuple(sorted((key, str(text)) for key, text in _at(spec, "nodeSelector").items())),
        tuple([_term(term) for term in terms]) if required else None,
        tuple([
            Toleration(*(_text(entry, key) for key in ("key", "operator", "value", "effect")))
            for entry in _mappings(spec.get("tolerations"))
        ]),
    )  # fmt: skip


def _term(term: Mapping[str, Value]) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    inner = [
        *_mappings(term.get("matchExpressions")),
        *({**entry, "key": "metadata.name"} for entry in _mappings(term.get("matchFields"))),
    ]
    return tuple([
        (_text(entry, "key"), _text(entry, "operator"), tuple([str(each) for each in _list(entry.get("values"))]))
        for entry in inner
    ])  # fmt: skip


def _node(value: Mapping[str, Value]) -> Node:
    spec, status = _at(value, "spec"), _at(value, "status")
    labels = {key: str(text) for key, text in _at(value, "metadata", "labels").items()}
    allocatable = amounts(_at(status, "allocatable") or _at(status, "capacity"))
    return Node(
        _text(_at(value, "metadata"), "name"),
        labels,
        {PODS: _PODS_OF_A_NODE, **allocatable},
        {},
        spec.get("unschedulable") is True,
        tuple([
            Taint(_text(taint, "key"), _text(taint, "value"), _text(taint, "effect"))
            for taint in _mappings(spec.get("taints"))
        ]),
        tuple(_reasons(status)),
    )  # fmt: skip


def _reasons(status: Mapping[str, Value]) -> Iterator[str]:
    """KAI's reasons against a node. Source: KAI Scheduler, scheduler_util.CheckNodeConditionPredicate."""
    for condition in _mappings(status.get("conditions")):
        kind, holds = condition.get("type"), condition.get("status")
        if kind == "Ready" and holds != "True":
            yield _NOT_READY
        elif kind in _PRESSURES and holds != "False":
            yield f"node has {kind} condition"


def _pod(value: Mapping[str, Value]) -> BoundPod | None:
    """The pod, where it is bound to a node and has not ended."""
    metadata, spec = _at(value, "metadata"), _at(value, "spec")
    node = _text(spec, "nodeName")
    if not node or _text(_at(value, "status"), "phase") in ("Succeeded", "Failed"):
        return None
    labels, annotations = _at(metadata, "labels"), _at(metadata, "annotations")
    return BoundPod(
        _text(metadata, "namespace"),
        _text(metadata, "name"),
        node,
        tuple(pod_requests(spec).items()),
        _text(labels, "grove.io/podgang") or _text(annotations, "pod-group-name"),
        _text(labels, "grove.io/podclique") or _text(labels, "kai.scheduler/subgroup-name"),
    )


def _topology(value: Mapping[str, Value]) -> KaiTopology:
    levels = _mappings(_at(value, "spec").get("levels"))
    return KaiTopology(
        _text(_at(value, "metadata"), "name"),
        tuple([_text(level, "nodeLabel") for level in levels]),
        {_text(level, "alias"): _text(level, "nodeLabel") for level in levels if level.get("alias")},
    )


def _queue(value: Mapping[str, Value]) -> QueueShare:
    gpu = _at(value, "spec", "resources", "gpu")
    return QueueShare(_text(_at(value, "metadata"), "name"), _bound(gpu.get("quota")), _bound(gpu.get("limit")))


def _bound(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _at(value: Mapping[str, Value], *keys: str) -> Mapping[str, Value]:
    for key in keys:
        inner = value.get(key)
        value = inner if isinstance(inner, dict) else {}
    return value


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _mappings(value: Value) -> list[Mapping[str, Value]]:
    return [cast("Mapping[str, Value]", entry) for entry in _list(value) if isinstance(entry, dict)]


def _text(value: Mapping[str, Value], key: str) -> str:
    inner = value.get(key)
    return inner if isinstance(inner, str) else ""
