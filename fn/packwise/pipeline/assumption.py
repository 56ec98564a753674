"""Findings that rest on a release of Grove which nobody named: each says so."""

from __future__ import annotations

from functools import cache

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.grove.epoch_sources import RULES as EPOCH_RULES
from packwise.frontends.grove.frontend import DECODE, SCHEMA, UNKNOWN
from packwise.frontends.grove.gang_names import RULES as NAME_RULES
from packwise.frontends.grove.rules import differing_rules
from packwise.frontends.grove.schema.fieldat import is_alike
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.revisions import RELEASES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packwise.findings.finding import Finding
    from packwise.revisions import Revision
    from packwise.validate.definitions import Definitions

__all__ = ["with_assumption"]

_OF_FIELDS = frozenset({DECODE.name, SCHEMA.name, UNKNOWN.name})
"""Rules of fields, most of which all releases have alike."""


def with_assumption(findings: Iterable[Finding], assumed: Revision, definitions: Definitions) -> list[Finding]:
    """The findings, each with a clause that names the `assumed` release where another one might not give it.

    Where the cluster's own definition of PodCliqueSets is among `definitions`, that judges the fields.
    """
    clause = f'; Grove "{assumed.name}" is assumed'
    are_fields_known = definitions.of_kind(*POD_CLIQUE_SET.key) is not None
    return [
        finding._replace(message=finding.message + clause)
        if _rests_on_release(finding, are_fields_known=are_fields_known)
        else finding
        for finding in findings
    ]


def _rests_on_release(finding: Finding, *, are_fields_known: bool) -> bool:
    if finding.rule in _OF_FIELDS:
        return not are_fields_known and not is_alike(finding.path, RELEASES)
    return finding.rule in _rules()


@cache
def _rules() -> frozenset[str]:
    """Names of the rules that releases do not have alike: those of webhooks, and those about epochs."""
    return differing_rules(RELEASES) | {rule.name for rule in (*EPOCH_RULES, *NAME_RULES)}
