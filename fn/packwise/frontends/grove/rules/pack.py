"""Topology constraints of a new PodCliqueSet where each may name its topology, require and prefer a domain.

Source: operator.md 4.3 (H).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from packwise.finding import Severity
from packwise.frontends.grove.rules.places import ConstraintAt, constraint_places, placed_domains
from packwise.frontends.grove.rules.rule import Context, Rule, Scope, Violation, invalid, required
from packwise.kubernetes.field_error import TypedText, go_quote
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["PACK", "Named", "named_constraints"]

_DISABLED = "topology constraints are not allowed when Topology Aware Scheduling is disabled"
_REQUIRED = "topologyName is required when topologyConstraint is set and cannot be inherited"
_MATCH = "all topologyConstraint.topologyName values within a PodCliqueSet must match in the current implementation"
_NAME = "topologyName"
_NAME_FIELD = f"spec.template.topologyConstraint.{_NAME}"


class Named(NamedTuple):
    """What a constraint means: the topology `name`, None where it means none; `inherited`, what its parent means."""

    place: ConstraintAt
    inherited: str | None
    name: str | None


def named_constraints(pcs: PodCliqueSet) -> Iterator[Named]:
    """Every constraint in the order in which the operator names them: the set's, the groups', the cliques'.

    A group inherits from the set, a clique from its group's constraint, else from the set's.
    """
    places = tuple([place for place in constraint_places(pcs) if place.constraint is not None])
    of_set = None
    by_clique: dict[str, str] = {}
    for place in _of_kind(places, "PodCliqueSet"):
        named = _named(place, None)
        of_set = named.name
        yield named
    for place in _of_kind(places, "PodCliqueScalingGroup"):
        named = _named(place, of_set)
        for member in pcs.groups[int(place.path[3])].clique_names if named.name is not None else ():
            by_clique.setdefault(member, named.name or "")
        yield named
    for place in _of_kind(places, "PodClique"):
        yield _named(place, by_clique.get(place.name, of_set))


def _named(place: ConstraintAt, inherited: str | None) -> Named:
    own = place.constraint.topology_name if place.constraint is not None else None
    name = own or inherited
    return Named(place, inherited, name if inherited is None or name == inherited else None)


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
    places = tuple([place for place in constraint_places(pcs) if place.constraint is not None])
    if not places or not context.enabled:
        return ()
    named = list(named_constraints(pcs))
    nameless = tuple([one for one in named if one.name is None])
    names = tuple(dict.fromkeys([one.name for one in named if one.name is not None]))
    packed = _Packed(pcs, places, nameless, names, None)
    topology = context.topologies.get(packed.name)
    return (packed if topology is None else packed._replace(known=topology.domains),)


def _of_kind(places: tuple[ConstraintAt, ...], kind: str) -> list[ConstraintAt]:
    return [place for place in places if place.kind == kind]


def _disabled(pcs: PodCliqueSet, context: Context) -> Iterator[Violation]:
    for place in constraint_places(pcs) if not context.enabled else ():
        if place.constraint is not None:
            domains = list(place.constraint.domains)
            message = (
                f"must not be set while topology-aware scheduling is disabled; got {list_known(domains)}; "
                "enable it or remove the constraint"
            )
            yield invalid(place.path, domains or None, _DISABLED, message)


def _nameless(packed: _Packed, _context: Context) -> tuple[Named, ...]:
    return packed.nameless


def _name_given(nameless: Named, context: Context) -> Iterator[Violation]:
    if nameless.inherited is None:
        known = sorted(context.topologies)
        message = f"must name a ClusterTopologyBinding, here or at a parent; known: {list_known(known)}"
        yield required((*nameless.place.path, _NAME), _REQUIRED, message)


def _name_inherited(nameless: Named, _context: Context) -> Iterator[Violation]:
    place, inherited, _ = nameless
    if inherited is not None and place.constraint is not None:
        name = place.constraint.topology_name
        message = f'must be "{inherited}", as its parent says; got "{name}"; remove it to inherit that'
        yield invalid((*place.path, _NAME), name, _MATCH, message)


def _one_name(packed: _Packed, _context: Context) -> Iterator[Violation]:
    if len(packed.names) < 2:
        return
    kinds = ("PodCliqueSet", "PodCliqueScalingGroup", "PodClique")
    for place in sorted(packed.places, key=lambda place: kinds.index(place.kind)):
        name = place.constraint.topology_name if place.constraint is not None else None
        if name is not None:
            message = f'must be the same in the whole workload; got "{name}" among {list_known(packed.names)}'
            yield invalid((*place.path, _NAME), name, _MATCH, message)


def _exists(packed: _Packed, context: Context) -> Iterator[Violation]:
    name, known = packed.name, sorted(context.topologies)
    if not name or name in context.topologies:
        return
    # Where it is said, though the operator always names the set's own field.
    place = next(p for p in packed.places if p.constraint is not None and p.constraint.topology_name is not None)
    message = f'must name an existing ClusterTopologyBinding; got "{name}"; known: {list_known(known)}'
    text = f"ClusterTopologyBinding {go_quote(name)} not found"
    yield invalid((*place.path, _NAME), name, text, message + closest(name, known), field=_NAME_FIELD)


def _domain_exists(packed: _Packed, _context: Context) -> Iterator[Violation]:
    known = packed.known
    if known is None:
        return
    for path, domain in placed_domains(packed.pcs):
        if domain not in known:
            text = f"topology domain '{domain}' does not exist in cluster topology [{' '.join(known)}]"
            message = (
                f'must be a level of ClusterTopologyBinding "{packed.name}": {list_known(known)}; '
                f'got "{domain}"{closest(domain, known)}'
            )
            yield invalid(path, TypedText(domain), text, message)


def _hierarchy(packed: _Packed, _context: Context) -> Iterator[Violation]:
    if not packed.are_known or len(packed.places) < 2:
        return
    pcs, levels = packed.pcs, packed.known or ()
    own = _of_kind(packed.places, "PodCliqueSet")
    groups = {int(place.path[3]): place for place in _of_kind(packed.places, "PodCliqueScalingGroup")}
    for child in packed.places[1:] if own else ():
        yield from _not_narrower(own[0], child, levels)
    # Of two cliques of one name the operator finds the first.
    first = {clique.name: index for index, clique in reversed(list(enumerate(pcs.cliques)))}
    cliques = {int(place.path[3]): place for place in _of_kind(packed.places, "PodClique")}
    for index, group in groups.items():
        for name in pcs.groups[index].clique_names:
            child = cliques.get(first.get(name, -1))
            if child is not None:
                yield from _not_narrower(group, child, levels)


def _not_narrower(parent: ConstraintAt, child: ConstraintAt, levels: tuple[str, ...]) -> Iterator[Violation]:
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
                f"{parent.owner} topology constraint domain '{broad}' is narrower than "
                f"{child.kind} '{child.name}' topology constraint domain '{narrow}'"
            )
            message = (
                f'must be as broad as "{narrow}" of {child.kind} "{child.name}" or broader; got "{broad}"; '
                "widen it here or narrow it there"
            )
            yield invalid((*parent.path, *steps), TypedText(broad), text, message, field=field)


def _redundant(packed: _Packed, _context: Context) -> Iterator[Violation]:
    for place in packed.places if packed.are_known else ():
        constraint, levels = place.constraint, packed.known or ()
        if constraint is None or not constraint.required or not constraint.preferred:
            continue
        if levels.index(constraint.preferred) < levels.index(constraint.required):
            message = (
                f'has no effect: "{constraint.preferred}" is broader than "{constraint.required}", which must hold a '
                "replica anyway; prefer a narrower domain, or remove it"
            )
            yield Violation((*place.path, "pack", "preferred"), message)


_H = "operator.md 4.3, H"

PACK = (
    Rule("topology-disabled", "Constraints need topology-aware scheduling enabled.", "operator.md R43", _disabled),
    Scope(_packed, (
        Scope(_nameless, (
            Rule("topology-name-required", "A constraint names its topology, or inherits one.", f"{_H} H01",
                 _name_given),
            Rule("topology-name-inherited", "A constraint names no other topology than its parent.", f"{_H} H02",
                 _name_inherited),
        )),
        Rule("topology-name-one", "All constraints of a workload mean one topology.", f"{_H} H03", _one_name),
        Rule("topology-not-found", "The workload's topology exists.", f"{_H} H04", _exists),
        Rule("topology-domain-unknown", "A constraint's domain is a level of its topology.", "operator.md R44",
             _domain_exists),
        Rule("topology-hierarchy", "A parent's domain is as broad as its children's.", "operator.md R45", _hierarchy),
        Rule("pack-preferred-broader", "The preferred domain is narrower than the required one.", _H, _redundant,
             Severity.WARNING),
    )),
)  # fmt: skip
"""Rules of a new PodCliqueSet's constraints; they come before all others."""
