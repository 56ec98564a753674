"""The metadata of an object, which no CRD describes. Source: apimachinery v0.34, api/validation ObjectMeta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.errors import told
from packwise.crds.problem import Cause, Problem
from packwise.crds.structure import type_of
from packwise.kubernetes.field_error import ErrorType
from packwise.kubernetes.validation import (
    V35,
    dns_label,
    dns_subdomain,
    label_value,
    mask_trailing_dash,
    qualified_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value
    from packwise.crds.problem import Place

__all__ = ["metadata_problems"]

_TEXTS = ("generateName", "name", "namespace")
_MAPPINGS = ("annotations", "labels")
_GO_KINDS = {"boolean": "bool", "integer": "number"}


def metadata_problems(value: Value, at: Place) -> Iterator[Problem]:
    """What is wrong with `value` as the metadata of an object."""
    if not isinstance(value, dict):
        yield _type_problem(value, at, "a mapping", "", "v1.ObjectMeta")
        return
    wrong = list(_types(value, at))
    yield from wrong
    if not wrong:
        yield from _name(value, at)
        yield from _keys(value, at)


def _types(value: Mapping[str, Value], at: Place) -> Iterator[Problem]:
    for name in _TEXTS:
        if not isinstance(value.get(name, ""), str | None):
            yield _type_problem(value[name], at.field(name), "a string", name, "string")
    for name in _MAPPINGS:
        found = value.get(name)
        if found is not None and not isinstance(found, dict):
            yield _type_problem(found, at.field(name), "a mapping", name, "map[string]string")
        for key, text in found.items() if isinstance(found, dict) else ():
            if not isinstance(text, str | None):
                yield _type_problem(text, at.field(name).key(key), "a string", name, "string")


def _type_problem(value: Value, at: Place, noun: str, field: str, go: str) -> Problem:
    found = _GO_KINDS.get(type_of(value), type_of(value))
    into = f"Go struct field ObjectMeta.{field}" if field else "Go value"
    text = f"json: cannot unmarshal {found} into {into} of type {go}"
    return Problem(at.path, Cause.TYPE, f"must be {noun}; got {told(value)}", text)


def _name(value: Mapping[str, Value], at: Place) -> Iterator[Problem]:
    name, prefix = str(value.get("name") or ""), str(value.get("generateName") or "")
    if not name and not prefix:
        detail = "name or generateName is required"
        yield at.field("name").refused(ErrorType.REQUIRED, "must be set", detail, cause=Cause.REQUIRED)
    for field, text, checked in (("name", name, name), ("generateName", prefix, mask_trailing_dash(prefix))):
        for fault in dns_subdomain(checked) if text else ():
            message = f"must be a DNS subdomain; got {told(text)}: {fault}"
            yield at.field(field).refused(ErrorType.INVALID, message, fault, text)
    namespace = str(value.get("namespace") or "")
    for fault in dns_label(namespace) if namespace else ():
        message = f"must be a DNS label; got {told(namespace)}: {fault}"
        yield at.field("namespace").refused(ErrorType.INVALID, message, fault, namespace)


def _keys(value: Mapping[str, Value], at: Place) -> Iterator[Problem]:
    for name in _MAPPINGS:
        found = value.get(name)
        for key, text in found.items() if isinstance(found, dict) else ():
            place = at.field(name)
            for fault in qualified_name(key.lower() if name == "annotations" else key, V35):
                yield Problem((*place.path, key), Cause.VALUE, f"must be a qualified name; got {told(key)}: {fault}",
                              place.refused(ErrorType.INVALID, "", fault, key).operator_message)  # fmt: skip
            for fault in label_value(str(text or ""), V35) if name == "labels" else ():
                yield Problem((*place.path, key), Cause.VALUE, f"must be a label's value; got {told(text)}: {fault}",
                              place.refused(ErrorType.INVALID, "", fault, text).operator_message)  # fmt: skip
