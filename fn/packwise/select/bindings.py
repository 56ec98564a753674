"""The ClusterTopologyBindings among the input, which are all the topologies that their revision knows.

Source: operator.md 9 (H), revisions.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.finding import has_errors
from packwise.select.configuration import KAI
from packwise.select.index import repeated
from packwise.select.place import Place
from packwise.select.topologies import KnownTopologies, KnownTopology
from packwise.topology.clustertopology import GROUP
from packwise.topology.clustertopologybinding import KIND, SHAPE, check_binding, check_webhook, references_of
from packwise.topology.levellist import read_levels

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject
    from packwise.finding import Finding
    from packwise.select.selection import Selection

__all__ = ["known_bindings"]

_WITH_TOPOLOGIES = (KAI,)
"""Source: operator.md 9, the backends that implement topology-aware scheduling."""


def known_bindings(selection: Selection) -> KnownTopologies:
    """The bindings that constraints can name, whether TAS is enabled or not."""
    items = selection.index.of_kind(GROUP, KIND)
    findings = repeated(items)
    found: list[KnownTopology] = []
    for item in items:
        problems = _problems(item, selection)
        findings += problems
        topology = read_levels(item)
        place = Place(item, ("spec", "levels"))
        valid = not has_errors(problems)
        found.append(KnownTopology(topology, topology.levels, place, item, valid, references_of(item.value)))
    found.sort(key=lambda known: known.topology.name)
    by_name = {known.topology.name: known for known in found}
    return KnownTopologies(by_name, (), tuple(findings), {name: known.item for name, known in by_name.items()})


def _problems(item: KubeObject, selection: Selection) -> list[Finding]:
    """What the API server (by the cluster's own CRD, where that is at hand) and the webhook refuse."""
    definition = selection.definitions.of_kind(GROUP, KIND)
    if definition is None:
        problems = check_binding(item, selection.revision.limits)
    else:
        from packwise.crds.findings import findings_of

        problems = findings_of(definition.problems(item.value, selection.before(item.value)), item, definition, SHAPE)
    enabled = selection.schedulers.names if selection.schedulers is not None else ()
    return [*problems, *check_webhook(item, enabled, _WITH_TOPOLOGIES)]
