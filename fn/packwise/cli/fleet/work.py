"""The work of one package: a request that holds all it needs, and an answer that a cache can keep.

Nothing is read but the request, so that the answer is the same in this process, in another, on another machine.
"""

from __future__ import annotations

import json
import zlib
from hashlib import sha256
from pathlib import PurePosixPath

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Result, ResultFile, Severity, exit_code, sort_results
from packwise.cli.arguments import UsageError
from packwise.cli.document import InputFile
from packwise.cli.fleet.kustomize import KustomizeError, build, kustomize_version
from packwise.cli.folder import FolderPlan, plan_folder
from packwise.cli.git import left_out_of
from packwise.cli.groups import Checkup, Group
from packwise.cli.input_paths import SUFFIXES, InputPath
from packwise.cli.inputs import Configured, Inputs, documents_of
from packwise.cli.judgement import judge
from packwise.cli.read import decode
from packwise.cli.reader import Reader, error_result, items_of, readable_items
from packwise.cli.rendered_files import Outcome, outcome_of, rendered_of
from packwise.commands.diff import Action, diff, state_after, state_before
from packwise.commands.fleet.kustomization import Kustomizations, file_of
from packwise.commands.fleet.packages import SAYING, Client, Configuration, configuration_of, without_packwise
from packwise.commands.fleet.result import PackageResult, Status, kept_findings
from packwise.commands.fleet.rules import BUILD, FIT, LOST
from packwise.commands.fleet.tree import MemoryTree
from packwise.objects.kinds import PODGANG, PODGROUP
from packwise.objects.lists import entries_of
from packwise.pipeline import render
from packwise.render.mark import LOCAL_CONFIG
from packwise.select import Package
from packwise.settings.recognition import is_operator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from krmfn.kubeobject import KubeObject
    from packwise.commands.diff import Change, State
    from packwise.commands.doctor import Problem
    from packwise.discovery import LeftOut
    from packwise.pipeline import Rendered

__all__ = ["Answer", "Request", "Side", "lost", "plan_of", "result_of", "work"]


class Side(NamedTuple):
    """A package as one tree has it: all that it reads, and what keeps a fleet from rendering it."""

    folder: str
    client: Client
    files: tuple[tuple[str, bytes], ...]
    problems: tuple[Problem, ...] = ()


class Request(NamedTuple):
    """What to do with a package: `before` is its state before the change, `nodes` the file of its cluster's nodes.

    `kustomize` is the version that the answer must come from. `verb` is that of `packwise fleet`. With `writes`, the
    answer has the texts of the files to write.
    """

    key: str
    folder: str
    verb: str
    after: Side | None
    before: Side | None = None
    nodes: tuple[str, bytes] | None = None
    kustomize: str = ""
    writes: bool = False

    @property
    def client(self) -> str:
        """What renders the package: where the change removes it, what did before."""
        side = self.after or self.before
        return "" if side is None else side.client.value


class Answer(NamedTuple):
    """What a cache keeps under `key`, unless the answer is of this run alone."""

    key: str
    payload: bytes
    is_kept: bool = True


class _Read(NamedTuple):
    """A side, read: its files, its configuration, and what is wrong with them."""

    side: Side
    files: tuple[InputFile, ...] = ()
    configured: Configured = Configured()
    validates: bool = False
    results: tuple[Result, ...] = ()
    left_out: tuple[tuple[str, LeftOut], ...] = ()
    is_kept: bool = True


def work(request: Request) -> Answer:
    """The answer to a request. What fails is an answer too: one package never stops a fleet."""
    try:
        return _answer(request)
    except MemoryError:
        raise
    except Exception as error:  # A defect of packwise.
        reason = f"packwise fails on it ({type(error).__name__}: {error}); please report that"
        return Answer(request.key, _payload(lost(request.folder, request.client, reason), {}), is_kept=False)


def _answer(request: Request) -> Answer:
    after = None if request.after is None else _read(request.after, request)
    before = None if request.before is None else _read(request.before, request)
    blank = PackageResult(request.folder, request.client, Status.PASSING)
    texts: dict[str, Any] = {}
    if after is not None and exit_code(after.results):
        result = _judged(blank, after.results, after)
    elif request.verb == "diff":
        result = _compared(blank, before, after, request)
    elif after is None:
        result = blank._replace(status=Status.REMOVED)
    elif request.verb == "render":
        result, texts = _rendered(blank, after, before, writes=request.writes)
    elif request.verb == "place":
        result = _placed(blank, after, before, request)
    else:
        result = _checked(blank, after, before)
    is_kept = (after is None or after.is_kept) and (before is None or before.is_kept)
    return Answer(request.key, _payload(result, texts), is_kept)


def _payload(result: PackageResult, texts: Mapping[str, Any]) -> bytes:
    return zlib.compress(json.dumps({"result": result.to_value(), **texts}, ensure_ascii=True).encode(), 1)


def result_of(payload: bytes) -> PackageResult:
    """The result in an answer. Raises ValueError, KeyError or TypeError where it is none."""
    return PackageResult.from_value(_value(payload)["result"])


def plan_of(payload: bytes) -> FolderPlan:
    """What an answer has to write. Raises as `result_of` does."""
    value = _value(payload)
    return FolderPlan(
        value["texts"], frozenset(value["generated"]), frozenset(value["loose"]), tuple(value["emptied"]), ()
    )


def lost(folder: str, client: str, reason: str) -> PackageResult:
    """The result of a package that no worker could finish."""
    result = Result(f"was not finished: {reason}", file=ResultFile(folder or "."), tags={"rule": LOST.name})
    return PackageResult(folder, client, Status.FAILING, 1, 0, (result,))


_MOST_TEXT = 512 << 20
"""Bytes of an answer: a cache is written by others too."""


def _value(payload: bytes) -> Any:
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(payload, _MOST_TEXT)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if reader.unconsumed_tail:
        raise ValueError(f"an answer must be at most {_MOST_TEXT >> 20} MiB")
    return json.loads(text)


def _read(side: Side, request: Request) -> _Read:
    if side.problems:
        return _Read(side, results=tuple([_problem(problem) for problem in side.problems]))
    tree = MemoryTree(dict(side.files))
    try:
        configuration = configuration_of(tree, side.folder, side.client)
        if side.client is not Client.KUSTOMIZE:
            return _read_files(side, configuration)
        at, kustomization = without_packwise(tree, side.folder)
        # A worker elsewhere may have another one, whose answer nobody asked for.
        if kustomize_version() != request.kustomize:
            here = f"kustomize must be {request.kustomize}, as where the fleet was started; got {kustomize_version()}"
            raise KustomizeError(here)
        reached = Kustomizations(tree)
        reached.inputs(side.folder)
        built = decode(build(dict(side.files), at, kustomization, reached.data), InputPath())
    except KustomizeError as error:
        file = ResultFile(file_of(tree, side.folder) or side.folder)
        result = Result(str(error), file=file, tags={"rule": BUILD.name})
        return _Read(side, results=(result,), is_kept=False)
    except FieldError as error:
        return _Read(side, results=(error_result(error),))
    return _Read(side, (built,), _configured(configuration), configuration.validates, _unreadable(built))


def _read_files(side: Side, configuration: Configuration) -> _Read:
    reader = Reader()
    files = reader.read_contents(_listed(side))
    return _Read(
        side,
        tuple(files),
        _configured(configuration),
        configuration.validates,
        tuple(reader.results),
        tuple(reader.left_out),
    )


def _listed(side: Side) -> dict[InputPath, bytes]:
    """The contents of the files of a folder, by the paths that a walk through it would give them."""
    target = PurePosixPath(side.folder)
    contents = {PurePosixPath(path): data for path, data in side.files}
    markers = {path: data.decode("utf-8", "replace") for path, data in contents.items() if path.name in SAYING}
    files = [path for path in contents if path.is_relative_to(target) and path.suffix in SUFFIXES]
    left_out = left_out_of(files, markers, target, [])
    return {
        InputPath(str(path), str(path.relative_to(target)), left_out.get(path), is_named=False): contents[path]
        for path in files
    }


def _configured(configuration: Configuration) -> Configured:
    item = configuration.item
    if item is None:
        return Configured()
    return Configured(context=(item,)) if is_operator(item) else Configured(item)


def _unreadable(file: InputFile) -> tuple[Result, ...]:
    results: list[Result] = []
    for item in file.items:
        try:
            _ = item.value
        except FieldError as error:
            results.append(error_result(error))
    return tuple(results)


def _problem(problem: Problem) -> Result:
    place = {"line": str(problem.line), "column": str(problem.column)} if problem.line else {}
    return Result(problem.message, file=ResultFile(problem.file), tags={"rule": FIT.name, **place})


def _package(read: _Read, before: _Read | None, *, apart: bool = True) -> Package:
    """What the pipeline renders; with `apart`, the entries of Lists are objects of their own."""
    config = read.configured
    return Package(
        _entries(read.files) if apart else items_of(read.files),
        config.function_config,
        None if before is None or exit_code(before.results) else _entries(before.files),
        documents=documents_of(read.files),
        documents_before=documents_of(before.files if before is not None else ()),
        context=config.context,
    )


def _entries(files: Iterable[InputFile]) -> tuple[KubeObject, ...]:
    return tuple([entry for file in files for item in readable_items(file) for entry in (entries_of(item) or (item,))])


def _checked(blank: PackageResult, after: _Read, before: _Read | None) -> PackageResult:
    package = _package(after, before)
    names = [str(item.file) for item in (package.function_config, *package.context) if item is not None]
    judgement = judge(Checkup((Group(package, tuple(names)),), after.files, after.results, after.files, after.left_out))
    return _judged(blank, judgement.results, after)._replace(workloads=judgement.workloads, objects=len(package.items))


def _rendered(
    blank: PackageResult, after: _Read, before: _Read | None, *, writes: bool
) -> tuple[PackageResult, dict[str, Any]]:
    """The result of a render, and with `writes` what is to be written."""
    package = _package(after, before, apart=False)
    rendered = rendered_of(Inputs(after.files, package, after.results, after.files), writes=True)
    if exit_code(rendered.results):
        return _judged(blank, rendered.results, after)._replace(workloads=rendered.workloads), {}
    if after.validates:
        rendered = rendered._replace(kept=package.items, generated=())
    try:
        outcome = outcome_of(after.files, rendered)
        if after.side.client is Client.KUSTOMIZE:
            files = tuple([_as_built(file) for file in outcome.files])
            outcome = Outcome(files, (), tuple([item for item in outcome.new if not _is_local(item)]))
        plan = plan_folder(outcome, split=bool(rendered.gitops))
    except FieldError as error:
        return _judged(blank, [*rendered.results, error_result(error)], after), {}
    result = _judged(blank, [*rendered.results, *plan.results], after)
    texts = dict(sorted(plan.texts.items()))
    result = result._replace(
        workloads=rendered.workloads,
        objects=len(rendered.items),
        digest=sha256(json.dumps(texts).encode()).hexdigest(),
    )
    if not writes or exit_code(plan.results):
        return result, {}
    return result, {
        "texts": texts,
        "generated": sorted(plan.generated),
        "loose": sorted(plan.loose),
        "emptied": sorted(plan.emptied),
    }


def _as_built(file: InputFile) -> InputFile:
    """The file without what kustomize leaves out of a build."""
    kept = [document for document in file.documents if document.item is None or not _is_local(document.item)]
    return InputFile(file.path, tuple(kept))


def _is_local(item: KubeObject) -> bool:
    return item.annotations.get(LOCAL_CONFIG) == "true"


def _compared(blank: PackageResult, before: _Read | None, after: _Read | None, request: Request) -> PackageResult:
    """What changes for the scheduler; a side that is not there is empty."""
    old, new = (Package(()) if side is None else _package(side, None) for side in (before, after))
    unreadable = [] if before is None else [result for result in before.results if result.severity is Severity.ERROR]
    state = state_after(new, old.items)
    difference = diff(state_before(old), state)
    findings = list(difference.refusals)
    if unreadable or (not difference.compared and not findings):
        cause = (*unreadable, *difference.unreadable)
        text = cause[0].line_of_text() if cause else "it has no objects"
        message = f"cannot be compared: the state before has errors: {text}"
        findings.append(Result(message, file=ResultFile(request.folder), tags={"rule": FIT.name}))
    status = Status.CHANGED if difference.changes else Status.UNCHANGED
    if before is None or after is None:
        status = Status.ADDED if before is None else Status.REMOVED
    counted = _judged(blank._replace(status=status), findings, after or before)
    result = _with_changes(counted, difference.changes, _objects(state))._replace(dropped=len(difference.dropped))
    if request.nodes is None or after is None or result.status is Status.FAILING:
        return result
    return _with_places(result, after, before, request.nodes, judges=False)


def _objects(state: State) -> int:
    return len(state.objects or {})


def _with_changes(result: PackageResult, changes: Iterable[Change], objects: int) -> PackageResult:
    listed = list(changes)
    kinds = [str(change.subject.value.get("kind")) for change in listed]
    # A gang that is written for two schedulers is one.
    gang = PODGANG.name if PODGANG.name in kinds else PODGROUP.name
    recreated = [change for change in listed if change.action is Action.RECREATE]
    gangs = [change.action for change, kind in zip(listed, kinds, strict=True) if kind == gang]
    others = [kind for kind in kinds if kind not in (PODGANG.name, PODGROUP.name)]
    return result._replace(
        recreated=tuple([change.subject.name for change in recreated]),
        gangs_created=gangs.count(Action.CREATE),
        gangs_deleted=gangs.count(Action.DELETE),
        gangs_changed=gangs.count(Action.CHANGE),
        other_changes=len(others) - len(recreated),
        objects=objects,
    )


def _placed(blank: PackageResult, after: _Read, before: _Read | None, request: Request) -> PackageResult:
    if request.nodes is None:
        return _checked(blank, after, before)
    return _with_places(blank, after, before, request.nodes, judges=True)


def _with_places(
    result: PackageResult, after: _Read, before: _Read | None, nodes: tuple[str, bytes], *, judges: bool
) -> PackageResult:
    """The result with the gangs that do not fit on the nodes, and those that did before.

    With `judges`, the findings of the render are those of the result.
    """
    from packwise.schedulers.kai.gang_jobs import TooManyPodsError

    try:
        rendered, gangs = _places(_package(after, None), nodes)
        if exit_code(rendered.results):
            return _judged(result, rendered.results, after)
        fitted: set[str] = set()
        if before is not None and not exit_code(before.results):
            _, earlier = _places(_package(before, None), nodes)
            fitted = {name for name, fits in earlier.items() if fits}
    except (UsageError, TooManyPodsError) as error:
        return _judged(result, [Result(str(error), file=ResultFile(nodes[0]), tags={"rule": FIT.name})], after)
    pending = tuple([name for name, fits in gangs.items() if not fits])
    counted = _judged(result, rendered.results, after) if judges else result
    return counted._replace(
        workloads=rendered.workloads,
        placed=True,
        gangs=len(gangs),
        pending=pending,
        no_longer_fits=tuple([name for name in pending if name in fitted]),
    )


def _places(package: Package, nodes: tuple[str, bytes]) -> tuple[Rendered, dict[str, bool]]:
    """The render on the nodes, and whether each gang fits by its name. Raises UsageError, TooManyPodsError."""
    from packwise.cli.cluster_files import objects_in, read_cluster
    from packwise.commands.place.placing import place_gangs, situation

    name, data = nodes
    objects = tuple(objects_in(data, name))
    snapshot = read_cluster([name], objects)
    rendered = render(package._replace(nodes=objects))
    if exit_code(rendered.results):
        return rendered, {}
    placing = place_gangs(situation(rendered, snapshot))
    jobs = [(gang.gang.job, gang.fits) for gang in placing.gangs]
    return rendered, {f"{job.namespace}/{job.name}": fits for job, fits in jobs}


def _judged(result: PackageResult, results: Iterable[Result], read: _Read | None) -> PackageResult:
    """The result with its findings; an error makes it a failing one."""
    listed = sort_results([_located(each, read) for each in results])
    errors, warnings, kept = kept_findings(listed)
    status = Status.FAILING if errors else result.status
    return result._replace(status=status, errors=errors, warnings=warnings, findings=kept)


def _located(result: Result, read: _Read | None) -> Result:
    """The result, at the kustomization where it is about what that builds: no line of a file has it."""
    if result.file is not None or read is None or read.side.client is not Client.KUSTOMIZE:
        return result
    path = file_of(MemoryTree(dict(read.side.files)), read.side.folder) or read.side.folder
    tags = {key: tag for key, tag in result.tags.items() if key not in ("line", "column")}
    return result._replace(file=ResultFile(path), tags=tags)
