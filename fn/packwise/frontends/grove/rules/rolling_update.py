"""The rollingUpdate of cliques and scaling groups, by the updateStrategy.

Source: spec/grove-releases.md#2.6, #v1 to #v4.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.findings.finding import Problem, Rule
from packwise.frontends.grove.podcliqueset import COHERENT, ON_DELETE
from packwise.frontends.grove.rules.check import Check, CliqueAt, Context, GroupAt, Scope, forbidden, invalid
from packwise.kubernetes.quantities import format_duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.podcliqueset import PodCliqueSet, RollingUpdate

__all__ = ["CLIQUE_ROLLING", "GROUP_ROLLING", "ROLLING", "UNDETERMINED", "Rolled"]

ROLLING = "rollingUpdate"

_POSITIVE = "must be greater than 0"


class Rolled(NamedTuple):
    """A clique or scaling group that has a rollingUpdate, at `path`, and what that is compared with."""

    strategy: str
    path: FieldPath
    rolling: RollingUpdate
    replicas: int
    min_available: int


def _clique(at: CliqueAt, _context: Context) -> Iterable[Rolled]:
    clique, rolling = at.clique, at.clique.rolling_update
    if rolling is None or at.grouped:
        return ()
    return (Rolled(at.pcs.update_strategy, at.path(ROLLING), rolling, clique.replicas, clique.min_available),)


def _group(at: GroupAt, _context: Context) -> Iterable[Rolled]:
    group, rolling = at.group, at.group.rolling_update
    if rolling is None:
        return ()
    return (Rolled(at.pcs.update_strategy, at.path(ROLLING), rolling, group.replicas, group.min_available),)


def _member(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    if at.grouped and at.clique.rolling_update is not None:
        text = (
            "rollingUpdate must not be set on a PodClique that is a member of a PodCliqueScalingGroup. Set it on the "
            "PodCliqueScalingGroup instead"
        )
        yield forbidden(
            at.path(ROLLING), text, "must not be set on a member of a scaling group; set it on the scaling group"
        )


def _on_delete(at: Rolled, _context: Context) -> Iterator[Problem]:
    if at.strategy == ON_DELETE:
        text = "rollingUpdate must not be set when the update strategy is OnDelete"
        yield forbidden(at.path, text, f'must not be set where updateStrategy.type is "{ON_DELETE}"; remove it')


def _max_unavailable(at: Rolled, _context: Context) -> Iterator[Problem]:
    most = at.rolling.max_unavailable
    if most is None or at.strategy == ON_DELETE:
        return
    path = (*at.path, "maxUnavailable")
    if most <= 0:
        yield invalid(path, most, _POSITIVE, f'{_POSITIVE}; got "{most}"')
    elif most > at.replicas:
        text = f"must not be greater than replicas ({at.replicas})"
        yield invalid(path, most, text, f'must not be greater than replicas ("{at.replicas}"); got "{most}"')
    elif at.strategy == COHERENT and most < at.min_available:
        text = f"must not be less than minAvailable ({at.min_available}) under the Coherent update strategy"
        message = (
            f'must not be less than minAvailable ("{at.min_available}") where updateStrategy.type is "{COHERENT}"; '
            f'got "{most}"'
        )
        yield invalid(path, most, text, message)


def _deadline(at: Rolled, _context: Context) -> Iterator[Problem]:
    deadline = parse_duration(at.rolling.progress_deadline)
    if deadline is not None and deadline <= 0 and at.strategy != ON_DELETE:
        shown = format_duration(deadline)
        message = f'must be a duration greater than 0; got "{at.rolling.progress_deadline}"'
        yield invalid((*at.path, "progressDeadline"), shown, _POSITIVE, message)


def _unsure_fields(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    release = context.revision.name
    if pcs.update_strategy == COHERENT:
        message = (
            f'may be refused: whether {release} has "{COHERENT}" is not known, alpha.13 has not and alpha.14 has; the '
            "enum in the cluster's CRD says it"
        )
        yield Problem(("spec", "updateStrategy", "type"), message)
    cliques = [(("cliques", index), clique.rolling_update) for index, clique in enumerate(pcs.cliques)]
    groups = [(("podCliqueScalingGroups", index), group.rolling_update) for index, group in enumerate(pcs.groups)]
    for (field, index), rolling in (*cliques, *groups):
        if rolling is not None:
            message = (
                f"may have no effect: whether {release} has this field is not known, alpha.13 drops it and alpha.14 "
                "has it; the cluster's CRD says it"
            )
            yield Problem(("spec", "template", field, index, ROLLING), message)


_MEMBER = Rule(
    "rolling-update-member", "A member of a scaling group has no rollingUpdate.", "spec/grove-releases.md#v1"
)
_FORBIDDEN = Rule("rolling-update-on-delete", "OnDelete takes no rollingUpdate.", "spec/grove-releases.md#v2")
_MAX = Rule(
    "rolling-update-max", "maxUnavailable is between 1, or minAvailable, and replicas.", "spec/grove-releases.md#v3"
)
_DEADLINE = Rule("rolling-update-deadline", "progressDeadline is greater than 0.", "spec/grove-releases.md#v4")

_ROLLED = (Check(_FORBIDDEN, _on_delete), Check(_MAX, _max_unavailable), Check(_DEADLINE, _deadline))

CLIQUE_ROLLING = (Check(_MEMBER, _member), Scope(_clique, _ROLLED))
"""Runs last for each clique."""

GROUP_ROLLING = (Scope(_group, _ROLLED),)
"""Runs after the numbers of each scaling group."""

UNDETERMINED = (
    Check(
        Rule(
            "release-undetermined",
            "Every field is one that the release is known to have.",
            "spec/grove-releases.md#7",
            Severity.WARNING,
        ),
        _unsure_fields,
    ),
)
"""Warnings where it is not known which rules a release has."""
