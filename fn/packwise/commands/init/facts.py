"""What a cluster's dump tells of it: levels, schedulers, the release of Grove, whether its operator runs."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.commands.init.levels import GUESSED, proposed_levels
from packwise.objects.index import Index
from packwise.objects.kinds import CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING
from packwise.revisions.records import ALPHA_8, ALPHA_9, GREP_244_MULTI, NEWEST, RECORDS
from packwise.select.evidence import deployed_release
from packwise.settings.sources import operators_of
from packwise.settings.topologyrender import DIALECTS
from packwise.topology.levels import Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.revisions.revision import Revision
    from packwise.select.evidence import Deployed
    from packwise.settings.sources import Operator

__all__ = ["Facts", "Topology", "facts_of"]


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
