"""Problems of pod templates by the kind of their workload, and fields that Kubernetes does not know.

Source: spec/kubernetes.md#2.
"""

from __future__ import annotations

from functools import cache

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.findings import Problem, Stage
from packwise.objects.index import is_placeholder
from packwise.objects.workload_kinds import ANYWHERE, Grouping
from packwise.pod_rules import UNKNOWN_FIELD, partial_pod_problems, pod_problems
from packwise.validate.go_types import TYPES
from packwise.wording import near_miss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Rule
    from packwise.objects.workload_kinds import WorkloadKind

BUILT_IN = frozenset({"", "apps", "batch"})
"""The API groups of kinds with pod templates that the API server validates."""

_BY_TEMPLATE = frozenset({"JobSet", "LeaderWorkerSet", "Notebook"})
"""Kinds with a controller that creates Jobs or StatefulSets.

The API server accepts an object with invalid pods, but refuses its Jobs or StatefulSets.
"""

_COMPLETED = frozenset({Grouping.REVISION, Grouping.WORKFLOW})
"""The groupings of kinds with a controller that fills in missing fields of containers."""

_SUBMITTER = "submitterPodTemplate"
"""The field of a RayJob with the template of the Job that submits it."""


def template_problems(
    kind: WorkloadKind | None, grouping: Grouping, path: FieldPath, spec: Mapping[str, Value]
) -> Iterator[tuple[Rule, Problem]]:
    """Yield the problems of the pods of a workload's template at `path`, by path in the pod's `spec`.

    The API server refuses an object of its own kinds, with the pod's errors at the template. For other kinds, it
    refuses the pods, or the Jobs and StatefulSets that the controller creates. `kind` is None if a controller makes the
    workload from another object. `grouping` is KAI's grouping for the version of the object.
    """
    if kind is None or grouping in _COMPLETED or kind.templates[0].path[0] == ANYWHERE:
        yield from partial_pod_problems(spec)
        return
    is_refused = kind.group in BUILT_IN
    prefix = ""
    if is_refused and path:
        prefix = f"{format_path(path)}."
    elif kind.name in _BY_TEMPLATE or path[-1:] == (_SUBMITTER,):
        prefix = "spec.template."
    for rule, problem in pod_problems(spec):
        if problem.operator_message is not None:
            stage = Stage.SCHEMA if is_refused else Stage.POD
            yield rule, problem.replace(operator_message=f"{prefix}{problem.operator_message}", stage=stage)
        else:
            yield rule, problem
    yield from ((UNKNOWN_FIELD, problem) for problem in _unknown_fields(spec, _POD_SPEC, (), ()))


_POD_SPEC = "v1.PodSpec"
_LIST = "[]"


@cache
def _types_by_field(go: str) -> Mapping[str, str]:
    """Return the Go types of the fields of a Kubernetes type by name."""
    pairs = [entry.partition(":") for entry in TYPES[go].split(" ")]
    return {name: type_name for name, _, type_name in pairs}


def _unknown_fields(value: Value, go: str, path: FieldPath, owners: tuple[str, ...]) -> Iterator[Problem]:
    """Yield the fields of a value of the Go type `go` that Kubernetes does not know. `owners` are the types around it.

    The types of a pod's spec do not contain themselves, so the depth is bounded.
    """
    if isinstance(value, list) and go.startswith(_LIST):
        for index, entry in enumerate(value):
            yield from _unknown_fields(entry, go.removeprefix(_LIST), (*path, index), owners)
    elif isinstance(value, dict) and go in TYPES:
        known = _types_by_field(go)
        for name, entry in value.items():
            if name not in known and not is_placeholder(name):
                yield _unknown_field(name, go, path, owners)
            elif name in known and isinstance(entry, (dict, list)):
                yield from _unknown_fields(entry, known[name], (*path, name), (*owners, go))


def _unknown_field(name: str, go: str, path: FieldPath, owners: tuple[str, ...]) -> Problem:
    """Return the problem of an unknown field: a typo, or a field that is one level too high or too low."""
    known = _types_by_field(go)
    below = [field for field, each in known.items() if each in TYPES and name in _types_by_field(each)]
    hint = near_miss(name, known)
    if not hint and len(below) == 1:
        hint = f'; did you mean "{below[0]}.{name}"?'
    owner = next((owner for owner in reversed(owners) if name in _types_by_field(owner)), None)
    if not hint:
        hint = "." if owner is None else f", but of {_noun_of(owner)}."
    message = (
        f'"{name}" is not a field of {_noun_of(go)}{hint} The API server refuses the object for kubectl, and drops '
        "the field for other clients"
    )
    return Problem((*path, name), message, at_key=True)


def _noun_of(go: str) -> str:
    name = go.removeprefix("v1.")
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"
