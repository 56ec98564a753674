"""`packwise fleet`: what a change reaches, handed to workers, and the answers in sum."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing, nullcontext
from importlib import import_module
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from krmfn.result import exit_code
from packwise.cli.arguments import UsageError, Verbosity
from packwise.cli.console import is_coloured, say, show
from packwise.cli.findings_text import as_lines
from packwise.cli.fleet.disk import CommitTree, DiskTree
from packwise.cli.fleet.output import Evidence, Output, orphans, prune
from packwise.cli.fleet.requests import Nodes, Requests, Rooted, reach_of
from packwise.cli.fleet.run import run_through
from packwise.cli.fleet.spool import Spool
from packwise.cli.fleet.work import blobs_of, read_crds
from packwise.cli.fleet_output.report import FleetReport, Orphans, shown
from packwise.cli.git import Commit, merge_bases
from packwise.cli.input_paths import real, top_of
from packwise.cli.inputs import COMMIT
from packwise.cli.write import refuse_no_folder
from packwise.commands.fleet import PackageResult, Status, Tally
from packwise.commands.fleet.packages import reach_of_any
from packwise.fleet.cache import CacheError, default_place, open_cache
from packwise.fleet.workers.run import Cluster, Processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from krmfn.result import Result
    from packwise.cli.arguments import Fleet
    from packwise.fleet.cache import Cache

__all__ = ["fleet"]


def fleet(command: Fleet) -> int:
    """Runs the verb on all packages that are to be looked at; returns the exit code. Raises UsageError."""
    if not Path(command.root).is_dir():
        raise UsageError(f'"{command.root}" must be a folder with packages')
    if command.folder is not None:
        refuse_no_folder(command.folder)
    top, root = _below_top(command.root)
    crds = read_crds(command.crds, top)
    say(as_lines(crds.results))
    if exit_code(crds.results):
        # Without the definitions that were asked for, every answer would be a guess.
        return 1
    with ExitStack() as stack:
        disk = DiskTree(top, root, command.folder, command.exclude)
        after = Rooted.of(disk, root)
        befores = _befores(command, disk, root, stack)
        if command.crds:
            # Other definitions are another cluster for all packages.
            for at, each in enumerate(befores):
                if isinstance(each.tree, CommitTree):
                    old, new = blobs_of(command.crds, top, each.tree)
                    befores[at], after = each._replace(beside=old), after._replace(beside=new)
        before = befores[0] if befores else None
        if not after.packages.clients and (before is None or not before.packages.clients):
            raise UsageError(
                f'"{command.root}" must hold packages: folders with a TopologyRender, or a kustomization or Kptfile '
                "that runs packwise; it holds none"
            )
        tally = Tally()
        spool = stack.enter_context(closing(Spool())) if command.output == "json" else None

        def take(result: PackageResult) -> None:
            result = shown(result, top)
            tally.add(result)
            if spool is not None:
                spool.add(result)

        requests = _requests(command, after, before, top, crds.packed)
        evidence = _run(command, requests, befores, take)
        orphaned, results = _orphans(command, after, evidence)
        report = FleetReport(
            command.verb,
            Path(command.root).as_posix(),
            tally.summary(),
            spool or (),
            command.changed_since or command.baseline or "",
            is_coloured(sys.stdout),
            command.verbosity is Verbosity.VERBOSE,
            orphaned,
        )
        is_shown = all(show(piece) for piece in _printer(command.output)(report))
        say(as_lines(results))
    return max(_code(report, command), _absence(report, command), exit_code(results), int(not is_shown))


def _orphans(command: Fleet, after: Rooted, evidence: Evidence) -> tuple[Orphans | None, list[Result]]:
    """What the output folder has of packages that are gone, and what is to be said of the files that stay."""
    if command.folder is None:
        return None, []
    folder = Path(command.folder)
    results: list[Result] = []
    listed: list[str] = []
    for name in orphans(real(command.folder), after.names(), evidence):
        own = prune(folder, name) if command.prunes else []
        results += own
        if not exit_code(own):
            listed.append((folder / name).as_posix())
    return Orphans(tuple(listed), are_pruned=command.prunes), results


def _below_top(folder: str) -> tuple[str, str]:
    """The top of the repository that `folder` stands in, and its path below that."""
    at = real(folder)
    top = top_of(at)
    below = Path(at).relative_to(top).as_posix()
    return top, "" if below == "." else below


def _befores(command: Fleet, disk: DiskTree, root: str, stack: ExitStack) -> list[Rooted]:
    """The state before the change, where one is named; several where merges crossed since then."""
    since, name = command.changed_since, command.baseline
    if since is not None:
        since = since.removeprefix(COMMIT)
        if name is not None and name != COMMIT + since:
            raise UsageError("--changed-since and --baseline must name the same commit where both are given")
        return [_committed(each, command, disk, root, stack) for each in merge_bases(since, command.root)]
    if name is None:
        if command.verb == "diff":
            raise UsageError("fleet diff must be given --baseline or --changed-since, as in --changed-since main")
        return []
    if name.startswith(COMMIT):
        return [_committed(name.removeprefix(COMMIT), command, disk, root, stack)]
    if not Path(name).is_dir():
        raise UsageError(f'--baseline "{name}" must be a folder, or a commit as in git:main')
    top, below = _below_top(name)
    return [Rooted.of(DiskTree(top, below, None, command.exclude), below)]


def _committed(name: str, command: Fleet, disk: DiskTree, root: str, stack: ExitStack) -> Rooted:
    """The packages of a commit."""
    commit = Commit(name, command.root)
    stack.callback(commit.close)
    return Rooted.of(CommitTree(commit, root, disk, command.exclude), root)


def _requests(command: Fleet, after: Rooted, before: Rooted | None, top: str, crds: bytes) -> Requests:
    baseline = before if command.baseline is not None or command.verb == "diff" else None
    nodes = None if command.nodes is None else Nodes(command.nodes, top)
    writes, values = command.folder is not None, command.values
    return Requests(command.verb, after, baseline, nodes, writes=writes, crds=crds, values=values)


def _run(
    command: Fleet,
    requests: Requests,
    befores: Sequence[Rooted],
    take: Callable[[PackageResult], None],
) -> Evidence:
    """Hands what became of every package to `take`, in no order; returns what was seen of the output folder."""
    after = requests.after
    names = after.names()
    if befores and (command.verb == "diff" or command.changed_since is not None):
        reached = reach_of_any([reach_of(each, after, _form(each)) for each in befores])
        names = [*reached.reached, *reached.added]
        for name in reached.untouched:
            take(_untouched(after, name, Status.UNCHANGED))
        if command.verb == "diff":
            names += reached.removed
        else:
            for name in reached.removed:
                before = next(each for each in befores if each.folder(name) in each.packages.clients)
                take(_untouched(before, name, Status.REMOVED))
    workers = Processes(command.jobs) if command.scheduler is None else _cluster(command.scheduler)
    with _cached(command) as cache:
        evidence = Evidence(cache)
        output = None if command.folder is None else Output(Path(command.folder), after.below, evidence)
        run_through(sorted(names), requests, workers, cache=cache, output=output, take=take)
    return evidence


def _cluster(scheduler: str) -> Cluster:
    """The Dask cluster of that scheduler; a warning where its pickles cross a network without TLS."""
    from packwise.fleet.workers.cluster import is_exposed

    if is_exposed(scheduler):
        say(
            [
                f'warning: --scheduler should be "tls://…" beyond this machine; got "{scheduler}": '
                "whoever reaches it, or the network on the way, can run code on its workers and here"
            ]
        )
    return Cluster(scheduler)


def _untouched(rooted: Rooted, name: str, status: Status) -> PackageResult:
    """The result of a package that no worker looks at."""
    folder = rooted.folder(name)
    return PackageResult(folder, rooted.packages.clients[folder].value, status)


def _form(before: Rooted) -> str:
    """A name of git as the state before has them."""
    tree = before.tree
    return tree.form if isinstance(tree, CommitTree) else ""


def _cache_place(command: Fleet) -> str | None:
    return (command.cache or default_place()) if command.is_cached else None


def _cached(command: Fleet) -> AbstractContextManager[Cache | None]:
    """Where answers are kept; None where they are not. Raises UsageError."""
    place = _cache_place(command)
    if place is None:
        return nullcontext()
    try:
        return open_cache(place, lambda line: say([line]), command.cache_size)
    except CacheError as error:
        raise UsageError(str(error)) from None


def _printer(name: str) -> Callable[[FleetReport], Iterable[str]]:
    # Each format is a module of fleet_output/, imported only where it is asked for.
    module = import_module(f"packwise.cli.fleet_output.{name}")
    print_report: Callable[[FleetReport], Iterable[str]] = getattr(module, f"as_{name}")
    return print_report


def _absence(report: FleetReport, command: Fleet) -> int:
    """1 where a package has no workload that was judged and must have one, which stderr says."""
    idle = report.summary.number(Status.IDLE)
    if not command.requires_workloads or not idle:
        return 0
    have = "1 package has none" if idle == 1 else f"{idle} packages have none"
    say([f"error: a workload must be judged in every package (--require-workloads); {have}"])
    return 1


def _code(report: FleetReport, command: Fleet) -> int:
    """1 where a package fails or something does not fit; where that was asked for, where something changes."""
    summary = report.summary
    same = (Status.UNCHANGED, Status.PASSING, Status.IDLE)
    changed = [status for status, _ in summary.statuses if status not in same]
    is_pruned = report.orphans is not None and report.orphans.are_pruned and report.orphans.folders
    is_changed = command.exit_code and (changed or is_pruned)
    return int(bool(summary.number(Status.FAILING) or summary.pending or is_changed))
