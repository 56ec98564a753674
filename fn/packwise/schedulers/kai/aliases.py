"""Aliases of a Topology's levels, which KAI has from v0.17 on. Source: spec/kai.md#1."""

from __future__ import annotations

import re

from krmfn.errors import describe
from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Effect, Problem, Stage
from packwise.kubernetes.validation import ErrorType, OperatorError
from packwise.schedulers.kai.podgroup_schema import refused
from packwise.schedulers.kai.topology_schema import LABEL_PATTERN
from packwise.schedulers.kai.versions import KNOWN, LEVEL_ALIASES, Versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.value import Value

__all__ = ["alias_problems"]

_KNOWN = Versions(LEVEL_ALIASES, KNOWN.last)
_BEFORE = Versions(KNOWN.first, _KNOWN.first - 1)
_LONGEST = 316
_ALIAS = re.compile(LABEL_PATTERN)


def alias_problems(value: Mapping[str, Value], suits: Versions, *, schema: bool = True) -> Iterator[Problem]:
    """What the versions `suits` have against the aliases of the Topology `value`."""
    levels = _levels(value)
    aliases = {index: level["alias"] for index, level in levels if level.get("alias") is not None}
    known = suits.within(_KNOWN) is not None
    for index, alias in aliases.items():
        if suits.within(_BEFORE) is not None and schema:
            consequence = f"{_BEFORE.text} drops it, and knows the level by its nodeLabel only"
            yield Problem(_path(index), f"is a field of {_KNOWN.text}", effect=Effect.UNKNOWN, consequence=consequence)
        if known and schema:
            yield from _schema(index, alias)
    if known:
        texts = {index: alias for index, alias in aliases.items() if isinstance(alias, str) and alias}
        yield from _webhook(texts, [level.get("nodeLabel") for _, level in levels])


def _schema(index: int, alias: Value) -> Iterator[Problem]:
    text = format_path(_path(index))
    if not isinstance(alias, str):
        yield refused(_path(index), f"must be a string; got {describe(alias)}", _KNOWN)
    elif len(alias) > _LONGEST:
        error = OperatorError(text, ErrorType.TOO_LONG, alias, f"may not be more than {_LONGEST} bytes").text()
        yield refused(_path(index), f"must not be longer than {_LONGEST} characters; got {len(alias)}", _KNOWN, error)
    elif not alias:
        error = OperatorError(text, ErrorType.INVALID, alias, f"{text} in body should be at least 1 chars long").text()
        yield refused(_path(index), "must not be empty", _KNOWN, error)
    elif not _ALIAS.fullmatch(alias):
        error = OperatorError(text, ErrorType.INVALID, alias, f"{text} in body should match '{LABEL_PATTERN}'").text()
        yield refused(_path(index), f"must look like a label key; got {describe(alias)}", _KNOWN, error)


def _webhook(aliases: Mapping[int, str], labels: Sequence[Value]) -> Iterator[Problem]:
    """The webhook tells all of them in one text, which stands with the first."""
    seen: dict[str, int] = {}
    twice = [(index, alias) for index, alias in aliases.items() if seen.setdefault(alias, index) != index]
    taken = [(index, alias) for index, alias in aliases.items() if alias in labels]
    parts: list[str] = []
    if twice:
        parts.append(f"aliases must be unique within the topology; duplicated: {_listed(twice)}")
    if taken:
        parts.append(f"an alias must not equal a nodeLabel; conflicting: {_listed(taken)}")
    answer: str | None = f"invalid topology aliases: {'; '.join(parts)}"
    for entries, rule in ((twice, "must be unique among the aliases"), (taken, "must not be the nodeLabel of a level")):
        for index, alias in entries:
            yield refused(_path(index), f"{rule}; got {describe(alias)}", _KNOWN, answer, stage=Stage.WEBHOOK)
            answer = None


def _listed(entries: Sequence[tuple[int, str]]) -> str:
    return f"[{' '.join(sorted([alias for _, alias in entries]))}]"


def _path(index: int) -> tuple[str, str, int, str]:
    return ("spec", "levels", index, "alias")


def _levels(value: Mapping[str, Value]) -> list[tuple[int, Mapping[str, Value]]]:
    spec = value.get("spec")
    levels = spec.get("levels") if isinstance(spec, dict) else None
    entries = levels if isinstance(levels, list) else []
    return [(index, level) for index, level in enumerate(entries) if isinstance(level, dict)]
