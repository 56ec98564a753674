"""Everything KAI has against a PodGroup: its CRD, its webhook, its scheduler. Source: spec/kai.md."""

from __future__ import annotations

from krmfn.errors import describe
from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Effect, Problem
from packwise.objects.kinds import PODGROUP
from packwise.schedulers.kai.level_search import Topologies, search_problems
from packwise.schedulers.kai.podgroup_schema import refused, schema_problems
from packwise.schedulers.kai.podgroup_tree import Tree, tree_problems
from packwise.schedulers.kai.versions import KNOWN, SUBGROUP_COUNTS, Versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["podgroup_problems"]

_LONGEST = 63
_LOWERS_PARENTS = Versions(12, SUBGROUP_COUNTS - 1)
_DROPS_SIBLINGS = Versions(12, 12)

_NONE = Topologies()
_LEVELS = ("requiredTopologyLevel", "preferredTopologyLevel")


def podgroup_problems(
    value: Mapping[str, Value],
    suits: Versions,
    topologies: Topologies = _NONE,
    *,
    update: bool = False,
    schema: bool = True,
) -> list[Problem]:
    """What the versions `suits` have against the PodGroup `value`, whoever wrote it, of whatever types its fields are.

    `topologies` are the Topologies that are known. `update` of one that is there. Without `schema` the CRDs are left
    out, for where the cluster's own is at hand.
    """
    problems: list[Problem] = []
    if schema:
        version = value.get("apiVersion")
        if version != PODGROUP.api_version:
            problems.append(
                refused(("apiVersion",), f'must be "{PODGROUP.api_version}"; got {describe(version)}', KNOWN)
            )
        problems += schema_problems(value, suits)
    spec = value.get("spec")
    if isinstance(spec, dict):
        tree = Tree.read(spec)
        problems += tree_problems(spec, tree, suits, update=update)
        problems += _names(tree, suits)
        problems += _siblings(tree, suits)
        problems += _constraint(("spec",), spec.get("topologyConstraint"))
        for node in tree.nodes:
            problems += _constraint(node.path, node.constraint)
        problems += search_problems(value, topologies)
    return problems


def _names(tree: Tree, suits: Versions) -> Iterator[Problem]:
    names = {node.name for node in tree.nodes}
    lowers = suits.within(_LOWERS_PARENTS) is not None
    for node in tree.nodes:
        if tree.is_leaf(node) and len(node.name) > _LONGEST:
            message = f"must be no longer than {_LONGEST} characters; got {len(node.name)}"
            yield Problem((*node.path, "name"), message, consequence="pods carry it as the value of a label")
        parent = node.parent
        if lowers and parent in names and parent != parent.lower():
            consequence = (
                f"{_LOWERS_PARENTS.text} looks parents up in lower case and finds none, so no pod is scheduled"
            )
            message = f"must be in lower case, and so must the name of that subgroup; got {describe(parent)}"
            yield Problem((*node.path, "parent"), message, consequence=consequence)


def _siblings(tree: Tree, suits: Versions) -> Iterator[Problem]:
    """Pods beside subgroups that are parents, which v0.12 passes over with a line in its log: told of the first."""
    if suits.within(_DROPS_SIBLINGS) is None:
        return
    inner = {node.parent for node in tree.nodes if not tree.is_leaf(node)}
    for node in tree.nodes:
        if tree.is_leaf(node) and node.parent in inner:
            consequence = (
                f"{_DROPS_SIBLINGS.text} passes over its pods; where none older than v0.13 runs, set `kai.version`"
            )
            message = "stands beside a subgroup that is the parent of others"
            yield Problem(node.path, message, effect=Effect.IGNORED, consequence=consequence)
            return


def _constraint(path: FieldPath, constraint: Value) -> Iterator[Problem]:
    if not isinstance(constraint, dict):
        return
    levels = [name for name in _LEVELS if constraint.get(name)]
    if levels and not constraint.get("topology"):
        at = (*path, "topologyConstraint")
        message = "must name the Topology of its levels, in topology"
        yield Problem(at, message, effect=Effect.IGNORED, consequence="KAI ignores a constraint without one")
