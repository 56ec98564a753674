"""The ClusterTopologies that there are: the operator's own, made from the configuration, and the users'.

Source: revisions.md (table and `grep-244-multi` rules 7 and 9), operator.md 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from packwise.finding import Finding, Rule, Severity, Stage, has_errors
from packwise.plan import Generated
from packwise.revisions import REVISIONS
from packwise.select.index import repeated
from packwise.select.place import Place
from packwise.topology import ClusterTopology, Level
from packwise.topology.clustertopology import (
    GROUP,
    KIND,
    SHAPE,
    check_clustertopology,
    check_order,
    clustertopology_value,
)  # fmt: skip
from packwise.topology.levellist import read_levels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.kubeobject import KubeObject
    from packwise.revisions import Revision
    from packwise.select.selection import Selection

__all__ = ["RULES", "KnownTopologies", "KnownTopology", "known_topologies", "with_finalizer"]

RESERVED = Rule(
    "clustertopology-reserved", "The operator's own ClusterTopology is made by nobody else.", "revisions.md"
)
UNUSED = Rule(
    "clustertopology-unused", "A ClusterTopology that this revision does not look at.", "revisions.md", Severity.WARNING
)
RULES = (RESERVED, UNUSED)
"""Rules of which ClusterTopologies there may be."""


class KnownTopology(NamedTuple):
    """A ClusterTopology and where it is written down: `levels` is that list, `item` the object that holds it.

    `written` are the levels in the order of that list, which need not be the topology's. One that is not `valid` counts
    as there, so that workloads which name it are not told that it is missing. `references` are the topologies that
    others keep for it, by scheduler.
    """

    topology: ClusterTopology
    written: tuple[Level, ...]
    levels: Place
    item: KubeObject
    valid: bool = True
    references: Mapping[str, str] = {}


class KnownTopologies(NamedTuple):
    """All ClusterTopologies by name, in order of name; what is generated for them; what was found.

    `written` are those of them, by name, that users wrote.
    """

    by_name: dict[str, KnownTopology]
    generated: tuple[Generated, ...]
    findings: tuple[Finding, ...]
    written: dict[str, KubeObject]


def known_topologies(selection: Selection) -> KnownTopologies:
    """The topologies that workloads can mean."""
    unused = tuple(_other_kinds(selection))
    if selection.revision.default_topology is not None:
        known = _cluster_topologies(selection, selection.revision.default_topology)
    else:
        from packwise.select.bindings import known_bindings

        known = known_bindings(selection)
    return known._replace(findings=(*known.findings, *unused))


def _other_kinds(selection: Selection) -> Iterator[Finding]:
    """A warning for each topology of a kind that this revision does not look at."""
    revision = selection.revision
    for kind in sorted({other.topology_kind for other in REVISIONS.values()} - {revision.topology_kind}):
        for item in selection.index.of_kind(GROUP, kind):
            yield _unused(item, f'revision "{revision.name}" has no such objects')


def _cluster_topologies(selection: Selection, reserved: str) -> KnownTopologies:
    found: list[KnownTopology] = []
    written: dict[str, KubeObject] = {}
    default = _default(selection, reserved)
    revision = selection.revision
    own = selection.index.of_kind(GROUP, KIND)
    findings = repeated(own)
    for item in own:
        refused = _refused(selection, default, item) if item.name == reserved else _foreign(revision, item)
        problems = [] if refused and revision.user_topologies == "Refused" else _problems(item, selection)
        findings += problems + refused
        if item.name == reserved and not refused:
            written[item.name] = item
        if refused or (item.name == reserved and default is not None) or revision.user_topologies != "Used":
            continue
        topology = read_levels(item)
        findings += check_order(item, topology)
        place = Place(item, ("spec", "levels"))
        found.append(KnownTopology(topology, topology.levels, place, item, valid=not has_errors(problems)))
        written[item.name] = item
    generated: list[Generated] = []
    if default is not None:
        found.append(default)
        if (GROUP, KIND, "", reserved) not in selection.index.others:
            value = clustertopology_value(default.topology, revision.topology_labels, _finalizers(selection))
            generated.append(Generated(value, "the topology configuration", default.item))
    found.sort(key=lambda known: known.topology.name)
    by_name = {known.topology.name: known for known in found}
    return KnownTopologies(by_name, tuple(generated), tuple(findings), written)


def with_finalizer(item: KubeObject, selection: Selection) -> KubeObject:
    """A user's ClusterTopology with the operator's finalizer, where that is asked for."""
    path = ("metadata", "finalizers")
    for finalizer in _finalizers(selection):
        found = item.get(path)
        before = found if isinstance(found, list) else []
        if not before:
            item = item.set(path, [finalizer])
        elif finalizer not in before:
            item = item.set((*path, len(before)), finalizer)
    return item


def _finalizers(selection: Selection) -> tuple[str, ...]:
    finalizer = selection.revision.finalizer
    return (finalizer,) if finalizer is not None and selection.settings.finalizers else ()


def _problems(item: KubeObject, selection: Selection) -> list[Finding]:
    """What the API server refuses in a ClusterTopology: by the cluster's own CRD, where that is at hand."""
    definition = selection.definitions.of_kind(GROUP, KIND)
    if definition is None:
        return check_clustertopology(item, selection.revision.limits)
    from packwise.crds.findings import findings_of

    return findings_of(definition.problems(item.value, selection.before(item.value)), item, definition, SHAPE)


def _default(selection: Selection, name: str) -> KnownTopology | None:
    """The operator's own ClusterTopology; None while TAS is disabled, or without a configuration."""
    configuration = selection.configuration
    if configuration is None or not configuration.enabled:
        return None
    topology = ClusterTopology(name, configuration.hierarchy(selection.revision))
    return KnownTopology(topology, configuration.levels, configuration.place.below("levels"), configuration.place.item)


def _foreign(revision: Revision, item: KubeObject) -> list[Finding]:
    """What there is to say of a ClusterTopology that is not the operator's."""
    if revision.user_topologies == "Refused":
        return [_created(revision, item)]
    if revision.user_topologies == "Unused":
        return [_unused(item, f'revision "{revision.name}" knows only "{revision.default_topology}"')]
    return []


def _created(revision: Revision, item: KubeObject) -> Finding:
    message = (
        f'must not be created by others than the operator, which makes "{revision.default_topology}" from its '
        f'configuration and refuses "{item.name}"; leave it out'
    )
    text = "ClusterTopology can only be created by the operator"
    return Finding.of(RESERVED, item, ("metadata", "name"), message, operator_message=text, stage=Stage.WEBHOOK)


def _refused(selection: Selection, default: KnownTopology | None, item: KubeObject) -> list[Finding]:
    """What is wrong with an object of the reserved name that packwise did not make; nothing when it is the same."""
    name, revision = item.name, selection.revision
    labelled = all(item.labels.get(key) == value for key, value in revision.topology_labels)
    if default is not None and labelled and item.get("spec") == clustertopology_value(default.topology)["spec"]:
        return []
    if not labelled:
        message = f'must not be "{name}": the operator makes that one from its configuration; choose another name'
        return [Finding.of(RESERVED, item, ("metadata", "name"), message)]
    if default is None:
        if revision.user_topologies == "Refused":
            return [_created(revision, item)]
        if revision.chooses_topology and selection.configuration is None:
            return []
        return [_unused(item, "topology-aware scheduling is disabled, and the operator removes it")]
    message = (
        f'must be what the configuration ({default.levels.told}) makes of "{name}"; change the levels there, and leave '
        "this object out"
    )
    text = "ClusterTopology can only be modified by the operator" if not revision.chooses_topology else None
    return [
        Finding.of(
            RESERVED, item, ("spec", "levels"), message, operator_message=text, stage=Stage.WEBHOOK if text else None
        )
    ]


def _unused(item: KubeObject, why: str) -> Finding:
    return Finding.of(UNUSED, item, ("metadata", "name"), f'"{item.name}" is not used: {why}')
