"""What cannot change in a LeaderWorkerSet that Kueue manages. Source: spec/kueue.md#4; Kueue's SpecShape."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.kubernetes.validation import ErrorType, OperatorError, Unquoted, go_json
from packwise.schedulers.kueue.podsets import integer, mapping, value_at
from packwise.schedulers.kueue.request import PREFIX, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings.finding import Problem

__all__ = ["group_problems"]

_GROUP = ("spec", "leaderWorkerTemplate")
_FIELD = "spec.leaderWorkerTemplate"
_IMMUTABLE = "field is immutable"

_SHAPE = (
    "nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority", "topologySpreadConstraints", "overhead",
    "resourceClaims",
)  # fmt: skip
"""The fields of a pod's spec that are compared whole."""


def group_problems(value: Mapping[str, Value], before: Mapping[str, Value]) -> Iterator[Problem]:
    """Changes of the templates and of the size of a group."""
    now, then = mapping(value_at(value, *_GROUP)), mapping(value_at(before, *_GROUP))
    for name in ("leaderTemplate", "workerTemplate"):
        path, field = (*_GROUP, name), f"{_FIELD}.{name}"
        new, old = now.get(name), then.get(name)
        if name == "leaderTemplate" and (new is None) != (old is None):
            word = "come" if old is None else "go"
            yield _changed(path if new is not None else _GROUP, field, _mutated(new, value), f"{name} cannot {word}")
        elif new is not None or old is not None:
            spec = (value_at(new, "spec"), value_at(old, "spec"))
            yield from _spec_problems(mapping(spec[0]), mapping(spec[1]), (*path, "spec"), f"{field}.spec")
    size, was = integer(now.get("size"), 1), integer(then.get("size"), 1)
    if size != was:
        yield _changed((*_GROUP, "size"), f"{_FIELD}.size", size, f"cannot change: was {was}, is {size}")


def _mutated(template: Value, owner: Mapping[str, Value]) -> Value:
    """A leader's template as Kueue's mutating webhook leaves it, in the order of Go's fields."""
    if template is None:
        return None
    metadata = mapping(mapping(template).get("metadata"))
    labels = {**mapping(metadata.get("labels"))}
    queue = value_at(owner, "metadata", "labels", f"{PREFIX}queue-name")
    labels[f"{PREFIX}queue-name"] = queue
    annotations = {
        **mapping(metadata.get("annotations")),
        f"{PREFIX}pod-suspending-parent": "leaderworkerset.x-k8s.io/leaderworkerset",
        f"{PREFIX}pod-group-serving": "true",
    }
    rest = {key: part for key, part in metadata.items() if key not in ("labels", "annotations")}
    whole: dict[str, Value] = {**rest, "labels": _sorted(labels), "annotations": _sorted(annotations)}
    return {"metadata": whole, "spec": mapping(template).get("spec")}


def _sorted(value: Mapping[str, Value]) -> dict[str, Value]:
    return {key: value[key] for key in sorted(value)}


def _changed(path: FieldPath, field: str, value: Value, message: str) -> Problem:
    shown = Unquoted("null") if value is None else value
    if isinstance(value, (dict, list)):
        shown = Unquoted(go_json(value))
    return refusal(path, message, OperatorError(field, ErrorType.INVALID, shown, _IMMUTABLE))


def _spec_problems(
    new: Mapping[str, Value], old: Mapping[str, Value], path: FieldPath, field: str
) -> Iterator[Problem]:
    for name in ("initContainers", "containers"):
        yield from _containers(new.get(name), old.get(name), (*path, name), f"{field}.{name}")
    for name in _SHAPE:
        # The API server keeps no difference between absent and empty.
        if (new.get(name) or None) != (old.get(name) or None):
            at = (*path, name) if name in new else path
            message = f"{name} cannot change while Kueue manages the workload"
            yield _changed(at, f"{field}.{name}", new.get(name), message)


def _containers(new: Value, old: Value, path: FieldPath, field: str) -> Iterator[Problem]:
    entries = [[mapping(each) for each in side] if isinstance(side, list) else [] for side in (new, old)]
    now, then = entries
    if len(now) != len(then):
        shape: list[Value] = [
            {"ports": each.get("ports"), "resources": {"requests": value_at(each, "resources", "requests")}}
            for each in now
        ]
        message = f"must be as many as before, {len(then)}; got {len(now)}"
        yield _changed(path, field, shape or None, message)
        return
    for index, (container, before) in enumerate(zip(now, then, strict=True)):
        at, name = (*path, index), f"{field}[{index}]"
        requests, were = (value_at(each, "resources", "requests") or None for each in (container, before))
        if requests != were:
            message = "requests cannot change while Kueue manages the workload"
            yield _changed((*at, "resources"), f"{name}.resources.requests", requests, message)
        if (container.get("ports") or None) != (before.get("ports") or None):
            yield _changed((*at, "ports"), f"{name}.ports", container.get("ports"), "ports cannot change")
