"""ClusterTopology as a manifest: what the operator writes, and what the API server takes.

Source: spec/grove.md#3 and #9.
"""

from __future__ import annotations

from itertools import pairwise

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Finding, Problem, Rule, Stage
from packwise.kubernetes.validation import ErrorType, OperatorError, go_quote
from packwise.topology.levellist import level_problems, levels_of, name_problems, refused
from packwise.topology.levels import DOMAINS, ClusterTopology, rank
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.revisions.limits import Limits

__all__ = [
    "API_VERSION",
    "GROUP",
    "KIND",
    "RULES",
    "SHAPE",
    "check_order",
    "clustertopology_problems",
    "clustertopology_value",
]

GROUP = "grove.io"
API_VERSION = f"{GROUP}/v1alpha1"
KIND = "ClusterTopology"


_SOURCE = "spec/grove.md#3.4"
SHAPE = Rule("clustertopology-schema", "A ClusterTopology has the shape its CRD gives it.", _SOURCE)
ORDER = Rule(
    "clustertopology-order",
    "The levels of a user-created ClusterTopology are listed broadest first.",
    "spec/designs.md#7.9",
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


def clustertopology_problems(item: KubeObject, limits: Limits) -> Iterator[Problem]:
    """What the API server refuses in a ClusterTopology, with its texts. Source: crds/alpha7, schema and CEL."""
    levels = levels_of(item.value)
    yield from name_problems(item.name)
    yield from level_problems(item.get("spec"), _domain_problem, limits)
    if limits.levels is not None and len(levels) > limits.levels:
        text = f"spec.levels: Too many: {len(levels)}: must have at most {limits.levels} items"
        message = f"must hold at most {limits.levels} levels; got {len(levels)}"
        yield Problem(("spec", "levels"), message, text, Stage.SCHEMA)
    for field in ("domain", "key"):
        yield from _repeated(levels, field)


def _domain_problem(path: FieldPath, domain: str) -> Problem | None:
    if domain in DOMAINS:
        return None
    supported = ", ".join([go_quote(name) for name in DOMAINS])
    message = f'must be one of {list_known(DOMAINS)}; got "{domain}"{closest(domain, DOMAINS)}'
    error = OperatorError(format_path(path), ErrorType.NOT_SUPPORTED, domain, f"supported values: {supported}")
    return refused(path, message, error)


def check_order(item: KubeObject, topology: ClusterTopology) -> list[Finding]:
    """The levels that are listed after a narrower one; KAI would read them upside down."""
    findings: list[Finding] = []
    for index, (above, level) in enumerate(pairwise(topology.levels), start=1):
        if rank(level.domain) < rank(above.domain):
            known = sorted(topology.domains, key=rank)
            message = (
                f'must come after broader levels only; "{level.domain}" is broader than "{above.domain}" before it; '
                f"list them as {list_known(known)}"
            )
            findings.append(Finding.of(ORDER, item, ("spec", "levels", index, "domain"), message))
    return findings


def _repeated(levels: Sequence[Value], field: str) -> Iterator[Problem]:
    """The levels with a domain or key that another one before them has; the API server has one text for all."""
    first: dict[Value, int] = {}
    text: str | None = f'spec.levels: Invalid value: "array": {field} must be unique across all levels'
    for index, level in enumerate(levels):
        value = level.get(field) if isinstance(level, dict) else None
        if not isinstance(value, str):
            continue
        if value in first:
            message = f'must be unique among the levels; "{value}" also stands at levels[{first[value]}]'
            yield Problem(("spec", "levels", index, field), message, text, Stage.SCHEMA)
            text = None
        else:
            first[value] = index
