"""Which topologies there are and who uses them, without a render."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn.errors import FieldError
from krmfn.result import exit_code
from packwise.pipeline.front_ends import front_ends
from packwise.pipeline.steps import results_of, unreadable
from packwise.select import select
from packwise.select.selection import ABSENT
from packwise.select.topologies import known_topologies

if TYPE_CHECKING:
    from krmfn.result import Result
    from packwise.plan import ListedTopology, Use
    from packwise.select import Package

__all__ = ["Overview", "has_sources", "overview"]


def has_sources(package: Package) -> bool:
    """Whether something among the package is to be rendered: a configuration, a topology or a workload."""
    selection = select(package)
    configured = selection.settings.item is not None or selection.configuration is not None or bool(selection.results)
    # TAS is enabled by users' topologies alone, too.
    found = configured or selection.enabled or bool(selection.foreign)
    return found or any(True for front_end in front_ends(selection) for _ in front_end.uses(selection))


class Overview(NamedTuple):
    """The topologies there are, by name, and which workload uses which; `enabled`: whether TAS is.

    With an error among `results`, which are about the configuration, nothing can be told.
    """

    topologies: tuple[ListedTopology, ...] = ()
    uses: tuple[Use, ...] = ()
    enabled: bool = False
    results: tuple[Result, ...] = ()


def overview(package: Package) -> Overview:
    """Which topologies the package has, and who uses them."""
    selection = select(package)
    found = results_of(selection.findings, selection.results)
    if exit_code(found):
        return Overview(results=found)
    chosen = front_ends(selection)
    try:
        known = known_topologies(selection)
        topologies = tuple([one for front_end in chosen for one in front_end.topologies(selection, known)])
    except FieldError as error:
        return Overview(results=(*found, unreadable(error)))
    uses = tuple([use for front_end in chosen for use in front_end.uses(selection)])
    if selection.enabled or selection.configuration is not None or not topologies:
        return Overview(topologies, uses, selection.enabled, found)
    # What a cluster has, as an export of it shows, needs no configuration that says so.
    told = tuple([result for result in found if result.tags.get("rule") != ABSENT.name])
    return Overview(topologies, uses, enabled=True, results=told)
