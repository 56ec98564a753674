"""The front ends: Grove's always, others where there is anything for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.frontends.grove.frontend import GROVE

if TYPE_CHECKING:
    from packwise.frontends.frontend import FrontEnd
    from packwise.select import Selection

__all__ = ["FRONT_ENDS", "front_ends"]

FRONT_ENDS: tuple[FrontEnd, ...] = (GROVE,)
"""Those whose workloads are Kubernetes objects."""


def front_ends(selection: Selection) -> tuple[FrontEnd, ...]:
    """Grove's, and OSMO's where there is anything for it: no other run pays for its import."""
    if not selection.foreign:
        return FRONT_ENDS
    from packwise.frontends.osmo.frontend import OSMO

    return (*FRONT_ENDS, OSMO)
