"""What never changes in resource sharing and the choice of a scheduler, and the rules of an update with these.

Source: spec/grove.md#5.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, cast
from packwise.findings.finding import Rule
from packwise.frontends.grove.rules.check import TEMPLATE, Check, Context, Update, invalid
from packwise.frontends.grove.rules.update import RECREATE, CliqueChange, GroupChange, immutable, update_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings.finding import Problem
    from packwise.frontends.grove.rules.check import Node

__all__ = ["sharing_update"]

_CLIQUES = "spec.template.cliques"
_GROUPS = "spec.template.podCliqueScalingGroups"


def _clique_scheduler(change: CliqueChange, _context: Context) -> Iterator[Problem]:
    old, new = change.old, change.at.clique
    if old and old.scheduler != new.scheduler:
        path = change.at.path("spec", "podSpec", "schedulerName")
        yield immutable(path, f"{_CLIQUES}.spec.podSpec.schedulerName", old.scheduler, new.scheduler)


def _clique_sharing(change: CliqueChange, _context: Context) -> Iterator[Problem]:
    if change.old:
        path = change.at.path("resourceSharing")
        yield from _same(path, format_path(path), change.old.resource_sharing, change.at.clique.resource_sharing)


def _group_sharing(change: GroupChange, _context: Context) -> Iterator[Problem]:
    if change.old:
        path, field = change.at.path("resourceSharing"), f"{_GROUPS}.resourceSharing"
        yield from _same(path, field, change.old.resource_sharing, change.at.group.resource_sharing)


def _claim_templates(update: Update, _context: Context) -> Iterator[Problem]:
    path = (*TEMPLATE, "resourceClaimTemplates")
    yield from _same(path, format_path(path), update.old.claim_templates, update.new.claim_templates)


def _sharing(update: Update, _context: Context) -> Iterator[Problem]:
    path = (*TEMPLATE, "resourceSharing")
    yield from _same(path, format_path(path), update.old.resource_sharing, update.new.resource_sharing)


def _same(
    path: FieldPath, field: str, old: Sequence[Mapping[str, Value]], new: Sequence[Mapping[str, Value]]
) -> Iterator[Problem]:
    if tuple(old) != tuple(new):
        value = cast("Value", list(new)) if new else None
        yield invalid(path, value, "field is immutable", f"must stay as it was; {RECREATE}", field=field)


_CLIQUE = (
    Check(Rule("update-scheduler", "schedulerName never changes.", "spec/grove.md#u14"), _clique_scheduler),
    Check(
        Rule("update-clique-sharing", "A clique's resourceSharing never changes.", "spec/grove.md#u14"), _clique_sharing
    ),
)
_GROUP = (
    Check(Rule("update-group-sharing", "A group's resourceSharing never changes.", "spec/grove.md#5"), _group_sharing),
)
_SET = (
    Check(Rule("update-claim-templates", "resourceClaimTemplates never change.", "spec/grove.md#5"), _claim_templates),
    Check(Rule("update-sharing", "resourceSharing never changes.", "spec/grove.md#5"), _sharing),
)


def sharing_update(*constraints: Node) -> tuple[Node, ...]:
    """Rules of an update where resources are shared; `constraints` are those of topology constraints."""
    return update_rules(*constraints, clique=_CLIQUE, group=_GROUP, rest=_SET)
