"""The differences between releases of Kubernetes in group scheduling, as data. Source: spec/kubernetes-gangs.md#2.

A minor release is one record, and a feature gate one row. Kubernetes v1.37.2 was run. The data of v1.38 come from the
source of its first beta.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from packwise.objects.index import Index

GROUP = "scheduling.k8s.io"
"""The API group of Workloads, PodGroups and CompositePodGroups."""

GENERIC = "GenericWorkload"
"""The gate of the kinds themselves, and of `spec.schedulingGroup` of pods."""
TOPOLOGY = "TopologyAwareWorkloadScheduling"
"""The gate of `schedulingConstraints`."""
COMPOSITE = "CompositePodGroup"
"""The gate of groups of groups."""
CLAIMS = "DRAWorkloadResourceClaims"
"""The gate of `resourceClaims`."""
PREEMPTION = "PodGroupPreemptionPolicy"
"""The gate of `preemptionPolicy`."""
JOBS = "WorkloadWithJob"
"""The gate of `spec.scheduling` of Jobs."""

NEEDS: Mapping[str, tuple[str, ...]] = {
    GENERIC: (),
    TOPOLOGY: (GENERIC,),
    COMPOSITE: (GENERIC, TOPOLOGY),
    CLAIMS: (GENERIC,),
    PREEMPTION: (GENERIC,),
    JOBS: (GENERIC,),
}
"""Every gate of group scheduling, with the gates that it needs. Without them, the API server does not start."""


class KubernetesRelease(Record):
    """One minor release of Kubernetes: its API versions of group scheduling and its gates."""

    name: str
    """The minor release, such as `v1.37`."""

    served_versions: Mapping[str, tuple[str, ...]]
    """The served versions of each kind, with the preferred one first."""

    is_validated: bool = True
    """True if packwise knows the rules of its objects. Earlier releases have objects of another shape."""

    gates: Mapping[str, str] = {}
    """The gates of the release, each with its stage. All of them are off by default."""

    always_on: frozenset[str] = frozenset()
    """Removed gates. The release always keeps the fields of these gates."""

    max_priority: int | None = 1_000_000_000
    """The highest priority of a group, None for no limit."""

    refuses_mixed_modes: bool = False
    """True if the release refuses mixed policies and disruption modes that v1.37 accepts."""

    compares_preemption: bool = False
    """True if the templates of a Workload must agree on their `preemptionPolicy`, as on their priority."""

    fixes_group_count: bool = True
    """True if `minGroupCount` of a CompositePodGroup cannot change."""

    empty_is_domain: bool = True
    """True if the nodes with an empty value of the label are a domain."""

    looks_at_all: bool = True
    """True if the scheduler checks every candidate domain before it chooses."""

    @property
    def short_name(self) -> str:
        """Return the release without its v, as messages name it."""
        return self.name.removeprefix("v")

    def serves(self, kinds: Iterable[tuple[str, str]]) -> bool:
        """Return True if the release serves each of `kinds`, pairs of a kind and a version."""
        return all(version in self.served_versions.get(kind, ()) for kind, version in kinds)

    def effective_gates(self, wanted: Iterable[str]) -> frozenset[str]:
        """Return the effective gates of `wanted`: the release has them, and every gate that they need is on."""
        has = {gate for gate in wanted if gate in self.gates} | self.always_on
        return frozenset(gate for gate in has if has.issuperset(NEEDS[gate]) or gate in self.always_on)


GROUP_KINDS = _WORKLOAD, _POD_GROUP, _COMPOSITE_GROUP = "Workload", "PodGroup", "CompositePodGroup"
"""The kinds of the API group, in the order in which they are checked."""

_BOTH = ("v1beta1", "v1alpha3")
_ALPHA, _BETA = "alpha", "beta"

RELEASES = (
    KubernetesRelease("v1.35", served_versions={_WORKLOAD: ("v1alpha1",)}, is_validated=False, gates={GENERIC: _ALPHA}),
    KubernetesRelease(
        "v1.36",
        served_versions={_WORKLOAD: ("v1alpha2",), _POD_GROUP: ("v1alpha2",)},
        is_validated=False,
        gates={GENERIC: _ALPHA},
    ),
    KubernetesRelease(
        "v1.37",
        served_versions={_WORKLOAD: _BOTH, _POD_GROUP: _BOTH, _COMPOSITE_GROUP: ("v1alpha3",)},
        gates={
            GENERIC: _BETA, TOPOLOGY: _ALPHA, COMPOSITE: _ALPHA, CLAIMS: _BETA, PREEMPTION: _ALPHA, JOBS: _ALPHA,
        },
    ),
    KubernetesRelease(
        "v1.38",
        served_versions={_WORKLOAD: _BOTH, _POD_GROUP: _BOTH, _COMPOSITE_GROUP: _BOTH},
        gates={GENERIC: _BETA, TOPOLOGY: _BETA, COMPOSITE: _BETA, CLAIMS: _BETA, JOBS: _ALPHA},
        always_on=frozenset({PREEMPTION}),
        max_priority=None,
        refuses_mixed_modes=True,
        compares_preemption=True,
        fixes_group_count=False,
        empty_is_domain=False,
        looks_at_all=False,
    ),
)  # fmt: skip
"""The releases, the oldest first."""

_BY_NAME = {release.name: release for release in RELEASES}

NEWEST = _BY_NAME["v1.37"]
"""The release that packwise assumes if none is set: the newest one that was run."""


def kubernetes_release(version: str | None, kinds: Collection[tuple[str, str]] = ()) -> KubernetesRelease:
    """Return the release in the settings. `version` may have a patch number.

    If none is set, return the newest tested release if it serves each of `kinds`, else the newest release that does.
    """
    if version is not None:
        return _BY_NAME[".".join(version.split(".")[:2])]
    candidates = (NEWEST, *reversed(RELEASES))
    return next((release for release in candidates if release.serves(kinds)), NEWEST)


def release_for(index: Index, version: str | None) -> KubernetesRelease:
    """Return the release in the settings. Return the release to assume for the objects of the input if none is set."""
    items = [item for kind in GROUP_KINDS for item in index.of_kind(GROUP, kind)]
    return kubernetes_release(version, set(map(kind_and_version, items)))


def kind_and_version(item: KubeObject) -> tuple[str, str]:
    """Return the kind of an object and its version without the group."""
    return item.kind, item.api_version.rpartition("/")[2]
