"""Which findings a check reports: by rule, and but for those that a file knows."""

from __future__ import annotations

import json
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity, sort_results
from packwise.cli.arguments import UsageError
from packwise.cli.rules import rule_named
from packwise.findings.known import compare, known_of, written
from packwise.pipeline.rules import precondition_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.result import Result
    from packwise.cli.arguments import Choice

__all__ = ["Chosen", "choose", "divided", "findings_text", "prevents", "refuse_unknown"]


class Chosen(NamedTuple):
    """`results` are reported; `known` counts those that a file knows, `gone` what it knows and is there no longer."""

    results: tuple[Result, ...]
    known: int = 0
    gone: int = 0


def refuse_unknown(choice: Choice) -> None:
    """Raises UsageError where a rule is named that there is not, or one is to be ignored whose findings are errors."""
    for name in choice.selected:
        rule_named(name)
    for name in choice.ignored:
        if rule_named(name).severity is Severity.ERROR:
            raise UsageError(
                f'--ignore must name rules of warnings and infos; got "{name}", whose findings are errors: the cluster '
                f"refuses what breaks it; ignore it at its line, `# packwise: ignore[{name}] reason`"
            )


def choose(results: Sequence[Result], choice: Choice) -> Chosen:
    """The sorted `results` that `choice` asks for. Raises UsageError where its file of known findings is none."""
    chosen = tuple(result for result in results if _is_chosen(result, choice))
    if choice.known is None:
        return Chosen(chosen)
    others, never = divided(chosen)
    compared = compare(others, _known(choice.known))
    return Chosen(sort_results([*never, *compared.new]), compared.known, compared.gone if not choice.selected else 0)


def findings_text(results: Sequence[Result]) -> str:
    """The file of known findings that has `results`."""
    return json.dumps(written(results), ensure_ascii=False, indent=2) + "\n"


def divided(results: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    """Those of `results` that may be known, and errors that never are: with these, nothing else is judged."""
    known: list[Result] = []
    never: list[Result] = []
    for result in results:
        (never if prevents(result) else known).append(result)
    return known, never


def _is_chosen(result: Result, choice: Choice) -> bool:
    rule = result.tags.get("rule", "")
    if result.severity is Severity.ERROR:
        # Where no rule is judged, nothing of those selected is no good news.
        return not choice.selected or rule in choice.selected or prevents(result)
    return rule not in choice.ignored and (not choice.selected or rule in choice.selected)


def prevents(result: Result) -> bool:
    """Whether it says that the input or its configuration cannot be read, so that no rule is judged."""
    rule = result.tags.get("rule", "")
    return result.severity is Severity.ERROR and (not rule or rule in precondition_rules())


def _known(name: str) -> frozenset[str]:
    try:
        return known_of(json.loads(Path(name).read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f'--known "{name}" must be a file that can be read; got "{error.strerror}"') from None
    except RecursionError:
        raise UsageError(f'--known "{name}" must be what --write-findings wrote; it nests too deep') from None
    except ValueError as error:
        is_json = not isinstance(error, (json.JSONDecodeError, UnicodeDecodeError))
        raise UsageError(
            f'--known "{name}" {error if is_json else "must be JSON that --write-findings wrote; it is none"}'
        ) from None
