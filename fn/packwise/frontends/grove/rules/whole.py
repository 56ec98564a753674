"""The rules of a whole PodCliqueSet in the order that all webhooks have, with a place for what differs among them.

Source: spec/grove.md#4; spec/grove-releases.md#1.1 "order inside a clique", "empty clique name".
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.grove.rules.autoscaling import AUTOSCALING
from packwise.frontends.grove.rules.check import CliqueAt, Context, Scope, cliques_of, groups_of, itself
from packwise.frontends.grove.rules.cliques import (
    CLIQUE_NAME,
    CLIQUE_NAME_DNS,
    CLIQUE_SIZE,
    CLIQUES_ANY,
    CLIQUES_UNIQUE,
    SET,
    TERMINATION,
)
from packwise.frontends.grove.rules.metadata import CLIQUE_METADATA, METADATA
from packwise.frontends.grove.rules.name_length import CLIQUE_NAME_LENGTH, GROUP_NAME_LENGTH
from packwise.frontends.grove.rules.pod_spec import POD_SPEC
from packwise.frontends.grove.rules.scaling_groups import GROUP_NAMES, GROUP_SIZE, GROUPS_TOGETHER
from packwise.frontends.grove.rules.startup import DEPENDENCIES, DEPENDENCY_GRAPH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packwise.frontends.grove.rules.check import Node

__all__ = ["name_first", "name_last", "whole_rules"]

_CLIQUE_SPEC = (*CLIQUE_SIZE, *DEPENDENCIES, *AUTOSCALING, *POD_SPEC)
_NAME_CONSTRAINTS = (*CLIQUE_NAME_DNS, *CLIQUE_NAME_LENGTH)


def _named(at: CliqueAt, _context: Context) -> Iterable[CliqueAt]:
    return (at,) if at.clique.name.strip() else ()


def name_last(*sharing: Node) -> tuple[Node, ...]:
    """Rules of a clique that end with what its name must be, also where it is blank. `sharing`: of resources."""
    return (*CLIQUE_NAME, *CLIQUE_METADATA, *sharing, *_CLIQUE_SPEC, *_NAME_CONSTRAINTS)


def name_first(*sharing: Node) -> tuple[Node, ...]:
    """Rules of a clique that begin with its name, of which a blank one is one error."""
    return (*CLIQUE_NAME, Scope(_named, _NAME_CONSTRAINTS), *CLIQUE_METADATA, *sharing, *_CLIQUE_SPEC)


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
