"""The changes of LeaderWorkerSets and StatefulSets that Kueue's webhooks refuse while Kueue manages the object.

Source: spec/kueue.md#4; Kueue v0.19.2, pkg/controller/jobs/leaderworkerset and statefulset.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.kubernetes import ErrorType, OperatorError, Unquoted, canonical_quantity, go_json, refusal
from packwise.lenient import integer, mapping, mapping_at, mappings_in_place, value_at
from packwise.objects.workload_kinds import QUEUE_NAME
from packwise.schedulers.kueue.request import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Problem

_IMMUTABLE = "field is immutable"
_LWS_TEMPLATE = ("spec", "leaderWorkerTemplate")
_LWS_FIELD = "spec.leaderWorkerTemplate"

_COMPARED_FIELDS = (
    "nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority", "topologySpreadConstraints", "overhead",
    "resourceClaims",
)  # fmt: skip
"""The fields of a pod's spec that the webhook compares as a whole."""


_PORT = ("name", "hostPort", "containerPort", "protocol", "hostIP")
"""The fields of a port that the webhook compares, in the order of Go's struct."""


def leader_worker_set_changes(value: Mapping[str, Value], before: Mapping[str, Value]) -> Iterator[Problem]:
    """Yield a problem for each part of a LeaderWorkerSet that must not change: its templates and its size."""
    now, then = mapping_at(value, *_LWS_TEMPLATE), mapping_at(before, *_LWS_TEMPLATE)
    for name in ("leaderTemplate", "workerTemplate"):
        path, field = (*_LWS_TEMPLATE, name), f"{_LWS_FIELD}.{name}"
        new, old = now.get(name), then.get(name)
        if name == "leaderTemplate" and (new is None) != (old is None):
            word = "come" if old is None else "go"
            yield _immutability_problem(
                path if new is not None else _LWS_TEMPLATE, field, _mutate(new, value), f"{name} cannot {word}"
            )
        elif new is not None or old is not None:
            spec = (value_at(new, "spec"), value_at(old, "spec"))
            yield from _spec_problems(mapping(spec[0]), mapping(spec[1]), (*path, "spec"), f"{field}.spec")
    size, was = integer(now.get("size"), 1), integer(then.get("size"), 1)
    if size != was:
        yield _immutability_problem(
            (*_LWS_TEMPLATE, "size"), f"{_LWS_FIELD}.size", size, f"cannot change: was {was}, is {size}"
        )


def stateful_set_changes(value: Mapping[str, Value], before: Mapping[str, Value]) -> Iterator[Problem]:
    """Yield a problem for each part of a StatefulSet that must not change: its pod template and its replicas.

    The replicas may change from 0 or to 0.
    """
    specs = [mapping_at(each, "spec", "template", "spec") for each in (value, before)]
    yield from _spec_problems(specs[0], specs[1], ("spec", "template", "spec"), "spec.template.spec")
    replicas, were = [integer(value_at(each, "spec", "replicas"), 1) for each in (value, before)]
    if replicas and were and replicas != were:
        message = f"can change only from 0 or to 0 while Kueue manages the StatefulSet: was {were}, is {replicas}"
        yield _immutability_problem(("spec", "replicas"), "spec.replicas", replicas, message)


def _mutate(template: Value, owner: Mapping[str, Value]) -> Value:
    """Return a leader template as Kueue's mutating webhook changes it, in the order of Go's fields."""
    if template is None:
        return None
    metadata = mapping(mapping(template).get("metadata"))
    labels = {**mapping(metadata.get("labels"))}
    labels[QUEUE_NAME] = value_at(owner, "metadata", "labels", QUEUE_NAME)
    annotations = {
        **mapping(metadata.get("annotations")),
        f"{PREFIX}pod-suspending-parent": "leaderworkerset.x-k8s.io/leaderworkerset",
        f"{PREFIX}pod-group-serving": "true",
    }
    rest = {key: part for key, part in metadata.items() if key not in ("labels", "annotations")}
    whole: dict[str, Value] = {**rest, "labels": _sort_keys(labels), "annotations": _sort_keys(annotations)}
    return {"metadata": whole, "spec": mapping(template).get("spec")}


def _sort_keys(value: Mapping[str, Value]) -> dict[str, Value]:
    return {key: value[key] for key in sorted(value)}


def _immutability_problem(path: FieldPath, field: str, value: Value, message: str) -> Problem:
    shown = Unquoted("null") if value is None else value
    if isinstance(value, (dict, list)):
        shown = Unquoted(go_json(value))
    return refusal(path, message, OperatorError(field, ErrorType.INVALID, shown, _IMMUTABLE))


def _spec_problems(
    new: Mapping[str, Value], old: Mapping[str, Value], path: FieldPath, field: str
) -> Iterator[Problem]:
    for name in ("initContainers", "containers"):
        yield from _containers(new.get(name), old.get(name), (*path, name), f"{field}.{name}")
    for name in _COMPARED_FIELDS:
        # The API server stores an empty field as an absent one.
        if (new.get(name) or None) != (old.get(name) or None):
            at = (*path, name) if name in new else path
            message = f"{name} cannot change while Kueue manages the workload"
            yield _immutability_problem(at, f"{field}.{name}", new.get(name), message)


def _containers(new: Value, old: Value, path: FieldPath, field: str) -> Iterator[Problem]:
    now, then = mappings_in_place(new), mappings_in_place(old)
    if len(now) != len(then):
        shape: list[Value] = [
            {
                "ports": _ports(each.get("ports")),
                "resources": {"requests": _quantities(value_at(each, "resources", "requests"))},
            }
            for each in now
        ]
        message = f"must keep its number of containers, {len(then)}; got {len(now)}"
        yield _immutability_problem(path, field, shape or None, message)
        return
    for index, (container, before) in enumerate(zip(now, then, strict=True)):
        at, name = (*path, index), f"{field}[{index}]"
        yield from _requests(container, before, at, name)
        ports, were = (_ports(each.get("ports")) for each in (container, before))
        if ports != were:
            message = "ports cannot change while Kueue manages the workload"
            yield _immutability_problem((*at, "ports") if "ports" in container else at, f"{name}.ports", ports, message)


def _requests(new: Mapping[str, Value], old: Mapping[str, Value], path: FieldPath, field: str) -> Iterator[Problem]:
    """Yield a problem if the requests of a container change."""
    requests, were = (_quantities(value_at(each, "resources", "requests")) for each in (new, old))
    if requests != were:
        message = "requests cannot change while Kueue manages the workload"
        at = (*path, "resources") if "resources" in new else path
        yield _immutability_problem(at, f"{field}.resources.requests", requests, message)


def _quantities(requests: Value) -> Value:
    """Return requests in the form of the API server. Return None if there are none.

    In this form, equal quantities are equal texts.
    """
    amounts = mapping(requests)
    return {name: canonical_quantity(str(amounts[name])) for name in sorted(amounts)} or None


def _ports(ports: Value) -> Value:
    """Return ports with the API server's default protocol, in the order of Go's fields, or None without ports."""
    filled = [{"protocol": "TCP", **port} for port in mappings_in_place(ports)]
    return [{name: port[name] for name in _PORT if name in port} for port in filled] or None
