"""The groups of a check judged one by one, and the line that says what was judged and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.record import NamedTuple
from krmfn.result import Severity, exit_code, sort_results
from packwise.discovery import summary
from packwise.pipeline import render
from packwise.pipeline.steps import NO_WORKLOADS
from packwise.select.selection import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.result import Result
    from packwise.cli.groups import Checkup, Group
    from packwise.discovery import LeftOut
    from packwise.pipeline import Rendered

__all__ = ["Judgement", "judge", "left_out_lines"]


_UNKNOWN, _SCHEMA = "topology-domain-unknown", "workload-schema"
"""The rules by which two stages refuse one domain."""


class Judgement(NamedTuple):
    """The sorted `results` of all groups; `closing` is what a summary says of groups and of files left out."""

    results: tuple[Result, ...]
    closing: str


def judge(checkup: Checkup) -> Judgement:
    """What is wrong with each file, by its own configuration."""
    rendered = [(group, render(group.package)) for group in checkup.groups]
    results = [*checkup.results]
    # What a file would have held that cannot be read is not missed beside it.
    is_whole = not exit_code(checkup.results)
    passed = frozenset({ABSENT.name, NO_WORKLOADS.name}) if not is_whole else frozenset[str]()
    if any(each.workloads for _, each in rendered):
        passed |= {NO_WORKLOADS.name}
    for group, each in rendered:
        kept = [result for result in each.results if _is_told(result, group)]
        results += [result for result in kept if result.tags.get("rule") not in passed]
    judged = [(group, each) for group, each in rendered if each.workloads and each.selection is not None]
    judged.sort(key=lambda pair: (not pair[0].configurations, pair[0].configurations))
    closing = [_judged(group, each, is_first=pair == 0) for pair, (group, each) in enumerate(judged)]
    left_out = summary(left_out.reason for _, left_out in checkup.left_out)
    if left_out:
        closing.append(f"left out: {left_out}")
    # A definition that several groups read is wrong once.
    unique = {str(result): result for result in results}
    return Judgement(sort_results(_without_echoes([*unique.values()])), "; ".join(closing))


def left_out_lines(left_out: Iterable[tuple[str, LeftOut]]) -> list[str]:
    """`left out: charts/web/values.yaml: values file (charts/web/Chart.yaml)`, for each in order of its path."""
    return [f"left out: {name}: {reason.description}" for name, reason in sorted(left_out)]


def _without_echoes(results: list[Result]) -> list[Result]:
    """`results` without what the schema has against a domain that the topology has not: one typo is one error."""
    unknown = {_place(result) for result in results if result.tags.get("rule") == _UNKNOWN}
    return [result for result in results if result.tags.get("rule") != _SCHEMA or _place(result) not in unknown]


def _place(result: Result) -> tuple[object, ...]:
    return result.file, result.resource_ref, result.field, result.tags.get("line"), result.tags.get("column")


def _is_told(result: Result, group: Group) -> bool:
    """Whether a result is about a file that is judged, or keeps those files from being judged."""
    file = None if result.file is None else result.file.path
    if file not in group.around:
        return True
    return file in group.configurations and result.severity is Severity.ERROR


def _judged(group: Group, rendered: Rendered, *, is_first: bool) -> str:
    """`12 workloads judged with Grove v0.1.0-alpha.13 (clusters/west/topology.yaml)`; later ones without the nouns."""
    number, selection = rendered.workloads, rendered.selection
    words = [str(number)]
    if is_first:
        words.append("workload judged" if number == 1 else "workloads judged")
    if selection is not None and not selection.is_configured:
        return " ".join([*words, "without a configuration"])
    if selection is not None and rendered.has_grove:
        reason = "" if selection.is_named else f", chosen by {selection.chosen_by}"
        words.append(f"with Grove {selection.revision.name}{reason}")
    if group.configurations:
        words.append(f"({_names(group.configurations)})")
    return " ".join(words)


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
