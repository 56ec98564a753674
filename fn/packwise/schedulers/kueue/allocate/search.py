"""The domains that Kueue's topology-aware scheduling chooses for a pod set, or Kueue's message if the pods do not fit.

Kueue counts the pods and slices that fit into each domain, from the leaves up. It chooses domains at the requested
level, and descends from there to the leaves. Source: spec/kueue.md#9.4 to #9.6; Kueue, tas_flavor_snapshot.go.
"""

from __future__ import annotations

from itertools import pairwise

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from packwise.schedulers.kueue.allocate.domains import DomainTree, Excluded, Leaves
    from packwise.schedulers.kueue.allocate.scene import NodeRules, Path, PodRequest
    from packwise.schedulers.kueue.request import SliceLayer, TopologyRequest


class Question(Record):
    """Pods that Kueue places together: `count` workers, and one leader with the request `leader` unless it is None.

    `is_implied` is true if the pods request no topology, but all flavors of the queue have one.
    """

    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    request: PodRequest
    leader: PodRequest | None
    topology: TopologyRequest
    rules: NodeRules
    is_implied: bool = False


class NearestDomain(Record):
    """The domain that comes nearest to holding the pods. It has room for `room` of `requested` slices of `size` pods.

    `level` is the index of its level.
    """

    path: Path
    level: int
    room: int
    requested: int
    size: int


class SearchAnswer(Record):
    """The leaves of the workers and of the leader, with their numbers of pods. If there is a `message`, both are empty.

    `nearest` and `excluded` explain the message.
    """

    workers: tuple[tuple[Path, int], ...] = ()
    leader: tuple[tuple[Path, int], ...] = ()
    message: str = ""
    nearest: NearestDomain | None = None
    excluded: Excluded | None = None


class _Plan(Record):
    """A question in terms of a topology. Levels are indexes.

    `size` is the number of pods in a slice. The search begins at the level `search_depth`, and slices are in domains of
    the level `slice_depth`. `sizes` maps lower levels to the sizes of inner slices. `slice_layers` are the layers of
    slices if there are several. `least_free_first` selects Kueue's algorithm LeastFreeCapacity instead of BestFit.
    """

    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    size: int
    search_depth: int
    slice_depth: int
    sizes: Mapping[int, int]
    slice_layers: tuple[SliceLayer, ...]
    is_required: bool
    least_free_first: bool
    leaders: int

    @property
    def slices(self) -> int:
        """Return the number of whole slices. Kueue does not place the other pods."""
        return self.count // self.size


class _Level(Record):
    """For each domain of a level, the numbers of pods, slices and leaders that fit.

    Pods and slices are counted twice: without a leader in the domain, and with one.
    """

    pods: Sequence[int]
    pods_with_leader: Sequence[int]
    slices: Sequence[int]
    slices_with_leader: Sequence[int]
    leaders: Sequence[int]


class _Units(Record):
    """The counts that decide between domains: pods or slices, without and with a leader, and leaders."""

    units: Sequence[int] | Mapping[int, int]
    units_with_leader: Sequence[int] | Mapping[int, int]
    leaders: Sequence[int]


def find_domains(tree: DomainTree, question: Question, topology: str) -> SearchAnswer:
    """Return the leaves that Kueue assigns in the tree of `topology`, or Kueue's message if the pods do not fit."""
    plan = _plan(tree.levels, question)
    if isinstance(plan, str):
        return SearchAnswer(message=plan)
    leaves, excluded = tree.leaves(question.request, question.leader, question.rules)
    levels = _roll_up(tree, leaves, plan)
    depth, chosen = _search(tree, levels, plan)
    if isinstance(chosen, _Shortage):
        message = (
            _message(tree, levels, plan, chosen, topology) + excluded.suffix
            if chosen.level_key is None
            else (f"no topology domains at level: {chosen.level_key}")
        )
        return SearchAnswer(message=message, nearest=_nearest_domain(tree, levels, plan, depth), excluded=excluded)
    taken = _descend(tree, levels, plan, depth, chosen)
    last = tree.paths[-1]
    workers = sorted((last[domain], pods) for domain, pods, _ in taken if pods)
    leader = sorted((last[domain], leaders) for domain, _, leaders in taken if leaders)
    return SearchAnswer(tuple(workers), tuple(leader))


def _plan(levels: Sequence[str], question: Question) -> _Plan | str:
    """Return the question in terms of the levels, or Kueue's message if they do not permit it."""
    asked, layers = question.topology, question.topology.layers
    key = asked.required or asked.preferred
    # If only slices have a level, Kueue searches from the broadest level, even for an unconstrained pod set.
    only_slices = bool(layers) and key is None
    if key is None:
        key = levels[0] if only_slices else levels[-1]
    size, slice_key = (layers[0].size, layers[0].level) if layers else (1, levels[-1])
    sizes = _inner_sizes(levels, layers)
    wrong = _wrong_levels(levels, question, key, slice_key)
    if wrong or isinstance(sizes, str):
        return wrong or str(sizes)
    return _Plan(
        count=question.count,
        size=size,
        search_depth=levels.index(key),
        slice_depth=levels.index(slice_key),
        sizes=sizes,
        slice_layers=layers if len(layers) > 1 else (),
        is_required=asked.required is not None,
        # Kueue chooses the fullest domains first if the pods name no level (TASProfileMixed).
        least_free_first=asked.unconstrained is True or only_slices or question.is_implied,
        leaders=int(question.leader is not None),
    )


def _wrong_levels(levels: Sequence[str], question: Question, key: str, slice_key: str) -> str:
    """Return Kueue's message about a missing or misplaced level, or ""."""
    asked, layers = question.topology, question.topology.layers
    if layers and layers[0].size < 1:
        return "slice topology requested, but slice size not provided"
    if asked.unconstrained is False and not layers:
        return "topology level not specified"
    if key not in levels:
        return f"no requested topology level: {key}"
    if slice_key not in levels:
        return f"no requested topology level for slices: {slice_key}"
    if levels.index(key) > levels.index(slice_key):
        return f"podset slice topology {slice_key} is above the podset topology {key}"
    return ""


def _inner_sizes(levels: Sequence[str], layers: Sequence[SliceLayer]) -> dict[int, int] | str:
    """Return the sizes of inner slices by level, or Kueue's error.

    The size of a layer applies to its own level, and to the levels between this level and the layer above it.
    """
    sizes: dict[int, int] = {}
    for above, layer in pairwise(layers):
        if layer.level not in levels or above.level not in levels:
            return f"no requested topology level for additional slice layer: {layer.level}"
        top, level = levels.index(above.level), levels.index(layer.level)
        if level <= top:
            return f"additional slice layer topology {layer.level} must be at a lower level than {above.level}"
        if layer.size < 1 or above.size % layer.size:
            return f"additional slice layer size {layer.size} must evenly divide parent layer size {above.size}"
        sizes |= dict.fromkeys(range(top + 1, level + 1), layer.size)
    return sizes


def _roll_up(tree: DomainTree, leaves: Leaves, plan: _Plan) -> list[_Level]:
    """Return the counts of all domains by level, computed from the leaves up."""
    last = len(tree.levels) - 1
    pods, with_leader = leaves.pods, leaves.pods_with_leader
    slices, slices_with_leader = _slice_counts(pods, with_leader, plan, last) or ([0] * len(pods), [0] * len(pods))
    level = _Level(pods, with_leader, slices, slices_with_leader, leaves.leaders)
    levels = [level]
    for depth in range(last - 1, -1, -1):
        level = _parents(tree.spans[depth], level, plan, depth)
        levels.append(level)
    levels.reverse()
    return levels


def _slice_counts(
    pods: Sequence[int], with_leader: Sequence[int], plan: _Plan, depth: int
) -> tuple[Sequence[int], Sequence[int]] | None:
    """Return the numbers of slices in each domain, without and with a leader.

    Return None if `depth` is not the level of the slices.
    """
    if depth != plan.slice_depth:
        return None
    if plan.size == 1:
        return pods, with_leader
    slices = [count // plan.size for count in pods]
    return slices, slices if with_leader is pods else [count // plan.size for count in with_leader]


def _parents(spans: Sequence[tuple[int, int]], below: _Level, plan: _Plan, depth: int) -> _Level:
    """Return the counts of the level `depth`, computed from the level below."""
    unit = plan.sizes.get(depth + 1, 1)
    children, children_with_leader = _round_down(below.pods, unit), _round_down(below.pods_with_leader, unit)
    pods = [sum(children[start:end]) for start, end in spans]
    is_above = depth < plan.slice_depth
    # If a slice has one pod, the numbers of slices are the numbers of pods.
    is_alike = is_above and below.slices is below.pods and children is below.pods
    # Kueue counts no slices below the level of the slices.
    slices: Sequence[int] = pods if is_alike else [sum(below.slices[a:b]) if is_above else 0 for a, b in spans]
    if not plan.leaders:
        slices, _ = _slice_counts(pods, pods, plan, depth) or (slices, slices)
        return _Level(pods, pods, slices, slices, [0] * len(pods))
    leaders = [max(below.leaders[start:end], default=0) for start, end in spans]
    with_leader = _count_with_leader(spans, children, children_with_leader, below.leaders, pods)
    slices_with_leader: Sequence[int] = with_leader
    if not is_alike:
        slices_with_leader = _count_with_leader(spans, below.slices, below.slices_with_leader, below.leaders, slices)
    slices, slices_with_leader = _slice_counts(pods, with_leader, plan, depth) or (slices, slices_with_leader)
    return _Level(pods, with_leader, slices, slices_with_leader, leaders)


def _round_down(counts: Sequence[int], unit: int) -> Sequence[int]:
    """Return the numbers of pods, rounded down to whole inner slices of `unit` pods."""
    return counts if unit == 1 else [count // unit * unit for count in counts]


def _count_with_leader(
    spans: Sequence[tuple[int, int]],
    alone: Sequence[int],
    with_leader: Sequence[int],
    leaders: Sequence[int],
    totals: Sequence[int],
) -> list[int]:
    """Return the count of each domain if the domain also holds the leader.

    The leader is in the child with the smallest loss of pods or slices. The count is 0 if no child can hold the leader.
    """
    losses = [
        own - less if leader else _NO_LEADER for own, less, leader in zip(alone, with_leader, leaders, strict=True)
    ]
    least = [min(losses[start:end], default=_NO_LEADER) for start, end in spans]
    return [total - loss if loss < _NO_LEADER else 0 for total, loss in zip(totals, least, strict=True)]


_NO_LEADER = 1 << 62
"""The loss of a child that cannot hold the leader."""


class _Shortage(Record):
    """The result if the slices do not fit: only `room` slices do. `level_key` is set if the level has no domain."""

    level: int
    room: int
    level_key: str | None = None


def _search(tree: DomainTree, levels: Sequence[_Level], plan: _Plan) -> tuple[int, list[int] | _Shortage]:
    """Return the level at which the search ends, and the chosen domains or the shortage.

    If the domains of a preferred level are too small, the search continues with the levels above.
    """
    depth = plan.search_depth
    while True:
        if not tree.paths[depth]:
            return depth, _Shortage(depth, 0, tree.levels[depth])
        level = levels[depth]
        single = _single_domain(level, plan)
        if single is not None:
            return depth, [single]
        if plan.is_required:
            best = _first_for_leader(level)
            return depth, _Shortage(depth, level.slices[best])
        if depth == 0 or plan.least_free_first:
            return depth, _several_domains(level, plan, depth)
        depth -= 1


def _single_domain(level: _Level, plan: _Plan) -> int | None:
    """Return the smallest domain that has room for all slices, or None. Return the first one if several are equal."""
    wanted = plan.slices
    if not plan.leaders and level.slices is level.pods:
        # Most requests have no slices. The first domain with the smallest number of pods that suffices is the answer.
        least = min((count for count in level.pods if count >= wanted), default=None)
        return None if least is None else level.pods.index(least)
    holding = [
        domain
        for domain, count in enumerate(level.slices_with_leader)
        if count >= wanted and level.leaders[domain] >= plan.leaders
    ]
    return min(
        holding, key=lambda each: (level.slices_with_leader[each], level.pods_with_leader[each], each), default=None
    )


def _first_for_leader(level: _Level) -> int:
    """Return the domain with most leaders, then most slices, then fewest pods.

    If no domain of a required level suffices, Kueue reports the room of this domain.
    """
    domains: Sequence[int] = range(len(level.pods))
    for counts in (level.leaders, level.slices_with_leader):
        most = max([counts[domain] for domain in domains])
        domains = [domain for domain in domains if counts[domain] == most]
    return min(domains, key=level.pods_with_leader.__getitem__)


def _leader_order(level: _Level, plan: _Plan) -> Callable[[int], tuple[int, int, int, int]]:
    """Return the sort key of Kueue's order of domains for a leader. Ties are broken by the values of the domains."""
    sign = 1 if plan.least_free_first else -1
    leaders, slices, pods = level.leaders, level.slices_with_leader, level.pods_with_leader
    return lambda domain: (-leaders[domain], sign * slices[domain], pods[domain], domain)


def _sort(domains: Iterable[int], level: _Level, plan: _Plan) -> list[int]:
    """Return domains in Kueue's order for workers: by slices, then by pods, then by values.

    The sorts are stable, so they run in the reverse order of these criteria.
    """
    order = sorted(domains)
    if level.slices is not level.pods:
        order.sort(key=level.pods.__getitem__)
    order.sort(key=level.slices.__getitem__, reverse=not plan.least_free_first)
    return order


def _several_domains(level: _Level, plan: _Plan, depth: int) -> list[int] | _Shortage:
    """Return domains that have room for all slices together, or the shortage.

    The first one holds the leader, if there is one. The others are chosen greedily.
    """
    units = _Units(level.slices, level.slices_with_leader, level.leaders)
    left, chosen = plan.slices, list[int]()
    order: Sequence[int]
    if plan.leaders:
        order = sorted(range(len(level.pods)), key=_leader_order(level, plan))
        order = _leader_first(order, units, plan.slices, plan.leaders)
        first = order[0]
        if not level.leaders[first]:
            return _Shortage(depth, 0)
        if not plan.least_free_first and level.slices_with_leader[first] >= left:
            first = _best_fit(order, units.units_with_leader, units, left, plan.leaders)
        chosen.append(first)
        left -= level.slices_with_leader[first]
        # Kueue skips the first domain in the order here, even if it chose another one.
        order = order[1:]
    else:
        # A domain without room for a slice does not matter.
        order = [domain for domain, count in enumerate(level.slices) if count]
    order = _sort(order, level, plan)
    for position, domain in enumerate(order):
        if left <= 0:
            break
        if not plan.least_free_first and level.slices[domain] >= left:
            chosen.append(_best_fit(order[position:], units.units, units, left, 0))
            return chosen
        chosen.append(domain)
        left -= level.slices[domain]
    return _Shortage(depth, plan.slices - left) if left > 0 else chosen


def _leader_first(order: Sequence[int], units: _Units, wanted: int, leaders: int) -> Sequence[int]:
    """Return the order with the domain for the leader in front.

    Kueue chooses the first domain that has room for the leader and leaves enough room for the workers in all domains
    together. Return `order` unchanged if no domain is suitable.
    """
    if not leaders or len(order) < 2:
        return order
    spare = sum([units.units[domain] for domain in order]) - wanted
    for position, domain in enumerate(order):
        if units.leaders[domain] >= leaders and units.units[domain] - units.units_with_leader[domain] <= spare:
            return (domain, *order[:position], *order[position + 1 :])
    return order


def _best_fit(
    order: Sequence[int], counts: Sequence[int] | Mapping[int, int], units: _Units, wanted: int, leaders: int
) -> int:
    """Return the domain with the smallest count that suffices, or the first domain if no count suffices.

    Return the first one in the order if several have this count.
    """
    holding = [domain for domain in order if counts[domain] >= wanted and units.leaders[domain] >= leaders]
    return min(holding, key=lambda domain: counts[domain]) if holding else order[0]


_Taken = tuple[int, int, int]
"""A domain, its number of pods or slices, and its number of leaders."""


def _take(order: Sequence[int], units: _Units, wanted: int, leaders: int, *, best_fit: bool) -> list[_Taken]:
    """Distribute `wanted` units over domains in the given order, and return the units of each domain.

    Return [] if the domains have too little room. With `best_fit`, the last domain is the smallest one that holds the
    rest.
    """
    order = _leader_first(order, units, wanted, leaders)
    taken: list[_Taken] = []
    for position, domain in enumerate(order):
        counts = units.units_with_leader if leaders else units.units
        last = domain
        if best_fit and counts[domain] >= wanted and units.leaders[domain] >= leaders:
            last = _best_fit(order[position:], counts, units, wanted, leaders)
        room, leading = min(counts[last], wanted), min(units.leaders[last], leaders)
        taken.append((last, room, leading))
        wanted, leaders = wanted - room, leaders - leading
        if wanted == 0 and leaders == 0:
            return taken
    # Kueue logs an error here and assigns no domains.
    return []


def _descend(
    tree: DomainTree, levels: Sequence[_Level], plan: _Plan, depth: int, chosen: Sequence[int]
) -> list[_Taken]:
    """Return the leaves and their pods below the chosen domains of a level."""
    best_fit = not plan.least_free_first
    taken = _take(chosen, _slice_units(levels[depth]), plan.slices, plan.leaders, best_fit=best_fit)
    while depth < plan.slice_depth:
        # The children of all chosen domains compete. Kueue forgets how many slices each parent got.
        children = [child for domain, _, _ in taken for child in range(*tree.spans[depth][domain])]
        depth += 1
        order = _sort(children, levels[depth], plan)
        taken = _take(order, _slice_units(levels[depth]), plan.slices, plan.leaders, best_fit=best_fit)
    taken = [(domain, slices * plan.size, leaders) for domain, slices, leaders in taken]
    while depth < len(tree.levels) - 1:
        size = plan.sizes.get(depth + 1, 1)
        level = levels[depth + 1]
        below: list[_Taken] = []
        for domain, pods, leaders in taken:
            children = range(*tree.spans[depth][domain])
            order, units = _pod_units(level, children, plan, size)
            shares = _take(order, units, pods // size, leaders, best_fit=best_fit)
            below += [(child, units_taken * size, leading) for child, units_taken, leading in shares]
        taken, depth = below, depth + 1
    return taken


def _slice_units(level: _Level) -> _Units:
    return _Units(level.slices, level.slices_with_leader, level.leaders)


def _pod_units(level: _Level, children: range, plan: _Plan, size: int) -> tuple[list[int], _Units]:
    """Return the children in Kueue's order, and their counts in inner slices of `size` pods."""
    # Kueue sorts before it counts inner slices. Below the level of the slices, domains have no slices, so pods decide.
    order = _sort(children, level, plan)
    if size == 1:
        return order, _Units(level.pods, level.pods_with_leader, level.leaders)
    alone = {child: level.pods[child] // size for child in children}
    with_leader = {child: level.pods_with_leader[child] // size for child in children}
    return order, _Units(alone, with_leader, level.leaders)


def _message(tree: DomainTree, levels: Sequence[_Level], plan: _Plan, shortage: _Shortage, topology: str) -> str:
    """Return Kueue's message about pods that do not fit, without the excluded leaves."""
    if plan.slice_layers:
        best = _best_domain(tree, levels[shortage.level], shortage.level)
        parts = [
            f"; {_slices_within(tree, levels, shortage.level, best, layer)}/{plan.count // layer.size} slice(s) fit on "
            f"level {layer.level}"
            for layer in plan.slice_layers
        ]
        return f'topology "{topology}" doesn\'t allow to fit{"".join(parts)}'
    unit = "pod" if plan.size == 1 else "slice"
    if shortage.room == 0:
        return f'topology "{topology}" doesn\'t allow to fit any of {plan.slices} {unit}(s)'
    return f'topology "{topology}" allows to fit only {shortage.room} out of {plan.slices} {unit}(s)'


def _best_domain(tree: DomainTree, level: _Level, depth: int) -> int:
    """Return the domain with the most slices. Ties are broken by name. The name of a host is only its hostname."""
    is_host = tree.is_by_host and depth == len(tree.levels) - 1
    paths, most = tree.paths[depth], max(level.slices)
    best = [domain for domain, slices in enumerate(level.slices) if slices == most]
    return min(best, key=lambda domain: paths[domain][-1:] if is_host else paths[domain])


def _slices_within(tree: DomainTree, levels: Sequence[_Level], depth: int, domain: int, layer: SliceLayer) -> int:
    """Return the number of slices of a layer that fit into a domain."""
    start, end = domain, domain + 1
    target = tree.levels.index(layer.level)
    while depth < target and start < end:
        start, end = tree.spans[depth][start][0], tree.spans[depth][end - 1][1]
        depth += 1
    return sum([levels[target].pods[each] // layer.size for each in range(start, end)])


def _nearest_domain(tree: DomainTree, levels: Sequence[_Level], plan: _Plan, depth: int) -> NearestDomain | None:
    """Return the domain of the searched level that has the most room. Return None if the level has no domain."""
    if not tree.paths[depth]:
        return None
    depth = plan.search_depth if tree.paths[plan.search_depth] else depth
    best = _best_domain(tree, levels[depth], depth)
    return NearestDomain(tree.paths[depth][best], depth, levels[depth].slices[best], plan.slices, plan.size)
