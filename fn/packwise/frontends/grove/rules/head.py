"""The rulebook of Grove's HEAD; read only where a revision asks for it. Source: operator.md 4 and 5 (H)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.frontends.grove.rules.autoscaling import AUTOSCALING
from packwise.frontends.grove.rules.check import CliqueAt, Context, Rulebook, Scope, cliques_of, groups_of
from packwise.frontends.grove.rules.cliques import (
    CLIQUE_NAME,
    CLIQUE_NAME_DNS,
    CLIQUE_SIZE,
    CLIQUES_ANY_HEAD,
    CLIQUES_UNIQUE,
    SET,
    TERMINATION,
)  # fmt: skip
from packwise.frontends.grove.rules.metadata import CLIQUE_METADATA, METADATA
from packwise.frontends.grove.rules.mnnvl_group import MNNVL_GROUP, MNNVL_GROUP_UPDATE
from packwise.frontends.grove.rules.name_length import CLIQUE_NAME_LENGTH, GROUP_NAME_LENGTH
from packwise.frontends.grove.rules.pack import PACK
from packwise.frontends.grove.rules.pod_spec import POD_SPEC
from packwise.frontends.grove.rules.resource_sharing import CLIQUE_SHARING, GROUP_SHARING, SET_SHARING
from packwise.frontends.grove.rules.scaling_groups import GROUP_NAMES, GROUP_SIZE, GROUPS_TOGETHER
from packwise.frontends.grove.rules.schedulers import BACKEND, SCHEDULER_NAMES
from packwise.frontends.grove.rules.startup import DEPENDENCIES, DEPENDENCY_GRAPH
from packwise.frontends.grove.rules.update_pack import UPDATE_HEAD

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["HEAD"]


def _named(at: CliqueAt, _context: Context) -> Iterable[CliqueAt]:
    return (at,) if at.clique.name.strip() else ()


_WHOLE = (
    *METADATA,
    *SET,
    *SET_SHARING,
    *CLIQUES_ANY_HEAD,
    Scope(cliques_of, (
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
    Scope(groups_of, (*GROUP_NAMES, *GROUP_NAME_LENGTH, *GROUP_SIZE, *GROUP_SHARING)),
    *GROUPS_TOGETHER,
    *TERMINATION,
)  # fmt: skip

HEAD = Rulebook(
    constraints=PACK,
    whole=_WHOLE,
    mnnvl=MNNVL_GROUP,
    mnnvl_update=MNNVL_GROUP_UPDATE,
    update=UPDATE_HEAD,
    backend=BACKEND,
)
"""The rules of that webhook."""
