"""Check a PodCliqueSet as Grove's webhook does, by the rules of the revision: as a new object or as an update.

The baseline and an earlier render show whether the cluster already has the workload. A render records the constraints
of a workload in an annotation of its PodGangs, or of the workload if it has no PodGangs. The next render compares the
record with the workload, to find changed constraints. Source: spec/designs.md#3, spec/grove.md#2, #4, #5.
"""

from __future__ import annotations

from functools import cache

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Problem, Rule, Stage
from packwise.frontends.grove.default import default
from packwise.frontends.grove.podcliqueset import (
    ON_DELETE,
    TEMPLATE,
    PodCliqueSet,
    TopologyConstraint,
    check_shape,
    grouped_clique,
    read_constraint,
    scaling_group,
    standalone_clique,
)
from packwise.frontends.grove.rules import cliques, metadata, pods, topology
from packwise.frontends.grove.rules.book import (
    Check,
    CliqueAt,
    Context,
    Rulebook,
    Scope,
    Update,
    checks_of,
    cliques_of,
    groups_of,
    nodes_of,
    prepare,
    rules_of,
    run,
    whole_set,
)
from packwise.kubernetes import json_object, json_string
from packwise.lenient import mapping, mapping_at, mappings, mappings_in_place, value_at
from packwise.objects.index import PART_OF, identity
from packwise.objects.kinds import POD_CLIQUE_SET, PODGANG
from packwise.placement import Bounds
from packwise.revisions.grove import ALPHA_12_RC1, GREP_244_MULTI, REVISIONS
from packwise.topology.known import Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from krmfn.value import Value
    from packwise.findings import Origin
    from packwise.frontends.grove.podcliqueset import Clique, ScalingGroup
    from packwise.frontends.grove.rules.book import Node, Steps
    from packwise.objects.index import Index, Inventory
    from packwise.placement import Gang
    from packwise.revisions.grove import Revision

# The webhook checks a new PodCliqueSet or an update by the rulebook of the revision. Source: spec/grove.md#4 and #5.


def all_rules() -> tuple[Rule, ...]:
    """Return every rule of every revision once, in the order in which they run. The last design comes first.

    The documentation lists the rules in this order.
    """
    rules: dict[str, Rule] = {}
    for revision in (GREP_244_MULTI, *REVISIONS.values()):
        book = rulebook(revision)
        for rule in rules_of((*book.create, *book.mnnvl_update, *_updates(revision.webhook))):
            rules.setdefault(rule.name, rule)
    return tuple(rules.values())


def differing_rules(revisions: Iterable[Revision]) -> frozenset[str]:
    """Return the names of the rules that differ between the webhooks of `revisions`."""
    books: list[dict[str, list[Check[Any]]]] = []
    for revision in revisions:
        book = rulebook(revision)
        checks: dict[str, list[Check[Any]]] = {}
        for check in checks_of((*book.create, *book.mnnvl_update, *_updates(revision.webhook))):
            checks.setdefault(check.rule.name, []).append(check)
        books.append(checks)
    names = {name for checks in books for name in checks}
    return frozenset(name for name in names if any(book.get(name) != books[0].get(name) for book in books))


def validate_create(pcs: PodCliqueSet, context: Context) -> list[tuple[Rule, Problem]]:
    """Return the problems for which the webhook refuses a new PodCliqueSet, in its order. `pcs` has its defaults."""
    steps = _create_steps(context.revision.webhook)
    return run(steps, pcs, context if context.create else context.replace(create=True))


def validate_update(old: PodCliqueSet, new: PodCliqueSet, context: Context) -> list[tuple[Rule, Problem]]:
    """Return the problems for which the webhook refuses an update, in its order. Both objects have their defaults.

    These are problems of the new object. If it has none, they are forbidden changes. If the revision permits changed
    constraints, the rules of constraints run as for a new workload.
    """
    context, change = context.replace(create=False), Update(old, new)
    whole, mnnvl, backend, constraints = _update_steps(context.revision.webhook)
    problems = run(whole, new, context) + run(mnnvl, change, context) + run(backend, new, context)
    if problems:
        return problems
    problems = run(_change_steps(context.revision.webhook), change, context)
    if context.revision.mutable_constraints and _domains(old) != _domains(new):
        problems += run(constraints, new, context)
    return problems


def _domains(pcs: PodCliqueSet) -> set[tuple[str, str | None, str]]:
    """Return owner and domain of each constraint as a set, so that the order of the owners does not matter."""
    return {(constraint.kind, constraint.name, constraint.domain) for constraint in topology.constraints_at(pcs)}


# These are the rules of Grove's webhook, in its order. If only some releases have a rule, `since` and `until` name
# them. Source: spec/grove.md#4 and #5; spec/grove-releases.md#1.1 "order inside a clique", "empty clique name", #2.1 to
# 2.6, #4.

_NAME_CONSTRAINTS = (*cliques.CLIQUE_NAME_DNS, *metadata.CLIQUE_NAME_LENGTH)


def _with_name(at: CliqueAt, _context: Context) -> Iterable[CliqueAt]:
    return (at,) if at.clique.name.strip() else ()


def _each_clique(at: CliqueAt, _context: Context) -> Iterable[CliqueAt]:
    return (at,)


RULES = Rulebook(
    constraints=topology.CONSTRAINTS,
    whole=(
        Scope(whole_set, (*metadata.METADATA, *cliques.SET, *pods.SET_SHARING, *cliques.CLIQUES_ANY)),
        Scope(cliques_of, (
            *cliques.CLIQUE_NAME,
            # Since this release, a clique without a name has one error. Before, its name is also invalid.
            Scope(_with_name, _NAME_CONSTRAINTS, since=ALPHA_12_RC1),
            *metadata.CLIQUE_METADATA,
            *pods.CLIQUE_SHARING,
            *cliques.CLIQUE_SIZE,
            *cliques.DEPENDENCIES,
            *cliques.AUTOSCALING,
            *pods.POD_SPEC,
            Scope(_each_clique, _NAME_CONSTRAINTS, until=ALPHA_12_RC1),
            *cliques.CLIQUE_UPDATES,
        )),
        Scope(whole_set, (
            *cliques.CLIQUES_UNIQUE,
            *cliques.ONE_SCHEDULER,
            *pods.SCHEDULER_NAMES,
            *cliques.DEPENDENCY_GRAPH,
        )),
        Scope(groups_of, (
            *cliques.GROUP_NAMES,
            *metadata.GROUP_NAME_LENGTH,
            *cliques.GROUP_SIZE,
            *cliques.GROUP_UPDATES,
            *pods.GROUP_SHARING,
        )),
        Scope(whole_set, (*cliques.GROUPS_TOGETHER, *cliques.TERMINATION)),
        *cliques.UNDETERMINED,
    ),
    mnnvl=metadata.MNNVL,
    mnnvl_update=metadata.MNNVL_UPDATE,
    backend=pods.BACKEND,
)  # fmt: skip


def rulebook(revision: Revision) -> Rulebook:
    """Return the rules of the revision's webhook."""
    return _rulebook(revision.webhook)


_rulebook = cache(RULES.of)


@cache
def _updates(webhook: str) -> tuple[Node, ...]:
    """Return the rules about changes in the webhook of the release with this tag."""
    # The import is lazy, because only an input with a baseline has updates.
    from packwise.frontends.grove.rules.update import UPDATE

    return nodes_of(UPDATE, webhook)


@cache
def _create_steps(webhook: str) -> Steps:
    return prepare(_rulebook(webhook).create)


@cache
def _update_steps(webhook: str) -> tuple[Steps, Steps, Steps, Steps]:
    """Return the steps of an update: the rules of the whole object, of MNNVL, of the backend, and of constraints."""
    book = _rulebook(webhook)
    whole, mnnvl, backend, constraints = [
        prepare(nodes, create=False) for nodes in (book.whole, book.mnnvl_update, book.backend, book.constraints)
    ]
    return whole, mnnvl, backend, constraints


@cache
def _change_steps(webhook: str) -> Steps:
    return prepare(_updates(webhook), create=False)


# The cluster can store fields that the manifest does not have. An apply keeps them, and the webhook validates the
# object with them. The functions below handle such replicas, preferred levels, updates and numbers of pods. Source:
# spec/grove.md#7, spec/grove-releases.md#3.2, #2.6, spec/designs.md#7.2, #1.

_GROUP = POD_CLIQUE_SET.group

Named = tuple[str, str]
"""Namespace and name of an object."""


class Replicas(Record):
    """The replicas of live PodCliqueScalingGroups and PodCliques, by namespace and name."""

    groups: Mapping[Named, int] = {}
    cliques: Mapping[Named, int] = {}


def live_replicas(index: Index) -> Replicas:
    """Return the replicas of every PodCliqueScalingGroup and PodClique in the input."""
    return Replicas(_counts(index, "PodCliqueScalingGroup"), _counts(index, "PodClique"))


def _counts(index: Index, kind: str) -> dict[Named, int]:
    """Return `spec.replicas` of every object of the kind, by namespace and name."""
    counts: dict[Named, int] = {}
    for item in index.of_kind(_GROUP, kind):
        replicas = item.get("spec.replicas")
        if type(replicas) is int:
            counts[identity(item.value)[2:]] = replicas
    return counts


def scheduled_pods(index: Index | None) -> dict[Named, int]:
    """Return the number of scheduled pods of each PodCliqueSet, by its namespace and name.

    This is the sum of `status.scheduledReplicas` of its PodCliques.
    """
    pods: dict[Named, int] = {}
    for item in index.of_kind(_GROUP, "PodClique") if index is not None else ():
        workload, count = item.get(("metadata", "labels", PART_OF)), item.get("status.scheduledReplicas")
        if isinstance(workload, str) and type(count) is int:
            at = (identity(item.value)[2], workload)
            pods[at] = pods.get(at, 0) + count
    return pods


def earlier_podgangs(inventory: Inventory) -> dict[tuple[str, str], Mapping[str, Value]]:
    """Return the PodGangs from before the change, by namespace and name.

    PodGangs of an earlier render in the input override PodGangs in the baseline, because the operator may have made
    the PodGangs in the baseline.
    """
    baseline = inventory.baseline
    before = () if baseline is None else (*baseline.users.items(), *baseline.generated.items())
    return {
        (namespace, name): item.value
        for (group, kind, namespace, name), item in (*before, *inventory.items.generated.items())
        if (group, kind) == PODGANG.key
    }


def keep_preferred(gang: Gang, earlier: Mapping[str, Value] | None) -> Gang:
    """Return `gang` with the preferred levels that the PodGang `earlier` has at the same places.

    `gang` was built without a topology, so it has no required levels. `earlier` is None if unknown. An inner set
    without a preferred level is removed.
    """
    spec = mapping_at(earlier, "spec")
    leaves, groups = _entries_by_name(spec, "podgroups"), _entries_by_name(spec, "topologyConstraintGroupConfigs")
    sets = [
        pods.replace(bounds=_preferred_bounds((groups if pods.members is None else leaves).get(pods.name), pods.origin))
        for pods in gang.sets
    ]
    kept = [pods for pods in sets if pods.members is not None or not pods.bounds.is_empty]
    parents = {pods.name for pods in kept if pods.members is None}
    return gang.replace(
        bounds=_preferred_bounds(spec, gang.origin),
        sets=tuple(pods if pods.parent in parents else pods.replace(parent=None) for pods in kept),
    )


def _preferred_bounds(value: Mapping[str, Value] | None, origin: Origin) -> Bounds:
    key = value_at(value, "topologyConstraint", "packConstraint", "preferred")
    # A PodGang has the label of the level, but not its domain.
    return Bounds(None, Level("", key), origin.replace(rule="spec/designs.md#1")) if isinstance(key, str) else Bounds()


def _entries_by_name(spec: Mapping[str, Value], key: str) -> dict[str, Mapping[str, Value]]:
    return {name: entry for entry in mappings(spec.get(key)) if isinstance(name := entry.get("name"), str)}


_ROLLING = "rollingUpdate"
_LISTS = ("cliques", "podCliqueScalingGroups")


class EarlierRender(Record):
    """The facts about the objects before the change, for all workloads of a run.

    `sizes` has `minReplicas` of each podgroup, by the podgroup's name. `release` is the release of the baseline, or
    None if unknown.
    """

    sizes: Mapping[str, int]
    release: Revision | None = None

    @classmethod
    def of(cls, inventory: Inventory, release: Revision | None) -> EarlierRender:
        """Return the facts about the objects of the inventory before the change."""
        return cls(_sizes(inventory), release)

    def problems(
        self, value: Mapping[str, Value], stored: Mapping[str, Value] | None, pcs: PodCliqueSet, context: Context
    ) -> list[tuple[Rule, Problem]]:
        """Return the warnings about a workload.

        `value` is its manifest, `stored` is its manifest before the change or None, and `pcs` has its defaults.
        """
        return run(_STORED_STEPS, _Change(value, stored, pcs, self), context)


class _Change(Record):
    value: Mapping[str, Value]
    stored: Mapping[str, Value] | None
    pcs: PodCliqueSet
    before: EarlierRender


def _kept_updates(change: _Change, context: Context) -> Iterator[Problem]:
    """Yield problems of the object that an apply makes, because it keeps a stored rollingUpdate."""
    if change.stored is None:
        return
    merged = _merge(change.value, default(change.stored, change.before.release or context.revision, create=False))
    if merged is None:
        return
    checks = prepare((Scope(cliques_of, cliques.CLIQUE_UPDATES), Scope(groups_of, cliques.GROUP_UPDATES)))
    known = {problem.path for _, problem in run(checks, change.pcs, context)}
    whole = PodCliqueSet.read(default(merged, context.revision, create=False))
    for _, problem in run(checks, whole, context):
        if problem.path not in known:
            path = problem.path[: problem.path.index(_ROLLING) + 1]
            remedy = "replace the object once with `kubectl replace`"
            if whole.update_strategy != ON_DELETE:
                remedy = "write it here"
            message = (
                "the field is not set here, but `kubectl apply` keeps the stored value in the cluster. The webhook "
                f"answers: {problem.operator_message}; {remedy}"
            )
            yield Problem(path, message)


def _merge(value: Mapping[str, Value], stored: Mapping[str, Value]) -> Mapping[str, Value] | None:
    """Return `value` with the rollingUpdates that only `stored` has. Return None if there are none."""
    template, keeps = dict(mapping_at(value, "spec", "template")), False
    for field in _LISTS:
        before = {entry.get("name"): entry for entry in mappings_in_place(value_at(stored, "spec", "template", field))}
        entries: list[Value] = []
        for entry in mappings_in_place(template.get(field)):
            rolling = mapping_at(before.get(entry.get("name"), {}), _ROLLING)
            own = mapping_at(entry, _ROLLING)
            keeps = keeps or not rolling.keys() <= own.keys()
            entries.append({**entry, _ROLLING: {**rolling, **own}} if rolling else dict(entry))
        if entries:
            template[field] = entries
    return {**value, "spec": {**mapping_at(value, "spec"), "template": template}} if keeps else None


def _check_smaller_gangs(change: _Change, context: Context) -> Iterator[Problem]:
    """Yield a warning for each clique if its gang needed all pods by an earlier default, but now needs only one."""
    # If the baseline has the workload, the webhook refuses the change of minAvailable.
    if context.revision.min_available_default != "One" or change.stored is not None:
        return
    written = mappings_in_place(value_at(change.value, "spec", "template", "cliques"))
    for index, (clique, entry) in enumerate(zip(change.pcs.cliques, written, strict=True)):
        if clique.replicas < 2 or value_at(entry, "spec", "minAvailable") is not None:
            continue
        if _size_before(change, clique.name) == clique.replicas:
            message = (
                f'minAvailable is not set. Its default is "1" in {context.revision.name}, and was "{clique.replicas}", '
                "like replicas, in earlier releases. A gang no longer waits for all pods of the clique. Set "
                "minAvailable"
            )
            yield Problem((*TEMPLATE, "cliques", index, "spec", "minAvailable"), message)


def _size_before(change: _Change, clique: str) -> int | None:
    """Return `minReplicas` of the clique's first podgroup in the earlier render. Return None if it has none."""
    pcs, sizes = change.pcs, change.before.sizes
    groups = [group.name for group in pcs.groups if clique in group.clique_names]
    if groups:
        return sizes.get(grouped_clique(scaling_group(pcs.name, 0, groups[0]), 0, clique))
    return sizes.get(standalone_clique(pcs.name, 0, clique))


def _sizes(inventory: Inventory) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for podgang in earlier_podgangs(inventory).values():
        for podgroup in mappings_in_place(value_at(podgang, "spec", "podgroups")):
            name, size = podgroup.get("name"), podgroup.get("minReplicas")
            if isinstance(name, str) and type(size) is int:
                sizes[name] = size
    return sizes


STORED: tuple[Check[_Change], ...] = (
    Check(
        Rule(
            "rolling-update-stored",
            "The rollingUpdate that the cluster has stored conflicts with the changed workload.",
            "spec/grove-releases.md#2.6.7",
            Severity.WARNING,
        ),
        _kept_updates,
    ),
    Check(
        Rule(
            "min-available-default",
            "The new default of minAvailable makes a gang smaller.",
            "spec/grove-releases.md#2.6.10",
            Severity.WARNING,
        ),
        _check_smaller_gangs,
    ),
)
"""Checks of stored fields that the manifests do not have. They report warnings."""

_STORED_STEPS = prepare(STORED)


_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Stored(Record):
    """A workload with its defaults. If the webhook added the MNNVL annotation, `added` is the annotation's value."""

    value: Mapping[str, Value]
    added: Value = None


def as_stored(baseline: Mapping[str, Value], context: Context) -> Stored:
    """Return `baseline` as the cluster stores it. It is a manifest of the user, or was read from a cluster."""
    annotation = context.revision.mnnvl_annotation
    value = default(baseline, context.revision, auto_mnnvl=context.auto_mnnvl and not _is_export(baseline))
    if annotation is None:
        return Stored(value)
    is_written = _is_written(baseline, annotation, context)
    return Stored(value, None if is_written else _annotations(value).get(annotation))


def inherit_annotation(value: Mapping[str, Value], before: Stored, context: Context) -> Mapping[str, Value]:
    """Return `value` with the annotation that the webhook added before. An apply does not remove it."""
    annotations, annotation = _annotations(value), context.revision.mnnvl_annotation
    if before.added is None or annotation is None or annotation in annotations:
        return value
    metadata = {**mapping_at(value, "metadata"), "annotations": {**annotations, annotation: before.added}}
    return {**value, "metadata": metadata}


def _is_written(baseline: Mapping[str, Value], annotation: str, context: Context) -> bool:
    """Return True if the user wrote the annotation in `baseline`, and the webhook did not add it.

    If `baseline` was read from a cluster, the record of `kubectl apply` shows this.
    """
    annotations = _annotations(baseline)
    if annotation not in annotations or not _is_export(baseline):
        return annotation in annotations
    applied = annotations.get(_APPLIED)
    if isinstance(applied, str):
        return annotation in _annotations(_read_json(applied))
    others = {key: text for key, text in annotations.items() if key != annotation}
    metadata = {**mapping_at(baseline, "metadata"), "annotations": others}
    created = default({**baseline, "metadata": metadata}, context.revision, auto_mnnvl=context.auto_mnnvl)
    return _annotations(created).get(annotation) != annotations[annotation]


def _is_export(baseline: Mapping[str, Value]) -> bool:
    """Return True if `baseline` was read from a cluster."""
    return bool(baseline.get("status")) or bool(value_at(baseline, "metadata", "uid"))


def _read_json(text: str) -> Mapping[str, Value]:
    import json

    try:
        return mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _annotations(value: Mapping[str, Value]) -> Mapping[str, Value]:
    return mapping_at(value, "metadata", "annotations")


RECORD_NOTE = "constraints"
"""The name of the annotation with the recorded constraints, without its prefix `packwise.dev/`."""

_SET = "packDomain"
_CONSTRAINT = "topologyConstraint"
_NAME = "clusterTopologyName"
_CLIQUES = "cliques"
_GROUPS = "podCliqueScalingGroups"


def record_of(pcs: PodCliqueSet) -> str:
    """Return the constraints of `pcs` as JSON: `{"packDomain":"block","podCliqueScalingGroups":{"prefill":"rack"}}`.

    A constraint with other fields than packDomain is written as an object with its fields. For the set, the key of this
    object is `topologyConstraint`.
    """
    fields: dict[str, str] = {}
    if pcs.topology_name is not None:
        fields[_NAME] = json_string(pcs.topology_name)
    if pcs.topology is not None:
        fields[_SET if _is_domain_only(pcs.topology) else _CONSTRAINT] = _as_json(pcs.topology)
    for key, parts in ((_CLIQUES, pcs.cliques), (_GROUPS, pcs.groups)):
        named = _by_name(parts)
        if named:
            fields[key] = json_object(named)
    return json_object(fields)


def with_record(pcs: PodCliqueSet, record: str) -> PodCliqueSet | None:
    """Return `pcs` with the constraints of `record`. Return None if `record` is invalid."""
    import json

    try:
        fields: Value = json.loads(record)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    cliques, groups = mapping_at(fields, _CLIQUES), mapping_at(fields, _GROUPS)
    name = fields.get(_NAME)
    return pcs.replace(
        topology_name=name if isinstance(name, str) else None,
        topology=_constraint(fields.get(_SET, fields.get(_CONSTRAINT))),
        cliques=tuple(clique.replace(topology=_constraint(cliques.get(clique.name))) for clique in pcs.cliques),
        groups=tuple(group.replace(topology=_constraint(groups.get(group.name))) for group in pcs.groups),
    )


def _by_name(parts: Iterable[Clique | ScalingGroup]) -> dict[str, str]:
    return {part.name: _as_json(part.topology) for part in parts if part.topology is not None}


def _is_domain_only(constraint: TopologyConstraint) -> bool:
    return constraint.pack is None and constraint.topology_name is None


def _as_json(constraint: TopologyConstraint) -> str:
    if _is_domain_only(constraint):
        return json_string(constraint.pack_domain)
    pack = constraint.pack
    fields = {"topologyName": constraint.topology_name or "", "packDomain": constraint.pack_domain}
    parts = {key: json_string(text) for key, text in fields.items() if text}
    if pack is not None:
        domains = {"required": pack.required, "preferred": pack.preferred}
        parts["pack"] = json_object({key: json_string(text) for key, text in domains.items() if text is not None})
    return json_object(parts)


def _constraint(value: Value) -> TopologyConstraint | None:
    return TopologyConstraint(value) if isinstance(value, str) else read_constraint(value)


class History(Record):
    """The known past of a workload: its manifest in the baseline and the record of an earlier render.

    `revision` is the revision of the baseline, or None if it is the revision of the input.
    """

    baseline: Mapping[str, Value] | None = None
    record: str | None = None
    revision: Revision | None = None


class Admitted(Record):
    """The result of admission: the workload with its defaults, and the problems for which the webhook refuses it.

    `existing` is true if the cluster already has the workload.
    """

    pcs: PodCliqueSet
    problems: list[tuple[Rule, Problem]]
    existing: bool


def admit(value: Mapping[str, Value], history: History, admission: str, context: Context) -> Admitted:
    """Return the result of the webhook for `value`. `admission` is the value of this setting."""
    if is_new(value, history, admission):
        pcs = PodCliqueSet.read(default(value, context.revision, auto_mnnvl=context.auto_mnnvl))
        return Admitted(pcs, validate_create(pcs, context), existing=False)
    past = context if history.revision is None else context.replace(revision=history.revision)
    stored = _stored_baseline(history.baseline, past)
    defaulted = default(value, context.revision, create=False)
    new = PodCliqueSet.read(defaulted if stored is None else inherit_annotation(defaulted, stored, past))
    old = PodCliqueSet.read(stored.value) if stored else _recorded_workload(new, history, recorded=admission == "Auto")
    return Admitted(new, validate_update(old, new, context), existing=True)


def is_new(value: Mapping[str, Value], history: History, admission: str) -> bool:
    """Return True if the cluster does not have the workload yet, by the setting `admission`.

    With "Auto", a workload is new if it has no status, no object in the baseline, and no record.
    """
    return admission == "New" or (admission == "Auto" and not _is_known(value, history))


def _is_known(value: Mapping[str, Value], history: History) -> bool:
    return bool(value.get("status")) or history.baseline is not None or history.record is not None


def _stored_baseline(baseline: Mapping[str, Value] | None, context: Context) -> Stored | None:
    """Return the baseline as the cluster stores it. Return None if it is missing or cannot be decoded."""
    if baseline is None or _is_undecodable(baseline, context.revision):
        return None
    return as_stored(baseline, context)


def _recorded_workload(new: PodCliqueSet, history: History, *, recorded: bool) -> PodCliqueSet:
    """Return `new` with the constraints that an earlier render recorded, or `new` itself without a valid record."""
    if recorded and history.record is not None:
        return with_record(new, history.record) or new
    return new


def _is_undecodable(value: Mapping[str, Value], revision: Revision) -> bool:
    return any(problem.stage is Stage.DECODE for problem in check_shape(value, revision, new=False))
