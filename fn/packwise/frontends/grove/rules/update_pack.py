"""What may change in a PodCliqueSet's constraints once it exists, where each may name its topology.

Source: spec/grove.md#5; spec/grove-releases.md#2.2.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings.finding import Problem, Rule
from packwise.frontends.grove.rules.check import TEMPLATE, Check, Context, Scope, Update, refused
from packwise.frontends.grove.rules.constraints import constraint_places
from packwise.frontends.grove.rules.pack import PACK, named_constraints
from packwise.frontends.grove.rules.update import CONSTRAINT, RECREATE
from packwise.kubernetes.validation import ErrorType, OperatorError, go_quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.frontends.grove.podcliqueset import PodCliqueSet, TopologyConstraint
    from packwise.revisions.revision import Revision

__all__ = ["NAMED_UPDATE", "PACK_UPDATE"]

_NAME = "topologyName"
_NAME_FIELD = f"spec.template.topologyConstraint.{_NAME}"

_NAMELESS = "topology constraints require an explicit or inherited topologyName"
_EMPTY = "topology constraints require at least one pack domain"
_DOMAINLESS = "topology constraints require packDomain"
_SEVERAL = "multiple topology names within a single PodCliqueSet are not supported"


def _trouble(old: PodCliqueSet, revision: Revision) -> str | None:
    """Why the operator finds no one topology for an old object with a packDomain without a name; None: it does."""
    if not any(constraint.pack_domain and constraint.topology_name is None for constraint in old.constraints()):
        return None
    first = None
    for place, inherited, name in named_constraints(old, revision):
        if place.constraint is not None and not place.constraint.domains:
            return _EMPTY if revision.deprecates_pack_domain else _DOMAINLESS
        if name is None:
            return _NAMELESS if inherited is None else _SEVERAL
        first = first or name
        if name != first:
            return _SEVERAL
    return None


def _trouble_of(update: Update, context: Context) -> str | None:
    # The webhook is asked about changes only: where nothing tells of one, an old workload stays as it is.
    return None if update.old is update.new else _trouble(update.old, context.revision)


def _contradiction(update: Update, context: Context) -> Iterator[Problem]:
    trouble = _trouble_of(update, context)
    if trouble not in (None, _NAMELESS):
        message = "must mean one topology already, before anything else about it may change; " + RECREATE
        yield refused(
            (*TEMPLATE, "topologyConstraint"), message, OperatorError(_NAME_FIELD, ErrorType.INTERNAL, None, trouble)
        )


def _constraints(update: Update, context: Context) -> Iterator[Problem]:
    trouble = _trouble_of(update, context)
    if trouble in (None, _NAMELESS):
        yield from _changes(update, context.revision, mends_names=trouble is not None)


def _mended(update: Update, context: Context) -> tuple[PodCliqueSet, ...]:
    """The new object, where it may be the mended form of one from before constraints had names."""
    changes = _changes(update, context.revision, mends_names=True)
    if _trouble_of(update, context) != _NAMELESS or next(changes, None) is not None:
        return ()
    return (update.new,)


def _changes(update: Update, revision: Revision, *, mends_names: bool) -> Iterator[Problem]:
    old = {(place.kind, place.name): place.constraint for place in constraint_places(update.old)}
    for place in constraint_places(update.new):
        before, after = old.get((place.kind, place.name)), place.constraint
        if before == after or _is_migration(before, after) or (mends_names and _is_naming(before, after)):
            continue
        if place.kind == "PodCliqueSet" and _name(before) != _name(after):
            text = f"topologyName cannot be changed from {go_quote(_name(before))} to {go_quote(_name(after))}"
            error = OperatorError(place.field(_NAME), ErrorType.FORBIDDEN, None, text)
            message = f"must stay as it was, {_shown(before)}, once the PodCliqueSet exists; got {_shown(after)}"
            yield refused(place.path, f"{message}; {RECREATE}", error)
        elif (change := _change(before, after, revision)) is not None:
            detail, message = change
            text = f"{place.owner_if_named} {detail}"
            error = OperatorError(place.field(), ErrorType.FORBIDDEN, None, text)
            yield refused(place.path, f"{message}; {RECREATE}", error)


def _change(
    before: TopologyConstraint | None, after: TopologyConstraint | None, revision: Revision
) -> tuple[str, str] | None:
    """The operator's words and packwise's own; None where nothing changed that counts."""
    if before is None:
        text = "topology constraint cannot be added after creation"
        return text, "must not be added once the PodCliqueSet exists"
    if after is None:
        text = "topology constraint cannot be removed after creation"
        return text, f"must not be removed once the PodCliqueSet exists; it was {_shown(before)}"
    message = f"must stay as it was, {_shown(before)}, once the PodCliqueSet exists; got {_shown(after)}"
    if before.topology_name != after.topology_name:
        text = f"topology constraint topologyName cannot be changed from '{_name(before)}' to '{_name(after)}'"
        return text, message
    if _moves(before, after):
        text = (
            "deprecated packDomain migration can only move packDomain to pack.required without changing the required "
            f"or preferred topology domain (old {_quoted(before.pack_domain, before.preferred)}, new "
            f"{_quoted(after.required, after.preferred)})"
        )
        return text, message
    if (before.pack_domain, before.required, before.preferred) == (after.pack_domain, after.required, after.preferred):
        return None
    old, new = f"'{before.pack_domain}'", f"'{after.pack_domain}'"
    if revision.deprecates_pack_domain:
        old, new = _quoted(before.required, before.preferred), _quoted(after.required, after.preferred)
    return f"topology constraint cannot be changed from {old} to {new}", message


def _moves(before: TopologyConstraint, after: TopologyConstraint) -> bool:
    """Whether packDomain gave way to pack.required."""
    return bool(before.pack_domain and not after.pack_domain and after.pack is not None and after.pack.required)


def _is_migration(before: TopologyConstraint | None, after: TopologyConstraint | None) -> bool:
    """Whether packDomain moved to pack.required, and nothing else changed."""
    return (
        before is not None
        and after is not None
        and _moves(before, after)
        and before.topology_name == after.topology_name
        and before.pack_domain == after.required
        and before.preferred == after.preferred
    )


def _is_naming(before: TopologyConstraint | None, after: TopologyConstraint | None) -> bool:
    """Whether a constraint from before they had names got one, and kept its packDomain."""
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


def _quoted(required: str, preferred: str) -> str:
    return f"required={go_quote(required)} preferred={go_quote(preferred)}"


def _shown(constraint: TopologyConstraint | None) -> str:
    """A constraint as packwise's messages show it."""
    if constraint is None:
        return "none"
    parts = (
        ("topologyName", constraint.topology_name),
        ("packDomain", constraint.pack_domain),
        ("required", constraint.pack.required if constraint.pack else None),
        ("preferred", constraint.pack.preferred if constraint.pack else None),
    )
    return "{" + ", ".join([f"{key}: {text}" for key, text in parts if text]) + "}"


def _deprecated(update: Update, _context: Context) -> Iterator[Problem]:
    for place in constraint_places(update.new):
        if place.constraint is not None and place.constraint.pack_domain:
            message = "is the deprecated name of pack.required; move it there, with the same domain"
            yield Problem((*place.path, "packDomain"), message)


NAMED_UPDATE = (
    Check(Rule("update-topology-names", "A workload that exists means one topology.", "spec/grove.md#5"),
          _contradiction),
    Check(CONSTRAINT, _constraints),
    Scope(_mended, PACK),
)  # fmt: skip
"""Rules of an update where constraints name their topologies."""

PACK_UPDATE = (
    Check(Rule("pack-domain-deprecated", "packDomain is the deprecated name of pack.required.",
               "spec/grove.md#5", Severity.WARNING), _deprecated),
)  # fmt: skip
"""Run after these, where a constraint has required and preferred domains."""
