"""Kueue as a scheduler of packwise: its Topologies and ResourceFlavors, and findings about workloads that it queues."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.objects.index import identity
from packwise.objects.kinds import KUEUE_TOPOLOGY, RESOURCE_FLAVOR
from packwise.objects.workload_kinds import QUEUE_NAME, WORKLOAD_KINDS, is_queued
from packwise.revisions.kueue import kueue_release
from packwise.schedulers import Scheduler, SchedulerInput, SchedulerObjects
from packwise.schedulers.kueue import admission, ignored, objects, podsets, queue_objects, unmanaged, waiting

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject
    from packwise.placement import Cluster
    from packwise.settings.topologyrender import TopologyRender

RULES = (
    *objects.RULES, *queue_objects.RULES, *admission.RULES, *podsets.RULES, *waiting.RULES, *unmanaged.RULES,
    *ignored.RULES,
)  # fmt: skip
"""All rules about Kueue, in the order of the checks."""

_OLD_VERSION, _OLDEST_VERSION = "v1beta1", "v1alpha1"


class _Kueue(Scheduler):
    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        """Return Topologies and ResourceFlavors if `emit` lists them, and findings about the input.

        The findings are about everything that Kueue refuses or silently ignores.
        """
        items = source.inventory.items
        release = kueue_release(source.settings.kueue.version)
        named = None if source.settings.kueue.version is None else release
        writes = source.settings.emits(KUEUE_TOPOLOGY.emit_word)
        generated, refused = objects.render_objects(source, release) if writes else ([], [])
        jobs = podsets.jobs_of(items)
        # No webhook of Kueue checks the templates of these objects. Kueue queues the pods or Jobs that they make.
        owners = [podsets.with_single_pods(owner) for owner in podsets.owners_of_queued(items)]
        about_pods = tuple(podsets.check_pods((*jobs, *owners), source.settings.kai_name)) if source.checks_pods else ()
        # If the API server refuses a request, do not also report that the job waits because of the same request.
        refused_fields = {(id(each.subject), each.path) for each in about_pods if each.severity is Severity.ERROR}
        about_jobs = waiting.check_chain(source, (*jobs, *owners), generated, release)
        findings = (
            *refused,
            *objects.check_objects(source, release),
            *queue_objects.check_queue_objects(source, release),
            *admission.check_jobs((*jobs, *podsets.services_of(items)), source.inventory, release),
            *about_pods,
            *podsets.check_runtimes(items, named),
            *[
                each
                for each in about_jobs
                if each.rule != waiting.RESOURCES.name or (id(each.subject), each.path) not in refused_fields
            ],
            *unmanaged.check_unmanaged(items),
            *ignored.check_keys(items, named),
            *ignored.check_ignored(items, jobs, release, source.settings.kai_name),
        )
        # Report a problem in a part of another object at that object.
        wrapped = {id(job.item): job.wrapper for job in (*jobs, *owners) if job.wrapper is not None}
        findings = tuple(
            finding if (part := wrapped.get(id(finding.subject))) is None else part.finding(finding)
            for finding in findings
        )
        known = [item for kind in WORKLOAD_KINDS.values() for item in items.of_kind(*kind.key)]
        managed = [job.item if job.wrapper is None else job.wrapper.outer for job in (*jobs, *owners) if job.queue]
        makers = [part.outer for part in wrapped.values() if part.outer.labels.get(QUEUE_NAME)]
        # A TrainJob counts as a queued workload even if its runtime is not in the input.
        every = (*[item for item in known if is_queued(item)], *managed, *makers)
        queued = tuple({id(item): item for item in every}.values())
        return SchedulerObjects(tuple(generated), findings, workloads=queued)

    def fix(self, item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:  # noqa: ARG002
        """Return a Topology or ResourceFlavor in v1beta2, unless the release of Kueue still serves its version.

        Return any other object unchanged.
        """
        is_served = item.api_version.endswith(_OLD_VERSION) and kueue_release(settings.kueue.version).serves_v1beta1
        return item if is_served else self.migrate(item)

    def migrate(self, item: KubeObject) -> KubeObject:
        """Return a Topology or ResourceFlavor of an older API version in v1beta2, or another object unchanged.

        The fields are the same in both versions.
        """
        group, kind, _, _ = identity(item.value)
        known = next((each for each in (KUEUE_TOPOLOGY, RESOURCE_FLAVOR) if each.key == (group, kind)), None)
        is_old = known is not None and item.api_version.rpartition("/")[2] in (_OLD_VERSION, _OLDEST_VERSION)
        return item.set(("apiVersion",), known.api_version) if known is not None and is_old else item


KUEUE: Scheduler = _Kueue()
"""Kueue."""
