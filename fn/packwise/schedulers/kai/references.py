"""KAI's Topologies for releases of Grove with a ClusterTopologyBinding.

A binding may list a Topology that another component makes. packwise then compares the levels of both. Otherwise it
writes the Topology.

Source: spec/grove.md#9, spec/gitops.md#4.
"""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Finding, Rule
from packwise.lenient import entries, mapping
from packwise.objects.index import Generated
from packwise.objects.kinds import CLUSTER_TOPOLOGY_BINDING, TOPOLOGY
from packwise.placement import Gang
from packwise.schedulers import SchedulerObjects
from packwise.schedulers.kai.topology import check_known, users_topologies, value_of
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.topology.bindings import REFERENCES
from packwise.topology.known import Condition, level_origins, node_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.placement import Schedulers
    from packwise.schedulers import SchedulerInput
    from packwise.settings.topologyrender import TopologyRender
    from packwise.topology.known import KnownTopology

UNLISTED = Rule(
    "binding-reference",
    "A ClusterTopologyBinding does not list the Topology that is applied from Git.",
    "spec/gitops.md#4.2",
    Severity.WARNING,
)
DRIFT = Rule(
    "binding-drift",
    "A ClusterTopologyBinding and the Topology that it lists have different levels.",
    "spec/grove.md#9.4",
    Severity.WARNING,
)
UNFOLLOWED = Rule(
    "binding-reference-unfollowed",
    "The PodGroups of the operator do not name the Topology that the binding lists.",
    "spec/grove-releases.md#4.2",
    Severity.WARNING,
)
UNSEEN = Rule(
    "binding-unseen",
    "A ClusterTopologyBinding lists a Topology that is not in the input.",
    "spec/grove.md#9.4",
    Severity.INFO,
)
RULES = (UNLISTED, DRIFT, UNFOLLOWED, UNSEEN)
"""Rules about the Topologies that bindings list."""

_CONDITION = "SchedulerTopologyDrift"
_IN_SYNC = Condition(_CONDITION, "False", "InSync", "All scheduler backend topologies are in sync")
_DRIFTED = Condition(_CONDITION, "True", "Drift", "One or more scheduler backend topologies have drifted")


def referenced_topologies(source: SchedulerInput, schedulers: Schedulers) -> SchedulerObjects:
    """Return a Topology for each binding that lists no other Topology, and the conditions of all bindings.

    If a binding lists a Topology of its own name and the input does not have it, packwise renders it. If that Topology
    is not applied, the binding has drifted.
    """
    findings = list(users_topologies(source))
    bindings = source.topologies.by_name.values()
    conditions: dict[KubeObject, tuple[Condition, ...]] = {binding.item: () for binding in bindings}
    if KAI_PROFILE not in schedulers.names:
        return SchedulerObjects((), tuple(findings), {}, conditions)
    users = {item.name: item for item in source.inventory.items.of_kind(*TOPOLOGY.key)}
    rendered, is_applied = source.settings.emits(TOPOLOGY.name), _is_applied(schedulers, source.settings)
    generated: list[Generated] = []
    compared: list[tuple[KnownTopology, str]] = []
    keys = {name: node_labels(item.value) for name, item in users.items()}
    for binding in bindings:
        name, reference = binding.topology.name, binding.references.get(KAI_PROFILE)
        if reference is not None and (reference != name or name in users):
            compared.append((binding, reference))
            continue
        surely_valid = False
        if binding.is_valid:
            advice = f"list another Topology in {'.'.join(map(str, REFERENCES))}, or "
            verdict = check_known(binding, source, advice=advice if rendered else None)
            findings += verdict.findings
            surely_valid = verdict.surely_valid
            if reference is None and is_applied:
                findings.append(_unlisted_finding(binding))
        generated.append(_generate(binding, recreate=surely_valid))
        keys.setdefault(name, node_labels(generated[-1].value))
        # The operator does not create a Topology that a binding lists.
        is_missing = reference is not None and not is_applied
        conditions[binding.item] = (_DRIFTED if is_missing else _IN_SYNC,)
        findings += [_missing_finding(binding)] if is_missing else []
    revision = source.cluster.revision
    unfollowed = revision.podgroups_by_operator and not revision.follows_references
    used = _topologies_used(source) if unfollowed else set[str]()
    findings += [
        _unfollowed_finding(binding, reference)
        for binding, reference in compared
        if binding.topology.name in used and reference != binding.topology.name
    ]
    for binding, reference in compared:
        levels = keys.get(reference)
        if levels is None:
            findings.append(_unseen_finding(binding, reference))
        else:
            in_sync = levels == [level.key for level in binding.topology.levels]
            conditions[binding.item] = (_IN_SYNC if in_sync else _DRIFTED,)
            findings += [] if in_sync else [_drift_finding(binding, reference, levels)]
    return SchedulerObjects(tuple(generated), tuple(findings), {}, conditions)


def _generate(binding: KnownTopology, *, recreate: bool) -> Generated:
    origins = partial(level_origins, binding.levels, binding.places, "key", "spec/grove.md#9.2")
    source = f"{CLUSTER_TOPOLOGY_BINDING.name} {binding.topology.name}"
    return Generated(value_of(binding.topology), source, binding.item, origins, recreate=recreate)


def _is_applied(schedulers: Schedulers, settings: TopologyRender) -> bool:
    """Return True if the rendered Topologies of KAI are applied to the cluster."""
    return KAI_PROFILE in schedulers.names and settings.apply and settings.emits(TOPOLOGY.name)


def with_reference(item: KubeObject, schedulers: Schedulers, settings: TopologyRender) -> KubeObject:
    """Return the binding `item` with the entry for its rendered Topology, or `item` itself if nothing is missing.

    Raise FieldError if an anchor or alias prevents the change.
    """
    is_binding = item.kind == CLUSTER_TOPOLOGY_BINDING.name
    if not is_binding or not _is_applied(schedulers, settings) or not isinstance(item.get("spec"), dict):
        return item
    listed = entries(item.get(REFERENCES))
    if any(mapping(entry).get("schedulerName") == KAI_PROFILE for entry in listed):
        return item
    entry: dict[str, Value] = {"schedulerName": KAI_PROFILE, "topologyReference": item.name}
    return item.set(REFERENCES, [*listed, entry])


def _unlisted_finding(binding: KnownTopology) -> Finding:
    name = binding.topology.name
    message = (
        f'the binding lists no topology of {KAI_PROFILE}. The operator makes {TOPOLOGY.name} "{name}" itself and '
        "reports drift from the one that you apply from Git. To let the operator make it, set `apply: false` in the "
        f'TopologyRender. To keep yours, list it in {REFERENCES[-1]}, with schedulerName "{KAI_PROFILE}" and '
        f'topologyReference "{name}"'
    )
    return Finding.of(UNLISTED, binding.item, ("spec",), message, at_key=True)


def _topologies_used(source: SchedulerInput) -> set[str]:
    """Return the names of the topologies of gangs that KAI schedules and that have a topology constraint."""
    gangs = [placement.node for placement in source.placements if isinstance(placement.node, Gang)]
    return {gang.topology for gang in gangs if gang.scheduler in ("", KAI_PROFILE) and gang.is_bounded}


def _unfollowed_finding(binding: KnownTopology, reference: str) -> Finding:
    name = binding.topology.name
    message = (
        f'the binding lists {TOPOLOGY.name} "{reference}", but this release of Grove writes the name of the binding, '
        f'"{name}", into PodGroups. KAI schedules their pods only if a {TOPOLOGY.name} has that name. Add one, or '
        "rename the binding (alpha.14 uses the listed name)"
    )
    return Finding.of(UNFOLLOWED, binding.item, REFERENCES, message)


def _unseen_finding(binding: KnownTopology, reference: str) -> Finding:
    message = (
        f'{TOPOLOGY.name} "{reference}" is not in the input, so packwise cannot compare its levels. '
        "They must equal the levels of the binding, in the same order"
    )
    return Finding.of(UNSEEN, binding.item, REFERENCES, message)


def _missing_finding(binding: KnownTopology) -> Finding:
    name = binding.topology.name
    message = (
        f'KAI {TOPOLOGY.name} "{name}" not found: the operator does not make it because the binding lists it, '
        f"and packwise does not render it to be applied. Remove the entry of {KAI_PROFILE} from {REFERENCES[-1]}, or "
        f"apply the {TOPOLOGY.name}"
    )
    return Finding.of(DRIFT, binding.item, REFERENCES, message)


def _drift_finding(binding: KnownTopology, reference: str, levels: Sequence[str]) -> Finding:
    wanted = ", ".join([level.key for level in binding.topology.levels])
    message = (
        f'{TOPOLOGY.name} "{reference}" has the levels {", ".join(levels)}, but the binding has {wanted}; '
        "make them equal"
    )
    return Finding.of(DRIFT, binding.item, REFERENCES, message)
