"""The annotations that ask for multi-node NVLink: grove.io/auto-mnnvl, and grove.io/mnnvl-group after it.

The first webhook reads auto-mnnvl of the PodCliqueSet, alpha.8's both of it and its cliques, later ones mnnvl-group of
these and of scaling groups. Source: spec/grove.md#r46, #u13; spec/grove-releases.md#2.1, #2.2.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Rule
from packwise.frontends.grove.rules.check import TEMPLATE, Check, Context, Scope, Update, forbidden, invalid
from packwise.kubernetes.validation import dns_label, go_quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from packwise.findings.finding import Problem
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["MNNVL", "MNNVL_BOTH", "MNNVL_BOTH_UPDATE", "MNNVL_GROUP", "MNNVL_GROUP_UPDATE", "MNNVL_UPDATE"]

_AUTO = "grove.io/auto-mnnvl"
_GROUP = "grove.io/mnnvl-group"
_OPT_OUT = "none"


class _Annotated(NamedTuple):
    """The annotations of one part, and their path. `key` identifies the part, before and after a change."""

    path: FieldPath
    annotations: Mapping[str, str]
    key: tuple[str, str]

    def field(self, annotation: str) -> str:
        """The path of an annotation in the operator's errors."""
        return f"{format_path(self.path)}.{annotation}"


def _of_set(pcs: PodCliqueSet) -> Iterator[_Annotated]:
    yield _Annotated(("metadata", "annotations"), pcs.annotations, ("", ""))


def _of_parts(pcs: PodCliqueSet) -> Iterator[_Annotated]:
    """Those of the set, its cliques and its groups."""
    yield from _of_set(pcs)
    for index, clique in enumerate(pcs.cliques):
        yield _Annotated((*TEMPLATE, "cliques", index, "annotations"), clique.annotations, ("clique", clique.name))
    for index, group in enumerate(pcs.groups):
        path = (*TEMPLATE, "podCliqueScalingGroups", index, "annotations")
        yield _Annotated(path, group.annotations, ("group", group.name))


def _set_only(pcs: PodCliqueSet, _context: Context) -> Iterable[_Annotated]:
    return _of_set(pcs)


def _parts(pcs: PodCliqueSet, _context: Context) -> Iterable[_Annotated]:
    return _of_parts(pcs)


def _auto_value(part: _Annotated, _context: Context) -> Iterator[Problem]:
    value = part.annotations.get(_AUTO)
    if value is not None and value not in {"enabled", "disabled"}:
        text = 'must be "enabled" or "disabled"'
        yield invalid((*part.path, _AUTO), value, text, f'{text}; got "{value}"', field=part.field(_AUTO))


def _auto_feature(part: _Annotated, context: Context) -> Iterator[Problem]:
    value = part.annotations.get(_AUTO)
    if value == "enabled" and context.lacks_mnnvl:
        message = (
            'must not be "enabled" while network.autoMNNVLEnabled is false in the operator\'s configuration; '
            "enable it there or remove the annotation"
        )
        yield invalid((*part.path, _AUTO), value, _not_enabled(_AUTO), message, field=part.field(_AUTO))


def _group_value(part: _Annotated, _context: Context) -> Iterator[Problem]:
    return _wrong_group(part, f'a DNS label, or "{_OPT_OUT}"')


def _any_group_value(part: _Annotated, _context: Context) -> Iterator[Problem]:
    return _wrong_group(part, "a DNS label")


def _wrong_group(part: _Annotated, allowed: str) -> Iterator[Problem]:
    value = part.annotations.get(_GROUP)
    if value is None:
        return
    wrong = dns_label(value)
    if value and not wrong:
        return
    text = f"mnnvl-group value {go_quote(value)} is not a valid DNS-1123 label: {'; '.join(wrong)}"
    if not value:
        text = "mnnvl-group value must not be empty"
    message = f'must be a group\'s name, {allowed}; got "{value}"'
    yield invalid((*part.path, _GROUP), value, text, message, field=part.field(_GROUP))


def _group_feature(part: _Annotated, context: Context) -> Iterator[Problem]:
    value = part.annotations.get(_GROUP)
    if value is not None and value != _OPT_OUT and context.lacks_mnnvl:
        message = (
            f'must be "{_OPT_OUT}" or absent while network.autoMNNVLEnabled is false in the operator\'s configuration; '
            f'got "{value}"; enable it there or remove the annotation'
        )
        yield invalid((*part.path, _GROUP), value, _not_enabled(_GROUP), message, field=part.field(_GROUP))


def _any_group_feature(part: _Annotated, context: Context) -> Iterator[Problem]:
    # No value opts out yet.
    value = part.annotations.get(_GROUP)
    if value is not None and context.lacks_mnnvl:
        message = (
            f"must be absent while network.autoMNNVLEnabled is false in the operator's configuration; "
            f'got "{value}"; enable it there or remove the annotation'
        )
        yield invalid((*part.path, _GROUP), value, _not_enabled(_GROUP), message, field=part.field(_GROUP))


def _conflict(part: _Annotated, _context: Context) -> Iterator[Problem]:
    auto, group = part.annotations.get(_AUTO, ""), part.annotations.get(_GROUP)
    if auto.lower() == "disabled" and group is not None:
        text = (
            f"contradictory MNNVL annotations: {_AUTO} is {go_quote(auto)} but {_GROUP} is also set; cannot disable "
            "MNNVL and assign a group simultaneously"
        )
        message = f'must not stand beside {_AUTO}: "{auto}"; got "{group}"; remove one of the two annotations'
        yield forbidden((*part.path, _GROUP), text, message, field=format_path(part.path))


def _not_enabled(annotation: str) -> str:
    return (
        "MNNVL is not enabled in the operator configuration. "
        f"Either enable MNNVL globally or remove the {annotation} annotation"
    )


def _immutable(
    parts: Callable[[PodCliqueSet], Iterable[_Annotated]], annotation: str, creation: str
) -> Callable[[Update, Context], Iterator[Problem]]:
    """The check that `annotation` stays as it was; `creation` is how the operator calls that of a PodCliqueSet."""

    def check(update: Update, _context: Context) -> Iterator[Problem]:
        before = {part.key: part.annotations for part in parts(update.old)}
        for part in parts(update.new):
            if part.key in before:
                old, new = before[part.key].get(annotation), part.annotations.get(annotation)
                yield from _change(part, annotation, old, new, creation)

    return check


def _change(part: _Annotated, annotation: str, old: str | None, new: str | None, creation: str) -> Iterator[Problem]:
    path, field = (*part.path, annotation), part.field(annotation)
    if old == new:
        return
    if old is None or new is None:
        verb = "added" if old is None else "removed"
        text = f"annotation {annotation} cannot be {verb} after {creation}"
        message = f"must not be {verb} once the PodCliqueSet exists; delete and create it to change this"
        yield forbidden(path, text, message, field=field)
        return
    text = f"annotation {annotation} is immutable and cannot be changed from {go_quote(old)} to {go_quote(new)}"
    yield invalid(path, new, text, f'must stay "{old}" once the PodCliqueSet exists; got "{new}"', field=field)


_VALUE = Check(Rule("mnnvl-value", 'grove.io/auto-mnnvl is "enabled" or "disabled".', "spec/grove.md#r46"), _auto_value)
_FEATURE = Check(
    Rule("mnnvl-feature", "grove.io/auto-mnnvl asks for a feature that is on.", "spec/grove.md#r46"), _auto_feature
)
_NAME = Rule("mnnvl-group-name", 'grove.io/mnnvl-group is a DNS label or "none".', "spec/grove.md#r46")
_GROUP_FEATURE = Rule("mnnvl-group-feature", "grove.io/mnnvl-group asks for a feature that is on.", "spec/grove.md#r46")
_CONFLICT = Rule(
    "mnnvl-conflict", "A group of MNNVL is not named where MNNVL is disabled.", "spec/grove-releases.md#2.1.5"
)
_UPDATE = Rule("update-mnnvl", "grove.io/auto-mnnvl never changes.", "spec/grove.md#u13")
_GROUP_UPDATE = Rule("update-mnnvl-group", "grove.io/mnnvl-group never changes.", "spec/grove.md#u13")
_OF_SET = "PodCliqueSet creation"

MNNVL = (Scope(_set_only, (_VALUE, _FEATURE)),)
"""Rules of a new PodCliqueSet's auto-mnnvl."""

MNNVL_UPDATE = (Check(_UPDATE, _immutable(_of_set, _AUTO, _OF_SET)),)
"""Runs with the whole-object rules of an update, before the other update rules."""

MNNVL_BOTH = (
    Scope(_parts, (
        _VALUE,
        _FEATURE,
        Check(_NAME, _any_group_value),
        Check(_GROUP_FEATURE, _any_group_feature),
        Check(_CONFLICT, _conflict),
    )),
)  # fmt: skip
"""Rules of both annotations of a new PodCliqueSet and its cliques."""

MNNVL_BOTH_UPDATE = (
    Check(_UPDATE, _immutable(_of_parts, _AUTO, _OF_SET)),
    Check(_GROUP_UPDATE, _immutable(_of_parts, _GROUP, _OF_SET)),
)
"""Run as `MNNVL_UPDATE` does."""

MNNVL_GROUP = (Scope(_parts, (Check(_NAME, _group_value), Check(_GROUP_FEATURE, _group_feature))),)
"""Rules of mnnvl-group of a new PodCliqueSet, its cliques and groups."""

MNNVL_GROUP_UPDATE = (Check(_GROUP_UPDATE, _immutable(_of_parts, _GROUP, "creation")),)
"""Run as `MNNVL_UPDATE` does."""
