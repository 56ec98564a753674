"""The reasons why a flavor of a ClusterQueue does not accept a pod set, in Kueue's words, and the flavor's quota.

Kueue checks in this order: the flavor exists, topology, taints, node selector and affinity, quota. Source:
spec/kueue.md#6; Kueue v0.19.2, flavorassigner.go and tas_flavorassigner.go.
"""

from __future__ import annotations

from itertools import pairwise

from krmfn.hints import TYPE_CHECKING
from packwise.kubernetes import canonical_quantity
from packwise.lenient import mapping_at, texts, value_at
from packwise.schedulers.kueue.pod_resources import pod_requests
from packwise.schedulers.node_selection import (
    read_node_terms,
    read_taints,
    read_tolerations,
    repelling_taint,
    selects_node,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krmfn.value import Value
    from packwise.schedulers.kueue.chain import ClusterQueue, Flavor, ResourceGroup
    from packwise.schedulers.kueue.podsets import KueuePodSet
    from packwise.schedulers.kueue.request import TopologyRequest
    from packwise.schedulers.node_selection import NodeTerm, Taint

PODS = "pods"
"""The resource by which a ClusterQueue counts pods, if it covers the resource."""

_BINARY_RESOURCES = ("memory", "ephemeral-storage")
_KIB = 1024


def requests_of(pods: KueuePodSet, queue: ClusterQueue, count: int | None = None) -> dict[str, int]:
    """Return the requests of `count` pods of a pod set by resource, as a ClusterQueue counts them.

    If `count` is None, all pods of the set count.
    """
    number = pods.count if count is None else count
    requests = {name: amount * number for name, amount in pod_requests(pods.pod_spec).items()}
    if queue.group_of(PODS) is not None:
        requests[PODS] = number
    return requests


def topology_mismatch(
    name: str,
    levels: Sequence[str] | None,
    request: TopologyRequest | None,
    *,
    is_for_topologies: bool,
    is_overlapping: bool,
) -> str:
    """Return Kueue's reason why the topology of the flavor `name` does not match a pod set, or "".

    `levels` are the levels of the flavor's Topology, or None if the flavor names none. `is_for_topologies` is true if
    all flavors of the queue have a topology. `is_overlapping` is true if the flavor's resource group covers a resource
    that the pods request.
    """
    if request is None or not request.is_asked:
        # If all flavors of a queue have a topology, Kueue places every job of the queue by topology.
        if levels is None or is_for_topologies:
            return ""
        return f'Flavor "{name}" supports only TopologyAwareScheduling'
    if levels is None:
        # The flavor of a resource group that covers no requested resource does not matter.
        return f'Flavor "{name}" does not support TopologyAwareScheduling' if is_overlapping else ""
    # The annotation of an unconstrained topology with the value "false" names no level.
    names_none = not request.levels and not request.unconstrained
    if names_none or any(level not in levels for level in request.levels):
        return f'Flavor "{name}" does not contain the requested level'
    return ""


def _wrong_order(request: TopologyRequest, levels: Sequence[str]) -> str:
    """Return Kueue's error if slices are above the level of the pod set, or if layers are not in order, or ""."""
    bound = request.required or request.preferred
    layers = request.layers
    if bound is not None and layers and levels.index(layers[0].level) < levels.index(bound):
        return f"podset slice topology {layers[0].level} is above the podset topology {bound}"
    for above, layer in pairwise(layers):
        if levels.index(layer.level) <= levels.index(above.level):
            return f"additional slice layer topology {layer.level} must be at a lower level than {above.level}"
    return ""


def taint_of_flavor(flavor: Flavor, pod_spec: Mapping[str, Value]) -> Taint | None:
    """Return the first taint of a flavor that neither the pod nor the flavor tolerates, or None."""
    spec = mapping_at(flavor.value, "spec")
    tolerations = (*read_tolerations(pod_spec.get("tolerations")), *read_tolerations(spec.get("tolerations")))
    return repelling_taint(read_taints(spec.get("nodeTaints")), tolerations)


def accepts_labels(flavor: Flavor, pod_spec: Mapping[str, Value]) -> bool:
    """Return True if a pod's node selector and required affinity accept the node labels of a flavor.

    Kueue compares only labels that the flavor has.
    """
    return selects_flavor(labels_of(flavor), texts(pod_spec.get("nodeSelector")).items(), read_node_terms(pod_spec))


def selects_flavor(
    labels: Mapping[str, str], selector: Iterable[tuple[str, str]], terms: tuple[NodeTerm, ...] | None
) -> bool:
    """Return True if a node selector and the terms of a required affinity accept a flavor with these node labels."""
    about = [(key, value) for key, value in selector if key in labels]
    return selects_node(about, _terms_about(labels, terms), labels, "")


def labels_of(flavor: Flavor) -> Mapping[str, str]:
    """Return the `nodeLabels` of a flavor."""
    return texts(value_at(flavor.value, "spec", "nodeLabels"))


def _terms_about(labels: Mapping[str, str], terms: tuple[NodeTerm, ...] | None) -> tuple[NodeTerm, ...] | None:
    """Return the terms, limited to the labels of the flavor.

    Return None if a term names none of these labels, because the flavor then meets the affinity.
    """
    about = [tuple(each for each in term if each[0] in labels) for term in terms or ()]
    return tuple(about) if about and all(about) else None


def flavor_mismatch(
    flavor: Flavor, pods: KueuePodSet, request: TopologyRequest | None, group: ResourceGroup, queue: ClusterQueue
) -> str:
    """Return Kueue's first reason why a pod set cannot use a flavor of a resource group, or "". Do not check quota."""
    if flavor.value is None:
        return missing_flavor(flavor.name)
    requested = pod_requests(pods.pod_spec)
    # A LimitRange may set the requests of pods that have none.
    is_overlapping = not requested or not group.covered_resources.isdisjoint(requested)
    levels = None if flavor.topology is None else flavor.levels or ()
    mismatch = topology_mismatch(
        flavor.name, levels, request, is_for_topologies=queue.is_for_topologies, is_overlapping=is_overlapping
    )
    if not mismatch and request is not None and request.is_asked and levels is not None:
        mismatch = _wrong_order(request, levels)
    if mismatch:
        return mismatch
    taint = taint_of_flavor(flavor, pods.pod_spec)
    return nodes_mismatch(flavor.name, taint, is_selected=accepts_labels(flavor, pods.pod_spec))


def missing_flavor(name: str) -> str:
    """Return Kueue's reason for a flavor that does not exist."""
    return f"flavor {name} not found"


def nodes_mismatch(name: str, taint: Taint | None, *, is_selected: bool) -> str:
    """Return Kueue's reason if a flavor has an untolerated taint or labels that the pod does not select, or ""."""
    if taint is not None:
        return f"untolerated taint {{{taint.key} {taint.value} {taint.effect} <nil>}} in flavor {name}"
    return "" if is_selected else f"flavor {name} doesn't match node affinity"


def most_capacity(flavor: Flavor, resource: str, queue: ClusterQueue) -> int | None:
    """Return the largest amount of a resource that the queue can get from a flavor. Return None if a cohort decides."""
    quota = flavor.quotas.get(resource)
    if quota is None:
        return None
    if not queue.cohort:
        return quota.nominal
    return None if quota.borrowing is None else quota.nominal + quota.borrowing


def skipped_pods_text(name: str, count: int, request: TopologyRequest) -> str:
    """Return a text about the pods that Kueue skips because they fill no whole slice. Return "" if there are none.

    The text suggests numbers of pods and a size of slices that skip no pods.
    """
    size = request.layers[0].size if request.layers else 1
    rest = count % size if size > 0 else 0
    if not rest:
        return ""
    inner = [layer.size for layer in request.layers[1:]]
    even = next((n for n in range(size - 1, 0, -1) if count % n == 0 and not any(n % own for own in inner)), None)
    counts = [str(number) for number in (count - rest, count - rest + size) if number]
    fix = f"request {' or '.join(counts)} pods" + (f", or slices of {even}" if even is not None else "")
    if count < size:
        return f"{name} has fewer pods than one slice of {size}, and Kueue places none of them; {fix}"
    return (
        f"Kueue places only {count - rest} of {count} pods of {name} in slices of {size}, and does not report "
        "the other "
        f"{rest}; {fix}"
    )


def quota_excess(resource: str, flavor: str, before: int, amount: int, capacity: int) -> str:
    """Return Kueue's text about a request that exceeds the quota even if no other Workload runs.

    `before` is the amount that earlier pod sets of the job request.
    """
    shown = [format_amount(resource, each) for each in (before, amount, capacity)]
    return (
        f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
        f"({shown[0]}) + current podset request ({shown[1]}) > maximum capacity ({shown[2]})"
    )


def quota_shortage(resource: str, flavor: str, lacking: int) -> str:
    """Return Kueue's text about a request that must wait until other Workloads free quota."""
    return (
        f"insufficient unused quota for {resource} in flavor {flavor}, {format_amount(resource, lacking)} more needed"
    )


def format_amount(resource: str, amount: int) -> str:
    """Return an amount as Kueue prints it: millicores as `500m`, bytes as `64Gi`, and other resources as a number."""
    if resource == "cpu":
        return canonical_quantity(f"{amount}m")
    is_binary = resource in _BINARY_RESOURCES or resource.startswith("hugepages-")
    if not is_binary or amount < _KIB:
        return canonical_quantity(str(amount))
    # A binary quantity that is not a multiple of 1024 has no suffix.
    return canonical_quantity(f"{amount // _KIB}Ki") if amount % _KIB == 0 else str(amount)
