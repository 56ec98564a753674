"""Facts about the cluster of a new package, from its dump: levels, schedulers, the release of Grove, its operator.

Source: Kubernetes' well-known labels; topograph's reference of node labels; GREP-244 for the domains.
"""

from __future__ import annotations

from collections import Counter

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.objects.index import Index
from packwise.objects.kinds import CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING
from packwise.revisions.records import ALPHA_8, ALPHA_9, GREP_244_MULTI, NEWEST, RECORDS
from packwise.select.evidence import deployed_release
from packwise.settings.sources import operators_of
from packwise.settings.topologyrender import DIALECTS
from packwise.topology.levels import DOMAINS, Level, new_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.revisions.revision import Revision
    from packwise.select.evidence import Deployed
    from packwise.settings.sources import Operator

GUESSED = (
    Level("zone", "topology.kubernetes.io/zone"),
    Level("rack", "example.com/rack"),
    Level("host", "kubernetes.io/hostname"),
)
"""What a package begins with where nothing tells the levels; the label of racks is everybody's own."""

_DOMAIN = {
    "kubernetes.io/hostname": "host",
    "fabric.topograph.run/tier-0": "rack",
    "fabric.topograph.run/tier-1": "block",
    "fabric.topograph.run/tier-2": "datacenter",
}
"""The domain of a label whose last part is no domain's name."""

_SUB_DOMAIN = "sub-domain"
"""The last part of the label of domains within an accelerator's domain."""

_PRUNED = ("beta.kubernetes.io/",)
"""Ends of prefixes whose labels are deprecated names of others."""


class Proposal(NamedTuple):
    """Levels, broadest first, and a comment for each; `dropped` are those that form no hierarchy with the others."""

    levels: tuple[Level, ...] = ()
    comments: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def proposed_levels(nodes: Sequence[Mapping[str, str]]) -> Proposal:
    """What the labels of the nodes propose: for each domain the label that most nodes have.

    A level whose domains reach over several of a broader level's is dropped, as schedulers take each to be within one.
    """
    levels: list[Level] = []
    comments: list[str] = []
    dropped: list[str] = []
    for level in _candidates(nodes):
        if levels and not _is_nested(nodes, level.key, levels[-1].key):
            dropped.append(f"{level.domain}={level.key}: its values are not within one {levels[-1].domain} each")
            continue
        values = [labels[level.key] for labels in nodes if level.key in labels]
        levels.append(level)
        comments.append(f"{len(set(values))} on {len(values)} of {len(nodes)} nodes")
    return Proposal(tuple(levels), tuple(comments), tuple(dropped))


def _candidates(nodes: Sequence[Mapping[str, str]]) -> list[Level]:
    counted = Counter([key for labels in nodes for key in labels])
    by_domain: dict[str, str] = {}
    # Of accelerators whose domains hold others (topograph's, under whatever prefix), these are what a gang fits in.
    for key in sorted(counted):
        prefix, _, name = key.rpartition("/")
        if name == _SUB_DOMAIN and f"{prefix}/domain" in counted:
            by_domain.setdefault("block", f"{prefix}/domain")
            by_domain.setdefault("rack", key)
    for key, _ in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])):
        domain = _domain(key)
        if domain is not None:
            by_domain.setdefault(domain, key)
    return [Level(domain, by_domain[domain]) for domain in DOMAINS if domain in by_domain]


def _domain(key: str) -> str | None:
    prefix, _, name = key.rpartition("/")
    if f"{prefix}/".endswith(_PRUNED):
        return None
    known = _DOMAIN.get(new_label(key) or key)
    return known or (name if name in DOMAINS else None)


def _is_nested(nodes: Sequence[Mapping[str, str]], narrow: str, broad: str) -> bool:
    """Whether all nodes of one value of `narrow` have one value of `broad`."""
    outer: dict[str, str] = {}
    return all(
        outer.setdefault(labels[narrow], labels[broad]) == labels[broad]
        for labels in nodes
        if narrow in labels and broad in labels
    )


class Topology(NamedTuple):
    """A topology of the cluster: its name, its levels, broadest first."""

    name: str
    levels: tuple[Level, ...]


class Facts(NamedTuple):
    """`levels` are those of the one topology, with a comment for each or none, and `source` is where they come from.

    `topologies` are the cluster's own objects. `profiles` are the names of scheduler profiles, the default first.
    `revision_source` is what shows the revision, "" where somebody named it.
    """

    levels: tuple[Level, ...] = GUESSED
    comments: tuple[str, ...] = ("", "the label by which your nodes tell their rack", "")
    source: str = ""
    dropped: tuple[str, ...] = ()
    topologies: tuple[Topology, ...] = ()
    profiles: tuple[str, ...] = ("kai-scheduler",)
    revision: str = NEWEST.name
    revision_source: str = "the newest one that packwise knows; name yours"
    has_operator: bool = False


def facts_of(items: Iterable[KubeObject]) -> Facts:
    """What the objects of a cluster tell; what they do not tell is as a package begins without them."""
    index = Index.of(items)
    operators = operators_of(index, [])
    deployed = deployed_release(index)
    facts = _with_levels(Facts(), index, operators)
    if operators:
        facts = facts._replace(profiles=_profiles(operators[0].value) or facts.profiles)
    shown = _shown_revision(index, operators, deployed)
    if shown is not None:
        facts = facts._replace(revision=shown[0], revision_source=shown[1])
    return facts._replace(has_operator=bool(operators) or deployed is not None)


def _shown_revision(index: Index, operators: list[Operator], deployed: Deployed | None) -> tuple[str, str] | None:
    """The revision that the cluster shows, and by what; of several, the newest."""
    if deployed is not None:
        return deployed.release, f"{deployed.item.kind} {deployed.item.name} deploys it"
    if index.of_kind(*CLUSTER_TOPOLOGY_BINDING.key):
        return NEWEST.name, f"one that has ClusterTopologyBindings, {ALPHA_9.name} or later; name yours"
    for operator in operators:
        for key in DIALECTS:
            section = operator.value.get(key)
            if isinstance(section, dict) and _levels(section.get("levels")):
                has_profiles = key == ALPHA_8.configuration_key and bool(_profiles(operator.value))
                records = [ALPHA_8] if has_profiles else [r for r in RECORDS if r.configuration_key == key]
                return _name(records[0]), f"one that has levels below `{key}` in its OperatorConfiguration"
    if index.of_kind(*CLUSTER_TOPOLOGY.key):
        return GREP_244_MULTI.name, "the design that has ClusterTopologies of its users"
    return None


def _name(record: Revision) -> str:
    """The record's newest release, or its own name where it is a design that was never released."""
    return record.releases[-1] if record.releases else record.name


def _with_levels(facts: Facts, index: Index, operators: list[Operator]) -> Facts:
    """The levels of the operator's configuration, else of a topology, else what the nodes propose."""
    topologies = tuple(
        Topology(item.name, levels)
        for kind in (CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING)
        for item in index.of_kind(*kind.key)
        if (levels := _levels(item.get(("spec", "levels"))))
    )
    for operator in operators:
        for key in DIALECTS:
            section = operator.value.get(key)
            levels = _levels(section.get("levels")) if isinstance(section, dict) else ()
            if levels:
                source = f"the OperatorConfiguration in {operator.place.item.kind} {operator.place.item.name}"
                return facts._replace(levels=levels, comments=(), source=source, topologies=topologies)
    if topologies:
        source = f"the cluster's topology {topologies[0].name}"
        return facts._replace(levels=topologies[0].levels, comments=(), source=source, topologies=topologies)
    nodes = [_labels(item) for item in index.of_kind("", "Node")]
    proposal = proposed_levels(nodes)
    if not proposal.levels:
        return facts
    return facts._replace(
        levels=proposal.levels,
        comments=proposal.comments,
        source=f"the labels of {len(nodes)} nodes: a proposal",
        dropped=proposal.dropped,
    )


def _levels(entries: Value) -> tuple[Level, ...]:
    """The levels of a list; none where one of them is not whole."""
    levels: list[Level] = []
    for entry in entries if isinstance(entries, list) else ():
        domain, key = (entry.get("domain"), entry.get("key")) if isinstance(entry, dict) else (None, None)
        if not (isinstance(domain, str) and isinstance(key, str)):
            return ()
        levels.append(Level(domain, key))
    return tuple(levels)


def _labels(item: KubeObject) -> dict[str, str]:
    labels = item.get(("metadata", "labels"))
    return {key: text for key, text in labels.items() if isinstance(text, str)} if isinstance(labels, dict) else {}


def _profiles(value: Mapping[str, Value]) -> tuple[str, ...]:
    """The names of the profiles of an OperatorConfiguration, the default one first."""
    section = value.get("scheduler")
    entries = section.get("profiles") if isinstance(section, dict) else None
    named = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    default = section.get("defaultProfileName") if isinstance(section, dict) else None
    ordered = sorted(named, key=lambda entry: not (entry.get("default") is True or entry.get("name") == default))
    return tuple(name for entry in ordered if isinstance(name := entry.get("name"), str))
