"""The differences between releases of Dynamo's operator, as data. Source: spec/dynamo.md#1 and #3.

A minor release is one record, because changes within a minor release are unknown (spec/dynamo.md#6).
"""

from __future__ import annotations

from enum import Enum, auto

from krmfn.hints import TYPE_CHECKING, Record
from packwise.revisions.grove import REVISIONS, precedes

if TYPE_CHECKING:
    from typing import Literal

    from packwise.revisions.grove import Revision


class Known(Enum):
    """The certainty that a release has a feature."""

    NO = auto()
    UNSURE = auto()
    """The feature came with this release or with the next one, as far as the sources show. packwise warns, and
    refuses nothing.
    """
    YES = auto()


class Texts(Enum):
    """The words that the webhook uses."""

    SERVICES = auto()
    """Sentences that name services and profiles."""
    COMPONENTS = auto()
    """Sentences that name components and ClusterTopologies."""
    FIELDS = auto()
    """Field errors of Kubernetes that name ClusterTopologyBindings."""


class DynamoRelease(Record):
    """One minor release of Dynamo, and the way in which its operator handles a DynamoGraphDeployment."""

    name: str
    """The minor release, such as `1.4`."""

    kai: str
    """The oldest compatible KAI Scheduler in its compatibility table, or ""."""

    grove: str
    """The oldest compatible Grove in its compatibility table, or ""."""

    grove_before: str | None
    """The first incompatible release of Grove, or None if none is known."""

    constraint: Literal["packDomain", "pack"]
    """The field of a topology constraint in its PodCliqueSets."""

    texts: Texts
    """The form of its webhook's texts."""

    serves_v1beta1: bool = False
    """True if the API server accepts DynamoGraphDeployments of v1beta1."""

    stores_v1beta1: bool = False
    """True if the operator reads graphs as v1beta1, whatever version was written."""

    multinode_min_available: bool = True
    """True if the gang needs every worker of a multinode replica, False if it needs one."""

    names_graph: bool = True
    """True if a PodCliqueSet has the label with the name of its graph."""

    shortens_names: bool = True
    """True if the operator shortens a name that is too long for names of pods."""

    min_available: Known = Known.YES
    """YES if components have `minAvailable`."""

    component_topology_alone: Known = Known.YES
    """YES if a component may have a topologyConstraint although the graph and another component have none."""

    force_scaling_group: Known = Known.YES
    """YES if `experimental.grove.forceScalingGroup` exists."""

    provider_override: Known = Known.YES
    """YES if `providerOverride` exists."""

    roles: Known = Known.YES
    """YES if `roles` exists."""

    coherent: Known = Known.YES
    """YES if a graph may request Grove's strategy Coherent."""

    runtime_version: Known = Known.YES
    """YES if an image without a version in its tag needs `runtimeVersionOverride`."""


_1_0 = DynamoRelease(
    name="1.0",
    kai="v0.13.0",
    grove="v0.1.0-alpha.6",
    grove_before="v0.1.0-alpha.9",
    constraint="packDomain",
    texts=Texts.SERVICES,
    multinode_min_available=False,
    names_graph=False,
    shortens_names=False,
    min_available=Known.NO,
    component_topology_alone=Known.NO,
    force_scaling_group=Known.NO,
    provider_override=Known.NO,
    roles=Known.NO,
    coherent=Known.NO,
    runtime_version=Known.NO,
)
_1_1 = _1_0.replace(name="1.1", kai="v0.13.4", grove="v0.1.0-alpha.8", multinode_min_available=True, names_graph=True)
_1_2 = _1_1.replace(name="1.2", texts=Texts.COMPONENTS, serves_v1beta1=True, shortens_names=True)
_1_3 = _1_2.replace(name="1.3", min_available=Known.UNSURE)
_1_4 = _1_3.replace(
    name="1.4",
    grove="v0.1.0-alpha.10",
    grove_before=None,
    constraint="pack",
    texts=Texts.FIELDS,
    min_available=Known.YES,
    component_topology_alone=Known.UNSURE,
    force_scaling_group=Known.UNSURE,
    coherent=Known.UNSURE,
    runtime_version=Known.UNSURE,
)
_1_5 = _1_4.replace(
    name="1.5",
    kai="v0.17.0",
    grove="v0.1.0-alpha.13",
    stores_v1beta1=True,
    component_topology_alone=Known.YES,
    force_scaling_group=Known.YES,
    provider_override=Known.YES,
    runtime_version=Known.YES,
)
_1_6 = _1_5.replace(name="1.6", grove="v0.1.0-alpha.14-rc1", roles=Known.YES, coherent=Known.YES)

RELEASES = (_1_0, _1_1, _1_2, _1_3, _1_4, _1_5, _1_6)
"""Every release with a record, oldest first."""

NEWEST = RELEASES[-1]
"""The release that packwise assumes if none is set."""

STUCK_AT_ZERO = ("v0.1.0-alpha.12",)
"""Releases of Grove in which pods stay gated after a workload returns from zero replicas. Source: grove#809."""

_BY_NAME = {release.name: release for release in RELEASES}


def release_of(name: str) -> DynamoRelease | None:
    """Return the record of the release with a name such as `1.4` or `1.4.2`, or None."""
    return _BY_NAME.get(".".join(name.split(".")[:2]))


def goes_with(release: DynamoRelease, revision: Revision) -> bool:
    """Return True if the operator of `release` runs with `revision` of Grove, by its compatibility table."""
    is_older = release.grove in REVISIONS and precedes(revision, REVISIONS[release.grove])
    is_newer = release.grove_before is not None and not precedes(revision, REVISIONS[release.grove_before])
    return not is_older and not is_newer


def release_that_goes_with(revision: Revision) -> DynamoRelease | None:
    """Return the newest release that is compatible with `revision` of Grove, or None."""
    return next((release for release in reversed(RELEASES) if goes_with(release, revision)), None)
