"""What a revision's record refers to by a key: the rulebook of its webhook, and the fields of its API.

Both are imported when they are first asked for, since a run needs those of one revision.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from packwise.frontends.grove.rules.check import Rulebook
    from packwise.frontends.grove.schema.kinds import API
    from packwise.revisions import Revision

__all__ = ["api", "rulebook"]


def rulebook(revision: Revision) -> Rulebook:
    """The rules of the revision's webhook."""
    return _rulebook(revision.rulebook)


def api(revision: Revision) -> API:
    """The fields of workloads that differ from one API to another."""
    return _api(revision.workload_api)


@cache
def _rulebook(key: str) -> Rulebook:
    return _RULEBOOKS[key]()


@cache
def _api(key: str) -> API:
    return _APIS[key]()


def _design_rules() -> Rulebook:
    from packwise.frontends.grove.rules.design import DESIGN

    return DESIGN


def _alpha7_rules() -> Rulebook:
    from packwise.frontends.grove.rules.alpha7 import ALPHA7

    return ALPHA7


def _head_rules() -> Rulebook:
    from packwise.frontends.grove.rules.head import HEAD

    return HEAD


def _alpha7_api() -> API:
    from packwise.frontends.grove.schema.table import ALPHA7

    return ALPHA7


def _head_api() -> API:
    from packwise.frontends.grove.schema.head import HEAD

    return HEAD


_RULEBOOKS: Mapping[str, Callable[[], Rulebook]] = {
    "design": _design_rules,
    "alpha7": _alpha7_rules,
    "head": _head_rules,
}
_APIS: Mapping[str, Callable[[], API]] = {"alpha7": _alpha7_api, "head": _head_api}
