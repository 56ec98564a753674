"""Which rule of KAI's search hides a packing, and the smallest change of a gang after which KAI places it.

Source: spec/placement.md#4b, #4c, #5 and #6.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.commands.place.exact import Verdict, exact_packing
from packwise.schedulers.kai.allocate import allocate
from packwise.schedulers.kai.allocate.scene import DEFAULT_POD_SET
from packwise.schedulers.kai.allocate.session import FITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from packwise.schedulers.kai.allocate.scene import Constraint, Job, Scene
    from packwise.schedulers.kai.allocate.session import JobAnswer

__all__ = ["Cure", "Second", "cure", "hiding_rule", "second_verdict"]

_REPLICAS_TRIED = 8
"""How many fewer pods of a set are tried."""


class Cure(NamedTuple):
    """A change of a gang, and the job that it makes."""

    change: str
    job: Job


class Second(NamedTuple):
    """The exact verdict on a gang that KAI leaves pending.

    `hidden_by` is the rule for which KAI does not see the packing, "" where there is none; `change` is the smallest
    change that cures, "" where none that was tried does.
    """

    verdict: Verdict
    hidden_by: str = ""
    change: str = ""


def second_verdict(turn: Scene, answer: JobAnswer, words: Mapping[str, str]) -> Second:
    """The verdict on the only job of `turn`, to which KAI gave `answer`. Needs the extra `solver`."""
    verdict = exact_packing(turn).verdict
    best = cure(turn, words)
    hidden = hiding_rule(answer) if verdict is Verdict.FITS and answer.errors else ""
    return Second(verdict, hidden, "" if best is None else best.change)


def hiding_rule(answer: JobAnswer) -> str:
    """The rule of KAI's search for which it does not see a packing that there is."""
    shortages = [error.shortage for error in answer.errors if error.shortage is not None]
    if any(not shortage.is_counted for shortage in shortages):
        return (
            "KAI counts what is free only within the finest domain that all nodes in question share; the required "
            "level is broader, and counts as empty"
        )
    if any(error.shortage is None and "requirement" not in error.detail for error in answer.errors):
        return "KAI places pod sets in the order of their names, and never moves one that has its place"
    if any(shortage.held is not None for shortage in shortages):
        return "KAI counts every pod of the gang as large as the largest of them in each resource"
    return "KAI compares sums over a domain, in whole CPU cores"


def cure(turn: Scene, words: Mapping[str, str]) -> Cure | None:
    """The smallest change of the only job of `turn` after which KAI places it; None where none that is tried helps.

    Tried are, in this order: a further preferred level, a broader required level, preferred in the place of required,
    and fewer pods of one set. `words` are the domains of levels by node label.
    """
    for best in _changes(turn, words):
        if allocate(turn._replace(jobs=(best.job,))).jobs[0].state in FITS:
            return best
    return None


def _changes(turn: Scene, words: Mapping[str, str]) -> Iterator[Cure]:
    job = turn.jobs[0]
    parts = _constraints(job)
    for name, constraint in parts:
        if constraint.required and not constraint.preferred:
            change = f"prefer {_word(words, constraint.required)}{_of(name)} too"
            yield Cure(change, _with(job, name, constraint._replace(preferred=constraint.required)))
    for name, constraint in parts:
        levels = _levels(turn, constraint)
        depth = levels.index(constraint.required) if constraint.required in levels else 0
        for level in reversed(levels[:depth]):
            change = f"require {_word(words, level)} instead of {_word(words, constraint.required)}{_of(name)}"
            yield Cure(change, _with(job, name, constraint._replace(required=level)))
    for name, constraint in parts:
        if constraint.required:
            level = constraint.preferred or constraint.required
            change = f"prefer {_word(words, level)} instead of requiring {_word(words, constraint.required)}"
            yield Cure(change + _of(name), _with(job, name, constraint._replace(required="", preferred=level)))
    yield from _fewer(job)


def _fewer(job: Job) -> Iterator[Cure]:
    """Fewer pods of one set, the fewest taken away first."""
    if job.sub_groups:
        least = {group.name: group.min_members or 0 for group in job.sub_groups if group.min_members}
    else:
        least = {DEFAULT_POD_SET: job.min_members}
    for fewer in range(1, _REPLICAS_TRIED + 1):
        for name, members in least.items():
            if members > fewer:
                left, whole = members - fewer, name if job.sub_groups else "the gang"
                change = f"{left} pod{'' if left == 1 else 's'} instead of {members} of {whole}"
                yield Cure(change, _with_members(job, name, members - fewer))


def _with_members(job: Job, name: str, members: int) -> Job:
    own = [pod for pod in job.pods if not job.sub_groups or pod.sub_group == name]
    gone = {pod.name for pod in own[members:]}
    pods = tuple(pod for pod in job.pods if pod.name not in gone)
    if not job.sub_groups:
        return job._replace(min_members=members, pods=pods)
    groups = tuple(
        group._replace(min_members=members) if group.name == name else group for group in job.sub_groups
    )  # fmt: skip
    return job._replace(sub_groups=groups, pods=pods)


def _constraints(job: Job) -> list[tuple[str, Constraint]]:
    parts = [("", job.constraint), *((group.name, group.constraint) for group in job.sub_groups)]
    return [(name, constraint) for name, constraint in parts if constraint is not None and constraint.topology]


def _with(job: Job, name: str, constraint: Constraint) -> Job:
    if not name:
        return job._replace(constraint=constraint)
    groups = tuple(
        group._replace(constraint=constraint) if group.name == name else group for group in job.sub_groups
    )  # fmt: skip
    return job._replace(sub_groups=groups)


def _levels(scene: Scene, constraint: Constraint) -> Sequence[str]:
    return next((topology.levels for topology in scene.topologies if topology.name == constraint.topology), ())


def _word(words: Mapping[str, str], level: str) -> str:
    return words.get(level) or level


def _of(name: str) -> str:
    return f" for {name}" if name else ""
