"""The topology constraints of a PodCliqueSet with their paths, and the checks of the webhook in each revision.

Source: spec/grove.md#4, spec/grove-releases.md, spec/designs.md#6.

In revisions before packDomain is deprecated, a constraint has a required domain and no preferred one. In the texts of
the first two designs, no field precedes the error.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Problem, Rule
from packwise.frontends.grove.podcliqueset import TEMPLATE, chosen_topology, resolve_topology
from packwise.frontends.grove.rules.book import Check, Context, Scope, invalid_value, required_value
from packwise.kubernetes import TypedText, go_quote, refusal
from packwise.revisions.grove import ALPHA_9, GREP_244
from packwise.topology.known import ClusterTopology, is_narrower, rank
from packwise.wording import did_you_mean, list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.podcliqueset import PodCliqueSet, TopologyConstraint
    from packwise.revisions.grove import Revision

SET, CLIQUE, GROUP = "PodCliqueSet", "PodClique", "PodCliqueScalingGroup"

_GROUPS = "podCliqueScalingGroups"
_CONSTRAINT = "topologyConstraint"


DISABLED = Rule(
    "topology-disabled",
    "A constraint is set while topology-aware scheduling is disabled.",
    "spec/grove.md#r43",
)
NOT_FOUND = Rule("topology-not-found", "The topology of a workload does not exist.", "spec/designs.md#7.1")
DOMAIN_REQUIRED = Rule("topology-domain-required", "A constraint has no packDomain.", "spec/grove.md#4.3")
UNKNOWN = Rule(
    "topology-domain-unknown", "The domain of a constraint is not a level of its topology.", "spec/grove.md#r44"
)
HIERARCHY = Rule(
    "topology-hierarchy", "The domain of a child is broader than the domain of its parent.", "spec/grove.md#r45"
)

NOT_ALLOWED = "topology constraints are not allowed when Topology Aware Scheduling is disabled"
"""The operator's text for `DISABLED`."""


class ConstraintAt(Record):
    """A place that can have a constraint, and the constraint there or None.

    `kind` and `name` are kind and name of its owner. `name` is None for the PodCliqueSet itself.
    """

    path: FieldPath
    constraint: TopologyConstraint | None
    kind: str
    name: str | None = None

    @property
    def domain(self) -> str:
        """Return the packDomain, or ""."""
        return self.constraint.pack_domain if self.constraint is not None else ""

    @property
    def owner(self) -> str:
        """Return the kind and the name of the owner, in the form of the operator's texts."""
        return self.kind if self.name is None else f"{self.kind} '{self.name}'"

    @property
    def owner_if_named(self) -> str:
        """Return the kind and the name of the owner, or only its kind if its name is empty."""
        return self.owner if self.name else self.kind

    def field(self, *steps: str) -> str:
        """Return the path of a field of the constraint, as text."""
        return format_path((*self.path, *steps))

    def operator_field(self, revision: Revision) -> str:
        """Return the path as the operator's errors have it. Some revisions have another name for the list of groups."""
        if self.kind == GROUP:
            return f"spec.template.{revision.group_constraint_field}[{self.path[3]}].{_CONSTRAINT}"
        return format_path(self.path)


def constraint_places(pcs: PodCliqueSet) -> tuple[ConstraintAt, ...]:
    """Return every place that can have a constraint, in the operator's order: the set, the cliques, the groups."""
    return tuple(_places(pcs, with_empty=True))


def constraints_at(pcs: PodCliqueSet) -> tuple[ConstraintAt, ...]:
    """Return the places that have a constraint, in the operator's order."""
    return tuple(_places(pcs, with_empty=False))


def _places(pcs: PodCliqueSet, *, with_empty: bool) -> Iterator[ConstraintAt]:
    if with_empty or pcs.topology is not None:
        yield ConstraintAt((*TEMPLATE, _CONSTRAINT), pcs.topology, SET)
    for index, clique in enumerate(pcs.cliques):
        if with_empty or clique.topology is not None:
            yield ConstraintAt((*TEMPLATE, "cliques", index, _CONSTRAINT), clique.topology, CLIQUE, clique.name)
    for index, group in enumerate(pcs.groups):
        if with_empty or group.topology is not None:
            yield ConstraintAt((*TEMPLATE, _GROUPS, index, _CONSTRAINT), group.topology, GROUP, group.name)


def placed_domains(pcs: PodCliqueSet) -> Iterator[tuple[FieldPath, str]]:
    """Yield the path and the value of each domain. A constraint gives packDomain, then `required`, then `preferred`."""
    for place in constraints_at(pcs):
        constraint = place.constraint
        if constraint is None:
            continue
        pack = constraint.pack
        if constraint.pack_domain:
            yield (*place.path, "packDomain"), constraint.pack_domain
        if pack is not None and pack.required:
            yield (*place.path, "pack", "required"), pack.required
        if pack is not None and pack.preferred:
            yield (*place.path, "pack", "preferred"), pack.preferred


def parents_and_children(
    pcs: PodCliqueSet, constraints: Sequence[ConstraintAt]
) -> Iterator[tuple[ConstraintAt, ConstraintAt]]:
    """Yield pairs of constraints, parent and child, in the operator's order.

    First comes the constraint of the set, paired with each other constraint. Then comes the constraint of each group,
    paired with the constraint of each of its cliques. If two cliques have one name, the operator uses the first.
    """
    if constraints and constraints[0].kind == SET:
        for child in constraints[1:]:
            yield constraints[0], child
    by_path = {constraint.path: constraint for constraint in constraints}
    positions = {clique.name: index for index, clique in reversed(list(enumerate(pcs.cliques)))}
    for index, group in enumerate(pcs.groups):
        parent = by_path.get((*TEMPLATE, _GROUPS, index, _CONSTRAINT))
        for name in group.clique_names if parent is not None else ():
            child = by_path.get((*TEMPLATE, "cliques", positions.get(name, -1), _CONSTRAINT))
            if parent is not None and child is not None:
                yield parent, child


def disabled_message(value: str) -> str:
    """Return the message about a constraint while topology-aware scheduling is disabled. `value` is the constraint."""
    return (
        f"must not be set while topology-aware scheduling is disabled; got {value}; enable it or remove the constraint"
    )


def unknown_domain_message(domain: str, kind: str, name: str | None, known: Iterable[str]) -> str:
    """Return the message about a domain that the topology `name` does not have. `known` are its domains."""
    known = list(known)
    return f'must be a level of {kind} "{name}": {list_known(known)}; got "{domain}"{did_you_mean(domain, known)}'


def unknown_domain_text(domain: str, known: Iterable[str]) -> str:
    """Return the operator's text about an unknown domain."""
    return f"topology domain '{domain}' does not exist in cluster topology [{' '.join(known)}]"


def not_narrower_message(domain: str, child: ConstraintAt, below: str) -> str:
    """Return the message about a parent with a `domain` that is narrower than `below`, the domain of `child`."""
    return (
        f'"{domain}" is narrower than "{below}" of {child.kind} "{child.name}"; use a broader domain here, or a '
        f"narrower one in the {child.kind}"
    )


class _Constrained(Record):
    """A workload, its constraints, and the domains that they may name.

    `known` has the domains in the operator's order. It is None if topology-aware scheduling is disabled, or if the
    workload has no topology.
    """

    pcs: PodCliqueSet
    constraints: tuple[ConstraintAt, ...]
    known: tuple[str, ...] | None

    @property
    def unknown_domains(self) -> list[ConstraintAt]:
        """Return the constraints with a domain that is not in `known`."""
        known = self.known or ()
        return [constraint for constraint in self.constraints if constraint.domain not in known]

    def missing_domains(self, context: Context) -> list[ConstraintAt]:
        """Return the constraints without a domain. Return none if the revision has no separate error for them."""
        if not context.revision.names_missing_domain:
            return []
        return [constraint for constraint in self.constraints if not constraint.domain]


def _read_constraints(pcs: PodCliqueSet, context: Context) -> tuple[_Constrained, ...]:
    return (_Constrained(pcs, constraints_at(pcs), _known_domains(pcs, context)),)


def _domain_disabled(at: _Constrained, context: Context) -> Iterator[Problem]:
    if context.enabled:
        return
    chosen = chosen_topology(at.pcs, context.revision)
    if chosen is not None:
        message = (
            f'must not be set while topology-aware scheduling is disabled; got "{chosen}"; '
            "enable it or remove the field"
        )
        yield Problem(_name_path(context), message)
    for constraint in at.constraints:
        message = disabled_message(f'packDomain "{constraint.domain}"')
        field = constraint.operator_field(context.revision)
        yield invalid_value(constraint.path, TypedText(constraint.domain), NOT_ALLOWED, message, field=field)


def _name_path(context: Context) -> FieldPath:
    return (*TEMPLATE, context.revision.topology_name_field or "")


def _topology_exists(at: _Constrained, context: Context) -> Iterator[Problem]:
    if not context.enabled or not context.revision.chooses_topology:
        return
    name = resolve_topology(at.pcs, context.revision)
    if name is None or name in context.topologies:
        return
    known = sorted(context.topologies)
    chosen = chosen_topology(at.pcs, context.revision)
    subject = f'got "{name}"' if chosen else f'the default, "{name}", does not exist'
    message = f"must name an existing ClusterTopology; {subject}; known: {list_known(known)}{did_you_mean(name, known)}"
    yield invalid_value(_name_path(context), name, f'ClusterTopology "{name}" not found', message)


def _name_needs_constraint(at: _Constrained, context: Context) -> Iterator[Problem]:
    if not context.enabled or at.pcs.is_constrained:
        return
    chosen = chosen_topology(at.pcs, context.revision)
    if chosen is not None:
        message = (
            f'"{chosen}" has no effect: no set, scaling group or clique has a topologyConstraint; add one, or '
            "remove the field"
        )
        yield Problem(_name_path(context), message)


def _pack_domain_required(at: _Constrained, context: Context) -> Iterator[Problem]:
    if at.known is None:
        return
    for constraint in at.missing_domains(context):
        text = "packDomain is required when topologyConstraint is set"
        field = f"{constraint.operator_field(context.revision)}.packDomain"
        yield required_value((*constraint.path, "packDomain"), text, "must name the domain to pack into", field=field)


def _known_domains(pcs: PodCliqueSet, context: Context) -> tuple[str, ...] | None:
    """Return the domains that constraints may name, in the operator's order.

    Return None if topology-aware scheduling is disabled, or if the workload has no topology.
    """
    if not context.enabled:
        return None
    if not context.revision.chooses_topology:
        return context.domains
    name = resolve_topology(pcs, context.revision)
    topology = context.topologies.get(name) if name is not None else None
    if topology is None:
        return None
    return tuple(sorted(topology.domains, key=rank)) if context.revision.fixed_domain_order else topology.domains


def _pack_domain_known(at: _Constrained, context: Context) -> Iterator[Problem]:
    known = at.known
    if known is None or at.missing_domains(context):
        return
    for constraint in at.unknown_domains:
        domain, name = constraint.domain, resolve_topology(at.pcs, context.revision)
        message = unknown_domain_message(domain, context.revision.topology_kind, name, known)
        path, text = (*constraint.path, "packDomain"), unknown_domain_text(domain, known)
        yield invalid_value(path, TypedText(domain), text, message, field=constraint.operator_field(context.revision))


def _domain_hierarchy(at: _Constrained, context: Context) -> Iterator[Problem]:
    if at.known is None or len(at.constraints) < 2 or at.unknown_domains:
        return
    for parent, child in parents_and_children(at.pcs, at.constraints):
        if is_narrower(parent.domain, child.domain):
            text = (
                f"{parent.owner} topology constraint domain '{parent.domain}' is narrower than "
                f"{child.owner} topology constraint domain '{child.domain}'"
            )
            message = not_narrower_message(parent.domain, child, child.domain)
            path, field = (*parent.path, "packDomain"), parent.operator_field(context.revision)
            yield invalid_value(path, TypedText(parent.domain), text, message, field=field)


TOPOLOGY = (Scope(_read_constraints, (
    Check(DISABLED, _domain_disabled),
    Check(NOT_FOUND, _topology_exists),
    Check(Rule("topology-name-unused", "clusterTopologyName is set, but no constraint uses it.", "spec/designs.md#7.3"),
          _name_needs_constraint),
    Check(DOMAIN_REQUIRED, _pack_domain_required),
    Check(UNKNOWN, _pack_domain_known),
    Check(HIERARCHY, _domain_hierarchy),
), since=GREP_244, until=ALPHA_9),)  # fmt: skip
"""Checks of constraints in revisions with packDomain and a topology name outside the constraint."""


_REQUIRED = "topologyName is required when topologyConstraint is set and cannot be inherited"
_MATCH = "all topologyConstraint.topologyName values within a PodCliqueSet must match in the current implementation"
_NAME = "topologyName"
_NAME_FIELD = f"spec.template.topologyConstraint.{_NAME}"


class NamedTopology(Record):
    """The topology of a constraint. `inherited` is the name that the parent has, or None.

    `name` is the name that counts. It is None if there is no name, or if it differs from `inherited`.
    """

    place: ConstraintAt
    inherited: str | None
    name: str | None


def named_constraints(pcs: PodCliqueSet, revision: Revision) -> Iterator[NamedTopology]:
    """Yield the topology of every constraint, in the order in which the operator reads names.

    This order is the set, the groups, the cliques. A group inherits the name of the set. A clique inherits the name of
    its group, or else of the set. If a constraint lacks a required packDomain, it names no topology.
    """
    places = constraints_at(pcs)
    of_set = None
    by_clique: dict[str, str] = {}
    for place in _places_of_kind(places, SET):
        named = _resolve_name(place, None, revision)
        of_set = named.name
        yield named
    for place in _places_of_kind(places, GROUP):
        named = _resolve_name(place, of_set, revision)
        for member in pcs.groups[int(place.path[3])].clique_names if named.name is not None else ():
            by_clique.setdefault(member, named.name or "")
        yield named
    for place in _places_of_kind(places, CLIQUE):
        yield _resolve_name(place, by_clique.get(place.name or "", of_set), revision)


def _resolve_name(place: ConstraintAt, inherited: str | None, revision: Revision) -> NamedTopology:
    own = place.constraint.topology_name if place.constraint is not None else None
    name = own or inherited
    means = not _misses_domain(place, revision) and (inherited is None or name == inherited)
    return NamedTopology(place, inherited, name if means else None)


def _misses_domain(place: ConstraintAt, revision: Revision) -> bool:
    return revision.names_missing_domain and not place.domain


class _Packed(Record):
    """A workload and its constraints, while topology-aware scheduling is enabled."""

    pcs: PodCliqueSet
    places: tuple[ConstraintAt, ...]
    nameless: tuple[NamedTopology, ...]
    """The constraints without a valid name: they name no topology, or another one than they inherit."""
    names: tuple[str, ...]
    """The names of the other constraints, without duplicates."""
    known: tuple[str, ...] | None
    """The domains of the topology, in its order. None if there is not exactly one name, or if it is unknown."""

    @property
    def name(self) -> str:
        """Return the name of the topology. Return "" if the constraints do not name exactly one."""
        return self.names[0] if len(self.names) == 1 and not self.nameless else ""

    @property
    def are_known(self) -> bool:
        """Return True if the topology has every domain that a constraint names."""
        known = self.known
        return known is not None and all(domain in known for _, domain in placed_domains(self.pcs))


def _read_packs(pcs: PodCliqueSet, context: Context) -> tuple[_Packed, ...]:
    places = constraints_at(pcs)
    if not places or not context.enabled:
        return ()
    named = list(named_constraints(pcs, context.revision))
    nameless = tuple(constraint for constraint in named if constraint.name is None)
    names = tuple(dict.fromkeys([constraint.name for constraint in named if constraint.name is not None]))
    packed = _Packed(pcs, places, nameless, names, None)
    topology = context.topologies.get(packed.name)
    return (packed if topology is None else packed.replace(known=topology.domains),)


def _places_of_kind(places: tuple[ConstraintAt, ...], kind: str) -> list[ConstraintAt]:
    return [place for place in places if place.kind == kind]


def _forbidden_while_disabled(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    for place in constraints_at(pcs) if not context.enabled else ():
        domains = list(place.constraint.domains) if place.constraint is not None else []
        value = (domains or None) if context.revision.deprecates_pack_domain else TypedText(place.domain)
        yield invalid_value(place.path, value, NOT_ALLOWED, disabled_message(list_known(domains)))


def _nameless_constraints(packed: _Packed, _context: Context) -> tuple[NamedTopology, ...]:
    return packed.nameless


def _domain_required(nameless: NamedTopology, context: Context) -> Iterator[Problem]:
    if _misses_domain(nameless.place, context.revision):
        text = "packDomain is required when topologyConstraint is set"
        yield required_value((*nameless.place.path, "packDomain"), text, "must name the domain to pack into")


def _name_required(nameless: NamedTopology, context: Context) -> Iterator[Problem]:
    if nameless.inherited is None and not _misses_domain(nameless.place, context.revision):
        known = sorted(context.topologies)
        message = f"no ClusterTopologyBinding is named here or in a parent; known: {list_known(known)}"
        yield required_value((*nameless.place.path, _NAME), _REQUIRED, message)


def _name_inherited(nameless: NamedTopology, context: Context) -> Iterator[Problem]:
    place, inherited = nameless.place, nameless.inherited
    if inherited is not None and place.constraint is not None and not _misses_domain(place, context.revision):
        name = place.constraint.topology_name
        message = f'"{name}" differs from the parent\'s "{inherited}"; remove the field to inherit it'
        yield invalid_value((*place.path, _NAME), name, _MATCH, message)


def _one_name(packed: _Packed, _context: Context) -> Iterator[Problem]:
    if len(packed.names) < 2:
        return
    kinds = (SET, GROUP, CLIQUE)
    for place in sorted(packed.places, key=lambda place: kinds.index(place.kind)):
        name = place.constraint.topology_name if place.constraint is not None else None
        if name is not None:
            message = f"the workload names different topologies: {list_known(packed.names)}"
            yield invalid_value((*place.path, _NAME), name, _MATCH, message)


def _exists(packed: _Packed, context: Context) -> Iterator[Problem]:
    name, known = packed.name, sorted(context.topologies)
    if not name or name in context.topologies:
        return
    # Report the place that names the topology. The operator's text always has the field of the set.
    place = next(p for p in packed.places if p.constraint is not None and p.constraint.topology_name is not None)
    message = f'must name an existing ClusterTopologyBinding; got "{name}"; known: {list_known(known)}'
    text = f"ClusterTopologyBinding {go_quote(name)} not found"
    yield invalid_value((*place.path, _NAME), name, text, message + did_you_mean(name, known), field=_NAME_FIELD)


def _domain_known(packed: _Packed, context: Context) -> Iterator[Problem]:
    known = packed.known
    if known is None:
        return
    for path, domain in placed_domains(packed.pcs):
        if domain not in known:
            message = unknown_domain_message(domain, context.revision.topology_kind, packed.name, known)
            field = format_path(path if context.revision.deprecates_pack_domain else path[:-1])
            yield invalid_value(path, TypedText(domain), unknown_domain_text(domain, known), message, field=field)


def _hierarchy(packed: _Packed, _context: Context) -> Iterator[Problem]:
    if not packed.are_known or len(packed.places) < 2:
        return
    for parent, child in parents_and_children(packed.pcs, packed.places):
        yield from _not_narrower(parent, child, packed.known or ())


def _not_narrower(parent: ConstraintAt, child: ConstraintAt, levels: tuple[str, ...]) -> Iterator[Problem]:
    """Yield a problem if the required domain of the child is broader than the required domain of the parent.

    The preferred domains are compared in the same way.
    """
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
            yield invalid_value((*parent.path, *steps), TypedText(broad), text, message, field=field)


def _redundant_levels(packed: _Packed, _context: Context) -> Iterator[Problem]:
    for place in packed.places if packed.are_known else ():
        constraint, levels = place.constraint, packed.known or ()
        if constraint is None or not constraint.required or not constraint.preferred:
            continue
        if levels.index(constraint.preferred) < levels.index(constraint.required):
            message = (
                f'"{constraint.preferred}" has no effect: it is broader than the required "{constraint.required}"; '
                "prefer a narrower domain, or remove the field"
            )
            yield Problem((*place.path, "pack", "preferred"), message)


PACK = (
    Check(DISABLED, _forbidden_while_disabled, since=ALPHA_9),
    Scope(_read_packs, (
        Scope(_nameless_constraints, (
            Check(DOMAIN_REQUIRED, _domain_required),
            Check(Rule("topology-name-required", "A constraint names no topology, and no parent names one.",
                       "spec/grove.md#h01"), _name_required),
            Check(Rule("topology-name-inherited", "A constraint names another topology than its parent.",
                       "spec/grove.md#h02"), _name_inherited),
        )),
        Check(Rule("topology-name-one", "The constraints of a workload name different topologies.",
                   "spec/grove.md#h03"), _one_name),
        Check(NOT_FOUND, _exists),
        Check(UNKNOWN, _domain_known),
        Check(HIERARCHY, _hierarchy),
        Check(Rule("pack-preferred-broader", "The preferred domain is not narrower than the required one.",
                   "spec/grove.md#4.3.1", Severity.WARNING), _redundant_levels),
    ), since=ALPHA_9),
)  # fmt: skip
"""Checks of constraints in revisions in which a constraint names its topology."""


class _DesignConstraints(Record):
    """A workload, its constraints, and its topology.

    `topology` is None while topology-aware scheduling is disabled, or if the workload has no topology.
    """

    pcs: PodCliqueSet
    constraints: tuple[ConstraintAt, ...]
    topology: ClusterTopology | None


def _design_constraints(pcs: PodCliqueSet, context: Context) -> tuple[_DesignConstraints, ...]:
    name = resolve_topology(pcs, context.revision)
    # In the designs, the domain is optional, so a constraint without a domain has no effect.
    constraints = tuple(constraint for constraint in constraints_at(pcs) if constraint.domain)
    topology = context.topologies.get(name, ClusterTopology(name, ())) if context.enabled and name else None
    return (_DesignConstraints(pcs, constraints, topology),)


def _design_disabled(at: _DesignConstraints, _context: Context) -> Iterator[Problem]:
    for constraint in at.constraints if at.topology is None else ():
        message = disabled_message(f'"{constraint.domain}"')
        yield _refusal(constraint, message, "topology support is not enabled in the operator")


def _design_domain_known(at: _DesignConstraints, context: Context) -> Iterator[Problem]:
    if at.topology is None:
        return
    name, known = at.topology.name, at.topology.domains
    for constraint in at.constraints:
        if constraint.domain not in known:
            message = unknown_domain_message(constraint.domain, context.revision.topology_kind, name, known)
            text = f"topology level '{constraint.domain}' not defined in ClusterTopology '{name}'"
            yield _refusal(constraint, message, text)


def _design_hierarchy(at: _DesignConstraints, _context: Context) -> Iterator[Problem]:
    if at.topology is None:
        return
    domains = at.topology.domains
    for child, parent in _pairs(at):
        if child.domain not in domains or parent.domain not in domains:
            continue
        if domains.index(child.domain) < domains.index(parent.domain):
            message = (
                f'"{child.domain}" is broader than "{parent.domain}" of {parent.owner}; the levels, from the broadest '
                f"to the narrowest, are {list_known(domains)}"
            )
            text = (
                f"child topology constraint '{child.domain}' must be equal to or stricter than parent constraint "
                f"'{parent.domain}'"
            )
            yield _refusal(child, message, text)


def _pairs(at: _DesignConstraints) -> Iterator[tuple[ConstraintAt, ConstraintAt]]:
    """Yield pairs of constraints, child and parent.

    The parent of a group is the set. The parent of a clique is its group, or the set if the group has no constraint.
    """
    by_path = {constraint.path: constraint for constraint in at.constraints}
    whole = by_path.get((*TEMPLATE, "topologyConstraint"))
    groups = [
        (group, by_path.get((*TEMPLATE, "podCliqueScalingGroups", index, "topologyConstraint")))
        for index, group in enumerate(at.pcs.groups)
    ]
    for _, child in groups:
        if child is not None and whole is not None:
            yield child, whole
    for index, clique in enumerate(at.pcs.cliques):
        child = by_path.get((*TEMPLATE, "cliques", index, "topologyConstraint"))
        parent = next((above for group, above in groups if above and clique.name in group.clique_names), whole)
        if child is not None and parent is not None:
            yield child, parent


def _refusal(constraint: ConstraintAt, message: str, text: str) -> Problem:
    return refusal((*constraint.path, "packDomain"), message, text)


CONSTRAINTS = (
    Scope(_design_constraints, (
        Check(DISABLED, _design_disabled),
        Check(UNKNOWN, _design_domain_known),
        Check(HIERARCHY, _design_hierarchy),
    ), until=GREP_244),
    *TOPOLOGY,
    *PACK,
)  # fmt: skip
"""Checks of the constraints of a new PodCliqueSet, or of an update that may change them. They run before all others."""
