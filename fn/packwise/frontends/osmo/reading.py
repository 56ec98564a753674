"""YAML as OSMO reads it: by YAML 1.1, and of a key that stands twice the last counts. Source: `yaml.safe_load`."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.record import NamedTuple
from krmfn.yamltext import YamlError, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.error import Mark

    from krmfn.value import Value

__all__ = ["Duplicate", "Read", "read_as_osmo"]

_MAX_DEPTH = 500


class Duplicate(NamedTuple):
    """A key that its mapping has already; `line` and `column` are 1-based."""

    key: str
    line: int
    column: int


class Read(NamedTuple):
    """The value of a text, and the keys that stand in it again."""

    value: Value
    duplicates: tuple[Duplicate, ...] = ()


def read_as_osmo(text: str) -> Read:
    """The document `text`. Raises YamlError where OSMO cannot read it, or packwise's bounds are exceeded."""
    try:
        value = read(text)
    except YamlError as error:
        duplicates = _duplicates(text)
        if not duplicates:
            raise
        loaded = _load(text)
        if not isinstance(loaded, dict):
            raise error from None
        return Read(cast("Value", loaded), duplicates)
    loaded = _load(text)
    # What OSMO cannot read either way is refused for what it is, field by field.
    return Read(cast("Value", loaded) if isinstance(loaded, dict) else value)


def _load(text: str) -> object:
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None


def _duplicates(text: str) -> tuple[Duplicate, ...]:
    """The keys that stand again; none where something else keeps packwise from reading the text.

    Without aliases and no deeper than packwise reads, what OSMO's reader makes of the text is bounded as the text is.
    """
    import yaml

    try:
        return tuple(_repeated(text))
    except (yaml.YAMLError, ValueError):
        return ()


def _repeated(text: str) -> Iterator[Duplicate]:
    import yaml

    # For each open node: the keys so far of a mapping, None of a list; and whether a key comes next.
    open_nodes: list[tuple[set[str] | None, bool]] = []
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent) or len(open_nodes) > _MAX_DEPTH:
            raise ValueError("not bounded")
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            open_nodes.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        if open_nodes:
            keys, is_key = open_nodes[-1]
            if keys is not None and is_key and isinstance(event, yaml.ScalarEvent):
                if event.value in keys:
                    mark = cast("Mark", event.start_mark)
                    yield Duplicate(event.value, mark.line + 1, mark.column + 1)
                keys.add(event.value)
            open_nodes[-1] = keys, not is_key
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((set() if isinstance(event, yaml.MappingStartEvent) else None, True))
