"""Rules about what a cluster holds beside the files, and an apply leaves there: replicas, preferences, updates, pods.

Source: spec/grove.md#7, spec/grove-releases.md#3.2, #2.6, spec/designs.md#7.2, #1.

The webhook judges the object with these.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.findings.finding import Problem, Rule
from packwise.frontends.grove.default import default
from packwise.frontends.grove.names import grouped_clique, scaling_group, standalone_clique
from packwise.frontends.grove.podcliqueset import ON_DELETE, PodCliqueSet
from packwise.frontends.grove.rules.check import TEMPLATE, Check, Context, Scope, cliques_of, groups_of, run
from packwise.objects.identity import PART_OF, identity
from packwise.objects.kinds import POD_CLIQUE_SET, PODGANG
from packwise.placement import Bounds
from packwise.topology.levels import Level

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.objects.index import Index, Inventory
    from packwise.objects.place import Origin
    from packwise.placement import Gang, PodSet
    from packwise.revisions.revision import Revision

_GROUP = POD_CLIQUE_SET.group

Named = tuple[str, str]
"""Namespace and name."""


class Replicas(NamedTuple):
    """The replicas of live scaling groups and cliques, by namespace and name."""

    groups: Mapping[Named, int] = {}
    cliques: Mapping[Named, int] = {}


def live_replicas(index: Index) -> Replicas:
    """The replicas of every PodCliqueScalingGroup and PodClique."""
    return Replicas(_counts(index, "PodCliqueScalingGroup"), _counts(index, "PodClique"))


def _counts(index: Index, kind: str) -> dict[Named, int]:
    """`spec.replicas` of every object of the kind, by namespace and name."""
    counts: dict[Named, int] = {}
    for item in index.of_kind(_GROUP, kind):
        replicas = item.get("spec.replicas")
        if type(replicas) is int:
            counts[identity(item.value)[2:]] = replicas
    return counts


def scheduled_pods(index: Index | None) -> dict[Named, int]:
    """`status.scheduledReplicas` of all PodCliques of each PodCliqueSet, by its namespace and name."""
    pods: dict[Named, int] = {}
    for item in index.of_kind(_GROUP, "PodClique") if index is not None else ():
        workload, count = item.get(("metadata", "labels", PART_OF)), item.get("status.scheduledReplicas")
        if isinstance(workload, str) and type(count) is int:
            at = (identity(item.value)[2], workload)
            pods[at] = pods.get(at, 0) + count
    return pods


def earlier_podgangs(inventory: Inventory) -> dict[tuple[str, str], Mapping[str, Value]]:
    """The PodGangs of before by namespace and name.

    Those of an earlier render in the input count before the baseline's, which the operator may have made.
    """
    baseline = inventory.baseline
    before = () if baseline is None else (*baseline.users.items(), *baseline.generated.items())
    return {
        (namespace, name): item.value
        for (group, kind, namespace, name), item in (*before, *inventory.items.generated.items())
        if (group, kind) == PODGANG.key
    }


def keep_preferred(gang: Gang, earlier: Mapping[str, Value] | None) -> Gang:
    """`gang`, which is built without a topology, with what `earlier` (None: unknown) preferred at the same places.

    Nothing is required there any more, and an inner set that prefers nothing goes.
    """
    spec = _mapping(earlier, "spec")
    leaves, groups = _by_name(spec, "podgroups"), _by_name(spec, "topologyConstraintGroupConfigs")
    sets = [_preferring(pods, groups if pods.members is None else leaves) for pods in gang.sets]
    kept = [pods for pods in sets if pods.members is not None or not pods.bounds.is_empty]
    parents = {pods.name for pods in kept if pods.members is None}
    return gang._replace(
        bounds=_preferred_bounds(spec, gang.origin),
        sets=tuple([pods if pods.parent in parents else pods._replace(parent=None) for pods in kept]),
    )


def _preferring(pods: PodSet, earlier: Mapping[str, Mapping[str, Value]]) -> PodSet:
    return pods._replace(bounds=_preferred_bounds(earlier.get(pods.name), pods.origin))


def _preferred_bounds(value: Mapping[str, Value] | None, origin: Origin) -> Bounds:
    key = _mapping(_mapping(value, "topologyConstraint"), "packConstraint").get("preferred")
    # Which domain the label key was of is not recorded.
    return Bounds(None, Level("", key), origin._replace(rule="spec/designs.md#1")) if isinstance(key, str) else Bounds()


def _by_name(spec: Mapping[str, Value], key: str) -> dict[str, Mapping[str, Value]]:
    listed = spec.get(key)
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return {name: entry for entry in entries if isinstance(name := entry.get("name"), str)}


def _mapping(value: Mapping[str, Value] | None, key: str) -> Mapping[str, Value]:
    part = None if value is None else value.get(key)
    return part if isinstance(part, dict) else {}


_ROLLING = "rollingUpdate"
_LISTS = ("cliques", "podCliqueScalingGroups")


class EarlierRender(NamedTuple):
    """The render before a change, for all workloads of a run.

    `sizes` are the minReplicas of podgroups, by name; `release` is the release that the baseline was written for, None
    where it tells none.
    """

    sizes: Mapping[str, int]
    release: Revision | None = None

    @classmethod
    def of(cls, inventory: Inventory, release: Revision | None) -> EarlierRender:
        """The inventory's objects from before the change."""
        return cls(_sizes(inventory), release)

    def problems(
        self, value: Mapping[str, Value], stored: Mapping[str, Value] | None, pcs: PodCliqueSet, context: Context
    ) -> list[tuple[Rule, Problem]]:
        """The warnings about a workload: its value, the one `stored` before the change, and `pcs`, the defaulted."""
        return run(STORED, _Change(value, stored, pcs, self), context)


class _Change(NamedTuple):
    value: Mapping[str, Value]
    stored: Mapping[str, Value] | None
    pcs: PodCliqueSet
    before: EarlierRender


def _kept_updates(change: _Change, context: Context) -> Iterator[Problem]:
    """The webhook's refusals of the object with the rollingUpdates that stay in the cluster."""
    if change.stored is None:
        return
    merged = _merge(change.value, default(change.stored, change.before.release or context.revision, create=False))
    if merged is None:
        return
    # Few changes come by here.
    from packwise.frontends.grove.rules.rolling_update import CLIQUE_ROLLING, GROUP_ROLLING

    checks = (Scope(cliques_of, CLIQUE_ROLLING), Scope(groups_of, GROUP_ROLLING))
    known = {problem.path for _, problem in run(checks, change.pcs, context)}
    whole = PodCliqueSet.read(default(merged, context.revision, create=False))
    for _, problem in run(checks, whole, context):
        if problem.path not in known:
            path = problem.path[: problem.path.index(_ROLLING) + 1]
            remedy = "replace the object once with `kubectl replace`"
            if whole.update_strategy != ON_DELETE:
                remedy = "write it here"
            message = (
                "is left out here, and stays in the cluster under `kubectl apply` as it was written or filled in "
                f"before, so the webhook answers: {problem.operator_message}; {remedy}"
            )
            yield Problem(path, message)


def _merge(value: Mapping[str, Value], stored: Mapping[str, Value]) -> Mapping[str, Value] | None:
    """`value` with each rollingUpdate of `stored` that it leaves out; None where it leaves out none."""
    template, keeps = dict(_mapping(_mapping(value, "spec"), "template")), False
    for field in _LISTS:
        before = {entry.get("name"): entry for entry in _entries(_mapping(_mapping(stored, "spec"), "template"), field)}
        entries: list[Value] = []
        for entry in _entries(template, field):
            rolling = _mapping(before.get(entry.get("name"), {}), _ROLLING)
            own = _mapping(entry, _ROLLING)
            keeps = keeps or not rolling.keys() <= own.keys()
            entries.append({**entry, _ROLLING: {**rolling, **own}} if rolling else dict(entry))
        if entries:
            template[field] = entries
    return {**value, "spec": {**_mapping(value, "spec"), "template": template}} if keeps else None


def _smaller(change: _Change, context: Context) -> Iterator[Problem]:
    """The cliques of which a gang asked for all pods by an earlier release's default, and asks for one now."""
    # A workload of the baseline is judged as an update, which is refused.
    if context.revision.min_available_default != "One" or change.stored is not None:
        return
    written = _entries(_mapping(_mapping(change.value, "spec"), "template"), "cliques")
    for index, (clique, entry) in enumerate(zip(change.pcs.cliques, written, strict=True)):
        if clique.replicas < 2 or _mapping(entry, "spec").get("minAvailable") is not None:
            continue
        if _size_before(change, clique.name) == clique.replicas:
            message = (
                f'left out, it is "1" in {context.revision.name}, and was "{clique.replicas}", like replicas, in the '
                "release before the change: a gang no longer waits for all pods of the clique; write minAvailable"
            )
            yield Problem(_min_available(index), message)


def _min_available(index: int) -> FieldPath:
    return (*TEMPLATE, "cliques", index, "spec", "minAvailable")


def _size_before(change: _Change, clique: str) -> int | None:
    """The minReplicas of the clique's first podgroup, as it was rendered before."""
    pcs, sizes = change.pcs, change.before.sizes
    groups = [group.name for group in pcs.groups if clique in group.clique_names]
    if groups:
        return sizes.get(grouped_clique(scaling_group(pcs.name, 0, groups[0]), 0, clique))
    return sizes.get(standalone_clique(pcs.name, 0, clique))


def _sizes(inventory: Inventory) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for podgang in earlier_podgangs(inventory).values():
        for podgroup in _entries(_mapping(podgang, "spec"), "podgroups"):
            name, size = podgroup.get("name"), podgroup.get("minReplicas")
            if isinstance(name, str) and type(size) is int:
                sizes[name] = size
    return sizes


def _entries(value: Mapping[str, Value], key: str) -> list[Mapping[str, Value]]:
    entries = value.get(key)
    return [entry if isinstance(entry, dict) else {} for entry in entries] if isinstance(entries, list) else []


STORED: tuple[Check[_Change], ...] = (
    Check(
        Rule(
            "rolling-update-stored",
            "A rollingUpdate that stays in the cluster goes with what is applied.",
            "spec/grove-releases.md#2.6.7",
            Severity.WARNING,
        ),
        _kept_updates,
    ),
    Check(
        Rule(
            "min-available-default",
            "A release that fills in another minAvailable makes no smaller gang.",
            "spec/grove-releases.md#2.6.10",
            Severity.WARNING,
        ),
        _smaller,
    ),
)
"""Warnings about what the files do not show."""
