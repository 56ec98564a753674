"""Options of `packwise fleet`, as values."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.inputs.request import Verbosity

if TYPE_CHECKING:
    from typing import Literal

    FleetVerb = Literal["render", "check", "diff", "place"]
    FleetFormat = Literal["text", "json", "markdown"]


FLEET_VERBS: tuple[FleetVerb, ...] = ("render", "check", "diff", "place")
"""The commands that a fleet can run for every package."""


FLEET_FORMATS: tuple[FleetFormat, ...] = ("text", "json", "markdown")
"""The formats of a fleet's summary."""


class Fleet(Record):
    """`packwise fleet VERB ROOT`. A render writes to `folder`.

    With `changed_since`, only packages that differ from that commit are processed. `baseline` is the state before the
    change. `nodes` are the clusters' nodes. `crds` are files and folders with the CustomResourceDefinitions of the
    clusters. `jobs` is the number of processes, or `scheduler` is the address of a Dask scheduler instead. `cache` is
    the place of cached answers, or None for the user's own folder. If `is_cached` is false, no answers are cached. A
    cache in a folder is limited to `cache_size` bytes. With `exit_code`, a change counts as an error. With `prunes`,
    output of an earlier run for removed packages is deleted from `folder`. `values` set template variables. With
    `requires_workloads`, each package needs a checked workload. With `builds`, sources of controllers are built and
    checked. With `requires_build`, a source that is not built is an error.
    """

    verb: FleetVerb
    root: str
    folder: str | None = None
    output: FleetFormat = "text"
    baseline: str | None = None
    changed_since: str | None = None
    nodes: str | None = None
    jobs: int = 1
    scheduler: str | None = None
    cache: str | None = None
    is_cached: bool = True
    cache_size: int | None = None
    exit_code: bool = False
    exclude: tuple[str, ...] = ()
    verbosity: Verbosity = Verbosity.NORMAL
    prunes: bool = False
    crds: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    requires_workloads: bool = False
    builds: bool = False
    requires_build: bool = False
