"""Why a node refuses a pod whatever room it has: kind of GPUs, cordons, conditions, taints, selectors, affinity.

The texts are KAI's, which takes those of Kubernetes' plugins.
Source: spec/placement.md#5; KAI Scheduler, predicates plugin.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kai.allocate.gpu_sharing import MIG, is_gpu_pod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.schedulers.kai.allocate.scene import Node, Pod, PodRules, Taint, Toleration

__all__ = ["refusals", "selects"]

_NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
_UNTOLERATED = "node(s) had untolerated taint(s)"


def refusals(pod: Pod, node: Node, *, names_taints: bool = False) -> tuple[str, ...]:
    """The reasons of the node against the pod, as KAI counts them; none where it takes it.

    `names_taints`: the text names the taint, as that of KAI before v0.17 does.
    """
    wants_slices = any(name.startswith(MIG) for name, _ in pod.request)
    if node.mig or wants_slices or pod.share is not None:
        kind = _wrong_kind(pod, node, wants_slices=wants_slices)
        if kind:
            return (kind,)
    if node.unschedulable or node.unready:
        return (("node is unschedulable",) if node.unschedulable else ()) + node.unready
    if not node.taints and not pod.rules.selector and pod.rules.affinity is None:
        return ()
    if not selects(pod.rules, node.labels, node.name):
        return (_NO_MATCH,)
    taint = next((taint for taint in node.taints if not _is_tolerated(taint, pod.rules.tolerations)), None)
    if taint is None:
        return ()
    return (f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}" if names_taints else _UNTOLERATED,)


def _wrong_kind(pod: Pod, node: Node, *, wants_slices: bool) -> str:
    """Why the GPUs of the node are of the wrong kind for the pod: whole ones, shares, slices. "" where they are not."""
    if not is_gpu_pod(pod):
        return ""
    if node.mig:
        if node.mig == "single" and (wants_slices or pod.share is not None):
            return "only whole gpu jobs can run on a node with MigStrategy='single'"
        if node.mig == "mixed" and not wants_slices:
            return "non MIG jobs cant run on a node with MigStrategy='mixed'"
    elif wants_slices:
        return "MIG job cannot be scheduled on non-MIG node"
    if pod.share is not None and pod.share.memory and not node.has_gpu_memory:
        return (
            "node is not a gpu node or the gpu memory count on the node was not synced yet, "
            f"task: <{pod.namespace}/{pod.name}>, node: <{node.name}>"
        )
    return ""


def selects(rules: PodRules, labels: Mapping[str, str], name: str) -> bool:
    """Whether a node with these labels is one that the pod asks for."""
    if any(labels.get(key) != value for key, value in rules.selector):
        return False
    if rules.affinity is None:
        return True
    return any(bool(term) and all(_holds(expression, labels, name) for expression in term) for term in rules.affinity)


def _holds(expression: tuple[str, str, tuple[str, ...]], labels: Mapping[str, str], name: str) -> bool:
    key, operator, values = expression
    value = name if key == "metadata.name" else labels.get(key)
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(operator, value, values)
        case _:
            return False


def _compares(operator: str, value: str | None, values: tuple[str, ...]) -> bool:
    try:
        left, right = int(value or ""), int(values[0]) if values else 0
    except ValueError:
        return False
    return left > right if operator == "Gt" else left < right


def _is_tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    if taint.effect not in ("NoSchedule", "NoExecute"):
        return True
    return any(
        (not toleration.effect or toleration.effect == taint.effect)
        and (not toleration.key or toleration.key == taint.key)
        and (toleration.operator == "Exists" or (bool(toleration.key) and toleration.value == taint.value))
        for toleration in tolerations
    )
