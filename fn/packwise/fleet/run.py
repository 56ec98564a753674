"""A run of a verb through a fleet: the packages that a change reaches, the work on each, and the summary."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from tempfile import SpooledTemporaryFile

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import exit_code
from packwise.answer import PLAIN, Answer, Terminal, Text
from packwise.build.cache import CacheError, default_place, open_cache
from packwise.build.tree import CommitTree, DiskTree
from packwise.console import Meter, say
from packwise.fleet.output import FolderEvidence, OutputFolder, orphans, prune
from packwise.fleet.report import FleetReport, Orphans, as_json, as_markdown, as_text, with_user_paths
from packwise.fleet.requests import Nodes, Requests, Rooted, lost_result, reach_of, result_of
from packwise.fleet.result import PackageResult, PackageStatus, Tally
from packwise.fleet.work import blobs_of, read_crds, work
from packwise.fleet.workers import DaskCluster, Lost, Processes, WorkersError, run
from packwise.inputs.git import Commit, merge_bases
from packwise.inputs.groups import COMMIT
from packwise.inputs.paths import real, top_of
from packwise.inputs.reach import reach_of_any
from packwise.inputs.request import UsageError, Verbosity
from packwise.output.findings_text import as_lines
from packwise.render.folder import refuse_no_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from krmfn.result import Result
    from packwise.build.cache import Cache
    from packwise.fleet.options import Fleet, FleetFormat
    from packwise.fleet.requests import BlobTree, PackageAnswer, Request
    from packwise.fleet.workers import Workers


def fleet(command: Fleet, deliver: Callable[[Answer], int], terminal: Terminal = PLAIN) -> int:
    """Run the verb on all relevant packages and return the exit code. Raise UsageError if an option is wrong.

    `deliver` gets the answer while the results are still on disk, because there may be hundreds of thousands.
    """
    if not Path(command.root).is_dir():
        raise UsageError(f'"{command.root}" is not a folder; pass a folder with packages')
    if command.folder is not None:
        refuse_no_folder(command.folder)
    top, root = _below_top(command.root)
    crds = read_crds(command.crds, top)
    lines = as_lines(crds.results)
    if exit_code(crds.results):
        # Without the requested definitions, every answer would be a guess.
        return deliver(Answer(before=tuple(lines), code=1))
    with ExitStack() as stack:

        def warn(line: str) -> None:
            deliver(Answer(before=(line,)))

        cache = stack.enter_context(_cache_of(command, warn))
        finder = _Finder(command, top, root, cache, stack)
        disk = DiskTree(top, root, command.folder, command.exclude)
        after, befores = _states(command, finder, disk)
        before = befores[0] if befores else None
        tally = Tally()
        spool = stack.enter_context(closing(Spool())) if command.output == "json" else None

        def take(result: PackageResult) -> None:
            result = with_user_paths(result, top)
            tally.add(result)
            if spool is not None:
                spool.add(result)

        requests = _requests(command, after, before, top, crds.packed)
        workers = Processes(command.jobs) if command.scheduler is None else _cluster(command.scheduler, warn)
        evidence = _run(command, requests, befores, take, workers, cache=cache)
        orphaned, results = _orphans(command, after, evidence)
        report = _report(command, terminal, tally, spool or ()).replace(orphans=orphaned, sources=after.sources)
        absence = _absence(report, command)
        code = max(_code(report, command), int(bool(absence)), exit_code(results))
        text = Text(_PRINTERS[command.output](report))
        return deliver(Answer((text,), tuple(lines), (*as_lines(results), *absence), code, needs_texts=False))


def _states(command: Fleet, finder: _Finder, disk: DiskTree) -> tuple[Rooted, list[Rooted]]:
    """Return the packages now, and in each state before the change. Raise UsageError if there are no packages."""
    after = finder.packages(disk, finder.root, finder.top, is_current=True)
    befores = finder.packages_before(disk)
    if command.crds:
        # A change of these definitions affects all packages.
        for at, each in enumerate(befores):
            if isinstance(each.tree, CommitTree):
                old, new = blobs_of(command.crds, finder.top, each.tree)
                befores[at], after = each.replace(beside=old), after.replace(beside=new)
    if not after.packages.clients and not (befores and befores[0].packages.clients):
        raise UsageError(
            f'"{command.root}" has no packages: folders with a TopologyRender, or a kustomization or Kptfile that '
            f"runs packwise{'' if after.sources is None else f'; {after.sources.line}'}"
        )
    return after, befores


def _report(command: Fleet, terminal: Terminal, tally: Tally, results: Iterable[PackageResult]) -> FleetReport:
    return FleetReport(
        verb=command.verb,
        root=Path(command.root).as_posix(),
        summary=tally.summary(),
        results=results,
        since=command.changed_since or command.baseline or "",
        is_coloured=terminal.is_coloured,
        is_verbose=command.verbosity is Verbosity.VERBOSE,
    )


def _orphans(command: Fleet, after: Rooted, evidence: FolderEvidence) -> tuple[Orphans | None, list[Result]]:
    """Return output folders of removed packages, and findings about files that stay in them."""
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
    """Return the top of the repository around `folder` and the path below it."""
    at = real(folder)
    top = top_of(at)
    below = Path(at).relative_to(top).as_posix()
    return top, "" if below == "." else below


class _Finder(Record):
    """Finds the packages of trees below `top`, in the folder `root`. With `--build`, `cache` stores the builds.

    Commits stay open until `stack` is closed.
    """

    command: Fleet
    top: str
    root: str
    cache: Cache | None
    stack: ExitStack

    def packages(self, tree: BlobTree, root: str, top: str, *, is_current: bool = False) -> Rooted:
        """Return the packages of a tree. `is_current` is false for a tree before the change."""
        if not self.command.builds:
            return Rooted.of(tree, root)
        # Few runs build sources, so the modules are loaded here.
        from packwise.build.named import store_in
        from packwise.fleet.builds import build_packages

        store = None if self.cache is None else store_in(self.cache)
        requires = self.command.requires_build and is_current
        packages = build_packages(tree, root, top, store, requires=requires)
        return Rooted(tree, root, packages, sources=packages.sources)

    def packages_before(self, disk: DiskTree) -> list[Rooted]:
        """Return the states before the change that the options name. Several merge bases are several states.

        Raise UsageError if the options contradict each other or name no folder.
        """
        command = self.command
        since, name = command.changed_since, command.baseline
        if since is not None:
            since = since.removeprefix(COMMIT)
            if name is not None and name != COMMIT + since:
                raise UsageError(
                    "--changed-since and --baseline name different commits; name the same one, or pass only one option"
                )
            return [self._packages_of_commit(each, disk) for each in merge_bases(since, command.root)]
        if name is None:
            if command.verb == "diff":
                raise UsageError("fleet diff needs --baseline or --changed-since, for example --changed-since main")
            return []
        if name.startswith(COMMIT):
            return [self._packages_of_commit(name.removeprefix(COMMIT), disk)]
        if not Path(name).is_dir():
            raise UsageError(f'--baseline "{name}" is not a folder; pass a folder, or a commit such as git:main')
        top, below = _below_top(name)
        return [self.packages(DiskTree(top, below, None, command.exclude), below, top)]

    def _packages_of_commit(self, name: str, disk: DiskTree) -> Rooted:
        commit = Commit(name, self.command.root)
        self.stack.callback(commit.close)
        return self.packages(CommitTree(commit, self.root, disk, self.command.exclude), self.root, self.top)


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
    workers: Workers,
    *,
    cache: Cache | None,
) -> FolderEvidence:
    """Pass the result of every package to `take`, in any order. Return the evidence about the output folder."""
    after = requests.after
    names = after.names()
    if befores and (command.verb == "diff" or command.changed_since is not None):
        reached = reach_of_any([reach_of(each, after, _form(each)) for each in befores])
        names = [*reached.reached, *reached.added]
        for name in reached.untouched:
            take(_untouched_result(after, name, PackageStatus.UNCHANGED))
        if command.verb == "diff":
            names += reached.removed
        else:
            for name in reached.removed:
                before = next(each for each in befores if each.folder(name) in each.packages.clients)
                take(_untouched_result(before, name, PackageStatus.REMOVED))
    evidence = FolderEvidence(cache)
    output = None if command.folder is None else OutputFolder(Path(command.folder), after.relative_folder, evidence)
    run_through(sorted(names), requests, workers, cache=cache, output=output, take=take)
    return evidence


def _cluster(scheduler: str, warn: Callable[[str], None]) -> DaskCluster:
    """Return the Dask cluster with the address `scheduler`.

    Warn if the cluster sends pickles over a network without TLS.
    """
    from packwise.fleet.cluster import is_exposed

    if is_exposed(scheduler):
        warn(
            f'warning: --scheduler "{scheduler}" is on another machine and does not use TLS. Attackers in the network '
            'can run code on its workers and on this machine; use "tls://…"'
        )
    return DaskCluster(scheduler)


def _untouched_result(rooted: Rooted, name: str, status: PackageStatus) -> PackageResult:
    """Return the result of a package that the change does not reach."""
    folder = rooted.folder(name)
    return PackageResult(folder, rooted.packages.clients[folder].value, status)


def _form(before: Rooted) -> str:
    """Return a blob name of the earlier state, or "". Its length selects the hash function."""
    tree = before.tree
    return tree.form if isinstance(tree, CommitTree) else ""


def _cache_of(command: Fleet, warn: Callable[[str], None]) -> AbstractContextManager[Cache | None]:
    """Return the cache of answers, or None without caching. Raise UsageError if the place is unusable."""
    place = (command.cache or default_place()) if command.is_cached else None
    if place is None:
        return nullcontext()
    try:
        return open_cache(place, warn, command.cache_size)
    except CacheError as error:
        raise UsageError(str(error)) from None


_PRINTERS: dict[FleetFormat, Callable[[FleetReport], Iterable[str]]] = {
    "text": as_text,
    "json": as_json,
    "markdown": as_markdown,
}


def _absence(report: FleetReport, command: Fleet) -> list[str]:
    """Return the error about packages without a checked workload if each package needs one, or none."""
    idle = report.summary.number(PackageStatus.IDLE)
    if not command.requires_workloads or not idle:
        return []
    packages = "1 package" if idle == 1 else f"{idle} packages"
    return [f"error: no workload was checked in {packages} (--require-workloads)"]


def _code(report: FleetReport, command: Fleet) -> int:
    """Return 1 if a package fails, a gang does not fit or, if requested, something changes. Else return 0."""
    summary = report.summary
    same = (PackageStatus.UNCHANGED, PackageStatus.PASSING, PackageStatus.IDLE)
    changed = [status for status, _ in summary.statuses if status not in same]
    is_pruned = report.orphans is not None and report.orphans.are_pruned and report.orphans.folders
    is_changed = command.exit_code and (changed or is_pruned)
    return int(bool(summary.number(PackageStatus.FAILING) or summary.pending or is_changed))


def run_through(
    names: Sequence[str],
    requests: Requests,
    workers: Workers,
    *,
    cache: Cache | None,
    output: OutputFolder | None,
    take: Callable[[PackageResult], None],
) -> None:
    """Pass the result of each package of `names` to `take` in any order.

    Raise UsageError if no worker can run, or KeyboardInterrupt after a message about the progress.
    """
    going = _Run(requests, cache, output, take, Meter(len(names)))
    try:
        with closing(run(going.tasks(names), work, workers)) as answers:
            for index, answer in answers:
                going.take_answer(index, answer)
    except WorkersError as error:
        raise UsageError(str(error)) from None
    except KeyboardInterrupt:
        going.meter.clear()
        done = f"stopped: {going.done} of {len(names)} packages are done"
        say([done if cache is None else f"{done}; the same command continues from there"])
        raise
    finally:
        going.meter.clear()


class _Run:
    """A run in progress. It knows the folder and client of each package without an answer, by the index of its task."""

    __slots__ = ("_cache", "_output", "_requests", "_take", "_waiting", "done", "meter")

    def __init__(
        self,
        requests: Requests,
        cache: Cache | None,
        output: OutputFolder | None,
        take: Callable[[PackageResult], None],
        meter: Meter,
    ) -> None:
        self._requests = requests
        self._cache = cache
        self._output = output
        self._take = take
        self._waiting: dict[int, tuple[str, str]] = {}
        self.meter = meter
        self.done = 0

    def tasks(self, names: Sequence[str]) -> Iterator[Request]:
        """Yield the requests without a cached answer. Cached answers become results at once."""
        number = 0
        for name in names:
            key = "" if self._cache is None else self._requests.key(name)
            if self._is_known(key):
                continue
            request = self._requests.request(name)
            # A file can change between two reads.
            if request.key != key and self._is_known(request.key):
                continue
            self._waiting[number] = request.folder, request.client
            number += 1
            yield request

    def take_answer(self, index: int, answer: PackageAnswer | Lost) -> None:
        """Record a worker's answer."""
        folder, client = self._waiting.pop(index)
        if isinstance(answer, Lost):
            self._add(lost_result(folder, client, answer.reason))
            return
        if self._cache is not None and answer.is_kept:
            self._cache.put(answer.key, answer.payload)
        self._finish(answer.payload)

    def _is_known(self, key: str) -> bool:
        """Return True and record the result if the cache has the answer."""
        payload = None if self._cache is None else self._cache.get(key)
        if payload is None:
            return False
        try:
            self._finish(payload)
        except (ValueError, KeyError, TypeError):
            # Another program wrote other content to the cache.
            return False
        return True

    def _finish(self, payload: bytes) -> None:
        result = result_of(payload)
        if self._output is not None:
            result = self._output.write(result, payload)
        self._add(result)

    def _add(self, result: PackageResult) -> None:
        self._take(result)
        self.done += 1
        self.meter.advance()


_IN_MEMORY = 1 << 20
"""The largest number of bytes that stay in memory without a file. A thousand packages without findings fit."""


class Spool:
    """Results that can be read repeatedly, in order of their folders. Close the spool to delete its file."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile[bytes](max_size=_IN_MEMORY)
        self._places: list[tuple[str, int, int]] = []

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def add(self, result: PackageResult) -> None:
        """Store a result. Raise OSError if the disk refuses it."""
        text = json.dumps(result.to_value()).encode()
        self._places.append((result.folder, self._file.tell(), len(text)))
        self._file.write(text)

    def __iter__(self) -> Iterator[PackageResult]:
        for _, at, size in sorted(self._places):
            self._file.seek(at)
            yield PackageResult.from_value(json.loads(self._file.read(size)))
