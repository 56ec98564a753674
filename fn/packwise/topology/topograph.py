"""The topology of a cluster as labels of nodes, read from topograph's files. Some are in Slurm's format."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.yamltext import YamlError, read
from packwise.lenient import mapping, mapping_at, mappings, text_at, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.value import Value

# Topograph writes topology files for Slurm, with the switches and the block of each node. Source: Slurm,
# topology.conf(5) and topology.yaml(5); topograph's engines slurm and slinky.

MAX_NAMES = 200_000
"""The largest number of names in a file. Even a short list such as `n[0-2000000000]` can stand for very many names."""

_MAX_SWITCHES = 16
"""The largest number of switches above a node. No topology has more levels."""

_CONF = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+[ \t]*+(?:SwitchName|BlockName|BlockSizes)[ \t]*=", re.IGNORECASE)
_PAIR = re.compile(r"(?<![A-Za-z])([A-Za-z]++)[ \t]*+=[ \t]*+(\S+)")
_MARKS = re.compile(r"([\[\],])")
_RANGE = re.compile(r"(\d{1,18})-(\d{1,18})")


class SlurmError(Exception):
    """Raised if a file has no valid topology. The text describes the valid content."""


class SlurmTopology(Record):
    """The switches above each node, nearest first, and the block of each node."""

    switches: Mapping[str, tuple[str, ...]]
    blocks: Mapping[str, str]


class _ConfEntry(Record):
    """A switch with its nodes and lower switches, or a block with its nodes. Names are in Slurm's short form."""

    name: str
    nodes: str = ""
    switches: str = ""


def is_conf(text: str) -> bool:
    """Return True if `text` is a topology.conf. The first line that is not empty or a comment decides."""
    return _CONF.match(text) is not None


def read_conf(text: str) -> SlurmTopology:
    """Return the topology of a topology.conf with switches, blocks or both. Raise SlurmError if it is invalid."""
    switches: list[_ConfEntry] = []
    blocks: list[_ConfEntry] = []
    for line in text.splitlines():
        fields = {key.lower(): value for key, value in _PAIR.findall(line.partition("#")[0])}
        if "switchname" in fields:
            switches.append(_ConfEntry(fields["switchname"], fields.get("nodes", ""), fields.get("switches", "")))
        elif "blockname" in fields:
            blocks.append(_ConfEntry(fields["blockname"], fields.get("nodes", "")))
    return _topology(switches, blocks)


def read_unit(unit: Mapping[str, Value]) -> SlurmTopology:
    """Return the topology of an entry of a topology.yaml: a tree, blocks, or neither. Raise SlurmError if it is
    invalid.
    """
    switches = [
        _ConfEntry(_text(entry, "switch"), _text(entry, "nodes"), _text(entry, "children"))
        for entry in mappings(mapping_at(unit, "tree").get("switches"))
    ]
    blocks = [
        _ConfEntry(_text(entry, "block"), _text(entry, "nodes"))
        for entry in mappings(mapping_at(unit, "block").get("blocks"))
    ]
    return _topology(switches, blocks)


def names_of(text: str, most: int = MAX_NAMES) -> list[str]:
    """Return the names in a list in Slurm's short form, such as `a[01-03,7],b`.

    Raise SlurmError if the list is invalid or has more than `most` names.
    """
    names: list[str] = []
    for parts in _split(text):
        names += _expand(parts, most - len(names))
    return names


def _split(text: str) -> Iterator[list[str]]:
    """Yield the parts of each name in a list: first the part before a bracket, then the part inside, and so on."""
    pieces: list[list[str]] = [[]]
    for piece in _MARKS.split(text):
        is_within = len(pieces) % 2 == 0
        if piece == "," and not is_within:
            yield ["".join(part) for part in pieces]
            pieces = [[]]
        elif piece == ("]" if is_within else "["):
            pieces.append([])
        elif piece in ("[", "]"):
            raise SlurmError(f'must have ranges such as n[001-128,130]; got "{text[:100]}"')
        else:
            pieces[-1].append(piece)
    if len(pieces) % 2 == 0:
        raise SlurmError(f'must have ranges such as n[001-128,130]; got "{text[:100]}"')
    yield ["".join(part) for part in pieces]


def _expand(parts: list[str], most: int) -> list[str]:
    """Return a name for each combination of the ranges in `parts`."""
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
            raise SlurmError(f'must have ranges such as n[001-128,130]; got "[{ranges[:100]}]"')
        if match is None:
            yield part
            continue
        first, last = int(match[1]), int(match[2])
        if last - first >= most:
            raise SlurmError(f"must list at most {MAX_NAMES} names")
        yield from (str(number).zfill(len(match[1])) for number in range(first, last + 1))


def _topology(switches: Iterable[_ConfEntry], blocks: Iterable[_ConfEntry]) -> SlurmTopology:
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
            raise SlurmError(f'"{below}" is below two switches, "{above[below]}" and "{name}"')


def _path(leaf: str, parents: Mapping[str, str]) -> tuple[str, ...]:
    """Return the leaf switch and all switches above it, in this order. Raise SlurmError if there is a cycle."""
    path = [leaf]
    while (above := parents.get(path[-1])) is not None:
        if above in path:
            raise SlurmError(f'must be a tree of switches, but "{above}" is below itself')
        path.append(above)
        if len(path) > _MAX_SWITCHES:
            raise SlurmError(f"must have at most {_MAX_SWITCHES} switches above a node")
    return tuple(path)


def _text(entry: Mapping[str, Value], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else "" if value is None else str(value)


CONFIG_MAP = "ConfigMap"
_FABRIC = "fabric.topograph.run/tier-"
_DOMAIN = "accelerator.topograph.run/domain"
_INSTANCE = "topograph.run/instance"
_ENGINE = "topograph.run/engine"
_MAX_LABEL_LENGTH = 63
_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3

_Labels = dict[str, dict[str, str]]
"""The labels of each node, by the name or the instance of the node."""


class TopographError(Exception):
    """Raised if topograph's output is invalid. The text describes the valid content."""


def with_topology(objects: Iterable[Mapping[str, Value]]) -> tuple[Mapping[str, Value], ...]:
    """Return the objects of a cluster, with the labels from topograph's output added to its nodes.

    `objects` may contain documents of topograph. A label that a node already has is kept. If there are no nodes, add a
    node with these labels for each node in the output. Raise TopographError if the output is invalid.
    """
    listed = list(objects)
    labels: _Labels = {}
    # If two documents have the same label, the default topology counts. Slurm uses it for jobs that name no topology.
    for value in sorted(listed, key=lambda value: value.get("cluster_default") is not True):
        for name, own in _labels_of(value):
            known = labels.setdefault(name, {})
            for key, text in own.items():
                known.setdefault(key, text)
    if not labels:
        return tuple(listed)
    nodes = [value for value in listed if value.get("kind") == "Node"]
    if not nodes:
        unknown: list[Mapping[str, Value]] = [
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": cast("Value", own)}}
            for name, own in labels.items()
        ]
        return (*listed, *unknown)
    if not any(_labels_of_node(node, labels) for node in nodes):
        raise TopographError(
            f'topograph\'s output names the node "{next(iter(labels))}", but no node has this name, {_INSTANCE} or '
            "providerID"
        )
    return tuple(_with_labels(value, labels) if value.get("kind") == "Node" else value for value in listed)


def _labels_of(value: Mapping[str, Value]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the name and the labels of each node in a document of topograph. Skip documents of other tools."""
    try:
        if value.get("kind") == CONFIG_MAP:
            yield from _labels_in_config_map(value)
        elif "kind" not in value and isinstance(value.get("instances"), list):
            yield from _labels_in_instances(cast("list[Value]", value["instances"]))
        elif "kind" not in value and isinstance(value.get("topology"), str):
            yield from _labels_in_slurm(read_unit(value))
    except SlurmError as error:
        raise TopographError(f"topograph's output: {error}") from None


def _labels_in_instances(instances: Iterable[Value]) -> Iterator[tuple[str, Mapping[str, str]]]:
    for number, instance in enumerate(instances):
        fields = mapping(instance)
        name, layers, labels = fields.get("id"), fields.get("network_layers") or [], fields.get("labels") or {}
        if not isinstance(name, str) or not isinstance(layers, list) or not isinstance(labels, dict):
            raise TopographError(f"instances[{number}] of topograph's output must have id, network_layers and labels")
        yield name, {**_tiers([str(layer) for layer in layers]), **{key: str(text) for key, text in labels.items()}}


def _labels_in_config_map(value: Mapping[str, Value]) -> Iterator[tuple[str, Mapping[str, str]]]:
    is_topographs = _ENGINE in mapping_at(value, "metadata", "annotations")
    for text in texts(value.get("data")).values():
        if is_conf(text):
            yield from _labels_in_slurm(read_conf(text))
        elif is_topographs:
            yield from _labels_in_yaml(text)


def _labels_in_yaml(text: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    try:
        units = read(text)
    except YamlError as error:
        raise TopographError(f"topograph's output must be YAML or a topology.conf; {error}") from None
    for unit in mappings(units):
        yield from _labels_of(unit)


def _labels_in_slurm(topology: SlurmTopology) -> Iterator[tuple[str, Mapping[str, str]]]:
    for node, switches in topology.switches.items():
        yield node, _tiers(switches)
    for node, block in topology.blocks.items():
        yield node, {_DOMAIN: _label(block)}


def _tiers(layers: Iterable[str]) -> dict[str, str]:
    """Return the labels of a node for the layers above it. The nearest layer comes first."""
    return {f"{_FABRIC}{tier}": _label(layer) for tier, layer in enumerate(layers) if layer}


def _label(text: str) -> str:
    """Return the value of a label. If `text` is too long, topograph writes its 64-bit FNV-1a hash."""
    if len(text) <= _MAX_LABEL_LENGTH:
        return text
    number = _FNV_OFFSET
    for byte in text.encode():
        number = (number ^ byte) * _FNV_PRIME & 0xFFFFFFFFFFFFFFFF
    return f"x{number:x}"


def _with_labels(node: Mapping[str, Value], labels: Mapping[str, Mapping[str, str]]) -> Mapping[str, Value]:
    carried = mapping_at(node, "metadata", "labels")
    return {
        **node,
        "metadata": {**mapping_at(node, "metadata"), "labels": {**_labels_of_node(node, labels), **carried}},
    }


def _labels_of_node(node: Mapping[str, Value], labels: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    """Return the labels of a node. They are found by the node's name, topograph's annotation, or its providerID."""
    instance = text_at(node, "metadata", "annotations", _INSTANCE)
    provider = text_at(node, "spec", "providerID").rpartition("/")[2]
    names = (text_at(node, "metadata", "name"), instance, provider)
    name = next((name for name in names if name and name in labels), None)
    return {} if name is None else labels[name]
