"""The coverage of a run: the checked workloads with their configuration, and the other workloads with the reason."""

from __future__ import annotations

from collections import Counter

from krmfn.hints import TYPE_CHECKING, Record
from packwise.discovery import Reason, count_unchecked, summary
from packwise.inputs.reader import is_readable, readable_items
from packwise.objects.index import group_and_kind, is_generated
from packwise.objects.kinds import WORKLOADS
from packwise.objects.workload_kinds import WORKLOAD_KINDS, is_queued
from packwise.objects.workloads_in_text import workloads_in
from packwise.settings.configuration import kai_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any, Literal

    from krmfn.kubeobject import KubeObject
    from packwise.discovery import SkipReason
    from packwise.inputs.groups import Checkup, Group
    from packwise.inputs.reader import InputFile, Sources
    from packwise.pipeline import Rendered


_MAX_GROUPS = 3
"""The largest number of configurations that the line names."""


_KEYS = frozenset(kind.key for kind in WORKLOADS)


class Coverage(Record):
    """The coverage of a run. `groups` has the number of checked workloads for each description of a configuration.

    `missed` is the number of workloads that errors prevent from being checked. `skipped` are the skipped files by name.
    `verb` is the action on workloads. `sources` are the built sources, if any.
    """

    groups: tuple[tuple[int, str], ...] = ()
    missed: int = 0
    skipped: tuple[tuple[str, SkipReason], ...] = ()
    verb: Literal["checked", "read"] = "checked"
    sources: Sources | None = None

    @property
    def number(self) -> int:
        """Return the number of workloads that were checked, or read."""
        return sum([number for number, _ in self.groups])

    @property
    def reasons(self) -> tuple[tuple[str, int], ...]:
        """Return the reasons why other workloads are not checked: each kind of skipped files with its number, and the
        number of errors.
        """
        counted = Counter([each.reason for _, each in self.skipped if each.workloads])
        errors = (("error", self.missed),) if self.missed else ()
        return (*errors, *[(reason.noun, counted[reason]) for reason in Reason if counted[reason]])

    @property
    def line(self) -> str:
        """Return a line such as `2 workloads checked with Grove v0.1.0-alpha.13 (topology.yaml); skipped: 1 patch`."""
        parts = self._group_words()
        if len(parts) > _MAX_GROUPS:
            parts = [f"{self.number} workloads {self.verb} with {len(parts)} configurations (-v lists them)"]
        counts = summary(reason.reason for _, reason in self.skipped)
        over = count_unchecked(self.reasons, self.verb)
        built = [] if self.sources is None else [self.sources.line]
        return "; ".join([*parts, *built, *over, *([f"skipped: {counts}"] if counts else [])])

    @property
    def detail_lines(self) -> tuple[str, ...]:
        """Return a line for each part that `line` only counts, such as `skipped: web/values.yaml: values file
        (web/Chart.yaml)`.
        """
        groups = self._group_words() if len(self.groups) > _MAX_GROUPS else []
        unbuilt = () if self.sources is None else self.sources.detail_lines
        skipped = [f"skipped: {name}: {reason.description}" for name, reason in sorted(self.skipped)]
        return (*groups, *unbuilt, *skipped)

    @property
    def fields(self) -> dict[str, Any]:
        """Return the numbers, for programs."""
        return {"workloads": self.number, "passedOver": dict(self.reasons)}

    def _group_words(self) -> list[str]:
        """Return words for each group, such as `12 workloads checked with Grove v0.1.0-alpha.13
        (clusters/west/topology.yaml)`.

        All groups after the first one omit "workloads checked".
        """
        parts: list[str] = []
        for number, configuration in self.groups:
            noun = "" if parts else f"{'workload' if number == 1 else 'workloads'} {self.verb}"
            parts.append(" ".join([str(number), *[words for words in (noun, configuration) if words]]))
        return parts or [f"no workload {self.verb}"]


def coverage_of(
    files: Sequence[InputFile], skipped: tuple[tuple[str, SkipReason], ...], rendered: Rendered
) -> Coverage:
    """Return the coverage of a render of `files` without the `skipped` files."""
    groups = ((rendered.workloads, describe_configuration(rendered) or ""),) if rendered.workloads else ()
    missed = _workloads_among(files) - count_checked_objects(rendered)
    return Coverage(groups, max(missed, 0), skipped)


def groups_covered(checkup: Checkup, checked: Iterable[tuple[Group, int, str | None, int]]) -> Coverage:
    """Return the coverage of a check.

    `checked` has, for each group, its number of workloads, its configuration and its number of objects.
    """
    listed = sorted(checked, key=lambda each: (not each[0].configurations, each[0].configurations))
    missed = _workloads_among(checkup.files) - sum([objects for *_, objects in listed])
    groups = [(number, configuration or "") for _, number, configuration, _ in listed if number]
    if checkup.sources is not None:
        # Sources are checked one by one. Print the sources of one configuration together.
        numbers: dict[str, int] = {}
        for number, words in groups:
            numbers[words] = numbers.get(words, 0) + number
        groups = [(number, words) for words, number in numbers.items()]
    return Coverage(tuple(groups), max(missed, 0), checkup.skipped, sources=checkup.sources)


def files_covered(
    files: Iterable[InputFile], skipped: tuple[tuple[str, SkipReason], ...], read: Iterable[InputFile] = ()
) -> Coverage:
    """Return the coverage of files that are read but not checked. `read` also includes configurations."""
    files = tuple(files)
    items = [item for file in files for item in readable_items(file)]
    names = kai_names([*items, *[item for file in read for item in readable_items(file)]])
    objects = len([item for item in items if _is_workload(item)])
    others = Counter([item.kind for item in items if _is_of_scheduler(item, names)])
    number = objects + others.total() + sum([len(file.foreign_documents) for file in files])
    kinds = ", ".join([f"{others[kind]} {kind}" for kind in sorted(others)])
    words = f"({'' if others.total() == number else 'among them '}{kinds})" if others else ""
    return Coverage(((number, words),) if number else (), _workloads_among(files) - objects, skipped, "read")


def count_checked_objects(rendered: Rendered, unchanged: Collection[str | None] = ()) -> int:
    """Return the number of checked Kubernetes workloads that are not in `unchanged` files."""
    workloads = [plan.workload for plan in rendered.plans if _is_workload(plan.workload)]
    # To find the file of an item takes a search in its text, and most runs compare no files.
    return len([item for item in workloads if not unchanged or item.location().file not in unchanged])


def _workloads_among(files: Iterable[InputFile]) -> int:
    """Return the number of workloads in files that are not skipped, including unreadable ones."""
    number = 0
    for file in files:
        for item in file.items if file.skip_reason is None else ():
            number += _is_workload(item) if is_readable(item) else workloads_in(item.source.text)
    return number


def _is_workload(item: KubeObject) -> bool:
    """Return True if the object is a workload.

    A template of an OSMO workflow does not count, because it is not parsed.
    """
    return is_readable(item) and group_and_kind(item.value) in _KEYS and not is_generated(item.value)


def _is_of_scheduler(item: KubeObject, kai: frozenset[str]) -> bool:
    """Return True if KAI groups the object's pods under one of its names `kai`, or if a scheduler queues the object."""
    kind = WORKLOAD_KINDS.get(group_and_kind(item.value))
    if kind is None or is_generated(item.value):
        return False
    schedulers = [spec.get("schedulerName") for spec in kind.pod_specs(item.value)]
    return is_queued(item) or any(isinstance(name, str) and name in kai for name in schedulers)


def describe_configuration(rendered: Rendered) -> str | None:
    """Return a text such as `with Grove v0.1.0-alpha.13 (clusters/west/topology.yaml)`, or None without a
    configuration.
    """
    selection = rendered.selection
    if selection is None:
        return None
    words: list[str] = []
    if rendered.has_grove:
        reason = "" if selection.is_named else f", chosen by {selection.chosen_by}"
        words.append(f"with Grove {selection.revision.name}{reason}")
    if rendered.has_grove and not selection.is_configured:
        return f"without a configuration, {words[0]}"
    if selection.files:
        words.append(f"({' and '.join(selection.files)})")
    return " ".join(words)
