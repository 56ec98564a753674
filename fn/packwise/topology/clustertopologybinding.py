"""ClusterTopologyBinding: levels of any name in their own order, and who else keeps a topology for a scheduler.

Source: operator.md 3 and 9 (H); crds/head.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packwise.finding import Finding, Rule, Stage
from packwise.kubernetes.field_error import ErrorType, OperatorError, TypedText
from packwise.topology.levellist import ShapeCheck, levels_of
from packwise.topology.limits import Fault, Limits
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value

__all__ = ["KIND", "REFERENCES", "RULES", "SHAPE", "check_binding", "check_webhook", "references_of"]

KIND = "ClusterTopologyBinding"

REFERENCES: FieldPath = ("spec", "schedulerTopologyBindings")
"""The topologies that others keep, one for each scheduler."""

SHAPE = Rule("binding-schema", "A ClusterTopologyBinding has the shape its CRD gives it.", "operator.md 3")
UNIQUE = Rule("binding-unique", "No two levels of a binding have the same domain or the same key.", "operator.md 9")
SCHEDULER = Rule(
    "binding-scheduler",
    "schedulerTopologyBindings names each scheduler once, enabled ones with topologies only.",
    "operator.md 9",
)
RULES = (SHAPE, UNIQUE, SCHEDULER)
"""Rules of ClusterTopologyBinding objects."""

_DOMAIN_PATTERN = "^[a-z][a-z0-9-]*$"
_DOMAIN = re.compile(r"[a-z][a-z0-9-]*")
_MAX_DOMAIN = 63

_FIELDS = ("levels", "schedulerTopologyBindings")
_REFERENCE_FIELDS = ("schedulerName", "topologyReference")


def references_of(value: Mapping[str, Value]) -> dict[str, str]:
    """The name of the topology that others keep, by scheduler."""
    found: dict[str, str] = {}
    for entry in _references(value):
        if isinstance(entry, dict):
            scheduler, topology = entry.get("schedulerName"), entry.get("topologyReference")
            if isinstance(scheduler, str) and isinstance(topology, str):
                found[scheduler] = topology
    return found


def check_binding(item: KubeObject, limits: Limits) -> list[Finding]:
    """What the API server refuses in a binding, with its texts. Source: crds/head."""
    check, spec = ShapeCheck(item, SHAPE), item.get("spec")
    found = [*check.metadata(), *check.levels(_domain_fault, limits)]
    if isinstance(spec, dict):
        found += check.unknown(spec, _FIELDS, ("spec",), '"spec"')
        found += _check_references(check, spec.get("schedulerTopologyBindings"))
    return [finding._replace(order=order) for order, finding in enumerate(found)]


def check_webhook(item: KubeObject, enabled: Sequence[str], with_topologies: Sequence[str]) -> list[Finding]:
    """What the operator's webhook refuses: `enabled` schedulers, and those of them that have topologies."""
    found = [*_check_unique(item), *_check_schedulers(item, enabled, with_topologies)]
    return [finding._replace(order=order) for order, finding in enumerate(found)]


def _references(value: Mapping[str, Value]) -> Sequence[Value]:
    spec = value.get("spec")
    found = spec.get("schedulerTopologyBindings") if isinstance(spec, dict) else None
    return found if isinstance(found, list) else ()


def _domain_fault(domain: str) -> Fault | None:
    if not domain:
        text = "{field} in body should be at least 1 chars long"
        return Fault('must not be empty; got ""', ErrorType.INVALID, text)
    if len(domain) > _MAX_DOMAIN:
        message = f"must not be longer than {_MAX_DOMAIN} characters; got {len(domain)}"
        return Fault(message, ErrorType.TOO_LONG, f"may not be more than {_MAX_DOMAIN} bytes")
    if not _DOMAIN.fullmatch(domain):
        message = f'must be lower case letters, digits and `-`, beginning with a letter; got "{domain}"'
        return Fault(message, ErrorType.INVALID, f"{{field}} in body should match '{_DOMAIN_PATTERN}'")
    return None


def _check_references(check: ShapeCheck, found: Value) -> Iterator[Finding]:
    if found is None:
        return
    if not isinstance(found, list):
        yield check.wrong_type(REFERENCES, found, "array")
        return
    for index, entry in enumerate(found):
        path = (*REFERENCES, index)
        if not isinstance(entry, dict):
            yield check.wrong_type(path, entry, "object")
            continue
        yield from check.unknown(entry, _REFERENCE_FIELDS, path, "an entry")
        for name in _REFERENCE_FIELDS:
            if not isinstance(entry.get(name), str):
                yield check.wrong_type((*path, name), entry.get(name), "string")


def _check_unique(item: KubeObject) -> Iterator[Finding]:
    seen: dict[tuple[str, Value], int] = {}
    for index, level in enumerate(levels_of(item.value)):
        for field in ("domain", "key"):
            found = level.get(field) if isinstance(level, dict) else None
            if not isinstance(found, str):
                continue
            first = seen.setdefault((field, found), index)
            if first != index:
                value = TypedText(found) if field == "domain" else found
                error = OperatorError(f"spec.levels[{index}].{field}", ErrorType.DUPLICATE, value)
                message = f'must be unique among the levels; "{found}" also stands at levels[{first}]'
                yield _refused(UNIQUE, item, ("spec", "levels", index, field), message, error)


def _check_schedulers(item: KubeObject, enabled: Sequence[str], with_topologies: Sequence[str]) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, entry in enumerate(_references(item.value)):
        name = entry.get("schedulerName") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            continue
        path = (*REFERENCES, index, "schedulerName")
        # The operator names the field as it was once called.
        field = f"spec.schedulerTopologyReferences[{index}].schedulerName"
        if name in seen:
            message = f'must be named once; "{name}" stands before it'
            yield _refused(SCHEDULER, item, path, message, OperatorError(field, ErrorType.DUPLICATE, name))
        seen.add(name)
        if name not in enabled:
            text = "scheduler backend is not enabled in Grove"
            message = f'must be a scheduler that Grove is configured for, {list_known(enabled)}; got "{name}"'
        elif name not in with_topologies:
            text = "scheduler backend does not implement topology-aware scheduling"
            message = f'must be a scheduler that has topologies; got "{name}"; remove the entry'
        else:
            continue
        yield _refused(SCHEDULER, item, path, message, OperatorError(field, ErrorType.INVALID, name, text))


def _refused(rule: Rule, item: KubeObject, path: FieldPath, message: str, error: OperatorError) -> Finding:
    return Finding.of(rule, item, path, message, operator_message=error.text(), stage=Stage.WEBHOOK)
