"""What topograph writes of a cluster beside labels of nodes, as the labels that its engine for Kubernetes would write.

It writes instances with their network layers (engine graph), or Slurm's topology (engines slurm and slinky), as a file
or in a ConfigMap. Source: topograph 1.0, docs/engines and docs/reference/node-labels.md.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.yamltext import YamlError, read
from packwise.topology.slurm import SlurmError, SlurmTopology, is_conf, read_conf, read_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.value import Value

__all__ = ["CONFIG_MAP", "TopographError", "with_topology"]

CONFIG_MAP = "ConfigMap"
_FABRIC = "fabric.topograph.run/tier-"
_DOMAIN = "accelerator.topograph.run/domain"
_INSTANCE = "topograph.run/instance"
_ENGINE = "topograph.run/engine"
_LONGEST = 63
_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3

_Labels = dict[str, dict[str, str]]
"""Labels by the name of a node, or by the instance that it is."""


class TopographError(Exception):
    """Output of topograph that cannot be read; the text says what it must be."""


def with_topology(objects: Iterable[Mapping[str, Value]]) -> tuple[Mapping[str, Value], ...]:
    """The objects of a cluster, its nodes with the labels that topograph's output among these objects gives them.

    A label that a node carries stays. Where there is no node at all, the output's nodes are, with nothing but labels.
    Raises TopographError.
    """
    listed = list(objects)
    labels: _Labels = {}
    # What Slurm takes where a job names no topology counts first.
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
    if not any(_own(node, labels) for node in nodes):
        raise TopographError(
            f'topograph\'s output must name nodes of the cluster; got "{next(iter(labels))}", which is the name, '
            f"{_INSTANCE} and providerID of none"
        )
    return tuple(_labelled(value, labels) if value.get("kind") == "Node" else value for value in listed)


def _labels_of(value: Mapping[str, Value]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The labels of each node that a document of topograph's tells about; nothing of another document."""
    try:
        if value.get("kind") == CONFIG_MAP:
            yield from _of_config_map(value)
        elif "kind" not in value and isinstance(value.get("instances"), list):
            yield from _of_instances(cast("list[Value]", value["instances"]))
        elif "kind" not in value and isinstance(value.get("topology"), str):
            yield from _of_slurm(read_unit(value))
    except SlurmError as error:
        raise TopographError(f"topograph's output {error}") from None


def _of_instances(instances: Iterable[Value]) -> Iterator[tuple[str, Mapping[str, str]]]:
    for number, instance in enumerate(instances):
        fields = instance if isinstance(instance, dict) else {}
        name, layers, labels = fields.get("id"), fields.get("network_layers") or [], fields.get("labels") or {}
        if not isinstance(name, str) or not isinstance(layers, list) or not isinstance(labels, dict):
            raise TopographError(
                f"topograph's output must have an id, network_layers and labels in instances[{number}]"
            )
        yield name, {**_tiers([str(layer) for layer in layers]), **{key: str(text) for key, text in labels.items()}}


def _of_config_map(value: Mapping[str, Value]) -> Iterator[tuple[str, Mapping[str, str]]]:
    data, metadata = value.get("data"), value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    is_topographs = isinstance(annotations, dict) and _ENGINE in annotations
    for text in data.values() if isinstance(data, dict) else ():
        if not isinstance(text, str):
            continue
        if is_conf(text):
            yield from _of_slurm(read_conf(text))
        elif is_topographs:
            yield from _of_yaml(text)


def _of_yaml(text: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    try:
        units = read(text)
    except YamlError as error:
        raise TopographError(f"topograph's output must be YAML, or a topology.conf; {error}") from None
    for unit in units if isinstance(units, list) else ():
        if isinstance(unit, dict):
            yield from _labels_of(unit)


def _of_slurm(topology: SlurmTopology) -> Iterator[tuple[str, Mapping[str, str]]]:
    for node, switches in topology.switches.items():
        yield node, _tiers(switches)
    for node, block in topology.blocks.items():
        yield node, {_DOMAIN: _label(block)}


def _tiers(layers: Iterable[str]) -> dict[str, str]:
    """The labels of the layers above a node, the nearest first."""
    return {f"{_FABRIC}{tier}": _label(layer) for tier, layer in enumerate(layers) if layer}


def _label(text: str) -> str:
    """The value of a label; of a text that is too long for one, topograph writes the FNV-1 hash of 64 bits."""
    if len(text) <= _LONGEST:
        return text
    number = _FNV_OFFSET
    for byte in text.encode():
        number = (number ^ byte) * _FNV_PRIME & 0xFFFFFFFFFFFFFFFF
    return f"x{number:x}"


def _labelled(node: Mapping[str, Value], labels: Mapping[str, Mapping[str, str]]) -> Mapping[str, Value]:
    metadata = node.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    written = fields.get("labels")
    carried = written if isinstance(written, dict) else {}
    return {**node, "metadata": {**fields, "labels": {**_own(node, labels), **carried}}}


def _own(node: Mapping[str, Value], labels: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    """The labels of a node: by its name, by the instance that topograph notes, or by the end of its provider's id."""
    metadata, spec = node.get("metadata"), node.get("spec")
    fields = metadata if isinstance(metadata, dict) else {}
    annotations = fields.get("annotations")
    instance = annotations.get(_INSTANCE) if isinstance(annotations, dict) else None
    provider = spec.get("providerID") if isinstance(spec, dict) else None
    names = [fields.get("name"), instance, provider.rpartition("/")[2] if isinstance(provider, str) else None]
    name = next((name for name in names if isinstance(name, str) and name in labels), None)
    return {} if name is None else labels[name]
