"""Every rule that a result of a render can name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise import annotate, render
from packwise.crds import findings as by_crd
from packwise.crds import objects
from packwise.frontends.grove import frontend
from packwise.frontends.osmo import rules as osmo
from packwise.pipeline import steps
from packwise.schedulers import podgroups as grouped
from packwise.schedulers import references, requests
from packwise.schedulers import topologies as scheduled
from packwise.select import configuration, definitions, index, protection, schedulers, selection, topologies
from packwise.topology import clustertopology, clustertopologybinding

if TYPE_CHECKING:
    from packwise.finding import Rule

__all__ = ["rule_table"]


def rule_table() -> tuple[Rule, ...]:
    """The rules, in the order of the steps."""
    parts = (
        index,
        selection,
        definitions,
        configuration,
        topologies,
        protection,
        clustertopology,
        schedulers,
        clustertopologybinding,
        scheduled,
        grouped,
        requests,
        references,
        by_crd,
        objects,
        render,
        annotate,
    )
    return (*(rule for part in parts for rule in part.RULES), *frontend.rule_table(), *osmo.RULES, *steps.RULES)
