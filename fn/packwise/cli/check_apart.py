"""A check of many files by several processes: the same results as one process gives."""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.cli.input_paths import folder_of
from packwise.cli.judgement import Verdict, judgement_of, reported, verdict_of
from packwise.cli.shares import shares_of
from packwise.cli.workloads import workloads_of
from packwise.pipeline import render
from packwise.pipeline.portions import is_divisible, portion_of, together
from packwise.processes import answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.cli.groups import Checkup, Group
    from packwise.cli.judgement import Judgement
    from packwise.cli.shares import Part
    from packwise.pipeline.portions import Portion

__all__ = ["judged_apart"]


class _Answer(NamedTuple):
    """The verdict on a part, without its results where it is a `portion` of a group.

    `results` are about what cannot be read. `lost` are the folders of files without a workload that can be read,
    `readable` those of the others.
    """

    group: int
    verdict: Verdict
    portion: Portion | None
    results: tuple[Result, ...]
    lost: frozenset[str]
    readable: frozenset[str]


def judged_apart(checkup: Checkup, processes: int) -> tuple[Checkup, Judgement] | None:
    """The checkup with what cannot be read of its unread files, and its judgement by so many processes.

    None where the unread files hold something else than workloads: they have to be read before anything is judged.
    """
    groups = checkup.groups
    if sum([len(group.unread) for group in groups]) < len(checkup.unread):
        return None
    shares = shares_of(groups, [is_divisible(group.package) for group in groups], processes)
    answered = answers(partial(_judged, groups), shares)
    if answered is None:
        return None
    parts = [answer for share in answered for answer in share]
    lost = {folder for answer in parts for folder in answer.lost}
    if not lost <= {folder for answer in parts for folder in answer.readable}:
        # A folder without a workload that can be read may be judged by another configuration.
        return None
    by_group: list[list[_Answer]] = [[] for _ in groups]
    for answer in parts:
        by_group[answer.group].append(answer)
    verdicts = [_verdict(group, each) for group, each in zip(groups, by_group, strict=True)]
    results = [result for answer in parts for result in answer.results]
    checkup = checkup._replace(results=(*checkup.results, *results))
    return checkup, judgement_of(checkup, verdicts)


def _judged(groups: Sequence[Group], parts: Iterable[Part]) -> list[_Answer] | None:
    """The verdict on each part; None where a file holds something else than workloads."""
    judged: list[_Answer] = []
    for part in parts:
        workloads = workloads_of(part.unread)
        if workloads is None:
            return None
        group = _with(groups[part.group], workloads.items)
        rendered = render(group.package, is_listed=False)
        verdict = verdict_of(group, rendered)
        portion = None
        if not part.is_whole:
            portion = portion_of(group.package, rendered, workloads.items)
            verdict = verdict._replace(results=())
        lost = {path.identity for path in workloads.lost}
        readable = {path.identity for path, _ in part.unread} - lost
        folders = frozenset(map(folder_of, lost)), frozenset(map(folder_of, readable))
        judged.append(_Answer(part.group, verdict, portion, workloads.results, *folders))
    return judged


def _verdict(group: Group, answered: Sequence[_Answer]) -> Verdict:
    """The verdict on a group by those on its parts."""
    if len(answered) == 1:
        return answered[0].verdict
    verdicts = [answer.verdict for answer in answered]
    portions = [answer.portion for answer in answered if answer.portion is not None]
    results = together(portions) if len(portions) == len(answered) else None
    if results is None or len({verdict.judge for verdict in verdicts}) > 1:
        return _whole(group)
    workloads = sum([verdict.workloads for verdict in verdicts])
    first = verdicts[0]
    is_new = any(verdict.is_new for verdict in verdicts)
    objects = sum([verdict.objects for verdict in verdicts])
    return Verdict(reported(results, first.obstacles, group), workloads, first.judge, is_new, first.obstacles, objects)


def _whole(group: Group) -> Verdict:
    """The verdict on a group in which something is about several workloads."""
    workloads = workloads_of(group.unread)
    group = _with(group, () if workloads is None else workloads.items)
    return verdict_of(group, render(group.package, is_listed=False))


def _with(group: Group, items: Iterable[KubeObject]) -> Group:
    """The group with more objects."""
    return group._replace(package=group.package._replace(items=(*group.package.items, *items)))
