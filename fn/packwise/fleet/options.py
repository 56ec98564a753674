"""Options of `packwise fleet`, as values."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from packwise.inputs.request import Verbosity

if TYPE_CHECKING:
    from typing import Literal

    FleetVerb = Literal["render", "check", "diff", "place"]
    FleetFormat = Literal["text", "json", "markdown"]


FLEET_VERBS: tuple[FleetVerb, ...] = ("render", "check", "diff", "place")
"""The verbs: each is done with every package of a fleet."""


FLEET_FORMATS: tuple[FleetFormat, ...] = ("text", "json", "markdown")
"""The formats in which the summary of a fleet is printed."""


class Fleet(Record):
    """`packwise fleet VERB ROOT`; `folder` is what a render writes to.

    With `changed_since`, only what differs from that commit is looked at. `baseline` is the state before the change.
    `nodes` are those of the clusters, `crds` files and folders with their CustomResourceDefinitions. `jobs` is the
    number of processes, `scheduler` the address of Dask's in their place. `cache` is where answers are kept, None for
    the user's own folder, unless nothing `is_cached`; a folder keeps to `cache_size` bytes. With `exit_code`, a change
    counts as an error does. `prunes`: what an earlier run wrote to `folder` for packages that are gone is removed.
    `values` are those of variables in templates. Where it `requires_workloads`, one must be judged in each package.
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
