"""What is asked in the place of what is: further nodes, drained ones, other numbers of replicas."""

from __future__ import annotations

import re

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.schedulers.kai.allocate.state import mig_strategy
from packwise.schedulers.kai.snapshot import Snapshot, nodes_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.schedulers.kai.allocate.scene import Node

__all__ = ["MAX_ADDED", "WhatIfError", "added", "drained", "is_count", "joined", "with_replicas"]

MAX_ADDED = 100_000
"""How many nodes are added at most."""

_COUNTED = re.compile(r"([0-9]{1,6})[x×](.*)", re.DOTALL)
_HOSTNAME = "kubernetes.io/hostname"


class WhatIfError(Exception):
    """What is asked names nothing that is there; the text says what it must name."""


class _Shape(NamedTuple):
    """Further nodes: how many, and the labels in which they differ from the node that they are copies of."""

    number: int
    labels: dict[str, str]


def is_count(text: str) -> bool:
    """Whether the text asks for copies of nodes, and names no file."""
    return _COUNTED.fullmatch(text) is not None


def added(snapshot: Snapshot, text: str) -> Snapshot:
    """The cluster with copies of a node: `4xlabel=value,label=value`. Raises WhatIfError.

    Copied is the node that shares most of these labels, the first by name among equals, without its pods, cordon and
    bad conditions.
    """
    shape = _shape(text)
    labels = set(shape.labels.items())
    model = max(snapshot.nodes, key=lambda node: len(labels & set(node.labels.items())))
    taken = {node.name for node in snapshot.nodes}
    names = (name for number in range(1, MAX_ADDED * 2) if (name := f"added-{number:05}") not in taken)
    copies = [_copy(model, next(names), shape.labels) for _ in range(shape.number)]
    return joined(snapshot, copies)


def joined(snapshot: Snapshot, nodes: Iterable[Node]) -> Snapshot:
    """The cluster with further nodes. Raises WhatIfError where one is there already."""
    listed = list(nodes)
    taken = {node.name for node in snapshot.nodes}
    twice = next((node.name for node in listed if node.name in taken), None)
    if twice is not None:
        raise WhatIfError(f'--add-nodes must bring new nodes; got "{twice}", which the cluster has')
    return snapshot._replace(nodes=tuple(sorted((*snapshot.nodes, *listed), key=lambda node: node.name)))


def _shape(text: str) -> _Shape:
    match = _COUNTED.fullmatch(text)
    labels: dict[str, str] = {}
    for pair in filter(None, match[2].split(",") if match is not None else ()):
        key, equals, value = pair.partition("=")
        if not equals or not key:
            match = None
            break
        labels[key] = value
    if match is None or not 0 < int(match[1]) <= MAX_ADDED:
        raise WhatIfError(
            f'--add-nodes must be a file, or as in 4xexample.com/rack=r9 (1 to {MAX_ADDED} nodes); got "{text}"'
        )
    return _Shape(int(match[1]), labels)


def _copy(model: Node, name: str, labels: dict[str, str]) -> Node:
    own = {_HOSTNAME: name} if _HOSTNAME in model.labels else {}
    every = {**model.labels, **own, **labels}
    mig = mig_strategy(every, model.allocatable)
    return model._replace(name=name, labels=every, used={}, unschedulable=False, unready=(), mig=mig)


def drained(snapshot: Snapshot, domain: str) -> Snapshot:
    """The cluster without the nodes of a domain, a node's name or `label=value`, and without their pods.

    Raises WhatIfError where there is no such node.
    """
    gone = {node.name for node in nodes_within(snapshot.nodes, domain)}
    if not gone:
        raise WhatIfError(f'--drain must name a node, or label=value of some; got "{domain}", which no node has')
    if len(gone) == len(snapshot.nodes):
        raise WhatIfError(f'--drain "{domain}" must leave a node; it names all of them')
    return snapshot._replace(
        nodes=tuple(node for node in snapshot.nodes if node.name not in gone),
        pods=tuple(pod for pod in snapshot.pods if pod.node not in gone),
    )


def with_replicas(items: Sequence[KubeObject], text: str) -> tuple[KubeObject, ...]:
    """The objects with another number of replicas: `WORKLOAD=N`, or `WORKLOAD/PART=N` of a scaling group or clique.

    Raises WhatIfError where nothing has that name, or more than one workload.
    """
    name, equals, number = text.rpartition("=")
    workload, slash, part = name.partition("/")
    if not equals or not workload or (slash and not part) or not (number.isascii() and number.isdigit()):
        raise WhatIfError(f'--replicas must be as in llm=2 or llm/prefill=4; got "{text}"')
    matching = [
        index
        for index, item in enumerate(items)
        if item.kind == POD_CLIQUE_SET.name and item.get(("metadata", "name")) == workload
    ]
    if len(matching) != 1:
        known = sorted({str(item.get(("metadata", "name"))) for item in items if item.kind == POD_CLIQUE_SET.name})
        listed = ", ".join(known) or "none"
        raise WhatIfError(
            f'--replicas must name one PodCliqueSet; got "{workload}", of {len(matching)}; known: {listed}'
        )
    item = items[matching[0]]
    path: FieldPath = ("spec", "replicas") if not slash else _part(item, part)
    try:
        changed = item.set(path, int(number[:9]))
    except FieldError as error:
        raise WhatIfError(f'--replicas "{text}" cannot be written: {error}') from None
    return (*items[: matching[0]], changed, *items[matching[0] + 1 :])


def _part(item: KubeObject, part: str) -> FieldPath:
    parts: dict[str, FieldPath] = {}
    for field, below in (("cliques", ("spec", "replicas")), ("podCliqueScalingGroups", ("replicas",))):
        listed = item.get(("spec", "template", field))
        for index, entry in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(entry, dict):
                parts[str(entry.get("name"))] = ("spec", "template", field, index, *below)
    if part not in parts:
        raise WhatIfError(
            f'--replicas must name a clique or a scaling group; got "{part}"; known: {", ".join(sorted(parts))}'
        )
    return parts[part]
