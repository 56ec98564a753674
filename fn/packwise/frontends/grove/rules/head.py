"""The rulebooks from Grove v0.1.0-alpha.9 to alpha.13: constraints name their topologies, schedulers have a say.

Each says what it does otherwise than the one before. Read only where a revision asks for it.
Source: spec/grove.md#4 and #5;
spec/grove-releases.md#2.2 to #2.5.
"""

from __future__ import annotations

from packwise.frontends.grove.rules.alpha8 import ALPHA_8
from packwise.frontends.grove.rules.cliques import CLIQUES_ANY_HEAD
from packwise.frontends.grove.rules.mnnvl import MNNVL_GROUP, MNNVL_GROUP_UPDATE
from packwise.frontends.grove.rules.pack import PACK
from packwise.frontends.grove.rules.resource_sharing import CLIQUE_SHARING, GROUP_SHARING, SET_SHARING
from packwise.frontends.grove.rules.schedulers import (
    BACKEND_ENABLED,
    BACKEND_SUPPORTED,
    KAI_QUEUE,
    OTHER_SCHEDULERS,
    SCHEDULER_NAMES,
)
from packwise.frontends.grove.rules.update_pack import NAMED_UPDATE, PACK_UPDATE
from packwise.frontends.grove.rules.update_sharing import sharing_update
from packwise.frontends.grove.rules.whole import name_first, name_last, whole_rules

__all__ = ["ALPHA_9", "ALPHA_10", "ALPHA_12_RC1", "HEAD"]

ALPHA_9 = ALPHA_8._replace(
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

ALPHA_10 = ALPHA_9._replace(
    update=sharing_update(*NAMED_UPDATE, *PACK_UPDATE),
    backend=(*BACKEND_ENABLED, *OTHER_SCHEDULERS),
)
"""Of alpha.10's and alpha.11's: Volcano and LPX refuse what they do not know."""

ALPHA_12_RC1 = ALPHA_10._replace(
    whole=whole_rules(
        sharing=SET_SHARING,
        cliques_any=CLIQUES_ANY_HEAD,
        clique=name_first(*CLIQUE_SHARING),
        schedulers=SCHEDULER_NAMES,
        group=GROUP_SHARING,
    ),
)
"""Of alpha.12-rc1's: a clique without a name is one error."""

HEAD = ALPHA_12_RC1._replace(backend=(*BACKEND_ENABLED, *KAI_QUEUE, *OTHER_SCHEDULERS))
"""Of HEAD's, alpha.12's and alpha.13's: KAI wants a queue."""
