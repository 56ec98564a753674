"""What may not change of a graph that is there. Source: spec/dynamo.md#2.6 and #3.11."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Problem, Rule, Severity
from packwise.frontends.dynamo.rules.check import Check, by_api_server, field_error, refused, where
from packwise.kubernetes.validation import ErrorType
from packwise.revisions.dynamo import Known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.frontends.dynamo.graph import Component
    from packwise.frontends.dynamo.rules.check import Subject

__all__ = ["UPDATE"]


def _pairs(at: Subject) -> Iterator[tuple[Component, Component]]:
    """The components before the change and after it, by name."""
    before = {component.name: component for component in at.before.components} if at.before is not None else {}
    for component in at.graph.components:
        if component.name in before:
            yield before[component.name], component


def _set(at: Subject) -> Iterator[Problem]:
    if at.before is None:
        return
    old = [component.name for component in at.before.components]
    new = [component.name for component in at.graph.components]
    added, removed = sorted(set(new) - set(old)), sorted(set(old) - set(new))
    text = "component topology is immutable and cannot be modified after creation: components "
    for word, names in (("added", added), ("removed", removed)):
        if names:
            shown = ", ".join(f'"{name}"' for name in names)
            message = f"must keep its components: {shown} {word}; delete the graph and create it anew"
            yield refused(("spec", "components"), message, f"{text}{word}: [{' '.join(names)}]")


def _nodes(at: Subject) -> Iterator[Problem]:
    for old, new in _pairs(at):
        if old.is_multinode != new.is_multinode:
            text = f"{where(at, new)}: cannot change node topology between single-node and multi-node after creation"
            message = (
                f"must stay {'multinode' if old.is_multinode else 'of one node'}; delete the graph and create it anew"
            )
            yield refused(new.path("multinode"), message, text)
        if old.inter_pod != new.inter_pod:
            text = (
                "the inter-pod GMS layout cannot be toggled after creation; delete and recreate the "
                "DynamoGraphDeployment"
            )
            message = "must stay as it is: whether GPU memory is shared between pods is decided at creation"
            yield refused(new.path("experimental", "gpuMemoryService"), message, text)


def _constraints(at: Subject) -> Iterator[Problem]:
    if at.before is None:
        return
    detail = (
        "is immutable and cannot be added, removed, or changed after creation; delete and recreate the "
        "DynamoGraphDeployment to change topology constraints"
    )
    message = "must stay as it was created; delete the graph and create it anew"
    if at.before.constraint != at.graph.constraint:
        yield field_error(("spec", "topologyConstraint"), ErrorType.FORBIDDEN, None, detail, message)
    for old, new in _pairs(at):
        if old.constraint != new.constraint:
            yield field_error(new.path("topologyConstraint"), ErrorType.FORBIDDEN, None, detail, message)


def _fixed(at: Subject) -> Iterator[Problem]:
    for old, new in _pairs(at):
        fixed = at.release.min_available is not Known.NO and old.min_available is not None
        if fixed and old.min_available != new.min_available:
            message = f"must stay {old.min_available}"
            yield by_api_server(new.path("minAvailable"), message, "minAvailable is immutable after creation")
        if old.type and old.type != new.type:
            message = f'must stay "{old.type}"; got "{new.type}"'
            yield by_api_server(new.path("type"), message, "type is immutable after it is set")


def _adapter(at: Subject) -> Iterator[Problem]:
    for old, new in _pairs(at):
        if new.scaling_adapter and old.scaling_adapter and old.replicas != new.replicas:
            message = (
                f"must stay {old.replicas}: with a scalingAdapter, its DynamoGraphDeploymentScalingAdapter has the "
                f"replicas; change that, got {new.replicas}"
            )
            detail = (
                "cannot be modified directly when scaling adapter is enabled; scale or update the related "
                "DynamoGraphDeploymentScalingAdapter instead"
            )
            yield field_error(new.path("replicas"), ErrorType.FORBIDDEN, None, detail, message)


def _scaled(at: Subject) -> Iterator[Problem]:
    for old, new in _pairs(at):
        if old.replicas != new.replicas and not (new.scaling_adapter and old.scaling_adapter):
            kind = "PodCliqueScalingGroup" if new.uses_group else "PodClique"
            message = (
                f"changes {old.replicas} to {new.replicas} at the {kind} alone: the operator leaves the template of "
                "the PodCliqueSet that is there as it is"
            )
            yield Problem(new.path("replicas"), message)


UPDATE = (
    Check(Rule("dynamo-update-components", "A graph keeps its components.", "spec/dynamo.md#2.6"), _set),
    Check(Rule("dynamo-update-nodes", "A component stays of one node or of several.", "spec/dynamo.md#2.6"), _nodes),
    Check(Rule("dynamo-update-topology", "Topology constraints stay as they were created.", "spec/dynamo.md#2.6"),
          _constraints),
    Check(Rule("dynamo-update-fixed", "minAvailable and type stay as they were created.",
               "spec/dynamo.md#2.6"), _fixed),
    Check(Rule("dynamo-update-replicas", "The scaling adapter has the replicas.", "spec/dynamo.md#2.6"), _adapter),
    Check(Rule("dynamo-replicas-live", "Replicas of a graph that is there change beside the template.",
               "spec/dynamo.md#3.11", Severity.INFO), _scaled),
)  # fmt: skip
"""Rules of an update."""
