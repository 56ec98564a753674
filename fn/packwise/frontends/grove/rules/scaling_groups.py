"""podCliqueScalingGroups. Source: spec/grove.md#r32, #r33, #r35 to #r41."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Rule
from packwise.frontends.grove.rules.check import TEMPLATE, Check, Context, GroupAt, invalid, refused
from packwise.frontends.grove.rules.cliques import duplicates
from packwise.kubernetes.validation import ErrorType, OperatorError, is_dns_subdomain
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.findings.finding import Problem
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["GROUPS_TOGETHER", "GROUP_NAMES", "GROUP_SIZE"]

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
    problem = refused((), "", error)
    for name in unknown:
        message = f'must name a clique of this set; got "{name}", known: {list_known(names)}{closest(name, names)}'
        yield problem._replace(path=at.path("cliqueNames", first[name]), message=message)


def _replicas(at: GroupAt, _context: Context) -> Iterator[Problem]:
    if at.group.replicas <= 0:
        text = "must be greater than 0"
        yield invalid(at.path("replicas"), at.group.replicas, text, f'{text}; got "{at.group.replicas}"')


def _min_positive(at: GroupAt, _context: Context) -> Iterator[Problem]:
    if at.group.min_available <= 0:
        text = "must be greater than 0"
        yield invalid(at.path("minAvailable"), at.group.min_available, text, f'{text}; got "{at.group.min_available}"')


def _min_at_most(at: GroupAt, _context: Context) -> Iterator[Problem]:
    group = at.group
    if group.min_available > group.replicas:
        message = f'must not be greater than replicas ("{group.replicas}"); got "{group.min_available}"'
        text = "minAvailable must not be greater than replicas"
        yield invalid(at.path("minAvailable"), group.min_available, text, message)


def _scale_min(at: GroupAt, _context: Context) -> Iterator[Problem]:
    scaling, least = at.group.auto_scaling, at.group.min_available
    if scaling and scaling.min_replicas is not None and scaling.min_replicas < least:
        text = "scaleConfig.minReplicas must be greater than or equal to minAvailable"
        message = f'must be greater than or equal to minAvailable ("{least}"); got "{scaling.min_replicas}"'
        yield invalid(at.path("scaleConfig", "minReplicas"), scaling.min_replicas, text, message)


def _unique_names(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    names = [group.name for group in pcs.groups]
    repeated = duplicates(names)
    if repeated:
        at = len(names) - 1 - names[::-1].index(repeated[0])
        path = (*TEMPLATE, "podCliqueScalingGroups", at, "name")
        message = f"must be unique among the scaling groups; more than once: {list_known(repeated)}"
        yield refused(path, message, OperatorError(f"{_GROUPS}.name", ErrorType.DUPLICATE, repeated))


def _one_group(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    members = [(i, j, name) for i, group in enumerate(pcs.groups) for j, name in enumerate(group.clique_names)]
    repeated = duplicates([name for _, _, name in members])
    if repeated:
        i, j, _ = next(member for member in reversed(members) if member[2] == repeated[0])
        path = (*TEMPLATE, "podCliqueScalingGroups", i, "cliqueNames", j)
        message = f"a clique must be a member of one scaling group, once; more than once: {list_known(repeated)}"
        yield refused(path, message, OperatorError(f"{_GROUPS}.cliqueNames", ErrorType.DUPLICATE, repeated))


def _no_autoscaler(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    grouped = pcs.grouped_cliques()
    text = "AutoScalingConfig is not allowed to be defined for PodClique that is part of scaling group"
    for index, clique in enumerate(pcs.cliques):
        if clique.auto_scaling and clique.name in grouped:
            path = (*TEMPLATE, "cliques", index, "spec", "autoScalingConfig")
            message = f'must not be set: clique "{clique.name}" scales with its scaling group (use scaleConfig there)'
            yield invalid(path, clique.name, text, message, field=_GROUPS)


GROUP_NAMES = (
    Check(Rule("group-name-dns", "A scaling group's name is a DNS subdomain.", "spec/grove.md#r32"), _name),
    Check(Rule("group-members-known", "cliqueNames names cliques of this set.", "spec/grove.md#r33"), _members),
)
"""Names of and in a scaling group."""

GROUP_SIZE = (
    Check(Rule("group-replicas", "A scaling group has at least one replica.", "spec/grove.md#r35"), _replicas),
    Check(Rule("group-min-available", "minAvailable is at least 1.", "spec/grove.md#r36"), _min_positive),
    Check(Rule("group-min-available-max", "minAvailable is at most replicas.", "spec/grove.md#r37"), _min_at_most),
    Check(Rule("group-scale-min", "scaleConfig.minReplicas is at least minAvailable.",
               "spec/grove.md#r38"), _scale_min),
)  # fmt: skip
"""The numbers of a scaling group."""

GROUPS_TOGETHER = (
    Check(Rule("group-names-unique", "No two scaling groups have the same name.", "spec/grove.md#r39"), _unique_names),
    Check(Rule("clique-in-one-group", "A clique is in one scaling group, once.", "spec/grove.md#r40"), _one_group),
    Check(Rule("group-clique-autoscaling", "A clique of a group has no autoscaler of its own.", "spec/grove.md#r41"),
          _no_autoscaler),
)  # fmt: skip
"""What holds among the scaling groups."""
