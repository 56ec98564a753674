"""Checks: a rule with the function that returns its problems, and the order of a webhook's checks.

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
    """The context of a workload that rules may depend on.

    `enabled` is true if TAS is enabled. `domains` are the configuration's domains in its order (revisions with one
    topology). `topologies` maps names to topologies (revisions with many). `auto_mnnvl` is the configuration's
    network.autoMNNVLEnabled, and `knows_mnnvl` is true if it is known. `scheduled` is the number of scheduled pods in
    the status of the workload's PodCliques. `schedulers` are the schedulers in Grove's configuration, if the revision
    has them.
    """

    revision: Revision
    enabled: bool = False
    domains: tuple[str, ...] = ()
    topologies: Mapping[str, ClusterTopology] = {}
    auto_mnnvl: bool = False
    knows_mnnvl: bool = True
    scheduled: int = 0
    create: bool = True
    schedulers: Schedulers | None = None

    @property
    def lacks_mnnvl(self) -> bool:
        """True if the feature is known to be off."""
        return self.knows_mnnvl and not self.auto_mnnvl


class Check(Record, Generic[S]):
    """A rule and the function that returns its problems. A `create_only` rule applies only to new workloads.

    `since` is the first release with the rule and `until` the first release without it.
    """

    rule: Rule
    problems: Callable[[S, Context], Iterable[Problem]]
    create_only: bool = False
    since: Revision | None = None
    until: Revision | None = None


class Scope(Record, Generic[S]):
    """Checks that run once for each part of a subject, all of them for one part before the next part.

    `since` and `until` as of a check.
    """

    parts: Callable[[S, Context], Iterable[Any]]
    nodes: tuple[Node, ...]
    since: Revision | None = None
    until: Revision | None = None


Node: TypeAlias = "Check[Any] | Scope[Any]"

Steps: TypeAlias = "tuple[tuple[Callable[[Any, Context], Iterable[Any]], Rule | None, Steps], ...]"
"""Nodes prepared for many subjects: the function of each, its rule or None for a scope, and the steps in the scope."""


class CliqueAt(Record):
    """A clique and its position in the list. `grouped` is true if it is a member of a scaling group."""

    pcs: PodCliqueSet
    position: int
    clique: Clique
    grouped: bool

    def path(self, *steps: str | int) -> FieldPath:
        """A path below this clique."""
        return (*TEMPLATE, "cliques", self.position, *steps)


class GroupAt(Record):
    """A scaling group and its position in the list. `clique_names` are the names of all cliques of the set."""

    pcs: PodCliqueSet
    position: int
    group: ScalingGroup
    clique_names: frozenset[str]

    def path(self, *steps: str | int) -> FieldPath:
        """A path below this scaling group."""
        return (*TEMPLATE, "podCliqueScalingGroups", self.position, *steps)


class Update(Record):
    """A PodCliqueSet before and after, both defaulted."""

    old: PodCliqueSet
    new: PodCliqueSet


class Rulebook(Record):
    """The webhook's rules in its order: `constraints`, `whole`, `mnnvl` and `backend` for a new PodCliqueSet.

    An update runs `whole`, `mnnvl_update` and `backend`, and the rules about changes if these find no problem.
    """

    constraints: tuple[Node, ...]
    whole: tuple[Node, ...]
    mnnvl: tuple[Node, ...]
    mnnvl_update: tuple[Node, ...]
    backend: tuple[Node, ...]

    @property
    def create(self) -> tuple[Node, ...]:
        """The rules of a new PodCliqueSet."""
        return (*self.constraints, *self.whole, *self.mnnvl, *self.backend)

    def of(self, release: str) -> Rulebook:
        """Return the rules of the webhook of the release with this tag. An empty tag stands for a webhook before
        all.
        """
        return Rulebook(**{part: nodes_of(nodes, release) for part, nodes in as_dict(self).items()})


def nodes_of(nodes: Iterable[Node], release: str) -> tuple[Node, ...]:
    """Return the nodes of the release with this tag."""
    kept = [node.replace(since=None, until=None) for node in nodes if is_within(release, node.since, node.until)]
    below = [node.replace(nodes=nodes_of(node.nodes, release)) if isinstance(node, Scope) else node for node in kept]
    return (*below,)


def whole_set(pcs: PodCliqueSet, _context: Context) -> Iterable[PodCliqueSet]:
    """Return the set as its only part."""
    return (pcs,)


def cliques_of(pcs: PodCliqueSet, _context: Context) -> Iterable[CliqueAt]:
    """The cliques with their positions: the parts of a scope."""
    grouped = pcs.grouped_cliques()
    return [CliqueAt(pcs, index, clique, clique.name in grouped) for index, clique in enumerate(pcs.cliques)]


def groups_of(pcs: PodCliqueSet, _context: Context) -> Iterable[GroupAt]:
    """The scaling groups with their positions."""
    names = frozenset(clique.name for clique in pcs.cliques)
    return [GroupAt(pcs, index, group, names) for index, group in enumerate(pcs.groups)]


def prepare(nodes: Iterable[Node], *, create: bool = True) -> Steps:
    """Return the steps of these nodes. With `create` false, they are for an update and lack its `create_only` rules."""
    return tuple([
        (node.parts, None, prepare(node.nodes, create=create))
        if isinstance(node, Scope)
        else (node.problems, node.rule, ())
        for node in nodes
        if create or isinstance(node, Scope) or not node.create_only
    ])  # fmt: skip


def run(steps: Steps, subject: object, context: Context) -> list[tuple[Rule, Problem]]:
    """Return every problem in the operator's order. The operator prints each of its texts only once."""
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
            # A different place in the file, which the operator's text covers already.
            paths_by_text[text].add(problem.path)
            problems.append((rule, problem.replace(operator_message=None, stage=None)))
    return problems


def checks_of(nodes: Iterable[Node]) -> Iterator[Check[Any]]:
    """Every check of a tree, in order."""
    for node in nodes:
        if isinstance(node, Check):
            yield node
        else:
            yield from checks_of(node.nodes)


def rules_of(nodes: Iterable[Node]) -> Iterator[Rule]:
    """Every rule of a tree, in order: the documentation's list."""
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
    """An `Invalid value` of the operator at `field` (default: the true path), with packwise's own `message`."""
    return field_error(path, ErrorType.INVALID, value, detail, message, field=field)


def required_value(path: FieldPath, detail: str, message: str, *, field: str | None = None) -> Problem:
    """A `Required value` of the operator."""
    return field_error(path, ErrorType.REQUIRED, None, detail, message, field=field)


def forbidden_problem(path: FieldPath, detail: str, message: str, *, field: str | None = None) -> Problem:
    """A `Forbidden` of the operator."""
    return field_error(path, ErrorType.FORBIDDEN, None, detail, message, field=field)
