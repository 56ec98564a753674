"""A scheduler's objects where a topology may say that others keep its object: made, or only compared.

Source: operator.md 9 (H), gitops.md "Who owns what".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.finding import Finding, Rule, Severity
from packwise.plan import Condition, Generated
from packwise.schedulers.topologies import SchedulerTopologies, judge, own_topologies
from packwise.topology.clustertopologybinding import KIND, REFERENCES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.plan import Schedulers
    from packwise.schedulers.scheduler import Scheduler
    from packwise.select.selection import Selection
    from packwise.select.topologies import KnownTopologies, KnownTopology

__all__ = ["RULES", "referenced_topologies", "with_reference"]

UNLISTED = Rule(
    "binding-reference",
    "A binding lists the topology that is applied from Git, so that the operator makes none.",
    "gitops.md Who owns what",
    Severity.WARNING,
)
DRIFT = Rule(
    "binding-drift", "The topology that a binding lists has the binding's levels.", "operator.md 9", Severity.WARNING
)
UNSEEN = Rule("binding-unseen", "The topology that a binding lists is among the input.", "operator.md 9", Severity.INFO)
RULES = (UNLISTED, DRIFT, UNSEEN)
"""Rules of the topologies that bindings list."""

_CONDITION = "SchedulerTopologyDrift"
_IN_SYNC = Condition(_CONDITION, "False", "InSync", "All scheduler backend topologies are in sync")
_DRIFTED = Condition(_CONDITION, "True", "Drift", "One or more scheduler backend topologies have drifted")


def referenced_topologies(
    scheduler: Scheduler, known: KnownTopologies, selection: Selection, schedulers: Schedulers
) -> SchedulerTopologies:
    """The scheduler's object of each binding that does not list another; the conditions of all bindings.

    A binding that lists one of its own name means the object that is rendered of it, unless the input has that object.
    """
    findings = list(own_topologies(scheduler, selection))
    conditions: dict[int, tuple[Condition, ...]] = {id(binding.item): () for binding in known.by_name.values()}
    if scheduler.profile not in schedulers.names:
        return SchedulerTopologies((), tuple(findings), {}, conditions)
    theirs = {item.name: item for item in selection.index.of_kind(scheduler.group, scheduler.topology_kind)}
    rendered = selection.settings.emits(scheduler.topology_kind)
    generated: list[Generated] = []
    compared: list[tuple[KnownTopology, str]] = []
    keys = {name: scheduler.read_keys(item.value) for name, item in theirs.items()}
    for binding in known.by_name.values():
        name, reference = binding.topology.name, binding.references.get(scheduler.profile)
        if reference is not None and (reference != name or name in theirs):
            compared.append((binding, reference))
            continue
        value = scheduler.topology_value(binding.topology)
        surely_valid = False
        if binding.valid:
            way_out = f"let {'.'.join(map(str, REFERENCES))} list another, or "
            judgement = judge(scheduler, binding, selection, way_out=way_out if rendered else None)
            findings += judgement.findings
            surely_valid = judgement.surely_valid
            if reference is None and is_applied(scheduler, selection):
                findings.append(_unlisted(scheduler, binding))
        recreate = scheduler.topology_immutable and surely_valid
        generated.append(Generated(value, f"{KIND} {name}", binding.item, recreate=recreate))
        keys.setdefault(name, scheduler.read_keys(value))
        conditions[id(binding.item)] = (_IN_SYNC,)
    for binding, reference in compared:
        found = keys.get(reference)
        if found is None:
            findings.append(_unseen(scheduler, binding, reference))
        else:
            in_sync = found == [level.key for level in binding.topology.levels]
            conditions[id(binding.item)] = (_IN_SYNC if in_sync else _DRIFTED,)
            findings += [] if in_sync else [_drifted(scheduler, binding, reference, found)]
    return SchedulerTopologies(tuple(generated), tuple(findings), {}, conditions)


def is_applied(scheduler: Scheduler, selection: Selection) -> bool:
    """Whether the scheduler's objects are rendered to be applied."""
    enabled = selection.schedulers is not None and scheduler.profile in selection.schedulers.names
    return enabled and selection.settings.apply and selection.settings.emits(scheduler.topology_kind)


def with_reference(item: KubeObject, scheduler: Scheduler, selection: Selection) -> KubeObject:
    """`item`, a binding, with the entry that its rendered topology needs; itself where it needs none, or is none.

    Raises FieldError where an anchor or alias is in the way.
    """
    if item.kind != KIND or not is_applied(scheduler, selection) or not isinstance(item.get("spec"), dict):
        return item
    entries = item.get(REFERENCES)
    listed: Sequence[Value] = entries if isinstance(entries, list) else ()
    if any(isinstance(entry, dict) and entry.get("schedulerName") == scheduler.profile for entry in listed):
        return item
    entry: dict[str, Value] = {"schedulerName": scheduler.profile, "topologyReference": item.name}
    return item.set(REFERENCES, [*listed, entry])


def _unlisted(scheduler: Scheduler, binding: KnownTopology) -> Finding:
    name = binding.topology.name
    message = (
        f'lists no topology of {scheduler.profile}, so the operator makes {scheduler.topology_kind} "{name}" itself '
        f"and reports drift of the one that is applied from Git; list it: {REFERENCES[-1]} with schedulerName "
        f'"{scheduler.profile}" and topologyReference "{name}"'
    )
    return Finding.of(UNLISTED, binding.item, ("spec",), message, at_key=True)


def _unseen(scheduler: Scheduler, binding: KnownTopology, reference: str) -> Finding:
    message = (
        f'{scheduler.topology_kind} "{reference}" is not among the input, so its levels are not compared; '
        "it must have those of the binding, in their order"
    )
    return Finding.of(UNSEEN, binding.item, REFERENCES, message)


def _drifted(scheduler: Scheduler, binding: KnownTopology, reference: str, found: Sequence[str]) -> Finding:
    wanted = ", ".join([level.key for level in binding.topology.levels])
    message = (
        f'{scheduler.topology_kind} "{reference}" must have the levels of the binding, {wanted}; it has '
        f"{', '.join(found)}; change one of the two"
    )
    return Finding.of(DRIFT, binding.item, REFERENCES, message)
