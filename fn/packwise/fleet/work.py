"""The work on one request in any process: a package is read, rendered and checked.

Only the content of the request is read, so the answer is the same in every process and on every machine.
"""

from __future__ import annotations

import json
import posixpath
import zlib
from functools import lru_cache
from hashlib import sha256
from pathlib import Path, PurePosixPath

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject, Source
from krmfn.result import Result, ResultFile, Severity, exit_code, sort_results
from packwise.build.kustomization_files import copy_of, file_of
from packwise.build.tree import SAYING, DiskTree, MemoryTree
from packwise.check.groups import check_groups, limits_answer
from packwise.diff.change import Action
from packwise.diff.difference import diff, state_after, state_before
from packwise.fleet.kustomize import KustomizeError, build, kustomize_version
from packwise.fleet.packages import PackageClient, function_configuration, is_of_function
from packwise.fleet.requests import PackageAnswer, lost_result, payload_of
from packwise.fleet.result import BUILD, FIT, PackageResult, PackageStatus, kept_findings
from packwise.frontends.osmo.account import open_account
from packwise.generated import is_local_config
from packwise.inputs.coverage import coverage_of, files_covered
from packwise.inputs.git import skip_reasons
from packwise.inputs.groups import (
    Checkup,
    Group,
    Inputs,
    definitions_in,
    package_of,
    read_assignments,
)
from packwise.inputs.paths import SUFFIXES, InputPath, from_top
from packwise.inputs.reader import InputFile, Reader, Sources, decode, error_result
from packwise.inputs.request import STDIN, UsageError
from packwise.inputs.surroundings import definitions_of, traits_of
from packwise.objects.kinds import GANGS
from packwise.pipeline import render
from packwise.pipeline.selection import Configured, Package
from packwise.render.files import RenderedFiles, outcome_of, plan_folder, render_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from krmfn.value import Value
    from packwise.build.problems import ClientProblem
    from packwise.build.tree import CommitTree
    from packwise.diff.change import ObjectChange
    from packwise.discovery import SkipReason
    from packwise.fleet.requests import PackageSide, Request
    from packwise.inputs.coverage import Coverage
    from packwise.pipeline import Rendered
    from packwise.render.files import FolderPlan
    from packwise.schedulers.simulation import GangAnswer

    Blobs = tuple[tuple[str, str], ...]


_KEPT = 64
"""The definitions of at most this many files outside packages are cached."""


class SideRead(Record):
    """A package in one tree, after its files were read. `is_kept` is true if a cache may store its answer.

    `around` are files with its configuration and definitions, which are not rendered. `crds` are the CRDs of its
    cluster. `values` set the variables of its templates.
    """

    side: PackageSide
    files: tuple[InputFile, ...] = ()
    around: tuple[InputFile, ...] = ()
    configured: Configured = Configured()
    validates: bool = False
    results: tuple[Result, ...] = ()
    skipped: tuple[tuple[str, SkipReason], ...] = ()
    is_kept: bool = True
    crds: tuple[KubeObject, ...] = ()
    values: Mapping[str, Value] = {}


def read_side(side: PackageSide, kustomize: str) -> SideRead:
    """Return the package as read from one tree, with its built sources.

    If kustomize builds it, and the version here is not `kustomize`, return an error instead of the package's own files.
    """
    read = _read_own(side, kustomize)
    build = side.build
    if build is None or side.problems:
        return read
    return read.replace(
        files=(*read.files, *build.files),
        around=(*read.around, *build.around),
        results=(*read.results, *build.results),
    )


def _read_own(side: PackageSide, kustomize: str) -> SideRead:
    """Return the package as read from one tree, without its built sources."""
    if side.problems:
        return SideRead(side, results=tuple(_problem(problem) for problem in side.problems))
    tree = MemoryTree(dict(side.files))
    try:
        function = function_configuration(tree, side.folder, side.client)
        if function is None:
            read = _read_around(side, tree)
        else:
            configured = Configured() if function.item is None else Configured.of(function.item)
            read = SideRead(side, configured=configured, validates=function.validates)
        if side.client is not PackageClient.KUSTOMIZE:
            return _read_files(read)
        # Read again the bytes that kustomize gets, because a file can change between two reads.
        copy = copy_of(tree, side.folder)
        if copy.problems:
            return SideRead(side, results=tuple(_problem(problem) for problem in copy.problems))
        # A worker on another machine may have another version, with other output.
        if kustomize_version() != kustomize:
            here = (
                f"kustomize is {kustomize_version()} here, but {kustomize} on the machine that started the fleet; use "
                "one version"
            )
            raise KustomizeError(here)
        built = decode(build(copy.contents, copy.file, copy.kustomization, copy.data), InputPath())
    except KustomizeError as error:
        file = ResultFile(file_of(tree, side.folder) or side.folder)
        result = Result(str(error), file=file, tags={"rule": BUILD.name})
        return SideRead(side, results=(result,), is_kept=False)
    except FieldError as error:
        return SideRead(side, results=(error_result(error),))
    return read.replace(files=(built,), results=(*read.results, *_unreadable_results(built)))


def _read_around(side: PackageSide, tree: MemoryTree) -> SideRead:
    """Return the package with the files around it, and the errors of definitions that cannot be read."""
    files: list[InputFile] = []
    results: list[Result] = []
    for path in side.around:
        file, errors = _definitions(path, tree.read(path))
        files.append(file)
        results += [error_result(error) for error in errors]
    return SideRead(side, around=tuple(files), results=tuple(results))


@lru_cache(_KEPT)
def _definitions(path: str, data: bytes) -> tuple[InputFile, list[FieldError]]:
    """Return the definitions in a file around packages and the errors. Packages share the cached answer."""
    file, errors = definitions_of(decode(data, InputPath(path, posixpath.basename(path), is_named=False)))
    kept = [document for document in file.documents if not any(map(is_of_function, document.items))]
    return file.replace(documents=tuple(kept)), errors


def _read_files(read: SideRead) -> SideRead:
    reader = Reader()
    files = reader.read_contents(_folder_contents(read.side))
    results = (*read.results, *reader.results)
    return read.replace(files=tuple(files), results=results, skipped=tuple(reader.skipped))


def _folder_contents(side: PackageSide) -> dict[InputPath, bytes]:
    """Return the contents of a folder's files, by the paths that a walk through it returns."""
    target = PurePosixPath(side.folder)
    contents = {PurePosixPath(path): data for path, data in side.files}
    markers = {path: data.decode("utf-8", "replace") for path, data in contents.items() if path.name in SAYING}
    files = [path for path in contents if path.is_relative_to(target) and path.suffix in SUFFIXES]
    reasons = skip_reasons(files, markers, target, [])
    return {
        InputPath(str(path), str(path.relative_to(target)), reasons.get(path), is_named=False): contents[path]
        for path in files
    }


def _unreadable_results(file: InputFile) -> tuple[Result, ...]:
    results: list[Result] = []
    for item in file.items:
        try:
            _ = item.value
        except FieldError as error:
            results.append(error_result(error))
    return tuple(results)


def _problem(problem: ClientProblem) -> Result:
    place = {"line": str(problem.line), "column": str(problem.column)} if problem.line else {}
    return Result(problem.message, file=ResultFile(problem.file), tags={"rule": FIT.name, **place})


def package_of_side(read: SideRead, before: SideRead | None) -> Package:
    """Return the package that the pipeline renders. It has no baseline if the earlier state has errors."""
    earlier = None if before is None or exit_code(before.results) else before.files
    package = package_of(read.files, read.around, earlier, read.configured, read.crds).replace(values=read.values)
    if before is None:
        return package
    then = package_of((), before.around, None, before.configured, ())
    return package.replace(configured_before=Configured(then.function_config, then.context))


def locate(result: Result, read: SideRead | None) -> Result:
    """Return the result. A result about the output of a kustomize build gets the kustomization as its file."""
    if result.file is not None or read is None or read.side.client is not PackageClient.KUSTOMIZE:
        return result
    path = file_of(MemoryTree(dict(read.side.files)), read.side.folder) or read.side.folder
    tags = {key: tag for key, tag in result.tags.items() if key not in ("line", "column")}
    return result.replace(file=ResultFile(path), tags=tags)


class Crds(Record):
    """CRDs for a request. `packed` is b"" if there are none. `results` report unreadable ones."""

    packed: bytes = b""
    results: tuple[Result, ...] = ()


def read_crds(paths: tuple[str, ...], top: str) -> Crds:
    """Return the relevant CRDs in files and folders. Findings name them by their path from `top`.

    Raise UsageError if a path is missing or has no such CRD.
    """
    reader = Reader()
    items = definitions_in(paths, reader)
    if exit_code(reader.results):
        return Crds(results=tuple(reader.results))
    sources = [_parts(item.source, top) for item in items]
    # Each request contains the CRDs. They have some hundred thousand characters, with many repetitions.
    return Crds(zlib.compress(json.dumps(sources).encode()) if sources else b"", tuple(reader.results))


def blobs_of(paths: Iterable[str], top: str, commit: CommitTree) -> tuple[Blobs, Blobs]:
    """Return the files at `paths` below `top` with their git blob names: first in the commit, then in the folder."""
    before: list[tuple[str, str]] = []
    after: list[tuple[str, str]] = []
    for path in [from_top(path, top) for path in paths if path != STDIN]:
        if path == ".." or path.startswith("../") or Path(path).is_absolute():
            continue
        at = "" if path == "." else path
        folder = at if Path(top, at).is_dir() else posixpath.dirname(at)
        for blobs, tree in ((before, commit.listing(folder)), (after, DiskTree(top, folder))):
            files = [at] if tree.is_file(at) else tree.files_below(at)
            blobs += [(file, tree.blob(file, commit.form)) for file in files if file.endswith(SUFFIXES)]
    return tuple(before), tuple(after)


@lru_cache(1)
def crds_of(packed: bytes) -> tuple[KubeObject, ...]:
    """Return the CRDs in a request."""
    if not packed:
        return ()
    return tuple(KubeObject(_source(fields)) for fields in json.loads(zlib.decompress(packed)))


def _parts(source: Source, top: str) -> list[object]:
    """Return the source as values of JSON, with the path of its file relative to `top`."""
    file = None if source.file is None else from_top(source.file, top)
    return [source.text, source.root, source.line, source.column, file, source.entry]


def _source(fields: list[Any]) -> Source:
    text, root, line, column, file, entry = fields
    return Source(text, tuple(root), line, column, file, tuple(entry))


def work(request: Request) -> PackageAnswer:
    """Return the answer to a request. Failures are answers too, so that one package never stops a fleet."""
    try:
        # Limits are counted anew for each package, so an answer depends on no other package.
        with open_account():
            return _answer(request)
    except MemoryError:
        raise
    except Exception as error:  # A defect of packwise.
        reason = f"packwise fails ({type(error).__name__}: {error}); this is a bug, please report it"
        return PackageAnswer(
            request.key, payload_of(lost_result(request.folder, request.client, reason)), is_kept=False
        )


def _answer(request: Request) -> PackageAnswer:
    after, before = _read(request.after, request), _read(request.before, request)
    blank = PackageResult(request.folder, request.client, PackageStatus.PASSING)
    plan: FolderPlan | None = None
    if after is not None and exit_code(after.results) and not (request.verb == "check" and after.files):
        result = _with_findings(blank, after.results, after)
    elif request.verb == "diff":
        result = _compare(blank, before, after, request)
    elif after is None:
        result = blank.replace(status=PackageStatus.REMOVED)
    elif request.verb == "render":
        result, plan = _render(blank, after, before)
    elif request.verb == "place":
        result = _place(blank, after, before, request)
    else:
        result = _check(blank, after, before)
    is_kept = (after is None or after.is_kept) and (before is None or before.is_kept)
    return PackageAnswer(request.key, payload_of(result, plan if request.writes else None), is_kept)


def _read(side: PackageSide | None, request: Request) -> SideRead | None:
    if side is None:
        return None
    read = read_side(side, request.kustomize)
    return read.replace(crds=crds_of(request.crds), values=read_assignments(request.values))


def _check(blank: PackageResult, after: SideRead, before: SideRead | None) -> PackageResult:
    package = package_of_side(after, before)
    chosen = (after.configured.function_config, *after.configured.context)
    names = [str(item.file) for item in chosen if item is not None]
    names += [str(file.path.name) for file in (*after.around, *after.files) if traits_of(file).configures]
    # A finding about a configuration outside the package counts too, because no other package may use the
    # configuration.
    around = frozenset(str(file.path.name) for file in after.around).difference(names)
    group = Group(package, tuple(names), around)
    sources = None if after.side.build is None else Sources()
    verdict = check_groups(Checkup((group,), after.files, after.results, after.files, after.skipped, sources=sources))
    result = _with_findings(blank, verdict.results, after).replace(objects=len(package.items))
    return _with_coverage(result, verdict.coverage)


def _render(blank: PackageResult, after: SideRead, before: SideRead | None) -> tuple[PackageResult, FolderPlan | None]:
    """Return the result of a render and the files to write, or None with errors."""
    package = package_of_side(after, before)
    rendered = render_inputs(Inputs(after.files, package, after.results, after.files), writes=True)
    coverage = coverage_of(after.files, after.skipped, rendered)
    if exit_code(rendered.results):
        return _with_coverage(_with_findings(blank, rendered.results, after), coverage), None
    if after.validates:
        rendered = rendered.replace(kept=package.items, generated=())
    try:
        outcome = outcome_of(after.files, rendered)
        if after.side.client is PackageClient.KUSTOMIZE:
            files = tuple(_as_built(file) for file in outcome.files)
            outcome = RenderedFiles(files, (), tuple(item for item in outcome.new if not is_local_config(item)))
        plan = plan_folder(outcome, split=bool(rendered.gitops))
    except FieldError as error:
        return _with_findings(blank, [*rendered.results, error_result(error)], after), None
    texts = {path: content.decode() for path, content in plan.contents.items()}
    result = _with_findings(blank, [*rendered.results, *plan.results], after).replace(
        objects=len(rendered.items), digest=sha256(json.dumps(texts).encode()).hexdigest()
    )
    return _with_coverage(result, coverage), None if exit_code(plan.results) else plan


def _as_built(file: InputFile) -> InputFile:
    """Return the file without the objects that kustomize excludes from a build."""
    kept = [document for document in file.documents if document.item is None or not is_local_config(document.item)]
    return InputFile(file.path, tuple(kept))


def _compare(blank: PackageResult, before: SideRead | None, after: SideRead | None, request: Request) -> PackageResult:
    """Return the result with the changes for the scheduler. A missing side counts as empty."""
    old, new = (Package(()) if side is None else package_of_side(side, None) for side in (before, after))
    unreadable = [] if before is None else [result for result in before.results if result.severity is Severity.ERROR]
    state = state_after(new, old)
    difference = diff(state_before(old), state)
    findings = [*difference.refusals, *[result for result in state.render_results if limits_answer(result)]]
    if unreadable or (not difference.is_compared and not difference.refusals):
        cause = (*unreadable, *difference.unreadable)
        text = cause[0].line_of_text() if cause else "the package has no objects"
        message = f"cannot be compared: the state before has errors: {text}"
        findings.append(Result(message, file=ResultFile(request.folder), tags={"rule": FIT.name}))
    status = PackageStatus.CHANGED if difference.changes else PackageStatus.UNCHANGED
    if before is None or after is None:
        status = PackageStatus.ADDED if before is None else PackageStatus.REMOVED
    counted = _with_findings(blank.replace(status=status), findings, after or before)
    if after is not None:
        counted = counted.replace(passed_over=files_covered(after.files, after.skipped).reasons)
    result = _with_changes(counted, difference.changes, len(state.objects or {})).replace(
        dropped=len(difference.dropped)
    )
    if request.nodes is None or after is None or result.status is PackageStatus.FAILING:
        return result
    return _with_places(result, after, before, request.nodes, checks=False)


_GANGS = tuple(kind.name for kind in GANGS)


def _with_changes(result: PackageResult, changes: Iterable[ObjectChange], objects: int) -> PackageResult:
    listed = list(changes)
    kinds = [str(change.subject.value.get("kind")) for change in listed]
    # Count a gang that is written for two schedulers once.
    gang = next((name for name in _GANGS if name in kinds), None)
    recreated = [change for change in listed if change.action is Action.RECREATE]
    gangs = [change.action for change, kind in zip(listed, kinds, strict=True) if kind == gang]
    others = [kind for kind in kinds if kind not in _GANGS]
    return result.replace(
        recreated=tuple(change.subject.name for change in recreated),
        gangs_created=gangs.count(Action.CREATE),
        gangs_deleted=gangs.count(Action.DELETE),
        gangs_changed=gangs.count(Action.CHANGE),
        other_changes=len(others) - len(recreated),
        objects=objects,
    )


def _place(blank: PackageResult, after: SideRead, before: SideRead | None, request: Request) -> PackageResult:
    if request.nodes is None:
        return _check(blank, after, before)
    return _with_places(blank, after, before, request.nodes, checks=True)


def _with_places(
    result: PackageResult, after: SideRead, before: SideRead | None, nodes: tuple[str, bytes], *, checks: bool
) -> PackageResult:
    """Return the result with the gangs that do not fit on the nodes, now and before.

    With `checks`, the render's findings are included.
    """
    from packwise.schedulers.simulation import TooManyPodsError

    try:
        rendered, gangs = _places(package_of_side(after, None), nodes)
        if exit_code(rendered.results):
            return _with_findings(result, rendered.results, after)
        fitted: set[str] = set()
        if before is not None and not exit_code(before.results):
            _, earlier = _places(package_of_side(before, None), nodes)
            fitted = {name for name, gang in earlier.items() if gang.fits}
    except (UsageError, TooManyPodsError) as error:
        return _with_findings(result, [Result(str(error), file=ResultFile(nodes[0]), tags={"rule": FIT.name})], after)
    pending = tuple(name for name, gang in gangs.items() if not gang.fits)
    counted = _with_findings(result, rendered.results, after) if checks else result
    return _with_coverage(counted, coverage_of(after.files, after.skipped, rendered)).replace(
        placed=True,
        gangs=len(gangs),
        pending=pending,
        no_longer_fits=tuple(name for name in pending if name in fitted),
        noted=tuple(name for name, gang in gangs.items() if gang.notes),
    )


def _places(package: Package, nodes: tuple[str, bytes]) -> tuple[Rendered, dict[str, GangAnswer]]:
    """Return the render on the nodes and the outcome of each gang by name. Raise UsageError or TooManyPodsError."""
    from packwise.place.cluster import objects_in, read_cluster
    from packwise.place.placing import place_gangs, situation

    name, data = nodes
    objects = tuple(objects_in(data, name))
    snapshot = read_cluster([name], objects)
    rendered = render(package.replace(nodes=objects))
    if exit_code(rendered.results):
        return rendered, {}
    placing = place_gangs(situation(rendered, snapshot))
    return rendered, {f"{gang.gang.namespace}/{gang.gang.name}": gang for gang in placing.gangs}


def _with_coverage(result: PackageResult, coverage: Coverage) -> PackageResult:
    """Return the result with its coverage. A package without checked workloads does not count as passing."""
    is_idle = result.status is PackageStatus.PASSING and not coverage.number
    return result.replace(
        status=PackageStatus.IDLE if is_idle else result.status,
        workloads=coverage.number,
        passed_over=coverage.reasons,
    )


def _with_findings(result: PackageResult, results: Iterable[Result], read: SideRead | None) -> PackageResult:
    """Return the result with its findings. An error makes it fail."""
    located = [locate(each, read) for each in results]
    if read is not None and read.side.build is not None:
        from packwise.build.files import locate_results

        located = locate_results(located, (*read.files, *read.around))
    listed = sort_results(located)
    errors, warnings, kept = kept_findings(listed)
    status = PackageStatus.FAILING if errors else result.status
    return result.replace(status=status, errors=errors, warnings=warnings, findings=kept)
