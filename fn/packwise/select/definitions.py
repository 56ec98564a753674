"""The cluster's CustomResourceDefinitions: given beside the package, or among its items.

Source: product.md "What goes in"; upstream's own CRDs are the operator's, packwise brings none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from packwise.finding import Finding, Rule
from packwise.select.index import repeated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.kubeobject import KubeObject
    from packwise.crds.definition import Definition
    from packwise.select.index import Index

__all__ = ["NO_DEFINITIONS", "RULES", "Definitions", "definitions_of", "is_definition"]

_GROUP = "apiextensions.k8s.io"
_KIND = "CustomResourceDefinition"

_KINDS = frozenset(
    {
        ("grove.io", "ClusterTopology"),
        ("grove.io", "ClusterTopologyBinding"),
        ("grove.io", "PodCliqueSet"),
        ("kai.scheduler", "Topology"),
        ("scheduler.grove.io", "PodGang"),
        ("scheduling.run.ai", "PodGroup"),
    }
)

SCHEMA = Rule(
    "crd-schema", "A CustomResourceDefinition has a schema as Kubernetes takes it.", "apiextensions.k8s.io/v1"
)
RULES = (SCHEMA,)
"""Rules of CRDs."""


class Definitions(NamedTuple):
    """The CRDs of the kinds that packwise reads or writes, by group and kind; and what is wrong with them."""

    by_kind: Mapping[tuple[str, str], Definition]
    findings: tuple[Finding, ...] = ()

    def of_kind(self, group: str, kind: str) -> Definition | None:
        """The CRD of a kind, where there is one."""
        return self.by_kind.get((group, kind))


NO_DEFINITIONS = Definitions({})
"""No CRD at all, which is the usual case."""


def is_definition(item: KubeObject) -> bool:
    """Whether `item` is the CRD of a kind that packwise reads or writes."""
    value = item.value
    group, _, _ = str(value.get("apiVersion")).partition("/")
    if (group, value.get("kind")) != (_GROUP, _KIND):
        return False
    return (item.get("spec.group"), item.get("spec.names.kind")) in _KINDS


def definitions_of(given: tuple[KubeObject, ...], index: Index) -> Definitions:
    """The CRDs among `given`; and of the other kinds, those among the items."""
    among = [item for item in index.of_kind(_GROUP, _KIND) if is_definition(item)]
    if not given and not among:
        return NO_DEFINITIONS
    # Only where there are any, is what reads and checks them imported.
    from packwise.crds.definition import read_definition
    from packwise.crds.read import SchemaError

    chosen = [item for item in given if is_definition(item)]
    by_kind: dict[tuple[str, str], Definition] = {}
    findings = [*repeated(chosen), *repeated(among)]
    for item in (*chosen, *among):
        try:
            found = read_definition(item)
        except SchemaError as error:
            findings.append(Finding.of(SCHEMA, item, error.path, error.message))
        else:
            by_kind.setdefault((found.group, found.kind), found)
    return Definitions(by_kind, tuple(findings))
