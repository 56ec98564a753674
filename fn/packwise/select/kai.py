"""The release of KAI that a render is for, and what is deployed otherwise. Source: spec/podgrouper.md#11.

As with Grove, packwise chooses none silently: what the input deploys is a warning with the line to add.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings.finding import Finding, Rule
from packwise.objects.kinds import PODGROUP
from packwise.revisions.kai import NEWEST, RELEASES, release_of
from packwise.select.evidence import deployments
from packwise.select.selection import has_grove_workloads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.settings import TopologyRender

__all__ = ["RULES", "UNNAMED", "kai_evidence", "kai_release"]

UNNAMED = Rule(
    "kai-unnamed",
    "The release of KAI is named where another than the newest is deployed.",
    "spec/podgrouper.md#11",
    Severity.WARNING,
    once=True,
)
RULES = (UNNAMED,)
"""Rules of KAI's release."""

_KAI = re.compile(r"(^|[/_-])kai-scheduler([/:_.-]|$)", re.IGNORECASE)
_VERSION = re.compile(r"v?0\.(\d{1,9})(\.\d+)?(-.*)?")


def kai_release(settings: TopologyRender) -> tuple[str, str]:
    """The release that counts, and what chose it."""
    if settings.kai_version is not None:
        return settings.kai_version, "kai.version"
    return release_of(None).name, "the default"


def kai_evidence(index: Index, settings: TopologyRender) -> Iterator[Finding]:
    """The first place that deploys another release than the assumed one, where something here depends on that."""
    if settings.kai_version is not None:
        return
    known = {release.minor: release for release in RELEASES}
    for item, path, text in deployments(index, _KAI):
        match = _VERSION.fullmatch(text)
        release = known.get(int(match[1])) if match is not None else None
        if release is None:
            continue
        if release is not NEWEST and _has_users(index, settings.kai_name):
            message = (
                f"deploys KAI {text}, and nothing names a release, so that {NEWEST.name} was assumed; set "
                f"`kai: {{version: {release.name}}}` in a TopologyRender if this is your cluster's"
            )
            yield Finding.of(UNNAMED, item, path, message)
        return


def _has_users(index: Index, kai_name: str) -> bool:
    """Whether there are workloads that KAI schedules, or PodGroups of its own."""
    if has_grove_workloads(index) or index.of_kind(*PODGROUP.key):
        return True
    return any(_names_scheduler(item.value, kai_name) for items in index.by_kind.values() for item in items)


def _names_scheduler(value: Value, kai_name: str) -> bool:
    if isinstance(value, list):
        return any(_names_scheduler(entry, kai_name) for entry in value)
    if not isinstance(value, dict):
        return False
    return value.get("schedulerName") == kai_name or any(_names_scheduler(entry, kai_name) for entry in value.values())
