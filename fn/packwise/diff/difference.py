"""The comparison of two states: the changes, their effect on the scheduler, and the JSON Patch (RFC 6902) of one
change.

A change that recreates an object or loses a constraint has a reason. Source: spec/grove-releases.md#upgrade.
"""

from __future__ import annotations

from enum import StrEnum

from krmfn.fieldpath import parse_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject
from krmfn.result import ResourceRef, Severity, exit_code
from packwise.diff.change import (
    ORDER,
    Action,
    NamedEntry,
    by_identity,
    changes,
    entries_by_name,
    format_steps,
    is_deeper,
    kind_of,
    part_at,
    with_counted,
    word_of,
    workload_of,
)
from packwise.findings import Finding
from packwise.keys import HOSTNAME
from packwise.lenient import entries, mapping, mapping_at, mappings, mappings_in_place, text_at
from packwise.objects.index import READABLE, format_identity, has_epoch, identity, is_generated
from packwise.objects.kinds import CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING, GANGS, KINDS, TOPOLOGY, GangFields
from packwise.pipeline import render
from packwise.pipeline.selection import Configured
from packwise.topologies.run import has_sources, overview
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from krmfn.fieldpath import FieldPath
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.diff.change import ObjectChange, Steps
    from packwise.objects.index import Identity
    from packwise.objects.kinds import FixedLevels
    from packwise.pipeline import Renderer
    from packwise.pipeline.selection import Package

MAX_DEPTH = 100
"""The largest depth of mappings and lists in a compared object. Kubernetes' own objects have less than 20."""

_MANAGED_BY = ("app.kubernetes.io/managed-by", "grove-operator")
_SERVER = ("uid", "resourceVersion", "managedFields")
_SOURCES = (CLUSTER_TOPOLOGY.name, CLUSTER_TOPOLOGY_BINDING.name)
"""Kinds that users also write. An export with only these kinds is a normal input."""


class State(Record):
    """The compared objects of one state, or None if its sources cannot be rendered.

    `is_rendered` is true if the objects are rendered from sources. `kinds` are then all kinds that the render could
    have, and `enabled` is true if topology-aware scheduling is enabled. Otherwise the input itself has the objects, and
    `kinds` are their kinds. `results` are the errors. After a change they are the refusals of the operator or an API
    server. `render_results` are all results of the render. `unchecked` are workloads with running gangs, but without an
    object to compare an update with.
    """

    objects: Mapping[Identity, KubeObject] | None
    is_rendered: bool
    kinds: frozenset[str]
    enabled: bool = False
    results: tuple[Result, ...] = ()
    render_results: tuple[Result, ...] = ()
    unchecked: tuple[str, ...] = ()


def state_before(package: Package, renderer: Renderer = render) -> State:
    """Return the state before a change. Its workloads are checked as running workloads."""
    if not _is_rendered(package):
        return _exported_state(package)
    return _rendered_state(package, package.items, renderer)


def state_after(package: Package, earlier: Package, renderer: Renderer = render) -> State:
    """Return the state after a change. Workloads are checked as updates of the workloads in `earlier`, the state
    before.

    If updates are refused, the state has the refusals, and the objects that these updates would make. If `earlier` has
    only the gangs of a workload, and not the workload itself, the workload counts as running and unchanged.
    """
    if not _is_rendered(package):
        return _exported_state(package)
    before = earlier.items
    package = package.replace(configured_before=Configured(earlier.function_config, earlier.context))
    running = _running_workloads(package, before)
    state = _rendered_state(package, (*before, *running), renderer).replace(
        unchecked=tuple(format_identity(identity(item.value)) for item in running)
    )
    if state.objects is not None:
        return state
    accepted = _rendered_state(package, package.items, renderer)
    return accepted.replace(results=state.results, unchecked=state.unchecked)


def _running_workloads(package: Package, before: tuple[KubeObject, ...]) -> list[KubeObject]:
    """Return the workloads of the package that have gangs in `before`, but are not in `before` themselves."""
    gangs = {(identity(item.value)[2], workload_of(item)) for item in before if kind_of(item) in ORDER}
    known = {identity(item.value) for item in before}
    workloads = [use.workload for use in overview(package).uses if use.document is None] if gangs else []
    return [item for item in workloads if (key := identity(item.value))[2:] in gangs and key not in known]


def _rendered_state(package: Package, baseline: tuple[KubeObject, ...], renderer: Renderer) -> State:
    answer = renderer(package.replace(baseline=baseline), previews=True)
    errors = tuple(result for result in answer.results if result.severity is Severity.ERROR)
    objects = None
    if not exit_code(answer.results):
        stored = _stored_objects([item for item in answer.items if kind_of(item) in ORDER], answer.results)
        objects = by_identity(stored)
    kinds = {kind_of(item) for item in objects.values()} if objects is not None else set[str]()
    selection = answer.selection
    emitted = kinds if selection is None else kinds.union(selection.settings.emit)
    enabled = selection is not None and selection.enabled
    return _bounded_state(State(objects, True, frozenset(emitted), enabled, errors, answer.results))


def _stored_objects(items: Iterable[KubeObject], results: Iterable[Result]) -> Iterator[KubeObject]:
    """Yield the objects as the API server stores them. Source: spec/kubernetes-gangs.md#7."""
    dropped: dict[ResourceRef, list[FieldPath]] = {}
    for result in results:
        if result.tags.get("rule") in _DROPPING and result.resource_ref is not None and result.field is not None:
            dropped.setdefault(result.resource_ref, []).append(parse_path(result.field.path))
    for item in items:
        value: Value = item.value
        for path in dropped.get(ResourceRef.of(item.id), ()) if dropped else ():
            value = _without_field(value, path)
        yield item if value is item.value else KubeObject.cut(item.source, mapping(value))


_DROPPING = frozenset(kind.dropping_rule for kind in KINDS if kind.dropping_rule)


def _without_field(value: Value, path: FieldPath) -> Value:
    first, rest = path[0], path[1:]
    if isinstance(value, dict):
        kept = {key: part for key, part in value.items() if rest or key != first}
        return {key: _without_field(part, rest) if key == first else part for key, part in kept.items()}
    if isinstance(value, list):
        return [_without_field(part, rest) if rest and place == first else part for place, part in enumerate(value)]
    return value


def _exported_state(package: Package) -> State:
    objects = by_identity([item for item in package.items if kind_of(item) in ORDER])
    return _bounded_state(State(objects, False, frozenset(map(kind_of, objects.values()))))


def _bounded_state(state: State) -> State:
    """Return the state, or one without objects if an object is nested too deeply for a comparison."""
    message = f"must not be nested deeper than {MAX_DEPTH} levels to be compared"
    deep = [item for item in (state.objects or {}).values() if is_deeper(item.value, MAX_DEPTH)]
    too_deep = tuple(Finding.of(READABLE, item, (), message).to_result() for item in deep)
    return state.replace(objects=None, results=(*state.results, *too_deep)) if too_deep else state


def _is_rendered(package: Package) -> bool:
    """Return True if the package has sources to render, and no object that was exported from a cluster."""
    return not _are_live(package.items) and has_sources(package)


_REPLACED_NAMES = frozenset(kind.word for kind in GANGS if kind.gang.of_operator)


def _are_live(items: Iterable[KubeObject]) -> bool:
    for item in items:
        kind = kind_of(item)
        if kind not in ORDER or kind in _SOURCES:
            continue
        metadata = mapping(item.get("metadata"))
        if any(key in metadata for key in _SERVER):
            return True
        operators = text_at(metadata, "labels", _MANAGED_BY[0]) == _MANAGED_BY[1]
        if operators and kind in _REPLACED_NAMES and not is_generated(item.value):
            return True
    return False


_FIELDS = {kind.key: kind.gang for kind in GANGS}
_NO_GANG = GangFields()


def _fields_of(value: Mapping[str, Value]) -> GangFields:
    return _FIELDS.get(identity(value)[:2], _NO_GANG)


class Constraint(Record):
    """A constraint: the pods of the part at `holder` share one value of the node label `key`.

    `strength` is required or preferred. `topology` is the name in the constraint itself, or None.
    """

    holder: Steps
    strength: str
    key: str
    topology: str | None = None


def constraints(value: Mapping[str, Value]) -> list[Constraint]:
    """Return all constraints of a gang in the order of its fields, or none for another object."""
    fields = _fields_of(value)
    return list(_constraints_below(value.get("spec"), ("spec",), fields)) if fields.constraint else []


def topologies_named(value: Mapping[str, Value]) -> set[str]:
    """Return the topologies of an object's constraints: from its annotation, or from each constraint."""
    named = {constraint.topology for constraint in constraints(value) if constraint.topology is not None}
    annotated = topology_annotation(value)
    return named | ({annotated} if annotated is not None else set())


def topology_annotation(value: Mapping[str, Value]) -> str | None:
    """Return the topology that the object's annotation names, or None."""
    name = mapping_at(value, "metadata", "annotations").get(_fields_of(value).topology_annotation)
    return name if isinstance(name, str) else None


def _constraints_below(value: Value, path: Steps, fields: GangFields) -> Iterator[Constraint]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key == fields.constraint and isinstance(part, dict):
                yield from _read(part, path, fields)
            else:
                yield from _constraints_below(part, (*path, key), fields)
    elif isinstance(value, list):
        named = entries_by_name(value)
        for at, part in enumerate(value):
            step = at if named is None or not isinstance(part, dict) else NamedEntry(str(part["name"]))
            yield from _constraints_below(part, (*path, step), fields)


def _read(value: Mapping[str, Value], holder: Steps, fields: GangFields) -> Iterator[Constraint]:
    topology = _part(value, fields.topology)
    for strength, path in (("required", fields.required), ("preferred", fields.preferred)):
        key = _part(value, path)
        if isinstance(key, str) and key:
            yield Constraint(holder, strength, key, topology if isinstance(topology, str) else None)


def leaves(value: Mapping[str, Value]) -> frozenset[str]:
    """Return the names of a gang's sets that hold pods, or none for another object."""
    trees = [entry for field in _fields_of(value).tree_lists for entry in _entries(value, field)]
    return _sets(value) - {str(entry["parent"]) for entry in trees if "parent" in entry}


def _sets(value: Mapping[str, Value]) -> frozenset[str]:
    """Return the names of all sets of a gang, including sets of sets."""
    fields = _fields_of(value)
    lists = (*fields.pod_lists, *fields.tree_lists)
    return frozenset([str(entry.get("name")) for field in lists for entry in _entries(value, field)])


def members(value: Mapping[str, Value], holder: Steps) -> frozenset[str]:
    """Return the names of the pod sets within the part at `holder`."""
    if len(holder) < 3 or not isinstance(name := holder[2], NamedEntry):
        return leaves(value)
    fields, field = _fields_of(value), str(holder[1])
    names = dict(fields.group_lists).get(field)
    if names is not None:
        groups = [group for group in _entries(value, field) if group.get("name") == name.name]
        return frozenset(str(each) for group in groups for each in entries(group.get(names)))
    trees = _entries(value, field) if field in fields.tree_lists else ()
    children = [str(entry.get("name")) for entry in trees if entry.get("parent") == name.name]
    return frozenset(children or [name.name])


def _entries(value: Mapping[str, Value], field: str) -> Sequence[Mapping[str, Value]]:
    return mappings(mapping_at(value, "spec").get(field))


_DROPPED = "constraint-dropped"


class LossReason(StrEnum):
    """The reason why a constraint was lost."""

    DISABLED = "disabled"
    TOPOLOGY_GONE = "topology-gone"
    LEVEL_GONE = "level-gone"
    REMOVED = "removed"
    UNKNOWN = "unknown"


class Dropped(Record):
    """A constraint that `subject` lost although its target still exists.

    `domain` is the name of the constraint's level in the earlier topology, or None if unknown. `message` gives the
    reason.
    """

    subject: KubeObject
    constraint: Constraint
    domain: str | None
    reason: LossReason
    message: str


def with_meaning(change: ObjectChange, after: Iterable[KubeObject], refusals: Iterable[Result] = ()) -> ObjectChange:
    """Return the change with its effect on the scheduler. `after` and `refusals` come from the state after the
    change.
    """
    rule, counts = _UPDATES.get(identity(change.subject.value)[:2], ("", ()))
    if rule and change.action is Action.CHANGE:
        return _checked_update(change, rule, counts, refusals)
    if change.action is Action.CHANGE and identity(change.subject.value)[:2] == TOPOLOGY.key:
        return _topology(change, after)
    fixed = _FIXED_LEVELS.get(identity(change.subject.value)[:2])
    if change.action is Action.CHANGE and fixed is not None:
        return _fixed_levels(change, fixed)
    return _with_renaming(change)


_UPDATES = {kind.key: (kind.replacing_rule, kind.counts) for kind in KINDS if kind.replacing_rule}


def _checked_update(change: ObjectChange, rule: str, counts: Sequence[str], refusals: Iterable[Result]) -> ObjectChange:
    """Return the change as an update in place, or as a recreation if the API server refuses the update.

    Source: spec/kubernetes-gangs.md#6.
    """
    subject = ResourceRef.of(change.subject.id)
    own = [result for result in refusals if result.resource_ref == subject]
    if own and all(result.tags.get("rule") == rule for result in own):
        texts = list(dict.fromkeys([result.tags.get("operatorMessage", result.message) for result in own]))
        meaning = f"must be deleted and created again, because the API server answers {texts[0]}"
        return change.replace(action=Action.RECREATE, meaning=(meaning,))
    sizes = [field for field in change.fields if field.path[-1:] and field.path[-1] in counts]
    return change.replace(meaning=tuple([f"gang of {field.after} instead of {field.before}" for field in sizes]))


_FIXED_LEVELS = {kind.key: kind.fixed_levels for kind in KINDS if kind.fixed_levels is not None}
_REPLACED = {kind.key: kind.name for kind in GANGS if kind.gang.of_operator}


def _with_renaming(change: ObjectChange) -> ObjectChange:
    """Return the change, with its meaning if another release of the operator renames the gang.

    Source: spec/grove-releases.md#upgrade.
    """
    old, new = change.before, change.after
    if old is None or new is None or identity(old.value) == identity(new.value):
        return change
    if has_epoch(old.value) == has_epoch(new.value):
        return change
    name = _REPLACED.get(identity(new.value)[:2])
    if name is None:
        return change.replace(meaning=(f"renamed with its {' or '.join(_REPLACED.values())}",))
    meaning = f"renamed: the operator makes this {name}, relabels the running pods, and deletes the old {name}"
    return change.replace(meaning=(meaning if has_epoch(new.value) else "renamed",))


def _topology(change: ObjectChange, after: Iterable[KubeObject]) -> ObjectChange:
    """Return the change, with its effect if it changes levels.

    The levels of a KAI Topology never change in place. Source: spec/kai.md#1; spec/gitops.md#1.
    """
    touched = {field.path[:2] for field in change.fields}
    if ("spec", "levels") not in touched:
        return change
    text = 'spec.levels: Invalid value: "array": field is immutable'
    if all(field.path[-1:] == ("alias",) for field in change.fields if field.path[:2] == ("spec", "levels")):
        return change.replace(meaning=(f"aliases can change since KAI v0.17; earlier releases answer: {text}",))
    users = _count_users(identity(change.subject.value), list(after))
    named = {0: "no object uses it", 1: "1 object uses it"}.get(users, f"{users} objects use it")
    meaning = (
        f"must be deleted and created again, because the API server answers {text}",
        f"{named}; pods that are not scheduled yet wait until it exists again" if users else named,
    )
    return change.replace(action=Action.RECREATE, meaning=meaning)


def _fixed_levels(change: ObjectChange, fixed: FixedLevels) -> ObjectChange:
    """Return the change, with its effect if it changes levels.

    Only some releases change levels above the hostname in place. Source: spec/kueue.md#5.
    """
    if not any(field.path[:2] == ("spec", "levels") for field in change.fields):
        return change
    lowest = [_lowest_level(each) for each in (change.before, change.after)]
    if lowest == [HOSTNAME, HOSTNAME]:
        return change.replace(
            meaning=(
                f"{fixed.releases} answers {fixed.answer}; with these releases, delete the object and create it again. "
                f"Since {fixed.since}, it can change in place",
            )
        )
    meaning = f"must be deleted and created again, because the API server answers {fixed.answer}"
    return change.replace(action=Action.RECREATE, meaning=(meaning,))


def _lowest_level(item: KubeObject | None) -> Value:
    levels = [] if item is None else mappings_in_place(item.get(("spec", "levels")))
    return levels[-1].get("nodeLabel") if levels else None


def _count_users(topology: Identity, objects: list[KubeObject]) -> int:
    """Return the number of objects with constraints on the topology: by its name, or by default if it is the only
    one.
    """
    keys = [identity(item.value) for item in objects]
    only = not any(key[:2] == topology[:2] and key != topology for key in keys)
    named = [(topologies_named(item.value), item) for item in objects]
    return sum([topology[3] in names or bool(only and not names and constraints(item.value)) for names, item in named])


def dropped_constraints(changes: Iterable[ObjectChange], before: State, after: State) -> Iterator[Dropped]:
    """Yield the constraints that remaining objects lose, in the order of the changes and of each object, with the
    reason.
    """
    old_topologies, reasons = _topologies(before), _LossReasons(after)
    # Objects of the first design name no topology, because there is only one.
    only = next(iter(old_topologies)) if len(old_topologies) == 1 else None
    for change in changes:
        old, new = change.before, change.after
        if old is None or new is None:
            continue
        kept = {(constraint.holder, constraint.strength) for constraint in constraints(new.value)}
        for lost in constraints(old.value):
            if (lost.holder, lost.strength) in kept or not _holds_pods(old.value, new.value, lost.holder):
                continue
            if _is_moved(lost, old.value, new.value):
                continue
            named = lost.topology or topology_annotation(old.value) or only
            topology = old_topologies.get(named)
            domain = next((domain for domain, key in topology.levels if key == lost.key), None) if topology else None
            wanted = _Wanted(named, domain, topology.kind if topology else "ClusterTopology")
            reason = reasons.reason(new, wanted, lost.strength)
            yield Dropped(new, lost, domain, reason, reasons.message(reason, wanted))


def _holds_pods(before: Mapping[str, Value], after: Mapping[str, Value], holder: Steps) -> bool:
    """Return True if the target of the constraint still exists. The constraint of a removed group is not lost.

    A group of groups exists as long as one of its groups does.
    """
    if _part(after, holder) is not None:
        return True
    return isinstance(holder[-1], NamedEntry) and not members(before, holder).isdisjoint(_sets(after))


def _is_moved(lost: Constraint, before: Mapping[str, Value], after: Mapping[str, Value]) -> bool:
    """Return True if the same pods have the same constraint at another place of the gang."""
    pods = members(before, lost.holder)
    return any(
        (constraint.strength, constraint.key) == (lost.strength, lost.key) and members(after, constraint.holder) == pods
        for constraint in constraints(after)
    )


def _part(value: Value, path: Steps) -> Value:
    for step in path:
        value = part_at(value, step)
    return value


class _Topology(Record):
    """A ClusterTopology. `kind` is its kind in the revision, and `levels` are its domains and node label keys."""

    kind: str
    levels: tuple[tuple[str, str], ...]


class _Wanted(Record):
    """The level that a constraint names: the topology's name and kind, and the level's name there."""

    topology: str | None
    domain: str | None
    kind: str


def _topologies(state: State) -> dict[str | None, _Topology]:
    return {
        key[3]: _Topology(key[1], tuple(_levels(item)))
        for key, item in (state.objects or {}).items()
        if key[1] in _SOURCES
    }


def _levels(topology: KubeObject) -> Iterator[tuple[str, str]]:
    for level in mappings(topology.get("spec.levels")):
        yield str(level.get("domain")), str(level.get("key"))


class _LossReasons:
    """Searches the state after the change for the reason of a lost constraint."""

    __slots__ = ("_after", "_dropped", "_topologies")

    def __init__(self, after: State) -> None:
        self._after = after
        self._topologies = _topologies(after)
        self._dropped: dict[tuple[str, str], set[str]] = {}
        for result in after.render_results:
            ref, field = result.resource_ref, result.field
            if result.tags.get("rule") == _DROPPED and ref is not None and field is not None:
                self._dropped.setdefault((ref.namespace or "default", ref.name), set()).add(str(field.current))

    def reason(self, subject: KubeObject, wanted: _Wanted, strength: str) -> LossReason:
        """Return the reason why `subject` has lost the constraint."""
        return (
            self._reason_in_render(subject, wanted, strength)
            if self._after.is_rendered
            else self._reason_in_objects(wanted)
        )

    def _reason_in_render(self, subject: KubeObject, wanted: _Wanted, strength: str) -> LossReason:
        enabled = self._after.enabled
        dropped = self._dropped.get((identity(subject.value)[2], workload_of(subject) or ""), set())
        is_dropped = bool(dropped) if wanted.domain is None else wanted.domain in dropped
        # In the first designs, the operator adds a preferred level, even if the workload requests none.
        is_operators = strength == "preferred" and not enabled
        if not is_dropped and not is_operators:
            # The render has not dropped the constraint, so no workload requests it.
            return LossReason.REMOVED
        if not enabled:
            return LossReason.DISABLED
        return LossReason.LEVEL_GONE if wanted.topology in self._topologies else LossReason.TOPOLOGY_GONE

    def _reason_in_objects(self, wanted: _Wanted) -> LossReason:
        if not self._topologies or wanted.topology is None or wanted.domain is None:
            return LossReason.UNKNOWN
        topology = self._topologies.get(wanted.topology)
        if topology is None:
            return LossReason.TOPOLOGY_GONE
        return LossReason.UNKNOWN if wanted.domain in dict(topology.levels) else LossReason.LEVEL_GONE

    def message(self, reason: LossReason, wanted: _Wanted) -> str:
        """Return the reason in words."""
        match reason:
            case LossReason.DISABLED:
                return "topology-aware scheduling is disabled"
            case LossReason.TOPOLOGY_GONE:
                return f'{wanted.kind} "{wanted.topology or "?"}" no longer exists'
            case LossReason.LEVEL_GONE:
                levels = list_known([level for level, _ in self._topologies[wanted.topology].levels])
                level = f'level "{wanted.domain}"' if wanted.domain is not None else "this level"
                return f'{wanted.kind} "{wanted.topology}" no longer has {level}, only {levels}'
            case LossReason.REMOVED:
                return "the workload no longer requests it"
            case LossReason.UNKNOWN:
                return "the objects do not show the reason"


def constraint_text(constraint: Constraint, domain: str | None = None) -> str:
    """Return `required example.com/rack ("rack") of podgroups[web-0-router]`. For the whole object,
    the text has no `of` part.
    """
    holder = format_steps(constraint.holder[1:])
    named = f' ("{domain}")' if domain is not None else ""
    return f"{constraint.strength} {constraint.key}{named}{f' of {holder}' if holder else ''}"


_Pods = tuple[str, str, str, str, frozenset[str]]
"""Group, kind, namespace and workload of a gang, and the names of its sets of pods. All releases have the same
names.
"""


def rekey(
    objects: Mapping[Identity, KubeObject], others: Mapping[Identity, KubeObject]
) -> Mapping[Identity, KubeObject]:
    """Return `objects` by identity.

    A gang without an epoch gets the identity of the gang in `others` that has an epoch and the same pods.
    """
    keys = {_pods(key, item): key for key, item in others.items() if has_epoch(item.value)}
    if not keys:
        return objects
    return {key if has_epoch(item.value) else keys.get(_pods(key, item), key): item for key, item in objects.items()}


def _pods(key: Identity, item: KubeObject) -> _Pods:
    group, kind, namespace, name = key
    pods = leaves(item.value)
    # A gang without pods is identified only by its name.
    return group, kind, namespace, workload_of(item) or "", pods or frozenset([f"\0{name}"])


class Difference(Record):
    """The changes between two states, in order of kind, namespace and name.

    `refusals` are errors of the operator or an API server in the state after the change. `unreadable` are the errors of
    the state before. `is_compared` is true if both states have objects. `only_before` and `only_after` are kinds that
    are not compared, because the other state is rendered and never has them. `missing_before` and `missing_after` are
    kinds without any object in an exported state. `unchecked` are workloads with updates that could not be checked.
    """

    changes: tuple[ObjectChange, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    refusals: tuple[Result, ...] = ()
    unreadable: tuple[Result, ...] = ()
    is_compared: bool = True
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    missing_before: tuple[str, ...] = ()
    missing_after: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


def without_kinds(state: State, kinds: frozenset[str]) -> State:
    """Return the state without the objects of `kinds`."""
    if state.objects is None:
        return state
    return state.replace(objects=_without_kinds(state.objects, kinds), kinds=state.kinds - kinds)


def diff(before: State, after: State) -> Difference:
    """Return the changes for the scheduler from `before` to `after`."""
    refused = Difference(refusals=after.results, unreadable=before.results, unchecked=after.unchecked)
    if before.objects is None or after.objects is None:
        return refused.replace(is_compared=False)
    only_before, only_after = _foreign_kinds(before, after), _foreign_kinds(after, before)
    old, new = _without_kinds(before.objects, only_before), _without_kinds(after.objects, only_after)
    old, new = rekey(old, new), rekey(new, old)
    changed = [with_meaning(change, new.values(), after.results) for change in changes(old, new)]
    dropped = dropped_constraints(changed, before, after)
    return refused.replace(
        changes=tuple(changed),
        dropped=tuple(dropped),
        only_before=only_before,
        only_after=only_after,
        missing_before=_missing_kinds(before, after),
        missing_after=_missing_kinds(after, before),
    )


def _foreign_kinds(state: State, other: State) -> tuple[str, ...]:
    """Return the kinds of an exported `state` that a rendered `other` never has."""
    return tuple(sorted(state.kinds - other.kinds)) if other.is_rendered and not state.is_rendered else ()


def _missing_kinds(state: State, other: State) -> tuple[str, ...]:
    """Return the kinds that only the other state has. An export may have omitted them."""
    if state.is_rendered or not state.objects or not other.objects:
        return ()
    return tuple(sorted({word_of(key) for key in other.objects} - state.kinds))


def _without_kinds(objects: Mapping[Identity, KubeObject], kinds: Collection[str]) -> Mapping[Identity, KubeObject]:
    return {key: item for key, item in objects.items() if word_of(key) not in kinds}


def json_patch(before: Mapping[str, Value], after: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Return the operations that change the comparable part of the object `before` into the part of `after`."""
    # At the start, this import takes as long as all other imports of a comparison.
    from jsonpatch import make_patch

    target = with_counted(before, after)
    return list(make_patch(dict(before), target))
