"""Topology constraints of a new PodCliqueSet where each may name its topology, require and prefer a domain.

Where packDomain is not deprecated yet, a constraint requires that domain and prefers none. Source: spec/grove.md#4.3;
spec/grove-releases.md#2.2.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.findings.finding import Problem, Rule
from packwise.frontends.grove.rules.check import Check, Context, Scope, invalid, required
from packwise.frontends.grove.rules.constraints import (
    CLIQUE,
    DISABLED,
    DOMAIN_REQUIRED,
    GROUP,
    HIERARCHY,
    NOT_ALLOWED,
    NOT_FOUND,
    SET,
    UNKNOWN,
    ConstraintAt,
    constraints_at,
    disabled_message,
    not_narrower_message,
    parents_and_children,
    placed_domains,
    unknown_domain_message,
    unknown_domain_text,
)
from packwise.kubernetes.validation import TypedText, go_quote
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.revisions.revision import Revision

__all__ = ["PACK", "Named", "named_constraints"]

_REQUIRED = "topologyName is required when topologyConstraint is set and cannot be inherited"
_MATCH = "all topologyConstraint.topologyName values within a PodCliqueSet must match in the current implementation"
_NAME = "topologyName"
_NAME_FIELD = f"spec.template.topologyConstraint.{_NAME}"


class Named(NamedTuple):
    """What a constraint means: the topology `name`, None where it means none; `inherited`, what its parent means."""

    place: ConstraintAt
    inherited: str | None
    name: str | None


def named_constraints(pcs: PodCliqueSet, revision: Revision) -> Iterator[Named]:
    """Every constraint in the order in which the operator names them: the set's, the groups', the cliques'.

    A group inherits from the set, a clique from its group's constraint, else from the set's. One that misses its
    packDomain means no topology.
    """
    places = constraints_at(pcs)
    of_set = None
    by_clique: dict[str, str] = {}
    for place in _of_kind(places, SET):
        named = _named(place, None, revision)
        of_set = named.name
        yield named
    for place in _of_kind(places, GROUP):
        named = _named(place, of_set, revision)
        for member in pcs.groups[int(place.path[3])].clique_names if named.name is not None else ():
            by_clique.setdefault(member, named.name or "")
        yield named
    for place in _of_kind(places, CLIQUE):
        yield _named(place, by_clique.get(place.name or "", of_set), revision)


def _named(place: ConstraintAt, inherited: str | None, revision: Revision) -> Named:
    own = place.constraint.topology_name if place.constraint is not None else None
    name = own or inherited
    means = not _misses_domain(place, revision) and (inherited is None or name == inherited)
    return Named(place, inherited, name if means else None)


def _misses_domain(place: ConstraintAt, revision: Revision) -> bool:
    return revision.names_missing_domain and not place.domain


class _Packed(NamedTuple):
    """A workload with its constraints, TAS being enabled.

    `nameless` name another topology than they would inherit, or neither; `names` are those of all others, each once.
    `known` are the domains to choose from, in the topology's order; None while it is in doubt.
    """

    pcs: PodCliqueSet
    places: tuple[ConstraintAt, ...]
    nameless: tuple[Named, ...]
    names: tuple[str, ...]
    known: tuple[str, ...] | None

    @property
    def name(self) -> str:
        """The topology that is meant; "" while that is in doubt."""
        return self.names[0] if len(self.names) == 1 and not self.nameless else ""

    @property
    def are_known(self) -> bool:
        """Whether every domain is one of the known ones."""
        known = self.known
        return known is not None and all(domain in known for _, domain in placed_domains(self.pcs))


def _packed(pcs: PodCliqueSet, context: Context) -> tuple[_Packed, ...]:
    places = constraints_at(pcs)
    if not places or not context.enabled:
        return ()
    named = list(named_constraints(pcs, context.revision))
    nameless = tuple([constraint for constraint in named if constraint.name is None])
    names = tuple(dict.fromkeys([constraint.name for constraint in named if constraint.name is not None]))
    packed = _Packed(pcs, places, nameless, names, None)
    topology = context.topologies.get(packed.name)
    return (packed if topology is None else packed._replace(known=topology.domains),)


def _of_kind(places: tuple[ConstraintAt, ...], kind: str) -> list[ConstraintAt]:
    return [place for place in places if place.kind == kind]


def _disabled(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    for place in constraints_at(pcs) if not context.enabled else ():
        domains = list(place.constraint.domains) if place.constraint is not None else []
        value = (domains or None) if context.revision.deprecates_pack_domain else TypedText(place.domain)
        yield invalid(place.path, value, NOT_ALLOWED, disabled_message(list_known(domains)))


def _nameless(packed: _Packed, _context: Context) -> tuple[Named, ...]:
    return packed.nameless


def _domain_required(nameless: Named, context: Context) -> Iterator[Problem]:
    if _misses_domain(nameless.place, context.revision):
        text = "packDomain is required when topologyConstraint is set"
        yield required((*nameless.place.path, "packDomain"), text, "must name the domain to pack into")


def _name_required(nameless: Named, context: Context) -> Iterator[Problem]:
    if nameless.inherited is None and not _misses_domain(nameless.place, context.revision):
        known = sorted(context.topologies)
        message = f"must name a ClusterTopologyBinding, here or at a parent; known: {list_known(known)}"
        yield required((*nameless.place.path, _NAME), _REQUIRED, message)


def _name_inherited(nameless: Named, context: Context) -> Iterator[Problem]:
    place, inherited, _ = nameless
    if inherited is not None and place.constraint is not None and not _misses_domain(place, context.revision):
        name = place.constraint.topology_name
        message = f'must be "{inherited}", as its parent says; got "{name}"; remove it to inherit that'
        yield invalid((*place.path, _NAME), name, _MATCH, message)


def _one_name(packed: _Packed, _context: Context) -> Iterator[Problem]:
    if len(packed.names) < 2:
        return
    kinds = (SET, GROUP, CLIQUE)
    for place in sorted(packed.places, key=lambda place: kinds.index(place.kind)):
        name = place.constraint.topology_name if place.constraint is not None else None
        if name is not None:
            message = f'must be the same in the whole workload; got "{name}" among {list_known(packed.names)}'
            yield invalid((*place.path, _NAME), name, _MATCH, message)


def _exists(packed: _Packed, context: Context) -> Iterator[Problem]:
    name, known = packed.name, sorted(context.topologies)
    if not name or name in context.topologies:
        return
    # The place that names it, though the operator always names the set's own field.
    place = next(p for p in packed.places if p.constraint is not None and p.constraint.topology_name is not None)
    message = f'must name an existing ClusterTopologyBinding; got "{name}"; known: {list_known(known)}'
    text = f"ClusterTopologyBinding {go_quote(name)} not found"
    yield invalid((*place.path, _NAME), name, text, message + closest(name, known), field=_NAME_FIELD)


def _domain_known(packed: _Packed, context: Context) -> Iterator[Problem]:
    known = packed.known
    if known is None:
        return
    for path, domain in placed_domains(packed.pcs):
        if domain not in known:
            message = unknown_domain_message(domain, context.revision.topology_kind, packed.name, known)
            field = format_path(path if context.revision.deprecates_pack_domain else path[:-1])
            yield invalid(path, TypedText(domain), unknown_domain_text(domain, known), message, field=field)


def _hierarchy(packed: _Packed, _context: Context) -> Iterator[Problem]:
    if not packed.are_known or len(packed.places) < 2:
        return
    for parent, child in parents_and_children(packed.pcs, packed.places):
        yield from _not_narrower(parent, child, packed.known or ())


def _not_narrower(parent: ConstraintAt, child: ConstraintAt, levels: tuple[str, ...]) -> Iterator[Problem]:
    """Required domains against each other, and preferred ones: never one kind against the other."""
    above, below = parent.constraint, child.constraint
    if above is None or below is None:
        return
    required_at = ("pack", "required") if above.pack is not None and above.pack.required else ("packDomain",)
    for broad, narrow, steps, field in (
        (above.required, below.required, required_at, parent.field()),
        (above.preferred, below.preferred, ("pack", "preferred"), parent.field("pack", "preferred")),
    ):
        if broad and narrow and levels.index(broad) > levels.index(narrow):
            text = (
                f"{parent.owner_if_named} topology constraint domain '{broad}' is narrower than "
                f"{child.owner} topology constraint domain '{narrow}'"
            )
            message = not_narrower_message(broad, child, narrow)
            yield invalid((*parent.path, *steps), TypedText(broad), text, message, field=field)


def _redundant(packed: _Packed, _context: Context) -> Iterator[Problem]:
    for place in packed.places if packed.are_known else ():
        constraint, levels = place.constraint, packed.known or ()
        if constraint is None or not constraint.required or not constraint.preferred:
            continue
        if levels.index(constraint.preferred) < levels.index(constraint.required):
            message = (
                f'has no effect: "{constraint.preferred}" is broader than "{constraint.required}", which must hold a '
                "replica anyway; prefer a narrower domain, or remove it"
            )
            yield Problem((*place.path, "pack", "preferred"), message)


PACK = (
    Check(DISABLED, _disabled),
    Scope(_packed, (
        Scope(_nameless, (
            Check(DOMAIN_REQUIRED, _domain_required),
            Check(Rule("topology-name-required", "A constraint names its topology, or inherits one.",
                       "spec/grove.md#h01"), _name_required),
            Check(Rule("topology-name-inherited", "A constraint names no other topology than its parent.",
                       "spec/grove.md#h02"), _name_inherited),
        )),
        Check(Rule("topology-name-one", "All constraints of a workload mean one topology.",
                   "spec/grove.md#h03"), _one_name),
        Check(NOT_FOUND, _exists),
        Check(UNKNOWN, _domain_known),
        Check(HIERARCHY, _hierarchy),
        Check(Rule("pack-preferred-broader", "The preferred domain is narrower than the required one.",
                   "spec/grove.md#4.3", Severity.WARNING), _redundant),
    )),
)  # fmt: skip
"""Rules of a new PodCliqueSet's constraints; they come before all others."""
