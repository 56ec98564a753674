"""The groups of a check, checked one by one. Each is divided into the batches that one client applies together.

A batch is one file, the files of a kustomization, a kpt package, or stdin. Below a configuration of packwise, a folder
without a kustomization is also a batch, as in Argo CD and `kubectl apply -f`. Otherwise, two files of one folder may
define variants of an object, and users apply one of them. Source: spec/gitops.md; spec/clients.md#2a and #3.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity, sort_results
from packwise.discovery import count_unchecked
from packwise.inputs.coverage import Coverage, count_checked_objects, describe_configuration, groups_covered
from packwise.inputs.variants import batches_of, has_repeated, packages_of
from packwise.objects.index import group_and_kind
from packwise.objects.kinds import WORKLOADS
from packwise.output.known_findings import compare, fingerprints, without_echoes
from packwise.pipeline import render
from packwise.pipeline.check import PLACEHOLDER
from packwise.pipeline.evidence import KAI_UNNAMED
from packwise.pipeline.rules import prevents, rules_missed_by, rules_of_packages
from packwise.pipeline.selection import ABSENT, UNNAMED
from packwise.pipeline.steps import NO_WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.result import Result
    from packwise.inputs.groups import Checkup, Group
    from packwise.pipeline import Rendered, Renderer


_OF_WORKLOADS = frozenset({ABSENT.name, KAI_UNNAMED.name})
"""Rules that concern only workloads. They report nothing if the input has no workload."""

_NAMES = frozenset(kind.name for kind in WORKLOADS)


_LIMITS = frozenset({UNNAMED.name, PLACEHOLDER.name})


def limits_answer(result: Result) -> bool:
    """Return True if a result limits all other output: an assumed release, or an unknown value."""
    return result.tags.get("rule") in _LIMITS


class Verdict(Record):
    """The sorted `results` of all groups and their coverage. `is_new` is true if a workload has no status.

    `renders` has each group with its render. It is empty unless `check_groups` is called with `is_listed`.
    """

    results: tuple[Result, ...]
    coverage: Coverage = Coverage()
    is_new: bool = False
    renders: tuple[tuple[Group, Rendered], ...] = ()


class Batch(Record):
    """A batch: its files, the group with only its items, and the render of this group."""

    files: frozenset[str | None]
    group: Group
    rendered: Rendered


class _GroupVerdict(Record):
    """The result of a render of one group: the reported results and the number of checked `workloads`.

    `configuration` describes the configuration, or is None without one. `is_new` is true if a workload has no status.
    `objects` counts workloads that are Kubernetes objects. `has_plans` is true if workloads need a release of Grove or
    KAI. `rendered` is the render, or None if it is not needed.
    """

    results: tuple[Result, ...]
    workloads: int
    configuration: str | None
    is_new: bool
    objects: int
    has_plans: bool
    rendered: Rendered | None = None


def check_groups(checkup: Checkup, *, is_listed: bool = False, renderer: Renderer = render) -> Verdict:
    """Return the results of all groups, each checked with its own configuration. With `is_listed`, add the renders."""
    checked = [(group, _verdict_of(group, renderer, is_listed=is_listed)) for group in checkup.groups]
    results = [*checkup.results]
    passed = rules_missed_by(checkup.results)
    # One group with a workload is enough for all groups. Without workloads, no configuration is needed.
    passed |= {NO_WORKLOADS.name} if any(each.workloads for _, each in checked) else set()
    passed |= set() if any(each.has_plans for _, each in checked) else _OF_WORKLOADS
    for _, each in checked:
        results += [result for result in each.results if result.tags.get("rule") not in passed]
    coverage = groups_covered(
        checkup, [(group, each.workloads, each.configuration, each.objects) for group, each in checked]
    )
    # Several groups may read one definition. Report its problems only once.
    unique = {str(result): result for result in _with_reasons(results, coverage)}
    is_new = any(each.is_new for _, each in checked)
    reported = without_echoes(unique.values())
    if checkup.sources is not None:
        from packwise.build.files import locate_results

        files = (*checkup.files, *[file for group in checkup.groups for file in group.files])
        reported = list({str(result): result for result in locate_results(reported, files)}.values())
    renders = tuple([(group, each.rendered) for group, each in checked if each.rendered is not None])
    return Verdict(sort_results(reported), coverage, is_new, renders)


def _verdict_of(group: Group, renderer: Renderer, *, is_listed: bool) -> _GroupVerdict:
    """Return the results of a group. Objects that no client applies together are checked separately."""
    rendered = renderer(group.package, is_listed=is_listed)
    batches = render_batches(group, rendered)
    checked = [batch.rendered for batch in batches]
    results = _select_reported(results_of(batches), rendered.obstacles, group)
    workloads = [item for item in group.package.items if group_and_kind(item.value)[1] in _NAMES]
    is_new = any(not item.get("status") for item in workloads)
    number, planned = (
        sum(each.workloads for each in checked),
        [plan.workload for each in checked for plan in each.plans],
    )
    if group.unchanged:
        number = sum(item.location().file not in group.unchanged for each in checked for item in each.checked_workloads)
        planned = [item for item in planned if item.location().file not in group.unchanged]
    objects = sum([count_checked_objects(each, group.unchanged) for each in checked])
    # The renders of thousands of groups stay in memory only if they are needed.
    kept = rendered if is_listed else None
    return _GroupVerdict(results, number, describe_configuration(rendered), is_new, objects, bool(planned), kept)


def render_batches(group: Group, rendered: Rendered, *, is_listed: bool = False) -> list[Batch]:
    """Return the group with its render, or each batch with its render if the objects have variants."""
    batches = batches_of(group) if has_repeated(rendered.results) else []
    if len(batches) < 2:
        return [Batch(frozenset(), group, rendered)]
    packages = packages_of(group.package, batches)
    return [
        Batch(
            frozenset(item.file for item in items),
            group.replace(package=package),
            render(package, is_listed=is_listed),
        )
        for items, package in zip(batches, packages, strict=True)
    ]


def render_groups(checkup: Checkup, *, is_listed: bool = False) -> list[tuple[Group, list[Batch]]]:
    """Return each group with the batches in which it is rendered."""
    return [
        (group, render_batches(group, render(group.package, is_listed=is_listed), is_listed=is_listed))
        for group in checkup.groups
    ]


def coverage_of_groups(checkup: Checkup, rendered: Iterable[tuple[Group, list[Batch]]]) -> Coverage:
    """Return the coverage of rendered groups. All commands that check groups count in this way."""
    counted = [
        (
            group,
            sum([batch.rendered.workloads for batch in batches]),
            describe_configuration(batches[0].rendered),
            sum([count_checked_objects(batch.rendered) for batch in batches]),
        )
        for group, batches in rendered
    ]
    return groups_covered(checkup, counted)


def results_of(batches: Sequence[Batch]) -> list[Result]:
    """Return the results of all batches. A later batch adds only results about its own files.

    A rule about the whole package reports only once.
    """
    results = list(batches[0].rendered.results)
    for batch in batches[1:]:
        known = {result.tags.get("rule") for result in results} & rules_of_packages()
        results += [
            result
            for result in batch.rendered.results
            if (result.file is None or result.file.path in batch.files) and result.tags.get("rule") not in known
        ]
    return results


def _with_reasons(results: Iterable[Result], coverage: Coverage) -> Iterator[Result]:
    """Yield the results. The finding about missing workloads also counts the skipped files.

    Some formats have no line with the coverage, and show only the finding.
    """
    over = count_unchecked(coverage.reasons)
    for result in results:
        is_absence = result.tags.get("rule") == NO_WORKLOADS.name and over
        yield result.replace(message="; ".join([result.message, *over])) if is_absence else result


def _select_reported(results: Iterable[Result], obstacles: Iterable[Result], group: Group) -> tuple[Result, ...]:
    """Return the results of a group that concern the user's files or prevent a check of them.

    `obstacles` are results about configurations and CRDs.
    """
    # There can be a hundred thousand of each, so a set is used instead of comparing all pairs.
    preventing = {repr(result) for result in obstacles if result.severity is Severity.ERROR}
    results = list(results)
    if group.unchanged:
        changed = {id(result) for result in _without_earlier(results, group)}
        results = [result for result in results if id(result) in changed or repr(result) in preventing]
    return tuple(result for result in results if _is_reported(result, group) or repr(result) in preventing)


def _without_earlier(results: Iterable[Result], group: Group) -> list[Result]:
    """Return `results` without findings on unchanged files that predate the change.

    Results that prevent a check stay. A change can break a file that it does not touch: two objects with the same name
    may be reported at either one.
    """

    results = list(results)
    about = [result for result in results if result.file is not None and result.file.path in group.unchanged]
    new: set[int] = set()
    for package in group.before if about else ():
        earlier = render_batches(group.replace(package=package), render(package, is_listed=False))
        known = fingerprints(results_of(earlier))
        new.update([id(result) for result in compare(results, frozenset(known)).new])
    passed = {id(result) for result in about if not prevents(result)} - new
    return [result for result in results if id(result) not in passed]


def _is_reported(result: Result, group: Group) -> bool:
    """Return True if a result is about a checked file, or is an error in the configuration of the group."""
    file = None if result.file is None else result.file.path
    if file not in group.around:
        return True
    return file in group.configurations and result.severity is Severity.ERROR
