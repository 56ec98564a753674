"""Rules for the rollingUpdate of cliques and scaling groups, by the updateStrategy.

Source: spec/grove-releases.md#2.6, #v1 to #v4.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Problem, Rule
from packwise.frontends.grove.podcliqueset import COHERENT, ON_DELETE
from packwise.frontends.grove.rules.book import Check, CliqueAt, GroupAt, Scope, forbidden_problem, invalid
from packwise.kubernetes import format_duration, parse_duration
from packwise.revisions.grove import ALPHA_14, ALPHA_14_RC1

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.podcliqueset import PodCliqueSet, RollingUpdate
    from packwise.frontends.grove.rules.book import Context

_ROLLING = "rollingUpdate"

_POSITIVE = "must be greater than 0"


class Rolled(Record):
    """A clique or scaling group with a rollingUpdate at `path`, and its limits."""

    strategy: str
    path: FieldPath
    rolling: RollingUpdate
    replicas: int
    min_available: int


def _clique(at: CliqueAt, _context: Context) -> Iterable[Rolled]:
    clique, rolling = at.clique, at.clique.rolling_update
    if rolling is None or at.grouped:
        return ()
    return (Rolled(at.pcs.update_strategy, at.path(_ROLLING), rolling, clique.replicas, clique.min_available),)


def _group(at: GroupAt, _context: Context) -> Iterable[Rolled]:
    group, rolling = at.group, at.group.rolling_update
    if rolling is None:
        return ()
    return (Rolled(at.pcs.update_strategy, at.path(_ROLLING), rolling, group.replicas, group.min_available),)


def _member(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    if at.grouped and at.clique.rolling_update is not None:
        text = (
            "rollingUpdate must not be set on a PodClique that is a member of a PodCliqueScalingGroup. Set it on the "
            "PodCliqueScalingGroup instead"
        )
        yield forbidden_problem(
            at.path(_ROLLING), text, "must not be set on a member of a scaling group; set it on the scaling group"
        )


def _on_delete(at: Rolled, _context: Context) -> Iterator[Problem]:
    if at.strategy == ON_DELETE:
        text = "rollingUpdate must not be set when the update strategy is OnDelete"
        yield forbidden_problem(at.path, text, f'must not be set if updateStrategy.type is "{ON_DELETE}"; remove it')


def _max_unavailable(at: Rolled, _context: Context) -> Iterator[Problem]:
    most = at.rolling.max_unavailable
    if most is None or at.strategy == ON_DELETE:
        return
    path = (*at.path, "maxUnavailable")
    if most <= 0:
        yield invalid(path, most, _POSITIVE, f'must be at least 1; got "{most}"')
    elif most > at.replicas:
        text = f"must not be greater than replicas ({at.replicas})"
        yield invalid(path, most, text, f"must be at most {at.replicas}, the replicas; got {most}")
    elif at.strategy == COHERENT and most < at.min_available:
        text = f"must not be less than minAvailable ({at.min_available}) under the Coherent update strategy"
        message = (
            f'must be at least minAvailable ("{at.min_available}") if updateStrategy.type is "{COHERENT}"; got "{most}"'
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
            f'{release} may not have "{COHERENT}": alpha.14 has it, and alpha.13 does not. See the enum in the '
            "cluster's CRD"
        )
        yield Problem(("spec", "updateStrategy", "type"), message)
    cliques = [(("cliques", index), clique.rolling_update) for index, clique in enumerate(pcs.cliques)]
    groups = [(("podCliqueScalingGroups", index), group.rolling_update) for index, group in enumerate(pcs.groups)]
    for (field, index), rolling in (*cliques, *groups):
        if rolling is not None:
            message = (
                f"{release} may not have this field: alpha.14 has it, and alpha.13 drops it. See the cluster's CRD"
            )
            yield Problem(("spec", "template", field, index, _ROLLING), message)


_MEMBER = Rule("rolling-update-member", "A member of a scaling group has a rollingUpdate.", "spec/grove-releases.md#v1")
_FORBIDDEN = Rule("rolling-update-on-delete", "The strategy OnDelete has a rollingUpdate.", "spec/grove-releases.md#v2")
_MAX = Rule("rolling-update-max", "maxUnavailable is too low, or greater than replicas.", "spec/grove-releases.md#v3")
_DEADLINE = Rule("rolling-update-deadline", "progressDeadline is not greater than 0.", "spec/grove-releases.md#v4")

_ROLLED = (Check(_FORBIDDEN, _on_delete), Check(_MAX, _max_unavailable), Check(_DEADLINE, _deadline))

CLIQUE = (Check(_MEMBER, _member, since=ALPHA_14), Scope(_clique, _ROLLED, since=ALPHA_14))
"""The last rules of each clique."""

GROUP = (Scope(_group, _ROLLED, since=ALPHA_14),)
"""Rules that run after the numbers of each scaling group."""

UNDETERMINED = (
    Check(
        Rule(
            "release-undetermined",
            "A field may be missing in the release.",
            "spec/grove-releases.md#7",
            Severity.WARNING,
        ),
        _unsure_fields,
        since=ALPHA_14_RC1,
        until=ALPHA_14,
    ),
)
"""Warnings if the rules of a release are not fully known."""
