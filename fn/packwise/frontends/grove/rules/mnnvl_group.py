"""The annotation grove.io/mnnvl-group of a PodCliqueSet, its cliques and its groups. Source: operator.md R46, U13."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn.fieldpath import format_path
from packwise.findings.rule import Rule
from packwise.frontends.grove.rules.check import TEMPLATE, Check, Context, Scope, Update, forbidden, invalid
from packwise.kubernetes.field_error import go_quote
from packwise.kubernetes.validation import dns_label

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from packwise.findings.problem import Problem
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["ANNOTATION", "MNNVL_GROUP", "MNNVL_GROUP_UPDATE"]

ANNOTATION = "grove.io/mnnvl-group"
_NONE = "none"


class _Annotated(NamedTuple):
    """The annotations of one part, and their path. `key` identifies the part, before and after a change."""

    path: FieldPath
    annotations: Mapping[str, str]
    key: tuple[str, str]

    @property
    def field(self) -> str:
        """The path in the operator's errors."""
        return f"{format_path(self.path)}.{ANNOTATION}"


def _parts(pcs: PodCliqueSet) -> Iterator[_Annotated]:
    yield _Annotated(("metadata", "annotations"), pcs.annotations, ("", ""))
    for index, clique in enumerate(pcs.cliques):
        yield _Annotated((*TEMPLATE, "cliques", index, "annotations"), clique.annotations, ("clique", clique.name))
    for index, group in enumerate(pcs.groups):
        path = (*TEMPLATE, "podCliqueScalingGroups", index, "annotations")
        yield _Annotated(path, group.annotations, ("group", group.name))


def _annotated(pcs: PodCliqueSet, _context: Context) -> list[_Annotated]:
    return [part for part in _parts(pcs) if ANNOTATION in part.annotations]


def _value(part: _Annotated, _context: Context) -> Iterator[Problem]:
    value = part.annotations[ANNOTATION]
    if value == _NONE:
        return
    wrong = dns_label(value)
    if value and not wrong:
        return
    text = f"mnnvl-group value {go_quote(value)} is not a valid DNS-1123 label: {'; '.join(wrong)}"
    message = f'must be a group\'s name, a DNS label, or "{_NONE}"; got "{value}"'
    yield invalid(
        (*part.path, ANNOTATION),
        value,
        text if value else "mnnvl-group value must not be empty",
        message,
        field=part.field,
    )


def _feature(part: _Annotated, context: Context) -> Iterator[Problem]:
    value = part.annotations[ANNOTATION]
    if value != _NONE and not context.auto_mnnvl:
        text = (
            "MNNVL is not enabled in the operator configuration. "
            f"Either enable MNNVL globally or remove the {ANNOTATION} annotation"
        )
        message = (
            f'must be "{_NONE}" or absent while network.autoMNNVLEnabled is false in the operator\'s configuration; '
            f'got "{value}"; enable it there or remove the annotation'
        )
        yield invalid((*part.path, ANNOTATION), value, text, message, field=part.field)


def _unchanged(update: Update, _context: Context) -> Iterator[Problem]:
    before = {part.key: part.annotations for part in _parts(update.old)}
    for part in _parts(update.new):
        if part.key not in before:
            continue
        old, new, path = before[part.key].get(ANNOTATION), part.annotations.get(ANNOTATION), (*part.path, ANNOTATION)
        if old == new:
            continue
        if old is None or new is None:
            verb = "added" if old is None else "removed"
            text = f"annotation {ANNOTATION} cannot be {verb} after creation"
            message = f"must not be {verb} once the PodCliqueSet exists; delete and create it to change this"
            yield forbidden(path, text, message, field=part.field)
        else:
            text = f"annotation {ANNOTATION} is immutable and cannot be changed from {go_quote(old)} to {go_quote(new)}"
            message = f'must stay "{old}" once the PodCliqueSet exists; got "{new}"'
            yield invalid(path, new, text, message, field=part.field)


MNNVL_GROUP = (
    Scope(_annotated, (
        Check(Rule("mnnvl-group-name", 'grove.io/mnnvl-group is a DNS label or "none".', "operator.md R46, H"), _value),
        Check(Rule("mnnvl-group-feature", "grove.io/mnnvl-group asks for a feature that is on.", "operator.md R46, H"),
              _feature),
    )),
)  # fmt: skip
"""Rules of a new PodCliqueSet's annotations."""

MNNVL_GROUP_UPDATE = (
    Check(Rule("update-mnnvl-group", "grove.io/mnnvl-group never changes.", "operator.md U13, H"), _unchanged),
)
"""Runs with the whole-object rules of an update, before the other update rules."""
