"""The rules about fields that must not change after a PodCliqueSet is created.

Source: spec/grove.md#5, spec/grove-releases.md.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.result import Severity
from packwise.findings import Problem, Rule
from packwise.frontends.grove.podcliqueset import TEMPLATE, chosen_topology
from packwise.frontends.grove.rules.book import (
    Check,
    CliqueAt,
    Context,
    GroupAt,
    Scope,
    Update,
    forbidden_problem,
    groups_of,
    invalid_value,
)
from packwise.frontends.grove.rules.topology import PACK, TOPOLOGY, constraint_places, constraints_at, named_constraints
from packwise.kubernetes import (
    ErrorType,
    OperatorError,
    TypedText,
    go_json,
    go_quote,
    refusal,
)
from packwise.revisions.grove import ALPHA_8, ALPHA_9, ALPHA_10, GREP_244
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.frontends.grove.podcliqueset import (
        Clique,
        PodCliqueSet,
        ScalingGroup,
        TopologyConstraint,
    )
    from packwise.revisions.grove import Revision

_CLIQUES = "spec.template.cliques"
_GROUPS = "spec.template.podCliqueScalingGroups"
_ORDERED = frozenset({"CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit"})

CONSTRAINT = Rule("update-topology-constraint", "An update changes a topology constraint.", "spec/grove.md#u12")

RECREATE = "to change this, delete the PodCliqueSet and its rendered PodGangs, and create it again"
"""The end of each message about a change that is never permitted."""


def _clique_count(update: Update, _context: Context) -> Iterator[Problem]:
    old, new = len(update.old.cliques), len(update.new.cliques)
    if old != new:
        message = f"the number of cliques must stay {old} once the PodCliqueSet exists; got {new}; {RECREATE}"
        text = "not allowed to change clique composition"
        yield forbidden_problem((*TEMPLATE, "cliques"), text, message)


class CliqueChange(Record):
    """A clique of the new set, and the clique with the same name in the old set or None.

    `ordered` is true if the order of the cliques must not change.
    """

    at: CliqueAt
    old: Clique | None
    old_index: int
    ordered: bool


def _clique_changes(update: Update, _context: Context) -> Iterable[CliqueChange]:
    before = {clique.name: (index, clique) for index, clique in enumerate(update.old.cliques)}
    ordered = update.new.startup_type in _ORDERED
    for index, clique in enumerate(update.new.cliques):
        at = CliqueAt(update.new, index, clique, False)
        old_index, old = before.get(clique.name, (-1, None))
        yield CliqueChange(at=at, old=old, old_index=old_index, ordered=ordered)


def _clique_known(change: CliqueChange, _context: Context) -> Iterator[Problem]:
    if change.old is None:
        name = change.at.clique.name
        text = f"not allowed to change clique composition, new clique name '{name}' is not allowed"
        message = f'clique "{name}" is new, and cliques are immutable; {RECREATE}'
        yield forbidden_problem(change.at.path("name"), text, message, field=f"{_CLIQUES}.name")


def _clique_order(change: CliqueChange, _context: Context) -> Iterator[Problem]:
    at, name = change.at, change.at.clique.name
    if change.old is not None and change.ordered and change.old_index != at.position:
        text = (
            "clique order cannot be changed when StartupType is InOrder or Explicit. "
            f"Expected '{name}' at position {at.position}, got '{name}'"
        )
        message = (
            f'clique "{name}" must stay at index {change.old_index}, because the startup type is {at.pcs.startup_type}'
        )
        yield invalid_value(at.path(), name, text, message, field=_CLIQUES)


def _clique_role(change: CliqueChange, _context: Context) -> Iterator[Problem]:
    if change.old and change.old.role != change.at.clique.role:
        path = change.at.path("spec", "roleName")
        yield immutable_problem(path, f"{_CLIQUES}.spec.roleName", change.old.role, change.at.clique.role)


def _clique_min(change: CliqueChange, context: Context) -> Iterator[Problem]:
    old, new = change.old, change.at.clique
    if old and old.min_available != new.min_available:
        path = change.at.path("spec", "minAvailable")
        hint = " (its default follows replicas; set it to change only replicas)"
        if context.revision.min_available_default == "One":
            hint = (
                f' (its default is 1, but in earlier releases it was the value of replicas; set "{old.min_available}")'
            )
        yield immutable_problem(path, f"{_CLIQUES}.spec.minAvailable", old.min_available, new.min_available, hint)


def _clique_starts_after(change: CliqueChange, _context: Context) -> Iterator[Problem]:
    old, new = change.old, change.at.clique
    if old and (old.starts_after or ()) != (new.starts_after or ()):
        path = change.at.path("spec", "startsAfter")
        value = None if new.starts_after is None else list(new.starts_after)
        yield immutable_problem(path, f"{_CLIQUES}.spec.startsAfter", list(old.starts_after or ()), value)


def _startup_type(update: Update, _context: Context) -> Iterator[Problem]:
    old, new = update.old.startup_type, update.new.startup_type
    if old != new:
        path = (*TEMPLATE, "cliqueStartupType")
        yield immutable_problem(path, "spec.template.cliqueStartupType", old, TypedText(new))


def _group_count(update: Update, _context: Context) -> Iterator[Problem]:
    old, new = len(update.old.groups), len(update.new.groups)
    if old != new:
        message = f"the number of scaling groups must stay {old} once the PodCliqueSet exists; got {new}; {RECREATE}"
        text = "not allowed to add or remove PodCliqueScalingGroupConfigs"
        yield forbidden_problem((*TEMPLATE, "podCliqueScalingGroups"), text, message)


class GroupChange(Record):
    """A scaling group of the new set, and the group with the same name in the old set or None."""

    at: GroupAt
    old: ScalingGroup | None


def _group_changes(update: Update, context: Context) -> Iterable[GroupChange]:
    # If the number of groups changes, the operator does not check the groups any further.
    if len(update.old.groups) == len(update.new.groups):
        old = {group.name: group for group in update.old.groups}
        for at in groups_of(update.new, context):
            yield GroupChange(at=at, old=old.get(at.group.name))


def _group_known(change: GroupChange, _context: Context) -> Iterator[Problem]:
    if change.old is None:
        name = change.at.group.name
        text = f"not allowed to change scaling group composition, new scaling group name '{name}' is not allowed"
        message = f'scaling group "{name}" is new, and scaling groups are immutable; {RECREATE}'
        yield forbidden_problem(change.at.path("name"), text, message, field=f"{_GROUPS}.name")


def _group_members(change: GroupChange, _context: Context) -> Iterator[Problem]:
    old, new = change.old, change.at.group
    if old and old.clique_names != new.clique_names:
        path = change.at.path("cliqueNames")
        value = list(new.clique_names) if new.lists_cliques else None
        yield immutable_problem(path, f"{_GROUPS}.cliqueNames", list(old.clique_names), value)


def _group_min(change: GroupChange, _context: Context) -> Iterator[Problem]:
    old, new = change.old, change.at.group
    if old and old.min_available != new.min_available:
        path = change.at.path("minAvailable")
        yield immutable_problem(path, f"{_GROUPS}.minAvailable", old.min_available, new.min_available)


def _constraints(update: Update, context: Context) -> Iterator[Problem]:
    old = {(place.kind, place.name): place.constraint for place in constraints_at(update.old)}
    for place in constraint_places(update.new):
        change = _constraint_change(old.get((place.kind, place.name)), place.constraint)
        if change:
            detail, message = change
            text = f"{place.owner} topology constraint {detail}"
            error = OperatorError(place.operator_field(context.revision), ErrorType.FORBIDDEN, None, text)
            yield refusal(place.path, f"{message}; {RECREATE}", error)


def _constraint_change(before: TopologyConstraint | None, after: TopologyConstraint | None) -> tuple[str, str] | None:
    """Return the end of the operator's text and packwise's message. Return None if packDomain is unchanged."""
    if before is None and after is None:
        return None
    if before is None:
        return "cannot be added after creation", "must not be added once the PodCliqueSet exists"
    if after is None:
        return (
            "cannot be removed after creation",
            f'must not be removed once the PodCliqueSet exists; it was "{before.pack_domain}"',
        )
    old, new = before.pack_domain, after.pack_domain
    if old == new:
        return None
    return (
        f"cannot be changed from '{old}' to '{new}'",
        f'must stay "{old}" once the PodCliqueSet exists; got "{new}"',
    )


def _topology_name(update: Update, context: Context) -> Iterator[Problem]:
    field = context.revision.topology_name_field
    old, new = chosen_topology(update.old, context.revision), chosen_topology(update.new, context.revision)
    if field and old != new and context.scheduled > 0:
        message = (
            f"must stay {_show(old)} while {count_text(context.scheduled, 'pod')} of the workload "
            f"{'is' if context.scheduled == 1 else 'are'} scheduled; got {_show(new)}; scale the workload to 0 first"
        )
        yield Problem((*TEMPLATE, field), message)


def _show(value: Value) -> str:
    if value is None:
        return "unset"
    return f'"{value}"' if isinstance(value, str | int) else go_json(value)


def immutable_problem(path: FieldPath, field: str, old: Value, new: Value, hint: str = "") -> Problem:
    """Return the problem of an immutable field that changes. `field` is its path in the operator's text."""
    message = f"must stay {_show(old)} once the PodCliqueSet exists; got {_show(new)}{hint}"
    return invalid_value(path, new, "field is immutable", message, field=field)


def _with_other_topology(update: Update, context: Context) -> tuple[PodCliqueSet, ...]:
    """Return the new object if it chooses another topology: its constraints are then checked as new ones."""
    before, after = chosen_topology(update.old, context.revision), chosen_topology(update.new, context.revision)
    return () if before == after else (update.new,)


_CLIQUE = (
    Check(Rule("update-clique-name", "An update renames a clique.", "spec/grove.md#u02"), _clique_known),
    Check(
        Rule("update-clique-order", "An update changes the order of cliques that start in order.", "spec/grove.md#u03"),
        _clique_order,
    ),
    Check(Rule("update-clique-role", "An update changes roleName of a clique.", "spec/grove.md#u04"), _clique_role),
    Check(
        Rule("update-clique-min-available", "An update changes minAvailable of a clique.", "spec/grove.md#u05"),
        _clique_min,
    ),
    Check(
        Rule("update-clique-starts-after", "An update changes startsAfter of a clique.", "spec/grove.md#u06"),
        _clique_starts_after,
    ),
)
_GROUP = (
    Check(Rule("update-group-name", "An update renames a scaling group.", "spec/grove.md#u09"), _group_known),
    Check(
        Rule("update-group-members", "An update changes cliqueNames of a scaling group.", "spec/grove.md#u10"),
        _group_members,
    ),
    Check(
        Rule("update-group-min-available", "An update changes minAvailable of a scaling group.", "spec/grove.md#u11"),
        _group_min,
    ),
)


_NAME = "topologyName"
_NAME_FIELD = f"spec.template.topologyConstraint.{_NAME}"

_NAMELESS = "topology constraints require an explicit or inherited topologyName"
_EMPTY = "topology constraints require at least one pack domain"
_DOMAINLESS = "topology constraints require packDomain"
_SEVERAL = "multiple topology names within a single PodCliqueSet are not supported"


def _ambiguous_topology_text(old: PodCliqueSet, revision: Revision) -> str | None:
    """Return the operator's text if it finds no single topology for an old object, otherwise None.

    It searches for a topology only if a constraint with packDomain names none.
    """
    if not any(constraint.pack_domain and constraint.topology_name is None for constraint in old.constraints()):
        return None
    first = None
    for named in named_constraints(old, revision):
        place, name = named.place, named.name
        if place.constraint is not None and not place.constraint.domains:
            return _EMPTY if revision.deprecates_pack_domain else _DOMAINLESS
        if name is None:
            return _NAMELESS if named.inherited is None else _SEVERAL
        first = first or name
        if name != first:
            return _SEVERAL
    return None


def _topology_conflict(update: Update, context: Context) -> str | None:
    # The webhook runs only for changes. If no change is known, an old workload stays as it is.
    return None if update.old is update.new else _ambiguous_topology_text(update.old, context.revision)


def _contradiction(update: Update, context: Context) -> Iterator[Problem]:
    conflict = _topology_conflict(update, context)
    if conflict not in (None, _NAMELESS):
        message = "the constraints do not name one topology, and the operator refuses every update; " + RECREATE
        yield refusal(
            (*TEMPLATE, "topologyConstraint"), message, OperatorError(_NAME_FIELD, ErrorType.INTERNAL, None, conflict)
        )


def _changed_constraints(update: Update, context: Context) -> Iterator[Problem]:
    conflict = _topology_conflict(update, context)
    if conflict in (None, _NAMELESS):
        yield from _changes(update, context.revision, fixes_names=conflict is not None)


def _with_fixed_names(update: Update, context: Context) -> tuple[PodCliqueSet, ...]:
    """Return the new object if the change only adds topology names to constraints from before such names existed."""
    changes = _changes(update, context.revision, fixes_names=True)
    if _topology_conflict(update, context) != _NAMELESS or next(changes, None) is not None:
        return ()
    return (update.new,)


def _changes(update: Update, revision: Revision, *, fixes_names: bool) -> Iterator[Problem]:
    old = {(place.kind, place.name): place.constraint for place in constraint_places(update.old)}
    for place in constraint_places(update.new):
        before, after = old.get((place.kind, place.name)), place.constraint
        if before == after or _is_migration(before, after) or (fixes_names and _is_naming(before, after)):
            continue
        if place.kind == "PodCliqueSet" and _name(before) != _name(after):
            text = f"topologyName cannot be changed from {go_quote(_name(before))} to {go_quote(_name(after))}"
            error = OperatorError(place.field(_NAME), ErrorType.FORBIDDEN, None, text)
            message = f"must stay {_text_of(before)} once the PodCliqueSet exists; got {_text_of(after)}"
            yield refusal(place.path, f"{message}; {RECREATE}", error)
        elif (change := _change(before, after, revision)) is not None:
            detail, message = change
            text = f"{place.owner_if_named} {detail}"
            error = OperatorError(place.field(), ErrorType.FORBIDDEN, None, text)
            yield refusal(place.path, f"{message}; {RECREATE}", error)


def _change(
    before: TopologyConstraint | None, after: TopologyConstraint | None, revision: Revision
) -> tuple[str, str] | None:
    """Return a part of the operator's text and packwise's message. Return None if the change is permitted."""
    if before is None:
        text = "topology constraint cannot be added after creation"
        return text, "must not be added once the PodCliqueSet exists"
    if after is None:
        text = "topology constraint cannot be removed after creation"
        return text, f"must not be removed once the PodCliqueSet exists; it was {_text_of(before)}"
    message = f"must stay {_text_of(before)} once the PodCliqueSet exists; got {_text_of(after)}"
    if before.topology_name != after.topology_name:
        text = f"topology constraint topologyName cannot be changed from '{_name(before)}' to '{_name(after)}'"
        return text, message
    if _moves(before, after):
        text = (
            "deprecated packDomain migration can only move packDomain to pack.required without changing the required "
            f"or preferred topology domain (old {_quote_domains(before.pack_domain, before.preferred)}, new "
            f"{_quote_domains(after.required, after.preferred)})"
        )
        return text, message
    if (before.pack_domain, before.required, before.preferred) == (after.pack_domain, after.required, after.preferred):
        return None
    old, new = f"'{before.pack_domain}'", f"'{after.pack_domain}'"
    if revision.deprecates_pack_domain:
        old, new = _quote_domains(before.required, before.preferred), _quote_domains(after.required, after.preferred)
    return f"topology constraint cannot be changed from {old} to {new}", message


def _moves(before: TopologyConstraint, after: TopologyConstraint) -> bool:
    """Return True if pack.required replaces packDomain."""
    return bool(before.pack_domain and not after.pack_domain and after.pack is not None and after.pack.required)


def _is_migration(before: TopologyConstraint | None, after: TopologyConstraint | None) -> bool:
    """Return True if the only change is that packDomain was moved to pack.required."""
    return (
        before is not None
        and after is not None
        and _moves(before, after)
        and before.topology_name == after.topology_name
        and before.pack_domain == after.required
        and before.preferred == after.preferred
    )


def _is_naming(before: TopologyConstraint | None, after: TopologyConstraint | None) -> bool:
    """Return True if the change adds a topology name to a constraint, and keeps its packDomain."""
    return (
        before is not None
        and after is not None
        and before.topology_name is None
        and bool(before.pack_domain)
        and after.topology_name is not None
        and before.pack_domain == after.pack_domain
    )


def _name(constraint: TopologyConstraint | None) -> str:
    return "" if constraint is None else constraint.topology_name or ""


def _quote_domains(required: str, preferred: str) -> str:
    return f"required={go_quote(required)} preferred={go_quote(preferred)}"


def _text_of(constraint: TopologyConstraint | None) -> str:
    """Return a constraint in the form of packwise's messages."""
    if constraint is None:
        return "none"
    parts = (
        ("topologyName", constraint.topology_name),
        ("packDomain", constraint.pack_domain),
        ("required", constraint.pack.required if constraint.pack else None),
        ("preferred", constraint.pack.preferred if constraint.pack else None),
    )
    return "{" + ", ".join([f"{key}: {text}" for key, text in parts if text]) + "}"


def _deprecated_names(update: Update, _context: Context) -> Iterator[Problem]:
    for place in constraint_places(update.new):
        if place.constraint is not None and place.constraint.pack_domain:
            message = "packDomain is deprecated; use pack.required with the same domain"
            yield Problem((*place.path, "packDomain"), message)


def _clique_scheduler(change: CliqueChange, _context: Context) -> Iterator[Problem]:
    old, new = change.old, change.at.clique
    if old and old.scheduler != new.scheduler:
        path = change.at.path("spec", "podSpec", "schedulerName")
        yield immutable_problem(path, f"{_CLIQUES}.spec.podSpec.schedulerName", old.scheduler, new.scheduler)


def _clique_sharing(change: CliqueChange, _context: Context) -> Iterator[Problem]:
    if change.old:
        path = change.at.path("resourceSharing")
        yield from _check_same(path, format_path(path), change.old.resource_sharing, change.at.clique.resource_sharing)


def _group_sharing(change: GroupChange, _context: Context) -> Iterator[Problem]:
    if change.old:
        path, field = change.at.path("resourceSharing"), f"{_GROUPS}.resourceSharing"
        yield from _check_same(path, field, change.old.resource_sharing, change.at.group.resource_sharing)


def _claim_templates(update: Update, _context: Context) -> Iterator[Problem]:
    path = (*TEMPLATE, "resourceClaimTemplates")
    yield from _check_same(path, format_path(path), update.old.claim_templates, update.new.claim_templates)


def _sharing(update: Update, _context: Context) -> Iterator[Problem]:
    path = (*TEMPLATE, "resourceSharing")
    yield from _check_same(path, format_path(path), update.old.resource_sharing, update.new.resource_sharing)


def _check_same(
    path: FieldPath,
    field: str,
    old: Sequence[Mapping[str, Value]] | None,
    new: Sequence[Mapping[str, Value]] | None,
) -> Iterator[Problem]:
    # An absent list and an empty list are equal.
    if tuple(old or ()) != tuple(new or ()):
        value = None if new is None else cast("Value", list(new))
        yield invalid_value(path, value, "field is immutable", f"the field is immutable; {RECREATE}", field=field)


UPDATE = (
    Check(Rule("update-clique-count", "An update adds or removes a clique.", "spec/grove.md#u01"), _clique_count),
    Scope(_clique_changes, (
        *_CLIQUE,
        Check(Rule("update-scheduler", "An update changes schedulerName.", "spec/grove.md#u14"),
              _clique_scheduler, since=ALPHA_8),
        Check(Rule("update-clique-sharing", "An update changes resourceSharing of a clique.", "spec/grove.md#u14"),
              _clique_sharing, since=ALPHA_8),
    )),
    Check(Rule("update-startup-type", "An update changes cliqueStartupType.", "spec/grove.md#u07"), _startup_type),
    Check(Rule("update-group-count", "An update adds or removes a scaling group.", "spec/grove.md#u08"), _group_count),
    Scope(_group_changes, (
        *_GROUP,
        Check(Rule("update-group-sharing", "An update changes resourceSharing of a scaling group.",
                   "spec/grove.md#u11"),
              _group_sharing, since=ALPHA_8),
    )),
    Check(CONSTRAINT, _constraints, since=GREP_244, until=ALPHA_9),
    Check(Rule("update-topology-name", "An update changes clusterTopologyName while pods are scheduled.",
               "spec/designs.md#7.2"), _topology_name, since=GREP_244, until=ALPHA_8),
    Check(Rule("update-topology-names", "An existing workload names several topologies.", "spec/grove.md#5.2"),
          _contradiction, since=ALPHA_9),
    Check(CONSTRAINT, _changed_constraints, since=ALPHA_9),
    Scope(_with_fixed_names, PACK, since=ALPHA_9),
    Check(Rule("pack-domain-deprecated", "A constraint uses packDomain, the deprecated name of pack.required.",
               "spec/grove.md#5.1", Severity.WARNING), _deprecated_names, since=ALPHA_10),
    Check(Rule("update-claim-templates", "An update changes resourceClaimTemplates.", "spec/grove.md#5.3"),
          _claim_templates, since=ALPHA_8),
    Check(Rule("update-sharing", "An update changes resourceSharing of a PodCliqueSet.", "spec/grove.md#5.3"),
          _sharing, since=ALPHA_8),
    Scope(_with_other_topology, TOPOLOGY, since=GREP_244, until=ALPHA_8),
)  # fmt: skip
"""Checks of changes, in the operator's order. They run only if the new object itself is valid."""
