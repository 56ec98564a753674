"""The webhook's two runs over a PodCliqueSet, by the rulebook of its revision. Source: spec/grove.md#4 and #5."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.grove.rules.check import (
    CliqueAt,
    Context,
    Rulebook,
    Scope,
    Update,
    checks_of,
    cliques_of,
    groups_of,
    itself,
    rules_of,
    run,
)
from packwise.frontends.grove.rules.cliques import (
    AUTOSCALING,
    CLIQUE_NAME,
    CLIQUE_NAME_DNS,
    CLIQUE_SHARING,
    CLIQUE_SIZE,
    CLIQUES_ANY,
    CLIQUES_ANY_HEAD,
    CLIQUES_UNIQUE,
    DEPENDENCIES,
    DEPENDENCY_GRAPH,
    GROUP_NAMES,
    GROUP_SHARING,
    GROUP_SIZE,
    GROUPS_TOGETHER,
    ONE_SCHEDULER,
    POD_SPEC,
    SET,
    SET_SHARING,
    TERMINATION,
)
from packwise.frontends.grove.rules.metadata import (
    CLIQUE_METADATA,
    CLIQUE_NAME_LENGTH,
    GROUP_NAME_LENGTH,
    METADATA,
    MNNVL,
    MNNVL_BOTH,
    MNNVL_BOTH_UPDATE,
    MNNVL_GROUP,
    MNNVL_GROUP_UPDATE,
    MNNVL_UPDATE,
)
from packwise.frontends.grove.rules.schedulers import (
    BACKEND_ENABLED,
    BACKEND_SUPPORTED,
    KAI_QUEUE,
    KAI_QUEUE_BESIDE_LPX,
    OTHER_SCHEDULERS,
    SCHEDULER_NAMES,
)
from packwise.frontends.grove.rules.topology import DESIGN_TOPOLOGY, PACK, TOPOLOGY, constraints_at
from packwise.frontends.grove.rules.update import (
    CLIQUE_ROLLING,
    DOMAIN_UPDATE,
    GROUP_ROLLING,
    NAMED_UPDATE,
    PACK_UPDATE,
    UNDETERMINED,
    UPDATE,
    sharing_update,
    update_rules,
)
from packwise.revisions.grove import GREP_244_MULTI, REVISIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from packwise.findings.finding import Problem, Rule
    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.frontends.grove.rules.check import Check, Node
    from packwise.revisions.grove import Revision

__all__ = [
    "ALPHA7",
    "ALPHA_8",
    "ALPHA_9",
    "ALPHA_10",
    "ALPHA_12_RC1",
    "ALPHA_14",
    "ALPHA_14_RC1",
    "DESIGN",
    "HEAD",
    "RULEBOOKS",
    "Context",
    "all_rules",
    "differing_rules",
    "name_first",
    "name_last",
    "rulebook",
    "validate_create",
    "validate_update",
    "whole_rules",
]


def all_rules() -> tuple[Rule, ...]:
    """Every rule once, in the order they run, the last design's first: the documentation's table."""
    rules: dict[str, Rule] = {}
    for revision in (GREP_244_MULTI, *REVISIONS.values()):
        book = rulebook(revision)
        for rule in rules_of((*book.create, *book.mnnvl_update, *book.update)):
            rules.setdefault(rule.name, rule)
    return tuple(rules.values())


def differing_rules(revisions: Iterable[Revision]) -> frozenset[str]:
    """The names of the rules that the webhooks of `revisions` do not all check alike."""
    books: list[dict[str, list[Check[Any]]]] = []
    for revision in revisions:
        book = rulebook(revision)
        checks: dict[str, list[Check[Any]]] = {}
        for check in checks_of((*book.create, *book.mnnvl_update, *book.update)):
            checks.setdefault(check.rule.name, []).append(check)
        books.append(checks)
    names = {name for checks in books for name in checks}
    return frozenset([name for name in names if any(book.get(name) != books[0].get(name) for book in books)])


def validate_create(pcs: PodCliqueSet, context: Context) -> list[tuple[Rule, Problem]]:
    """The webhook's refusals of a new PodCliqueSet, in its order. `pcs` is read from the defaulted value."""
    book = rulebook(context.revision)
    return run(book.create, pcs, context if context.create else context.replace(create=True))


def validate_update(old: PodCliqueSet, new: PodCliqueSet, context: Context) -> list[tuple[Rule, Problem]]:
    """The webhook's refusals of an update, in its order: the new object's own problems, else forbidden changes.

    Both are read from defaulted values. Where the revision lets a workload change its constraints, their rules run as
    for a new workload when it does.
    """
    context, book = context.replace(create=False), rulebook(context.revision)
    update = Update(old, new)
    problems = run(book.whole, new, context) + run(book.mnnvl_update, update, context) + run(book.backend, new, context)
    if problems:
        return problems
    problems = run(book.update, update, context)
    if context.revision.mutable_constraints and _domains(old) != _domains(new):
        problems += run(book.constraints, new, context)
    return problems


def _domains(pcs: PodCliqueSet) -> set[tuple[str, str | None, str]]:
    """The constraints by their owners, whatever the owners' positions in their lists."""
    return {(constraint.kind, constraint.name, constraint.domain) for constraint in constraints_at(pcs)}


# The rulebooks of Grove's webhook, a release each: what it checks, and in which order.
#
# Source: spec/grove.md#4 and #5; spec/grove-releases.md#1.1 "order inside a clique", "empty clique name", #2.1 to
# #2.6, #4. Each says what it does otherwise than the one before.


_CLIQUE_SPEC = (*CLIQUE_SIZE, *DEPENDENCIES, *AUTOSCALING, *POD_SPEC)
_NAME_CONSTRAINTS = (*CLIQUE_NAME_DNS, *CLIQUE_NAME_LENGTH)


def _with_name(at: CliqueAt, _context: Context) -> Iterable[CliqueAt]:
    return (at,) if at.clique.name.strip() else ()


def name_last(*sharing: Node) -> tuple[Node, ...]:
    """Rules of a clique that end with what its name must be, also where it is blank. `sharing`: of resources."""
    return (*CLIQUE_NAME, *CLIQUE_METADATA, *sharing, *_CLIQUE_SPEC, *_NAME_CONSTRAINTS)


def name_first(*sharing: Node) -> tuple[Node, ...]:
    """Rules of a clique that begin with its name, of which a blank one is one error."""
    return (*CLIQUE_NAME, Scope(_with_name, _NAME_CONSTRAINTS), *CLIQUE_METADATA, *sharing, *_CLIQUE_SPEC)


def whole_rules(
    *,
    clique: tuple[Node, ...],
    schedulers: tuple[Node, ...],
    sharing: tuple[Node, ...] = (),
    cliques_any: tuple[Node, ...] = CLIQUES_ANY,
    group: tuple[Node, ...] = (),
) -> tuple[Node, ...]:
    """The rules in the webhook's order: `clique` for each clique, `schedulers` among the cliques.

    `sharing` are those of the resources of the whole set, `cliques_any` that there is a clique, `group` what comes
    last for each scaling group.
    """
    return (
        Scope(itself, (*METADATA, *SET, *sharing, *cliques_any)),
        Scope(cliques_of, clique),
        Scope(itself, (*CLIQUES_UNIQUE, *schedulers, *DEPENDENCY_GRAPH)),
        Scope(groups_of, (*GROUP_NAMES, *GROUP_NAME_LENGTH, *GROUP_SIZE, *group)),
        Scope(itself, (*GROUPS_TOGETHER, *TERMINATION)),
    )


ALPHA7 = Rulebook(
    constraints=TOPOLOGY,
    whole=whole_rules(clique=name_last(), schedulers=ONE_SCHEDULER),
    mnnvl=MNNVL,
    mnnvl_update=MNNVL_UPDATE,
    update=UPDATE,
)
"""The rules of that webhook."""


DESIGN = ALPHA7.replace(constraints=DESIGN_TOPOLOGY, update=update_rules())
"""The rules of the webhook of the first two designs."""

ALPHA_8 = Rulebook(
    constraints=TOPOLOGY,
    whole=whole_rules(
        sharing=SET_SHARING,
        clique=name_last(*CLIQUE_SHARING),
        schedulers=SCHEDULER_NAMES,
        group=GROUP_SHARING,
    ),
    mnnvl=MNNVL_BOTH,
    mnnvl_update=MNNVL_BOTH_UPDATE,
    update=sharing_update(*DOMAIN_UPDATE),
)
"""The rules of that webhook. Its schedulers ask for nothing."""


ALPHA_9 = ALPHA_8.replace(
    constraints=PACK,
    whole=whole_rules(
        sharing=SET_SHARING,
        cliques_any=CLIQUES_ANY_HEAD,
        clique=name_last(*CLIQUE_SHARING),
        schedulers=SCHEDULER_NAMES,
        group=GROUP_SHARING,
    ),
    mnnvl=MNNVL_GROUP,
    mnnvl_update=MNNVL_GROUP_UPDATE,
    update=sharing_update(*NAMED_UPDATE),
    backend=BACKEND_SUPPORTED,
)
"""The rules of alpha.9's webhook."""

ALPHA_10 = ALPHA_9.replace(
    update=sharing_update(*NAMED_UPDATE, *PACK_UPDATE),
    backend=(*BACKEND_ENABLED, *OTHER_SCHEDULERS),
)
"""Of alpha.10's and alpha.11's: Volcano and LPX refuse what they do not know."""

ALPHA_12_RC1 = ALPHA_10.replace(
    whole=whole_rules(
        sharing=SET_SHARING,
        cliques_any=CLIQUES_ANY_HEAD,
        clique=name_first(*CLIQUE_SHARING),
        schedulers=SCHEDULER_NAMES,
        group=GROUP_SHARING,
    ),
)
"""Of alpha.12-rc1's: a clique without a name is one error."""

HEAD = ALPHA_12_RC1.replace(backend=(*BACKEND_ENABLED, *KAI_QUEUE, *OTHER_SCHEDULERS))
"""Of HEAD's, alpha.12's and alpha.13's: KAI wants a queue."""


ALPHA_14_RC1 = HEAD.replace(whole=(*HEAD.whole, *UNDETERMINED))
"""Those of HEAD's webhook, and warnings of what this release candidate may or may not know."""

ALPHA_14 = HEAD.replace(
    whole=whole_rules(
        sharing=SET_SHARING,
        cliques_any=CLIQUES_ANY_HEAD,
        clique=(*name_first(*CLIQUE_SHARING), *CLIQUE_ROLLING),
        schedulers=SCHEDULER_NAMES,
        group=(*GROUP_ROLLING, *GROUP_SHARING),
    ),
    backend=(*HEAD.backend, *KAI_QUEUE_BESIDE_LPX),
)
"""The rules of alpha.14's webhook: rolling updates, and KAI beside LPX."""

RULEBOOKS: Mapping[str, Rulebook] = {
    "design": DESIGN,
    "alpha7": ALPHA7,
    "alpha8": ALPHA_8,
    "alpha9": ALPHA_9,
    "alpha10": ALPHA_10,
    "alpha12-rc1": ALPHA_12_RC1,
    "head": HEAD,
    "alpha14-rc1": ALPHA_14_RC1,
    "alpha14": ALPHA_14,
}
"""Every rulebook by the key that a revision's record has."""


def rulebook(revision: Revision) -> Rulebook:
    """The rules of the revision's webhook."""
    return RULEBOOKS[revision.rulebook]
