"""Epochs in the names of gangs: identities of generated gangs that stay the same from one epoch to the next."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.objects.identity import Identity, identity
from packwise.objects.kinds import GANGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.value import Value


EPOCH = "grove.io/epoch"
"""Label of PodGangs from PodGangMaps on: the epoch of their entry."""


GENERATION = "grove.io/podcliqueset-generation-hash"
"""Label: the generation of the PodCliqueSet."""


REPLICA = "grove.io/podcliqueset-replica-index"
"""Label: the replica of the PodCliqueSet."""


ROLE = "grove.io/podgang-role"
"""Label: the role of the entry."""


PART_OF = "app.kubernetes.io/part-of"
"""Label of what belongs to a PodCliqueSet: its name."""


PLACEHOLDER = "spec/grove-releases.md#placeholder"
"""The rule of an epoch that nothing tells yet."""


_ANCHOR = "Anchor"


_LONGEST_LABEL = 63


_NO_LABELS: Mapping[str, Value] = {}


_KINDS = frozenset(kind.key for kind in GANGS)


def stable_identities(values: Iterable[Mapping[str, Value]]) -> list[Identity]:
    """Return the identities. Gangs with an epoch get a name without it that no object has.

    Several anchors of one replica are numbered by epoch.
    """
    values = list(values)
    if not any(map(has_epoch, values)):
        return [identity(value) for value in values]
    listed = [(value, _labels(value)) if has_epoch(value) else (value, None) for value in values]
    keys = [identity(value) if labels is None else _stable(value, labels) for value, labels in listed]
    anchors: dict[Identity, set[int]] = {}
    for key, (_, labels) in zip(keys, listed, strict=True):
        if labels is not None and labels[ROLE] == _ANCHOR:
            anchors.setdefault(key, set()).add(int(labels[EPOCH]))
    return [
        key
        if key not in anchors or labels is None
        else _add_number(key, sorted(anchors[key]).index(int(labels[EPOCH])))
        for key, (_, labels) in zip(keys, listed, strict=True)
    ]


def gang_identities(gangs: Iterable[tuple[str, str, Mapping[str, str]]]) -> list[Identity]:
    """Return the identities of gangs without epochs. Each gang is given by namespace, name and labels."""
    return stable_identities(
        [
            {
                "apiVersion": GANGS[0].api_version,
                "kind": GANGS[0].name,
                "metadata": {"namespace": namespace, "name": name, "labels": dict(labels)},
            }
            for namespace, name, labels in gangs
        ]
    )


def without_epoch(name: str, labels: Mapping[str, str]) -> str:
    """The name of a gang without the epoch in it; the name itself where there is none."""
    epoch = labels.get(EPOCH, "")
    before = f"{labels.get(PART_OF, '')}-{labels.get(REPLICA, '')}-"
    if not epoch or not f"{name}-".startswith(f"{before}{epoch}-"):
        return name
    return f"{before}{name.removeprefix(before).removeprefix(epoch).removeprefix('-')}".rstrip("-")


def has_epoch(value: Mapping[str, Value]) -> bool:
    """True if the object is a gang with an epoch in its name: others are never parsed as one."""
    # Nearly every object is done with after this look.
    if EPOCH not in _written_labels(value) or identity(value)[:2] not in _KINDS:
        return False
    labels = _labels(value)
    if not all(labels.get(key) for key in (EPOCH, REPLICA, ROLE, PART_OF)):
        return False
    epoch = labels[EPOCH]
    is_number = len(epoch) <= _LONGEST_LABEL and epoch.isascii() and epoch.isdecimal()
    return is_number and f"{identity(value)[3]}-".startswith(_prefix(labels))


def _stable(value: Mapping[str, Value], labels: Mapping[str, str]) -> Identity:
    group, kind, namespace, name = identity(value)
    part = "anchor" if labels[ROLE] == _ANCHOR else name.removeprefix(_prefix(labels))
    return group, kind, namespace, f"{labels[PART_OF]}-{labels[REPLICA]}_{part}"


def _add_number(key: Identity, number: int) -> Identity:
    return (*key[:3], f"{key[3]}_{number}") if number else key


def _prefix(labels: Mapping[str, str]) -> str:
    return f"{labels[PART_OF]}-{labels[REPLICA]}-{labels[EPOCH]}-"


def _labels(value: Mapping[str, Value]) -> Mapping[str, str]:
    """The labels that are texts."""
    return {key: text for key, text in _written_labels(value).items() if isinstance(text, str)}


def _written_labels(value: Mapping[str, Value]) -> Mapping[str, Value]:
    metadata = value.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return labels if isinstance(labels, dict) else _NO_LABELS
