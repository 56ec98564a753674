"""Every rule that a result of a render can name."""

from __future__ import annotations

from functools import cache

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise import keys, placement, render, select
from packwise.objects import index, kinds
from packwise.pipeline import choice, registry, steps
from packwise.select import evidence
from packwise.settings import configuration, operator, schedulers
from packwise.topology import bindings, known
from packwise.validate import definitions

if TYPE_CHECKING:
    from krmfn.result import Result
    from packwise.findings.finding import Rule

__all__ = ["precondition_rules", "prevents", "rule_table", "rules_of_packages"]

_BEFORE_SCHEDULERS = (
    *index.RULES,
    *kinds.RULES,
    *select.RULES,
    *evidence.RULES,
    *evidence.KAI_RULES,
    *definitions.RULES,
    *configuration.RULES,
    *operator.RULES,
    *known.RULES,
    *known.PROTECTION_RULES,
    *known.CLUSTERTOPOLOGY_RULES,
    *schedulers.RULES,
    *bindings.RULES,
    *known.RENAMED_RULES,
)
_PRECONDITIONS = (
    *index.RULES,
    *select.RULES,
    *configuration.RULES,
    *operator.RULES,
    *schedulers.RULES,
    *choice.RULES,
)
_AFTER_SCHEDULERS = (
    *definitions.VERDICT_RULES,
    *definitions.OBJECT_RULES,
    *steps.STRING_RULES,
    *keys.RULES,
    *render.RULES,
)


def rule_table() -> tuple[Rule, ...]:
    """The rules, in the order of the steps."""
    return (
        *_BEFORE_SCHEDULERS,
        *(rule for entry in registry.SCHEDULERS for rule in entry.rules()),
        *_AFTER_SCHEDULERS,
        *(rule for entry in registry.FRONT_ENDS for rule in entry.rules()),
        *placement.RULES,
        *steps.RULES,
        *choice.RULES,
        *choice.OF_COMMENTS,
    )


@cache
def rules_of_packages() -> frozenset[str]:
    """The names of the rules about all workloads of a package, which are reported once."""
    return frozenset([rule.name for rule in rule_table() if rule.once])


@cache
def precondition_rules() -> frozenset[str]:
    """The names of the rules without which nothing is judged: what is read, and what configures it."""
    return frozenset([rule.name for rule in _PRECONDITIONS])


def prevents(result: Result) -> bool:
    """True if it says that the input or its configuration cannot be read, so that no rule is judged."""
    rule = result.tags.get("rule", "")
    return result.severity is Severity.ERROR and (not rule or rule in precondition_rules())
