"""The problems that KAI finds in a PodGroup: by its CRD, by its webhook and by its scheduler.

Source: spec/kai.md#2, #3, spec/podgrouper.md#9, crds/kai-v0.12.0 to v0.17.0.
"""

from __future__ import annotations

import re

from krmfn.fieldpath import FieldPath, describe, format_path
from krmfn.hints import TYPE_CHECKING, Record
from packwise.findings import Effect, Problem, Stage
from packwise.kubernetes import ErrorType, OperatorError, go_quote, json_type, type_error
from packwise.lenient import entries, integer, mapping_at, mappings, mappings_by_place, text_at
from packwise.objects.index import identity, is_placeholder
from packwise.objects.kinds import PODGROUP, TOPOLOGY
from packwise.revisions.kai import KNOWN, LEVEL_ALIASES, SUBGROUP_COUNTS, Versions, minor_of
from packwise.schedulers.kai.allocate.scene import KaiTopology, LevelConstraint
from packwise.schedulers.kai.allocate.state import ROOT, SilentMistake, depth_of, levels_of, no_such_topology
from packwise.wording import did_you_mean, list_known, near_miss

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.value import Value
    from packwise.objects.index import Generated
    from packwise.schedulers import SchedulerInput

_OLD, _NEW = Versions(KNOWN.oldest, SUBGROUP_COUNTS - 1), Versions(SUBGROUP_COUNTS, KNOWN.newest)

_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_NAMES = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


class _FieldRule(Record):
    """The rule of a field. `type` is its JSON type, and `known` are the versions of KAI that have the field.

    `minimum` pairs ranges of versions with the smallest allowed value. `choices` are the allowed values, or () if
    every value is allowed.
    """

    type: str
    known: Versions = KNOWN
    minimum: tuple[tuple[Versions, int], ...] = ()
    choices: tuple[str, ...] = ()
    is_dns_label: bool = False
    """True if the value must be a DNS label from v0.15 on."""


_NEWEST = Versions(17, KNOWN.newest)

_SPEC: Mapping[str, _FieldRule] = {
    "backoffLimit": _FieldRule("integer", _OLD),
    "completions": _FieldRule("integer", _OLD),
    "markUnschedulable": _FieldRule("boolean"),
    "minMember": _FieldRule("integer", minimum=((KNOWN, 1),)),
    "minSubGroup": _FieldRule("integer", _NEW, ((_NEW, 1),)),
    "parallelism": _FieldRule("integer", _OLD),
    "preemptibility": _FieldRule("string", choices=("preemptible", "non-preemptible")),
    "preemptionDelay": _FieldRule("string", _NEWEST),
    "priorityClassName": _FieldRule("string"),
    "queue": _FieldRule("string"),
    "schedulingBackoff": _FieldRule("integer"),
    "stalenessGracePeriod": _FieldRule("string", _NEWEST),
    "subGroups": _FieldRule("array"),
    "topologyConstraint": _FieldRule("object"),
}
_SUBGROUP: Mapping[str, _FieldRule] = {
    "minMember": _FieldRule("integer", minimum=((_OLD, 1), (_NEW, 0))),
    "minSubGroup": _FieldRule("integer", _NEW, ((_NEW, 0),)),
    "name": _FieldRule("string", is_dns_label=True),
    "parent": _FieldRule("string", is_dns_label=True),
    "topologyConstraint": _FieldRule("object"),
}
_CONSTRAINT: Mapping[str, _FieldRule] = {
    "preferredTopologyLevel": _FieldRule("string"),
    "requiredTopologyLevel": _FieldRule("string"),
    "topology": _FieldRule("string"),
}


def refusal(
    path: FieldPath, message: str, versions: Versions, operator: str | None = None, *, stage: Stage = Stage.SCHEMA
) -> Problem:
    """Return a problem for which the `versions` of KAI refuse the object. `operator` is KAI's text."""
    return Problem(path, message, operator, stage, consequence=f"{versions.text} refuses it")


def schema_problems(value: Mapping[str, Value], supported: Versions) -> Iterator[Problem]:
    """Yield the violations of KAI's CRDs in the PodGroup `value`, in the order of its fields.

    Only the CRDs of the `supported` versions count.
    """
    spec = value.get("spec")
    if spec is None:
        return
    if not isinstance(spec, dict):
        yield _wrong_type(("spec",), spec, "object", KNOWN)
        return
    yield from _mapping(("spec",), spec, _SPEC, supported)
    yield from _constraint_errors(("spec",), spec, supported)
    for index, group in enumerate(entries(spec.get("subGroups"))):
        path = ("spec", "subGroups", index)
        if not isinstance(group, dict):
            yield _wrong_type(path, group, "object", KNOWN)
            continue
        if group.get("name") is None:
            text = OperatorError(format_path((*path, "name")), ErrorType.REQUIRED).text()
            yield refusal((*path, "name"), "must be set", KNOWN, text)
        yield from _mapping(path, group, _SUBGROUP, supported)
        yield from _constraint_errors(path, group, supported)


def _constraint_errors(path: FieldPath, holder: Mapping[str, Value], supported: Versions) -> Iterator[Problem]:
    constraint = holder.get("topologyConstraint")
    if isinstance(constraint, dict):
        yield from _mapping((*path, "topologyConstraint"), constraint, _CONSTRAINT, supported)


def _mapping(
    path: FieldPath, mapping: Mapping[str, Value], fields: Mapping[str, _FieldRule], supported: Versions
) -> Iterator[Problem]:
    for name, value in mapping.items():
        field, at = fields.get(name), (*path, name)
        if field is None:
            message = f"unknown field{did_you_mean(name, fields)}; known: {list_known(sorted(fields))}"
            yield Problem(at, message, effect=Effect.UNKNOWN, consequence=f"{KNOWN.text} drops it")
            continue
        for unknown in _unknown_versions(field.known, supported):
            consequence = f"{unknown.text} drops it"
            yield Problem(
                at, f"the field exists only in {field.known.text}", effect=Effect.UNKNOWN, consequence=consequence
            )
        # The API server drops a field with the value null.
        if value is not None and supported.intersection(field.known) is not None:
            yield from _value(at, value, field, supported)


def _unknown_versions(known: Versions, supported: Versions) -> Iterator[Versions]:
    """Yield the supported versions that are older than `known`, then the ones that are newer."""
    before = supported.intersection(Versions(KNOWN.oldest, known.oldest - 1))
    after = supported.intersection(Versions(known.newest + 1, KNOWN.newest))
    yield from [versions for versions in (before, after) if versions is not None]


def _value(at: FieldPath, value: Value, field: _FieldRule, supported: Versions) -> Iterator[Problem]:
    if _type_of(value) != field.type:
        yield _wrong_type(at, value, field.type, field.known)
        return
    text = format_path(at)
    for versions, least in field.minimum:
        if supported.intersection(versions) is not None and isinstance(value, int) and value < least:
            detail = f"{text} in body should be greater than or equal to {least}"
            error = OperatorError(text, ErrorType.INVALID, value, detail).text()
            yield refusal(at, f"must be at least {least}; got {value}", versions, error)
    if field.choices and value not in field.choices:
        detail = f"supported values: {', '.join([go_quote(name) for name in field.choices])}"
        error = OperatorError(text, ErrorType.NOT_SUPPORTED, value, detail).text()
        near = did_you_mean(str(value), field.choices)
        message = f"must be one of {list_known(field.choices)}; got {describe(value)}{near}"
        yield refusal(at, message, field.known, error)
    if field.is_dns_label:
        yield from _label(at, str(value), supported)


def _label(at: FieldPath, value: str, supported: Versions) -> Iterator[Problem]:
    text = format_path(at)
    if not value and at[-1] == "name":
        error = OperatorError(text, ErrorType.INVALID, value, f"{text} in body should be at least 1 chars long").text()
        yield refusal(at, "must not be empty", KNOWN, error)
    elif supported.intersection(_NEW) is not None and not _NAMES.fullmatch(value):
        detail = f"{text} in body should match '{_NAME}'"
        message = (
            f"must be lower-case letters, digits and dashes, with a letter or digit at both ends; got {describe(value)}"
        )
        yield refusal(at, message, _NEW, OperatorError(text, ErrorType.INVALID, value, detail).text())


def _wrong_type(at: FieldPath, value: Value, wanted: str, versions: Versions) -> Problem:
    message, error = type_error(format_path(at), value, wanted, _type_of(value))
    return refusal(at, message, versions, error.text())


def _type_of(value: Value) -> str:
    """Return the JSON type. A whole number is an integer in any notation."""
    return "integer" if isinstance(value, float) and value.is_integer() else json_type(value)


class SubGroupNode(Record):
    """A subgroup at `path`, as the webhook reads it. A value of a wrong type counts as absent."""

    path: FieldPath
    name: str
    parent: str | None
    min_member: int | None
    min_sub_group: int | None
    constraint: Value


class SubGroupTree(Record):
    """The subgroups in their order, and the number of children by name of the parent. Roots have the parent None."""

    nodes: tuple[SubGroupNode, ...]
    children: Mapping[str | None, int]

    @classmethod
    def read(cls, spec: Mapping[str, Value]) -> SubGroupTree:
        """Read the subgroups of `spec`. Entries that are not mappings are skipped."""
        nodes = tuple(
            _node(("spec", "subGroups", index), entry) for index, entry in mappings_by_place(spec.get("subGroups"))
        )
        children: dict[str | None, int] = {}
        for node in nodes:
            children[node.parent] = children.get(node.parent, 0) + 1
        return cls(nodes, children)

    def is_leaf(self, node: SubGroupNode) -> bool:
        """Return True if the subgroup has no children, and so holds pods."""
        return node.name not in self.children


def tree_problems(
    spec: Mapping[str, Value], tree: SubGroupTree, supported: Versions, *, update: bool
) -> Iterator[Problem]:
    """Yield the problems that KAI's webhook finds in a PodGroup. `update` is true if the PodGroup exists already.

    If the webhook finds a problem of the structure, it reports only the first one. The other problems then have no text
    of KAI.
    """
    new = supported.intersection(_NEW) is not None
    graph = list(_graph(tree))
    structural = [*_root(spec), *graph, *_exclusive_minimums(tree)] if new else graph
    # If the subgroups form no tree, the rules about leaves and inner subgroups do not apply.
    counts = _counts(spec, tree, update=update) if new and not graph else ()
    if structural:
        yield structural[0]
        yield from (problem.replace(operator_message=None, stage=None) for problem in (*structural[1:], *counts))
    else:
        yield from counts


def _root(spec: Mapping[str, Value]) -> Iterator[Problem]:
    members = integer(spec.get("minMember"), None)
    if members is not None and integer(spec.get("minSubGroup"), None) is not None:
        text = (
            f"minMember and minSubGroup are mutually exclusive: set minMember ({members}) to schedule a fixed number "
            "of pods, or set minSubGroup to require a minimum number of child SubGroups, but not both"
        )
        yield _webhook_refusal(("spec", "minSubGroup"), "conflicts with minMember; keep only one of them", _NEW, text)


def _graph(tree: SubGroupTree) -> Iterator[Problem]:
    first: dict[str, SubGroupNode] = {}
    for node in tree.nodes:
        if node.name and first.setdefault(node.name, node) is not node:
            message = f"must be unique among the subgroups; got {describe(node.name)} again"
            yield _webhook_refusal((*node.path, "name"), message, KNOWN, f"duplicate subgroup name {node.name}")
    for node in tree.nodes:
        if node.parent is not None and node.parent not in first:
            message = f"must be the name of a subgroup; got {describe(node.parent)}"
            text = f"parent {node.parent} of {node.name} was not found"
            yield _webhook_refusal((*node.path, "parent"), message, KNOWN, text)
    cycle = _cycle(first)
    if cycle is not None:
        message = f"the subgroup is its own ancestor, through its parent {describe(cycle.parent)}"
        yield _webhook_refusal((*cycle.path, "parent"), message, KNOWN, "cycle detected in subgroups")


def _cycle(nodes: Mapping[str, SubGroupNode]) -> SubGroupNode | None:
    """Return the first subgroup that is an ancestor of itself, or None."""
    done = set[str]()
    for node in nodes.values():
        way = set[str]()
        at: SubGroupNode | None = node
        while at is not None and at.name not in done:
            if at.name in way:
                return at
            way.add(at.name)
            at = nodes.get(at.parent) if at.parent is not None else None
        done |= way
    return None


def _exclusive_minimums(tree: SubGroupTree) -> Iterator[Problem]:
    for node in sorted(tree.nodes, key=lambda node: node.name):
        if node.min_member is not None and node.min_sub_group is not None:
            keep = "minMember" if tree.is_leaf(node) else "minSubGroup"
            text = f"subgroup {go_quote(node.name)}: minMember and minSubGroup are mutually exclusive"
            message = f"conflicts with minMember; keep {keep}"
            yield _webhook_refusal((*node.path, "minSubGroup"), message, _NEW, text)


def _counts(spec: Mapping[str, Value], tree: SubGroupTree, *, update: bool) -> Iterator[Problem]:
    """Yield the problems of the subgroups' minimums. Like the webhook, check the subgroups in the order of names."""
    for node in sorted(tree.nodes, key=lambda node: node.name):
        if node.min_member is not None and node.min_sub_group is not None:
            continue
        yield from _leaf_problems(node) if tree.is_leaf(node) else _inner_problems(node, tree, update=update)
    wanted, roots = integer(spec.get("minSubGroup"), None), tree.children.get(None, 0)
    if wanted is not None and wanted > roots:
        yield _too_many_sub_groups(("spec", "minSubGroup"), wanted, roots)


def _leaf_problems(node: SubGroupNode) -> Iterator[Problem]:
    quoted = go_quote(node.name)
    if node.min_sub_group is not None:
        text = f"subgroup {quoted}: minSubGroup cannot be set on a leaf SubGroup (no child SubGroups)"
        message = f"the subgroup has no children: no subgroup names {quoted} as its parent; set minMember instead"
        yield _webhook_refusal((*node.path, "minSubGroup"), message, _NEW, text)
    if node.min_member is None:
        message = "must be set, because the subgroup has pods and no children"
        yield _webhook_refusal((*node.path, "minMember"), message, _NEW, f"subgroup {node.name}: minMember is required")


def _inner_problems(node: SubGroupNode, tree: SubGroupTree, *, update: bool) -> Iterator[Problem]:
    path = (*node.path, "minMember")
    if node.min_member is not None and update:
        message = "the subgroup has children and must not set this field; remove it"
        consequence = f"{_NEW.text} warns of it, and refuses it in a new PodGroup"
        yield Problem(path, message, effect=Effect.IGNORED, consequence=consequence)
    elif node.min_member is not None:
        text = (
            f"subgroup {go_quote(node.name)}: minMember cannot be set on a mid-level SubGroup (has child SubGroups); "
            "use minSubGroup instead"
        )
        message = "the subgroup has children and must not set this field; remove it, and KAI then needs all children"
        yield _webhook_refusal(path, message, _NEW, text)
    if node.min_sub_group is not None and node.min_sub_group > tree.children[node.name]:
        yield _too_many_sub_groups((*node.path, "minSubGroup"), node.min_sub_group, tree.children[node.name])


def _too_many_sub_groups(path: FieldPath, wanted: int, existing: int) -> Problem:
    message = f"must be at most {existing}, the number of subgroups; got {wanted}"
    return Problem(path, message, effect=Effect.IGNORED, consequence="KAI never schedules the pods")


def _webhook_refusal(path: FieldPath, message: str, versions: Versions, text: str) -> Problem:
    return refusal(path, message, versions, text, stage=Stage.WEBHOOK)


def _node(path: FieldPath, entry: Mapping[str, Value]) -> SubGroupNode:
    parent = entry.get("parent")
    return SubGroupNode(
        path,
        text_at(entry, "name"),
        parent if isinstance(parent, str) else None,
        integer(entry.get("minMember"), None),
        integer(entry.get("minSubGroup"), None),
        entry.get("topologyConstraint"),
    )


_REQUIRED, _PREFERRED = "requiredTopologyLevel", "preferredTopologyLevel"


class KnownKaiTopologies(Record):
    """The known Topologies by name. `of_users` is true if users wrote some of them.

    If users wrote some, an unknown Topology probably does not exist. Otherwise, it may be in another repository.
    """

    by_name: Mapping[str, KaiTopology] = {}
    of_users: bool = False


class Search(Record):
    """The scheduler's search for nodes under one constraint. It tries `levels` from the finest to the coarsest.

    A search without levels and texts is unconstrained. `pod_message` is KAI's error on the pods. `log` is an error that
    only the scheduler's log has.
    """

    path: FieldPath
    """Path of the `topologyConstraint`."""
    sub_group: str
    constraint: LevelConstraint
    levels: tuple[str, ...] = ()
    pod_message: str = ""
    log: str = ""

    @property
    def is_constrained(self) -> bool:
        """Return True if the constraint names a topology. KAI ignores it otherwise."""
        return bool(self.constraint.topology)


def searches(podgroup: Mapping[str, Value], topologies: Mapping[str, KaiTopology]) -> Iterator[Search]:
    """Yield the scheduler's search for the PodGroup, then for each of its subgroups in their order."""
    _, _, namespace, name = identity(podgroup)
    for path, sub_group, holder in _holders(podgroup):
        constraint = _read_constraint(holder.get("topologyConstraint"))
        search = Search((*path, "topologyConstraint"), sub_group, constraint)
        if not search.is_constrained:
            yield search
            continue
        topology = topologies.get(constraint.topology)
        if topology is None:
            yield search.replace(pod_message=no_such_topology(constraint.topology))
            continue
        levels = levels_of(topology, constraint, sub_group)
        if isinstance(levels, SilentMistake):
            yield search.replace(log=f"Failed to run SubsetNodes on job <{namespace}/{name}>: {levels.text}")
        else:
            tried = range(levels.finest, levels.coarsest - 1, -1)
            yield search.replace(levels=tuple(topology.levels[depth] if depth >= 0 else ROOT for depth in tried))


def search_problems(podgroup: Mapping[str, Value], topologies: KnownKaiTopologies) -> Iterator[Problem]:
    """Yield the problems of topology constraints for which KAI never places pods of the PodGroup."""
    known = topologies.by_name
    for search in searches(podgroup, known):
        constraint = search.constraint
        if not search.is_constrained or is_placeholder(constraint.topology):
            continue
        topology = known.get(constraint.topology)
        if not constraint.required and not constraint.preferred:
            message = f"must name a level, in {_REQUIRED} or {_PREFERRED}"
            consequence = "KAI schedules no pod that has a constraint without a level"
            yield _ignored_problem(search.path, message, consequence, search.log if topology is not None else "")
        elif topology is not None:
            yield from _wrong_levels(search, topology) if search.log else ()
        elif topologies.of_users or near_miss(constraint.topology, list(known)):
            suggestion = did_you_mean(constraint.topology, sorted(known))
            message = f'the Topology "{constraint.topology}" is not in the input{suggestion}'
            consequence = "Without it, KAI schedules none of these pods"
            yield _ignored_problem((*search.path, "topology"), message, consequence, search.pod_message)


def _wrong_levels(search: Search, topology: KaiTopology) -> Iterator[Problem]:
    """Yield a problem for each wrong level of a constraint. KAI's text is only about the first one."""
    consequence = "KAI schedules none of these pods, and only logs the reason"
    text, constraint = search.log, search.constraint
    for field, level in ((_REQUIRED, constraint.required), (_PREFERRED, constraint.preferred)):
        if level and depth_of(topology, level) is None:
            known = _level_names(topology)
            message = (
                f'{TOPOLOGY.name} "{topology.name}" has no level "{level}"; known: '
                f"{', '.join(known)}{did_you_mean(level, known)}"
            )
            yield _ignored_problem((*search.path, field), message, consequence, text)
            text = ""
    if text:
        message = f'must not be broader than {_REQUIRED}, "{constraint.required}"; got "{constraint.preferred}"'
        yield _ignored_problem((*search.path, _PREFERRED), message, consequence, text)


def _ignored_problem(path: FieldPath, message: str, consequence: str, text: str) -> Problem:
    return Problem(path, message, text or None, effect=Effect.IGNORED, consequence=consequence)


def known_topologies(source: SchedulerInput, rendered: Iterable[Generated]) -> KnownKaiTopologies:
    """Return the Topologies of the input and of the render.

    If two have the same name, the Topology of the input counts. Topologies have no aliases if the
    version of KAI does not know aliases.
    """
    has_aliases = minor_of(source.settings.kai_version) >= LEVEL_ALIASES
    users = [item.value for item in source.inventory.items.of_kind(*TOPOLOGY.key)]
    topologies = [read_topology(value) for value in (*(topology.value for topology in rendered), *reversed(users))]
    by_name = {each.name: each if has_aliases else each.replace(aliases={}) for each in topologies}
    return KnownKaiTopologies(by_name, bool(users))


def read_topology(value: Mapping[str, Value]) -> KaiTopology:
    """Return a Topology as the scheduler reads it. Labels and aliases that are not text are skipped."""
    levels = [
        (label, level.get("alias"))
        for level in mappings(mapping_at(value, "spec").get("levels"))
        if isinstance(label := level.get("nodeLabel"), str)
    ]
    aliases = {alias: label for label, alias in levels if isinstance(alias, str) and alias}
    return KaiTopology(identity(value)[3], tuple(label for label, _ in levels), aliases)


def _level_names(topology: KaiTopology) -> list[str]:
    """Return the names of levels that constraints can use, broadest first: node labels, each with its alias."""
    by_label = {label: alias for alias, label in topology.aliases.items()}
    return [name for label in topology.levels for name in (label, by_label.get(label)) if name]


def _holders(podgroup: Mapping[str, Value]) -> Iterator[tuple[FieldPath, str, Mapping[str, Value]]]:
    """Yield the parts of a PodGroup that may have a constraint, with path and name: its spec, then each subgroup."""
    spec = podgroup.get("spec")
    if isinstance(spec, dict):
        yield ("spec",), "", spec
        for index, group in mappings_by_place(spec.get("subGroups")):
            yield ("spec", "subGroups", index), text_at(group, "name"), group


def _read_constraint(value: Value) -> LevelConstraint:
    """Return the constraint. It is empty if a field has a wrong type, because the API server refuses the PodGroup."""
    fields = [value.get(name) for name in ("topology", _REQUIRED, _PREFERRED)] if isinstance(value, dict) else []
    texts = [field or "" for field in fields if field is None or isinstance(field, str)]
    return LevelConstraint(*texts) if len(texts) == 3 else LevelConstraint("")


_LONGEST = 63
_LOWERS_PARENTS = Versions(12, SUBGROUP_COUNTS - 1)
_DROPS_SIBLINGS = Versions(12, 12)

_NONE = KnownKaiTopologies()
_LEVELS = ("requiredTopologyLevel", "preferredTopologyLevel")


def podgroup_problems(
    value: Mapping[str, Value],
    supported: Versions,
    topologies: KnownKaiTopologies = _NONE,
    *,
    update: bool = False,
    schema: bool = True,
) -> list[Problem]:
    """Return the problems of the PodGroup `value` for the `supported` versions of KAI. Its fields may have any types.

    `topologies` are the known Topologies. `update` is true if the PodGroup exists already. Without `schema`, KAI's CRDs
    are not checked, because the caller checks the CRD of the input.
    """
    problems: list[Problem] = []
    if schema:
        version = value.get("apiVersion")
        if version != PODGROUP.api_version:
            problems.append(
                refusal(("apiVersion",), f'must be "{PODGROUP.api_version}"; got {describe(version)}', KNOWN)
            )
        problems += schema_problems(value, supported)
    spec = value.get("spec")
    if isinstance(spec, dict):
        tree = SubGroupTree.read(spec)
        problems += tree_problems(spec, tree, supported, update=update)
        problems += _unusable_names(tree, supported)
        problems += _siblings(tree, supported)
        problems += _lone_levels(("spec",), spec.get("topologyConstraint"))
        for node in tree.nodes:
            problems += _lone_levels(node.path, node.constraint)
        problems += search_problems(value, topologies)
    return problems


def _unusable_names(tree: SubGroupTree, supported: Versions) -> Iterator[Problem]:
    names = {node.name for node in tree.nodes}
    lowers = supported.intersection(_LOWERS_PARENTS) is not None
    for node in tree.nodes:
        if tree.is_leaf(node) and len(node.name) > _LONGEST:
            message = f"must be at most {_LONGEST} characters long; got {len(node.name)}"
            yield Problem((*node.path, "name"), message, consequence="The name is the value of a label of the pods")
        parent = node.parent
        if lowers and parent in names and parent != parent.lower():
            consequence = f"{_LOWERS_PARENTS.text} looks up parents in lower case, finds none, and schedules no pod"
            message = f"must be in lower case, and so must the name of the parent subgroup; got {describe(parent)}"
            yield Problem((*node.path, "parent"), message, consequence=consequence)


def _siblings(tree: SubGroupTree, supported: Versions) -> Iterator[Problem]:
    """Yield a problem for the first leaf with a sibling that has children. KAI v0.12 ignores the pods of such leaves.

    It only logs that.
    """
    if supported.intersection(_DROPS_SIBLINGS) is None:
        return
    inner = {node.parent for node in tree.nodes if not tree.is_leaf(node)}
    for node in tree.nodes:
        if tree.is_leaf(node) and node.parent in inner:
            consequence = f"{_DROPS_SIBLINGS.text} skips its pods; set `kai.version` if you run v0.13 or newer"
            message = "the subgroup has pods, but a sibling has children"
            yield Problem(node.path, message, effect=Effect.IGNORED, consequence=consequence)
            return


def _lone_levels(path: FieldPath, constraint: Value) -> Iterator[Problem]:
    if not isinstance(constraint, dict):
        return
    levels = [name for name in _LEVELS if constraint.get(name)]
    if levels and not constraint.get("topology"):
        at = (*path, "topologyConstraint")
        message = "the constraint names no Topology; set topology"
        yield Problem(at, message, effect=Effect.IGNORED, consequence="KAI ignores such a constraint")
