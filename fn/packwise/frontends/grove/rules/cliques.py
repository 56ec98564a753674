"""The rules about the numbers of a set, its cliques and their start order, its scaling groups, and rolling updates.

Source: spec/grove.md#r02 to #r05, #r08 to #r18, #r24 to #r25, #r27 to #r42, spec/grove-releases.md#2.6.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Problem, Rule
from packwise.frontends.grove.podcliqueset import COHERENT, ON_DELETE, TEMPLATE
from packwise.frontends.grove.rules.book import (
    Check,
    CliqueAt,
    Context,
    GroupAt,
    Scope,
    forbidden_problem,
    invalid_value,
    required_value,
)
from packwise.kubernetes import (
    ErrorType,
    OperatorError,
    TypedText,
    format_duration,
    is_dns_subdomain,
    parse_duration,
    refusal,
)
from packwise.revisions.grove import ALPHA_8, ALPHA_9, ALPHA_14, ALPHA_14_RC1
from packwise.wording import did_you_mean, list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.podcliqueset import AutoScaling, PodCliqueSet, RollingUpdate

STARTUP_TYPES = ("CliqueStartupTypeAnyOrder", "CliqueStartupTypeExplicit", "CliqueStartupTypeInOrder")
"""The valid values of cliqueStartupType."""

_CLIQUES = "spec.template.cliques"


def duplicates(names: Sequence[str]) -> list[str]:
    """Return each name that occurs more than once, in the order of the first occurrences."""
    if len(set(names)) == len(names):
        return []
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return [name for name, count in seen.items() if count > 1]


def _replicas(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    if pcs.replicas < 0:
        text = "must be greater than or equal to 0"
        yield invalid_value(("spec", "replicas"), pcs.replicas, text, f'must be at least 0; got "{pcs.replicas}"')


def _startup_type(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    if pcs.startup_type not in STARTUP_TYPES:
        known = " ".join([f"{name}:{{}}" for name in STARTUP_TYPES])
        message = f'must be one of {list_known(STARTUP_TYPES)}; got "{pcs.startup_type}"'
        path = (*TEMPLATE, "cliqueStartupType")
        yield invalid_value(path, TypedText(pcs.startup_type), f"can only be one of map[{known}]", message)


def _any_clique(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    if not pcs.cliques:
        yield required_value(
            (*TEMPLATE, "cliques"), "at least one PodClique must be defined", "must have at least one clique; got none"
        )


def _any_clique_without_text(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    # The webhook of these releases panics before it can report this problem, so there is no text.
    for problem in _any_clique(pcs, context):
        yield problem.replace(operator_message=None, stage=None)


def _termination_delay(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    delay = parse_duration(pcs.termination_delay)
    if delay is not None and delay <= 0:
        path = (*TEMPLATE, "terminationDelay")
        text = "terminationDelay must be greater than 0"
        shown = format_duration(delay)
        message = f'must be a duration greater than 0; got "{pcs.termination_delay}"'
        yield invalid_value(path, TypedText(shown), text, message)


def _missing_name(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    if not at.clique.name.strip():
        yield required_value(at.path("name"), "field cannot be empty", "must name the clique")


def _name_dns(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    name = at.clique.name
    if not is_dns_subdomain(name):
        text = "invalid PodCliqueTemplateSpec name, must be a valid DNS subdomain"
        message = f'must be a DNS subdomain (lower case letters, digits, "-" and "."); got "{name}"'
        yield invalid_value(at.path("name"), name, text, message)


def _clique_replicas(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    if at.clique.replicas <= 0:
        text = "must be greater than 0"
        yield invalid_value(
            at.path("spec", "replicas"), at.clique.replicas, text, f'must be at least 1; got "{at.clique.replicas}"'
        )


def _min_positive(at: CliqueAt, context: Context) -> Iterator[Problem]:
    least = at.clique.min_available
    if least <= 0:
        text = "must be greater than 0"
        message = f'must be at least 1; got "{least}"'
        if least == 0 and context.revision.min_available_default == "WrittenReplicas":
            message += (
                ". If minAvailable is not set, Grove copies `replicas`, which is 0 if it is not set either; set one of "
                "them to at least 1"
            )
        yield invalid_value(at.path("spec", "minAvailable"), least, text, message)


def _min_at_most(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    least = at.clique.min_available
    if least > at.clique.replicas:
        text = "minAvailable must not be greater than replicas"
        message = f"must be at most {at.clique.replicas}, the replicas; got {least}"
        yield invalid_value(at.path("spec", "minAvailable"), least, text, message)


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
        yield invalid_value(path, names[0], text, message, field=f"{_CLIQUES}.spec.podSpec.schedulerName")


_ANY = Rule("cliques", "A PodCliqueSet has no cliques.", "spec/grove.md#r04")

SET = (
    Check(Rule("replicas", "spec.replicas is negative.", "spec/grove.md#r02"), _replicas),
    Check(Rule("startup-type", "cliqueStartupType has an unknown value.", "spec/grove.md#r03"), _startup_type),
)
"""Checks of the set's own fields."""

CLIQUES_ANY = (
    Check(_ANY, _any_clique, until=ALPHA_9),
    Check(_ANY, _any_clique_without_text, since=ALPHA_9),
)
"""Checks of the list of cliques. They run before the checks of each clique."""

CLIQUE_NAME = (Check(Rule("clique-name", "A clique has no name.", "spec/grove.md#r05"), _missing_name),)
"""The first checks of each clique."""

CLIQUE_SIZE = (
    Check(Rule("clique-replicas", "A clique has a negative number of replicas.",
               "spec/grove.md#r08"), _clique_replicas),
    Check(Rule("clique-min-available", "minAvailable of a clique is less than 1.", "spec/grove.md#r10"), _min_positive),
    Check(Rule("clique-min-available-max", "minAvailable of a clique is greater than its replicas.",
               "spec/grove.md#r11"), _min_at_most),
)  # fmt: skip
"""Checks of the numbers of a clique."""

CLIQUE_NAME_DNS = (
    Check(Rule("clique-name-dns", "The name of a clique is not a DNS subdomain.", "spec/grove.md#r25"), _name_dns),
)
"""Checks of the name of a clique. In some releases, they run after the checks of its spec."""

CLIQUES_UNIQUE = (
    Check(Rule("clique-names-unique", "Two cliques have the same name.", "spec/grove.md#r27"), _unique_names),
    Check(Rule("clique-roles-unique", "Two cliques have the same roleName.", "spec/grove.md#r28"), _unique_roles),
)
"""Checks of all cliques together."""

SAME_SCHEDULER = Rule("one-scheduler", "The cliques of a PodCliqueSet name different schedulers.", "spec/grove.md#r29")
ONE_SCHEDULER = (Check(SAME_SCHEDULER, _one_scheduler, until=ALPHA_8),)
"""Checks of the scheduler in releases without scheduler profiles. They run after CLIQUES_UNIQUE."""

TERMINATION = (
    Check(
        Rule("termination-delay", "terminationDelay is not greater than 0.", "spec/grove.md#r42"), _termination_delay
    ),
)
"""Checks of terminationDelay. They run after the checks of the scaling groups."""


_AT_LEAST = "must be greater than or equal to"


class _Scaled(Record):
    """A clique with an autoscaler and the settings of the autoscaler."""

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
        yield invalid_value(path, least_replicas, f"{_AT_LEAST} podCliqueSpec.minAvailable", message)


def _max_min(scaled: _Scaled, _context: Context) -> Iterator[Problem]:
    most, least = scaled.scaling.max_replicas, scaled.scaling.min_replicas
    if least is not None and most < least:
        message = f'must be at least minReplicas ("{least}"); got "{most}"'
        path = scaled.at.path("spec", "autoScalingConfig", "maxReplicas")
        yield invalid_value(path, most, f"{_AT_LEAST} podCliqueSpec.minReplicas", message)


def _max_replicas(scaled: _Scaled, _context: Context) -> Iterator[Problem]:
    most, replicas = scaled.scaling.max_replicas, scaled.at.clique.replicas
    if most < replicas:
        message = f'must be at least replicas ("{replicas}"); got "{most}"'
        path = scaled.at.path("spec", "autoScalingConfig", "maxReplicas")
        yield invalid_value(path, most, f"{_AT_LEAST} replicas", message)


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
"""Checks of the limits of a clique's autoscaler."""


EXPLICIT = "CliqueStartupTypeExplicit"
"""The startup type with which cliques name the cliques for which they wait."""


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
        yield invalid_value(path, dep.name, text, f'clique "{dep.name}" cannot start after itself', field=field)


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
    # The operator has one error for all unknown names.
    problem = refusal((), "", OperatorError("spec.template.cliques.startsAfter", ErrorType.INVALID, joined, text))
    for i, j, dep in unknown:
        message = f'must name a clique of this set; got "{dep}", known: {list_known(names)}{did_you_mean(dep, names)}'
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
    """Return the groups of two or more nodes that can all reach each other (strongly connected components).

    The search uses no recursion, so it works for any number of nodes.
    """
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
"""Checks of startsAfter in one clique. They apply only to the explicit startup type."""

DEPENDENCY_GRAPH = (
    Check(
        Rule("starts-after-known", "startsAfter names a clique that does not exist.", "spec/grove.md#r30"),
        _unknown_dependencies,
    ),
    Check(
        Rule("starts-after-acyclic", "Cliques wait for each other in a cycle.", "spec/grove.md#r31"), _dependency_cycles
    ),
)
"""Checks of startsAfter in all cliques together. They apply only to the explicit startup type."""


_GROUPS = "spec.template.podCliqueScalingGroups"


def _name(at: GroupAt, _context: Context) -> Iterator[Problem]:
    if not is_dns_subdomain(at.group.name):
        text = "invalid PodCliqueScalingGroupConfig name, must be a valid DNS subdomain"
        message = f'must be a DNS subdomain (lower case letters, digits, "-" and "."); got "{at.group.name}"'
        yield invalid_value(at.path("name"), at.group.name, text, message)


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
    # The operator has one error for all unknown names.
    problem = refusal((), "", error)
    for name in unknown:
        message = f'must name a clique of this set; got "{name}", known: {list_known(names)}{did_you_mean(name, names)}'
        yield problem.replace(path=at.path("cliqueNames", first[name]), message=message)


def _group_replicas(at: GroupAt, _context: Context) -> Iterator[Problem]:
    if at.group.replicas <= 0:
        text = "must be greater than 0"
        message = f'must be at least 1; got "{at.group.replicas}"'
        yield invalid_value(at.path("replicas"), at.group.replicas, text, message)


def _group_min_positive(at: GroupAt, _context: Context) -> Iterator[Problem]:
    if at.group.min_available <= 0:
        text = "must be greater than 0"
        message = f'must be at least 1; got "{at.group.min_available}"'
        yield invalid_value(at.path("minAvailable"), at.group.min_available, text, message)


def _group_min_capped(at: GroupAt, _context: Context) -> Iterator[Problem]:
    group = at.group
    if group.min_available > group.replicas:
        message = f"must be at most {group.replicas}, the replicas; got {group.min_available}"
        text = "minAvailable must not be greater than replicas"
        yield invalid_value(at.path("minAvailable"), group.min_available, text, message)


def _scale_min(at: GroupAt, _context: Context) -> Iterator[Problem]:
    scaling, least = at.group.auto_scaling, at.group.min_available
    if scaling and scaling.min_replicas is not None and scaling.min_replicas < least:
        text = "scaleConfig.minReplicas must be greater than or equal to minAvailable"
        message = f'must be at least minAvailable ("{least}"); got "{scaling.min_replicas}"'
        yield invalid_value(at.path("scaleConfig", "minReplicas"), scaling.min_replicas, text, message)


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
            yield invalid_value(path, clique.name, text, message, field=_GROUPS)


GROUP_NAMES = (
    Check(Rule("group-name-dns", "The name of a scaling group is not a DNS subdomain.", "spec/grove.md#r32"), _name),
    Check(
        Rule(
            "group-members-known",
            "cliqueNames of a scaling group names a clique that does not exist.",
            "spec/grove.md#r33",
        ),
        _members,
    ),
)
"""Checks of the name and the members of a scaling group."""

GROUP_SIZE = (
    Check(Rule("group-replicas", "A scaling group has less than one replica.", "spec/grove.md#r35"), _group_replicas),
    Check(Rule("group-min-available", "minAvailable of a scaling group is less than 1.",
               "spec/grove.md#r36"), _group_min_positive),
    Check(Rule("group-min-available-max", "minAvailable of a scaling group is greater than its replicas.",
               "spec/grove.md#r37"), _group_min_capped),
    Check(Rule("group-scale-min", "scaleConfig.minReplicas is less than minAvailable.",
               "spec/grove.md#r38"), _scale_min),
)  # fmt: skip
"""Checks of the numbers of a scaling group."""

GROUPS_TOGETHER = (
    Check(Rule("group-names-unique", "Two scaling groups have the same name.", "spec/grove.md#r39"), _group_names),
    Check(Rule("clique-in-one-group", "A clique is listed in two scaling groups, or twice in one.",
               "spec/grove.md#r40"), _one_group),
    Check(Rule("group-clique-autoscaling", "A clique of a scaling group has an autoscaler.", "spec/grove.md#r41"),
          _no_autoscaler),
)  # fmt: skip
"""Checks of all scaling groups together."""


# The checks below are about rollingUpdate of cliques and scaling groups. They depend on updateStrategy. Source:
# spec/grove-releases.md#2.6, #v1 to #v4.


_ROLLING = "rollingUpdate"

_POSITIVE = "must be greater than 0"


class _Rolled(Record):
    """A clique or a scaling group with a rollingUpdate at `path`. `strategy` is the type of updateStrategy."""

    strategy: str
    path: FieldPath
    rolling: RollingUpdate
    replicas: int
    min_available: int


def _clique_update(at: CliqueAt, _context: Context) -> Iterable[_Rolled]:
    clique, rolling = at.clique, at.clique.rolling_update
    if rolling is None or at.grouped:
        return ()
    return (_Rolled(at.pcs.update_strategy, at.path(_ROLLING), rolling, clique.replicas, clique.min_available),)


def _group_update(at: GroupAt, _context: Context) -> Iterable[_Rolled]:
    group, rolling = at.group, at.group.rolling_update
    if rolling is None:
        return ()
    return (_Rolled(at.pcs.update_strategy, at.path(_ROLLING), rolling, group.replicas, group.min_available),)


def _check_member_update(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    if at.grouped and at.clique.rolling_update is not None:
        text = (
            "rollingUpdate must not be set on a PodClique that is a member of a PodCliqueScalingGroup. Set it on the "
            "PodCliqueScalingGroup instead"
        )
        yield forbidden_problem(
            at.path(_ROLLING), text, "must not be set on a member of a scaling group; set it on the scaling group"
        )


def _on_delete(at: _Rolled, _context: Context) -> Iterator[Problem]:
    if at.strategy == ON_DELETE:
        text = "rollingUpdate must not be set when the update strategy is OnDelete"
        yield forbidden_problem(at.path, text, f'must not be set if updateStrategy.type is "{ON_DELETE}"; remove it')


def _max_unavailable(at: _Rolled, _context: Context) -> Iterator[Problem]:
    most = at.rolling.max_unavailable
    if most is None or at.strategy == ON_DELETE:
        return
    path = (*at.path, "maxUnavailable")
    if most <= 0:
        yield invalid_value(path, most, _POSITIVE, f'must be at least 1; got "{most}"')
    elif most > at.replicas:
        text = f"must not be greater than replicas ({at.replicas})"
        yield invalid_value(path, most, text, f"must be at most {at.replicas}, the replicas; got {most}")
    elif at.strategy == COHERENT and most < at.min_available:
        text = f"must not be less than minAvailable ({at.min_available}) under the Coherent update strategy"
        message = (
            f'must be at least minAvailable ("{at.min_available}") if updateStrategy.type is "{COHERENT}"; got "{most}"'
        )
        yield invalid_value(path, most, text, message)


def _progress_deadline(at: _Rolled, _context: Context) -> Iterator[Problem]:
    deadline = parse_duration(at.rolling.progress_deadline)
    if deadline is not None and deadline <= 0 and at.strategy != ON_DELETE:
        shown = format_duration(deadline)
        message = f'must be a duration greater than 0; got "{at.rolling.progress_deadline}"'
        yield invalid_value((*at.path, "progressDeadline"), shown, _POSITIVE, message)


def _unsure_fields(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    release = context.revision.name
    if pcs.update_strategy == COHERENT:
        message = (
            f'{release} may not have "{COHERENT}": alpha.14 has it, and alpha.13 does not. See the enum in the '
            "cluster's CRD"
        )
        yield Problem(("spec", "updateStrategy", "type"), message)
    cliques = [(("cliques", index), clique.rolling_update) for index, clique in enumerate(pcs.cliques)]
    groups = [(("podCliqueScalingGroups", index), group.rolling_update) for index, group in enumerate(pcs.groups)]
    for (field, index), rolling in (*cliques, *groups):
        if rolling is not None:
            message = (
                f"{release} may not have this field: alpha.14 has it, and alpha.13 drops it. See the cluster's CRD"
            )
            yield Problem(("spec", "template", field, index, _ROLLING), message)


_MEMBER_UPDATE = Rule(
    "rolling-update-member", "A clique of a scaling group has a rollingUpdate.", "spec/grove-releases.md#v1"
)
_FORBIDDEN = Rule(
    "rolling-update-on-delete",
    "A rollingUpdate is set, but the update strategy is OnDelete.",
    "spec/grove-releases.md#v2",
)
_MAX_UNAVAILABLE = Rule(
    "rolling-update-max", "maxUnavailable is too low, or greater than replicas.", "spec/grove-releases.md#v3"
)
_DEADLINE = Rule("rolling-update-deadline", "progressDeadline is not greater than 0.", "spec/grove-releases.md#v4")

_ROLLED = (
    Check(_FORBIDDEN, _on_delete),
    Check(_MAX_UNAVAILABLE, _max_unavailable),
    Check(_DEADLINE, _progress_deadline),
)

CLIQUE_UPDATES = (
    Check(_MEMBER_UPDATE, _check_member_update, since=ALPHA_14),
    Scope(_clique_update, _ROLLED, since=ALPHA_14),
)
"""The last checks of each clique."""

GROUP_UPDATES = (Scope(_group_update, _ROLLED, since=ALPHA_14),)
"""Checks of the rollingUpdate of a scaling group. They run after GROUP_SIZE."""

UNDETERMINED = (
    Check(
        Rule(
            "release-undetermined",
            "A field or value may be missing in a release candidate of Grove.",
            "spec/grove-releases.md#7",
            Severity.WARNING,
        ),
        _unsure_fields,
        since=ALPHA_14_RC1,
        until=ALPHA_14,
    ),
)
"""Checks with warnings. They apply to a release if packwise does not fully know its fields."""
