"""The tree of a task group: its properties for any tasks, and the answers in spec/osmo.md."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packwise.frontends.osmo.model import LevelRequirement, TaskNode, TaskTree, build
from packwise.placement import Bounds
from packwise.topology.known import Level

LEVELS = tuple([Level(name, name) for name in ("zone", "spine", "rack", "clique")])
ZONE, SPINE, RACK, CLIQUE = LEVELS

Case = tuple[list[tuple[LevelRequirement, ...]], bool]

groups = st.sampled_from(["a", "b", "a-b", "A", "", "unconstrained", "é", "a" * 70])
kinds = st.booleans()


@st.composite
def requirements(draw: st.DrawFn, levels: list[int]) -> tuple[LevelRequirement, ...]:
    return tuple([LevelRequirement(level, draw(groups), draw(kinds)) for level in sorted(levels)])


@st.composite
def uniform_tasks(draw: st.DrawFn) -> list[tuple[LevelRequirement, ...]]:
    """Draw tasks that all request the same levels, or no level."""
    levels = draw(st.lists(st.integers(0, len(LEVELS) - 1), unique=True))
    return draw(st.lists(requirements(levels), min_size=1, max_size=8))


@st.composite
def different_tasks(draw: st.DrawFn) -> list[tuple[LevelRequirement, ...]]:
    """Draw tasks with any requests."""
    levels = st.lists(st.integers(0, len(LEVELS) - 1), unique=True)
    return draw(st.lists(levels.flatmap(requirements), min_size=1, max_size=8))


groups_of_tasks = st.one_of(
    uniform_tasks().map(lambda tasks: (tasks, False)),
    different_tasks().map(lambda tasks: (tasks, True)),
)


def tree_of(case: Case) -> TaskTree:
    tasks, pad = case
    return build(tasks, LEVELS, pad=pad)


def chain(tree: TaskTree, leaf: str | None) -> list[Bounds]:
    """Return the bounds of the pods of a leaf. The bounds of the whole group come first."""
    by_name = {node.name: node for node in tree.nodes}
    found: list[Bounds] = []
    while leaf is not None:
        found.insert(0, by_name[leaf].bounds)
        leaf = by_name[leaf].parent
    return [tree.bounds, *found] if tree.bounds is not None else found


def inner(tree: TaskTree) -> set[str | None]:
    return {node.parent for node in tree.nodes}


@given(groups_of_tasks)
def test_every_task_is_in_exactly_one_leaf_and_leaves_count_their_tasks(case: Case) -> None:
    tree = tree_of(case)
    leaves = {node.name: node.members for node in tree.nodes if node.name not in inner(tree)}

    assert len(tree.leaves) == len(case[0])
    if leaves:
        assert Counter(tree.leaves) == leaves
    else:
        assert set(tree.leaves) == {None}


@given(groups_of_tasks)
def test_only_leaves_have_members_and_parents_stand_first(case: Case) -> None:
    tree = tree_of(case)
    seen: set[str | None] = {None}
    for node in tree.nodes:
        assert node.parent in seen
        assert (node.members is None) == (node.name in inner(tree))
        seen.add(node.name)
    assert len(seen) == len(tree.nodes) + 1, "names are unique"


@given(groups_of_tasks)
def test_no_required_level_is_lost(case: Case) -> None:
    """Each required level of a task binds the task, or a finer level within it does."""
    tree = tree_of(case)
    for task, leaf in zip(case[0], tree.leaves, strict=True):
        finest = max(
            [LEVELS.index(each.required) for each in chain(tree, leaf) if each.required is not None], default=-1
        )
        required = [each.level for each in task if each.required]
        assert finest >= max(required, default=-1)
        own = {each.required for each in chain(tree, leaf)}
        below = [level for level in required if level > max([step.level for step in tree.shared], default=-1)]
        assert {LEVELS[level] for level in below} <= own


@given(groups_of_tasks)
def test_nothing_is_bound_by_what_no_task_of_its_node_requires(case: Case) -> None:
    """A task without requirements is not bound because of other tasks. Source: spec/osmo.md#decisions-3."""
    tree = tree_of(case)
    for leaf in set(tree.leaves):
        mates = [task for task, own in zip(case[0], tree.leaves, strict=True) if own == leaf]
        asked = {LEVELS[each.level] for task in mates for each in task}
        assert {each.required for each in chain(tree, leaf) if each.required is not None} <= asked


@given(groups_of_tasks)
def test_leaves_have_even_depth(case: Case) -> None:
    tree = tree_of(case)

    assert len({len(chain(tree, leaf)) for leaf in tree.leaves}) <= 1


@given(groups_of_tasks)
def test_names_are_labels_that_kai_takes(case: Case) -> None:
    for node in tree_of(case).nodes:
        name = node.name
        assert 1 <= len(name) <= 63
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
        assert name[0] != "-" != name[-1]


def unordered(tree: TaskTree) -> Any:
    return tree.bounds, sorted([(node.name, node.parent, node.members, node.bounds) for node in tree.nodes], key=repr)


@given(groups_of_tasks, st.randoms(use_true_random=False))
def test_the_order_of_tasks_changes_the_order_of_nodes_alone(case: Case, random: Random) -> None:
    tasks, pad = case
    places = list(range(len(tasks)))
    random.shuffle(places)

    one = build(tasks, LEVELS, pad=pad)
    other = build([tasks[place] for place in places], LEVELS, pad=pad)

    assert unordered(one) == unordered(other)
    assert [one.leaves[place] for place in places] == list(other.leaves)


@given(uniform_tasks())
def test_padding_changes_nothing_where_all_ask_for_the_same_levels(tasks: list[tuple[LevelRequirement, ...]]) -> None:
    assert build(tasks, LEVELS, pad=True) == build(tasks, LEVELS, pad=False)


def test_of_one_group_one_task_that_requires_it_is_enough() -> None:
    wish, need = [LevelRequirement(0, "a", required=False)], [LevelRequirement(0, "a", required=True)]

    assert build([wish, need], LEVELS, pad=False).bounds == Bounds(required=ZONE)
    assert build([need, wish], LEVELS, pad=False).bounds == Bounds(required=ZONE)


@pytest.mark.parametrize(("asked", "bounds"), [
    ([], None),
    ([(0, True)], Bounds(required=ZONE)),
    ([(0, True), (2, True)], Bounds(required=RACK)),
    ([(0, True), (2, False)], Bounds(required=ZONE, preferred=RACK)),
    ([(0, False), (2, True)], Bounds(required=RACK)),
    ([(0, False), (1, True), (2, False), (3, False)], Bounds(required=SPINE, preferred=CLIQUE)),
])  # fmt: skip
def test_what_all_tasks_share_is_asked_once(asked: list[tuple[int, bool]], bounds: Bounds | None) -> None:
    task = [LevelRequirement(level, "default", required) for level, required in asked]

    tree = build([task, task], LEVELS, pad=False)

    assert (tree.bounds, tree.nodes, tree.leaves) == (bounds, (), (None, None))


def test_the_padded_node_is_one_below_each_parent() -> None:
    z, r = LevelRequirement(0, "z"), LevelRequirement(2, "r")

    tree = build([[z, r], [z], [], [z], []], LEVELS, pad=True)

    assert [shown(node) for node in tree.nodes] == [
        "z: None in None, requires zone",
        "z-r: 1 in z, requires rack",
        "z-unconstrained: 2 in z, prefers rack",
        "unconstrained: None in None, prefers zone",
        "unconstrained-unconstrained: 2 in unconstrained, prefers rack",
    ]


def test_a_group_that_a_user_calls_unconstrained_is_another() -> None:
    tree = build([[LevelRequirement(0, "unconstrained")], []], LEVELS, pad=True)

    names = [node.name for node in tree.nodes]
    assert [name.rpartition("-")[0] for name in names] == ["unconstrained", "unconstrained"]
    assert len(set(names)) == 2


def shown(node: TaskNode) -> str:
    required, preferred = node.bounds.required, node.bounds.preferred
    bound = f"requires {required.key}" if required else f"prefers {preferred.key if preferred else None}"
    return f"{node.name}: {node.members} in {node.parent}, {bound}"
