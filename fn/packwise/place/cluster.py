"""The cluster for a placement: nodes and pods from files, with changes by options, or a scenario.

Source: spec/placement.md.
"""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from pathlib import Path

from krmfn.fieldpath import FieldError, format_path
from krmfn.fields import Fields
from krmfn.hints import TYPE_CHECKING
from krmfn.run import MAX_INPUT, read_input
from krmfn.yamltext import YamlError, read, split_documents
from packwise.inputs.paths import find_files, name_of_path
from packwise.inputs.request import STDIN, UsageError
from packwise.keys import HOSTNAME
from packwise.lenient import entries, mapping_at, text_at
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.objects.workload_kinds import WORKLOAD_KINDS
from packwise.schedulers.kai.allocate.scene import (
    CPU,
    GPU,
    MEMORY,
    PODS,
    Job,
    KaiTopology,
    LevelConstraint,
    Node,
    Pod,
    QueueShare,
    Scene,
    Share,
    SubGroupInfo,
)
from packwise.schedulers.kai.allocate.state import mig_strategy
from packwise.schedulers.kai.pods import texts_at
from packwise.schedulers.kai.snapshot import SnapshotError, objects_of, read_snapshot
from packwise.topology.topograph import CONFIG_MAP, TopographError, is_conf, with_topology

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.schedulers.kai.allocate.session import JobAnswer, SessionAnswer
    from packwise.schedulers.kai.snapshot import Snapshot

    Objects = Sequence[Mapping[str, Value]]
    """The objects of a cluster, as `kubectl get -o json` lists them."""

_ZIP = b"PK\x03\x04"

_IN_ZIP = "snapshot.json"

_LARGEST = (1 << 53) - 1
"""The largest whole number of a scenario. Floats hold every whole number up to it."""


def read_cluster(paths: Sequence[str], objects: Sequence[Mapping[str, Value]], option: str = "--nodes ") -> Snapshot:
    """Return the cluster that `objects` describe. Raise UsageError if they describe none.

    The message names `option` and its `paths`.
    """
    try:
        return read_snapshot(objects)
    except SnapshotError as error:
        raise UsageError(f"{option}{_quoted_list(paths)}: {error}") from None


def _quoted_list(paths: Sequence[str]) -> str:
    return ", ".join([f'"{name_of_path(path)}"' for path in paths])


def read_objects(path: str) -> Iterator[Mapping[str, Value]]:
    """Yield the objects in a file, in a folder, or on stdin. Raise UsageError if they are unreadable."""
    files, _ = find_files(path)
    for file in files:
        yield from objects_in(_bytes(file.name, file.at), file.name or "<stdin>")


def objects_in(data: bytes, name: str) -> Iterator[Mapping[str, Value]]:
    """Yield the objects in `data`, the content of the file `name`. Raise UsageError if they are unreadable."""
    for value in _values(_unzip(data, name) if data.startswith(_ZIP) else data, name):
        yield from objects_of(value)


def read_nodes(paths: Sequence[str]) -> tuple[Mapping[str, Value], ...]:
    """Return the objects of a cluster from files and folders. Labels from topograph's output are added to the nodes.

    Raise UsageError if there are no nodes.
    """
    objects = read_cluster_objects(paths)
    read_cluster(paths, objects)
    return objects


def read_cluster_objects(paths: Sequence[str]) -> tuple[Mapping[str, Value], ...]:
    """Return the objects of a cluster, with or without nodes. Raise UsageError if they are unreadable."""
    try:
        return with_topology([value for path in paths for value in read_objects(path)])
    except TopographError as error:
        raise UsageError(f"{_quoted_list(paths)}: {error}") from None


def read_json(path: str) -> Value:
    """Return the object in a JSON file. Return None if `path` is a folder or another file. Raise UsageError if it is
    unreadable.
    """
    if path != STDIN and not Path(path).is_file():
        return None
    data = _bytes(None if path == STDIN else path)
    if data.lstrip()[:1] != b"{":
        return None
    return next(_values(data, path))


def _bytes(name: str | None, at: str | None = None) -> bytes:
    try:
        if name is None:
            data = read_input(sys.stdin.buffer)
        else:
            with Path(at or name).open("rb") as file:
                data = read_input(file)
    except OSError as error:
        raise UsageError(f'cannot read "{name}": {error.strerror}') from None
    if len(data) > MAX_INPUT:
        raise UsageError(f'"{name or "<stdin>"}" must be at most {MAX_INPUT >> 20} MiB')
    return _unzip(data, name) if data.startswith(_ZIP) else data


_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compressions that Go's archive/zip, and therefore KAI, supports."""


def _unzip(data: bytes, name: str | None) -> bytes:
    """Return the document in a dump of KAI's snapshot plugin. Raise UsageError if `data` is not such a dump."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            is_read = archive.getinfo(_IN_ZIP).compress_type in _COMPRESSIONS
            with archive.open(_IN_ZIP) as member:
                content = member.read(MAX_INPUT + 1) if is_read else None
    except MemoryError:
        raise
    except Exception:
        content = None
    if content is None:
        raise UsageError(
            f'"{name}" is not a dump of KAI\'s snapshot plugin: a complete zip with {_IN_ZIP}, stored or deflated'
        )
    if len(content) > MAX_INPUT:
        raise UsageError(f'"{name}" must contain at most {MAX_INPUT >> 20} MiB')
    return content


def _values(data: bytes, name: str) -> Iterator[Value]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f'"{name}" must be UTF-8') from None
    if text.lstrip()[:1] == "{":
        try:
            # An export of a large cluster is JSON of hundreds of MiB. The YAML reader would be slow.
            yield json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            return
    if is_conf(text):
        yield {"kind": CONFIG_MAP, "data": {"topology.conf": text}}
        return
    for document in split_documents(text):
        try:
            yield read(document.text)
        except YamlError as error:
            raise UsageError(f'"{name}" must be YAML or JSON; {error}') from None


MAX_ADDED = 100_000
"""The largest number of added nodes."""

_COUNTED = re.compile(r"([0-9]{1,6})[x×](.*)", re.DOTALL)


class WhatIfError(Exception):
    """Raised if an option names an object that does not exist. The text lists valid names."""


def is_count(text: str) -> bool:
    """Return True if the text requests copies of nodes instead of a file."""
    return _COUNTED.fullmatch(text) is not None


def add_copies(objects: Objects, text: str) -> Objects:
    """Return the cluster with added copies of a node, for a text such as `4xlabel=value,label=value`.

    The copied node is the node with most of these labels, or the first by name among equals. Its pods, cordon and bad
    conditions are not copied. Raise WhatIfError if the text is invalid.
    """
    number, labels = _copies(text)
    nodes = {_name(value): value for value in objects if value.get("kind") == "Node"}
    model = max(sorted(nodes), key=lambda name: len(labels.items() & _labels(nodes[name]).items()))
    names = (name for number in range(1, MAX_ADDED * 2) if (name := f"added-{number:05}") not in nodes)
    return join_nodes(objects, [_copy(nodes[model], next(names), labels) for _ in range(number)])


def join_nodes(objects: Objects, nodes: Objects) -> Objects:
    """Return the cluster with additional nodes. Raise WhatIfError if the cluster already has one of them."""
    taken = {_name(value) for value in objects if value.get("kind") == "Node"}
    twice = next((name for value in nodes if (name := _name(value)) in taken), None)
    if twice is not None:
        raise WhatIfError(f'--add-nodes names nodes that the cluster already has: "{twice}"')
    return [*objects, *nodes]


def _name(value: Mapping[str, Value]) -> str:
    return text_at(value, "metadata", "name")


def _labels(value: Mapping[str, Value]) -> dict[str, str]:
    return texts_at(value, "metadata", "labels")


def _copies(text: str) -> tuple[int, dict[str, str]]:
    """Return the number of added nodes, and their labels that differ from the copied node's."""
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
            f'--add-nodes needs a file or a text such as 4xexample.com/rack=r9 (1 to {MAX_ADDED} nodes); got "{text}"'
        )
    return int(match[1]), labels


def _copy(model: Mapping[str, Value], name: str, labels: dict[str, str]) -> Mapping[str, Value]:
    before = _labels(model)
    own = {HOSTNAME: name} if HOSTNAME in before else {}
    spec = {key: value for key, value in mapping_at(model, "spec").items() if key != "unschedulable"}
    status = {key: value for key, value in mapping_at(model, "status").items() if key in ("allocatable", "capacity")}
    metadata: dict[str, Value] = {"name": name, "labels": {**before, **own, **labels}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def drain(objects: Objects, domain: str) -> Objects:
    """Return the cluster without the nodes of a domain and their pods. A domain is a node's name or `label=value`.

    Raise WhatIfError if no node or every node is in the domain.
    """
    key, equals, text = domain.partition("=")
    nodes = {_name(value): _labels(value) for value in objects if value.get("kind") == "Node"}
    gone = {name for name, labels in nodes.items() if (labels.get(key) == text if equals else name == domain)}
    if not gone:
        raise WhatIfError(f'--drain needs a node or a label=value of nodes; no node has "{domain}"')
    if len(gone) == len(nodes):
        raise WhatIfError(f'--drain "{domain}" would remove all nodes')
    return [value for value in objects if not _is_gone(value, gone)]


def _is_gone(value: Mapping[str, Value], nodes: set[str]) -> bool:
    """Return True if the object is one of the removed nodes, or a pod on one of them."""
    if value.get("kind") == "Node":
        return _name(value) in nodes
    return value.get("kind") == "Pod" and text_at(value, "spec", "nodeName") in nodes


_SCALED: Mapping[str, tuple[FieldPath, ...]] = {
    POD_CLIQUE_SET.name: (("spec", "replicas"),),
    "LeaderWorkerSet": (("spec", "replicas"),),
    "Deployment": (("spec", "replicas"),),
    "StatefulSet": (("spec", "replicas"),),
    # Both fields change together. All pods of the Job then still run at the same time.
    "Job": (("spec", "parallelism"), ("spec", "completions")),
    "JobSet": (),
    **{kind.name: () for kind in WORKLOAD_KINDS.values() if kind.types},
    **dict.fromkeys(("RayCluster", "RayJob", "RayService"), ()),
}
"""The fields with the number of replicas of a workload, by kind. A kind has none if only its parts have replicas."""

_LISTED_PARTS: tuple[tuple[FieldPath, str, FieldPath], ...] = (
    (("spec", "template", "cliques"), "name", ("spec", "replicas")),
    (("spec", "template", "podCliqueScalingGroups"), "name", ("replicas",)),
    (("spec", "replicatedJobs"), "name", ("replicas",)),
    (("spec", "workerGroupSpecs"), "groupName", ("replicas",)),
    (("spec", "rayClusterSpec", "workerGroupSpecs"), "groupName", ("replicas",)),
    (("spec", "rayClusterConfig", "workerGroupSpecs"), "groupName", ("replicas",)),
)
"""The lists of parts that have their own replicas, with the fields of a part for its name and its replicas."""


def with_replicas(items: Sequence[KubeObject], text: str) -> tuple[KubeObject, ...]:
    """Return the objects with a new number of replicas: `WORKLOAD=N`, or `WORKLOAD/PART=N` for a part.

    Raise WhatIfError if no workload or more than one has that name.
    """
    name, equals, number = text.rpartition("=")
    workload, slash, part = name.partition("/")
    if not equals or not workload or (slash and not part) or not (number.isascii() and number.isdigit()):
        raise WhatIfError(f'--replicas needs a text such as llm=2 or llm/prefill=4; got "{text}"')
    scaled = [(index, item) for index, item in enumerate(items) if item.kind in _SCALED]
    matching = [(index, item) for index, item in scaled if item.get(("metadata", "name")) == workload]
    if len(matching) != 1:
        listed = ", ".join(sorted({str(item.get(("metadata", "name"))) for _, item in scaled})) or "none"
        raise WhatIfError(f'--replicas "{workload}" matches {len(matching)} workloads, not 1; known: {listed}')
    index, item = matching[0]
    try:
        for path in _replica_paths(item, part):
            item = item.set(path, int(number[:9]))
    except FieldError as error:
        raise WhatIfError(f'cannot write --replicas "{text}": {error}') from None
    return (*items[:index], item, *items[index + 1 :])


def _replica_paths(item: KubeObject, part: str) -> list[FieldPath]:
    """Return the fields with the number of replicas of the workload or of its part.

    Raise WhatIfError if the part does not exist.
    """
    whole = _SCALED[item.kind]
    if not part and whole:
        # Write only the first field if the others do not exist.
        return [path for path in whole if path == whole[0] or item.get(path) is not None]
    parts: dict[str, FieldPath] = {}
    for path, name, below in _LISTED_PARTS:
        listed = item.get(path)
        for index, entry in enumerate(entries(listed)):
            if isinstance(entry, dict):
                parts[str(entry.get(name))] = (*path, index, *below)
    for kind in WORKLOAD_KINDS.values():
        if kind.types and kind.name == item.kind:
            specs = item.get(kind.body)
            parts |= {
                each: (*kind.body, each, "replicas") for each in kind.types if isinstance(specs, dict) and each in specs
            }
    if part not in parts:
        known = ", ".join(sorted(parts)) or "none"
        raise WhatIfError(f'--replicas: {item.kind} "{item.name}" has no part "{part}" with replicas; known: {known}')
    return [parts[part]]


_GIB = 1 << 30

_PODS = 110

_NAMES = {"gpu": GPU, "cpu": CPU, "memoryGi": MEMORY}

_UNITS = {"gpu": 1, "cpu": 1000, "memoryGi": _GIB}


class ScenarioError(Exception):
    """Raised if a field of a scenario is unreadable. The text names the field and the valid values."""


def is_scenario(value: object) -> bool:
    """Return True if a JSON value is a scenario, and not a Kubernetes object."""
    return isinstance(value, dict) and "nodes" in value and "jobs" in value and "kind" not in value


def read_scenario(value: Mapping[str, Any]) -> Scene:
    """Return the scenario as the start of a session. Raise ScenarioError if a field is unreadable."""
    fields = Fields(value, refuse=_refuse)
    fields.refuse_unknown("topologies", "queues", "nodes", "jobs")
    scene = Scene(
        tuple(_node(entry) for entry in fields.entries("nodes")),
        tuple(_topology(entry) for entry in fields.entries("topologies")),
        tuple(_queue(entry) for entry in fields.entries("queues")),
        tuple(_job(entry) for entry in fields.entries("jobs")),
    )
    _check_names("nodes", [node.name for node in scene.nodes])
    _check_names("topologies", [topology.name for topology in scene.topologies])
    _check_names("jobs", [job.name for job in scene.jobs])
    _check_names("jobs[].tasks", [pod.name for job in scene.jobs for pod in job.pods])
    return scene


def answers(answer: SessionAnswer) -> dict[str, Any]:
    """Return the answer as JSON. `errors` and `message` appear only with errors."""
    return {"jobs": [_answer(job) for job in answer.jobs]}


def _answer(job: JobAnswer) -> dict[str, Any]:
    answer: dict[str, Any] = {"name": job.name, "state": job.state, "placement": dict(job.nodes)}
    errors = job.errors
    if errors:
        answer["errors"] = [
            {"reason": error.reason, "messages": list(error.messages), "detail": error.detail}
            for error in sorted(errors, key=lambda error: error.detail)
        ]
        answer["message"] = job.message
    return answer


def _refuse(path: FieldPath, message: str) -> None:
    raise ScenarioError(f"{format_path(path)}: {message}")


def _number(fields: Fields, name: str) -> float | None:
    number = fields.number(name)
    if number is not None and not 0 <= number <= _LARGEST:
        bound = "at least 0" if number < 0 else f"at most {_LARGEST}"
        fields.refuse(name, f"must be {bound}; got {number}")
    return number


def _whole_number(fields: Fields, name: str) -> int | None:
    number = _number(fields, name)
    if number is not None and number != int(number):
        fields.refuse(name, f"must be a whole number; got {number}")
    return None if number is None else int(number)


def _amounts(fields: Fields) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for key, name in _NAMES.items():
        # Fractions of GPUs are not simulated.
        amount = _whole_number(fields, key) if name == GPU else _number(fields, key)
        if amount:
            amounts[name] = round(amount * _UNITS[key])
    return amounts


def _texts(fields: Fields) -> dict[str, str]:
    return {name: fields.required_text(name) for name in fields.value}


def _check_names(what: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ScenarioError(f'{what}: "{name}" is not unique')
        seen.add(name)


def _node(fields: Fields) -> Node:
    fields.refuse_unknown("name", "labels", "gpu", "cpu", "memoryGi", "pods", "used", "unschedulable")
    used = fields.mapping("used")
    used.refuse_unknown(*_NAMES)
    labels, pods = _texts(fields.mapping("labels")), _whole_number(fields, "pods")
    allocatable = {**_amounts(fields), PODS: _PODS if pods is None else pods}
    return Node(
        fields.required_text("name"),
        labels,
        allocatable,
        {**_amounts(used), PODS: 1} if "used" in fields else {},
        fields.flag("unschedulable") is True,
        mig=mig_strategy(labels, allocatable),
    )


def _topology(fields: Fields) -> KaiTopology:
    fields.refuse_unknown("name", "levels", "aliases")
    levels = fields.texts("levels")
    if not levels:
        fields.refuse("levels", "must be a list of node label keys; it is not set")
    return KaiTopology(fields.required_text("name"), levels, _texts(fields.mapping("aliases")))


def _queue(fields: Fields) -> QueueShare:
    fields.refuse_unknown("name", "gpuQuota", "gpuLimit")
    return QueueShare(fields.required_text("name"), gpu=Share(_number(fields, "gpuQuota"), _number(fields, "gpuLimit")))


def _constraint(fields: Fields) -> LevelConstraint | None:
    if "topologyConstraint" not in fields:
        return None
    written = fields.mapping("topologyConstraint")
    written.refuse_unknown("topology", "required", "preferred")
    return LevelConstraint(*[written.text(name) or "" for name in ("topology", "required", "preferred")])


def _job(fields: Fields) -> Job:
    fields.refuse_unknown(
        "name", "queue", "priority", "minMember", "minSubGroup", "topologyConstraint", "subGroups", "tasks"
    )
    priority, least = _whole_number(fields, "priority"), _whole_number(fields, "minMember")
    job = Job(
        name=fields.required_text("name"),
        queue=fields.text("queue") or "",
        priority=50 if priority is None else priority,
        pods=tuple(_pod(task) for task in fields.entries("tasks")),
        sub_groups=tuple(_sub_group(group) for group in fields.entries("subGroups")),
        min_members=1 if least is None else least,
        min_sub_groups=_whole_number(fields, "minSubGroup"),
        constraint=_constraint(fields),
    )
    _check_tree(job, fields)
    return job


def _check_tree(job: Job, fields: Fields) -> None:
    """Check that the subgroups form a tree with pods in its leaves, as KAI's webhook does."""
    _check_names(format_path((*fields.path, "subGroups")), [group.name for group in job.sub_groups])
    parents = {group.name: group.parent for group in job.sub_groups}
    for name, parent in parents.items():
        if parent is not None and parent not in parents:
            fields.refuse("subGroups", f'the parent of "{name}" must be a subgroup; got "{parent}"')
        above, steps = parent, 0
        while above is not None and steps <= len(parents):
            above, steps = parents[above], steps + 1
        if above is not None:
            fields.refuse("subGroups", f'subgroups must be a tree, but "{name}" is below itself')
    leaves = parents.keys() - set(parents.values())
    for pod in job.pods:
        if parents and pod.sub_group not in leaves:
            message = f'pod "{pod.name}" names "{pod.sub_group}", which is not a subgroup with pods; known: '
            fields.refuse("tasks", message + ", ".join(sorted(leaves)))


def _sub_group(fields: Fields) -> SubGroupInfo:
    fields.refuse_unknown("name", "parent", "minMember", "minSubGroup", "topologyConstraint")
    return SubGroupInfo(
        fields.required_text("name"),
        fields.text("parent") or None,
        _whole_number(fields, "minMember"),
        _whole_number(fields, "minSubGroup"),
        _constraint(fields),
    )


def _pod(fields: Fields) -> Pod:
    fields.refuse_unknown("name", "subGroup", "gpu", "cpu", "memoryGi", "node")
    return Pod(
        fields.required_text("name"),
        tuple(sorted(_amounts(fields).items())),
        fields.text("subGroup") or "",
        fields.text("node") or "",
    )
