"""The cluster's CustomResourceDefinitions: given beside the package, or among its items.

Source: product.md "What goes in"; upstream's own CRDs are the operator's, packwise brings none.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.extras import CRDS
from packwise.findings.finding import Finding, Rule, Severity
from packwise.objects.index import repeated
from packwise.objects.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.kubeobject import KubeObject
    from packwise.objects.index import Index
    from packwise.validate.definition import Definition

__all__ = ["NO_DEFINITIONS", "RULES", "Definitions", "definitions_of", "is_definition"]

_GROUP = "apiextensions.k8s.io"
_KIND = "CustomResourceDefinition"

_KINDS = frozenset([kind.key for kind in KINDS if kind.checked_by_crd])

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
    named, kind = item.get("spec.group"), item.get("spec.names.kind")
    return isinstance(named, str) and isinstance(kind, str) and (named, kind) in _KINDS


def definitions_of(beside: tuple[KubeObject, ...], index: Index) -> Definitions:
    """The CRDs among `beside`; and of the other kinds, those among the items."""
    among = [item for item in index.of_kind(_GROUP, _KIND) if is_definition(item)]
    if not beside and not among:
        return NO_DEFINITIONS
    # Only where there are any, is what reads and checks them imported.
    from packwise.validate.definition import read_definition
    from packwise.validate.judge import UNCHECKED
    from packwise.validate.read import SchemaError

    chosen = [item for item in beside if is_definition(item)]
    by_kind: dict[tuple[str, str], Definition] = {}
    findings = [*repeated(chosen), *repeated(among)]
    for item in (*chosen, *among):
        try:
            definition = read_definition(item)
        except SchemaError as error:
            findings.append(Finding.of(SCHEMA, item, error.path, error.message))
            continue
        if definition.needs_expressions and not CRDS.installed:
            message = f"must have the library that evaluates its rules and patterns: {CRDS.advice}"
            findings.append(Finding.of(UNCHECKED, item, ("spec", "versions"), message, severity=Severity.ERROR))
        else:
            by_kind.setdefault((definition.group, definition.kind), definition)
    return Definitions(by_kind, tuple(findings))
