"""The rulebook of Grove v0.1.0-alpha.8: schedulers, resource sharing and groups of MNNVL beside alpha.7's topology.

Source: spec/grove-releases.md#2.1.
"""

from __future__ import annotations

from packwise.frontends.grove.rules.check import Rulebook
from packwise.frontends.grove.rules.mnnvl import MNNVL_BOTH, MNNVL_BOTH_UPDATE
from packwise.frontends.grove.rules.resource_sharing import CLIQUE_SHARING, GROUP_SHARING, SET_SHARING
from packwise.frontends.grove.rules.schedulers import SCHEDULER_NAMES
from packwise.frontends.grove.rules.topology import TOPOLOGY
from packwise.frontends.grove.rules.update import DOMAIN_UPDATE
from packwise.frontends.grove.rules.update_sharing import sharing_update
from packwise.frontends.grove.rules.whole import name_last, whole_rules

__all__ = ["ALPHA_8"]

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
