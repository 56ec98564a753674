"""What no operator refuses, and hurts people. Source: spec/dynamo.md#4."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Problem, Rule, Severity
from packwise.frontends.dynamo.graph import CPU_TYPES, WORKERS
from packwise.frontends.dynamo.rules.apart import APART
from packwise.frontends.dynamo.rules.check import Check
from packwise.frontends.dynamo.shape import DEFAULT_QUEUE, QUEUE, STRATEGY
from packwise.frontends.dynamo.values import mapping
from packwise.revisions.dynamo import STUCK_AT_ZERO, Known
from packwise.wording import told_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.frontends.dynamo.graph import Component
    from packwise.frontends.dynamo.rules.check import Subject

__all__ = ["ADVICE"]


def _partial(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        if component.nodes > 2 and not at.release.multinode_min_available:
            message = (
                f"is scheduled as a gang of the leader and one worker with Dynamo {at.release.name}: of "
                f"{component.nodes} nodes the others may never come. Dynamo 1.1 needs all of them"
            )
            yield Problem(component.path("multinode", "nodeCount"), message)


def _pinned(at: Subject) -> Iterator[Problem]:
    if not at.graph.pack_domain:
        return
    for component in at.graph.components:
        if component.type in CPU_TYPES and component.constraint is None and not _has_gpu(component):
            message = (
                f'stands in the same {at.graph.pack_domain} as the GPUs: "{component.name}" inherits the graph\'s '
                "constraint and is in its base gang, so that it takes CPUs there, and without a place for it no pod "
                "starts; constrain the workers instead of the graph"
            )
            yield Problem(component.path(), message)


def _has_gpu(component: Component) -> bool:
    resources = mapping(component.main.get("resources"))
    return any("gpu" in name for side in ("limits", "requests") for name in mapping(resources.get(side)))


def _narrow(at: Subject) -> Iterator[Problem]:
    topology = at.topologies.get(at.graph.constraint.topology_name) if at.graph.constraint is not None else None
    for component in at.graph.components:
        own = component.constraint is not None
        domain = component.constraint.pack_domain if component.constraint is not None else at.graph.pack_domain
        lowest = topology.strictest.domain if topology is not None and topology.strictest is not None else "host"
        if component.is_multinode and domain == lowest and domain:
            message = (
                f'wants all {component.nodes} nodes of a replica within one "{domain}", the narrowest domain; take a '
                "broader one"
            )
            path = (
                component.path("topologyConstraint", "packDomain")
                if own
                else ("spec", "topologyConstraint", "packDomain")
            )
            yield Problem(path, message)


def _shortened(at: Subject) -> Iterator[Problem]:
    if at.set_name != at.graph.name:
        message = (
            "is too long for the names of the pods with those of the components: the PodCliqueSet is called "
            f'"{at.set_name}", and so are its PodGangs and pods; its last four digits are a hash, which another graph '
            "may have too"
        )
        yield Problem(("metadata", "name"), message)


def _lost(at: Subject) -> Iterator[Problem]:
    for key in at.graph.annotations:
        if key.startswith(("grove.io/", "scheduling.grove.io/")):
            message = "does not reach the PodCliqueSet: its annotations are those in spec.annotations; put it there"
            yield Problem(("metadata", "annotations", key), message, at_key=True)


def _zero(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        if component.replicas_written and component.replicas == 0 and at.revision.name in STUCK_AT_ZERO:
            message = f'leaves pods gated when it comes back from 0 with Grove "{at.revision.name}" (grove#809)'
            yield Problem(component.path("replicas"), message)


def _failover(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        experimental = mapping(component.value.get("experimental"))
        if experimental.get("failover") is not None and experimental.get("gpuMemoryService") is None:
            message = "wants `gpuMemoryService` beside it: later releases of Dynamo refuse the one without the other"
            yield Problem(component.path("experimental", "failover"), message)


def _unsure(at: Subject) -> Iterator[Problem]:
    """Fields that a release drops, or has from some patch release on."""
    release = at.release
    for component in at.graph.components:
        experimental = mapping(component.value.get("experimental"))
        fields = (
            (release.min_available, component.min_available is not None, ("minAvailable",)),
            (release.force_scaling_group, "grove" in experimental, ("experimental", "grove")),
            (release.provider_override, component.override is not None, ("providerOverride",)),
            (release.roles, component.value.get("roles") is not None, ("roles",)),
        )
        for known, is_there, steps in fields:
            if is_there and known is not Known.YES:
                yield Problem(component.path(*steps), _drops(release.name, known), at_key=True)
    if at.graph.override is not None and release.provider_override is not Known.YES:
        yield Problem(("spec", "providerOverride"), _drops(release.name, release.provider_override), at_key=True)
    if release.coherent is Known.UNSURE and at.graph.annotations.get(STRATEGY) == "Coherent":
        message = f"may be refused by Dynamo {release.name}: 1.6 takes it for sure"
        yield Problem(("metadata", "annotations", STRATEGY), message)


def _drops(release: str, known: Known) -> str:
    if known is Known.NO:
        return f"is no field of Dynamo {release}: its API server drops it"
    return f"is a field of Dynamo {release} from some patch release on; where it is none, the API server drops it"


def _queue(at: Subject) -> Iterator[Problem]:
    if not at.settings.kai_scheduler or not at.queues:
        return
    queue = at.graph.annotations.get(QUEUE, "").strip() or DEFAULT_QUEUE
    if queue not in at.queues:
        message = (
            f'asks for the queue "{queue}", which is not in the input{told_known(queue, at.queues)}: without it the '
            "operator makes no PodCliqueSet"
        )
        yield Problem(("metadata", "annotations", QUEUE), message)


def _waits(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        if component.waits_for_checkpoint:
            path = component.path("experimental", "checkpoint", "startupPolicy")
            yield Problem(path, "keeps the replicas at 0 until the checkpoint is ready, and so they are rendered")


def _rigid(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        moves = component.scaling_adapter and component.type in WORKERS
        if moves and at.graph.pack_domain:
            message = (
                f"adds replicas that must stand in the same {at.graph.pack_domain} as the others, or wait: the graph's "
                "constraint holds for what an autoscaler adds too"
            )
            yield Problem(component.path("scalingAdapter"), message)


ADVICE = (
    Check(Rule("dynamo-gang-partial", "The gang holds all nodes of a replica.", "spec/dynamo.md#4", Severity.WARNING),
          _partial),
    Check(Rule("dynamo-cpu-pinned", "What needs no GPU is not bound to the GPUs' domain.", "spec/dynamo.md#4",
               Severity.WARNING), _pinned),
    *APART,
    Check(Rule("dynamo-domain-narrow", "Several nodes fit into the domain they are to be in.", "spec/dynamo.md#4",
               Severity.WARNING), _narrow),
    Check(Rule("dynamo-domain-scaled", "What is added while it runs fits into the graph's domain.", "spec/dynamo.md#4",
               Severity.WARNING), _rigid),
    Check(Rule("dynamo-name-shortened", "The PodCliqueSet has the name of the graph.", "spec/dynamo.md#3.2",
               Severity.WARNING), _shortened),
    Check(Rule("dynamo-annotation-lost", "Annotations for Grove stand where they are copied from.", "spec/dynamo.md#4",
               Severity.WARNING), _lost),
    Check(Rule("dynamo-scale-to-zero", "Grove brings back what was scaled to zero.",
               "spec/dynamo.md#4", Severity.WARNING), _zero),
    Check(Rule("dynamo-failover", "Failover has the GPU memory service that it needs.", "spec/dynamo.md#5",
               Severity.WARNING), _failover),
    Check(Rule("dynamo-queue", "The queue of a graph is there.", "spec/dynamo.md#2.6", Severity.WARNING), _queue),
    Check(Rule("dynamo-checkpoint", "Pods that wait for a checkpoint are rendered as waiting.", "spec/dynamo.md#3.11",
               Severity.INFO), _waits),
    Check(Rule("dynamo-unsure", "Every field is one that the release of Dynamo has.", "spec/dynamo.md#1.2",
               Severity.WARNING), _unsure),
)  # fmt: skip
"""Warnings about a graph."""
