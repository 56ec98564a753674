"""A workload as the pod-grouper reads it: the owner of its groups, and the templates of its pods."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.objects.identity import identity
from packwise.objects.place import Place
from packwise.objects.workload_kinds import WORKLOAD_KINDS, Grouping, Metadata, Role, WorkloadKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.revisions.kai import KaiRelease

__all__ = ["QUEUE", "SUFFIX", "Owner", "Template", "Workload", "count", "mapping", "read_workload"]

QUEUE = "kai.scheduler/queue"
"""The label that names the queue of a workload."""
_OWN = ("metadata",)
_TEMPLATE = ("spec", "template")
SUFFIX = "xxxxx"
"""Stands for the letters that the API server or a controller adds to a name."""
_SCHEDULE = "29000000"
"""Stands for the minute in which a CronJob makes a Job, counted from 1970."""
_FIRST = "00001"
"""The number of the first revision of a Knative Service."""


class Owner(NamedTuple):
    """The object that groups are of: the workload itself, or one that is made of it; `path` leads to its metadata."""

    api_version: str
    kind: str
    name: str
    path: FieldPath
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


class Template(NamedTuple):
    """A template of pods: `path` leads to it, `part` names it among the templates of its workload."""

    part: str
    path: FieldPath
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Value]

    @property
    def scheduler(self) -> str:
        """The scheduler that the pods name; "" where they name none."""
        name = self.spec.get("schedulerName")
        return name if isinstance(name, str) else ""

    @property
    def metadata(self) -> FieldPath:
        """The path of the labels and annotations."""
        return (*self.path, "metadata")


class Workload(NamedTuple):
    """One workload; `grouping` is the rule by which its pods become groups, `kind` its row where it has one.

    `templates` stand in the order in which their pods are made. `body` is what is counted, at the path `body_path`.
    `classes` are the PriorityClasses that there are, None where nobody says.
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
    classes: frozenset[str] | None
    stays_flat: bool = False
    """Whether its PodGroup is in the cluster already, made by a KAI that knew no subgroups of it."""
    made_from: Place | None = None
    """Where in the input the workload comes from that stands nowhere itself; None where it does."""

    @property
    def namespace(self) -> str:
        """The namespace of the pods."""
        return identity(self.item.value)[2]

    @property
    def name(self) -> str:
        """The name of the workload, as messages of the operator have it."""
        return identity(self.item.value)[3] or self.owner.name

    @property
    def spec(self) -> Mapping[str, Value]:
        """The spec of the workload."""
        return mapping(self.item.value.get("spec"))

    @property
    def scheduled(self) -> tuple[Template, ...]:
        """The templates of pods that the scheduler is asked to schedule."""
        return tuple([each for each in self.templates if each.scheduler == self.scheduler])

    @property
    def fallback_class(self) -> str:
        """The PriorityClass of a group where none is named that exists."""
        return self.kind.priority_class if self.kind is not None else "train"

    def at(self, *path: str | int) -> Place:
        """A place in the workload."""
        return Place(self.item, path) if self.made_from is None else self.made_from

    def below(self, outer: KubeObject) -> Workload:
        """The workload with what it lacks of the labels and annotations of the object that it is made of."""
        metadata, owner = mapping(outer.value.get("metadata")), self.owner
        labels = {**_texts(metadata, "labels"), **owner.labels}
        annotations = {**_texts(metadata, "annotations"), **owner.annotations}
        return self._replace(owner=owner._replace(labels=labels, annotations=annotations))


def mapping(value: Value) -> Mapping[str, Value]:
    """`value` where it is a mapping; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def count(holder: Mapping[str, Value], field: str, default: int) -> int:
    """A number of pods or replicas; `default` where none is written."""
    number = holder.get(field)
    return number if isinstance(number, int) and not isinstance(number, bool) else default


def read_workload(
    item: KubeObject, release: KaiRelease, scheduler: str, classes: frozenset[str] | None
) -> Workload | None:
    """The workload that `item` is; None for an object without pods that anybody finds."""
    value = item.value
    row = WORKLOAD_KINDS.get(identity(value)[:2])
    is_read = row is not None and row.grouping is not Grouping.UNREAD
    kind = row if row is not None and is_read and value.get("apiVersion") in row.api_versions else None
    parts = (Metadata((*_TEMPLATE, "metadata"), Role.POD, "pods"),) if row is None else row.templates
    templates = tuple(
        [each for part in parts for each in _templates(value, part.path[:-1], (), is_own=row is not None)]
    )
    if not templates:
        return None
    if row is not None and row.grouping is Grouping.RAY and QUEUE in _texts(mapping(value.get("metadata")), "labels"):
        templates = tuple([_of_ray(each, scheduler) for each in templates])
    # What KAI may not read ends the chain of owners: there each pod is on its own.
    grouping = Grouping.EACH_POD if not is_read else Grouping.OWNER if kind is None else kind.grouping
    path = kind.body if kind is not None else ("spec",)
    owner = _owner(value, grouping, templates, kind)
    return Workload(
        item, kind, grouping, owner, templates, mapping(_at(value, path)), path, release, scheduler, classes
    )


def _of_ray(template: Template, scheduler: str) -> Template:
    """A template as KubeRay completes it, where KAI is its batch scheduler: a queue is how it is asked for."""
    return template if template.scheduler else template._replace(spec={**template.spec, "schedulerName": scheduler})


def _owner(
    value: Mapping[str, Value], grouping: Grouping, templates: Sequence[Template], kind: WorkloadKind | None
) -> Owner:
    name = _name(value)
    version, word = str(value.get("apiVersion")), str(value.get("kind"))
    own = mapping(value.get("metadata"))
    if grouping is Grouping.JOB:
        path = _OWN if kind is None else kind.owner.path
        if path != _OWN:
            own, name, word = mapping(_at(value, path)), f"{name}-{_SCHEDULE}", "Job"
        # The API server gives a Job without labels those of its template.
        labels = _texts(own, "labels") or templates[0].labels
        return Owner(version, word, name, path, labels, _texts(own, "annotations"))
    if grouping is Grouping.REVISION:
        template = templates[0]
        written = mapping(_at(value, template.metadata)).get("name")
        name = written if isinstance(written, str) and written else f"{name}-{_FIRST}"
        return Owner(version, "Revision", name, template.metadata, template.labels, template.annotations)
    if grouping is Grouping.EACH_POD and kind is None:
        template = templates[0]
        return Owner("v1", "Pod", f"{name}-{SUFFIX}", template.metadata, template.labels, template.annotations)
    return Owner(version, word, name, _OWN, _texts(own, "labels"), _texts(own, "annotations"))


def _name(value: Mapping[str, Value]) -> str:
    """The name of the object; where the API server makes it up, its start and a word in place of the rest."""
    metadata = mapping(value.get("metadata"))
    name, start = metadata.get("name"), metadata.get("generateName")
    if isinstance(name, str) and name:
        return name
    return f"{start}{SUFFIX}" if isinstance(start, str) and start else SUFFIX


def _templates(
    value: Value, steps: tuple[str, ...], path: FieldPath, *, is_own: bool, part: str = ""
) -> Iterator[Template]:
    """The templates at the end of `steps`, each named by the last key or name of an entry on the way."""
    if not steps:
        if isinstance(value, dict) and isinstance(value.get("spec"), dict):
            spec = mapping(value["spec"])
            if is_own or isinstance(spec.get("containers"), list):
                metadata = mapping(value.get("metadata"))
                texts = _texts(metadata, "labels"), _texts(metadata, "annotations")
                yield Template(part or str((path or ("pod",))[-1]), path, *texts, spec)
        return
    step, rest = steps[0], steps[1:]
    if step != "*":
        if isinstance(value, dict) and step in value:
            yield from _templates(value[step], rest, (*path, step), is_own=is_own, part=part)
        return
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from _templates(entry, rest, (*path, key), is_own=is_own, part=_name_of(key, entry))


def _name_of(key: str | int, entry: Value) -> str:
    if isinstance(key, str):
        return key
    names = [mapping(entry).get(field) for field in ("name", "groupName")]
    return next((name for name in names if isinstance(name, str) and name), str(key))


def _texts(metadata: Mapping[str, Value], field: str) -> Mapping[str, str]:
    """Labels or annotations; an entry that is no text, other rules report."""
    return {key: text for key, text in mapping(metadata.get(field)).items() if isinstance(text, str)}


def _at(value: Value, path: FieldPath) -> Value:
    for step in path:
        value = mapping(value).get(str(step))
    return value
