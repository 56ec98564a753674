"""Slurm's topology files, as topograph writes them: which switches and which block each node is in.

Source: Slurm, topology.conf(5) and topology.yaml(5); topograph's engines slurm and slinky.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.value import Value

__all__ = ["MAX_NAMES", "SlurmError", "SlurmTopology", "is_conf", "names_of", "read_conf", "read_unit"]

MAX_NAMES = 200_000
"""How many names the lists of a file have at most: `n[0-2000000000]` is short."""

_DEEPEST = 16
"""How many switches are above a node at most: no topology has more levels."""

_CONF = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+[ \t]*+(?:SwitchName|BlockName|BlockSizes)[ \t]*=", re.IGNORECASE)
_PAIR = re.compile(r"(?<![A-Za-z])([A-Za-z]++)[ \t]*+=[ \t]*+(\S+)")
_MARKS = re.compile(r"([\[\],])")
_RANGE = re.compile(r"(\d{1,18})-(\d{1,18})")


class SlurmError(Exception):
    """A file that states no topology; the text says what it must be."""


class SlurmTopology(NamedTuple):
    """The switches above each node, the nearest first, and the block of each node."""

    switches: Mapping[str, tuple[str, ...]]
    blocks: Mapping[str, str]


class _Entry(NamedTuple):
    """A switch with what is below it, or a block with its nodes, each as a list of names."""

    name: str
    nodes: str = ""
    switches: str = ""


def is_conf(text: str) -> bool:
    """Whether a text is a topology.conf: its first line that is no comment says so."""
    return _CONF.match(text) is not None


def read_conf(text: str) -> SlurmTopology:
    """The topology of a topology.conf, of trees and of blocks. Raises SlurmError."""
    switches: list[_Entry] = []
    blocks: list[_Entry] = []
    for line in text.splitlines():
        fields = {key.lower(): value for key, value in _PAIR.findall(line.partition("#")[0])}
        if "switchname" in fields:
            switches.append(_Entry(fields["switchname"], fields.get("nodes", ""), fields.get("switches", "")))
        elif "blockname" in fields:
            blocks.append(_Entry(fields["blockname"], fields.get("nodes", "")))
    return _topology(switches, blocks)


def read_unit(unit: Mapping[str, Value]) -> SlurmTopology:
    """The topology of an entry of a topology.yaml: a tree, blocks, or neither. Raises SlurmError."""
    switches = [
        _Entry(_text(entry, "switch"), _text(entry, "nodes"), _text(entry, "children"))
        for entry in _entries(unit, "tree", "switches")
    ]
    blocks = [_Entry(_text(entry, "block"), _text(entry, "nodes")) for entry in _entries(unit, "block", "blocks")]
    return _topology(switches, blocks)


def names_of(text: str, most: int = MAX_NAMES) -> list[str]:
    """The names of a list as Slurm shortens it: `a[01-03,7],b`. Raises SlurmError."""
    names: list[str] = []
    for parts in _split(text):
        names += _expanded(parts, most - len(names))
    return names


def _split(text: str) -> Iterator[list[str]]:
    """The parts of each name in a list: by turns what is written, and what stands in brackets."""
    pieces: list[list[str]] = [[]]
    for piece in _MARKS.split(text):
        is_within = len(pieces) % 2 == 0
        if piece == "," and not is_within:
            yield ["".join(part) for part in pieces]
            pieces = [[]]
        elif piece == ("]" if is_within else "["):
            pieces.append([])
        elif piece in ("[", "]"):
            raise SlurmError(f'must have ranges as in n[001-128,130]; got "{text[:100]}"')
        else:
            pieces[-1].append(piece)
    if len(pieces) % 2 == 0:
        raise SlurmError(f'must have ranges as in n[001-128,130]; got "{text[:100]}"')
    yield ["".join(part) for part in pieces]


def _expanded(parts: list[str], most: int) -> list[str]:
    """The names that parts stand for, of each combination of their ranges."""
    if parts == [""]:
        return []
    names = [""]
    for position, part in enumerate(parts):
        endings = list(_endings(part, most)) if position % 2 else [part]
        if len(names) * len(endings) > most:
            raise SlurmError(f"must list at most {MAX_NAMES} names")
        names = [name + ending for name in names for ending in endings]
    return names


def _endings(ranges: str, most: int) -> Iterator[str]:
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part)
        if match is None and not part.isalnum():
            raise SlurmError(f'must have ranges as in n[001-128,130]; got "[{ranges[:100]}]"')
        if match is None:
            yield part
            continue
        first, last = int(match[1]), int(match[2])
        if last - first >= most:
            raise SlurmError(f"must list at most {MAX_NAMES} names")
        yield from (str(number).zfill(len(match[1])) for number in range(first, last + 1))


def _topology(switches: Iterable[_Entry], blocks: Iterable[_Entry]) -> SlurmTopology:
    left = MAX_NAMES
    parents: dict[str, str] = {}
    leaves: dict[str, str] = {}
    of_block: dict[str, str] = {}
    for entries, fields in ((switches, (("switches", parents), ("nodes", leaves))), (blocks, (("nodes", of_block),))):
        for entry in entries:
            for field, above in fields:
                names = names_of(getattr(entry, field), left)
                left -= len(names)
                _put(above, names, entry.name)
    paths = {leaf: _path(leaf, parents) for leaf in dict.fromkeys(leaves.values())}
    return SlurmTopology({node: paths[leaf] for node, leaf in leaves.items()}, of_block)


def _put(above: dict[str, str], names: Iterable[str], name: str) -> None:
    for below in names:
        if above.setdefault(below, name) != name:
            raise SlurmError(f'must have "{below}" in one place; got "{above[below]}" and "{name}"')


def _path(leaf: str, parents: Mapping[str, str]) -> tuple[str, ...]:
    """The switches from a leaf up."""
    path = [leaf]
    while (above := parents.get(path[-1])) is not None:
        if above in path:
            raise SlurmError(f'must be a tree of switches; "{above}" is below itself')
        path.append(above)
        if len(path) > _DEEPEST:
            raise SlurmError(f"must have at most {_DEEPEST} switches above a node")
    return tuple(path)


def _entries(unit: Mapping[str, Value], *path: str) -> Iterator[Mapping[str, Value]]:
    value: Value = dict(unit)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, dict):
            yield entry


def _text(entry: Mapping[str, Value], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else "" if value is None else str(value)
