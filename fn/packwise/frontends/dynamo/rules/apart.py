"""Whether two pods of one replica can land on one node. Source: spec/dynamo.md#4."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Problem, Rule, Severity
from packwise.frontends.dynamo.rules.check import Check
from packwise.frontends.dynamo.values import mapping, mappings, texts
from packwise.kubernetes.quantities import amounts, container_requests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value
    from packwise.frontends.dynamo.graph import Component
    from packwise.frontends.dynamo.rules.check import Subject

__all__ = ["APART"]

_GPU = "nvidia.com/gpu"
_MOST_GPUS = 8
"""GPUs of the largest node that is common."""

_GPUS_BESIDE_GRACE = 4
"""GPUs of a node of GB200 and GB300, whose processors are ARM's."""

_ARCHITECTURE, _PRODUCT = "kubernetes.io/arch", "nvidia.com/gpu.product"
_COMPUTE_DOMAIN = "compute-domain"


def _apart(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        if not component.is_multinode or mapping(component.pod_spec.get("affinity")).get("podAntiAffinity"):
            continue
        gpus, room = container_requests(component.pod_spec).get(_GPU, 0), _most_gpus(at, component)
        if gpus * 2 <= room:
            asked = f"asks for {gpus} of the {room} GPUs that a node may have" if gpus else "asks for no GPU"
            message = (
                f"counts pods, {component.nodes} of a replica, and nothing keeps two of them off one node that has "
                f"room for both: each {asked}; let it ask for all GPUs of a node, or add a podAntiAffinity"
            )
            yield Problem(component.path("multinode", "nodeCount"), message)


def _most_gpus(at: Subject, component: Component) -> int:
    """The GPUs of the largest node that takes the pods: of those that are known, else by what the pods ask for."""
    selector = texts(component.pod_spec.get("nodeSelector"))
    if at.nodes:
        return max([_gpus_of(node) for node in at.nodes if selector.items() <= _labels(node).items()], default=0)
    return _GPUS_BESIDE_GRACE if _is_beside_grace(component, selector) else _MOST_GPUS


def _is_beside_grace(component: Component, selector: Mapping[str, str]) -> bool:
    """True if the pods go to nodes of GB200 or GB300 alone: by product, processors, or NVLink across nodes."""
    claims = [str(claim.get("name", "")) for claim in mappings(component.pod_spec.get("resourceClaims"))]
    by_claim = any(name.startswith(_COMPUTE_DOMAIN) for name in claims)
    by_selector = selector.get(_ARCHITECTURE) == "arm64" or "-GB" in selector.get(_PRODUCT, "")
    return by_claim or by_selector


def _labels(node: Mapping[str, Value]) -> Mapping[str, str]:
    return texts(mapping(node.get("metadata")).get("labels"))


def _gpus_of(node: Mapping[str, Value]) -> int:
    return amounts(mapping(mapping(node.get("status")).get("allocatable"))).get(_GPU, 0)


APART = (
    Check(Rule("dynamo-nodes-apart", "The pods of a replica are kept on as many nodes.", "spec/dynamo.md#4",
               Severity.WARNING), _apart),
)  # fmt: skip
"""The rule about nodes."""
