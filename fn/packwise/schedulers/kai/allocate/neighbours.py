"""What pods on nodes mean to others: host ports that are taken, and required affinity and anti-affinity between pods.

Source: Kubernetes v1.35, scheduler plugins nodeports and interpodaffinity, which KAI runs for every pod.
"""

from __future__ import annotations

from collections import Counter

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from packwise.schedulers.kai.allocate.scene import AffinityTerm, HostPort, Node, Pod

__all__ = ["EVERY_NAMESPACE", "Neighbours"]

EVERY_NAMESPACE = "*"

_PORTS = "node(s) didn't have free ports for the requested pod ports"
_AFFINITY = "node(s) didn't match pod affinity rules"
_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

_Values = Counter[tuple[str, str]]
"""How many pods count for a term, by topology key and its value on their nodes."""


class Neighbours:
    """The pods on the nodes of a cluster, as they concern others."""

    def __init__(self, nodes: Iterable[Node], pods: Iterable[Pod]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._pods: Counter[tuple[int, str]] = Counter()
        self._by_id: dict[int, Pod] = {}
        self._ports: dict[str, Counter[HostPort]] = {}
        # Terms of pods on nodes, by namespace: a pod that is to come must not be what they keep away.
        self._owned: dict[str, dict[AffinityTerm, _Values]] = {}
        # What terms of pods to come select, kept from the first pod on that has the term.
        self._counted: dict[tuple[AffinityTerm, ...], _Values] = {}
        for pod in pods:
            self.change(pod, pod.node, 1)

    def change(self, pod: Pod, node: str, sign: int) -> None:
        """Takes in that the pod is on the node, or no longer there (`sign` -1)."""
        place = self._nodes.get(node)
        if place is None:
            return
        key = (id(pod), node)
        self._by_id[id(pod)] = pod
        self._pods[key] += sign
        if not self._pods[key]:
            del self._pods[key]
        for port in pod.rules.ports:
            self._ports.setdefault(node, Counter())[port] += sign
        for term in pod.rules.apart:
            if term.topology_key in place.labels:
                pair = (term.topology_key, place.labels[term.topology_key])
                for namespace in term.namespaces:
                    self._owned.setdefault(namespace, {}).setdefault(term, Counter())[pair] += sign
        for terms, values in self._counted.items():
            _count(values, terms, pod, place, sign)

    def concern(self, pod: Pod) -> bool:
        """Whether which node the pod may go to depends on the pods that are there."""
        rules = pod.rules
        return bool(rules.ports or rules.near or rules.apart) or any(self._keeping_away(pod))

    def _keeping_away(self, pod: Pod) -> list[_Values]:
        if not self._owned:
            return []
        return [
            values
            for namespace in (pod.namespace, EVERY_NAMESPACE)
            for term, values in self._owned.get(namespace, {}).items()
            if +values and _selects(term, pod)
        ]

    def judge(self, pod: Pod) -> Callable[[Node], str]:
        """A function that answers why a node refuses the pod now, "" where it does not."""
        near = self._values(pod.rules.near)
        apart = [(term.topology_key, self._values((term,))) for term in pod.rules.apart]
        keeping_away = self._keeping_away(pod)
        # The first of pods that want to be near each other goes anywhere.
        is_first = not +near and bool(pod.rules.near) and all(_selects(term, pod) for term in pod.rules.near)

        def refusal(node: Node) -> str:
            if pod.rules.ports and self._takes_a_port(pod, node):
                return _PORTS
            labels = node.labels
            for term in pod.rules.near:
                value = labels.get(term.topology_key)
                if value is None or (not is_first and near[term.topology_key, value] <= 0):
                    return _AFFINITY
            if any(key in labels and values[key, labels[key]] > 0 for key, values in apart):
                return _ANTI_AFFINITY
            if any(values[pair] > 0 for values in keeping_away for pair in labels.items()):
                return _EXISTING
            return ""

        return refusal

    def _takes_a_port(self, pod: Pod, node: Node) -> bool:
        taken = self._ports.get(node.name)
        return taken is not None and any(
            count > 0 and _conflict(port, other) for port in pod.rules.ports for other, count in taken.items()
        )

    def _values(self, terms: tuple[AffinityTerm, ...]) -> _Values:
        """How many pods all of the terms select, for each of their topology keys by its value."""
        if not terms:
            return Counter()
        if terms not in self._counted:
            values = self._counted[terms] = Counter()
            for (pod, node), number in self._pods.items():
                _count(values, terms, self._by_id[pod], self._nodes[node], number)
        return self._counted[terms]


def _count(values: _Values, terms: tuple[AffinityTerm, ...], pod: Pod, node: Node, number: int) -> None:
    if all(_selects(term, pod) for term in terms):
        for term in terms:
            if term.topology_key in node.labels:
                values[term.topology_key, node.labels[term.topology_key]] += number


def _selects(term: AffinityTerm, pod: Pod) -> bool:
    if EVERY_NAMESPACE not in term.namespaces and pod.namespace not in term.namespaces:
        return False
    return term.selector is not None and all(
        _holds(pod.labels, key, operator, values) for key, operator, values in term.selector
    )


def _holds(labels: Mapping[str, str], key: str, operator: str, values: tuple[str, ...]) -> bool:
    value = labels.get(key)
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None


def _conflict(port: HostPort, other: HostPort) -> bool:
    if (port.port, port.protocol) != (other.port, other.protocol):
        return False
    # Without an address, or with 0.0.0.0, a port is taken at every address.
    is_any = not port.address.strip("0.") or not other.address.strip("0.")
    return is_any or port.address == other.address
