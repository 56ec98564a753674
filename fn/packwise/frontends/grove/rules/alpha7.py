"""The rulebook of Grove v0.1.0-alpha.7. Source: operator.md 4 and 5."""

from __future__ import annotations

from packwise.frontends.grove.rules.autoscaling import AUTOSCALING
from packwise.frontends.grove.rules.check import Rulebook, Scope, cliques_of, groups_of
from packwise.frontends.grove.rules.cliques import (
    CLIQUE_NAME,
    CLIQUE_NAME_DNS,
    CLIQUE_SIZE,
    CLIQUES_ANY,
    CLIQUES_UNIQUE,
    ONE_SCHEDULER,
    SET,
    TERMINATION,
)
from packwise.frontends.grove.rules.metadata import CLIQUE_METADATA, METADATA
from packwise.frontends.grove.rules.mnnvl import MNNVL, MNNVL_UPDATE
from packwise.frontends.grove.rules.name_length import CLIQUE_NAME_LENGTH, GROUP_NAME_LENGTH
from packwise.frontends.grove.rules.pod_spec import POD_SPEC
from packwise.frontends.grove.rules.scaling_groups import GROUP_NAMES, GROUP_SIZE, GROUPS_TOGETHER
from packwise.frontends.grove.rules.startup import DEPENDENCIES, DEPENDENCY_GRAPH
from packwise.frontends.grove.rules.topology import TOPOLOGY
from packwise.frontends.grove.rules.update import UPDATE

__all__ = ["ALPHA7"]

_WHOLE = (
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

ALPHA7 = Rulebook(constraints=TOPOLOGY, whole=_WHOLE, mnnvl=MNNVL, mnnvl_update=MNNVL_UPDATE, update=UPDATE)
"""The rules of that webhook."""
