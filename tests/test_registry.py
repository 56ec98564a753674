"""A new front end or scheduler is a folder and a line in the registry. Here, it is a class and a line."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from krmfn.kubeobject import KubeObject
from packwise.findings import Finding, Origin, Place, Rule
from packwise.objects.index import Generated, Inventory
from packwise.objects.kinds import QUEUE
from packwise.pipeline import registry, render
from packwise.pipeline.selection import Package
from packwise.placement import Bounds, Cluster, Gang, Grouper, Placement, PodSet, WorkloadPlan
from packwise.revisions.grove import Revision, Step
from packwise.schedulers import SchedulerInput, SchedulerObjects
from packwise.settings.topologyrender import TopologyRender
from packwise.topology.known import KnownTopologies, ListedTopology, Use
from packwise.validate.crds import Definitions

PARALLELISM = Rule("job-parallelism", "A Job has pods.", "Kubernetes batch/v1")


class Jobs:
    """A front end for Jobs. Each Job is one gang with the size of its parallelism, packed into a rack."""

    def plans(
        self, inventory: Inventory, cluster: Cluster, settings: TopologyRender, definitions: Definitions
    ) -> Iterable[WorkloadPlan]:
        for item in inventory.items.of_kind("batch", "Job"):
            pods = item.get("spec.parallelism")
            if not isinstance(pods, int) or pods < 1:
                message = f"must be at least 1; got {pods}"
                yield WorkloadPlan(item, (Finding.of(PARALLELISM, item, ("spec", "parallelism"), message),))
                continue
            rack = cluster.topologies["grove-topology"].level_of("rack")
            origin = Origin(Place(item, ("spec",)), "Kubernetes batch/v1", {"members": ("parallelism",)})
            gang = Gang(
                name=item.name,
                namespace=item.namespace or "default",
                workload=item.name,
                sets=(PodSet("pods", None, pods, Bounds(), origin),),
                bounds=Bounds(rack, None, origin),
                members=None,
                topology="grove-topology",
                grouper=Grouper.SERVICE,
                origin=origin,
                owner=Origin(Place(item, ("metadata",)), "Kubernetes batch/v1", {"name": ("name",)}),
                queue=item.labels.get("kai.scheduler/queue"),
            )
            yield WorkloadPlan(item, placements=(Placement(gang, f"Job {item.name}", item, emit_by_default=True),))

    def fix(self, item: KubeObject, revision: Revision, settings: TopologyRender) -> KubeObject:
        return item

    def migrate(self, item: KubeObject, step: Step) -> KubeObject:
        return item

    def uses(self, inventory: Inventory, settings: TopologyRender, revision: Revision) -> Iterable[Use]:
        return [Use("grove-topology", item, is_explicit=False) for item in inventory.items.of_kind("batch", "Job")]

    def topologies(
        self, inventory: Inventory, settings: TopologyRender, revision: Revision, known: KnownTopologies
    ) -> Iterable[ListedTopology]:
        return ()


class Queues:
    """A scheduler that needs a Queue object for every queue that a gang names."""

    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        gangs = [(each, each.node) for each in source.placements if isinstance(each.node, Gang)]
        queues = {gang.queue: (placement, gang) for placement, gang in gangs if gang.queue is not None}
        return SchedulerObjects(
            tuple([
                Generated(
                    {"apiVersion": QUEUE.api_version, "kind": QUEUE.name, "metadata": {"name": name}, "spec": {}},
                    placement.source,
                    placement.subject,
                    lambda gang=gang: {(): gang.owner.of("queue")},
                    emit_by_default=True,
                )
                for name, (placement, gang) in queues.items()
            ])
        )  # fmt: skip

    def fix(self, item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:
        return item

    def migrate(self, item: KubeObject) -> KubeObject:
        return item


CONFIGURATION = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  topologyAwareScheduling: {enabled: true, levels: [{domain: rack, key: example.com/rack}]}
  scheduler: {profiles: [{name: kai-scheduler, default: true}]}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: team-a, labels: {kai.scheduler/queue: gpus}}
spec: {parallelism: 4}
"""


@pytest.fixture
def _entries(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = registry.FrontEndEntry(Jobs, lambda: (PARALLELISM,))
    queues = registry.SchedulerEntry(Queues, tuple)
    monkeypatch.setattr(registry, "FRONT_ENDS", (*registry.FRONT_ENDS, jobs))
    monkeypatch.setattr(registry, "SCHEDULERS", (*registry.SCHEDULERS, queues))


@pytest.mark.usefixtures("_entries")
def test_a_new_front_end_and_a_new_scheduler_work_with_what_is_there() -> None:
    rendered = render(Package((KubeObject.parse(CONFIGURATION), KubeObject.parse(JOB))))

    assert [result.message for result in rendered.results] == []
    assert [(item.kind, item.name, item.get("spec")) for item in rendered.generated] == [
        ("ClusterTopology", "grove-topology", {"levels": [{"domain": "rack", "key": "example.com/rack"}]}),
        ("Queue", "gpus", {}),
        ("Topology", "grove-topology", {"levels": [{"nodeLabel": "example.com/rack"}]}),
        ("PodGroup", "train", {
            "queue": "gpus",
            "topologyConstraint": {"topology": "grove-topology", "requiredTopologyLevel": "example.com/rack"},
            "subGroups": [{"name": "pods", "minMember": 4}],
        }),
    ]  # fmt: skip


@pytest.mark.usefixtures("_entries")
def test_rules_of_a_new_front_end_are_in_the_table_and_in_the_results() -> None:
    from packwise.pipeline.rules import rule_table

    refused = KubeObject.parse(JOB.replace("parallelism: 4", "parallelism: 0"), file="job.yaml")

    rendered = render(Package((KubeObject.parse(CONFIGURATION), refused)))

    assert [(result.tags["rule"], result.message) for result in rendered.results] == [
        ("job-parallelism", "must be at least 1; got 0")
    ]
    assert PARALLELISM in rule_table()
