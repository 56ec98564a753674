"""What a cluster holds beside the files, and an apply leaves there: a rollingUpdate that admission filled in, a gang's
size by an earlier release's default.

The webhook judges the object with these. Source: spec/grove-releases.md#2.6.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.findings.finding import Problem, Rule
from packwise.frontends.grove.default import default
from packwise.frontends.grove.names import grouped_clique, scaling_group, standalone_clique
from packwise.frontends.grove.podcliqueset import ON_DELETE, PodCliqueSet
from packwise.frontends.grove.preferred import earlier_podgangs
from packwise.frontends.grove.rules.check import TEMPLATE, Check, Context, Scope, cliques_of, groups_of, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.objects.index import Inventory
    from packwise.revisions.revision import Revision

__all__ = ["STORED", "Before"]

_ROLLING = "rollingUpdate"
_LISTS = ("cliques", "podCliqueScalingGroups")


class Before(NamedTuple):
    """What was rendered before a change, for all workloads of a run.

    `sizes` are the minReplicas of podgroups, by name; `release` is the release that the baseline was written for, None
    where it tells none.
    """

    sizes: Mapping[str, int]
    release: Revision | None = None

    @classmethod
    def of(cls, inventory: Inventory, release: Revision | None) -> Before:
        """What the inventory holds of the time before the change."""
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
    before: Before


def _kept(change: _Change, context: Context) -> Iterator[Problem]:
    """What the webhook refuses in the object with the rollingUpdates that stay in the cluster."""
    if change.stored is None:
        return
    merged = _merged(change.value, default(change.stored, change.before.release or context.revision, create=False))
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


def _merged(value: Mapping[str, Value], stored: Mapping[str, Value]) -> Mapping[str, Value] | None:
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


def _mapping(value: Mapping[str, Value], key: str) -> Mapping[str, Value]:
    part = value.get(key)
    return part if isinstance(part, dict) else {}


def _entries(value: Mapping[str, Value], key: str) -> list[Mapping[str, Value]]:
    entries = value.get(key)
    return [entry if isinstance(entry, dict) else {} for entry in entries] if isinstance(entries, list) else []


_SPEC = "spec/grove-releases.md#2.6"

STORED: tuple[Check[_Change], ...] = (
    Check(
        Rule(
            "rolling-update-stored",
            "A rollingUpdate that stays in the cluster goes with what is applied.",
            _SPEC,
            Severity.WARNING,
        ),
        _kept,
    ),
    Check(
        Rule(
            "min-available-default",
            "A release that fills in another minAvailable makes no smaller gang.",
            _SPEC,
            Severity.WARNING,
        ),
        _smaller,
    ),
)
"""Warnings about what the files do not show."""
