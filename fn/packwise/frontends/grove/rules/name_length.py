"""The names a pod name is joined from: 45 bytes together. Source: spec/grove.md#r26, #r34."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Rule
from packwise.frontends.grove.rules.check import Check, CliqueAt, Context, GroupAt, Scope, invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packwise.findings.finding import Problem

__all__ = ["CLIQUE_NAME_LENGTH", "GROUP_NAME_LENGTH", "MAX_COMBINED_LENGTH"]

MAX_COMBINED_LENGTH = 45
"""Bytes that the names of the set, the group and the clique have together."""

_LIMIT = "exceeds 45-character limit required for pod naming. Consider shortening:"


class _Member(NamedTuple):
    at: GroupAt
    position: int
    clique: str


def _members(at: GroupAt, _context: Context) -> Iterable[_Member]:
    return [_Member(at, index, name) for index, name in enumerate(at.group.clique_names)]


def _length(*names: str) -> int:
    return sum(len(name.encode("utf-8", "surrogatepass")) for name in names)


def _own_text(length: int, *names: str) -> str:
    shown = ", ".join([f'"{name}"' for name in names if name])
    return f"the names {shown} must have at most {MAX_COMBINED_LENGTH} characters together, for pod names; got {length}"


def _clique(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    pcs, clique = at.pcs.name, at.clique.name
    length = 0 if at.grouped else _length(pcs, clique)
    if length > MAX_COMBINED_LENGTH:
        text = f"combined resource name length {length} {_LIMIT} PodCliqueSet '{pcs}' or PodClique '{clique}'"
        message = _own_text(length, pcs, clique)
        yield invalid(at.path("name"), clique, text, message)
        yield invalid(("metadata", "name"), pcs, text, message)


def _member(member: _Member, _context: Context) -> Iterator[Problem]:
    pcs, group, clique = member.at.pcs.name, member.at.group.name, member.clique
    length = _length(pcs, group, clique)
    if length <= MAX_COMBINED_LENGTH:
        return
    # An unnamed group is left out of the operator's text.
    named = f", PodCliqueScalingGroup '{group}', or PodClique" if group else " or PodClique"
    text = f"combined resource name length {length} {_LIMIT} PodCliqueSet '{pcs}'{named} '{clique}'"
    message = _own_text(length, pcs, group, clique)
    path = member.at.path("cliqueNames", member.position)
    field = f"spec.template.podCliqueScalingGroups[{member.at.position}].cliqueNames[{member.position}].name"
    yield invalid(path, clique, text, message, field=field)
    yield invalid(member.at.path("name"), clique, text, message)
    yield invalid(("metadata", "name"), pcs, text, message)


CLIQUE_NAME_LENGTH = (
    Check(Rule("name-length", "Set and clique names have at most 45 bytes together.", "spec/grove.md#r26"), _clique),
)  # fmt: skip
"""For cliques outside scaling groups."""

GROUP_NAME_LENGTH = (
    Scope(_members, (
        Check(Rule("group-name-length", "Set, group and clique names have at most 45 bytes together.",
                   "spec/grove.md#r34"), _member),
    )),
)  # fmt: skip
"""For every member of a scaling group."""
