"""What KAI refuses or ignores in the Topologies and PodGroups that users wrote. Source: spec/kai.md."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Effect
from packwise.findings.finding import Finding, Severity
from packwise.objects.kinds import PODGROUP, TOPOLOGY
from packwise.schedulers.kai.aliases import alias_problems, level_names
from packwise.schedulers.kai.podgroup_rules import podgroup_problems
from packwise.schedulers.kai.podgroup_schema import refused
from packwise.schedulers.kai.podgroups import IGNORED, QUEUE, REFUSED, suited_versions
from packwise.schedulers.kai.topologies import REFUSED as TOPOLOGY_REFUSED
from packwise.schedulers.kai.topology_manifest import NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings import Problem
    from packwise.objects.generated import Generated
    from packwise.schedulers.kai.versions import Versions
    from packwise.schedulers.scheduler import SchedulerInput
    from packwise.settings import TopologyRender

__all__ = ["check_users_objects"]

_LEVELS = ("requiredTopologyLevel", "preferredTopologyLevel")


def check_users_objects(source: SchedulerInput, rendered: Iterable[Generated]) -> Iterator[Finding]:
    """What KAI has against users' Topologies and PodGroups; `rendered` are the Topologies of the render."""
    suits, items = suited_versions(source), source.inventory.items
    topologies = items.of_kind(*TOPOLOGY.key)
    by_crd = source.definitions.of_kind(*TOPOLOGY.key) is not None
    for item in topologies:
        yield from _findings(item, _topology_problems(item.value, suits, schema=not by_crd), source.settings)
    groups = items.of_kind(*PODGROUP.key)
    if not groups:
        return
    by_crd = source.definitions.of_kind(*PODGROUP.key) is not None
    values = [item.value for item in topologies] + [topology.value for topology in rendered]
    levels = {_name(value): level_names(value) for value in reversed(values)}
    for item in groups:
        update = source.inventory.before(item.value) is not None
        problems = podgroup_problems(item.value, suits, update=update, schema=not by_crd)
        yield from _findings(item, problems, source.settings)
        yield from _unknown_levels(item, levels)
        if not item.get(("spec", "queue")):
            message = f"names no queue: {NAME} schedules none of its pods"
            yield Finding.of(QUEUE, item, ("spec",), message, at_key=True)


def _topology_problems(value: Mapping[str, Value], suits: Versions, *, schema: bool) -> Iterator[Problem]:
    """The aliases of its levels, and its API version; the rest is judged like a rendered Topology."""
    yield from alias_problems(value, suits, schema=schema)
    version = value.get("apiVersion")
    if version != TOPOLOGY.api_version:
        yield refused(("apiVersion",), f'must be "{TOPOLOGY.api_version}"; got "{version}"', suits)


def _findings(item: KubeObject, problems: Iterable[Problem], settings: TopologyRender) -> Iterator[Finding]:
    # A field that only some versions know is wrong where the user says that such a version runs.
    unknown = Severity.ERROR if settings.unknown_fields == "Error" else Severity.WARNING
    rule = REFUSED if item.kind == PODGROUP.name else TOPOLOGY_REFUSED
    for order, problem in enumerate(problems):
        severity = unknown if problem.effect is Effect.UNKNOWN and settings.kai_version is not None else None
        yield Finding.of(
            rule if problem.effect is Effect.REFUSED else IGNORED,
            item,
            problem.path,
            problem.full_message,
            severity=severity,
            operator_message=problem.operator_message,
            stage=problem.stage if problem.operator_message is not None else None,
            order=order,
            at_key=problem.effect is Effect.UNKNOWN,
        )


def _unknown_levels(item: KubeObject, known: Mapping[str, Mapping[str, int]]) -> Iterator[Finding]:
    """Constraints by levels that the Topology does not have, where it is known."""
    groups = item.get(("spec", "subGroups"))
    paths: list[FieldPath] = [("spec",)]
    paths += [("spec", "subGroups", position) for position in range(len(groups) if isinstance(groups, list) else 0)]
    for path in paths:
        at = (*path, "topologyConstraint")
        topology = item.get((*at, "topology"))
        levels = known.get(topology) if isinstance(topology, str) else None
        for field in _LEVELS if levels is not None else ():
            level = item.get((*at, field))
            if level and level not in (levels or {}):
                message = (
                    f'must be a level of {TOPOLOGY.name} "{topology}", one of {", ".join(levels or {})}; got '
                    f'"{level}": {NAME} schedules none of these pods'
                )
                yield Finding.of(IGNORED, item, (*at, field), message)
        required, preferred = (item.get((*at, field)) for field in _LEVELS)
        ranks = [(levels or {}).get(level) for level in (required, preferred) if isinstance(level, str)]
        if len(ranks) == 2 and None not in ranks and ranks != sorted(ranks, key=lambda rank: rank or 0):
            message = (
                f'must not be broader than {_LEVELS[0]}, "{required}"; got "{preferred}": {NAME} schedules none of '
                "these pods, and says so in its log only"
            )
            yield Finding.of(IGNORED, item, (*at, _LEVELS[1]), message)


def _name(value: Mapping[str, Value]) -> str:
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
