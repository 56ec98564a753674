"""`spec.levels` of a topology object, as the API server takes them. Source: spec/grove.md#3; crds/alpha7, crds/head."""

from __future__ import annotations

from krmfn.errors import describe
from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Effect, Problem, Stage
from packwise.kubernetes.validation import ErrorType, OperatorError, dns_subdomain
from packwise.topology.levels import ClusterTopology, Level
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.revisions.limits import Limits

__all__ = [
    "level_problems",
    "levels_of",
    "name_problems",
    "read_levels",
    "refused",
    "unknown_fields",
    "wrong_type",
]

_GO_KINDS = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)
_NOUNS = {"object": "a mapping", "array": "a list", "string": "a string"}


def levels_of(value: Mapping[str, Value]) -> Sequence[Value]:
    """The entries of `spec.levels`, whatever they are."""
    spec = value.get("spec")
    levels = spec.get("levels") if isinstance(spec, dict) else None
    return levels if isinstance(levels, list) else ()


def read_levels(item: KubeObject) -> ClusterTopology:
    """The topology that `item` states, levels as listed; what has no right shape is left out (see the check)."""
    levels = [
        Level(domain, key)
        for entry in levels_of(item.value)
        if isinstance(entry, dict)
        and isinstance(domain := entry.get("domain"), str)
        and isinstance(key := entry.get("key"), str)
    ]
    return ClusterTopology(item.name, tuple(levels))


def name_problems(name: str) -> Iterator[Problem]:
    """What the API server refuses in the name of a topology object."""
    for text in dns_subdomain(name):
        error = OperatorError("metadata.name", ErrorType.INVALID, name, text)
        yield refused(("metadata", "name"), f'must be a DNS subdomain; got "{name}": {text}', error)


def level_problems(
    spec: Value, domain_problem: Callable[[FieldPath, str], Problem | None], limits: Limits
) -> Iterator[Problem]:
    """What the API server refuses in the levels of `spec`: one at least, each with a domain and a key.

    `domain_problem` answers what is wrong with the domain at a path, for domains differ from one kind to another.
    """
    path: FieldPath = ("spec", "levels")
    levels = spec.get("levels") if isinstance(spec, dict) else None
    if not isinstance(spec, dict):
        yield wrong_type(("spec",), spec, "object")
    elif not isinstance(levels, list):
        yield wrong_type(path, levels, "array")
    else:
        if not levels:
            text = "spec.levels in body should have at least 1 items"
            error = OperatorError("spec.levels", ErrorType.INVALID, 0, text)
            yield refused(path, "must hold at least one level; got none", error)
        for index, level in enumerate(levels):
            yield from _level_problems((*path, index), level, domain_problem, limits)


def _level_problems(
    path: FieldPath, level: Value, domain_problem: Callable[[FieldPath, str], Problem | None], limits: Limits
) -> Iterator[Problem]:
    if not isinstance(level, dict):
        yield wrong_type(path, level, "object")
        return
    yield from unknown_fields(level, ("domain", "key"), path, "a level")
    for name, problem_of in (("domain", domain_problem), ("key", limits.key_problem)):
        value = level.get(name)
        if not isinstance(value, str):
            yield wrong_type((*path, name), value, "string")
        elif (problem := problem_of((*path, name), value)) is not None:
            yield problem


def unknown_fields(value: Mapping[str, Value], known: Sequence[str], path: FieldPath, noun: str) -> Iterator[Problem]:
    """The fields of `value` that are none of `known`."""
    for name in value:
        if name not in known:
            message = f'must be a field of {noun}; got "{name}"; known: {list_known(known)}{closest(name, known)}'
            yield Problem((*path, name), message, effect=Effect.UNKNOWN)


def wrong_type(path: FieldPath, value: Value, kind: str) -> Problem:
    """`value` is absent, or none of what the API server calls `kind`."""
    field = format_path(path)
    noun = _NOUNS[kind]
    if value is None:
        return refused(path, f"must be {noun}; there is none", OperatorError(field, ErrorType.REQUIRED))
    go = next(name for known, name in _GO_KINDS if isinstance(value, known))
    error = OperatorError(field, ErrorType.INVALID, go, f'{field} in body must be of type {kind}: "{go}"')
    return refused(path, f"must be {noun}; got {describe(value)}", error)


def refused(path: FieldPath, message: str, error: OperatorError) -> Problem:
    """What the API server refuses with the text of `error`."""
    return Problem(path, message, error.text(), Stage.SCHEMA)
