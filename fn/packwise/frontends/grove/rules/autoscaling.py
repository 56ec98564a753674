"""autoScalingConfig of a clique. Source: operator.md R16..R18."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.frontends.grove.rules.rule import CliqueAt, Context, Rule, Violation, invalid

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AUTOSCALING"]

_AT_LEAST = "must be greater than or equal to"


def _min(at: CliqueAt, _context: Context) -> Iterator[Violation]:
    scaling, least = at.clique.auto_scaling, at.clique.min_available
    if scaling and scaling.min_replicas is not None and scaling.min_replicas < least:
        message = f'{_AT_LEAST} minAvailable ("{least}"); got "{scaling.min_replicas}"'
        path = at.path("spec", "autoScalingConfig", "minReplicas")
        yield invalid(path, scaling.min_replicas, f"{_AT_LEAST} podCliqueSpec.minAvailable", message)


def _max_min(at: CliqueAt, _context: Context) -> Iterator[Violation]:
    scaling = at.clique.auto_scaling
    if scaling and scaling.min_replicas is not None and scaling.max_replicas < scaling.min_replicas:
        message = f'{_AT_LEAST} minReplicas ("{scaling.min_replicas}"); got "{scaling.max_replicas}"'
        path = at.path("spec", "autoScalingConfig", "maxReplicas")
        yield invalid(path, scaling.max_replicas, f"{_AT_LEAST} podCliqueSpec.minReplicas", message)


def _max_replicas(at: CliqueAt, _context: Context) -> Iterator[Violation]:
    scaling = at.clique.auto_scaling
    if scaling and scaling.max_replicas < at.clique.replicas:
        message = f'{_AT_LEAST} replicas ("{at.clique.replicas}"); got "{scaling.max_replicas}"'
        path = at.path("spec", "autoScalingConfig", "maxReplicas")
        yield invalid(path, scaling.max_replicas, f"{_AT_LEAST} replicas", message)


AUTOSCALING = (
    Rule("autoscaling-min", "minReplicas is at least minAvailable.", "operator.md R16", _min, scope="clique"),
    Rule("autoscaling-max", "maxReplicas is at least minReplicas.", "operator.md R17", _max_min, scope="clique"),
    Rule("autoscaling-max-replicas", "maxReplicas is at least replicas.", "operator.md R18", _max_replicas,
         scope="clique"),
)  # fmt: skip
"""The bounds of a clique's autoscaler."""
