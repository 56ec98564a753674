"""The APIs of Grove's releases before and after its HEAD, each from the one next to it.

Source: spec/grove-releases.md#2.1, #2.2, #2.6; the CRDs of alpha.8 and alpha.9.
"""

from __future__ import annotations

from packwise.frontends.grove.schema.head import HEAD
from packwise.frontends.grove.schema.kinds import INT32, Duration, Field, Object, Open, Text
from packwise.frontends.grove.schema.table import ALPHA7

__all__ = ["ALPHA_8", "ALPHA_9", "ALPHA_14", "ALPHA_14_RC1"]

ALPHA_8 = HEAD._replace(
    constraint=ALPHA7.constraint,
    group={name: field for name, field in HEAD.group.items() if name != "annotations"},
    rules=(),
)
"""alpha.8: resources are shared; a constraint is one of seven domains."""

ALPHA_9 = HEAD._replace(
    constraint=Object("TopologyConstraint", {
        "packDomain": Field(
            Text(go="v1alpha1.TopologyDomain", pattern="^[a-z][a-z0-9-]*$", max_length=63, min_length=1),
            zero_when_absent=True,
        ),
        "topologyName": Field(Text()),
    }),
    rules=(),
)  # fmt: skip
"""alpha.9: a constraint is a domain of any name, and may name its topology."""

_ROLLING_UPDATE = {
    "rollingUpdate": Field(Object("RollingUpdateConfiguration", {
        "maxUnavailable": Field(INT32),
        "progressDeadline": Field(Duration()),
    })),
}  # fmt: skip

ALPHA_14 = HEAD._replace(
    clique={**HEAD.clique, **_ROLLING_UPDATE},
    group={**HEAD.group, **_ROLLING_UPDATE},
    update_strategies=("Coherent", *HEAD.update_strategies),
)
"""alpha.14: updates roll through cliques and scaling groups."""

ALPHA_14_RC1 = ALPHA_14._replace(
    clique={**HEAD.clique, "rollingUpdate": Field(Open())},
    group={**HEAD.group, "rollingUpdate": Field(Open())},
)
"""alpha.14's release candidate, of which these fields are not known."""
