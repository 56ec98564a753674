"""Results about builds: failures, skipped builds and assumptions."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Result, ResultFile, Severity
from packwise.build.sources import Obstacle
from packwise.findings import Finding, Rule, shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.fieldpath import FieldPath
    from packwise.build.deliveries import Delivered
    from packwise.build.sources import Owner

FAILED = Rule(
    "source-build",
    "packwise cannot build a chart, a kustomization or a source of a controller.",
    "spec/sources.md#1.5",
)
NOT_BUILT = Rule(
    "source-not-built",
    "--require-build is set, and packwise does not build a source.",
    "spec/sources.md#1.5",
)
ASSUMED = Rule(
    "source-assumed",
    "packwise had to make an assumption to build a source.",
    "spec/sources.md#1.4",
    Severity.INFO,
)
RULES = (FAILED, NOT_BUILT, ASSUMED)
"""Rules of built sources."""


def results_of(delivered: Delivered, shown: Callable[[str], str], *, requires: bool) -> list[Result]:
    """Return the results about builds: failures, assumptions, and with `requires` also skipped builds."""
    results: list[Result] = []
    for each in delivered.unbuilt:
        if each.is_wrong:
            results.append(_result(FAILED, each.owner, each.path, f"packwise cannot build it: {each.reason}", shown))
        elif requires and each.obstacle is not Obstacle.SUSPENDED:
            message = f"packwise did not build it ({each.obstacle.value[0]}): {each.reason}"
            results.append(_result(NOT_BUILT, each.owner, each.path, message, shown))
    for each in delivered.built:
        for note in dict.fromkeys(each.delivery.notes):
            results.append(_result(ASSUMED, each.delivery.owner, (), note, shown))
    return results


def _result(rule: Rule, owner: Owner, path: FieldPath, message: str, shown: Callable[[str], str]) -> Result:
    item = owner.item
    if item is None:
        return shorten(Result(message, rule.severity, file=ResultFile(shown(owner.file)), tags={"rule": rule.name}))
    result = Finding.of(rule, item, path, message).to_result()
    return result.replace(file=ResultFile(shown(owner.file)))
