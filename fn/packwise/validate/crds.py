"""Validation of objects by the CRDs of the input, as in the cluster's API server.

Without a CRD of its kind, an object is checked by packwise's own table of fields.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Effect, Finding, Problem, Rule, findings_of, place_text
from packwise.objects.index import ONCE, format_identity, identity
from packwise.objects.kinds import CLUSTER_TOPOLOGY, CONFIGURING, GANGS, KINDS, QUEUEING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Generated, Index, Inventory
    from packwise.validate.definition import Definition

UNCHECKED = Rule("crd-rule", "packwise cannot evaluate a rule of a CRD.", "spec/kubernetes.md#3.2", Severity.WARNING)
VERDICT_RULES = (UNCHECKED,)
"""Rules of CRDs whose findings appear only when an object is checked."""


class Verdict(Record):
    """The problems of an object in the API server's order.

    `unchecked` are findings about rules of the CRD that packwise cannot evaluate. `by_definition` is true if a CRD
    decided, and false if packwise's own table did.
    """

    problems: tuple[Problem, ...]
    unchecked: tuple[Finding, ...] = ()
    by_definition: bool = False

    def findings(
        self, subject: KubeObject, rule: Rule, unknown: tuple[Rule, Severity] | None = None
    ) -> tuple[Finding, ...]:
        """Return the problems as findings of `rule` about `subject`, and the findings about unchecked rules of the CRD.

        `unknown` is the rule of unknown fields and the severity of these findings. Without it, `rule` also reports
        unknown fields.
        """
        unknown_rule, severity = (rule, None) if unknown is None else unknown
        by_rule = [(unknown_rule if problem.effect is Effect.UNKNOWN else rule, problem) for problem in self.problems]
        return (*findings_of(by_rule, subject, severity), *self.unchecked)


def validate_object(
    value: Mapping[str, Value],
    definition: Definition | None,
    own_table: Callable[[], Iterable[Problem]],
    *,
    before: Mapping[str, Value] | None = None,
    written: Mapping[str, Value] | None = None,
) -> Verdict:
    """Return the verdict of the API server about `value` by `definition`, or by `own_table` without a definition.

    `before` is the earlier object, or None. `written` is the object before a webhook changed it, or None if no webhook
    did. Its unknown fields are reported.
    """
    if definition is None:
        return Verdict(tuple(own_table()))
    problems: list[Problem] = []
    unchecked: list[Finding] = []
    for problem in definition.problems(value, before, written):
        if problem.effect is Effect.UNCHECKED:
            unchecked.append(Finding.of(UNCHECKED, definition.item, problem))
        else:
            problems.append(problem)
    return Verdict(tuple(problems), tuple(unchecked), by_definition=True)


def no_table() -> Iterable[Problem]:
    """Return no problems. This is the table of a kind that only the cluster's CRD can check."""
    return ()


_GROUP = "apiextensions.k8s.io"
_KIND = "CustomResourceDefinition"

DEFINABLE = frozenset(kind.key for kind in (*KINDS, *CONFIGURING, *QUEUEING) if kind.checked_by_crd)
"""Kinds whose CRDs packwise reads."""

SCHEMA = Rule("crd-schema", "Kubernetes refuses the schema of a CustomResourceDefinition.", "spec/kubernetes.md#3.1")
RULES = (SCHEMA,)
"""Rules of CRDs."""


class Definitions(Record):
    """The CRDs of kinds that packwise reads or writes, by group and kind, and the findings about them.

    If the CRD of a kind is invalid, packwise's own table checks the objects.
    """

    by_kind: Mapping[tuple[str, str], Definition]
    findings: tuple[Finding, ...] = ()

    def of_kind(self, group: str, kind: str) -> Definition | None:
        """Return the CRD of a kind, or None."""
        return self.by_kind.get((group, kind))


NO_DEFINITIONS = Definitions({})
"""An empty set of definitions, for the usual input without a CRD."""


def is_definition(item: KubeObject) -> bool:
    """Return True if `item` is the CRD of a kind that packwise reads or writes.

    Return False for a CRD of v1beta1: Kubernetes 1.22 and newer do not serve this version, and its schema has no fixed
    place.
    """
    value = item.value
    group, _, version = str(value.get("apiVersion")).partition("/")
    return version != "v1beta1" and (group, value.get("kind")) == (_GROUP, _KIND) and _kind_of(item) in DEFINABLE


def _kind_of(item: KubeObject) -> tuple[str, str]:
    """Return the API group and the name of the kind that a CRD defines."""
    return str(item.get("spec.group")), str(item.get("spec.names.kind"))


def definitions_of(chosen_crds: tuple[KubeObject, ...], index: Index) -> Definitions:
    """Return the CRDs in `chosen_crds`. For kinds without a CRD there, return the CRDs of the input."""
    of_input = [item for item in index.of_kind(_GROUP, _KIND) if is_definition(item)]
    if not chosen_crds and not of_input:
        return NO_DEFINITIONS
    chosen = [item for item in chosen_crds if is_definition(item)]
    kinds = {_kind_of(item) for item in chosen}
    by_kind: dict[tuple[str, str], list[KubeObject]] = {}
    for item in (*chosen, *[item for item in of_input if _kind_of(item) not in kinds]):
        by_kind.setdefault(_kind_of(item), []).append(item)
    findings: list[Finding] = []
    definitions = {kind: definition for kind, items in by_kind.items() if (definition := _one_of(items, findings))}
    return Definitions(definitions, tuple(findings))


def _one_of(items: Iterable[KubeObject], findings: list[Finding]) -> Definition | None:
    """Return the definition in `items`, which are CRDs of one kind. Return None if one is invalid or differs.

    In this case, add a finding to `findings`. Only the schemas are compared. So a chart's copy of an operator's CRD may
    have other labels and descriptions.
    """
    # These imports are lazy, because most inputs have no CRD.
    from packwise.validate.definition import read_definition
    from packwise.validate.schema import SchemaError

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
            findings.append(_difference_finding(other, definition))
            is_wrong = True
    if definition is None or is_wrong:
        return None
    if definition.needs_expressions:
        from packwise.extras import CRDS

        if not CRDS.is_installed:
            message = f"packwise cannot check the rules and patterns of this CRD: {CRDS.advice}"
            path = ("spec", "versions")
            findings.append(Finding.of(UNCHECKED, definition.item, path, message, severity=Severity.ERROR))
            return None
    return definition


def _difference_finding(other: Definition, first: Definition) -> Finding:
    message = (
        f"the input has two different schemas for {first.kind}, and packwise uses neither. The other one is at "
        f"{place_text(first.item)}. Remove one, exclude its file with --exclude GLOB, or pass the cluster's with "
        "--crds"
    )
    return Finding.of(ONCE, other.item, ("metadata", "name"), message)


OBJECT = Rule(
    "object-schema",
    "An object does not match the schema of its CRD.",
    "spec/packwise.md#3.7",
)
OBJECT_RULES = (OBJECT,)
"""Rules of objects that no front end checks."""

_OWN = tuple(kind.key for kind in GANGS)
_RENDERED = (*_OWN, CLUSTER_TOPOLOGY.key)


def check_objects(
    generated: Iterable[Generated], inventory: Inventory, definitions: Definitions, unknown: Severity
) -> Iterator[Finding]:
    """Yield violations of CRDs in gangs and rendered ClusterTopologies. Other objects are checked when they are read.

    If several rendered objects of a kind come from one source, only the first refused object has findings. The others
    are similar. `unknown` is the severity of unknown fields.
    """
    for group, kind in _OWN:
        definition = definitions.of_kind(group, kind)
        for item in inventory.items.of_kind(group, kind):
            verdict = validate_object(item.value, definition, no_table, before=inventory.baseline_object(item))
            yield from verdict.findings(item, OBJECT, (OBJECT, unknown))
    refused = set[tuple[str, str]]()
    for rendered in generated:
        group, kind, _, _ = identity(rendered.value)
        if (group, kind) not in _RENDERED or rendered.validated or (kind, rendered.source) in refused:
            continue
        verdict = validate_object(
            rendered.value, definitions.of_kind(group, kind), no_table, before=inventory.baseline_object(rendered.value)
        )
        if verdict.problems:
            refused.add((kind, rendered.source))
        yield from (_crd_finding(rendered, problem, order, unknown) for order, problem in enumerate(verdict.problems))
        yield from verdict.unchecked


def _crd_finding(rendered: Generated, problem: Problem, order: int, unknown: Severity) -> Finding:
    where = format_identity(identity(rendered.value))
    message = (
        f"packwise renders {where} from this object, and the CRD refuses it: {format_path(problem.path)} "
        f"{problem.message}"
    )
    severity = unknown if problem.effect is Effect.UNKNOWN else None
    # The finding is about the source object. The field is one of the rendered object, so the path is removed.
    refusal = problem.replace(path=(), message=message, effect=Effect.REFUSED)
    return Finding.of(OBJECT, rendered.subject, refusal, order=order, severity=severity)
