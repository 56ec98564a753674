"""ClusterTopology as a manifest: what the operator writes, and what the API server takes.

Source: operator.md 3 (ClusterTopology A) and 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.finding import Finding, Rule, Stage
from packwise.kubernetes.field_error import ErrorType, go_quote
from packwise.topology.levellist import ShapeCheck, levels_of
from packwise.topology.levels import DOMAINS, ClusterTopology, rank
from packwise.topology.limits import Fault
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
]

GROUP = "grove.io"
API_VERSION = f"{GROUP}/v1alpha1"
KIND = "ClusterTopology"


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


def check_clustertopology(item: KubeObject, limits: Limits) -> list[Finding]:
    """What the API server refuses in a ClusterTopology, with its texts. Source: crds/alpha7, schema and CEL."""
    check, levels = ShapeCheck(item, SHAPE), levels_of(item.value)
    found = [*check.metadata(), *check.levels(_domain_fault, limits)]
    if limits.levels is not None and len(levels) > limits.levels:
        text = f"spec.levels: Too many: {len(levels)}: must have at most {limits.levels} items"
        message = f"must hold at most {limits.levels} levels; got {len(levels)}"
        path = ("spec", "levels")
        found.append(Finding.of(SHAPE, item, path, message, operator_message=text, stage=Stage.SCHEMA))
    for field in ("domain", "key"):
        found += _check_unique(item, levels, field)
    return [finding._replace(order=order) for order, finding in enumerate(found)]


def _domain_fault(domain: str) -> Fault | None:
    if domain in DOMAINS:
        return None
    supported = ", ".join([go_quote(name) for name in DOMAINS])
    message = f'must be one of {list_known(DOMAINS)}; got "{domain}"{closest(domain, DOMAINS)}'
    return Fault(message, ErrorType.NOT_SUPPORTED, f"supported values: {supported}")


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
