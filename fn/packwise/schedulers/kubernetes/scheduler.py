"""The default scheduler. On request, packwise previews the Workloads that a future release of Grove makes for it."""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from packwise.objects.index import Generated
from packwise.objects.kinds import KUBERNETES_WORKLOAD
from packwise.placement import Gang
from packwise.schedulers import Scheduler, SchedulerObjects
from packwise.schedulers.kubernetes.workload import (
    SCHEDULER,
    api_version,
    gang_findings,
    unreleased_findings,
    workload_origins,
    workload_value,
)

if TYPE_CHECKING:
    from packwise.findings import Finding
    from packwise.schedulers import SchedulerInput


class _DefaultScheduler(Scheduler):
    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        """Return a Workload for each gang of Grove that the default scheduler places, if `emit` lists Workloads."""
        findings: list[Finding] = list(unreleased_findings(source))
        if findings or not source.settings.emits(KUBERNETES_WORKLOAD.emit_word):
            return SchedulerObjects(findings=tuple(findings))
        version = api_version(source.settings.kubernetes.version)
        generated: list[Generated] = []
        for placement in source.placements:
            gang = placement.node
            if isinstance(gang, Gang) and gang.is_of_operator and gang.scheduler == SCHEDULER:
                findings += gang_findings(gang)
                generated.append(
                    Generated(
                        value=workload_value(gang, version),
                        source=placement.source,
                        subject=placement.subject,
                        origins=partial(workload_origins, gang),
                        notes={**placement.notes, "unreleased": "GREP-531"},
                        preview=True,
                    )
                )
        return SchedulerObjects(tuple(generated), tuple(findings))


KUBERNETES: Scheduler = _DefaultScheduler()
"""The default scheduler."""
