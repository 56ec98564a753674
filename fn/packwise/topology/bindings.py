"""ClusterTopologyBindings: their levels, and their references to topologies that other components maintain.

The names of the levels are free. The list defines their order. Source: spec/grove.md#3 and #9, spec/designs.md#2;
crds/head.
"""

from __future__ import annotations

import re

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.findings import Problem, Rule, Stage, findings_of, has_errors
from packwise.kubernetes import ErrorType, OperatorError, TypedText, field_error, refusal
from packwise.lenient import entries, value_at
from packwise.objects.index import repetitions
from packwise.objects.kinds import CLUSTER_TOPOLOGY_BINDING
from packwise.topology.known import (
    KnownTopologies,
    KnownTopology,
    level_problems,
    levels_of,
    name_problems,
    unknown_fields,
    wrong_type,
)
from packwise.validate.crds import validate_object
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings import Finding
    from packwise.objects.index import Inventory
    from packwise.revisions.grove import Limits, Revision
    from packwise.validate.crds import Definitions

KIND = "ClusterTopologyBinding"

REFERENCES: FieldPath = ("spec", "schedulerTopologyBindings")
"""Path of the references to topologies that another component maintains, one for each scheduler."""

SHAPE = Rule("binding-schema", "A ClusterTopologyBinding does not match the schema of its CRD.", "spec/grove.md#3.4")
UNIQUE = Rule(
    "binding-unique",
    "Two levels of a ClusterTopologyBinding have the same domain or the same key.",
    "spec/grove.md#9.3",
)
SCHEDULER = Rule(
    "binding-scheduler",
    "schedulerTopologyBindings lists a scheduler twice, or a scheduler without a profile or without topologies.",
    "spec/grove.md#9.3",
)
RULES = (SHAPE, UNIQUE, SCHEDULER)
"""Rules of ClusterTopologyBinding objects."""

_DOMAIN_PATTERN = "^[a-z][a-z0-9-]*$"
_DOMAIN = r"[a-z][a-z0-9-]*"
_MAX_DOMAIN = 63

_FIELDS = ("levels", "schedulerTopologyBindings")
_REFERENCE_FIELDS = ("schedulerName", "topologyReference")


def references_of(value: Mapping[str, Value]) -> dict[str, str]:
    """Map each scheduler to the topology that another component maintains for the scheduler."""
    references: dict[str, str] = {}
    for entry in _references(value):
        if isinstance(entry, dict):
            scheduler, topology = entry.get("schedulerName"), entry.get("topologyReference")
            if isinstance(scheduler, str) and isinstance(topology, str):
                references[scheduler] = topology
    return references


def binding_problems(item: KubeObject, limits: Limits) -> Iterator[Problem]:
    """Yield the problems for which the API server refuses a binding, with its texts. Source: crds/head."""
    spec = item.get("spec")
    yield from name_problems(item.name)
    yield from level_problems(spec, _domain_problem, limits)
    if isinstance(spec, dict):
        yield from unknown_fields(spec, _FIELDS, ("spec",), '"spec"')
        yield from _reference_problems(spec.get("schedulerTopologyBindings"))


def webhook_problems(
    item: KubeObject, enabled: Sequence[str], with_topologies: Sequence[str]
) -> Iterator[tuple[Rule, Problem]]:
    """Yield the problems for which the operator's webhook refuses a binding, each with its rule.

    `enabled` are the names of all enabled schedulers. `with_topologies` are the schedulers that support topologies.
    """
    yield from ((UNIQUE, problem) for problem in _duplicate_levels(item))
    yield from ((SCHEDULER, problem) for problem in _scheduler_problems(item, enabled, with_topologies))


def _references(value: Mapping[str, Value]) -> Sequence[Value]:
    return entries(value_at(value, *REFERENCES))


def _domain_problem(path: FieldPath, domain: str) -> Problem | None:
    field, kind = format_path(path), ErrorType.INVALID
    if not domain:
        message, detail = 'must not be empty; got ""', f"{field} in body should be at least 1 chars long"
    elif len(domain) > _MAX_DOMAIN:
        message = f"must be at most {_MAX_DOMAIN} characters long; got {len(domain)}"
        kind, detail = ErrorType.TOO_LONG, f"may not be more than {_MAX_DOMAIN} bytes"
    elif not re.fullmatch(_DOMAIN, domain):
        message = f'must be lower case letters, digits and `-`, beginning with a letter; got "{domain}"'
        detail = f"{field} in body should match '{_DOMAIN_PATTERN}'"
    else:
        return None
    return field_error(path, kind, domain, detail, message, stage=Stage.SCHEMA)


def _reference_problems(references: Value) -> Iterator[Problem]:
    if references is None:
        return
    if not isinstance(references, list):
        yield wrong_type(REFERENCES, references, "array")
        return
    for index, entry in enumerate(references):
        path = (*REFERENCES, index)
        if not isinstance(entry, dict):
            yield wrong_type(path, entry, "object")
            continue
        yield from unknown_fields(entry, _REFERENCE_FIELDS, path, "an entry")
        for name in _REFERENCE_FIELDS:
            if not isinstance(entry.get(name), str):
                yield wrong_type((*path, name), entry.get(name), "string")


def _duplicate_levels(item: KubeObject) -> Iterator[Problem]:
    """Yield a problem for each level with the domain or the key of an earlier level."""
    seen: dict[tuple[str, Value], int] = {}
    for index, level in enumerate(levels_of(item.value)):
        for field in ("domain", "key"):
            value = value_at(level, field)
            if not isinstance(value, str):
                continue
            first = seen.setdefault((field, value), index)
            if first != index:
                typed = TypedText(value) if field == "domain" else value
                error = OperatorError(f"spec.levels[{index}].{field}", ErrorType.DUPLICATE, typed)
                message = f'two levels have the same value, "{value}" (first at levels[{first}])'
                yield refusal(("spec", "levels", index, field), message, error)


def _scheduler_problems(item: KubeObject, enabled: Sequence[str], with_topologies: Sequence[str]) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, entry in enumerate(_references(item.value)):
        name = value_at(entry, "schedulerName")
        if not isinstance(name, str):
            continue
        path = (*REFERENCES, index, "schedulerName")
        # The operator's text has the former name of the field.
        field = f"spec.schedulerTopologyReferences[{index}].schedulerName"
        if name in seen:
            message = f'duplicate reference to "{name}"'
            yield refusal(path, message, OperatorError(field, ErrorType.DUPLICATE, name))
        seen.add(name)
        if name not in enabled:
            text = "scheduler backend is not enabled in Grove"
            message = f'Grove is not configured for the scheduler "{name}"; known: {list_known(enabled)}'
        elif name not in with_topologies:
            text = "scheduler backend does not implement topology-aware scheduling"
            message = f'the scheduler "{name}" does not support topologies; remove the entry'
        else:
            continue
        yield refusal(path, message, OperatorError(field, ErrorType.INVALID, name, text))


def known_bindings(
    inventory: Inventory, definitions: Definitions, revision: Revision, schedulers: tuple[str, ...]
) -> KnownTopologies:
    """Return the bindings that constraints can name, even if topology-aware scheduling is disabled.

    `schedulers` are the names of the enabled schedulers.
    """
    items = inventory.items.of_kind(*CLUSTER_TOPOLOGY_BINDING.key)
    findings = repetitions(items)
    bindings: list[KnownTopology] = []
    for item in items:
        problems = [
            *_problems(item, inventory, definitions, revision),
            *findings_of(webhook_problems(item, schedulers, revision.topology_backends), item),
        ]
        findings += problems
        valid = not has_errors(problems)
        bindings.append(KnownTopology.of_item(item, valid=valid, references=references_of(item.value)))
    bindings.sort(key=lambda known: known.topology.name)
    by_name = {known.topology.name: known for known in bindings}
    return KnownTopologies(by_name, (), tuple(findings), {name: known.item for name, known in by_name.items()})


def _problems(
    item: KubeObject, inventory: Inventory, definitions: Definitions, revision: Revision
) -> tuple[Finding, ...]:
    """Return findings for which the API server refuses a binding.

    The cluster's CRD decides. Without the CRD, packwise's table decides.
    """
    verdict = validate_object(
        item.value,
        definitions.of_kind(*CLUSTER_TOPOLOGY_BINDING.key),
        lambda: binding_problems(item, revision.limits),
        before=inventory.baseline_object(item),
    )
    return verdict.findings(item, SHAPE)
