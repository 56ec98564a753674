"""Near misses: objects whose kind, group or version is nearly that of one that packwise reads.

No API server knows them, and packwise would pass them by in silence. Kinds of other projects that happen to be near are
known too. Source: the CRDs of Grove, KAI, Volcano and Kueue.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Finding, Rule
from packwise.objects.kinds import KINDS, POD
from packwise.wording import letters_apart, list_known

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from krmfn.value import Value
    from packwise.objects.index import Index

__all__ = ["RULES", "is_nearly_known", "spelling_findings"]

SPELLING = Rule("kind-spelling", "Kind, group and version are those of an API that exists.", "spec/kubernetes.md#1.3")
RULES = (SPELLING,)
"""Rules of what objects call themselves."""

_GROVE, _KAI = "grove.io", "kai.scheduler"
_KUEUE = (
    "ClusterQueue", "LocalQueue", "Cohort", "Workload", "AdmissionCheck", "MultiKueueCluster", "MultiKueueConfig",
    "ProvisioningRequestConfig", "WorkloadPriorityClass",
)  # fmt: skip
_OTHERS = {
    ("grove.io", "PodClique"): ("v1alpha1",),
    ("grove.io", "PodCliqueScalingGroup"): ("v1alpha1",),
    ("operator.config.grove.io", "OperatorConfiguration"): ("v1alpha1",),
    ("packwise.dev", "TopologyRender"): ("v1alpha1",),
    ("kai.scheduler", "Config"): (),
    ("kai.scheduler", "SchedulingShard"): (),
    ("scheduling.run.ai", "BindRequest"): (),
    ("scheduling.run.ai", "Queue"): ("v1", "v2"),
    ("scheduling.volcano.sh", "PodGroup"): ("v1alpha1", "v1alpha2", "v1beta1"),
    ("scheduling.volcano.sh", "Queue"): (),
    ("kueue.x-k8s.io", "Topology"): ("v1beta1", "v1beta2"),
    ("kueue.x-k8s.io", "ResourceFlavor"): ("v1beta1", "v1beta2"),
    **{("kueue.x-k8s.io", kind): () for kind in _KUEUE},
    # Its front end judges the version itself.
    ("nvidia.com", "DynamoGraphDeployment"): (),
    ("nvidia.com", "DynamoGraphDeploymentRequest"): (),
}
"""Kinds of the same groups beside those of the table of kinds, with their versions; none: any will do."""

_VERSIONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    **{kind.key: (kind.version,) for kind in KINDS if kind is not POD},
    **_OTHERS,
}
_KINDS_BY_GROUP: dict[str, list[str]] = {}
for _group, _kind in _VERSIONS:
    _KINDS_BY_GROUP.setdefault(_group, []).append(_kind)

_OWN = ("PodCliqueSet", "PodCliqueScalingGroup", "PodClique", "PodGangMap", "PodGang", "ClusterTopologyBinding",
        "TopologyRender", "DynamoGraphDeployment", "DynamoGraphDeploymentRequest")  # fmt: skip
"""Kinds whose names no other project uses: any other group is a mistake."""

_RENAMED = {"PodGangSet": ("PodCliqueSet", "v0.1.0-alpha.1")}
"""Former names of kinds, each with today's, and the release that is the first to have that. Source: grove, #186."""

_SHARED = ("ClusterTopology", "OperatorConfiguration", "Topology", "Queue", "PodGroup")
"""Kinds whose names others use too: another group is a mistake where it is nearly the right one."""

_WORDS = {
    "grove": ("grove.io", "operator.config.grove.io"),
    "kai": ("kai.scheduler", "scheduling.run.ai"),
    "runai": ("scheduling.run.ai",),
}
"""Words of a group that tell whose it was meant to be."""

_NEIGHBOURS = frozenset({
    "acid.zalan.do", "kueue.x-k8s.io", "run.ai", "scheduling.incubator.k8s.io", "scheduling.k8s.io",
    "scheduling.koordinator.sh", "scheduling.sigs.k8s.io", "scheduling.volcano.sh", "scheduling.x-k8s.io",
    "topology.node.k8s.io", "topology.volcano.sh",
})  # fmt: skip
"""Groups of other projects that have kinds of such names."""

_FEW = 2
"""How many letters a name may differ in to be a near miss; of a short one, one letter."""
_SHORT = 8


class _Right(NamedTuple):
    """What an object was meant to be, and the field that says otherwise; `since` is the release that renamed it."""

    group: str
    kind: str
    field: str
    since: str = ""


def spelling_findings(index: Index, defined: Container[tuple[str, str]]) -> Iterator[Finding]:
    """An error for each near miss; `defined` are the kinds that the cluster's own CRDs define."""
    for (group, kind), items in index.by_kind.items():
        if not kind and group in _KINDS_BY_GROUP:
            known = list_known(_KINDS_BY_GROUP[group])
            yield from (Finding.of(SPELLING, item, (), f"must have a kind; {group} has {known}") for item in items)
        right = None if (group, kind) in defined else _right(group, kind)
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


def is_nearly_known(value: Value) -> bool:
    """Whether a mapping that is no object, for want of its kind or API version, was meant to be one that is read."""
    if not isinstance(value, dict):
        return False
    kind, version = value.get("kind"), value.get("apiVersion")
    if kind is None:
        return isinstance(version, str) and version.partition("/")[0] in _KINDS_BY_GROUP
    return version is None and isinstance(kind, str) and (kind in _OWN or kind in _RENAMED)


def _api(group: str, kind: str, versions: tuple[str, ...]) -> str:
    return f'"{kind}" of "{group}/{versions[-1]}"'


def _right(group: str, kind: str) -> _Right | None:
    """What the kind was meant to be; None where it is known, or is nobody's near miss."""
    if (group, kind) in _VERSIONS or (group in _NEIGHBOURS and group not in _KINDS_BY_GROUP):
        return None
    if kind in _RENAMED:
        name, since = _RENAMED[kind]
        return _Right(_groups_of(name)[0], name, "kind", since)
    if group in _KINDS_BY_GROUP:
        near = _nearest(kind, _KINDS_BY_GROUP[group])
        if near is not None:
            return _Right(group, near, "kind")
        return _elsewhere(kind, _OWN) or _elsewhere(kind, _SHARED)
    own = _elsewhere(kind, _OWN)
    if own is not None:
        return own
    name = _nearest(kind, _SHARED)
    groups = [each for each in _groups_of(name) if _is_near_group(group, each)] if name is not None else []
    return _Right(groups[0], str(name), "apiVersion") if groups else None


def _elsewhere(kind: str, kinds: tuple[str, ...]) -> _Right | None:
    """The kind of that name, or nearly, in the group that has it."""
    name = _nearest(kind, kinds)
    return None if name is None else _Right(_groups_of(name)[0], name, "apiVersion")


def _groups_of(kind: str | None) -> list[str]:
    return [group for group, name in _VERSIONS if name == kind]


def _is_near_group(group: str, right: str) -> bool:
    words = group.replace("-", ".").split(".")
    return any(right in _WORDS.get(word, ()) for word in words) or letters_apart(group, right) <= _FEW


def _nearest(name: str, known: tuple[str, ...] | list[str]) -> str | None:
    """The one of `known` that differs from `name` in letters' case, or in a few letters."""
    for each in known:
        if name.casefold() == each.casefold():
            return each
    for each in known:
        most = _FEW if len(each) > _SHORT else 1
        if abs(len(name) - len(each)) <= most and letters_apart(name.casefold(), each.casefold()) <= most:
            return each
    return None
