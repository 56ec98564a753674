"""What the steps hand to each other: objects to generate, conditions to write, what was found on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.finding import Finding
    from packwise.revisions import Revision
    from packwise.topology import ClusterTopology

__all__ = ["Cluster", "Condition", "Generated", "Use", "WorkloadPlan"]


@dataclass(frozen=True, slots=True)
class Cluster:
    """What is known of the cluster that is rendered for.

    `enabled`: whether TAS is. `domains`: the configuration's domains, in its own order. `topologies`: every
    ClusterTopology by name. `auto_mnnvl`: the operator's network.autoMNNVLEnabled.
    """

    revision: Revision
    enabled: bool = False
    domains: tuple[str, ...] = ()
    topologies: Mapping[str, ClusterTopology] = field(default_factory=dict[str, "ClusterTopology"])
    auto_mnnvl: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of an object's status, without its times. Source: revisions.md "Conditions"."""

    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Generated:
    """An object to write: `value` is the manifest without packwise's own annotations.

    `origin` says in words what it is rendered from, `subject` is that object (None: the configuration has none);
    `notes` are further annotations, their keys without the prefix `packwise.dev/`.
    """

    value: Mapping[str, Value]
    origin: str
    subject: KubeObject | None
    notes: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Use:
    """`workload` names the ClusterTopology `topology`; `scheduled` of its pods are, as far as their status tells."""

    topology: str
    workload: KubeObject
    scheduled: int = 0


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """What becomes of one workload. With an error among `findings` there is nothing to write."""

    workload: KubeObject
    findings: tuple[Finding, ...] = ()
    generated: tuple[Generated, ...] = ()
    conditions: tuple[Condition, ...] = ()
