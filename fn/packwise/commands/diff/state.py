"""One of the two states that are compared: the objects a scheduler is given, and where they come from."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity, exit_code
from packwise.commands.diff.change import ORDER, by_identity, is_deeper, word_of
from packwise.commands.topologies import has_sources, overview
from packwise.findings.finding import Finding
from packwise.objects.identity import format_identity, identity, is_generated
from packwise.objects.index import READABLE
from packwise.objects.kinds import CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING, GANGS
from packwise.pipeline import render
from packwise.select import Configured

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.objects.identity import Identity
    from packwise.select import Package

__all__ = ["MAX_DEPTH", "State", "state_after", "state_before"]

MAX_DEPTH = 100
"""How deep the mappings and lists of a compared object may be nested; Kubernetes' own objects stay below 20."""

_MANAGED_BY = ("app.kubernetes.io/managed-by", "grove-operator")
_SERVER = ("uid", "resourceVersion", "managedFields")
_OTHERS = frozenset({CLUSTER_TOPOLOGY.name, CLUSTER_TOPOLOGY_BINDING.name})
"""Kinds that users write too: an export of these alone is input like any other."""


class State(NamedTuple):
    """The compared objects of one state; None where its sources cannot be rendered.

    `rendered` tells that they follow from sources; else they are what was found, and `kinds` those that occur.
    Of a rendered state, `kinds` are all it could hold and `enabled` is whether topology-aware scheduling is. `results`
    are the errors: of a state after a change, what the operator or an API server would refuse. `render_results` are
    all results of the render. `unjudged` are workloads whose gangs run, as the state before shows,
    but of which it has no object to judge an update by.
    """

    objects: Mapping[Identity, KubeObject] | None
    rendered: bool
    kinds: frozenset[str]
    enabled: bool = False
    results: tuple[Result, ...] = ()
    render_results: tuple[Result, ...] = ()
    unjudged: tuple[str, ...] = ()


def state_before(package: Package) -> State:
    """The state before a change: what stands stands, and its workloads are judged as those that run."""
    if not _is_rendered(package):
        return _exported(package)
    return _rendered(package, package.items)


def state_after(package: Package, earlier: Package) -> State:
    """The state after a change; `earlier` is the package of the other one, against which updates are judged.

    Where updates would be refused, the objects are those that they would lead to. A workload of which `earlier`
    has gangs and nothing else runs already, so it counts as unchanged.
    """
    if not _is_rendered(package):
        return _exported(package)
    before = earlier.items
    package = package._replace(configured_before=Configured(earlier.function_config, earlier.context))
    running = _running(package, before)
    state = _rendered(package, (*before, *running))._replace(
        unjudged=tuple(format_identity(identity(item.value)) for item in running)
    )
    if state.objects is not None:
        return state
    accepted = _rendered(package, package.items)
    return accepted._replace(results=state.results, unjudged=state.unjudged)


def _running(package: Package, before: tuple[KubeObject, ...]) -> list[KubeObject]:
    """The workloads of the package that gangs among `before` belong to, and that are not among these themselves."""
    gangs = {(identity(item.value)[2], _part_of(item)) for item in before if _kind(item) in ORDER}
    known = {identity(item.value) for item in before}
    workloads = [use.workload for use in overview(package).uses if use.document is None] if gangs else []
    return [item for item in workloads if (key := identity(item.value))[2:] in gangs and key not in known]


def _part_of(item: KubeObject) -> str | None:
    name = item.get(("metadata", "labels", "app.kubernetes.io/part-of"))
    return name if isinstance(name, str) else None


def _rendered(package: Package, baseline: tuple[KubeObject, ...]) -> State:
    answer = render(package._replace(baseline=baseline), previews=True)
    errors = tuple(result for result in answer.results if result.severity is Severity.ERROR)
    objects = None
    if not exit_code(answer.results):
        objects = by_identity([item for item in answer.items if _kind(item) in ORDER])
    kinds = {_kind(item) for item in objects.values()} if objects is not None else set[str]()
    selection = answer.selection
    emitted = kinds if selection is None else kinds.union(selection.settings.emit)
    enabled = selection is not None and selection.enabled
    return _bounded(State(objects, True, frozenset(emitted), enabled, errors, answer.results))


def _exported(package: Package) -> State:
    objects = by_identity([item for item in package.items if _kind(item) in ORDER])
    return _bounded(State(objects, False, frozenset(map(_kind, objects.values()))))


def _bounded(state: State) -> State:
    """The state; without objects where one is nested so deep that no comparison of it would end well."""
    message = f"must not be nested deeper than {MAX_DEPTH} levels to be compared"
    deep = [item for item in (state.objects or {}).values() if is_deeper(item.value, MAX_DEPTH)]
    too_deep = tuple(Finding.of(READABLE, item, (), message).to_result() for item in deep)
    return state._replace(objects=None, results=(*state.results, *too_deep)) if too_deep else state


def _is_rendered(package: Package) -> bool:
    """Whether there is something to render, and nothing tells that a cluster did so already."""
    return not _are_live(package.items) and has_sources(package)


_REPLACED = frozenset([kind.word for kind in GANGS if kind.replaced_by_operator])


def _are_live(items: Iterable[KubeObject]) -> bool:
    for item in items:
        kind = _kind(item)
        if kind not in ORDER or kind in _OTHERS:
            continue
        metadata = item.get("metadata")
        fields = metadata if isinstance(metadata, dict) else {}
        if any(key in fields for key in _SERVER):
            return True
        operators = item.get(("metadata", "labels", _MANAGED_BY[0])) == _MANAGED_BY[1]
        if operators and kind in _REPLACED and not is_generated(item.value):
            return True
    return False


def _kind(item: KubeObject) -> str:
    return word_of(identity(item.value))
