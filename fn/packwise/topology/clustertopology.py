"""ClusterTopology as a manifest: what the operator writes, and what the API server takes.

Source: operator.md 3 (ClusterTopology A) and 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from krmfn.errors import told
from krmfn.fieldpath import format_path
from packwise.finding import Finding, Rule, Stage
from packwise.kubernetes.field_error import ErrorType, OperatorError, go_quote
from packwise.kubernetes.validation import dns_subdomain
from packwise.topology.levels import DOMAINS, ClusterTopology, Level, rank
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.topology.limits import Limits

__all__ = [
    "API_VERSION",
    "GROUP",
    "KIND",
    "RULES",
    "SHAPE",
    "check_clustertopology",
    "check_order",
    "clustertopology_value",
    "read_clustertopology",
]

GROUP = "grove.io"
API_VERSION = f"{GROUP}/v1alpha1"
KIND = "ClusterTopology"

_GO_KINDS = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)

_SOURCE = "operator.md 3, ClusterTopology A"
SHAPE = Rule("clustertopology-schema", "A ClusterTopology has the shape its CRD gives it.", _SOURCE)
ORDER = Rule(
    "clustertopology-order",
    "The levels of a user-created ClusterTopology are listed broadest first.",
    "revisions.md grep-244-multi 9",
)
RULES = (SHAPE, ORDER)
"""Rules of ClusterTopology objects."""


def clustertopology_value(
    topology: ClusterTopology, labels: tuple[tuple[str, str], ...] = (), finalizers: tuple[str, ...] = ()
) -> dict[str, Value]:
    """The manifest of `topology`, levels in its own order."""
    metadata: dict[str, Value] = {"name": topology.name}
    if labels:
        metadata["labels"] = dict(labels)
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    levels: list[Value] = [{"domain": level.domain, "key": level.key} for level in topology.levels]
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": {"levels": levels}}


def read_clustertopology(item: KubeObject) -> ClusterTopology:
    """The topology that `item` states, levels as listed; what has no right shape is left out (see the check)."""
    levels = [
        Level(domain, key)
        for entry in _list(item.get("spec.levels"))
        if isinstance(entry, dict)
        and isinstance(domain := entry.get("domain"), str)
        and isinstance(key := entry.get("key"), str)
    ]
    return ClusterTopology(item.name, tuple(levels))


def check_clustertopology(item: KubeObject, limits: Limits) -> list[Finding]:
    """What the API server refuses in a ClusterTopology, with its texts. Source: crds/alpha7, schema and CEL."""
    found: list[Finding] = []
    for text in dns_subdomain(item.name):
        error = OperatorError("metadata.name", ErrorType.INVALID, item.name, text)
        found.append(_finding(item, ("metadata", "name"), f'must be a DNS subdomain; got "{item.name}": {text}', error))
    spec = item.get("spec")
    path: FieldPath = ("spec", "levels")
    if not isinstance(spec, dict):
        found.append(_wrong_type(item, ("spec",), spec, "object", "a mapping"))
    elif not isinstance(spec.get("levels"), list):
        found.append(_wrong_type(item, path, spec.get("levels"), "array", "a list"))
    else:
        found += _check_levels(item, cast("list[Value]", spec["levels"]), limits)
    return [finding._replace(order=order) for order, finding in enumerate(found)]


def check_order(item: KubeObject, topology: ClusterTopology) -> list[Finding]:
    """The levels that stand after a narrower one; KAI would read them upside down."""
    found: list[Finding] = []
    for index, (above, level) in enumerate(zip(topology.levels, topology.levels[1:], strict=False), start=1):
        if rank(level.domain) < rank(above.domain):
            known = sorted(topology.domains, key=rank)
            message = (
                f'must come after broader levels only; "{level.domain}" is broader than "{above.domain}" before it; '
                f"list them as {list_known(known)}"
            )
            found.append(Finding.of(ORDER, item, ("spec", "levels", index, "domain"), message))
    return found


def _check_levels(item: KubeObject, levels: Sequence[Value], limits: Limits) -> Iterator[Finding]:
    path: FieldPath = ("spec", "levels")
    if not levels:
        error = OperatorError("spec.levels", ErrorType.INVALID, 0, "spec.levels in body should have at least 1 items")
        yield _finding(item, path, "must hold at least one level; got none", error)
    if len(levels) > limits.levels:
        text = f"spec.levels: Too many: {len(levels)}: must have at most {limits.levels} items"
        message = f"must hold at most {limits.levels} levels; got {len(levels)}"
        yield Finding.of(SHAPE, item, path, message, operator_message=text, stage=Stage.SCHEMA)
    for index, level in enumerate(levels):
        if isinstance(level, dict):
            yield from _check_level(item, index, level, limits)
        else:
            yield _wrong_type(item, (*path, index), level, "object", "a mapping")
    for field in ("domain", "key"):
        yield from _check_unique(item, levels, field)


def _check_level(item: KubeObject, index: int, level: Mapping[str, Value], limits: Limits) -> Iterator[Finding]:
    path: FieldPath = ("spec", "levels", index)
    for name in level:
        if name not in ("domain", "key"):
            message = (
                f'must be a field of a level; got "{name}"; known: "domain", "key"{closest(name, ("domain", "key"))}'
            )
            yield Finding.of(SHAPE, item, (*path, name), message, at_key=True)
    domain, key = level.get("domain"), level.get("key")
    if not isinstance(domain, str):
        yield _wrong_type(item, (*path, "domain"), domain, "string", "a string")
    elif domain not in DOMAINS:
        supported = ", ".join([go_quote(name) for name in DOMAINS])
        field = (*path, "domain")
        error = OperatorError(format_path(field), ErrorType.NOT_SUPPORTED, domain, f"supported values: {supported}")
        yield _finding(
            item, field, f'must be one of {list_known(DOMAINS)}; got "{domain}"{closest(domain, DOMAINS)}', error
        )
    if not isinstance(key, str):
        yield _wrong_type(item, (*path, "key"), key, "string", "a string")
    elif (fault := limits.key_fault(key)) is not None:
        field = (*path, "key")
        error = OperatorError(format_path(field), fault.type, key, fault.detail.format(field=format_path(field)))
        yield _finding(item, field, f'{fault.message}; got "{key}"', error)


def _check_unique(item: KubeObject, levels: Sequence[Value], field: str) -> Iterator[Finding]:
    seen: dict[Value, int] = {}
    text: str | None = f'spec.levels: Invalid value: "array": {field} must be unique across all levels'
    for index, level in enumerate(levels):
        found = level.get(field) if isinstance(level, dict) else None
        if not isinstance(found, str):
            continue
        if found in seen:
            message = f'must be unique among the levels; "{found}" also stands at levels[{seen[found]}]'
            path = ("spec", "levels", index, field)
            yield Finding.of(SHAPE, item, path, message, operator_message=text, stage=Stage.SCHEMA)
            text = None
        else:
            seen[found] = index


def _finding(item: KubeObject, path: FieldPath, message: str, error: OperatorError) -> Finding:
    return Finding.of(SHAPE, item, path, message, operator_message=error.text(), stage=Stage.SCHEMA)


def _wrong_type(item: KubeObject, path: FieldPath, found: Value, kind: str, noun: str) -> Finding:
    field = format_path(path)
    if found is None:
        return _finding(item, path, f"must be {noun}; there is none", OperatorError(field, ErrorType.REQUIRED))
    go = next(name for known, name in _GO_KINDS if isinstance(found, known))
    error = OperatorError(field, ErrorType.INVALID, go, f'{field} in body must be of type {kind}: "{go}"')
    return _finding(item, path, f"must be {noun}; got {told(found)}", error)


def _list(value: Value) -> Sequence[Value]:
    return value if isinstance(value, list) else ()
