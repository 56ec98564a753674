"""A workload as KAI's pod-grouper reads it: the owner of its groups, its pod templates, and the values in both.

KAI can have a default priority for a type of owner. Source: spec/podgrouper.md#2 and #3.
"""

from __future__ import annotations

import json

from krmfn.hints import TYPE_CHECKING, Record
from packwise.findings import Origin, Place
from packwise.keys import KAI_QUEUE
from packwise.kubernetes import format_duration, parse_duration
from packwise.lenient import entries, mapping, mappings_by_place, text, texts, value_at
from packwise.objects.index import identity
from packwise.objects.workload_kinds import ANYWHERE, Grouping, pod_templates_in, workload_kind
from packwise.placement import Bounds, PodSet
from packwise.topology.known import Level

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.objects.workload_kinds import WorkloadKind
    from packwise.revisions.kai import KaiRelease

TOPOLOGY = "kai.scheduler/topology"
REQUIRED = "kai.scheduler/topology-required-placement"
PREFERRED = "kai.scheduler/topology-preferred-placement"
LEVELS = (REQUIRED, PREFERRED)
SEGMENT_SIZE = "kai.scheduler/segment-size"
SEGMENT_LEVELS = (
    "kai.scheduler/segment-topology-required-placement", "kai.scheduler/segment-topology-preferred-placement",
)  # fmt: skip
BATCH_MIN_MEMBER = "kai.scheduler/batch-min-member"
SKIP = "kai.scheduler/skip-podgrouper"
POD_GROUP = "pod-group-name"
RAY_CLASS = "ray.io/priority-class-name"
PREEMPTION_DELAY = "kai.scheduler/preemption-delay"
GRACE_PERIOD = "kai.scheduler/staleness-grace-period"

_NODE_POOL = "kai.scheduler/node-pool"
PREEMPTIBILITY = "kai.scheduler/preemptibility"
_PRIORITY = "priorityClassName"
_PROJECT = "project"
_DEFAULT_QUEUE = "default-queue"
_PREEMPTIBILITIES = ("preemptible", "non-preemptible")

_OWN = ("metadata",)
SUFFIX = "xxxxx"
"""Replaces the random letters that the API server or a controller appends to a name."""
_SCHEDULE = "29000000"
"""Replaces the number in the name of a CronJob's Job: the minutes from 1970 to the creation of the Job."""
_FIRST = "00001"
"""The suffix in the name of the first revision of a Knative Service."""


class Owner(Record):
    """The object that owns the groups: the workload itself, or an object made from it.

    `path` is the path of its metadata in the workload. If its labels come from other metadata, `labels_from` is the
    path of that metadata.
    """

    api_version: str
    kind: str
    name: str
    path: FieldPath
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    labels_from: FieldPath = ()

    @property
    def labels_path(self) -> FieldPath:
        """Return the path of the metadata from which its labels come."""
        return self.labels_from or self.path


class Template(Record):
    """A pod template at `path` of a workload. `part` is a short name for it, such as `Worker` or `headGroupSpec`."""

    part: str
    path: FieldPath
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Value]

    @property
    def scheduler(self) -> str:
        """Return `schedulerName` of the pods, or ""."""
        return text(self.spec.get("schedulerName"))

    @property
    def metadata(self) -> FieldPath:
        """Return the path of the template's metadata."""
        return (*self.path, "metadata")


class TypeDefault(Record):
    """The defaults that KAI's configuration has for a type of workload. Each is "" if there is none."""

    priority_class: str
    preemptibility: str
    place: Place


class Classes(Record):
    """The names of the PriorityClasses in the cluster, or None if unknown, and KAI's defaults.

    The keys of `defaults` are types of workloads: `Kind.group` or `Kind`.
    """

    names: frozenset[str] | None = None
    defaults: Mapping[str, TypeDefault] = {}

    def has_class(self, name: str) -> bool:
        """Return True if a PriorityClass of this name exists. If the classes are unknown, it is assumed to exist."""
        return bool(name) and (self.names is None or name in self.names)

    def default_of(self, api_version: str, kind: str) -> TypeDefault | None:
        """Return the defaults of KAI for a type of workload, or None."""
        group, slash, _ = api_version.partition("/")
        return self.defaults.get(f"{kind}.{group}" if slash else kind) or self.defaults.get(kind)


class Workload(Record):
    """One workload. `grouping` is the rule by which KAI groups its pods.

    `kind` is the row of its kind, or None if KAI does not know the kind or its version. `templates` are in the order in
    which their pods are created. `body`, at the path `body_path`, is the part with the numbers of pods.
    """

    item: KubeObject
    kind: WorkloadKind | None
    grouping: Grouping
    owner: Owner
    templates: tuple[Template, ...]
    body: Mapping[str, Value]
    body_path: FieldPath
    release: KaiRelease
    scheduler: str
    classes: Classes
    has_flat_podgroup: bool = False
    """True if the input has its PodGroup, and this PodGroup has no subgroups. KAI then adds none."""
    made_from: Place | None = None
    """The place from which the workload is derived, or None if the workload is in the input."""

    @property
    def namespace(self) -> str:
        """Return the namespace of the pods."""
        return identity(self.item.value)[2]

    @property
    def name(self) -> str:
        """Return the name of the workload. Return the name of the owner with a placeholder if it has none yet."""
        return identity(self.item.value)[3] or self.owner.name

    @property
    def spec(self) -> Mapping[str, Value]:
        """Return the spec of the workload."""
        return mapping(self.item.value.get("spec"))

    @property
    def scheduled_templates(self) -> tuple[Template, ...]:
        """Return the templates that name KAI as the scheduler of their pods."""
        return tuple(each for each in self.templates if each.scheduler == self.scheduler)

    @property
    def fallback_class(self) -> str:
        """Return the PriorityClass of a group if the workload names no existing class."""
        return self.kind.priority_class if self.kind is not None else "train"

    def place_at(self, *path: str | int) -> Place:
        """Return the place at `path` of the workload. For a derived workload, return the place of its source."""
        return Place(self.item, path) if self.made_from is None else self.made_from

    def with_metadata_of(self, outer: KubeObject) -> Workload:
        """Return the workload. Missing labels and annotations of its owner are filled in from the object `outer`.

        If labels with the priority are missing there too, they are made from KAI's defaults for the type of `outer`.
        """
        metadata, owner = mapping(outer.value.get("metadata")), self.owner
        labels = {**self._labels_by_type(outer), **texts(metadata.get("labels")), **owner.labels}
        annotations = {**texts(metadata.get("annotations")), **owner.annotations}
        return self.replace(owner=owner.replace(labels=labels, annotations=annotations))

    def _labels_by_type(self, outer: KubeObject) -> Mapping[str, str]:
        default = self.classes.default_of(outer.api_version or "", outer.kind) if self.release.passes_defaults else None
        if default is None:
            return {}
        labels = {_PRIORITY: default.priority_class, PREEMPTIBILITY: default.preemptibility}
        return {key: text for key, text in labels.items() if text}


def read_workloads(item: KubeObject, release: KaiRelease, scheduler: str, classes: Classes) -> tuple[Workload, ...]:
    """Return the workloads of `item`. An object without a pod template has none.

    Usually an object is one workload. If each pod is its own group, each pod template is a workload.
    """
    value = item.value
    row = workload_kind(value)
    if row.grouping is Grouping.RUNTIME:
        return ()
    is_read = row.grouping is not Grouping.NO_ACCESS
    kind = row if is_read and value.get("apiVersion") in row.api_versions else None
    if row.grouping is Grouping.WORKFLOW:
        templates = list(_workflow_templates(value))
    else:
        templates = [each for part in row.templates for each in _templates(value, part.path[:-1], ())]
    if row.grouping is Grouping.RAY and KAI_QUEUE in texts(mapping(value.get("metadata")).get("labels")):
        templates = [_complete_ray_template(each, scheduler) for each in templates]
    # KAI ignores an owner that it has no permission to read, so each of its pods is its own group.
    grouping = Grouping.EACH_POD if not is_read else Grouping.OWNER if kind is None else kind.grouping
    is_alone = grouping in (Grouping.EACH_POD, Grouping.WORKFLOW)
    path = kind.body if kind is not None else ("spec",)
    body = mapping(value_at(value, *path))
    workloads = [
        Workload(
            item=item,
            kind=kind,
            grouping=grouping,
            owner=_owner(value, grouping, own, kind, is_one_of=len(templates) > len(own)),
            templates=own,
            body=body,
            body_path=path,
            release=release,
            scheduler=scheduler,
            classes=classes,
        )
        for own in ([(each,) for each in templates] if is_alone else [tuple(templates)] if templates else [])
    ]
    if grouping is Grouping.WORKFLOW:
        # Each pod belongs to the Workflow, and inherits its labels and annotations.
        workloads = [each.with_metadata_of(item) for each in workloads]
    return tuple(workloads)


def _workflow_templates(value: Mapping[str, Value]) -> Iterator[Template]:
    """Yield the pod templates of an Argo Workflow. Each has the values of its template, completed from the Workflow."""
    spec = mapping(value.get("spec"))
    shared = mapping(spec.get("podMetadata"))
    for position, template in mappings_by_place(spec.get("templates")):
        container = template.get("container") or template.get("script")
        if container is None and "containerSet" not in template:
            continue
        metadata = mapping(template.get("metadata"))
        labels, annotations = (
            {**texts(shared.get(form)), **texts(metadata.get(form))} for form in ("labels", "annotations")
        )
        pod: dict[str, Value] = {"containers": [container] if container is not None else []}
        for field, of_all in (("schedulerName", "schedulerName"), ("priorityClassName", "podPriorityClassName")):
            name = template.get(field) or spec.get(of_all)
            if name is not None:
                pod[field] = name
        yield Template(_name_of(position, template), ("spec", "templates", position), labels, annotations, pod)


def _complete_ray_template(template: Template, scheduler: str) -> Template:
    """Return a template with KAI as scheduler, unless it names one.

    KubeRay does this for a cluster with a queue of KAI if KAI is its batch scheduler.
    """
    return template if template.scheduler else template.replace(spec={**template.spec, "schedulerName": scheduler})


def _owner(
    value: Mapping[str, Value],
    grouping: Grouping,
    templates: Sequence[Template],
    kind: WorkloadKind | None,
    *,
    is_one_of: bool = False,
) -> Owner:
    name = _name(value)
    version, word = str(value.get("apiVersion")), str(value.get("kind"))
    own = mapping(value.get("metadata"))
    if grouping is Grouping.JOB:
        path = _OWN if kind is None else kind.owner.path
        if path != _OWN:
            own, name, word = mapping(value_at(value, *path)), f"{name}-{_SCHEDULE}", "Job"
        # The API server copies the labels of the template to a Job without labels.
        labels = texts(own.get("labels")) or templates[0].labels
        return Owner(version, word, name, path, labels, texts(own.get("annotations")))
    template = templates[0]
    if grouping is Grouping.REVISION:
        name = text(value_at(value, *template.metadata, "name")) or f"{name}-{_FIRST}"
        return Owner(version, "Revision", name, template.metadata, template.labels, template.annotations)
    labels, annotations = texts(own.get("labels")), texts(own.get("annotations"))
    pod = f"{name}-{template.part}-{SUFFIX}" if is_one_of else f"{name}-{SUFFIX}"
    if grouping is Grouping.WORKFLOW:
        return Owner("v1", "Pod", pod, _OWN, template.labels, template.annotations)
    if grouping is Grouping.REPLICA_SET:
        return Owner(
            api_version="apps/v1",
            kind="ReplicaSet",
            name=pod,
            path=_OWN,
            labels=template.labels,
            annotations=annotations,
            labels_from=template.metadata,
        )
    if grouping is Grouping.EACH_POD and kind is None:
        return Owner("v1", "Pod", pod, template.metadata, template.labels, template.annotations)
    return Owner(version, word, name, _OWN, labels, annotations)


def _name(value: Mapping[str, Value]) -> str:
    """Return the name of the object. Return its prefix and a placeholder if the API server generates it."""
    metadata = mapping(value.get("metadata"))
    return text(metadata.get("name")) or f"{text(metadata.get('generateName'))}{SUFFIX}"


def _templates(value: Value, steps: tuple[str, ...], path: FieldPath, *, part: str = "") -> Iterator[Template]:
    """Yield the pod templates at `steps` below `path`.

    A template gets the name of the last entry on its path, or the last key if there is no entry.
    """
    if not steps:
        if isinstance(value, dict) and isinstance(value.get("spec"), dict):
            metadata = mapping(value.get("metadata"))
            own = texts(metadata.get("labels")), texts(metadata.get("annotations"))
            yield Template(part or str((path or ("pod",))[-1]), path, *own, mapping(value["spec"]))
        return
    step, rest = steps[0], steps[1:]
    if step == ANYWHERE:
        for place, template in pod_templates_in(mapping(value)):
            yield from _templates(template, (), place, part=_part_at(value, place))
        return
    if step != "*":
        if isinstance(value, dict) and step in value:
            yield from _templates(value[step], rest, (*path, step), part=part)
        return
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from _templates(entry, rest, (*path, key), part=_name_of(key, entry))


def _part_at(value: Value, path: FieldPath) -> str:
    """Return the name of the last list entry on the path, or "" without such an entry."""
    part = ""
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) else None
            part = _name_of(step, value)
        else:
            value = mapping(value).get(step)
    return part


def _name_of(key: str | int, entry: Value) -> str:
    """Return the name of an entry: its key in a mapping; its `name`, `groupName` or position in a list."""
    if isinstance(key, str):
        return key
    named = mapping(entry)
    return text(named.get("name")) or text(named.get("groupName")) or str(key)


class FieldRead(Record):
    """A value, and the path of its field in the workload, or () for a default.

    `place` is set if the value comes from another object.
    """

    value: str
    path: FieldPath = ()
    place: Place | None = None


def annotation_path(metadata: FieldPath, key: str) -> FieldPath:
    """Return the path of the annotation `key` in the metadata at the path `metadata`."""
    return (*metadata, "annotations", key)


def queue(owner: Owner, pod: Template) -> FieldRead:
    """Return the queue of a group: from the owner's label, from the pod's label, or from the label `project`.

    A label counts even if its value is empty. Without any of them, return KAI's default queue.
    """
    for labels, path in _labels(owner, pod):
        if KAI_QUEUE in labels:
            return FieldRead(labels[KAI_QUEUE], (*path, "labels", KAI_QUEUE))
    for labels, path in _labels(owner, pod):
        if _PROJECT in labels:
            project = labels[_PROJECT]
            pool = pod.labels.get(_NODE_POOL)
            if project:
                return FieldRead(project if pool is None else f"{project}-{pool}", (*path, "labels", _PROJECT))
            break
    return FieldRead(_DEFAULT_QUEUE)


def priority_class(workload: Workload, owner: Owner, pod: Template) -> FieldRead:
    """Return the PriorityClass of a group: from the owner's label, the pod's label, or the spec of the pod.

    If this class does not exist, return KAI's default for the type, or the default of the kind.
    """
    ray = owner.labels.get(RAY_CLASS) if workload.kind is not None and workload.kind.group == "ray.io" else None
    if ray is not None:
        return FieldRead(ray, (*owner.path, "labels", RAY_CLASS))
    named = _named_class(owner, pod)
    if workload.classes.has_class(named.value):
        return named
    default = workload.classes.default_of(owner.api_version, owner.kind)
    if default is not None and workload.classes.has_class(default.priority_class):
        return FieldRead(default.priority_class, place=default.place)
    return FieldRead(workload.fallback_class)


def _named_class(owner: Owner, pod: Template) -> FieldRead:
    for labels, path in _labels(owner, pod):
        if _PRIORITY in labels:
            return FieldRead(labels[_PRIORITY], (*path, "labels", _PRIORITY))
    name = pod.spec.get(_PRIORITY)
    return FieldRead(name, (*pod.path, "spec", _PRIORITY)) if isinstance(name, str) else FieldRead("")


def preemptibility(workload: Workload, owner: Owner, pod: Template) -> FieldRead:
    """Return the preemptibility of a group: from the owner's label, the pod's label or KAI's default for the type.

    Return "" if none of them is valid.
    """
    for labels, path in _labels(owner, pod):
        if labels.get(PREEMPTIBILITY) in _PREEMPTIBILITIES:
            return FieldRead(labels[PREEMPTIBILITY], (*path, "labels", PREEMPTIBILITY))
    default = workload.classes.default_of(owner.api_version, owner.kind)
    if default is not None and default.preemptibility in _PREEMPTIBILITIES:
        return FieldRead(default.preemptibility, place=default.place)
    return FieldRead("")


def delay(owner: Owner, pod: Template, key: str) -> FieldRead:
    """Return the duration in an annotation of the owner or the pod, in KAI's form. Return "" if none is valid."""
    for written, path in _annotations(owner, pod):
        if key in written and not _delay_fault(key, written[key]):
            nanoseconds = parse_duration(written[key])
            return FieldRead(format_duration(nanoseconds or 0), (*path, "annotations", key))
    return FieldRead("")


def wrong_delays(owner: Owner, pod: Template) -> Iterator[tuple[FieldPath, str, str]]:
    """Yield each duration that KAI ignores because it is invalid: its path, its value and the expected form."""
    for written, path in _annotations(owner, pod):
        for key in (PREEMPTION_DELAY, GRACE_PERIOD):
            if key in written and (fault := _delay_fault(key, written[key])):
                yield (*path, "annotations", key), written[key], fault


def _delay_fault(key: str, text: str) -> str:
    nanoseconds = parse_duration(text)
    if nanoseconds is None:
        return 'a duration with a unit, such as "90s"'
    return "a duration of 0 or more" if nanoseconds < 0 and key == PREEMPTION_DELAY else ""


def bounds_of(
    workload: Workload,
    annotations: Mapping[str, str],
    metadata: FieldPath,
    keys: tuple[str, str] = LEVELS,
) -> Bounds:
    """Return the levels in annotations, found in the metadata at the path `metadata`.

    `keys` are the annotations with the required and the preferred level.
    """
    required, preferred = (annotations.get(key) or "" for key in keys)
    fields = {
        name: annotation_path((), key)
        for name, key, level in (("required", keys[0], required), ("preferred", keys[1], preferred))
        if level
    }
    if not fields:
        return Bounds()
    origin = Origin(workload.place_at(*metadata), "spec/podgrouper.md#2", fields)
    return Bounds(_level(required), _level(preferred), origin)


def _level(key: str) -> Level | None:
    """Return a level with the node label `key`. Return None if it is empty. KAI's topologies have no domains."""
    return Level("", key) if key else None


def _labels(owner: Owner, pod: Template) -> tuple[tuple[Mapping[str, str], FieldPath], ...]:
    return (owner.labels, owner.labels_path), (pod.labels, pod.metadata)


def _annotations(owner: Owner, pod: Template) -> tuple[tuple[Mapping[str, str], FieldPath], ...]:
    both = (owner.annotations, owner.path), (pod.annotations, pod.metadata)
    return both[:1] if owner.path == pod.metadata else both


class RefusedError(Exception):
    """Raised if KAI's pod-grouper makes no group of a workload, because of the value at `path`.

    `message` describes a valid value. `text` is the text of the pod-grouper's event, or "" if it writes no event.
    """

    def __init__(self, path: FieldPath, message: str, text: str) -> None:
        super().__init__(text or message)
        self.path = path
        self.message = message
        self.text = text


class GroupShape(Record):
    """A group of pods. `suffix` is the end of its name.

    The group needs `members` pods, or `needed` of its topmost sets. The record stands for `alike` equal groups. With
    `each_pod`, each of these groups has one pod, and the name of the group contains the name of the pod.
    """

    sets: tuple[PodSet, ...]
    origin: Origin
    members: int | None = None
    needed: int | None = None
    suffix: str = ""
    alike: int = 1
    each_pod: bool = False


def pod_set(
    workload: Workload,
    template: Template,
    name: str,
    members: int,
    origin: Origin,
    *,
    parent: str | None = None,
    replicas: int | None = None,
    bounds: Bounds | None = None,
    topology: str = "",
    is_named: bool = True,
) -> PodSet:
    """Return a set of the pods of a template. If `is_named` is false, the PodGroup does not contain this set."""
    scheduler = template.scheduler
    return PodSet(
        name=name,
        parent=parent,
        members=members,
        bounds=bounds or Bounds(),
        origin=origin,
        scheduler="" if scheduler == workload.scheduler else scheduler or "default-scheduler",
        replicas=replicas,
        pod_spec=template.spec,
        labels=template.labels,
        annotations=template.annotations,
        topology=topology,
        is_named=is_named,
    )


# The functions below read PriorityClasses, and the ConfigMap with KAI's default class for each type. KAI's Config or a
# flag in the pod-grouper's Deployment names the ConfigMap. If neither is in the input, packwise uses the only ConfigMap
# of this form. Source: spec/podgrouper.md#3.


_PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass")
_KNOWN_CLASSES = (
    "train", "build-preemptible", "build", "inference", "system-cluster-critical", "system-node-critical",
)  # fmt: skip
"""The PriorityClasses that KAI's chart and Kubernetes create."""

_CONFIG_MAP = ("", "ConfigMap")
_CONFIG, _DEPLOYMENT = ("kai.scheduler", "Config"), ("apps", "Deployment")
_FLAG = "--default-priorities-configmap-"
_TYPES = ("data", "types")
_FIELDS = ("typeName", "group", "priorityName", "preemptibility")


def classes_of(index: Index) -> Classes:
    """Return the PriorityClasses of the input, and KAI's defaults."""
    written = [item.name for item in index.of_kind(*_PRIORITY_CLASS)]
    return Classes(frozenset([*written, *_KNOWN_CLASSES]) if written else None, _defaults(index))


def _defaults(index: Index) -> Mapping[str, TypeDefault]:
    """Return KAI's defaults by type: `Kind.group` or `Kind`. Return none if the ConfigMap is missing or ambiguous."""
    maps = index.of_kind(*_CONFIG_MAP)
    if not maps:
        return {}
    names = {name for name in _names(index) if all(name)}
    named = [item for item in maps if identity(item.value)[2:] in names]
    candidates = [(item, read) for item in (named if names else maps) if (read := _read(item)) is not None]
    if len(candidates) != 1:
        return {}
    [(item, entries)] = candidates
    defaults: dict[str, TypeDefault] = {}
    for entry in entries:
        kind, group, priority, preemptibility = [text(entry.get(field)) for field in _FIELDS]
        key = f"{kind}.{group}" if group else kind
        defaults[key] = TypeDefault(priority, preemptibility.lower(), Place(item, _TYPES))
    return defaults


def _read(item: KubeObject) -> list[Mapping[str, Value]] | None:
    """Return the entries of a ConfigMap with KAI's defaults. Return None if the ConfigMap has another form."""
    text = item.get(_TYPES)
    if not isinstance(text, str) or "typeName" not in text:
        return None
    try:
        read: Value = json.loads(text)
    except ValueError:
        return None
    defaults = [mapping(entry) for entry in entries(read)]
    is_form = all("typeName" in entry for entry in defaults)
    return defaults if is_form and isinstance(read, list) else None


def _names(index: Index) -> Iterator[tuple[str, str]]:
    """Yield the namespace and the name of the ConfigMap in the pod-grouper's flags, each "" if its flag is not set."""
    for item in index.of_kind(*_CONFIG):
        args = mapping(item.get(("spec", "podGrouper", "args")))
        parts = [args.get(f"defaultPrioritiesConfigMap{part}") for part in ("Namespace", "Name")]
        if any(parts):
            yield text(parts[0]), text(parts[1])
    for item in index.of_kind(*_DEPLOYMENT):
        if not item.has_source or _FLAG in item.source.text:
            for container in entries(item.get(("spec", "template", "spec", "containers"))):
                words = [word for field in ("command", "args") for word in entries(mapping(container).get(field))]
                if any(isinstance(word, str) and word.startswith(_FLAG) for word in words):
                    yield _flag(words, "namespace"), _flag(words, "name")


def _flag(words: list[Value], part: str) -> str:
    """Return the value of a flag: the text after "=", or the next word. Return "" if the flag is not set."""
    for position, word in enumerate(words):
        name, equals, value = word.partition("=") if isinstance(word, str) else ("", "", "")
        if name == f"{_FLAG}{part}":
            return value if equals else text(words[position + 1] if position + 1 < len(words) else "")
    return ""
