"""What a revision's record refers to by a key: the rulebook of its webhook, and the fields of its API.

Both are imported when they are first asked for, since a run needs those of one revision.
"""

from __future__ import annotations

from functools import cache

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from packwise.frontends.grove.rules.check import Rulebook
    from packwise.frontends.grove.schema.kinds import API
    from packwise.revisions.revision import Revision

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


def _alpha8_rules() -> Rulebook:
    from packwise.frontends.grove.rules.alpha8 import ALPHA_8

    return ALPHA_8


def _alpha9_rules() -> Rulebook:
    from packwise.frontends.grove.rules.head import ALPHA_9

    return ALPHA_9


def _alpha10_rules() -> Rulebook:
    from packwise.frontends.grove.rules.head import ALPHA_10

    return ALPHA_10


def _alpha12_rc1_rules() -> Rulebook:
    from packwise.frontends.grove.rules.head import ALPHA_12_RC1

    return ALPHA_12_RC1


def _head_rules() -> Rulebook:
    from packwise.frontends.grove.rules.head import HEAD

    return HEAD


def _alpha14_rc1_rules() -> Rulebook:
    from packwise.frontends.grove.rules.alpha14 import ALPHA_14_RC1

    return ALPHA_14_RC1


def _alpha14_rules() -> Rulebook:
    from packwise.frontends.grove.rules.alpha14 import ALPHA_14

    return ALPHA_14


def _alpha7_api() -> API:
    from packwise.frontends.grove.schema.table import ALPHA7

    return ALPHA7


def _alpha8_api() -> API:
    from packwise.frontends.grove.schema.releases import ALPHA_8

    return ALPHA_8


def _alpha9_api() -> API:
    from packwise.frontends.grove.schema.releases import ALPHA_9

    return ALPHA_9


def _head_api() -> API:
    from packwise.frontends.grove.schema.head import HEAD

    return HEAD


def _alpha14_rc1_api() -> API:
    from packwise.frontends.grove.schema.releases import ALPHA_14_RC1

    return ALPHA_14_RC1


def _alpha14_api() -> API:
    from packwise.frontends.grove.schema.releases import ALPHA_14

    return ALPHA_14


_RULEBOOKS: Mapping[str, Callable[[], Rulebook]] = {
    "design": _design_rules,
    "alpha7": _alpha7_rules,
    "alpha8": _alpha8_rules,
    "alpha9": _alpha9_rules,
    "alpha10": _alpha10_rules,
    "alpha12-rc1": _alpha12_rc1_rules,
    "head": _head_rules,
    "alpha14-rc1": _alpha14_rc1_rules,
    "alpha14": _alpha14_rules,
}
_APIS: Mapping[str, Callable[[], API]] = {
    "alpha7": _alpha7_api,
    "alpha8": _alpha8_api,
    "alpha9": _alpha9_api,
    "head": _head_api,
    "alpha14-rc1": _alpha14_rc1_api,
    "alpha14": _alpha14_api,
}
