"""The rulebooks of Grove v0.1.0-alpha.14 and its release candidate. Source: spec/grove-releases.md#2.6, #4."""

from __future__ import annotations

from packwise.frontends.grove.rules.cliques import CLIQUES_ANY_HEAD
from packwise.frontends.grove.rules.head import HEAD
from packwise.frontends.grove.rules.resource_sharing import CLIQUE_SHARING, GROUP_SHARING, SET_SHARING
from packwise.frontends.grove.rules.rolling_update import CLIQUE_ROLLING, GROUP_ROLLING, UNDETERMINED
from packwise.frontends.grove.rules.schedulers import KAI_QUEUE_BESIDE_LPX, SCHEDULER_NAMES
from packwise.frontends.grove.rules.whole import name_first, whole_rules

__all__ = ["ALPHA_14", "ALPHA_14_RC1"]

ALPHA_14_RC1 = HEAD._replace(whole=(*HEAD.whole, *UNDETERMINED))
"""Those of HEAD's webhook, and warnings of what this release candidate may or may not know."""

ALPHA_14 = HEAD._replace(
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
