"""The validation rules as one table, and the two runs over it. Source: operator.md 4 and 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packwise.frontends.grove.rules.autoscaling import AUTOSCALING
from packwise.frontends.grove.rules.cliques import (
    CLIQUE_NAME,
    CLIQUE_NAME_DNS,
    CLIQUE_SIZE,
    CLIQUES_ANY,
    CLIQUES_UNIQUE,
    ONE_SCHEDULER,
    SET,
    TERMINATION,
)  # fmt: skip
from packwise.frontends.grove.rules.metadata import CLIQUE_METADATA, METADATA
from packwise.frontends.grove.rules.mnnvl import MNNVL, MNNVL_UPDATE
from packwise.frontends.grove.rules.name_length import CLIQUE_NAME_LENGTH, GROUP_NAME_LENGTH
from packwise.frontends.grove.rules.pod_spec import POD_SPEC
from packwise.frontends.grove.rules.rule import (
    Context,
    Rule,
    Scope,
    Update,
    Violation,
    rules_of,
    run,
)
from packwise.frontends.grove.rules.rulebook import Rulebook, cliques_of, groups_of
from packwise.frontends.grove.rules.scaling_groups import GROUP_NAMES, GROUP_SIZE, GROUPS_TOGETHER
from packwise.frontends.grove.rules.startup import DEPENDENCIES, DEPENDENCY_GRAPH
from packwise.frontends.grove.rules.topology import TOPOLOGY, placed_constraints
from packwise.frontends.grove.rules.update import UPDATE, update_rules
from packwise.kubernetes.field_error import ErrorType, OperatorError
from packwise.revisions import DEFAULT, REVISIONS

if TYPE_CHECKING:
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = [
    "WHOLE",
    "Context",
    "ErrorType",
    "OperatorError",
    "Rule",
    "Violation",
    "all_rules",
    "rulebook",
    "validate_create",
    "validate_update",
]


WHOLE = (
    *METADATA,
    *SET,
    *CLIQUES_ANY,
    Scope(cliques_of, (
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
    Scope(groups_of, (*GROUP_NAMES, *GROUP_NAME_LENGTH, *GROUP_SIZE)),
    *GROUPS_TOGETHER,
    *TERMINATION,
)  # fmt: skip
"""Rules of one PodCliqueSet by itself, on create and update alike, in the operator's order."""

RULEBOOKS: dict[str, Rulebook] = {"alpha7": Rulebook(TOPOLOGY, WHOLE, MNNVL, MNNVL_UPDATE, UPDATE)}
"""By the name that a revision has for it; `rulebook` adds those that few runs need."""


def rulebook(name: str) -> Rulebook:
    """The rulebook that a revision calls `name`."""
    if name == "head" and name not in RULEBOOKS:
        from packwise.frontends.grove.rules.head import HEAD

        RULEBOOKS[name] = HEAD
    if name == "design" and name not in RULEBOOKS:
        from packwise.frontends.grove.rules.design import DESIGN_TOPOLOGY

        RULEBOOKS[name] = RULEBOOKS["alpha7"]._replace(constraints=DESIGN_TOPOLOGY, update=update_rules())
    return RULEBOOKS[name]


def all_rules() -> tuple[Rule[Any], ...]:
    """Every rule once, in the order they run, the default revision's first: the documentation's table."""
    found: dict[str, Rule[Any]] = {}
    for name in dict.fromkeys([DEFAULT.rulebook, *(revision.rulebook for revision in REVISIONS.values())]):
        book = rulebook(name)
        for rule in rules_of((*book.create, *book.mnnvl_update, *book.update)):
            found.setdefault(rule.name, rule)
    return tuple(found.values())


def validate_create(pcs: PodCliqueSet, context: Context) -> list[tuple[Rule[Any], Violation]]:
    """What the webhook finds in a new PodCliqueSet, in its order. `pcs` is read from the defaulted value."""
    book = rulebook(context.revision.rulebook)
    return run(book.create, pcs, context if context.create else context._replace(create=True))


def validate_update(old: PodCliqueSet, new: PodCliqueSet, context: Context) -> list[tuple[Rule[Any], Violation]]:
    """What the webhook finds in an update, in its order: the new object's own violations, else forbidden changes.

    Both are read from defaulted values. Where the revision lets a workload change its constraints, their rules run as
    for a new workload when it does.
    """
    context, book = context._replace(create=False), rulebook(context.revision.rulebook)
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
