"""The nodes that a pod accepts: by taints and tolerations, node selector and required node affinity.

These are Kubernetes' own rules for every scheduler. Source: Kubernetes v1.34, component-helpers, nodeaffinity and
corev1.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.lenient import entries, mapping_at, mappings, text_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krmfn.value import Value
    from packwise.objects.index import Index

LabelRequirement = tuple[str, str, tuple[str, ...]]
"""A key, an operator and its values."""

NodeTerm = tuple[LabelRequirement, ...]
"""A term of a node affinity. A node must meet all its requirements. A term without requirements matches no node."""

NODE_NAME = "metadata.name"
"""The key of a requirement about the name of a node, from `matchFields`."""

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label of every namespace that holds the namespace's own name."""

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
"""The operators of label selectors. Node affinities also have Gt and Lt."""

_REPELLING = ("NoSchedule", "NoExecute")
"""The effects of taints that keep pods off a node."""


class Taint(Record):
    """A taint of a node."""

    key: str
    value: str
    effect: str


class Toleration(Record):
    """A toleration of a pod. An empty `key` tolerates every key and an empty `effect` every effect."""

    key: str
    operator: str
    value: str
    effect: str


def read_taints(value: Value) -> tuple[Taint, ...]:
    """Return the taints in a list of a manifest."""
    return tuple(Taint(*(text_at(entry, key) for key in ("key", "value", "effect"))) for entry in mappings(value))


def read_tolerations(value: Value) -> tuple[Toleration, ...]:
    """Return the tolerations in a list of a manifest."""
    return tuple(
        Toleration(*(text_at(entry, key) for key in ("key", "operator", "value", "effect")))
        for entry in mappings(value)
    )


def repelling_taint(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """Return the first taint that a pod with these tolerations does not tolerate. Return None if it tolerates all."""
    repelling = (taint for taint in taints if taint.effect in _REPELLING)
    return next((taint for taint in repelling if not any(_tolerates(each, taint) for each in tolerations)), None)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    return (
        (not toleration.effect or toleration.effect == taint.effect)
        and (not toleration.key or toleration.key == taint.key)
        and (toleration.operator == "Exists" or (bool(toleration.key) and toleration.value == taint.value))
    )


def read_selector(selector: Mapping[str, Value]) -> tuple[LabelRequirement, ...]:
    """Return the requirements of a label selector."""
    matching = [(key, "In", (str(text),)) for key, text in sorted(mapping_at(selector, "matchLabels").items())]
    return (*matching, *_requirements(selector.get("matchExpressions")))


def read_node_terms(spec: Mapping[str, Value]) -> tuple[NodeTerm, ...] | None:
    """Return the terms of a pod's required node affinity, or None without one. A node must match one of the terms."""
    required = mapping_at(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return tuple(_node_term(term) for term in mappings(required.get("nodeSelectorTerms"))) if required else None


def _node_term(term: Mapping[str, Value]) -> NodeTerm:
    return (
        *_requirements(term.get("matchExpressions")),
        *[(NODE_NAME, operator, values) for _, operator, values in _requirements(term.get("matchFields"))],
    )


def _requirements(value: Value) -> list[LabelRequirement]:
    return [
        (text_at(entry, "key"), text_at(entry, "operator"), tuple(str(each) for each in entries(entry.get("values"))))
        for entry in mappings(value)
    ]


def selects_labels(requirements: Iterable[LabelRequirement], labels: Mapping[str, str]) -> bool:
    """Return True if the labels meet all requirements of a selector."""
    return all(_meets(labels.get(key), operator, values) for key, operator, values in requirements)


def namespace_labels(items: Index) -> Mapping[str, Mapping[str, Value] | None]:
    """Map the name of each Namespace in the input to its labels, or to None if several have different labels."""
    by_name: dict[str, Mapping[str, Value] | None] = {}
    for item in items.of_kind("", "Namespace"):
        labels: Mapping[str, Value] = mapping_at(item.value, "metadata", "labels")
        if by_name.setdefault(item.name, labels) != labels:
            by_name[item.name] = None
    return by_name


def selects_namespace(
    requirements: Sequence[LabelRequirement], namespace: str, labels: Mapping[str, Mapping[str, Value] | None]
) -> bool | None:
    """Return True if a selector accepts a namespace. Return None if it depends on labels that are not in `labels`."""
    if not requirements:
        return True
    if not namespace:
        return None
    name = {NAMESPACE_NAME: namespace}
    by_name = tuple(each for each in requirements if each[0] == NAMESPACE_NAME)
    if not selects_labels(by_name, name):
        return False
    if len(by_name) == len(requirements):
        return True
    known = labels.get(namespace)
    own = None if known is None else {key: str(value) for key, value in known.items()}
    return None if own is None else selects_labels(requirements, {**own, **name})


def selects_node(
    selector: Iterable[tuple[str, str]], terms: tuple[NodeTerm, ...] | None, labels: Mapping[str, str], name: str
) -> bool:
    """Return True if a node selector and the terms of a node affinity accept a node with these labels and this name."""
    if any(labels.get(key) != value for key, value in selector):
        return False
    return terms is None or any(
        bool(term) and all(_is_satisfied(each, labels, name) for each in term) for term in terms
    )


def _is_satisfied(requirement: LabelRequirement, labels: Mapping[str, str], name: str) -> bool:
    key, operator, values = requirement
    value = name if key == NODE_NAME else labels.get(key)
    if operator in ("Gt", "Lt"):
        return _compares(operator, value, values)
    return operator in _OPERATORS and _meets(value, operator, values)


def _meets(value: str | None, operator: str, values: tuple[str, ...]) -> bool:
    """Return True if the operator accepts the value of a label. `value` is None if the label is missing."""
    if operator in ("In", "NotIn"):
        return (value in values) is (operator == "In")
    return (value is not None) is (operator == "Exists")


def _compares(operator: str, value: str | None, values: tuple[str, ...]) -> bool:
    try:
        left, right = int(value or ""), int(values[0]) if values else 0
    except ValueError:
        return False
    return left > right if operator == "Gt" else left < right
