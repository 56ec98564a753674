"""What the Topology CRDs of KAI refuse, aliases apart. Source: spec/podgrouper.md#9, crds/kai-v0.12.0 to v0.17.0."""

from __future__ import annotations

import re

from krmfn.errors import describe
from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Cause, Problem, Stage
from packwise.kubernetes.validation import OMITTED, ErrorType, OperatorError
from packwise.schedulers.kai.topology_manifest import read_keys
from packwise.schedulers.kai.versions import KNOWN, LEVEL_ALIASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["LABEL_PATTERN", "topology_problems"]

LABEL_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
"""What a node label, and an alias, must match."""

_LABEL = re.compile(LABEL_PATTERN.strip("^$"))
_SPEC, _LEVELS = ("spec",), ("spec", "levels")
_MAX_LEVELS = 16
_MAX_LABEL = 316
_HOSTNAME = "kubernetes.io/hostname"
_LOWEST = f"the {_HOSTNAME} label can only be used at the lowest level of topology"
_NOUNS = {"object": "a mapping", "array": "a list", "string": "a string"}


def topology_problems(
    value: Mapping[str, Value],
    before: Mapping[str, Value] | None = None,
    *,
    minor: int = KNOWN.last,
    of_rules: Value = OMITTED,
) -> list[Problem]:
    """What the CRD of KAI v0.`minor` refuses in the Topology `value`, which was `before` the change.

    `of_rules` is the value that texts about all levels print: older API servers print their type.
    """
    problems = list(_of_spec(value.get("spec")))
    # The API server evaluates the rules once all values have the shape that these expect.
    if all(problem.cause is not Cause.TYPE for problem in problems):
        keys_before = None if before is None else read_keys(before)
        problems += _of_rules(read_keys(value), keys_before, minor, of_rules)
    return problems


def _of_spec(spec: Value) -> Iterator[Problem]:
    levels = spec.get("levels") if isinstance(spec, dict) else None
    if not isinstance(spec, dict):
        yield _wrong_type(_SPEC, spec, "object")
    elif not isinstance(levels, list):
        yield _wrong_type(_LEVELS, levels, "array")
    else:
        if not levels:
            detail = "spec.levels in body should have at least 1 items"
            yield _refused(_LEVELS, "must hold at least one level; got none", ErrorType.INVALID, 0, detail)
        if len(levels) > _MAX_LEVELS:
            message = f"must hold at most {_MAX_LEVELS} levels; got {len(levels)}"
            detail = f"must have at most {_MAX_LEVELS} items"
            problem = _refused(_LEVELS, message, ErrorType.TOO_MANY, len(levels), detail)
            yield problem._replace(cause=Cause.TYPE)
        for position, level in enumerate(levels):
            yield from _of_level((*_LEVELS, position), level)


def _of_level(at: FieldPath, level: Value) -> Iterator[Problem]:
    field = (*at, "nodeLabel")
    label = level.get("nodeLabel") if isinstance(level, dict) else None
    if not isinstance(level, dict):
        yield _wrong_type(at, level, "object")
    elif not isinstance(label, str):
        yield _wrong_type(field, label, "string")
    elif len(label) > _MAX_LABEL or not _LABEL.fullmatch(label):
        message = f'must be a label key with a prefix in lower case, if any; got "{label}"'
        text, detail = format_path(field), f"may not be more than {_MAX_LABEL} bytes"
        if len(label) > _MAX_LABEL:
            yield _refused(field, message, ErrorType.TOO_LONG, label, detail)._replace(cause=Cause.TYPE)
            return
        detail = f"{text} in body should " + (f"match '{LABEL_PATTERN}'" if label else "be at least 1 chars long")
        yield _refused(field, message, ErrorType.INVALID, label, detail)


def _of_rules(keys: Sequence[str], before: Sequence[str] | None, minor: int, shown: Value) -> Iterator[Problem]:
    """What the rules in CEL say of all levels, in their order; each says it once, however many levels break it."""
    has_aliases = minor >= LEVEL_ALIASES
    if before is not None and before != keys:
        text = "nodeLabel structure is immutable; only aliases may be edited" if has_aliases else "field is immutable"
        message = f"must stay as they are; they were {', '.join(before)}: delete the Topology and create it anew"
        yield _refused(_LEVELS, message, ErrorType.INVALID, shown, text)
    again = [
        (position, f'must be unique among the levels; got "{key}" again')
        for position, key in enumerate(keys)
        if key in keys[:position]
    ]
    yield from _told_once(again, "nodeLabel must be unique" if has_aliases else "must be unique", shown)
    above = [
        (position, f'must be the lowest level where it is "{key}"; "{keys[-1]}" is below it')
        for position, key in enumerate(keys[:-1])
        if key == _HOSTNAME and keys[-1] != key
    ]
    yield from _told_once(above, _LOWEST, shown)


def _told_once(levels: Iterable[tuple[int, str]], text: str, shown: Value) -> Iterator[Problem]:
    answer: str | None = OperatorError("spec.levels", ErrorType.INVALID, shown, text).text()
    for position, message in levels:
        yield Problem((*_LEVELS, position, "nodeLabel"), message, answer, Stage.SCHEMA)
        answer = None


def _wrong_type(at: FieldPath, value: Value, wanted: str) -> Problem:
    if value is None:
        problem = _refused(at, "must be set", ErrorType.REQUIRED, None, "")
    else:
        # Hardly any run needs it.
        from packwise.validate.structure import type_of

        text, got = format_path(at), type_of(value)
        detail = f'{text} in body must be of type {wanted}: "{got}"'
        message = f"must be {_NOUNS[wanted]}; got {describe(value)}"
        problem = _refused(at, message, ErrorType.INVALID, got, detail)
    return problem._replace(cause=Cause.TYPE)


def _refused(at: FieldPath, message: str, kind: ErrorType, value: Value, detail: str) -> Problem:
    return Problem(at, message, OperatorError(format_path(at), kind, value, detail).text(), Stage.SCHEMA)
