"""The differences between releases of Kueue, as data. Source: spec/kueue.md#7.

A minor release is one record. Kueue v0.18 and v0.19 were run. The data of v0.17 and v0.20 come from their sources.
"""

from __future__ import annotations

from krmfn.hints import Record


class KueueRelease(Record):
    """One minor release of Kueue, with the feature gates that are on by default."""

    name: str
    """The minor release, such as `v0.19`."""

    multi_layer: bool = True
    """True if a pod set may request slices of several levels (TASMultiLayerTopology)."""

    elastic_jobs: bool = True
    """True if jobs may be elastic (ElasticJobsViaWorkloadSlices)."""

    serves_v1beta1: bool = True
    """True if the API server accepts objects of `kueue.x-k8s.io/v1beta1`."""

    mutable_levels: bool = False
    """True if the levels of a Topology may change while the hostname is the lowest one."""

    fixes_flavors: bool = True
    """True if the node labels and tolerations of a ResourceFlavor with a topology cannot change."""

    refuses_false: bool = False
    """True if the API server refuses `podset-unconstrained-topology: "false"`. Otherwise no flavor matches such
    pods.
    """

    spreads_topology: bool = False
    """True if Kueue reads the annotation `podset-topology-spreading`."""

    gates_admission: bool = True
    """True if the webhooks check the annotation `admission-gated-by` (AdmissionGatedBy)."""

    patches_runtimes: bool = True
    """True if Kueue resumes a TrainJob through `spec.runtimePatches`, not `podTemplateOverrides`."""

    checks_on_flavors: bool = True
    """True if the webhook of ClusterQueues checks the flavors of admission checks."""

    group_slices: bool = False
    """True if pod sets of a group may request slices (TASGroupedPodSetSlicing)."""

    most_pod_sets: int = 18
    """The largest number of pod sets of a Workload."""

    spark_memory: bool = False
    """True if the memory of a SparkApplication must use Spark's units, `512m` and not `512Mi`."""

    counts_devices: bool = True
    """True if devices of ResourceClaimTemplates count for quota (KueueDRAIntegration)."""

    reserves_pods: bool = False
    """True if DeviceClasses cannot be mapped to a resource named `pods`."""

    refuses_upgrades: bool = False
    """True if a RayService that upgrades with a second cluster must be elastic."""


RELEASES = (
    KueueRelease(
        "v0.17",
        multi_layer=False,
        elastic_jobs=False,
        checks_on_flavors=False,
        most_pod_sets=8,
        counts_devices=False,
        gates_admission=False,
    ),
    KueueRelease("v0.18", multi_layer=False, most_pod_sets=10, gates_admission=False),
    KueueRelease("v0.19"),
    KueueRelease(
        "v0.20",
        serves_v1beta1=False,
        mutable_levels=True,
        fixes_flavors=False,
        refuses_false=True,
        group_slices=True,
        spreads_topology=True,
        spark_memory=True,
        refuses_upgrades=True,
        reserves_pods=True,
    ),
)
"""The releases, the oldest first."""

_BY_NAME = {release.name: release for release in RELEASES}

ASSUMED = _BY_NAME["v0.19"]
"""The release that packwise assumes if none is set: the newest one that packwise's rules were compared with."""


def kueue_release(name: str | None) -> KueueRelease:
    """Return the release in the settings, or the assumed one."""
    return ASSUMED if name is None else _BY_NAME[name]
