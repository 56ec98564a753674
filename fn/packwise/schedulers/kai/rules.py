"""Every rule of KAI's objects."""

from __future__ import annotations

from packwise.schedulers.kai import (
    node_rules,
    own_podgroups,
    podgroups,
    queue_rules,
    references,
    service_objects,
    topologies,
)

__all__ = ["RULES"]

RULES = (
    *topologies.RULES,
    *podgroups.RULES,
    *own_podgroups.RULES,
    *service_objects.RULES,
    *references.RULES,
    *node_rules.RULES,
    *queue_rules.RULES,
)
"""The rules, in the order in which they are checked."""
