"""The front end of the default scheduler's gangs: check each object as the API server does, then all objects together.

Source: spec/kubernetes-gangs.md.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Finding
from packwise.frontends.frontend import FrontEnd
from packwise.frontends.kubernetes import rules
from packwise.frontends.kubernetes.advice import WELL_KNOWN_LEVELS, Scene, advise, lacks_template_name
from packwise.frontends.kubernetes.check import (
    SCHEDULING,
    Server,
    check_group,
    check_job,
    check_pods,
    check_ungrouped_pod,
)
from packwise.frontends.kubernetes.gates import gates_of, job_gates, needed_gates, prepare_group, unmet_gates
from packwise.frontends.kubernetes.outline import outlines_of
from packwise.frontends.kubernetes.schema import POD_GATE
from packwise.lenient import mapping, texts, value_at
from packwise.objects.index import identity
from packwise.objects.kinds import KUEUE_TOPOLOGY, TOPOLOGY
from packwise.objects.scheduling_groups import FIELD, Group, link_groups, pods_of, templates_of
from packwise.placement import WorkloadPlan
from packwise.revisions.kubernetes import GROUP, GROUP_KINDS, NEWEST, kind_and_version, release_for
from packwise.settings.topologyrender import settings_place
from packwise.topology.known import Level, ListedTopology, Use, node_labels
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.frontends.kubernetes.check import CheckedObject
    from packwise.frontends.kubernetes.gates import Gates
    from packwise.objects.index import Index, Inventory
    from packwise.objects.scheduling_groups import Pods
    from packwise.placement import Cluster
    from packwise.revisions.grove import Revision
    from packwise.revisions.kubernetes import KubernetesRelease
    from packwise.settings.topologyrender import TopologyRender
    from packwise.topology.known import KnownTopologies
    from packwise.validate.crds import Definitions

_JOB = ("batch", "Job")


class GangObjects(Record):
    """The objects of an input with fields for group scheduling.

    `ungrouped_pods` are Pods that have no group, but had one in the baseline.
    """

    groups: tuple[KubeObject, ...]
    jobs: tuple[KubeObject, ...]
    pods: tuple[Pods, ...]
    ungrouped_pods: tuple[KubeObject, ...] = ()

    @property
    def items(self) -> list[KubeObject]:
        """Return the objects without duplicates, in the order in which they are checked."""
        return list(dict.fromkeys([*self.groups, *self.jobs, *[pods.item for pods in self.pods], *self.ungrouped_pods]))


class _Kubernetes(FrontEnd):
    def plans(
        self,
        inventory: Inventory,
        cluster: Cluster,
        settings: TopologyRender,
        definitions: Definitions,  # noqa: ARG002
    ) -> Iterable[WorkloadPlan]:
        """Yield the plan of each Workload, group or Job with scheduling, and of each other object with findings.

        A plan of this front end generates no objects.
        """
        objects = read_objects(inventory)
        release = release_for(inventory.items, settings.kubernetes.version)
        gates = gates_for(objects, settings, release)
        unknown = Severity.ERROR if settings.unknown_fields == "Error" else Severity.WARNING
        server = Server(release, gates.on, unknown, is_assumed=settings.kubernetes.version is None)
        checked = check_gang_objects(objects, inventory, server)
        findings: dict[KubeObject, list[Finding]] = {item: [] for item in objects.items}
        for each in checked:
            findings[each.item] += each.findings
        scene = _scene(checked, objects, gates, inventory.items, cluster, settings)
        for finding in advise(scene) if release.is_validated else ():
            if finding.subject is not None:
                findings[finding.subject].append(finding)
        outlines = outlines_of(checked, scene)
        about_run = [
            *_unnamed_release(objects, settings, release),
            *_about_gates(settings, release),
            *_unnamed_gates(objects, gates),
        ]
        for item, about in findings.items():
            is_workload = identity(item.value)[0] == GROUP or item.get(SCHEDULING) is not None
            if about or about_run or is_workload:
                yield WorkloadPlan(item, (*about_run, *about), outline=outlines.get(item, ()))
                about_run = []

    def uses(
        self,
        inventory: Inventory,
        settings: TopologyRender,
        revision: Revision,  # noqa: ARG002
    ) -> Iterable[Use]:
        """Yield a use for each node label that constrains a Workload or a group, or one use without a topology.

        There is no topology object, so each node label counts as a topology of one level.
        """
        for item, keys in _keys_by_item(inventory, settings).items():
            yield from (Use(key, item) for key in keys or [None])

    def topologies(
        self,
        inventory: Inventory,
        settings: TopologyRender,
        revision: Revision,  # noqa: ARG002
        known: KnownTopologies,  # noqa: ARG002
    ) -> Iterable[ListedTopology]:
        """Yield each node label that constrains a group, in alphabetical order, as a topology of one level."""
        first: dict[str, KubeObject] = {}
        for item, keys in _keys_by_item(inventory, settings).items():
            for key in keys:
                first.setdefault(key, item)
        for key, item in sorted(first.items(), key=lambda entry: entry[0]):
            yield ListedTopology("node label", key, (Level("", key),), item)


def _keys_by_item(inventory: Inventory, settings: TopologyRender) -> dict[KubeObject, list[str]]:
    """Return the node labels that constrain each Workload and group, in the order of its fields.

    Fields that the API server drops because of a disabled gate are ignored.
    """
    objects = read_objects(inventory)
    release = release_for(inventory.items, settings.kubernetes.version)
    gates = gates_for(objects, settings, release)
    keys: dict[KubeObject, list[str]] = {}
    for item in objects.groups if release.is_validated else ():
        value = prepare_group(item.kind, item.value, release, gates.on).value
        spec = mapping(value.get("spec"))
        if item.kind == "Workload":
            groups = templates_of(item, spec)
        else:
            groups = [Group(item, ("spec",), item.name, spec, is_composite=item.kind != "PodGroup")]
        keys[item] = list(dict.fromkeys([group.key for group in groups if group.key]))
    return keys


def read_objects(inventory: Inventory) -> GangObjects:
    """Return the objects of the input with fields for group scheduling."""
    index = inventory.items
    groups = [item for kind in GROUP_KINDS for item in index.of_kind(GROUP, kind)]
    pods = [
        pods
        for items in index.by_kind.values()
        for item in items
        if not item.has_source or FIELD in item.source.text
        for pods in pods_of(item)
    ]
    jobs = [item for item in index.of_kind(*_JOB) if _is_grouped(item, inventory)]
    ungrouped_pods = [
        item
        for item in (() if inventory.baseline is None else index.of_kind("", "Pod"))
        if item.get(("spec", FIELD)) is None and value_at(inventory.baseline_object(item), "spec", FIELD) is not None
    ]
    return GangObjects(tuple(groups), tuple(jobs), tuple(pods), tuple(ungrouped_pods))


def _is_grouped(item: KubeObject, inventory: Inventory) -> bool:
    """Return True if a Job has or had `spec.scheduling`, or a name that the Job controller cannot use."""
    was = None if inventory.baseline is None else value_at(inventory.baseline_object(item), *SCHEDULING)
    return item.get(SCHEDULING) is not None or was is not None or lacks_template_name(item.name)


def gates_for(objects: GangObjects, settings: TopologyRender, release: KubernetesRelease) -> Gates:
    """Return the feature gates in the settings. Return the gates that the objects need if the settings have none."""
    needed: list[str] = []
    if settings.kubernetes.feature_gates is None:
        needed += [POD_GATE] if objects.pods or objects.ungrouped_pods else []
        for item in objects.groups if release.is_validated else ():
            needed += needed_gates(item.kind, item.value, release)
        for item in objects.jobs if release.is_validated else ():
            needed += job_gates(item.value)
    return gates_of(settings.kubernetes, release, needed)


def check_gang_objects(objects: GangObjects, inventory: Inventory, server: Server) -> list[CheckedObject]:
    """Check every object as the API server does, and return the results."""
    checked = [check_group(item, inventory.baseline_object(item), server) for item in objects.groups]
    if server.release.is_validated:
        checked += [check_job(item, inventory.baseline_object(item), server) for item in objects.jobs]
        checked += [check_pods(pods, inventory.baseline_object(pods.item), server) for pods in objects.pods]
        if POD_GATE in server.gates:
            checked += [check_ungrouped_pod(item, inventory.baseline_object(item)) for item in objects.ungrouped_pods]
    return checked


def _scene(  # noqa: PLR0917
    checked: Sequence[CheckedObject],
    objects: GangObjects,
    gates: Gates,
    index: Index,
    cluster: Cluster,
    settings: TopologyRender,
) -> Scene:
    """Return the facts for the rules in `advice`. Objects have the form in which the API server stores them."""
    kept = [(each.item, each.kept) for each in checked if each.kept is not None]
    users: dict[tuple[str, str], list[Pods]] = {}
    for pods in objects.pods if POD_GATE in gates.on else ():
        if pods.group:
            users.setdefault(pods.key, []).append(pods)
    return Scene(
        release=release_for(index, settings.kubernetes.version),
        gates=gates.on,
        templates={
            identity(item.value)[2:]: templates_of(item, mapping(value.get("spec")))
            for item, value in kept
            if item.kind == "Workload"
        },
        groups=link_groups(_groups(kept)),
        users=users,
        jobs=[(item, value) for item, value in kept if identity(item.value)[:2] == _JOB],
        known=frozenset([(identity(item.value)[2], item.kind, item.name) for item in objects.groups]),
        levels=_levels(index, cluster),
        nodes=[texts(value_at(node, "metadata", "labels")) for node in cluster.nodes],
        kai_name=settings.kai_name,
        classes={item.name: item.get("value") for item in index.of_kind(GROUP, "PriorityClass")},
    )


def _groups(kept: Iterable[tuple[KubeObject, Mapping[str, Value]]]) -> list[Group]:
    return [
        Group(item, ("spec",), item.name, mapping(value.get("spec")), is_composite=item.kind == "CompositePodGroup")
        for item, value in kept
        if item.kind in ("PodGroup", "CompositePodGroup")
    ]


def _levels(index: Index, cluster: Cluster) -> list[tuple[str, ...]]:
    """Return the known lists of node labels, each from the broadest level to the narrowest."""
    topologies = [item for kind in (TOPOLOGY, KUEUE_TOPOLOGY) for item in index.of_kind(*kind.key)]
    written = [tuple(node_labels(item.value)) for item in topologies]
    configured = [tuple([level.key for level in topology.levels]) for topology in cluster.topologies.values()]
    return [WELL_KNOWN_LEVELS, *written, *configured]


def _unnamed_release(objects: GangObjects, settings: TopologyRender, release: KubernetesRelease) -> Iterator[Finding]:
    """Yield one warning if the settings name no release, and the objects need a release other than the newest."""
    if settings.kubernetes.version is None and release is not NEWEST:
        item = next(item for item in objects.groups if not NEWEST.serves([kind_and_version(item)]))
        message = (
            f"the release of Kubernetes is not set; packwise assumes {release.name}, because {NEWEST.name} does not "
            f"serve {item.kind} in {item.api_version}. Set spec.kubernetes.version of a TopologyRender to your "
            "cluster's release"
        )
        yield Finding.of(rules.RELEASE_UNNAMED, item, ("apiVersion",), message)


def _about_gates(settings: TopologyRender, release: KubernetesRelease) -> Iterator[Finding]:
    for gate, need in unmet_gates(settings.kubernetes, release):
        place = settings_place(settings).child("kubernetes", "featureGates", gate)
        yield place.finding(rules.GATES, f"the API server does not start with these gates: {gate} needs {need}")


def _unnamed_gates(objects: GangObjects, gates: Gates) -> Iterator[Finding]:
    if gates.needed:
        noun = "gate" if len(gates.needed) == 1 else "gates"
        message = (
            f"the input needs the feature {noun} {list_known(gates.needed)}. Set spec.kubernetes.featureGates to "
            "the gates of your cluster"
        )
        yield Finding.of(rules.GATES_UNNAMED, objects.items[0], ("apiVersion",), message)


KUBERNETES: FrontEnd = _Kubernetes()
"""The front end of the default scheduler's gangs."""
