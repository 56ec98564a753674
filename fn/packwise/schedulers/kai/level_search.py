"""The levels that KAI's scheduler tries for each topology constraint of a PodGroup, or why it never places its pods.

KAI's API server and webhook take any names. Source: spec/podgrouper.md#9.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Effect, Problem
from packwise.objects.identity import identity, is_placeholder
from packwise.objects.kinds import TOPOLOGY
from packwise.schedulers.kai.allocate.domains import ROOT, Silent, depth_of, levels_of, no_such_topology
from packwise.schedulers.kai.allocate.scene import Constraint, KaiTopology
from packwise.schedulers.kai.topology_manifest import NAME
from packwise.schedulers.kai.versions import LEVEL_ALIASES, minor_of
from packwise.wording import closest, near_miss

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.objects.place import Generated
    from packwise.schedulers.scheduler import SchedulerInput

__all__ = ["Search", "Topologies", "known_topologies", "read_topology", "search_problems", "searches"]

_REQUIRED, _PREFERRED = "requiredTopologyLevel", "preferredTopologyLevel"


class Topologies(NamedTuple):
    """The Topologies that are known, by name; `of_users`: whether users' own are among them.

    Where they are, one that is not known is probably nowhere; otherwise it may stand in another repository.
    """

    by_name: Mapping[str, KaiTopology] = {}
    of_users: bool = False


class Search(NamedTuple):
    """What the scheduler does about one constraint: it tries `levels`, from the finest to the coarsest, or nothing.

    Without levels and texts nothing is constrained. `pod_message` is what pods see, `log` what stands in the
    scheduler's log alone.
    """

    path: FieldPath
    """Of the `topologyConstraint`."""
    sub_group: str
    constraint: Constraint
    levels: tuple[str, ...] = ()
    pod_message: str = ""
    log: str = ""

    @property
    def is_constrained(self) -> bool:
        """Whether the scheduler looks at the constraint at all."""
        return bool(self.constraint.topology)


def searches(podgroup: Mapping[str, Value], topologies: Mapping[str, KaiTopology]) -> Iterator[Search]:
    """What the scheduler does about the PodGroup's constraint, then about those of its subgroups in their order."""
    _, _, namespace, name = identity(podgroup)
    for path, sub_group, holder in _holders(podgroup):
        constraint = _constraint(holder.get("topologyConstraint"))
        search = Search((*path, "topologyConstraint"), sub_group, constraint)
        if not search.is_constrained:
            yield search
            continue
        topology = topologies.get(constraint.topology)
        if topology is None:
            yield search._replace(pod_message=no_such_topology(constraint.topology))
            continue
        levels = levels_of(topology, constraint, sub_group)
        if isinstance(levels, Silent):
            yield search._replace(log=f"Failed to run SubsetNodes on job <{namespace}/{name}>: {levels.text}")
        else:
            tried = range(levels.finest, levels.coarsest - 1, -1)
            yield search._replace(levels=tuple([topology.levels[depth] if depth >= 0 else ROOT for depth in tried]))


def search_problems(podgroup: Mapping[str, Value], topologies: Topologies) -> Iterator[Problem]:
    """Why no pod of the PodGroup, or of a subgroup, is ever placed."""
    known = topologies.by_name
    for search in searches(podgroup, known):
        constraint = search.constraint
        if not search.is_constrained or is_placeholder(constraint.topology):
            continue
        topology = known.get(constraint.topology)
        if not constraint.required and not constraint.preferred:
            message = f"must name a level, in {_REQUIRED} or {_PREFERRED}"
            consequence = f"{NAME} schedules no pod by a constraint without one"
            yield _never(search.path, message, consequence, search.log if topology is not None else "")
        elif topology is not None:
            yield from _wrong_levels(search, topology) if search.log else ()
        elif topologies.of_users or near_miss(constraint.topology, list(known)):
            message = (
                f'must be one of the Topologies of the input; got "{constraint.topology}"'
                f"{closest(constraint.topology, sorted(known))}"
            )
            consequence = f"while there is none of that name, {NAME} schedules none of these pods"
            yield _never((*search.path, "topology"), message, consequence, search.pod_message)


def _wrong_levels(search: Search, topology: KaiTopology) -> Iterator[Problem]:
    """Each level that is wrong; KAI's text, which is about the first of them, stands there."""
    consequence = f"{NAME} schedules none of these pods, and says so in its log only"
    text, constraint = search.log, search.constraint
    for field, level in ((_REQUIRED, constraint.required), (_PREFERRED, constraint.preferred)):
        if level and depth_of(topology, level) is None:
            known = _names(topology)
            message = (
                f'must be a level of {TOPOLOGY.name} "{topology.name}", one of {", ".join(known)}; got "{level}"'
                f"{closest(level, known)}"
            )
            yield _never((*search.path, field), message, consequence, text)
            text = ""
    if text:
        message = f'must not be broader than {_REQUIRED}, "{constraint.required}"; got "{constraint.preferred}"'
        yield _never((*search.path, _PREFERRED), message, consequence, text)


def _never(path: FieldPath, message: str, consequence: str, text: str) -> Problem:
    return Problem(path, message, text or None, effect=Effect.IGNORED, consequence=consequence)


def known_topologies(source: SchedulerInput, rendered: Iterable[Generated]) -> Topologies:
    """The Topologies among the input and those of the render; of one name, users' own."""
    has_aliases = minor_of(source.settings.kai_version) >= LEVEL_ALIASES
    users = [item.value for item in source.inventory.items.of_kind(*TOPOLOGY.key)]
    topologies = [read_topology(value) for value in (*(topology.value for topology in rendered), *reversed(users))]
    by_name = {each.name: each if has_aliases else each._replace(aliases={}) for each in topologies}
    return Topologies(by_name, bool(users))


def read_topology(value: Mapping[str, Value]) -> KaiTopology:
    """A Topology as the scheduler reads it; what is no text is left out."""
    spec = value.get("spec")
    written = spec.get("levels") if isinstance(spec, dict) else None
    levels = [
        (label, level.get("alias"))
        for level in (written if isinstance(written, list) else ())
        if isinstance(level, dict) and isinstance(label := level.get("nodeLabel"), str)
    ]
    aliases = {alias: label for label, alias in levels if isinstance(alias, str) and alias}
    return KaiTopology(identity(value)[3], tuple([label for label, _ in levels]), aliases)


def _names(topology: KaiTopology) -> list[str]:
    """What a constraint may call the levels, from the broadest to the finest: node labels, each with its alias."""
    by_label = {label: alias for alias, label in topology.aliases.items()}
    return [name for label in topology.levels for name in (label, by_label.get(label)) if name]


def _holders(podgroup: Mapping[str, Value]) -> Iterator[tuple[FieldPath, str, Mapping[str, Value]]]:
    """What may have a constraint: the PodGroup itself and its subgroups, each with its path and name."""
    spec = podgroup.get("spec")
    if not isinstance(spec, dict):
        return
    yield ("spec",), "", spec
    groups = spec.get("subGroups")
    entries: Sequence[Value] = groups if isinstance(groups, list) else ()
    for index, group in enumerate(entries):
        if isinstance(group, dict):
            yield ("spec", "subGroups", index), _text(group, "name"), group


def _constraint(value: Value) -> Constraint:
    """The constraint; one with a field of another type, which the API server refuses, constrains nothing."""
    fields = [value.get(name) for name in ("topology", _REQUIRED, _PREFERRED)] if isinstance(value, dict) else []
    texts = [field or "" for field in fields if field is None or isinstance(field, str)]
    return Constraint(*texts) if len(texts) == 3 else Constraint("")


def _text(value: Mapping[str, Value], key: str) -> str:
    text = value.get(key)
    return text if isinstance(text, str) else ""
