"""startsAfter: an explicit order of start without holes and circles. Source: spec/grove.md#r12 to #r14, #r30, #r31."""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Rule
from packwise.frontends.grove.rules.check import TEMPLATE, Check, CliqueAt, Context, Scope, invalid, refused, required
from packwise.frontends.grove.rules.cliques import duplicates
from packwise.kubernetes.validation import ErrorType, OperatorError
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packwise.findings.finding import Problem
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["DEPENDENCIES", "DEPENDENCY_GRAPH", "EXPLICIT", "cycles"]

EXPLICIT = "CliqueStartupTypeExplicit"
"""The startup type in which cliques name those that they wait for."""


class _Dependency(NamedTuple):
    at: CliqueAt
    position: int
    name: str


def _dependencies(at: CliqueAt, _context: Context) -> Iterable[_Dependency]:
    if at.pcs.startup_type != EXPLICIT:
        return ()
    return [_Dependency(at, index, name) for index, name in enumerate(at.clique.starts_after or ())]


def _named(dep: _Dependency, _context: Context) -> Iterator[Problem]:
    if not dep.name.strip():
        path = dep.at.path("spec", "startsAfter", dep.position)
        field = format_path(dep.at.path("spec", "startsAfter"))
        yield required(path, "clique dependency must not be empty", "must name a clique", field=field)


def _other(dep: _Dependency, _context: Context) -> Iterator[Problem]:
    if dep.name == dep.at.clique.name:
        path = dep.at.path("spec", "startsAfter", dep.position)
        field = format_path(dep.at.path("spec", "startsAfter"))
        text = "clique dependency cannot refer to itself"
        yield invalid(path, dep.name, text, f'must name another clique; got "{dep.name}" itself', field=field)


def _once(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    repeated = duplicates(at.clique.starts_after or ()) if at.pcs.startup_type == EXPLICIT else []
    if repeated:
        path = at.path("spec", "startsAfter")
        error = OperatorError(format_path(path), ErrorType.DUPLICATE, repeated)
        yield refused(path, f"must name each clique once; more than once: {list_known(repeated)}", error)


def _known(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    if pcs.startup_type != EXPLICIT:
        return
    names = [clique.name for clique in pcs.cliques]
    unknown = [
        (i, j, dep) for i, c in enumerate(pcs.cliques) for j, dep in enumerate(c.starts_after or ()) if dep not in names
    ]
    if not unknown:
        return
    text = "unknown clique names found, all clique dependencies must be defined as cliques"
    joined = ",".join([dep for _, _, dep in unknown])
    # The operator has one error for all of them.
    problem = refused((), "", OperatorError("spec.template.cliques.startsAfter", ErrorType.INVALID, joined, text))
    for i, j, dep in unknown:
        message = f'must name a clique of this set; got "{dep}", known: {list_known(names)}{closest(dep, names)}'
        yield problem._replace(path=(*TEMPLATE, "cliques", i, "spec", "startsAfter", j), message=message)


def _acyclic(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    if pcs.startup_type != EXPLICIT:
        return
    graph: dict[str, list[str]] = {}
    for clique in pcs.cliques:
        graph.setdefault(clique.name, []).extend(clique.starts_after or ())
    circles = cycles(graph)
    if not circles:
        return
    text = "clique must not have circular dependencies"
    problem = refused((), "", OperatorError("spec.template.cliques", ErrorType.INVALID, circles, text))
    for circle in circles:
        first = next(index for index, clique in enumerate(pcs.cliques) if clique.name in circle)
        message = f"must not go round in a circle; these cliques wait for each other: {list_known(circle)}"
        yield problem._replace(path=(*TEMPLATE, "cliques", first, "spec", "startsAfter"), message=message)


def cycles(graph: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Groups of two or more nodes that all reach each other (strongly connected components), without recursion."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    circles: list[list[str]] = []
    for root in graph:
        work = [] if root in order else [(root, iter(graph[root]))]
        if work:
            _enter(root, order, low, stack, on_stack)
        while work:
            node, targets = work[-1]
            following = next(targets, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    component = _component(node, stack, on_stack)
                    if len(component) > 1:
                        circles.append(component)
            elif following not in order:
                _enter(following, order, low, stack, on_stack)
                work.append((following, iter(graph.get(following, ()))))
            elif following in on_stack:
                low[node] = min(low[node], order[following])
    return circles


def _enter(node: str, order: dict[str, int], low: dict[str, int], stack: list[str], on_stack: set[str]) -> None:
    order[node] = low[node] = len(order)
    stack.append(node)
    on_stack.add(node)


def _component(node: str, stack: list[str], on_stack: set[str]) -> list[str]:
    members: list[str] = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        members.append(member)
        if member == node:
            return members


DEPENDENCIES = (
    Scope(_dependencies, (
        Check(Rule("starts-after-name", "An entry of startsAfter names a clique.", "spec/grove.md#r12"), _named),
        Check(Rule("starts-after-self", "A clique does not start after itself.", "spec/grove.md#r13"), _other),
    )),
    Check(Rule("starts-after-unique", "startsAfter names each clique once.", "spec/grove.md#r14"), _once),
)  # fmt: skip
"""Rules of one clique's startsAfter; only for the explicit startup type."""

DEPENDENCY_GRAPH = (
    Check(Rule("starts-after-known", "startsAfter names cliques of this set.", "spec/grove.md#r30"), _known),
    Check(
        Rule("starts-after-acyclic", "Cliques do not wait for each other in a circle.", "spec/grove.md#r31"), _acyclic
    ),
)
"""Rules of all startsAfter together; only for the explicit startup type."""
