"""`packwise rules`: every rule, or one explained; for people as text, for programs as JSON."""

from __future__ import annotations

import json
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any

from packwise.cli.console import show
from packwise.cli.rules import RULES_BY_NAME
from packwise.cli.usage import UsageError
from packwise.wording import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packwise.cli.arguments import Rules
    from packwise.explain import Explanation, Refusal
    from packwise.finding import Rule

__all__ = ["rules"]

_WIDTH = 100


def rules(command: Rules) -> int:
    """Prints what was asked for; returns the exit code. Raises UsageError where no rule has that name."""
    if command.name is None:
        known = RULES_BY_NAME.values()
        text = _json([_fields(rule) for rule in known]) if command.as_json else _table(known)
    else:
        text = _explained(_named(command.name), as_json=command.as_json)
    return 0 if show(text) else 1


def _named(name: str) -> Rule:
    if name not in RULES_BY_NAME:
        hint = closest(name, RULES_BY_NAME) or "; `packwise rules` lists them"
        raise UsageError(f'there is no rule "{name}"{hint}')
    return RULES_BY_NAME[name]


def _explained(rule: Rule, *, as_json: bool) -> str:
    # A list of rules reads no explanation.
    from packwise.explain import explanation, refusal

    found = explanation(rule.name)
    refused = refusal(rule.name, found)
    return _json(_all_fields(rule, found, refused)) if as_json else "".join(_page(rule, found, refused))


def _table(known: Iterable[Rule]) -> str:
    rows = [(rule.name, rule.severity.value, rule.summary) for rule in known]
    name, severity = (max([len(row[column]) for row in rows]) for column in (0, 1))
    return "".join([f"{row[0]:{name}}  {row[1]:{severity}}  {row[2]}\n" for row in rows])


def _page(rule: Rule, found: Explanation, refused: Refusal | None) -> Iterator[str]:
    yield f"{rule.name} ({rule.severity.value})\n{rule.summary}\n\n"
    yield fill(f"{found.why} {found.fix}", _WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"
    yield f"\nSource: {rule.source}\n"
    if found.before:
        yield _block("Before the change:", found.before)
    if found.failing:
        yield _block("Fails:", found.failing)
    if found.also:
        yield f"\nIt fails {', '.join(found.also)} too.\n"
    if refused is not None:
        yield _block(f"What {refused.speaker} would say:", "\n".join(refused.texts) + "\n")
    if found.passing:
        yield _block("Passes:", found.passing)


def _block(head: str, text: str) -> str:
    return f"\n{head}\n\n{indent(text, '    ')}"


def _fields(rule: Rule) -> dict[str, Any]:
    return {"name": rule.name, "severity": rule.severity.value, "summary": rule.summary, "source": rule.source}


def _all_fields(rule: Rule, found: Explanation, refused: Refusal | None) -> dict[str, Any]:
    parts = {
        "why": found.why,
        "fix": found.fix,
        "before": found.before,
        "failing": found.failing,
        "also": list(found.also),
        "stage": refused.stage.value if refused is not None else None,
        "operatorMessages": list(refused.texts) if refused is not None else [],
        "passing": found.passing,
    }
    return {**_fields(rule), **{key: part for key, part in parts.items() if part}}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
