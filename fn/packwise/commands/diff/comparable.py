"""What of an object counts in a comparison: what somebody asked for, and not what a cluster or a client fills in."""

from __future__ import annotations

from krmfn.clientmeta import is_client_key
from krmfn.hints import TYPE_CHECKING
from packwise.objects.identity import EPOCH, GENERATION, REPLICA, ROLE, has_epoch
from packwise.objects.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from krmfn.value import Value

__all__ = ["counted", "counted_both", "is_deeper", "with_counted"]

_METADATA = ("name", "namespace", "labels", "annotations")
"""The rest of `metadata` (uid, resourceVersion, managedFields, ownerReferences, finalizers, …) is the server's."""

_TOOLS = (
    "packwise.dev/",
    "kubectl.kubernetes.io/",
    "argocd.argoproj.io/",
    "kustomize.toolkit.fluxcd.io/",
    "meta.helm.sh/",
)
"""Labels and annotations by which tools remember what is theirs; no scheduler reads them."""

_CLOCK_LABELS = (EPOCH, GENERATION)
_EPOCH_LABELS = (EPOCH, GENERATION, REPLICA, ROLE)

_FILLED = {(kind.name, steps[0]): steps[1] for kind in KINDS for steps in kind.server_filled if len(steps) > 1}
_FILLED_IN_SPEC = {
    kind.name: tuple(steps[0] for steps in kind.server_filled if len(steps) == 1)
    for kind in KINDS
    if kind.server_filled
}


def counted(value: Mapping[str, Value]) -> dict[str, Value]:
    """The part of `value` that counts. A field that is null counts as absent, as it does for Kubernetes.

    Entries of lists keep their places.
    """
    kind = value.get("kind")
    parts: dict[str, Value] = {}
    for key, part in value.items():
        if key == "metadata":
            parts[key] = _metadata(part)
        elif key == "spec" and isinstance(part, dict):
            parts[key] = _spec(part, str(kind))
        elif key != "status" and part is not None:
            parts[key] = _without_nulls(part)
    return parts


def counted_both(value: Mapping[str, Value], other: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, Value]]:
    """The parts of two states of an object that count beside each other.

    Of two gangs with an epoch their names, and the labels that the operator's clock decides, do not; of one with an
    epoch and one without, the labels that only one of them can have.
    """
    both = has_epoch(value), has_epoch(other)
    mine, theirs = counted(value), counted(other)
    if both == (True, True):
        return _without_metadata(mine, ("name",), _CLOCK_LABELS), _without_metadata(theirs, ("name",), _CLOCK_LABELS)
    if any(both):
        return _without_metadata(mine, (), _EPOCH_LABELS), _without_metadata(theirs, (), _EPOCH_LABELS)
    return mine, theirs


def with_counted(value: Mapping[str, Value], other: Mapping[str, Value]) -> dict[str, Value]:
    """`value` with what counts of it replaced by what counts of `other`; what does not count stays as it is."""
    theirs = counted(other)
    if has_epoch(value) and has_epoch(other):
        theirs["metadata"] = _with_own_epoch(counted(value)["metadata"], theirs["metadata"])
    result: dict[str, Value] = {key: part for key, part in value.items() if key == "status" or key in theirs}
    kind = str(theirs.get("kind"))
    for key, part in theirs.items():
        mine = value.get(key)
        if key == "metadata":
            result[key] = _merged_metadata(mine, _metadata(part))
        elif key == "spec" and isinstance(part, dict):
            result[key] = _merged_spec(mine if isinstance(mine, dict) else {}, part, kind)
        else:
            result[key] = part
    return result


def is_deeper(value: Value, most: int) -> bool:
    """Whether mappings and lists are nested deeper than `most` levels."""
    level = [value]
    for _ in range(most):
        level = [
            part
            for each in level
            for part in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
            if isinstance(part, (dict, list))
        ]
        if not level:
            return False
    return True


def _is_tools(key: str) -> bool:
    return key.startswith(_TOOLS) or is_client_key(key)


def _metadata(value: Value) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    for key in _METADATA:
        part = value.get(key) if isinstance(value, dict) else None
        if key in ("labels", "annotations"):
            part = {name: text for name, text in part.items() if not _is_tools(name)} if isinstance(part, dict) else {}
        if part:
            metadata[key] = part
    return metadata


def _without_metadata(parts: dict[str, Value], fields: Collection[str], labels: Collection[str]) -> dict[str, Value]:
    """What counts of an object without these fields and labels of its metadata."""
    kept = {key: part for key, part in _metadata(parts["metadata"]).items() if key not in fields}
    own = kept.get("labels")
    if isinstance(own, dict):
        kept["labels"] = {key: text for key, text in own.items() if key not in labels}
    return {**parts, "metadata": kept}


def _with_own_epoch(mine: Value, theirs: Value) -> Value:
    """The metadata of a gang in another state with the name, and the labels of the clock, that it has in this one."""
    own, new = _metadata(mine), _metadata(theirs)
    labels = {key: text for key, text in _labels(new).items() if key not in _CLOCK_LABELS}
    kept = {key: text for key, text in _labels(own).items() if key in _CLOCK_LABELS}
    return {**new, "name": own["name"], "labels": {**labels, **kept}}


def _labels(metadata: Mapping[str, Value]) -> Mapping[str, Value]:
    labels = metadata.get("labels")
    return labels if isinstance(labels, dict) else {}


def _spec(spec: Mapping[str, Value], kind: str) -> dict[str, Value]:
    filled = _FILLED_IN_SPEC.get(kind, ())
    parts = _fields_without_nulls({key: part for key, part in spec.items() if key not in filled})
    for key, part in parts.items():
        field = _FILLED.get((kind, key))
        if field is not None and isinstance(part, list):
            parts[key] = [_without(entry, field) for entry in part]
    return parts


def _without(entry: Value, field: str) -> Value:
    return {key: part for key, part in entry.items() if key != field} if isinstance(entry, dict) else entry


def _without_nulls(value: Value) -> Value:
    if isinstance(value, dict):
        return _fields_without_nulls(value)
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


def _fields_without_nulls(value: Mapping[str, Value]) -> dict[str, Value]:
    # An empty constraint asks for nothing; Grove writes one where there is none. Source: spec/grove.md#10.
    return {
        key: _without_nulls(part)
        for key, part in value.items()
        if part is not None and not (key == "topologyConstraint" and part == {})
    }


def _merged_metadata(mine: Value, theirs: Mapping[str, Value]) -> Value:
    own = mine if isinstance(mine, dict) else {}
    merged = {key: part for key, part in own.items() if key not in _METADATA}
    for key in _METADATA:
        part = theirs.get(key)
        if key in ("labels", "annotations"):
            old = own.get(key)
            kept = {name: text for name, text in old.items() if _is_tools(name)} if isinstance(old, dict) else {}
            part = {**(part if isinstance(part, dict) else {}), **kept}
        if part:
            merged[key] = part
    return merged


def _merged_spec(mine: Mapping[str, Value], theirs: Mapping[str, Value], kind: str) -> Value:
    filled = _FILLED_IN_SPEC.get(kind, ())
    merged: dict[str, Value] = {**theirs, **{key: part for key, part in mine.items() if key in filled}}
    for key, part in theirs.items():
        field = _FILLED.get((kind, key))
        old = mine.get(key)
        if field is not None and isinstance(part, list):
            by_name = {str(e.get("name")): e for e in (old if isinstance(old, list) else ()) if isinstance(e, dict)}
            merged[key] = [_with_filled(entry, by_name, field) for entry in part]
    return merged


def _with_filled(entry: Value, by_name: Mapping[str, Mapping[str, Value]], field: str) -> Value:
    """The entry with what the cluster filled in; a new one with an empty list, which the CRD demands."""
    if not isinstance(entry, dict):
        return entry
    before = by_name.get(str(entry.get("name")), {})
    return {**entry, field: before.get(field, [])}
