"""The metadata of an object, which no CRD describes. Source: apimachinery v0.34, api/validation ObjectMeta."""

from __future__ import annotations

from krmfn.errors import describe
from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Cause, Problem, Stage
from packwise.kubernetes.validation import (
    V35,
    ErrorType,
    dns_label,
    dns_subdomain,
    label_value,
    mask_trailing_dash,
    qualified_name,
)
from packwise.validate.structure import type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value
    from packwise.validate.valuepath import ValuePath

__all__ = ["metadata_problems", "type_problems"]

_TEXTS = ("generateName", "name", "namespace")
_MAPPINGS = ("annotations", "labels")
_GO_KINDS = {"boolean": "bool", "integer": "number"}


def metadata_problems(value: Value, at: ValuePath) -> Iterator[Problem]:
    """What is wrong with `value` as the metadata of an object."""
    wrong = list(type_problems(value, at))
    yield from wrong
    if not wrong and isinstance(value, dict):
        yield from _name(value, at)
        yield from _keys(value, at)


def type_problems(value: Value, at: ValuePath) -> Iterator[Problem]:
    """The types of `value`, the metadata of an object, that the API server does not decode."""
    if not isinstance(value, dict):
        yield _type_problem(value, at, "a mapping", "", "v1.ObjectMeta")
        return
    for name in _TEXTS:
        if not isinstance(value.get(name, ""), str | None):
            yield _type_problem(value[name], at.field(name), "a string", name, "string")
    for name in _MAPPINGS:
        entries = value.get(name)
        if entries is not None and not isinstance(entries, dict):
            yield _type_problem(entries, at.field(name), "a mapping", name, "map[string]string")
        for key, text in entries.items() if isinstance(entries, dict) else ():
            if not isinstance(text, str | None):
                yield _type_problem(text, at.field(name).key(key), "a string", name, "string")


def _type_problem(value: Value, at: ValuePath, noun: str, field: str, go: str) -> Problem:
    go_kind = _GO_KINDS.get(type_of(value), type_of(value))
    into = f"Go struct field ObjectMeta.{field}" if field else "Go value"
    text = f"json: cannot unmarshal {go_kind} into {into} of type {go}"
    return Problem(at.path, f"must be {noun}; got {describe(value)}", text, Stage.SCHEMA, cause=Cause.TYPE)


def _name(value: Mapping[str, Value], at: ValuePath) -> Iterator[Problem]:
    name, prefix = str(value.get("name") or ""), str(value.get("generateName") or "")
    if not name and not prefix:
        detail = "name or generateName is required"
        yield at.field("name").refused(ErrorType.REQUIRED, "must be set", detail, cause=Cause.REQUIRED)
    for field, text, checked in (("name", name, name), ("generateName", prefix, mask_trailing_dash(prefix))):
        for fault in dns_subdomain(checked) if text else ():
            message = f"must be a DNS subdomain; got {describe(text)}: {fault}"
            yield at.field(field).refused(ErrorType.INVALID, message, fault, text)
    namespace = str(value.get("namespace") or "")
    for fault in dns_label(namespace) if namespace else ():
        message = f"must be a DNS label; got {describe(namespace)}: {fault}"
        yield at.field("namespace").refused(ErrorType.INVALID, message, fault, namespace)


def _keys(value: Mapping[str, Value], at: ValuePath) -> Iterator[Problem]:
    for name in _MAPPINGS:
        entries = value.get(name)
        for key, text in entries.items() if isinstance(entries, dict) else ():
            place = at.field(name)
            for fault in qualified_name(key.lower() if name == "annotations" else key, V35):
                problem = place.refused(
                    ErrorType.INVALID, f"must be a qualified name; got {describe(key)}: {fault}", fault, key
                )
                yield problem._replace(path=(*place.path, key))
            for fault in label_value(str(text or ""), V35) if name == "labels" else ():
                problem = place.refused(
                    ErrorType.INVALID, f"must be a label's value; got {describe(text)}: {fault}", fault, text
                )
                yield problem._replace(path=(*place.path, key))
