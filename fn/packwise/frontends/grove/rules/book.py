"""The checks of a webhook, and their order. A check is a rule, and the function that returns its problems.

Source: spec/grove.md#4 and #5.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Generic, Record, TypeVar, as_dict
from packwise.frontends.grove.podcliqueset import TEMPLATE
from packwise.kubernetes import ErrorType, field_error
from packwise.revisions.grove import is_within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, TypeAlias

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Problem, Rule
    from packwise.frontends.grove.podcliqueset import Clique, PodCliqueSet, ScalingGroup
    from packwise.placement import Schedulers
    from packwise.revisions.grove import Revision
    from packwise.topology.known import ClusterTopology

S = TypeVar("S")


class Context(Record):
    """The facts beyond a workload that its rules need."""

    revision: Revision
    enabled: bool = False
    """True if topology-aware scheduling is enabled."""
    domains: tuple[str, ...] = ()
    """The domains in the configuration, in its order. Only revisions with one topology use them."""
    topologies: Mapping[str, ClusterTopology] = {}
    """The topologies by name. Only revisions with several topologies use them."""
    auto_mnnvl: bool = False
    """The value of network.autoMNNVLEnabled in the configuration."""
    is_mnnvl_known: bool = True
    """True if the value of network.autoMNNVLEnabled is known."""
    scheduled: int = 0
    """The number of scheduled pods of the workload, from the status of its PodCliques."""
    create: bool = True
    """True if the workload is new, and False for an update."""
    schedulers: Schedulers | None = None
    """The schedulers in Grove's configuration, or None if the revision has none there."""

    @property
    def lacks_mnnvl(self) -> bool:
        """Return True if MNNVL is known to be disabled."""
        return self.is_mnnvl_known and not self.auto_mnnvl


class Check(Record, Generic[S]):
    """A rule, and the function that returns its problems. A `create_only` rule applies only to new workloads.

    `since` is the first release with the rule, and `until` is the first release without it.
    """

    rule: Rule
    problems: Callable[[S, Context], Iterable[Problem]]
    create_only: bool = False
    since: Revision | None = None
    until: Revision | None = None


class Scope(Record, Generic[S]):
    """Checks that run for each part of a subject. All checks run for one part before they run for the next part.

    `since` is the first release with these checks, and `until` is the first release without them.
    """

    parts: Callable[[S, Context], Iterable[Any]]
    nodes: tuple[Node, ...]
    since: Revision | None = None
    until: Revision | None = None


Node: TypeAlias = "Check[Any] | Scope[Any]"

Steps: TypeAlias = "tuple[tuple[Callable[[Any, Context], Iterable[Any]], Rule | None, Steps], ...]"
"""Checks and scopes, prepared for many subjects. A step has a function, a rule, and inner steps.

For a check, the function returns its problems. For a scope, it returns the parts, the rule is None, and the inner steps
are the checks of the scope.
"""


class CliqueAt(Record):
    """A clique and its position in the list of cliques. `grouped` is true if it is a member of a scaling group."""

    pcs: PodCliqueSet
    position: int
    clique: Clique
    grouped: bool

    def path(self, *steps: str | int) -> FieldPath:
        """Return the path of a field of this clique."""
        return (*TEMPLATE, "cliques", self.position, *steps)


class GroupAt(Record):
    """A scaling group and its position in the list of groups. `clique_names` are all cliques of the set."""

    pcs: PodCliqueSet
    position: int
    group: ScalingGroup
    clique_names: frozenset[str]

    def path(self, *steps: str | int) -> FieldPath:
        """Return the path of a field of this scaling group."""
        return (*TEMPLATE, "podCliqueScalingGroups", self.position, *steps)


class Update(Record):
    """A PodCliqueSet before and after a change, both with their defaults."""

    old: PodCliqueSet
    new: PodCliqueSet


class Rulebook(Record):
    """The rules of the webhook. A new PodCliqueSet is checked by `constraints`, `whole`, `mnnvl` and `backend`.

    An update is checked by `whole`, `mnnvl_update` and `backend`. If they find no problem, the rules about changes run.
    """

    constraints: tuple[Node, ...]
    whole: tuple[Node, ...]
    mnnvl: tuple[Node, ...]
    mnnvl_update: tuple[Node, ...]
    backend: tuple[Node, ...]

    @property
    def create(self) -> tuple[Node, ...]:
        """Return the rules of a new PodCliqueSet, in the order of the webhook."""
        return (*self.constraints, *self.whole, *self.mnnvl, *self.backend)

    def of(self, release: str) -> Rulebook:
        """Return the rules in the webhook of the release with this tag. "" means a webhook before all releases."""
        return Rulebook(**{part: nodes_of(nodes, release) for part, nodes in as_dict(self).items()})


def nodes_of(nodes: Iterable[Node], release: str) -> tuple[Node, ...]:
    """Return the checks and scopes that apply to the release with this tag."""
    kept = [node.replace(since=None, until=None) for node in nodes if is_within(release, node.since, node.until)]
    below = [node.replace(nodes=nodes_of(node.nodes, release)) if isinstance(node, Scope) else node for node in kept]
    return (*below,)


def whole_set(pcs: PodCliqueSet, _context: Context) -> Iterable[PodCliqueSet]:
    """Return the set as the only part of a scope."""
    return (pcs,)


def cliques_of(pcs: PodCliqueSet, _context: Context) -> Iterable[CliqueAt]:
    """Return the cliques of the set as the parts of a scope."""
    grouped = pcs.grouped_cliques()
    return [CliqueAt(pcs, index, clique, clique.name in grouped) for index, clique in enumerate(pcs.cliques)]


def groups_of(pcs: PodCliqueSet, _context: Context) -> Iterable[GroupAt]:
    """Return the scaling groups of the set as the parts of a scope."""
    names = frozenset(clique.name for clique in pcs.cliques)
    return [GroupAt(pcs, index, group, names) for index, group in enumerate(pcs.groups)]


def prepare(nodes: Iterable[Node], *, create: bool = True) -> Steps:
    """Return the steps of these checks and scopes. If `create` is false, `create_only` rules are omitted."""
    return tuple([
        (node.parts, None, prepare(node.nodes, create=create))
        if isinstance(node, Scope)
        else (node.problems, node.rule, ())
        for node in nodes
        if create or isinstance(node, Scope) or not node.create_only
    ])  # fmt: skip


def run(steps: Steps, subject: object, context: Context) -> list[tuple[Rule, Problem]]:
    """Return all problems of a subject, in the operator's order. Each text of the operator appears only once."""
    every: list[tuple[Rule, Problem]] = []
    _walk(steps, subject, context, every)
    if not every:
        return []
    paths_by_text: dict[str, set[FieldPath]] = {}
    problems: list[tuple[Rule, Problem]] = []
    for rule, problem in every:
        text = problem.operator_message
        if text is None:
            problems.append((rule, problem))
        elif text not in paths_by_text:
            paths_by_text[text] = {problem.path}
            problems.append((rule, problem))
        elif problem.path not in paths_by_text[text]:
            # Report the other place, but without the text: the operator prints it only once.
            paths_by_text[text].add(problem.path)
            problems.append((rule, problem.replace(operator_message=None, stage=None)))
    return problems


def checks_of(nodes: Iterable[Node]) -> Iterator[Check[Any]]:
    """Yield every check, also from within scopes, in order."""
    for node in nodes:
        if isinstance(node, Check):
            yield node
        else:
            yield from checks_of(node.nodes)


def rules_of(nodes: Iterable[Node]) -> Iterator[Rule]:
    """Return an iterator over the rules of all checks, also from within scopes, in order."""
    return (check.rule for check in checks_of(nodes))


def _walk(steps: Steps, subject: object, context: Context, problems: list[tuple[Rule, Problem]]) -> None:
    for parts, rule, inner in steps:
        if rule is None:
            for part in parts(subject, context):
                _walk(inner, part, context, problems)
        else:
            for problem in parts(subject, context):
                problems.append((rule, problem.short_form))


def invalid_value(path: FieldPath, value: Value, detail: str, message: str, *, field: str | None = None) -> Problem:
    """Return a problem at `path` with packwise's `message`, and with the operator's text for an `Invalid value`.

    `detail` is the end of the operator's text. `field` is the path in that text if it differs from `path`.
    """
    return field_error(path, ErrorType.INVALID, value, detail, message, field=field)


def required_value(path: FieldPath, detail: str, message: str, *, field: str | None = None) -> Problem:
    """Return a problem as `invalid_value` does, but with the operator's text for a `Required value`."""
    return field_error(path, ErrorType.REQUIRED, None, detail, message, field=field)


def forbidden_problem(path: FieldPath, detail: str, message: str, *, field: str | None = None) -> Problem:
    """Return a problem as `invalid_value` does, but with the operator's text for a `Forbidden` value."""
    return field_error(path, ErrorType.FORBIDDEN, None, detail, message, field=field)
