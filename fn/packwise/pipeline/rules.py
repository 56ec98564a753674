"""Every rule that a result of a render can name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise import annotate, render
from packwise.objects import index, spelling
from packwise.pipeline import registry, steps
from packwise.placement import limit
from packwise.select import evidence, selection
from packwise.settings import configuration, operator, schedulers
from packwise.topology import clustertopology, clustertopologybinding, known, protection, renamed_labels
from packwise.validate import definitions, objects
from packwise.validate import judge as by_crd

if TYPE_CHECKING:
    from packwise.findings.finding import Rule

__all__ = ["rule_table"]

_BEFORE_SCHEDULERS = (
    index,
    spelling,
    selection,
    evidence,
    definitions,
    configuration,
    operator,
    known,
    protection,
    clustertopology,
    schedulers,
    clustertopologybinding,
    renamed_labels,
)
_AFTER_SCHEDULERS = (by_crd, objects, render, annotate)


def rule_table() -> tuple[Rule, ...]:
    """The rules, in the order of the steps."""
    return (
        *(rule for part in _BEFORE_SCHEDULERS for rule in part.RULES),
        *(rule for entry in registry.SCHEDULERS for rule in entry.rules()),
        *(rule for part in _AFTER_SCHEDULERS for rule in part.RULES),
        *(rule for entry in registry.FRONT_ENDS for rule in entry.rules()),
        *limit.RULES,
        *steps.RULES,
    )
