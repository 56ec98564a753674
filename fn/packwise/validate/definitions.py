"""The cluster's CustomResourceDefinitions: given beside the package, or among its items.

Source: spec/packwise.md#1; upstream's own CRDs are the operator's, packwise brings none.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.extras import CRDS
from packwise.findings.finding import Finding, Rule, Severity
from packwise.objects.index import ONCE
from packwise.objects.kinds import KINDS
from packwise.objects.place import place_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from packwise.objects.index import Index
    from packwise.validate.definition import Definition

__all__ = ["NO_DEFINITIONS", "RULES", "Definitions", "definitions_of", "is_definition"]

_GROUP = "apiextensions.k8s.io"
_KIND = "CustomResourceDefinition"

_KINDS = frozenset([kind.key for kind in KINDS if kind.checked_by_crd])

SCHEMA = Rule("crd-schema", "A CustomResourceDefinition has a schema as Kubernetes takes it.", "spec/kubernetes.md#3.1")
RULES = (SCHEMA,)
"""Rules of CRDs."""


class Definitions(NamedTuple):
    """The CRDs of the kinds that packwise reads or writes, by group and kind; and what is wrong with them.

    A kind of which the CRD is wrong is judged by packwise's own table, and everything else is judged as ever.
    """

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
    return (group, value.get("kind")) == (_GROUP, _KIND) and _kind_of(item) in _KINDS


def _kind_of(item: KubeObject) -> tuple[str, str]:
    """Group and name of the kind that a CRD defines."""
    return str(item.get("spec.group")), str(item.get("spec.names.kind"))


def definitions_of(beside: tuple[KubeObject, ...], index: Index) -> Definitions:
    """The CRDs among `beside`; and of the other kinds, those among the items."""
    among = [item for item in index.of_kind(_GROUP, _KIND) if is_definition(item)]
    if not beside and not among:
        return NO_DEFINITIONS
    chosen = [item for item in beside if is_definition(item)]
    kinds = {_kind_of(item) for item in chosen}
    by_kind: dict[tuple[str, str], list[KubeObject]] = {}
    for item in (*chosen, *[item for item in among if _kind_of(item) not in kinds]):
        by_kind.setdefault(_kind_of(item), []).append(item)
    findings: list[Finding] = []
    definitions = {kind: definition for kind, items in by_kind.items() if (definition := _one_of(items, findings))}
    return Definitions(definitions, tuple(findings))


def _one_of(items: Iterable[KubeObject], findings: list[Finding]) -> Definition | None:
    """The definition that all `items`, CRDs of one kind, give; None, with what is wrong, where they give no single one.

    A chart's copy of an operator's CRD is the same definition, whatever its labels and descriptions are.
    """
    # Only where there are any, is what reads and checks them imported.
    from packwise.validate.definition import read_definition
    from packwise.validate.judge import UNCHECKED
    from packwise.validate.read import SchemaError

    definition: Definition | None = None
    is_wrong = False
    for item in items:
        if definition is not None and item.get("spec") == definition.item.get("spec"):
            continue
        try:
            other = read_definition(item)
        except SchemaError as error:
            findings.append(Finding.of(SCHEMA, item, error.path, error.message))
            is_wrong = True
            continue
        if definition is None:
            definition = other
        elif definition.schemas != other.schemas:
            findings.append(_different(other, definition))
            is_wrong = True
    if definition is None or is_wrong:
        return None
    if definition.needs_expressions and not CRDS.installed:
        message = f"must have the library that evaluates its rules and patterns: {CRDS.advice}"
        findings.append(Finding.of(UNCHECKED, definition.item, ("spec", "versions"), message, severity=Severity.ERROR))
        return None
    return definition


def _different(other: Definition, first: Definition) -> Finding:
    message = (
        f"must stand in the input once, or say the same; it also stands at {place_text(first.item)} with another "
        f"schema, so that no {first.kind} is judged by either: remove one, leave it out with --exclude GLOB, or name "
        "the cluster's with --crds"
    )
    return Finding.of(ONCE, other.item, ("metadata", "name"), message)
