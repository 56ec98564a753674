"""The domains that the default scheduler may choose for a tree of groups, over all orders and choices.

The scheduler's order of children, pods and nodes is not fixed. This module tries all orders and reports the facts that
all of them have in common. Equal nodes form one class. A state lists the pods on each node that the group uses, so
orders with equal results lead to one state. Source: spec/kubernetes-gangs.md#10.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Amounts = tuple[int, ...]
"""Amounts of all requested resources, always in the same order of resources."""

MAX_STATES = 25_000
"""The largest number of additional states that are tried for one tree. They take a few seconds."""


class Shape(Record):
    """The request of pods that are equal for the tree. `cpu` and `memory` are its amounts for scores."""

    request: Amounts
    cpu: int = 0
    memory: int = 0


class NodeClass(Record):
    """A class of `size` nodes that are equal for a tree. `free` are the free amounts of each node.

    `labels` are the nodes' labels that the tree's constraints name. `accepts` has a flag for each shape. The other
    fields are the allocatable and used CPU and memory of one node, for scores.
    """

    size: int
    free: Amounts
    labels: tuple[tuple[str, str], ...]
    accepts: tuple[bool, ...]
    cpu: int = 0
    memory: int = 0
    cpu_used: int = 0
    memory_used: int = 0


class Tree(Record):
    """A group and the groups below it. An inner group has `children`.

    A leaf has `running_pods`, and its waiting `pods` are counted by shape. `minimum` is the number of pods or children
    that the group needs. `key` is the label of its topology constraint, or "". `pinned_values` are the values of `key`
    on the nodes of running pods, or None for a node without the label. `is_ready` is true if enough pods or children
    exist.
    """

    name: str
    minimum: int
    key: str = ""
    children: tuple[Tree, ...] = ()
    pods: tuple[int, ...] = ()
    running_pods: int = 0
    pinned_values: frozenset[str | None] = frozenset()
    is_ready: bool = True
    is_composite: bool = False

    @property
    def groups(self) -> Iterator[Tree]:
        """Yield the group and all groups below it, parents first."""
        yield self
        for child in self.children:
            yield from child.groups

    @property
    def leaves(self) -> Iterator[Tree]:
        """Return the leaves of the tree, in order."""
        return (group for group in self.groups if not group.is_composite)

    @property
    def waiting_pods(self) -> int:
        """Return the number of pods that wait for a node."""
        return sum([sum(leaf.pods) for leaf in self.leaves])


State = tuple[tuple[int, tuple[int, ...]], ...]
"""The nodes that the tree uses. For each node: its class, and its number of pods of each shape."""


class Outcome(Record):
    """A possible result for a tree: the final `state`, and the number of `placed` pods and the domain of each group."""

    state: State
    placed: tuple[tuple[str, int], ...] = ()
    domains: tuple[tuple[str, str], ...] = ()


class TooManyStatesError(Exception):
    """Raised if a search for the outcomes of a tree reaches more than MAX_STATES states."""


class PinnedError(Exception):
    """Raised if running pods of a group are in two domains, or on a node without the label of its constraint.

    The message is the scheduler's.
    """


class Scene(Record):
    """The cluster for a search: the classes of its nodes and the shapes of the tree's pods.

    With `empty_is_domain`, nodes with an empty value of the label also form a domain.
    """

    classes: tuple[NodeClass, ...]
    shapes: tuple[Shape, ...]
    empty_is_domain: bool = True


class Search:
    """A search through all orders of one tree. With `is_partial`, it tries only the first option of each choice.

    Its result is then one of several possible ones.
    """

    __slots__ = ("_holders", "_keys", "_kinds", "_labels", "_left", "_pinned", "_scene", "is_partial")

    def __init__(self, scene: Scene, *, is_partial: bool = False) -> None:
        self._scene, self._left, self.is_partial = scene, MAX_STATES, is_partial
        self._labels = [dict(each.labels) for each in scene.classes]
        self._holders: dict[tuple[str, str], set[int]] = {}
        for index, each in enumerate(scene.classes):
            for label in each.labels:
                self._holders.setdefault(label, set()).add(index)
        self._keys = frozenset[str]()
        self._pinned = frozenset[tuple[str, str | None]]()
        self._kinds: list[tuple[object, ...]] = []

    def outcomes(self, tree: Tree) -> list[Outcome | None]:
        """Return all possible outcomes of the tree. None stands for a tree that is not placed.

        Raise TooManyStatesError if there are too many states, or PinnedError if running pods are in no single domain.
        """
        self._keys = frozenset([group.key for group in tree.groups if group.key])
        self._pinned = frozenset([(group.key, value) for group in tree.groups for value in group.pinned_values])
        self._kinds = [self._signature(frozenset({index}), ()) for index in range(len(self._scene.classes))]
        return self._group(tree, frozenset(range(len(self._scene.classes))), (), frozenset())

    def _group(self, tree: Tree, allowed: frozenset[int], state: State, fixed: frozenset[str]) -> list[Outcome | None]:
        """Return the outcomes of a group on the classes of nodes `allowed`.

        `fixed` are the keys of the group's ancestors, which already have a domain.
        """
        if not tree.is_ready:
            return [None]
        if not tree.key:
            return self._body(tree, allowed, state, fixed)
        domains = self._domains(tree, allowed)
        alike: dict[tuple[object, ...], list[str]] = {}
        for value, classes in domains.items():
            alike.setdefault(self._signature(classes, state), []).append(value)
        fixed |= {tree.key}
        candidates = [
            (values, self._body(tree, domains[values[0]], state, fixed)) for values in alike.values()
        ]  # fmt: skip
        return self._choices(tree, candidates, domains)

    def _signature(self, classes: frozenset[int], state: State) -> tuple[object, ...]:
        """Return a description of the classes and of their pods. Two domains with equal signatures are interchangeable.

        It omits the values of labels that only nodes of these classes have, unless running pods pin them.
        """
        loads: dict[int, list[tuple[int, ...]]] = {}
        for index, load in state:
            if index in classes:
                loads.setdefault(index, []).append(load)
        parts: list[tuple[tuple[object, ...], list[tuple[str, str]]]] = []
        for index in classes:
            node = self._scene.classes[index]
            own = [label for label in node.labels if self._holders[label] <= classes and label not in self._pinned]
            shared = tuple([label for label in node.labels if label not in own])
            amounts = (node.size, node.free, node.accepts, node.cpu, node.memory, node.cpu_used, node.memory_used)
            parts.append(((*amounts, shared, tuple(loads.get(index, ())), tuple([key for key, _ in own])), own))
        parts.sort(key=lambda part: repr(part[0]))
        numbers: dict[tuple[str, str], int] = {}
        return tuple([
            (part, tuple([numbers.setdefault(label, len(numbers)) for label in own])) for part, own in parts
        ])  # fmt: skip

    def _domains(self, tree: Tree, allowed: frozenset[int]) -> dict[str, frozenset[int]]:
        """Return the classes of each domain that the group may use, sorted by the value of its key."""
        if tree.pinned_values and (None in tree.pinned_values or len(tree.pinned_values) > 1):
            raise PinnedError(_pin_message(tree))
        domains: dict[str, set[int]] = {}
        for index in sorted(allowed):
            value = self._labels[index].get(tree.key)
            # An empty value forms a domain in Kubernetes 1.37, but not in 1.38. Source: spec/kubernetes-gangs.md#10.
            if value is not None and (value or self._scene.empty_is_domain):
                domains.setdefault(value, set()).add(index)
        wanted = tree.pinned_values or domains
        return {value: frozenset(domains[value]) for value in sorted(domains) if value in wanted}

    def _choices(
        self,
        tree: Tree,
        candidates: Sequence[tuple[list[str], list[Outcome | None]]],
        domains: Mapping[str, frozenset[int]],
    ) -> list[Outcome | None]:
        """Return the outcomes with the best score for some combination of the candidates' outcomes.

        A candidate is a list of equal domains with its outcomes. An outcome of several equal domains names none of
        them.
        """
        scored = [
            [None if each is None else self._score(tree, each, domains[values[0]]) for each in outcomes]
            for values, outcomes in candidates
        ]
        results: dict[Outcome | None, None] = {}
        if all(None in outcomes for _, outcomes in candidates):
            results[None] = None
        totals = sorted({score[0] for scores in scored for score in scores if score is not None})
        for place, (values, outcomes) in enumerate(candidates):
            others = [scores for index, scores in enumerate(scored) if index != place]
            for outcome, score in zip(outcomes, scored[place], strict=True):
                if outcome is not None and score is not None and _can_win(score, others, totals):
                    value = values[0] if len(values) == 1 else ""
                    won = outcome.replace(domains=tuple(sorted([*outcome.domains, (tree.name, value)])))
                    results.setdefault(won, None)
        return list(results)

    def _score(self, tree: Tree, outcome: Outcome, classes: frozenset[int]) -> tuple[int, int]:
        """Return the two scores of an outcome: the number of the group's pods, and the use of the domain in percent."""
        names = {leaf.name for leaf in tree.leaves}
        pods = sum([leaf.running_pods for leaf in tree.leaves])
        pods += sum([count for name, count in outcome.placed if name in names])
        cpu = memory = cpu_used = memory_used = 0
        # As in the scheduler's default configuration, full and cordoned nodes count, and only CPU and memory do.
        # Source: spec/kubernetes-gangs.md#10.
        for index in classes:
            each = self._scene.classes[index]
            cpu, memory = cpu + each.size * each.cpu, memory + each.size * each.memory
            cpu_used, memory_used = cpu_used + each.size * each.cpu_used, memory_used + each.size * each.memory_used
        for index, load in outcome.state:
            if index in classes:
                for shape, count in zip(self._scene.shapes, load, strict=True):
                    cpu_used, memory_used = cpu_used + count * shape.cpu, memory_used + count * shape.memory
        return pods, (_percent(cpu_used, cpu) + _percent(memory_used, memory)) // 2

    def _body(self, tree: Tree, allowed: frozenset[int], state: State, fixed: frozenset[str]) -> list[Outcome | None]:
        """Return the outcomes of a group on the nodes of its domain."""
        if tree.is_composite:
            return self._children(tree, allowed, state, fixed)
        return self._pods(tree, allowed, state, fixed)

    def _pods(self, tree: Tree, allowed: frozenset[int], state: State, fixed: frozenset[str]) -> list[Outcome | None]:
        """Return the outcomes of a leaf. Its pods are placed one by one, and a pod that fits nowhere is skipped."""
        # If all pods are equal and no group below chooses a domain, one order of the pods is enough.
        is_simple = self.is_partial or (len(self._scene.shapes) == 1 and self._keys <= fixed)
        ends: dict[Outcome | None, None] = {}
        seen: set[tuple[State, tuple[int, ...]]] = set()
        waiting = [(state, tree.pods)]
        while waiting:
            here, left = waiting.pop()
            steps = [
                (after, tuple([count - (index == shape) for index, count in enumerate(left)]))
                for shape, count in enumerate(left)
                if count
                for after in self._steps(here, shape, allowed)
            ]
            if not steps:
                placed = sum(tree.pods) - sum(left)
                is_enough = tree.running_pods + placed >= tree.minimum
                ends.setdefault(Outcome(here, ((tree.name, placed),)) if is_enough else None, None)
            new = [step for step in dict.fromkeys(steps[:1] if is_simple else steps) if step not in seen]
            self._count(len(new) - 1)
            seen.update(new)
            waiting += new
        return list(ends)

    def _steps(self, state: State, shape: int, allowed: frozenset[int]) -> Iterator[State]:
        """Yield the states with one more pod of the shape, one state for each node that has room for it.

        Equal nodes lead to one state.
        """
        touched: dict[int, int] = {}
        for index, _ in state:
            touched[index] = touched.get(index, 0) + 1
        empty = (0,) * len(self._scene.shapes)
        for place, (index, load) in enumerate(state):
            is_again = place > 0 and state[place - 1] == state[place]
            if index in allowed and not is_again and self._has_room(index, load, shape):
                yield tuple(sorted([*state[:place], (index, _add(load, shape)), *state[place + 1 :]]))
        kinds: set[tuple[object, ...]] = set()
        for index in sorted(allowed):
            if index not in touched:
                # Classes that differ only in labels of their own are equal until one of them is used.
                if self._kinds[index] in kinds:
                    continue
                kinds.add(self._kinds[index])
            if touched.get(index, 0) < self._scene.classes[index].size and self._has_room(index, empty, shape):
                yield tuple(sorted([*state, (index, _add(empty, shape))]))

    def _has_room(self, index: int, load: tuple[int, ...], shape: int) -> bool:
        node, shapes = self._scene.classes[index], self._scene.shapes
        if not node.accepts[shape]:
            return False
        for resource, free in enumerate(node.free):
            wanted = shapes[shape].request[resource]
            taken = sum([count * shapes[each].request[resource] for each, count in enumerate(load) if count])
            if wanted and taken + wanted > free:
                return False
        return True

    def _children(
        self, tree: Tree, allowed: frozenset[int], state: State, fixed: frozenset[str]
    ) -> list[Outcome | None]:
        """Return the outcomes of an inner group. Its children are placed one after the other, in all orders."""
        ends: dict[Outcome | None, None] = {}
        waiting: list[tuple[Outcome, frozenset[int], int]] = [(Outcome(state), frozenset(range(len(tree.children))), 0)]
        seen = set(waiting)
        while waiting:
            outcome, left, ready = waiting.pop()
            if not left:
                ends.setdefault(outcome if ready >= tree.minimum else None, None)
                continue
            steps = [
                (_join(outcome, result), left - {index}, ready + (result is not None))
                for index in (sorted(left)[:1] if self.is_partial else sorted(left))
                for result in self._group(tree.children[index], allowed, outcome.state, fixed)
            ]
            new = [step for step in dict.fromkeys(steps[:1] if self.is_partial else steps) if step not in seen]
            self._count(len(new) - 1)
            seen.update(new)
            waiting += new
        return list(ends)

    def _count(self, states: int) -> None:
        self._left -= max(states, 0)
        if self._left < 0:
            raise TooManyStatesError


def _join(before: Outcome, result: Outcome | None) -> Outcome:
    """Return the outcome `before` of some children with the `result` of one more child.

    A child that is not placed changes nothing.
    """
    if result is None:
        return before
    return Outcome(
        result.state,
        tuple(sorted([*before.placed, *result.placed])),
        tuple(sorted([*before.domains, *result.domains])),
    )


def _can_win(score: tuple[int, int], others: Sequence[Sequence[tuple[int, int] | None]], totals: Iterable[int]) -> bool:
    """Return True if an outcome with this score can win against some outcome of each other candidate.

    The outcome wins against outcomes that do not have a higher sum of scores. The number of pods counts in percent of
    the largest number among the compared outcomes.
    """
    pods, room = score
    for most in totals:
        if most < pods:
            continue
        own = _percent(pods, most) + room
        below = [
            [each for each in scores if each is None or (each[0] <= most and _percent(each[0], most) + each[1] <= own)]
            for scores in others
        ]
        has_most = pods == most or any(each is not None and each[0] == most for scores in below for each in scores)
        if has_most and all(below):
            return True
    return False


def _percent(part: int, whole: int) -> int:
    return 100 * part // whole if whole else 0


def _add(load: tuple[int, ...], shape: int) -> tuple[int, ...]:
    return tuple([count + (index == shape) for index, count in enumerate(load)])


def _pin_message(tree: Tree) -> str:
    start = "cannot determine domain for already scheduled pods: "
    if None in tree.pinned_values:
        return f"{start}no topology domain found for pod"
    known = ", ".join(sorted([value for value in tree.pinned_values if value is not None]))
    return f"{start}more than 1 domain found for pod group: {known}"


class Verdict(Record):
    """The facts about a tree that hold in every order. `states` are its possible states, several if the order decides.

    `domains` maps each group to its domain if that is the same in every order. `outcome` is one possible result, or
    None if no pods are placed. `message` is the scheduler's error. `is_partial` is true if not all orders were tried.
    """

    states: tuple[str, ...]
    domains: Mapping[str, str] = {}
    outcome: Outcome | None = None
    message: str = ""
    is_partial: bool = False


ALLOCATED, PARTIAL, PENDING, NOT_READY = "allocated", "partial", "pending", "notready"


def decide(tree: Tree, scene: Scene) -> Verdict:
    """Return the facts about the tree that hold for every order of children and pods and every choice of nodes."""
    if not tree.is_ready:
        return Verdict((NOT_READY,))
    search = Search(scene)
    try:
        try:
            outcomes = search.outcomes(tree)
        except TooManyStatesError:
            search = Search(scene, is_partial=True)
            outcomes = search.outcomes(tree)
    except PinnedError as error:
        return Verdict((_state_of(tree, None),), message=str(error))
    states = tuple(sorted({_state_of(tree, outcome) for outcome in outcomes}))
    placed = [outcome for outcome in outcomes if outcome is not None]
    is_certain = len(placed) == len(outcomes) and not search.is_partial
    return Verdict(
        states,
        _common_domains(placed) if is_certain else {},
        placed[0] if placed else None,
        is_partial=search.is_partial,
    )


def _common_domains(outcomes: Sequence[Outcome]) -> dict[str, str]:
    common = dict(outcomes[0].domains) if outcomes else {}
    for outcome in outcomes[1:]:
        domains = dict(outcome.domains)
        common = {name: value for name, value in common.items() if domains.get(name) == value}
    # The scheduler may choose any of several equal domains, which have no value.
    return {name: value for name, value in common.items() if value}


def _state_of(tree: Tree, outcome: Outcome | None) -> str:
    if outcome is None:
        return PARTIAL if runs_minimum(tree) else PENDING
    return ALLOCATED if sum([count for _, count in outcome.placed]) == tree.waiting_pods else PARTIAL


def runs_minimum(tree: Tree) -> bool:
    """Return True if the pods and children that the group needs run already."""
    if not tree.is_composite:
        return tree.running_pods >= tree.minimum
    return sum([runs_minimum(child) for child in tree.children]) >= tree.minimum
