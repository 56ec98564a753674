"""What the PodGroup CRDs of KAI v0.12 to v0.17 refuse. Source: spec/kai.md#2, crds/kai-v0.12.0 to v0.17.0."""

from __future__ import annotations

import re

from krmfn.errors import describe
from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Effect, Problem, Stage
from packwise.kubernetes.validation import ErrorType, OperatorError, go_quote
from packwise.schedulers.kai.versions import KNOWN, SUBGROUP_COUNTS, Versions
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["refused", "schema_problems"]

_OLD, _NEW = Versions(KNOWN.first, SUBGROUP_COUNTS - 1), Versions(SUBGROUP_COUNTS, KNOWN.last)

_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_NAMES = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


class _Field(NamedTuple):
    """`type` as JSON Schema has it. `minimum`: the least value, by the versions in which it holds."""

    type: str
    known: Versions = KNOWN
    minimum: tuple[tuple[Versions, int], ...] = ()
    choices: tuple[str, ...] = ()
    named: bool = False
    """Whether it must be a DNS label, from v0.15 on."""


_NEWEST = Versions(17, KNOWN.last)

_SPEC: Mapping[str, _Field] = {
    "backoffLimit": _Field("integer", _OLD),
    "completions": _Field("integer", _OLD),
    "markUnschedulable": _Field("boolean"),
    "minMember": _Field("integer", minimum=((KNOWN, 1),)),
    "minSubGroup": _Field("integer", _NEW, ((_NEW, 1),)),
    "parallelism": _Field("integer", _OLD),
    "preemptibility": _Field("string", choices=("preemptible", "non-preemptible")),
    "preemptionDelay": _Field("string", _NEWEST),
    "priorityClassName": _Field("string"),
    "queue": _Field("string"),
    "schedulingBackoff": _Field("integer"),
    "stalenessGracePeriod": _Field("string", _NEWEST),
    "subGroups": _Field("array"),
    "topologyConstraint": _Field("object"),
}
_SUBGROUP: Mapping[str, _Field] = {
    "minMember": _Field("integer", minimum=((_OLD, 1), (_NEW, 0))),
    "minSubGroup": _Field("integer", _NEW, ((_NEW, 0),)),
    "name": _Field("string", named=True),
    "parent": _Field("string", named=True),
    "topologyConstraint": _Field("object"),
}
_CONSTRAINT: Mapping[str, _Field] = {
    "preferredTopologyLevel": _Field("string"),
    "requiredTopologyLevel": _Field("string"),
    "topology": _Field("string"),
}

_NOUNS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "object": "a mapping",
    "string": "a string",
}


def refused(
    path: FieldPath, message: str, by: Versions, operator: str | None = None, *, stage: Stage = Stage.SCHEMA
) -> Problem:
    """A problem for which the versions `by` refuse the object, rendered for or not; `operator` is their text."""
    return Problem(path, message, operator, stage, consequence=f"{by.text} refuses it")


def schema_problems(value: Mapping[str, Value], suits: Versions) -> Iterator[Problem]:
    """What the CRDs of the versions `suits` have against the PodGroup `value`, in the order of its fields."""
    spec = value.get("spec")
    if spec is None:
        return
    if not isinstance(spec, dict):
        yield _wrong_type(("spec",), spec, "object", KNOWN)
        return
    yield from _mapping(("spec",), spec, _SPEC, suits)
    yield from _constraint(("spec",), spec, suits)
    groups = spec.get("subGroups")
    for index, group in enumerate(groups if isinstance(groups, list) else ()):
        path = ("spec", "subGroups", index)
        if not isinstance(group, dict):
            yield _wrong_type(path, group, "object", KNOWN)
            continue
        if group.get("name") is None:
            text = OperatorError(format_path((*path, "name")), ErrorType.REQUIRED).text()
            yield refused((*path, "name"), "must be set", KNOWN, text)
        yield from _mapping(path, group, _SUBGROUP, suits)
        yield from _constraint(path, group, suits)


def _constraint(path: FieldPath, holder: Mapping[str, Value], suits: Versions) -> Iterator[Problem]:
    constraint = holder.get("topologyConstraint")
    if isinstance(constraint, dict):
        yield from _mapping((*path, "topologyConstraint"), constraint, _CONSTRAINT, suits)


def _mapping(
    path: FieldPath, mapping: Mapping[str, Value], fields: Mapping[str, _Field], suits: Versions
) -> Iterator[Problem]:
    for name, value in mapping.items():
        field, at = fields.get(name), (*path, name)
        if field is None:
            message = f"is no field of KAI's{closest(name, fields)}; known: {list_known(sorted(fields))}"
            yield Problem(at, message, effect=Effect.UNKNOWN, consequence=f"{KNOWN.text} drops it")
            continue
        for unknown in _outside(field.known, suits):
            consequence = f"{unknown.text} drops it"
            yield Problem(at, f"is a field of {field.known.text}", effect=Effect.UNKNOWN, consequence=consequence)
        # The API server drops nulls.
        if value is not None and suits.within(field.known) is not None:
            yield from _value(at, value, field, suits)


def _outside(known: Versions, suits: Versions) -> Iterator[Versions]:
    """The versions of `suits` that are not `known`: those before, those after."""
    before = suits.within(Versions(KNOWN.first, known.first - 1))
    after = suits.within(Versions(known.last + 1, KNOWN.last))
    yield from [versions for versions in (before, after) if versions is not None]


def _value(at: FieldPath, value: Value, field: _Field, suits: Versions) -> Iterator[Problem]:
    if _type_of(value) != field.type:
        yield _wrong_type(at, value, field.type, field.known)
        return
    text = format_path(at)
    for versions, least in field.minimum:
        if suits.within(versions) is not None and isinstance(value, int) and value < least:
            detail = f"{text} in body should be greater than or equal to {least}"
            error = OperatorError(text, ErrorType.INVALID, value, detail).text()
            yield refused(at, f"must be at least {least}; got {value}", versions, error)
    if field.choices and value not in field.choices:
        detail = f"supported values: {', '.join([go_quote(name) for name in field.choices])}"
        error = OperatorError(text, ErrorType.NOT_SUPPORTED, value, detail).text()
        near = closest(str(value), field.choices)
        message = f"must be one of {list_known(field.choices)}; got {describe(value)}{near}"
        yield refused(at, message, field.known, error)
    if field.named:
        yield from _label(at, str(value), suits)


def _label(at: FieldPath, value: str, suits: Versions) -> Iterator[Problem]:
    text = format_path(at)
    if not value and at[-1] == "name":
        error = OperatorError(text, ErrorType.INVALID, value, f"{text} in body should be at least 1 chars long").text()
        yield refused(at, "must not be empty", KNOWN, error)
    elif suits.within(_NEW) is not None and not _NAMES.fullmatch(value):
        detail = f"{text} in body should match '{_NAME}'"
        message = (
            f"must be lower-case letters, digits and dashes, with a letter or digit at both ends; got {describe(value)}"
        )
        yield refused(at, message, _NEW, OperatorError(text, ErrorType.INVALID, value, detail).text())


def _wrong_type(at: FieldPath, value: Value, wanted: str, by: Versions) -> Problem:
    text, got = format_path(at), _type_of(value)
    error = OperatorError(text, ErrorType.INVALID, got, f'{text} in body must be of type {wanted}: "{got}"').text()
    return refused(at, f"must be {_NOUNS[wanted]}; got {describe(value)}", by, error)


def _type_of(value: Value) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, (dict, list)):
        return "object" if isinstance(value, dict) else "array"
    return "null" if value is None else "string" if isinstance(value, str) else "number"
