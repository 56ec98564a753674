"""What KAI's webhook refuses in the tree of a PodGroup's subgroups. Source: spec/kai.md#3."""

from __future__ import annotations

from krmfn.errors import describe
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Effect, Problem, Stage
from packwise.kubernetes.validation import go_quote
from packwise.schedulers.kai.podgroup_schema import refused
from packwise.schedulers.kai.versions import KNOWN, SUBGROUP_COUNTS, Versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["Node", "Tree", "tree_problems"]

_NEW = Versions(SUBGROUP_COUNTS, KNOWN.last)


class Node(NamedTuple):
    """A subgroup as the webhook reads it; what has another type counts as absent. `path` is where it stands."""

    path: FieldPath
    name: str
    parent: str | None
    min_member: int | None
    min_sub_group: int | None
    constraint: Value


class Tree(NamedTuple):
    """The subgroups in their order, and how many children each has, by name; roots are those of no parent (None)."""

    nodes: tuple[Node, ...]
    children: Mapping[str | None, int]

    @classmethod
    def read(cls, spec: Mapping[str, Value]) -> Tree:
        """The subgroups of `spec`; what is no mapping is left out."""
        entries = spec.get("subGroups")
        nodes = tuple(
            [
                _node(("spec", "subGroups", index), entry)
                for index, entry in enumerate(entries if isinstance(entries, list) else ())
                if isinstance(entry, dict)
            ]
        )
        children: dict[str | None, int] = {}
        for node in nodes:
            children[node.parent] = children.get(node.parent, 0) + 1
        return cls(nodes, children)

    def is_leaf(self, node: Node) -> bool:
        """Whether pods stand in it."""
        return node.name not in self.children


def tree_problems(spec: Mapping[str, Value], tree: Tree, suits: Versions, *, update: bool) -> Iterator[Problem]:
    """What the webhooks of the versions `suits` have against a PodGroup; `update` of one that is there.

    Of problems of structure the webhook tells one, and then none of the others: those have no text of its own.
    """
    new = suits.within(_NEW) is not None
    graph = list(_graph(tree))
    structural = [*_root(spec), *graph, *_exclusive(tree)] if new else graph
    # What is no tree has neither leaves nor inner nodes.
    counts = _counts(spec, tree, update=update) if new and not graph else ()
    if structural:
        yield structural[0]
        yield from (problem._replace(operator_message=None, stage=None) for problem in (*structural[1:], *counts))
    else:
        yield from counts


def _root(spec: Mapping[str, Value]) -> Iterator[Problem]:
    members = _count(spec, "minMember")
    if members is not None and _count(spec, "minSubGroup") is not None:
        text = (
            f"minMember and minSubGroup are mutually exclusive: set minMember ({members}) to schedule a fixed number "
            "of pods, or set minSubGroup to require a minimum number of child SubGroups, but not both"
        )
        yield _by_webhook(("spec", "minSubGroup"), "must not stand beside minMember; keep one of them", _NEW, text)


def _graph(tree: Tree) -> Iterator[Problem]:
    first: dict[str, Node] = {}
    for node in tree.nodes:
        if node.name and first.setdefault(node.name, node) is not node:
            message = f"must be unique among the subgroups; got {describe(node.name)} again"
            yield _by_webhook((*node.path, "name"), message, KNOWN, f"duplicate subgroup name {node.name}")
    for node in tree.nodes:
        if node.parent is not None and node.parent not in first:
            message = f"must be the name of a subgroup; got {describe(node.parent)}"
            text = f"parent {node.parent} of {node.name} was not found"
            yield _by_webhook((*node.path, "parent"), message, KNOWN, text)
    cycle = _cycle(first)
    if cycle is not None:
        message = f"must not lead back to itself; got {describe(cycle.parent)}"
        yield _by_webhook((*cycle.path, "parent"), message, KNOWN, "cycle detected in subgroups")


def _cycle(nodes: Mapping[str, Node]) -> Node | None:
    """The first subgroup that is an ancestor of itself."""
    done = set[str]()
    for node in nodes.values():
        way = set[str]()
        at: Node | None = node
        while at is not None and at.name not in done:
            if at.name in way:
                return at
            way.add(at.name)
            at = nodes.get(at.parent) if at.parent is not None else None
        done |= way
    return None


def _exclusive(tree: Tree) -> Iterator[Problem]:
    for node in sorted(tree.nodes, key=lambda node: node.name):
        if node.min_member is not None and node.min_sub_group is not None:
            keep = "minMember" if tree.is_leaf(node) else "minSubGroup"
            text = f"subgroup {go_quote(node.name)}: minMember and minSubGroup are mutually exclusive"
            message = f"must not stand beside minMember; keep {keep}"
            yield _by_webhook((*node.path, "minSubGroup"), message, _NEW, text)


def _counts(spec: Mapping[str, Value], tree: Tree, *, update: bool) -> Iterator[Problem]:
    """Who may say how many. The webhook goes by the names' order."""
    for node in sorted(tree.nodes, key=lambda node: node.name):
        if node.min_member is not None and node.min_sub_group is not None:
            continue
        yield from _of_leaf(node) if tree.is_leaf(node) else _of_inner(node, tree, update=update)
    wanted, roots = _count(spec, "minSubGroup"), tree.children.get(None, 0)
    if wanted is not None and wanted > roots:
        yield _too_many(("spec", "minSubGroup"), wanted, roots)


def _of_leaf(node: Node) -> Iterator[Problem]:
    quoted = go_quote(node.name)
    if node.min_sub_group is not None:
        text = f"subgroup {quoted}: minSubGroup cannot be set on a leaf SubGroup (no child SubGroups)"
        message = f"must not be set: no subgroup has {quoted} as its parent; set minMember instead"
        yield _by_webhook((*node.path, "minSubGroup"), message, _NEW, text)
    if node.min_member is None:
        message = "must be set: the subgroup has pods, for no other one has it as its parent"
        yield _by_webhook((*node.path, "minMember"), message, _NEW, f"subgroup {node.name}: minMember is required")


def _of_inner(node: Node, tree: Tree, *, update: bool) -> Iterator[Problem]:
    path = (*node.path, "minMember")
    if node.min_member is not None and update:
        message = "has no place on a subgroup that is the parent of others; remove it"
        consequence = f"{_NEW.text} warns of it, and refuses it in a new PodGroup"
        yield Problem(path, message, effect=Effect.IGNORED, consequence=consequence)
    elif node.min_member is not None:
        text = (
            f"subgroup {go_quote(node.name)}: minMember cannot be set on a mid-level SubGroup (has child SubGroups); "
            "use minSubGroup instead"
        )
        message = "must not be set: the subgroup is the parent of others; remove it, and all of them are needed"
        yield _by_webhook(path, message, _NEW, text)
    if node.min_sub_group is not None and node.min_sub_group > tree.children[node.name]:
        yield _too_many((*node.path, "minSubGroup"), node.min_sub_group, tree.children[node.name])


def _too_many(path: FieldPath, wanted: int, there: int) -> Problem:
    message = f"must not be more than the {there} subgroups that there are; got {wanted}"
    return Problem(path, message, effect=Effect.IGNORED, consequence="the pods are never scheduled")


def _by_webhook(path: FieldPath, message: str, by: Versions, text: str) -> Problem:
    return refused(path, message, by, text, stage=Stage.WEBHOOK)


def _node(path: FieldPath, entry: Mapping[str, Value]) -> Node:
    name, parent = entry.get("name"), entry.get("parent")
    return Node(
        path,
        name if isinstance(name, str) else "",
        parent if isinstance(parent, str) else None,
        _count(entry, "minMember"),
        _count(entry, "minSubGroup"),
        entry.get("topologyConstraint"),
    )


def _count(holder: Mapping[str, Value], key: str) -> int | None:
    number = holder.get(key)
    return number if type(number) is int else None
