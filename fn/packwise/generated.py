"""The objects to write: new ones, and objects of an earlier render with as few changed bytes as possible.

Source: spec/packwise.md#1.
"""

from __future__ import annotations

from functools import lru_cache

from krmfn.edit import is_same_json
from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.kubeobject import KubeObject, is_client_key
from krmfn.resourcelist import with_content
from krmfn.result import Severity
from packwise.findings import Finding, Rule, place_text
from packwise.kubernetes import json_list, json_object, json_string
from packwise.lenient import integer
from packwise.objects.index import (
    RENDERED_FROM,
    format_identity,
    has_epoch,
    identity,
    is_generated,
    stable_identities,
)
from packwise.objects.kinds import CLUSTER_TOPOLOGY, GENERATED, KINDS, kind_of_object

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Any

    from krmfn.value import Value
    from packwise.objects.index import Generated, Identity, Index
    from packwise.settings.topologyrender import TopologyRender
    from packwise.topology.known import Condition, Status

PATH = "config.kubernetes.io/path"
"""Annotation with the file that kpt writes the object to. Other clients ignore it."""

LOCAL_CONFIG = "config.kubernetes.io/local-config"
"""Annotation of objects that clients do not apply. Source: functions-spec.md."""

_PREFIX = "packwise.dev/"


def is_local_config(item: KubeObject) -> bool:
    """Return True if an annotation with the string `true` says that no client applies the object."""
    return item.get(("metadata", "annotations", LOCAL_CONFIG)) == "true"


def mark(
    generated: Generated, name: str, *, apply: bool, gitops: Mapping[str, str], folder: str = ""
) -> dict[str, Value]:
    """Return the manifest of `generated` with the annotations of packwise and `gitops`, sorted by key.

    `name` is the name of the object without an epoch, which is unique in the render. The object's file is below
    `folder`.
    """
    value: dict[str, Any] = dict(generated.value)
    metadata: dict[str, Value] = dict(value["metadata"])
    annotations: dict[str, str] = dict(value["metadata"].get("annotations", {}))
    annotations[PATH] = f"{folder}/{_file(value, name)}" if folder else _file(value, name)
    annotations[RENDERED_FROM] = generated.source
    for note, text in generated.notes.items():
        annotations[_PREFIX + note] = text
    if not apply:
        annotations[LOCAL_CONFIG] = "true"
    else:
        annotations.update(gitops)
    metadata["annotations"] = dict(sorted(annotations.items()))
    value["metadata"] = metadata
    return value


def file_of(value: Mapping[str, Value]) -> str:
    """Return the file of a generated object. It depends on kind, namespace and name but not on an epoch."""
    return _file(value, stable_identities([value])[0][3])


def _file(value: Mapping[str, Any], name: str) -> str:
    folder, has_namespace, start = _folder(str(value["apiVersion"]), str(value["kind"]))
    if has_namespace:
        folder = f"{folder}/{value['metadata']['namespace']}"
    return f"{folder}/{start}-{name}.yaml"


@lru_cache(64)
def _folder(api_version: str, kind: str) -> tuple[str, bool, str]:
    """Return the folder of a kind, True if it has a folder per namespace, and the beginning of its file names."""
    known = kind_of_object({"apiVersion": api_version, "kind": kind})
    return f"packwise/{known.folder}", not known.cluster_scoped, known.word.lower()


def carry(before: KubeObject, value: Mapping[str, Value]) -> KubeObject:
    """Return `before` with the content of `value`, or `before` itself if the content is equal.

    Annotations in which clients record files keep their values.
    """
    target = _with_bookkeeping(value, before.value)
    if is_same_json(before.value, target):
        return before
    if before.text == KubeObject.new(before.value).text:
        # The text is unchanged since packwise wrote it, so a new text loses nothing of the user's.
        return KubeObject.new(target)
    try:
        return with_content(before, target)
    except FieldError:
        # A part of the text cannot be replaced, for example because of an anchor.
        return KubeObject.new(target)


def _with_bookkeeping(value: Mapping[str, Value], before: Mapping[str, Value]) -> dict[str, Value]:
    """Return `value` with the annotations in which clients record files from `before`."""
    metadata = dict(cast("Mapping[str, Value]", value["metadata"]))
    own = cast("Mapping[str, Value]", metadata["annotations"])
    old = cast("Mapping[str, Mapping[str, Value]]", before["metadata"])["annotations"]
    merged = {key: text for key, text in own.items() if not _is_bookkeeping(key)}
    merged.update({key: text for key, text in old.items() if _is_bookkeeping(key)})
    metadata["annotations"] = {key: merged[key] for key in sorted(merged)}
    return {**value, "metadata": metadata}


def _is_bookkeeping(key: str) -> bool:
    return key != LOCAL_CONFIG and is_client_key(key)


CLASH = Rule(
    "identity-clash", "A generated object has the same name as an object of the input.", "spec/packwise.md#1.4"
)
TWICE = Rule("generated-twice", "Two generated objects have the same name.", "spec/grove.md#6.3")
CONDITION = Rule(
    "condition",
    "packwise reports the condition of a workload instead of adding it as an annotation.",
    "spec/designs.md#5",
    Severity.INFO,
)
RULES = (CLASH, TWICE, CONDITION)
"""Rules of generated objects."""

_ORDER = {kind.name: kind.write_order or 0 for kind in GENERATED}
_NO_ANNOTATIONS: Mapping[str, str] = {}
_PREVIEWED = frozenset(kind.key for kind in KINDS if kind.previewed)


class Rendering(Record):
    """The objects to write, in their final order, and the generated values behind them. Both are empty if there are
    findings.
    """

    objects: tuple[KubeObject, ...]
    findings: tuple[Finding, ...]
    generated: tuple[Generated, ...] = ()


def render(
    generated: Sequence[Generated],
    index: Index,
    settings: TopologyRender,
    in_use: Collection[str] = (),
    *,
    folder: str = "",
    is_listed: bool = True,
    previews: bool = False,
) -> Rendering:
    """Return the objects of the emitted kinds, by kind and then in the given order.

    An object of an earlier render keeps its comments and client annotations, and only changed fields are spliced. A
    gang is the same object in every epoch. Earlier objects that are not in the result are obsolete. `in_use` names the
    ClusterTopologies that place workloads. Files of new objects are below `folder`. If `is_listed` is false, new
    objects are checked but are not in the result. With `previews`, the result includes objects that the scheduler
    creates itself.
    """
    wanted = [each for each in generated if _is_emitted(each, settings) or (previews and each.preview)]
    # The sort is stable. Objects of one kind keep the planner's order: by namespace, by workload, then as the operator
    # lists them.
    wanted.sort(key=lambda each: _ORDER[str(each.value["kind"])])
    findings: list[Finding] = []
    first: dict[Identity, Generated] = {}
    objects: list[KubeObject] = []
    of_operators = _previews(wanted) if settings.apply else set[KubeObject]()
    for each, stable in zip(wanted, stable_identities([each.value for each in wanted]), strict=True):
        epoch = has_epoch(each.value)
        key = identity(each.value) if epoch else stable
        other = index.users.get(key)
        if other is not None and (each.preview or (epoch and has_epoch(other.value))):
            # The operator created it, and its epoch is known. Keep it unchanged.
            continue
        if other is not None:
            findings.append(_clash(each, other))
        elif key in first:
            findings.append(_repeat_finding(each, first[key], key))
        else:
            first[key] = each
            before = index.generated.get(key) or (_earlier_gang(index, stable) if index.gangs else None)
            if before is None and not is_listed:
                continue
            is_of_operator = bool(of_operators) and each.subject in of_operators
            apply = settings.apply and not each.preview and not is_of_operator
            gitops = gitops_annotations(each, settings.gitops, in_use) if settings.gitops else _NO_ANNOTATIONS
            value = mark(each, stable[3], apply=apply, gitops=gitops, folder=folder)
            objects.append(KubeObject.new(value) if before is None else carry(before, value))
    if findings:
        return Rendering((), tuple(findings))
    return Rendering(tuple(objects), (), tuple(first.values()))


def _is_emitted(generated: Generated, settings: TopologyRender) -> bool:
    return settings.emits(kind_of_object(generated.value).emit_word, by_default=generated.emit_by_default)


def _previews(generated: Sequence[Generated]) -> set[KubeObject]:
    """Return the subjects of `generated` for which an operator makes the same objects in the cluster."""
    subjects = {each.subject for each in generated if each.subject is not None}
    return {subject for subject in subjects if identity(subject.value)[:2] in _PREVIEWED}


def _earlier_gang(index: Index, stable: Identity) -> KubeObject | None:
    """Return the same gang of an earlier render, with another epoch in its name, or None."""
    item = index.gangs.get(stable)
    return item if item is not None and is_generated(item.value) else None


def _clash(generated: Generated, other: KubeObject) -> Finding:
    made_from = _source(generated)
    message = f"packwise also renders this object from {made_from}; remove it from the input, or rename one of the two"
    return Finding.of(CLASH, other, ("metadata", "name"), message)


def _repeat_finding(generated: Generated, first: Generated, key: Identity) -> Finding:
    where = format_identity(key)
    message = (
        f"{_source(first)} becomes the same object, {where}; rename one of them, or one of their cliques or groups"
    )
    return Finding.of(TWICE, generated.subject, ("metadata", "name"), message)


def _source(generated: Generated) -> str:
    return generated.source if generated.subject is None else f"{generated.source} ({place_text(generated.subject)})"


# Annotations with which Argo CD and Flux apply generated objects correctly. Source: spec/gitops.md.


def gitops_annotations(generated: Generated, tools: Collection[str], in_use: Collection[str]) -> dict[str, str]:
    """Return the annotations of one object for `tools`, a set of `argocd` and `flux`.

    `in_use` names the ClusterTopologies that place workloads. They are never pruned. Only objects that must be
    recreated are forced. With force, both tools delete the live object first, even if its manifest is invalid for
    another reason.
    """
    kind = kind_of_object(generated.value)
    name = cast("Mapping[str, Value]", generated.value["metadata"])["name"]
    kept = kind is CLUSTER_TOPOLOGY and name in in_use
    annotations: dict[str, str] = {}
    if "argocd" in tools:
        if kind.before_workloads:
            annotations["argocd.argoproj.io/sync-wave"] = "-1"
        # Force alone fails with server-side apply, and the API server refuses Replace alone.
        options = "Replace=true,Force=true" if generated.recreate else "Prune=false" if kept else ""
        if options:
            annotations["argocd.argoproj.io/sync-options"] = options
    if "flux" in tools:
        if generated.recreate:
            annotations["kustomize.toolkit.fluxcd.io/force"] = "enabled"
        if kept:
            annotations["kustomize.toolkit.fluxcd.io/prune"] = "disabled"
    return annotations


# Conditions and last errors, as annotations of their objects. Source: spec/packwise.md#3, spec/designs.md#5.


CONDITIONS = f"{_PREFIX}conditions"
"""Annotation with the conditions as a JSON array."""
LAST_ERRORS = f"{_PREFIX}last-errors"
"""Annotation with the last errors as a JSON array. It is absent if there are none."""


def annotate(item: KubeObject, status: Status, settings: TopologyRender) -> tuple[KubeObject, list[Finding]]:
    """Return `item` with its conditions as annotations, and no findings.

    With `annotate: false`, return `item` unchanged, and a finding for each condition. Outdated conditions of an earlier
    render are removed.
    """
    if not settings.annotate:
        return item, [_notice(item, condition) for condition in status.conditions]
    generation = item.get(("metadata", "generation"))
    return _set_annotations(item, _texts(status, item, generation)), []


def with_notes(item: KubeObject, notes: Mapping[str, str | None]) -> KubeObject:
    """Return `item` with `notes` as annotations, which a later render reads. The setting `annotate` does not affect
    them.

    Keys of `notes` omit the prefix `packwise.dev/`. The value None removes a note of an earlier render.
    """
    return _set_annotations(item, {f"{_PREFIX}{key}": text for key, text in notes.items()})


def _set_annotations(item: KubeObject, annotations: Mapping[str, str | None]) -> KubeObject:
    for key, text in annotations.items():
        if text is not None:
            item = item.with_annotation(key, text)
        elif item.get(("metadata", "annotations", key)) is not None:
            item = item.without_annotation(key)
    return item


def annotate_generated(
    generated: Generated, status: Status, before: KubeObject | None, settings: TopologyRender
) -> tuple[Generated, list[Finding]]:
    """Return `generated` with its conditions, as in `annotate`. `before` is the object of an earlier render."""
    if not settings.annotate:
        owner = f"of {format_identity(identity(generated.value))}: "
        return generated, [_notice(generated.subject, condition, owner) for condition in status.conditions]
    # A written object has no generation, because a later render must produce the same text.
    texts = _texts(status, before, None)
    notes = {key.removeprefix(_PREFIX): text for key, text in texts.items() if text is not None}
    return generated.replace(notes={**generated.notes, **notes}), []


def _texts(status: Status, before: KubeObject | None, generation: Value) -> Mapping[str, str | None]:
    """Return the text of each annotation, or None for an annotation without content."""
    errors = [
        json_object({"code": json_string(error.code), "description": json_string(error.description)})
        for error in status.last_errors
    ]
    return {
        CONDITIONS: _conditions(status.conditions, before, generation) if status.conditions else None,
        LAST_ERRORS: json_list(errors) if errors else None,
    }


def _conditions(conditions: Sequence[Condition], before: KubeObject | None, generation: Value) -> str:
    observed = integer(generation, None)
    text = _text_of(tuple(conditions), observed)
    if before is None:
        return text
    annotation = before.get(("metadata", "annotations", CONDITIONS))
    earlier = annotation if isinstance(annotation, str) and annotation != text else None
    written = before.get(("status", "conditions"))
    if earlier is None and written is None:
        return text
    # Times in the object's status replace times in the annotation.
    times = {**dict(_times_in(_parse(earlier))), **dict(_times_in(written))}
    fields = [_fields(condition, observed) for condition in conditions]
    for condition, each in zip(conditions, fields, strict=True):
        time = times.get((condition.type, condition.status))
        if time is not None:
            each["lastTransitionTime"] = json_string(time)
    return json_list([json_object(each) for each in fields]) if times else text


@lru_cache(maxsize=256)
def _text_of(conditions: tuple[Condition, ...], generation: int | None) -> str:
    """Return the JSON text of conditions without times. It is cached, because most workloads of a run have equal
    conditions.
    """
    return json_list([json_object(_fields(condition, generation)) for condition in conditions])


def _fields(condition: Condition, generation: int | None) -> dict[str, str]:
    fields = {
        "type": json_string(condition.type),
        "status": json_string(condition.status),
        "reason": json_string(condition.reason),
        "message": json_string(condition.message),
    }
    if generation is not None:
        fields["observedGeneration"] = str(generation)
    return fields


def _times_in(conditions: Value) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the time of the last change of each condition, by its type and status."""
    for entry in conditions if isinstance(conditions, list) else ():
        if isinstance(entry, dict):
            parts = (entry.get("type"), entry.get("status"), entry.get("lastTransitionTime"))
            if all(isinstance(part, str) for part in parts):
                kind, status, time = cast("tuple[str, str, str]", parts)
                yield (kind, status), time


def _parse(text: str | None) -> Value:
    if text is None:
        return None
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _notice(subject: KubeObject | None, condition: Condition, owner: str = "") -> Finding:
    reason = f" ({condition.reason})" if condition.reason else ""
    message = f": {condition.message}" if condition.message else ""
    return Finding.of(CONDITION, subject, (), f"{owner}{condition.type} is {condition.status}{reason}{message}")
