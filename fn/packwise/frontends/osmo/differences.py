"""Where the render of a group differs from that of OSMO as built, and why OSMO's is wrong.

Source: spec/osmo.md#d1 to #d9.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.osmo.names import MAX_NAME
from packwise.frontends.osmo.rules import DIFFERS
from packwise.frontends.osmo.tree import joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packwise.findings.finding import Finding
    from packwise.frontends.osmo.placements import Names
    from packwise.frontends.osmo.pool import Pool
    from packwise.frontends.osmo.rules import Submission
    from packwise.frontends.osmo.tree import Node, Tree
    from packwise.frontends.osmo.workflow import Group
    from packwise.settings import Osmo

__all__ = ["differences", "renamed"]

_SHOWN = 3


def differences(submission: Submission, group: Group, tree: Tree) -> Iterator[Finding]:
    """What is rendered otherwise for `group` than OSMO would."""
    for message in _messages(submission, group, tree):
        yield submission.workflow.at(group.path).finding(DIFFERS, message)


def renamed(pool: Pool, names: Names, settings: Osmo) -> Iterator[Finding]:
    """A pool whose queue and Topology would have names that Kubernetes refuses, or that another pool's would have."""
    wanted, name = f"osmo-pool-{settings.namespace}-{pool.name}", names.queues[pool.name]
    if name != wanted:
        message = (
            f'has the queue "{name}", for OSMO\'s name, "{wanted}", is one that Kubernetes refuses, or that is taken'
        )
        yield pool.place.finding(DIFFERS, message)


def _messages(submission: Submission, group: Group, tree: Tree) -> Iterator[str]:
    bounds, nodes = tree.bounds, tree.nodes
    if bounds is not None and bounds.required and bounds.preferred:
        yield (
            f"requires {bounds.required.key} and prefers {bounds.preferred.key} within it; OSMO would keep the wish "
            "alone, and lose the requirement"
        )
    inner = [node for node in nodes if node.members is None]
    passed = _passed_through(nodes)
    if passed:
        yield (
            f"has the {_subgroups(passed)}, which OSMO would leave out with what they require, so that leaves stand "
            "beside inner nodes, which KAI v0.12 drops"
        )
    if len(inner) > len(passed):
        kept = [node for node in inner if node not in passed]
        yield (
            f"has no minMember on the {_subgroups(kept)}, where OSMO would write one: KAI refuses that from v0.15 "
            "on, for only leaves hold pods"
        )
    renamed = [node for node in nodes if node.name != node.wanted]
    if renamed:
        names = ", ".join([f'"{node.wanted}" is "{node.name}"' for node in renamed[:_SHOWN]])
        yield (
            f"has subgroups of other names than OSMO's ({names}{_more(renamed)}): KAI refuses those, or would take two "
            "groups for one"
        )
    shared = [joined(tree.shared[:depth]) for depth in range(1, len(tree.shared) + 1)]
    if len(set(shared)) < len(shared) or not {node.wanted for node in nodes}.isdisjoint(shared):
        yield "has levels whose groups lead to one name; OSMO would take them for one level, the broadest of them"
    padded = [
        leaf for leaf, node in zip(tree.leaves, _leaf_nodes(tree), strict=True) if node is not None and _is_padded(node)
    ]
    if padded:
        yield (
            f"has {len(padded)} of its tasks filled up to the keys of the others, where OSMO would refuse the workflow "
            f'or leave them without a place ("{padded[0]}")'
        )
    long = [task.name for task in group.tasks if len(task.name) > MAX_NAME]
    if long and nodes:
        yield f'has the task "{long[0]}", which OSMO would lose from its subgroup: the label of its name is one shorter'
    for name in sorted({task.resource for task in group.tasks}):
        keys = [each.key for each in submission.workflow.resources[name].topology]
        if len(set(keys)) < len(keys):
            yield f'uses resource "{name}", which says a topology key twice; OSMO would nest that level within itself'


def _passed_through(nodes: Sequence[Node]) -> list[Node]:
    """The inner nodes that OSMO leaves out: with one child, and no parent that it keeps."""
    children: dict[str | None, int] = {}
    for node in nodes:
        children[node.parent] = children.get(node.parent, 0) + 1
    left_out: list[Node] = []
    gone: set[str | None] = {None}
    for node in nodes:
        if node.members is None and node.parent in gone and children[node.name] == 1:
            left_out.append(node)
            gone.add(node.name)
    return left_out


def _leaf_nodes(tree: Tree) -> list[Node | None]:
    by_name = {node.name: node for node in tree.nodes}
    return [None if leaf is None else by_name[leaf] for leaf in tree.leaves]


def _is_padded(node: Node) -> bool:
    return any(step.group is None for step in node.path)


def _subgroups(nodes: Sequence[Node]) -> str:
    names = ", ".join([f'"{node.name}"' for node in nodes[:_SHOWN]])
    return f"inner subgroup{'' if len(nodes) == 1 else 's'} {names}{_more(nodes)}"


def _more(nodes: Sequence[Node]) -> str:
    return f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
