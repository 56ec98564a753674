"""The validation rules as one table, and the two runs over it. Source: operator.md 4 and 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from packwise.frontends.grove.rules.autoscaling import AUTOSCALING
from packwise.frontends.grove.rules.cliques import (
    CLIQUE_NAME,
    CLIQUE_NAME_DNS,
    CLIQUE_SIZE,
    CLIQUES_ANY,
    CLIQUES_ANY_HEAD,
    CLIQUES_UNIQUE,
    ONE_SCHEDULER,
    SET,
    TERMINATION,
)  # fmt: skip
from packwise.frontends.grove.rules.design import DESIGN_TOPOLOGY
from packwise.frontends.grove.rules.metadata import CLIQUE_METADATA, METADATA
from packwise.frontends.grove.rules.mnnvl import MNNVL, MNNVL_UPDATE
from packwise.frontends.grove.rules.mnnvl_group import MNNVL_GROUP, MNNVL_GROUP_UPDATE
from packwise.frontends.grove.rules.name_length import CLIQUE_NAME_LENGTH, GROUP_NAME_LENGTH
from packwise.frontends.grove.rules.pack import PACK
from packwise.frontends.grove.rules.pod_spec import POD_SPEC
from packwise.frontends.grove.rules.resource_sharing import CLIQUE_SHARING, GROUP_SHARING, SET_SHARING
from packwise.frontends.grove.rules.rule import (
    CliqueAt,
    Context,
    GroupAt,
    Node,
    Rule,
    Scope,
    Update,
    Violation,
    rules_of,
    run,
)
from packwise.frontends.grove.rules.scaling_groups import GROUP_NAMES, GROUP_SIZE, GROUPS_TOGETHER
from packwise.frontends.grove.rules.schedulers import BACKEND, SCHEDULER_NAMES
from packwise.frontends.grove.rules.startup import DEPENDENCIES, DEPENDENCY_GRAPH
from packwise.frontends.grove.rules.topology import TOPOLOGY, placed_constraints
from packwise.frontends.grove.rules.update import COMPOSITION, UPDATE
from packwise.frontends.grove.rules.update_pack import UPDATE_HEAD
from packwise.kubernetes.field_error import ErrorType, OperatorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = [
    "RULES",
    "WHOLE",
    "Context",
    "ErrorType",
    "OperatorError",
    "Rule",
    "Violation",
    "validate_create",
    "validate_update",
]


def _cliques(pcs: PodCliqueSet, _context: Context) -> Iterable[CliqueAt]:
    grouped = pcs.grouped_cliques()
    return [CliqueAt(pcs, index, clique, clique.name in grouped) for index, clique in enumerate(pcs.cliques)]


def _named(at: CliqueAt, _context: Context) -> Iterable[CliqueAt]:
    return (at,) if at.clique.name.strip() else ()


def _groups(pcs: PodCliqueSet, _context: Context) -> Iterable[GroupAt]:
    return [GroupAt(pcs, index, group) for index, group in enumerate(pcs.groups)]


WHOLE = (
    *METADATA,
    *SET,
    *CLIQUES_ANY,
    Scope(_cliques, (
        *CLIQUE_NAME,
        *CLIQUE_METADATA,
        *CLIQUE_SIZE,
        *DEPENDENCIES,
        *AUTOSCALING,
        *POD_SPEC,
        *CLIQUE_NAME_DNS,
        *CLIQUE_NAME_LENGTH,
    )),
    *CLIQUES_UNIQUE,
    *ONE_SCHEDULER,
    *DEPENDENCY_GRAPH,
    Scope(_groups, (*GROUP_NAMES, *GROUP_NAME_LENGTH, *GROUP_SIZE)),
    *GROUPS_TOGETHER,
    *TERMINATION,
)  # fmt: skip
"""Rules of one PodCliqueSet by itself, on create and update alike, in the operator's order."""

_WHOLE_HEAD = (
    *METADATA,
    *SET,
    *SET_SHARING,
    *CLIQUES_ANY_HEAD,
    Scope(_cliques, (
        *CLIQUE_NAME,
        Scope(_named, (*CLIQUE_NAME_DNS, *CLIQUE_NAME_LENGTH)),
        *CLIQUE_METADATA,
        *CLIQUE_SHARING,
        *CLIQUE_SIZE,
        *DEPENDENCIES,
        *AUTOSCALING,
        *POD_SPEC,
    )),
    *CLIQUES_UNIQUE,
    *SCHEDULER_NAMES,
    *DEPENDENCY_GRAPH,
    Scope(_groups, (*GROUP_NAMES, *GROUP_NAME_LENGTH, *GROUP_SIZE, *GROUP_SHARING)),
    *GROUPS_TOGETHER,
    *TERMINATION,
)  # fmt: skip


class Rulebook(NamedTuple):
    """The rules of one webhook, in its order: `constraints`, then `whole`, `mnnvl`, `backend` of a new PodCliqueSet.

    `whole`, `mnnvl_update` and `backend` of an updated one, and where these find nothing, `update`.
    """

    constraints: tuple[Node, ...]
    whole: tuple[Node, ...]
    mnnvl: tuple[Node, ...]
    mnnvl_update: tuple[Node, ...]
    update: tuple[Node, ...]
    backend: tuple[Node, ...] = ()

    @property
    def create(self) -> tuple[Node, ...]:
        """The rules of a new PodCliqueSet."""
        return (*self.constraints, *self.whole, *self.mnnvl, *self.backend)


RULEBOOKS: Mapping[str, Rulebook] = {
    "alpha7": Rulebook(TOPOLOGY, WHOLE, MNNVL, MNNVL_UPDATE, UPDATE),
    "design": Rulebook(DESIGN_TOPOLOGY, WHOLE, MNNVL, MNNVL_UPDATE, COMPOSITION),
    "head": Rulebook(PACK, _WHOLE_HEAD, MNNVL_GROUP, MNNVL_GROUP_UPDATE, UPDATE_HEAD, BACKEND),
}
"""By the name that a revision has for it."""

RULES: tuple[Rule[Any], ...] = tuple(
    {
        rule.name: rule
        for book in reversed(RULEBOOKS.values())
        for rule in rules_of((*book.create, *book.mnnvl_update, *book.update))
    }.values()
)
"""Every rule once, in the order they run: the documentation's table."""


def validate_create(pcs: PodCliqueSet, context: Context) -> list[tuple[Rule[Any], Violation]]:
    """What the webhook finds in a new PodCliqueSet, in its order. `pcs` is read from the defaulted value."""
    book = RULEBOOKS[context.revision.rulebook]
    return run(book.create, pcs, context if context.create else context._replace(create=True))


def validate_update(old: PodCliqueSet, new: PodCliqueSet, context: Context) -> list[tuple[Rule[Any], Violation]]:
    """What the webhook finds in an update, in its order: the new object's own violations, else forbidden changes.

    Both are read from defaulted values. Where the revision lets a workload change its constraints, their rules run as
    for a new workload when it does.
    """
    context, book = context._replace(create=False), RULEBOOKS[context.revision.rulebook]
    update = Update(old, new)
    found = run(book.whole, new, context) + run(book.mnnvl_update, update, context) + run(book.backend, new, context)
    if found:
        return found
    found = run(book.update, update, context)
    if context.revision.mutable_constraints and _placed(old, context) != _placed(new, context):
        found += run(book.constraints, new, context)
    return found


def _placed(pcs: PodCliqueSet, context: Context) -> set[tuple[str, str, str]]:
    """The constraints by whose they are, wherever these stand in their lists."""
    return {(placed.kind, placed.name, placed.domain) for placed in placed_constraints(pcs, context)}
