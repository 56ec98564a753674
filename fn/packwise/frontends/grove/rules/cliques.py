"""Rules for the set's own numbers, its cliques with their pods and start order, and its scaling groups.

Source: spec/grove.md#r02 to #r05, #r08 to #r25, #r27 to #r42.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record, cast
from packwise import kubernetes
from packwise.findings import Rule
from packwise.frontends.grove.podcliqueset import TEMPLATE
from packwise.frontends.grove.rules.book import (
    Check,
    CliqueAt,
    Context,
    GroupAt,
    Scope,
    invalid,
    required_value,
)
from packwise.kubernetes import (
    ErrorType,
    OperatorError,
    TypedText,
    format_duration,
    go_quote,
    is_dns_subdomain,
    parse_duration,
    refusal,
)
from packwise.lenient import entries, text_at, value_at
from packwise.revisions.grove import ALPHA_8, ALPHA_9
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Problem
    from packwise.frontends.grove.podcliqueset import AutoScaling, PodCliqueSet

STARTUP_TYPES = ("CliqueStartupTypeAnyOrder", "CliqueStartupTypeExplicit", "CliqueStartupTypeInOrder")
"""The values of cliqueStartupType."""

_CLIQUES = "spec.template.cliques"


def duplicates(names: Sequence[str]) -> list[str]:
    """Each name that occurs more than once, in the order of first occurrence."""
    if len(set(names)) == len(names):
        return []
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return [name for name, count in seen.items() if count > 1]


def _replicas(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    if pcs.replicas < 0:
        text = "must be greater than or equal to 0"
        yield invalid(("spec", "replicas"), pcs.replicas, text, f'must be at least 0; got "{pcs.replicas}"')


def _startup_type(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    if pcs.startup_type not in STARTUP_TYPES:
        known = " ".join([f"{name}:{{}}" for name in STARTUP_TYPES])
        message = f'must be one of {list_known(STARTUP_TYPES)}; got "{pcs.startup_type}"'
        path = (*TEMPLATE, "cliqueStartupType")
        yield invalid(path, TypedText(pcs.startup_type), f"can only be one of map[{known}]", message)


def _any_clique(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    if not pcs.cliques:
        yield required_value(
            (*TEMPLATE, "cliques"), "at least one PodClique must be defined", "must have at least one clique; got none"
        )


def _any_clique_without_text(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    # Grove's HEAD panics before it can report this.
    for problem in _any_clique(pcs, context):
        yield problem.replace(operator_message=None, stage=None)


def _termination_delay(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    delay = parse_duration(pcs.termination_delay)
    if delay is not None and delay <= 0:
        path = (*TEMPLATE, "terminationDelay")
        text = "terminationDelay must be greater than 0"
        shown = format_duration(delay)
        yield invalid(path, TypedText(shown), text, f'must be a duration greater than 0; got "{pcs.termination_delay}"')


def _missing_name(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    if not at.clique.name.strip():
        yield required_value(at.path("name"), "field cannot be empty", "must name the clique")


def _name_dns(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    name = at.clique.name
    if not is_dns_subdomain(name):
        text = "invalid PodCliqueTemplateSpec name, must be a valid DNS subdomain"
        message = f'must be a DNS subdomain (lower case letters, digits, "-" and "."); got "{name}"'
        yield invalid(at.path("name"), name, text, message)


def _clique_replicas(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    if at.clique.replicas <= 0:
        text = "must be greater than 0"
        yield invalid(
            at.path("spec", "replicas"), at.clique.replicas, text, f'must be at least 1; got "{at.clique.replicas}"'
        )


def _min_positive(at: CliqueAt, context: Context) -> Iterator[Problem]:
    least = at.clique.min_available
    if least <= 0:
        text = "must be greater than 0"
        message = f'must be at least 1; got "{least}"'
        if least == 0 and context.revision.min_available_default == "WrittenReplicas":
            message += " (its default is `replicas` before defaulting; set `replicas`)"
        yield invalid(at.path("spec", "minAvailable"), least, text, message)


def _min_at_most(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    least = at.clique.min_available
    if least > at.clique.replicas:
        message = f"must be at most {at.clique.replicas}, the replicas; got {least}"
        yield invalid(at.path("spec", "minAvailable"), least, "minAvailable must not be greater than replicas", message)


def _duplicate(names: Sequence[str], field: str, *steps: str) -> Iterator[Problem]:
    repeated = duplicates(names)
    if repeated:
        at = len(names) - 1 - names[::-1].index(repeated[0])
        path: FieldPath = (*TEMPLATE, "cliques", at, *steps)
        error = OperatorError(f"{_CLIQUES}.{field}", ErrorType.DUPLICATE, repeated)
        yield refusal(path, f"two cliques have the same value: {list_known(repeated)}", error)


def _unique_names(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    return _duplicate([clique.name for clique in pcs.cliques], "name", "name")


def _unique_roles(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    return _duplicate([clique.role for clique in pcs.cliques], "roleName", "spec", "roleName")


def _one_scheduler(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    names = [clique.pod_spec.get("schedulerName") or "default-scheduler" for clique in pcs.cliques]
    other = next((index for index, name in enumerate(names) if name != names[0]), None)
    if other is not None:
        first = pcs.cliques[0].name
        message = f'all cliques need the same scheduler, but "{first}" has "{names[0]}"; got "{names[other]}"'
        path = (*TEMPLATE, "cliques", other, "spec", "podSpec", "schedulerName")
        text = "the schedulerName for all pods have to be the same"
        yield invalid(path, names[0], text, message, field=f"{_CLIQUES}.spec.podSpec.schedulerName")


_ANY = Rule("cliques", "A PodCliqueSet has no cliques.", "spec/grove.md#r04")

SET = (
    Check(Rule("replicas", "spec.replicas is negative.", "spec/grove.md#r02"), _replicas),
    Check(Rule("startup-type", "cliqueStartupType has an unknown value.", "spec/grove.md#r03"), _startup_type),
)
"""Rules of the set's own fields."""

CLIQUES_ANY = (
    Check(_ANY, _any_clique, until=ALPHA_9),
    Check(_ANY, _any_clique_without_text, since=ALPHA_9),
)
"""Rules that run before the rules of each clique."""

CLIQUE_NAME = (Check(Rule("clique-name", "A clique has no name.", "spec/grove.md#r05"), _missing_name),)
"""The first rules of each clique."""

CLIQUE_SIZE = (
    Check(Rule("clique-replicas", "A clique has a negative number of replicas.",
               "spec/grove.md#r08"), _clique_replicas),
    Check(Rule("clique-min-available", "minAvailable of a clique is less than 1.", "spec/grove.md#r10"), _min_positive),
    Check(Rule("clique-min-available-max", "minAvailable of a clique is greater than its replicas.",
               "spec/grove.md#r11"), _min_at_most),
)  # fmt: skip
"""Rules of the numbers of a clique."""

CLIQUE_NAME_DNS = (
    Check(Rule("clique-name-dns", "The name of a clique is not a DNS subdomain.", "spec/grove.md#r25"), _name_dns),
)
"""Rules that run after the spec of each clique."""

CLIQUES_UNIQUE = (
    Check(Rule("clique-names-unique", "Two cliques have the same name.", "spec/grove.md#r27"), _unique_names),
    Check(Rule("clique-roles-unique", "Two cliques have the same roleName.", "spec/grove.md#r28"), _unique_roles),
)
"""Rules of all cliques together."""

SAME_SCHEDULER = Rule("one-scheduler", "Cliques of one set name different schedulers.", "spec/grove.md#r29")
ONE_SCHEDULER = (Check(SAME_SCHEDULER, _one_scheduler, until=ALPHA_8),)
"""Runs after these rules, for releases without scheduler profiles."""

TERMINATION = (
    Check(
        Rule("termination-delay", "terminationDelay is not greater than 0.", "spec/grove.md#r42"), _termination_delay
    ),
)
"""Rules that run after the scaling groups."""


_AT_LEAST = "must be greater than or equal to"


class _Scaled(Record):
    """A clique that has an autoscaler."""

    at: CliqueAt
    scaling: AutoScaling


def _autoscaler(at: CliqueAt, _context: Context) -> Sequence[_Scaled]:
    scaling = at.clique.auto_scaling
    return (_Scaled(at, scaling),) if scaling else ()


def _min(scaled: _Scaled, _context: Context) -> Iterator[Problem]:
    least_replicas, least = scaled.scaling.min_replicas, scaled.at.clique.min_available
    if least_replicas is not None and least_replicas < least:
        message = f'must be at least minAvailable ("{least}"); got "{least_replicas}"'
        path = scaled.at.path("spec", "autoScalingConfig", "minReplicas")
        yield invalid(path, least_replicas, f"{_AT_LEAST} podCliqueSpec.minAvailable", message)


def _max_min(scaled: _Scaled, _context: Context) -> Iterator[Problem]:
    most, least = scaled.scaling.max_replicas, scaled.scaling.min_replicas
    if least is not None and most < least:
        message = f'must be at least minReplicas ("{least}"); got "{most}"'
        path = scaled.at.path("spec", "autoScalingConfig", "maxReplicas")
        yield invalid(path, most, f"{_AT_LEAST} podCliqueSpec.minReplicas", message)


def _max_replicas(scaled: _Scaled, _context: Context) -> Iterator[Problem]:
    most, replicas = scaled.scaling.max_replicas, scaled.at.clique.replicas
    if most < replicas:
        message = f'must be at least replicas ("{replicas}"); got "{most}"'
        path = scaled.at.path("spec", "autoScalingConfig", "maxReplicas")
        yield invalid(path, most, f"{_AT_LEAST} replicas", message)


AUTOSCALING = (
    Scope(_autoscaler, (
        Check(Rule("autoscaling-min", "minReplicas of an autoscaler is less than minAvailable.",
                   "spec/grove.md#r16"), _min),
        Check(Rule("autoscaling-max", "maxReplicas of an autoscaler is less than minReplicas.",
                   "spec/grove.md#r17"), _max_min),
        Check(Rule("autoscaling-max-replicas", "maxReplicas of an autoscaler is less than replicas.",
                   "spec/grove.md#r18"), _max_replicas),
    )),
)  # fmt: skip
"""Rules of the bounds of a clique's autoscaler."""


_SPREAD_FIELDS = (
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "labelSelector",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "matchLabelKeys",
)


class _Env(Record):
    """The environment of one container, names only."""

    path: FieldPath
    names: tuple[str, ...]

    @property
    def field(self) -> str:
        """Return the path in the operator's errors. It contains `podSpec.spec`."""
        at = self.path.index("podSpec") + 1
        return format_path((*self.path[:at], "spec", *self.path[at:]))


def _environments(at: CliqueAt, _context: Context) -> Iterable[_Env]:
    environments: list[_Env] = []
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(entries(at.clique.pod_spec.get(kind))):
            env = value_at(container, "env")
            if isinstance(env, list) and env:
                path = at.path("spec", "podSpec", kind, index, "env")
                environments.append(_Env(path, tuple(text_at(entry, "name") for entry in env)))
    return environments


def _env_name(env: _Env, _context: Context) -> Iterator[Problem]:
    for position, name in enumerate(env.names):
        faults = kubernetes.env_name(name)
        if faults:
            wrong = "; ".join(faults)
            path = (*env.path, position, "name")
            message = f'must be a valid name of an environment variable; got "{name}": {wrong}'
            yield invalid(path, name, wrong, message, field=f"{env.field}[{position}].name")


def _env_unique(env: _Env, _context: Context) -> Iterator[Problem]:
    repeated = duplicates(env.names)
    if repeated:
        message = f"sets a variable twice: {list_known(repeated)}"
        yield refusal(env.path, message, OperatorError(env.field, ErrorType.DUPLICATE, repeated))


def _spread(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    spread = at.clique.pod_spec.get("topologySpreadConstraints")
    if isinstance(spread, list):
        message = "must not be set: Grove places the pods by topologyConstraint; remove the field"
        field = format_path(at.path("spec", "podSpec", "spec", "topologySpreadConstraints"))
        path = at.path("spec", "podSpec", "topologySpreadConstraints")
        yield invalid(path, [_as_typed(entry) for entry in spread], "must not be set", message, field=field)


def _as_typed(entry: Value) -> Value:
    """Return a constraint as Go prints its type: fields in order, with zero values of fields that are always
    written.
    """
    if not isinstance(entry, dict):
        entry = {}
    present = {name: entry[name] for name in _SPREAD_FIELDS if entry.get(name) is not None}
    return {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "", **present}


def _node_name(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    node = at.clique.pod_spec.get("nodeName")
    if isinstance(node, str) and node.strip():
        message = f'must not be set: the scheduler chooses the nodes of a gang; got "{node}"'
        field = format_path(at.path("spec", "podSpec", "spec", "nodeName"))
        yield invalid(at.path("spec", "podSpec", "nodeName"), node, "must not be set", message, field=field)


POD_SPEC = (
    Check(Rule("pod-topology-spread", "A new pod template has topologySpreadConstraints.", "spec/grove.md#r20"),
          _spread, create_only=True),
    Check(Rule("pod-node-name", "A new pod template sets nodeName.", "spec/grove.md#r21"),
          _node_name, create_only=True),
    Scope(_environments, (
        Check(Rule("env-name", "An environment variable has an invalid name.", "spec/grove.md#r22"), _env_name),
        Check(Rule("env-unique", "A container sets an environment variable twice.", "spec/grove.md#r23"), _env_unique),
    )),
)  # fmt: skip
"""Rules of one clique's pod template."""


EXPLICIT = "CliqueStartupTypeExplicit"
"""The startup type in which cliques name the cliques that they wait for."""


class _Dependency(Record):
    at: CliqueAt
    position: int
    name: str


def _dependencies(at: CliqueAt, _context: Context) -> Iterable[_Dependency]:
    if at.pcs.startup_type != EXPLICIT:
        return ()
    return [_Dependency(at, index, name) for index, name in enumerate(at.clique.starts_after or ())]


def _entry_named(dep: _Dependency, _context: Context) -> Iterator[Problem]:
    if not dep.name.strip():
        path = dep.at.path("spec", "startsAfter", dep.position)
        field = format_path(dep.at.path("spec", "startsAfter"))
        yield required_value(path, "clique dependency must not be empty", "must name a clique", field=field)


def _check_other_name(dep: _Dependency, _context: Context) -> Iterator[Problem]:
    if dep.name == dep.at.clique.name:
        path = dep.at.path("spec", "startsAfter", dep.position)
        field = format_path(dep.at.path("spec", "startsAfter"))
        text = "clique dependency cannot refer to itself"
        yield invalid(path, dep.name, text, f'clique "{dep.name}" cannot start after itself', field=field)


def _check_unique_names(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    repeated = duplicates(at.clique.starts_after or ()) if at.pcs.startup_type == EXPLICIT else []
    if repeated:
        path = at.path("spec", "startsAfter")
        error = OperatorError(format_path(path), ErrorType.DUPLICATE, repeated)
        yield refusal(path, f"names a clique twice: {list_known(repeated)}", error)


def _unknown_dependencies(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    if pcs.startup_type != EXPLICIT:
        return
    names = [clique.name for clique in pcs.cliques]
    unknown = [
        (i, j, dep) for i, c in enumerate(pcs.cliques) for j, dep in enumerate(c.starts_after or ()) if dep not in names
    ]
    if not unknown:
        return
    text = "unknown clique names found, all clique dependencies must be defined as cliques"
    joined = ",".join([dep for _, _, dep in unknown])
    # The operator has one error for all of them.
    problem = refusal((), "", OperatorError("spec.template.cliques.startsAfter", ErrorType.INVALID, joined, text))
    for i, j, dep in unknown:
        message = f'must name a clique of this set; got "{dep}", known: {list_known(names)}{closest(dep, names)}'
        yield problem.replace(path=(*TEMPLATE, "cliques", i, "spec", "startsAfter", j), message=message)


def _dependency_cycles(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    if pcs.startup_type != EXPLICIT:
        return
    graph: dict[str, list[str]] = {}
    for clique in pcs.cliques:
        graph.setdefault(clique.name, []).extend(clique.starts_after or ())
    circles = cycles(graph)
    if not circles:
        return
    text = "clique must not have circular dependencies"
    problem = refusal((), "", OperatorError("spec.template.cliques", ErrorType.INVALID, circles, text))
    for circle in circles:
        first = next(index for index, clique in enumerate(pcs.cliques) if clique.name in circle)
        message = f"these cliques wait for each other in a cycle: {list_known(circle)}"
        yield problem.replace(path=(*TEMPLATE, "cliques", first, "spec", "startsAfter"), message=message)


def cycles(graph: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Groups of two or more nodes that all reach each other (strongly connected components), without recursion."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    circles: list[list[str]] = []
    for root in graph:
        work = [] if root in order else [(root, iter(graph[root]))]
        if work:
            _enter(root, order, low, stack, on_stack)
        while work:
            node, targets = work[-1]
            following = next(targets, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    component = _component(node, stack, on_stack)
                    if len(component) > 1:
                        circles.append(component)
            elif following not in order:
                _enter(following, order, low, stack, on_stack)
                work.append((following, iter(graph.get(following, ()))))
            elif following in on_stack:
                low[node] = min(low[node], order[following])
    return circles


def _enter(node: str, order: dict[str, int], low: dict[str, int], stack: list[str], on_stack: set[str]) -> None:
    order[node] = low[node] = len(order)
    stack.append(node)
    on_stack.add(node)


def _component(node: str, stack: list[str], on_stack: set[str]) -> list[str]:
    members: list[str] = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        members.append(member)
        if member == node:
            return members


DEPENDENCIES = (
    Scope(_dependencies, (
        Check(Rule("starts-after-name", "An entry of startsAfter is empty.", "spec/grove.md#r12"), _entry_named),
        Check(Rule("starts-after-self", "A clique starts after itself.", "spec/grove.md#r13"), _check_other_name),
    )),
    Check(Rule("starts-after-unique", "startsAfter names a clique twice.", "spec/grove.md#r14"), _check_unique_names),
)  # fmt: skip
"""Rules of one clique's startsAfter; only for the explicit startup type."""

DEPENDENCY_GRAPH = (
    Check(
        Rule("starts-after-known", "startsAfter names a clique that does not exist.", "spec/grove.md#r30"),
        _unknown_dependencies,
    ),
    Check(
        Rule("starts-after-acyclic", "Cliques wait for each other in a cycle.", "spec/grove.md#r31"), _dependency_cycles
    ),
)
"""Rules of all startsAfter together; only for the explicit startup type."""


_GROUPS = "spec.template.podCliqueScalingGroups"


def _name(at: GroupAt, _context: Context) -> Iterator[Problem]:
    if not is_dns_subdomain(at.group.name):
        text = "invalid PodCliqueScalingGroupConfig name, must be a valid DNS subdomain"
        message = f'must be a DNS subdomain (lower case letters, digits, "-" and "."); got "{at.group.name}"'
        yield invalid(at.path("name"), at.group.name, text, message)


def _members(at: GroupAt, _context: Context) -> Iterator[Problem]:
    unknown = [name for name in dict.fromkeys(at.group.clique_names) if name not in at.clique_names]
    if not unknown:
        return
    names = [clique.name for clique in at.pcs.cliques]
    first = {name: place for place, name in reversed(list(enumerate(at.group.clique_names)))}
    error = OperatorError(
        f"{_GROUPS}[{at.position}].cliqueNames",
        ErrorType.INVALID,
        ",".join(unknown),
        "unidentified PodClique names found",
    )
    # The operator has one error for all of them.
    problem = refusal((), "", error)
    for name in unknown:
        message = f'must name a clique of this set; got "{name}", known: {list_known(names)}{closest(name, names)}'
        yield problem.replace(path=at.path("cliqueNames", first[name]), message=message)


def _group_replicas(at: GroupAt, _context: Context) -> Iterator[Problem]:
    if at.group.replicas <= 0:
        text = "must be greater than 0"
        yield invalid(at.path("replicas"), at.group.replicas, text, f'must be at least 1; got "{at.group.replicas}"')


def _group_min_positive(at: GroupAt, _context: Context) -> Iterator[Problem]:
    if at.group.min_available <= 0:
        text = "must be greater than 0"
        message = f'must be at least 1; got "{at.group.min_available}"'
        yield invalid(at.path("minAvailable"), at.group.min_available, text, message)


def _group_min_capped(at: GroupAt, _context: Context) -> Iterator[Problem]:
    group = at.group
    if group.min_available > group.replicas:
        message = f"must be at most {group.replicas}, the replicas; got {group.min_available}"
        text = "minAvailable must not be greater than replicas"
        yield invalid(at.path("minAvailable"), group.min_available, text, message)


def _scale_min(at: GroupAt, _context: Context) -> Iterator[Problem]:
    scaling, least = at.group.auto_scaling, at.group.min_available
    if scaling and scaling.min_replicas is not None and scaling.min_replicas < least:
        text = "scaleConfig.minReplicas must be greater than or equal to minAvailable"
        message = f'must be at least minAvailable ("{least}"); got "{scaling.min_replicas}"'
        yield invalid(at.path("scaleConfig", "minReplicas"), scaling.min_replicas, text, message)


def _group_names(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    names = [group.name for group in pcs.groups]
    repeated = duplicates(names)
    if repeated:
        at = len(names) - 1 - names[::-1].index(repeated[0])
        path = (*TEMPLATE, "podCliqueScalingGroups", at, "name")
        message = f"two scaling groups have the same name: {list_known(repeated)}"
        yield refusal(path, message, OperatorError(f"{_GROUPS}.name", ErrorType.DUPLICATE, repeated))


def _one_group(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    members = [(i, j, name) for i, group in enumerate(pcs.groups) for j, name in enumerate(group.clique_names)]
    repeated = duplicates([name for _, _, name in members])
    if repeated:
        i, j, _ = next(member for member in reversed(members) if member[2] == repeated[0])
        path = (*TEMPLATE, "podCliqueScalingGroups", i, "cliqueNames", j)
        message = f"scaling groups list a clique twice: {list_known(repeated)}"
        yield refusal(path, message, OperatorError(f"{_GROUPS}.cliqueNames", ErrorType.DUPLICATE, repeated))


def _no_autoscaler(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    grouped = pcs.grouped_cliques()
    text = "AutoScalingConfig is not allowed to be defined for PodClique that is part of scaling group"
    for index, clique in enumerate(pcs.cliques):
        if clique.auto_scaling and clique.name in grouped:
            path = (*TEMPLATE, "cliques", index, "spec", "autoScalingConfig")
            message = f'must not be set: clique "{clique.name}" scales with its scaling group; use its scaleConfig'
            yield invalid(path, clique.name, text, message, field=_GROUPS)


GROUP_NAMES = (
    Check(Rule("group-name-dns", "The name of a scaling group is not a DNS subdomain.", "spec/grove.md#r32"), _name),
    Check(
        Rule("group-members-known", "cliqueNames names a clique that does not exist.", "spec/grove.md#r33"), _members
    ),
)
"""Rules of the name and the members of a scaling group."""

GROUP_SIZE = (
    Check(Rule("group-replicas", "A scaling group has less than one replica.", "spec/grove.md#r35"), _group_replicas),
    Check(Rule("group-min-available", "minAvailable of a scaling group is less than 1.",
               "spec/grove.md#r36"), _group_min_positive),
    Check(Rule("group-min-available-max", "minAvailable of a scaling group is greater than its replicas.",
               "spec/grove.md#r37"), _group_min_capped),
    Check(Rule("group-scale-min", "scaleConfig.minReplicas is less than minAvailable.",
               "spec/grove.md#r38"), _scale_min),
)  # fmt: skip
"""Rules of the numbers of a scaling group."""

GROUPS_TOGETHER = (
    Check(Rule("group-names-unique", "Two scaling groups have the same name.", "spec/grove.md#r39"), _group_names),
    Check(Rule("clique-in-one-group", "A clique is listed in two scaling groups, or twice in one.",
               "spec/grove.md#r40"), _one_group),
    Check(Rule("group-clique-autoscaling", "A clique of a scaling group has its own autoscaler.", "spec/grove.md#r41"),
          _no_autoscaler),
)  # fmt: skip
"""Rules of all scaling groups together."""


# Claims on devices that pods share: resourceClaimTemplates and resourceSharing. Source: spec/grove.md#4.4.


_TEMPLATES = (*TEMPLATE, "resourceClaimTemplates")
_SCOPES = ("AllReplicas", "PerReplica")


class _Sharing(Record):
    """One list of references: `children` are the names that a filter may have, by its field."""

    pcs: PodCliqueSet
    path: FieldPath
    entries: Sequence[Mapping[str, Value]]
    children: Mapping[str, Sequence[str]] = {}


class _Reference(Record):
    """One entry of such a list."""

    sharing: _Sharing
    at: int
    entry: Mapping[str, Value]

    def path(self, *steps: str | int) -> FieldPath:
        """A path below the entry."""
        return (*self.sharing.path, self.at, *steps)

    def text(self, field: str) -> str:
        """Return a field with text, or "" for another value."""
        value = self.entry.get(field)
        return value if isinstance(value, str) else ""


def _claim_templates(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    for index, template in enumerate(pcs.claim_templates):
        if not template.get("name"):
            yield required_value((*_TEMPLATES, index, "name"), "template name is required", "must name the template")
        part: Value = cast("Value", template)
        for key in ("templateSpec", "spec", "devices", "requests"):
            part = value_at(part, key)
        if not part:
            path = (*_TEMPLATES, index, "templateSpec", "spec", "devices", "requests")
            text = "at least one device request is required"
            yield required_value(path, text, "must have at least one device request; got none")


def _claim_templates_unique(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    names = [str(template.get("name") or "") for template in pcs.claim_templates]
    repeated = duplicates(names)
    if repeated:
        at = len(names) - 1 - names[::-1].index(repeated[0])
        error = OperatorError(f"{format_path(_TEMPLATES)}.name", ErrorType.DUPLICATE, repeated)
        message = f"two templates have the same name: {list_known(repeated)}"
        yield refusal((*_TEMPLATES, at, "name"), message, error)


def _set_sharing(pcs: PodCliqueSet, _context: Context) -> tuple[_Sharing, ...]:
    if not pcs.resource_sharing:
        return ()
    children = {
        "childCliqueNames": [clique.name for clique in pcs.cliques],
        "childScalingGroupNames": [group.name for group in pcs.groups],
    }
    return (_Sharing(pcs, (*TEMPLATE, "resourceSharing"), pcs.resource_sharing, children),)


def _clique_sharing(at: CliqueAt, _context: Context) -> tuple[_Sharing, ...]:
    entries = at.clique.resource_sharing
    return (_Sharing(at.pcs, at.path("resourceSharing"), entries),) if entries else ()


def _group_sharing(at: GroupAt, _context: Context) -> tuple[_Sharing, ...]:
    entries = at.group.resource_sharing
    if not entries:
        return ()
    return (_Sharing(at.pcs, at.path("resourceSharing"), entries, {"childCliqueNames": at.group.clique_names}),)


def _references(sharing: _Sharing, _context: Context) -> list[_Reference]:
    return [_Reference(sharing, index, entry) for index, entry in enumerate(sharing.entries)]


def _reference_name(reference: _Reference, _context: Context) -> Iterator[Problem]:
    name, path = reference.text("name"), reference.path("name")
    before = [entry.get("name") for entry in reference.sharing.entries[: reference.at]]
    if not name:
        yield required_value(path, "reference name is required", "must name a resourceClaimTemplate")
    elif name in before:
        message = f'duplicate reference to "{name}"'
        yield refusal(path, message, OperatorError(format_path(path), ErrorType.DUPLICATE, name))


def _namespace(reference: _Reference, _context: Context) -> Iterator[Problem]:
    namespace, name = reference.text("namespace"), reference.text("name")
    if namespace and name and any(template.get("name") == name for template in reference.sharing.pcs.claim_templates):
        text = "namespace must be empty when name matches an internal resourceClaimTemplate"
        message = f'must not be set: "{name}" is a template of this workload; got "{namespace}"'
        yield invalid(reference.path("namespace"), namespace, text, message)


def _scope(reference: _Reference, _context: Context) -> Iterator[Problem]:
    scope = reference.text("scope")
    if scope not in _SCOPES:
        path = reference.path("scope")
        supported = ", ".join([go_quote(name) for name in _SCOPES])
        error = OperatorError(
            format_path(path), ErrorType.NOT_SUPPORTED, TypedText(scope), f"supported values: {supported}"
        )
        yield refusal(path, f'must be one of {list_known(_SCOPES)}; got "{scope}"', error)


def _filters(sharing: _Sharing, _context: Context) -> list[_Reference]:
    # The operator checks them after all entries.
    return [
        reference
        for reference in _references(sharing, _context)
        if sharing.children and reference.entry.get("filter") is not None
    ]


def _filter(reference: _Reference, _context: Context) -> Iterator[Problem]:
    chosen, children = reference.entry.get("filter"), reference.sharing.children
    names = {field: value_at(chosen, field) for field in children}
    if not any(names.values()):
        fields = " or ".join(children)
        text = f"filter must specify at least one {fields} entry"
        yield required_value(
            reference.path("filter"), text, f"must name at least one child in {fields}; remove the filter to select all"
        )
    for field, listed in names.items():
        for index, name in enumerate(entries(listed)):
            known = children[field]
            if isinstance(name, str) and name not in known:
                path = reference.path("filter", field, index)
                message = f'must name a child of it; got "{name}", known: {list_known(known)}{closest(name, known)}'
                yield refusal(path, message, OperatorError(format_path(path), ErrorType.NOT_FOUND, name))


_SOURCE = "spec/grove.md#resource-sharing"

_SHARING = (
    Scope(_references, (
        Check(Rule("resource-sharing-name", "A resourceSharing entry names no template, or one twice.",
                   _SOURCE), _reference_name),
        Check(Rule("resource-sharing-namespace", "A resourceSharing entry gives a namespace for an own template.",
                   _SOURCE),
              _namespace),
        Check(Rule("resource-sharing-scope", "scope is neither AllReplicas nor PerReplica.", _SOURCE), _scope),
    )),
    Scope(_filters, (
        Check(Rule("resource-sharing-filter", "A filter names no children, or children that do not exist.",
                   _SOURCE), _filter),
    )),
)  # fmt: skip

SET_SHARING = (
    Check(Rule("claim-template", "A resourceClaimTemplate has no name or requests no device.", _SOURCE),
          _claim_templates, since=ALPHA_8),
    Check(Rule("claim-templates-unique", "Two resourceClaimTemplates have the same name.", _SOURCE),
          _claim_templates_unique, since=ALPHA_8),
    Scope(_set_sharing, _SHARING, since=ALPHA_8),
)  # fmt: skip
"""Rules of the set. They run before the cliques."""

CLIQUE_SHARING = (Scope(_clique_sharing, _SHARING, since=ALPHA_8),)
"""Rules of a clique. They run before its spec."""

GROUP_SHARING = (Scope(_group_sharing, _SHARING, since=ALPHA_8),)
"""Rules of a scaling group. They run after its numbers."""
