"""autoScalingConfig of a clique. Source: spec/grove.md#r16 to #r18."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Rule
from packwise.frontends.grove.rules.check import Check, CliqueAt, Context, Scope, invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packwise.findings.finding import Problem
    from packwise.frontends.grove.podcliqueset import AutoScaling

__all__ = ["AUTOSCALING"]

_AT_LEAST = "must be greater than or equal to"


class _Scaled(NamedTuple):
    """A clique that has an autoscaler."""

    at: CliqueAt
    scaling: AutoScaling


def _scaled(at: CliqueAt, _context: Context) -> Sequence[_Scaled]:
    scaling = at.clique.auto_scaling
    return (_Scaled(at, scaling),) if scaling else ()


def _min(scaled: _Scaled, _context: Context) -> Iterator[Problem]:
    least_replicas, least = scaled.scaling.min_replicas, scaled.at.clique.min_available
    if least_replicas is not None and least_replicas < least:
        message = f'{_AT_LEAST} minAvailable ("{least}"); got "{least_replicas}"'
        path = scaled.at.path("spec", "autoScalingConfig", "minReplicas")
        yield invalid(path, least_replicas, f"{_AT_LEAST} podCliqueSpec.minAvailable", message)


def _max_min(scaled: _Scaled, _context: Context) -> Iterator[Problem]:
    most, least = scaled.scaling.max_replicas, scaled.scaling.min_replicas
    if least is not None and most < least:
        message = f'{_AT_LEAST} minReplicas ("{least}"); got "{most}"'
        path = scaled.at.path("spec", "autoScalingConfig", "maxReplicas")
        yield invalid(path, most, f"{_AT_LEAST} podCliqueSpec.minReplicas", message)


def _max_replicas(scaled: _Scaled, _context: Context) -> Iterator[Problem]:
    most, replicas = scaled.scaling.max_replicas, scaled.at.clique.replicas
    if most < replicas:
        message = f'{_AT_LEAST} replicas ("{replicas}"); got "{most}"'
        path = scaled.at.path("spec", "autoScalingConfig", "maxReplicas")
        yield invalid(path, most, f"{_AT_LEAST} replicas", message)


AUTOSCALING = (
    Scope(_scaled, (
        Check(Rule("autoscaling-min", "minReplicas is at least minAvailable.", "spec/grove.md#r16"), _min),
        Check(Rule("autoscaling-max", "maxReplicas is at least minReplicas.", "spec/grove.md#r17"), _max_min),
        Check(Rule("autoscaling-max-replicas", "maxReplicas is at least replicas.",
                   "spec/grove.md#r18"), _max_replicas),
    )),
)  # fmt: skip
"""The bounds of a clique's autoscaler."""
