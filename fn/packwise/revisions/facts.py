"""What is known of each release of Grove beside what it does: when it came, what is new, what it goes with.

Source: spec/grove-releases.md#1 and #7.
"""

from __future__ import annotations

from krmfn.record import NamedTuple

__all__ = ["RELEASES", "Release"]


class Release(NamedTuple):
    """A release: `date` is known to the day or is a span; `goes_with` are versions of KAI and Dynamo, where known."""

    tag: str
    date: str
    news: str
    goes_with: str = ""


RELEASES = (
    Release(
        "v0.1.0-alpha.7",
        "2026-03-23",
        "one ClusterTopology, made of the configured levels",
        "KAI 0.12 or newer; Dynamo 1.0, 1.1",
    ),
    Release(
        "v0.1.0-alpha.8",
        "2026-04-16",
        "scheduler profiles, PodGangs before their pods, resource sharing, MNNVL groups",
        "KAI 0.13.4 or newer; Dynamo 1.1 to 1.3",
    ),
    Release("v0.1.0-alpha.9", "2026-05-20", "ClusterTopologyBindings, `topologyName`, `packDomain` of any name"),
    Release(
        "v0.1.0-alpha.10", "2026-07-02", "`pack.required` and `pack.preferred`; volcano and lpx-scheduler", "KAI 0.15"
    ),
    Release(
        "v0.1.0-alpha.11",
        "2026-07-03",
        "the chart alone: volcano and lpx-scheduler are off by default",
        "Dynamo 1.4 needs this or newer",
    ),
    Release(
        "v0.1.0-alpha.12-rc1",
        "2026-07-21",
        "a clique without a name is one error; another name of the token's secret",
        "KAI 0.13.4; Dynamo 1.4.0",
    ),
    Release(
        "v0.1.0-alpha.12-rc2",
        "before 2026-09-04",
        "the operator makes KAI's PodGroups; a workload must name its queue",
        "KAI 0.15 or newer",
    ),
    Release(
        "v0.1.0-alpha.12",
        "2026-08-24 to 08-27",
        "PodGangMaps: epochs in the names of PodGangs, other constraints beyond minAvailable",
        "KAI 0.15 or newer; Dynamo 1.4.1, 1.4.2",
    ),
    Release("v0.1.0-alpha.13", "2026-09-04 to 09-06", "fixes", "KAI 0.17 or newer; Dynamo 1.5.0, 1.5.1"),
    Release(
        "v0.1.0-alpha.14-rc1",
        "after 2026-09-18",
        "the pod's index in its scaling group; what else it has of alpha.14 is not known",
        "KAI 0.17 or newer; Dynamo 1.6.0, 1.6.1",
    ),
    Release(
        "v0.1.0-alpha.14",
        "after 2026-09-26",
        "Coherent updates, `rollingUpdate`, `topologyReference` counts, minAvailable is 1 by default",
        "KAI 0.17, 0.18; Dynamo 1.6 needs it for Coherent",
    ),
)
"""Every release that has a record, in the order of the tags."""
