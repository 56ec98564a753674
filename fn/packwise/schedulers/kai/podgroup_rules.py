"""Everything KAI has against a PodGroup: its CRD, its webhook, its scheduler. Source: kai.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.errors import told
from packwise.schedulers.fault import Effect, Fault
from packwise.schedulers.kai.podgroup import PODGROUP_API_VERSION
from packwise.schedulers.kai.podgroup_schema import refused, schema_faults
from packwise.schedulers.kai.podgroup_tree import Tree, tree_faults
from packwise.schedulers.kai.versions import KNOWN, SUBGROUP_COUNTS, Versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["podgroup_faults"]

_LONGEST = 63
_LOWERS_PARENTS = Versions(12, SUBGROUP_COUNTS - 1)
_DROPS_SIBLINGS = Versions(12, 12)

_LEVELS = ("requiredTopologyLevel", "preferredTopologyLevel")


def podgroup_faults(
    value: Mapping[str, Value], suits: Versions, *, update: bool = False, schema: bool = True
) -> list[Fault]:
    """What the versions `suits` have against the PodGroup `value`, whoever wrote it, of whatever types its fields are.

    `update` of one that is there. Without `schema` the CRDs are left out, for where the cluster's own is at hand.
    """
    found: list[Fault] = []
    if schema:
        version = value.get("apiVersion")
        if version != PODGROUP_API_VERSION:
            found.append(refused(("apiVersion",), f'must be "{PODGROUP_API_VERSION}"; got {told(version)}', KNOWN))
        found += schema_faults(value, suits)
    spec = value.get("spec")
    if isinstance(spec, dict):
        tree = Tree.read(spec)
        found += tree_faults(spec, tree, suits, update=update)
        found += _names(tree, suits)
        found += _siblings(tree, suits)
        found += _constraint(("spec",), spec.get("topologyConstraint"))
        for node in tree.nodes:
            found += _constraint(node.path, node.constraint)
    return found


def _names(tree: Tree, suits: Versions) -> Iterator[Fault]:
    names = {node.name for node in tree.nodes}
    lowers = suits.within(_LOWERS_PARENTS) is not None
    for node in tree.nodes:
        if tree.is_leaf(node) and len(node.name) > _LONGEST:
            message = f"must be no longer than {_LONGEST} characters; got {len(node.name)}"
            yield Fault((*node.path, "name"), message, "pods carry it as the value of a label")
        parent = node.parent
        if lowers and parent in names and parent != parent.lower():
            consequence = (
                f"{_LOWERS_PARENTS.told()} looks parents up in lower case and finds none, so no pod is scheduled"
            )
            message = f"must be in lower case, and so must the name of that subgroup; got {told(parent)}"
            yield Fault((*node.path, "parent"), message, consequence)


def _siblings(tree: Tree, suits: Versions) -> Iterator[Fault]:
    """Pods beside subgroups that are parents, which v0.12 passes over with a line in its log: told of the first."""
    if suits.within(_DROPS_SIBLINGS) is None:
        return
    inner = {node.parent for node in tree.nodes if not tree.is_leaf(node)}
    for node in tree.nodes:
        if tree.is_leaf(node) and node.parent in inner:
            consequence = (
                f"{_DROPS_SIBLINGS.told()} passes over its pods; where none older than v0.13 runs, set `kai.version`"
            )
            yield Fault(node.path, "stands beside a subgroup that is the parent of others", consequence, Effect.IGNORED)
            return


def _constraint(path: FieldPath, found: Value) -> Iterator[Fault]:
    if not isinstance(found, dict):
        return
    levels = [name for name in _LEVELS if found.get(name)]
    at = (*path, "topologyConstraint")
    if levels and not found.get("topology"):
        message = "must name the Topology of its levels, in topology"
        yield Fault(at, message, "KAI ignores a constraint without one", Effect.IGNORED)
    elif found.get("topology") and not levels:
        message = f"must name a level, in {_LEVELS[0]} or {_LEVELS[1]}"
        yield Fault(at, message, "KAI schedules no pod by a constraint without one", Effect.IGNORED)
