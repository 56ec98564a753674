"""The set's own numbers and its cliques: names, roles, replicas.

Source: spec/grove.md#r02 to #r11, #r25, #r27 to #r29, #r42.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Rule
from packwise.frontends.grove.rules.check import TEMPLATE, Check, CliqueAt, Context, invalid, refused, required
from packwise.kubernetes.quantities import format_duration, parse_duration
from packwise.kubernetes.validation import ErrorType, OperatorError, TypedText, is_dns_subdomain
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from packwise.findings.finding import Problem
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = [
    "CLIQUES_ANY",
    "CLIQUES_ANY_HEAD",
    "CLIQUES_UNIQUE",
    "CLIQUE_NAME",
    "CLIQUE_NAME_DNS",
    "CLIQUE_SIZE",
    "ONE_SCHEDULER",
    "SAME_SCHEDULER",
    "SET",
    "STARTUP_TYPES",
    "TERMINATION",
    "duplicates",
]

STARTUP_TYPES = ("CliqueStartupTypeAnyOrder", "CliqueStartupTypeExplicit", "CliqueStartupTypeInOrder")
"""What cliqueStartupType can be."""

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
        yield invalid(("spec", "replicas"), pcs.replicas, text, f'{text}; got "{pcs.replicas}"')


def _startup_type(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    if pcs.startup_type not in STARTUP_TYPES:
        known = " ".join([f"{name}:{{}}" for name in STARTUP_TYPES])
        message = f'must be one of {list_known(STARTUP_TYPES)}; got "{pcs.startup_type}"'
        path = (*TEMPLATE, "cliqueStartupType")
        yield invalid(path, TypedText(pcs.startup_type), f"can only be one of map[{known}]", message)


def _any_clique(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    if not pcs.cliques:
        yield required(
            (*TEMPLATE, "cliques"), "at least one PodClique must be defined", "must hold at least one clique; got none"
        )


def _any_clique_without_text(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    # Grove's HEAD panics before it can say so.
    for problem in _any_clique(pcs, context):
        yield problem._replace(operator_message=None, stage=None)


def _termination_delay(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    delay = parse_duration(pcs.termination_delay)
    if delay is not None and delay <= 0:
        path = (*TEMPLATE, "terminationDelay")
        text = "terminationDelay must be greater than 0"
        shown = format_duration(delay)
        yield invalid(path, TypedText(shown), text, f'must be a duration greater than 0; got "{pcs.termination_delay}"')


def _named(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    if not at.clique.name.strip():
        yield required(at.path("name"), "field cannot be empty", "must name the clique")


def _name_dns(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    name = at.clique.name
    if not is_dns_subdomain(name):
        text = "invalid PodCliqueTemplateSpec name, must be a valid DNS subdomain"
        message = f'must be a DNS subdomain (lower case letters, digits, "-" and "."); got "{name}"'
        yield invalid(at.path("name"), name, text, message)


def _clique_replicas(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    if at.clique.replicas <= 0:
        text = "must be greater than 0"
        yield invalid(at.path("spec", "replicas"), at.clique.replicas, text, f'{text}; got "{at.clique.replicas}"')


def _min_positive(at: CliqueAt, context: Context) -> Iterator[Problem]:
    least = at.clique.min_available
    if least <= 0:
        text = "must be greater than 0"
        message = f'{text}; got "{least}"'
        if least == 0 and context.revision.min_available_default == "WrittenReplicas":
            message += " (left out, it is what `replicas` was before defaulting: write `replicas`)"
        yield invalid(at.path("spec", "minAvailable"), least, text, message)


def _min_at_most(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    least = at.clique.min_available
    if least > at.clique.replicas:
        message = f'must not be greater than replicas ("{at.clique.replicas}"); got "{least}"'
        yield invalid(at.path("spec", "minAvailable"), least, "minAvailable must not be greater than replicas", message)


def _duplicate(names: Sequence[str], field: str, *steps: str) -> Iterator[Problem]:
    repeated = duplicates(names)
    if repeated:
        at = len(names) - 1 - names[::-1].index(repeated[0])
        path: FieldPath = (*TEMPLATE, "cliques", at, *steps)
        error = OperatorError(f"{_CLIQUES}.{field}", ErrorType.DUPLICATE, repeated)
        yield refused(path, f"must be unique among the cliques; more than once: {list_known(repeated)}", error)


def _unique_names(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    return _duplicate([clique.name for clique in pcs.cliques], "name", "name")


def _unique_roles(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    return _duplicate([clique.role for clique in pcs.cliques], "roleName", "spec", "roleName")


def _one_scheduler(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    names = [clique.pod_spec.get("schedulerName") or "default-scheduler" for clique in pcs.cliques]
    other = next((index for index, name in enumerate(names) if name != names[0]), None)
    if other is not None:
        message = (
            f'must be the same for all cliques; got "{names[other]}", and "{names[0]}" for "{pcs.cliques[0].name}"'
        )
        path = (*TEMPLATE, "cliques", other, "spec", "podSpec", "schedulerName")
        text = "the schedulerName for all pods have to be the same"
        yield invalid(path, names[0], text, message, field=f"{_CLIQUES}.spec.podSpec.schedulerName")


_ANY = Rule("cliques", "There is at least one clique.", "spec/grove.md#r04")

SET = (
    Check(Rule("replicas", "spec.replicas is not negative; 0 gives no PodGangs.", "spec/grove.md#r02"), _replicas),
    Check(Rule("startup-type", "cliqueStartupType is one of the three.", "spec/grove.md#r03"), _startup_type),
)
"""Rules of the set's own fields."""

CLIQUES_ANY = (Check(_ANY, _any_clique),)
"""Runs before the cliques are looked at one by one."""

CLIQUES_ANY_HEAD = (Check(_ANY, _any_clique_without_text),)
"""The same for an operator that has no words for it."""

CLIQUE_NAME = (Check(Rule("clique-name", "A clique has a name.", "spec/grove.md#r05"), _named),)
"""Runs first for each clique."""

CLIQUE_SIZE = (
    Check(Rule("clique-replicas", "A clique has at least one replica.", "spec/grove.md#r08"), _clique_replicas),
    Check(Rule("clique-min-available", "minAvailable is at least 1.", "spec/grove.md#r10"), _min_positive),
    Check(Rule("clique-min-available-max", "minAvailable is at most replicas.", "spec/grove.md#r11"), _min_at_most),
)  # fmt: skip
"""The numbers of a clique."""

CLIQUE_NAME_DNS = (
    Check(Rule("clique-name-dns", "A clique's name is a DNS subdomain.", "spec/grove.md#r25"), _name_dns),
)
"""Runs after the spec of each clique."""

CLIQUES_UNIQUE = (
    Check(Rule("clique-names-unique", "No two cliques have the same name.", "spec/grove.md#r27"), _unique_names),
    Check(Rule("clique-roles-unique", "No two cliques have the same roleName.", "spec/grove.md#r28"), _unique_roles),
)
"""What holds among the cliques."""

SAME_SCHEDULER = Rule("one-scheduler", "All cliques name the same scheduler.", "spec/grove.md#r29")
ONE_SCHEDULER = (Check(SAME_SCHEDULER, _one_scheduler),)
"""Runs after these, where the operator knows no scheduler profiles."""

TERMINATION = (
    Check(Rule("termination-delay", "terminationDelay is greater than 0.", "spec/grove.md#r42"), _termination_delay),
)
"""Runs after the scaling groups."""
