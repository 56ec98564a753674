"""The rulebook of Grove v0.1.0-alpha.7. Source: spec/grove.md#4 and #5."""

from __future__ import annotations

from packwise.frontends.grove.rules.check import Rulebook
from packwise.frontends.grove.rules.cliques import ONE_SCHEDULER
from packwise.frontends.grove.rules.mnnvl import MNNVL, MNNVL_UPDATE
from packwise.frontends.grove.rules.topology import TOPOLOGY
from packwise.frontends.grove.rules.update import UPDATE
from packwise.frontends.grove.rules.whole import name_last, whole_rules

__all__ = ["ALPHA7"]

ALPHA7 = Rulebook(
    constraints=TOPOLOGY,
    whole=whole_rules(clique=name_last(), schedulers=ONE_SCHEDULER),
    mnnvl=MNNVL,
    mnnvl_update=MNNVL_UPDATE,
    update=UPDATE,
)
"""The rules of that webhook."""
