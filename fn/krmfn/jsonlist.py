"""A ResourceList in JSON, cut at its items: Python's own JSON reader gives the values and where they end."""

from __future__ import annotations

import json
from json.decoder import JSONDecodeError

from krmfn.envelope import MAX_ITEMS, Envelope, cut_at, too_many_items
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.kubeobject import KubeObject, Source
from krmfn.yamltext import resolve

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from krmfn.value import Scalar, Value

__all__ = ["cut_json"]

_SPACE = " \t\r\n"
_MOST_BRACKETS = 500


def cut_json(text: str) -> Envelope | None:
    """The list cut at its items; None where it is not JSON, or holds something that YAML reads otherwise."""
    try:
        return _Reader(text).cut()
    except (JSONDecodeError, RecursionError, _NotPlainError, IndexError):
        return None


class _NotPlainError(ValueError):
    pass


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _NotPlainError
    return value


def _number(digits: str) -> Scalar:
    if len(digits) < 18:
        return float(digits) if any(mark in digits for mark in ".eE") else int(digits)
    return resolve(digits)


def _constant(_: str) -> Scalar:
    raise _NotPlainError


class _Reader:
    """Walks the outer mapping and the list of items; what is inside them is json's."""

    def __init__(self, text: str) -> None:
        self._text = text
        decoder = json.JSONDecoder(
            object_pairs_hook=_pairs, parse_int=_number, parse_float=_number, parse_constant=_constant
        )
        self._scan = cast("Callable[[str, int], tuple[Any, int]]", decoder.raw_decode)
        self._fields: dict[str, Value] = {}
        self._spans: list[tuple[int, int]] = []
        self._values: list[dict[str, Value]] = []
        self._list = (-1, -1)
        self._config = (-1, -1)

    def cut(self) -> Envelope | None:
        text = self._text
        at = self._expect(1 if text.startswith("\ufeff") else 0, "{")
        while True:
            key, at = self._read(self._skip(at))
            at = self._skip(self._expect(at, ":"))
            if not isinstance(key, str) or key in self._fields or (key == "items" and self._list[0] >= 0):
                return None
            if key == "items":
                at = self._items(at)
            else:
                start = at
                self._fields[key], at = self._read(at)
                if key == "functionConfig":
                    self._config = (start, at)
            at = self._skip(at)
            if text[at] != ",":
                break
            at += 1
        if self._list[0] < 0 or text[self._expect(at, "}") :].strip(_SPACE):
            return None
        return self._envelope()

    def _skip(self, at: int) -> int:
        text = self._text
        while text[at] in _SPACE:
            at += 1
        return at

    def _expect(self, at: int, char: str) -> int:
        at = self._skip(at)
        if self._text[at] != char:
            raise _NotPlainError
        return at + 1

    def _read(self, at: int) -> tuple[Any, int]:
        value, end = self._scan(self._text, at)
        if self._text.count("{", at, end) + self._text.count("[", at, end) > _MOST_BRACKETS:
            raise _NotPlainError
        return value, end

    def _items(self, at: int) -> int:
        text = self._text
        start = self._expect(at, "[")
        at = self._skip(start)
        while text[at] != "]" or self._spans:
            value, end = self._read(at)
            if type(value) is not dict:
                raise _NotPlainError
            if len(self._spans) >= MAX_ITEMS:
                raise too_many_items(text, at)
            self._spans.append((at, end))
            self._values.append(cast("dict[str, Value]", value))
            at = self._skip(end)
            if text[at] == "]":
                break
            at = self._skip(self._expect(at, ","))
        self._list = (start, at)
        return at + 1

    def _envelope(self) -> Envelope:
        text, (start, end) = self._text, self._list
        items, seams = cut_at(text, self._list, self._spans, self._values)
        newline = "\r\n" if "\r\n" in text[:200] else "\n"
        return Envelope(
            text, text[:start], text[end:], None, newline, items, self._fields, self._object(), simple=True,
            seams=seams,
        )  # fmt: skip

    def _object(self) -> KubeObject | None:
        (start, end), config = self._config, self._fields.get("functionConfig")
        if not isinstance(config, dict):
            return None
        line, column = self._text.count("\n", 0, start) + 1, start - self._text.rfind("\n", 0, start)
        return KubeObject.cut(Source(self._text[start:end], (), line, column), config)
