"""What KAI refuses or ignores in the Topologies and PodGroups that users wrote. Source: spec/kai.md."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Effect, Finding, Severity
from packwise.objects.kinds import PODGROUP, TOPOLOGY
from packwise.schedulers.kai.aliases import alias_problems
from packwise.schedulers.kai.level_search import known_topologies
from packwise.schedulers.kai.podgroup_rules import podgroup_problems
from packwise.schedulers.kai.podgroups import IGNORED, QUEUE, REFUSED, suited_versions
from packwise.schedulers.kai.topologies import REFUSED as TOPOLOGY_REFUSED
from packwise.schedulers.kai.topology_manifest import NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.kubeobject import KubeObject
    from packwise.findings.finding import Problem
    from packwise.objects.place import Generated
    from packwise.schedulers.scheduler import SchedulerInput
    from packwise.settings import TopologyRender

__all__ = ["check_users_objects"]


def check_users_objects(source: SchedulerInput, rendered: Iterable[Generated]) -> Iterator[Finding]:
    """What KAI has against users' Topologies and PodGroups; `rendered` are the Topologies of the render."""
    suits, items = suited_versions(source), source.inventory.items
    topologies = items.of_kind(*TOPOLOGY.key)
    by_crd = source.definitions.of_kind(*TOPOLOGY.key) is not None
    for item in topologies:
        yield from _findings(item, alias_problems(item.value, suits, schema=not by_crd), source.settings)
    groups = items.of_kind(*PODGROUP.key)
    if not groups:
        return
    by_crd = source.definitions.of_kind(*PODGROUP.key) is not None
    known = known_topologies(source, rendered)
    for item in groups:
        update = source.inventory.before(item.value) is not None
        problems = podgroup_problems(item.value, suits, known, update=update, schema=not by_crd)
        yield from _findings(item, problems, source.settings)
        if not item.get(("spec", "queue")):
            message = f"names no queue: {NAME} schedules none of its pods"
            yield Finding.of(QUEUE, item, ("spec",), message, at_key=True)


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
