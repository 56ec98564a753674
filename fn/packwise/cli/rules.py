"""`packwise rules`: the table of all rules, and the explanation of one; as text for people, as JSON for programs."""

from __future__ import annotations

import json
from textwrap import fill, indent

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import UsageError
from packwise.cli.console import show
from packwise.cli.folder import RULES as FOLDER_RULES
from packwise.cli.input_paths import RULES as PATH_RULES
from packwise.cli.survey import RULES as SURVEY_RULES
from packwise.commands.applications import RULES as APPLICATION_RULES
from packwise.commands.fleet.result import RULES as FLEET_RULES
from packwise.commands.migrate import RULES as MIGRATE_RULES
from packwise.pipeline.rules import rule_table
from packwise.wording import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from packwise.cli.arguments import Rules
    from packwise.commands.rules import Explanation, Refusal
    from packwise.findings.finding import Rule

__all__ = ["RULES_BY_NAME", "rule_named", "rules"]

RULES_BY_NAME: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        *rule_table(),
        *PATH_RULES,
        *FOLDER_RULES,
        *SURVEY_RULES,
        *APPLICATION_RULES,
        *MIGRATE_RULES,
        *FLEET_RULES,
    )
}
"""Every rule by its name: those of a render, of the command line, of migrations."""

_WIDTH = 100


def rules(command: Rules) -> int:
    """Prints what was asked for; returns the exit code. Raises UsageError where no rule has that name."""
    if command.name is None:
        known = RULES_BY_NAME.values()
        text = _json([_fields(rule) for rule in known]) if command.as_json else _table(known)
    else:
        text = _explained(rule_named(command.name), as_json=command.as_json)
    return 0 if show(text) else 1


def rule_named(name: str) -> Rule:
    """The rule of that name. Raises UsageError, which suggests the nearest, where there is none."""
    if name not in RULES_BY_NAME:
        hint = closest(name, RULES_BY_NAME, len(RULES_BY_NAME)) or "; `packwise rules` lists them"
        raise UsageError(f'there is no rule "{name}"{hint}')
    return RULES_BY_NAME[name]


def _explained(rule: Rule, *, as_json: bool) -> str:
    # A list of rules reads no explanation.
    from packwise.commands.rules import explanation, refusal

    explained = explanation(rule.name)
    refused = refusal(rule.name, explained)
    return _json(_all_fields(rule, explained, refused)) if as_json else "".join(_page(rule, explained, refused))


def _table(known: Iterable[Rule]) -> str:
    rows = [(rule.name, rule.severity.value, rule.summary) for rule in known]
    name, severity = (max([len(row[column]) for row in rows]) for column in (0, 1))
    return "".join([f"{row[0]:{name}}  {row[1]:{severity}}  {row[2]}\n" for row in rows])


def _page(rule: Rule, explained: Explanation, refused: Refusal | None) -> Iterator[str]:
    yield f"{rule.name} ({rule.severity.value})\n{rule.summary}\n\n"
    yield fill(f"{explained.why} {explained.fix}", _WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"
    yield f"\nSource: docs/{rule.source}\n"
    if explained.before:
        yield _block("Before the change:", explained.before)
    if explained.failing:
        yield _block("Fails:", explained.failing)
    if explained.also:
        yield f"\nIt fails {', '.join(explained.also)} too.\n"
    if refused is not None:
        yield _block(f"What {refused.speaker} would say:", "\n".join(refused.texts) + "\n")
    if explained.passing:
        yield _block("Passes:", explained.passing)


def _block(head: str, text: str) -> str:
    return f"\n{head}\n\n{indent(text, '    ')}"


def _fields(rule: Rule) -> dict[str, Any]:
    return {
        "name": rule.name,
        "severity": rule.severity.value,
        "summary": rule.summary,
        "source": f"docs/{rule.source}",
    }


def _all_fields(rule: Rule, explained: Explanation, refused: Refusal | None) -> dict[str, Any]:
    parts = {
        "why": explained.why,
        "fix": explained.fix,
        "before": explained.before,
        "failing": explained.failing,
        "also": list(explained.also),
        "stage": refused.stage.value if refused is not None else None,
        "operatorMessages": list(refused.texts) if refused is not None else [],
        "passing": explained.passing,
    }
    return {**_fields(rule), **{key: part for key, part in parts.items() if part}}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
