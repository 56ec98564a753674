"""The number of workloads in a text that packwise does not parse, such as a template or an excluded or broken file."""

from __future__ import annotations

import re
from functools import cache

from krmfn.hints import TYPE_CHECKING
from packwise.objects.kinds import KINDS, WORKLOADS
from packwise.objects.workload_kinds import WORKLOAD_KINDS, Grouping

if TYPE_CHECKING:
    from collections.abc import Iterable

_SEPARATOR = r"^---"
_KIND = (
    r"""^(?:[ \t]*- (?:[^\n]*\n[ \t]+)?)?kind:[ \t]*["']?(\w+)["']?[ \t]*(?:#[^\n]*)?\r?$"""
    r"""|"kind"[ \t]*:[ \t]*"(\w+)\""""
)
"""Match the kind of a document or of an entry of a list. The kind of a reference does not match: it is indented more.
"""

_SCHEDULER = r"""schedulerName["']?[ \t]*+:[^\n]{0,200}?\bkai-scheduler\b"""
"""Match a field `schedulerName` with KAI's name, also if the name is the default in an expression of a template."""
_KEY = r"kai\.scheduler/|kueue\.x-k8s\.io/(?:queue-name|podset-)"
"""Match the label or annotation of KAI or Kueue that makes packwise check a workload."""
_SEARCH_WORDS = ("schedulerName", "kai.scheduler/", "kueue.x-k8s.io/")

_TEMPLATED = r"apiVersion:[ \t]*\{\{"

_OWN = frozenset(kind.name for kind in WORKLOADS)
_OTHERS = frozenset(kind.name for kind in KINDS)


def workloads_in(text: str) -> int:
    """Return the likely number of workloads in the text. A workload that a template repeats counts once.

    An object of a kind that KAI or Kueue schedules counts only under a condition. Its document must name KAI as
    scheduler, or have a label or annotation of KAI or Kueue.
    """
    number = sum([1 for name in _kinds_in(text) if name in _OWN])
    if any(needle in text for needle in _SEARCH_WORDS):
        number += sum(map(_count_scheduled, re.compile(_SEPARATOR, re.MULTILINE).split(text)))
    return number


def _count_scheduled(document: str) -> int:
    """Return the number of objects in a document that KAI or Kueue must schedule."""
    names = [name for name in _kinds_in(document) if name not in _OWN]
    is_scheduled = re.search(_SCHEDULER, document) is not None
    if is_scheduled and len(names) == 1 and names[0] not in _groups() and names[0] not in _OTHERS:
        # KAI schedules the pods of any kind.
        return 1
    if not is_scheduled and re.search(_KEY, document) is None:
        return 0
    return sum([1 for name in names if _has_group(document, _groups().get(name, ()))])


def _kinds_in(text: str) -> Iterable[str]:
    return [match[1] or match[2] for match in re.compile(_KIND, re.MULTILINE).finditer(text)]


def _has_group(document: str, groups: Iterable[str]) -> bool:
    """Return True if the document names one of the groups, or a template fills in its API version."""
    return any(not group or group in document or re.search(_TEMPLATED, document) is not None for group in groups)


@cache
def _groups() -> dict[str, list[str]]:
    """Return the API groups of each kind with pods that KAI or Kueue can schedule."""
    groups: dict[str, list[str]] = {}
    for kind in WORKLOAD_KINDS.values():
        if kind.grouping is not Grouping.RUNTIME:
            groups.setdefault(kind.name, []).append(kind.group)
    return groups
