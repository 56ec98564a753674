"""What the command line gives: each command with its arguments."""

from __future__ import annotations

from enum import IntEnum

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    Format = Literal["text", "json", "github", "gitlab", "sarif", "junit", "markdown"]
    DiffFormat = Literal["text", "json", "patch", "markdown"]
    ReportFormat = Literal["html", "svg", "mermaid"]
    PlaceFormat = Literal["text", "json", "markdown"]
    FleetVerb = Literal["render", "check", "diff", "place"]
    FleetFormat = Literal["text", "json", "markdown"]
    Target = Literal["kustomize", "kpt", "argocd", "flux", "github", "gitlab", "pre-commit"]

__all__ = [
    "DIFF_FORMATS",
    "FLEET_FORMATS",
    "FLEET_VERBS",
    "FORMATS",
    "PLACE_FORMATS",
    "REPORT_FORMATS",
    "STDIN",
    "TARGETS",
    "Cache",
    "Check",
    "Choice",
    "Command",
    "Comment",
    "Completion",
    "Diff",
    "DiffFormat",
    "Doctor",
    "Drawing",
    "Explain",
    "Fix",
    "Fleet",
    "FleetFormat",
    "FleetVerb",
    "Format",
    "Function",
    "ImportTopology",
    "Init",
    "Migrate",
    "Named",
    "Output",
    "PlaceFormat",
    "PlaceGangs",
    "Render",
    "Report",
    "ReportFormat",
    "Rules",
    "Schema",
    "Target",
    "Topologies",
    "UsageError",
    "Verbosity",
    "Version",
]

STDIN = "-"
"""How a path names stdin, or stdout."""

FORMATS: tuple[Format, ...] = ("text", "json", "github", "gitlab", "sarif", "junit", "markdown")
"""How findings are printed."""

DIFF_FORMATS: tuple[DiffFormat, ...] = ("text", "json", "patch", "markdown")
"""How a comparison is printed."""

REPORT_FORMATS: tuple[ReportFormat, ...] = ("html", "svg", "mermaid")
"""How a report is drawn."""

PLACE_FORMATS: tuple[PlaceFormat, ...] = ("text", "json", "markdown")
"""How a placing is printed."""

FLEET_VERBS: tuple[FleetVerb, ...] = ("render", "check", "diff", "place")
"""What is done with every package of a fleet."""

FLEET_FORMATS: tuple[FleetFormat, ...] = ("text", "json", "markdown")
"""How the summary of a fleet is printed."""

TARGETS: tuple[Target, ...] = ("kustomize", "kpt", "argocd", "flux", "github", "gitlab", "pre-commit")
"""What `packwise init` writes a package for: who renders it, or who checks it."""


class Named(NamedTuple):
    """What is read: `paths` of files and folders or `-`, the TopologyRender's file, the state before the change.

    `crds` are files and folders with the cluster's CustomResourceDefinitions; `values` are those of variables in
    templates of OSMO's workflows, each as `NAME=VALUE`; `exclude` are globs of files that are left out of folders;
    with `force_exclude`, a file that is named is left out as one of a folder is.
    """

    paths: tuple[str, ...]
    config: str | None = None
    baseline: str | None = None
    crds: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False


class Verbosity(IntEnum):
    """How much people read: programs are given everything in any case."""

    QUIET = -1
    """No line at the end, and nothing that asks for nothing."""
    NORMAL = 0
    """Of findings of one form the first few; infos are counted."""
    VERBOSE = 1
    """Every finding."""


class Render(NamedTuple):
    """`packwise render`; `output` is a folder, None for stdout. To `check` is to write nothing."""

    named: Named
    output: str | None = None
    in_place: bool = False
    check: bool = False
    verbosity: Verbosity = Verbosity.NORMAL


class Output(NamedTuple):
    """Findings in a format, and the file that gets them; None: stdout."""

    format: Format = "text"
    file: str | None = None


class Fix(NamedTuple):
    """What `--fix` does: `unsafe` fixes change what is meant; to `show` is to print a diff, and write nothing."""

    unsafe: bool = False
    show: bool = False


class Choice(NamedTuple):
    """Which findings a check reports, and when warnings fail it.

    `selected` are the only rules that are, where there are any. `known` is the file of findings that were there before,
    `written` the one to write them to.
    """

    ignored: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    known: str | None = None
    written: str | None = None
    max_warnings: int | None = None


class Check(NamedTuple):
    """`packwise check`; `fix` is None where nothing is mended.

    `changed_since` is a commit: only what the change since then reaches is reported. Where it `requires_workloads`, one
    must be judged.
    """

    named: Named
    outputs: tuple[Output, ...] = (Output(),)
    fix: Fix | None = None
    choice: Choice = Choice()
    verbosity: Verbosity = Verbosity.NORMAL
    nodes: tuple[str, ...] = ()
    changed_since: str | None = None
    requires_workloads: bool = False


class Diff(NamedTuple):
    """`packwise diff`: from `before` to `after`; with `exit_code`, a change counts as an error does."""

    before: str
    after: str
    config: str | None = None
    crds: tuple[str, ...] = ()
    output: DiffFormat = "text"
    exit_code: bool = False
    exclude: tuple[str, ...] = ()


class Comment(NamedTuple):
    """`packwise comment`; with `nodes`, files with a cluster's nodes and pods, it says where gangs go."""

    named: Named
    nodes: tuple[str, ...] = ()


class Explain(NamedTuple):
    """`packwise explain`; `target` is an object, a line of a file, or one more path: the command looks which."""

    named: Named
    target: str | None = None
    as_json: bool = False


class Topologies(NamedTuple):
    """`packwise topologies`."""

    named: Named
    as_json: bool = False


class ImportTopology(NamedTuple):
    """`packwise topology import`; `paths` are files with a cluster's nodes."""

    paths: tuple[str, ...]


class PlaceGangs(NamedTuple):
    """`packwise place`; `nodes` are files with a cluster's nodes and pods, empty for a scenario.

    `add_nodes`, `drain` and `replicas` change what is there before anything is placed. `further`: whether to count how
    many more replicas fit; `exact`: whether a solver looks at what does not fit.
    """

    named: Named
    nodes: tuple[str, ...] = ()
    output: PlaceFormat = "text"
    add_nodes: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    further: bool = False
    exact: bool = False


class Drawing(NamedTuple):
    """A report in a format, and the file that gets it; None: stdout."""

    format: ReportFormat
    file: str | None = None


class Report(NamedTuple):
    """`packwise report`; `nodes` are files with a cluster's nodes and pods.

    `source_url` is what a link into a file is made from, with `{path}` and `{line}`; None: links are relative.
    """

    named: Named
    outputs: tuple[Drawing, ...]
    nodes: tuple[str, ...] = ()
    source_url: str | None = None


class Fleet(NamedTuple):
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


class Cache(NamedTuple):
    """`packwise cache`: how large the cache at `place` is; None for the user's own folder.

    With `prunes`, entries are removed until the others have `size` bytes at most; None for the usual bound.
    """

    place: str | None = None
    prunes: bool = False
    size: int | None = None


class Migrate(NamedTuple):
    """`packwise migrate`; `source` is the revision of what `paths` hold, None where that tells itself."""

    paths: tuple[str, ...]
    target: str
    config: str | None = None
    source: str | None = None
    dry_run: bool = False
    keep_pack_domain: bool = False
    exclude: tuple[str, ...] = ()


class Rules(NamedTuple):
    """`packwise rules`; without a `name`, all of them."""

    name: str | None = None
    as_json: bool = False


class Completion(NamedTuple):
    """`packwise completion`."""

    shell: str


class Init(NamedTuple):
    """`packwise init`: a package in `folder` for `targets`, by what `sources` tell of the cluster.

    `levels` are pairs of domain and node label, broadest first. `apply` is whether generated objects are applied; None:
    not where an operator was seen. `without_grove`: KAI groups workloads itself.
    """

    folder: str
    targets: tuple[Target, ...] = ()
    sources: tuple[str, ...] = ()
    levels: tuple[tuple[str, str], ...] = ()
    revision: str | None = None
    apply: bool | None = None
    without_grove: bool = False


class Doctor(NamedTuple):
    """`packwise doctor`."""

    named: Named
    as_json: bool = False


class Schema(NamedTuple):
    """`packwise schema`; without a `name`, which there are. `revision` is that of a PodCliqueSet."""

    name: str | None = None
    revision: str | None = None


class Version(NamedTuple):
    """`packwise version`; `libraries`: with what packwise stands on."""

    libraries: bool = False


class Function(NamedTuple):
    """`packwise fn`."""

    validate: bool = False
    verbose: bool = False


class UsageError(Exception):
    """What is named does not exist, or does not go together; the arguments alone do not show it.

    The text says what to give instead.
    """


Command = (
    Render
    | Check
    | Diff
    | Comment
    | Explain
    | Topologies
    | ImportTopology
    | PlaceGangs
    | Report
    | Fleet
    | Cache
    | Migrate
    | Rules
    | Completion
    | Init
    | Doctor
    | Schema
    | Version
    | Function
)
