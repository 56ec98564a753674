"""Selectors of objects: by group, version, kind, name, namespace, labels and annotations.

Source: kustomize api/types/selector.go (SelectorRegex: each part matched whole, an absent part matches everything);
apimachinery labels.Parse (label selectors).
"""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003 (pydantic evaluates the annotations)
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from krmfn.fieldpath import describe
from krmfn.hints import Record

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject

__all__ = ["Selector"]

_LABELS = ("metadata", "labels")
_ANNOTATIONS = ("metadata", "annotations")
_KEY = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_REQUIREMENT = re.compile(
    rf"\s*+(?:(?P<absent>!)\s*+(?P<no>{_KEY})"
    rf"|(?P<key>{_KEY})(?:\s*+(?P<sign>==?|!=)\s*+(?P<value>{_VALUE})"
    rf"|\s++(?P<set>in|notin)\s*+\((?P<values>\s*+{_VALUE}\s*+(?:,\s*+{_VALUE}\s*+)*)\))?)\s*+(?:,|\Z)"
)


class _Requirement(Record):
    """One requirement of a label selector: the label `key` has one of `values`, or any value if `values` is None.

    If `wanted` is False, the label must not have such a value.
    """

    key: str
    values: frozenset[str] | None
    wanted: bool

    def matches(self, labels: Mapping[str, object]) -> bool:
        value = labels.get(self.key)
        present = value is not None if self.values is None else value in self.values
        return present is self.wanted


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector of objects. All given parts must match. Without any part it matches every object.

    `group`, `version`, `kind`, `name` and `namespace` are regular expressions for the whole text, so a plain name
    matches itself (`kind="Deployment|StatefulSet"`). The namespace of an object without one is "". The group of `v1` is
    also "". To select it, use an expression such as `group="(apps)?"`, because "" matches every group. `labels` and
    `annotations` are a label selector (`app=web,tier in (a, b),!legacy`) or a mapping of required entries. Raise
    ValueError if a part is invalid. A pydantic model may have a field of this type.
    """

    group: str = ""
    version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    labels: str | Mapping[str, str] = ""
    annotations: str | Mapping[str, str] = ""

    # Without this, a misspelt part would be ignored and select every object.
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    def __post_init__(self) -> None:
        for part in (self.group, self.version, self.kind, self.name, self.namespace):
            _pattern(part)
        for part in (self.labels, self.annotations):
            _requirements(part)

    def matches(self, item: KubeObject) -> bool:
        """Return True if the selector matches `item`. A field of `item` that is not a string counts as ""."""
        group, slash, version = _text(item, ("apiVersion",)).rpartition("/")
        parts = (
            (self.group, group if slash else ""),
            (self.version, version),
            (self.kind, _text(item, ("kind",))),
            (self.name, _text(item, ("metadata", "name"))),
            (self.namespace, _text(item, ("metadata", "namespace"))),
        )
        return all(not pattern or _pattern(pattern).fullmatch(text) for pattern, text in parts) and all(
            requirement.matches(_mapping(item, path))
            for path, part in ((_LABELS, self.labels), (_ANNOTATIONS, self.annotations))
            for requirement in _requirements(part)
        )


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"must be a regular expression; got {describe(text)}: {error}") from None


def _requirements(part: str | Mapping[str, str]) -> tuple[_Requirement, ...]:
    if isinstance(part, str):
        return _parse(part)
    return tuple(_Requirement(key, frozenset([value]), wanted=True) for key, value in part.items())


@lru_cache(maxsize=256)
def _parse(text: str) -> tuple[_Requirement, ...]:
    requirements: list[_Requirement] = []
    at = 0
    while at < len(text):
        match = _REQUIREMENT.match(text, at)
        if match is None or (match.end() == len(text) and text.endswith(",")):
            raise ValueError(f"must be a label selector such as app=web,tier in (a, b),!legacy; got {describe(text)}")
        at = match.end()
        requirements.append(_requirement(match))
    return tuple(requirements)


def _requirement(match: re.Match[str]) -> _Requirement:
    if match["absent"]:
        return _Requirement(match["no"], None, wanted=False)
    if match["sign"]:
        return _Requirement(match["key"], frozenset([match["value"]]), wanted=match["sign"] != "!=")
    if match["set"]:
        values = frozenset(value.strip() for value in match["values"].split(","))
        return _Requirement(match["key"], values, wanted=match["set"] == "in")
    return _Requirement(match["key"], None, wanted=True)


def _text(item: KubeObject, path: tuple[str, ...]) -> str:
    value = item.get(path)
    return value if isinstance(value, str) else ""


def _mapping(item: KubeObject, path: tuple[str, ...]) -> Mapping[str, object]:
    value = item.get(path)
    return value if isinstance(value, dict) else {}
