"""The ClusterTopologyBindings among the input, which are all the topologies that their revision knows.

Source: spec/grove.md#9, spec/designs.md#2.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import findings_of, has_errors
from packwise.objects.index import repeated
from packwise.objects.kinds import CLUSTER_TOPOLOGY_BINDING
from packwise.topology.clustertopologybinding import SHAPE, binding_problems, references_of, webhook_problems
from packwise.topology.known import KnownTopologies, KnownTopology
from packwise.validate.judge import judge

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject
    from packwise.findings.finding import Finding
    from packwise.objects.index import Inventory
    from packwise.revisions import Revision
    from packwise.validate.definitions import Definitions

__all__ = ["known_bindings"]


def known_bindings(
    inventory: Inventory, definitions: Definitions, revision: Revision, schedulers: tuple[str, ...]
) -> KnownTopologies:
    """The bindings that constraints can name, whether TAS is enabled or not. `schedulers` are the enabled ones."""
    items = inventory.items.of_kind(*CLUSTER_TOPOLOGY_BINDING.key)
    findings = repeated(items)
    bindings: list[KnownTopology] = []
    for item in items:
        problems = [
            *_problems(item, inventory, definitions, revision),
            *findings_of(webhook_problems(item, schedulers, revision.topology_backends), item),
        ]
        findings += problems
        valid = not has_errors(problems)
        bindings.append(KnownTopology.of_item(item, valid=valid, references=references_of(item.value)))
    bindings.sort(key=lambda known: known.topology.name)
    by_name = {known.topology.name: known for known in bindings}
    return KnownTopologies(by_name, (), tuple(findings), {name: known.item for name, known in by_name.items()})


def _problems(
    item: KubeObject, inventory: Inventory, definitions: Definitions, revision: Revision
) -> tuple[Finding, ...]:
    """What the API server refuses: by the cluster's own CRD, where that is at hand."""
    verdict = judge(
        item.value,
        definitions.of_kind(*CLUSTER_TOPOLOGY_BINDING.key),
        lambda: binding_problems(item, revision.limits),
        before=inventory.before(item.value),
    )
    return verdict.findings(item, SHAPE)
