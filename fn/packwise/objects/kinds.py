"""The kinds of objects that packwise reads and writes, in one table, and the rule about misspelt kinds.

Source: spec/packwise.md#1, spec/gitops.md, spec/kai.md, spec/kueue.md#5, spec/grove.md#9 and #10.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.findings import Finding, Rule
from packwise.wording import letters_apart, list_known

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.objects.index import Index


class FixedLevels(Record):
    """The reaction of the API server to a change of a topology's levels."""

    answer: str
    """The API server's text if it refuses the change. The object must then be deleted and created again."""

    releases: str
    """The releases that refuse every change."""

    since: str
    """The first release in which levels above the hostname can change in place."""


class GangFields(Record):
    """The fields in which a kind of gang has its sets of pods and its topology constraints. Lists are below `spec`."""

    rank: int | None = None
    """Rank among the kinds of gangs, or None for other kinds. If a gang has objects of several kinds, the object with
    the lowest rank is counted.
    """

    pod_lists: tuple[str, ...] = ()
    """Fields with lists of the gang's sets of pods."""

    tree_lists: tuple[str, ...] = ()
    """Fields with lists of sets that form a tree. A set that another set names as its `parent` holds no pods itself."""

    group_lists: tuple[tuple[str, str], ...] = ()
    """Fields with lists of groups, each with the name of a field. This field of a group names the sets in the group."""

    constraint: str = ""
    """The field with the constraint of the gang, of its sets and of its groups."""

    required: FieldPath = ()
    """Path below a constraint to the required node label."""

    preferred: FieldPath = ()
    """Path below a constraint to the preferred node label."""

    topology: FieldPath = ()
    """Path below a constraint to the name of its topology."""

    topology_annotation: str = ""
    """The annotation of a gang with the name of the topology for its constraints."""

    of_operator: bool = False
    """True if the workload's operator creates the objects. If it renames an object, it also relabels the pods. False if
    the objects are the scheduler's own groups of pods.
    """

    scheduler: str = ""
    """The only scheduler that reads the objects, as pods name it in `schedulerName`, or "" for every scheduler."""


class Kind(Record):
    """A kind of object, and all properties that depend only on the kind."""

    group: str
    """API group, "" for the core group."""

    name: str
    """`kind` as manifests spell it."""

    version: str = "v1alpha1"
    """The API version that packwise writes."""

    cluster_scoped: bool = False
    """True if objects have no namespace."""

    write_order: int | None = None
    """Rank among the generated objects, or None if packwise generates none."""

    before_workloads: bool = False
    """True if an object must exist before a workload that names it, because Grove's webhook and KAI look for it."""

    folder: str = "workloads"
    """Folder of generated objects, below `packwise/`."""

    immutable: bool = False
    """True if the API server refuses every change of the spec. A changed object must be deleted and created again."""

    server_filled: tuple[tuple[str, ...], ...] = ()
    """Paths below `spec` of fields that controllers set. If a path has two steps, the first step is a list, and the
    second is a field of each entry.
    """

    checked_by_crd: bool = True
    """True if the objects are checked by the cluster's own CRD, provided that the input contains the CRD."""

    compared: bool = True
    """True if the scheduler reads the objects. `packwise diff` then compares them."""

    is_listed: bool = False
    """True if `packwise topologies` lists users' objects of the kind. No front end reads them."""

    fixed_levels: FixedLevels | None = None
    """The API server's reaction to a change of levels, or None if `packwise diff` needs other facts for this kind."""

    replacing_rule: str = ""
    """The name of the rule that reports an update for which the object must be created again, or ""."""

    dropping_rule: str = ""
    """The name of the rule that reports fields that the API server drops, or ""."""

    counts: tuple[str, ...] = ()
    """Names of fields, at any depth of the spec, with the number of pods or groups that a gang needs. The API server
    accepts changes of these fields.
    """

    title: str = ""
    """The kind's name in packwise's settings and files if another kind has the same name, or ""."""

    written_with: str = ""
    """The kind whose word in `spec.emit` also selects objects of this kind, or "" if this kind has its own word."""

    previewed: bool = False
    """True if rendered objects are only for review. An operator in the cluster creates and owns the real ones."""

    gang: GangFields = GangFields()
    """The fields of a gang. Their `rank` is None if the kind is not a gang."""

    @property
    def api_version(self) -> str:
        """Return `apiVersion` as manifests spell it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def word(self) -> str:
        """Return the kind's unique name in packwise's settings and files."""
        return self.title or self.name

    @property
    def plural(self) -> str:
        """Return the name under which an API server lists its objects."""
        name = self.name.lower()
        return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"

    @property
    def emit_word(self) -> str:
        """Return the word of `spec.emit` that selects objects of the kind."""
        return self.written_with or self.word

    @property
    def key(self) -> tuple[str, str]:
        """Return the API group and the name. They identify the kind in all versions."""
        return self.group, self.name


CLUSTER_TOPOLOGY = Kind(
    "grove.io", "ClusterTopology", cluster_scoped=True, write_order=0, before_workloads=True, folder="topologies"
)
CLUSTER_TOPOLOGY_BINDING = Kind(
    "grove.io", "ClusterTopologyBinding", cluster_scoped=True, before_workloads=True, folder="topologies"
)
TOPOLOGY = Kind(
    "kai.scheduler",
    "Topology",
    cluster_scoped=True,
    write_order=2,
    before_workloads=True,
    folder="topologies",
    immutable=True,
)
KUEUE_TOPOLOGY = Kind(
    "kueue.x-k8s.io",
    "Topology",
    "v1beta2",
    cluster_scoped=True,
    write_order=TOPOLOGY.write_order,
    before_workloads=True,
    folder="topologies",
    is_listed=True,
    fixed_levels=FixedLevels("spec.levels: Invalid value: field is immutable", "Kueue up to v0.19", "v0.20"),
    title="KueueTopology",
)
RESOURCE_FLAVOR = Kind(
    "kueue.x-k8s.io",
    "ResourceFlavor",
    "v1beta2",
    cluster_scoped=True,
    write_order=TOPOLOGY.write_order,
    before_workloads=True,
    folder="topologies",
    written_with=KUEUE_TOPOLOGY.word,
)
QUEUE = Kind(
    "scheduling.run.ai",
    "Queue",
    "v2",
    cluster_scoped=True,
    write_order=1,
    before_workloads=True,
    folder="queues",
)
POD_CLIQUE_SET = Kind("grove.io", "PodCliqueSet", write_order=3, compared=False)
PODGANG = Kind(
    "scheduler.grove.io",
    "PodGang",
    write_order=4,
    server_filled=(("podgroups", "podReferences"),),
    gang=GangFields(
        0,
        pod_lists=("podgroups",),
        group_lists=(("topologyConstraintGroupConfigs", "podGroupNames"),),
        constraint="topologyConstraint",
        required=("packConstraint", "required"),
        preferred=("packConstraint", "preferred"),
        topology_annotation="grove.io/topology-name",
        of_operator=True,
    ),
)
PODGROUP = Kind(
    "scheduling.run.ai",
    "PodGroup",
    "v2alpha2",
    write_order=5,
    server_filled=(("markUnschedulable",), ("schedulingBackoff",)),
    gang=GangFields(
        1,
        tree_lists=("subGroups",),
        constraint="topologyConstraint",
        required=("requiredTopologyLevel",),
        preferred=("preferredTopologyLevel",),
        topology=("topology",),
        topology_annotation=PODGANG.gang.topology_annotation,
    ),
)
VOLCANO_PODGROUP = Kind(
    "scheduling.volcano.sh",
    "PodGroup",
    "v1beta1",
    write_order=PODGROUP.write_order,
    gang=GangFields(2, pod_lists=("subGroupPolicy",), scheduler="volcano"),
)
POD = Kind("", "Pod", "v1", write_order=6, checked_by_crd=False)
_GROUP_UPDATE, _GROUP_DROP = "update-kubernetes-object", "kubernetes-gate-dropped"
KUBERNETES_WORKLOAD = Kind(
    "scheduling.k8s.io",
    "Workload",
    "v1beta1",
    write_order=PODGROUP.write_order,
    checked_by_crd=False,
    replacing_rule=_GROUP_UPDATE,
    dropping_rule=_GROUP_DROP,
    counts=("minCount", "minGroupCount"),
)
KUBERNETES_COMPOSITE = Kind(
    "scheduling.k8s.io",
    "CompositePodGroup",
    "v1alpha3",
    checked_by_crd=False,
    replacing_rule=_GROUP_UPDATE,
    dropping_rule=_GROUP_DROP,
)
KUBERNETES_PODGROUP = Kind(
    "scheduling.k8s.io",
    "PodGroup",
    "v1beta1",
    checked_by_crd=False,
    replacing_rule=_GROUP_UPDATE,
    dropping_rule=_GROUP_DROP,
    counts=("minCount",),
    title="KubernetesPodGroup",
)
PODGANG_MAP = Kind("grove.io", "PodGangMap", compared=False)
DYNAMO_GRAPH = Kind("nvidia.com", "DynamoGraphDeployment", "v1beta1", compared=False, previewed=True)

KINDS = (
    CLUSTER_TOPOLOGY,
    CLUSTER_TOPOLOGY_BINDING,
    TOPOLOGY,
    KUEUE_TOPOLOGY,
    RESOURCE_FLAVOR,
    QUEUE,
    PODGANG,
    PODGROUP,
    VOLCANO_PODGROUP,
    KUBERNETES_WORKLOAD,
    KUBERNETES_COMPOSITE,
    KUBERNETES_PODGROUP,
    POD,
    POD_CLIQUE_SET,
    PODGANG_MAP,
    DYNAMO_GRAPH,
)
"""All kinds. A kind comes before the kinds that refer to it."""

SCHEDULING_SHARD = Kind("kai.scheduler", "SchedulingShard", "v1", cluster_scoped=True, compared=False)
KAI_CONFIG = Kind("kai.scheduler", "Config", "v1", cluster_scoped=True, compared=False)

CONFIGURING = (SCHEDULING_SHARD, KAI_CONFIG)
"""The kinds of KAI's configuration. They are not in `KINDS`, because other projects have kinds with the same names."""

CLUSTER_QUEUE = Kind("kueue.x-k8s.io", "ClusterQueue", "v1beta2", cluster_scoped=True, compared=False)
LOCAL_QUEUE = Kind("kueue.x-k8s.io", "LocalQueue", "v1beta2", compared=False)
COHORT = Kind("kueue.x-k8s.io", "Cohort", "v1beta2", cluster_scoped=True, compared=False)
ADMISSION_CHECK = Kind("kueue.x-k8s.io", "AdmissionCheck", "v1beta2", cluster_scoped=True, compared=False)
WORKLOAD_PRIORITY_CLASS = Kind(
    "kueue.x-k8s.io", "WorkloadPriorityClass", "v1beta2", cluster_scoped=True, compared=False
)

QUEUEING = (CLUSTER_QUEUE, LOCAL_QUEUE, COHORT, ADMISSION_CHECK, WORKLOAD_PRIORITY_CLASS)
"""The kinds of Kueue's queues. packwise reads them and never writes them."""

PRIORITY_CLASS = Kind("scheduling.k8s.io", "PriorityClass", "v1", cluster_scoped=True, compared=False)

POD_DEPENDENCIES = frozenset({
    PRIORITY_CLASS.key,
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolumeClaim"),
    ("", "LimitRange"),
    ("node.k8s.io", "RuntimeClass"),
})  # fmt: skip
"""Group and name of Kubernetes' own kinds to which pods refer. packwise reads their names, labels and a few fields."""

TRAIN_JOB = ("trainer.kubeflow.org", "TrainJob")
"""Group and name of Kubeflow Trainer's kind of jobs."""

WORKLOADS = (POD_CLIQUE_SET, DYNAMO_GRAPH)
"""The kinds of users' workloads."""

GENERATED = tuple(kind for kind in KINDS if kind.write_order is not None)
"""The kinds that packwise generates."""

GANGS = tuple(sorted([kind for kind in KINDS if kind.gang.rank is not None], key=lambda kind: kind.gang.rank or 0))
"""The kinds of gangs, by their rank."""

CLUSTER_SCOPED = frozenset(kind.name for kind in KINDS if kind.cluster_scoped)
"""Names of kinds without a namespace. packwise ignores a namespace that a client writes into their objects."""

_BY_KEY = {kind.key: kind for kind in KINDS}
_BY_NAME = {kind.name: kind for kind in reversed(KINDS)}


def kind_of(name: str) -> Kind:
    """Return the first kind of that name. Raise KeyError if it is unknown."""
    return _BY_NAME[name]


def kind_of_object(value: Mapping[str, Value]) -> Kind:
    """Return the kind of an object. Raise KeyError if it is unknown."""
    group, slash, _ = str(value["apiVersion"]).partition("/")
    return _BY_KEY[group if slash else "", str(value["kind"])]


# The kind, group or version of an object can be a misspelt one of a kind that packwise reads. No API server knows this
# object, and packwise would skip it silently. The table also contains similar kinds of other projects, which are
# correct. Source: the CRDs of Grove, KAI, Volcano and Kueue.

SPELLING = Rule("kind-spelling", "An object has a misspelt kind, API group or version.", "spec/kubernetes.md#1.3")
RULES = (SPELLING,)
"""Rules of kinds, groups and versions."""

_GROVE, _KAI = "grove.io", "kai.scheduler"
_KUEUE = ("Workload", "MultiKueueCluster", "MultiKueueConfig", "ProvisioningRequestConfig")
_OTHERS = {
    ("grove.io", "PodClique"): ("v1alpha1",),
    ("grove.io", "PodCliqueScalingGroup"): ("v1alpha1",),
    ("operator.config.grove.io", "OperatorConfiguration"): ("v1alpha1",),
    ("packwise.dev", "TopologyRender"): ("v1alpha1",),
    ("scheduling.run.ai", "BindRequest"): (),
    ("scheduling.run.ai", "Queue"): ("v1", "v2"),
    ("scheduling.volcano.sh", "PodGroup"): ("v1alpha1", "v1alpha2", "v1beta1"),
    ("scheduling.volcano.sh", "Queue"): (),
    ("kueue.x-k8s.io", "Topology"): ("v1beta1", "v1beta2"),
    ("kueue.x-k8s.io", "ResourceFlavor"): ("v1beta1", "v1beta2"),
    **{kind.key: ("v1beta1", "v1beta2") for kind in QUEUEING},
    **{("kueue.x-k8s.io", kind): () for kind in _KUEUE},
    # Their front ends check the version themselves.
    ("nvidia.com", "DynamoGraphDeployment"): (),
    **{kind.key: () for kind in KINDS if kind.group == KUBERNETES_WORKLOAD.group},
    ("scheduling.k8s.io", "PriorityClass"): (),
    ("nvidia.com", "DynamoGraphDeploymentRequest"): (),
}
"""Other kinds of the same groups, each with its versions. If there are none, every version is accepted."""

_VERSIONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    **{kind.key: (kind.version,) for kind in (*KINDS, *CONFIGURING) if kind is not POD},
    **_OTHERS,
}
_KINDS_BY_GROUP: dict[str, list[str]] = {}
for _group, _kind in _VERSIONS:
    _KINDS_BY_GROUP.setdefault(_group, []).append(_kind)

_UNIQUE_NAMES = (
    "PodCliqueSet", "PodCliqueScalingGroup", "PodClique", "PodGangMap", "PodGang", "ClusterTopologyBinding",
    "TopologyRender", "DynamoGraphDeployment", "DynamoGraphDeploymentRequest",
)  # fmt: skip
"""Kinds whose names no other project uses. An object of such a kind with another group is a mistake."""

_RENAMED = {"PodGangSet": ("PodCliqueSet", "v0.1.0-alpha.1")}
"""Former names of kinds, each with the new name and the first release that has it. Source: grove, #186."""

_SHARED_NAMES = ("ClusterTopology", "OperatorConfiguration", "Topology", "Queue", "PodGroup")
"""Kinds whose names other projects also use. An object of such a kind is a mistake only if its group is similar."""

_WORDS = {
    "grove": ("grove.io", "operator.config.grove.io"),
    "kai": ("kai.scheduler", "scheduling.run.ai"),
    "runai": ("scheduling.run.ai",),
}
"""Words in a misspelt group, each with the groups of the project that it names."""

_GROUPS_OF_OTHERS = frozenset({
    "acid.zalan.do", "kueue.x-k8s.io", "run.ai", "scheduling.incubator.k8s.io", "scheduling.k8s.io",
    "scheduling.koordinator.sh", "scheduling.sigs.k8s.io", "scheduling.volcano.sh", "scheduling.x-k8s.io",
    "topology.node.k8s.io", "topology.volcano.sh",
})  # fmt: skip
"""Groups of other projects that have kinds with these or similar names."""

_MAX_TYPOS = 2
"""The largest number of wrong letters in a misspelt name. For a short name, the largest number is one."""
_SHORT_NAME_LENGTH = 8


class _Intended(Record):
    """The intended kind and the field with the mistake. `since` is the release that renamed the kind, or ""."""

    group: str
    kind: str
    field: str
    since: str = ""


def spelling_findings(index: Index, defined: Container[tuple[str, str]]) -> Iterator[Finding]:
    """Yield an error for each kind that was probably misspelt. `defined` are the kinds of the cluster's own CRDs."""
    for (group, kind), items in index.by_kind.items():
        if not kind and group in _KINDS_BY_GROUP:
            known = list_known(_KINDS_BY_GROUP[group])
            yield from (Finding.of(SPELLING, item, (), f"must have a kind; {group} has {known}") for item in items)
        right = None if (group, kind) in defined else _intended_kind(group, kind)
        versions = () if (group, kind) in defined else _VERSIONS.get((group, kind), ())
        for item in items if right is not None or versions else ():
            version = item.api_version.rpartition("/")[2]
            if right is not None:
                known = _VERSIONS[right.group, right.kind] or (version,)
                message = f'must be {_api(right.group, right.kind, known)}; got "{item.kind}" of "{item.api_version}"'
                why = f"its name before {right.since}, " if right.since else ""
                yield Finding.of(SPELLING, item, (right.field,), f"{message}, {why}which no API server knows")
            elif version not in versions:
                message = f'must be {list_known([f"{group}/{each}" for each in versions])}; got "{item.api_version}"'
                yield Finding.of(SPELLING, item, ("apiVersion",), message)


def may_be_misspelt(group: str, kind: str) -> bool:
    """Return True if `spelling_findings` may report an object of this group and kind."""
    return group in _KINDS_BY_GROUP or _intended_kind(group, kind) is not None


def is_incomplete_object(value: Value) -> bool:
    """Return True if a mapping has only `kind` or `apiVersion`, and its value identifies an object for packwise."""
    if not isinstance(value, dict):
        return False
    kind, version = value.get("kind"), value.get("apiVersion")
    if kind is None:
        return isinstance(version, str) and version.partition("/")[0] in _KINDS_BY_GROUP
    return version is None and isinstance(kind, str) and (kind in _UNIQUE_NAMES or kind in _RENAMED)


def _api(group: str, kind: str, versions: tuple[str, ...]) -> str:
    return f'"{kind}" of "{group}/{versions[-1]}"'


def _intended_kind(group: str, kind: str) -> _Intended | None:
    """Return the intended kind. Return None if the kind is known or resembles none."""
    if (group, kind) in _VERSIONS or (group in _GROUPS_OF_OTHERS and group not in _KINDS_BY_GROUP):
        return None
    if kind in _RENAMED:
        name, since = _RENAMED[kind]
        return _Intended(_groups_of(name)[0], name, "kind", since)
    if group in _KINDS_BY_GROUP:
        near = _nearest_name(kind, _KINDS_BY_GROUP[group])
        if near is not None:
            return _Intended(group, near, "kind")
        return _kind_in_other_group(kind, _UNIQUE_NAMES) or _kind_in_other_group(kind, _SHARED_NAMES)
    own = _kind_in_other_group(kind, _UNIQUE_NAMES)
    if own is not None:
        return own
    name = _nearest_name(kind, _SHARED_NAMES)
    groups = [each for each in _groups_of(name) if _is_near_group(group, each)] if name is not None else []
    return _Intended(groups[0], str(name), "apiVersion") if groups else None


def _kind_in_other_group(kind: str, kinds: tuple[str, ...]) -> _Intended | None:
    """Return the kind in `kinds` with this name or a similar one, or None. The mistake is in `apiVersion`."""
    name = _nearest_name(kind, kinds)
    return None if name is None else _Intended(_groups_of(name)[0], name, "apiVersion")


def _groups_of(kind: str | None) -> list[str]:
    return [group for group, name in _VERSIONS if name == kind]


def _is_near_group(group: str, right: str) -> bool:
    words = group.replace("-", ".").split(".")
    return any(right in _WORDS.get(word, ()) for word in words) or letters_apart(group, right) <= _MAX_TYPOS


def _nearest_name(name: str, known: tuple[str, ...] | list[str]) -> str | None:
    """Return the `known` name that differs from `name` only in case or in a few letters, or None."""
    for each in known:
        if name.casefold() == each.casefold():
            return each
    for each in known:
        most = _MAX_TYPOS if len(each) > _SHORT_NAME_LENGTH else 1
        if abs(len(name) - len(each)) <= most and letters_apart(name.casefold(), each.casefold()) <= most:
            return each
    return None
