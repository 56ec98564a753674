"""The annotation that asks for multi-node NVLink. Source: operator.md R46, U13."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.findings.rule import Rule
from packwise.frontends.grove.rules.check import Check, Context, Update, forbidden, invalid
from packwise.kubernetes.field_error import go_quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.findings.problem import Problem
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["ANNOTATION", "MNNVL", "MNNVL_UPDATE"]

ANNOTATION = "grove.io/auto-mnnvl"
"""Values: "enabled", "disabled"."""

_PATH = ("metadata", "annotations", ANNOTATION)
_FIELD = f"metadata.annotations.{ANNOTATION}"


def _value(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    value = pcs.annotations.get(ANNOTATION)
    if value is not None and value not in {"enabled", "disabled"}:
        text = 'must be "enabled" or "disabled"'
        yield invalid(_PATH, value, text, f'{text}; got "{value}"', field=_FIELD)


def _feature(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    value = pcs.annotations.get(ANNOTATION)
    if value == "enabled" and not context.auto_mnnvl:
        text = (
            "MNNVL is not enabled in the operator configuration. "
            f"Either enable MNNVL globally or remove the {ANNOTATION} annotation"
        )
        message = (
            'must not be "enabled" while network.autoMNNVLEnabled is false in the operator\'s configuration; '
            "enable it there or remove the annotation"
        )
        yield invalid(_PATH, value, text, message, field=_FIELD)


def _unchanged(update: Update, _context: Context) -> Iterator[Problem]:
    old, new = update.old.annotations.get(ANNOTATION), update.new.annotations.get(ANNOTATION)
    if old == new:
        return
    if old is None or new is None:
        verb = "added" if old is None else "removed"
        text = f"annotation {ANNOTATION} cannot be {verb} after PodCliqueSet creation"
        message = f"must not be {verb} once the PodCliqueSet exists; delete and create it to change this"
        yield forbidden(_PATH, text, message, field=_FIELD)
        return
    text = f"annotation {ANNOTATION} is immutable and cannot be changed from {go_quote(old)} to {go_quote(new)}"
    yield invalid(_PATH, new, text, f'must stay "{old}" once the PodCliqueSet exists; got "{new}"', field=_FIELD)


MNNVL = (
    Check(Rule("mnnvl-value", 'grove.io/auto-mnnvl is "enabled" or "disabled".', "operator.md R46"),
          _value, create_only=True),
    Check(Rule("mnnvl-feature", "grove.io/auto-mnnvl asks for a feature that is on.", "operator.md R46"),
          _feature, create_only=True),
)  # fmt: skip
"""Rules of a new PodCliqueSet's annotation."""

MNNVL_UPDATE = (Check(Rule("update-mnnvl", "grove.io/auto-mnnvl never changes.", "operator.md U13"), _unchanged),)
"""Runs with the whole-object rules of an update, before the other update rules."""
